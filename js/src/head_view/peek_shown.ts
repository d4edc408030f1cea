import type { Peeked } from "../shared/peek.js";
import type { Axes, Axis } from "../shared/types.js";
import { isTwo } from "./several/several.js";
import type { ViewState } from "./state.js";
import { type Shown, valuesOfHead } from "./view_shown.js";

/** Return the indices of the tokens that are not hidden. */
const kept = (axis: Axis, hidden: string[]): number[] =>
  [...axis.special.keys()].filter((i) => !hidden.includes(axis.special[i] ?? ""));

/** Return the axis of blocks of tokens. Each block is represented by its first token. */
function blocks(axis: Axis, places: number[], count: number): Axis {
  const firsts = Array.from(
    { length: count },
    (_, i) => places[Math.floor((i * places.length) / count)] ?? 0,
  );
  const of = <T>(entries: T[]) => firsts.map((at) => entries[at] as T);
  return {
    text: of(axis.text),
    raw: of(axis.raw),
    special: of(axis.special),
    segments: of(axis.segments),
  };
}

/**
 * Return the preview of a head from another figure, drawn from its bytes; null if its tokens differ
 * from those of `last`, which is shown now. If bytes stand for blocks of tokens, the preview is a
 * matrix of blocks.
 */
export function peekShown(state: ViewState, last: Shown | null, peeked: Peeked) {
  // In a comparison of two attentions, the head of only one would be misleading.
  if (isTwo(state)) return null;
  if (!last || last.axes.stack !== peeked.head[2] || last.axes.unit !== peeked.unit) return null;
  const { query, key } = last.axes;
  if (peeked.row) return rowShown(state, last, peeked, peeked.row);
  const rows = kept(query, peeked.hidden);
  const cols = kept(key, peeked.hidden);
  const whole = rows.length === peeked.rows && cols.length === peeked.cols;
  const decoded = (byte = 0) => peeked.maximum * (byte / 255) ** 2;
  const values = whole
    ? placed(peeked, rows, cols, last, decoded)
    : Float32Array.from(peeked.values, (byte) => decoded(byte));
  const axes: Axes = whole
    ? last.axes
    : {
        ...last.axes,
        query: blocks(query, rows, peeked.rows),
        key: blocks(key, cols, peeked.cols),
      };
  const shown: Shown = {
    head: peeked.head,
    quantity: peeked.quantity,
    unit: peeked.unit,
    axes,
    values: [values],
    exact: false,
    highlighted: whole ? last.highlighted : { query: [], key: [] },
    rowSums: [1, 1],
    mask: whole ? last.mask : "",
    source: [peeked],
    peek: whole
      ? "peek"
      : `peek: the strongest of ${peeked.rows} × ${peeked.cols} blocks of tokens`,
  };
  const shared = { ...state, arrangement: "one", hidden: peeked.hidden } as ViewState;
  return { shown, state: whole ? shared : ({ ...shared, ...BLOCKS } as ViewState) };
}

/**
 * Return the preview of one row of a head from another figure, in the mode that paints a single
 * row; null in other modes, which show complete maps.
 */
function rowShown(state: ViewState, last: Shown, peeked: Peeked, row: NonNullable<Peeked["row"]>) {
  const { query, key } = last.axes;
  const counts = { query: query.text.length, key: key.text.length };
  const own = valuesOfHead(last);
  const isMap = own.length === counts.query * counts.key;
  const painted = row.side === "query" ? "key" : "query";
  if (state.mode !== "places" || !isMap || row.values.length !== counts[painted]) return null;
  const values = own.map((value) => (Number.isNaN(value) ? value : 0));
  if (row.side === "key")
    for (const [i, value] of row.values.entries()) values[i * counts.key + (row.of ?? 0)] = value;
  // Set every row to the mean row, so that their mean is this row.
  else if (row.of === null)
    for (let i = 0; i < counts.query; i++) values.set(row.values, i * counts.key);
  else values.set(row.values, row.of * counts.key);
  const shown: Shown = {
    head: peeked.head,
    quantity: peeked.quantity,
    unit: peeked.unit,
    axes: last.axes,
    values: [values],
    exact: false,
    highlighted: last.highlighted,
    rowSums: [1, 1],
    mask: last.mask,
    source: [peeked],
    peek: "peek",
  };
  return { shown, state: { ...state, arrangement: "one" } as ViewState };
}

/** Options for a map of blocks, where options about tokens do not apply. */
const BLOCKS: Partial<ViewState> = {
  mode: "matrix",
  tokens: [],
  sentences: "all",
  window: null,
};

/** Return the values among all tokens. All layers mask the same cells as the map shown now. */
function placed(
  peeked: Peeked,
  rows: number[],
  cols: number[],
  last: Shown,
  decoded: (byte?: number) => number,
): Float32Array {
  const nKeys = last.axes.key.text.length;
  // The even share counts hidden keys as well, so set their cells to 0: the bytes do not include
  // them.
  const own = valuesOfHead(last);
  const values = own.map((value) => (Number.isNaN(value) ? value : 0));
  for (const [r, row] of rows.entries())
    for (const [c, col] of cols.entries()) {
      const at = row * nKeys + col;
      if (!Number.isNaN(own[at])) values[at] = decoded(peeked.values[r * cols.length + c]);
    }
  return values;
}
