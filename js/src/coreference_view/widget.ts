import { captionText } from "../shared/caption.js";
import { choice, type controlRow, MARKS } from "../shared/controls.js";
import { element } from "../shared/dom.js";
import { pageRuler } from "../shared/labels.js";
import { type Look, mount } from "../shared/mount.js";
import { counted } from "../shared/numbers.js";
import { fresh } from "../shared/pen.js";
import { releasing } from "../shared/release.js";
import { save, snapshot } from "../shared/snapshot.js";
import { textFrame } from "../shared/text_frame.js";
import type { RenderContext } from "../shared/types.js";
import {
  AFTER_NUMBER,
  asideOf,
  clusterColour,
  LEGEND,
  layoutPassage,
  type PassageLayout,
  type Piece,
  type Placed,
  paintMarks,
  paintSample,
  SAMPLE_HEIGHT,
  sampleWidth,
  topOf,
} from "./passage.js";
import {
  type CoreferenceState,
  captionOf,
  type Line,
  type Mention,
  mentionLabel,
  readout,
  type Scene,
  sceneOf,
  sentence,
  titleParts,
  VARIANTS,
  type Variant,
} from "./scene.js";

const WATCHED: (keyof CoreferenceState)[] = [
  "selected",
  "layer",
  "document",
  "window",
  "mention",
  "variant",
  "_drawn",
  "_source",
  "_jumped",
];
const HINT = "Click a mention for the antecedent that the head chooses.";
const KEYS = [
  ["← →", "move between mentions; Home and End to the first and last"],
  ["↑ ↓", "previous / next mention of the same cluster"],
  ["Enter or Space, click", "what is chosen for the mention, again to let it go"],
  ["Page Up / Page Down", "previous / next document"],
  ["r / w", "next mention for which the head is right / wrong, with Shift the previous one"],
  ["v", "choose among all words / among preceding mentions"],
  ["[ and ]", "step to the layer above / below"],
  ["Escape", "let go of the mention"],
  ["?", "show or hide this list"],
] as const;

function render(context: RenderContext<CoreferenceState>): void {
  const { model, signal } = context;
  const mounted = mount(context, "coref", WATCHED, {
    update,
    keys: (event): boolean => frame.key(event),
  });
  const ruler = pageRuler(mounted.root.ownerDocument);
  const frame = textFrame(mounted, context, {
    name: "coref",
    variable: "view",
    keys: KEYS,
    controls,
    letGo,
    places: ["document", "window"],
    sought: ["mention", "for which the head"],
    counts: () => [model.get("_source").count, scene?.drawn.windows ?? 1],
    missed: ({ where = "" }) => `There is no other such mention${where}.`,
    letters: {
      v: () =>
        save(model, { variant: VARIANTS.find((variant) => variant !== model.get("variant")) }),
    },
    move: ({ target, key }) => figure.text.contains(target as Node) && step(key),
  });
  const { body, live } = frame;
  const figure = coreferenceFigure(body, signal, ask);
  const aside = element(body, "div", { class: "attnw-coref-aside" });
  const lines = element(aside, "div", { class: "attnw-coref-readout" });
  const legend = element(aside, "p", { class: "attnw-coref-legend" });
  const samples = LEGEND.map(([kind, text]) => {
    const item = element(legend, "span");
    const canvas = element(item, "canvas", { "aria-hidden": "true", hidden: !kind });
    item.append(text);
    return { kind, canvas };
  });
  const caption = element(aside, "p", { class: "attnw-coref-caption", "data-caption": "" });

  let scene: Scene | undefined;
  /** The mention that the last jump, or the kernel, brought up has been scrolled to. */
  let revealed: number | null | undefined;

  function controls({ row }: ReturnType<typeof controlRow>) {
    const named = (variant: Variant) => `${variant === "words" ? "all" : "preceding"} ${variant}`;
    const update = choice(
      row,
      "choose among",
      signal,
      (variant) => save(model, { variant }),
      named,
    );
    return () => update(VARIANTS, model.get("variant"));
  }

  function ask(mention: number): void {
    if (frame.isStale()) return;
    revealed = mention;
    save(model, { mention: model.get("mention") === mention ? null : mention });
  }

  function letGo(): boolean {
    if (model.get("mention") === null) return false;
    save(model, { mention: null });
    return true;
  }

  function update(look: Look): void {
    const now = sceneOf(snapshot(model, WATCHED));
    scene = now;
    if (frame.update() || !now) return;
    const title = titleParts(now).filter(Boolean).join(" · ");
    const readoutLines = readout(now);
    drawText(now, look);
    drawReadout(readoutLines);
    caption.textContent = captionText(captionOf(now));
    frame.tell(title, sentence(readoutLines) || `document ${now.drawn.document}: ${title}`);
    reveal(now.state.mention);
  }

  function drawText(now: Scene, { theme, font, width }: Look): void {
    const at = layoutPassage(now.drawn.words, now.drawn.mentions, { room: width, font, ruler });
    body.classList.toggle("attnw-coref-wide", asideOf(at, width) !== null);
    figure.draw(now, { theme, font, at });
    for (const { kind, canvas } of samples) {
      const context = fresh(canvas, sampleWidth(kind), SAMPLE_HEIGHT);
      if (context) paintSample(context, theme, kind);
    }
  }

  function drawReadout(shownLines: Line[]): void {
    lines.replaceChildren();
    if (!shownLines.length) element(lines, "p", { class: "attnw-muted" }, HINT);
    const list = element(lines, "dl");
    for (const { label, text, outcome } of shownLines) {
      const line = element(list, "div");
      element(line, "dt", {}, label);
      const value = element(line, "dd");
      if (outcome) {
        const mark = { class: `attnw-${outcome}`, "aria-hidden": "true" };
        element(value, "span", mark, `${MARKS[outcome]} `);
      }
      value.append(text);
    }
  }

  function reveal(mention: number | null): void {
    const isNew = revealed !== undefined && mention !== revealed;
    revealed = mention;
    if (mention === null || !isNew) return;
    if (figure.focused() === undefined) figure.reveal(mention);
    else figure.focus(mention);
  }

  function step(key: string): boolean {
    const list = scene?.asked ?? [];
    const from = figure.focused() ?? model.get("mention");
    const at = list.findIndex(({ mention }) => mention === from);
    const same = ({ cluster }: Mention) => cluster === list[at]?.cluster;
    const target = {
      ArrowLeft: list[Math.max(0, at - 1)],
      ArrowRight: list[Math.min(list.length - 1, at + 1)],
      ArrowUp: list.slice(0, Math.max(0, at)).filter(same).at(-1) ?? list[at],
      ArrowDown: list.slice(at + 1).find(same) ?? list[at],
      Home: list[0],
      End: list.at(-1),
    }[key];
    if (!target || !scene) return false;
    figure.focus(target.mention);
    live.textContent = mentionLabel(scene, target);
    return true;
  }
}

/** Marks of the first and the last word of a line lie a little outside of it. */
const BLEED = 4;

/**
 * The text of a window as words in their places, over what is painted; a numbered button stands
 * before each mention.
 */
function coreferenceFigure(
  parent: HTMLElement,
  signal: AbortSignal,
  choose: (mention: number) => void,
) {
  const stage = element(parent, "div", { class: "attnw-coref-stage attnw-drawn" });
  const marks = element(stage, "canvas", { "aria-hidden": "true", class: "attnw-coref-marks" });
  const text = element(stage, "div", { class: "attnw-coref-text", role: "group" });
  const chips = new Map<number, HTMLButtonElement>();
  /** The text that is written, and its places. */
  let written = "";
  let writtenAt = "";
  /** By word: the mentions that can be asked about, the innermost first. */
  let over: Mention[][] = [];
  let marked: Mention | undefined;
  let cursor: number | undefined;

  const onClick = ({ target }: Event) => {
    const hit = (target as Element).closest<HTMLElement>("[data-mention], [data-word]");
    const { mention, word } = hit?.dataset ?? {};
    // Repeated clicks on nested mentions select the mentions from the inside out.
    const here = over[Number(word)] ?? [];
    const next =
      here[(here.findIndex(({ mention }) => mention === marked?.mention) + 1) % here.length];
    if (mention) choose(Number(mention));
    else if (next) choose(next.mention);
  };
  text.addEventListener("click", onClick, { signal });

  function refreshChips(): void {
    const current = cursor ?? marked?.mention ?? [...chips.keys()][0];
    for (const [index, chip] of chips) {
      chip.tabIndex = index === current ? 0 : -1;
      chip.setAttribute("aria-pressed", String(index === marked?.mention));
    }
  }

  /** What is painted under each word, for style sheets of hosts and for tests. */
  function nameMarks({ own }: Scene): void {
    const chosen = own?.choice;
    const antecedents = own?.antecedents.flatMap(({ words }) => words) ?? [];
    for (const node of text.querySelectorAll<HTMLElement>("[data-word]")) {
      const word = Number(node.dataset.word);
      const marks = [
        antecedents.includes(word) ? "antecedent" : "",
        marked?.words.includes(word) ? "own" : "",
        chosen?.word === word ? (chosen.right ? "right" : "wrong") : "",
      ].filter(Boolean);
      if (marks.length) node.dataset.marks = marks.join(" ");
      else delete node.dataset.marks;
    }
  }

  function writeNumbers(row: HTMLElement, scene: Scene, { numbers }: Piece): void {
    for (const { mention, start, end } of numbers) {
      const number = String(mention.cluster);
      const attributes = {
        type: "button",
        class: "attnw-coref-chip",
        "data-mention": mention.mention,
        // The name starts with the text that is seen, for those who speak to the page.
        "aria-label": `${number} ${mentionLabel(scene, mention)}`,
      };
      const chip = element(row, "button", attributes, number);
      chip.style.width = `${end - start + AFTER_NUMBER}px`;
      chips.set(mention.mention, chip);
    }
  }

  function write(scene: Scene, at: PassageLayout): void {
    over = scene.drawn.words.map((_, word) =>
      scene.asked
        .filter(({ words }) => words.includes(word))
        .sort((a, b) => a.words.length - b.words.length),
    );
    text.replaceChildren();
    chips.clear();
    cursor = undefined;
    let row: HTMLElement | undefined;
    let line = -1;
    let end = 0;
    for (const piece of at.pieces) {
      if (!row || piece.line !== line) {
        // At the end of a line the space has no place of its own; it is there to be copied.
        if (piece.spaced) row?.append(" ");
        row = element(text, "span", { class: "attnw-coref-row" });
        row.style.top = `${topOf(at, piece.line)}px`;
      } else if (piece.spaced) {
        element(row, "span", {}, " ").style.width = `${piece.outer - end}px`;
      }
      writeNumbers(row, scene, piece);
      const node = element(row, "span", { "data-word": piece.word }, piece.text);
      node.style.width = `${piece.end - piece.start}px`;
      if (over[piece.word]?.length) node.className = "attnw-coref-asked";
      [line, end] = [piece.line, piece.end];
    }
  }

  return {
    text,
    /** The mention whose button has the focus. */
    focused(): number | undefined {
      const root = text.getRootNode() as Document | ShadowRoot;
      return [...chips].find(([, chip]) => chip === root.activeElement)?.[0];
    },
    focus(mention: number): void {
      cursor = mention;
      refreshChips();
      chips.get(mention)?.focus();
    },
    reveal(mention: number): void {
      chips.get(mention)?.scrollIntoView?.({ block: "nearest" });
    },
    draw(scene: Scene, placed: Placed): void {
      const { at, theme } = placed;
      const { drawn, asked } = scene;
      const { document, start, words, mentions } = drawn;
      // A change of the head keeps the text, the selected text and the focus.
      const next = JSON.stringify([document, start, words, mentions]);
      const places = JSON.stringify(at.pieces);
      if (next !== written || places !== writtenAt) {
        const had = this.focused();
        write(scene, at);
        const again = next === written ? had : asked[0]?.mention;
        if (had !== undefined && again !== undefined) this.focus(again);
        written = next;
        writtenAt = places;
      }
      marked = scene.marked;
      const name =
        `${counted(words.length, "word")} with ` +
        `${counted(asked.length, "mention")} that corefer`;
      text.setAttribute("aria-label", name);
      text.dir = at.rightToLeft ? "rtl" : "ltr";
      stage.style.width = `${at.width}px`;
      stage.style.height = `${at.height}px`;
      for (const { mention, cluster } of asked)
        chips.get(mention)?.style.setProperty("color", clusterColour(theme, cluster));
      nameMarks(scene);
      refreshChips();
      const context = fresh(marks, at.width + 2 * BLEED, at.height);
      context?.translate(BLEED, 0);
      if (context) paintMarks(context, scene, placed);
    },
  };
}

export default () => ({ initialize: releasing<CoreferenceState>("_drawn"), render });
