import { html } from "lit-html";
import { live } from "lit-html/directives/live.js";
import type { Control } from "../shared/controls.js";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { TableState } from "./state.js";

/** The fields that choose rows while the reader types. */
export function relationFields(model: Model<TableState>) {
  const search = ({ currentTarget }: Event) =>
    save(model, { search: (currentTarget as HTMLInputElement).value });
  function count({ currentTarget }: Event): void {
    const min_count = (currentTarget as HTMLInputElement).valueAsNumber;
    if (Number.isInteger(min_count) && min_count >= 1) save(model, { min_count });
  }
  const blur = ({ currentTarget }: Event) => {
    (currentTarget as HTMLInputElement).value = String(model.get("min_count"));
  };
  return html`<label>search <input type="search" placeholder="relation" autocomplete="off"
      spellcheck="false" .value=${live(model.get("search"))} @input=${search}></label>
    <label>at least <input type="number" min="1" step="1" .value=${String(model.get("min_count"))}
      @input=${count} @blur=${blur}> words</label>`;
}

/** The other controls that choose rows. */
export const relationControls = (model: Model<TableState>): Control[] => [
  {
    kind: "tick",
    name: "only better than the offset",
    place: "bar",
    value: model.get("significant"),
    change: (significant) => save(model, { significant }),
  },
];
