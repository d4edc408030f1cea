import { onPeek, type Peeked } from "../shared/peek.js";
import { onPointed, type Pointed, pointOut } from "../shared/pointed.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";

/** Head and word under the pointer, in the explorer or in a figure. */
export interface Pointer {
  peeked: Peeked | null;
  pointed: Pointed | null;
}

/** Follow the pointer over the words of the explorer, and over the heads and words of figures. */
export function followPointer(
  model: Model<ExplorerState>,
  signal: AbortSignal,
  changed: () => void,
) {
  const circle = () => model.get("_circle");
  const now: Pointer = { peeked: null, pointed: null };
  /** Word that was clicked last. While the pointer stays on it, the locks are shown. */
  let clicked = "";
  onPeek(signal, circle, (peeked) => {
    now.peeked = peeked;
    changed();
    // Return false, because the figures report themselves whether they show the head.
    return false;
  });
  onPointed(signal, circle, model, (pointed) => {
    now.pointed = pointed;
    changed();
  });

  return {
    now,
    /** Handle a move of the pointer or the keyboard cursor to a word, or away from all words. */
    point(to: Pointed | null): void {
      const word = JSON.stringify(to);
      if (word === clicked || word === JSON.stringify(now.pointed)) return;
      clicked = "";
      now.pointed = to;
      pointOut(circle(), model, to);
      changed();
    },
    /** Handle a click on a word. The locks are shown until the pointer moves to another word. */
    click(at: Pointed): void {
      this.point(null);
      clicked = JSON.stringify(at);
    },
    /** Show the locks until the pointer or the keyboard cursor moves to another word. */
    rest(): void {
      if (now.pointed) this.click(now.pointed);
    },
  };
}
