import { ramp } from "../shared/colour.js";
import { cssWord, levelOf } from "../shared/colour_levels.js";
import type { Pen } from "../shared/pen.js";
import { alongAt, EASED } from "./lines_layout.js";
import { type LongLayout, yOf } from "./long_layout.js";
import type { Clipped } from "./long_paint.js";
import type { LongScene } from "./long_scene.js";
import type { Link, Part } from "./long_types.js";

/** Within so many pixels a line is meant. */
const NEAR = 6;

const ends = (at: LongLayout, part: Part, [query, key]: Link): [number, number] => [
  yOf(at, part, query + 0.5),
  yOf(at, [part[2], part[3], 0, 0], key + 0.5),
];

/** The strongest links in sight, between the two axes; the weakest lie lowest. */
export function paintLinks(pen: Pen, at: LongLayout, scene: LongScene, clipped: Clipped): void {
  const { theme, state, maximum, links, link, part } = scene;
  const table = ramp(theme);
  const level = levelOf(state.scale, maximum);
  const trace = (link: Link) => {
    const [from, to] = ends(at, part, link).map((y) => y - at.y0) as [number, number];
    pen.beginPath();
    for (const [i, [across, along]] of EASED.entries())
      pen[i ? "lineTo" : "moveTo"](across * at.across, from + along * (to - from));
    pen.stroke();
  };
  pen.save();
  pen.translate(at.x0, at.y0);
  pen.fillStyle = theme.hairline;
  pen.fillRect(-1, 0, 1, at.down);
  pen.fillRect(at.across, 0, 1, at.down);
  clipped(at.across, at.down, () => {
    pen.lineWidth = 1.25;
    for (const link of [...(links ?? [])].reverse()) {
      pen.strokeStyle = cssWord(table[level(link[2])]);
      trace(link);
    }
    const chosen = link === undefined ? undefined : links?.[link];
    if (!chosen) return;
    pen.strokeStyle = theme.accent;
    pen.lineWidth = 2.5;
    trace(chosen);
  });
  pen.restore();
}

/** Which link lies under a point of the canvas: of several the nearest. */
export function linkAt(
  at: LongLayout,
  { links, part }: LongScene,
  x: number,
  y: number,
): number | undefined {
  const right = (x - at.x0) / at.across;
  if (right < 0 || right > 1) return undefined;
  const along = alongAt(EASED, right);
  let best = NEAR;
  let nearest = undefined as number | undefined;
  for (const [i, one] of (links ?? []).entries()) {
    const [from, to] = ends(at, part, one);
    const away = Math.abs(from + along * (to - from) - y) / Math.hypot(1, (to - from) / at.across);
    if (away < best) {
      best = away;
      nearest = i;
    }
  }
  return nearest;
}
