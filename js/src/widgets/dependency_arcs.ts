import { arcsControls } from "../draw/arcs_controls.js";
import {
  decodeReading,
  decodeTree,
  hasRelation,
  type Predicted,
  type Reading,
  type Tree,
} from "../draw/arcs_data.js";
import { type ArcsScene, arcsFigure, drawnArcs } from "../draw/arcs_figure.js";
import { arcsTable } from "../draw/arcs_table.js";
import {
  ARC_KEYS,
  captionText,
  figureNames,
  otherDirection,
  titleText,
  wordTexts,
} from "../draw/arcs_text.js";
import { keyList } from "../draw/key_list.js";
import { element } from "../model/dom.js";
import { perFrame } from "../model/frame.js";
import { ALL, type ArcsState, DIRECTIONS, type DrawnSentence } from "../model/relation_types.js";
import { releasing } from "../model/release.js";
import { shownHead, stepTo } from "../model/selection.js";
import { watchTheme } from "../model/theme.js";
import { headName, type RenderContext } from "../model/types.js";

const WATCHED = [
  ...["selected", "layer", "relation", "direction", "sentence", "threshold"],
  ...["_drawn", "_measured", "_source", "_jumped", "_error"],
];
const NO_SELECTION =
  "Select a head: click one in a linked figure, or set arcs.selected = [(layer, head)].";
const HINT = "Point at a word for its attention, click to hold it.";

function render({ model, el, signal }: RenderContext<ArcsState>): void {
  const root = element(el, "div", {
    class: "attnw-root attnw-arcs-root",
    "data-lm-suppress-shortcuts": "true",
  });
  const alert = element(root, "p", { role: "alert", class: "attnw-arcs-note", hidden: true });
  const inner = element(root, "div");
  const progress = element(inner, "div", { class: "attnw-progress", hidden: true });
  const controls = arcsControls(inner, model, signal, { show, jump, toggleKeys });
  const title = element(inner, "p", { class: "attnw-arcs-title" });
  const problem = element(inner, "p", { class: "attnw-arcs-note", hidden: true });
  const body = element(inner, "div", { class: "attnw-arcs-body" });
  const figure = arcsFigure(body, signal, { point, pin, chooseRelation });
  const readout = element(body, "div", { class: "attnw-arcs-readout" });
  const lines = [element(readout, "p"), element(readout, "p"), element(readout, "p")];
  const legend = element(body, "p", { class: "attnw-arcs-legend" });
  for (const [kind, text] of [
    ["right", "✓ solid: the annotated governor"],
    ["wrong", "× dashed: another word"],
  ] as const)
    element(legend, "span", { class: `attnw-${kind}` }, text);
  const shading = element(legend, "span", { class: "attnw-arcs-shading" });
  const line = element(body, "p", { class: "attnw-arcs-caption" });
  const fillTable = arcsTable(body, signal);
  const keys = keyList(inner, ARC_KEYS, "attnw-keys");
  const live = element(inner, "div", { class: "attnw-unseen", "aria-live": "polite" });

  let themed = false;
  let drawn: DrawnSentence | null = null;
  let tree: Tree | undefined;
  let reading: Reading | undefined;
  let readIn = "";
  let scene: ArcsScene | undefined;
  let hovered: number | undefined;
  let held: number | undefined;
  let cursor: number | undefined;
  let changed = true;
  let asked = 0;
  /** What the last jump was for. */
  let sought: boolean | undefined;
  let revealed = "";
  let spoken = "";

  const isJumping = () => asked > 0 && model.get("_jumped").n !== asked;
  const isStale = () => {
    const head = shownHead(model);
    return (
      drawn?.sentence !== model.get("sentence") ||
      JSON.stringify(drawn?.head ?? null) !== JSON.stringify(head ?? null)
    );
  };
  const active = () => hovered ?? cursor ?? held;

  function show(sentence: number): void {
    const count = model.get("_source").count ?? 1;
    model.set("sentence", Math.max(0, Math.min(count - 1, sentence)));
    model.save_changes();
  }

  function jump(outcome: "right" | "wrong", step: 1 | -1): void {
    if (!shownHead(model) || isJumping()) return;
    asked = (model.get("_jump").n ?? 0) + 1;
    sought = outcome === "right";
    model.set("_jump", { n: asked, outcome, step });
    model.save_changes();
    invalidate();
  }

  function toggleKeys(): void {
    keys.hidden = !keys.hidden;
    controls.keys.setAttribute("aria-expanded", String(!keys.hidden));
  }

  function point(word: number | undefined): void {
    if (word === hovered) return;
    hovered = word;
    if (word !== undefined) cursor = undefined;
    schedule();
  }

  function pin(word: number): void {
    held = held === word ? undefined : word;
    schedule();
  }

  function chooseRelation(relation: string): void {
    model.set("relation", model.get("relation") === relation ? ALL : relation);
    model.save_changes();
  }

  function decode(): void {
    const now = model.get("_drawn");
    if (now !== drawn) {
      const next = now ? decodeTree(now) : undefined;
      // The words, and what points at one, stay where they are from one head to the next.
      if (JSON.stringify(next) !== JSON.stringify(tree)) {
        tree = next;
        hovered = held = cursor = undefined;
      }
      readIn = "";
    }
    drawn = now;
    const direction = model.get("direction");
    if (readIn === direction) return;
    readIn = direction;
    reading = drawn && tree ? decodeReading(drawn, tree, direction) : undefined;
  }

  function refresh(): void {
    const error = model.get("_error");
    alert.hidden = !error;
    inner.hidden = Boolean(error);
    if (alert.textContent !== error) alert.textContent = error;
    if (error) return;
    decode();
    const busy = isStale() || isJumping();
    progress.hidden = !busy;
    body.classList.toggle("attnw-arcs-busy", busy);
    controls.update(shownHead(model) !== undefined && !isJumping());
    scene = undefined;
    if (!drawn || !tree) return;
    const [relation, direction] = [model.get("relation"), model.get("direction")];
    problem.textContent = drawn.problem || (drawn.head ? "" : NO_SELECTION);
    problem.hidden = !problem.textContent;
    body.hidden = Boolean(drawn.problem);
    title.textContent = titleText(model, drawn, tree, reading);
    title.hidden = !title.textContent;
    legend.hidden = readout.hidden = !reading;
    shading.textContent =
      direction === DIRECTIONS[0]
        ? "bars: what the word attends to"
        : "bars: who attends to the word";
    const threshold = model.get("threshold");
    const font = getComputedStyle(root).fontFamily || "sans-serif";
    const first = { tree, reading, relation, threshold, font, spaces: drawn.spaces };
    const shown = drawnArcs({ ...first, names: { annotated: "", predicted: "" } });
    const head = drawn.head ? headName(drawn.head) : "no head";
    const names = figureNames(tree, shown, head, direction);
    scene = { ...first, names };
    figure.draw(scene);
    revealChosen(shown, drawn.sentence);
    const own = (reading?.predicted ?? []).filter(({ dependent }) =>
      hasRelation(relation, tree?.relations[dependent] ?? ""),
    );
    line.textContent = captionText(model, drawn, own.length, shown.length);
    fillTable(tree, reading, [title.textContent || "annotated arcs", direction].join(" · "));
    const said = drawn.problem || `sentence ${drawn.sentence}: ${title.textContent}`;
    if (spoken && said !== spoken && !busy) live.textContent = said;
    if (!busy) spoken = said;
    if (asked && model.get("_jumped").n === asked && !model.get("_jumped").found) {
      const { left = 0, where = "" } = model.get("_jumped");
      const text = left
        ? `None so far: ${left.toLocaleString("en")} sentences are left, ask again to go on.`
        : `No other sentence${where} has such a word.`;
      live.textContent = problem.textContent = text;
      problem.hidden = false;
      asked = 0;
    }
  }

  /** In another sentence, or for another relation, bring the first word in question into sight. */
  function revealChosen(shown: Predicted[], sentence: number): void {
    const now = `${sentence} ${model.get("relation")}`;
    if (now === revealed) return;
    const fitting = shown.find(({ right }) => right === (sought ?? right));
    if (fitting && (sought !== undefined || model.get("relation") !== ALL))
      figure.reveal(fitting.dependent);
    [revealed, sought] = [now, undefined];
  }

  const schedule = perFrame(signal, () => {
    if (!themed) return;
    if (changed) refresh();
    changed = false;
    if (!scene || !tree) return;
    const word = active();
    if (word === undefined) {
      figure.activate(undefined);
      readout.classList.add("attnw-arcs-hint");
      for (const [i, node] of lines.entries()) node.textContent = i === 0 ? HINT : "";
      return;
    }
    const forward = model.get("direction") === DIRECTIONS[0];
    const weights = tree.words.map((_, other) =>
      forward ? (reading?.weight(word, other) ?? 0) : (reading?.weight(other, word) ?? 0),
    );
    const most = Math.max(...weights);
    const shares = weights.map((weight) => (most > 0 ? weight / most : 0));
    figure.activate({ word, pinned: word === held, weights: shares });
    readout.classList.remove("attnw-arcs-hint");
    const { arc, from, to } = wordTexts(tree, reading, word);
    for (const [i, text] of [arc, from, to].entries()) {
      const node = lines[i];
      if (node) node.textContent = text;
    }
    if (word === cursor) live.textContent = [arc, forward ? from : to].filter(Boolean).join("; ");
  });
  const invalidate = () => {
    changed = true;
    schedule();
  };

  function wordKey(key: string): boolean {
    const count = tree?.words.length ?? 0;
    const from = cursor ?? held ?? -1;
    const target = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: count - 1 }[key];
    if (count === 0) return false;
    if (target !== undefined) {
      cursor = Math.max(0, Math.min(count - 1, target));
      hovered = undefined;
      figure.reveal(cursor);
    } else if ((key === "Enter" || key === " ") && cursor !== undefined) pin(cursor);
    else return false;
    schedule();
    return true;
  }

  function letGo(): boolean {
    if (held === undefined && cursor === undefined) return false;
    held = cursor = undefined;
    schedule();
    return true;
  }

  function key(event: KeyboardEvent): boolean {
    const target = event.target;
    const chord = event.metaKey || (event.ctrlKey && !event.altKey);
    if (event.defaultPrevented || chord) return false;
    if (event.key === "Escape") return letGo();
    // A select moves to the option that starts with the letter; a number takes the arrows.
    if (target instanceof HTMLSelectElement) return false;
    if (event.key === "?") toggleKeys();
    else if (event.key === "[") stepTo(model, model.get("layer") - 1, layers());
    else if (event.key === "]") stepTo(model, model.get("layer") + 1, layers());
    else if (event.altKey) return false;
    else if (event.key === "d") {
      model.set("direction", otherDirection(model.get("direction")));
      model.save_changes();
    } else if (/^[rw]$/i.test(event.key))
      jump(event.key.toLowerCase() === "r" ? "right" : "wrong", event.shiftKey ? -1 : 1);
    else if (target instanceof HTMLInputElement) return false;
    else if (event.key === "PageUp") show(model.get("sentence") - 1);
    else if (event.key === "PageDown") show(model.get("sentence") + 1);
    else return target === figure.words && wordKey(event.key);
    return true;
  }

  const layers = () => model.get("_source").layers ?? 1;

  root.addEventListener(
    "keydown",
    (event) => {
      if (key(event)) event.preventDefault();
    },
    { signal },
  );
  figure.words.addEventListener(
    "focus",
    () => {
      // A word to start from, so that the first arrow key has somewhere to go.
      if (figure.words.matches(":focus-visible") && cursor === undefined) cursor = held ?? 0;
      schedule();
    },
    { signal },
  );
  figure.words.addEventListener(
    "blur",
    () => {
      cursor = undefined;
      schedule();
    },
    { signal },
  );
  for (const name of WATCHED) model.on(`change:${name}`, invalidate);
  // Lines and words take their colours from the theme's variables: only fonts can move them.
  watchTheme(root, signal, () => {
    themed = true;
    invalidate();
  });
  let width = 0;
  const resized = new ResizeObserver(() => {
    if (root.clientWidth === width) return;
    width = root.clientWidth;
    invalidate();
  });
  resized.observe(root);
  signal.addEventListener("abort", () => {
    for (const name of WATCHED) model.off(`change:${name}`, invalidate);
    resized.disconnect();
    root.remove();
  });
}

export default () => ({ initialize: releasing<ArcsState>("_drawn"), render });
