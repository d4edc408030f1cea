import { html, nothing } from "lit-html";
import { guard } from "lit-html/directives/guard.js";
import { createRef, ref } from "lit-html/directives/ref.js";
import { barView } from "../shared/color_bar_view.js";
import { captioned } from "../shared/save_menu.js";
import type { Head } from "../shared/types.js";
import { barOf, differenceBarOf } from "./color_bars.js";
import { linesFigure } from "./lines/lines_figure.js";
import type { LineRange } from "./lines/lines_focus.js";
import { matrixFigure } from "./matrix/matrix_figure.js";
import { placesFigure } from "./places/places_figure.js";
import { ASIDE, type Scene } from "./scene.js";
import type { Several } from "./several/several.js";
import { besideFigure } from "./several/side_by_side_figure.js";
import { barsOfTwo, DIFFERENCE, differenceScale } from "./several/two_maps.js";
import type { Target } from "./source/target.js";
import type { ViewState } from "./state.js";
import { type Listed, legendOf } from "./view_text.js";

/** Estimated width and line height of the readout of one head. */
const READ_WIDTH = 150;
const READ_LINE = 16;
export const HINT = "Point at a token for its values, click to lock it.";
/** Hint for a figure that can be zoomed. */
export const ZOOM_HINT =
  "Point at a cell for its weight, click to lock it, + and − zoom, drag to move; m shows lines.";
/** Return the hint for a picture or a sound. */
export const placesHint = ({ _media }: Pick<ViewState, "_media">): string => {
  const part = _media?.pictures.length ? "patch" : "time";
  return `Point at a ${part} or a token for its row, click to lock it; x turns to who looks there.`;
};

/** Targets with their weights, under a heading. */
interface Listing {
  of: string;
  listed: Listed[];
}

/** Return weights under their heading, as buttons that go to their cells. */
function targetList(listing: Listing | undefined, go: (target: Target) => void) {
  const item = ({ label, weight, target }: Listed) =>
    html`<li><button type="button" class="attnw-strongest-go"
      aria-label=${`go to ${label}, ${weight}`} @click=${() => go(target)}
      ><span>${label}</span><span class="attnw-strongest-weight">${weight}</span></button></li>`;
  return html`<div class="attnw-strongest" ?hidden=${!listing}>
    <p class="attnw-strongest-of">${listing?.of}</p>
    <ol>${listing?.listed.map(item) ?? nothing}</ol>
  </div>`;
}

/** Create the figures of a view, of which one is visible. */
export function viewFigures(
  document: Document,
  signal: AbortSignal,
  onlyThis: (head: Head) => void,
) {
  const apart = document.createDocumentFragment();
  const figures = {
    lines: linesFigure(apart),
    matrix: matrixFigure(apart),
    places: placesFigure(apart),
    beside: besideFigure(apart, signal, onlyThis),
  };
  for (const { element } of Object.values(figures)) {
    element.tabIndex = 0;
    element.setAttribute("role", "group");
    element.setAttribute("aria-roledescription", "attention map");
  }
  return figures;
}

/** Return the color bars of the weights and of their differences. */
export function legendView(scene: Scene, range: LineRange, quantity: string) {
  const { theme, map } = scene;
  const { texts, words } = legendOf(scene, range, quantity);
  const { ofMaps, ofDifference } = barsOfTwo(scene);
  const difference = ofDifference && differenceScale(map, quantity).texts;
  return html`<div class="attnw-legend" ?hidden=${!ofMaps}>
      ${barView(theme, texts, barOf(scene))}<span>${words}</span>
    </div>
    <div class="attnw-legend" ?hidden=${!ofDifference}>
      ${difference && barView(theme, difference, differenceBarOf(scene))}
      <span>${DIFFERENCE}</span>
    </div>`;
}

/** Content next to or under the figure, and the state of the figure. */
export interface BodyState {
  hidden: boolean;
  /** Whether legend and caption are next to the figure. */
  wide: boolean;
  several: Several | undefined;
  /** Whether values are still missing. */
  busy: boolean;
  /** Height reserved while a head is previewed, so that the page below does not move. */
  held: number;
  readout: string;
  /** Hint below a readout that is never empty. */
  hint: string;
  /** Text of the button that plays a part of a sound; "" if there is none. */
  play: string;
  strongest: Listing | undefined;
  links: Listing | undefined;
  legend: unknown;
  second: string;
  caption: string;
  minimap: boolean;
  curve: boolean;
}

/** Callbacks of the body of a view. */
interface BodyActions {
  go(target: Target): void;
  /** Play the sound of the selected token. */
  play(): void;
  goTo(target: Target): void;
  minimapped(event: PointerEvent): void;
  curveClicked(event: MouseEvent): void;
}

/**
 * Return the figure with the parts next to or under it: the values under the pointer, the minimap,
 * the color bar and the caption.
 */
export function viewBody(
  figures: ReturnType<typeof viewFigures>,
  saveButton: HTMLElement,
  on: BodyActions,
) {
  const plate = createRef<HTMLElement>();
  const minimap = createRef<HTMLCanvasElement>();
  const curve = createRef<HTMLCanvasElement>();
  const elements = Object.values(figures).map(({ element }) => element);

  function view(of: BodyState, width: number) {
    // The readout of many heads is long, so reserve its height: the page below must not move with
    // the pointer.
    const read = (of.several?.heads.length ?? 0) * READ_WIDTH;
    const lines = Math.ceil(read / (of.wide ? ASIDE : width));
    return html`<div class=${of.wide ? "attnw-view-body attnw-wide" : "attnw-view-body"}
      ?hidden=${of.hidden}>
      <div class=${of.busy ? "attnw-plate attnw-drawn attnw-busy" : "attnw-plate attnw-drawn"}
        aria-busy=${of.busy} .style=${of.held ? `min-height: ${of.held}px` : ""} ${ref(plate)}>
        <div class="attnw-progress" ?hidden=${!of.busy}></div>
        ${elements}
        <canvas class="attnw-curve" aria-hidden="true" ?hidden=${!of.curve}
          @click=${on.curveClicked} ${ref(curve)}></canvas>
      </div>
      <div class="attnw-aside">
        <p class="attnw-readout" .style=${lines > 1 ? `min-height: ${READ_LINE * lines}px` : ""}
          >${of.readout}</p>
        <p class="attnw-view-note" ?hidden=${!of.hint}>${of.hint}</p>
        <button type="button" class="attnw-play" ?hidden=${!of.play} @click=${on.play}
          ><span aria-hidden="true">▶ </span>${of.play}</button>
        <canvas class="attnw-minimap" aria-hidden="true" ?hidden=${!of.minimap}
          @pointerdown=${on.minimapped} @pointermove=${on.minimapped} ${ref(minimap)}></canvas>
        <div>${guard([of.strongest], () => targetList(of.strongest, on.go))}</div>
        <div class="attnw-links">${guard([of.links], () => targetList(of.links, on.goTo))}</div>
        ${of.legend ?? nothing}
        <p class="attnw-second">${of.second}</p>
        ${captioned(saveButton, html`<p class="attnw-caption" data-caption>${of.caption}</p>`)}
      </div>
    </div>`;
  }
  return {
    view,
    minimap: () => minimap.value,
    curve: () => curve.value,
    plateHeight: () => plate.value?.offsetHeight ?? 0,
  };
}
