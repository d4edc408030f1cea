import { html } from "lit-html";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";

const LOST = "The kernel does not answer: this is the last picture that it sent.";

/**
 * The sentence about the picture; and the head on which an answer of the model depends most, with a
 * click to switch it off. Both are empty while the figures are `behind` the input.
 */
export function storyOf(model: Model<ExplorerState>, root: HTMLElement, behind: boolean) {
  const isLost = root.dataset.link === "lost";
  const effect = isLost || behind ? null : model.get("_effect_told");
  const tell = () => {
    if (!effect) return;
    save(model, { disabled: [...model.get("disabled"), effect.head], tab: "predictions" });
  };
  return {
    line: isLost ? LOST : behind ? "" : model.get("_look"),
    effect: html`<button type="button" class="attnw-ex-tell" ?hidden=${!effect} @click=${tell}
      title="switch this head off and show the predictions">${effect?.text ?? ""}</button>`,
  };
}
