// @vitest-environment node
import { describe, expect, it } from "vitest";
import { checkedFigure, checkedHeld, parsedPage } from "../src/page/checked_data.js";
import { DamagedError, sentenceOf } from "../src/shared/page/damage.js";
import { embedded } from "../src/shared/page/embedded_arrays.js";
import { localModel } from "../src/shared/page/local_model.js";

const axis = { text: ["a", "b"], raw: ["a", "b"], special: ["", ""], segments: [0, 0] };
const maps = {
  quantity: "weights",
  axes: { stack: "self", unit: "tokens", query: axis, key: axis },
  shape: [1, 2, 2, 2],
  maxima: [0.5, 0.25],
  values: btoa("\x01\x02\x03\x04\x05\x06\x07\x08"),
};
const figure = {
  name: "head_grid",
  label: "Heads",
  remark: "",
  state: { stacks: [{ name: "self", n_layers: 1, n_heads: 2 }] },
  shapes: { self: [1, 2] },
  relations: null,
  own: {},
};
const known = (name: string) => name === "head_grid";

describe("the data of a page", () => {
  it("is read where it is whole", () => {
    expect(parsedPage(JSON.stringify({ figures: [figure], held: { maps: [maps] } }))).toEqual({
      figures: [figure],
      held: { maps: [maps] },
    });
    expect(checkedFigure(figure, known)).toEqual(figure);
    expect([...(checkedHeld({ maps: [maps] }).maps?.[0]?.values ?? [])]).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8,
    ]);
  });

  it.each(["", "{", "3", "null", "[]", "{}", '{"figures": 3}', '{"figures": []}'])(
    "is refused as %j",
    (source) => {
      expect(() => parsedPage(source)).toThrow(DamagedError);
    },
  );

  it("may lack what no figure asks for", () => {
    expect(parsedPage('{"figures": [3]}')).toEqual({ figures: [3], held: {} });
  });
});

describe("a figure of a page", () => {
  it.each([
    [{ name: "x" }, "no code for it"],
    [{ name: 3 }, "no code for it"],
    [{ state: null }, "state is missing"],
    [{ shapes: { self: [1e5, 1e3] } }, "numbers of layers and heads"],
    [{ shapes: { self: [-1, 2] } }, "numbers of layers and heads"],
    [{ shapes: 3 }, "numbers of layers and heads"],
    [{ state: { stacks: [{ n_layers: 1e9 }] } }, "its n_layers is 1000000000"],
    [{ state: { stacks: [{ n_heads: "12" }] } }, "its n_heads is"],
    [{ relations: [3] }, "relations are not names"],
    [{ label: null }, "label is no text"],
    [{ state: { values: { shape: [2], dtype: "<f4", view: btoa("abc") } } }, "3 of 8 bytes"],
    [{ state: { values: { shape: [-2], dtype: "<f4", view: "" } } }, "shape [-2]"],
    [{ state: { values: { shape: [1], dtype: "<f2", view: "" } } }, "type <f2"],
    [{ state: { values: { shape: [1], dtype: "|u1", view: "%%%" } } }, "bytes cannot be read"],
  ])("is refused as %j", (damage, message) => {
    expect(() => checkedFigure({ ...figure, ...damage }, known)).toThrow(message);
  });
});

describe("the maps of a page", () => {
  it.each([
    [{ values: "%%%" }, "bytes cannot be read"],
    [{ values: btoa("\x01\x02\x03\x04") }, "4 of 8 bytes"],
    [{ shape: [1e5, 1e3, 8, 8] }, "numbers of layers and heads"],
    [{ shape: [1, 2, -2, 2] }, "shape [1,2,-2,2]"],
    [{ shape: [1, 2, 2] }, "shape [1,2,2]"],
    [{ shape: null }, "shape null"],
    [{ maxima: [0.5] }, "largest weights of 2 maps"],
    [{ maxima: [0.5, null] }, "largest weights of 2 maps"],
    [{ axes: null }, "names of 2 tokens"],
    [{ axes: { query: axis, key: { ...axis, text: ["a"] } } }, "names of 2 tokens"],
  ])("are refused as %j, by the figures that ask for them", (damage, message) => {
    const held = checkedHeld({ maps: [{ ...maps, ...damage }], sentences: { first: 0 } });
    expect(held.sentences).toEqual({ first: 0 });
    expect(() => held.maps).toThrow(message);
  });
});

describe("an error of one figure", () => {
  it("stands in that figure", () => {
    const model = localModel({ layer: 0, _error: "" });
    model.on("change:layer", () => {
      throw new TypeError("undefined is not iterable");
    });
    const shown: string[] = [];
    model.on("change:_error", () => shown.push(model.get("_error")));
    model.set("layer", 1);
    expect(shown).toEqual([
      "This figure cannot be shown: its data does not fit what the figure draws. The page is " +
        "damaged: save it again from the notebook.",
    ]);
    expect(sentenceOf(new DamagedError("its maps are missing"))).toContain("its maps are missing");
  });

  it("is not raised by arrays that are whole", () => {
    const values = { shape: [1, 1], dtype: "|u1", view: btoa("\x07") };
    const decoded = embedded({ values }) as { values: { view: DataView } };
    expect(decoded.values.view.getUint8(0)).toBe(7);
  });
});
