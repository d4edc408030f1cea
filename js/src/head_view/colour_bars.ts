import { diverging, ramp } from "../shared/colour.js";
import { strip, wedge } from "../shared/colour_bar.js";
import { rampTo, word } from "../shared/colour_levels.js";
import type { Raster } from "../shared/pen.js";
import { flat, lineTables } from "./lines/line_tables.js";
import { placesBar } from "./places/places_colours.js";
import { evenOf } from "./places/places_text.js";
import { shownRow } from "./places/shown_row.js";
import type { Scene } from "./scene.js";

/** The scale of weights: the colours of cells, or the thickness of lines. */
export function barOf(scene: Scene): Raster {
  const { theme, colours, state } = scene;
  if (state.mode === "places") return placesBar(scene, evenOf(shownRow(scene)));
  if (state.mode !== "lines") return strip(colours ? rampTo(theme, theme.text) : ramp(theme));
  return wedge(
    colours
      ? flat(theme, word(theme.text))
      : lineTables({ ...scene, map: { ...scene.map, signed: false } }).first,
  );
}

/** The scale of differences. */
export function differenceBarOf(scene: Scene): Raster {
  const { theme, state } = scene;
  if (state.mode === "places") return placesBar(scene, undefined, true);
  if (state.mode !== "lines") return strip(diverging(theme));
  return wedge(lineTables({ theme, state, map: { ...scene.map, signed: true } }).first, true);
}
