import { html, nothing } from "lit-html";
import { captionText } from "../shared/caption.js";
import { withControls } from "../shared/figure_controls.js";
import { initializing } from "../shared/initialize.js";
import { type Look, mount } from "../shared/mount.js";
import { counted } from "../shared/numbers.js";
import { ALL } from "../shared/relation_types.js";
import { captioned } from "../shared/save_menu.js";
import { save, snapshot } from "../shared/snapshot.js";
import { framedText } from "../shared/text_frame.js";
import type { RenderContext } from "../shared/types.js";
import { type Outcome, SIGNS } from "../shared/verdict.js";
import { activeWords } from "./active_words.js";
import { answererOf } from "./answerers.js";
import { arcsControls } from "./arcs_controls.js";
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
  const controls = () => arcsControls(model, currentAnswerer());
  const frame = framedText(mounted, context, {
    name: "arcs",
    variable: "arcs",
    keys: KEYS,
    missed,
    letGo: () => words.letGo(),
    places: ["sentence"],
    sought: ["sentence", `on which the ${currentAnswerer().noun}`],
    needsHead: () => currentAnswerer().needsHead,
    counts: () => [model.get("_source").count],
    onJump: (outcome) => question.seek(outcome),
    letters: {
      d: () => {
        const { directions } = currentAnswerer();
        const direction = directions.find((way) => way !== model.get("direction"));
        if (direction) save(model, { direction });
      },
    },
    move: ({ target, key }) => target === figure.words() && words.key(key),
  });
  const words = activeWords({
    count: () => scene?.tree.words.length ?? 0,
    hold(word) {
      if (currentAnswerer().keepsWord) save(model, { word: word ?? null });
    },
    reveal: (word) => figure.reveal(word),
    redraw: schedule,
  });
  const { point, pin, focus } = words;
  const figure = arcsFigure({ point, pin, chooseRelation, focus, blur });
  const question = wordInQuestion(figure.reveal);
  const readout = wordReadout(frame.announce);
  const distances = distancesFigure({ point, pin });
  const table = foldedTable(mounted.drawNow);

  let scene: Scene | undefined;
  /** Whether the arcs of the scene have not been drawn yet. */
  let isNew = false;

  function chooseRelation(relation: string): void {
    save(model, { relation: model.get("relation") === relation ? ALL : relation });
  }

  function update(look: Look): void {
    const before = JSON.stringify(scene?.tree);
    scene = sceneOf(snapshot(model, WATCHED));
    // Keep the highlighted word when the head changes.
    if (JSON.stringify(scene?.tree) !== before) words.forget();
    if (!scene) return;
    const { answerer, drawn, state } = scene;
    if (answerer.keepsWord) words.keep(state.word ?? undefined);
    frame.hear(drawn.problem || `sentence ${drawn.sentence}: ${titleOf(scene)}`);
    figure.arrange(scene, look);
    distances.arrange(scene, look);
    question.follow(scene);
    isNew = true;
  }

  function view(look: Look): unknown {
    if (!scene) return frame.view({ title: "", controls: controls(), body: nothing });
    const { word, isHeld } = words.active();
    const body = html`${figure.view(scene, { word, isHeld })}
      ${readout.view(scene, words.told())}
      ${legendView(scene)}${distances.view(look)}
      ${captioned(
        mounted.save,
        html`<p class="attnw-arcs-caption" data-caption>${captionText(captionOf(scene))}</p>`,
      )}
      ${table(scene)}`;
    return frame.view({ title: titleOf(scene), controls: controls(), body });
  }

  function blur(): void {
    readout.forget();
    words.blur();
  }

  function paint(look: Look): void {
    if (!scene) return;
    const { word, other } = words.active();
    if (isNew) figure.fill(scene, look);
    isNew = false;
    figure.mark(scene, word);
    distances.paint(look, word, other);
  }
}

/**
 * Scroll to the first word of interest, once for each sentence and relation: a word of the
 * relation, or with the outcome that a jump searched for.
 */
function wordInQuestion(reveal: (word: number) => void) {
  let sought: Outcome | undefined;
  let revealed = "";
  return {
    /** Set the outcome that a jump searches for. */
    seek(outcome: Outcome): void {
      sought = outcome;
    },
    follow({ drawn, state: { relation }, shown }: Scene): void {
      const now = `${drawn.sentence} ${relation}`;
      if (now === revealed) return;
      const fitting = shown.find(({ right }) => !sought || right === (sought === "right"));
      if (fitting && (sought || relation !== ALL)) reveal(fitting.dependent);
      revealed = now;
      sought = undefined;
    },
  };
}

/**
 * Return the text about the active word. `announce`: Announce a text, which follows the keyboard
 * cursor.
 */
function wordReadout(announce: (text: string) => void) {
  let spoken = "";

  function speak(text: string): void {
    if (text !== spoken) announce(text);
    spoken = text;
  }

  return {
    view(
      scene: Scene,
      { word, other, isByKeyboard }: ReturnType<ReturnType<typeof activeWords>["told"]>,
    ) {
      let lines = [scene.answerer.hint, "", ""];
      if (word !== undefined) {
        const texts = wordTexts(scene, word, other);
        lines = [texts.arc, texts.from, texts.to];
        if (isByKeyboard) speak([texts.arc, texts.spoken].filter(Boolean).join("; "));
      }
      const hint = word === undefined ? " attnw-arcs-hint" : "";
      return html`<div class=${`attnw-arcs-readout${hint}`} ?hidden=${!scene.answers}
        >${lines.map((line) => html`<p>${line}</p>`)}</div>`;
    },
    /**
     * Forget the announced text when the keyboard leaves, so that the same word is announced again.
     */
    forget(): void {
      spoken = "";
    },
  };
}

/** Return the message after a search without a result. */
function missed({ left, where = "" }: ArcsState["_jumped"]): string {
  if (!left) return `No other sentence${where} has such a word.`;
  return `None so far: ${counted(left, "sentence")} left, ask again to go on.`;
}

const titleOf = ({ answers, rightness, title }: Scene) =>
  answers ? `${title} · ${rightness}` : "";

/** Return the look of right and wrong arcs, and the meaning of the bars under the words. */
function legendView({ answerer, answers, state }: Scene) {
  const bars = answerer.barsOf(state);
  return html`<p class="attnw-arcs-legend" ?hidden=${!answers}>${answerer.legend.map(
    ([outcome, text]) => html`<span class=${`attnw-${outcome}`}>${SIGNS[outcome]} ${text}</span>`,
  )}<span class="attnw-arcs-shading">${bars && `bars: ${bars}`}</span></p>`;
}

export default () => ({ initialize: initializing<ArcsState>("_drawn"), render });
