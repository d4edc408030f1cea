import { onPeek, type Peeked } from "../shared/peek.js";
import { onPointed, type Pointed, pointOut } from "../shared/pointed.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";

/** The head and the word that the pointer is on, here or in a figure. */
export interface Pointer {
  peeked: Peeked | null;
  pointed: Pointed | null;
}

/** Follows the pointer over the words of the explorer, and over the heads and words of figures. */
export function followPointer(
  model: Model<ExplorerState>,
  signal: AbortSignal,
  changed: () => void,
) {
  const circle = () => model.get("_circle");
  const now: Pointer = { peeked: null, pointed: null };
  /** The word that was clicked last, while the pointer rests on it: the locks are shown. */
  let clicked = "";
  onPeek(signal, circle, (peeked) => {
    now.peeked = peeked;
    changed();
    // The figures say whether they show the head.
    return false;
  });
  onPointed(signal, circle, model, (pointed) => {
    now.pointed = pointed;
    changed();
  });

  return {
    now,
    /** The pointer, or the keyboard, is on a word, or on none. */
    point(to: Pointed | null): void {
      const word = JSON.stringify(to);
      if (word === clicked || word === JSON.stringify(now.pointed)) return;
      clicked = "";
      now.pointed = to;
      pointOut(circle(), model, to);
      changed();
    },
    /** A word is clicked: what is locked is shown, until the pointer moves to another word. */
    click(at: Pointed): void {
      this.point(null);
      clicked = JSON.stringify(at);
    },
  };
}
