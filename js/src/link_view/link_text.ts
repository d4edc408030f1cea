import { type Caption, caption, headNames, type Table } from "../shared/caption.js";
import { shortName } from "../shared/head_names.js";
import { labelOf, specialName, tokenInQuotes } from "../shared/labels.js";
import { aligned, counted, figures, percentOf } from "../shared/numbers.js";
import { shareText } from "../shared/percent_text.js";
import { signedValue } from "../shared/quantity.js";
import { headName } from "../shared/types.js";
import type { Link, LinkState, Rest, ScorePart } from "./state.js";
import { isAbout } from "./state.js";

export const FIGURE = "Why a head attends, and what it carries";
const NO_HEAD =
  "Select a head: click one in a linked figure, or set view.selected = [(layer, head)].";
const NO_QUERY =
  "Choose a link: click a line or a cell in a linked figure, or choose the token that attends " +
  "under “from”.";
/** Title of the documentation page about the output of a head. */
const WRITES = "What a head writes";
export const WAITING = "The model is being asked …";

/** Bar of a panel. */
export interface Row {
  label: string;
  value: number;
  text: string;
  /** Position of a stroke across the bar, as a value. */
  stroke?: number;
  /** Whether the row is a sum, which is drawn in the text color. */
  isSum?: boolean;
}

/** Bars under a heading, on a common scale. */
export interface Block {
  heading: string;
  rows: Row[];
  /** Whether the values are logarithms of factors. */
  isFactors?: boolean;
}

/** One answer: a title, sentences above and below, and bars between them. */
export interface AnswerPanel {
  /** Name of the panel in tables. */
  name: string;
  title: string;
  above: string[];
  blocks: Block[];
  below: string[];
}

const queryOf = (state: LinkState, link: Link) =>
  tokenInQuotes(state._token_axes.query, link.query);
const keyName = (state: LinkState, index: number) => tokenInQuotes(state._token_axes.key, index);

/** Return the weight of a key, or NaN if the page does not have it. */
const weightOf = (link: Link, key: number) =>
  link.rivals.find(([index]) => index === key)?.[1] ?? Number.NaN;

/** Return the link as one line. */
export function titleOf(state: LinkState, link: Link): string {
  const { head, key, versus, weight } = link;
  const from = `${shortName(head, state)}: ${queryOf(state, link)}`;
  const to = `${keyName(state, key)} ${shareText(weight)}`;
  const rival =
    versus === null || link.is_runner_up
      ? ""
      : `, not ${keyName(state, versus)} ${shareText(weightOf(link, versus))}`;
  return `${from} → ${to}${rival}`;
}

/** Return a formatter that prints the values of a list with their signs. */
function printed(values: number[]): (value: number) => string {
  const print = aligned(Math.max(...values.map(Math.abs), 1e-3));
  const withSign = signedValue(print);
  // A value that rounds to zero has no sign.
  return (value) => (/[1-9]/.test(print(Math.abs(value))) ? withSign(value) : print(0));
}

/**
 * Format a weight with three digits, because the log ratio of the weights is printed next to it.
 */
const printWeight = (weight: number) => `${figures(100 * weight)}\u00a0%`;

/** Format a share as a percentage. */
const printShare = (share: number) => percentOf(Math.round(100 * share) / 100 || 0, 1);

const sizeOf = (parts: ScorePart[]) => parts.reduce((all, [, value]) => all + Math.abs(value), 0);

/** Return rows of the parts, largest first, followed by the sum of unlisted parts and the total. */
function rowsOf(parts: ScorePart[], [count, sum]: Rest, total: number): Row[] {
  const print = printed([...parts.map(([, value]) => value), total]);
  const row = ([label, value]: ScorePart): Row => ({ label, value, text: print(value) });
  const sorted = [...parts].sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  const left: ScorePart[] = count ? [[counted(count, "other"), sum]] : [];
  return [...[...sorted, ...left].map(row), { ...row(["sum", total]), isSum: true }];
}

/** Return a note on the parts if the bars alone would mislead. */
const restText = (parts: ScorePart[], [count, sum]: Rest): string =>
  Math.abs(sum) > sizeOf(parts)
    ? `The ${counted(count, "other")} outweigh the parts that are listed: no few parts explain it.`
    : "";

/**
 * Return a reason as one line: the beginning of an error and the next step at its end. `page`:
 * Documentation page whose section "Limits" explains more.
 */
export function reason(problem: string, page = "Why a head attends"): string {
  const [first = ""] = problem.split(/[:;.] /);
  const [, step = ""] = problem.match(/(: [^:;.]{1,30})$/) ?? [];
  return `${first.replace(/\.$/, "")}${step} (docs: ${page}, Limits).`;
}

/** Return the panel on why the head gives the key its weight. */
function whyPanel(state: LinkState, link: Link): AnswerPanel {
  const key = keyName(state, link.key);
  const answer = state._why;
  const panel = { name: "why", title: `Why ${key}`, above: [], blocks: [], below: [] };
  if (!answer || !isAbout(answer, link, true))
    return { ...panel, above: [state._problem || WAITING] };
  const { found, problem } = answer;
  if (!found) return { ...panel, above: [reason(problem)] };
  const { factors, finding, rival, n_words, written } = found;
  const rows = factors.map(
    ([label, value, text], i): Row => ({ label, value, text, isSum: i === factors.length - 1 }),
  );
  const mean = link.is_runner_up
    ? ` A typical word is the geometric mean of the ${counted(n_words, "other word")}.`
    : "";
  return {
    ...panel,
    title: finding,
    blocks: [{ heading: `weight, relative to ${rival}`, rows, isFactors: true }],
    below: [
      written,
      `The factors multiply to the whole. Each swaps one part of ${key} for that of ${rival}, ` +
        `in all orders.${mean}`,
    ],
  };
}

/** Return the panel on the wavelengths that prefer the key to its rival; null without any. */
function wavelengthPanel(state: LinkState, link: Link): AnswerPanel | null {
  const answer = state._wavelengths;
  if (!answer?.found || link.versus === null || !isAbout(answer, link, true)) return null;
  const rival = keyName(state, link.versus);
  const { rest, total, log_ratio, note } = answer.found;
  const parts = [...answer.found.parts, ...answer.found.others];
  const ratio = log_ratio === null ? "" : printed([log_ratio])(log_ratio);
  const weights = [link.weight, weightOf(link, link.versus)].map(printWeight).join(" / ");
  const chosen = link.is_runner_up
    ? `${rival} is the other token with most weight.`
    : `${rival} was chosen.`;
  return {
    name: "wavelengths",
    title: `Why ${keyName(state, link.key)} and not ${rival}, by wavelength`,
    above: [sizeOf(parts) ? chosen : "No part makes a difference."],
    blocks: sizeOf(parts)
      ? [{ heading: "difference of scores, by wavelength", rows: rowsOf(parts, rest, total) }]
      : [],
    below: [
      restText(parts, rest),
      ratio
        ? `The sum is the log ratio of the weights: log (${weights}) = ${ratio}.`
        : "A weight is 0 in float32, so the sum has no log ratio to be compared with.",
      note,
    ],
  };
}

/** Return the panel on which components wrote the query and the key. */
function sourcesPanel(state: LinkState, link: Link): AnswerPanel {
  const answer = state._sources;
  const panel = {
    name: "who wrote",
    title: "Who wrote the query and the key",
    above: [],
    blocks: [],
    below: [],
  };
  if (!answer || !isAbout(answer, link, true))
    return { ...panel, above: [state._problem || WAITING] };
  const { found, problem } = answer;
  if (!found) return { ...panel, above: [reason(problem)] };
  const { pairs, rest, total, is_whole } = found;
  const ends =
    link.versus === null
      ? ""
      : `, for ${keyName(state, link.key)} and not ${keyName(state, link.versus)}`;
  const what = link.versus === null ? "score" : "difference of scores";
  return {
    ...panel,
    above: [`Writer of the query × writer of the key${ends}.`],
    blocks: [{ heading: `${what}, by writers`, rows: rowsOf(pairs, rest, total) }],
    below: [
      restText(pairs, rest),
      is_whole
        ? `The sum is the whole ${what}.`
        : `The sum is the ${what} before bias and soft cap.`,
    ],
  };
}

/** Return the panel on what the head carries from the key to the query. */
function carriedPanel(state: LinkState, link: Link): AnswerPanel {
  const key = keyName(state, link.key);
  const query = queryOf(state, link);
  const panel = {
    name: "carried",
    title: `What goes from ${key} to ${query}`,
    above: [],
    blocks: [],
    below: [],
  };
  const answer = state._writes;
  if (!answer || !isAbout(answer, link)) return { ...panel, above: [state._problem || WAITING] };
  const { found, problem } = answer;
  if (!found) return { ...panel, above: [reason(problem, WRITES)] };
  const { tokens, rest, layer_share, note } = found;
  const [, share = 0] = tokens[0] ?? [];
  const rows = tokens.map(
    ([token, value, weight]): Row => ({
      label: labelOf(state._token_axes.key, token),
      value,
      text: printShare(value),
      stroke: weight,
    }),
  );
  const [count, sum, weight] = rest;
  if (count)
    rows.push({
      label: counted(count, "other"),
      value: sum,
      text: printShare(sum),
      stroke: weight,
    });
  const said = [
    `${key} is ${printShare(share)} of what ${headName(link.head)} writes at ${query}.`,
    `The head is ${printShare(layer_share)} of what the heads of layer ${link.head[0]} write.`,
  ];
  const words = wordBlocks(state, link);
  return {
    ...panel,
    above: [said.join(" ")],
    blocks: [{ heading: "share of the output (stroke: weight)", rows }, ...words.blocks],
    below: [...words.below, note],
  };
}

/** Return the words that the carried part promotes and suppresses. */
function wordBlocks(state: LinkState, link: Link): Pick<AnswerPanel, "blocks" | "below"> {
  const answer = state._vocabulary;
  if (!answer || !isAbout(answer, link)) return { blocks: [], below: [WAITING] };
  const { found, problem } = answer;
  if (!found) return { blocks: [], below: [`No words: ${reason(problem, WRITES)}`] };
  const all = [...found.promoted, ...found.suppressed];
  const print = printed(all.map(([, value]) => value));
  const rows = all.map(([label, value]): Row => ({ label, value, text: print(value) }));
  const below = found.note ? [`Logits are those ${found.note}.`] : [];
  return { blocks: [{ heading: "words promoted and suppressed, logit", rows }], below };
}

/** Return the panels of a link; the first is about the whole weight. */
export function panelsOf(state: LinkState, link: Link): AnswerPanel[] {
  const panels = [
    whyPanel(state, link),
    wavelengthPanel(state, link),
    sourcesPanel(state, link),
    carriedPanel(state, link),
  ];
  return panels.filter((panel) => panel !== null);
}

/** Return the caption. */
export function captionOf(state: LinkState): Caption {
  const link = state._link;
  const { model, note, edits } = state._source;
  if (!link)
    return caption(FIGURE, {
      model,
      head: headNames(state.selected, state),
      notes: [messageOf(state)],
    });
  const rival =
    link.versus === null || link.is_runner_up ? "" : ` against ${keyName(state, link.versus)}`;
  const compared = link.is_runner_up ? "a typical word" : "the rival";
  const hidden = state.hidden.map((kind) => specialName(state._token_axes, kind)).filter(Boolean);
  return caption(FIGURE, {
    model,
    head: headNames([link.head], state),
    quantity: `${queryOf(state, link)} → ${keyName(state, link.key)}${rival}`,
    scale: state._why?.found
      ? `factors of the weight, relative to ${compared}, on a logarithmic axis`
      : "",
    notes: [
      link.is_strongest ? "no key is locked: the key with most weight is shown" : "",
      link.is_runner_up && link.versus !== null
        ? "differences of scores are from the other key with most weight, " +
          keyName(state, link.versus)
        : "",
      hidden.length ? `hidden, and no rivals: ${hidden.join(", ")}` : "",
      state.unit === "words" ? "of the locked words the tokens with most weight" : "",
      "writers, shares and words with norms as they are in this text",
      edits ?? "",
      note,
    ],
  });
}

/** Return the message if no link is shown. */
export const messageOf = (state: LinkState): string => (state.selected.length ? NO_QUERY : NO_HEAD);

/** Return the table of the bars of all panels. */
export function tableOf(state: LinkState): Table {
  const link = state._link;
  const rows = link
    ? panelsOf(state, link).flatMap(({ name, blocks }) =>
        blocks.flatMap(({ rows, isFactors }, k) =>
          rows.map(({ label, value }) => [
            label,
            k ? "words" : name,
            isFactors ? Math.exp(value) : value,
          ]),
        ),
      )
    : [];
  return { columns: ["part", "panel", "value"], rows };
}
