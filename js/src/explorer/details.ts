import { html, nothing } from "lit-html";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import { type ExplorerState, PANELS, type Panel, TITLES } from "./explorer_types.js";

/** Return the figures below the row "more", of which at most one is open. */
export function detailsBelow(model: Model<ExplorerState>, invalidate: () => void) {
  /** Available details, and the open one. */
  let there: Panel[] = [];
  let shown: Panel | undefined;
  /** Detail that was open last. */
  let last: Panel | undefined;

  function open(name: Panel | null): void {
    save(model, { tab: name });
    invalidate();
  }

  /** Open the detail that was open last, or close the details. */
  function turn(): void {
    if (shown) open(null);
    else open(last && there.includes(last) ? last : (there[0] ?? null));
  }

  return {
    /** Follow a change of the model. */
    update(details: Panel[]): void {
      there = details;
      const tab = model.get("tab");
      if (tab) last = tab;
      shown = tab ? (details.includes(tab) ? tab : details[0]) : undefined;
    },
    has: (panel: Panel) => there.includes(panel),
    isOpen: (panel: Panel) => shown === panel,

    /** Return the buttons that open a detail. */
    buttons() {
      const mayName = "card" in model.get("_offers") && model.get("card") === null;
      return html`<button type="button" class="attnw-ex-quiet" aria-expanded=${shown !== undefined}
          ?hidden=${!there.length} @click=${turn}>${`more ${shown ? "▾" : "▸"}`}</button>
        <button type="button" class="attnw-ex-quiet attnw-ex-name"
          ?hidden=${!mayName || shown === "card"}
          @click=${() => open("card")}>name the heads …</button>`;
    },

    /**
     * Return the tabs above `panels`, which contains the panels of all details. `idOf`: Id of a
     * panel's element.
     */
    view(panels: unknown, idOf: (panel: Panel) => string) {
      const note = (shown && model.get("_notes")[shown]) ?? "";
      return html`<div class="attnw-ex-details" ?hidden=${!shown}>
        ${tabList({ name: "details", panels: there, open: shown, note, idOf, pick: open })}
        ${panels}
      </div>`;
    },
  };
}

/** Return a list of tabs with a note about the open tab. It is hidden if there are no tabs. */
function tabList(of: {
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
  // Every panel keeps its position in the template, so that a tab keeps its element and the focus.
  return html`<div class="attnw-ex-tabs" ?hidden=${!panels.length}>
    <div role="tablist" aria-label=${name} class="attnw-ex-tablist" @keydown=${key}>
      ${PANELS.map((panel) => (panels.includes(panel) ? tab(panel) : nothing))}
    </div>
    <span class="attnw-ex-note">${note}</span>
  </div>`;
}
