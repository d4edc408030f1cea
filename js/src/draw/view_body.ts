import { element } from "../model/dom.js";
import type { Theme } from "../model/theme.js";
import type { Scale } from "../model/types.js";
import { drawColourBar } from "./colour_bar.js";
import { linesFigure } from "./lines_figure.js";
import { matrixFigure } from "./matrix_figure.js";
import { printValue, symbolOf } from "./quantity.js";

/** From this width on the legend stands beside the figure. */
const WIDE = 840;
const ASIDE = 224 + 24;
const UNATTACHED = 640;
const HINT = "Point at a token for its values, click to lock it.";

/** The figure with what stands beside or under it: the values pointed at, the colour bar, the caption. */
export function viewBody(parent: HTMLElement) {
  const message = element(parent, "p", { class: "attnw-message", hidden: true });
  const body = element(parent, "div", { class: "attnw-view-body" });
  const plate = element(body, "div", { class: "attnw-plate" });
  const progress = element(plate, "div", { class: "attnw-progress", hidden: true });
  const figures = { lines: linesFigure(plate), matrix: matrixFigure(plate) };
  for (const figure of Object.values(figures)) {
    figure.element.tabIndex = 0;
    figure.element.setAttribute("role", "group");
    figure.element.setAttribute("aria-roledescription", "attention map");
  }
  const aside = element(body, "div", { class: "attnw-aside" });
  const readout = element(aside, "p", { class: "attnw-readout" });
  const legend = element(aside, "div", { class: "attnw-legend" });
  const bar = element(legend, "div", { class: "attnw-bar" });
  const strip = element(bar, "canvas", { "aria-hidden": "true" });
  const ends = [element(bar, "span"), element(bar, "span"), element(bar, "span")];
  const inUse = element(legend, "span");
  const second = element(aside, "p", { class: "attnw-second" });
  const caption = element(aside, "p", { class: "attnw-caption" });
  const live = element(parent, "div", { class: "attnw-unseen", "aria-live": "polite" });
  const tooltip = element(parent, "div", { class: "attnw-tooltip", "aria-hidden": "true" });
  tooltip.hidden = true;

  const setText = (node: HTMLElement, text: string) => {
    if (node.textContent !== text) node.textContent = text;
  };
  return {
    plate,
    figures,
    /** Put legend and caption beside or under the figure; returns the width left for it. */
    arrange(): number {
      const width = parent.clientWidth || UNATTACHED;
      body.classList.toggle("attnw-wide", width >= WIDE);
      return width >= WIDE ? width - ASIDE : width;
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
    read: (text: string) => setText(readout, text || HINT),
    announce: (text: string) => setText(live, text),
    setCaption: (text: string) => setText(caption, text),
    setHighlight: (text: string) => setText(second, text),
    setLegend(theme: Theme, scale: Scale, maximum: number, quantity: string): void {
      const texts = drawColourBar(strip, theme, scale, maximum, printValue(quantity));
      for (const [i, node] of ends.entries()) setText(node, texts[i] ?? "");
      setText(inUse, [symbolOf(quantity), scale, "this head"].filter(Boolean).join(" · "));
    },
    /** Text beside a point of the page, kept inside the widget. */
    point(text: string, clientX: number, clientY: number): void {
      tooltip.hidden = !text;
      if (!text) return;
      setText(tooltip, text);
      const { left, top } = parent.getBoundingClientRect();
      const most = parent.clientWidth - tooltip.offsetWidth - 4;
      const x = Math.max(4, Math.min(clientX - left + 12, most));
      tooltip.style.transform = `translate(${x}px, ${clientY - top + 16}px)`;
    },
  };
}
