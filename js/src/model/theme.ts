/** What the page's colours are, and when they change. */
export interface Theme {
  dark: boolean;
  background: string;
  text: string;
  muted: string;
  hairline: string;
  /** Selection. */
  accent: string;
  /** Highlighted words. */
  second: string;
}

const LIGHT = {
  dark: false,
  background: "#ffffff",
  text: "#1b1b1f",
  muted: "#5f6368",
  hairline: "#d9dade",
  accent: "#1565c0",
  second: "#b3410b",
};
const DARK = {
  dark: true,
  background: "#111111",
  text: "#ececf1",
  muted: "#a0a3ab",
  hairline: "#3a3b41",
  accent: "#64b5f6",
  second: "#f0a35e",
};

/** How light a computed colour is, 0 to 1; undefined where it is mostly transparent. */
export function luminance(colour: string): number | undefined {
  const [values = "", alpha] = colour.replace(/^[a-z]+\((srgb )?/i, "").split("/");
  const numbers = values.match(/-?[\d.]+(e-?\d+)?/g)?.map(Number) ?? [];
  const opacity = alpha !== undefined ? Number.parseFloat(alpha) : (numbers[3] ?? 1);
  if (numbers.length < 3 || opacity <= 0.5) return undefined;
  const [r = 0, g = 0, b = 0] = numbers;
  // Hosts whose style sheets mix colours have them in the newer notations.
  if (/^(ok)?l(ab|ch)/.test(colour)) return colour.startsWith("ok") ? r : r / 100;
  return (0.299 * r + 0.587 * g + 0.114 * b) / (colour.startsWith("color(") ? 1 : 255);
}

/** The nearest painted background, across shadow roots: it is right in every host, whatever it calls its themes. */
function backgroundLuminance(el: Element): number | undefined {
  for (let node: Node | null = el.parentNode; node; ) {
    if (node instanceof ShadowRoot) {
      node = node.host;
      continue;
    }
    if (node instanceof Element) {
      const found = luminance(getComputedStyle(node).backgroundColor);
      if (found !== undefined) return found;
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

function read(el: HTMLElement): Theme {
  const theme = isDark(el) ? DARK : LIGHT;
  const brand = getComputedStyle(el).getPropertyValue("--jp-brand-color1").trim();
  return { ...theme, accent: /^#[0-9a-f]{6}$/i.test(brand) ? brand : theme.accent };
}

/** Keep `el`'s --attnw-* variables and `onChange` up to date with the host's theme. */
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
    for (const name of ["background", "text", "muted", "hairline", "accent", "second"] as const)
      el.style.setProperty(`--attnw-${name}`, theme[name]);
    onChange(theme);
  };
  // Hosts flip attributes first and load the style sheet after: look again once it can have arrived.
  const soon = () => {
    update();
    for (const wait of [100, 500, 1500]) setTimeout(() => signal.aborted || update(), wait);
  };
  const observer = new MutationObserver(soon);
  const { body, documentElement } = el.ownerDocument;
  for (const node of [body, documentElement]) observer.observe(node, { attributes: true });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon, { signal });
  signal.addEventListener("abort", () => observer.disconnect());
  // `render` runs before the host attaches `el`: only then is there a background to read.
  soon();
  requestAnimationFrame(update);
}
