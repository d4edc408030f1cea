import { element } from "./dom.js";

/** Speaks to readers who do not see what changed. */
export function liveRegion(parent: HTMLElement, first: unknown) {
  const node = element(parent, "div", { class: "attnw-unseen", "aria-live": "polite" });
  let spoken = JSON.stringify(first);
  return {
    announce(text: string): void {
      node.textContent = text;
    },
    /** Announces a text where `now` is no longer what it was. */
    say(now: unknown, text: string): void {
      if (JSON.stringify(now) !== spoken) node.textContent = text;
      spoken = JSON.stringify(now);
    },
  };
}
