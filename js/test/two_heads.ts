import type { Maps } from "../src/head_view/several/map_types.js";
import type { ViewState } from "../src/head_view/state.js";
import type { Head } from "../src/shared/types.js";
import { weights } from "./four_tokens.js";
import { viewState } from "./view_state.js";

export const heads: Head[] = [
  [1, 2, "self"],
  [2, 5, "self"],
];
export const second = weights.map((row) => [...row].reverse().map((value) => value / 2));

/** Maps of four tokens. The second head has the rows of the first in reverse order, halved. */
export const maps: Maps = {
  complete: true,
  stack: "self",
  quantity: "weights",
  unit: "tokens",
  heads,
  exact: true,
  maxima: [],
  values: {
    shape: [2, 4, 4],
    dtype: "<f4",
    view: new DataView(Float32Array.from([weights, second].flat(2)).buffer),
  },
};

/** Return the state of a view of both heads side by side. */
export const severalState = (patch: Partial<ViewState> = {}) =>
  viewState({ selected: heads, layer: 2, arrangement: "beside", _maps: maps, ...patch });
