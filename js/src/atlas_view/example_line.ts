import { type Measure, shorten, withControlPictures } from "../shared/labels.js";
import type { Example } from "./state.js";

const GAP = "…";
/** Largest number of words around each end of a link in a line. */
const MOST_CONTEXT = 16;

/** Text of a line, positioned at `x`. */
export interface PlacedPiece {
  text: string;
  x: number;
  width: number;
  end: "query" | "key" | "both" | "";
}

interface Word {
  pieces: number[];
  /** Number of words to the nearer end of the link. */
  distance: number;
}

function wordsOf({ pieces, query, key }: Example): Word[] {
  const words: Word[] = [];
  for (const [i, piece] of pieces.entries()) {
    const last = words.at(-1);
    if (piece.startsWith(" ") || !last) words.push({ pieces: [i], distance: 0 });
    else last.pieces.push(i);
  }
  const ends = [...words.keys()].filter((at) =>
    words[at]?.pieces.some((piece) => piece === query || piece === key),
  );
  return words.map((word, at) => ({
    ...word,
    distance: Math.min(...ends.map((end) => Math.abs(at - end))),
  }));
}

/** Return the words of a line: as many around both ends of the link as fit. */
export function exampleLine(example: Example, measure: Measure, room: number): PlacedPiece[] {
  const words = wordsOf(example);
  let line = placed(example, words, 0, measure);
  for (let context = 1; context <= MOST_CONTEXT; context++) {
    const longer = placed(example, words, context, measure);
    if (lengthOf(longer) > room) break;
    line = longer;
  }
  if (lengthOf(line) <= room) return line;
  // If two long words do not fit a narrow figure, divide the width between them.
  const ends = line.filter(({ end }) => end);
  const each = room / ends.length - measure(" ");
  let x = 0;
  return ends.map((piece) => {
    const text = shorten(measure, piece.text, each);
    const at = { ...piece, text, x, width: measure(text) };
    x += at.width + measure(" ");
    return at;
  });
}

export const lengthOf = (line: PlacedPiece[]): number =>
  Math.max(0, ...line.map(({ x, width }) => x + width));

function placed(example: Example, words: Word[], context: number, measure: Measure): PlacedPiece[] {
  const space = measure(" ");
  const line: PlacedPiece[] = [];
  let x = 0;
  const put = (text: string, end: PlacedPiece["end"]) => {
    const width = measure(text);
    line.push({ text, x, width, end });
    x += width;
  };
  let isCut = false;
  for (const { pieces, distance } of words) {
    const text = (example.pieces[pieces[0] ?? 0] ?? "").trim();
    if (distance > context || (text === GAP && distance > 0)) {
      if (!isCut) {
        if (line.length) x += space;
        put(GAP, "");
      }
      isCut = true;
      continue;
    }
    isCut = false;
    if (line.length) x += space;
    for (const piece of pieces)
      put(withControlPictures((example.pieces[piece] ?? "").trim()) || "␣", endOf(example, piece));
  }
  return line;
}

function endOf({ query, key }: Example, piece: number): PlacedPiece["end"] {
  if (piece === query) return query === key ? "both" : "query";
  return piece === key ? "key" : "";
}
