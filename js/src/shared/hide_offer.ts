import { html } from "lit-html";
import { specialName } from "./labels.js";
import { save } from "./snapshot.js";
import { type Axes, type Model, type SharedState, SPECIALS } from "./types.js";

/** From this share of the attention on, a figure offers to hide special tokens. */
const MUCH = 1 / 3;

/**
 * A sentence with the share of the attention to special tokens, and a button to hide these tokens.
 * `share` is their share of the attention, and `of` names the figure's heads; hidden for a small
 * share, and while tokens are hidden already.
 */
export function hideOffer(
  model: Model<Pick<SharedState, "hidden">>,
  axes: Axes,
  share: number,
  of: string,
) {
  const kinds = SPECIALS.filter((kind) => specialName(axes, kind) !== undefined);
  const names = kinds.map((kind) => {
    const name = specialName(axes, kind);
    return kind === "first" ? `the ${name}` : name;
  });
  const isOne = kinds.length === 1;
  const text = `${names.join(" and ")} ${isOne ? "takes" : "take"} ${Math.round(100 * share)} %`;
  return html`<p class="attnw-offer" ?hidden=${share < MUCH || model.get("hidden").length > 0}
    >${`${text} of ${of}: `}<button type="button"
      @click=${() => save(model, { hidden: kinds })}>hide ${isOne ? "it" : "them"}</button></p>`;
}
