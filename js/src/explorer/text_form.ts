import { html, nothing } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { createRef, ref } from "lit-html/directives/ref.js";
import type { Look, Mounted } from "../shared/mount.js";
import { selectOptions } from "../shared/select_options.js";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState, Input } from "./explorer_types.js";

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

/** The input that the page has asked for. */
export function asked(model: Model<ExplorerState>): Input {
  return {
    text: model.get("text"),
    pair: model.get("pair") || null,
    target: model.get("target") || null,
    versus_text: model.get("versus_text") || null,
  };
}

/** Whether the figures show another input than the one asked for. */
export function isBehind(model: Model<ExplorerState>): boolean {
  const shown = model.get("_shown");
  const now = asked(model);
  return (
    shown.text !== undefined &&
    (shown.text !== now.text ||
      (shown.pair ?? null) !== now.pair ||
      (shown.target ?? null) !== now.target ||
      (shown.versus_text ?? null) !== now.versus_text)
  );
}

/**
 * The text box (two boxes for pairs), which takes the place of the sentence while a reader edits
 * it, and the menu of the examples.
 */
export function textForm(
  model: Model<ExplorerState>,
  { schedule, drawNow }: Pick<Mounted, "schedule" | "drawNow">,
) {
  const fitted = new WeakMap<HTMLTextAreaElement, string | undefined>();
  const boxes = {
    first: createRef<HTMLTextAreaElement>(),
    second: createRef<HTMLTextAreaElement>(),
  };
  /** What is being typed stays until the input changes elsewhere. */
  let known = "";
  let first = "";
  let second = "";
  let hasSecond = false;
  /** Whether a reader edits the text. */
  let isOpen = false;

  const kind = () => model.get("_second") || "pair";
  /** The first box is for the second text of a comparison. */
  const compares = () => Boolean(model.get("versus_text"));
  const draft = (): Input => ({
    text: compares() ? model.get("text") : first,
    pair: null,
    target: null,
    versus_text: compares() ? first : null,
    [kind()]: (hasSecond && second) || null,
  });

  /** Take over an input that has changed elsewhere. */
  function update(): void {
    const now = asked(model);
    if (JSON.stringify(now) === known) return;
    known = JSON.stringify(now);
    first = now.versus_text ?? now.text;
    second = now[kind()] ?? "";
    const isTyping = hasSecond && boxes.second.value?.matches(":focus");
    hasSecond = now[kind()] !== null || Boolean(isTyping) || model.get("_second") === "target";
  }

  function run(event: Event): void {
    event.preventDefault();
    isOpen = false;
    save(model, draft());
    schedule();
  }

  /** Leave the box; what was typed is dropped. */
  function leave(): void {
    isOpen = false;
    known = "";
    update();
    drawNow();
  }

  function compare(): void {
    save(model, { versus_text: first });
    schedule();
  }

  function stopComparing(): void {
    save(model, { versus_text: null });
    schedule();
  }

  function typed(event: Event): void {
    const area = event.currentTarget as HTMLTextAreaElement;
    if (area === boxes.first.value) first = area.value;
    else second = area.value;
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
    hasSecond = !hasSecond;
    // A box is focused once it is shown.
    drawNow();
    const box = hasSecond ? boxes.second : boxes.first;
    box.value?.focus();
  }

  function pick({ currentTarget }: Event): void {
    const { value } = currentTarget as HTMLSelectElement;
    const chosen = model.get("_examples").find(({ name }) => name === value);
    if (!chosen) return;
    // Send the text with its name: the page marks the figures as outdated at once.
    const { name, text, pair } = chosen;
    save(model, { example: name, text, pair, target: null, versus_text: null });
  }

  /** The menu of the examples, which calls a typed text "your text". */
  function exampleMenu(isOwn: boolean) {
    const examples = model.get("_examples");
    const options = [
      { value: "", text: "your text", disabled: true },
      ...examples.map(({ name }) => ({ value: name, text: name })),
    ];
    return html`<label class="attnw-ex-example" ?hidden=${!examples.length}>example
      <select class="attnw-ex-examples" @change=${pick} @keydown=${keepFromHost}
        ${selectOptions(options, isOwn ? "" : (model.get("example") ?? ""))}></select></label>`;
  }

  /** The text that is kept as A, while the second one is edited. */
  const keptText = () =>
    compares()
      ? html`<p class="attnw-ex-kept"><b>A</b> <span>${model.get("text")}</span>
          <button type="button" class="attnw-ex-quiet" @click=${stopComparing}
            >stop comparing</button></p>`
      : nothing;

  return {
    update,
    /** Whether the box takes the place of the sentence, as in comparisons of two texts. */
    isOpen: () => isOpen || compares(),
    /** Edit the text. */
    edit(): void {
      isOpen = true;
      // The box is focused once it is shown.
      drawNow();
      boxes.first.value?.focus();
    },
    examples: () => exampleMenu(first !== (model.get("versus_text") || model.get("text"))),

    view(isShown: boolean) {
      const { name, hint } = SECOND[kind()];
      const isChanged = JSON.stringify(draft()) !== JSON.stringify(asked(model));
      const canCompare = !compares() && first !== model.get("text") && first.trim() !== "";
      return html`<form class="attnw-ex-form" ?hidden=${!isShown} @submit=${run}>
        ${keptText()}
        <div class="attnw-ex-first">
          <div class="attnw-ex-boxes">
            <textarea rows="1" spellcheck="false" .value=${live(first)}
              aria-label=${compares() ? "text B, compared with A" : "text"}
              @input=${typed} @keydown=${key} ${ref(boxes.first)}></textarea>
            <textarea rows="1" spellcheck="false" aria-label=${name} .value=${live(second)}
              placeholder=${[name, hint].filter(Boolean).join(" – ")} ?hidden=${!hasSecond}
              @input=${typed} @keydown=${key} ${ref(boxes.second)}></textarea>
          </div>
          <div class="attnw-ex-actions">
            <button type="submit" title=${RUN_KEYS}
              class=${`attnw-ex-run ${isChanged ? "attnw-ex-changed" : ""}`}>Run</button>
            <button type="button" class="attnw-ex-compare" title=${COMPARE} ?hidden=${!canCompare}
              @click=${compare}>compare</button>
            <button type="button" class="attnw-ex-quiet" aria-expanded=${hasSecond}
              ?hidden=${model.get("_second") === ""} @click=${turnSecond}
              >${`${hasSecond ? "−" : "+"} ${name}`}</button>
          </div>
        </div>
      </form>`;
    },

    /**
     * Make the boxes as high as their texts, once the view is rendered. Only another text or width
     * is measured, because a measurement makes the browser lay the page out.
     */
    fit({ width }: Look): void {
      for (const { value: area } of Object.values(boxes)) {
        const now = area && `${width} ${area.value}`;
        if (!area || fitted.get(area) === now) continue;
        fit(area);
        // A page that has not been attached has no heights.
        if (area.scrollHeight) fitted.set(area, now);
      }
    },
  };
}
