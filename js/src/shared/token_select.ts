import type { Control } from "./controls.js";
import { labelOf } from "./labels.js";
import type { Axis, Special } from "./types.js";

/**
 * Return the tokens to choose from, each with its index first, to be parsed again. A token that
 * occurs twice also shows its index.
 */
export function offeredTokens(axis: Axis, hidden: Special[]): string[] {
  const texts = axis.text.map((_, i) => labelOf(axis, i));
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return texts.flatMap((text, i) =>
    hidden.includes(axis.special[i] as Special)
      ? []
      : [`${i} ${text}${(counts.get(text) ?? 0) > 1 ? ` (${i})` : ""}`],
  );
}

/** Return the choice of a token of one side. Its first entry, `none`, means no token. */
export function tokenChoice(of: {
  name: string;
  none: string;
  offered: string[];
  index: number | null;
  lock(index: number | null): void;
}): Control {
  const { name, none, offered, index, lock } = of;
  return {
    kind: "choice",
    name,
    place: "bar",
    values: [none, ...offered],
    value: offered.find((value) => Number.parseInt(value, 10) === index) ?? none,
    change: (value) => lock(value === none ? null : Number.parseInt(value, 10)),
    print: (value) => (value === none ? none : value.slice(value.indexOf(" ") + 1)),
  };
}
