import { html, nothing } from "lit-html";
import { PANELS, type Panel, TITLES } from "./explorer_types.js";

/** A list of tabs, with a note about the open tab; hidden where there is no tab. */
export function tabList(of: {
  name: string;
  panels: Panel[];
  open: Panel | undefined;
  note: string;
  idOf(panel: Panel): string;
  pick(panel: Panel): void;
}) {
  const { name, panels, open, note, idOf, pick } = of;

  function key(event: KeyboardEvent): void {
    const at = panels.indexOf(open as Panel);
    const last = panels.length - 1;
    const to = {
      ArrowRight: at < last ? at + 1 : 0,
      ArrowLeft: at > 0 ? at - 1 : last,
      Home: 0,
      End: last,
    }[event.key];
    const panel = to === undefined ? undefined : panels[to];
    if (!panel) return;
    event.preventDefault();
    event.stopPropagation();
    pick(panel);
    const list = event.currentTarget as HTMLElement;
    list.querySelector<HTMLElement>(`[data-tab="${panel}"]`)?.focus();
  }

  const tab = (panel: Panel) =>
    html`<button type="button" role="tab" class="attnw-ex-tab" data-tab=${panel}
      aria-controls=${idOf(panel)} aria-selected=${panel === open}
      tabindex=${panel === open ? 0 : -1} @click=${() => pick(panel)}>${TITLES[panel]}</button>`;
  // Every panel keeps its place, and therefore a tab keeps its element and the focus.
  return html`<div class="attnw-ex-tabs" ?hidden=${!panels.length}>
    <div role="tablist" aria-label=${name} class="attnw-ex-tablist" @keydown=${key}>
      ${PANELS.map((panel) => (panels.includes(panel) ? tab(panel) : nothing))}
    </div>
    <span class="attnw-ex-note">${note}</span>
  </div>`;
}
