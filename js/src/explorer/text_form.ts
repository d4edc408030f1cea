import { html } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { createRef, ref } from "lit-html/directives/ref.js";
import type { Mounted } from "../shared/mount.js";
import { counted } from "../shared/numbers.js";
import { selectOptions } from "../shared/select_options.js";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState, Input } from "./explorer_types.js";

const RUN_KEYS = "Ctrl+Enter or ⌘+Enter";
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
  };
}

/** Whether the figures show another input than the one asked for. */
export function isBehind(model: Model<ExplorerState>): boolean {
  const { text, pair, target } = model.get("_shown");
  const now = asked(model);
  return (
    text !== undefined &&
    (text !== now.text || (pair ?? null) !== now.pair || (target ?? null) !== now.target)
  );
}

/** The text box (two boxes for pairs), the examples, and what is worth seeing in the example. */
export function textForm(
  model: Model<ExplorerState>,
  { schedule, drawNow }: Pick<Mounted, "schedule" | "drawNow">,
) {
  const boxes = {
    first: createRef<HTMLTextAreaElement>(),
    second: createRef<HTMLTextAreaElement>(),
  };
  /** What is being typed stays until the input changes elsewhere. */
  let known = "";
  let first = "";
  let second = "";
  let hasSecond = false;

  const kind = () => model.get("_second") || "pair";
  const draft = (): Input => ({
    text: first,
    pair: null,
    target: null,
    [kind()]: (hasSecond && second) || null,
  });

  /** Take over an input that has changed elsewhere. */
  function update(): void {
    const now = asked(model);
    if (JSON.stringify(now) === known) return;
    known = JSON.stringify(now);
    first = now.text;
    second = now[kind()] ?? "";
    const isTyping = hasSecond && boxes.second.value?.matches(":focus");
    hasSecond = now[kind()] !== null || Boolean(isTyping) || model.get("_second") === "target";
  }

  function run(event: Event): void {
    event.preventDefault();
    save(model, draft());
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
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run(event);
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
    // Send the text with its name: the page marks the figures as outdated at once.
    if (chosen)
      save(model, { example: chosen.name, text: chosen.text, pair: chosen.pair, target: null });
  }

  return {
    update,

    /** `save`: the button that joins the others beside the text; `alert`: the line below it. */
    view(save: HTMLElement, alert: unknown) {
      const { name, hint } = SECOND[kind()];
      const examples = model.get("_examples");
      const isChanged = JSON.stringify(draft()) !== JSON.stringify(asked(model));
      const look = isBehind(model) ? "" : model.get("_look");
      const count = model.get("_stacks")[0]?.n_query ?? 0;
      const about = `${model.get("_source").model} · ${counted(count, "token")}`;
      const options = [
        { value: "", text: "examples", disabled: true },
        ...examples.map(({ name }) => ({ value: name, text: name })),
      ];
      return html`<form class="attnw-ex-form" @submit=${run}>
        <div class="attnw-ex-first">
          <div class="attnw-ex-boxes">
            <textarea rows="1" spellcheck="false" aria-label="text" .value=${live(first)}
              @input=${typed} @keydown=${key} ${ref(boxes.first)}></textarea>
            <textarea rows="1" spellcheck="false" aria-label=${name} .value=${live(second)}
              placeholder=${[name, hint].filter(Boolean).join(" – ")} ?hidden=${!hasSecond}
              @input=${typed} @keydown=${key} ${ref(boxes.second)}></textarea>
          </div>
          <div class="attnw-ex-actions">
            <button type="submit" title=${RUN_KEYS}
              class=${`attnw-ex-run ${isChanged ? "attnw-ex-changed" : ""}`}>Run</button>
            <select class="attnw-ex-examples" aria-label="examples" ?hidden=${!examples.length}
              @change=${pick} @keydown=${keepFromHost}
              ${selectOptions(options, model.get("example") ?? "")}></select>
            ${save}
          </div>
        </div>
        <div class="attnw-ex-line">
          <p class="attnw-ex-look" aria-live="polite">${look}</p>
          <button type="button" class="attnw-ex-quiet" aria-expanded=${hasSecond}
            ?hidden=${model.get("_second") === ""} @click=${turnSecond}
            >${`${hasSecond ? "−" : "+"} ${name}`}</button>
          <span class="attnw-ex-about">${about}</span>
        </div>
      </form>${alert}`;
    },

    /** Make the boxes as high as their texts; the view has been rendered. */
    fit(): void {
      for (const { value } of Object.values(boxes)) if (value) fit(value);
    },
  };
}
