import { type Axes, SPECIALS } from "../../shared/types.js";

/** The share of the values of whole maps that goes to special tokens. */
export function specialShare(maps: Float32Array[], { key }: Axes): number {
  const isSpecial = key.special.map((kind) => SPECIALS.some((one) => one === kind));
  if (!isSpecial.includes(true)) return 0;
  let toSpecial = 0;
  let toAll = 0;
  for (const values of maps)
    for (let i = 0; i < values.length; i++) {
      const value = values[i] || 0;
      toAll += value;
      if (isSpecial[i % isSpecial.length]) toSpecial += value;
    }
  return toAll ? toSpecial / toAll : 0;
}
