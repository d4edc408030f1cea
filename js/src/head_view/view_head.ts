import { html } from "lit-html";

const NAMES = "The second name counts layers and heads from 1, as papers do.";

/** Title, mode, zoom and the button of the keys. */
export function viewHead(of: {
  title: string;
  note: string;
  /** The choice between lines and matrix. */
  modes: unknown;
  /** Whether what is drawn can be zoomed, and whether it is. */
  zooms: boolean;
  zoomed: boolean;
  step(by: 1 | -1): void;
  showAll(): void;
  keysButton: unknown;
  hidden: boolean;
}) {
  const { title, note, modes, zooms, zoomed, step, showAll, keysButton, hidden } = of;
  const zoomButton = (text: string, name: string, press: () => void, disabled = false) =>
    html`<button type="button" title=${name} aria-label=${name} ?disabled=${disabled}
      @click=${press}>${text}</button>`;
  return html`<div class="attnw-view-head" ?hidden=${hidden}>
    <div class="attnw-title" title=${NAMES}>${title}</div>
    <div class="attnw-view-note">${note}</div>
    ${modes}
    <div class="attnw-choice" role="group" aria-label="zoom" ?hidden=${!zooms}
      >${zoomButton("+", "zoom in", () => step(1))}${zoomButton(
        "−",
        "zoom out",
        () => step(-1),
        !zoomed,
      )}${zoomButton("all", "zoom out to all", showAll, !zoomed)}</div>
    ${keysButton}
  </div>`;
}
