import { diverging, transfer } from "../../shared/colour.js";
import { rampTo } from "../../shared/colour_levels.js";
import type { Raster } from "../../shared/pen.js";
import { coverOf, onGrey, tickedBar } from "../../shared/places/picture_cover.js";
import { THEMES } from "../../shared/theme.js";
import type { Scene } from "../scene.js";
import { tablesOf } from "../several/head_colours.js";

const bars = new Map<string, Raster>();

/**
 * The scale of what is painted: above on a picture, below on tokens beside it. A tick in the colour
 * of the text stands at the even share, if there is one.
 */
export function placesBar(scene: Scene, even: number | undefined, signed = false): Raster {
  const { theme, state, map, colours } = scene;
  const colour = colours && theme.text;
  const hasPictures = (state._media?.pictures.length ?? 0) > 0;
  const above = coverOf(theme, signed, colour && !theme.forced ? THEMES.dark.text : colour);
  const below = signed
    ? diverging(theme)
    : colours
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
    !!colours,
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
