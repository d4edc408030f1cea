import { html } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { labelOfHead, relabelled } from "./head_names.js";
import { save } from "./snapshot.js";
import { type Head, type HeadLabel, headName, type Model } from "./types.js";

/** As many characters as the kernel takes. */
const LONGEST = 80;

interface Labelled {
  selected: Head[];
  labels?: HeadLabel[];
}

/** The field for the label of the shown head: Enter sets it, Escape takes the typing back. */
export function labelField(model: Model<Labelled>) {
  const head = model.get("selected").at(-1);
  const labels = model.get("labels") ?? [];
  const now = head ? labelOfHead(head, labels) : "";
  function entered({ currentTarget }: Event): void {
    const text = (currentTarget as HTMLInputElement).value;
    if (head && text.trim() !== now) save(model, { labels: relabelled(labels, head, text) });
  }
  function pressed(event: KeyboardEvent): void {
    const input = event.currentTarget as HTMLInputElement;
    // Letters are text here, and no keys of the figure.
    if (event.key !== "Escape" || input.value !== now) event.stopPropagation();
    if (event.key === "Escape") input.value = now;
  }
  return html`<label data-label="label" ?hidden=${!head}>${`label of ${head ? headName(head) : ""}`}
    <input type="text" class="attnw-label-field" data-control="label" maxlength=${LONGEST}
      autocomplete="off" placeholder="none" .value=${live(now)}
      @change=${entered} @keydown=${pressed}></label>`;
}
