import { LABEL_SIZE, tableRuler } from "../shared/labels.js";
import type { Pen } from "../shared/pen.js";
import { type DrawPicture, FONT, Sheet } from "../shared/picture/sheet.js";
import { CURVE, longLayout, MINIMAP } from "./long_layout.js";
import { paintLinks } from "./long_lines.js";
import { paintAxes, paintCells, paintCurve, paintMinimap, pixelsOf } from "./long_paint.js";
import { inSight, linkLabel, longScene, reader } from "./long_scene.js";
import {
  headOf,
  linksOf,
  longCaption,
  longSaid,
  longTable,
  scaleTexts,
  scaleUse,
} from "./long_text.js";
import type { LongHead } from "./long_types.js";
import { isWhole, partOf } from "./long_window.js";
import { ASIDE, roomFor } from "./scene.js";
import type { ViewState } from "./state.js";
import { title } from "./view_text.js";

/** Links that a picture lists. */
const LISTED = 8;

/** A head of a long input, as far as it is in sight. */
export const drawLong: DrawPicture<ViewState> = (state, request) => {
  const sheet = new Sheet(request);
  const head = state._long as LongHead;
  sheet.title(title(headOf(head), "weights", "tokens"), state._source.model);
  const room = roomFor(sheet.room);
  const ground = {
    theme: request.theme,
    font: FONT,
    ruler: tableRuler,
    density: request.density,
    room,
  };
  const part = partOf(head, state.window);
  const scene = longScene(ground, state, reader(), part, { active: undefined, link: undefined });
  const at = longLayout(scene);
  const pixels = pixelsOf(scene.overview, scene, head.maximum);
  const tile = scene.tile && inSight(scene.tile, part);
  const seen = {
    ...scene,
    overview: inSight(scene.overview, part),
    tile: tile && tile.rows * tile.cols > 0 ? tile : null,
  };
  const clipped = sheet.pen.clipped.bind(sheet.pen);
  sheet.figure(at.width, at.height, (pen: Pen) => {
    if (state.mode === "lines") paintLinks(pen, at, scene, clipped);
    else
      paintCells(
        pen,
        at,
        seen,
        [
          pixelsOf(seen.overview, seen, seen.maximum),
          seen.tile && pixelsOf(seen.tile, seen, seen.maximum),
        ],
        clipped,
      );
    paintAxes(pen, at, scene);
  });
  const { row } = scene;
  if (row)
    sheet.place(at.width, CURVE.heading + CURVE.bars + CURVE.mark, (pen) =>
      paintCurve(pen, at, scene, row),
    );
  if (room < sheet.room) sheet.aside(ASIDE);
  // A full-size picture would differ from the visible part.
  if (!isWhole(head, part))
    sheet.place(MINIMAP, MINIMAP, (pen) => paintMinimap(pen, scene, pixels, MINIMAP));
  sheet.colourBar(scaleTexts(scene), `${state.scale} · ${scaleUse(scene)}`);
  const style = { size: LABEL_SIZE, colour: request.theme.text, line: 16 };
  const said = longSaid(scene);
  if (said) sheet.text(said, style);
  if (said) sheet.gap();
  sheet.text(state.mode === "lines" ? "strongest links in sight" : "strongest links of the head");
  const links = linksOf(scene).slice(0, LISTED);
  for (const link of links)
    sheet.text(`${linkLabel(link)} ${scene.print(link[2], links[0]?.[2])}`, style);
  sheet.gap();
  const words = longCaption(scene);
  sheet.notes(...words.notes);
  return { sheet, caption: words, table: longTable(scene) };
};
