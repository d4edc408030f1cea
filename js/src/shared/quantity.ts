import { aligned, alignedWeights, digits, figures, largestSize } from "./numbers.js";
import { percentText, pointsText, shareText } from "./percent_text.js";
import type { Scale } from "./types.js";

/** What a map shows of every pair of tokens, as a reader should name it. */
interface QuantityTexts {
  /** One value, beside its number. */
  symbol: string;
  /** The name of the quantity, with a remark if rows do not sum to 1. */
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

/** The symbol beside a value or a color bar; weights need none. */
export const symbolOf = (quantity: string): string => NAMED[quantity]?.symbol ?? "";

/** What a caption says of a quantity; `loss` is what gradients are of. */
export function quantityName(quantity: string, loss = ""): string {
  const note = NAMED[quantity]?.note ?? "attention weights";
  return quantity === "gradients" && loss ? `${note} · L: ${loss}` : note;
}

/**
 * Format a value of a table: weights are at most 1, further quantities have any size; `largest` is
 * the largest value of the same list.
 */
function printValue(quantity: string, largest?: number): (x: number) => string {
  if (largest === undefined) return quantity === "weights" ? digits : figures;
  return quantity === "weights" ? alignedWeights(largest) : aligned(largest);
}

/** Prints the values of a bar of colors. */
export const barPrinter = (quantity: string, scale: Scale): Print =>
  quantity === "weights" && scale === "absolute" ? percentText : printer(quantity);

/** Prints a difference with its sign. */
export const signedValue = (print: (x: number) => string) => (x: number) =>
  (x < 0 ? "−" : x > 0 ? "+" : "") + print(Math.abs(x));

/** Format a value of a quantity, alone or in a list with a largest value. */
export type Print = (value: number, largest?: number) => string;

/** A printer that has a word for masked values. */
const masked =
  (print: Print): Print =>
  (value, largest) =>
    Number.isNaN(value) ? "masked" : print(value, largest);

/** Prints values of a quantity in tables: weights with three significant digits. */
export const tablePrinter = (quantity: string): Print =>
  masked((value, largest) => printValue(quantity, largest)(value));

/** Prints the values of one column of a table, with one number of decimals. */
export function columnPrinter(quantity: string, values: number[]): (x: number) => string {
  const largest = values.length > 1 ? largestSize(values) : undefined;
  return (value) => tablePrinter(quantity)(value, largest);
}

/** Prints values of a quantity for readers: weights as shares in per cent. */
export const printer = (quantity: string): Print =>
  quantity === "weights"
    ? masked((value) => (value > 0 && value < 0.0005 ? "<0.1\u00a0%" : shareText(value)))
    : tablePrinter(quantity);

/** Prints differences of a quantity with their signs: of weights in percentage points. */
export const differencePrinter = (quantity: string): Print =>
  signedValue(quantity === "weights" ? masked(pointsText) : tablePrinter(quantity));

/** Prints weights as shares in per cent; "" for less than 1 %, which no reader compares. */
export const weightText: Print = masked((value) => (value < 0.01 ? "" : percentText(value)));
