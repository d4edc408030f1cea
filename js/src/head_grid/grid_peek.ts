import type { Cell } from "../shared/cells.js";
import { type Peeked, peekOut } from "../shared/peek.js";
import type { SmallMaps } from "./grid_pixels.js";

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
  };
}

/**
 * Returns a function that shows a head (or null) in the linked figures, and reports whether a
 * figure shows it.
 */
export function gridPeek(signal: AbortSignal, circle: () => string) {
  let last: readonly [SmallMaps, number, number] | undefined;
  let shown = false;
  const point = (maps: SmallMaps | null, head: Cell | undefined): boolean => {
    // A linked figure shows weights, and neither differences nor weights times their keys.
    const isMap = maps?.values.length && !maps.signed && !maps.times_keys;
    const now = isMap && head ? ([maps, ...head] as const) : undefined;
    if (now?.every((value, i) => value === last?.[i])) return shown;
    if (now || last) shown = peekOut(circle(), now ? peeked(now[0], [now[1], now[2]]) : null);
    last = now;
    return shown;
  };
  signal.addEventListener("abort", () => point(null, undefined));
  return point;
}
