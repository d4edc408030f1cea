import { clamp } from "../shared/clamp.js";
import { channels } from "../shared/color.js";
import type { Theme } from "../shared/theme.js";

const ORANGE = { light: "#f7b95a", dark: "#8a5410" };

/**
 * Return the share of orange in the background of a changed head, 0 to 1. The scale is the same in
 * every figure, so that a small change is a faint color everywhere.
 */
export const paperStrength = (change: number): number =>
  Math.min(1, 3 * Math.sqrt(Math.max(0, change)));

/**
 * Return the sequential scale on the background of a changed head: entry 0 changes most, the last
 * entry not at all.
 */
function onPaper(table: Uint32Array, { dark }: Theme, change: number): Uint32Array {
  const strength = paperStrength(change);
  const orange = channels(dark ? ORANGE.dark : ORANGE.light);
  const at = (word: number, channel: number) => (word >> (8 * channel)) & 255;
  const [paper = 0, ink = 0] = [table[0], table[table.length - 1]];
  return table.map((word) => {
    let mixed = 255 << 24;
    for (const [channel, to] of orange.entries()) {
      const from = at(paper, channel);
      const moved = from + (to - from) * strength;
      const span = at(ink, channel) - from;
      const share = span ? (at(word, channel) - from) / span : 0;
      const value = Math.round(moved + (at(ink, channel) - moved) * share);
      mixed |= clamp(value, 0, 255) << (8 * channel);
    }
    return mixed >>> 0;
  });
}

/** Return the scale of each changed head, by layer * heads + head. */
export function papersOf(
  table: Uint32Array,
  theme: Theme,
  changes: Float32Array | null,
): Map<number, Uint32Array> {
  const papers = new Map<number, Uint32Array>();
  // Forced colors leave no hue for a background, so outlines mark changed heads instead.
  if (theme.forced) return papers;
  const made = new Map<number, Uint32Array>();
  for (const [head, change] of changes?.entries() ?? []) {
    const step = Math.round(32 * paperStrength(change));
    if (step < 1) continue;
    const known = made.get(step) ?? onPaper(table, theme, (step / 96) ** 2);
    made.set(step, known);
    papers.set(head, known);
  }
  return papers;
}
