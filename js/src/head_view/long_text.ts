import { type Caption, caption, SCALE_WORDS, type Table } from "../shared/caption.js";
import { barTexts } from "../shared/colour_bar.js";
import { counted } from "../shared/numbers.js";
import { type Head, headName, paperName } from "../shared/types.js";
import { blockAt, described, type LongScene, linkText, named } from "./long_scene.js";
import type { Link, LongHead } from "./long_types.js";
import { isWhole, whole } from "./long_window.js";
import { FIGURE, MOST_ROWS } from "./view_text.js";

/** Of the most that lines show. */
const LISTED = 3;
export const headOf = ({ layer, head, stack }: LongHead): Head => [layer, head, stack];
export const lengthOf = ({ n_query, n_key }: LongHead): string =>
  n_query === n_key
    ? counted(n_query, "token")
    : `${n_query.toLocaleString("en")} × ${n_key.toLocaleString("en")} tokens`;

/** What needs whole maps, for a reader who looks for it. */
export const MISSING =
  "Long input: whole maps are not made of it, and so neither norms, gradients, words, " +
  "hidden tokens, comparisons nor several heads at once.";

/** The values at the ends of the colour scale. */
export const scaleTexts = ({ state, maximum, print }: LongScene) =>
  barTexts(state.scale, maximum, print);

/** The cells that the colour scale is made for. */
export const scaleUse = ({ head, part }: LongScene) =>
  isWhole(head, whole(part)) ? "this head" : "in sight";

const spans = (scene: LongScene) => {
  const [q0, q1, k0, k1] = whole(scene.part);
  return `queries ${q0}–${q1 - 1} and keys ${k0}–${k1 - 1}`;
};

/** The links that the kernel leaves out of lists (`_links` in `long_input.py`). */
const leftOut = ({ first_text }: LongHead) =>
  `links to ${named(first_text, 0)}, from the first 16 tokens and of a token to itself`;

/** A description of the links that are listed or drawn as lines, and of omitted links. */
export function linksNote({ state, links, head }: LongScene): string {
  if (state.mode !== "lines") return `listed links: without ${leftOut(head)}`;
  if (!links) return "";
  return (
    `the strongest ${counted(links.length, "link")} in sight; weaker links are not shown, nor ` +
    leftOut(head)
  );
}

/** What a view of a long input shows, in words. */
export function longCaption(scene: LongScene): Caption {
  const { state, head, part, tile, overview, print } = scene;
  const of = headOf(head);
  const { step } = tile ?? overview;
  const [low, , high] = scaleTexts(scene);
  const first = scene.overview.first.reduce((most, value) => Math.max(most, value || 0), 0);
  const matrix = state.mode === "matrix";
  return caption(head.stack === "self" ? FIGURE : `${FIGURE}, ${head.stack} attention`, {
    model: state._source.model,
    head: `${headName(of)} (${paperName(of)})`,
    quantity: `attention weights · long input, ${lengthOf(head)}`,
    scale:
      `${SCALE_WORDS[state.scale]} colour scale, ${low} to ${high}, ${scaleUse(scene)} but for ` +
      "the first key",
    notes: [
      isWhole(head, whole(part)) ? "" : `zoomed: ${spans(scene)} in sight`,
      matrix && step > 1 ? `maxima of ${step} × ${step} tokens` : "",
      matrix ? `${named(head.first_text, 0)} in a column of its own, at most ${print(first)}` : "",
      matrix && tile?.values.some(Number.isNaN) ? "masked cells hatched" : "",
      linksNote(scene),
      state._source.note,
    ],
  });
}

/** The strongest links in sight as lines, otherwise the strongest links of the head. */
export const linksOf = ({ state, links, head }: LongScene): Link[] =>
  (state.mode === "lines" && links) || head.links;

export function longTable(scene: LongScene): Table {
  const links = linksOf(scene).slice(0, MOST_ROWS);
  const rows = links.map(([query, key, weight, from, to]) => [
    named(from, query),
    named(to, key),
    scene.print(weight, links[0]?.[2]),
  ]);
  return { columns: ["from", "to", "weight"], rows };
}

/** What assistive technology reads on the figure. */
export function longName(scene: LongScene): string {
  const { head } = scene;
  const strongest = head.links.slice(0, LISTED).map((link) => linkText(scene, link));
  return (
    `Attention of ${headName(headOf(head))} over ${lengthOf(head)}; strongest: ` +
    `${strongest.join(", ") || "none"}. Question mark lists the keys.`
  );
}

/** What is pointed at, or the locked pair. */
export function longSaid(scene: LongScene): string {
  const { links, link, state, locked } = scene;
  if (state.mode === "lines") {
    const chosen = link === undefined ? undefined : links?.[link];
    return chosen ? linkText(scene, chosen) : "";
  }
  const { query, key } = locked;
  const pair =
    query !== undefined && key !== undefined ? blockAt(scene, { query, key }) : undefined;
  const active = scene.active ?? (pair?.step === 1 ? pair : undefined);
  return active ? described(scene, active) : "";
}

/** A description of the cell under the keyboard cursor, with its neighbours. */
export const inSightText = (scene: LongScene): string => {
  const { tile, overview } = scene;
  const { step } = tile ?? overview;
  return `${spans(scene)} in sight${step > 1 ? `, in blocks of ${step}` : ""}`;
};
