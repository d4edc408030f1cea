import { diverging } from "../shared/colour.js";
import { barTexts, colourBar } from "../shared/colour_bar.js";
import { rampTo } from "../shared/colour_levels.js";
import { element } from "../shared/dom.js";
import { printValue, symbolOf } from "../shared/quantity.js";
import type { Head } from "../shared/types.js";
import { tooltip } from "./aside/tooltip.js";
import { linesFigure } from "./lines/lines_figure.js";
import type { Range } from "./lines/lines_focus.js";
import { matrixFigure } from "./matrix/matrix_figure.js";
import { ASIDE, roomFor, type Scene } from "./scene.js";
import { chipRow } from "./several/chips.js";
import type { Several } from "./several/several.js";
import { besideFigure } from "./several/side_by_side_figure.js";
import { DIFFERENCE, differenceScale } from "./several/two_maps.js";

const UNATTACHED = 640;
/** About the time to read the text of a head. */
const READ_WIDTH = 150;
const READ_LINE = 16;
const HINT = "Point at a token for its values, click to lock it.";
/** Of what is zoomed: how, and how to get lines. */
export const ZOOM_HINT =
  "Point at a cell for its weight, click to lock it, + and − zoom, drag to move; m shows lines.";

/** Prints the ends of a colour bar. */
export const barPrint = ({ map, print }: Scene, quantity: string) =>
  map.tiles ? print : printValue(quantity);

/**
 * The figure with what stands beside or under it: the values pointed at, the colour bar, the
 * caption.
 */
export function viewBody(
  parent: HTMLElement,
  signal: AbortSignal,
  choose: (head: Head, alone: boolean) => void,
) {
  const message = element(parent, "p", { class: "attnw-message", hidden: true });
  const chips = chipRow(parent, signal, choose);
  const body = element(parent, "div", { class: "attnw-view-body" });
  const plate = element(body, "div", { class: "attnw-plate attnw-drawn" });
  const progress = element(plate, "div", { class: "attnw-progress", hidden: true });
  const figures = {
    lines: linesFigure(plate),
    matrix: matrixFigure(plate),
    beside: besideFigure(plate, signal, (head) => choose(head, true)),
  };
  for (const figure of Object.values(figures)) {
    figure.element.tabIndex = 0;
    figure.element.setAttribute("role", "group");
    figure.element.setAttribute("aria-roledescription", "attention map");
  }
  const canvas = (name: string, at: HTMLElement) =>
    element(at, "canvas", { class: name, "aria-hidden": "true", hidden: true });
  const curve = canvas("attnw-curve", plate);
  const aside = element(body, "div", { class: "attnw-aside" });
  const readout = element(aside, "p", { class: "attnw-readout" });
  const minimap = canvas("attnw-minimap", aside);
  const listing = element(aside, "div");
  const links = element(aside, "div", { class: "attnw-links" });
  const legend = element(aside, "div", { class: "attnw-legend" });
  const bar = colourBar(legend);
  const inUse = element(legend, "span");
  const difference = element(aside, "div", { class: "attnw-legend", hidden: true });
  const signedBar = colourBar(difference);
  element(difference, "span", {}, DIFFERENCE);
  const second = element(aside, "p", { class: "attnw-second" });
  const caption = element(aside, "p", { class: "attnw-caption", "data-caption": "" });
  const live = element(parent, "div", { class: "attnw-unseen", "aria-live": "polite" });
  const point = tooltip(parent);

  const setText = (node: HTMLElement, text: string) => {
    if (node.textContent !== text) node.textContent = text;
  };
  return {
    plate,
    figures,
    chips,
    /** What is listed of a locked token, and of a map that is not read cell by cell. */
    listing,
    links,
    /** All of a zoomed map, and all of a locked query's weights. */
    minimap,
    curve,
    /** Put legend and caption beside or under the figure; returns the width left for it. */
    arrange(several: Several | undefined): number {
      const width = parent.clientWidth || UNATTACHED;
      const room = roomFor(width, several);
      body.classList.toggle("attnw-wide", room < width);
      // The text of many heads is long: keep the page below it still while the pointer moves.
      const lines = Math.ceil(
        ((several?.heads.length ?? 0) * READ_WIDTH) / (room < width ? ASIDE : width),
      );
      readout.style.minHeight = lines > 1 ? `${READ_LINE * lines}px` : "";
      return room;
    },
    /** A sentence in the figure's place; none shows the figure. */
    say(sentence: string): void {
      message.hidden = !sentence;
      body.hidden = Boolean(sentence);
      setText(message, sentence);
    },
    setBusy(busy: boolean): void {
      progress.hidden = !busy;
      plate.classList.toggle("attnw-busy", busy);
      plate.setAttribute("aria-busy", String(busy));
    },
    /** Keep the height while a head is previewed, so that the page below does not move. */
    hold(still: boolean): void {
      plate.style.minHeight = still ? `${plate.offsetHeight}px` : "";
    },
    read: (text: string, hint = HINT) => setText(readout, text || hint),
    announce: (text: string) => setText(live, text),
    setCaption: (text: string) => setText(caption, text),
    setHighlight: (text: string) => setText(second, text),
    setLegend(scene: Scene, { maximum, of }: Range, quantity: string): void {
      const { theme, state, colours, several } = scene;
      difference.hidden = !several?.names;
      if (several?.names)
        signedBar(theme, differenceScale(scene.map, quantity).texts, diverging(theme));
      bar(
        theme,
        barTexts(state.scale, maximum, barPrint(scene, quantity)),
        colours && rampTo(theme, theme.text),
      );
      setText(inUse, [symbolOf(quantity), state.scale, of].filter(Boolean).join(" · "));
    },
    point,
  };
}
