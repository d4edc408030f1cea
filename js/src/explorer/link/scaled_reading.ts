import type { Reading } from "../sentence/reading.js";
import { isShown } from "./link_guess.js";
import { includes, type LockedLink } from "./link_state.js";

/** Return the reading with the link that is changed in the shown head, if it is on the screen. */
export function withScaledLink(
  reading: Reading | undefined,
  link: LockedLink | undefined,
): Reading | undefined {
  if (!reading || !isShown(link, reading) || !link.answered) return reading;
  const { factor, scope } = link.answered;
  return includes(scope, reading.head) ? { ...reading, scaled: { key: link.to, factor } } : reading;
}
