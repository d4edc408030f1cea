import { labelFont } from "../../shared/labels.js";
import type { Pen } from "../../shared/pen.js";
import type { Shape } from "../../shared/svg.js";
import { NEED_NUMBER_SIZE, type NeedMark } from "./word_needs.js";

/** Return the shapes of bars and numbers on a page. */
export const drawnNeeds = (marks: readonly NeedMark[]): Shape[] =>
  marks.map((mark): Shape => {
    if ("text" in mark) {
      const { text, x, y, color } = mark;
      const attributes = {
        x,
        y,
        fill: color,
        "font-size": NEED_NUMBER_SIZE,
        "text-anchor": "middle",
        "dominant-baseline": "central",
      };
      return { tag: "text", attributes, inside: text };
    }
    const { bar, color, isHollow } = mark;
    const { x, y, width, height } = bar;
    const [fill, stroke] = isHollow ? ["none", color] : [color, "none"];
    return { tag: "rect", attributes: { x, y, width, height, fill, stroke }, inside: "" };
  });

/** Draw bars and numbers in a picture. */
export function paintNeeds(pen: Pen, marks: readonly NeedMark[], family: string): void {
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.font = labelFont(family, false, NEED_NUMBER_SIZE);
  pen.lineWidth = 1;
  for (const mark of marks) {
    pen.fillStyle = mark.color;
    if ("text" in mark) pen.fillText(mark.text, mark.x, mark.y);
    else {
      const { x, y, width, height } = mark.bar;
      pen.strokeStyle = mark.color;
      if (mark.isHollow) pen.strokeRect(x, y, width, height);
      else pen.fillRect(x, y, width, height);
    }
  }
  pen.textAlign = "left";
}
