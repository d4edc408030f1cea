import { clamp } from "../shared/clamp.js";

interface Actions {
  /** Return the number of words of the sentence. */
  count(): number;
  /** Handle that a word is held or released. */
  hold(word: number | undefined): void;
  /** Scroll a word into view. */
  reveal(word: number): void;
  redraw(): void;
}

/** Return the words under the pointer and the keyboard cursor, and the held word. */
export function activeWords(actions: Actions) {
  let hovered: number | undefined;
  /** Column of the matrix cell under the pointer. */
  let beside: number | undefined;
  let held: number | undefined;
  let cursor: number | undefined;

  function hold(word: number | undefined): void {
    held = word;
    actions.hold(word);
    actions.redraw();
  }

  const pin = (word: number) => hold(held === word ? undefined : word);

  /** Return the highlighted words: the active word, and a second word next to it. */
  function active() {
    const word = hovered ?? cursor ?? held;
    const other = beside ?? (held === word ? undefined : held);
    return { word, other: other === word ? undefined : other, isHeld: word === held };
  }

  return {
    pin,
    active,
    /**
     * Return the words that the readout describes. Pointing at a matrix cell must not move the
     * cells, so its readout keeps the held word.
     */
    told() {
      const { word, other } = active();
      const told = beside === undefined ? word : held;
      return {
        word: told,
        other: beside === undefined ? other : undefined,
        isByKeyboard: told === cursor,
      };
    },
    point(word?: number, other?: number): void {
      if (word === hovered && other === beside) return;
      hovered = word;
      beside = other;
      if (word !== undefined) cursor = undefined;
      actions.redraw();
    },
    /** Hold the word that the kernel holds. */
    keep(word: number | undefined): void {
      held = word;
    },
    /** Forget all words, because another sentence has other words. */
    forget(): void {
      hovered = undefined;
      beside = undefined;
      held = undefined;
      cursor = undefined;
    },
    /** Handle a key that moves between words or holds one; returns whether it did. */
    key(key: string): boolean {
      const count = actions.count();
      const from = cursor ?? held ?? -1;
      const target = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: count - 1 }[key];
      if (count === 0) return false;
      if (target !== undefined) {
        cursor = clamp(target, 0, count - 1);
        hovered = undefined;
        beside = undefined;
        actions.reveal(cursor);
      } else if ((key === "Enter" || key === " ") && cursor !== undefined) pin(cursor);
      else return false;
      actions.redraw();
      return true;
    },
    /** Release the word; returns whether there was one. */
    letGo(): boolean {
      if (held === undefined && cursor === undefined) return false;
      cursor = undefined;
      hold(undefined);
      return true;
    },
    /** Give the keyboard a word to start from, so that the first arrow key has an effect. */
    focus(byKeyboard: boolean): void {
      if (byKeyboard && cursor === undefined) cursor = held ?? 0;
      actions.redraw();
    },
    blur(): void {
      cursor = undefined;
      actions.redraw();
    },
  };
}
