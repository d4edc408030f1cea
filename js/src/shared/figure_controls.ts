import { nothing } from "lit-html";
import { controlMenu, menuContent } from "./control_menu.js";
import { type Control, controlView, isOffered } from "./controls.js";
import { withReason } from "./fixed_options.js";
import type { Mounted } from "./mount.js";

/** A figure of figures, which lays out some of their controls. */
interface ControlHost {
  /** Whether the host lays the control out. A figure lays out the other controls itself. */
  takes(figure: string, control: Control): boolean;
  /** Receives the taken controls of a part of a figure, again after every change. */
  show(figure: string, part: string, controls: Control[]): void;
}

/** The event with which a figure asks the elements around it for a host. */
const ASKED = "attnw-controls";
type HostRequest = CustomEvent<(host: ControlHost) => void>;

/** Lay out controls of the figures within an element. */
export function hostControls(around: HTMLElement, host: ControlHost, signal: AbortSignal): void {
  const answer = (event: Event) => {
    event.stopPropagation();
    (event as HostRequest).detail(host);
  };
  around.addEventListener(ASKED, answer, { signal });
}

/** A mounted figure with controls. */
export interface WithControls extends Mounted {
  /** Hand a part of the figure's controls to its host; returns the controls that are left. */
  own<C extends Control>(controls: C[], part?: string): C[];
  /** The controls of the bar, and the menu "View" with the others. */
  bar(controls: Control[]): unknown;
  /** Whether the menu is open. */
  isMenuOpen(): boolean;
}

/** Give a mounted figure a bar and a menu, and ask for a host that lays out some controls. */
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
    // Functions are left out: what they do follows from the values.
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
