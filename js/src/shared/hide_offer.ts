import { html, nothing } from "lit-html";
import { fixedOf } from "./fixed_options.js";
import { specialName } from "./labels.js";
import { save } from "./snapshot.js";
import { type Axes, type Model, type SharedState, SPECIALS } from "./types.js";

/**
 * Return a sentence with the share of attention on special tokens, and a button to hide or show
 * these tokens. It is hidden if the share is small. A saved page may lack the button.
 */
export function hideOffer(
  model: Model<Pick<SharedState, "hidden">>,
  axes: Axes,
  { resting }: Pick<SharedState["_source"], "resting">,
) {
  const kinds = (resting?.kinds ?? []).filter((kind) => specialName(axes, kind) !== undefined);
  const names = kinds.map((kind) => {
    const name = specialName(axes, kind);
    return kind === "first" ? `the ${name}` : name;
  });
  const hidden = model.get("hidden");
  const areHidden = kinds.every((kind) => hidden.includes(kind));
  const turn = () =>
    save(model, {
      hidden: SPECIALS.filter((kind) =>
        kinds.includes(kind) ? !areHidden : hidden.includes(kind),
      ),
    });
  const percent = Math.round(100 * (resting?.share ?? 0));
  const rests = `${percent}\u00a0% of the attention of all heads rests on`;
  const isOne = kinds.length === 1;
  const state = areHidden ? `, which ${isOne ? "is" : "are"} hidden` : "";
  const text = `${rests} ${names.join(" and ")}${state}`;
  const turned = `${areHidden ? "show" : "hide"} ${isOne ? "it" : "them"}`;
  const { hidden: reason } = fixedOf(model);
  return html`<p class="attnw-offer" title=${reason ?? nothing} ?hidden=${kinds.length === 0}
    >${reason ? `${text}.` : html`${text}: <button type="button" @click=${turn}>${turned}</button>`}
    </p>`;
}
