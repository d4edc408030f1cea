import { clamp } from "../shared/clamp.js";

interface Actions {
  /** Number of words of the sentence. */
  count(): number;
  /** A word is held, or let go. */
  hold(word: number | undefined): void;
  /** Bring a word into sight. */
  reveal(word: number): void;
  redraw(): void;
}

/** The words that pointer and keyboard are on, and the word that a reader holds. */
export function activeWords(actions: Actions) {
  let hovered: number | undefined;
  /** The column of the cell that is pointed at. */
  let beside: number | undefined;
  let held: number | undefined;
  let cursor: number | undefined;

  function hold(word: number | undefined): void {
    held = word;
    actions.hold(word);
    actions.redraw();
  }

  const pin = (word: number) => hold(held === word ? undefined : word);

  /** The words that stand out: the active word, and a second word beside it. */
  function active() {
    const word = hovered ?? cursor ?? held;
    const other = beside ?? (held === word ? undefined : held);
    return { word, other: other === word ? undefined : other, isHeld: word === held };
  }

  return {
    pin,
    active,
    /** The words that the text is about: a pointer on a cell of the matrices must not move them. */
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
    /** Another sentence has other words. */
    forget(): void {
      hovered = undefined;
      beside = undefined;
      held = undefined;
      cursor = undefined;
    },
    /** Returns whether the key moves between words, or holds one. */
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
    /** Let go of the word; returns whether there was one. */
    letGo(): boolean {
      if (held === undefined && cursor === undefined) return false;
      cursor = undefined;
      hold(undefined);
      return true;
    },
    /** The keyboard has a word to start from, so that the first arrow key has somewhere to go. */
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
