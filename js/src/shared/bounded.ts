/**
 * Largest number of characters drawn of one text. Names and labels come from users and can be long.
 */
export const MOST_DRAWN = 2000;

/** Return the text, cut with an ellipsis if it is longer than `most`. */
export function bounded(text: string, most = MOST_DRAWN): string {
  if (text.length <= most) return text;
  // Do not cut between the two halves of a surrogate pair.
  return `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
