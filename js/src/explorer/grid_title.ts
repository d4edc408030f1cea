import { html, type TemplateResult } from "lit-html";
import type { GridState, WireRow } from "../head_grid/state.js";
import { pairCount } from "../head_grid/word_answers.js";
import { inQuotes } from "../shared/labels.js";
import { counted } from "../shared/numbers.js";
import { percentText } from "../shared/percent_text.js";
import { type Head, headName } from "../shared/types.js";
import { fromWord } from "./from_word.js";
import type { Reading } from "./sentence/reading.js";

const wordAt = (reading: Reading, side: "query" | "key", at: number) =>
  reading.words[side][at]?.text ?? "";

/** Return the explanation of the map colors. On dark paper, much attention is bright. */
function colorHint(grid: GridState | undefined, isDark: boolean): string {
  if (grid?._thumbnails?.signed) {
    const than = grid.versus === "other";
    const signs = than ? "in A, orange = more in B" : "than in the intact model, orange = less";
    return `blue = more ${signs}${grid._metrics ? `, bar = ${grid.metric}` : ""}`;
  }
  const of = !grid || grid.quantity === "weights" ? "much attention" : `large ${grid.quantity}`;
  const scale = grid && grid.scale !== "absolute" ? ", each head on its own scale" : "";
  return `${isDark ? "bright" : "dark"} = ${of}${scale}; rows look, columns are looked at`;
}

/** Return the title of cells that paint the row of a token. */
function paintedTitle({ side, of }: WireRow, reading: Reading | undefined, count: number) {
  const text = of === null ? "" : reading?.words[side][of]?.text;
  const token = fromWord(text ?? "");
  const row = !text
    ? html`Where all tokens look on average`
    : side === "key"
      ? html`Which tokens look at ${token}`
      : html`Where ${token} looks`;
  return html`<span>${row} in each of the ${count} heads</span>`;
}

/**
 * Return the title of the grid of all heads: the number of heads, where a word attends, or how
 * heads link two words.
 */
export function gridTitle(
  reading: Reading | undefined,
  grid: GridState | undefined,
  isDark: boolean,
  select: (head: Head) => void,
): TemplateResult {
  const stack = grid?._stacks.find(({ name }) => name === grid.stack);
  const layers = (stack?.n_layers ?? 0) - (stack?.layers_without_attention?.length ?? 0);
  const count = layers * (stack?.n_heads ?? 0);
  const rows = grid?._rows;
  const painted = grid?._thumbnails?.row;
  const asks = grid?.cells === "answers" && rows && rows.stack === grid.stack;
  const lock = (side: "query" | "key") => grid?.tokens.filter(([of]) => of === side).at(-1)?.[1];
  const [from, to] = [lock("query"), lock("key")];
  const side = from === undefined ? "key" : "query";
  const locked = from ?? to;
  if (!asks || !reading || locked === undefined || rows.side !== side || rows.of !== locked) {
    if (painted && !grid._thumbnails?.signed) return paintedTitle(painted, reading, count);
    return html`<span>${count === 1 ? "The only head" : `All ${count} heads`}</span>
      <span class="attnw-ex-muted">${colorHint(grid, isDark)}</span>`;
  }
  if (from === undefined)
    return html`<span>Who looks at <b>${inQuotes(wordAt(reading, "key", locked))}</b> in each of the
      ${count} heads</span>`;
  const word = fromWord(wordAt(reading, "query", from));
  if (to === undefined) return html`<span>Where ${word} looks in each of the ${count} heads</span>`;
  const pair = pairCount(rows, to, grid._axes, grid.hidden);
  const second = reading.isOneText && to === from ? "itself" : inQuotes(wordAt(reading, "key", to));
  const { most } = pair;
  const send = pair.count === 1 ? "sends" : "send";
  return html`<span>${pair.count} of ${counted(count, "head")} ${send} ${word} to ${second}</span>
    <span class="attnw-ex-muted">more than any other, from 1.5 even shares on${
      most
        ? html` · most: <button type="button" class="attnw-ex-link"
            @click=${() => select([...most.head, rows.stack])}>${headName([
              ...most.head,
              rows.stack,
            ])}</button> (${percentText(most.weight)})`
        : ""
    }</span>`;
}
