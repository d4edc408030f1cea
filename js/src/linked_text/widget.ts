import { html } from "lit-html";
import { captionText } from "../shared/caption.js";
import { mount } from "../shared/mount.js";
import { captioned } from "../shared/save_menu.js";
import { save as change, snapshot } from "../shared/snapshot.js";
import type { RenderContext, Side } from "../shared/types.js";
import {
  captionOf,
  isShown,
  type Target,
  type TextState,
  targetsOf,
  targetWords,
  WATCHED,
} from "./scene.js";

function render(context: RenderContext<TextState>): void {
  const { model } = context;
  const { save } = mount(context, "text", WATCHED, { view });

  /** Select what the link names; the rest of the selection stays. */
  function follow({ head, tokens }: Target): void {
    const selection = head ? { selected: [head], layer: head[0] } : {};
    const locked = tokens.map(([side, index]): [Side, number] => [side, index]);
    change(model, locked.length ? { ...selection, tokens: locked } : selection);
  }

  function view(): unknown {
    const state = snapshot(model, WATCHED);
    const targets = targetsOf(state);
    const piece = ([text, link]: [string, number | null]) => {
      const target = link === null ? undefined : targets[link];
      if (!target) return text;
      return html`<button type="button" title=${targetWords(state, target)}
        aria-pressed=${isShown(state, target) ? "true" : "false"}
        @click=${() => follow(target)}>${text}</button>`;
    };
    return html`<div class="attnw-text-body">${state._paragraphs.map(
      (paragraph) => html`<p>${paragraph.map(piece)}</p>`,
    )}</div>
      ${captioned(
        save,
        html`<p class="attnw-below" data-caption>${captionText(captionOf(state))}</p>`,
      )}`;
  }
}

export default () => ({ render });
