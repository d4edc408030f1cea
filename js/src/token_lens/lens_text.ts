import {
  type Caption,
  caption,
  headNames,
  MERGED,
  scaleName,
  scaleTitle,
  scaleWords,
  type Table,
} from "../shared/caption.js";
import type { Cell } from "../shared/cells.js";
import { barTexts } from "../shared/colour_bar.js";
import { shortName, wholeName } from "../shared/head_names.js";
import { inLine } from "../shared/in_line.js";
import { labelOf, specialName, tokenInQuotes } from "../shared/labels.js";
import { counted } from "../shared/numbers.js";
import { barPrinter, quantityName, symbolOf, tablePrinter } from "../shared/quantity.js";
import { offNote } from "../shared/strike.js";
import type { Head, Side } from "../shared/types.js";
import { headAt, largestIn, type Scene, valueAt } from "./scene.js";
import { lockedOf } from "./shown_tokens.js";

export const FIGURE = "Token lens";
export const HINT =
  "Point at a cell for its weight; click it to select its head, or a token to lock that one too.";
export const FIRST_HINT =
  "No word is locked: this is the first one. Choose one above, or click a token here or in " +
  "a linked view.";
export const PAIR_HINT = "Point at a square for its weight, click it to select its head.";
const LOCK = "no word is locked: the first one is shown";

/** The locked token of a side, quoted. */
function tokenOf({ lens, axes }: Pick<Scene, "lens" | "axes">, side: Side): string {
  const index = lens[side];
  return index === null ? "" : tokenInQuotes(axes[side], index);
}

const inStack = ({ lens }: Scene) => (lens.stack === "self" ? "" : `${lens.stack} `);

/** How many heads there are, in words; layers without attention have none. */
function countOfHeads(scene: Scene): string {
  const stack = scene.state._stacks.find(({ name }) => name === scene.lens.stack);
  const without = new Set(stack?.without_attention);
  const heads = scene.heads.filter(([layer]) => !without.has(layer));
  return counted(heads.length, `${inStack(scene)}head`);
}

/** Which heads these are: "12 heads of layer 3", "all 72 heads". */
function which(scene: Scene): string {
  const { lens } = scene;
  const count = countOfHeads(scene);
  return lens.layer === null ? `all ${count}` : `the ${count} of layer ${lens.layer}`;
}

/** A description of the lens in one sentence. */
export function titleOf(scene: Scene): string {
  const from = tokenOf(scene, "query");
  const to = tokenOf(scene, "key");
  if (scene.side === "query") return `From ${from}: where ${which(scene)} look`;
  if (scene.side === "key") return `To ${to}: from where ${which(scene)} look at it`;
  const count = goers(scene).length;
  const of = `${count} of ${countOfHeads(scene)}`;
  return `${of} ${count === 1 ? "goes" : "go"} from ${from} to ${to}`;
}

/** The title of the lens, with the scale that the reader asked for. */
export const headingOf = (scene: Scene): string =>
  inLine([titleOf(scene), scaleTitle(scene.state.scale)]);

/** The heads that go from the first token to the second, the largest weight first. */
export function goers({ heads, goes, values }: Scene): Head[] {
  const targets = [...heads.keys()].filter((i) => goes?.[i]);
  return targets.sort((a, b) => (values[b] ?? 0) - (values[a] ?? 0)).map((i) => heads[i] as Head);
}

/** A cell in words: both tokens, the weight, the head. */
export function describe(scene: Scene, cell: Cell): string {
  const head = headAt(scene, cell);
  if (!head) return "";
  const name = shortName(head, scene.state);
  if (scene.off[scene.side ? cell[1] : cell[0] * scene.layout.cols + cell[1]]) return offNote(name);
  const value = valueAt(scene, cell);
  const weight = [scene.print(value), Number.isNaN(value) ? "" : symbolOf(scene.lens.quantity)]
    .filter(Boolean)
    .join(" ");
  const other = labelOf(scene.other, scene.tokens[cell[0]] ?? -1);
  const from = scene.side === "key" ? other : tokenOf(scene, "query").slice(1, -1);
  const to = scene.side === "query" ? other : tokenOf(scene, "key").slice(1, -1);
  const goes = scene.goes?.[cell[0] * scene.layout.cols + cell[1]] ? ", its strongest key" : "";
  return `${name}: ${from} → ${to} ${weight}${goes}`;
}

/** The text without a pointer: the selected head, or the largest value. */
export function leadCell(scene: Scene): Cell {
  const { values, layout, maximum, selected, side } = scene;
  const chosen = selected.at(-1);
  if (chosen) return side ? [largestIn(scene, chosen[1]), chosen[1]] : chosen;
  const at = Math.max(0, values.indexOf(maximum));
  return [Math.floor(at / layout.cols), at % layout.cols];
}

/** The values under the colour bar, and what stands beside it. */
export function legendOf({ state, lens, end, heads }: Scene) {
  const texts = barTexts(state.scale, end, barPrinter(lens.quantity, state.scale));
  const name = scaleName(state.scale, lens.quantity);
  const shared = heads.length > 1 && name !== "absolute" ? "one scale for all heads" : "";
  return { texts, words: inLine([symbolOf(lens.quantity), name, shared]) };
}

/** Whether no token is locked that could be seen. */
export function isNone({ state, axes }: Pick<Scene, "state" | "axes">): boolean {
  const { query, key } = lockedOf(state, axes);
  return query === null && key === null;
}

/** A description of the lens, with all omitted, merged or masked parts. */
export function captionOf(scene: Scene): Caption {
  const { state, lens, axes, side, tokens, leftOut, values, end, print } = scene;
  const source = state._source;
  const hidden = state.hidden.map((kind) => specialName(axes, kind) ?? "").filter(Boolean);
  const from = tokenOf(scene, "query");
  const to = tokenOf(scene, "key");
  const others = counted(tokens.length + leftOut, lens.unit.slice(0, -1));
  const pair = `from ${from || others} to ${to || others}`;
  const among = hidden.length ? ", among the tokens shown" : "";
  const whole = lens.quantity === "weights" ? "weight" : lens.quantity.slice(0, -1);
  const offHeads = scene.heads.filter((_, i) => scene.off[i]);
  const namesOff = headNames(offHeads, { short: true, _stacks: state._stacks });
  return caption(FIGURE, {
    model: source.model,
    head: side ? which(scene) : titleOf(scene),
    quantity: `${pair} · ${quantityName(lens.quantity, source.loss)}`,
    scale: `${scaleWords(state.scale, lens.quantity)}, 0 to ${
      scaleName(state.scale, lens.quantity) === "absolute" ? 1 : `${print(end)}, all heads`
    }`,
    notes: [
      state.selected.length ? `selected: ${headNames(state.selected, state)}` : "",
      side && state.sort === "weight" ? `heads by their largest ${whole}` : "",
      side
        ? ""
        : `marked: more ${whole} than any other token${among}${
            lens.quantity === "weights" ? ", from 1.5 times an even share on" : ""
          }`,
      offHeads.length ? `empty and struck through: switched off (${namesOff})` : "",
      isNone(scene) ? LOCK : "",
      leftOut ? `the ${tokens.length} tokens with the largest ${whole}s alone` : "",
      hidden.length ? `${hidden.join(", ")} hidden` : "",
      values.some(Number.isNaN) ? "masked cells struck through" : "",
      lens.unit === "words" ? MERGED : "",
      lens.decade === null ? "" : "numbers to three digits",
      lens.exact ? "" : "rounded",
      source.note,
    ],
  });
}

/** A head a row, the largest value first: of one token with the token where it is. */
export function tableOf(scene: Scene): Table {
  const { side, heads, tokens, goes, other, lens } = scene;
  const print = lens.quantity === "weights" ? tablePrinter(lens.quantity) : scene.print;
  const column = lens.quantity.slice(0, -1);
  const rows = heads.map((head, i) => {
    const { cols } = scene.layout;
    const cell: Cell = side ? [largestIn(scene, i), i] : [Math.floor(i / cols), i % cols];
    const place = side ? labelOf(other, tokens[cell[0]] ?? -1) : goes?.[i] ? "yes" : "";
    const name = wholeName(head, scene.state);
    if (scene.off[i]) return { name, value: 0, place: "off" };
    return { name, value: valueAt(scene, cell), place };
  });
  rows.sort((a, b) => (b.value || 0) - (a.value || 0));
  return {
    columns: ["head", side === "query" ? "to" : side === "key" ? "from" : "goes there", column],
    rows: rows.map(({ name, value, place }) => [name, place, print(value)]),
  };
}
