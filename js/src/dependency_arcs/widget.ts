import { html, nothing } from "lit-html";
import { captionText } from "../shared/caption.js";
import { type Control, choice } from "../shared/controls.js";
import { withControls } from "../shared/figure_controls.js";
import { type Look, mount } from "../shared/mount.js";
import { counted, digits } from "../shared/numbers.js";
import { ALL, DIRECTIONS, type Direction } from "../shared/relation_types.js";
import { releasing } from "../shared/release.js";
import { captioned } from "../shared/save_menu.js";
import { save, snapshot } from "../shared/snapshot.js";
import { framedText } from "../shared/text_frame.js";
import type { RenderContext } from "../shared/types.js";
import { type Outcome, SIGNS } from "../shared/verdict.js";
import { answererOf } from "./answerers.js";
import { arcsFigure } from "./arcs_figure.js";
import { foldedTable } from "./arcs_table.js";
import { distancesFigure } from "./distances_figure.js";
import { captionOf, type Scene, sceneOf, wordTexts } from "./scene.js";
import type { ArcsState } from "./state.js";

const WATCHED: (keyof ArcsState)[] = [
  "selected",
  "labels",
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
  const { model } = context;
  const currentAnswerer = () => answererOf(model.get("_source"));
  const mounted = withControls(
    mount(context, "arcs", WATCHED, {
      update,
      view,
      paint,
      keys: (event): boolean => frame.key(event),
    }),
    context.signal,
  );
  const { schedule } = mounted;
  const frame = framedText(mounted, context, {
    name: "arcs",
    variable: "arcs",
    keys: KEYS,
    missed,
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
        const { directions } = currentAnswerer();
        const direction = directions.find((way) => way !== model.get("direction"));
        if (direction) save(model, { direction });
      },
    },
    move: ({ target, key }) => target === figure.words() && wordKey(key),
  });
  const figure = arcsFigure({ point, pin, chooseRelation, focus, blur });
  const distances = distancesFigure({ point, pin });
  const table = foldedTable(mounted.drawNow);

  let scene: Scene | undefined;
  /** Whether the arcs of the scene are still to be drawn. */
  let isNew = false;
  let hovered: number | undefined;
  /** The column of the cell that is pointed at. */
  let beside: number | undefined;
  let held: number | undefined;
  let cursor: number | undefined;
  /** What the last jump was for. */
  let sought: Outcome | undefined;
  let revealed = "";
  let spoken = "";

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
    if (!scene) return;
    const { answerer, drawn, state } = scene;
    if (answerer.keepsWord) held = state.word ?? undefined;
    frame.hear(drawn.problem || `sentence ${drawn.sentence}: ${titleOf(scene)}`);
    figure.arrange(scene, look);
    distances.arrange(scene, look);
    revealChosen(scene);
    isNew = true;
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

  /** The words that stand out: the active one, and a second one beside it. */
  function active(): { word: number | undefined; other: number | undefined } {
    const word = hovered ?? cursor ?? held;
    const other = beside ?? (held === word ? undefined : held);
    return { word, other: other === word ? undefined : other };
  }

  function view(look: Look): unknown {
    if (!scene) return frame.view({ title: "", controls: controls(), body: nothing });
    const { word } = active();
    const readout = readoutView(scene);
    const body = html`${figure.view(scene, { word, isHeld: word === held })}${readout}
      ${legendView(scene)}${distances.view(look)}
      ${captioned(
        mounted.save,
        html`<p class="attnw-arcs-caption" data-caption>${captionText(captionOf(scene))}</p>`,
      )}
      ${table(scene)}`;
    return frame.view({ title: titleOf(scene), controls: controls(), body });
  }

  function controls(): Control[] {
    const { directions, layers, weight } = currentAnswerer();
    const threshold = model.get("threshold");
    return [
      {
        kind: "choice",
        name: "relation",
        place: "bar",
        values: model.get("_source").relations ?? [],
        value: model.get("relation"),
        change: (relation) => save(model, { relation }),
        print: (relation) => (relation === ALL ? "all relations" : relation),
      },
      choice<Direction>({
        name: "direction",
        place: "bar",
        values: directions,
        value: model.get("direction") ?? DIRECTIONS[0],
        change: (direction) => save(model, { direction }),
      }),
      {
        kind: "choice",
        name: "layer",
        place: "bar",
        values: layers.map(String),
        value: String(model.get("layer")),
        change: (layer) => save(model, { layer: Number(layer) }),
      },
      {
        kind: "range",
        name: "threshold",
        place: "bar",
        label: `${weight} from`,
        max: 1,
        step: 0.01,
        value: threshold,
        text: digits(threshold),
        change: (chosen) => save(model, { threshold: chosen }),
        hidden: !weight,
      },
    ];
  }

  function readoutView(shown: Scene) {
    const { word, other } = active();
    // What is said of a word can move the matrices, which a pointer on a cell must not.
    const told = beside === undefined ? word : held;
    let lines = [shown.answerer.hint, "", ""];
    if (told !== undefined) {
      const texts = wordTexts(shown, told, beside === undefined ? other : undefined);
      lines = [texts.arc, texts.from, texts.to];
      if (told === cursor) speak([texts.arc, texts.spoken].filter(Boolean).join("; "));
    }
    const hint = told === undefined ? " attnw-arcs-hint" : "";
    return html`<div class=${`attnw-arcs-readout${hint}`} ?hidden=${!shown.answers}
      >${lines.map((line) => html`<p>${line}</p>`)}</div>`;
  }

  /** Reads a text aloud where it is another than before. */
  function speak(text: string): void {
    if (text !== spoken) frame.announce(text);
    spoken = text;
  }

  function paint(look: Look): void {
    if (!scene) return;
    const { word, other } = active();
    if (isNew) figure.fill(scene, look);
    isNew = false;
    figure.mark(scene, word);
    distances.paint(look, word, other);
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

  /** The keyboard has a word to start from, so that the first arrow key has somewhere to go. */
  function focus(byKeyboard: boolean): void {
    if (byKeyboard && cursor === undefined) cursor = held ?? 0;
    schedule();
  }

  function blur(): void {
    cursor = undefined;
    spoken = "";
    schedule();
  }
}

const titleOf = ({ answers, rightness, title }: Scene) =>
  answers ? `${title} · ${rightness}` : "";

/** The look of right and wrong arcs, and the meaning of the bars under the words. */
function legendView({ answerer, answers, state }: Scene) {
  const bars = answerer.barsOf(state);
  return html`<p class="attnw-arcs-legend" ?hidden=${!answers}>${answerer.legend.map(
    ([outcome, text]) => html`<span class=${`attnw-${outcome}`}>${SIGNS[outcome]} ${text}</span>`,
  )}<span class="attnw-arcs-shading">${bars && `bars: ${bars}`}</span></p>`;
}

export default () => ({ initialize: releasing<ArcsState>("_drawn"), render });
