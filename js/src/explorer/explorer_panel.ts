import { element } from "../shared/dom.js";
import type { Model } from "../shared/types.js";
import { type ExplorerState, type Host, type Panel, TITLES } from "./explorer_types.js";

const RELATIONS = "Measuring how well every head predicts relations …";
const WAITING: Partial<Record<Panel, string>> = {
  lens: "Reading what every head does for a word …",
  head_map: "Measuring how differently the heads attend …",
  strip: "Measuring the heads on this text …",
  predictions: "Asking the model …",
  table: RELATIONS,
  arcs: RELATIONS,
};
const WHY = "How well does every head predict the dependencies between words?";
const OF_TREEBANK: Panel[] = ["table", "arcs"];

/** How a panel stands on the page. */
export interface Standing {
  /** Whether it is in sight; it is drawn when it is for the first time. */
  open: boolean;
  /** Whether a tab of a list opens it. */
  tab: boolean;
  /** Whether the panel takes the height of its neighbour. */
  fills: boolean;
  /** Whether the figures still show another text than the one asked for. */
  behind: boolean;
}

/**
 * One panel: the widget that the model names, drawn when first opened, and what is said in its
 * place.
 */
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
    id,
    "aria-label": TITLES[name],
  });
  const line = element(root, "div", {
    class: "attnw-ex-share",
    role: "progressbar",
    "aria-label": "measuring",
    hidden: true,
  });
  const share = element(line, "div");
  const heading =
    name === "grid" ? element(root, "p", { class: "attnw-ex-heading" }, "All heads") : undefined;
  const size = heading && element(heading, "span");
  const say = element(root, "p", { class: "attnw-ex-say", hidden: true });
  const act = element(root, "button", { type: "button", class: "attnw-ex-act", hidden: true });
  const slot = element(root, "div", { class: "attnw-ex-slot" });

  let mounted: string | null = null;
  let drawn: Promise<void> = Promise.resolve();
  let child = new AbortController();
  let failure = "";
  let last: Standing = { open: false, tab: false, fills: false, behind: false };
  signal.addEventListener("abort", () => child.abort());

  act.addEventListener(
    "click",
    () => {
      if (model.get(name) === null) model.set("_accepted", true);
      else model.set("_sentence_asked", model.get("_sentence_asked") + 1);
      model.save_changes();
    },
    { signal },
  );

  async function mount(reference: string): Promise<void> {
    child.abort();
    child = new AbortController();
    const childSignal = child.signal;
    slot.replaceChildren();
    failure = "";
    try {
      const widget = await host.getWidget(reference);
      if (!childSignal.aborted) await widget.render({ el: slot, signal: childSignal });
    } catch (error) {
      if (childSignal.aborted) return;
      failure = `This panel could not be drawn: ${error instanceof Error ? error.message : error}`;
      update(last);
    }
  }

  function update(standing: Standing): void {
    last = standing;
    const { open, tab, fills, behind } = standing;
    const reference = model.get(name);
    const measured = model.get("progress")[name];
    const problem = model.get("_problems")[name] ?? failure;
    const offered =
      reference === null && OF_TREEBANK.includes(name) && measured === undefined && !problem;
    root.hidden = !open;
    for (const [attribute, value] of [
      ["role", "tabpanel"],
      ["tabindex", "0"],
    ] as const)
      if (tab) root.setAttribute(attribute, value);
      else root.removeAttribute(attribute);
    root.classList.toggle("attnw-ex-fills", fills);
    if (open && reference !== mounted) {
      mounted = reference;
      if (reference !== null) drawn = mount(reference);
      else {
        child.abort();
        slot.replaceChildren();
      }
    }
    const [stack, another] = model.get("_stacks");
    if (size)
      size.textContent =
        !stack || another
          ? ""
          : `${stack.n_layers} layers of ${stack.n_heads} heads: click one to see it`;
    const waits = measured !== undefined || behind;
    line.hidden = !waits;
    line.className = measured ? "attnw-ex-share" : "attnw-ex-share attnw-progress";
    share.style.width = measured ? `${Math.round(100 * measured)}%` : "";
    if (measured) line.setAttribute("aria-valuenow", String(Math.round(100 * measured)));
    else line.removeAttribute("aria-valuenow");
    const waiting = reference === null && measured !== undefined && WAITING[name];
    const text = problem || waiting || (offered && WHY) || "";
    say.hidden = !text;
    if (say.textContent !== text) say.textContent = text;
    act.hidden = !offered && !(name === "arcs" && reference !== null);
    act.textContent = act.hidden ? "" : offered ? model.get("_offer") : "read this sentence above";
    slot.hidden = reference === null;
    slot.classList.toggle("attnw-ex-stale", waits || Boolean(problem));
    slot.setAttribute("aria-busy", String(waits));
  }

  return { id, name, element: root, update, drawn: () => drawn };
}
