import { html, nothing } from "lit-html";
import { keyed } from "lit-html/directives/keyed.js";
import { live } from "lit-html/directives/live.js";
import { relabelled } from "../shared/head_names.js";
import type { Head } from "../shared/types.js";
import { anchorOf, noteOf } from "./rows.js";
import type { AtlasState } from "./state.js";

/** As many characters as the kernel takes. */
const LONGEST = 2000;

/** The note on a head; a field where it can be changed, so not on a saved page. */
export function noteField(
  head: Head,
  { notes }: Pick<AtlasState, "notes">,
  isPage: boolean,
  change: (change: Pick<AtlasState, "notes">) => void,
) {
  const now = noteOf(head, notes);
  if (isPage) return now ? html`<p class="attnw-atlas-text attnw-atlas-noted">${now}</p>` : nothing;
  const entered = ({ currentTarget }: Event) => {
    const text = (currentTarget as HTMLTextAreaElement).value;
    if (text.trim() !== now) change({ notes: relabelled(notes, head, text) });
  };
  const pressed = (event: KeyboardEvent) => {
    const area = event.currentTarget as HTMLTextAreaElement;
    const isEntered = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    // Letters are text here, and no keys of the figure.
    if (event.key !== "Escape" || area.value !== now) event.stopPropagation();
    if (event.key === "Escape") area.value = now;
    if (isEntered) area.blur();
  };
  // Each head has its own field, so that a text is never entered for another head.
  const field = html`<textarea rows="1" maxlength=${LONGEST} placeholder="none" .value=${live(now)}
    @change=${entered} @keydown=${pressed}></textarea>`;
  return html`<label class="attnw-atlas-note-field"><span>note</span>${keyed(anchorOf(head), field)}
    </label>`;
}
