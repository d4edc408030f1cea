import { controlMenu, menuContent } from "../shared/control_menu.js";
import type { Control } from "../shared/controls.js";
import { hostControls } from "../shared/figure_controls.js";
import type { Mounted } from "../shared/mount.js";
import { MAPS } from "./compared_choice.js";

/**
 * Controls that the menu leaves out. Row heads and keys step through the layers, and the explorer
 * has its own list of keys, switch of the shown head and choice of the maps of a comparison.
 */
const REPLACED = ["layer", "play", "keys", "switch", MAPS];
/** Main figures, whose controls are all moved out of their bars. */
const MAIN = ["head-grid", "view"];

/**
 * Collect the controls of the figures in the explorer: shared controls once for all figures, the
 * controls of the figures' menus, and all controls of the two main figures. Other figures keep
 * their bars.
 */
export function viewMenu(mounted: Mounted, signal: AbortSignal) {
  const lists = new Map<string, Control[]>();
  const menu = controlMenu("View", mounted);
  hostControls(
    mounted.root,
    {
      takes: (figure, { shared = false, place }) =>
        shared || place === "menu" || MAIN.includes(figure),
      show(figure, part, controls) {
        lists.set(`${figure} ${part}`, controls);
        mounted.schedule();
      },
    },
    signal,
  );

  /** Return all controls; of a control that several figures share, only the first. */
  function all(): Control[] {
    const seen = new Set<string>(REPLACED);
    return [...lists.values()].flat().filter(({ name, shared = false }) => {
      const isNew = !seen.has(name);
      if (shared) seen.add(name);
      return isNew || (!shared && !REPLACED.includes(name));
    });
  }

  return {
    /** Return a control of the figures by name. */
    control: (name: string) => all().find((control) => control.name === name),
    /** Return the menu of all controls except `without`. */
    view(without: string): unknown {
      const controls = all().filter(({ name }) => name !== without);
      // Shared controls come first.
      const ordered = [true, false].flatMap((shared) =>
        controls.filter((control) => (control.shared ?? false) === shared),
      );
      return menu.view(menuContent(ordered));
    },
  };
}
