import { html, nothing } from "lit-html";
import { type Look, mount } from "../shared/mount.js";
import { onPeek, type Peeked } from "../shared/peek.js";
import { onPointed, type Pointed, pointOut } from "../shared/pointed.js";
import { releasing } from "../shared/release.js";
import { selectHeads, switchedOff } from "../shared/selection.js";
import { save as saveTraits, snapshot } from "../shared/snapshot.js";
import { type Head, SPECIALS } from "../shared/types.js";
import { answersView } from "./answers_view.js";
import {
  gridHeight,
  groupsFor,
  leftWidth,
  PLANS,
  type Plan,
  planFor,
  present,
} from "./arrangement.js";
import { comparedChoice } from "./compared_choice.js";
import { errorWithWayOut } from "./error_line.js";
import { explorerPanel, type Standing } from "./explorer_panel.js";
import { type ExplorerContext, type ExplorerState, PANELS, type Panel } from "./explorer_types.js";
import { gridTitle } from "./grid_title.js";
import { headTitle } from "./head_title.js";
import { joinedFigures } from "./joined_figures.js";
import { legendView } from "./legend_view.js";
import { LOST, lineView } from "./line_view.js";
import { chosenWords, withoutLast } from "./locks.js";
import { type Guess, guessOf } from "./sentence/guess.js";
import { type Line, lineOf } from "./sentence/line.js";
import { type Reading, readingOf } from "./sentence/reading.js";
import { sentencePanel } from "./sentence/sentence_panel.js";
import { fitsSentence } from "./sentence/words.js";
import { tabList } from "./tabs.js";
import { isBehind, textForm } from "./text_form.js";
import { toolbar } from "./toolbar.js";

const WATCHED: (keyof ExplorerState)[] = [
  "text",
  "pair",
  "target",
  "versus_text",
  "example",
  "panels",
  "tab",
  "progress",
  "selected",
  "tokens",
  "layer",
  "hidden",
  "unit",
  "quantity",
  "scale",
  "disabled",
  "labels",
  ...PANELS,
  "_shown",
  "_notes",
  "_problems",
  "_stacks",
  "_source",
  "_quantities",
  "_examples",
  "_tested",
  "_way_out",
  "_second",
  "_offers",
];
const READ = ["selected", "tokens", "labels", "disabled", "_shown", "_tested"] as const;
/** Of a page that has not been attached yet. */
const USUAL_WIDTH = 1000;
const PARTS = ["panels", "progress", "_offers", "_problems", ...PANELS] as const;

/** What of the explorer is in sight. */
interface Arrangement {
  plan: Plan;
  details: Panel[];
  /** The detail that is open; undefined while the row "more" is closed. */
  open: Panel | undefined;
  standing(panel: Panel): Standing;
}

function render({ model, el, signal, host }: ExplorerContext): void {
  const mounted = mount({ model, el, signal }, "ex", WATCHED, {
    update,
    view,
    paint: (look) => {
      form.fit(look);
      for (const panel of panels) if (arrangement?.standing(panel.name).open) panel.fill();
      sentence.paint(reading, look);
    },
    keys,
    keepsShowing: true,
    unattached: USUAL_WIDTH,
  });
  const { root, save, schedule, invalidate } = mounted;
  const form = textForm(model, mounted);
  const figures = joinedFigures(model, host, signal, schedule);
  const bar = toolbar(model, mounted, signal);
  const panels = PANELS.map((name) => explorerPanel(name, model, host, signal, schedule));
  const idOf = (name: Panel) => panels.find((panel) => panel.name === name)?.id ?? "";
  const sentence = sentencePanel({
    point,
    choose,
    toggleResting,
    drawNow: mounted.drawNow,
  });

  let arrangement: Arrangement | undefined;
  /** The head and the word that the pointer is on, here or in a figure. */
  let peeked: Peeked | null = null;
  let pointed: Pointed | null = null;
  /** What is on the screen, when it was last drawn. */
  let reading: Reading | undefined;
  /** The detail that was last open. */
  let lastTab: Panel | undefined;

  function open(name: Panel | null): void {
    saveTraits(model, { tab: name });
    invalidate();
  }

  function point(to: Pointed | null): void {
    if (JSON.stringify(to) === JSON.stringify(pointed)) return;
    pointed = to;
    pointOut(model.get("_circle"), model, pointed);
    schedule();
  }

  /** Whether the explorer itself chose the active word, and no reader. */
  const isSoft = () => figures.models.grid?.get("cells") === "maps";

  function lock(tokens: ExplorerState["tokens"]): void {
    const { grid } = figures.models;
    if (grid) saveTraits(grid, { cells: "answers" });
    saveTraits(model, { tokens });
  }

  function choose(at: Pointed): void {
    if (!reading) return;
    lock(chosenWords(model.get("tokens"), at, reading.isOneText, isSoft()));
    pointed = null;
    pointOut(model.get("_circle"), model, null);
    schedule();
  }

  function toggleResting(): void {
    const kinds = model.get("_source").resting?.kinds ?? [];
    const hidden = model.get("hidden");
    const areHidden = kinds.some((kind) => hidden.includes(kind));
    const next = SPECIALS.filter((kind) =>
      kinds.includes(kind) ? !areHidden : hidden.includes(kind),
    );
    saveTraits(model, { hidden: next });
  }

  const select = (head: Head) => selectHeads(model, [head]);

  function switchHead(): void {
    const head = model.get("selected").at(-1);
    if (!head || model.get("_source").fixed) return;
    saveTraits(model, { disabled: switchedOff(model.get("disabled"), [head]) });
  }

  function update({ width }: Look): void {
    form.update();
    figures.update();
    const plan = planFor(width);
    root.classList.toggle("attnw-ex-failed", Boolean(model.get("_error")));
    for (const name of PLANS) root.classList.toggle(`attnw-ex-${name}`, name === plan);
    // The longer side lies across.
    const sides = model.get("_stacks").map(({ n_heads, n_layers }) => [n_heads, n_layers]);
    const columns = Math.max(0, ...sides.map((both) => Math.max(...both)));
    const rows = Math.max(0, ...sides.map((both) => Math.min(...both)));
    root.style.setProperty("--attnw-ex-left", `${leftWidth(width, columns)}px`);
    root.style.setProperty("--attnw-grid-height", `${gridHeight(width, columns, rows)}px`);
    const { fixed, details } = groupsFor(present(snapshot(model, PARTS)));
    const tab = model.get("tab");
    if (tab) lastTab = tab;
    const shown = tab && (details.includes(tab) ? tab : details[0]);
    const behind = !model.get("_error") && isBehind(model);
    const standing = (name: Panel): Standing => ({
      open: fixed.includes(name) || shown === name,
      tab: details.includes(name),
      // What is measured on a treebank does not wait for the text.
      behind: behind && name !== "table" && name !== "arcs",
    });
    arrangement = { plan, details, open: shown || undefined, standing };
  }

  /** The head and the words on the screen; undefined while the figures have no data. */
  function read() {
    const view = figures.view();
    const grid = figures.grid();
    const isAsked = model.get("progress").predictions === undefined;
    const predictions = isAsked ? figures.predictions() : undefined;
    const explorer = snapshot(model, READ as readonly (keyof ExplorerState)[]);
    const now = view && readingOf({ explorer, grid, view, predictions, peeked, pointed });
    const guess = now && guessOf(now, predictions);
    return { reading: now, grid, guess, predictions };
  }

  function lineNow(found: ReturnType<typeof read>, guess: Guess | undefined): Line | string {
    if (root.dataset.link === "lost") return LOST;
    if (!model.get("_error") && isBehind(model)) return "";
    return found.reading ? lineOf(found.reading, found.grid, guess) : "";
  }

  /** Why the model says nothing about the active word. */
  function guessHint(found: ReturnType<typeof read>): string {
    if (found.reading?.compared.length || !found.reading) return "";
    if (model.get("progress").predictions !== undefined) return "Asking the model …";
    if (!found.predictions) return "";
    if (found.reading.from === undefined) return "Choose a word to see what the model says there.";
    return found.reading.isLocked ? "" : "Click the word to see what the model says there.";
  }

  function view(look: Look): unknown {
    if (!arrangement) return nothing;
    const { details, open: shown, standing } = arrangement;
    const found = read();
    reading = found.reading;
    const isLong = reading !== undefined && !fitsSentence(reading.words);
    const hasSentence = reading !== undefined && !reading.compared.length && !isLong;
    const isEditing = form.isOpen() || !hasSentence;
    const of = (...names: Panel[]) =>
      panels
        .filter(({ name }) => names.includes(name))
        .map((panel) => panel.view(standing(panel.name)));
    const left = Number.parseFloat(root.style.getPropertyValue("--attnw-ex-left"));
    const isPlain = model.get("scale") === "absolute" && model.get("quantity") === "weights";
    root.classList.toggle(
      "attnw-ex-own-legend",
      !isPlain || Boolean(reading?.compared.length) || (found.grid?.times_keys ?? false),
    );
    const count = model.get("_stacks")[0];
    const titleOfAll = gridTitle(reading, found.grid, look.theme.dark, select);
    const compared = reading?.compared ?? [];
    const { grid, view: one } = figures.models;
    const maps = compared.length ? comparedChoice(grid, one, compared) : nothing;
    const mayName = "card" in model.get("_offers") && model.get("card") === null;
    const about = [
      model.get("_source").model,
      count ? `${count.n_layers} layers × ${count.n_heads} heads` : "",
    ];
    return html`${form.view(isEditing)}
      ${hasSentence && !isEditing && reading ? sentence.view(reading, look, form.edit) : nothing}
      ${errorWithWayOut(model)}
      ${lineView(lineNow(found, found.guess), toggleResting, !peeked && !pointed)}
      <div class="attnw-ex-main">
        <div class="attnw-ex-left">
          <h4 aria-level="2" ?hidden=${!standing("grid").open}>${titleOfAll} ${maps}</h4>
          ${of("grid")}
          ${standing("grid").open ? legendView(look.theme, model.get("_tested")) : nothing}
          ${answersView(found.guess, reading, guessHint(found), left, select)}
        </div>
        <div class="attnw-ex-right">
          ${headTitle({
            reading,
            hasNames: model.get("_tested").length > 0,
            isOff: model.get("disabled").some((head) => String(head) === String(shownHead())),
            fixed: model.get("_source").fixed ?? "",
            switchHead,
            ways: bar.ways(),
            hidden: !standing("view").open,
          })}
          ${of("view")}
        </div>
      </div>
      <div class="attnw-ex-bottom">
        <button type="button" class="attnw-ex-quiet" aria-expanded=${shown !== undefined}
          ?hidden=${!details.length} @click=${() => turnMore(details)}
          >${`more ${shown ? "▾" : "▸"}`}</button>
        <button type="button" class="attnw-ex-quiet attnw-ex-name"
          ?hidden=${!mayName || shown === "card"}
          @click=${() => open("card")}>name the heads …</button>
        <span class="attnw-ex-about">${about.filter(Boolean).join(" · ")}</span>
        ${form.examples()}${bar.menu()}${save}${bar.keysButton()}
      </div>
      ${bar.keysList()}
      <div class="attnw-ex-details" ?hidden=${!shown}>
        ${tabList({
          name: "details",
          panels: details,
          open: shown,
          note: (shown && model.get("_notes")[shown]) ?? "",
          idOf,
          pick: open,
        })}
        ${of("lens", "strip", "head_map", "predictions", "why", "card", "table", "arcs")}
      </div>`;
  }

  const shownHead = () => model.get("selected").at(-1);

  /** Open the row "more" where it was open last, or close it. */
  function turnMore(details: Panel[]): void {
    if (arrangement?.open) open(null);
    else open(lastTab && details.includes(lastTab) ? lastTab : (details[0] ?? null));
  }

  function keys({ target, key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
    if (metaKey || (ctrlKey && !altKey)) return false;
    if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return false;
    if (target instanceof HTMLInputElement && target.type !== "checkbox") return false;
    if (key === "?") bar.toggleKeys();
    else if (key === "[" || key === "]") bar.step(key === "[" ? -1 : 1);
    else if (key === "m") bar.turnWay();
    else if (key === "x") switchHead();
    else if (key === "s") return bar.save();
    else return false;
    return true;
  }

  /** Escape takes back what is locked last: the pair, the word, then the head that is off. */
  function takeBack(event: KeyboardEvent): void {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    const { target } = event;
    const isElsewhere =
      target instanceof Element && target.closest(".attnw-ex-bottom, form, .attnw-ex-details");
    if (isElsewhere) return;
    const tokens = model.get("tokens");
    if (tokens.length && !isSoft()) lock(withoutLast(tokens));
    else if (model.get("disabled").length) saveTraits(model, { disabled: [] });
    else return;
    event.preventDefault();
    event.stopPropagation();
    schedule();
  }
  root.addEventListener("keydown", takeBack, { signal, capture: true });

  const circle = () => model.get("_circle");
  onPeek(signal, circle, (next) => {
    peeked = next;
    schedule();
    // The figures say whether they show the head.
    return false;
  });
  onPointed(signal, circle, model, (next) => {
    pointed = next;
    schedule();
  });

  // The line names no picture of a kernel that is gone.
  const link = new MutationObserver(schedule);
  link.observe(root, { attributeFilter: ["data-link"] });
  signal.addEventListener("abort", () => link.disconnect());
  // Figures are asked for at once, not in the next frame.
  mounted.drawNow();

  /** The kernel measures the rest once there is something to see. */
  async function painted(): Promise<void> {
    await Promise.all(panels.map((panel) => panel.drawn()));
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (signal.aborted || model.get("_painted")) return;
        model.set("_painted", true);
        model.save_changes();
      }),
    );
  }
  void painted();
}

export default () => ({ initialize: releasing<ExplorerState>(), render });
