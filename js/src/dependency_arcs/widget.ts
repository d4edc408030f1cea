import { captionText } from "../shared/caption.js";
import { choice, type controlRow, MARKS, type Outcome, slider } from "../shared/controls.js";
import { element } from "../shared/dom.js";
import { pageRuler } from "../shared/labels.js";
import { type Look, mount } from "../shared/mount.js";
import { counted, digits } from "../shared/numbers.js";
import { ALL, type ArcsState, DIRECTIONS, type Direction } from "../shared/relation_types.js";
import { releasing } from "../shared/release.js";
import { save, snapshot } from "../shared/snapshot.js";
import { placed, svgElement } from "../shared/svg.js";
import { textFrame } from "../shared/text_frame.js";
import type { RenderContext } from "../shared/types.js";
import { answererOf } from "./answerers.js";
import { hangingIn, type Row, rowsOf, type Widths, widthsIn } from "./arcs_layout.js";
import { foldedTable } from "./arcs_table.js";
import { distancesFigure } from "./distances_figure.js";
import {
  annotatedArcs,
  BARS,
  MARKS as BELOW,
  hangingHeight,
  LINE,
  predictedArcs,
} from "./paint.js";
import {
  captionOf,
  figureNames,
  type Scene,
  sceneOf,
  sharesOf,
  tableOf,
  wordTexts,
} from "./scene.js";

const WATCHED: (keyof ArcsState)[] = [
  "selected",
  "layer",
  "relation",
  "direction",
  "sentence",
  "threshold",
  "_drawn",
  "_measured",
  "_source",
  "_jumped",
  "word",
];
const KEYS = [
  ["← →", "move between words; Home and End to the first and last"],
  ["Enter or Space, click", "hold the word, again to let it go"],
  ["Page Up / Page Down", "previous / next sentence"],
  ["r / w", "next sentence with a right / wrong prediction, with Shift the previous one"],
  ["d", "the other direction"],
  ["click a relation", "only that relation, again for all"],
  ["[ and ]", "step to the layer above / below"],
  ["Escape", "let go of the word"],
  ["?", "show or hide this list"],
] as const;

function render(context: RenderContext<ArcsState>): void {
  const { model, signal } = context;
  const currentAnswerer = () => answererOf(model.get("_source"));
  const mounted = mount(context, "arcs", WATCHED, {
    update,
    paint,
    keys: (event): boolean => frame.key(event),
  });
  const { schedule } = mounted;
  const frame = textFrame(mounted, context, {
    name: "arcs",
    variable: "arcs",
    keys: KEYS,
    missed,
    controls,
    letGo,
    places: ["sentence"],
    sought: ["sentence", `on which the ${currentAnswerer().noun}`],
    needsHead: () => currentAnswerer().needsHead,
    counts: () => [model.get("_source").count],
    onJump: (outcome) => {
      sought = outcome;
    },
    letters: {
      d: () => {
        const direction = currentAnswerer().directions.find(
          (way) => way !== model.get("direction"),
        );
        if (direction) save(model, { direction });
      },
    },
    move: ({ target, key }) => target === figure.words && wordKey(key),
  });
  const { body, live } = frame;
  const figure = arcsFigure(body, signal, { point, pin, chooseRelation });
  const readout = element(body, "div", { class: "attnw-arcs-readout" });
  const lines = [element(readout, "p"), element(readout, "p"), element(readout, "p")];
  const legend = element(body, "p", { class: "attnw-arcs-legend" });
  const outcomes = (["right", "wrong"] as const).map((outcome) =>
    element(legend, "span", { class: `attnw-${outcome}` }),
  );
  const shading = element(legend, "span", { class: "attnw-arcs-shading" });
  const distances = distancesFigure(body, signal, { point, pin });
  const caption = element(body, "p", { class: "attnw-arcs-caption", "data-caption": "" });
  const fillTable = foldedTable(body, signal);

  let scene: Scene | undefined;
  let hovered: number | undefined;
  /** The column of the cell that is pointed at. */
  let beside: number | undefined;
  let held: number | undefined;
  let cursor: number | undefined;
  /** What the last jump was for. */
  let sought: Outcome | undefined;
  let revealed = "";

  function controls({ row }: ReturnType<typeof controlRow>) {
    const named = (relation: string) => (relation === ALL ? "all relations" : relation);
    const updateRelation = choice(
      row,
      "relation",
      signal,
      (relation) => save(model, { relation }),
      named,
    );
    const updateDirection = choice<Direction>(row, "direction", signal, (direction) =>
      save(model, { direction }),
    );
    const updateLayer = choice(row, "layer", signal, (layer) =>
      save(model, { layer: Number(layer) }),
    );
    const strength = element(row, "label");
    const of = element(strength, "span");
    const input = slider(strength, { max: 1, step: 0.01 });
    const from = element(strength, "output");
    const pick = () => save(model, { threshold: input.valueAsNumber });
    input.addEventListener("input", pick, { signal });
    return (): void => {
      const { directions, layers, weight } = currentAnswerer();
      updateRelation(model.get("_source").relations ?? [], model.get("relation"));
      updateDirection(directions, model.get("direction") ?? DIRECTIONS[0]);
      updateLayer(layers.map(String), String(model.get("layer")));
      strength.hidden = !weight;
      of.textContent = `${weight} from `;
      input.value = String(model.get("threshold"));
      from.textContent = digits(model.get("threshold"));
    };
  }

  function missed({ left, where = "" }: ArcsState["_jumped"]): string {
    if (!left) return `No other sentence${where} has such a word.`;
    return `None so far: ${counted(left, "sentence")} left, ask again to go on.`;
  }

  function point(word?: number, other?: number): void {
    if (word === hovered && other === beside) return;
    hovered = word;
    beside = other;
    if (word !== undefined) cursor = undefined;
    schedule();
  }

  function pin(word: number): void {
    hold(held === word ? undefined : word);
  }

  function hold(word: number | undefined): void {
    held = word;
    if (currentAnswerer().keepsWord) save(model, { word: word ?? null });
    schedule();
  }

  function chooseRelation(relation: string): void {
    save(model, { relation: model.get("relation") === relation ? ALL : relation });
  }

  function update(look: Look): void {
    const before = JSON.stringify(scene?.tree);
    scene = sceneOf(snapshot(model, WATCHED));
    // The word under the pointer stays highlighted when the head changes.
    if (JSON.stringify(scene?.tree) !== before) hovered = beside = held = cursor = undefined;
    if (scene?.answerer.keepsWord) held = scene.state.word ?? undefined;
    frame.update();
    if (!scene) return;
    const { answerer, drawn, reading, rightness, state } = scene;
    const title = reading ? `${scene.title} · ${rightness}` : "";
    frame.tell(title, drawn.problem || `sentence ${drawn.sentence}: ${title}`);
    legend.hidden = readout.hidden = !reading;
    for (const [i, [outcome, text]] of answerer.legend.entries()) {
      const node = outcomes[i];
      if (node) node.textContent = `${MARKS[outcome]} ${text}`;
    }
    const bars = answerer.barsOf(state);
    shading.textContent = bars && `bars: ${bars}`;
    figure.draw(scene, look);
    distances.draw(scene, look);
    revealChosen(scene);
    caption.textContent = captionText(captionOf(scene));
    fillTable(tableOf(scene), scene.title);
  }

  /** In another sentence, or for another relation, bring the first word in question into sight. */
  function revealChosen({ drawn, state: { relation }, shown }: Scene): void {
    const now = `${drawn.sentence} ${relation}`;
    if (now === revealed) return;
    const fitting = shown.find(({ right }) => !sought || right === (sought === "right"));
    if (fitting && (sought || relation !== ALL)) figure.reveal(fitting.dependent);
    revealed = now;
    sought = undefined;
  }

  function paint(look: Look): void {
    if (!scene) return;
    const word = hovered ?? cursor ?? held;
    const other = beside ?? (held === word ? undefined : held);
    distances.paint(look, word, other === word ? undefined : other);
    // What is said of a word can move the matrices, which a pointer on a cell must not.
    const told = beside === undefined ? word : held;
    const shares = word === undefined ? [] : sharesOf(scene, word);
    figure.activate(word, word === held, shares);
    readout.classList.toggle("attnw-arcs-hint", told === undefined);
    if (told === undefined) {
      for (const [i, node] of lines.entries())
        node.textContent = i === 0 ? scene.answerer.hint : "";
      return;
    }
    const { arc, from, to, spoken } = wordTexts(
      scene,
      told,
      beside === undefined ? other : undefined,
    );
    for (const [i, node] of lines.entries()) node.textContent = [arc, from, to][i] ?? "";
    if (told === cursor) live.textContent = [arc, spoken].filter(Boolean).join("; ");
  }

  function wordKey(key: string): boolean {
    const count = scene?.tree.words.length ?? 0;
    const from = cursor ?? held ?? -1;
    const target = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: count - 1 }[key];
    if (count === 0) return false;
    if (target !== undefined) {
      cursor = Math.max(0, Math.min(count - 1, target));
      hovered = beside = undefined;
      figure.reveal(cursor);
    } else if ((key === "Enter" || key === " ") && cursor !== undefined) pin(cursor);
    else return false;
    schedule();
    return true;
  }

  function letGo(): boolean {
    if (held === undefined && cursor === undefined) return false;
    cursor = undefined;
    hold(undefined);
    return true;
  }

  const onFocus = () => {
    // A word to start from, so that the first arrow key has somewhere to go.
    if (figure.words.matches(":focus-visible") && cursor === undefined) cursor = held ?? 0;
    schedule();
  };
  const onBlur = () => {
    cursor = undefined;
    schedule();
  };
  figure.words.addEventListener("focus", onFocus, { signal });
  figure.words.addEventListener("blur", onBlur, { signal });
}

/** Between the name of a relation and the bends of its arc. */
const CLEAR = 8;

interface FigureActions {
  point(word: number | undefined): void;
  pin(word: number): void;
  chooseRelation(relation: string): void;
}

/** Words in one row, annotated arcs above, predicted arcs below; wide sentences scroll. */
function arcsFigure(parent: HTMLElement, signal: AbortSignal, actions: FigureActions) {
  const scroller = element(parent, "div", { class: "attnw-arcs-scroll" });
  const stage = element(scroller, "div", { class: "attnw-arcs-stage attnw-drawn" });
  const above = svgElement(stage, "svg", { class: "attnw-arcs-above", role: "img" });
  const words = element(stage, "div", {
    class: "attnw-arcs-words",
    role: "listbox",
    tabindex: 0,
    "aria-orientation": "horizontal",
    "aria-label": "words; question mark lists the keys",
  });
  words.style.height = words.style.lineHeight = `${LINE}px`;
  const below = svgElement(stage, "svg", { class: "attnw-arcs-below", role: "img" });
  // Two widgets can share a page, and this module's scope may or may not be shared between them.
  const prefix = `attnw-${Math.random().toString(36).slice(2)}`;
  const ruler = pageRuler(parent.ownerDocument);

  let row: Row | undefined;
  let laidOut = "";
  let spans: HTMLElement[] = [];
  let bars: SVGRectElement[] = [];
  /** Names of relations, and the ends of their arcs. */
  let relations: { node: Element; low: number; high: number; half: number }[] = [];

  /** Words stay the same elements while the tree does: what is selected stays so. */
  function arrange({ tree, drawn }: Scene, widths: Widths, font: string): Row | undefined {
    const now = JSON.stringify([tree, drawn.spaces, font]);
    if (now === laidOut) return row;
    laidOut = now;
    const firstRow = rowsOf(tree, widths, Number.POSITIVE_INFINITY)[0];
    stage.style.width = `${Math.ceil(firstRow?.width ?? 0)}px`;
    words.replaceChildren();
    let end = 0;
    spans = tree.words.map((word, i) => {
      const centre = firstRow?.centres[i] ?? 0;
      const width = firstRow?.widths[i] ?? 0;
      const span = element(words, "span", { role: "option", id: `${prefix}-${i}` }, word);
      span.dataset.word = String(i);
      span.style.width = `${width}px`;
      span.style.marginLeft = `${centre - width / 2 - end}px`;
      end = centre + width / 2;
      // Copied text has the spaces that were written; on the page they have no width.
      if (drawn.spaces[i] !== false) words.append(" ");
      return span;
    });
    scroller.scrollLeft = 0;
    return firstRow;
  }

  function fill(svg: SVGSVGElement, height: number, name: string): void {
    svg.replaceChildren();
    const attributes = { height, width: Math.ceil(row?.width ?? 0), "aria-label": name };
    for (const [key, value] of Object.entries(attributes)) svg.setAttribute(key, String(value));
  }

  function fillAbove(scene: Scene, at: Row, widths: Widths, look: Look): void {
    fill(above, at.height, figureNames(scene).annotated);
    relations = annotatedArcs(at, scene, widths, look.theme).flatMap((arc) => {
      const node = placed(above, arc).querySelector("[data-relation]");
      const chosenArc = at.arcs.find(
        ({ dependent }) => dependent === arc.attributes["data-dependent"],
      );
      if (!node || !chosenArc) return [];
      const half = widths.relation(chosenArc.relation) / 2 + CLEAR;
      const [start = 0, end = 0] = [chosenArc.x0, chosenArc.x1].sort((a, b) => a - b);
      return [{ node, low: start + half, high: end - half, half }];
    });
    placeRelations();
  }

  /** Names of relations stand in the middle of the part of their arc that is in sight. */
  function placeRelations(): void {
    const left = scroller.scrollLeft;
    const room = scroller.clientWidth || Number.POSITIVE_INFINITY;
    for (const { node, low, high, half } of relations) {
      const from = Math.max(low, Math.min(high, left + half));
      const to = Math.max(low, Math.min(high, left + room - half));
      node.setAttribute("transform", `translate(${((from + to) / 2).toFixed(1)})`);
    }
  }

  function fillBelow(scene: Scene, at: Row, widths: Widths, look: Look): void {
    const arcs = scene.reading ? hangingIn(scene.tree, at, scene.shown, widths) : [];
    fill(below, scene.reading ? hangingHeight(arcs) : 0, figureNames(scene).predicted);
    bars = (scene.reading ? at.centres : []).map((centre) =>
      svgElement(below, "rect", {
        class: "attnw-arcs-bar",
        x: centre - 7,
        y: BELOW,
        width: 14,
        height: 0,
      }),
    );
    for (const arc of predictedArcs(arcs, look.theme)) placed(below, arc);
  }

  const wordOf = (event: Event) => {
    const span = (event.target as Element).closest?.<HTMLElement>("[data-word]");
    return span ? Number(span.dataset.word) : undefined;
  };
  const on = (node: Element, type: string, listener: (event: Event) => void) =>
    node.addEventListener(type, listener, { signal });
  on(words, "pointerover", (event) => {
    const word = wordOf(event);
    if (word !== undefined) actions.point(word);
  });
  on(scroller, "scroll", placeRelations);
  on(stage, "pointerleave", () => actions.point(undefined));
  on(words, "click", (event) => {
    const word = wordOf(event);
    // Selecting text is no click.
    if (word === undefined || words.ownerDocument.getSelection()?.type === "Range") return;
    actions.pin(word);
  });
  on(above, "click", (event) => {
    const name = (event.target as Element).closest<SVGElement>("[data-relation]");
    if (name?.dataset.relation) actions.chooseRelation(name.dataset.relation);
  });

  return {
    words,
    draw(scene: Scene, look: Look): void {
      const widths = widthsIn(ruler, look.font);
      row = arrange(scene, widths, look.font);
      if (!row) return;
      fillAbove(scene, row, widths, look);
      fillBelow(scene, row, widths, look);
    },
    /**
     * Mark the word pointed at: its arcs stay, the others fade, and every word shows its share of
     * that word's attention.
     */
    activate(word?: number, pinned = false, shares: number[] = []): void {
      stage.classList.toggle("attnw-arcs-pointed", word !== undefined);
      for (const arc of stage.querySelectorAll<SVGElement>("[data-dependent]")) {
        const { governor, dependent } = arc.dataset;
        arc.classList.toggle("attnw-arcs-own", [governor, dependent].includes(String(word)));
      }
      for (const [i, span] of spans.entries()) {
        span.classList.toggle("attnw-arcs-active", i === word);
        span.setAttribute("aria-selected", String(i === word && pinned));
      }
      const active = word === undefined ? undefined : spans[word];
      if (active) words.setAttribute("aria-activedescendant", active.id);
      else words.removeAttribute("aria-activedescendant");
      for (const [i, bar] of bars.entries()) {
        const height = BARS * (shares[i] ?? 0);
        bar.setAttribute("height", height > 0 ? Math.max(0.5, height).toFixed(1) : "0");
      }
    },
    reveal(word: number): void {
      const centre = row?.centres[word] ?? 0;
      const width = row?.widths[word] ?? 0;
      const low = centre - width / 2 - 24;
      const high = centre + width / 2 + 24;
      const room = scroller.clientWidth;
      scroller.scrollLeft = Math.max(Math.min(scroller.scrollLeft, low), high - room);
    },
  };
}

export default () => ({ initialize: releasing<ArcsState>("_drawn"), render });
