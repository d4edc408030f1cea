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

/** What keys do beside moving and locking. */
interface Commands {
  /** Show or hide the list of keys. */
  toggleKeys(): void;
  /** Step through the layers. */
  step(by: number): void;
  /** Change between lines and matrix. */
  turn(): void;
  /** Go to the field that finds a token; returns whether there is one. */
  find(): boolean;
  /** Let go of what a hand moves; returns whether there was anything. */
  cancel(): boolean;
  /** Play the sound of the chosen token; returns whether there is one. */
  play(): boolean;
  /** The cursor has moved. */
  moved(): void;
}

/** A select moves to the option that starts with the letter, and a search takes all letters. */
const takesLetters = (target: EventTarget | null) =>
  target instanceof HTMLSelectElement ||
  (target instanceof HTMLInputElement && target.type === "search");

/** The keys of a view; the function returns whether a key was one of them. */
export function viewKeyboard(view: ShownView, locks: ViewLocks, commands: Commands) {
  const { model } = view;

  /** The keys that change how heads are drawn, wherever the focus is in the figure. */
  function changed(key: string): boolean {
    if (key === "m") commands.turn();
    else if (key === "s") save(model, { arrangement: nextArrangement(model.get("arrangement")) });
    else if (key === "x" && model.get("mode") === "places") locks.turn();
    else if (key === "a" && model.get("arrangement") !== "one")
      save(model, { of: model.get("of") === "layer" ? "selected" : "layer" });
    else if (key === "p") return commands.play();
    else return key === "f" && commands.find();
    return true;
  }

  /** The keys that move the cursor, and what is in sight. */
  function movedBy(event: KeyboardEvent, scene: Scene): boolean {
    const plot = view.plotOf(view.figure);
    const part = plot && partByKey(event, plot, view.cursor());
    view.byKeyboard = true;
    if (part) {
      view.show(part);
      return true;
    }
    // A token may have been locked since the last drawing.
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

  /** Where a key moves the cursor; of blocks from block to block. */
  function targetOf(key: string, scene: Scene): Target | undefined {
    const { map, part, state } = scene;
    const at = view.known(scene, view.active);
    const { rows, cols } = sizeOf(map);
    const isMatrix = state.mode === "matrix";
    const step = isMatrix ? (sourceOf(map).cells(part).at(-1)?.step ?? 1) : 1;
    // The first key shows the cursor where it is.
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
