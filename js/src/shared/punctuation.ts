/** Marks without a space before, and word endings that corpora split off. */
export const CLOSING = /^([.,;:!?%)\]}”’]+|['’](s|re|ve|ll|d|m)|n['’]t)$/i;
/** Marks without a space after. */
export const OPENING = /^[([{“‘]$/;
