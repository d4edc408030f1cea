import { html, nothing } from "lit-html";
import { keyed } from "lit-html/directives/keyed.js";
import { live } from "lit-html/directives/live.js";
import { choice, controlView } from "../shared/controls.js";
import { relabeled } from "../shared/head_names.js";
import { labelFont } from "../shared/labels.js";
import type { Look } from "../shared/mount.js";
import { painted } from "../shared/painted.js";
import { fresh } from "../shared/pen.js";
import { percentText } from "../shared/percent_text.js";
import { type Head, headName } from "../shared/types.js";
import {
  cardSentences,
  cardTitle,
  type EffectRow,
  effectNote,
  effectRows,
  effectTitle,
  examplesOfName,
  exampleText,
  IN_TEXT_TITLE,
  inTextCounts,
  inTextNote,
  isWhole,
  KIND_MEANINGS,
  linksInText,
  NO_CARD,
  NO_EXAMPLES,
  NOTHING_IN_TEXT,
  RULE_TITLE,
  ruleGroupText,
  ruleNote,
  ruleRows,
  SHARES_TITLE,
  scoreText,
  scoreTexts,
  sharesNote,
  shownScores,
  writesText,
} from "./card_text.js";
import { exampleLine, lengthOf } from "./example_line.js";
import { type AtlasLayout, WEIGHT } from "./layout.js";
import {
  BAR_HEIGHT,
  EXAMPLE_HEIGHT,
  effectRange,
  paintEffect,
  paintExample,
  paintScore,
} from "./paint.js";
import {
  DISTANCES_HEIGHT,
  DISTANCES_NOTE,
  DISTANCES_TITLE,
  distancesText,
  distancesWidth,
  paintDistances,
} from "./paint_distances.js";
import { paintShares, partsOf, partText, sharesHeight, WIDEST_SHARES } from "./paint_shares.js";
import { anchorOf, noteOf } from "./rows.js";
import {
  type AtlasState,
  type Card,
  type Distances,
  type Effect,
  type Example,
  type InText,
  KINDS,
  type Kind,
  type Rule,
  type Score,
  type Shares,
} from "./state.js";

const FEW_EXAMPLES = 6;
const MOST_EXAMPLES = 20;
/** Largest number of characters of a note that the kernel accepts. */
const LONGEST_NOTE = 2000;

interface Actions {
  choose(head: Head): void;
  change(change: Partial<AtlasState>): void;
}

/**
 * Return the card of the selected head. `isPage`: Whether this is a saved page, where each head has
 * an anchor.
 */
export function cardView(
  state: AtlasState,
  layout: AtlasLayout,
  look: Look,
  isPage: boolean,
  actions: Actions,
) {
  const card = state._card;
  if (!card) return html`<p class="attnw-atlas-empty">${NO_CARD}</p>`;
  const title = cardTitle(card);
  const anchor = isPage
    ? html`<a href=${`#${anchorOf(card.head)}`} title="link to this head">${title}</a>`
    : title;
  if (!isWhole(card, state))
    return html`<p class="attnw-atlas-title">${anchor}</p>
      ${cardSentences(card).map((text) => html`<p class="attnw-atlas-text">${text}</p>`)}
      ${sharesView(card.shares, layout, look)}${distancesView(card.distances, look)}
      ${moreButton(`all ${card.scores.length} scores`, false, () =>
        actions.change({ all_scores: true }),
      )}${noteField(card.head, state, isPage, actions.change)}`;
  // What the model loses comes before the scores, which say how well the name fits.
  const losses = html`${ruleView(card.rule, layout, look)}
    ${effectView(card.effect, state, layout, look)}`;
  const aside = html`${scoresView(card, state, layout, look, actions)}${writesView(card)}
    ${feedsView(card, actions)}`;
  return html`<p class="attnw-atlas-title">${anchor}</p>
    ${cardSentences(card).map((text) => html`<p class="attnw-atlas-text">${text}</p>`)}
    ${noteField(card.head, state, isPage, actions.change)}
    ${sharesView(card.shares, layout, look)}${distancesView(card.distances, look)}
    <div class="attnw-atlas-columns">
      <div .style=${`width: ${layout.column}px`}>${losses}</div>
      <div .style=${`width: ${layout.column}px`}>${aside}</div>
    </div>
    ${inTextView(card.in_text, layout, look)}
    ${examplesView(card, state, layout, look, actions)}`;
}

const columns = ({ label }: AtlasLayout) =>
  html`<colgroup><col .style=${`width: ${label}px`}><col><col class="attnw-atlas-numbers"
    ></colgroup>`;

const moreButton = (text: string, isExpanded: boolean, press: () => void) =>
  html`<button type="button" class="attnw-atlas-more" aria-expanded=${isExpanded}
    @click=${press}>${text}</button>`;

function scoresView(
  card: Card,
  { all_scores }: AtlasState,
  layout: AtlasLayout,
  look: Look,
  { change }: Actions,
) {
  const shown = shownScores(card, all_scores);
  const offersMore = card.scores.length > shown.length || all_scores;
  const more = moreButton(all_scores ? "fewer" : `all ${card.scores.length}`, all_scores, () =>
    change({ all_scores: !all_scores }),
  );
  return html`<div class="attnw-atlas-heading"><span>scores</span>${
    offersMore ? more : nothing
  }<span class="attnw-muted attnw-atlas-unit">score · control</span></div>
    <table class="attnw-table attnw-atlas-bars" aria-label="scores and controls">${columns(layout)}
      <tbody>${shown.map((score) => scoreView(score, layout, look))}</tbody></table>`;
}

function scoreView(score: Score, { bar }: AtlasLayout, { theme, density }: Look) {
  const paint = (canvas: HTMLCanvasElement) => {
    const pen = fresh(canvas, bar, BAR_HEIGHT);
    if (pen) paintScore(pen, theme, score, bar);
  };
  const [own, control] = scoreTexts(score);
  return html`<tr><th scope="row" class=${score.names ? "attnw-atlas-named" : ""}
      title=${scoreText(score)}>${score.behavior}</th
    ><td><canvas aria-hidden="true" ${painted(paint, score, theme, bar, density)}></canvas></td
    ><td class="attnw-atlas-number"><b>${own}</b> <span class="attnw-unseen"> against </span
      ><span class="attnw-muted">${control}</span></td></tr>`;
}

function sharesView(shares: Shares | null, layout: AtlasLayout, look: Look) {
  if (!shares) return nothing;
  const { theme, font, ruler, density } = look;
  const width = Math.min(layout.card, WIDEST_SHARES);
  const measure = ruler(labelFont(font));
  const paint = (canvas: HTMLCanvasElement) => {
    const pen = fresh(canvas, width, sharesHeight(shares, width, measure));
    if (pen) paintShares(pen, theme, font, { shares, width, measure });
  };
  return html`<div class="attnw-atlas-heading"><span>${SHARES_TITLE}</span
      ><span class="attnw-atlas-unit attnw-muted">${sharesNote(shares)}</span></div>
    <canvas class="attnw-atlas-shares" aria-hidden="true"
      ${painted(paint, shares, theme, width, density)}></canvas
    ><span class="attnw-unseen">${partsOf(shares).map(partText).join(", ")}</span>`;
}

function distancesView(distances: Distances, { theme, density }: Look) {
  if (!distances.length) return nothing;
  const paint = (canvas: HTMLCanvasElement) => {
    const pen = fresh(canvas, distancesWidth(distances), DISTANCES_HEIGHT);
    if (pen) paintDistances(pen, theme, distances);
  };
  return html`<div class="attnw-atlas-heading"><span>${DISTANCES_TITLE}</span
      ><span class="attnw-atlas-unit attnw-muted">${DISTANCES_NOTE}</span></div>
    <div class="attnw-atlas-distances"><canvas aria-hidden="true"
      ${painted(paint, distances, theme, density)}></canvas
      ><span>${distancesText(distances)}</span></div>`;
}

function ruleView(rule: Rule | null, layout: AtlasLayout, look: Look) {
  if (!rule) return nothing;
  const rows = rule.groups.map(ruleRows);
  const range = effectRange(rows.flat());
  return html`<div class="attnw-atlas-heading"><span>${RULE_TITLE}</span></div>
    <p class="attnw-atlas-text">${rule.coverage}</p>
    ${rule.groups.map((group, number) => {
      const label = `loss with the rule, ${group.group}`;
      return html`<p class="attnw-atlas-text attnw-atlas-verdict">${ruleGroupText(group)}</p>
        ${effectTable(label, rows[number] ?? [], range, layout, look)}`;
    })}
    <p class="attnw-atlas-note">${ruleNote(rule)}</p>`;
}

function effectTable(
  label: string,
  rows: EffectRow[],
  range: [low: number, high: number],
  layout: AtlasLayout,
  { theme, density }: Look,
) {
  const widths = columns(layout);
  return html`<table class="attnw-table attnw-atlas-bars" aria-label=${label}>${widths}<tbody
      >${rows.map((row) => {
        const paint = (canvas: HTMLCanvasElement) => {
          const pen = fresh(canvas, layout.bar, BAR_HEIGHT);
          if (pen) paintEffect(pen, theme, row, range, layout.bar);
        };
        return html`<tr><th scope="row">${row.label}</th
          ><td><canvas aria-hidden="true"
            ${painted(paint, rows, theme, layout.bar, density)}></canvas></td
          ><td class="attnw-atlas-number">${row.text}</td></tr>`;
      })}</tbody></table>`;
}

function effectView(
  effect: Effect | null,
  { _source }: AtlasState,
  layout: AtlasLayout,
  look: Look,
) {
  if (!effect)
    return _source.no_effects
      ? html`<p class="attnw-atlas-note">No effects: ${_source.no_effects}</p>`
      : nothing;
  const rows = effectRows(effect);
  return html`<div class="attnw-atlas-heading"><span>${effectTitle(effect)}</span></div>
    ${effectTable("effect on the loss", rows, effectRange(rows), layout, look)}
    <p class="attnw-atlas-note">${effectNote(effect)}</p>`;
}

function writesView({ writes }: Card) {
  if (!writes.length) return nothing;
  return html`<div class="attnw-atlas-heading"><span>writes</span></div>
    <ul class="attnw-atlas-list">${writes.map((item) => html`<li>${writesText(item)}</li>`)}</ul>`;
}

function feedsView({ feeds }: Card, { choose }: Actions) {
  if (!feeds.length) return nothing;
  return html`<div class="attnw-atlas-heading"><span>fed by</span></div>
    <ul class="attnw-atlas-list">${feeds.map(
      ([head, fed, score]) => html`<li><button type="button" class="attnw-atlas-more"
        @click=${() => choose(head)}>${headName(head)}</button> its ${fed}
        <span class="attnw-muted">${score.toFixed(3)}</span></li>`,
    )}</ul>`;
}

/** Return the links of the reader's own text that the name predicts. */
function inTextView(inText: InText | null, { card: width }: AtlasLayout, look: Look) {
  if (!inText) return nothing;
  if (!inText.predictions)
    return html`<p class="attnw-atlas-note attnw-atlas-in-text">${NOTHING_IN_TEXT}</p>`;
  const line = exampleLines(width, look);
  const note = inTextNote(inText);
  return html`<div class="attnw-atlas-heading attnw-group"><span>${IN_TEXT_TITLE}</span
      ><span class="attnw-atlas-unit attnw-muted">${inTextCounts(inText)}</span></div>
    <ol class="attnw-atlas-examples attnw-atlas-few" aria-label=${IN_TEXT_TITLE}>${linksInText(
      inText,
    ).map(
      ([kind, example]) => html`<li><span class="attnw-atlas-kind attnw-muted">${kind}</span
        >${line(example)}</li>`,
    )}</ol>${note && html`<p class="attnw-atlas-note">${note}</p>`}`;
}

function examplesView(
  card: Card,
  state: AtlasState,
  { card: width }: AtlasLayout,
  look: Look,
  { change }: Actions,
) {
  const kinds = KINDS.filter((kind) => kind === state.examples || card.examples[kind]);
  if (!Object.keys(card.examples).length) return nothing;
  const all = card.examples[state.examples] ?? [];
  const shown = all.slice(0, state.n_examples);
  const hasMore = all.length > shown.length;
  const n_examples = hasMore ? MOST_EXAMPLES : FEW_EXAMPLES;
  const button = moreButton(hasMore ? `all ${all.length}` : "fewer", !hasMore, () =>
    change({ n_examples }),
  );
  const more = hasMore || shown.length > FEW_EXAMPLES ? button : nothing;
  const kind = choice<Kind>({
    name: "examples",
    place: "bar",
    values: kinds,
    value: state.examples,
    change: (examples) => change({ examples }),
  });
  const line = exampleLines(width, look);
  return html`${examplesOfName(card, state.examples).map(
    ([name, few, count]) => html`<div class="attnw-atlas-heading attnw-group"><span>${name}</span
      >${moreButton(`all ${count}`, false, () => change({ examples: name }))}<span
      class="attnw-atlas-unit attnw-muted">${KIND_MEANINGS[name].split(": ")[1]}</span></div>
    <ol class="attnw-atlas-examples attnw-atlas-few">${few.map(
      (example) => html`<li>${line(example)}</li>`,
    )}</ol>`,
  )}
    <div class="attnw-atlas-heading attnw-group">${controlView(kind)}${more}<span
      class="attnw-atlas-unit attnw-muted">${KIND_MEANINGS[state.examples].split(": ")[1]}</span
    ></div>
    ${shown.length ? nothing : html`<p class="attnw-atlas-text">${NO_EXAMPLES}</p>`}
    <ol class="attnw-atlas-examples">${shown.map((example, number) => {
      const isOpen = number === state.example;
      return html`<li><button type="button" aria-pressed=${isOpen}
          @click=${() => change({ example: isOpen ? null : number })}>${line(example)}</button
        ></li>`;
    })}</ol>`;
}

/** Return a function that draws an example with its weight and words. */
function exampleLines(width: number, { theme, font, ruler, density }: Look) {
  const measure = ruler(labelFont(font));
  const room = width - WEIGHT - 4;
  return (example: Example) => {
    const line = exampleLine(example, measure, room);
    const paint = (canvas: HTMLCanvasElement) => {
      const pen = fresh(canvas, Math.min(width - WEIGHT, lengthOf(line) + 4), EXAMPLE_HEIGHT);
      if (!pen) return;
      pen.translate(2, 0);
      paintExample(pen, theme, font, line);
    };
    return html`<span class="attnw-atlas-weight" aria-hidden="true"
      >${percentText(example.weight)}</span
      ><canvas aria-hidden="true" ${painted(paint, example, theme, width, density)}></canvas
      ><span class="attnw-unseen">${exampleText(example)}</span>`;
  };
}

/** Return the note on a head, in a text field unless the page is a saved page. */
function noteField(
  head: Head,
  { notes }: Pick<AtlasState, "notes">,
  isPage: boolean,
  change: (change: Pick<AtlasState, "notes">) => void,
) {
  const now = noteOf(head, notes);
  if (isPage) return now ? html`<p class="attnw-atlas-text attnw-atlas-noted">${now}</p>` : nothing;
  const entered = ({ currentTarget }: Event) => {
    const text = (currentTarget as HTMLTextAreaElement).value;
    if (text.trim() !== now) change({ notes: relabeled(notes, head, text) });
  };
  const pressed = (event: KeyboardEvent) => {
    const area = event.currentTarget as HTMLTextAreaElement;
    const isEntered = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    // Letters are text here, not shortcuts of the figure.
    if (event.key !== "Escape" || area.value !== now) event.stopPropagation();
    if (event.key === "Escape") area.value = now;
    if (isEntered) area.blur();
  };
  // Give each head its own field, so that a text is never entered for another head.
  const field = html`<textarea rows="1" maxlength=${LONGEST_NOTE} placeholder="none"
    .value=${live(now)} @change=${entered} @keydown=${pressed}></textarea>`;
  return html`<label class="attnw-atlas-note-field"><span>note</span>${keyed(anchorOf(head), field)}
    </label>`;
}
