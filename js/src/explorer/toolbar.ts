import type { GridState } from "../head_grid/state.js";
import { strongestHead } from "../head_grid/word_answers.js";
import { controlView } from "../shared/controls.js";
import { keyList } from "../shared/key_list.js";
import type { Mounted } from "../shared/mount.js";
import { type Layers, shownHead, stepTo } from "../shared/selection.js";
import type { Head, Model } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";
import { viewMenu } from "./view_menu.js";

const OFF = "x";
const NEEDS = "n";
const FACTOR_KEYS = "0, 1, 4";
const KEYS = [
  ["Arrow keys in the text", "move between words; pointing at a word shows where it looks"],
  ["Enter, click on a word", "keep the word; a second word makes a pair"],
  ["[ and ], click on a layer", "step through the layers; with a kept word, to its strongest head"],
  [
    FACTOR_KEYS,
    "cut the link of the kept pair, leave it as it is, 4 times its weight; moves with the head",
  ],
  ["m", "lines or matrix"],
  ["Arrow keys in all heads, Enter", "move between heads, select one; also below the answers"],
  ["Shift + Enter, Shift + click", "add or remove a head or a word"],
  [OFF, "switch the head off, or on again"],
  [NEEDS, "the words that the answer needs, at the words"],
  ["s", "open the menu save; Enter takes its first format"],
  ["Escape", "take back: the cut link, the pair, the word, the head that is off"],
  ["Arrow keys in the tabs", "the next / previous detail"],
  ["? in a figure", "its own keys"],
] as const;
/** Name of the view's control next to the shown head: lines or matrix. */
const WAY = "mode";

/** Return the shared controls: how the shown head is drawn, and a menu of the other options. */
export function toolbar(
  model: Model<ExplorerState>,
  mounted: Mounted,
  signal: AbortSignal,
  grid: () => GridState | undefined,
) {
  const { fixed } = model.get("_source");
  const keys = keyList(
    fixed ? KEYS.filter(([key]) => ![OFF, NEEDS, FACTOR_KEYS].includes(key)) : KEYS,
    mounted,
    signal,
  );
  const figures = viewMenu(mounted, signal);

  function layers(): Layers | undefined {
    const shown = shownHead(model)?.[2];
    const stacks = model.get("_stacks");
    return stacks.find(({ name }) => name === shown) ?? stacks[0];
  }

  function strongestIn(layer: number): Head | undefined {
    const now = grid();
    const stack = shownHead(model)?.[2];
    return now && now.stack === stack ? strongestHead(now, layer) : undefined;
  }

  return {
    ways() {
      const way = figures.control(WAY);
      return way && controlView(way);
    },
    /** Return the menu of less frequent options. */
    menu: () => figures.view(WAY),
    keysButton: keys.button,
    keysList: keys.list,
    /** Switch between lines and matrix. */
    turnWay(): void {
      const way = figures.control(WAY);
      if (way?.kind !== "choice") return;
      const next = way.values.find((value) => value !== way.value);
      if (next !== undefined) way.change(next);
    },
    toggleKeys: keys.toggle,
    /** Open the menu "save"; returns false on pages without a kernel, which cannot save. */
    save(): boolean {
      const button = mounted.save.querySelector("button");
      button?.click();
      return button !== null;
    },
    /** Step through the layers; with a locked word, to the strongest head for it. */
    step: (by: number) => stepTo(model, model.get("layer") + by, layers(), strongestIn),
  };
}

/** Return whether a key is a shortcut of the browser. AltGr is reported as Ctrl + Alt. */
const isShortcut = ({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean =>
  metaKey || (ctrlKey && !altKey);

/** Return whether an element handles keys itself. */
const takesKeys = (target: EventTarget | null): boolean =>
  target instanceof HTMLTextAreaElement ||
  target instanceof HTMLSelectElement ||
  (target instanceof HTMLInputElement && target.type !== "checkbox");

/**
 * Step through the layers with brackets anywhere in the explorer: figures inside do not know the
 * answers of all heads.
 */
export function onBrackets(
  root: HTMLElement,
  step: (by: number) => void,
  signal: AbortSignal,
): void {
  const press = (event: KeyboardEvent) => {
    const by = { "[": -1, "]": 1 }[event.key];
    if (by === undefined || isShortcut(event) || takesKeys(event.target)) return;
    step(by);
    event.preventDefault();
    event.stopPropagation();
  };
  root.addEventListener("keydown", press, { signal, capture: true });
}

/** Return the key handler of the explorer, which returns whether it handled the key. */
export const explorerKeys =
  (
    bar: ReturnType<typeof toolbar>,
    switchHead: () => void,
    turnNeeds: () => boolean,
    changeLink: (key: string) => boolean,
  ) =>
  (event: KeyboardEvent): boolean => {
    const { target, key } = event;
    if (isShortcut(event) || takesKeys(target)) return false;
    if (key === "?") bar.toggleKeys();
    else if (key === "m") bar.turnWay();
    else if (key === "x") switchHead();
    else if (key === NEEDS) return turnNeeds();
    else if (key === "s") return bar.save();
    else return changeLink(key);
    return true;
  };
