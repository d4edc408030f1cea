import type { HeadsState } from "../model/head_types.js";
import { ALL, type RelationsState } from "../model/relation_types.js";
import type { Head, Model, SharedState } from "../model/types.js";

const SHARED = [
  ...(["selected", "layer", "tokens", "hidden", "quantity", "unit", "scale"] as const),
  ...(["relation", "direction"] as const),
];
type Shared = SharedState & RelationsState;

/** A model of the page; none of `stacks` and `relations` is all of them. */
export interface Joined {
  model: Model<HeadsState>;
  /** The stacks whose heads it can show. */
  stacks?: string[];
  relations?: string[];
}

/** Let models follow each other in every trait that they share, as `attnwidget.link` does in Python. */
export function join(joined: Joined[]): void {
  // A model may be given fewer heads than another has: that is no news to bring back.
  let busy = false;
  const all = joined.map(({ model, ...limits }) => ({
    model: model as unknown as Model<Shared>,
    ...limits,
  }));
  for (const from of all)
    for (const name of SHARED)
      from.model.on(`change:${name}`, () => {
        if (busy) return;
        busy = true;
        const value = from.model.get(name);
        for (const { model, stacks, relations } of all) {
          if (model === from.model || model.get(name) === undefined) continue;
          const known = ([, , stack]: Head) => !stacks || stacks.includes(stack);
          if (name === "selected") model.set(name, (value as Head[]).filter(known) as never);
          else if (name === "relation" && relations && !relations.includes(value as string))
            model.set(name, ALL as never);
          else model.set(name, value as never);
        }
        busy = false;
      });
}
