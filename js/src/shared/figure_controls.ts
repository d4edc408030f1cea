import { nothing } from "lit-html";
import { controlMenu, menuContent } from "./control_menu.js";
import { type Control, controlView, isOffered } from "./controls.js";
import { withReason } from "./fixed_options.js";
import type { Mounted } from "./mount.js";

/** Figure that contains other figures and lays out some of their controls. */
interface ControlHost {
  /** Return whether the host lays out the control. The figure lays out the others itself. */
  takes(figure: string, control: Control): boolean;
  /** Receive the controls of one part of a figure, now and after every change. */
  show(figure: string, part: string, controls: Control[]): void;
}

/** Event with which a figure looks for a host among its parent elements. */
const ASKED = "attnw-controls";
type HostRequest = CustomEvent<(host: ControlHost) => void>;

/** Lay out controls of the figures inside an element. */
export function hostControls(around: HTMLElement, host: ControlHost, signal: AbortSignal): void {
  const answer = (event: Event) => {
    event.stopPropagation();
    (event as HostRequest).detail(host);
  };
  around.addEventListener(ASKED, answer, { signal });
}

/** Mounted figure with controls. */
export interface WithControls extends Mounted {
  /** Pass a part of the figure's controls to its host and return the others. */
  own<C extends Control>(controls: C[], part?: string): C[];
  /** Return the controls of the bar, with the others in the menu "View". */
  bar(controls: Control[]): unknown;
  /** Return whether the menu is open. */
  isMenuOpen(): boolean;
}

/**
 * Give a mounted figure a bar and a menu, and look for a host that lays out some of its controls.
 */
export function withControls(mounted: Mounted, signal: AbortSignal): WithControls {
  const menu = controlMenu("View", mounted);
  const told = new Map<string, string>();
  let host: ControlHost | undefined;
  const detail = (answering: ControlHost) => {
    host = answering;
  };
  mounted.root.dispatchEvent(
    new CustomEvent(ASKED, { bubbles: true, composed: true, detail }) satisfies HostRequest,
  );

  function own<C extends Control>(declared: C[], part = ""): C[] {
    const controls = declared.map((control) => withReason(control, mounted.fixed()));
    if (!host) return controls;
    const taken = controls.filter((control) => host?.takes(mounted.name, control));
    // JSON leaves out functions, which follow from the values.
    const now = JSON.stringify(taken);
    if (now !== told.get(part)) host.show(mounted.name, part, taken);
    told.set(part, now);
    return controls.filter((control) => !taken.includes(control));
  }
  signal.addEventListener("abort", () => {
    for (const part of told.keys()) host?.show(mounted.name, part, []);
  });
  return {
    ...mounted,
    own,
    isMenuOpen: menu.isOpen,
    bar(controls) {
      const rest = controls.filter(({ place }) => place === "menu");
      return [
        controls.filter(({ place }) => place === "bar").map(controlView),
        rest.some(isOffered) ? menu.view(menuContent(rest, controls)) : nothing,
      ];
    },
  };
}
