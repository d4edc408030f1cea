import { element } from "../shared/dom.js";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState, Input } from "./explorer_types.js";

const RUN_KEYS = "Ctrl+Enter or ⌘+Enter";
const SECOND = {
  pair: { name: "second sentence", hint: "" },
  target: { name: "target", hint: "empty: what the model writes" },
} as const;
const MOST_HEIGHT = 70;

/** The input that the page has asked for. */
export function asked(model: Model<ExplorerState>): Input {
  return {
    text: model.get("text"),
    pair: model.get("pair") || null,
    target: model.get("target") || null,
  };
}

/** Whether the figures show another input than the one asked for. */
export function isBehind(model: Model<ExplorerState>): boolean {
  const { text, pair, target } = model.get("_shown");
  const now = asked(model);
  return (
    text !== undefined &&
    (text !== now.text || (pair ?? null) !== now.pair || (target ?? null) !== now.target)
  );
}

/**
 * The text box (two boxes for pairs), the examples, and a description of the current example;
 * returns a function that updates them.
 */
export function textForm(parent: HTMLElement, model: Model<ExplorerState>, signal: AbortSignal) {
  const form = element(parent, "form", { class: "attnw-ex-form" });
  const on = (node: HTMLElement, type: string, listener: (event: Event) => void) =>
    node.addEventListener(type, listener, { signal });

  const row = element(form, "div", { class: "attnw-ex-first" });
  const boxes = element(row, "div", { class: "attnw-ex-boxes" });
  const box = () => {
    const area = element(boxes, "textarea", { rows: 1, spellcheck: "false" });
    on(area, "input", () => {
      fit(area);
      mark();
    });
    on(area, "keydown", (event) => {
      const { key, ctrlKey, metaKey } = event as KeyboardEvent;
      // Keep the host's shortcuts away from typed text.
      event.stopPropagation();
      if (key !== "Enter" || !(ctrlKey || metaKey)) return;
      event.preventDefault();
      run();
    });
    return area;
  };
  const first = box();
  first.setAttribute("aria-label", "text");
  const second = box();
  const actions = element(row, "div", { class: "attnw-ex-actions" });
  const button = element(actions, "button", { type: "submit", class: "attnw-ex-run" }, "Run");
  button.title = RUN_KEYS;
  const select = element(actions, "select", {
    class: "attnw-ex-examples",
    "aria-label": "examples",
  });

  const line = element(form, "div", { class: "attnw-ex-line" });
  const look = element(line, "p", { class: "attnw-ex-look", "aria-live": "polite" });
  const more = element(line, "button", { type: "button", class: "attnw-ex-quiet" });
  const about = element(line, "span", { class: "attnw-ex-about" });

  let known = "";
  let hasSecond = false;
  const kind = () => model.get("_second") || "pair";

  const draft = (): Input => {
    const other = (hasSecond && second.value) || null;
    return { text: first.value, pair: null, target: null, [kind()]: other };
  };

  /** As high as its text, up to a few lines. */
  function fit(area: HTMLTextAreaElement): void {
    area.style.height = "auto";
    if (area.scrollHeight) area.style.height = `${Math.min(area.scrollHeight + 2, MOST_HEIGHT)}px`;
  }

  function mark(): void {
    button.classList.toggle(
      "attnw-ex-changed",
      JSON.stringify(draft()) !== JSON.stringify(asked(model)),
    );
  }

  function run(): void {
    save(model, draft());
    mark();
  }

  function showSecond(): void {
    const { name, hint } = SECOND[kind()];
    second.hidden = !hasSecond;
    second.setAttribute("aria-label", name);
    second.placeholder = [name, hint].filter(Boolean).join(" – ");
    more.hidden = model.get("_second") === "";
    more.textContent = `${hasSecond ? "−" : "+"} ${name}`;
    more.setAttribute("aria-expanded", String(hasSecond));
    if (hasSecond) fit(second);
    mark();
  }

  on(form, "submit", (event) => {
    event.preventDefault();
    run();
  });
  on(more, "click", () => {
    hasSecond = !hasSecond;
    showSecond();
    (hasSecond ? second : first).focus();
  });
  on(select, "change", () => {
    const chosen = model.get("_examples").find(({ name }) => name === select.value);
    // Send the text with its name, so that the page knows at once that the figures are outdated.
    if (chosen)
      save(model, { example: chosen.name, text: chosen.text, pair: chosen.pair, target: null });
  });
  // JupyterLab would take the arrows for its own.
  on(select, "keydown", (event) => event.stopPropagation());

  function offer(): void {
    const examples = model.get("_examples");
    select.hidden = examples.length === 0;
    if (select.options.length !== examples.length + 1) {
      select.replaceChildren();
      element(select, "option", { value: "", disabled: true }, "examples");
      for (const { name } of examples) element(select, "option", { value: name }, name);
    }
    select.value = model.get("example") ?? "";
  }

  return {
    element: form,
    /** The buttons beside the text, which others may join. */
    actions,
    fit() {
      fit(first);
      fit(second);
    },
    update(): void {
      const now = asked(model);
      // What is being typed stays until the input changes elsewhere.
      if (JSON.stringify(now) !== known) {
        known = JSON.stringify(now);
        first.value = now.text;
        second.value = now[kind()] ?? "";
        const typing = hasSecond && second.matches(":focus");
        hasSecond = now[kind()] !== null || typing || model.get("_second") === "target";
        fit(first);
        showSecond();
      }
      mark();
      offer();
      const told = isBehind(model) ? "" : model.get("_look");
      if (look.textContent !== told) look.textContent = told;
      const stacks = model.get("_stacks").map(({ n_query }) => n_query);
      const count = stacks[0] ?? 0;
      about.textContent =
        `${model.get("_source").model} · ${count.toLocaleString("en")} ` +
        `${count === 1 ? "token" : "tokens"}`;
    },
  };
}
