import { evenOf, isLargestLink } from "../shared/largest_link.js";
import {
  decodedByte,
  type EmbeddedMaps,
  levelAt,
  mapsIn,
  wire,
} from "../shared/page/embedded_maps.js";
import { localModel } from "../shared/page/local_model.js";
import type { Kernel } from "../shared/page/page_data.js";
import { askedOf, isHidden, type LensQuestion } from "./shown_tokens.js";
import type { Lens, LensState } from "./state.js";

/** The weights of all maps on the page from a token, or to it. */
export const pageModel: Kernel<LensState> = ({ state }, { maps = [] }) => {
  const model = localModel<LensState>({ ...state, _lens: null });
  const draw = () => {
    const heldMaps = mapsIn(maps, model.get("stack"), model.get("unit"), model.get("quantity"));
    if (!heldMaps) return model.set("_lens", null);
    const hidden = model.get("hidden");
    const question = askedOf({ tokens: model.get("tokens"), hidden }, heldMaps.axes);
    const layer =
      model.get("of") === "layer" ? Math.min(model.get("layer"), heldMaps.shape[0] - 1) : null;
    model.set("_axes", heldMaps.axes);
    model.set(
      "_lens",
      question.query === null && question.key === null
        ? null
        : lensOf(heldMaps, question, layer, hidden),
    );
  };
  for (const name of ["layer", "stack", "of", "tokens", "unit", "quantity", "hidden"])
    model.on(`change:${name}`, draw);
  model.on("change:selected", () => {
    const last = model.get("selected").at(-1);
    if (last) model.set("stack", last[2]);
  });
  draw();
  return model;
};

/** As Python answers, of rounded maps: what is rounded to the same byte is equal. */
function lensOf(
  maps: EmbeddedMaps,
  { query, key }: LensQuestion,
  layer: number | null,
  hidden: LensState["hidden"],
): Lens {
  const [layers, heads, queries, keys] = maps.shape;
  const at = (head: number, q: number, k: number) => levelAt(maps, (head * queries + q) * keys + k);
  const { quantity, axes } = maps;
  const about = {
    stack: axes.stack,
    quantity,
    unit: axes.unit,
    hidden,
    query,
    key,
    decade: null,
    exact: Boolean(maps.fine),
  };
  const numbers = (bytes: number[][], first: number, shape: number[]) => {
    const values = bytes.flatMap((row, i) =>
      row.map((byte) => decodedByte(byte, maps.maxima[first + i] ?? 0)),
    );
    return { shape, values: wire(Float32Array.from(values), shape) };
  };
  if (query !== null && key !== null) {
    const all = Array.from({ length: layers * heads }, (_, head) => head);
    const hides = axes.key.text.map((_, k) => isHidden(axes.key, k, hidden));
    const goes = all.map((head) => {
      const row = Float32Array.from(hides, (_, k) =>
        decodedByte(at(head, query, k), maps.maxima[head] ?? 0),
      );
      return Number(isLargestLink(row, key, hides, quantity === "weights" ? evenOf(row) : 0));
    });
    const shape = [layers, heads];
    const values = all.map((head) => [at(head, query, key)]);
    return {
      ...about,
      layer: null,
      ...numbers(values, 0, shape),
      goes: wire(Uint8Array.from(goes), shape),
    };
  }
  const [first, count] = layer === null ? [0, layers * heads] : [layer * heads, heads];
  const others = query === null ? queries : keys;
  const rows = Array.from({ length: count }, (_, i) =>
    Array.from({ length: others }, (_, other) => at(first + i, query ?? other, key ?? other)),
  );
  const shape = layer === null ? [layers, heads, others] : [heads, others];
  return { ...about, layer, ...numbers(rows, first, shape), goes: null };
}
