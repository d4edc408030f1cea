import { element } from "../model/dom.js";
import { svgElement } from "../model/svg.js";
import { MARKS } from "./controls.js";
import { type Choice, levels, type Mention, type Passage } from "./coreference_data.js";
import { mentionLabel } from "./coreference_text.js";
import palette from "./palette.json" with { type: "json" };

/** What is marked in the text. */
export interface Marked {
  mention: Mention;
  choice: Choice | undefined;
  antecedents: Mention[];
}

/** Above the first line under the words, and between two. */
const LINE = 4;
/** Corpora set these apart; in print no space stands before, or after, them. */
const CLOSING = /^([.,;:!?%)\]}”’]+|['’](s|re|ve|ll|d|m)|n['’]t)$/i;
const OPENING = /^[([{“‘]$/;
let made = 0;

/** The text of a window as words that wrap, with a numbered button at the start of each mention. */
export function coreferenceFigure(
  parent: HTMLElement,
  signal: AbortSignal,
  choose: (mention: number) => void,
) {
  const stage = element(parent, "div", { class: "attnw-coref-stage" });
  const text = element(stage, "div", { class: "attnw-coref-text", role: "group", dir: "auto" });
  const overlay = svgElement(stage, "svg", { "aria-hidden": "true", class: "attnw-coref-arc" });
  const arrow = `attnw-coref-arrow-${++made}`;
  let words: HTMLElement[] = [];
  const chips = new Map<number, HTMLButtonElement>();
  /** By word: the mentions that can be asked about, the innermost first. */
  let over: Mention[][] = [];
  let marked: Marked | undefined;
  let cursor: number | undefined;

  text.addEventListener(
    "click",
    (event) => {
      const target = event.target as Element;
      const chip = target.closest<HTMLElement>("[data-mention]");
      const word = target.closest<HTMLElement>("[data-word]");
      if (chip) choose(Number(chip.dataset.mention));
      else if (word) {
        // Where mentions lie within each other, one click after the other goes outwards.
        const here = over[Number(word.dataset.word)] ?? [];
        const at = here.findIndex(({ mention }) => mention === marked?.mention.mention);
        const next = here[(at + 1) % here.length];
        if (next) choose(next.mention);
      }
    },
    { signal },
  );

  function box(mention: Pick<Mention, "words">, kind: string): void {
    for (const [i, word] of mention.words.entries()) {
      const first = mention.words[i - 1] !== word - 1;
      // The numbers of mentions within it are in its box, those before it are not.
      const node = first ? words[word] : words[word]?.parentElement;
      if (!node) continue;
      const joined = mention.words[i + 1] === word + 1;
      const ends = `${first ? " attnw-coref-first" : ""}${joined ? " attnw-coref-joined" : ""}`;
      element(node, "i", { class: `attnw-coref-box attnw-coref-${kind}${ends}` });
    }
  }

  function drawArc(): void {
    overlay.replaceChildren();
    const choice = marked?.choice;
    const [from, to] = [words[marked?.mention.head ?? -1], words[choice?.word ?? -1]];
    if (!choice || !from || !to || !stage.clientWidth) return;
    const frame = stage.getBoundingClientRect();
    const [a, b] = [from.getBoundingClientRect(), to.getBoundingClientRect()];
    const [x1, y1] = [a.left + a.width / 2 - frame.left, a.top - frame.top];
    const x2 = b.left + b.width / 2 - frame.left;
    // From below where the word chosen is on a line above, so that the arc crosses little text.
    const above = b.bottom < a.top;
    const y2 = (above ? b.bottom + 3 : b.top - 3) - frame.top;
    const bend = above ? (y1 + y2) / 2 : Math.min(y1, y2) - 14;
    overlay.setAttribute("class", `attnw-coref-arc attnw-${choice.right ? "right" : "wrong"}`);
    const marker = svgElement(overlay, "marker", {
      ...{ id: arrow, viewBox: "0 0 6 6", refX: 5, refY: 3, orient: "auto" },
      ...{ markerWidth: 5, markerHeight: 5 },
    });
    svgElement(marker, "path", { d: "M0,0L6,3L0,6z", class: "attnw-coref-head" });
    const d = `M${x1},${y1 - 3}C${x1},${bend} ${x2},${bend} ${x2},${y2}`;
    svgElement(overlay, "path", { d, "marker-end": `url(#${arrow})` });
  }

  function refreshChips(): void {
    const current = cursor ?? marked?.mention.mention ?? [...chips.keys()][0];
    for (const [index, chip] of chips) {
      chip.tabIndex = index === current ? 0 : -1;
      chip.setAttribute("aria-pressed", String(index === marked?.mention.mention));
    }
  }

  return {
    text,
    arrange: drawArc,
    /** The mention whose button has the focus. */
    focused(): number | undefined {
      const root = text.getRootNode() as Document | ShadowRoot;
      return [...chips].find(([, chip]) => chip === root.activeElement)?.[0];
    },
    focus(mention: number): void {
      cursor = mention;
      refreshChips();
      chips.get(mention)?.focus();
    },
    reveal(mention: number): void {
      chips.get(mention)?.scrollIntoView?.({ block: "nearest" });
    },
    draw(passage: Passage, dark: boolean): void {
      const { drawn, asked } = passage;
      const series = (dark ? palette.dark : palette.light).series;
      const line = levels(drawn.mentions);
      const deepest = Math.max(-1, ...line.values());
      text.style.setProperty("--attnw-coref-depth", `${(deepest + 1) * LINE}px`);
      text.setAttribute(
        "aria-label",
        `${drawn.words.length} words with ${asked.length} mentions that corefer`,
      );
      const starting = new Map<number, Mention[]>();
      over = drawn.words.map(() => []);
      for (const mention of asked) {
        const first = mention.words[0] ?? 0;
        starting.set(first, [...(starting.get(first) ?? []), mention]);
        for (const word of mention.words) over[word]?.push(mention);
      }
      for (const here of over) here.sort((a, b) => a.words.length - b.words.length);
      const hadFocus = this.focused() !== undefined;
      text.replaceChildren();
      chips.clear();
      cursor = undefined;
      let group: HTMLElement = text;
      words = drawn.words.map((shown, word) => {
        const before = drawn.words[word - 1];
        const glued = before !== undefined && (CLOSING.test(shown) || OPENING.test(before));
        if (glued) group.classList.add("attnw-coref-glued");
        else {
          text.append(" ");
          group = element(text, "span");
        }
        const box = element(group, "span", { class: "attnw-coref-word" });
        // Longer mentions open first, as brackets would.
        const opening = starting.get(word) ?? [];
        for (const mention of opening.sort((a, b) => b.words.length - a.words.length)) {
          const chip = element(
            box,
            "button",
            {
              ...{ type: "button", class: "attnw-coref-chip", "data-mention": mention.mention },
              // The name starts with the text that is seen, for those who speak to the page.
              "aria-label": `${mention.cluster} ${mentionLabel(passage, mention)}`,
            },
            String(mention.cluster),
          );
          chip.style.color = series[(mention.cluster - 1) % series.length] ?? "";
          chips.set(mention.mention, chip);
        }
        const node = element(box, "span", { "data-word": word }, shown);
        if (over[word]?.length) node.className = "attnw-coref-asked";
        return node;
      });
      for (const mention of drawn.mentions) {
        const { cluster } = mention;
        const colour = cluster ? series[(cluster - 1) % series.length] : "";
        for (const [i, word] of mention.words.entries()) {
          const joined = mention.words[i + 1] === word + 1;
          const under = element(words[word]?.parentElement ?? text, "i", {
            class: `attnw-coref-line${cluster ? "" : " attnw-coref-once"}${joined ? " attnw-coref-joined" : ""}`,
          });
          under.style.top = `calc(100% + ${(line.get(mention.mention) ?? 0) * LINE}px)`;
          if (colour) under.style.borderColor = colour;
        }
      }
      if (hadFocus) [...chips.values()][0]?.focus();
    },
    mark(next: Marked | undefined): void {
      marked = next;
      for (const node of text.querySelectorAll(".attnw-coref-box, .attnw-coref-mark"))
        node.remove();
      if (next) {
        for (const mention of next.antecedents) box(mention, "antecedent");
        box(next.mention, "own");
        if (next.choice) {
          const outcome = next.choice.right ? "right" : "wrong";
          box({ words: [next.choice.word] }, `choice attnw-${outcome}`);
          const node = words[next.choice.word];
          if (node)
            element(node, "i", {
              class: `attnw-coref-mark attnw-${outcome}`,
              "aria-hidden": "true",
            }).append(MARKS[outcome]);
        }
      }
      refreshChips();
      drawArc();
    },
  };
}
