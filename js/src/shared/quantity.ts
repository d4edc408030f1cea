import { aligned, alignedWeights, digits, figures, largestSize } from "./numbers.js";
import { percentText, pointsText, shareText } from "./percent_text.js";
import type { Scale } from "./types.js";

/** Texts that describe the value of a map for readers. */
interface QuantityTexts {
  /** Symbol of one value, printed next to its number. */
  symbol: string;
  /** Name of the quantity, with a remark if rows do not sum to 1. */
  note: string;
}

const NAMED: Record<string, QuantityTexts> = {
  norms: {
    symbol: "‖a·f(x)‖",
    note: "norms: weight × length of the transformed value, ‖a·f(x)‖; rows do not sum to 1",
  },
  gradients: {
    symbol: "|∂L/∂a|",
    note: "gradients: change of the loss with the weight, |∂L/∂a|; rows do not sum to 1",
  },
};

/** Return the symbol for a value or a color bar; "" for weights, which need none. */
export const symbolOf = (quantity: string): string => NAMED[quantity]?.symbol ?? "";

/** Return the name of a quantity for a caption. `loss` names the loss of the gradients. */
export function quantityName(quantity: string, loss = ""): string {
  const note = NAMED[quantity]?.note ?? "attention weights";
  return quantity === "gradients" && loss ? `${note} · L: ${loss}` : note;
}

/**
 * Return a formatter for table values. Weights are at most 1; other quantities have any size.
 * `largest` is the largest value of the same list.
 */
function printValue(quantity: string, largest?: number): (x: number) => string {
  if (largest === undefined) return quantity === "weights" ? digits : figures;
  return quantity === "weights" ? alignedWeights(largest) : aligned(largest);
}

/** Return the formatter of a color bar. */
export const barPrinter = (quantity: string, scale: Scale): Print =>
  quantity === "weights" && scale === "absolute" ? percentText : printer(quantity);

/** Return a formatter of differences, which prints the sign. */
export const signedValue = (print: (x: number) => string) => (x: number) =>
  (x < 0 ? "−" : x > 0 ? "+" : "") + print(Math.abs(x));

/** Function that formats a value of a quantity, alone or in a list with a largest value. */
export type Print = (value: number, largest?: number) => string;

/** Return a formatter that prints "masked" for masked values. */
const masked =
  (print: Print): Print =>
  (value, largest) =>
    Number.isNaN(value) ? "masked" : print(value, largest);

/** Return the table formatter of a quantity. Weights have three significant digits. */
export const tablePrinter = (quantity: string): Print =>
  masked((value, largest) => printValue(quantity, largest)(value));

/** Return the formatter of one table column, with a common number of decimals. */
export function columnPrinter(quantity: string, values: number[]): (x: number) => string {
  const largest = values.length > 1 ? largestSize(values) : undefined;
  return (value) => tablePrinter(quantity)(value, largest);
}

/** Return the formatter of a quantity for readers. Weights are printed as percentages. */
export const printer = (quantity: string): Print =>
  quantity === "weights"
    ? masked((value) => (value > 0 && value < 0.0005 ? "<0.1\u00a0%" : shareText(value)))
    : tablePrinter(quantity);

/**
 * Return the formatter of signed differences of a quantity. Weights differ in percentage points.
 */
export const differencePrinter = (quantity: string): Print =>
  signedValue(quantity === "weights" ? masked(pointsText) : tablePrinter(quantity));

/** Format a weight as a percentage, or as "" below 1 %, which is too small to compare. */
export const weightText: Print = masked((value) => (value < 0.01 ? "" : percentText(value)));
