import type { HeadsState } from "./head_types.js";
import type { Head, Model } from "./types.js";

/** The head that a view of one head shows: the last one selected. */
export function shownHead(model: Model<HeadsState>): Head | undefined {
  return model.get("selected").at(-1);
}

/** Select heads and move the stepped row with them, in one message. */
export function selectHeads(model: Model<HeadsState>, heads: Head[]): void {
  const last = heads.at(-1);
  model.set("selected", heads);
  if (last) model.set("layer", last[0]);
  model.save_changes();
}

/** Step to a layer; the selection follows to the same head of that layer. */
export function stepTo(model: Model<HeadsState>, layer: number, nLayers: number): void {
  const target = Math.max(0, Math.min(nLayers - 1, layer));
  const last = shownHead(model);
  model.set("layer", target);
  if (last && last[0] !== target) model.set("selected", [[target, last[1], last[2]]]);
  model.save_changes();
}
