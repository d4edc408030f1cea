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

/** What names heads: the texts of readers, and the stacks, where heads may combine others. */
export interface HeadNaming {
  labels?: HeadLabel[] | undefined;
  _stacks?: StackInfo[] | undefined;
}

/** The text that a reader gave to a head; "" without one. */
export const labelOfHead = (head: Head, labels: HeadLabel[] = []): string =>
  withControlPictures(bounded(labels.find(([at]) => sameHead(at, head))?.[1] ?? ""));

const labeled = (name: string, head: Head, labels?: HeadLabel[]): string => {
  const label = labelOfHead(head, labels);
  return label ? `${name} ${inQuotes(label)}` : name;
};

/** `L7 H9 “label”`. */
export const shortName = (head: Head, { labels, _stacks }: HeadNaming = {}): string =>
  labeled(headName(head, _stacks), head, labels);

/** `L7 H9 (8-10) “label”`; papers have no name for a head that combines others. */
export const wholeName = (head: Head, { labels, _stacks }: HeadNaming = {}): string => {
  const name = combinedName(head, _stacks) ?? `${headName(head)} (${paperName(head)})`;
  return labeled(name, head, labels);
};

/** The labels after one of them was changed; an empty text removes it. */
export function relabeled(labels: HeadLabel[], head: Head, text: string): HeadLabel[] {
  const others = labels.filter(([at]) => !sameHead(at, head));
  return text.trim() ? [...others, [head, text.trim()]] : others;
}
