import type { PredictionState } from "../../prediction_view/state.js";
import { type Head, headName } from "../../shared/types.js";
import { asFloat32 } from "../../shared/wire.js";
import type { ExplorerState } from "../explorer_types.js";
import type { Reading } from "../sentence/reading.js";

/** Factors of the control: cut, as it is, and strengthened. */
export const FACTORS = [0, 1, 4] as const;
export type Factor = (typeof FACTORS)[number];

/** Heads in which the link is changed: the shown head, its layer, or all heads of its stack. */
export type Extent = "head" | "layer" | "all";

const ALL = "all heads";

/** Link whose words are locked, and from whose first word the model answers. */
export interface LockedLink {
  /** Locked words: the word that looks, and the word that is looked at. */
  from: number;
  to: number;
  /** Positions of their tokens. */
  query: number[];
  key: number[];
  /** Requested change; undefined while the link is as it is. */
  asked: { factor: number; scope: string } | undefined;
  /** Change that the answers on the screen have. */
  answered: { factor: number; scope: string } | undefined;
  /** Whether the answers have changes of other links. */
  hasOthers: boolean;
  /** Whether the word that looks is masked in the pass that answers. */
  isMasked: boolean;
  /** Number of heads of the stack. */
  n_heads: number;
  cuts: LinkCuts | undefined;
}

/** Probabilities of the answers with the link cut, by vocabulary entry. */
export interface LinkCuts {
  /** Return the probability of an answer with the link cut in a head; undefined if unknown. */
  inHead(head: Head, token: string): number | undefined;
  inLayer(layer: number, token: string): number | undefined;
  everywhere(token: string): number | undefined;
  /** Head whose cut changes the first answer most; undefined if unknown. */
  most: Head | undefined;
  /** Answer that is compared. */
  token: string;
  before: number;
  /** Median change of the first answer when another word is cut in all heads; null if unknown. */
  others: number | null;
  /** Weight of the link in a head, in the pass that answers. */
  weight(head: Head): number | undefined;
}

/** Return the name of the scope of a change, as Python names it. */
export function scopeOf(extent: Extent, [layer, head, stack]: Head): string {
  const ofStack = stack === "self" ? "" : `${stack} `;
  if (extent === "all") return ofStack + ALL;
  return extent === "layer" ? `${ofStack}L${layer}` : headName([layer, head, stack]);
}

/** Return the heads that a scope names. */
export function extentOf(scope: string): Extent {
  if (scope.endsWith(ALL)) return "all";
  return /H\d+$/.test(scope) ? "head" : "layer";
}

/** Return the head that a scope names; undefined for layers and all heads. */
export function headOf(scope: string): Head | undefined {
  const match = /^(?:(\S+) )?L(\d+) H(\d+)$/.exec(scope);
  return match ? [Number(match[2]), Number(match[3]), match[1] ?? "self"] : undefined;
}

/** Return a scope for readers: "L2 H11", "layer 2" or "all 72 heads". */
export function scopeText(scope: string, count?: number): string {
  const extent = extentOf(scope);
  if (extent === "head") return scope;
  if (extent === "all")
    return count === undefined ? scope : scope.replace(ALL, `all ${count} heads`);
  return scope.replace(/L(\d+)$/, "layer $1");
}

/** Return whether a scope includes a head. */
export function includes(scope: string, head: Head): boolean {
  return scope === scopeOf(extentOf(scope), head);
}

const positions = (end: number | number[] | string): string => JSON.stringify([end].flat());

/** Return the changes of links without the change of one link. */
export const withoutLink = (
  links: ExplorerState["scaled_links"],
  { query, key }: Pick<LockedLink, "query" | "key">,
) =>
  links.filter(
    ([from, to]) => positions(from) !== positions(query) || positions(to) !== positions(key),
  );

/** Return the last locked position of a side. */
const lastLock = (tokens: ExplorerState["tokens"], side: "query" | "key") =>
  tokens.filter(([name]) => name === side).at(-1)?.[1];

/**
 * Return the link between the locked words; undefined without a pair, or if the model is not asked
 * about its first word.
 */
export function lockedLink(
  reading: Reading | undefined,
  state: PredictionState | undefined,
  explorer: Pick<ExplorerState, "tokens" | "scaled_links">,
): LockedLink | undefined {
  const link = state?._link;
  if (!reading || !state || !link || reading.compared.length) return undefined;
  const [from, to] = link.of;
  const { axes, head } = reading;
  const isLocked =
    lastLock(explorer.tokens, "query") === from && lastLock(explorer.tokens, "key") === to;
  if (!isLocked || axes.unit !== link.unit || head[2] !== link.stack) return undefined;
  const isThis = (other: { query: unknown; key: unknown }) =>
    positions(other.query as number[]) === positions(link.query) &&
    positions(other.key as number[]) === positions(link.key);
  const answered = state._predictions?.links ?? [];
  const own = answered.filter(isThis);
  const asked = explorer.scaled_links.find(([query, key]) => isThis({ query, key }));
  return {
    from,
    to,
    query: link.query,
    key: link.key,
    asked: asked && { factor: asked[2], scope: asked[3] },
    answered: own[0],
    hasOthers: answered.length > own.length || own.length > 1,
    isMasked: state._predictions?.masks ?? false,
    n_heads: headCount(state, link.stack),
    cuts: cutsOf(state),
  };
}

function headCount({ _stacks }: PredictionState, name: string): number {
  const stack = _stacks.find((each) => each.name === name);
  const without = stack?.layers_without_attention?.length ?? 0;
  return ((stack?.n_layers ?? 0) - without) * (stack?.n_heads ?? 0);
}

/** Return the answers without the link, if they are known. */
function cutsOf(state: PredictionState): LinkCuts | undefined {
  const { _cuts: cuts, _link: link } = state;
  const isOfLink = cuts && link && String(cuts.of) === String(link.of) && cuts.unit === link.unit;
  if (!isOfLink || cuts.stack !== link.stack) return undefined;
  const [first] = cuts.tokens;
  const everywhere = asFloat32(cuts.everywhere);
  const layers = asFloat32(cuts.layers);
  const heads = cuts.heads && asFloat32(cuts.heads);
  const weights = asFloat32(cuts.weights);
  const [, width = 1] = cuts.weights.shape;
  const count = cuts.tokens.length;
  const at = (values: ArrayLike<number> | null, row: number, token: string) => {
    const column = cuts.tokens.indexOf(token);
    const value = column < 0 ? undefined : values?.[row * count + column];
    return value === undefined || Number.isNaN(value) ? undefined : value;
  };
  const before = asFloat32(cuts.before)[0] ?? 0;
  return {
    inHead: ([layer, head], token) => at(heads, layer * width + head, token),
    inLayer: (layer, token) => at(layers, layer, token),
    everywhere: (token) => at(everywhere, 0, token),
    most: mostChanging(heads, before, { count, width, stack: cuts.stack }),
    token: first ?? "",
    before,
    others: cuts.others,
    weight: ([layer, head]) => weights[layer * width + head],
  };
}

function mostChanging(
  heads: Float32Array | null,
  before: number,
  { count, width, stack }: { count: number; width: number; stack: string },
): Head | undefined {
  let best = -1;
  let largest = 0;
  for (let i = 0; heads && i * count < heads.length; i++) {
    const change = Math.abs((heads[i * count] ?? Number.NaN) - before);
    if (change > largest) [best, largest] = [i, change];
  }
  return best < 0 ? undefined : [Math.floor(best / width), best % width, stack];
}
