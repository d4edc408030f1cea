/** The parts of a line, with points between them; parts that are empty are left out. */
export const inLine = (parts: readonly (string | false | null | undefined)[]): string =>
  parts.filter(Boolean).join(" · ");
