import { bounded } from "./bounded.js";
import { withControls } from "./labels.js";
import { type Head, type HeadLabel, headName, paperName, sameHead } from "./types.js";

/** The text that a reader gave to a head; "" without one. */
export const labelOfHead = (head: Head, labels: HeadLabel[] = []): string =>
  withControls(bounded(labels.find(([at]) => sameHead(at, head))?.[1] ?? ""));

const labelled = (name: string, head: Head, labels?: HeadLabel[]): string => {
  const label = labelOfHead(head, labels);
  return label ? `${name} “${label}”` : name;
};

/** `L7 H9 “label”`. */
export const shortName = (head: Head, labels?: HeadLabel[]): string =>
  labelled(headName(head), head, labels);

/** `L7 H9 (8-10) “label”`. */
export const wholeName = (head: Head, labels?: HeadLabel[]): string =>
  labelled(`${headName(head)} (${paperName(head)})`, head, labels);

/** The labels after one of them was changed; an empty text removes it. */
export function relabelled(labels: HeadLabel[], head: Head, text: string): HeadLabel[] {
  const others = labels.filter(([at]) => !sameHead(at, head));
  return text.trim() ? [...others, [head, text.trim()]] : others;
}
