import { element } from "../model/dom.js";
import type { HeadsState } from "../model/head_types.js";
import type { RenderContext } from "../model/types.js";
import { join } from "../standalone/joined.js";
import { models } from "../standalone/models.js";
import type { PageData } from "../standalone/page_data.js";
import { revive } from "../standalone/revive.js";

/** Figures in the order of the page, and what each is called. */
const SECTIONS = [
  ["grid", "all heads"],
  ["view", "one head"],
  ["map", "map of heads"],
  ["strip", "metrics of the head"],
  ["table", "relations"],
  ["arcs", "dependency arcs"],
  ["coreference", "coreference"],
] as const;

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
  const all = models(data);
  join(Object.values(all));
  const { signal } = new AbortController();
  const figures = element(main, "div", { class: "attnw-page-figures" });
  for (const [name, label] of SECTIONS) {
    const model = all[name]?.model;
    if (!model) continue;
    const el = element(figures, "section", { "aria-label": label, "data-figure": name });
    const remark = data.remarks[name];
    if (remark) element(el, "p", { class: "attnw-page-remark" }, `${label}, ${remark}`);
    (await widget(name))().render({ model, el, signal });
  }
}

const main = document.querySelector("main");
const source = document.getElementById("attnw-data")?.textContent;
if (main && source) start(main, revive(JSON.parse(source)) as PageData);
