import { html } from "lit-html";
import { select, stepper } from "../shared/controls.js";
import { labelOf } from "../shared/labels.js";
import { digits } from "../shared/numbers.js";
import { stepTo } from "../shared/selection.js";
import { save } from "../shared/snapshot.js";
import { offeredTokens, tokenSelect } from "../shared/token_select.js";
import type { Head, Model, Side } from "../shared/types.js";
import type { LinkState } from "./state.js";

const NO_QUERY = "no token";
const STRONGEST = "the strongest key";
const RUNNER_UP = "";

/** The last locked token of a side. */
export const lockedOn = ({ tokens }: Pick<LinkState, "tokens">, side: Side): number | null =>
  tokens.filter(([where]) => where === side).at(-1)?.[1] ?? null;

/** The tokens with another token of one side in the place of the locked ones. */
export function lockedInstead(
  { tokens }: Pick<LinkState, "tokens">,
  side: Side,
  index: number | null,
): LinkState["tokens"] {
  const others = tokens.filter(([where]) => where !== side);
  return index === null ? others : [...others, [side, index]];
}

/** Controls that choose the head, the link and the rival. */
export function linkControls(model: Model<LinkState>, state: LinkState) {
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
  return html`
    ${tokenSelect({
      name: "from",
      none: NO_QUERY,
      offered: offeredTokens(query, state.hidden),
      index: lockedOn(state, "query"),
      lock: lock("query"),
    })}
    ${tokenSelect({
      name: "to",
      none: STRONGEST,
      offered: offeredTokens(key, state.hidden),
      index: lockedOn(state, "key"),
      lock: lock("key"),
    })}
    ${rivalSelect(model, state)}
    ${stepper({
      name: "layer",
      index: layer,
      count: stack?.n_layers ?? 1,
      go: (index) => stepTo(model, index, stack),
    })}
    ${stepper({ name: "head", index: head, count: stack?.n_heads ?? 1, go: choose })}`;
}

function rivalSelect(model: Model<LinkState>, state: LinkState) {
  const rivals = state._link?.rivals ?? [];
  const weights = new Map(rivals.map(([index, weight]) => [String(index), weight]));
  const print = (value: string) => {
    if (value === RUNNER_UP) return "the runner-up";
    const label = labelOf(state._token_axes.key, Number(value));
    return `${label} (${value}) ${digits(weights.get(value) ?? 0)}`;
  };
  const { versus } = state;
  return select<string>({
    name: "and not to",
    values: rivals.length ? [RUNNER_UP, ...weights.keys()] : [],
    value: versus !== null && weights.has(String(versus)) ? String(versus) : RUNNER_UP,
    pick: (value) => save(model, { versus: value === RUNNER_UP ? null : Number(value) }),
    print,
  });
}
