import { bytesOf } from "../shared/page/embedded_arrays.js";
import { wire } from "../shared/page/embedded_maps.js";
import { nextHeld, shownIn } from "../shared/page/held_texts.js";
import { localModel } from "../shared/page/local_model.js";
import type { Kernel, Text64 } from "../shared/page/page_data.js";
import { type CoreferenceState, type DrawnWindow, sceneOf, VARIANTS } from "./scene.js";

/** Window of E evaluated mentions with the choices of every head. */
export interface HeldWindow {
  drawn: DrawnWindow;
  /** int16 [E, 2, L, H]: words of the window; and float32 [E, 2, L, H]. */
  words: Text64;
  weights: Text64;
}

/** Windows of the documents in the page, from `first` to `stop` (exclusive). */
interface HeldWindows {
  first: number;
  stop: number;
  held: HeldWindow[];
}

interface OwnCoreference {
  /** [2, L, H]: number of mentions of the study on which each head is right. */
  correct: number[];
}

/** Return the choices of one of `all` heads in a window, by variant, as a kernel sends them. */
function choices({ drawn, words, weights }: HeldWindow, index: number, all: number) {
  const count = drawn.evaluated.length;
  const items = count * VARIANTS.length * all;
  const chosen = new Int16Array(bytesOf(words, 2 * items).buffer);
  const behind = new Float32Array(bytesOf(weights, 4 * items).buffer);
  const places = VARIANTS.flatMap((_, variant) =>
    Array.from({ length: count }, (__, row) => (row * VARIANTS.length + variant) * all + index),
  );
  const shape = [VARIANTS.length, count];
  const choices = Int32Array.from(places, (place) => chosen[place] ?? -1);
  const ownWeights = Float32Array.from(places, (place) => behind[place] ?? 0);
  return { words: wire(choices, shape), weights: wire(ownWeights, shape) };
}

const EMPTY = { name: "", start: 0, length: 0, words: [], mentions: [], evaluated: [] };

/** Create the model of the documents in the page, with the choices of every head. */
export const pageModel: Kernel<CoreferenceState, OwnCoreference> = (
  { state, own, shapes },
  { windows },
) => {
  const now: CoreferenceState = { ...state, _drawn: null };
  const model = localModel(now);
  const { first, stop, held } = windows as HeldWindows;
  const all = own.correct.length / VARIANTS.length;

  /** Return a window as a kernel draws it, with the choices of the shown head. */
  function read(of: HeldWindow): DrawnWindow {
    const { head, index } = shownIn(now, shapes);
    if (!head) return { ...of.drawn, head: null, chosen: null };
    const correct = VARIANTS.map((_, variant) => own.correct[variant * all + index] ?? 0);
    return { ...of.drawn, head, chosen: { ...choices(of, index, all), correct } };
  }

  function missing(): DrawnWindow {
    const { document, window } = now;
    const problem = `Document ${document} is not on this page: it holds ${first} to ${stop - 1}.`;
    const { head } = shownIn(now, shapes);
    return { ...EMPTY, document, window, windows: 1, head, chosen: null, problem };
  }

  function draw(): void {
    const entry = held.find(
      ({ drawn }) => drawn.document === now.document && drawn.window === now.window,
    );
    model.set("_drawn", entry ? read(entry) : missing());
  }

  function jump(): void {
    const { n = 0, outcome, step = 1 } = now._jump;
    // Positions of all mentions on which the shown head has this outcome.
    const places = held.flatMap((of) => {
      const { document, window } = of.drawn;
      const evaluated = sceneOf({ ...now, _drawn: read(of) })?.evaluated ?? [];
      return evaluated
        .filter(({ choice }) => choice?.right === (outcome === "right"))
        .map(({ mention }) => [document, window, mention.mention]);
    });
    const here = [now.document, now.window, now.mention ?? -1];
    const [next] = nextHeld(places, (place) => place, here, step);
    // Keep this order, because a change of the document or the window resets the mention.
    for (const [i, name] of (["document", "window", "mention"] as const).entries())
      if (next) model.set(name, next[i] ?? 0);
    const where = stop - first < now._source.count ? " on this page" : "";
    model.set("_jumped", { n, found: next !== undefined, where });
  }

  const begin = () => {
    model.set("mention", null);
    draw();
  };
  model.on("change:document", () => {
    model.set("window", 0);
    begin();
  });
  model.on("change:window", begin);
  model.on("change:selected", draw);
  model.on("change:_jump", jump);
  draw();
  return model;
};
