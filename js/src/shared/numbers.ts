/** How numbers are printed: the same in figures, captions, tables and exports. */

/** Three significant digits, never in exponents, no trailing zeros. */
export function digits(x: number): string {
  if (!(x > 0)) return "0";
  if (x < 0.0005) return "<0.0005";
  return String(Number(x.toPrecision(3)));
}

/** Three significant digits of a number of any sign and size. */
export function figures(x: number): string {
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 0.0005) return x.toExponential(1).replace("e+", "e");
  return String(Number(x.toPrecision(3))).replace("-", "−");
}

/** Format numbers for one list, with as many decimals as the largest number needs. */
export function aligned(largest: number, significant = 3): (x: number) => string {
  const places = significant - 1 - Math.floor(Math.log10(largest || 1));
  if (places > 5 || places < -2) return (x) => figures(Number(x.toPrecision(significant)));
  return (x) =>
    x
      .toFixed(Math.max(0, places))
      .replace(/^-(?=.*[1-9])/, "−")
      .replace("-", "");
}

/** The largest size of the numbers of one list; 0 without one. */
export const largestSize = (values: number[]): number =>
  Math.max(0, ...values.filter((x) => !Number.isNaN(x)).map(Math.abs));

/** Format the numbers of one list, with one number of decimals; a lone number has three digits. */
export const alignedList = (values: number[]): ((x: number) => string) =>
  values.length > 1 ? aligned(largestSize(values)) : figures;

/** Format weights for one list: three decimals, or more if all weights are small. */
export function alignedWeights(largest: number): (x: number) => string {
  if (largest < 0.001) return digits;
  const print = aligned(Math.min(largest, 0.5));
  return (x) => {
    const text = print(x);
    return x > 0 && !/[1-9]/.test(text) ? `<${text}5` : text;
  };
}

/** A count with what is counted. */
export const counted = (count: number, what: string) =>
  `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

/** A share in per cent, with as many digits as a count of `n` bears. */
export function percent(share: number, n: number): string {
  const text = (100 * share).toFixed(n >= 100 ? 1 : 0);
  return text.replace("-", "−");
}

/** A share with its per cent sign, on one line. */
export const percentOf = (share: number, n: number) => `${percent(share, n)}\u00a0%`;

export const signed = (offset: number) => (offset < 0 ? `−${-offset}` : `+${offset}`);

export const printP = (p: number) => (p < 0.001 ? "p < 0.001" : `p = ${Number(p.toPrecision(2))}`);
