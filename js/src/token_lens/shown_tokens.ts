import type { Axes, Axis, SharedState, Side, Special } from "../shared/types.js";

/** The tokens that a lens is of: positions on the axes, null where it is of all. */
export interface LensQuestion {
  query: number | null;
  key: number | null;
}

export const isHidden = (axis: Axis, index: number, hidden: Special[]) =>
  hidden.includes(axis.special[index] as Special);

/** The last locked query and the last locked key that are there and not hidden. */
export function lockedOf(
  { tokens, hidden }: Pick<SharedState, "tokens" | "hidden">,
  axes: Axes,
): LensQuestion {
  const last = (side: Side) =>
    tokens
      .filter(
        ([where, i]) =>
          where === side && i < axes[side].text.length && !isHidden(axes[side], i, hidden),
      )
      .at(-1)?.[1];
  return { query: last("query") ?? null, key: last("key") ?? null };
}

/** What is locked, or else the first word: as Python asks. */
export function askedOf(state: Pick<SharedState, "tokens" | "hidden">, axes: Axes): LensQuestion {
  const locked = lockedOf(state, axes);
  if (locked.query !== null || locked.key !== null) return locked;
  const seen = [...axes.query.text.keys()].filter((i) => !isHidden(axes.query, i, state.hidden));
  const query = seen.find((i) => !axes.query.special[i]) ?? seen[0] ?? null;
  return { query, key: null };
}
