import type { ArcPath } from "../../shared/arc.js";
import { clamp } from "../../shared/clamp.js";
import type { Box } from "../sentence/layout.js";

/** Space at the right that the button "edit the text" takes. */
const EDIT = 34;
/** Smallest distance from the top of the sentence. */
const TOP = 1;

/** Place the control of a link above the apex of its arc. */
export function placeControl(control: HTMLElement, [from, to]: [Box, Box], path: ArcPath): void {
  const { offsetWidth: width, offsetHeight: height } = control;
  const room = control.parentElement?.clientWidth ?? 0;
  const middle = (from.x + from.width / 2 + to.x + to.width / 2) / 2;
  const left = clamp(middle - width / 2, 0, Math.max(0, room - width - EDIT));
  const ys = path.steps.flatMap((step) => step.map(([, y]) => y));
  // A curve reaches three quarters of the height of its control points.
  const apex = path.start[1] - 0.75 * (path.start[1] - Math.min(...ys));
  control.style.left = `${Math.round(left)}px`;
  control.style.top = `${Math.round(Math.max(TOP, apex - height))}px`;
}
