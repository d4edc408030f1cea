// @vitest-environment node
import { describe, expect, it } from "vitest";
import { link } from "../src/page/linked_models.js";
import { embedded } from "../src/shared/page/embedded_arrays.js";
import { type EmbeddedMaps, wholeTile } from "../src/shared/page/embedded_maps.js";
import { localModel } from "../src/shared/page/local_model.js";
import { asFloat32 } from "../src/shared/wire.js";

const axis = (special: string[]) => ({
  text: special.map((_, i) => `t${i}`),
  raw: special.map((_, i) => `t${i}`),
  special,
  segments: special.map(() => 0),
});

function maps(size: number, fill: (q: number, k: number) => number): EmbeddedMaps {
  const special = Array.from({ length: size }, (_, i) => (i ? "" : "cls"));
  const values = Uint8Array.from({ length: size * size }, (_, i) =>
    fill(Math.floor(i / size), i % size),
  );
  const axes = { stack: "self", unit: "tokens", query: axis(special), key: axis(special) };
  return { quantity: "weights", axes, shape: [1, 1, size, size], maxima: [0.5], values };
}

describe("a page without a kernel", () => {
  it("gives weights back from bytes, and NaN where masked", () => {
    const map = wholeTile(
      maps(2, (q, k) => (k > q ? 0 : q === 0 ? 255 : 128)),
      [0, 0, "self"],
    );
    const [a, b, c] = asFloat32(map.values);
    expect(a).toBeCloseTo(0.5, 6);
    expect(b).toBeNaN();
    expect(c).toBeCloseTo(0.5 * (127 / 254) ** 2, 6);
    expect(map.exact).toBe(false);
  });
  it("gives four digits back where the page holds the rounding errors", () => {
    const own = maps(1, () => 128);
    const map = wholeTile({ ...own, fine: Uint8Array.of(192) }, [0, 0, "self"]);
    expect(asFloat32(map.values)[0]).toBeCloseTo(0.5 * (127.25 / 254) ** 2, 6);
    expect(map.exact).toBe(true);
  });
  it("tells of changes once, and of none where nothing changed", () => {
    const model = localModel({ layer: 0 });
    const layers: number[] = [];
    const callback = () => layers.push(model.get("layer"));
    model.on("change:layer", callback);
    model.set("layer", 0);
    model.set("layer", 2);
    model.off("change:layer", callback);
    model.set("layer", 3);
    expect(layers).toEqual([2]);
  });
  it("keeps fixed options, and says why until the reader does something else", () => {
    const state = { hidden: ["cls"], layer: 0, _fixed: { hidden: "needs a notebook" } };
    const model = localModel<typeof state & { _refused?: string }>(state);
    let changes = 0;
    model.on("change:_refused", () => changes++);
    model.set("hidden", ["cls"]);
    expect(model.get("_refused")).toBeUndefined();
    model.set("hidden", []);
    expect([model.get("hidden"), model.get("_refused")]).toEqual([["cls"], "needs a notebook"]);
    model.set("layer", 1);
    expect([model.get("_refused"), changes]).toEqual(["", 2]);
  });
});

describe("figures on a page", () => {
  it("get their arrays back from text", () => {
    const wire = { shape: [2], dtype: "<f4", view: btoa("\x00\x00\x80?\x00\x00\x00@") };
    const state = embedded({ list: [{ values: wire }], view: "text", none: null }) as {
      list: { values: Parameters<typeof asFloat32>[0] }[];
      view: string;
    };
    const values = state.list[0]?.values;
    expect(values && [...asFloat32(values)]).toEqual([1, 2]);
    expect(state.view).toBe("text");
  });

  it("follow each other in what they share; heads that one lacks do not come back as none", () => {
    type State = { selected: [number, number, string][]; layer: number; _error: string };
    const limits = {
      shapes: { encoder: [6, 12] as [number, number], cross: [6, 12] as [number, number] },
      relations: null,
    };
    const figure = () => localModel<State>({ selected: [], layer: 0, _error: "" });
    const grid = figure();
    const view = figure();
    const map = figure();
    const scaled = localModel({ selected: [], layer: 0, _error: "", scale: "sqrt" });
    link([
      { model: grid, ...limits },
      { model: view, ...limits },
      { model: map, shapes: { encoder: [6, 12] }, relations: null },
      { model: scaled, ...limits },
    ]);
    expect(
      [grid, scaled].map((model) => (model.get as (name: string) => unknown)("_circle")),
    ).toEqual(["page", "page"]);
    map.set("selected", [[0, 1, "encoder"]]);
    expect(view.get("selected")).toEqual([[0, 1, "encoder"]]);
    grid.set("selected", [[2, 3, "cross"]]);
    expect([grid, view, map].map((model) => model.get("selected").length)).toEqual([1, 1, 0]);
    scaled.set("scale", "log");
    expect((grid.get as (name: string) => unknown)("scale")).toBeUndefined();
  });

  it("keep what is fixed in them, whatever a linked figure shows", () => {
    const figure = (more: object) =>
      localModel({ selected: [], layer: 0, _error: "", unit: "tokens", ...more });
    const predictions = figure({ _fixed: { unit: "one word" } });
    const view = figure({});
    link([predictions, view].map((model) => ({ model, shapes: {}, relations: null })));
    view.set("unit", "words");
    expect([predictions.get("unit"), view.get("unit")]).toEqual(["tokens", "words"]);
    expect((predictions.get as (name: string) => unknown)("_refused")).toBeUndefined();
  });
});
