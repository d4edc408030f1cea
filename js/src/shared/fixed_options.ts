import type { Control } from "./controls.js";
import type { Fixed, Model } from "./types.js";

/**
 * Return the options that the page cannot change, with reasons. A figure with a kernel has none.
 */
export const fixedOf = <T>(model: Model<T>): Fixed =>
  (model.get("_fixed" as keyof T) as Fixed | undefined) ?? {};

/**
 * Return the control, disabled with the reason as its hint if the page cannot change its option.
 */
export function withReason<C extends Control>(control: C, fixed: Fixed): C {
  const reason = fixed[control.trait ?? control.name];
  return reason ? { ...control, disabled: true, hint: reason, reason } : control;
}
