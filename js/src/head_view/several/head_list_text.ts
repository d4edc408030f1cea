import { headNames } from "../../shared/caption.js";
import { type HeadNaming, wholeName } from "../../shared/head_names.js";
import { type Head, sameHead } from "../../shared/types.js";

/** Return "first to last" if the heads are neighbors in a layer, or "" for other heads. */
export function span(heads: Head[], name: (head: Head) => string): string {
  const first = heads[0];
  const last = heads.at(-1);
  const row = heads.every((head, i) => head[0] === first?.[0] && head[1] === first[1] + i);
  return first && last && row && heads.length > 2 ? `${name(first)} to ${name(last)}` : "";
}

/** Return each head once: a head in a comparison of two attentions is listed twice. */
const distinct = (heads: Head[]) =>
  heads.filter((head, i) => heads.findIndex((other) => sameHead(head, other)) === i);

/** Return the names of the heads for a caption. */
export const namesOf = (heads: Head[], naming: HeadNaming = {}): string =>
  span(heads, (head) => wholeName(head, naming)) || headNames(distinct(heads), naming);
