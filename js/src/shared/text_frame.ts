import { html } from "lit-html";
import { clamp } from "./clamp.js";
import { type Control, controlView, outcomeJumps } from "./controls.js";
import type { WithControls } from "./figure_controls.js";
import type { HeadsState } from "./head_types.js";
import { keyList } from "./key_list.js";
import { announcer } from "./live_region.js";
import { shownHead, stepTo } from "./selection.js";
import { save } from "./snapshot.js";
import type { Head, RenderContext } from "./types.js";
import type { Outcome } from "./verdict.js";

/** Traits of widgets that step through annotated texts and show one head on each text. */
export interface TextState extends HeadsState {
  /** Result drawn by the kernel. `problem`: Reason why there is nothing to draw. */
  _drawn: { head: Head | null; problem?: string } | null;
  _source: { model: string; count: number; layers: number; layers_without_attention?: number[] };
  _jump: { n?: number; outcome?: string; step?: number };
  /**
   * `left`: Number of texts that were not searched before the time limit. `where`: " on this page"
   * for a page with a part of the texts.
   */
  _jumped: { n?: number; found?: boolean; left?: number; where?: string };
}

interface TextFrame<T> {
  /** Prefix of the CSS classes. */
  name: string;
  /**
   * Traits with the index of the shown text and the number of texts. Page Up and Page Down step the
   * first trait.
   */
  places: (keyof T & string)[];
  counts(): number[];
  /** Return whether a head must be selected; default: true. */
  needsHead?(): boolean;
  /** Words for the searched item, for example "mention" and "for which the head". */
  sought: [what: string, which: string];
  /** Name of the user's variable for the widget, for hints. */
  variable: string;
  /** Return the message after a search without a result. */
  missed(jumped: TextState["_jumped"]): string;
  onJump?(outcome: Outcome): void;
  keys: readonly (readonly [key: string, meaning: string])[];
  letters: Record<string, () => void>;
  /** Handle Escape and return whether there was something to release. */
  letGo(): boolean;
  move(event: KeyboardEvent): boolean;
}

/** Content of the frame. */
interface FramedText {
  title: string;
  /** Controls specific to this widget. */
  controls: Control[];
  /** Figure, with further CSS classes of its element. */
  body: unknown;
  bodyClass?: string;
}

/** Return the frame around a text: progress, controls, title, note, keys and live region. */
export function framedText<T extends TextState>(
  mounted: WithControls,
  { model, signal }: Pick<RenderContext<T>, "model" | "signal">,
  own: TextFrame<T>,
) {
  const { name, places } = own;
  const keys = keyList(own.keys, mounted, signal);
  const live = announcer("");
  const noHead =
    "Select a head: click one in a linked figure, or set " +
    `${own.variable}.selected = [(layer, head)].`;
  /** Number of the current jump. */
  let latest = 0;
  let missed = "";
  let spoken = "";

  const placeOf = (i: number) => model.get(places[i] as keyof T) as number;
  const needsHead = () => own.needsHead?.() ?? true;
  const isJumping = () => latest > 0 && model.get("_jumped").n !== latest;
  const isStale = () => {
    const drawn = model.get("_drawn");
    return (
      !drawn ||
      places.some((place) => drawn[place as never] !== model.get(place)) ||
      (needsHead() &&
        JSON.stringify(drawn.head ?? null) !== JSON.stringify(shownHead(model) ?? null))
    );
  };
  const isBusy = () => isStale() || isJumping();
  const isAnswering = () => !needsHead() || shownHead(model) !== undefined;

  function show(i: number, index: number): void {
    const last = (own.counts()[i] ?? 1) - 1;
    save(model, { [places[i] as string]: clamp(index, 0, last) } as Partial<T>);
  }

  function jump(outcome: Outcome, step: 1 | -1): void {
    if (!isAnswering() || isJumping()) return;
    latest = (model.get("_jump").n ?? 0) + 1;
    own.onJump?.(outcome);
    save(model, { _jump: { n: latest, outcome, step } } as Partial<T>);
    mounted.invalidate();
  }

  function key(event: KeyboardEvent): boolean {
    const { key: pressed, target } = event;
    if (event.metaKey || (event.ctrlKey && !event.altKey)) return false;
    if (pressed === "Escape") return own.letGo();
    // A select jumps to the option that starts with the letter.
    if (target instanceof HTMLSelectElement) return false;
    const { layers: n_layers = 1, layers_without_attention } = model.get("_source");
    const layers = { n_layers, layers_without_attention };
    if (pressed === "?") keys.toggle();
    else if (pressed === "[") stepTo(model, model.get("layer") - 1, layers);
    else if (pressed === "]") stepTo(model, model.get("layer") + 1, layers);
    else if (event.altKey) return false;
    else if (own.letters[pressed]) own.letters[pressed]();
    else if (/^[rw]$/i.test(pressed))
      jump(pressed.toLowerCase() === "r" ? "right" : "wrong", event.shiftKey ? -1 : 1);
    else if (target instanceof HTMLInputElement) return false;
    else if (pressed === "PageUp") show(0, placeOf(0) - 1);
    else if (pressed === "PageDown") show(0, placeOf(0) + 1);
    else return own.move(event);
    return true;
  }

  function view({ title, controls, body, bodyClass = "" }: FramedText) {
    const counts = own.counts();
    const problem = model.get("_drawn")?.problem;
    const note = missed || problem || (isAnswering() ? "" : noHead);
    const [what, which] = own.sought;
    const classes = [`attnw-${name}-body`, isBusy() ? `attnw-${name}-busy` : "", bodyClass];
    const steppers = places.map(
      (place, i): Control => ({
        kind: "stepper",
        name: place,
        place: "bar",
        count: counts[i] ?? 1,
        value: placeOf(i),
        change: (index) => show(i, index),
      }),
    );
    return html`<div class="attnw-progress" ?hidden=${!isBusy()}></div>
      <div class="attnw-controls">
        ${mounted.own(steppers, "places").map(controlView)}
        ${outcomeJumps({ what, which, allowed: isAnswering() && !isJumping(), jump })}
        ${mounted.bar(mounted.own(controls))}
        ${keys.button()}
      </div>
      <p class=${`attnw-figure-title attnw-framed-title attnw-${name}-title`} ?hidden=${!title}
        >${title}</p>
      <p class=${`attnw-framed-note attnw-${name}-note`} ?hidden=${!note}>${note}</p>
      <div class=${classes.filter(Boolean).join(" ")} ?hidden=${Boolean(problem)}>${body}</div>
      ${keys.list()}${live.view()}`;
  }

  return {
    key,
    isStale,
    /** Return whether an answer of the kernel is still missing. */
    isBusy,
    view,
    announce: live.announce,
    /** Follow a change: announce `said` if it is new, or the result of a search. */
    hear(said: string): void {
      const jumped = model.get("_jumped");
      missed = latest > 0 && !isBusy() && !jumped.found ? own.missed(jumped) : "";
      if (isBusy()) return;
      if (missed || (spoken && said !== spoken)) live.announce(missed || said);
      latest = 0;
      spoken = said;
    },
  };
}
