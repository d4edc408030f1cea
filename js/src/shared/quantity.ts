import { aligned, alignedWeights, digits, figures } from "./numbers.js";
import { percentText } from "./percent_text.js";
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

/** The symbol beside a value or a colour bar; weights need none. */
export const symbolOf = (quantity: string): string => NAMED[quantity]?.symbol ?? "";

/** What a caption says of a quantity; `loss` is what gradients are of. */
export function quantityName(quantity: string, loss = ""): string {
  const note = NAMED[quantity]?.note ?? "attention weights";
  return quantity === "gradients" && loss ? `${note} · L: ${loss}` : note;
}

/**
 * Format a value: weights are at most 1, further quantities have any size; `largest` is the largest
 * value of the same list.
 */
export function printValue(quantity: string, largest?: number): (x: number) => string {
  if (largest === undefined) return quantity === "weights" ? digits : figures;
  return quantity === "weights" ? alignedWeights(largest) : aligned(largest);
}

/** Prints the values of a bar of colours: shares in per cent where the bar ends at 100 %. */
export const barPrinter = (quantity: string, scale: Scale): ((x: number) => string) =>
  quantity === "weights" && scale === "absolute" ? percentText : printValue(quantity);

/** Prints a difference with its sign. */
export const signedValue = (print: (x: number) => string) => (x: number) =>
  (x < 0 ? "−" : x > 0 ? "+" : "") + print(Math.abs(x));

/** Format a value of a quantity, alone or in a list with a largest value. */
export type Print = (value: number, largest?: number) => string;

/** Prints values of a quantity. */
export const printer =
  (quantity: string): Print =>
  (value, largest) =>
    Number.isNaN(value) ? "masked" : printValue(quantity, largest)(value);

/** Prints weights as shares in per cent; "" for less than 1 %, which no reader compares. */
export const weightText: Print = (value) => {
  if (Number.isNaN(value)) return "masked";
  return value < 0.01 ? "" : percentText(value);
};
