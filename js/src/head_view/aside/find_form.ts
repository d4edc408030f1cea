import { choice } from "../../shared/controls.js";
import { element, listening } from "../../shared/dom.js";
import { save } from "../../shared/snapshot.js";
import type { Model, Side } from "../../shared/types.js";
import type { ViewState } from "../state.js";

const SIDES: Side[] = ["key", "query"];
const SIDE_NAMES = { key: "keys (to)", query: "queries (from)" };

/**
 * A token to look for among more than are read through; returns how to bring the form up to date,
 * and to its field.
 */
export function findForm(row: HTMLElement, model: Model<ViewState>, signal: AbortSignal) {
  const form = element(row, "form", { role: "search", class: "attnw-find", hidden: true });
  const label = element(form, "label", {}, "find ");
  const text = element(label, "input", {
    type: "search",
    placeholder: "token or word",
    autocomplete: "off",
  });
  let side: Side = "key";
  const among = choice<Side>(
    form,
    "among",
    signal,
    (value) => {
      side = value;
      say("");
    },
    (value) => SIDE_NAMES[value],
  );
  const button = (sign: string, name: string, step: 1 | -1) => {
    const node = element(
      form,
      "button",
      { type: "button", class: "attnw-button", title: name, "aria-label": name },
      sign,
    );
    listening(signal)(node, "click", () => find(step));
  };
  button("‹", "previous place", -1);
  button("›", "next place", 1);
  const said = element(form, "span", { role: "status", class: "attnw-view-note" });
  const say = (words: string) => {
    if (said.textContent !== words) said.textContent = words;
  };
  function find(step: 1 | -1): void {
    const n = (model.get("_jump").n ?? 0) + 1;
    if (text.value.trim()) save(model, { _jump: { n, text: text.value, side, step } });
    else text.focus();
  }
  const on = listening(signal);
  on(form, "submit", (event) => event.preventDefault());
  // Escape empties the field, and does not unlock what is locked.
  on(text, "keydown", (event) => {
    if (event.key === "Enter") find(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape" && text.value) {
      text.value = "";
      say("");
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    /** Whether there was a form to go to. */
    focus(): boolean {
      if (!form.hidden) text.focus();
      return !form.hidden;
    },
    update(): void {
      form.hidden = !model.send || !model.get("_long");
      among(SIDES, side);
      const { n } = model.get("_jump");
      const { n: answered, count = 0, nth } = model.get("_jumped");
      if (n !== undefined && n === answered) say(count ? `${nth} of ${count}` : "not among them");
    },
  };
}
