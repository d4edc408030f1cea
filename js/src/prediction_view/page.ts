import { localModel } from "../shared/page/local_model.js";
import type { Kernel } from "../shared/page/page_data.js";
import type { PredictionState } from "./state.js";

type State = PredictionState & { tokens: unknown };

/** The page has the predictions for one word, and cannot ask the model about another word. */
const FIXED = ["tokens", "unit"] as const;

/** The predictions that were shown when the page was saved. */
export const pageModel: Kernel<State> = ({ state }) => {
  const saved = { ...state };
  const model = localModel(state);
  for (const name of FIXED) model.on(`change:${name}`, () => model.set(name, saved[name] as never));
  return model;
};
