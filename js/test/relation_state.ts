import type { TableState } from "../src/relation_table/state.js";
import type { Request } from "../src/shared/picture/sheet.js";
import { THEMES } from "../src/shared/theme.js";
import { numbers } from "./relation_numbers.js";

/** Return the state of a table of three relations. */
export const tableState = (change: Partial<TableState> = {}): TableState => ({
  selected: [],
  layer: 0,
  _error: "",
  relation: "all",
  direction: "dependent to governor",
  min_count: 1,
  sort: "n",
  descending: true,
  picture_rows: 20,
  _numbers: numbers(),
  _source: { model: "BertModel", note: "100 words in 7 sentences" },
  ...change,
});

export const request = (width: number | null, more: Partial<Request> = {}): Request => ({
  width,
  theme: THEMES.light,
  density: 1,
  blank: false,
  dense: false,
  brief: false,
  caption: false,
  ...more,
});
