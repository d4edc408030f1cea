import type { Theme } from "./theme.js";

const QUERY = "(forced-colors: active)";

/**
 * The theme, or the system's own colours where the reader has asked for them: a canvas is the one thing that the
 * browser does not recolour by itself.
 */
export function forcedTheme(theme: Theme): Theme & { forced: boolean } {
  if (!matchMedia(QUERY).matches) return { ...theme, forced: false };
  const [text, accent] = ["CanvasText", "Highlight"];
  return {
    ...{ forced: true, dark: theme.dark, background: "Canvas", text, accent, second: text },
    ...{ muted: "GrayText", hairline: "GrayText" },
  };
}

/** Call back when the reader's choice changes. */
export const watchForced = (signal: AbortSignal, onChange: () => void): void =>
  matchMedia(QUERY).addEventListener("change", onChange, { signal });
