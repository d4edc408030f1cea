import { bytesOf } from "../shared/page/embedded_arrays.js";
import { decodedBytes, wire } from "../shared/page/embedded_maps.js";
import { nextHeld, shownIn } from "../shared/page/held_texts.js";
import { localModel } from "../shared/page/local_model.js";
import type { Kernel, PageFigure, Text64 } from "../shared/page/page_data.js";
import { DIRECTIONS } from "../shared/relation_types.js";
import type { Head, Model } from "../shared/types.js";
import { asFloat32, asInt32, type WireArray } from "../shared/wire.js";
import { HEADS } from "./heads_answerer.js";
import type { ArcsState, DrawnSentence } from "./state.js";
import { arcsOf, decodeTree, hasRelation } from "./tree.js";

/** Sentence of m words with the predictions of every head. */
export interface HeldSentence {
  drawn: DrawnSentence;
  predicted: {
    /** uint16 [L, H, 2, m]: governors, counted from 1. */
    governors: Text64;
    /** float32 [L, H, 2, m]: exact weight of each prediction. */
    weights: Text64;
    /** uint8 [L, H, m, m] as in `EmbeddedMaps`, and the maximum of each map. */
    maps: Text64;
    maxima: number[];
    /** Decoded arrays, after the first use. */
    read?: { governors: Uint16Array; weights: Float32Array; maps: Uint8Array };
  } | null;
}

/** Sentences stored in the page, and the index of the first. */
interface HeldSentences {
  first: number;
  held: HeldSentence[];
}

interface OwnArcs {
  /** Number of right predictions of every head on each of R relations. */
  measured: {
    relations: string[];
    /** int32 [L, H, 2, R]. */
    correct: WireArray;
    /** int32 [R], float32 [R], int32 [R]. */
    counts: WireArray;
    baseline: WireArray;
    offsets: WireArray;
  } | null;
  /** Whether choosing a relation shows a sentence that has it, as in an explorer. */
  follows: boolean;
}

/**
 * Return one head's predictions as a kernel sends them: rounded weights, but an exact weight for
 * each prediction.
 */
function ofHead({ drawn, predicted }: HeldSentence, index: number) {
  if (!predicted) return null;
  const m = drawn.words.length;
  const heads = predicted.maxima.length;
  predicted.read ??= {
    governors: new Uint16Array(bytesOf(predicted.governors, heads * 2 * m * 2).buffer),
    weights: new Float32Array(bytesOf(predicted.weights, heads * 2 * m * 4).buffer),
    maps: bytesOf(predicted.maps, heads * m * m),
  };
  const { governors, weights, maps } = predicted.read;
  const bytes = maps.subarray(index * m * m, (index + 1) * m * m);
  const map = decodedBytes(bytes, predicted.maxima[index] ?? 0);
  const headGovernors = Int32Array.from(governors.subarray(index * 2 * m, (index + 1) * 2 * m));
  for (const [at, governor] of headGovernors.entries()) {
    const word = at % m;
    const other = governor - 1;
    map[at < m ? word * m + other : other * m + word] = weights[index * 2 * m + at] ?? 0;
  }
  return { governors: wire(headGovernors, [2, m]), map: wire(map, [m, m]) };
}

/** Return how often a head is right on a relation, if that was measured. */
function measuredOf(
  measured: OwnArcs["measured"],
  head: Head | null,
  { relation, direction }: ArcsState,
): ArcsState["_measured"] {
  const r = measured?.relations.indexOf(relation) ?? -1;
  if (!measured || !head || r < 0) return null;
  const [, heads = 0, ways = 2, count = 0] = measured.correct.shape;
  const way = direction === DIRECTIONS[1] ? 1 : 0;
  const place = ((head[0] * heads + head[1]) * ways + way) * count + r;
  return {
    correct: asInt32(measured.correct)[place] ?? 0,
    n: asInt32(measured.counts)[r] ?? 0,
    baseline: asFloat32(measured.baseline)[r] ?? 0,
    offset: asInt32(measured.offsets)[r] ?? 0,
  };
}

/** Answers of a probe for one sentence, as stored in a page without a kernel. */
interface HeldAnswers {
  /** Drawing data and notes by layer, if the answers depend on the layer. */
  probe: Record<string, DrawnSentence>;
  notes: Record<string, string>;
}

/** Return a model whose answers follow the stepped layer. */
function answersModel(state: ArcsState, { probe, notes }: HeldAnswers) {
  const model = localModel<ArcsState>({ ...state, _measured: null });
  const show = () => {
    const layer = model.get("layer");
    const drawn = probe[layer];
    if (!drawn) return;
    model.set("_source", { ...model.get("_source"), note: notes[layer] ?? "" });
    model.set("_drawn", drawn);
  };
  model.on("change:layer", show);
  show();
  return model;
}

const EMPTY = { relations: [], words: [], spaces: [], governors: wire(new Int32Array(), [0]) };

/** Create the model of arcs over the page's sentences, or of the stored answers of a probe. */
export const pageModel: Kernel<ArcsState, OwnArcs | HeldAnswers> = (figure, held) => {
  const { state, own } = figure;
  return "probe" in own
    ? answersModel(state, own)
    : sentencesModel({ ...figure, own }, held.sentences as HeldSentences);
};

function sentencesModel(
  { state, own, shapes }: PageFigure<ArcsState, OwnArcs>,
  { first, held }: HeldSentences,
): Model<ArcsState> {
  const now: ArcsState = { ...state, _drawn: null, _measured: null };
  const model = localModel(now);

  function drawn(sentence: HeldSentence): DrawnSentence {
    const { head, index } = shownIn(now, shapes);
    return { ...sentence.drawn, head, predicted: head && ofHead(sentence, index) };
  }

  function missing(sentence: number): DrawnSentence {
    const range = `${first} to ${first + held.length - 1}`;
    const problem = `Sentence ${sentence} is not on this page: it holds ${range}.`;
    const { head } = shownIn(now, shapes);
    return { ...EMPTY, sentence, name: "", head, predicted: null, problem };
  }

  function measure(): void {
    model.set("_measured", measuredOf(own.measured, shownIn(now, shapes).head, now));
  }

  function draw(): void {
    const sentence = held[now.sentence - first];
    model.set("_drawn", sentence ? drawn(sentence) : missing(now.sentence));
    measure();
  }

  /** Show the next sentence that fits; returns whether there is one. */
  function show(step: number, fits: (sentence: HeldSentence) => boolean): boolean {
    const placeOf = ({ drawn }: HeldSentence) => [drawn.sentence];
    const next = nextHeld(held, placeOf, [now.sentence], step).find(fits);
    if (next) model.set("sentence", next.drawn.sentence);
    return next !== undefined;
  }

  function jump(): void {
    const { n = 0, outcome, step = 1 } = now._jump;
    const isRight = outcome === "right";
    const arrived = show(step, (sentence) => {
      const sent = drawn(sentence);
      const tree = decodeTree(sent);
      const predicted = HEADS.answers(sent, tree, now)?.predicted ?? [];
      return arcsOf(tree, predicted, now.relation).some(({ right }) => right === isRight);
    });
    const where = held.length < now._source.count ? " on this page" : "";
    model.set("_jumped", { n, found: arrived, left: 0, where });
  }

  function follow(): void {
    const has = (sentence: HeldSentence) =>
      decodeTree(sentence.drawn).annotated.some((arc) => hasRelation(now.relation, arc.relation));
    const here = held[now.sentence - first];
    if (own.follows && !(here && has(here))) show(1, has);
  }

  for (const name of ["sentence", "selected"]) model.on(`change:${name}`, draw);
  for (const name of ["relation", "direction"]) model.on(`change:${name}`, measure);
  model.on("change:relation", follow);
  model.on("change:_jump", jump);
  draw();
  return model;
}
