import { mapsIn, severalMaps, twoMaps, wholeTile } from "../shared/page/embedded_maps.js";
import { localModel } from "../shared/page/local_model.js";
import type { Kernel } from "../shared/page/page_data.js";
import type { WirePlaces } from "../shared/places/place_types.js";
import type { Model } from "../shared/types.js";
import type { ViewState } from "./state.js";

/** Positions of highlighted words on the axes of a stack. */
type Highlighted = ViewState["_highlighted"] & { stack: string; unit: string };
/** What the page has of each stack and unit beside the maps. */
interface Own {
  highlighted: Highlighted[];
  places?: WirePlaces[];
}

/**
 * A view of the maps on the page; if the page has the map of a single head, the selection is fixed.
 */
export const pageModel: Kernel<ViewState, Own> = ({ state, own }, { maps: alone = [], two }) => {
  if (state._maps?.complete === false) return onePart(state);
  const none = { query: [], key: [] };
  const model = localModel<ViewState>({
    ...state,
    _highlighted: none,
    _maps: null,
    _tile: null,
    _places: null,
  });
  const [maps, others] = two ?? [alone, []];
  const only = maps[0]?.only;
  const draw = () => {
    if (only) {
      model.set("selected", [only]);
      model.set("layer", only[0]);
    }
    const head = model.get("selected").at(-1);
    const unit = model.get("unit");
    const heldMaps = head && mapsIn(maps, head[2], unit, model.get("quantity"));
    if (!heldMaps) return model.set("_tile", null);
    const other = mapsIn(others, head[2], unit, model.get("quantity"));
    if (only) model.set("arrangement", "one");
    model.set(
      "_maps",
      other ? twoMaps([heldMaps, other], head) : only ? null : severalMaps(heldMaps),
    );
    const { query, key } =
      own.highlighted.find((of) => of.stack === head[2] && of.unit === unit) ?? none;
    model.set("_axes", heldMaps.axes);
    model.set("_highlighted", { query, key });
    const places = own.places?.find((of) => of.stack === head[2] && of.unit === unit) ?? null;
    model.set("_places", places);
    model.set("_has_places", places !== null);
    if (!places && model.get("mode") === "places") model.set("mode", "matrix");
    model.set("_tile", other ? null : wholeTile(heldMaps, head));
  };
  for (const name of ["selected", "layer", "unit", "quantity", "arrangement"])
    model.on(`change:${name}`, draw);
  draw();
  return model;
};

/** What parts of other maps would be needed for. */
const FIXED = [
  "selected",
  "layer",
  "hidden",
  "unit",
  "quantity",
  "sentences",
  "arrangement",
  "of",
] as const;

/** Maps of a long input: the page has the visible part of those that were saved. */
function onePart(state: ViewState): Model<ViewState> {
  const saved = { ...state };
  const model = localModel<ViewState>(state);
  const stay = () => {
    for (const name of FIXED) model.set(name, saved[name]);
  };
  for (const name of FIXED) model.on(`change:${name}`, stay);
  // Another row is not on the page; what is painted on a picture stays.
  model.on("change:tokens", () => {
    if (model.get("_row")?.links) model.set("_row", null);
  });
  return model;
}
