import { hasRelation } from "../draw/arcs_data.js";
import { type ArcsState, DIRECTIONS, type DrawnSentence } from "../model/relation_types.js";
import type { Head, Model } from "../model/types.js";
import { asFloat32, asInt32 } from "../model/wire.js";
import { localModel } from "./local_model.js";
import { rounded, wire } from "./maps.js";
import type { EmbeddedAccuracies, EmbeddedSentences, HeldSentence } from "./page_data.js";
import { bytesOf } from "./revive.js";

/** What every head predicts for a sentence of m words; the bytes are read when first asked for. */
interface Predictions {
  m: number;
  /** uint16 and float32 [L, H, 2, m]. */
  governors: Uint16Array;
  weights: Float32Array;
  maps: Uint8Array;
  maxima: number[];
}

function readPredictions({ drawn, predicted }: HeldSentence): Predictions | undefined {
  if (!predicted) return undefined;
  return {
    m: drawn.words.length,
    governors: new Uint16Array(bytesOf(predicted.governors).buffer),
    weights: new Float32Array(bytesOf(predicted.weights).buffer),
    maps: bytesOf(predicted.maps),
    maxima: predicted.maxima,
  };
}

/** One head's part, as a kernel sends it: rounded weights, but exact ones behind each prediction. */
function ofHead({ m, governors, weights, maps, maxima }: Predictions, index: number) {
  const map = rounded(maps.subarray(index * m * m, (index + 1) * m * m), maxima[index] ?? 0);
  const own = Int32Array.from(governors.subarray(index * 2 * m, (index + 1) * 2 * m));
  for (const [at, governor] of own.entries()) {
    const [word, other] = [at % m, governor - 1];
    const cell = at < m ? word * m + other : other * m + word;
    map[cell] = weights[index * 2 * m + at] ?? 0;
  }
  return { governors: wire(own, [2, m]), map: wire(map, [m, m]) };
}

/** How often a head is right on a relation, where that was measured. */
function measuredOf(
  found: EmbeddedAccuracies | null,
  head: Head | undefined,
  relation: string,
  way: number,
): ArcsState["_measured"] {
  const r = found?.relations.indexOf(relation) ?? -1;
  if (!found || !head || r < 0) return null;
  const [, heads = 0, ways = 2, count = 0] = found.correct.shape;
  const place = ((head[0] * heads + head[1]) * ways + way) * count + r;
  return {
    correct: asInt32(found.correct)[place] ?? 0,
    n: asInt32(found.counts)[r] ?? 0,
    baseline: asFloat32(found.baseline)[r] ?? 0,
    offset: asInt32(found.offsets)[r] ?? 0,
  };
}

const EMPTY = { relations: [], words: [], spaces: [], governors: wire(new Int32Array(), [0]) };

/** Arcs over the sentences that the page holds. */
export function arcsModel(state: ArcsState, data: EmbeddedSentences): Model<ArcsState> {
  const model = localModel<ArcsState>({ ...state, _drawn: null, _measured: null });
  const { first, held, stack } = data;
  const [layers, heads] = data.shape;
  const count = model.get("_source").count;
  const read = new Map<number, Predictions | undefined>();
  const shown = () => {
    const head = model.get("selected").at(-1);
    return head && head[2] === stack && head[0] < layers && head[1] < heads ? head : undefined;
  };
  const way = () => DIRECTIONS.indexOf(model.get("direction"));

  function predictions(index: number): Predictions | undefined {
    const sentence = held[index - first];
    if (sentence && !read.has(index)) read.set(index, readPredictions(sentence));
    return read.get(index);
  }

  function drawn(index: number): DrawnSentence {
    const head = shown() ?? null;
    const sentence = held[index - first];
    if (!sentence) {
      const range = `${first} to ${first + held.length - 1}`;
      const problem = `Sentence ${index} is not on this page: it holds ${range}.`;
      return { ...EMPTY, sentence: index, name: "", head, predicted: null, problem };
    }
    const found = head && predictions(index);
    const predicted = found ? ofHead(found, head[0] * heads + head[1]) : null;
    return { ...sentence.drawn, head, predicted };
  }

  function measure(): void {
    const relation = model.get("relation");
    model.set("_measured", measuredOf(data.measured, shown(), relation, way()));
  }

  function draw(): void {
    model.set("_drawn", drawn(model.get("sentence")));
    measure();
  }

  /** Whether the shown head is right, or wrong, on a word of the relation with a weight that is drawn. */
  function fits(index: number, right: boolean): boolean {
    const head = shown();
    const found = head && predictions(index);
    const sentence = held[index - first]?.drawn;
    if (!found || !sentence) return false;
    const { m } = found;
    const start = (2 * (head[0] * heads + head[1]) + way()) * m;
    return [...asInt32(sentence.governors)].some(
      (governor, word) =>
        governor > 0 &&
        hasRelation(model.get("relation"), sentence.relations[word] ?? "") &&
        (found.weights[start + word] ?? 0) >= model.get("threshold") &&
        (found.governors[start + word] === governor) === right,
    );
  }

  function jump(): void {
    const { n = 0, outcome, step = 1 } = model.get("_jump");
    const from = model.get("sentence");
    const found = Array.from({ length: count - 1 }, (_, i) => {
      const index = (from + step * (i + 1)) % count;
      return index < 0 ? index + count : index;
    }).find((index) => fits(index, outcome === "right"));
    if (found !== undefined) model.set("sentence", found);
    const where = held.length < count ? " on this page" : "";
    model.set("_jumped", { n, found: found !== undefined, left: 0, where });
  }

  function follow(): void {
    const relation = model.get("relation");
    const has = ({ relations, governors }: DrawnSentence) =>
      [...asInt32(governors)].some(
        (governor, word) => governor > 0 && hasRelation(relation, relations[word] ?? ""),
      );
    const at = model.get("sentence") - first;
    const own = held[at];
    if (!data.follows || (own && has(own.drawn))) return;
    const found = [...held.slice(at + 1), ...held.slice(0, Math.max(0, at))].find(
      ({ drawn: one }) => has(one),
    );
    if (found) model.set("sentence", found.drawn.sentence);
  }

  for (const name of ["sentence", "selected"]) model.on(`change:${name}`, draw);
  for (const name of ["relation", "direction"]) model.on(`change:${name}`, measure);
  model.on("change:relation", follow);
  model.on("change:_jump", jump);
  draw();
  return model;
}
