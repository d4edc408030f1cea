import { cssWord } from "./levels.js";
import type { Lines } from "./lines_choose.js";
import { controlHeights, type LinesLayout, rowCentre } from "./lines_layout.js";
import type { Scene } from "./scene.js";

/** Above so many lines curves cost more than they show. */
const MOST_CURVES = 4000;

/** Add one line to the context's path. */
export function traceLine(
  context: CanvasRenderingContext2D,
  layout: LinesLayout,
  query: number,
  key: number,
  curved: boolean,
): void {
  const { x0, x1 } = layout;
  const [from, to] = [rowCentre(layout, query), rowCentre(layout, key)];
  context.moveTo(x0, from);
  if (!curved) {
    context.lineTo(x1, to);
    return;
  }
  const [a, b] = controlHeights(from, to);
  const third = (x1 - x0) / 3;
  context.bezierCurveTo(x0 + third, a, x1 - third, b, x1, to);
}

/**
 * Stroke lines weakest first, each in its level's colour of `table`. Colours are opaque, so that a line looks as on the
 * colour bar however many others it crosses; `only` picks some of the lines.
 */
function paintLines(
  context: CanvasRenderingContext2D,
  layout: LinesLayout,
  lines: Lines,
  table: Uint32Array,
  only: (query: number, key: number) => boolean,
): void {
  const curved = lines.count <= MOST_CURVES;
  context.lineWidth = curved ? 1.5 : 1;
  for (let i = 0; i < lines.count; ) {
    const level = lines.level[i] ?? 0;
    context.beginPath();
    for (; i < lines.count && lines.level[i] === level; i++) {
      const [query, key] = [lines.query[i] ?? 0, lines.key[i] ?? 0];
      if (!only(query, key)) continue;
      traceLine(context, layout, query, key, curved);
    }
    context.strokeStyle = cssWord(table[level]);
    context.stroke();
  }
}

/** Highlighted tokens' lines in the second colour, over all others in the first. */
export function paintBoth(
  context: CanvasRenderingContext2D,
  layout: LinesLayout,
  lines: Lines,
  first: Uint32Array,
  second: Uint32Array,
  { highlighted, theme }: Scene,
): void {
  const lit = (query: number, key: number) =>
    highlighted.query.has(query) || highlighted.key.has(key);
  paintLines(context, layout, lines, first, (query, key) => !lit(query, key));
  if (highlighted.query.size + highlighted.key.size === 0) return;
  // The second colours come last: a pale one must not cut through a strong one of the first.
  context.globalCompositeOperation = theme.dark ? "lighten" : "darken";
  paintLines(context, layout, lines, second, lit);
  context.globalCompositeOperation = "source-over";
}
