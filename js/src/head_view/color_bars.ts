import { diverging, ramp, transfer } from "../shared/color.js";
import { strip, wedge } from "../shared/color_bar.js";
import { rampTo, word } from "../shared/color_levels.js";
import type { Raster } from "../shared/pen.js";
import { coverOf, onGrey, tickedBar } from "../shared/places/picture_cover.js";
import { THEMES } from "../shared/theme.js";
import { flat, lineTables } from "./lines/line_tables.js";
import { tickOf } from "./places/places_text.js";
import type { Scene } from "./scene.js";
import { tablesOf } from "./several/head_colors.js";

/** Return the color bar of weights, which shows the colors of cells or the thickness of lines. */
export function barOf(scene: Scene): Raster {
  const { theme, colors, state } = scene;
  if (state.mode === "places") return placesBar(scene, tickOf(scene));
  if (state.mode !== "lines") return strip(colors ? rampTo(theme, theme.text) : ramp(theme));
  return wedge(
    colors
      ? flat(theme, word(theme.text))
      : lineTables({ ...scene, map: { ...scene.map, signed: false } }).first,
  );
}

/** Return the color bar of differences. */
export function differenceBarOf(scene: Scene): Raster {
  const { theme, state } = scene;
  if (state.mode === "places") return placesBar(scene, undefined, true);
  if (state.mode !== "lines") return strip(diverging(theme));
  return wedge(lineTables({ theme, state, map: { ...scene.map, signed: true } }).first, true);
}

const bars = new Map<string, Raster>();

/**
 * Return the bar of the places mode: upper half for pictures, lower half for tokens next to them. A
 * tick in the text color marks the even share, if there is one.
 */
function placesBar(scene: Scene, even: number | undefined, signed = false): Raster {
  const { theme, state, map, colors } = scene;
  const color = colors && theme.text;
  const hasPictures = (state._media?.pictures.length ?? 0) > 0;
  const above = coverOf(theme, signed, color && !theme.forced ? THEMES.dark.text : color);
  const below = signed
    ? diverging(theme)
    : colors
      ? rampTo(theme, theme.text)
      : tablesOf({ theme, map: { ...map, signed: false } }).first;
  const share = even !== undefined && map.maximum > 0 ? even / map.maximum : undefined;
  const place = signed || share === undefined ? -9 : Math.round(255 * transfer(state.scale)(share));
  const key = [
    theme.dark,
    theme.forced,
    theme.text,
    theme.background,
    signed,
    !!colors,
    place,
    hasPictures,
  ];
  const known = bars.get(key.join());
  if (known) return known;
  const onPicture = hasPictures ? above.map((word) => onGrey(word)) : below;
  const bar = tickedBar([onPicture, below], place);
  bars.set(key.join(), bar);
  return bar;
}
