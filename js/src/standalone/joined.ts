import type { HeadsState } from "../model/head_types.js";
import type { Head, Model, SharedState } from "../model/types.js";

const SHARED = ["selected", "layer", "tokens", "hidden", "quantity", "unit", "scale"] as const;

/** A model of the page, and the stacks whose heads it can show; none for all of them. */
export interface Joined {
  model: Model<HeadsState>;
  stacks?: string[] | undefined;
}

/** Let models follow each other in every trait that they share, as `attnwidget.link` does in Python. */
export function join(joined: Joined[]): void {
  // A model may be given fewer heads than another has: that is no news to bring back.
  let busy = false;
  const all = joined.map(({ model, stacks }) => ({
    model: model as unknown as Model<SharedState>,
    stacks,
  }));
  const has = (model: Model<SharedState>, name: keyof SharedState) => model.get(name) !== undefined;
  for (const from of all)
    for (const name of SHARED)
      from.model.on(`change:${name}`, () => {
        if (busy) return;
        busy = true;
        const value = from.model.get(name);
        for (const { model, stacks } of all) {
          if (model === from.model || !has(model, name)) continue;
          const known = ([, , stack]: Head) => !stacks || stacks.includes(stack);
          model.set(name, name === "selected" ? (value as Head[]).filter(known) : value);
        }
        busy = false;
      });
}
