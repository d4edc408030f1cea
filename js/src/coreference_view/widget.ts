import { html } from "lit-html";
import { captionText } from "../shared/caption.js";
import { choice } from "../shared/controls.js";
import { withControls } from "../shared/figure_controls.js";
import { inLine } from "../shared/in_line.js";
import { initializing } from "../shared/initialize.js";
import { type Look, mount } from "../shared/mount.js";
import { painted } from "../shared/painted.js";
import { fresh } from "../shared/pen.js";
import { captioned } from "../shared/save_menu.js";
import { save, snapshot } from "../shared/snapshot.js";
import { framedText } from "../shared/text_frame.js";
import type { RenderContext } from "../shared/types.js";
import { SIGNS } from "../shared/verdict.js";
import { asideOf, LEGEND, paintSample, SAMPLE_HEIGHT, sampleWidth } from "./passage.js";
import { passageFigure } from "./passage_figure.js";
import {
  type CoreferenceState,
  captionOf,
  type Mention,
  mentionLabel,
  type ReadoutLine,
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
  const { model } = context;
  const mounted = withControls(
    mount(context, "coref", WATCHED, {
      update,
      view,
      paint,
      keys: (event): boolean => frame.key(event),
    }),
    context.signal,
  );
  const frame = framedText(mounted, context, {
    name: "coref",
    variable: "view",
    keys: KEYS,
    letGo,
    places: ["document", "window"],
    sought: ["mention", "for which the head"],
    counts: () => [model.get("_source").count, model.get("_drawn")?.windows ?? 1],
    missed: ({ where = "" }) => `There is no other such mention${where}.`,
    letters: {
      v: () =>
        save(model, { variant: VARIANTS.find((variant) => variant !== model.get("variant")) }),
    },
    move: ({ target, key }) => figure.contains(target) && step(key),
  });
  const figure = passageFigure(ask);

  /** Current scene, or the previous text while the kernel has not answered yet. */
  let scene: Scene | undefined;
  let isWide = false;
  /** Whether the new scene has not been scrolled into view yet. */
  let isNew = false;
  /** Mention to which the figure has scrolled, after a jump or a change by the kernel. */
  let revealed: number | null | undefined;

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
    const isBusy = frame.isBusy();
    if (!isBusy) scene = sceneOf(snapshot(model, WATCHED)) ?? scene;
    if (!scene) return;
    const at = figure.arrange(scene, look);
    isWide = asideOf(at, look.width) !== null;
    isNew = !isBusy;
    const title = titleOf(scene);
    frame.hear(sentence(readout(scene)) || `document ${scene.drawn.document}: ${title}`);
  }

  function view(look: Look): unknown {
    const variant = choice<Variant>({
      name: "choose among",
      place: "bar",
      values: VARIANTS,
      value: model.get("variant"),
      change: (variant) => save(model, { variant }),
      print: (variant) => `${variant === "words" ? "all" : "preceding"} ${variant}`,
    });
    return frame.view({
      title: scene ? titleOf(scene) : "",
      controls: [variant],
      body: scene && html`${figure.view(scene, look)}${asideView(scene, look)}`,
      bodyClass: isWide ? "attnw-coref-wide" : "",
    });
  }

  function asideView(shown: Scene, look: Look) {
    return html`<div class="attnw-coref-aside">
      ${readoutView(readout(shown))}${legendView(look)}
      ${captioned(
        mounted.save,
        html`<p class="attnw-coref-caption" data-caption>${captionText(captionOf(shown))}</p>`,
      )}
    </div>`;
  }

  function paint(look: Look): void {
    if (!scene) return;
    figure.paint(scene, look);
    if (isNew) reveal(scene.state.mention);
    isNew = false;
  }

  function reveal(mention: number | null): void {
    const isOther = revealed !== undefined && mention !== revealed;
    revealed = mention;
    if (mention === null || !isOther) return;
    if (figure.focused() === undefined) figure.reveal(mention);
    else focus(mention);
  }

  function focus(mention: number): void {
    figure.focus(mention);
    mounted.schedule();
  }

  function step(key: string): boolean {
    const target =
      scene && mentionAfter(scene.asked, figure.focused() ?? model.get("mention"), key);
    if (!target || !scene) return false;
    frame.announce(mentionLabel(scene, target));
    focus(target.mention);
    return true;
  }
}

/** Return the mention that a key moves to. Up and down stay within a cluster. */
function mentionAfter(
  asked: readonly Mention[],
  from: number | null,
  key: string,
): Mention | undefined {
  const at = asked.findIndex(({ mention }) => mention === from);
  const same = ({ cluster }: Mention) => cluster === asked[at]?.cluster;
  return {
    ArrowLeft: asked[Math.max(0, at - 1)],
    ArrowRight: asked[Math.min(asked.length - 1, at + 1)],
    ArrowUp: asked.slice(0, Math.max(0, at)).filter(same).at(-1) ?? asked[at],
    ArrowDown: asked.slice(at + 1).find(same) ?? asked[at],
    Home: asked[0],
    End: asked.at(-1),
  }[key];
}

const titleOf = (scene: Scene) => inLine(titleParts(scene));

/** Return the choices for the mention. */
function readoutView(lines: ReadoutLine[]) {
  return html`<div class="attnw-coref-readout">
    ${lines.length ? "" : html`<p class="attnw-muted">${HINT}</p>`}
    <dl>${lines.map(({ label, text, outcome }) => {
      const mark =
        outcome &&
        html`<span class=${`attnw-${outcome}`} aria-hidden="true">${SIGNS[outcome]} </span>`;
      return html`<div><dt>${label}</dt><dd>${mark}${text}</dd></div>`;
    })}</dl>
  </div>`;
}

/** Return samples of the marks with their meaning. */
function legendView({ theme, density }: Look) {
  return html`<p class="attnw-coref-legend">${LEGEND.map(([kind, text]) => {
    const paint = (canvas: HTMLCanvasElement) => {
      const pen = fresh(canvas, sampleWidth(kind), SAMPLE_HEIGHT);
      if (pen) paintSample(pen, theme, kind);
    };
    return html`<span><canvas class="attnw-icon" aria-hidden="true" ?hidden=${!kind}
      ${painted(paint, theme, density)}></canvas>${text}</span>`;
  })}</p>`;
}

export default () => ({ initialize: initializing<CoreferenceState>("_drawn"), render });
