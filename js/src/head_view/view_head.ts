import { keysButton } from "../shared/controls.js";
import { element } from "../shared/dom.js";
import type { ViewState } from "./state.js";

/** Title, mode, zoom and keys; returns how to bring them up to date. */
export function viewHead(
  parent: HTMLElement,
  signal: AbortSignal,
  setMode: (mode: ViewState["mode"]) => void,
  zoom: { step: (by: 1 | -1) => void; whole: () => void },
) {
  const head = element(parent, "div", { class: "attnw-view-head" });
  const title = element(head, "div", { class: "attnw-title" });
  const group = element(head, "div", { class: "attnw-view-note" });
  const toggle = element(head, "div", {
    class: "attnw-modes",
    role: "group",
    "aria-label": "mode",
  });
  const modes = (["lines", "matrix"] as const).map((mode) => {
    const button = element(toggle, "button", { type: "button", "data-mode": mode }, mode);
    button.addEventListener("click", () => setMode(mode), { signal });
    return { mode, button };
  });
  const zooms = element(head, "div", { class: "attnw-modes", role: "group", "aria-label": "zoom" });
  const zoomButton = (text: string, name: string, act: () => void) => {
    const button = element(
      zooms,
      "button",
      { type: "button", title: name, "aria-label": name },
      text,
    );
    button.addEventListener("click", act, { signal });
    return button;
  };
  zoomButton("+", "zoom in", () => zoom.step(1));
  const farther = zoomButton("−", "zoom out", () => zoom.step(-1));
  const all = zoomButton("all", "zoom out to all", zoom.whole);
  const keys = keysButton(head, "attnw-help");

  return {
    keys,
    hide(hidden: boolean): void {
      head.hidden = hidden;
    },
    name(text: string, note: string): void {
      title.textContent = text;
      group.textContent = note;
    },
    /** `zooms`: whether what is drawn can be zoomed; `zoomed`: whether it is. */
    update(mode: ViewState["mode"], can: { zoom: boolean; zoomed: boolean }): void {
      for (const { mode: value, button } of modes)
        button.setAttribute("aria-pressed", String(value === mode));
      zooms.hidden = !can.zoom;
      for (const button of [farther, all]) button.disabled = !can.zoomed;
    },
  };
}
