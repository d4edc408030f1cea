import { type Control, choice } from "../shared/controls.js";
import { drawnControls, hideControl } from "../shared/shared_controls.js";
import { save } from "../shared/snapshot.js";
import type { Axes, Model } from "../shared/types.js";
import {
  ARRANGEMENTS,
  type Arrangement,
  OF_TWO_MAPS,
  type OfTwoMaps,
} from "./several/map_types.js";
import { ofTwoMapsText } from "./several/two_maps.js";
import { hideable, twoSentences } from "./source/visible_map.js";
import type { ViewState } from "./state.js";
import { sentencesName } from "./view_text.js";

const MODES: ViewState["mode"][] = ["lines", "matrix", "places"];
const ARRANGEMENT_NAMES: Record<Arrangement, string> = {
  one: "one",
  beside: "side by side",
  overlay: "overlaid",
};
const SENTENCES: ViewState["sentences"][] = ["all", "aa", "ab", "ba", "bb"];

/**
 * Return the available modes. The mode "places" needs a picture or a sound, which a page without a
 * kernel may not have.
 */
export function modesOf(model: Model<ViewState>): ViewState["mode"][] {
  const isThere = Boolean(model.get("_media")) || Boolean(model.send);
  return model.get("_has_places") && isThere ? MODES : MODES.filter((mode) => mode !== "places");
}

/** Return the choice between lines, matrix and places, shown next to the title. */
export const modeControl = (
  model: Model<ViewState>,
  setMode: (mode: ViewState["mode"]) => void,
): Control =>
  choice<ViewState["mode"]>({
    name: "mode",
    place: "bar",
    look: "buttons",
    values: modesOf(model),
    value: model.get("mode"),
    change: setMode,
  });

/** Return the other controls of the figure, for a map with these axes. */
export function viewControls(model: Model<ViewState>, axes: Axes): Control[] {
  const pair = twoSentences(axes);
  const present = hideable(axes);
  const isTwo = model.get("_compared").length > 0;
  return [
    choice<ViewState["sentences"]>({
      name: "from → to",
      trait: "sentences",
      place: "bar",
      values: pair ? SENTENCES : [],
      value: model.get("sentences"),
      change: (sentences) => save(model, { sentences }),
      print: sentencesName,
    }),
    {
      ...hideControl(model, (kind) => {
        const names = present.get(kind);
        return kind === "first" && names ? "first token" : names?.join(" ");
      }),
      // On a picture no token is hidden, because special tokens are next to the picture.
      hidden: model.get("mode") === "places",
    },
    choice<Arrangement>({
      name: "heads",
      trait: "arrangement",
      place: "bar",
      values: isTwo ? [] : ARRANGEMENTS,
      value: model.get("arrangement"),
      change: (arrangement) => save(model, { arrangement }),
      print: (value) => ARRANGEMENT_NAMES[value],
    }),
    choice<OfTwoMaps>({
      name: "maps",
      trait: "comparison_part",
      place: "menu",
      values: isTwo ? OF_TWO_MAPS : [],
      value: model.get("comparison_part"),
      change: (comparison_part) => save(model, { comparison_part }),
      print: (value) => ofTwoMapsText[value],
    }),
    {
      kind: "tick",
      name: "all heads of the layer",
      trait: "shown_heads",
      place: "bar",
      value: model.get("shown_heads") === "layer",
      change: (all) => save(model, { shown_heads: all ? "layer" : "selected" }),
      hidden: isTwo || model.get("arrangement") === "one",
    },
    ...drawnControls(model, { window: null }),
  ];
}
