// @vitest-environment node
import { describe, expect, it } from "vitest";
import { type HeldSentence, pageModel } from "../src/dependency_arcs/page.js";
import type { ArcsState } from "../src/dependency_arcs/state.js";
import { wire } from "../src/shared/page/embedded_maps.js";
import { asFloat32, asInt32 } from "../src/shared/wire.js";

const text = (array: ArrayBufferView) =>
  btoa(String.fromCharCode(...new Uint8Array(array.buffer, array.byteOffset, array.byteLength)));

/**
 * Return a sentence "Cats eat fish" with two heads: the first predicts both governors, the second
 * none.
 */
function sentence(index: number, relations = ["nsubj", "root", "obj"]): HeldSentence {
  const right = [2, 1, 2];
  const wrong = [3, 1, 1];
  // Weights from each word to its governor, then from the governor to each word.
  const weights = [0.5, 0.25, 0.75, 0.25, 0.5, 0.125];
  return {
    drawn: {
      sentence: index,
      name: `s${index}`,
      words: ["Cats", "eat", "fish"],
      spaces: [],
      relations,
      governors: wire(Int32Array.of(2, 0, 2), [3]),
      head: null,
      predicted: null,
      problem: "",
    },
    predicted: {
      governors: text(Uint16Array.from([...right, ...right, ...wrong, ...wrong])),
      weights: text(Float32Array.from([...weights, ...weights])),
      maps: text(Uint8Array.from({ length: 18 }, (_, i) => (i % 3 === 0 ? 255 : 128))),
      maxima: [1, 0.5],
    },
  };
}

function page(count: number, held: HeldSentence[], first: number, follows = false) {
  const state = {
    selected: [[0, 0, "self"]],
    layer: 0,
    relation: "all",
    _error: "",
    sentence: first,
    direction: "dependent to governor",
    _jump: {},
    _jumped: {},
    _source: { model: "m", note: "", count, layers: 1, relations: ["all", "nsubj", "obj"] },
  } as unknown as ArcsState;
  const measured = {
    relations: ["all", "obj"],
    correct: wire(Int32Array.of(4, 1, 5, 2, 6, 3, 7, 0), [1, 2, 2, 2]),
    counts: wire(Int32Array.of(8, 4), [2]),
    baseline: wire(Float32Array.of(0.25, 0.5), [2]),
    offsets: wire(Int32Array.of(1, -2), [2]),
  };
  const relations = ["all", "nsubj", "obj"];
  const about = { name: "dependency_arcs", label: "arcs", remark: "", relations };
  return pageModel(
    { ...about, state, own: { measured, follows }, shapes: { self: [1, 2] } },
    { sentences: { first, held } },
  );
}

describe("arcs on a page without a kernel", () => {
  it("draw the selected head: exact behind predictions, rounded elsewhere", () => {
    const model = page(2, [sentence(0), sentence(1)], 0);
    const drawn = model.get("_drawn");
    expect(drawn?.words).toEqual(["Cats", "eat", "fish"]);
    expect(drawn?.predicted && [...asInt32(drawn.predicted.governors)]).toEqual([2, 1, 2, 2, 1, 2]);
    const map = drawn?.predicted ? asFloat32(drawn.predicted.map) : new Float32Array();
    // The weights of predictions are exact: Cats to eat, eat to Cats and fish, fish to eat. The
    // others are rounded: fish to fish has (127 / 254)².
    expect([map[1], map[3], map[5], map[7]]).toEqual([0.5, 0.25, 0.125, 0.75]);
    expect(map[8]).toBeCloseTo(0.25, 6);
    model.set("selected", [[0, 1, "self"]]);
    const second = model.get("_drawn");
    expect(second?.head).toEqual([0, 1, "self"]);
    expect(second?.predicted && asInt32(second.predicted.governors)[0]).toBe(3);
    model.set("selected", []);
    expect(model.get("_drawn")?.predicted).toBeNull();
  });

  it("say how often the head was right where that was measured", () => {
    const model = page(2, [sentence(0)], 0);
    expect(model.get("_measured")).toEqual({ correct: 4, n: 8, baseline: 0.25, offset: 1 });
    model.set("relation", "obj");
    model.set("direction", "governor to dependent");
    expect(model.get("_measured")).toEqual({ correct: 2, n: 4, baseline: 0.5, offset: -2 });
    model.set("selected", [[0, 1, "self"]]);
    expect(model.get("_measured")).toEqual({ correct: 0, n: 4, baseline: 0.5, offset: -2 });
    model.set("relation", "nsubj");
    expect(model.get("_measured")).toBeNull();
  });

  it("jump within what the page holds, and say that it is a part", () => {
    const model = page(9, [sentence(3), sentence(4, ["det", "root", "det"]), sentence(5)], 3);
    const ask = (n: number, outcome: string, step: number) =>
      model.set("_jump", { n, outcome, step });
    model.set("relation", "obj");
    ask(1, "right", 1);
    expect([model.get("sentence"), model.get("_jumped").found]).toEqual([5, true]);
    ask(2, "right", 1);
    expect(model.get("sentence")).toBe(3);
    ask(3, "right", -1);
    expect(model.get("sentence")).toBe(5);
    ask(4, "wrong", 1);
    const missed = { n: 4, found: false, left: 0, where: " on this page" };
    expect([model.get("sentence"), model.get("_jumped")]).toEqual([5, missed]);
  });

  it("name the sentences that there are in place of one that is not", () => {
    const model = page(9, [sentence(3), sentence(4)], 3);
    model.set("sentence", 5);
    expect(model.get("_drawn")?.problem).toBe("Sentence 5 is not on this page: it holds 3 to 4.");
    expect(model.get("_drawn")?.words).toEqual([]);
    model.set("sentence", 4);
    expect(model.get("_drawn")?.problem).toBe("");
  });

  it("go to a sentence that has the relation only in an explorer", () => {
    const held = () => [sentence(0, ["det", "root", "det"]), sentence(1)];
    const alone = page(2, held(), 0);
    const explored = page(2, held(), 0, true);
    for (const model of [alone, explored]) model.set("relation", "obj");
    expect([alone.get("sentence"), explored.get("sentence")]).toEqual([0, 1]);
    explored.set("relation", "nsubj");
    expect(explored.get("sentence")).toBe(1);
  });
});
