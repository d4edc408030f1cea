import { labelOf, quoted } from "../../shared/labels.js";
import { shareText } from "../../shared/percent_text.js";
import { type Print, printer } from "../../shared/quantity.js";
import type { Axis } from "../../shared/types.js";

/**
 * Number of tokens above which many tokens of an axis are alike, so that their names need
 * positions.
 */
const MANY = 1000;

export const isMany = ({ text }: Axis): boolean => text.length > MANY;

/** Return a token with its position. */
const placed = (axis: Axis, index: number): string => `${quoted(labelOf(axis, index))} (${index})`;

/** Return the name of a token in running text, with its position on a long axis. */
export const tokenName = (axis: Axis, index: number): string =>
  isMany(axis) ? placed(axis, index) : quoted(labelOf(axis, index));

/** Return the name of a token in a list, where punctuation needs no quotes. */
export const listName = (axis: Axis, index: number): string =>
  isMany(axis) ? placed(axis, index) : labelOf(axis, index);

/**
 * Return the formatter of a quantity. On a long axis it also prints the small weights that many
 * keys share.
 */
export function printerOf(exact: boolean, quantity: string, key: Axis): Print {
  const print = printer(quantity);
  if (quantity !== "weights" || !isMany(key) || !exact) return print;
  return (value, largest) => (value > 0 && largest === undefined ? shareText(value) : print(value));
}
