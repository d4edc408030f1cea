import { element } from "../shared/dom.js";
import type { HeadsState } from "../shared/head_types.js";
import type { RenderContext } from "../shared/types.js";
import { link } from "./link.js";
import { models } from "./models.js";
import type { PageData } from "./page_data.js";
import { embedded } from "./revive.js";

type Widget = () => { render(context: RenderContext<HeadsState>): void };

/** A widget's module, from the text that the page carries: the same one that a notebook gets. */
async function widget(name: string): Promise<Widget> {
  const text = document.getElementById(`attnw-${name}`)?.textContent ?? "";
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const { default: made } = await import(url);
  URL.revokeObjectURL(url);
  return made;
}

async function start(main: HTMLElement, data: PageData): Promise<void> {
  const linked = models(data);
  link(linked);
  const { signal } = new AbortController();
  const figures = element(main, "div", { class: "attnw-page-figures" });
  for (const [index, { name, label, remark }] of data.figures.entries()) {
    const model = linked[index]?.model;
    if (!model) continue;
    const el = element(figures, "section", { "aria-label": label, "data-figure": name });
    if (remark) element(el, "p", { class: "attnw-page-remark" }, `${label}, ${remark}`);
    (await widget(name))().render({ model, el, signal });
  }
}

const main = document.querySelector("main");
const source = document.getElementById("attnw-data")?.textContent;
if (main && source) start(main, embedded(JSON.parse(source)) as PageData);
