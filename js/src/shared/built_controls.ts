import type { Cell } from "./cells.js";
import { element } from "./dom.js";
import { save } from "./snapshot.js";
import { type Model, type SharedState, SPECIALS, type Special } from "./types.js";
import { MARKS, type Outcome } from "./verdict.js";

type Keys = readonly (readonly [key: string, meaning: string])[];

/**
 * A labelled select; returns how to offer values, hidden where there is no choice, and to show the
 * one in force.
 */
export function choice<T extends string>(
  parent: HTMLElement,
  name: string,
  signal: AbortSignal,
  onPick: (value: T) => void,
  print: (value: T) => string = (value) => value,
) {
  const label = element(parent, "label", { "data-label": name }, `${name} `);
  const select = element(label, "select", { "data-control": name });
  select.addEventListener("change", () => onPick(select.value as T), { signal });
  return (offered: readonly T[], value: T): void => {
    label.hidden = offered.length < 2;
    const options = offered.map((value) => [value, print(value)]);
    if (
      options.join("\n") !==
      [...select.options].map((option) => [option.value, option.text]).join("\n")
    )
      select.replaceChildren(
        ...options.map(([value = "", text = ""]) => element(select, "option", { value }, text)),
      );
    select.value = value;
  };
}

/** A labelled box to tick. */
export function tick(
  parent: HTMLElement,
  name: string,
  signal: AbortSignal,
  onTick: (checked: boolean) => void,
) {
  const label = element(parent, "label", { class: "attnw-tick", "data-label": name });
  const input = element(label, "input", { type: "checkbox", "data-control": name });
  const text = element(label, "span", {}, name);
  input.addEventListener("change", () => onTick(input.checked), { signal });
  return { label, input, text };
}

/** A slider that hears its arrow keys in a notebook too: JupyterLab would take them for its own. */
export function slider(parent: HTMLElement, range: { max: number; step: number }) {
  const input = element(parent, "input", { type: "range", min: 0, ...range });
  input.addEventListener("keydown", (event) => {
    if (/^Arrow/.test(event.key)) event.stopPropagation();
  });
  return input;
}

/**
 * A box for each kind of special token, checked while the kind is hidden; returns a function that
 * names the present kinds.
 */
export function hideTicks(
  parent: HTMLElement,
  model: Model<Pick<SharedState, "hidden">>,
  signal: AbortSignal,
) {
  const group = element(
    parent,
    "span",
    { role: "group", "aria-label": "hide", "data-label": "hide" },
    "hide ",
  );
  const ticks = SPECIALS.map((kind) => {
    const parts = tick(group, kind, signal, (checked) => {
      const before = model.get("hidden");
      save(model, {
        hidden: SPECIALS.filter((special) =>
          special === kind ? checked : before.includes(special),
        ),
      });
    });
    parts.input.dataset.hide = kind;
    return { kind, ...parts };
  });
  return (nameOf: (kind: Special) => string | undefined): void => {
    for (const { kind, label, input, text } of ticks) {
      const name = nameOf(kind);
      input.checked = model.get("hidden").includes(kind);
      text.textContent = name ?? kind;
      label.hidden = name === undefined && !input.checked;
    }
    group.hidden = ticks.every(({ label }) => label.hidden);
  };
}

/** The button that shows the keys. */
export function keysButton(parent: HTMLElement, className: string) {
  const look = { type: "button", class: className, title: "keys", "aria-label": "show the keys" };
  return element(parent, "button", { ...look, "aria-expanded": "false" }, "?");
}

/** The row of controls above a figure; what they do ends with the signal. */
export function controlRow(parent: HTMLElement, signal: AbortSignal) {
  const row = element(parent, "div", { class: "attnw-controls" });

  const group = (name: string) =>
    element(row, "span", { role: "group", "aria-label": name, class: "attnw-group" });

  function button(at: HTMLElement, text: string, name: string, onClick: () => void) {
    const shown = { type: "button", class: "attnw-button", title: name, "aria-label": name };
    const node = element(at, "button", shown, text);
    node.addEventListener("click", onClick, { signal });
    return node;
  }

  /** A number between a step-back and a step-forward button; returns a function that updates it. */
  function stepper(name: string, go: (index: number) => void) {
    const place = group(name);
    let index = 0;
    const back = button(place, "‹", `previous ${name}`, () => go(index - 1));
    const label = element(place, "label", {}, `${name} `);
    const number = element(label, "input", { type: "number", min: 0, step: 1 });
    const last = element(label, "span", { class: "attnw-muted" });
    const onChange = () => {
      const entered = number.valueAsNumber;
      number.value = String(index);
      if (Number.isInteger(entered)) go(entered);
    };
    number.addEventListener("change", onChange, { signal });
    const on = button(place, "›", `next ${name}`, () => go(index + 1));
    return (now: number, count: number): void => {
      index = now;
      number.max = String(count - 1);
      number.value = String(now);
      last.textContent = ` of 0–${(count - 1).toLocaleString("en")}`;
      back.disabled = now <= 0;
      on.disabled = now >= count - 1;
      place.hidden = count < 2;
    };
  }

  /**
   * Buttons to the next and the previous "mention", "for which the head" is right or wrong; returns
   * how to allow them.
   */
  function jumps(what: string, which: string, jump: (outcome: Outcome, step: 1 | -1) => void) {
    const buttons = (["right", "wrong"] as const).flatMap((outcome) => {
      const sentence = `${what} ${which} is ${outcome}`;
      const place = group(sentence.replace(what, `${what}s`));
      const mark = { class: `attnw-${outcome}`, "aria-hidden": "true" };
      element(place, "span", mark, MARKS[outcome]);
      const back = button(place, "‹", `previous ${sentence}`, () => jump(outcome, -1));
      place.append(outcome);
      return [back, button(place, "›", `next ${sentence}`, () => jump(outcome, 1))];
    });
    return (allowed: boolean): void => {
      for (const node of buttons) node.disabled = !allowed;
    };
  }

  /** The button that shows the keys, in the corner. */
  const help = () => keysButton(row, "attnw-button attnw-keys-button");

  return { row, stepper, jumps, help };
}

/**
 * The list of keys, with the button that shows it; Escape hides it first. Returns a function that
 * shows and hides the list.
 */
export function keyHelp(
  parent: HTMLElement,
  keys: Keys,
  button: HTMLElement,
  signal: AbortSignal,
): () => void {
  const list = element(parent, "dl", { class: "attnw-keys", hidden: true });
  for (const [key, meaning] of keys) {
    const line = element(list, "div");
    element(line, "dt", {}, key);
    element(line, "dd", {}, meaning);
  }
  const toggle = () => {
    list.hidden = !list.hidden;
    button.setAttribute("aria-expanded", String(!list.hidden));
  };
  button.addEventListener("click", toggle, { signal });
  // On its way down, before a figure takes the key to undo or to let go of something.
  const close = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || list.hidden) return;
    toggle();
    event.preventDefault();
    event.stopPropagation();
  };
  parent
    .closest<HTMLElement>(".attnw-root")
    ?.addEventListener("keydown", close, { signal, capture: true });
  return toggle;
}

/** Speaks to readers who do not see what changed. */
export function liveRegion(parent: HTMLElement, first: unknown) {
  const node = element(parent, "div", { class: "attnw-unseen", "aria-live": "polite" });
  let spoken = JSON.stringify(first);
  return {
    announce(text: string): void {
      node.textContent = text;
    },
    /** Announces a text where `now` is no longer what it was. */
    say(now: unknown, text: string): void {
      if (JSON.stringify(now) !== spoken) node.textContent = text;
      spoken = JSON.stringify(now);
    },
  };
}

/**
 * The one descendant of a box that assistive technology sees: it stands for what the keyboard is on
 * in the canvas.
 */
export function activeDescendant(box: HTMLElement, holder: HTMLElement) {
  // Two widgets can share a page, and this module's scope may or may not be shared between them.
  const prefix = `attnw-${Math.random().toString(36).slice(2)}`;
  return (key: string, attributes: Record<string, string>): void => {
    const id = `${prefix}-${key}`;
    // A fresh element with its own id: screen readers only speak when the active descendant
    // changes.
    if (holder.firstElementChild?.id !== id) holder.replaceChildren();
    const node = holder.firstElementChild ?? element(holder, "div", { id });
    for (const [name, value] of Object.entries(attributes))
      if (node.getAttribute(name) !== value) node.setAttribute(name, value);
    box.setAttribute("aria-activedescendant", id);
  };
}

/** The focused cell of a grid, as a gridcell. */
export function gridCursor(grid: HTMLElement) {
  const row = element(grid, "div", { role: "row", class: "attnw-unseen" });
  const point = activeDescendant(grid, row);
  return (cell: Cell, rows: number, cols: number, name: string, selected: boolean): void => {
    grid.setAttribute("aria-rowcount", String(rows));
    grid.setAttribute("aria-colcount", String(cols));
    row.setAttribute("aria-rowindex", String(cell[0] + 1));
    point(cell.join("-"), {
      role: "gridcell",
      "aria-colindex": String(cell[1] + 1),
      "aria-selected": String(selected),
      "aria-label": name,
    });
  };
}
