import { html } from "lit-html";
import { keyed } from "lit-html/directives/keyed.js";

/** Return a live region that tells screen readers about changes. */
export function announcer(first: unknown) {
  let spoken = JSON.stringify(first);
  let text = "";
  let count = 0;
  const announce = (sentence: string) => {
    text = sentence;
    count += 1;
  };
  return {
    announce,
    /** Announce a sentence if `now` differs from the last value. */
    say(now: unknown, sentence: string): void {
      if (JSON.stringify(now) !== spoken) announce(sentence);
      spoken = JSON.stringify(now);
    },
    // The key makes a repeated text a new node: otherwise a screen reader would not read it again.
    view: () => html`<div class="attnw-unseen" aria-live="polite">${keyed(count, text)}</div>`,
  };
}
