/** Characters of one text that a figure draws: names and labels come from users, of any length. */
export const MOST_DRAWN = 2000;

/** The text, cut with an ellipsis where it is longer than a figure draws. */
export function bounded(text: string, most = MOST_DRAWN): string {
  if (text.length <= most) return text;
  // A pair of surrogates is one character.
  return `${text.slice(0, most - 1).replace(/[\ud800-\udbff]$/, "")}…`;
}
