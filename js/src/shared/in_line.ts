/** Join the non-empty parts with middle dots. */
export const inLine = (parts: readonly (string | false | null | undefined)[]): string =>
  parts.filter(Boolean).join(" · ");
