import { headNames, type Table } from "../../shared/caption.js";
import { type HeadNaming, shortName } from "../../shared/head_names.js";
import { inLine } from "../../shared/in_line.js";
import { columnPrinter, differencePrinter, signedValue } from "../../shared/quantity.js";
import { type Axes, type Head, headName, type Scale, type StackInfo } from "../../shared/types.js";
import { listName, tokenName } from "../aside/token_name.js";
import { leads, type Scene } from "../scene.js";
import { sourceOf, weightAt } from "../source/source_of.js";
import { isBlock, isPair, type Target } from "../source/target.js";
import type { VisibleMap } from "../source/visible_map.js";
import { blockName, describe, MOST_ROWS, titleOf } from "../view_text.js";
import { span } from "./head_list_text.js";
import type { Several } from "./several.js";
import { ofTwoMapsText } from "./two_maps.js";

const MOST_NAMED = 4;
/** Largest number of heads in a tooltip, where space is scarce. */
const MOST_POINTED = 3;

export const severalTitle = (
  { heads, names }: Several,
  quantity: string,
  unit: string,
  naming: HeadNaming = {},
  scale: Scale = "absolute",
): string => {
  const of = names
    ? shortName(heads[0] as Head, naming)
    : span(heads, (head) => headName(head, naming._stacks)) ||
      headNames(heads, { ...naming, most: MOST_NAMED, short: true });
  return titleOf(of, quantity, unit, scale);
};

/** Return for example "6 of 12 heads", or "" if all are drawn. */
export function shareOf({ heads, wanted, arrangement, names }: Several): string {
  if (names) return names.slice(0, 2).join(" · ");
  if (heads.length >= wanted) return "";
  const how = arrangement === "beside" ? "side by side" : "in one drawing";
  return `${heads.length} of ${wanted} heads ${how}`;
}

/** Return the notes on omissions in a drawing of several heads, and on its colors. */
export function severalNotes({ several, colors = [], theme, state, map }: Scene): string[] {
  if (!several) return [];
  const { comparison_part: drawn } = state;
  const off = several.heads.filter((_, i) => map.members?.[i]?.off);
  const overlay = several.arrangement === "overlay";
  const gray = theme.forced ? [] : several.heads.filter((_, i) => colors[i] === theme.muted);
  return [
    shareOf(several),
    several.names && drawn !== "all" ? `${ofTwoMapsText[drawn]} alone is drawn` : "",
    overlay ? "a color for each head" : "",
    overlay && state.mode === "matrix" ? "cells show the strongest head" : "",
    off.length ? `switched off: ${headNames(off, { short: true, _stacks: state._stacks })}` : "",
    gray.length
      ? `in gray: ${headNames(gray, {
          most: 2 * MOST_NAMED,
          short: true,
          _stacks: state._stacks,
        })}`
      : "",
  ].filter(Boolean);
}

/** Return a short name that distinguishes a map from the others. */
const nameAmong = ({ names, heads }: Several, i: number, stacks?: StackInfo[]) =>
  names?.[i]?.replace(/^([AB]): .*$/s, "$1") ?? headName(heads[i] as Head, stacks);

type Print = (weight: number) => string;

/**
 * Describe a pair with the weight of every head, largest first, or a token with the strongest link
 * of each head.
 */
function describeSeveral(
  several: Several,
  maps: VisibleMap[],
  axes: Axes,
  target: Target,
  print: Print,
  { _stacks, quantity }: Pick<Scene["state"], "_stacks" | "quantity">,
  most = maps.length,
): string {
  const { names } = several;
  const [first] = maps;
  if (!first || (target.query === undefined && target.key === undefined)) return "";
  const from = tokenName(axes.query, first.rows[target.query ?? -1] ?? 0);
  const to = tokenName(axes.key, first.cols[target.key ?? -1] ?? 0);
  const named = maps.map((map, i) => ({
    map,
    name: nameAmong(several, i, _stacks),
    print: map.signed ? differencePrinter(quantity) : print,
  }));
  if (isPair(target)) {
    const order = named
      .map(({ map, name, print }) => ({
        name,
        print,
        weight: sourceOf(map).at({ query: target.query, key: target.key })?.weight ?? Number.NaN,
      }))
      .sort((a, b) => (names ? 0 : b.weight - a.weight));
    const rest = order.length > most ? ` · ${order.length - most} more` : "";
    const cell = isBlock(target)
      ? `${blockName(first, target.query, target.key, target.step ?? 1)}, at most`
      : `${from} → ${to}`;
    return `${cell}: ${order
      .slice(0, most)
      .map(
        ({ name, weight, print }) =>
          `${name} ${names && Number.isNaN(weight) ? "none" : print(weight)}`,
      )
      .join(" · ")}${rest}`;
  }
  const each = named.map(({ map, name, print }) => {
    const [best] = sourceOf(map).strongest(target, 1);
    if (!best) return `${name}: nothing`;
    const other =
      target.query !== undefined
        ? tokenName(axes.key, map.cols[best.key] ?? 0)
        : tokenName(axes.query, map.rows[best.query] ?? 0);
    return `${name}: ${other} ${print(best.weight)}`;
  });
  return `${target.query !== undefined ? `${from} →` : `${to} ←`} ${inLine(each)}`;
}

/** Describe a target for one head, or for all drawn heads. */
export function targetText({ several, map, axes, print, state }: Scene, target: Target): string {
  if (several && map.members)
    return describeSeveral(several, map.members, axes, target, print, state);
  return describe(map, axes, target, print);
}

/** Describe a target for a tooltip, which has room for few heads. */
export function pointedAt({ several, map, axes, print, state }: Scene, target: Target): string {
  if (several && map.members)
    return describeSeveral(several, map.members, axes, target, print, state, MOST_POINTED);
  return describe(map, axes, target, print);
}

/** Return the table of the strongest pairs of any drawn head, with the weight in each head. */
export function severalTable(scene: Scene): Table {
  const { several, map, axes, state } = scene;
  const members = map.members ?? [];
  const ranked = several?.names ? members.at(-1) : map.most;
  const source = sourceOf(ranked ?? map);
  const pairs = source.strongest(leads(scene), MOST_ROWS);
  const ofMembers = members.map((member) => {
    const values = pairs.map(({ query, key }) => weightAt(member, query, key));
    const print = columnPrinter(state.quantity, values);
    return values.map(member.signed ? signedValue(print) : print);
  });
  const rows = pairs.map(({ query, key }, row) => [
    listName(axes.query, map.rows[query] ?? 0),
    listName(axes.key, map.cols[key] ?? 0),
    ...ofMembers.map((texts) => texts[row] ?? ""),
  ]);
  const columns = members.map((_, i) => (several ? nameAmong(several, i, state._stacks) : ""));
  return { columns: ["from", "to", ...columns], rows };
}
