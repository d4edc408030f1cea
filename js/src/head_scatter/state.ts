import type { HeadsState } from "../shared/head_types.js";
import type { WireArray } from "../shared/wire.js";

export interface PlacedHeads {
  stack: string;
  /** float32 [layers, heads, 2]. */
  positions: WireArray;
  /** Behaviors in the order of the legend. `slot` selects the mark; -1 is gray. */
  groups: { name: string; slot: number }[];
  /** int32 [layers, heads]: index in `groups`; unused if there are none. */
  group: WireArray;
}

export interface MapState extends HeadsState {
  _heads: PlacedHeads | null;
  /** `quantity`: Meaning of the positions. `note`: How they were computed. */
  _source: { model: string; quantity: string; note: string };
}
