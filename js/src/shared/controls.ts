import { html, nothing } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { selectOptions } from "./select_options.js";
import { save } from "./snapshot.js";
import { type Model, type SharedState, SPECIALS, type Special } from "./types.js";
import { MARKS, type Outcome } from "./verdict.js";

export { MARKS, type Outcome };

/** A labelled select; hidden where there is no choice. */
export function select<T extends string>(of: {
  name: string;
  /** The text before the select, where the name is not that text. */
  text?: string;
  values: readonly T[];
  value: T;
  pick(value: T): void;
  /** The text of a value. */
  print?(value: T): string;
}) {
  const { name, text = name, values, value, pick, print = String } = of;
  const picked = ({ currentTarget }: Event) =>
    pick((currentTarget as HTMLSelectElement).value as T);
  const options = values.map((each) => ({ value: each, text: print(each) }));
  return html`<label data-label=${name} ?hidden=${values.length < 2}>${text}
    <select data-control=${name} @change=${picked} ${selectOptions(options, value)}></select
    ></label>`;
}

/** A labelled box to tick. */
export function tickBox(of: {
  name: string;
  /** The text beside the box, where the name is not that text. */
  text?: string;
  checked: boolean;
  tick(checked: boolean): void;
  hidden?: boolean;
  disabled?: boolean;
  /** The kind of special token that the box hides. */
  kind?: Special;
}) {
  const { name, text = name, checked, tick, hidden = false, disabled = false, kind } = of;
  const ticked = ({ currentTarget }: Event) => tick((currentTarget as HTMLInputElement).checked);
  return html`<label class="attnw-tick" data-label=${name} ?hidden=${hidden}
    ><input type="checkbox" data-control=${name} data-hide=${kind ?? nothing}
      ?disabled=${disabled}
      .checked=${live(checked)} @change=${ticked}><span>${text}</span></label>`;
}

/** A labelled line of text, whose value is taken with Enter or when the line loses the focus. */
export function textInput(of: {
  name: string;
  value: string;
  enter(text: string): void;
  hidden?: boolean;
}) {
  const { name, value, enter, hidden = false } = of;
  const entered = ({ currentTarget }: Event) => enter((currentTarget as HTMLInputElement).value);
  return html`<label data-label=${name} ?hidden=${hidden}>${name}
    <input type="text" data-control=${name} autocomplete="off" .value=${live(value)}
      @change=${entered} @keydown=${(event: KeyboardEvent) => event.stopPropagation()}></label>`;
}

/** JupyterLab would take the arrow keys of a slider for its own. */
const keepArrows = (event: KeyboardEvent) => {
  if (/^Arrow/.test(event.key)) event.stopPropagation();
};

/** A slider from 0. */
export function rangeInput(of: {
  max: number;
  value: number;
  slide(value: number): void;
  /** Called at the end of a movement. */
  release?(): void;
  step?: number;
  disabled?: boolean;
  /** Its name and its value as they are read aloud, where no label around it says them. */
  label?: string;
  valueText?: string;
  className?: string;
}) {
  const { max, value, slide, step = 1, disabled = false, label, valueText, className } = of;
  const released = () => of.release?.();
  const slid = ({ currentTarget }: Event) =>
    slide(Number((currentTarget as HTMLInputElement).value));
  return html`<input type="range" min="0" max=${max} step=${step} .value=${live(String(value))}
    class=${className ?? nothing} aria-label=${label ?? nothing}
    aria-valuetext=${valueText ?? nothing} ?disabled=${disabled}
    @input=${slid} @change=${released} @keydown=${keepArrows}>`;
}

/**
 * A box for each kind of special token, checked while the kind is hidden. `nameOf` names the kinds
 * that the input has.
 */
export function hiddenTicks(
  model: Model<Pick<SharedState, "hidden">>,
  nameOf: (kind: Special) => string | undefined,
) {
  const hidden = model.get("hidden");
  const shown = SPECIALS.filter((kind) => nameOf(kind) !== undefined || hidden.includes(kind));
  const tick = (kind: Special, checked: boolean) =>
    save(model, {
      hidden: SPECIALS.filter((other) => (other === kind ? checked : hidden.includes(other))),
    });
  const box = (kind: Special) =>
    tickBox({
      name: kind,
      text: nameOf(kind) ?? kind,
      checked: hidden.includes(kind),
      tick: (checked) => tick(kind, checked),
      hidden: !shown.includes(kind),
      kind,
    });
  return html`<span role="group" aria-label="hide" data-label="hide" ?hidden=${!shown.length}
    >hide ${SPECIALS.map(box)}</span>`;
}

/** A small button with a sign on it; `name` is read aloud and shown to the pointer. */
export const signButton = (sign: string, name: string, press: () => void, disabled = false) =>
  html`<button type="button" class="attnw-button" title=${name} aria-label=${name}
    ?disabled=${disabled} @click=${press}>${sign}</button>`;

/** A number between a step-back and a step-forward button; hidden where there is one step. */
export function stepper(of: {
  name: string;
  index: number;
  count: number;
  go(index: number): void;
}) {
  const { name, index, count, go } = of;
  const entered = ({ currentTarget }: Event) => {
    const input = currentTarget as HTMLInputElement;
    const number = input.valueAsNumber;
    // A number that leads nowhere gives way to the one in force.
    input.value = String(index);
    if (Number.isInteger(number)) go(number);
  };
  return html`<span role="group" aria-label=${name} class="attnw-group" ?hidden=${count < 2}>
    ${signButton("‹", `previous ${name}`, () => go(index - 1), index <= 0)}
    <label>${name}
      <input type="number" min="0" step="1" max=${count - 1} .value=${live(String(index))}
        @change=${entered}>
      <span class="attnw-muted">${` of 0–${(count - 1).toLocaleString("en")}`}</span></label>
    ${signButton("›", `next ${name}`, () => go(index + 1), index >= count - 1)}
  </span>`;
}

/** Buttons to the next and the previous "mention", "for which the head" is right or wrong. */
export function outcomeJumps(of: {
  what: string;
  which: string;
  allowed: boolean;
  jump(outcome: Outcome, step: 1 | -1): void;
}) {
  const { what, which, allowed, jump } = of;
  const group = (outcome: Outcome) => {
    const sentence = `${what} ${which} is ${outcome}`;
    return html`<span role="group" aria-label=${sentence.replace(what, `${what}s`)}
      class="attnw-group">
      <span class=${`attnw-${outcome}`} aria-hidden="true">${MARKS[outcome]}</span>
      ${signButton("‹", `previous ${sentence}`, () => jump(outcome, -1), !allowed)}${outcome}
      ${signButton("›", `next ${sentence}`, () => jump(outcome, 1), !allowed)}
    </span>`;
  };
  // Both groups stay on one line, because a cross at the start of a line has no meaning.
  return html`<span class="attnw-group">${group("right")}${group("wrong")}</span>`;
}
