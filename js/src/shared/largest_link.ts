/** Multiple of the even share from which a link counts. */
const TIMES_EVEN = 1.5;

/** Return the even share of a row: 1 divided by the number of keys that are not masked. */
export const evenOf = (row: Float32Array): number =>
  1 / Math.max(1, row.filter((value) => value >= 0).length);

/**
 * Return whether a row of weights gives one key strictly more than every other visible key, and
 * enough to count. Rows of other quantities have no even share: pass 0.
 */
export function isLargestLink(
  row: Float32Array,
  key: number,
  hides: readonly boolean[],
  even: number,
): boolean {
  const weight = row[key] || 0;
  return (
    weight > 0 &&
    weight >= TIMES_EVEN * even &&
    row.every((value, i) => i === key || hides[i] || !(value >= weight))
  );
}
