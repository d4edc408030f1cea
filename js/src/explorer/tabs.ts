import { element } from "../shared/dom.js";
import { type Panel, TITLES } from "./explorer_types.js";

/** A list of tabs with a description of the open tab; returns a function that sets the tabs. */
export function tabList(
  parent: HTMLElement,
  name: string,
  signal: AbortSignal,
  idOf: (panel: Panel) => string,
  pick: (panel: Panel) => void,
) {
  const row = element(parent, "div", { class: "attnw-ex-tabs", hidden: true });
  const list = element(row, "div", {
    role: "tablist",
    "aria-label": name,
    class: "attnw-ex-tablist",
  });
  const note = element(row, "span", { class: "attnw-ex-note" });
  let shown: Panel[] = [];
  let chosen: Panel | undefined;

  const buttons = () => [...list.querySelectorAll<HTMLElement>("[role=tab]")];

  list.addEventListener(
    "keydown",
    (event) => {
      const at = shown.indexOf(chosen as Panel);
      const last = shown.length - 1;
      const to = {
        ArrowRight: at < last ? at + 1 : 0,
        ArrowLeft: at > 0 ? at - 1 : last,
        Home: 0,
        End: last,
      }[event.key];
      const panel = to === undefined ? undefined : shown[to];
      if (to === undefined || !panel) return;
      event.preventDefault();
      event.stopPropagation();
      pick(panel);
      buttons()[to]?.focus();
    },
    { signal },
  );

  return (panels: Panel[], open: Panel | undefined, said: string): void => {
    note.textContent = said;
    row.hidden = panels.length === 0;
    if (panels.join() !== shown.join()) {
      shown = panels;
      list.replaceChildren();
      for (const panel of panels) {
        const look = {
          type: "button",
          role: "tab",
          class: "attnw-ex-tab",
          "data-tab": panel,
          "aria-controls": idOf(panel),
        };
        const button = element(list, "button", look, TITLES[panel]);
        button.addEventListener("click", () => pick(panel), { signal });
      }
    }
    chosen = open;
    for (const button of buttons()) {
      const isOpen = button.dataset.tab === open;
      button.setAttribute("aria-selected", String(isOpen));
      button.tabIndex = isOpen ? 0 : -1;
    }
  };
}
