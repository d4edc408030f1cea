import { html } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { createRef, ref } from "lit-html/directives/ref.js";
import type { Look } from "../shared/mount.js";
import type { TextDraft } from "./text_draft.js";

/** Names of the kinds of second text. */
export const SECOND_NAMES = { pair: "second sentence", target: "target" } as const;
/** Whether CSS can make boxes as high as their texts. */
const FITS_BY_STYLE = globalThis.CSS?.supports?.("field-sizing", "content") ?? false;

/** Make a box as high as its text; the style sheet limits the height. */
function fit(area: HTMLTextAreaElement): void {
  if (FITS_BY_STYLE) return;
  area.style.height = "auto";
  if (area.scrollHeight) area.style.height = `${area.scrollHeight + 2}px`;
}

/** Return the boxes of a text and its second text, which write into a draft. */
export function textBoxes(
  draft: TextDraft,
  changed: () => void,
  key: (event: KeyboardEvent) => void,
) {
  const fitted = new WeakMap<HTMLTextAreaElement, string | undefined>();
  const boxes = {
    first: createRef<HTMLTextAreaElement>(),
    second: createRef<HTMLTextAreaElement>(),
  };

  function box(of: "first" | "second", name: string, hint: string, isHidden: boolean) {
    const typed = ({ currentTarget }: Event) => {
      const area = currentTarget as HTMLTextAreaElement;
      draft[of] = area.value;
      fit(area);
      changed();
    };
    return html`<textarea rows="1" spellcheck="false" aria-label=${name} placeholder=${hint}
      .value=${live(draft[of])} ?hidden=${isHidden} @input=${typed} @keydown=${key}
      ${ref(boxes[of])}></textarea>`;
  }

  return {
    focus: (of: "first" | "second") => boxes[of].value?.focus(),
    isIn: (of: "first" | "second") => boxes[of].value?.matches(":focus") ?? false,

    /** Return the boxes. `isHeard`: Whether the input is a sound without text. */
    view(isHeard: boolean) {
      const { hasSecond, kind, compares } = draft;
      const name = SECOND_NAMES[kind];
      const hint = kind === "target" ? `${name} – empty: what the model writes` : name;
      return html`<div class="attnw-ex-boxes">
        ${box("first", compares ? "text B, compared with A" : "text", "", isHeard)}
        ${box("second", name, hint, !hasSecond)}
      </div>`;
    },

    /**
     * Make the boxes as high as their texts, after the view is rendered. Measure only after a
     * change of text or width, because measuring forces the browser to lay out the page.
     */
    fit({ width }: Look): void {
      if (FITS_BY_STYLE) return;
      for (const { value: area } of Object.values(boxes)) {
        const now = area && `${width} ${area.value}`;
        if (!area || fitted.get(area) === now) continue;
        fit(area);
        // A page that is not attached has no heights.
        if (area.scrollHeight) fitted.set(area, now);
      }
    },
  };
}
