/** Number formats, shared by figures, captions, tables and exports. */

/** Format with three significant digits, no exponent and no trailing zeros. */
export function digits(x: number): string {
  if (!(x > 0)) return "0";
  if (x < 0.0005) return "<0.0005";
  return String(Number(x.toPrecision(3)));
}

/** Format with three significant digits, for numbers of any sign and size. */
export function figures(x: number): string {
  if (x === 0) return "0";
  const size = Math.abs(x);
  if (size >= 1e6 || size < 0.0005) return x.toExponential(1).replace("e+", "e");
  return String(Number(x.toPrecision(3))).replace("-", "−");
}

/**
 * Return a formatter for one list of numbers, with as many decimals as the largest number needs.
 */
export function aligned(largest: number, significant = 3): (x: number) => string {
  const places = significant - 1 - Math.floor(Math.log10(largest || 1));
  if (places > 5 || places < -2) return (x) => figures(Number(x.toPrecision(significant)));
  return (x) =>
    x
      .toFixed(Math.max(0, places))
      .replace(/^-(?=.*[1-9])/, "−")
      .replace("-", "");
}

/** Return the largest absolute value of a list, or 0 if it is empty. */
export const largestSize = (values: number[]): number =>
  Math.max(0, ...values.filter((x) => !Number.isNaN(x)).map(Math.abs));

/**
 * Return a formatter for one list with a common number of decimals. A single number has three
 * digits.
 */
export const alignedList = (values: number[]): ((x: number) => string) =>
  values.length > 1 ? aligned(largestSize(values)) : figures;

/** Return a formatter for one list of weights: three decimals, or more if all weights are small. */
export function alignedWeights(largest: number): (x: number) => string {
  if (largest < 0.001) return digits;
  const print = aligned(Math.min(largest, 0.5));
  return (x) => {
    const text = print(x);
    return x > 0 && !/[1-9]/.test(text) ? `<${text}5` : text;
  };
}

/** Return a count with its noun, in the plural if needed. */
export const counted = (count: number, what: string) =>
  `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

/** Format a share as a percentage, with as many digits as a sample of `n` supports. */
export function percent(share: number, n: number): string {
  const text = (100 * share).toFixed(n >= 100 ? 1 : 0);
  return text.replace("-", "−");
}

/** Format a share with a percent sign that does not wrap to the next line. */
export const percentOf = (share: number, n: number) => `${percent(share, n)}\u00a0%`;

export const signed = (offset: number) => (offset < 0 ? `−${-offset}` : `+${offset}`);

export const printP = (p: number) => (p < 0.001 ? "p < 0.001" : `p = ${Number(p.toPrecision(2))}`);
