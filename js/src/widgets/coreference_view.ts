import { MARKS } from "../draw/controls.js";
import { coreferenceControls } from "../draw/coreference_controls.js";
import {
  type CoreferenceState,
  type DrawnWindow,
  decodeWindow,
  type Mention,
  type Passage,
  type Variant,
} from "../draw/coreference_data.js";
import { coreferenceFigure } from "../draw/coreference_figure.js";
import {
  COREFERENCE_KEYS,
  captionText,
  mentionLabel,
  readout,
  titleText,
} from "../draw/coreference_text.js";
import { keyList } from "../draw/key_list.js";
import { element } from "../model/dom.js";
import { perFrame } from "../model/frame.js";
import { releasing } from "../model/release.js";
import { shownHead, stepTo } from "../model/selection.js";
import { watchTheme } from "../model/theme.js";
import type { RenderContext } from "../model/types.js";

const WATCHED = [
  ...["selected", "layer", "document", "window", "mention", "variant"],
  ...["_drawn", "_source", "_jumped", "_error"],
];
const NO_SELECTION =
  "Select a head: click one in a linked figure, or set view.selected = [(layer, head)].";
const HINT = "Click a mention for the antecedent that the head chooses.";
const LEGEND = [
  ["own", "the mention"],
  ["antecedent", "its antecedents"],
  ["right", "✓ solid: the head chose an antecedent's head word"],
  ["wrong", "× dashed: it chose another word"],
  ["once", "dotted: mentioned once"],
] as const;

function render({ model, el, signal }: RenderContext<CoreferenceState>): void {
  const root = element(el, "div", {
    class: "attnw-root attnw-coref-root",
    "data-lm-suppress-shortcuts": "true",
  });
  const alert = element(root, "p", { role: "alert", class: "attnw-coref-note", hidden: true });
  const inner = element(root, "div");
  const progress = element(inner, "div", { class: "attnw-progress", hidden: true });
  const controls = coreferenceControls(inner, model, signal, {
    ...{ show, turn, choose, jump, toggleKeys },
  });
  const title = element(inner, "p", { class: "attnw-coref-title" });
  const note = element(inner, "p", { class: "attnw-coref-note", hidden: true });
  const body = element(inner, "div");
  const figure = coreferenceFigure(body, signal, ask);
  const lines = element(body, "div", { class: "attnw-coref-readout" });
  const legend = element(body, "p", { class: "attnw-coref-legend" });
  for (const [kind, text] of LEGEND) {
    const item = element(legend, "span");
    element(item, "i", { class: `attnw-coref-key attnw-coref-key-${kind}` });
    item.append(text);
  }
  element(legend, "span", {}, "number and colour: the cluster");
  const caption = element(body, "p", { class: "attnw-coref-caption" });
  const keys = keyList(inner, COREFERENCE_KEYS, "attnw-keys");
  const live = element(inner, "div", { class: "attnw-unseen", "aria-live": "polite" });

  let dark: boolean | undefined;
  let drawn: DrawnWindow | null = null;
  let passage: Passage | undefined;
  let shown = "";
  let spoken: string | undefined;
  let asked = 0;
  let missed = "";
  /** The mention that the last jump, or the kernel, brought up has been scrolled to. */
  let revealed: number | null | undefined;

  const isJumping = () => asked > 0 && model.get("_jumped").n !== asked;
  const isStale = () =>
    drawn?.document !== model.get("document") ||
    drawn.window !== model.get("window") ||
    JSON.stringify(drawn.head) !== JSON.stringify(shownHead(model) ?? null);

  function send(patch: Partial<CoreferenceState>): void {
    for (const [name, value] of Object.entries(patch))
      model.set(name as keyof CoreferenceState, value as never);
    model.save_changes();
  }

  function show(document: number): void {
    const count = model.get("_source").count ?? 1;
    send({ document: Math.max(0, Math.min(count - 1, document)) });
  }

  function turn(window: number): void {
    send({ window: Math.max(0, Math.min((drawn?.windows ?? 1) - 1, window)) });
  }

  function choose(variant: Variant): void {
    send({ variant });
  }

  function ask(mention: number): void {
    if (isStale()) return;
    revealed = mention;
    send({ mention: model.get("mention") === mention ? null : mention });
  }

  function jump(outcome: "right" | "wrong", step: 1 | -1): void {
    if (!shownHead(model) || isJumping()) return;
    asked = (model.get("_jump").n ?? 0) + 1;
    send({ _jump: { n: asked, outcome, step } });
    schedule();
  }

  function toggleKeys(): void {
    keys.hidden = !keys.hidden;
    controls.keys.setAttribute("aria-expanded", String(!keys.hidden));
  }

  function drawText(): void {
    const now = model.get("_drawn");
    if (now === drawn) return;
    drawn = now;
    passage = now ? decodeWindow(now) : undefined;
    // From one head to the next the text, and what has the focus, stay where they are.
    const next = now ? JSON.stringify([now.document, now.words, now.mentions, dark]) : "";
    if (passage && next !== shown) figure.draw(passage, dark === true);
    shown = next;
  }

  function drawReadout(index: number | null): string {
    lines.replaceChildren();
    if (!passage || index === null || !passage.mentions.has(index)) {
      element(lines, "p", { class: "attnw-muted" }, HINT);
      return "";
    }
    const found = readout(passage, index, passage.choice(index, model.get("variant")));
    const list = element(lines, "dl");
    for (const { label, text, outcome } of found) {
      const line = element(list, "div");
      element(line, "dt", {}, label);
      const value = element(line, "dd");
      if (outcome) {
        const mark = { class: `attnw-${outcome}`, "aria-hidden": "true" };
        element(value, "span", mark, `${MARKS[outcome]} `);
      }
      value.append(text);
    }
    return found.map(({ label, text }) => [label, text].filter(Boolean).join(": ")).join("; ");
  }

  const schedule = perFrame(signal, () => {
    if (dark === undefined) return;
    const error = model.get("_error");
    alert.hidden = !error;
    inner.hidden = Boolean(error);
    if (alert.textContent !== error) alert.textContent = error;
    if (error) return;
    drawText();
    const busy = isStale() || isJumping();
    progress.hidden = !busy || !drawn;
    body.classList.toggle("attnw-coref-busy", busy);
    controls.update(shownHead(model) !== undefined && !isJumping(), drawn?.windows ?? 1);
    if (!drawn || !passage || busy) return;
    const [variant, index] = [model.get("variant"), model.get("mention")];
    title.textContent = titleText(passage, variant, model.get("_source"));
    title.hidden = !title.textContent;
    if (asked) {
      const { found, where = "" } = model.get("_jumped");
      missed = found ? "" : `There is no other such mention${where}.`;
      asked = 0;
    }
    note.textContent = missed || drawn.problem || (drawn.head ? "" : NO_SELECTION);
    body.hidden = Boolean(drawn.problem);
    note.hidden = !note.textContent;
    caption.textContent = captionText(passage, model.get("_source"));
    const mention = passage.mentions.get(index ?? -1);
    const own = passage.evaluated.get(index ?? -1);
    const known = passage.mentions;
    const antecedents = (own?.antecedents ?? []).map((one) => known.get(one) as Mention);
    figure.mark(
      mention && { mention, choice: passage.choice(mention.mention, variant), antecedents },
    );
    if (revealed === undefined) revealed = index;
    if (index !== null && index !== revealed) {
      if (figure.focused() === undefined) figure.reveal(index);
      else figure.focus(index);
    }
    revealed = index;
    const said = drawReadout(index);
    const all = missed || said || `document ${drawn.document}: ${title.textContent}`;
    if (spoken !== undefined && all !== spoken) live.textContent = all;
    spoken = all;
    missed = "";
  });

  function step(key: string): boolean {
    const list = passage?.asked ?? [];
    const from = figure.focused() ?? model.get("mention") ?? undefined;
    const at = list.findIndex(({ mention }) => mention === from);
    const cluster = list[at]?.cluster;
    const same = (one: Mention) => one.cluster === cluster;
    const target = {
      ArrowLeft: list[Math.max(0, at - 1)],
      ArrowRight: list[Math.min(list.length - 1, at + 1)],
      ArrowUp: list.slice(0, Math.max(0, at)).filter(same).at(-1) ?? list[at],
      ArrowDown: list.slice(at + 1).find(same) ?? list[at],
      Home: list[0],
      End: list.at(-1),
    }[key];
    if (!target || !passage) return false;
    figure.focus(target.mention);
    live.textContent = mentionLabel(passage, target);
    return true;
  }

  function key(event: KeyboardEvent): boolean {
    const target = event.target;
    const chord = event.metaKey || (event.ctrlKey && !event.altKey);
    if (event.defaultPrevented || chord) return false;
    if (event.key === "Escape") {
      if (model.get("mention") === null) return false;
      send({ mention: null });
      return true;
    }
    // A select moves to the option that starts with the letter; a number takes the arrows.
    if (target instanceof HTMLSelectElement) return false;
    const layers = model.get("_source").layers ?? 1;
    if (event.key === "?") toggleKeys();
    else if (event.key === "[") stepTo(model, model.get("layer") - 1, layers);
    else if (event.key === "]") stepTo(model, model.get("layer") + 1, layers);
    else if (event.altKey) return false;
    else if (event.key === "v") choose(model.get("variant") === "words" ? "mentions" : "words");
    else if (/^[rw]$/i.test(event.key))
      jump(event.key.toLowerCase() === "r" ? "right" : "wrong", event.shiftKey ? -1 : 1);
    else if (target instanceof HTMLInputElement) return false;
    else if (event.key === "PageUp") show(model.get("document") - 1);
    else if (event.key === "PageDown") show(model.get("document") + 1);
    else return figure.text.contains(target as Node) && step(event.key);
    return true;
  }

  root.addEventListener(
    "keydown",
    (event) => {
      if (key(event)) event.preventDefault();
    },
    { signal },
  );
  for (const name of WATCHED) model.on(`change:${name}`, schedule);
  watchTheme(root, signal, (theme) => {
    dark = theme.dark;
    drawn = null;
    schedule();
  });
  const resized = new ResizeObserver(figure.arrange);
  resized.observe(root);
  signal.addEventListener("abort", () => {
    for (const name of WATCHED) model.off(`change:${name}`, schedule);
    resized.disconnect();
    root.remove();
  });
}

export default () => ({ initialize: releasing<CoreferenceState>("_drawn"), render });
