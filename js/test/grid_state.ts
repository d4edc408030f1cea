import type { GridState } from "../src/head_grid/state.js";
import { axes } from "./four_tokens.js";
import { stack } from "./view_state.js";

/** Return the state of a grid of four tokens without thumbnails, with the changes in `patch`. */
export const gridState = (patch: Partial<GridState> = {}): GridState => ({
  selected: [[1, 5, "self"]],
  layer: 1,
  tokens: [],
  hidden: [],
  quantity: "weights",
  unit: "tokens",
  scale: "absolute",
  disabled: [],
  method: "uniform",
  stack: "self",
  times_keys: false,
  versus: null,
  comparison_part: "difference",
  metric: null,
  sort: "none",
  descending: true,
  filter: null,
  cells: "answers",
  step: null,
  _metrics: null,
  _thumbnails: null,
  _rows: null,
  _axes: axes,
  _stacks: [stack],
  _source: { model: "Bert", note: "", loss: "" },
  _quantities: ["weights"],
  _circle: "",
  _error: "",
  ...patch,
});
