import { element } from "../model/dom.js";
import type { TableState } from "../model/relation_types.js";
import type { Model } from "../model/types.js";
import { controlRow } from "./controls.js";

/** What chooses rows; returns how to bring it up to date with the model. */
export function relationControls(
  parent: HTMLElement,
  model: Model<TableState>,
  signal: AbortSignal,
  toggleKeys: () => void,
) {
  const { row, help } = controlRow(parent, signal);
  const set = <K extends keyof TableState>(key: K, value: TableState[K]) => {
    model.set(key, value);
    model.save_changes();
  };
  const search = element(element(row, "label", {}, "search "), "input", {
    ...{ type: "search", placeholder: "relation", autocomplete: "off", spellcheck: "false" },
  });
  search.addEventListener("input", () => set("search", search.value), { signal });
  const label = element(row, "label", {}, "at least ");
  const count = element(label, "input", { type: "number", min: 1, step: 1 });
  label.append(" words");
  count.addEventListener(
    "input",
    () =>
      Number.isInteger(count.valueAsNumber) &&
      count.valueAsNumber >= 1 &&
      set("min_count", count.valueAsNumber),
    { signal },
  );
  const only = element(row, "label");
  const tick = element(only, "input", { type: "checkbox" });
  only.append(" only better than the offset");
  tick.addEventListener("change", () => set("significant", tick.checked), { signal });
  return {
    keys: help(toggleKeys),
    update(): void {
      const active = row.ownerDocument.activeElement;
      if (search.value !== model.get("search")) search.value = model.get("search");
      // A number that is being typed is left alone.
      if (count !== active) count.value = String(model.get("min_count"));
      tick.checked = model.get("significant");
    },
  };
}
