import { html, nothing, type TemplateResult } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { selectOptions } from "./select_options.js";
import type { Special } from "./types.js";
import { type Outcome, SIGNS } from "./verdict.js";

/**
 * Where a control stands: "bar" for what answers the first question about a figure, "menu" for what
 * nobody asks first.
 */
type ControlPlace = "bar" | "menu";

interface Described {
  /** A name that no other control of the figure has. */
  name: string;
  place: ControlPlace;
  /** The trait that the control sets; the control's name if absent. */
  trait?: string;
  /** The text beside the control; its name if absent. */
  label?: string;
  /** A sentence that is shown to the pointer. */
  hint?: string | undefined;
  /** Whether the control sets a trait that linked figures share. */
  shared?: boolean;
  hidden?: boolean;
  disabled?: boolean;
  /** Why a saved page cannot change the option; see `withReason`. */
  reason?: string;
}

/** One of several values: a select, or a row of buttons. Hidden if there is only one value. */
interface Choice<T extends string = string> extends Described {
  kind: "choice";
  look?: "select" | "buttons";
  values: readonly T[];
  value: T;
  change(value: T): void;
  /** The text of a value. */
  print?(value: T): string;
}

/** A box to tick. */
interface Tick extends Described {
  kind: "tick";
  value: boolean;
  change(value: boolean): void;
}

/** Boxes under one name. */
interface Ticks extends Described {
  kind: "ticks";
  boxes: { name: Special; label: string; value: boolean; hidden: boolean }[];
  change(name: Special, value: boolean): void;
}

/** A slider from 0; `text` is the value as it is read. */
interface Range extends Described {
  kind: "range";
  max: number;
  step?: number;
  value: number;
  text: string;
  change(value: number): void;
}

/** A whole number with buttons to the previous and the next number. Hidden below two numbers. */
interface Stepper extends Described {
  kind: "stepper";
  count: number;
  value: number;
  change(value: number): void;
}

/** A line of text: Enter sends it, Escape brings the last text back. */
interface TextLine extends Described {
  kind: "text";
  value: string;
  /** The largest number of characters. */
  longest?: number;
  placeholder?: string;
  change(text: string): void;
}

/** A button; with a `sign` on it, the label is read aloud and shown to the pointer. */
export interface Action extends Described {
  kind: "action";
  sign?: string;
  /** Whether what the button opens is open. */
  expanded?: boolean;
  change(): void;
}

/**
 * A control of a figure, declared once. The bar and the menu of the figure, and the menu of an
 * explorer around it, are layouts of the same list.
 */
export type Control = Choice | Tick | Ticks | Range | Stepper | TextLine | Action;

/** A choice whose values have a narrower type than text. */
export const choice = <T extends string>(of: Omit<Choice<T>, "kind">): Control =>
  ({ kind: "choice", ...of }) as Choice;

/** Whether there is anything to see of a control. */
export function isOffered(control: Control): boolean {
  if (control.hidden) return false;
  if (control.kind === "choice") return control.values.length > 1;
  if (control.kind === "stepper") return control.count > 1;
  return control.kind !== "ticks" || control.boxes.some(({ hidden }) => !hidden);
}

/** The elements of a control, the same in every place. */
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

/** A box of `tick`, or of a group of boxes. */
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
    // A number that leads nowhere gives way to the one in force.
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
    // Letters are text here, and no keys of the figure.
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
  /** The name of the control that it is the slider of. */
  name?: string;
  /** Its name and its value as they are read aloud, where no label around it says them. */
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

/** A small button with a sign on it; `name` is read aloud and shown to the pointer. */
export const signButton = (sign: string, name: string, press: () => void, disabled = false) =>
  html`<button type="button" class="attnw-button" title=${name} aria-label=${name}
    ?disabled=${disabled} @click=${press}>${sign}</button>`;

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
      <span class=${`attnw-${outcome}`} aria-hidden="true">${SIGNS[outcome]}</span>
      ${signButton("‹", `previous ${sentence}`, () => jump(outcome, -1), !allowed)}${outcome}
      ${signButton("›", `next ${sentence}`, () => jump(outcome, 1), !allowed)}
    </span>`;
  };
  // Both groups stay on one line, because a cross at the start of a line has no meaning.
  return html`<span class="attnw-group">${group("right")}${group("wrong")}</span>`;
}
