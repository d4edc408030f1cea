import { type Control, controlView } from "../shared/controls.js";
import { hostControls } from "../shared/figure_controls.js";
import type { Mounted } from "../shared/mount.js";
import { popupMenu } from "../shared/popup_menu.js";

/** The explorer has one of these for all figures: the stepper of layers, and the list of keys. */
const REPLACED = ["layer", "play", "keys"];
/** Controls that leave the bar of their figure, because the screen has one row for all figures. */
const MOVED: Record<string, string[]> = {
  "head-grid": ["stack", "maps", "metric"],
  view: ["mode", "from → to", "heads", "all heads of the layer"],
};

/**
 * The controls of the figures in the explorer: the controls that figures share, once for all
 * figures, the controls of the figures' menus, and the controls that leave the bars. A figure keeps
 * its other controls.
 */
export function viewMenu(mounted: Mounted, signal: AbortSignal) {
  const lists = new Map<string, Control[]>();
  const menu = popupMenu("View", mounted, signal);
  hostControls(
    mounted.root,
    {
      takes: (figure, { name, shared = false, place }) =>
        shared || place === "menu" || (MOVED[figure]?.includes(name) ?? false),
      show(figure, part, controls) {
        lists.set(`${figure} ${part}`, controls);
        mounted.schedule();
      },
    },
    signal,
  );

  /** All controls; of a control that several figures share the first one. */
  function all(): Control[] {
    const seen = new Set<string>(REPLACED);
    return [...lists.values()].flat().filter(({ name, shared = false }) => {
      const isNew = !seen.has(name);
      if (shared) seen.add(name);
      return isNew || !shared;
    });
  }

  return {
    /** The view of some controls, by name, and the menu with all others. */
    view(names: string[]): { row: unknown[]; menu: unknown } {
      const controls = all();
      const isInRow = ({ name }: Control) => names.includes(name);
      const row = names.flatMap((name) => controls.filter((control) => control.name === name));
      const rest = controls.filter((control) => !isInRow(control));
      // What figures share comes first.
      const ordered = [true, false].flatMap((shared) =>
        rest.filter((control) => (control.shared ?? false) === shared),
      );
      return { row: row.map(controlView), menu: menu.view(ordered.map(controlView)) };
    },
  };
}
