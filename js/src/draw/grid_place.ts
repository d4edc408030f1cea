export interface Box {
  left: number;
  top: number;
  right: number;
  bottom: number;
}
/** Per axis -1, 0 or 1: where the pointer is going. */
export type Heading = readonly [x: number, y: number];

const GAP = 4;

/** The new heading after a step: an axis that did not move keeps its last one. */
export const headingAfter = (last: Heading, dx: number, dy: number): Heading => [
  Math.sign(dx) || last[0],
  Math.sign(dy) || last[1],
];

/** Top-left corner of a preview diagonal to `anchor`: its row and column stay free, and so does the way ahead. */
export function placeBeside(
  anchor: Box,
  width: number,
  height: number,
  bounds: Box,
  heading: Heading,
): [x: number, y: number] {
  const keep = (at: number, low: number, high: number) => Math.max(low, Math.min(high, at));
  let best: [number, number] = [bounds.left, bounds.top];
  let least = Number.POSITIVE_INFINITY;
  for (const across of [1, -1]) {
    for (const down of [1, -1]) {
      const wanted = [
        across > 0 ? anchor.right + GAP : anchor.left - GAP - width,
        down > 0 ? anchor.bottom + GAP : anchor.top - GAP - height,
      ] as const;
      const x = keep(wanted[0], bounds.left, bounds.right - width);
      const y = keep(wanted[1], bounds.top, bounds.bottom - height);
      // Being pushed back over the anchor's row or column is worse than standing in the way.
      const pushed = Math.abs(x - wanted[0]) + Math.abs(y - wanted[1]);
      const cost = pushed + across * heading[0] + down * heading[1];
      if (cost < least) [best, least] = [[x, y], cost];
    }
  }
  return best;
}
