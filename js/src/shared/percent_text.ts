const SPACE = "\u00a0";

/**
 * Format a share for a figure: integer percentages from 10 % on, one decimal below, and one digit
 * for the smallest shares.
 */
export function shareText(share: number): string {
  if (share >= 0.0995 || !(share > 0)) return percentText(share);
  const percent = 100 * share;
  return `${percent < 0.05 ? Number(percent.toPrecision(1)) : percent.toFixed(1)}${SPACE}%`;
}

/** Format a difference of shares in percentage points. */
export const pointsText = (share: number): string => shareText(share).replace("%", "points");

/**
 * Format a share as an integer percentage from 1 % on, and with one decimal below. The space before
 * the percent sign does not break.
 */
export function percentText(share: number): string {
  const percent = 100 * share;
  if (percent >= 0.95) return `${Math.round(percent)}${SPACE}%`;
  return `${percent >= 0.05 ? percent.toFixed(1) : 0}${SPACE}%`;
}
