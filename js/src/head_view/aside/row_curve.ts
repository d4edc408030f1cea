import { transfer } from "../../shared/color.js";
import { AXIS_LABEL_SIZE, labelFont, write } from "../../shared/labels.js";
import type { Pen } from "../../shared/pen.js";
import { leads, type Scene } from "../scene.js";
import type { QueryRow } from "../source/map_source.js";
import { sourceOf } from "../source/source_of.js";
import { hasMinimap } from "./minimap.js";
import { tokenName } from "./token_name.js";

const GAP = 6;
/** Space to the left of the bars for the largest value and the name of the scale. */
const LEFT = 56;
const WIDEST = 560;
const HEADING = 20;
const BARS = 48;
/** Space below the bars for the mark of the visible keys. */
const MARK = 8;

export const curveSize = ({ room }: Scene) => ({
  width: Math.min(room, LEFT + WIDEST + GAP),
  height: HEADING + BARS + MARK,
});

/** Return all weights of the locked query, if some of them are out of sight. */
export function lockedRow(scene: Scene): QueryRow | undefined {
  const { query } = leads({ ...scene, active: {} });
  if (query === undefined || scene.several || !hasMinimap(scene)) return undefined;
  return sourceOf(scene.map).row(query);
}

/** Return the key at an x position of the curve. */
export function keyAt(scene: Scene, x: number): number | undefined {
  const share = (x - LEFT) / (curveSize(scene).width - LEFT - GAP);
  return share >= 0 && share < 1 ? share * scene.map.cols.length : undefined;
}

/** Draw a query's weights to all keys as bars and mark the visible keys. */
export function paintCurve(pen: Pen, scene: Scene, row: QueryRow): void {
  const { theme, font, state, map, part, print, axes } = scene;
  const { values, first, step, query } = row;
  const across = curveSize(scene).width - LEFT - GAP;
  const count = map.cols.length;
  const largest = values.reduce((most, value) => Math.max(most, value || 0), 0);
  const maximum = state.scale === "absolute" ? map.maximum : largest;
  const height = transfer(state.scale);
  pen.font = labelFont(font, false, AXIS_LABEL_SIZE);
  pen.textBaseline = "middle";
  const of = `from ${tokenName(axes.query, map.rows[query] ?? 0)} to all keys`;
  const apart =
    first === undefined ? "" : `; ${tokenName(axes.key, map.cols[0] ?? 0)} ${print(first)}`;
  const fits = pen.measureText(of + apart).width <= across;
  write(pen, fits ? of + apart : of, [LEFT, HEADING / 2], theme.muted);
  write(pen, print(maximum), [LEFT - GAP, HEADING + 5], theme.muted, "right");
  write(pen, state.scale, [LEFT - GAP, HEADING + BARS - 5], theme.muted, "right");
  const floor = HEADING + BARS;
  // Of bars that share a pixel, draw the highest.
  const highest = new Float32Array(Math.ceil(across));
  const wide = Math.max(1, (step / count) * across);
  for (const [i, value] of values.entries()) {
    const x = Math.floor(((i * step) / count) * across);
    for (let dx = 0; dx < wide && x + dx < highest.length; dx++)
      if (value > (highest[x + dx] ?? 0)) highest[x + dx] = value;
  }
  pen.fillStyle = theme.text;
  for (const [x, value] of highest.entries()) {
    if (!(value > 0)) continue;
    const tall = Math.max(1, height(Math.min(1, value / maximum)) * (BARS - 2));
    pen.fillRect(LEFT + x, floor - tall, 1, tall);
  }
  pen.fillStyle = theme.hairline;
  pen.fillRect(LEFT, floor, across, 1);
  const [left, right] = [part[2], part[3]].map((key) => LEFT + (key / count) * across) as [
    number,
    number,
  ];
  pen.fillStyle = theme.accent;
  pen.fillRect(left, floor + 2, Math.max(3, right - left), 3);
}
