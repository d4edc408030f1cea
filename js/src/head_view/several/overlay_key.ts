import { shortName } from "../../shared/head_names.js";
import { labelFont } from "../../shared/labels.js";
import type { Pen } from "../../shared/pen.js";
import type { Scene } from "../scene.js";

const SWATCH = 10;
const GAP = 16;
const LINE = 18;

interface Entry {
  name: string;
  colour: string;
  x: number;
  y: number;
}

/** Which colour is which head's, in as many lines as are needed. */
export interface Key {
  entries: Entry[];
  width: number;
  height: number;
}

export function headKey({ several, colours = [], ruler, font, state }: Scene, room: number): Key {
  const measure = ruler(labelFont(font));
  const entries: Entry[] = [];
  let x = 0;
  let y = 0;
  let width = 0;
  for (const [i, head] of (several?.heads ?? []).entries()) {
    const name = shortName(head, state);
    const wide = SWATCH + 4 + measure(name);
    if (x > 0 && x + wide > room) [x, y] = [0, y + LINE];
    entries.push({ name, colour: colours[i] ?? "", x, y });
    width = Math.max(width, x + wide);
    x += wide + GAP;
  }
  return { entries, width, height: y + LINE };
}

export function paintKey(pen: Pen, { entries }: Key, { theme, font }: Scene): void {
  pen.font = labelFont(font);
  pen.textAlign = "left";
  pen.textBaseline = "middle";
  for (const { name, colour, x, y } of entries) {
    pen.fillStyle = colour;
    pen.fillRect(x, y + (LINE - SWATCH) / 2, SWATCH, SWATCH);
    pen.fillStyle = theme.text;
    pen.fillText(name, x + SWATCH + 4, y + LINE / 2);
  }
}
