import { bounded } from "./bounded.js";
import { inQuotes, withControlPictures } from "./labels.js";
import {
  combinedName,
  type Head,
  type HeadLabel,
  headName,
  paperName,
  type StackInfo,
  sameHead,
} from "./types.js";

/** Labels and stacks that head names depend on. Heads of a stack may combine other heads. */
export interface HeadNaming {
  labels?: HeadLabel[] | undefined;
  _stacks?: StackInfo[] | undefined;
}

/** Return the label that the user gave to a head, or "" if there is none. */
export const labelOfHead = (head: Head, labels: HeadLabel[] = []): string =>
  withControlPictures(bounded(labels.find(([at]) => sameHead(at, head))?.[1] ?? ""));

const labeled = (name: string, head: Head, labels?: HeadLabel[]): string => {
  const label = labelOfHead(head, labels);
  return label ? `${name} ${inQuotes(label)}` : name;
};

/** Return `L7 H9 “label”`. */
export const shortName = (head: Head, { labels, _stacks }: HeadNaming = {}): string =>
  labeled(headName(head, _stacks), head, labels);

/** Return `L7 H9 (8-10) “label”`. A head that combines others has no 1-based name. */
export const wholeName = (head: Head, { labels, _stacks }: HeadNaming = {}): string => {
  const name = combinedName(head, _stacks) ?? `${headName(head)} (${paperName(head)})`;
  return labeled(name, head, labels);
};

/** Return the labels with one label changed. An empty text removes it. */
export function relabeled(labels: HeadLabel[], head: Head, text: string): HeadLabel[] {
  const others = labels.filter(([at]) => !sameHead(at, head));
  return text.trim() ? [...others, [head, text.trim()]] : others;
}
