import { html, nothing } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { createRef, ref } from "lit-html/directives/ref.js";
import { errorOf, type Look, type Mounted } from "../shared/mount.js";
import { selectOptions } from "../shared/select_options.js";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";
import { TextDraft } from "./text_draft.js";

const RUN_KEYS = "Enter; Shift+Enter begins a new line";
const COMPARE = "keep the present text as A, and show A − B while this text is edited";
const SECOND = {
  pair: { name: "second sentence", hint: "" },
  target: { name: "target", hint: "empty: what the model writes" },
} as const;
const MOST_HEIGHT = 70;

/** As high as its text, up to a few lines. */
function fit(area: HTMLTextAreaElement): void {
  area.style.height = "auto";
  if (area.scrollHeight) area.style.height = `${Math.min(area.scrollHeight + 2, MOST_HEIGHT)}px`;
}

/** JupyterLab would take the arrows for its own. */
const keepFromHost = (event: Event) => event.stopPropagation();

/** The menu of the examples, which calls a text of no example (`isOwn`) "your text". */
function exampleMenu(model: Model<ExplorerState>, isOwn: boolean) {
  const examples = model.get("_examples");
  const options = [
    { value: "", text: "your text", disabled: true },
    ...examples.map(({ name }) => ({ value: name, text: name })),
  ];
  const pick = ({ currentTarget }: Event) => {
    const { value } = currentTarget as HTMLSelectElement;
    const chosen = examples.find(({ name }) => name === value);
    if (!chosen) return;
    // Send the text with its name: the page marks the figures as outdated at once.
    const { name, text, pair } = chosen;
    save(model, { example: name, text, pair, target: null, versus_text: null });
  };
  return html`<label class="attnw-ex-example" ?hidden=${!examples.length}>example
    <select class="attnw-ex-examples" @change=${pick} @keydown=${keepFromHost}
      ${selectOptions(options, isOwn ? "" : (model.get("example") ?? ""))}></select></label>`;
}

/**
 * The text box (two boxes for pairs), which takes the place of the sentence while a reader edits
 * it, and the menu of the examples.
 */
export function textForm(
  model: Model<ExplorerState>,
  { schedule, drawNow }: Pick<Mounted, "schedule" | "drawNow">,
) {
  const draft = new TextDraft(model);
  const fitted = new WeakMap<HTMLTextAreaElement, string | undefined>();
  const firstBox = createRef<HTMLTextAreaElement>();
  const secondBox = createRef<HTMLTextAreaElement>();
  /** Whether a reader edits the text. */
  let isOpen = false;

  const update = () => draft.update(secondBox.value?.matches(":focus") ?? false);

  function run(event: Event): void {
    event.preventDefault();
    isOpen = false;
    save(model, draft.input());
    schedule();
  }

  /** Leave the box; what was typed is dropped. */
  function leave(): void {
    isOpen = false;
    draft.drop();
    update();
    drawNow();
  }

  /** Compare the present text with one that is edited, or stop. */
  function compare(versus_text: string | null): void {
    save(model, { versus_text });
    schedule();
  }

  function typed(event: Event): void {
    const area = event.currentTarget as HTMLTextAreaElement;
    draft[area === firstBox.value ? "first" : "second"] = area.value;
    fit(area);
    schedule();
  }

  function key(event: KeyboardEvent): void {
    // Keep the host's shortcuts away from typed text.
    event.stopPropagation();
    const isRun = event.key === "Enter" && !event.shiftKey && !event.isComposing;
    if (isRun) run(event);
    else if (event.key === "Escape" && isOpen) leave();
  }

  function turnSecond(): void {
    update();
    draft.hasSecond = !draft.hasSecond;
    // A box is focused once it is shown.
    drawNow();
    const box = draft.hasSecond ? secondBox : firstBox;
    box.value?.focus();
  }

  /** The text that is kept as A, while the second one is edited. */
  const keptText = () =>
    html`<p class="attnw-ex-kept"><b>A</b> <span>${model.get("text")}</span>
      <button type="button" class="attnw-ex-quiet" @click=${() => compare(null)}
        >stop comparing</button></p>`;

  function boxesView() {
    const { first, second, hasSecond, kind, compares } = draft;
    const { name, hint } = SECOND[kind];
    // The encoder of a speech model reads no text.
    const isHeard = kind === "target" && !model.get("text");
    return html`<div class="attnw-ex-boxes">
      <textarea rows="1" spellcheck="false" .value=${live(first)} ?hidden=${isHeard}
        aria-label=${compares ? "text B, compared with A" : "text"}
        @input=${typed} @keydown=${key} ${ref(firstBox)}></textarea>
      <textarea rows="1" spellcheck="false" aria-label=${name} .value=${live(second)}
        placeholder=${[name, hint].filter(Boolean).join(" – ")} ?hidden=${!hasSecond}
        @input=${typed} @keydown=${key} ${ref(secondBox)}></textarea>
    </div>`;
  }

  function actionsView() {
    const { first, hasSecond, isChanged } = draft;
    const canCompare = !draft.compares && first !== model.get("text") && first.trim() !== "";
    return html`<div class="attnw-ex-actions">
      <button type="submit" title=${RUN_KEYS}
        class=${`attnw-ex-run ${isChanged ? "attnw-ex-changed" : ""}`}>Run</button>
      <button type="button" class="attnw-ex-compare" title=${COMPARE} ?hidden=${!canCompare}
        @click=${() => compare(first)}>compare</button>
      <button type="button" class="attnw-ex-quiet" aria-expanded=${hasSecond}
        ?hidden=${model.get("_second") === ""} @click=${turnSecond}
        >${`${hasSecond ? "−" : "+"} ${SECOND[draft.kind].name}`}</button>
    </div>`;
  }

  return {
    update,
    /** Whether the box takes the place of the sentence, as in comparisons of two texts. */
    isOpen: () => isOpen || draft.compares,
    /** Edit the text. */
    edit(): void {
      isOpen = true;
      // The box is focused once it is shown.
      drawNow();
      firstBox.value?.focus();
    },
    examples: () => exampleMenu(model, draft.isOther),

    view: (isShown: boolean) =>
      html`<form class="attnw-ex-form" ?hidden=${!isShown} @submit=${run}>
        ${draft.compares ? keptText() : nothing}
        <div class="attnw-ex-first">${boxesView()}${actionsView()}</div>
      </form>`,

    /**
     * Make the boxes as high as their texts, once the view is rendered. Only another text or width
     * is measured, because a measurement makes the browser lay the page out.
     */
    fit({ width }: Look): void {
      for (const { value: area } of [firstBox, secondBox]) {
        const now = area && `${width} ${area.value}`;
        if (!area || fitted.get(area) === now) continue;
        fit(area);
        // A page that has not been attached has no heights.
        if (area.scrollHeight) fitted.set(area, now);
      }
    },
  };
}

/** Why the input was not read, with a button for the way out where there is one. */
export function errorWithWayOut(model: Model<ExplorerState>) {
  const text = errorOf(model);
  const way = text ? model.get("_way_out") : "";
  const take = () => save(model, { _way_out_taken: model.get("_way_out_taken") + 1 });
  return html`<p role="alert" class="attnw-alert" ?hidden=${!text}>${text}<button type="button"
    class="attnw-ex-act" ?hidden=${!way} @click=${take}>${way}</button></p>`;
}
