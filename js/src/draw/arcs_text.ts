import { ALL, type ArcsState, DIRECTIONS, type DrawnSentence } from "../model/relation_types.js";
import { headName, type Model, paperName } from "../model/types.js";
import { hasRelation, type Predicted, type Reading, type Tree } from "./arcs_data.js";
import { digits } from "./colour_bar.js";
import { percent, signed } from "./relation_rows.js";

/** Weights that a readout names. */
const NAMED = 8;

const chosen = (relation: string) => (relation === ALL ? "all relations" : relation);

/** What is shown, and how often the head is right: here, and where it was measured. */
export function titleText(
  model: Model<ArcsState>,
  drawn: DrawnSentence,
  tree: Tree,
  reading: Reading | undefined,
): string {
  const [relation, direction] = [model.get("relation"), model.get("direction")];
  const measured = model.get("_measured");
  if (!drawn.head || !reading) return "";
  const own = reading.predicted.filter(({ dependent }) =>
    hasRelation(relation, tree.relations[dependent] ?? ""),
  );
  const right = own.filter((arc) => arc.right).length;
  const here = own.length
    ? `right on ${right} of ${own.length} ${own.length === 1 ? "word" : "words"} here`
    : "no such word here";
  const all =
    measured &&
    `${percent(measured.correct / measured.n, measured.n)} % of ` +
      `${measured.n.toLocaleString("en")} in the treebank (best offset ` +
      `${signed(measured.offset)}: ${percent(measured.baseline, measured.n)} %)`;
  const head = `${headName(drawn.head)} · ${paperName(drawn.head)}`;
  return [head, chosen(relation), direction, here, all].filter(Boolean).join(" · ");
}

export function captionText(
  model: Model<ArcsState>,
  drawn: DrawnSentence,
  own: number,
  shown: number,
): string {
  const { model: name, note } = model.get("_source");
  const hidden = own - shown;
  return [
    ...[name, drawn.name, note],
    drawn.predicted && "weights between words, special tokens left out, nothing renormalised",
    drawn.predicted && "opacity: square root of the weight",
    hidden > 0 &&
      `${hidden} ${hidden === 1 ? "arc" : "arcs"} below ${digits(model.get("threshold"))} not drawn`,
  ]
    .filter(Boolean)
    .join(" · ");
}

function strongest(tree: Tree, word: number, weight: (other: number) => number): string {
  const others = tree.words
    .map((text, i) => ({ text, i, weight: weight(i) }))
    .sort((a, b) => b.weight - a.weight);
  const named = others
    .slice(0, NAMED)
    .map(({ text, i, weight: w }) => `${i === word ? "itself" : text} ${digits(w)}`);
  const more = others.length - NAMED;
  const rest = others.slice(NAMED).reduce((sum, { weight: w }) => sum + w, 0);
  return [
    ...named,
    ...(more > 0 ? [`${more} ${more === 1 ? "other" : "others"} ${digits(rest)}`] : []),
  ].join(" · ");
}

/** What a word attends to and who attends to it, and the governor that follows. */
export function wordTexts(
  tree: Tree,
  reading: Reading | undefined,
  word: number,
): { arc: string; from: string; to: string } {
  const text = tree.words[word] ?? "";
  const governor = tree.governors[word] ?? -1;
  const relation = tree.relations[word] ?? "";
  const annotated =
    governor < 0 ? `${text}: root` : `${text}: ${relation} of ${tree.words[governor] ?? ""}`;
  if (!reading) return { arc: annotated, from: "", to: "" };
  const found = reading.predicted.find(({ dependent }) => dependent === word);
  const predicted =
    found &&
    `predicted ${tree.words[found.governor] ?? ""} with ${digits(found.weight)}, ` +
      `${found.right ? "right" : "wrong"}`;
  return {
    arc: [annotated, predicted].filter(Boolean).join(" · "),
    from: `attends to ${strongest(tree, word, (other) => reading.weight(word, other))}`,
    to: `is attended to by ${strongest(tree, word, (other) => reading.weight(other, word))}`,
  };
}

/** The figures in words. */
export function figureNames(tree: Tree, drawn: Predicted[], head: string, direction: string) {
  const right = drawn.filter((arc) => arc.right).length;
  const root = tree.words[tree.root] ?? "none";
  return {
    annotated: `dependency tree of ${tree.words.length} words, root ${root}; the table lists its arcs`,
    predicted:
      `${drawn.length} arcs that ${head} predicts, ${direction}: ${right} right, ` +
      `${drawn.length - right} wrong; the table lists them`,
  };
}

export const otherDirection = (direction: ArcsState["direction"]) =>
  direction === DIRECTIONS[0] ? DIRECTIONS[1] : DIRECTIONS[0];

export const ARC_KEYS = [
  ["← →", "move between words; Home and End to the first and last"],
  ["Enter or Space, click", "hold the word, again to let it go"],
  ["Page Up / Page Down", "previous / next sentence"],
  ["r / w", "next sentence on which the head is right / wrong, with Shift the previous one"],
  ["d", "the other direction"],
  ["click a relation", "only that relation, again for all"],
  ["[ and ]", "step to the layer above / below"],
  ["Escape", "let go of the word"],
  ["?", "show or hide this list"],
] as const;
