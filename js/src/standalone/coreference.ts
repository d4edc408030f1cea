import {
  type CoreferenceState,
  type DrawnWindow,
  decodeWindow,
  VARIANTS,
} from "../draw/coreference_data.js";
import type { Head, Model } from "../model/types.js";
import { localModel } from "./local_model.js";
import { wire } from "./maps.js";
import type { EmbeddedDocuments, HeldWindow } from "./page_data.js";
import { bytesOf } from "./revive.js";

type Place = [document: number, window: number, mention: number];
const isAfter = (a: Place, b: Place) => {
  const at = a.findIndex((value, i) => value !== b[i]);
  return at >= 0 && (a[at] ?? 0) > (b[at] ?? 0);
};

/** What one head chooses in a window, by variant, as a kernel sends it. */
function choices({ drawn, words, weights }: HeldWindow, index: number, all: number) {
  const count = drawn.evaluated.length;
  const chosen = new Int16Array(bytesOf(words).buffer);
  const behind = new Float32Array(bytesOf(weights).buffer);
  const places = VARIANTS.flatMap((_, variant) =>
    Array.from({ length: count }, (__, row) => (row * VARIANTS.length + variant) * all + index),
  );
  const shape = [VARIANTS.length, count];
  return {
    words: wire(
      Int32Array.from(places, (place) => chosen[place] ?? -1),
      shape,
    ),
    weights: wire(
      Float32Array.from(places, (place) => behind[place] ?? 0),
      shape,
    ),
  };
}

/** The documents that the page holds, with every head's choices. */
export function coreferenceModel(
  state: CoreferenceState,
  data: EmbeddedDocuments,
): Model<CoreferenceState> {
  const model = localModel<CoreferenceState>({ ...state, _drawn: null });
  const [layers, heads] = data.shape;
  const all = layers * heads;
  const shown = (): Head | undefined => {
    const head = model.get("selected").at(-1);
    return head && head[2] === "self" && head[0] < layers && head[1] < heads ? head : undefined;
  };

  /** A window as the kernel draws it, with the shown head's choices. */
  function read(of: HeldWindow): DrawnWindow {
    const head = shown();
    if (!head) return { ...of.drawn, head: null, chosen: null };
    const index = head[0] * heads + head[1];
    const correct = VARIANTS.map((_, variant) => data.correct[variant * all + index] ?? 0);
    return { ...of.drawn, head, chosen: { ...choices(of, index, all), correct } };
  }

  function draw(): void {
    const [document, window] = [model.get("document"), model.get("window")];
    const found = data.held.find(
      ({ drawn }) => drawn.document === document && drawn.window === window,
    );
    const range = `${data.first} to ${data.stop - 1}`;
    const problem = `Document ${document} is not on this page: it holds ${range}.`;
    const empty = {
      name: "",
      start: 0,
      length: 0,
      words: [],
      mentions: [],
      evaluated: [],
      chosen: null,
    };
    const head = shown() ?? null;
    const missing = { ...empty, document, window, windows: 1, head, problem };
    model.set("_drawn", found ? read(found) : missing);
  }

  /** Every mention that the shown head is right, or wrong, on, in the order of the documents. */
  function places(right: boolean): Place[] {
    const variant = model.get("variant");
    if (!shown()) return [];
    return data.held.flatMap((of) => {
      const passage = decodeWindow(read(of));
      const { document, window, evaluated } = of.drawn;
      return evaluated
        .filter(({ mention }) => passage.choice(mention, variant)?.right === right)
        .map(({ mention }): Place => [document, window, mention]);
    });
  }

  function jump(): void {
    const { n = 0, outcome, step = 1 } = model.get("_jump");
    const here: Place = [model.get("document"), model.get("window"), model.get("mention") ?? -1];
    const found = places(outcome === "right").sort((a, b) => (isAfter(a, b) ? 1 : -1));
    const after = found.filter((place) => isAfter(place, here));
    const before = found.filter((place) => isAfter(here, place));
    const others = [...before, ...after];
    const next = step === 1 ? (after[0] ?? others[0]) : (before.at(-1) ?? others.at(-1));
    if (next) {
      const [document, window, mention] = next;
      model.set("document", document);
      model.set("window", window);
      model.set("mention", mention);
    }
    const isPart = data.stop - data.first < model.get("_source").count;
    model.set("_jumped", { n, found: next !== undefined, where: isPart ? " on this page" : "" });
  }

  model.on("change:document", () => {
    model.set("window", 0);
    model.set("mention", null);
    draw();
  });
  model.on("change:window", () => {
    model.set("mention", null);
    draw();
  });
  model.on("change:selected", draw);
  model.on("change:_jump", jump);
  draw();
  return model;
}
