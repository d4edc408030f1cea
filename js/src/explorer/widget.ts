import { html, nothing } from "lit-html";
import { inLine } from "../shared/in_line.js";
import { initializing } from "../shared/initialize.js";
import { type Look, mount } from "../shared/mount.js";
import { counted } from "../shared/numbers.js";
import { selectHeads, switchedOff } from "../shared/selection.js";
import { save, snapshot } from "../shared/snapshot.js";
import { type Head, type Model, SPECIALS } from "../shared/types.js";
import { answersView } from "./answers_view.js";
import { giveRoom, groupsFor, present } from "./arrangement.js";
import { comparedChoice } from "./compared_choice.js";
import { detailsBelow } from "./details.js";
import { explorerPanel } from "./explorer_panel.js";
import { type ExplorerContext, type ExplorerState, PANELS, type Panel } from "./explorer_types.js";
import { gridTitle } from "./grid_title.js";
import { headStrip } from "./head_strip/head_strip.js";
import { headTitle } from "./head_title.js";
import { type Figures, joinedFigures } from "./joined_figures.js";
import { legendView } from "./legend_view.js";
import { lineView } from "./line_view.js";
import { linkControl } from "./link/link_control.js";
import { linkNote } from "./link/link_note.js";
import type { LockedLink } from "./link/link_state.js";
import { isPair, onEscape, wordLocks } from "./locks.js";
import { needsToggle } from "./needs_toggle.js";
import { guessHint, isWaiting, lineNow, type OnScreen, readScreen } from "./on_screen.js";
import { headPreview } from "./peeked_head.js";
import { followPointer } from "./pointer.js";
import { areExpected } from "./sentence/answer_effects.js";
import type { Reading } from "./sentence/reading.js";
import { sentencePanel } from "./sentence/sentence_panel.js";
import { fitsSentence } from "./sentence/words.js";
import { errorWithWayOut, textForm } from "./text_form.js";
import { explorerKeys, onBrackets, toolbar } from "./toolbar.js";

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
  "scaled_links",
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
  "_name_links",
  "_unknown",
  "_without_model",
  "_way_out",
  "_second",
  "_offers",
];
/** Width of a page that is not attached yet. */
const USUAL_WIDTH = 1000;
const PARTS = ["panels", "progress", "_offers", "_problems", ...PANELS] as const;
/** Panels with numbers from a treebank, which do not depend on the text. */
const OF_TREEBANK: Panel[] = ["table", "arcs"];

function render({ model, el, signal, host }: ExplorerContext): void {
  const mounted = mount({ model, el, signal }, "ex", WATCHED, {
    update,
    view,
    paint,
    keys: (event) => keys(event),
    keepsShowing: true,
    unattached: USUAL_WIDTH,
  });
  const { root, schedule } = mounted;
  const form = textForm(model, mounted);
  const figures = joinedFigures(model, host, signal, schedule);
  const bar = toolbar(model, mounted, signal, figures.grid);
  const panels = PANELS.map((name) => explorerPanel(name, model, host, signal, schedule));
  const details = detailsBelow(model, mounted.invalidate);
  const pointer = followPointer(model, signal, schedule);
  const locks = wordLocks(model);
  const links = linkControl(model, schedule);
  const sentence = sentencePanel(
    {
      point: pointer.point,
      choose(at) {
        if (!reading) return;
        needs.end();
        locks.choose(at, reading.isOneText);
        pointer.click(at);
        schedule();
      },
      toggleResting: () => toggleResting(model),
      edit: form.edit,
    },
    mounted.drawNow,
  );
  const preview = headPreview(model, figures.grid);
  const strip = headStrip({
    point(head) {
      preview(head);
      schedule();
    },
    select: selecting(model),
  });
  const needs = needsToggle(model, figures.models);
  const keys = explorerKeys(bar, () => switchHead(model), needs.turn, changeLink);
  onEscape(root, takeBack, signal);
  onBrackets(root, bar.step, signal);

  /** Content of the screen at the last drawing. */
  let reading: Reading | undefined;
  let link: LockedLink | undefined;
  /** Panels that are always visible, and the width of all heads. */
  let fixed: Panel[] = [];
  let left = 0;

  /** Change the kept link by a key, and show it although the keyboard cursor is on a word. */
  function changeLink(key: string): boolean {
    const isOne = links.press(key);
    if (isOne) pointer.rest();
    return isOne;
  }

  /** Undo the last change: the link, the pair, the word, then the heads that are off. */
  function takeBack(): boolean {
    const isDone = needs.end() || links.takeBack() || locks.takeBack() || switchAllOn(model);
    if (!isDone) return false;
    schedule();
    return true;
  }

  function update({ width }: Look): void {
    form.update();
    figures.update();
    root.classList.toggle("attnw-ex-failed", Boolean(model.get("_error")));
    root.classList.toggle("attnw-ex-no-model", Boolean(model.get("_without_model")));
    left = giveRoom(root, width, model.get("_stacks"));
    const groups = groupsFor(present(snapshot(model, PARTS)));
    fixed = groups.fixed;
    details.update(groups.details);
  }

  const isOpen = (panel: Panel) => fixed.includes(panel) || details.isOpen(panel);

  /** Return the panels with these names. */
  function panelViews(isOne: (name: Panel) => boolean) {
    const waits = isWaiting(model);
    const those = panels.filter(({ name }) => isOne(name));
    return those.map(({ name, view }) =>
      view({
        open: isOpen(name),
        tab: details.has(name),
        behind: waits && !OF_TREEBANK.includes(name),
      }),
    );
  }

  /** Return the strip of all heads below the answers. A pair asks another question. */
  function stripView({ guess, predictions, reading, needs }: OnScreen, look: Look) {
    if (!reading) return nothing;
    const isAsked = !needs && predictions !== undefined && !isPair(model.get("tokens"));
    const effects = isAsked ? guess?.effects : undefined;
    const isOffered = "predictions" in model.get("_offers");
    const isWaiting = isAsked && areExpected(predictions, isOffered);
    const hasAnswers = guess !== undefined;
    return strip.view({ effects, shown: reading.head, hasAnswers, isWaiting }, look, left);
  }

  /** Return the answers, with the strip of all heads below and the switch to the needed words. */
  function answersOf(screen: OnScreen, look: Look) {
    const hint = guessHint(model, screen);
    const below = stripView(screen, look);
    const note = screen.needs
      ? nothing
      : linkNote(screen.link, screen.reading, screen.guess, links.cut());
    return answersView(screen.guess, screen.reading, hint, left, below, needs.view(), note);
  }

  function view(look: Look): unknown {
    const { peeked, pointed } = pointer.now;
    const screen = readScreen(model, figures, pointer.now);
    reading = screen.reading;
    needs.update(screen);
    root.classList.toggle("attnw-ex-other-pass", screen.needs?.isMasked === true);
    link = screen.link;
    links.show(link);
    root.classList.toggle("attnw-ex-own-legend", hasOwnLegend(model, screen));
    const isSentence = reading && !reading.compared.length && fitsSentence(reading.words);
    const isEditing = form.isOpen() || !isSentence;
    const tested = model.get("_tested");
    const hasChanges = !!screen.grid?._thumbnails?.changes;
    const line = lineNow(model, screen, root.dataset.link === "lost");
    return html`${form.view(isEditing)}
      ${
        reading && !isEditing
          ? sentence.view(reading, screen.needs, look, screen.needs ? nothing : links.view())
          : nothing
      }
      ${errorWithWayOut(model)}
      ${lineView(line, () => toggleResting(model), !peeked && !pointed)}
      <div class="attnw-ex-main">
        <div class="attnw-ex-left">
          <h4 aria-level="2" ?hidden=${!isOpen("grid")}
            >${questionOf(model, screen, figures.models, look)}</h4>
          ${panelViews((name) => name === "grid")}
          ${isOpen("grid") ? legendView(look.theme, tested, hasChanges) : nothing}
          ${answersOf(screen, look)}
        </div>
        <div class="attnw-ex-right">
          ${shownHead(model, reading, bar.ways(), look, isOpen("view"))}
          ${panelViews((name) => name === "view")}
        </div>
      </div>
      <div class="attnw-ex-bottom">
        ${details.buttons()}
        <span class="attnw-ex-about">${modelText(model)}</span>
        ${form.examples()}${bar.menu()}${mounted.save}${bar.keysButton()}
      </div>
      ${bar.keysList()}
      ${details.view(
        panelViews((name) => name !== "grid" && name !== "view"),
        (name) => panels.find((panel) => panel.name === name)?.id ?? "",
      )}`;
  }

  function paint(look: Look): void {
    form.fit(look);
    for (const panel of panels) if (isOpen(panel.name)) panel.fill();
    sentence.paint(reading, look, link);
  }

  watchLink(root, schedule, signal);
  // Request the figures now, not in the next frame.
  mounted.drawNow();
  const drawn = Promise.all(panels.map((panel) => panel.drawn()));
  void drawn.then(() => tellPainted(model, signal));
}

const selecting = (model: Model<ExplorerState>) => (head: Head) => selectHeads(model, [head]);

/** Hide or show the special tokens with much attention. */
function toggleResting(model: Model<ExplorerState>): void {
  const kinds = model.get("_source").resting?.kinds ?? [];
  const hidden = model.get("hidden");
  const areHidden = kinds.some((kind) => hidden.includes(kind));
  const next = SPECIALS.filter((kind) =>
    kinds.includes(kind) ? !areHidden : hidden.includes(kind),
  );
  save(model, { hidden: next });
}

/** Switch all heads on; returns whether any was off. */
function switchAllOn(model: Model<ExplorerState>): boolean {
  const isOff = model.get("disabled").length > 0;
  if (isOff) save(model, { disabled: [] });
  return isOff;
}

/** Switch the selected head off, or on again. */
function switchHead(model: Model<ExplorerState>): void {
  const head = model.get("selected").at(-1);
  if (!head || model.get("_source").fixed) return;
  save(model, { disabled: switchedOff(model.get("disabled"), [head]) });
}

/** Return whether the grid shows numbers that the legend of the explorer does not explain. */
function hasOwnLegend(model: Model<ExplorerState>, { reading, grid }: OnScreen): boolean {
  const isPlain = model.get("scale") === "absolute" && model.get("quantity") === "weights";
  const isOnPictures = grid?._thumbnails?.row;
  return !isPlain || Boolean(reading?.compared.length || grid?.times_keys || isOnPictures);
}

/** Return the title of all heads, and the choice between the maps of a comparison. */
function questionOf(
  model: Model<ExplorerState>,
  { reading, grid }: OnScreen,
  models: Partial<Figures>,
  { theme }: Look,
) {
  const compared = reading?.compared ?? [];
  const maps = compared.length ? comparedChoice(models.grid, models.view, compared) : nothing;
  return html`${gridTitle(reading, grid, theme.dark, selecting(model))} ${maps}`;
}

/** Return the title of the shown head with its switch. */
function shownHead(
  model: Model<ExplorerState>,
  reading: Reading | undefined,
  ways: unknown,
  { theme }: Look,
  isThere: boolean,
) {
  const head = String(model.get("selected").at(-1));
  return headTitle({
    reading,
    hasNames: !!model.get("_tested")?.length,
    isOff: model.get("disabled").some((off) => String(off) === head),
    fixed: model.get("_source").fixed ?? "",
    switchHead: () => switchHead(model),
    ways,
    theme,
    hidden: !isThere,
  });
}

/** Return the model and its size. */
function modelText(model: Model<ExplorerState>): string {
  const [stack] = model.get("_stacks");
  const size = stack
    ? `${counted(stack.n_layers, "layer")} × ${counted(stack.n_heads, "head")}`
    : "";
  return inLine([model.get("_source").model, size]);
}

/**
 * Call `changed` when the kernel is lost or back: the line must not describe a figure without a
 * kernel.
 */
function watchLink(root: HTMLElement, changed: () => void, signal: AbortSignal): void {
  const link = new MutationObserver(changed);
  link.observe(root, { attributeFilter: ["data-link"] });
  signal.addEventListener("abort", () => link.disconnect());
}

/** Tell the kernel that the page is painted, so that the kernel measures the rest. */
function tellPainted(model: Model<ExplorerState>, signal: AbortSignal): void {
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      if (signal.aborted || model.get("_painted")) return;
      save(model, { _painted: true });
    }),
  );
}

export default () => ({ initialize: initializing<ExplorerState>(), render });
