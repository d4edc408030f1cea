import { html } from "lit-html";
import type { activeWords } from "./active_words.js";
import { type Scene, wordTexts } from "./scene.js";

/**
 * The text about the active word. `announce`: read a text aloud, which follows the word while the
 * keyboard moves.
 */
export function wordReadout(announce: (text: string) => void) {
  let spoken = "";

  function speak(text: string): void {
    if (text !== spoken) announce(text);
    spoken = text;
  }

  return {
    view(
      scene: Scene,
      { word, other, isByKeyboard }: ReturnType<ReturnType<typeof activeWords>["told"]>,
    ) {
      let lines = [scene.answerer.hint, "", ""];
      if (word !== undefined) {
        const texts = wordTexts(scene, word, other);
        lines = [texts.arc, texts.from, texts.to];
        if (isByKeyboard) speak([texts.arc, texts.spoken].filter(Boolean).join("; "));
      }
      const hint = word === undefined ? " attnw-arcs-hint" : "";
      return html`<div class=${`attnw-arcs-readout${hint}`} ?hidden=${!scene.answers}
        >${lines.map((line) => html`<p>${line}</p>`)}</div>`;
    },
    /** The keyboard has left: the next word is read aloud also where it is the same. */
    forget(): void {
      spoken = "";
    },
  };
}
