import { controlRow } from "../shared/controls.js";
import { element, listening } from "../shared/dom.js";
import type { TableState } from "../shared/relation_types.js";
import { save } from "../shared/snapshot.js";
import type { RenderContext } from "../shared/types.js";

/** What chooses rows; returns how to bring it up to date with the model. */
export function relationControls(
  parent: HTMLElement,
  { model, signal }: RenderContext<TableState>,
) {
  const { row, help } = controlRow(parent, signal);
  const on = listening(signal);
  const search = element(element(row, "label", {}, "search "), "input", {
    type: "search",
    placeholder: "relation",
    autocomplete: "off",
    spellcheck: "false",
  });
  on(search, "input", () => save(model, { search: search.value }));
  const label = element(row, "label", {}, "at least ");
  const count = element(label, "input", { type: "number", min: 1, step: 1 });
  label.append(" words");
  on(count, "input", () => {
    const min_count = count.valueAsNumber;
    if (Number.isInteger(min_count) && min_count >= 1) save(model, { min_count });
  });
  const only = element(row, "label");
  const tick = element(only, "input", { type: "checkbox" });
  only.append(" only better than the offset");
  on(tick, "change", () => save(model, { significant: tick.checked }));
  return {
    keys: help(),
    update(): void {
      const active = row.ownerDocument.activeElement;
      if (search.value !== model.get("search")) search.value = model.get("search");
      // A number that is being typed is left alone.
      if (count !== active) count.value = String(model.get("min_count"));
      tick.checked = model.get("significant");
    },
  };
}
