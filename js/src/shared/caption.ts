import { bounded } from "./bounded.js";
import { type HeadNaming, shortName, wholeName } from "./head_names.js";
import { inLine } from "./in_line.js";
import type { Head, Scale } from "./types.js";

/** Description of a figure, for the text under a picture, file metadata and screen readers. */
export interface Caption {
  /** Kind of figure. */
  figure: string;
  model: string;
  /** Name of the head or heads. */
  head: string;
  /** Name of the quantity that is drawn. */
  quantity: string;
  /** Mapping from numbers to colors or lengths. */
  scale: string;
  /** Notes on tokens or values that are hidden, merged, rescaled, filtered, cut or rounded. */
  notes: string[];
}

/** Return a caption with these parts. Missing parts are empty. */
export const caption = (figure: string, parts: Partial<Caption> = {}): Caption => ({
  figure: bounded(figure),
  model: bounded(parts.model ?? ""),
  head: bounded(parts.head ?? ""),
  quantity: bounded(parts.quantity ?? ""),
  scale: bounded(parts.scale ?? ""),
  notes: (parts.notes ?? []).filter(Boolean).map((note) => bounded(note)),
});

/** Return the whole caption as one line. */
export const captionText = ({ notes, ...parts }: Caption): string =>
  inLine([...Object.values(parts), ...notes]);

/** Numbers of a figure, for readers who cannot see it. The first column identifies the row. */
export interface Table {
  columns: string[];
  rows: (string | number | boolean | null)[][];
}

export const ALL_HIDDEN = "Every token is hidden: show some again.";

const RELATIVE = { absolute: "", linear: "linear", sqrt: "square-root", log: "logarithmic" };

/**
 * Return the name of a scale for its color bar, or "" if the values of the bar are enough. Only
 * weights have the absolute scale: `isPlain` is false for differences and for weights times keys.
 */
export function scaleName(scale: Scale, quantity: string, isPlain = true): string {
  if (scale !== "absolute") return scale;
  return quantity === "weights" && isPlain ? "absolute" : "";
}

/**
 * Return the name of a scale for a caption. `what` is the visual channel: color or line thickness.
 */
export function scaleWords(scale: Scale, quantity: string, isPlain = true, what = "color"): string {
  const name = RELATIVE[scale] || scaleName(scale, quantity, isPlain);
  return [name, what, "scale"].filter(Boolean).join(" ");
}

/** Return the note on a scale for a title; "" for the absolute scale. */
export const scaleTitle = (scale: Scale): string =>
  scale === "absolute" ? "" : `relative scale (${RELATIVE[scale]})`;
export const MERGED = "words: sum over the attended word's tokens, mean over the attending word's";
export const NO_HEAD = "no head selected";

const MOST_NAMED = 6;

/** Options for the names in a list of heads. */
interface Naming extends HeadNaming {
  /** Largest number of heads that are named. */
  most?: number;
  /** Whether to leave out the 1-based name. */
  short?: boolean;
}

/**
 * Return `L7 H9 (8-10) “label”` for each head. A long list names the first heads and counts the
 * rest.
 */
export function headNames(heads: Head[], naming: Naming = {}): string {
  const { most = MOST_NAMED, short = false } = naming;
  const name = short ? shortName : wholeName;
  const names = heads.slice(0, most).map((head) => name(head, naming));
  const rest = heads.length - names.length;
  return names.join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** Largest number of table rows that the notebook stores with each display of a widget. */
const MOST_KEPT = 20;

/** Return the table, cut to its first rows if `brief`, and the caption note about the cut. */
export function keptRows({ columns, rows }: Table, brief: boolean): [table: Table, note: string] {
  if (!brief || rows.length <= MOST_KEPT) return [{ columns, rows }, ""];
  const note = `table: the first ${MOST_KEPT} of ${rows.length} rows`;
  return [{ columns, rows: rows.slice(0, MOST_KEPT) }, note];
}
