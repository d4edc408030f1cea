import { clamp } from "../shared/clamp.js";
import { channels } from "../shared/color.js";
import type { Theme } from "../shared/theme.js";

const ORANGE = { light: "#f7b95a", dark: "#8a5410" };

/**
 * How much of the orange the paper of a changed head takes, 0 to 1. The scale is the same in every
 * figure: a head that another text would change hardly at all is hardly colored.
 */
export const paperStrength = (change: number): number =>
  Math.min(1, 3 * Math.sqrt(Math.max(0, change)));

/** The sequential scale on the paper of a changed head: entry 0 moves most, the last one stays. */
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

/** The scale of each changed head, as layer * heads + head. */
export function papersOf(
  table: Uint32Array,
  theme: Theme,
  changes: Float32Array | null,
): Map<number, Uint32Array> {
  const papers = new Map<number, Uint32Array>();
  // The system's colors leave no hue for a paper: outlines say it there.
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
