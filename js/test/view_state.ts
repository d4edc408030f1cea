import type { ViewState } from "../src/head_view/state.js";
import type { StackInfo } from "../src/shared/types.js";
import { axes } from "./four_tokens.js";

export const stack: StackInfo = {
  name: "self",
  n_layers: 3,
  n_heads: 8,
  n_key_heads: 8,
  n_query: 4,
  n_key: 4,
};

/** A view of four tokens, with what a test changes of it. */
export const viewState = (patch: Partial<ViewState> = {}): ViewState => ({
  selected: [[1, 5, "self"]],
  layer: 1,
  tokens: [],
  hidden: [],
  quantity: "weights",
  disabled: [],
  method: "uniform",
  unit: "tokens",
  scale: "absolute",
  mode: "lines",
  sentences: "all",
  _error: "",
  _circle: "",
  _quantities: ["weights"],
  _axes: axes,
  _stacks: [stack],
  token_size: "M",
  window: null,
  _source: { model: "Bert", note: "weights only", loss: "" },
  _highlighted: { query: [], key: [] },
  arrangement: "one",
  of: "selected",
  _maps: null,
  _map: null,
  versus: null,
  of_two: "all",
  _compared: [],
  _long: null,
  _tile: null,
  _row: null,
  _search: {},
  _search_answer: {},
  _steps: null,
  ...patch,
});
