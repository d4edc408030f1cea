import type { Pointed } from "../shared/pointed.js";
import { save } from "../shared/snapshot.js";
import type { Model, Side } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";

type Tokens = [Side, number][];

const last = (tokens: Tokens, side: Side) => tokens.filter(([of]) => of === side).at(-1)?.[1];

/**
 * Return the locked words after a click on a word. The first click locks a word as the query, the
 * second makes a pair, and the third starts again. A click on the locked word unlocks it. Words
 * that are locked when the explorer opens are no exception.
 */
export function chosenWords(tokens: Tokens, { side, index }: Pointed, isOneText: boolean): Tokens {
  const from = last(tokens, "query");
  const to = last(tokens, "key");
  const looks: Tokens = [["query", index]];
  if (!isOneText && side === "key") {
    if (from === undefined) return [["key", index]];
    return to === index
      ? [["query", from]]
      : [
          ["query", from],
          ["key", index],
        ];
  }
  if (from === undefined || to !== undefined) return looks;
  if (index === from) return [];
  return isOneText
    ? [
        ["query", from],
        ["key", index],
      ]
    : looks;
}

/** Return the locked words without the last one: the pair is unlocked first, then the word. */
export function withoutLast(tokens: Tokens): Tokens {
  const from = last(tokens, "query");
  return from !== undefined && last(tokens, "key") !== undefined ? [["query", from]] : [];
}

/** Return whether two words are locked. */
export const isPair = (tokens: Tokens): boolean =>
  last(tokens, "query") !== undefined && last(tokens, "key") !== undefined;

/** Return callbacks that lock words. */
export function wordLocks(model: Model<ExplorerState>) {
  return {
    choose(at: Pointed, isOneText: boolean): void {
      save(model, { tokens: chosenWords(model.get("tokens"), at, isOneText) });
    },
    /** Unlock the word that was locked last; returns whether there was one. */
    takeBack(): boolean {
      const tokens = model.get("tokens");
      if (!tokens.length) return false;
      save(model, { tokens: withoutLast(tokens) });
      return true;
    },
  };
}

/**
 * Let Escape undo locks and switched-off heads, outside of forms and details. `takeBack` returns
 * whether there was anything to undo.
 */
export function onEscape(root: HTMLElement, takeBack: () => boolean, signal: AbortSignal): void {
  const press = (event: KeyboardEvent) => {
    const { target } = event;
    if (event.key !== "Escape" || event.defaultPrevented) return;
    const isElsewhere =
      target instanceof Element && target.closest(".attnw-ex-bottom, form, .attnw-ex-details");
    if (isElsewhere || !takeBack()) return;
    event.preventDefault();
    event.stopPropagation();
  };
  root.addEventListener("keydown", press, { signal, capture: true });
}
