import { html, nothing, type TemplateResult } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { selectOptions } from "./select_options.js";
import type { Special } from "./types.js";
import { type Outcome, SIGNS } from "./verdict.js";

/** Position of a control: "bar" for frequent controls, "menu" for the others. */
type ControlPlace = "bar" | "menu";

interface Described {
  /** Name, unique among the controls of the figure. */
  name: string;
  place: ControlPlace;
  /** Trait that the control sets; default: the control's name. */
  trait?: string;
  /** Text next to the control; default: its name. */
  label?: string;
  /** Tooltip sentence. */
  hint?: string | undefined;
  /** Whether the control sets a trait that linked figures share. */
  shared?: boolean;
  hidden?: boolean;
  disabled?: boolean;
  /** Reason why a saved page cannot change the option; see `withReason`. */
  reason?: string;
}

/** Choice of one value, as a select or a row of buttons. Hidden if there is only one value. */
interface Choice<T extends string = string> extends Described {
  kind: "choice";
  look?: "select" | "buttons";
  values: readonly T[];
  value: T;
  change(value: T): void;
  /** Return the text of a value. */
  print?(value: T): string;
}

/** Checkbox. */
interface Tick extends Described {
  kind: "tick";
  value: boolean;
  change(value: boolean): void;
}

/** Checkboxes under one name. */
interface Ticks extends Described {
  kind: "ticks";
  boxes: { name: Special; label: string; value: boolean; hidden: boolean }[];
  change(name: Special, value: boolean): void;
}

/** Slider from 0; `text` is the printed value. */
interface Range extends Described {
  kind: "range";
  max: number;
  step?: number;
  value: number;
  text: string;
  change(value: number): void;
}

/** Integer with buttons to the previous and the next number. Hidden below two numbers. */
interface Stepper extends Described {
  kind: "stepper";
  count: number;
  value: number;
  change(value: number): void;
}

/** Line of text: Enter sends it, Escape restores the last text. */
interface TextLine extends Described {
  kind: "text";
  value: string;
  /** The largest number of characters. */
  longest?: number;
  placeholder?: string;
  change(text: string): void;
}

/** Button. If it shows a `sign`, the label is its tooltip and accessible name. */
export interface Action extends Described {
  kind: "action";
  sign?: string;
  /** Whether the part that the button opens is open. */
  expanded?: boolean;
  change(): void;
}

/**
 * Control of a figure, declared once. The bar and the menu of the figure, and the menu of an
 * explorer around it, are layouts of the same list.
 */
export type Control = Choice | Tick | Ticks | Range | Stepper | TextLine | Action;

/** Return a choice whose values have a narrower type than string. */
export const choice = <T extends string>(of: Omit<Choice<T>, "kind">): Control =>
  ({ kind: "choice", ...of }) as Choice;

/** Return whether any part of a control is visible. */
export function isOffered(control: Control): boolean {
  if (control.hidden) return false;
  if (control.kind === "choice") return control.values.length > 1;
  if (control.kind === "stepper") return control.count > 1;
  return control.kind !== "ticks" || control.boxes.some(({ hidden }) => !hidden);
}

/** Return the elements of a control, which are the same in a bar and in a menu. */
export function controlView(control: Control): TemplateResult {
  switch (control.kind) {
    case "choice":
      return control.look === "buttons" ? buttonsView(control) : selectView(control);
    case "tick":
      return tickView(control, control.label ?? control.name, control.change);
    case "ticks":
      return ticksView(control);
    case "range":
      return rangeView(control);
    case "stepper":
      return stepperView(control);
    case "text":
      return textView(control);
    case "action":
      return actionView(control);
  }
}

const enteredIn = ({ currentTarget }: Event) =>
  (currentTarget as HTMLInputElement | HTMLSelectElement).value;

function selectView(control: Choice): TemplateResult {
  const { name, label = name, hint, values, value, disabled = false, print = String } = control;
  const options = values.map((each) => ({ value: each, text: print(each) }));
  return html`<label data-label=${name} title=${hint ?? nothing} ?hidden=${!isOffered(control)}
    >${label}
    <select data-control=${name} ?disabled=${disabled}
      @change=${(event: Event) => control.change(enteredIn(event))}
      ${selectOptions(options, value)}></select></label>`;
}

function buttonsView(control: Choice): TemplateResult {
  const { name, label = name, hint, values, value, disabled = false, print = String } = control;
  return html`<span class="attnw-choice" role="group" aria-label=${label} data-label=${name}
    title=${hint ?? nothing} ?hidden=${!isOffered(control)}>${values.map(
      (each) => html`<button type="button" data-control=${name} data-value=${each}
        aria-pressed=${each === value} ?disabled=${disabled}
        @click=${() => control.change(each)}>${print(each)}</button>`,
    )}</span>`;
}

/** Return the checkbox of a `tick` control or of one box of a group. */
function tickView(
  tick: Pick<Tick, "name" | "value" | "hint" | "hidden" | "disabled">,
  text: string,
  ticked: (value: boolean) => void,
  kind?: Special,
): TemplateResult {
  const { name, value, hint, hidden = false, disabled = false } = tick;
  return html`<label class="attnw-tick" data-label=${name} title=${hint ?? nothing}
    ?hidden=${hidden}><input type="checkbox" data-control=${name} data-hide=${kind ?? nothing}
      ?disabled=${disabled} .checked=${live(value)}
      @change=${({ currentTarget }: Event) =>
        ticked((currentTarget as HTMLInputElement).checked)}><span>${text}</span></label>`;
}

function ticksView(control: Ticks): TemplateResult {
  const { name, label = name, hint, boxes, disabled = false } = control;
  return html`<span role="group" aria-label=${label} data-label=${name} title=${hint ?? nothing}
    ?hidden=${!isOffered(control)}>${label} ${boxes.map((box) =>
      tickView(
        { ...box, disabled },
        box.label,
        (value) => control.change(box.name, value),
        box.name,
      ),
    )}</span>`;
}

function rangeView(control: Range): TemplateResult {
  const { name, label = name, hint, hidden = false, max, step = 1, value, text } = control;
  return html`<span class="attnw-range" data-label=${name} title=${hint ?? nothing}
    ?hidden=${hidden}><label>${label} ${rangeInput({
      max,
      step,
      value,
      disabled: control.disabled ?? false,
      name,
      valueText: text,
      slide: (now) => control.change(now),
    })}</label><output>${text}</output></span>`;
}

function stepperView(control: Stepper): TemplateResult {
  const { name, label = name, hint, count, value } = control;
  const go = (index: number) => control.change(index);
  const entered = ({ currentTarget }: Event) => {
    const input = currentTarget as HTMLInputElement;
    const number = input.valueAsNumber;
    // An invalid number is replaced by the current value.
    input.value = String(value);
    if (Number.isInteger(number)) go(number);
  };
  return html`<span role="group" aria-label=${label} class="attnw-group" data-label=${name}
    title=${hint ?? nothing} ?hidden=${!isOffered(control)}>
    ${signButton("‹", `previous ${label}`, () => go(value - 1), value <= 0)}
    <label>${label}
      <input type="number" min="0" step="1" max=${count - 1} data-control=${name}
        .value=${live(String(value))} @change=${entered}>
      <span class="attnw-muted">${` of 0–${(count - 1).toLocaleString("en")}`}</span></label>
    ${signButton("›", `next ${label}`, () => go(value + 1), value >= count - 1)}
  </span>`;
}

function textView(control: TextLine): TemplateResult {
  const { name, label = name, hint, value, longest, placeholder, hidden = false } = control;
  function pressed(event: KeyboardEvent): void {
    const input = event.currentTarget as HTMLInputElement;
    // Letters are text here, not shortcuts of the figure.
    if (event.key !== "Escape" || input.value !== value) event.stopPropagation();
    if (event.key === "Escape") input.value = value;
  }
  return html`<label data-label=${name} title=${hint ?? nothing} ?hidden=${hidden}>${label}
    <input type="text" data-control=${name} autocomplete="off" maxlength=${longest ?? nothing}
      placeholder=${placeholder ?? nothing} ?disabled=${control.disabled ?? false}
      .value=${live(value)} @change=${(event: Event) => control.change(enteredIn(event))}
      @keydown=${pressed}></label>`;
}

export function actionView(control: Action): TemplateResult {
  const { name, label = name, hint, sign, expanded, hidden = false, disabled = false } = control;
  return html`<button type="button" data-control=${name}
    class=${sign ? "attnw-button" : "attnw-button attnw-action"}
    title=${hint ?? (sign ? label : nothing)} aria-label=${sign ? label : nothing}
    aria-expanded=${expanded ?? nothing} ?hidden=${hidden} ?disabled=${disabled}
    @click=${() => control.change()}>${sign ?? label}</button>`;
}

/** Keep JupyterLab from handling the arrow keys of a slider. */
const keepArrows = (event: KeyboardEvent) => {
  if (/^Arrow/.test(event.key)) event.stopPropagation();
};

/** Return a slider from 0. */
export function rangeInput(of: {
  max: number;
  value: number;
  slide(value: number): void;
  /** Handle the end of a movement. */
  release?(): void;
  step?: number;
  disabled?: boolean;
  /** Name of the control that the slider belongs to. */
  name?: string;
  /** Accessible name and value text, for a slider without a label around it. */
  label?: string;
  valueText?: string;
  className?: string;
}) {
  const { max, value, slide, step = 1, disabled = false, name, label, valueText, className } = of;
  const released = () => of.release?.();
  const slid = (event: Event) => slide(Number(enteredIn(event)));
  return html`<input type="range" min="0" max=${max} step=${step} .value=${live(String(value))}
    data-control=${name ?? nothing} class=${className ?? nothing} aria-label=${label ?? nothing}
    aria-valuetext=${valueText ?? nothing} ?disabled=${disabled}
    @input=${slid} @change=${released} @keydown=${keepArrows}>`;
}

/** Return a small button with a sign; `name` is its tooltip and accessible name. */
export const signButton = (sign: string, name: string, press: () => void, disabled = false) =>
  html`<button type="button" class="attnw-button" title=${name} aria-label=${name}
    ?disabled=${disabled} @click=${press}>${sign}</button>`;

/** Return buttons to the next and the previous "mention" "for which the head" is right or wrong. */
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
      <span class=${`attnw-${outcome}`} aria-hidden="true">${SIGNS[outcome]}</span>
      ${signButton("‹", `previous ${sentence}`, () => jump(outcome, -1), !allowed)}${outcome}
      ${signButton("›", `next ${sentence}`, () => jump(outcome, 1), !allowed)}
    </span>`;
  };
  // Keep both groups on one line: a cross at the start of a line would lose its meaning.
  return html`<span class="attnw-group">${group("right")}${group("wrong")}</span>`;
}
