import { labelOf } from "../../shared/labels.js";
import type { Scene } from "../scene.js";

/** The label of a row by the token that it writes, the next one; the last row's is not known. */
export function writtenLabel({ axes, places }: Scene, index: number): string | undefined {
  if (!places?.writes) return undefined;
  const next = index + 1;
  return `→ ${next < axes.query.text.length ? labelOf(axes.query, next) : "…"}`;
}
