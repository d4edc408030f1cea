import { AXIS_LABEL_SIZE, labelFont, tokenInQuotes } from "../shared/labels.js";
import type { Look } from "../shared/mount.js";
import { counted, figures } from "../shared/numbers.js";
import { shareText } from "../shared/percent_text.js";
import { asFloat32 } from "../shared/wire.js";
import { reason, WAITING } from "./link_text.js";
import { isAbout, type Link, type LinkState } from "./state.js";

const TITLE_LINE = 18;
const PLOT = 72;
const AXIS = 18;
const READOUT = 18;
const GAP = 8;
const END = 8;
/** Largest width of a step, so that a text with few distances is not drawn too wide. */
const WIDEST_STEP = 48;

/** Weight that a key would have at other distances. */
export interface Curve {
  title: string;
  readout: string;
  first: number;
  /** Distance in the text, and distance of the slider. */
  own: number;
  at: number;
  weights: Float32Array;
  /** End of the axis of weights, and its labels. */
  largest: number;
  labels: { text: string; y: number }[];
  /** Labels below the curve; `x` is their center. */
  ticks: { text: string; x: number; strong: boolean }[];
  left: number;
  right: number;
  top: number;
  bottom: number;
  readoutY: number;
  width: number;
  height: number;
}

/** Describe a distance. */
function distanceName(distance: number): string {
  if (distance === 0) return "at the place of the query";
  const where = distance > 0 ? "before" : "after";
  return `${counted(Math.abs(distance), "token")} ${where} the query`;
}

/** Return the curve of a link, or the reason why there is none. */
export function curveOf(
  state: LinkState,
  link: Link,
  look: Look,
): [curve: Curve | null, reason: string] {
  const answer = state._distances;
  if (!answer || !isAbout(answer, link)) return [null, state._problem || WAITING];
  const { found, problem } = answer;
  if (!found) return [null, `Other distances are not known: ${reason(problem)}`];
  const { first, distance: own } = found;
  const weights = asFloat32(found.weights);
  const scores = asFloat32(found.scores);
  const last = first + weights.length - 1;
  const wanted = state.distance ?? own;
  const at = wanted >= first && wanted <= last ? wanted : own;
  const largest = Math.max(...weights) || 1;
  const measure = look.ruler(labelFont(look.font, false, AXIS_LABEL_SIZE));
  const top = TITLE_LINE + GAP;
  const bottom = top + PLOT;
  const labels = [
    { text: shareText(largest), y: top },
    { text: "0", y: bottom },
  ];
  const left = Math.ceil(Math.max(...labels.map(({ text }) => measure(text)))) + GAP + END;
  const most = left + END + WIDEST_STEP * Math.max(weights.length - 1, 1);
  const width = Math.min(look.width, most);
  const right = width - END;
  const shape = { first, weights, left, right };
  const key = tokenInQuotes(state._token_axes.key, link.key);
  const now = at - first;
  const weight = shareText(weights[now] ?? 0);
  const said = [`${distanceName(at)}: weight ${weight}, score ${figures(scores[now] ?? 0)}`];
  if (at !== own) said.push(`in the text ${shareText(weights[own - first] ?? 0)}`);
  const curve = {
    title: `The weight of ${key} if it stood elsewhere, by tokens before the query`,
    readout: `${said.join("; ")}.`.replace(/^./, (letter) => letter.toUpperCase()),
    first,
    own,
    at,
    weights,
    largest,
    labels,
    ticks: ticksOf(shape, own, measure),
    left,
    right,
    top,
    bottom,
    readoutY: bottom + AXIS + READOUT / 2,
    width: look.width,
    height: bottom + AXIS + READOUT,
  };
  return [curve, ""];
}

type Shape = Pick<Curve, "first" | "weights" | "left" | "right">;

/** Return the x position of a distance. */
export function placeOf({ first, weights, left, right }: Shape, distance: number): number {
  const steps = Math.max(weights.length - 1, 1);
  return left + ((distance - first) / steps) * (right - left);
}

/**
 * Return the labels of the distance in the text, both ends and the query, as far as they do not
 * touch.
 */
function ticksOf(shape: Shape, own: number, measure: (text: string) => number): Curve["ticks"] {
  const last = shape.first + shape.weights.length - 1;
  const ticks: Curve["ticks"] = [];
  for (const distance of new Set([own, last, shape.first, 0])) {
    if (distance < shape.first || distance > last) continue;
    const text = figures(distance);
    const half = measure(text) / 2;
    const x = Math.min(Math.max(placeOf(shape, distance), half), shape.right + END - half);
    const touches = ticks.some((other) => Math.abs(other.x - x) < half + measure(other.text));
    if (!touches) ticks.push({ text, x, strong: distance === own });
  }
  return ticks;
}
