import { labelOf, quoted } from "../../shared/labels.js";
import { shareText } from "../../shared/percent_text.js";
import { type Print, printer } from "../../shared/quantity.js";
import type { Axis } from "../../shared/types.js";

/** Axes of more tokens have many alike: a name says where a token is. */
const MANY = 1000;

export const isMany = ({ text }: Axis): boolean => text.length > MANY;

/** A token with its place. */
const placed = (axis: Axis, index: number): string => `${quoted(labelOf(axis, index))} (${index})`;

/** A token as text names it: what it is, and where among many. */
export const tokenName = (axis: Axis, index: number): string =>
  isMany(axis) ? placed(axis, index) : quoted(labelOf(axis, index));

/** The same in a list, where punctuation stands alone. */
export const listName = (axis: Axis, index: number): string =>
  isMany(axis) ? placed(axis, index) : labelOf(axis, index);

/** Prints values of a quantity, also small weights of many keys, which leave little to each. */
export function printerOf(exact: boolean, quantity: string, key: Axis): Print {
  const print = printer(quantity);
  if (quantity !== "weights" || !isMany(key) || !exact) return print;
  return (value, largest) => (value > 0 && largest === undefined ? shareText(value) : print(value));
}
