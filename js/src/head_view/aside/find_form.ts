import { html } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import { choice, controlView, signButton } from "../../shared/controls.js";
import { save } from "../../shared/snapshot.js";
import type { Model, Side } from "../../shared/types.js";
import type { ViewState } from "../state.js";

const SIDES: Side[] = ["key", "query"];
const SIDE_NAMES = { key: "keys (to)", query: "queries (from)" };

/** Return a search form for tokens of a long input, which has too many to read through. */
export function findForm(model: Model<ViewState>, schedule: () => void) {
  const field = createRef<HTMLInputElement>();
  let side: Side = "key";
  let said = "";

  const say = (words: string) => {
    said = words;
    schedule();
  };
  const isOffered = () => Boolean(model.send) && model.get("_maps")?.complete === false;
  const pick = (value: Side) => {
    side = value;
    say("");
  };
  function find(step: 1 | -1): void {
    const text = field.value?.value ?? "";
    const n = (model.get("_search").n ?? 0) + 1;
    if (text.trim()) save(model, { _search: { n, text, side, step } });
    else field.value?.focus();
  }
  const among = () =>
    choice<Side>({
      name: "among",
      place: "bar",
      values: SIDES,
      value: side,
      change: pick,
      print: (value) => SIDE_NAMES[value],
    });
  const submitted = (event: Event) => event.preventDefault();
  // Escape clears the field and does not reach the figure, where it would unlock tokens.
  function pressed(event: KeyboardEvent): void {
    const text = event.currentTarget as HTMLInputElement;
    if (event.key === "Enter") find(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape" && text.value) {
      text.value = "";
      say("");
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  return {
    /** Focus the form; returns whether there is one. */
    focus(): boolean {
      if (isOffered()) field.value?.focus();
      return isOffered();
    },
    /** Follow the kernel's answer. */
    update(): void {
      const { n } = model.get("_search");
      const { n: answered, count = 0, nth } = model.get("_search_answer");
      if (n !== undefined && n === answered) said = count ? `${nth} of ${count}` : "not among them";
    },
    view: () => html`<form role="search" class="attnw-find" ?hidden=${!isOffered()}
      @submit=${submitted}>
      <label>find <input type="search" placeholder="token or word" autocomplete="off"
        @keydown=${pressed} ${ref(field)}></label>
      ${controlView(among())}
      <span class="attnw-find-steps">${signButton("‹", "previous place", () => find(-1))}
        ${signButton("›", "next place", () => find(1))}</span>
      <span role="status" class="attnw-view-note">${said}</span>
    </form>`,
  };
}
