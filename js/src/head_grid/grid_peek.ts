import { type Cell, sameCell } from "../shared/cells.js";
import { type Peeked, peekOut } from "../shared/peek.js";
import { asFloat32, asUint8 } from "../shared/wire.js";
import type { SmallMaps } from "./grid_pixels.js";
import { headIn } from "./head_order.js";
import { rowValue } from "./painted_rows.js";
import type { Scene } from "./scene.js";

/**
 * Return a head as a preview for linked figures, with the data of its thumbnail; null without one.
 * Linked figures preview weights only, not differences or weights times keys.
 */
export function previewOf(maps: SmallMaps | null, head: Cell | undefined): Peeked | null {
  const hasMap = maps?.row || maps?.values.length;
  return hasMap && !maps.signed && !maps.times_keys && head ? peeked(maps, head) : null;
}

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

/** Return the row that a thumbnail paints, NaN if masked; undefined for a map. */
function peekedRow({ row, signed }: SmallMaps, head: number): Peeked["row"] {
  if (!row) return undefined;
  const [, , count = 0] = row.values.shape;
  const bytes = asUint8(row.values).subarray(head * count, (head + 1) * count);
  const largest = asFloat32(row.largest)[head] ?? 0;
  const values = Float32Array.from(bytes, (byte) => rowValue(byte, largest, signed));
  return { side: row.side, of: row.of, values };
}

/**
 * Return a function that previews a head in the linked figures and returns whether any figure shows
 * it.
 */
function linkedPeek(signal: AbortSignal, circle: () => string) {
  let last: readonly [SmallMaps, number, number] | undefined;
  let shown = false;
  const point = (maps: SmallMaps | null, head: Cell | undefined): boolean => {
    const preview = previewOf(maps, head);
    const now = preview && maps && head ? ([maps, ...head] as const) : undefined;
    if (now?.every((value, i) => value === last?.[i])) return shown;
    if (now || last) shown = peekOut(circle(), preview);
    last = now;
    return shown;
  };
  signal.addEventListener("abort", () => point(null, undefined));
  return point;
}

/**
 * Return the previews of the head under the pointer: in linked figures, or otherwise in a popover.
 * `circle`: Name shared by the linked figures.
 */
export function gridPeek(signal: AbortSignal, circle: () => string) {
  const peek = linkedPeek(signal, circle);
  let revealed: Cell | undefined;
  let passedBy: Cell | undefined;
  /** Selected head to which the grid has not scrolled yet. */
  let unrevealed: Cell | undefined;

  return {
    /** Handle a new layout, after which the selected head may be out of sight. */
    laidOut(): void {
      revealed = undefined;
    },
    /** Return the selected head to scroll to, once. */
    toReveal(): Cell | undefined {
      const target = unrevealed;
      unrevealed = undefined;
      return target;
    },
    /** Return the cell under the pointer, if no linked figure shows its head. */
    previewed(
      maps: SmallMaps | null,
      { order, selected }: Scene,
      at: Cell | undefined,
    ): Cell | undefined {
      const last = selected.at(-1);
      if (last && !sameCell(last, revealed)) {
        unrevealed = last;
        // Show a head that was selected by key, although the pointer stays on another head.
        passedBy = at && !sameCell(at, last) ? at : undefined;
      }
      if (!sameCell(at, passedBy)) passedBy = undefined;
      revealed = last;
      const peeked = passedBy ? undefined : at;
      return peek(maps, peeked && headIn(order, peeked)) ? undefined : peeked;
    },
  };
}
