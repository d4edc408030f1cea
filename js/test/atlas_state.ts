import type { AtlasState, Card, Score } from "../src/atlas_view/state.js";
import { wireOf } from "./wire_of.js";

const score = (behavior: string, value: number, control: number, names: boolean): Score => ({
  behavior,
  description: `attends to the ${behavior}`,
  control_name: "the keys beside it",
  score: value,
  control,
  low: -0.05,
  high: 0.05,
  adjusted: names ? 0.0001 : 1,
  names,
  n: 12,
  unit: "texts",
  held_out: value - 0.01,
  held_out_control: control,
  auc: 0.9,
  source: "Clark et al. 2019",
});

/** Return the card of the head L1 H0. */
export const card = (change: Partial<Card> = {}): Card => ({
  head: [1, 0, "self"],
  name: "previous token",
  runner_up: "rare words",
  named_by: 0,
  scores: [
    score("previous token", 0.92, 0.1, true),
    ...Array.from({ length: 9 }, (_, i) => score(`behavior ${i}`, 0.3 - i / 50, 0.2, false)),
    score("rare words", 0.3, 0.2, true),
  ],
  effect: {
    losing: "yes, here, and more than any other tested head",
    effect: 0.1,
    low: 0.05,
    high: 0.15,
    matched: -0.01,
    random: [
      ["L1 H1", 0.01],
      ["L1 H2", null],
    ],
    n_texts: 12,
    n_places: 99,
  },
  examples: {
    strongest: [
      { pieces: [" the", " <b>", " saw", " him", "self"], query: 4, key: 1, weight: 0.42 },
    ],
    middle: Array.from({ length: 10 }, () => ({
      pieces: [" a", " b"],
      query: 1,
      key: 1,
      weight: 0.1,
    })),
  },
  distances: [
    ["16+ before", 0.05],
    ["1 before", 0.25],
    ["itself", 0.02],
    ["1 after", 0.4],
    ["2 after", 0.28],
  ],
  in_text: null,
  writes: [["cat", ["cats", "dog"], ["the"]]],
  feeds: [[[0, 1, "self"], "key", 0.25]],
  rule: {
    coverage: "Its rule predicts 19\u00a0% of where the head looks.",
    texts: "120 sentences",
    groups: [
      {
        group: "the word itself",
        verdict: "its rule recovers 90\u00a0% (80\u00a0% to 96\u00a0%) of what the head is worth",
        n_texts: 99,
        n_predictions: 1234,
        off: [0.3, 0.24, 0.36],
        rule: [0.03, -0.01, 0.07],
        wrong: [0.5, null, null],
      },
      {
        group: "the other words",
        verdict: "the model does not need this head",
        n_texts: 120,
        n_predictions: 900,
        off: [0.001, -0.01, 0.01],
        rule: [0, -0.01, 0.01],
        wrong: [null, null, null],
      },
    ],
  },
  shares: {
    parts: [
      ["position", 0.84],
      ["grammar", 0.05],
      ["same word", -0.01],
      ["rest", 0.12],
    ],
    texts: "240 sentences",
  },
  ...change,
});

/** Return an atlas of two layers with two heads each; one head has no name. */
export const atlasState = (change: Partial<AtlasState> = {}): AtlasState => ({
  selected: [[1, 0, "self"]],
  layer: 1,
  _error: "",
  table: true,
  search: "",
  sort: "strength",
  descending: true,
  all_scores: false,
  examples: "strongest",
  n_examples: 6,
  example: null,
  notes: [],
  _source: { model: "BertModel", note: "12 texts", no_effects: "" },
  _heads: {
    layers: 2,
    heads: 2,
    name: ["determiner to its noun", "", "previous token", "rests on [CLS]"],
    runner_up: ["", "", "rare words", ""],
    outcome: ["null", "", "primary cause", "correlate"],
    losing: ["no change", "", "yes, most", "yes, as elsewhere"],
    strength: wireOf(Float32Array.of(0.5, Number.NaN, 0.9, 0.5), [4]),
    held_out: wireOf(Float32Array.of(0.6, Number.NaN, 0.91, 0.4), [4]),
  },
  _card: card(),
  ...change,
});
