/** Colors of the page. */
export interface Theme {
  dark: boolean;
  background: string;
  text: string;
  muted: string;
  hairline: string;
  /** Selection color. */
  accent: string;
  /** Color of highlighted words. */
  second: string;
  /**
   * Colors of right and wrong predictions: blue and vermilion of Okabe and Ito, adjusted to a
   * contrast of 4.5:1.
   */
  right: string;
  wrong: string;
  /**
   * Whether the system forces its colors. Shapes and numbers must then replace differences in hue.
   */
  forced: boolean;
}

const LIGHT: Theme = {
  dark: false,
  forced: false,
  background: "#ffffff",
  text: "#1b1b1f",
  muted: "#5f6368",
  hairline: "#d9dade",
  accent: "#1565c0",
  second: "#c8102e",
  right: "#0067a3",
  wrong: "#b84e00",
};
const DARK: Theme = {
  dark: true,
  forced: false,
  background: "#111111",
  text: "#ececf1",
  muted: "#a0a3ab",
  hairline: "#3a3b41",
  accent: "#64b5f6",
  second: "#ff6b57",
  right: "#56b4e9",
  wrong: "#f08a3c",
};
export const THEMES = { light: LIGHT, dark: DARK };

const FORCED = "(forced-colors: active)";
/** System colors for canvases, which browsers do not recolor. */
const SYSTEM = {
  background: "Canvas",
  text: "CanvasText",
  muted: "GrayText",
  hairline: "GrayText",
  accent: "Highlight",
  second: "CanvasText",
  right: "LinkText",
  wrong: "CanvasText",
};

/** Return the brightness of a computed color (0 to 1), or undefined if it is mostly transparent. */
export function luminance(color: string): number | undefined {
  const [values = "", alpha] = color.replace(/^[a-z]+\((srgb )?/i, "").split("/");
  const numbers = values.match(/-?[\d.]+(e-?\d+)?/g)?.map(Number) ?? [];
  const opacity = alpha !== undefined ? Number.parseFloat(alpha) : (numbers[3] ?? 1);
  if (numbers.length < 3 || opacity <= 0.5) return undefined;
  const [r = 0, g = 0, b = 0] = numbers;
  // Style sheets that mix colors produce the newer notations.
  if (/^(ok)?l(ab|ch)/.test(color)) return color.startsWith("ok") ? r : r / 100;
  return (0.299 * r + 0.587 * g + 0.114 * b) / (color.startsWith("color(") ? 1 : 255);
}

/**
 * Return the brightness of the nearest painted background, across shadow roots. This works in every
 * host, however it names its themes.
 */
function backgroundLuminance(el: Element): number | undefined {
  for (let node: Node | null = el.parentNode; node; ) {
    if (node instanceof ShadowRoot) {
      node = node.host;
      continue;
    }
    if (node instanceof Element) {
      const brightness = luminance(getComputedStyle(node).backgroundColor);
      if (brightness !== undefined) return brightness;
    }
    node = node.parentNode;
  }
  return undefined;
}

function isDark(el: Element): boolean {
  const luminance = backgroundLuminance(el);
  if (luminance !== undefined) return luminance < 0.5;
  const scheme = getComputedStyle(el.ownerDocument.documentElement).colorScheme;
  if (scheme === "dark") return true;
  return scheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Return a system color as "#rrggbb": figures mix colors, which is impossible with names. */
function resolved(el: HTMLElement, name: string, otherwise: string): string {
  const probe = el.ownerDocument.createElement("span");
  probe.style.setProperty("forced-color-adjust", "none");
  probe.style.color = name;
  el.append(probe);
  const channels =
    getComputedStyle(probe)
      .color.match(/[\d.]+/g)
      ?.slice(0, 3) ?? [];
  probe.remove();
  if (channels.length < 3) return otherwise;
  return `#${channels.map((x) => Math.round(Number(x)).toString(16).padStart(2, "0")).join("")}`;
}

function forcedTheme(el: HTMLElement, theme: Theme): Theme {
  const colors = Object.entries(SYSTEM).map(([name, system]) => [
    name,
    resolved(el, system, theme[name as keyof typeof SYSTEM]),
  ]);
  const forced = { ...theme, ...Object.fromEntries(colors), forced: true } as Theme;
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) =>
    Number.parseInt(forced.background.slice(at, at + 2), 16),
  );
  return { ...forced, dark: 0.299 * r + 0.587 * g + 0.114 * b < 128 };
}

/**
 * Return the theme of the figure around `el`, as `watchTheme` stored it there. Reading it is
 * cheaper than computed colors, which force the browser to lay out the page.
 */
function themeAround(el: HTMLElement): Theme | undefined {
  const root = el.parentElement?.closest<HTMLElement>(".attnw-root[data-theme]");
  if (!root) return undefined;
  const written = Object.entries(root.dataset.theme === "dark" ? DARK : LIGHT).map(
    ([name, value]) => [name, root.style.getPropertyValue(`--attnw-${name}`) || value],
  );
  return { ...Object.fromEntries(written), forced: matchMedia(FORCED).matches };
}

function read(el: HTMLElement): Theme {
  const around = themeAround(el);
  if (around) return around;
  const theme = isDark(el) ? DARK : LIGHT;
  if (matchMedia(FORCED).matches) return forcedTheme(el, theme);
  const brand = getComputedStyle(el).getPropertyValue("--jp-brand-color1").trim();
  return { ...theme, accent: /^#[0-9a-f]{6}$/i.test(brand) ? brand : theme.accent };
}

/** Keep the --attnw-* variables of `el` up to date with the host's theme, and call `onChange`. */
export function watchTheme(
  el: HTMLElement,
  signal: AbortSignal,
  onChange: (theme: Theme) => void,
): void {
  let last = "";
  const update = () => {
    const theme = read(el);
    if (JSON.stringify(theme) === last) return;
    last = JSON.stringify(theme);
    el.dataset.theme = theme.dark ? "dark" : "light";
    for (const [name, color] of Object.entries(theme))
      if (typeof color === "string") el.style.setProperty(`--attnw-${name}`, color);
    onChange(theme);
  };
  // Hosts change attributes first and load the style sheet later, so check again after it may have
  // arrived.
  const soon = () => {
    update();
    for (const wait of [100, 500, 1500]) setTimeout(() => signal.aborted || update(), wait);
  };
  const observer = new MutationObserver(soon);
  const { body, documentElement } = el.ownerDocument;
  for (const node of [body, documentElement]) observer.observe(node, { attributes: true });
  for (const query of ["(prefers-color-scheme: dark)", FORCED])
    matchMedia(query).addEventListener("change", soon, { signal });
  signal.addEventListener("abort", () => observer.disconnect());
  // On a slow connection the style sheet arrives even later.
  const arrived = ({ target }: Event) => (target as Element).localName === "link" && update();
  el.ownerDocument.addEventListener("load", arrived, { capture: true, signal });
  // `render` runs before the host attaches `el`, and only an attached element has a background.
  soon();
  requestAnimationFrame(update);
}
