import type { Axes, Axis, GridState, Head, Model, Scale, Special } from "../model/types.js";
import { digits } from "./colour_bar.js";
import type { Cell } from "./grid_layout.js";
import type { Picture } from "./grid_pixels.js";

export const SPECIALS: Special[] = ["cls", "sep", "first"];

/** A token as a reader can see it: white space alone shows its spelling in the vocabulary. */
const visible = (axis: Axis, index: number) =>
  axis.text[index]?.trim() || axis.raw[index]?.trim() || "␣";

export interface Strongest {
  query: string;
  key: string;
  weight: string;
}

/** The pair of a head's largest weight; undefined where nothing is left to see. */
export function strongest(picture: Picture, axes: Axes, [row, col]: Cell): Strongest | undefined {
  const head = row * picture.cols + col;
  const weight = picture.maxima[head] ?? 0;
  const query = picture.strongest[2 * head] ?? -1;
  const key = picture.strongest[2 * head + 1] ?? -1;
  if (!(weight > 0) || !(query in axes.query.text) || !(key in axes.key.text)) return undefined;
  return {
    query: visible(axes.query, query),
    key: visible(axes.key, key),
    weight: digits(weight),
  };
}

/** A cell in words, for assistive technology. */
export function describe([row, col]: Cell, pair: Strongest | undefined, selected: boolean) {
  const parts = [`layer ${row} head ${col}`];
  if (pair) parts.push(`strongest ${pair.query} to ${pair.key} ${pair.weight}`);
  if (selected) parts.push("selected");
  return parts.join(", ");
}

/** What the live region says after the selection changed. */
export function announcement(selected: Head[]): string {
  const last = selected.at(-1);
  if (!last) return "no head selected";
  const where = last[2] === "self" ? "" : `${last[2]} `;
  const count = selected.length > 1 ? `, ${selected.length} heads selected` : " selected";
  return `${where}layer ${last[0]} head ${last[1]}${count}`;
}

export const scaleText = (scale: Scale, shared: boolean, maximum: number) =>
  shared ? `${scale} · shared, max ${digits(maximum)}` : `${scale} · per head`;

/** Name of a kind of special token, spelled as the model does: "[CLS]", "<s>". */
export function specialName(axes: Axes, kind: Special): string | undefined {
  for (const axis of [axes.query, axes.key]) {
    const index = axis?.special.indexOf(kind) ?? -1;
    if (index >= 0) return kind === "first" ? "first token" : visible(axis, index);
  }
  return undefined;
}

/** The line under the figure: what is shown, and what was left out, merged or made smaller. */
export function caption(model: Model<GridState>, picture: Picture | null): string {
  const source = model.get("_source");
  const stack = model.get("_stacks").find(({ name }) => name === model.get("stack"));
  const axes = model.get("_axes");
  const shared = model.get("shared_scale") ? "shared by all heads" : "per head";
  const parts = [source.model];
  if (stack && stack.name !== "self") parts.push(stack.name);
  if (axes.query) {
    const [n, m] = [axes.query.text.length, axes.key.text.length];
    const counts = stack?.name === "cross" || n !== m ? `${n} × ${m}` : String(n);
    parts.push(`${counts} ${axes.unit}`);
  }
  parts.push(model.get("quantity"), `${model.get("scale")} colour scale ${shared}`);
  const hidden = model.get("hidden").map((kind) => specialName(axes, kind) ?? kind);
  if (hidden.length) parts.push(`${hidden.join(", ")} hidden`);
  if (model.get("unit") === "words")
    parts.push("words: sum over the attended word's tokens, mean over the attending word's");
  if (picture && axes.query) {
    const kept = ({ special }: Axis) =>
      special.filter((kind) => !model.get("hidden").includes(kind as Special)).length;
    const { height, width } = picture;
    if (kept(axes.query) > height || kept(axes.key) > width)
      parts.push(`shown as ${height} × ${width} block maxima`);
  }
  if (stack && stack.n_key_heads < stack.n_heads)
    parts.push(`bands: heads that share keys (${stack.n_key_heads})`);
  if (source.note) parts.push(source.note);
  return parts.filter(Boolean).join(" · ");
}
