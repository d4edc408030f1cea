import { paintArc } from "../../shared/arc.js";
import { inkOf } from "../../shared/ink.js";
import { labelFont, type Ruler } from "../../shared/labels.js";
import type { Pen } from "../../shared/pen.js";
import { percentText } from "../../shared/percent_text.js";
import type { Theme } from "../../shared/theme.js";
import { arcsOf, type Mark, marksOf, numberOf } from "./arcs.js";
import { paintNeeds } from "./drawn_needs.js";
import {
  type Box,
  CHIP_SIZE,
  ROLE_ROOM,
  roomOf,
  type SentenceSize,
  sentenceSize,
} from "./layout.js";
import { type Reading, rowsOf } from "./reading.js";
import { needMarks, sizeWithNeeds, type WordNeeds } from "./word_needs.js";
import { shownText, unbroken } from "./words.js";

const NUMBER_SIZE = 11;
/** Space under the last line for numbers. */
const FOOT = 16;

type Side = "query" | "key";

/** Layout of the sentence in a picture. */
interface SentencePicture {
  size: SentenceSize;
  width: number;
  height: number;
  boxes: Record<Side, Map<number, Box>>;
  /** Bars at the words instead of arcs, and the height of 100 %. */
  shownNeeds: { needs: WordNeeds; scale: number } | undefined;
}

/** Lay out the words from left to right in lines of this width. */
export function sentencePicture(
  reading: Reading,
  needs: WordNeeds | undefined,
  width: number,
  family: string,
  ruler: Ruler,
): SentencePicture {
  const { isOneText } = reading;
  const rows = rowsOf(reading);
  const usual = sentenceSize(
    rows.flatMap(([, row]) => row),
    width,
    family,
    ruler,
    rows.length < 2,
  );
  const barred = needs && sizeWithNeeds(usual, needs);
  const size = barred?.size ?? usual;
  const rooms = roomOf(size.font, family, ruler);
  const pitch = Math.round(size.font * size.leading);
  const boxes: SentencePicture["boxes"] = { query: new Map(), key: new Map() };
  let y = barred?.above ?? size.head;
  for (const [side, row] of rows) {
    let x = 0;
    for (const group of unbroken(row)) {
      const before = group[0]?.before ?? "";
      const needed = group.reduce((sum, word) => sum + rooms.role(word) + rooms.word(word), 0);
      if (x > 0 && before !== "") x += rooms.space;
      if (x > 0 && (x + needed > width || before.includes("\n"))) {
        x = 0;
        y += pitch;
      }
      for (const word of group) {
        const room = rooms.word(word);
        x += rooms.role(word);
        boxes[side].set(word.index, { x, y, width: room, height: Math.round(size.font * 1.35) });
        x += room;
      }
    }
    y += pitch;
  }
  const height = y - pitch + Math.round(size.font * 1.35) + Math.max(FOOT, barred?.below ?? 0);
  const shownNeeds = needs && barred && { needs, scale: barred.scale };
  const both = isOneText ? { ...boxes, key: boxes.query } : boxes;
  return { size, width, height, boxes: both, shownNeeds };
}

/** Draw the sentence with background colors, arcs and numbers, as on the page. */
export function paintSentence(
  pen: Pen,
  at: SentencePicture,
  reading: Reading,
  theme: Theme,
  family: string,
): void {
  const { from, to, isOneText, hidden, axes } = reading;
  const marks = at.shownNeeds ? new Map<number, Mark>() : marksOf(reading);
  pen.lineJoin = "round";
  if (at.size.hasArcs)
    for (const { path, look } of arcsOf(
      reading,
      (side, index) => at.boxes[side].get(index),
      at.size.lines === 1,
      theme,
    ))
      paintArc(pen, path, look);
  pen.textBaseline = "middle";
  for (const [side, row] of rowsOf(reading))
    for (const word of row) {
      const { index, kind, role } = word;
      const box = at.boxes[side].get(index);
      if (!box) continue;
      if (role) {
        pen.font = labelFont(family, false, CHIP_SIZE);
        pen.fillStyle = theme.muted;
        pen.textAlign = "right";
        pen.fillText(role, box.x - ROLE_ROOM, box.y + box.height / 2);
      }
      const looksAt = isOneText || side === "key";
      const isFrom = (isOneText || side === "query") && index === from;
      const mark = looksAt ? marks.get(index) : undefined;
      const ink = mark?.weight && !isFrom ? inkOf(theme, mark.weight) : undefined;
      if (ink) {
        pen.fillStyle = ink.ground;
        pen.fillRect(box.x, box.y, box.width, box.height);
      }
      if (looksAt && index === to) {
        pen.strokeStyle = theme.accent;
        pen.lineWidth = 2;
        pen.strokeRect(box.x - 1, box.y - 1, box.width + 2, box.height + 2);
      }
      const isChip = kind === "chip";
      const isQuiet = isChip || kind === "template" || kind === "place";
      const isResting = hidden.includes(axes[side].special[index] ?? "");
      pen.font = labelFont(family, isFrom, isChip ? CHIP_SIZE : at.size.font);
      pen.fillStyle = isFrom
        ? theme.accent
        : (ink?.letters ?? (isQuiet || isResting ? theme.muted : theme.text));
      pen.textAlign = "center";
      const middle = box.y + box.height / 2;
      pen.fillText(shownText(word), box.x + box.width / 2, middle);
      if (isFrom) {
        pen.fillStyle = theme.accent;
        pen.fillRect(box.x, box.y + box.height - 2, box.width, 2);
      }
      if (!mark?.isNumbered) continue;
      pen.font = labelFont(family, index === to, NUMBER_SIZE);
      pen.fillStyle = index === to ? theme.text : theme.muted;
      const under = box.y + box.height + NUMBER_SIZE / 2 + 2;
      pen.fillText(percentText(numberOf(reading, index)), box.x + box.width / 2, under);
    }
  pen.textAlign = "left";
  if (!at.shownNeeds) return;
  const { needs, scale } = at.shownNeeds;
  const boxAt = (entry: number) => at.boxes.query.get(entry);
  paintNeeds(pen, needMarks(needs, boxAt, scale, theme), family);
}
