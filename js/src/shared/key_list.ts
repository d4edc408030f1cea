import { element } from "./dom.js";

type Keys = readonly (readonly [key: string, meaning: string])[];

/**
 * The list of keys, with the button that shows it; Escape hides it first. Returns a function that
 * shows and hides the list.
 */
export function keyHelp(
  parent: HTMLElement,
  keys: Keys,
  button: HTMLElement,
  signal: AbortSignal,
): () => void {
  const list = element(parent, "dl", { class: "attnw-keys", hidden: true });
  for (const [key, meaning] of keys) {
    const line = element(list, "div");
    element(line, "dt", {}, key);
    element(line, "dd", {}, meaning);
  }
  const toggle = () => {
    list.hidden = !list.hidden;
    button.setAttribute("aria-expanded", String(!list.hidden));
  };
  button.addEventListener("click", toggle, { signal });
  // On its way down, before a figure takes the key to undo or to let go of something.
  const close = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || list.hidden) return;
    toggle();
    event.preventDefault();
    event.stopPropagation();
  };
  parent
    .closest<HTMLElement>(".attnw-root")
    ?.addEventListener("keydown", close, { signal, capture: true });
  return toggle;
}

/** Handle the keys of every figure of heads; returns whether the key was one of them. */
export function commonKey(
  event: KeyboardEvent,
  toggleKeys: () => void,
  stepBy: (layers: number) => void,
): boolean {
  // Brackets may need Alt or AltGr (reported as Ctrl + Alt); with Ctrl or Cmd alone they are the
  // browser's.
  if (event.metaKey || (event.ctrlKey && !event.altKey)) return false;
  if (event.key === "?") toggleKeys();
  else if (event.key === "[") stepBy(-1);
  else if (event.key === "]") stepBy(1);
  else return false;
  return true;
}

/** Whether a key or click adds to the selection. */
export const adds = (event: MouseEvent | KeyboardEvent): boolean =>
  event.shiftKey || event.ctrlKey || event.metaKey;
