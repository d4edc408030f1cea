import { element } from "../model/dom.js";
import type { ExplorerState, Host, Panel } from "../model/explorer_types.js";
import type { Model } from "../model/types.js";

const TITLES: Record<Panel, string> = {
  grid: "All heads",
  view: "One head",
  head_map: "Map of heads",
  strip: "The head among all",
  table: "Relations",
  arcs: "Dependency arcs",
};
const WAITING: Partial<Record<Panel, string>> = {
  head_map: "Measuring how differently the heads attend …",
  strip: "Measuring the heads on this text …",
  table: "Measuring how well every head predicts relations …",
  arcs: "Measuring how well every head predicts relations …",
};

/** One panel: a header that folds it, and the widget that the model names, drawn when first unfolded. */
export function explorerPanel(
  parent: HTMLElement,
  name: Panel,
  model: Model<ExplorerState>,
  host: Host,
  signal: AbortSignal,
) {
  const id = `attnw-ex-${name}-${Math.random().toString(36).slice(2)}`;
  const root = element(parent, "section", {
    class: "attnw-ex-panel",
    "data-panel": name,
    "aria-label": TITLES[name],
  });
  const head = element(root, "div", { class: "attnw-ex-head" });
  const fold = element(head, "button", { type: "button", class: "attnw-ex-fold" });
  const arrow = element(fold, "span", { class: "attnw-ex-arrow", "aria-hidden": "true" });
  fold.append(TITLES[name]);
  fold.setAttribute("aria-controls", id);
  const note = element(head, "span", { class: "attnw-ex-note" });
  const body = element(root, "div", { class: "attnw-ex-body", id });
  const line = element(body, "div", {
    class: "attnw-ex-line",
    role: "progressbar",
    "aria-label": "measuring",
    hidden: true,
  });
  const share = element(line, "div");
  const say = element(body, "p", { class: "attnw-ex-say", hidden: true });
  const slot = element(body, "div", { class: "attnw-ex-slot" });

  let mounted: string | null = null;
  let drawn: Promise<void> = Promise.resolve();
  let child = new AbortController();
  let failure = "";
  signal.addEventListener("abort", () => child.abort());

  fold.addEventListener(
    "click",
    () => {
      const open = model.get("panels");
      model.set(
        "panels",
        open.includes(name) ? open.filter((other) => other !== name) : [...open, name],
      );
      model.save_changes();
    },
    { signal },
  );

  async function mount(reference: string): Promise<void> {
    child.abort();
    child = new AbortController();
    const own = child.signal;
    slot.replaceChildren();
    failure = "";
    try {
      const widget = await host.getWidget(reference);
      if (!own.aborted) await widget.render({ el: slot, signal: own });
    } catch (error) {
      if (own.aborted) return;
      failure = `This panel could not be drawn: ${error instanceof Error ? error.message : error}`;
      update(false);
    }
  }

  /** `behind`: the figures still show another text than the one asked for. */
  function update(behind: boolean): void {
    const reference = model.get(name);
    const measured = model.get("progress")[name];
    const problem = model.get("_problems")[name] ?? failure;
    const open = model.get("panels").includes(name);
    root.hidden = reference === null && measured === undefined && !problem;
    root.classList.toggle("attnw-ex-folded", !open);
    fold.setAttribute("aria-expanded", String(open));
    arrow.textContent = open ? "▾" : "▸";
    note.textContent = model.get("_notes")[name] ?? "";
    body.hidden = !open;
    if (open && reference !== mounted) {
      mounted = reference;
      if (reference !== null) drawn = mount(reference);
      else {
        child.abort();
        slot.replaceChildren();
      }
    }
    const waits = measured !== undefined || behind;
    line.hidden = !waits;
    line.className = measured ? "attnw-ex-line attnw-ex-share" : "attnw-ex-line attnw-progress";
    share.style.width = measured ? `${Math.round(100 * measured)}%` : "";
    if (measured) line.setAttribute("aria-valuenow", String(Math.round(100 * measured)));
    else line.removeAttribute("aria-valuenow");
    const text = problem || (reference === null && measured !== undefined && WAITING[name]) || "";
    say.hidden = !text;
    if (say.textContent !== text) say.textContent = text;
    slot.hidden = Boolean(problem) && reference === null;
    slot.classList.toggle("attnw-ex-stale", waits || Boolean(problem));
    slot.setAttribute("aria-busy", String(waits));
  }

  return { update, drawn: () => drawn };
}
