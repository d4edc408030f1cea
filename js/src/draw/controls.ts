import { element } from "../model/dom.js";

export type Outcome = "right" | "wrong";

/** The mark before an outcome, which is never told by its colour alone. */
export const MARKS = { right: "✓", wrong: "×" } as const;

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

  /** A number between a button that steps back and one that steps on; returns how to bring it up to date. */
  function stepper(name: string, go: (index: number) => void) {
    const place = group(name);
    let index = 0;
    const back = button(place, "‹", `previous ${name}`, () => go(index - 1));
    const label = element(place, "label", {}, `${name} `);
    const number = element(label, "input", { type: "number", min: 0, step: 1 });
    const last = element(label, "span", { class: "attnw-muted" });
    number.addEventListener(
      "change",
      () => {
        const asked = number.valueAsNumber;
        number.value = String(index);
        if (Number.isInteger(asked)) go(asked);
      },
      { signal },
    );
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

  /** Buttons to the next and the previous of each outcome; returns how to allow them. */
  function jumps(
    one: (outcome: Outcome) => string,
    all: (outcome: Outcome) => string,
    jump: (outcome: Outcome, step: 1 | -1) => void,
  ) {
    const buttons = (["right", "wrong"] as const).flatMap((outcome) => {
      const place = group(all(outcome));
      const mark = { class: `attnw-${outcome}`, "aria-hidden": "true" };
      element(place, "span", mark, MARKS[outcome]);
      const back = button(place, "‹", `previous ${one(outcome)}`, () => jump(outcome, -1));
      place.append(outcome);
      return [back, button(place, "›", `next ${one(outcome)}`, () => jump(outcome, 1))];
    });
    return (allowed: boolean): void => {
      for (const node of buttons) node.disabled = !allowed;
    };
  }

  /** The button that shows the keys, in the corner. */
  function help(toggle: () => void) {
    const keys = button(row, "?", "show the keys", toggle);
    keys.classList.add("attnw-keys-button");
    keys.setAttribute("aria-expanded", "false");
    return keys;
  }

  return { row, stepper, jumps, help };
}
