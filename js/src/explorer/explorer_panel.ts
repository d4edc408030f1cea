import { html, nothing } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import type { Model } from "../shared/types.js";
import { type ExplorerState, type Host, type Panel, TITLES } from "./explorer_types.js";

const READ = "read this sentence above";
const RELATIONS = "Measuring how well every head predicts relations …";
const WAITING: Partial<Record<Panel, string>> = {
  head_scatter: "Measuring how differently the heads attend …",
  predictions: "Asking the model …",
  why: "Reading what was kept of queries and keys …",
  card: "Finding out what every head does. Other work goes on …",
  table: RELATIONS,
  arcs: RELATIONS,
};
const RELATED = "How well does every head predict the dependencies between words?";
/** Questions that the buttons of panels without a figure answer. */
const QUESTIONS: Partial<Record<Panel, string>> = {
  card: "What does every head of this model do? The texts of the package tell, with controls.",
  table: RELATED,
  arcs: RELATED,
};

/** State of a panel on the page. */
interface Standing {
  /** Whether the panel is visible. It is drawn when it becomes visible for the first time. */
  open: boolean;
  /** Whether a tab opens the panel. */
  tab: boolean;
  /** Whether the figures still show another text than the requested one. */
  behind: boolean;
}

/**
 * Return one panel: the widget that the model names, drawn when the panel is first opened, or a
 * text in its place.
 */
export function explorerPanel(
  name: Panel,
  model: Model<ExplorerState>,
  host: Host,
  signal: AbortSignal,
  schedule: () => void,
) {
  const id = `attnw-ex-${name}-${Math.random().toString(36).slice(2)}`;
  const slot = createRef<HTMLElement>();
  let mounted: string | null = null;
  let drawn: Promise<void> = Promise.resolve();
  let child = new AbortController();
  let failure = "";
  signal.addEventListener("abort", () => child.abort());

  function act(): void {
    if (name in model.get("_offers")) model.set("_accepted", name);
    else model.set("_sentence_asked", model.get("_sentence_asked") + 1);
    model.save_changes();
  }

  async function mount(reference: string, place: HTMLElement): Promise<void> {
    child = new AbortController();
    const childSignal = child.signal;
    failure = "";
    try {
      const widget = await host.getWidget(reference);
      if (!childSignal.aborted) await widget.render({ el: place, signal: childSignal });
    } catch (error) {
      if (childSignal.aborted) return;
      failure = `This panel could not be drawn: ${error instanceof Error ? error.message : error}`;
      schedule();
    }
  }

  /** Mount the widget of an open panel. The view must have been rendered. */
  function fill(): void {
    const place = slot.value;
    const reference = model.get(name);
    if (!place || reference === mounted) return;
    mounted = reference;
    child.abort();
    place.replaceChildren();
    if (reference !== null) drawn = mount(reference, place);
  }

  function view({ open, tab, behind }: Standing) {
    const reference = model.get(name);
    const measured = model.get("progress")[name];
    const problem = model.get("_problems")[name] ?? failure;
    const offer = problem ? undefined : model.get("_offers")[name];
    const waits = measured !== undefined || behind;
    const share = measured ? Math.round(100 * measured) : undefined;
    const waiting = reference === null && measured !== undefined && WAITING[name];
    const text = problem || waiting || (offer && reference === null && QUESTIONS[name]) || "";
    const action = offer ?? (name === "arcs" && reference !== null ? READ : undefined);
    const isStale = waits || Boolean(problem);
    return html`<section class="attnw-ex-panel" id=${id}
      data-panel=${name} aria-label=${TITLES[name]} role=${tab ? "tabpanel" : nothing}
      tabindex=${tab ? 0 : nothing} ?hidden=${!open}>
      <div class=${`attnw-ex-share ${share === undefined ? "attnw-progress" : ""}`}
        role="progressbar" aria-label="measuring" aria-valuenow=${share ?? nothing}
        ?hidden=${!waits}><div .style=${share === undefined ? "" : `width: ${share}%`}></div></div>
      <p class=${`attnw-ex-say ${problem ? "attnw-problem" : ""}`} ?hidden=${!text}>${text}</p>
      <button type="button" class="attnw-ex-act" ?hidden=${action === undefined} @click=${act}
        >${action ?? ""}</button>
      <div class=${`attnw-ex-slot ${isStale ? "attnw-ex-stale" : ""}`} aria-busy=${waits}
        ?hidden=${reference === null} ${ref(slot)}></div>
    </section>`;
  }

  return { id, name, view, fill, drawn: () => drawn };
}
