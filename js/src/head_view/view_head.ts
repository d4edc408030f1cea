import { html } from "lit-html";
import { controlView } from "../shared/controls.js";
import type { WithControls } from "../shared/figure_controls.js";
import { save } from "../shared/snapshot.js";
import { wholeOf } from "../shared/window.js";
import { stepped } from "./gestures.js";
import type { ShownView } from "./shown_view.js";
import { sizeOf } from "./source/window_of.js";
import type { ViewState } from "./state.js";
import { modeControl } from "./view_controls.js";
import type { ViewWords } from "./view_words.js";

const NAMES = "The second name counts layers and heads from 1, as papers do.";

/** Return the title, mode, zoom and keys button. */
function viewHead(of: {
  title: string;
  note: string;
  /** Choice between lines, matrix and places. */
  modes: unknown;
  /** Whether the drawing can be zoomed, and whether it is zoomed. */
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
    <div class="attnw-figure-title attnw-title" title=${NAMES}>${title}</div>
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

/** Switch between lines, matrix and places; the focus moves to the new figure. */
export function setMode(view: ShownView, mode: ViewState["mode"]): void {
  const { element } = view.figure;
  const hadFocus = element.contains(element.ownerDocument.activeElement);
  view.active = {};
  view.part = undefined;
  save(view.model, { mode });
  if (!hadFocus) return;
  const next = view.kind(mode);
  view.showFigure(next);
  view.figures[next].element.focus();
}

/** Return the title with the mode and the zoom of a view. */
export function headOf(
  view: ShownView,
  { heading, zoom }: ViewWords,
  { own }: WithControls,
  keysButton: unknown,
) {
  const mode = modeControl(view.model, (to) => setMode(view, to));
  return viewHead({
    title: heading?.title ?? "",
    note: heading?.note ?? "",
    ...zoom,
    hidden: !heading,
    modes: own([mode], "mode").map(controlView),
    step: (by) => {
      const plot = view.plotOf(view.figure);
      if (plot) view.show(stepped(plot, by, view.cursor()));
    },
    showAll: () => view.map && view.show(wholeOf(sizeOf(view.map))),
    keysButton,
  });
}
