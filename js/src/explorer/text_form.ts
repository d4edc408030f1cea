import { html, nothing } from "lit-html";
import { errorOf, type Mounted } from "../shared/mount.js";
import { selectOptions } from "../shared/select_options.js";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";
import { SECOND_NAMES, textBoxes } from "./text_boxes.js";
import { TextDraft } from "./text_draft.js";

const RUN_KEYS = "Enter; Shift+Enter begins a new line";
const COMPARE = "keep the present text as A, and show A − B while this text is edited";

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
  const boxes = textBoxes(draft, schedule, key);
  /** Whether a reader edits the text. */
  let isOpen = false;

  const update = () => draft.update(boxes.isIn("second"));

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
    boxes.focus(draft.hasSecond ? "second" : "first");
  }

  /** The text that is kept as A, while the second one is edited. */
  const keptText = () =>
    html`<p class="attnw-ex-kept"><b>A</b> <span>${model.get("text")}</span>
      <button type="button" class="attnw-ex-quiet" @click=${() => compare(null)}
        >stop comparing</button></p>`;

  /** The encoder of a speech model reads no text. */
  const isHeard = () => draft.kind === "target" && !model.get("text");

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
        >${`${hasSecond ? "−" : "+"} ${SECOND_NAMES[draft.kind]}`}</button>
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
      boxes.focus("first");
    },
    examples: () => exampleMenu(model, draft.isOther),

    view: (isShown: boolean) =>
      html`<form class="attnw-ex-form" ?hidden=${!isShown} @submit=${run}>
        ${draft.compares ? keptText() : nothing}
        <div class="attnw-ex-first">${boxes.view(isHeard())}${actionsView()}</div>
      </form>`,

    fit: boxes.fit,
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
