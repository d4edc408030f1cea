import { afterEach, expect, test, vi } from "vitest";
import type { ViewState } from "../src/head_view/state.js";
import headView from "../src/head_view/widget.js";
import { THEMES } from "../src/shared/theme.js";
import { weights } from "./four_tokens.js";
import { mounted } from "./mounted.js";
import { tileOf, viewState } from "./view_state.js";

afterEach(() => vi.restoreAllMocks());

/** Return every color that canvases use while colors are forced. */
function forced(): { painted: Set<unknown>; words: Set<number> } {
  vi.spyOn(globalThis, "matchMedia").mockImplementation(
    (query) =>
      ({
        matches: query.includes("forced-colors"),
        addEventListener() {},
      }) as unknown as MediaQueryList,
  );
  const found = { painted: new Set<unknown>(), words: new Set<number>() };
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockImplementation(function (
    this: HTMLCanvasElement,
  ) {
    // A figure of an earlier test may still have a frame to draw.
    const isOfAnother = () => this.isConnected && !document.body.lastElementChild?.contains(this);
    const pen: Record<string, unknown> = {
      canvas: this,
      measureText: () => ({ width: 10 }),
      createImageData: (w: number, h: number) => ({ data: new Uint8ClampedArray(4 * w * h) }),
      putImageData: ({ data }: ImageData) => {
        if (isOfAnother()) return;
        for (const word of new Uint32Array(data.buffer)) found.words.add(word);
      },
    };
    return new Proxy(pen, {
      get: (of, name) => of[name as string] ?? (() => {}),
      set(of, name, value) {
        if (/Style$/.test(String(name)) && !isOfAnother()) found.painted.add(value);
        of[name as string] = value;
        return true;
      },
    }) as never;
  });
  return found;
}

const state = (mode: ViewState["mode"]) =>
  viewState({
    mode,
    tokens: [["query", 1]],
    _highlighted: { query: [2], key: [] },
    _tile: tileOf({
      shape: [4, 4],
      dtype: "<f4",
      view: new DataView(Float32Array.from(weights.flat()).buffer),
    }),
  });

test.each(["lines", "matrix"] as const)(
  "a view of %s has the system's colors alone",
  async (mode) => {
    const { painted, words } = forced();
    await mounted(headView(), state(mode));
    const { background, text, muted, hairline, accent } = THEMES.light;
    // The system colors of this test page are the fallback colors, which do not include the indigo
    // of the scale.
    const system = new Set<unknown>([background, text, muted, hairline, accent]);
    const grays = [...painted].filter((color) => !system.has(color)).map(String);
    for (const color of grays) {
      const [r = 0, , b = 0] = (color.match(/\d+/g) ?? []).map(Number);
      expect(b, color).toBeLessThanOrEqual(r + 4);
    }
    for (const word of words) expect((word >> 16) & 255).toBeLessThanOrEqual((word & 255) + 4);
    expect(painted.size + words.size).toBeGreaterThan(4);
  },
);
