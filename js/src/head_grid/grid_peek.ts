import { type Cell, sameCell } from "../shared/cells.js";
import { type Peeked, peekOut } from "../shared/peek.js";
import { asFloat32, asUint8 } from "../shared/wire.js";
import type { SmallMaps } from "./grid_pixels.js";
import { headIn } from "./head_order.js";
import { rowValue } from "./painted_rows.js";
import type { Scene } from "./scene.js";

/** A head as its thumbnail has it. */
function peeked(maps: SmallMaps, [row, col]: Cell): Peeked {
  const { stack, quantity, unit, hidden, height, width } = maps;
  const head = row * maps.cols + col;
  return {
    head: [row, col, stack],
    quantity,
    unit,
    hidden,
    rows: height,
    cols: width,
    values: maps.values.subarray(head * height * width, (head + 1) * height * width),
    maximum: maps.maxima[head] ?? 0,
    row: peekedRow(maps, head),
  };
}

/** The row that a thumbnail paints, with NaN where masked; undefined of a map. */
function peekedRow({ row, signed }: SmallMaps, head: number): Peeked["row"] {
  if (!row) return undefined;
  const [, , count = 0] = row.values.shape;
  const bytes = asUint8(row.values).subarray(head * count, (head + 1) * count);
  const largest = asFloat32(row.largest)[head] ?? 0;
  const values = Float32Array.from(bytes, (byte) => rowValue(byte, largest, signed));
  return { side: row.side, of: row.of, values };
}

/** Returns a function that shows a head in the linked figures; whether a figure shows the head. */
function linkedPeek(signal: AbortSignal, circle: () => string) {
  let last: readonly [SmallMaps, number, number] | undefined;
  let shown = false;
  const point = (maps: SmallMaps | null, head: Cell | undefined): boolean => {
    // A linked figure shows weights, and neither differences nor weights times their keys.
    const hasMap = maps?.row || maps?.values.length;
    const isMap = hasMap && !maps.signed && !maps.times_keys;
    const now = isMap && head ? ([maps, ...head] as const) : undefined;
    if (now?.every((value, i) => value === last?.[i])) return shown;
    if (now || last) shown = peekOut(circle(), now ? peeked(now[0], [now[1], now[2]]) : null);
    last = now;
    return shown;
  };
  signal.addEventListener("abort", () => point(null, undefined));
  return point;
}

/**
 * Shows the head that is pointed at: in linked figures, or else in a preview. `circle`: the name
 * that the linked figures share.
 */
export function gridPeek(signal: AbortSignal, circle: () => string) {
  const peek = linkedPeek(signal, circle);
  let revealed: Cell | undefined;
  let passedBy: Cell | undefined;
  /** The selected head, where it has still to be scrolled to. */
  let unrevealed: Cell | undefined;

  return {
    /** What was in sight may be so no longer. */
    laidOut(): void {
      revealed = undefined;
    },
    /** The selected head that has still to be scrolled to, once. */
    toReveal(): Cell | undefined {
      const target = unrevealed;
      unrevealed = undefined;
      return target;
    },
    /** The cell that is pointed at, where no linked figure shows its head. */
    previewed(
      maps: SmallMaps | null,
      { order, selected }: Scene,
      at: Cell | undefined,
    ): Cell | undefined {
      const last = selected.at(-1);
      if (last && !sameCell(last, revealed)) {
        unrevealed = last;
        // What is chosen by a key is shown, though the pointer stays on another head.
        passedBy = at && !sameCell(at, last) ? at : undefined;
      }
      if (!sameCell(at, passedBy)) passedBy = undefined;
      revealed = last;
      const peeked = passedBy ? undefined : at;
      return peek(maps, peeked && headIn(order, peeked)) ? undefined : peeked;
    },
  };
}
