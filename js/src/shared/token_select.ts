import type { Control } from "./controls.js";
import { labelOf } from "./labels.js";
import type { Axis, Special } from "./types.js";

/**
 * A token as it is offered: where a text has it twice, by its place too. Its place comes first, to
 * be read again.
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

/** The choice of a token of one side; its first entry, `none`, stands for no token. */
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
