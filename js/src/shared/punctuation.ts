/** Punctuation without a space before it, and word endings that corpora split off. */
export const CLOSING = /^([.,;:!?%)\]}”’]+|['’](s|re|ve|ll|d|m)|n['’]t)$/i;
/** Punctuation without a space after it. */
export const OPENING = /^[([{“‘]$/;
