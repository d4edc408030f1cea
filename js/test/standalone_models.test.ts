// @vitest-environment node
import { describe, expect, it } from "vitest";
import { pageModel as coreferenceModel, type HeldWindow } from "../src/coreference_view/page.js";
import type { CoreferenceState } from "../src/coreference_view/scene.js";
import { type DrawnThumbnails, pageModel as gridModel } from "../src/head_grid/page.js";
import { COMPARISON_PARTS, type GridState, type OfTwo } from "../src/head_grid/state.js";
import { pageModel as viewModel } from "../src/head_view/page.js";
import type { ViewState } from "../src/head_view/state.js";
import { link, pageModel as onPage } from "../src/page/linked_models.js";
import type { Metrics } from "../src/shared/head_types.js";
import type { EmbeddedMaps } from "../src/shared/page/embedded_maps.js";
import { localModel } from "../src/shared/page/local_model.js";
import type { PageFigure } from "../src/shared/page/page_data.js";
import type { Head } from "../src/shared/types.js";
import { asFloat32, asInt32 } from "../src/shared/wire.js";
import { wireOf } from "./wire_of.js";

const about = { name: "", label: "", remark: "", relations: null };
const shapes = { self: [2, 1] as [number, number] };

const text = (array: ArrayBufferView) =>
  btoa(String.fromCharCode(...new Uint8Array(array.buffer, array.byteOffset, array.byteLength)));

/**
 * Return a window with two mentions of "Mary": the first head chooses her for "she", the second
 * does not.
 */
function held(document: number, window = 0): HeldWindow {
  const mention = (index: number, word: number) => ({
    mention: index,
    words: [word],
    head: word,
    cluster: 1,
    kind: "pronoun",
  });
  return {
    drawn: {
      document,
      window,
      windows: 2,
      name: `d${document}`,
      start: 0,
      length: 9,
      words: ["Mary", "said", "she", "left"],
      mentions: [mention(0, 0), mention(1, 2)],
      evaluated: [{ mention: 1, antecedents: [0], baselines: { nearest: 0 } }],
      head: null,
      chosen: null,
    },
    // Values by variant, then by head.
    words: text(Int16Array.of(0, 3, 0, -1)),
    weights: text(Float32Array.of(0.5, 0.25, 0.75, 0)),
  };
}

function coreference(count: number) {
  const state = {
    selected: [[0, 0, "self"]],
    layer: 0,
    _error: "",
    document: 1,
    window: 0,
    mention: 1,
    variant: "words",
    _jump: {},
    _jumped: {},
    _source: { model: "m", count, layers: 1, n: 9, baselines: {} },
  } as unknown as CoreferenceState;
  const windows = [held(1), held(1, 1), held(2)];
  const correct = [5, 1, 6, 0];
  return coreferenceModel(
    { ...about, state, own: { correct }, shapes: { self: [1, 2] } },
    { windows: { first: 1, stop: 3, held: windows } },
  );
}

describe("coreference on a page without a kernel", () => {
  it("shows each head's choices among words and among mentions", () => {
    const model = coreference(5);
    const chosen = model.get("_drawn")?.chosen;
    expect(chosen && [...asInt32(chosen.words)]).toEqual([0, 0]);
    expect(chosen && [...asFloat32(chosen.weights)]).toEqual([0.5, 0.75]);
    expect(chosen?.correct).toEqual([5, 6]);
    model.set("selected", [[0, 1, "self"]]);
    const second = model.get("_drawn")?.chosen;
    expect(second && [...asInt32(second.words)]).toEqual([3, -1]);
    expect(second?.correct).toEqual([1, 0]);
  });

  it("starts another document at its first window, without a mention", () => {
    const model = coreference(5);
    model.set("document", 2);
    expect([model.get("window"), model.get("mention")]).toEqual([0, null]);
    expect(model.get("_drawn")?.name).toBe("d2");
    model.set("document", 4);
    expect(model.get("_drawn")?.problem).toBe("Document 4 is not on this page: it holds 1 to 2.");
  });

  it("jumps through windows and documents in order, and round", () => {
    const model = coreference(5);
    const place = () => [model.get("document"), model.get("window"), model.get("mention")];
    const ask = (n: number, outcome: string, step: number) => {
      model.set("_jump", { n, outcome, step });
      return place();
    };
    expect(ask(1, "right", 1)).toEqual([1, 1, 1]);
    expect(ask(2, "right", 1)).toEqual([2, 0, 1]);
    expect(ask(3, "right", 1)).toEqual([1, 0, 1]);
    expect(ask(4, "right", -1)).toEqual([2, 0, 1]);
    expect(ask(5, "wrong", 1)).toEqual([2, 0, 1]);
    expect(model.get("_jumped")).toEqual({ n: 5, found: false, where: " on this page" });
  });
});

const axis = { text: ["a", "b"], raw: ["a", "b"], special: ["", ""], segments: [0, 0] };
const maps = (unit: string, more: Partial<EmbeddedMaps> = {}): EmbeddedMaps => ({
  quantity: "weights",
  shape: [2, 1, 2, 2],
  maxima: [1, 0.5],
  axes: { stack: "self", unit, query: axis, key: axis },
  values: Uint8Array.of(255, 1, 1, 255, 255, 255, 128, 1),
  ...more,
});
const highlighted = [
  { stack: "self", unit: "tokens", query: [1], key: [] },
  { stack: "self", unit: "words", query: [0], key: [] },
];
const common = {
  quantity: "weights",
  unit: "tokens",
  hidden: [],
  tokens: [],
  disabled: [],
  layer: 0,
  _error: "",
};

/** Return thumbnails as stored in the page of a grid. */
const drawn = (more: Partial<DrawnThumbnails> = {}): DrawnThumbnails => ({
  axes: maps("tokens").axes,
  thumbnails: {
    stack: "self",
    unit: "tokens",
    quantity: "weights",
    hidden: [],
    values: wireOf(new Uint8Array(2), [2, 1, 1, 1]),
    maxima: wireOf(new Float32Array(2), [2, 1]),
    strongest: wireOf(new Int32Array(4), [2, 1, 2]),
  },
  placed_on: "",
  places: null,
  rows: ["query", "key"],
  painted: null,
  ...more,
});

describe("grid and view on a page without a kernel", () => {
  it("follow layer and unit, with what is highlighted there", () => {
    const selected: Head[] = [[0, 0, "self"]];
    const state = { ...common, selected } as unknown as ViewState;
    const model = viewModel(
      { ...about, state, shapes, own: { highlighted } },
      { maps: [maps("tokens"), maps("words")] },
    );
    expect(model.get("_highlighted").query).toEqual([1]);
    model.set("selected", [[1, 0, "self"]]);
    const map = model.get("_tile");
    expect(map && [...asFloat32(map.values)].slice(0, 2)).toEqual([0.5, 0.5]);
    model.set("unit", "words");
    expect([model.get("_tile")?.unit, model.get("_highlighted").query]).toEqual(["words", [0]]);
  });

  it("stay with the one head where no other is on the page", () => {
    const only: Head = [1, 0, "self"];
    const one = maps("tokens", {
      only,
      shape: [1, 1, 2, 2],
      maxima: [0.5],
      values: Uint8Array.of(255, 1, 1, 128),
    });
    const _fixed = { selected: "one head", layer: "one head" };
    const state = { ...common, layer: 1, selected: [only], _fixed } as unknown as ViewState;
    const model = viewModel({ ...about, state, shapes, own: { highlighted: [] } }, { maps: [one] });
    const map = model.get("_tile");
    expect(map && asFloat32(map.values)[0]).toBe(0.5);
    model.set("layer", 0);
    model.set("selected", [[0, 0, "self"]]);
    expect([model.get("layer"), model.get("selected")]).toEqual([1, [only]]);
    expect(model.get("_tile")?.heads).toEqual([only]);
  });

  it("answer in every head where the locked word looks", () => {
    const state = { ...common, stack: "self", selected: [] } as unknown as GridState;
    const model = gridModel(
      { ...about, state, shapes, own: { metrics: [] } },
      { maps: [maps("tokens")], thumbnails: [drawn()] },
    );
    expect(model.get("_rows")).toBeNull();
    model.set("tokens", [["query", 1]]);
    const rows = model.get("_rows");
    expect([rows?.side, rows?.of]).toEqual(["query", 1]);
    expect(rows && [...asFloat32(rows.values)]).toEqual([0, 1, 0.5 * (127 / 254) ** 2, 0]);
    model.set("tokens", [["key", 0]]);
    const column = model.get("_rows");
    expect([column?.side, column?.of]).toEqual(["key", 0]);
    expect(column && [...asFloat32(column.values)]).toEqual([1, 0, 0.5, 0.5 * (127 / 254) ** 2]);
    model.set("tokens", []);
    expect(model.get("_rows")).toBeNull();
  });

  it("answer as the kernel does: 0 in heads that are off, and not where it has no answer", () => {
    const locked = { stack: "self", selected: [], tokens: [["query", 1]] };
    const state = { ...common, ...locked, disabled: [[0, 0, "self"]] } as unknown as GridState;
    const rowsWith = (more: object) =>
      gridModel(
        { ...about, state: { ...state }, shapes, own: { metrics: [] } },
        { maps: [maps("tokens")], thumbnails: [drawn(more)] },
      ).get("_rows");
    const rows = rowsWith({});
    expect(rows && [...asFloat32(rows.values)]).toEqual([0, 0, 0.5 * (127 / 254) ** 2, 0]);
    expect(rowsWith({ rows: ["key"] })).toBeNull();
  });

  it("show the thumbnails of the chosen stack, unit and side of a comparison", () => {
    const state = {
      ...common,
      stack: "self",
      selected: [],
      comparison_part: "difference",
      _compared: ["a", "b"],
    } as unknown as GridState;
    const unit = (name: string, comparison_part: OfTwo) =>
      drawn({ rows: [], thumbnails: { ...drawn().thumbnails, unit: name, comparison_part } });
    const all = ["tokens", "words"].flatMap((name) =>
      COMPARISON_PARTS.map((comparison_part) => unit(name, comparison_part)),
    );
    const model = gridModel({ ...about, state, shapes, own: { metrics: [] } }, { thumbnails: all });
    const shown = () => [model.get("_thumbnails")?.unit, model.get("_thumbnails")?.comparison_part];
    expect(shown()).toEqual(["tokens", "difference"]);
    model.set("comparison_part", "second");
    model.set("unit", "words");
    expect(shown()).toEqual(["words", "second"]);
  });

  it("show the metrics of a checkpoint", () => {
    const metrics = (step: string) => ({ stack: "self", titles: [step], step }) as Metrics;
    const state = {
      ...common,
      disabled: [],
      selected: [],
      stack: "self",
      step: null,
      _steps: ["0", "90"],
    };
    const model = gridModel(
      {
        ...about,
        state: state as unknown as GridState,
        shapes,
        own: { metrics: [metrics("0"), metrics("90")] },
      },
      { thumbnails: [drawn({ rows: [] })] },
    );
    expect(model.get("_metrics")?.titles).toEqual(["90"]);
    model.set("step", "0");
    expect(model.get("_metrics")?.titles).toEqual(["0"]);
  });

  it("start another metric without the range of the one before", () => {
    const filter = [0.1, 0.2];
    const state = { ...common, disabled: [], selected: [], stack: "self", metric: "a", filter };
    const model = gridModel(
      {
        ...about,
        state: state as unknown as GridState,
        shapes,
        own: { metrics: [] },
      },
      { thumbnails: [drawn({ rows: [] })] },
    );
    expect(model.get("_thumbnails")?.maxima.shape).toEqual([2, 1]);
    model.set("metric", "b");
    expect(model.get("filter")).toBeNull();
  });
});

describe("figures of relations on a page", () => {
  it("follow each other in relation and direction, where they know it", () => {
    const figure = (relation: string) =>
      localModel({ selected: [], layer: 0, _error: "", relation, direction: "up" });
    const table = figure("all");
    const arcs = figure("all");
    link([
      { model: table, shapes, relations: ["all", "obj"] },
      { model: arcs, shapes, relations: ["all"] },
    ]);
    arcs.set("direction", "down");
    table.set("relation", "obj");
    expect([table.get("direction"), arcs.get("relation")]).toEqual(["down", "all"]);
    arcs.set("relation", "nsubj");
    expect(table.get("relation")).toBe("all");
  });

  it("have models of their own", () => {
    const figure = (name: string, state: object, own: object) =>
      ({ ...about, name, state, shapes, own }) as unknown as PageFigure;
    const table = figure("relation_table", { selected: [], layer: 0, _numbers: null }, {});
    const arcs = figure(
      "dependency_arcs",
      { selected: [], layer: 1, _source: {} },
      { measured: null, follows: false },
    );
    const held = { sentences: { first: 0, held: [] } };
    const layers = [table, arcs].map((each) => onPage(each, held).model.get("layer"));
    expect(layers).toEqual([0, 1]);
  });
});
