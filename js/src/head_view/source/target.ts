/** Token (one side) or pair (both sides), as positions on the visible axes. */
export interface Target {
  query?: number | undefined;
  key?: number | undefined;
  /** Side length of the block that begins at this position; absent for a cell. */
  step?: number | undefined;
}

export const isPair = (target: Target): target is Target & { query: number; key: number } =>
  target.query !== undefined && target.key !== undefined;
/** Return whether a target is larger than a cell, so that its tokens are unknown. */
export const isBlock = ({ step = 1 }: Target): boolean => step > 1;
export const isEmpty = (target: Target) => target.query === undefined && target.key === undefined;
