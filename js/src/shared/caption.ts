import { bounded } from "./bounded.js";
import { type HeadNaming, shortName, wholeName } from "./head_names.js";
import { inLine } from "./in_line.js";
import type { Head, Scale } from "./types.js";

/** What a figure shows, in words: under a picture, in a file's metadata, and read aloud. */
export interface Caption {
  /** What kind of figure it is. */
  figure: string;
  model: string;
  /** The head or heads shown. */
  head: string;
  /** What the numbers are. */
  quantity: string;
  /** How numbers became colors or lengths. */
  scale: string;
  /** What is hidden, merged, rescaled, filtered, cut or rounded. */
  notes: string[];
}

/** A caption of these parts; those that are left out are empty. */
export const caption = (figure: string, parts: Partial<Caption> = {}): Caption => ({
  figure: bounded(figure),
  model: bounded(parts.model ?? ""),
  head: bounded(parts.head ?? ""),
  quantity: bounded(parts.quantity ?? ""),
  scale: bounded(parts.scale ?? ""),
  notes: (parts.notes ?? []).filter(Boolean).map((note) => bounded(note)),
});

/** The whole caption in one line. */
export const captionText = ({ notes, ...parts }: Caption): string =>
  inLine([...Object.values(parts), ...notes]);

/** The numbers of a figure, for who cannot see it; what identifies a row is in the first column. */
export interface Table {
  columns: string[];
  rows: (string | number | boolean | null)[][];
}

export const ALL_HIDDEN = "Every token is hidden: show some again.";

const RELATIVE = { absolute: "", linear: "linear", sqrt: "square-root", log: "logarithmic" };

/**
 * The name of a scale beside its color bar; "" if the values of the bar say enough. Only weights
 * have the absolute scale: `isPlain` is false for differences and for weights times keys.
 */
export function scaleName(scale: Scale, quantity: string, isPlain = true): string {
  if (scale !== "absolute") return scale;
  return quantity === "weights" && isPlain ? "absolute" : "";
}

/** The name of a scale in a caption; `what` shows the values: color, or the thickness of lines. */
export function scaleWords(scale: Scale, quantity: string, isPlain = true, what = "color"): string {
  const name = RELATIVE[scale] || scaleName(scale, quantity, isPlain);
  return [name, what, "scale"].filter(Boolean).join(" ");
}

/** What a title says of a scale that the reader asked for; "" for the absolute one. */
export const scaleTitle = (scale: Scale): string =>
  scale === "absolute" ? "" : `relative scale (${RELATIVE[scale]})`;
export const MERGED = "words: sum over the attended word's tokens, mean over the attending word's";
export const NO_HEAD = "no head selected";

const MOST_NAMED = 6;

/** How heads are named in a list. */
interface Naming extends HeadNaming {
  /** The number of heads that are named. */
  most?: number;
  /** Whether the 1-based name is left out. */
  short?: boolean;
}

/** `L7 H9 (8-10) “label”` of each head; of many the first ones and their number. */
export function headNames(heads: Head[], naming: Naming = {}): string {
  const { most = MOST_NAMED, short = false } = naming;
  const name = short ? shortName : wholeName;
  const names = heads.slice(0, most).map((head) => name(head, naming));
  const rest = heads.length - names.length;
  return names.join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** Rows of a table that is kept at every display of its widget. */
const MOST_KEPT = 20;

/**
 * The table where it is asked for, its first rows where a notebook keeps it; and what the caption
 * says of that.
 */
export function keptRows({ columns, rows }: Table, brief: boolean): [table: Table, note: string] {
  if (!brief || rows.length <= MOST_KEPT) return [{ columns, rows }, ""];
  const note = `table: the first ${MOST_KEPT} of ${rows.length} rows`;
  return [{ columns, rows: rows.slice(0, MOST_KEPT) }, note];
}
