import { localModel } from "../shared/page/local_model.js";
import type { Kernel } from "../shared/page/page_data.js";
import type { PredictionState } from "./state.js";

type State = PredictionState & { tokens: unknown };

/** What the page knows is about one word, so other words of linked figures are not asked about. */
const FIXED = ["tokens", "unit"] as const;

/** The predictions that were shown when the page was saved. */
export const pageModel: Kernel<State> = ({ state }) => {
  const saved = { ...state };
  const model = localModel(state);
  for (const name of FIXED) model.on(`change:${name}`, () => model.set(name, saved[name] as never));
  return model;
};
