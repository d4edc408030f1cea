import { headName, paperName } from "../model/types.js";
import { digits } from "./colour_bar.js";
import type { Choice, CoreferenceState, Mention, Passage, Variant } from "./coreference_data.js";
import { percent } from "./relation_rows.js";

/** Antecedents that a readout names. */
const NAMED = 6;

const among = (variant: Variant) =>
  variant === "words" ? "among all words" : "among preceding mentions";

/** How the readout names a mention: its text, its cluster and where it is. */
export function mentionName({ drawn, mentions }: Passage, index: number): string {
  const mention = mentions.get(index);
  if (!mention) return "nothing";
  const text = mention.words.map((word) => drawn.words[word] ?? "").join(" ");
  const place = drawn.start + (mention.words[0] ?? 0);
  return `${text} (${mention.cluster ? `cluster ${mention.cluster}, ` : ""}word ${place})`;
}

/** For the button of a mention. */
export const mentionLabel = (passage: Passage, { mention, kind }: Mention) =>
  `${mentionName(passage, mention)}, ${kind}`;

export function titleText(
  passage: Passage,
  variant: Variant,
  source: CoreferenceState["_source"],
): string {
  const { drawn } = passage;
  if (!drawn.head || !drawn.chosen) return "";
  const right = drawn.evaluated.filter(({ mention }) => passage.choice(mention, variant)?.right);
  const here = `right on ${right.length} of ${drawn.evaluated.length} mentions here`;
  const correct = drawn.chosen.correct[variant === "words" ? 0 : 1] ?? 0;
  const all = `${percent(correct / source.n, source.n)} % of ${source.n.toLocaleString("en")} in the study`;
  const head = `${headName(drawn.head)} · ${paperName(drawn.head)}`;
  return [head, among(variant), here, all].join(" · ");
}

export function captionText({ drawn }: Passage, source: CoreferenceState["_source"]): string {
  const rules = Object.entries(source.baselines)
    .map(([name, right]) => `${name} ${percent(right / source.n, source.n)} %`)
    .join(", ");
  const end = drawn.start + drawn.words.length - 1;
  return [
    ...[source.model, drawn.name, `words ${drawn.start}–${end} of ${drawn.length}`],
    ...[
      "weights from the mention's head word, nothing renormalised",
      `rules in the study: ${rules}`,
    ],
  ]
    .filter(Boolean)
    .join(" · ");
}

export interface Line {
  label: string;
  text: string;
  outcome?: "right" | "wrong";
}

const verdict = (right: boolean) => (right ? "right" : "wrong");

/** What was chosen for a mention: by the head, by the annotators, by each rule. */
export function readout(passage: Passage, index: number, choice: Choice | undefined): Line[] {
  const { drawn } = passage;
  const mention = passage.mentions.get(index);
  const own = passage.evaluated.get(index);
  if (!mention) return [];
  const first = { label: "mention", text: mentionLabel(passage, mention) };
  if (!own) {
    const text =
      mention.cluster === 0
        ? "the window mentions this once: there is no antecedent to find"
        : "not evaluated: no mention of its cluster precedes it in this window, " +
          "or a longer one with its head word stands for it";
    return [first, { label: "", text }];
  }
  const lines: Line[] = [first];
  if (choice && drawn.head) {
    const chosen = `${drawn.words[choice.word] ?? ""} (word ${drawn.start + choice.word})`;
    lines.push({
      label: headName(drawn.head),
      text: `${chosen} with weight ${digits(choice.weight)}, ${verdict(choice.right)}`,
      outcome: verdict(choice.right),
    });
  }
  const named = own.antecedents.slice(-NAMED).map((i) => mentionName(passage, i));
  const more = own.antecedents.length - named.length;
  lines.push({
    label: "antecedents",
    text: [...named, ...(more > 0 ? [`${more} before these`] : [])].join(", "),
  });
  for (const [name, found] of Object.entries(own.baselines)) {
    const right = own.antecedents.includes(found);
    const text = found < 0 ? "nothing" : mentionName(passage, found);
    lines.push({ label: name, text: `${text}, ${verdict(right)}`, outcome: verdict(right) });
  }
  return lines;
}

export const COREFERENCE_KEYS = [
  ["← →", "move between mentions; Home and End to the first and last"],
  ["↑ ↓", "previous / next mention of the same cluster"],
  ["Enter or Space, click", "what is chosen for the mention, again to let it go"],
  ["Page Up / Page Down", "previous / next document"],
  ["r / w", "next mention for which the head is right / wrong, with Shift the previous one"],
  ["v", "choose among all words / among preceding mentions"],
  ["[ and ]", "step to the layer above / below"],
  ["Escape", "let go of the mention"],
  ["?", "show or hide this list"],
] as const;
