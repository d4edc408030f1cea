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

/** Keep JupyterLab from handling the arrow keys. */
const keepFromHost = (event: Event) => event.stopPropagation();

/** Return the menu of examples. A text that is not an example (`isOwn`) is named "your text". */
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
    // Send the text together with the name, so that the page can mark the figures as outdated
    // immediately.
    const { name, text, pair } = chosen;
    save(model, { example: name, text, pair, target: null, versus_text: null });
  };
  return html`<label class="attnw-ex-example" ?hidden=${!examples.length}>example
    <select class="attnw-ex-examples" @change=${pick} @keydown=${keepFromHost}
      ${selectOptions(options, isOwn ? "" : (model.get("example") ?? ""))}></select></label>`;
}

/**
 * Return the text box (two for pairs), which replaces the sentence while the user edits it, and the
 * menu of examples.
 */
export function textForm(
  model: Model<ExplorerState>,
  { schedule, drawNow }: Pick<Mounted, "schedule" | "drawNow">,
) {
  const draft = new TextDraft(model);
  const boxes = textBoxes(draft, schedule, key);
  /** Whether the user edits the text. */
  let isOpen = false;

  const update = () => draft.update(boxes.isIn("second"));

  function run(event: Event): void {
    event.preventDefault();
    isOpen = false;
    save(model, draft.input());
    schedule();
  }

  /** Close the box and discard the typed text. */
  function leave(): void {
    isOpen = false;
    draft.drop();
    update();
    drawNow();
  }

  /** Compare the current text with the edited one, or stop comparing. */
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
    // A box can be focused only after it is shown.
    drawNow();
    boxes.focus(draft.hasSecond ? "second" : "first");
  }

  /** Return the text fixed as A, while the second one is edited. */
  const keptText = () =>
    html`<p class="attnw-ex-kept"><b>A</b> <span>${model.get("text")}</span>
      <button type="button" class="attnw-ex-quiet" @click=${() => compare(null)}
        >stop comparing</button></p>`;

  /** Return whether the input is a sound: the encoder of a speech model reads no text. */
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
    /** Return whether the box replaces the sentence, as in comparisons of two texts. */
    isOpen: () => isOpen || draft.compares,
    edit(): void {
      isOpen = true;
      // The box can be focused only after it is shown.
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

/** Return the reason why the input was not read, with a button for a way out if there is one. */
export function errorWithWayOut(model: Model<ExplorerState>) {
  const text = errorOf(model);
  const way = text ? model.get("_way_out") : "";
  const take = () => save(model, { _way_out_taken: model.get("_way_out_taken") + 1 });
  return html`<p role="alert" class="attnw-alert" ?hidden=${!text}>${text}<button type="button"
    class="attnw-ex-act" ?hidden=${!way} @click=${take}>${way}</button></p>`;
}
