import { html } from "lit-html";
import { keyed } from "lit-html/directives/keyed.js";

/** Speaks to readers who do not see what changed. */
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
    /** Announces a text where `now` is no longer what it was. */
    say(now: unknown, sentence: string): void {
      if (JSON.stringify(now) !== spoken) announce(sentence);
      spoken = JSON.stringify(now);
    },
    // A text that is announced twice is new text: otherwise nobody hears it again.
    view: () => html`<div class="attnw-unseen" aria-live="polite">${keyed(count, text)}</div>`,
  };
}
