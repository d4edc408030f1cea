import { html } from "lit-html";
import { type Action, actionView } from "./controls.js";
import type { WithControls } from "./figure_controls.js";
import type { Mounted } from "./mount.js";

export type Keys = readonly (readonly [key: string, meaning: string])[];

/**
 * Return a list of keys and the button that shows it. Escape hides the list before a figure handles
 * the key.
 */
export function keyList(
  keys: Keys,
  { root, schedule, own }: Pick<Mounted, "root" | "schedule"> & Partial<Pick<WithControls, "own">>,
  signal: AbortSignal,
) {
  let open = false;
  const toggle = () => {
    open = !open;
    schedule();
  };
  const close = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || !open) return;
    toggle();
    event.preventDefault();
    event.stopPropagation();
  };
  // Listen in the capture phase, before a figure uses Escape to undo or to unlock.
  root.addEventListener("keydown", close, { signal, capture: true });
  const control = (): Action => ({
    kind: "action",
    name: "keys",
    place: "bar",
    shared: true,
    label: "show the keys",
    hint: "keys",
    sign: "?",
    expanded: open,
    change: toggle,
  });
  return {
    toggle,
    /** Return the button, unless an outer figure has a list of keys for both. */
    button: () => (own?.([control()], "keys") ?? [control()]).map(actionView),
    list: () =>
      html`<dl class="attnw-keys" ?hidden=${!open}>
        ${keys.map(([key, meaning]) => html`<div><dt>${key}</dt><dd>${meaning}</dd></div>`)}
      </dl>`,
  };
}

/** Handle the keys common to all figures of heads; return whether the key was one of them. */
export function commonKey(
  event: KeyboardEvent,
  toggleKeys: () => void,
  stepBy: (layers: number) => void,
): boolean {
  // Typing a bracket may need Alt or AltGr (reported as Ctrl + Alt). With only Ctrl or Cmd, it is a
  // shortcut of the browser.
  if (event.metaKey || (event.ctrlKey && !event.altKey)) return false;
  if (event.key === "?") toggleKeys();
  else if (event.key === "[") stepBy(-1);
  else if (event.key === "]") stepBy(1);
  else return false;
  return true;
}

/** Return whether a key or click adds to the selection. */
export const adds = (event: MouseEvent | KeyboardEvent): boolean =>
  event.shiftKey || event.ctrlKey || event.metaKey;
