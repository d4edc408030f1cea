import { commonKey } from "../shared/key_list.js";
import { save } from "../shared/snapshot.js";
import { isWhole } from "../shared/window.js";
import { partByKey } from "./gestures.js";
import type { Scene } from "./scene.js";
import { nextArrangement } from "./several/several.js";
import type { ShownView } from "./shown_view.js";
import { sourceOf } from "./source/source_of.js";
import { isEmpty, type Target } from "./source/target.js";
import { sizeOf } from "./source/window_of.js";
import { moved } from "./view_cursor.js";
import type { ViewLocks } from "./view_locks.js";

/** Commands of keys other than moving and locking. */
interface Commands {
  /** Show or hide the list of keys. */
  toggleKeys(): void;
  /** Step through the layers. */
  step(by: number): void;
  /** Switch to the next mode. */
  turn(): void;
  /** Focus the search form; returns whether there is one. */
  find(): boolean;
  /** Cancel a drag; returns whether there was one. */
  cancel(): boolean;
  /** Play the sound of the selected token; returns whether there is one. */
  play(): boolean;
  /** Handle a movement of the cursor. */
  moved(): void;
}

/**
 * Return whether an element handles letters itself: a select jumps to an option, and a search field
 * takes text.
 */
const takesLetters = (target: EventTarget | null) =>
  target instanceof HTMLSelectElement ||
  (target instanceof HTMLInputElement && target.type === "search");

/** Return the key handler of a view, which returns whether it handled the key. */
export function viewKeyboard(view: ShownView, locks: ViewLocks, commands: Commands) {
  const { model } = view;

  /** Handle the keys that change how heads are drawn, wherever the focus is in the figure. */
  function changed(key: string): boolean {
    if (key === "m") commands.turn();
    else if (key === "s") save(model, { arrangement: nextArrangement(model.get("arrangement")) });
    else if (key === "x" && model.get("mode") === "places") locks.turn();
    else if (key === "a" && model.get("arrangement") !== "one")
      save(model, { shown_heads: model.get("shown_heads") === "layer" ? "selected" : "layer" });
    else if (key === "p") return commands.play();
    else return key === "f" && commands.find();
    return true;
  }

  /** Handle the keys that move the cursor or the visible part. */
  function movedBy(event: KeyboardEvent, scene: Scene): boolean {
    const plot = view.plotOf(view.figure);
    const part = plot && partByKey(event, plot, view.cursor());
    view.byKeyboard = true;
    if (part) {
      view.show(part);
      return true;
    }
    // Use the current locks, because a token may have been locked since the last drawing.
    const now = { ...scene, state: { ...scene.state, tokens: model.get("tokens") } };
    const target = view.figure.neighbor
      ? view.figure.neighbor(now, view.active, event.key)
      : targetOf(event.key, scene);
    if (!target) return false;
    view.active = target;
    locks.reveal(target);
    commands.moved();
    return true;
  }

  /** Return the target after moving the cursor by a key, block by block if the map is in blocks. */
  function targetOf(key: string, scene: Scene): Target | undefined {
    const { map, part, state } = scene;
    const at = view.known(scene, view.active);
    const { rows, cols } = sizeOf(map);
    const isMatrix = state.mode === "matrix";
    const step = isMatrix ? (sourceOf(map).cells(part).at(-1)?.step ?? 1) : 1;
    // The first key press only shows the cursor.
    if (isEmpty(at) && !isWhole(sizeOf(map), part) && isMatrix && key.startsWith("Arrow")) {
      const first = { query: Math.floor(part[0] / step), key: Math.floor(part[2] / step) };
      return { query: first.query * step, key: first.key * step, step };
    }
    const blocks = (index: number | undefined) => index && Math.floor(index / step);
    const from = { query: blocks(at.query), key: blocks(at.key) };
    const to = moved(key, from, state.mode, Math.ceil(rows / step), Math.ceil(cols / step));
    if (!to || step === 1) return to;
    return { query: (to.query ?? 0) * step, key: (to.key ?? 0) * step, step };
  }

  return (event: KeyboardEvent): boolean => {
    const { key, target, shiftKey } = event;
    if (key === "Escape") return commands.cancel() || locks.unlock();
    if (takesLetters(target)) return false;
    if (commonKey(event, commands.toggleKeys, commands.step)) return true;
    if (event.metaKey || event.ctrlKey || event.altKey) return false;
    if (changed(key)) return true;
    const { scene, figure } = view;
    if (target !== figure.element || !scene) return false;
    if (key !== "Enter" && key !== " ") return movedBy(event, scene);
    locks.lock(view.known(scene, view.active), shiftKey);
    return true;
  };
}
