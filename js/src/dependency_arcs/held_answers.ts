import { localModel } from "../shared/page/local_model.js";
import type { ArcsState, DrawnSentence } from "./state.js";

/** The answers of a probe for one sentence, as a page without a kernel holds them. */
export interface HeldAnswers {
  /** Drawing data and notes by layer, if the answers depend on the layer. */
  probe: Record<string, DrawnSentence>;
  notes: Record<string, string>;
}

/** A model whose answers follow the stepped layer. */
export function answersModel(state: ArcsState, { probe, notes }: HeldAnswers) {
  const model = localModel<ArcsState>({ ...state, _measured: null });
  const show = () => {
    const layer = model.get("layer");
    const drawn = probe[layer];
    if (!drawn) return;
    model.set("_source", { ...model.get("_source"), note: notes[layer] ?? "" });
    model.set("_drawn", drawn);
  };
  model.on("change:layer", show);
  show();
  return model;
}
