import { html } from "lit-html";
import type { ViewState } from "./state.js";

const MODES = ["lines", "matrix"] as const;
const NAMES = "The second name counts layers and heads from 1, as papers do.";

/** Title, mode, zoom and the button of the keys. */
export function viewHead(of: {
  title: string;
  note: string;
  mode: ViewState["mode"];
  setMode(mode: ViewState["mode"]): void;
  /** Whether what is drawn can be zoomed, and whether it is. */
  zooms: boolean;
  zoomed: boolean;
  step(by: 1 | -1): void;
  showAll(): void;
  keysButton: unknown;
  hidden: boolean;
}) {
  const { title, note, mode, setMode, zooms, zoomed, step, showAll, keysButton, hidden } = of;
  const modeButton = (each: ViewState["mode"]) =>
    html`<button type="button" data-mode=${each} aria-pressed=${each === mode}
      @click=${() => setMode(each)}>${each}</button>`;
  const zoomButton = (text: string, name: string, press: () => void, disabled = false) =>
    html`<button type="button" title=${name} aria-label=${name} ?disabled=${disabled}
      @click=${press}>${text}</button>`;
  return html`<div class="attnw-view-head" ?hidden=${hidden}>
    <div class="attnw-title" title=${NAMES}>${title}</div>
    <div class="attnw-view-note">${note}</div>
    <div class="attnw-modes" role="group" aria-label="mode">${MODES.map(modeButton)}</div>
    <div class="attnw-modes" role="group" aria-label="zoom" ?hidden=${!zooms}
      >${zoomButton("+", "zoom in", () => step(1))}${zoomButton(
        "−",
        "zoom out",
        () => step(-1),
        !zoomed,
      )}${zoomButton("all", "zoom out to all", showAll, !zoomed)}</div>
    ${keysButton}
  </div>`;
}
