import { html, nothing } from "lit-html";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";
import type { Figures } from "./joined_figures.js";
import { isPair, withoutLast } from "./locks.js";
import type { OnScreen } from "./on_screen.js";
import { areNeedsComplete, canAsk, currentNeeds } from "./sentence/word_needs.js";

/**
 * Return the switch between arcs and bars: the words at which the asked word looks, and the words
 * that the answer needs.
 */
export function needsToggle(model: Model<ExplorerState>, models: Partial<Figures>) {
  let screen: OnScreen | undefined;

  /** Return whether the screen has a question about words, and the kernel can measure it. */
  function isPossible(): boolean {
    if (!screen || !canAsk(screen.reading, screen.guess)) return false;
    return !model.get("_source").fixed || currentNeeds(screen.predictions) !== undefined;
  }

  const isAsked = () => models.predictions?.get("_needs_asked") === true;

  function ask(asked: boolean): void {
    if (models.predictions) save(models.predictions, { _needs_asked: asked });
  }

  return {
    /** Follow what is on the screen. */
    update(now: OnScreen): void {
      screen = now;
    },
    /** Turn the bars on or off; returns false if there is no question about words. */
    turn(): boolean {
      if (!isAsked() && !isPossible()) return false;
      // A pair asks another question.
      const tokens = model.get("tokens");
      if (!isAsked() && isPair(tokens)) save(model, { tokens: withoutLast(tokens) });
      ask(!isAsked());
      return true;
    },
    /** Turn the bars off; returns whether they were on. */
    end(): boolean {
      if (!screen?.needs) return false;
      ask(false);
      return true;
    },
    view() {
      if (!isPossible()) return nothing;
      const isBusy = isAsked() && !areNeedsComplete(screen?.predictions);
      return html`<button type="button" class="attnw-ex-needs" aria-pressed=${isAsked()}
        aria-busy=${isBusy} title="attention and need of each word (n)"
        @click=${() => this.turn()}>words it needs${isBusy ? " …" : ""}</button>`;
    },
  };
}
