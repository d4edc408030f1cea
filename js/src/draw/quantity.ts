import { digits } from "./colour_bar.js";
import { figures } from "./grid_order.js";

/** What a map shows of every pair of tokens, as a reader should name it. */
interface Named {
  /** One value, beside its number. */
  symbol: string;
  /** What is measured, and that rows are not shares of one. */
  note: string;
}

const NAMED: Record<string, Named> = {
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

/** What a caption must say of a quantity; `loss` is what gradients are of. */
export function quantityNote(quantity: string, loss = ""): string {
  const note = NAMED[quantity]?.note ?? "";
  return quantity === "gradients" && loss ? `${note} · L: ${loss}` : note;
}

/** Prints a value: weights are shares of one, other quantities have any size. */
export const printValue = (quantity: string): ((x: number) => string) =>
  quantity === "weights" ? digits : figures;
