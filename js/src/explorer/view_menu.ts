import { controlMenu, menuContent } from "../shared/control_menu.js";
import type { Control } from "../shared/controls.js";
import { hostControls } from "../shared/figure_controls.js";
import type { Mounted } from "../shared/mount.js";
import { MAPS } from "./compared_choice.js";

/**
 * The explorer has one of these for all figures: the stepper of layers, the list of keys, the
 * button that switches the shown head, and the choice between the maps of a comparison.
 */
const REPLACED = ["layer", "play", "keys", "switch", MAPS];
/** The figures of the first question: all their controls leave their bars. */
const MAIN = ["head-grid", "view"];

/**
 * The controls of the figures in the explorer: the controls that figures share, once for all
 * figures, the controls of the figures' menus, and all controls of the two main figures. Another
 * figure keeps its bar.
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

  /** All controls; of a control that several figures share the first one. */
  function all(): Control[] {
    const seen = new Set<string>(REPLACED);
    return [...lists.values()].flat().filter(({ name, shared = false }) => {
      const isNew = !seen.has(name);
      if (shared) seen.add(name);
      return isNew || (!shared && !REPLACED.includes(name));
    });
  }

  return {
    /** A control of the figures, by its name. */
    control: (name: string) => all().find((control) => control.name === name),
    /** The menu of all controls but one; `first` stands above them. */
    view(first: unknown, without: string): unknown {
      const controls = all().filter(({ name }) => name !== without);
      // What figures share comes first.
      const ordered = [true, false].flatMap((shared) =>
        controls.filter((control) => (control.shared ?? false) === shared),
      );
      return menu.view([first, menuContent(ordered)]);
    },
  };
}
