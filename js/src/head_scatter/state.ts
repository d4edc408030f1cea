import type { HeadsState } from "../shared/head_types.js";
import type { WireArray } from "../shared/wire.js";

export interface PlacedHeads {
  stack: string;
  /** float32 [layers, heads, 2]. */
  positions: WireArray;
  /** Behaviors in the order of the legend; `slot` chooses the mark, -1 is gray. */
  groups: { name: string; slot: number }[];
  /** int32 [layers, heads]: index in `groups`; meaningless without any. */
  group: WireArray;
}

export interface MapState extends HeadsState {
  _heads: PlacedHeads | null;
  /** `quantity`: what the places stand for; `note`: how they were made. */
  _source: { model: string; quantity: string; note: string };
}
