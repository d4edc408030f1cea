import type { Tile } from "../src/head_view/source/tile_types.js";
import type { ViewState } from "../src/head_view/state.js";
import type { Head, StackInfo } from "../src/shared/types.js";
import type { WireArray } from "../src/shared/wire.js";
import { axes } from "./four_tokens.js";

export const stack: StackInfo = {
  name: "self",
  n_layers: 3,
  n_heads: 8,
  n_key_heads: 8,
  n_query: 4,
  n_key: 4,
};

/** Return the state of a view of four tokens, with the changes in `patch`. */
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
  shown_heads: "selected",
  _maps: null,
  versus: null,
  comparison_part: "all",
  _compared: [],
  _tile: null,
  _row: null,
  _search: {},
  _search_answer: {},
  _steps: null,
  ...patch,
});

interface TileChoice extends Partial<Pick<Tile, "quantity" | "unit" | "exact">> {
  head?: Head;
}

/** Return the complete map of a head, [queries, keys], as the kernel sends it. */
export function tileOf(values: WireArray, { head = [1, 5, "self"], ...of }: TileChoice = {}): Tile {
  const [n = 0, m = 0] = values.shape;
  return {
    heads: [head],
    stack: head[2],
    quantity: "weights",
    unit: "tokens",
    exact: true,
    asked: null,
    part: [0, n, 0, m],
    step: 1,
    queries: [0, n],
    keys: [0, m],
    values: { ...values, shape: [1, n, m] },
    first: null,
    links: null,
    ...of,
  };
}
