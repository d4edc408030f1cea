import type { Control } from "../shared/controls.js";
import { labelOf } from "../shared/labels.js";
import { shareText } from "../shared/percent_text.js";
import { stepTo } from "../shared/selection.js";
import { save } from "../shared/snapshot.js";
import { offeredTokens, tokenChoice } from "../shared/token_select.js";
import type { Head, Model, Side } from "../shared/types.js";
import type { LinkState } from "./state.js";

const NO_QUERY = "no token";
const STRONGEST = "the strongest key";
const TYPICAL = "";

/** Return the last locked token of a side. */
const lockedOn = ({ tokens }: Pick<LinkState, "tokens">, side: Side): number | null =>
  tokens.filter(([where]) => where === side).at(-1)?.[1] ?? null;

/** Return the locked tokens with the tokens of one side replaced by another token. */
function lockedInstead(
  { tokens }: Pick<LinkState, "tokens">,
  side: Side,
  index: number | null,
): LinkState["tokens"] {
  const others = tokens.filter(([where]) => where !== side);
  return index === null ? others : [...others, [side, index]];
}

/** Return the controls that select the head, the link and the rival. */
export function linkControls(model: Model<LinkState>, state: LinkState): Control[] {
  const { query, key } = state._axes;
  const stack = state._stacks.find(({ name }) => name === state._axes.stack);
  const [layer, head] = state.selected.at(-1) ?? [state.layer, 0];
  const lock = (side: Side) => (index: number | null) =>
    save(model, { tokens: lockedInstead(state, side, index) });
  const choose = (index: number) => {
    if (!stack || index < 0 || index >= stack.n_heads) return;
    const chosen: Head = [layer, index, stack.name];
    save(model, { selected: [chosen], layer });
  };
  return [
    tokenChoice({
      name: "from",
      none: NO_QUERY,
      offered: offeredTokens(query, state.hidden),
      index: lockedOn(state, "query"),
      lock: lock("query"),
    }),
    tokenChoice({
      name: "to",
      none: STRONGEST,
      offered: offeredTokens(key, state.hidden),
      index: lockedOn(state, "key"),
      lock: lock("key"),
    }),
    rivalChoice(model, state),
    {
      kind: "stepper",
      name: "layer",
      place: "bar",
      count: stack?.n_layers ?? 1,
      value: layer,
      change: (index) => stepTo(model, index, stack),
    },
    {
      kind: "stepper",
      name: "head",
      place: "bar",
      count: stack?.n_heads ?? 1,
      value: head,
      change: choose,
    },
  ];
}

function rivalChoice(model: Model<LinkState>, state: LinkState): Control {
  const rivals = state._link?.rivals ?? [];
  const weights = new Map(rivals.map(([index, weight]) => [String(index), weight]));
  const print = (value: string) => {
    if (value === TYPICAL) return "a typical word";
    const label = labelOf(state._token_axes.key, Number(value));
    return `${label} (${value}) ${shareText(weights.get(value) ?? 0)}`;
  };
  const { versus } = state;
  return {
    kind: "choice",
    name: "against",
    place: "bar",
    values: rivals.length ? [TYPICAL, ...weights.keys()] : [],
    value: versus !== null && weights.has(String(versus)) ? String(versus) : TYPICAL,
    change: (value) => save(model, { versus: value === TYPICAL ? null : Number(value) }),
    print,
  };
}
