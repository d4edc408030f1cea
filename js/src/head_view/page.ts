import { DamagedError } from "../shared/page/damage.js";
import { mapsIn, severalMaps, twoMaps, wholeTile } from "../shared/page/embedded_maps.js";
import { localModel } from "../shared/page/local_model.js";
import type { Kernel } from "../shared/page/page_data.js";
import type { WirePlaces } from "../shared/places/place_types.js";
import type { Model } from "../shared/types.js";
import type { ViewState } from "./state.js";

/** Positions of highlighted words on the axes of a stack. */
type Highlighted = ViewState["_highlighted"] & { stack: string; unit: string };
/** Data of the page for each stack and unit, besides the maps. */
interface Own {
  highlighted: Highlighted[];
  places?: WirePlaces[];
}

/** Create the model of a view of the page's maps. */
export const pageModel: Kernel<ViewState, Own> = ({ state, own }, { maps: alone = [], two }) => {
  if (state._maps?.complete === false) return onePart(state);
  const none = { query: [], key: [] };
  const [maps, others] = two ?? [alone, []];
  const only = maps[0]?.only;
  const shown: ViewState = { ...state };
  if (only) {
    shown.selected = [only];
    shown.layer = only[0];
    shown.arrangement = "one";
  }
  const model = localModel<ViewState>({
    ...shown,
    _highlighted: none,
    _maps: null,
    _tile: null,
    _places: null,
  });
  const draw = () => {
    const head = model.get("selected").at(-1);
    const unit = model.get("unit");
    if (!head) return model.set("_tile", null);
    const heldMaps = mapsIn(maps, head[2], unit, model.get("quantity"));
    if (!heldMaps) throw new DamagedError("its maps are missing");
    const other = mapsIn(others, head[2], unit, model.get("quantity"));
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
  for (const name of ["selected", "layer", "unit", "arrangement"]) model.on(`change:${name}`, draw);
  draw();
  return model;
};

/** Return the model for a long input: the page holds only the visible part of the saved maps. */
function onePart(state: ViewState): Model<ViewState> {
  const model = localModel<ViewState>(state);
  // Another locked row is not on the page. Weights painted on a picture stay.
  model.on("change:tokens", () => {
    if (model.get("_row")?.links) model.set("_row", null);
  });
  return model;
}
