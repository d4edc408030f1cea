import { type Head, type HeadLabel, headName, sameHead } from "../shared/types.js";
import { asFloat32 } from "../shared/wire.js";
import { type AtlasState, type Column, type HeadNumbers, OUTCOMES } from "./state.js";

/** Head in the table; numbers of heads without a name are NaN. */
export interface Row {
  head: Head;
  name: string;
  runnerUp: string;
  outcome: string;
  /** The outcome in words for readers. */
  losing: string;
  strength: number;
  heldOut: number;
}

export function rowsOf(numbers: HeadNumbers): Row[] {
  const strength = asFloat32(numbers.strength);
  const heldOut = asFloat32(numbers.held_out);
  return numbers.name.map((name, i) => ({
    head: [Math.floor(i / numbers.heads), i % numbers.heads, "self"],
    name,
    runnerUp: numbers.runner_up[i] ?? "",
    outcome: numbers.outcome[i] ?? "",
    losing: numbers.losing[i] ?? "",
    strength: strength[i] ?? Number.NaN,
    heldOut: heldOut[i] ?? Number.NaN,
  }));
}

/** Return the anchor of a head, for example "L1H3", for searches and addresses of saved pages. */
export const anchorOf = ([layer, head]: Head): string => `L${layer}H${head}`;

/** Return the note on a head, which may have several lines, or "". */
export const noteOf = (head: Head, notes: HeadLabel[]): string =>
  notes.find(([at]) => sameHead(at, head))?.[1] ?? "";

/** Return the head of an anchor in an address, for example "#L1H3". */
export function headOf(hash: string): Head | undefined {
  const [, layer, head] = /^#?L(\d{1,4})H(\d{1,4})$/i.exec(hash) ?? [];
  return layer === undefined ? undefined : [Number(layer), Number(head), "self"];
}

type Wish = Pick<AtlasState, "search" | "sort" | "descending">;
type Search = Wish & Pick<AtlasState, "notes">;

const compact = (text: string) => text.toLocaleLowerCase().replaceAll(" ", "");

/** Return the sort key of a row; undefined for heads without a value, which come last. */
function keyOf(row: Row, column: Column): string | number | undefined {
  const [layer, head] = row.head;
  const rank = OUTCOMES.indexOf(row.outcome);
  const keys: Record<Column, string | number | undefined> = {
    head: layer * 1e4 + head,
    name: row.name || undefined,
    strength: Number.isNaN(row.strength) ? undefined : row.strength,
    "held out": Number.isNaN(row.heldOut) ? undefined : row.heldOut,
    outcome: rank < 0 ? undefined : rank,
  };
  return keys[column];
}

/** Return the rows that match the search, in their order. */
export function shownRows(rows: Row[], { search, sort, descending, notes }: Search): Row[] {
  const wanted = compact(search);
  const way = descending ? -1 : 1;
  return rows
    .filter(({ head, name, runnerUp, outcome }) =>
      compact([anchorOf(head), name, runnerUp, outcome, noteOf(head, notes)].join("\n")).includes(
        wanted,
      ),
    )
    .sort((a, b) => {
      const x = keyOf(a, sort);
      const y = keyOf(b, sort);
      if (x === undefined || y === undefined)
        return Number(x === undefined) - Number(y === undefined);
      return x === y ? 0 : way * (x < y ? -1 : 1);
    });
}

/** Return the order after a click on a heading: strengths start with the largest. */
export const sorted = (wish: Wish, column: Column): Pick<Wish, "sort" | "descending"> => ({
  sort: column,
  descending:
    wish.sort === column ? !wish.descending : column === "strength" || column === "held out",
});

/** Format a score. A score that was not measured is null, or NaN in an array. */
export const printScore = (value: number | null): string =>
  value === null || Number.isNaN(value) ? "–" : value.toFixed(2).replace("-", "−");

/** Return the printed texts of a row. */
export const printed = (row: Row): Record<Column, string> => ({
  head: headName(row.head),
  name: row.name || "no name",
  strength: printScore(row.strength),
  "held out": printScore(row.heldOut),
  outcome: row.losing || "–",
});
