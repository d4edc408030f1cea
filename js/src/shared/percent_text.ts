const SPACE = "\u00a0";

/** A share as readers of a picture need it: whole from 10 % on, one decimal below. */
export const shareText = (share: number): string =>
  share >= 0.0995 || share < 0.0005 ? percentText(share) : `${(100 * share).toFixed(1)}${SPACE}%`;

/**
 * A share in per cent: whole numbers from 1 % on, one decimal below. The space before the sign does
 * not break.
 */
export function percentText(share: number): string {
  const percent = 100 * share;
  if (percent >= 0.95) return `${Math.round(percent)}${SPACE}%`;
  return `${percent >= 0.05 ? percent.toFixed(1) : 0}${SPACE}%`;
}
