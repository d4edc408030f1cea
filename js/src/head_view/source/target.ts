/** A token (one side) or a pair (both), as positions on the visible axes. */
export interface Target {
  query?: number | undefined;
  key?: number | undefined;
  /** Of a block of cells, which begins there: how many positions long it is. */
  step?: number | undefined;
}

export const isPair = (target: Target): target is Target & { query: number; key: number } =>
  target.query !== undefined && target.key !== undefined;
/** Whether a target is more than a cell: its tokens are not known. */
export const isBlock = ({ step = 1 }: Target): boolean => step > 1;
export const isEmpty = (target: Target) => target.query === undefined && target.key === undefined;
