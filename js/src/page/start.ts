import { element } from "../shared/dom.js";
import type { HeadsState } from "../shared/head_types.js";
import { sentenceOf } from "../shared/page/damage.js";
import type { PageFigure } from "../shared/page/page_data.js";
import type { RenderContext } from "../shared/types.js";
import { checkedFigure, checkedHeld, parsedPage } from "./checked_data.js";
import { answerLocks, type Host, hostOf, namesInside } from "./figures_inside.js";
import { type Linked, link, pageModel } from "./linked_models.js";

type Context = RenderContext<HeadsState> & { host?: Host };
type Widget = () => { render(context: Context): void };

/** Return the figures whose scripts are on the page, by name. These scripts run before this one. */
const widgets = (): Record<string, Widget> =>
  (globalThis as { attnwFigures?: Record<string, Widget> }).attnwFigures ?? {};

/** Show a sentence instead of something that cannot be shown. */
const say = (place: HTMLElement, error: unknown) =>
  element(place, "p", { role: "alert", class: "attnw-page-alert" }, sentenceOf(error));

interface PlacedFigure {
  /** Section of the figure; null if it is in a panel of another figure. */
  section: HTMLElement | null;
  figure: PageFigure;
  linked: Linked;
}

/**
 * Create the figures whose data is valid, each in its section. The section of any other figure
 * tells what is wrong.
 */
function place(parent: HTMLElement, source: string): PlacedFigure[] {
  const { figures, held: stored } = parsedPage(source);
  const held = checkedHeld(stored);
  const placed: PlacedFigure[] = [];
  const inside = namesInside(figures.filter((data): data is PageFigure => Boolean(data)));
  for (const data of figures) {
    const isInside = inside.has((data as PageFigure | null)?.name ?? "");
    const section = isInside ? null : element(parent, "section");
    try {
      const figure = checkedFigure(data, (name) => Object.hasOwn(widgets(), name));
      const { label, name, remark } = figure;
      if (section) {
        section.ariaLabel = label;
        section.dataset.figure = name;
        if (remark) element(section, "p", { class: "attnw-page-remark" }, `${label}, ${remark}`);
      }
      placed.push({ section, figure, linked: pageModel(figure, held) });
    } catch (error) {
      // A panel without its figure shows its own error.
      if (section) say(section, error);
    }
  }
  return placed;
}

/** In a frame, hide the heading and tell the surrounding page the height of the figures. */
function fitFrame(main: HTMLElement): void {
  if (window === window.parent) return;
  document.documentElement.dataset.framed = "";
  const tell = () => {
    const attnwHeight = Math.ceil(main.getBoundingClientRect().height);
    window.parent.postMessage({ attnwHeight }, "*");
  };
  new ResizeObserver(tell).observe(main);
}

function start(main: HTMLElement, source: string): void {
  const parent = element(main, "div", { class: "attnw-page-figures" });
  // Errors in event handlers belong to no figure, so show one sentence above all figures.
  const fail = (event: Event) => {
    event.preventDefault();
    if (!parent.querySelector("[role=alert]:not([hidden])"))
      parent.prepend(say(parent, event instanceof ErrorEvent ? event.error : undefined));
  };
  addEventListener("error", fail);
  addEventListener("unhandledrejection", fail);
  let placed: PlacedFigure[] = [];
  try {
    placed = place(parent, source);
  } catch (error) {
    say(parent, error);
  }
  link(placed.map(({ linked }) => linked));
  answerLocks(placed);
  const { signal } = new AbortController();
  const draw = (name: string, context: Context) => widgets()[name]?.().render(context);
  const host = hostOf(placed, draw);
  for (const { section, figure, linked } of placed)
    try {
      if (section) draw(figure.name, { model: linked.model, el: section, signal, host });
    } catch (error) {
      section?.replaceChildren();
      if (section) say(section, error);
    }
}

const main = document.querySelector("main");
if (main) {
  start(main, document.getElementById("attnw-data")?.textContent ?? "");
  fitFrame(main);
}
