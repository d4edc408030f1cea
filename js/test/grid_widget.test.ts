import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { papersOf } from "../src/head_grid/changed_paper.js";
import { drawPicture } from "../src/head_grid/picture.js";
import type { GridState, Thumbnails } from "../src/head_grid/state.js";
import grid from "../src/head_grid/widget.js";
import { captionText } from "../src/shared/caption.js";
import { lookup } from "../src/shared/color.js";
import { word } from "../src/shared/color_levels.js";
import { onPeek, type Peeked } from "../src/shared/peek.js";
import { THEMES } from "../src/shared/theme.js";
import { frame, leave, mounted } from "./mounted.js";

const wire = <D extends string>(
  a: Uint8Array | Float32Array | Int32Array,
  dtype: D,
  shape: number[],
) => ({
  shape,
  dtype,
  view: new DataView(a.buffer as ArrayBuffer),
});

function thumbnails(
  stack: string,
  layers: number,
  heads: number,
  hidden: string[] = [],
): Thumbnails {
  const n = layers * heads;
  return {
    stack,
    hidden,
    unit: "tokens",
    quantity: "weights",
    values: wire(new Uint8Array(n * 9).fill(255), "|u1", [layers, heads, 3, 3]),
    maxima: wire(new Float32Array(n).fill(0.8312), "<f4", [layers, heads]),
    strongest: wire(new Int32Array(2 * n).fill(1), "<i4", [layers, heads, 2]),
  };
}

const info = (name: string, n_layers: number, n_heads: number, n_key_heads = n_heads) => ({
  name,
  n_layers,
  n_heads,
  n_key_heads,
  n_query: 3,
  n_key: 3,
});

function state(change: Partial<GridState> = {}): GridState {
  const axis = {
    text: ["[CLS]", "<b>cat</b>", "[SEP]"],
    raw: ["[CLS]", "<b>cat</b>", "[SEP]"],
    special: ["cls", "", "sep"],
    segments: [0, 0, 0],
  };
  return {
    selected: [],
    layer: 0,
    tokens: [],
    hidden: [],
    quantity: "weights",
    unit: "tokens",
    disabled: [],
    method: "uniform",
    scale: "absolute",
    stack: "self",
    times_keys: false,
    versus: null,
    comparison_part: "difference",
    _error: "",
    _circle: "",
    metric: null,
    sort: "none",
    descending: true,
    filter: null,
    _metrics: null,
    _source: { model: "BertModel", note: "weights only", loss: "" },
    _quantities: ["weights"],
    _axes: { stack: "self", unit: "tokens", query: axis, key: axis },
    _stacks: [info("self", 4, 6)],
    _thumbnails: thumbnails("self", 4, 6),
    step: null,
    ...change,
  };
}

/** One metric with 4 layers of 6 heads, whose value is the index of the head. */
const METRICS: GridState["_metrics"] = {
  stack: "self",
  titles: ["entropy", "to [SEP]"],
  values: wire(
    Float32Array.from({ length: 48 }, (_, i) => i % 24),
    "<f4",
    [2, 4, 6],
  ),
  similar: wire(
    Int32Array.from({ length: 48 }, (_, i) => (i + 2) % 24),
    "<i4",
    [24, 2],
  ),
};

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

async function show(change: Partial<GridState> = {}) {
  const { model, el, find } = await mounted<GridState>(grid(), state(change));
  const press = async (key: string, keys: KeyboardEventInit = {}) => {
    find("[role=grid]").dispatchEvent(
      new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...keys }),
    );
    await frame();
  };
  return { model, el, find, press };
}

async function pick(found: HTMLSelectElement | HTMLInputElement, change: () => void) {
  change();
  found.dispatchEvent(new Event("change", { bubbles: true }));
  await frame();
}

test("the keyboard moves, selects, adds, and Escape goes back", async () => {
  const { model, find, press } = await show();
  await press("ArrowDown");
  await press("End");
  await press("Enter");
  expect(model.sent.at(-1)).toEqual({ selected: [[1, 5, "self"]], layer: 1 });
  await press("ArrowLeft");
  await press("Enter", { shiftKey: true });
  expect(model.get("selected")).toEqual([
    [1, 5, "self"],
    [1, 4, "self"],
  ]);
  expect(find("[aria-live]").textContent).toBe("layer 1 head 4, 2 heads selected");
  expect(find("[role=gridcell]").getAttribute("aria-label")).toBe(
    "layer 1 head 4, strongest <b>cat</b> to <b>cat</b> 83\u00a0%, selected",
  );
  await press("Escape");
  expect(model.get("selected")).toEqual([[1, 5, "self"]]);
});

test(
  "a key switches the head under the cursor off and on, or its layer, and Escape takes " +
    "back what was done last",
  async () => {
    const { model, find, press } = await show({ selected: [[0, 2, "self"]] });
    await press("x");
    expect(model.sent.at(-1)).toEqual({ disabled: [[0, 2, "self"]] });
    expect(find("[aria-live]").textContent).toBe("1 head off: L0 H2");
    await press("ArrowDown");
    await press("x");
    expect(model.get("disabled")).toEqual([
      [0, 2, "self"],
      [1, 0, "self"],
    ]);
    expect(find("[role=gridcell]").getAttribute("aria-label")).toContain("layer 1 head 0, off,");
    await press("Enter");
    await press("X", { shiftKey: true });
    expect(model.get("disabled")).toHaveLength(7);
    await press("X", { shiftKey: true });
    expect(model.get("disabled")).toEqual([[0, 2, "self"]]);
    await press("x", { ctrlKey: true });
    expect(model.get("disabled")).toHaveLength(1);
    await press("Escape");
    expect(model.get("disabled")).toHaveLength(7);
    await press("Escape");
    expect(model.get("disabled")).toHaveLength(2);
    expect(model.get("selected")).toEqual([[1, 0, "self"]]);
    await press("Escape");
    expect(model.get("selected")).toEqual([[0, 2, "self"]]);
    await press("Escape");
    await press("Escape");
    expect(model.get("disabled")).toEqual([]);
    expect(find("[aria-live]").textContent).toBe("all heads on");
  },
);

test("what the kernel refused is said, and Escape does not ask for it again", async () => {
  const { model, find, press } = await show({ selected: [[0, 2, "self"]] });
  await press("Enter");
  await press("x");
  model.fromKernel({ disabled: [], _refused: "its values are not seen" });
  await frame();
  expect(find("[role=alert]").textContent).toBe("its values are not seen");
  expect(find<HTMLElement>(".attnw-head-grid").hidden).toBe(false);
  const sent = model.sent.length;
  await press("Escape");
  expect(model.sent.slice(sent).some((message) => "disabled" in message)).toBe(false);
  expect(model.get("selected")).toEqual([[0, 2, "self"]]);
  expect(find<HTMLElement>("[role=alert]").hidden).toBe(true);
});

test(
  "buttons switch the shown head, and all of them on again; the method and the " +
    "difference are offered while one is off",
  async () => {
    const { model, find } = await show({ selected: [[2, 3, "self"]] });
    const button = find("[data-control=switch]");
    const row = find(".attnw-off-controls");
    expect([button.textContent, row.hidden]).toEqual(["switch off L2 H3", true]);
    button.click();
    await frame();
    expect([button.textContent, row.hidden]).toEqual(["switch on L2 H3", false]);
    expect(row.textContent).toContain("off: L2 H3");
    model.fromKernel({ method: null, _source: { ...model.get("_source"), method: "zero" } });
    await frame();
    expect(find<HTMLSelectElement>("[data-control=method]").value).toBe("zero");
    await pick(find<HTMLSelectElement>("[data-control=method]"), () => {
      find<HTMLSelectElement>("[data-control=method]").value = "first";
    });
    expect(model.get("method")).toBe("first");
    const methods = () =>
      [...find<HTMLSelectElement>("[data-control=method]").options].map(({ value }) => value);
    expect(methods()).toEqual(["uniform", "zero", "first"]);
    model.fromKernel({ _source: { ...model.get("_source"), ruled: true } });
    await frame();
    expect(methods()).toEqual(["uniform", "zero", "first", "rule"]);
    const box = find<HTMLInputElement>("[data-control='difference from the intact model']");
    await pick(box, () => {
      box.checked = true;
    });
    expect(model.get("versus")).toBe("intact");
    find("[data-control='all on']").click();
    await frame();
    expect([model.get("disabled"), row.hidden]).toEqual([[], true]);
  },
);

test("what the kernel does before it shows a choice is said, and the figure stays", async () => {
  const { model, find } = await show({ selected: [[2, 3, "self"]] });
  const line = find(".attnw-working");
  expect([line.hidden, line.getAttribute("role")]).toEqual([true, "status"]);
  model.fromKernel({ _working: "Reading the text again with 1 head off (zero)" });
  expect([line.hidden, line.textContent]).toEqual([
    false,
    "Reading the text again with 1 head off (zero)",
  ]);
  expect(find(".attnw-grid-box").isConnected).toBe(true);
  model.fromKernel({ _working: "" });
  expect(line.hidden).toBe(true);
});

test("a keyboard that enters the grid finds the shown head in sight", async () => {
  vi.spyOn(HTMLElement.prototype, "clientHeight", "get").mockReturnValue(300);
  vi.spyOn(HTMLElement.prototype, "matches").mockReturnValue(true);
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  const { find } = await show({
    selected: [[39, 3, "self"]],
    _stacks: [info("self", 40, 40)],
    _thumbnails: thumbnails("self", 40, 40),
  });
  const box = find(".attnw-grid-box");
  box.scrollTop = 0;
  box.dispatchEvent(new FocusEvent("focus"));
  expect(box.scrollTop).toBeGreaterThan(300);
});

test("where no head can be switched off there is no button, and the key says why", async () => {
  const source = { model: "m", note: "", loss: "", fixed: "Heads are switched off by a kernel." };
  const { model, find, press } = await show({
    selected: [[0, 2, "self"]],
    disabled: [[1, 1, "self"]],
    _source: source,
  });
  expect(find("[data-control=switch]").hidden).toBe(true);
  expect(find(".attnw-off-controls").textContent).toContain("off: L1 H1 (uniform)");
  await press("x");
  expect(find("[role=alert]").textContent).toBe(source.fixed);
  expect([model.sent, model.get("disabled")]).toEqual([[], [[1, 1, "self"]]]);
});

test(
  "heads that are off are struck through, and changed ones stand on orange paper as far as they " +
    "changed, in pictures too",
  () => {
    const changes = Float32Array.from({ length: 24 }, (_, i) => [0, 0.01, 0.2][i] ?? 0);
    const off: GridState["disabled"] = [[2, 3, "self"]];
    const edited = {
      ...thumbnails("self", 4, 6),
      disabled: off,
      method: "uniform",
      changes: wire(changes, "<f4", [4, 6]),
    };
    const request = {
      width: 480,
      theme: THEMES.light,
      density: 2,
      blank: false,
      dense: true,
      brief: false,
      caption: false,
    };
    const {
      sheet,
      caption,
      table: listed,
    } = drawPicture(state({ disabled: off, _thumbnails: edited }), request);
    const drawn = sheet.pen.body;
    expect(drawn).not.toContain("#c8102e");
    const table = lookup(false);
    const papers = papersOf(table, THEMES.light, changes);
    expect([...papers.keys()]).toEqual([1, 2]);
    const [less = 0, more = 0] = [1, 2].map((head) => papers.get(head)?.[0]);
    const blue = (word: number) => (word >> 16) & 255;
    expect(blue(table[0] ?? 0)).toBeGreaterThan(blue(less));
    expect(blue(less)).toBeGreaterThan(blue(more));
    // Full attention is equally dark on every background.
    expect([1, 2].map((head) => papers.get(head)?.[255])).toEqual([table[255], table[255]]);
    // With forced colors, changed heads have outlines instead.
    const forced = drawPicture(state({ disabled: off, _thumbnails: edited }), {
      ...request,
      theme: { ...THEMES.light, forced: true },
    }).sheet.pen.body;
    const outlines = forced.match(/<[^>]*stroke="#c8102e"[^>]*>/g) ?? [];
    expect(outlines.map((line) => /stroke-width="(.)"/.exec(line)?.[1] ?? "1")).toEqual(["1", "3"]);
    expect(captionText(caption)).toContain("orange paper: changed against the intact model");
    expect(captionText(caption)).toContain("struck through: switched off");
    expect(captionText(caption)).toContain("Jensen-Shannon divergence up to 0.2");
    expect(listed.columns).toContain("changed");
    expect(listed.rows[0]?.slice(0, 3)).toEqual(["L2 H3 (3-4)", "", "off"]);
  },
);

test("differences have one range to both sides, and are not shown as maps elsewhere", async () => {
  const maxima = Float32Array.from({ length: 24 }, (_, i) => (i === 7 ? -0.4 : 0.1));
  const signed = {
    ...thumbnails("self", 4, 6),
    signed: true,
    versus: "intact" as const,
    disabled: [[0, 0, "self"]] as GridState["disabled"],
  };
  const peeks: (Peeked | null)[] = [];
  onPeek(
    new AbortController().signal,
    () => "c",
    (peeked) => peeks.push(peeked),
  );
  const change = { disabled: signed.disabled, versus: "intact" as const, _circle: "c" };
  const { find, press } = await show({
    ...change,
    _thumbnails: { ...signed, maxima: wire(maxima, "<f4", [4, 6]) },
  });
  expect(find(".attnw-color-bar").textContent).toBe("−40\u00a0points0+40\u00a0points");
  const text = find("[data-caption]").textContent;
  expect(text).toContain("−40\u00a0points to +40\u00a0points, one scale for all heads");
  expect(text).toContain("difference from the intact model");
  await press("ArrowDown");
  await press("ArrowRight");
  expect(find("[role=gridcell]").getAttribute("aria-label")).toContain(
    "largest difference <b>cat</b> to <b>cat</b> −40\u00a0points",
  );
  expect(peeks.every((peeked) => peeked === null)).toBe(true);
});

test("with nothing off the key for differences leads to a sentence", async () => {
  const { model, find, press } = await show();
  await press("v");
  expect(model.sent).toEqual([{ versus: "intact" }]);
  model.fromKernel({ _thumbnails: { ...thumbnails("self", 4, 6), versus: "intact" } });
  await frame();
  expect(find("[data-caption]").textContent).toContain("no head is off");
});

test("Escape takes back what the kernel or a linked figure chose, too", async () => {
  const { model, press } = await show();
  await press("Enter");
  model.fromKernel({ selected: [[2, 2, "self"]], layer: 2 });
  await frame();
  model.fromKernel({ selected: [[3, 3, "self"]], layer: 3 });
  // Act before the next frame: this choice comes after the kernel's choice.
  await press("End");
  await press("Enter");
  const before = [
    [3, 3, "self"],
    [2, 2, "self"],
    [0, 0, "self"],
  ];
  for (const head of before) {
    await press("Escape");
    expect(model.get("selected")).toEqual([head]);
  }
  await press("Escape");
  expect(model.get("selected")).toEqual([]);
});

test("the one gridcell says where it is, and the grid points to it", async () => {
  const { find, press } = await show();
  await press("ArrowRight");
  const cell = find("[role=gridcell]");
  expect(find("[role=grid]").getAttribute("aria-activedescendant")).toBe(cell.id);
  expect(cell.getAttribute("aria-colindex")).toBe("2");
  expect(find("[role=row]").getAttribute("aria-rowindex")).toBe("1");
  expect(find("[role=grid]").getAttribute("aria-rowcount")).toBe("4");
  expect(find("[role=grid]").getAttribute("aria-colcount")).toBe("6");
});

test("brackets step the layer, and the selection with it", async () => {
  const { model, press } = await show({ selected: [[2, 3, "self"]], layer: 2 });
  await press("]");
  expect(model.sent).toEqual([{ layer: 3, selected: [[3, 3, "self"]] }]);
  await press("]");
  expect(model.sent).toHaveLength(1);
});

test("stepping another stack than the selection's brings the selection there", async () => {
  const { model, press } = await show({
    selected: [[5, 7, "encoder"]],
    stack: "cross",
    _stacks: [info("encoder", 6, 8), info("cross", 4, 6)],
    _thumbnails: thumbnails("cross", 4, 6),
  });
  await press("]");
  expect(model.get("selected")).toEqual([[1, 5, "cross"]]);
});

/** Return the previews that linked figures receive until the test ends. */
async function peeks(circle: string) {
  const heard: (Peeked | null)[] = [];
  const end = new AbortController();
  onPeek(
    end.signal,
    () => "here",
    (peeked) => heard.push(peeked),
  );
  onTestFinished(() => end.abort());
  return { heard, ...(await show({ _circle: circle })) };
}

test(
  "a linked figure is shown the head that the keyboard is on, from the page's own bytes, " +
    "and no preview is",
  async () => {
    const { heard, model, find, press } = await peeks("here");
    await press("ArrowRight");
    expect(heard).toEqual([
      {
        head: [0, 1, "self"],
        quantity: "weights",
        unit: "tokens",
        hidden: [],
        rows: 3,
        cols: 3,
        values: new Uint8Array(9).fill(255),
        maximum: Math.fround(0.8312),
      },
    ]);
    expect(find(".attnw-grid-preview").hidden).toBe(true);
    expect(model.sent).toEqual([]);
    model.fromKernel({ layer: 2 });
    await frame();
    expect(heard).toHaveLength(1);
    find("[role=grid]").dispatchEvent(new FocusEvent("blur"));
    await frame();
    expect(heard.slice(1)).toEqual([null]);
  },
);

test("a grid that is taken away leaves the linked figure its own head", async () => {
  const { heard, press } = await peeks("here");
  await press("ArrowRight");
  leave();
  expect(heard.slice(1)).toEqual([null]);
});

test("a grid that no figure is linked to shows its own preview", async () => {
  const { heard, find, press } = await peeks("elsewhere");
  await press("ArrowRight");
  expect(heard).toEqual([]);
  expect(find(".attnw-grid-preview").hidden).toBe(false);
  expect(find(".attnw-grid-preview").textContent).toContain("L0 H1");
});

test("a tap selects, a finger that stays shows the head and selects nothing", async () => {
  // Fake timers control how long a touch lasts, even on a slow machine.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { model, find } = await show();
  const canvas = find("canvas.attnw-grid");
  const touch = (type: string) =>
    canvas.dispatchEvent(
      new PointerEvent(type, { pointerType: "touch", clientX: 60, clientY: 30, bubbles: true }),
    );
  const click = () =>
    canvas.dispatchEvent(new MouseEvent("click", { clientX: 60, clientY: 30, bubbles: true }));
  touch("pointerdown");
  touch("pointermove");
  await frame();
  expect(find(".attnw-grid-preview").hidden).toBe(true);
  touch("pointerleave");
  click();
  expect(model.get("selected")).toEqual([[0, 0, "self"]]);
  model.sent.length = 0;
  touch("pointerdown");
  vi.advanceTimersByTime(500);
  await frame();
  expect(find(".attnw-grid-preview").hidden).toBe(false);
  click();
  touch("pointerleave");
  await frame();
  expect(find(".attnw-grid-preview").hidden).toBe(true);
  expect(model.sent).toEqual([]);
});

test("the controls set the traits, and the stack switch is there only for several stacks", async () => {
  const { model, el, find } = await show();
  const shown = () =>
    [...el.querySelectorAll("select")]
      .filter((select) => !select.closest("[hidden]"))
      .map((select) => select.dataset.control);
  expect(shown()).toEqual([]);
  find(".attnw-menu-button").click();
  expect(shown()).toEqual(["unit", "scale"]);
  const scale = find<HTMLSelectElement>("[data-control=scale]");
  await pick(scale, () => {
    scale.value = "log";
  });
  const hide = find<HTMLInputElement>("[data-hide=sep]");
  await pick(hide, () => {
    hide.checked = true;
  });
  expect(model.sent).toEqual([{ scale: "log" }, { hidden: ["sep"] }]);
  expect(find(".attnw-grid-legend").textContent).toContain("log · per head");
  expect(find("[data-hide=first]").closest("label")?.hidden).toBe(true);
});

test("the old picture stays dimmed until its answer arrives", async () => {
  const { model, find } = await show();
  const root = find(".attnw-head-grid-root");
  model.fromKernel({ hidden: ["cls"] });
  await frame();
  expect(root.classList.contains("attnw-grid-stale")).toBe(true);
  expect(find(".attnw-progress").hidden).toBe(false);
  model.fromKernel({ _thumbnails: thumbnails("self", 4, 6, ["cls"]) });
  await frame();
  expect(root.classList.contains("attnw-grid-stale")).toBe(false);
  expect(find(".attnw-grid-caption").textContent).toBe(
    "All heads, self-attention · BertModel · attention weights · 3 tokens · absolute " +
      "color scale, 0 to 1 · [CLS] hidden · weights only",
  );
});

test("an error stands in the widget's place until it is solved", async () => {
  const { model, find } = await show({ _error: "no <b>map</b>" });
  expect(find("[role=alert]").textContent).toBe("no <b>map</b>");
  expect(find("[role=alert]").nextElementSibling?.hasAttribute("hidden")).toBe(true);
  model.fromKernel({ _error: "" });
  await frame();
  expect(find("[role=alert]").hidden).toBe(true);
});

test("selections out of range and a missing picture draw nothing and break nothing", async () => {
  const { find } = await show({
    selected: [
      [99, 0, "self"],
      [0, 0, "other"],
    ],
    _thumbnails: null,
  });
  expect(find("canvas.attnw-grid").dataset.layout).toContain('"rows":4,"cols":6');
});

test("play steps the layers and wraps; leaving removes every listener", async () => {
  const { model, el, find } = await show({ layer: 3 });
  const play = find<HTMLButtonElement>("button[aria-label^=play]");
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  play.click();
  await frame();
  expect(play.getAttribute("aria-label")).toBe("pause");
  vi.advanceTimersByTime(700);
  expect(model.get("layer")).toBe(0);
  leave();
  model.fromKernel({ layer: 2 });
  vi.advanceTimersByTime(1400);
  expect(model.get("layer")).toBe(2);
  expect(el.childElementCount).toBe(0);
});

test("the metric row is there only for metrics; choosing one starts without a filter", async () => {
  expect((await show()).find(".attnw-metric-controls").hidden).toBe(true);
  const { model, find } = await show({ _metrics: METRICS, metric: "entropy", filter: [1, 2] });
  const select = find<HTMLSelectElement>(".attnw-metric-controls select");
  expect([...select.options].map(({ text }) => text)).toEqual(["none", "entropy", "to [SEP]"]);
  await pick(select, () => {
    select.value = "to [SEP]";
  });
  expect(model.sent).toEqual([{ metric: "to [SEP]", filter: null }]);
});

test("a slider and two keys step through the checkpoints of a training", async () => {
  const one = await show({ _metrics: METRICS, metric: "entropy" });
  expect(one.el.querySelector(".attnw-grid-steps")).toBeNull();
  await one.press(".");
  expect(one.model.sent).toEqual([]);
  const { model, find, press } = await show({
    _metrics: {
      ...METRICS,
      step: "900",
      ranges: [
        [-5, 40],
        [0, 24],
      ],
    } as GridState["_metrics"],
    metric: "entropy",
    _steps: ["0", "100", "900"],
  });
  const slider = find<HTMLInputElement>(".attnw-grid-steps input");
  expect([slider.max, slider.value, slider.getAttribute("aria-valuetext")]).toEqual([
    "2",
    "2",
    "900",
  ]);
  // The range covers all checkpoints, so that their bars can be compared.
  const caption = () => find("[data-caption]").textContent;
  expect(caption()).toContain("bars: entropy, −5 to 40");
  expect(caption()).toContain("checkpoint 900 (0 to 900)");
  slider.value = "0";
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  expect(model.sent.at(-1)).toEqual({ step: "0" });
  await press(".");
  expect(model.sent.at(-1)).toEqual({ step: "100" });
  await press(",");
  await press(",");
  expect(model.get("step")).toBe("0");
  expect(find(".attnw-grid-steps output").textContent).toBe("0");
  expect(caption()).toContain("checkpoint 0 (0 to 900)");
});

test("sorted heads are selected by what they are, not by where they stand", async () => {
  const { model, find, press } = await show({ _metrics: METRICS, metric: "entropy", sort: "all" });
  await press("ArrowRight");
  await press("Enter");
  expect(model.get("selected")).toEqual([[3, 4, "self"]]);
  expect(find("[role=gridcell]").getAttribute("aria-label")).toBe(
    "layer 3 head 4, entropy 22, rank 2 of 24, strongest <b>cat</b> to <b>cat</b> 83\u00a0%, selected",
  );
  expect(find(".attnw-grid-caption").textContent).toContain(
    "rank 2 of 24 (1 is the largest) · all heads by entropy, largest first",
  );
});

test("the place of a layer without attention has no head, and cannot be selected", async () => {
  const { model, find, press } = await show({
    _stacks: [{ ...info("self", 4, 6), layers_without_attention: [0] }],
    _metrics: METRICS,
    metric: "entropy",
    filter: [1, 3],
  });
  expect(find("[role=gridcell]").getAttribute("aria-label")).toBe("no head");
  await press("Enter");
  expect(model.sent).toEqual([]);
  expect(find(".attnw-grid-caption").textContent).toContain(
    "3 of 24 heads have 1 to 3, the others dimmed",
  );
  model.fromKernel({ sort: "all" });
  await frame();
  expect(find("canvas.attnw-grid").dataset.layout).toContain('"rows":3,"cols":6');
});

test("the ends of the range push each other, and the whole range is no filter", async () => {
  const { model, el } = await show({ _metrics: METRICS, metric: "entropy" });
  const [from, to] = [...el.querySelectorAll<HTMLInputElement>(".attnw-metric-range input")];
  const slide = async (input: HTMLInputElement | undefined, value: number) => {
    if (!input) throw new Error("no slider");
    input.value = String(value);
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await frame();
  };
  await slide(from, 100);
  expect(model.get("filter")).toEqual([11.5, 23]);
  await slide(to, 50);
  expect(model.get("filter")).toEqual([5.75, 5.75]);
  await slide(from, 0);
  await slide(to, 200);
  expect(model.get("filter")).toBeNull();
});

test("heads like the shown one are selected with it, and Escape goes back", async () => {
  const { model, find, press } = await show({ _metrics: METRICS, selected: [[0, 1, "self"]] });
  const button = find<HTMLButtonElement>("[data-control='similar heads']");
  expect(button.textContent).toBe("select 2 heads like L0 H1");
  button.click();
  await frame();
  expect(model.get("selected")).toEqual([
    [0, 4, "self"],
    [0, 5, "self"],
    [0, 1, "self"],
  ]);
  await press("Escape");
  expect(model.get("selected")).toEqual([[0, 1, "self"]]);
});

test("the page says what its picture says, word for word", async () => {
  const change = {
    _metrics: METRICS,
    metric: "entropy",
    sort: "rows",
    filter: [1, 9],
    hidden: ["cls"],
    selected: [[1, 2, "self"]],
    unit: "words",
    _thumbnails: { ...thumbnails("self", 4, 6, ["cls"]), unit: "words" },
  } as Partial<GridState>;
  const { find } = await show(change);
  const request = { width: 480, theme: THEMES.light, density: 1, blank: true, dense: false };
  const drawn = drawPicture(state(change), { ...request, brief: false, caption: false });
  expect(find(".attnw-grid-caption").textContent).toBe(captionText(drawn.caption));
  expect(captionText(drawn.caption)).toBe(
    "All heads, self-attention · BertModel · L1 H2 (2-3) · attention weights · 3 tokens · " +
      "absolute color scale, 0 to 1 · [CLS] hidden · " +
      "words: sum over the attended word's tokens, mean over the attending word's · " +
      "bars: entropy, 0 to 23 · L1 H2: 8, rank 16 of 24 (1 is the largest) · " +
      "heads of each layer by entropy, largest first · " +
      "9 of 24 heads have 1 to 9, the others dimmed · weights only",
  );
});

test("each column of the table has one number of decimals", () => {
  const values = [0.49, 0.477, 0.443, 0.44, 0.0004];
  const spread = wire(
    Float32Array.from({ length: 48 }, (_, i) => values[i % 24] ?? 0),
    "<f4",
    [2, 4, 6],
  );
  const maps = {
    ...thumbnails("self", 4, 6),
    disabled: [[3, 5, "self"]] as GridState["disabled"],
    method: "uniform",
    changes: wire(
      Float32Array.from({ length: 24 }, (_, i) => [0.0051, 0.00376, 0.0004][i] ?? 0),
      "<f4",
      [4, 6],
    ),
    maxima: wire(
      Float32Array.from({ length: 24 }, (_, i) => 0.9 / (i + 1)),
      "<f4",
      [4, 6],
    ),
  };
  const columnsOf = (change: Partial<GridState>, names: string[]) => {
    const shown = state({ metric: "entropy", _metrics: { ...METRICS, values: spread }, ...change });
    const request = { width: 480, theme: THEMES.light, density: 1, blank: true, dense: false };
    const { table } = drawPicture(shown, { ...request, brief: false, caption: false });
    return names.map((name) =>
      table.rows.slice(1, 5).map((row) => row[table.columns.indexOf(name)]),
    );
  };
  const change = { disabled: maps.disabled, _thumbnails: maps } as Partial<GridState>;
  expect(columnsOf(change, ["entropy", "changed", "largest weight"])).toEqual([
    ["0.490", "0.477", "0.443", "0.440"],
    ["0.00510", "0.00376", "0.00040", ""],
    ["0.900", "0.450", "0.300", "0.225"],
  ]);
  const multiples = { _thumbnails: { ...thumbnails("self", 4, 6), times_keys: true } };
  expect(columnsOf({ ...multiples, times_keys: true }, ["largest weight × keys"])).toEqual([
    ["0.831×", "0.831×", "0.831×", "0.831×"],
  ]);
});

test("where the reader's system chooses the colors, maps and bars are in its colors alone", async () => {
  vi.stubGlobal("matchMedia", (query: string) => ({
    matches: query.includes("forced-colors"),
    addEventListener() {},
  }));
  const painted = new Set<unknown>();
  const words = new Set<number>();
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockImplementation(function (
    this: HTMLCanvasElement,
  ) {
    const pen: Record<string, unknown> = {
      canvas: this,
      measureText: () => ({ width: 10 }),
      createImageData: (w: number, h: number) => ({ data: new Uint8ClampedArray(4 * w * h) }),
      putImageData: ({ data }: ImageData) => {
        for (const word of new Uint32Array(data.buffer)) words.add(word);
      },
    };
    return new Proxy(pen, {
      get: (of, name) => of[name as string] ?? (() => {}),
      set(of, name, value) {
        if (/Style$/.test(String(name))) painted.add(value);
        of[name as string] = value;
        return true;
      },
    }) as never;
  });
  await show({ _metrics: METRICS, metric: "entropy", selected: [[1, 2, "self"]] });
  // The scale runs from the background to the text color, without colors of the normal scale.
  const { background, text, muted, hairline, accent } = THEMES.light;
  expect(words.delete(word(hairline))).toBe(true);
  expect(words).toContain(0xffffffff);
  expect(words).toContain(0xff1f1b1b);
  for (const word of words) expect((word >> 16) & 255).toBeLessThanOrEqual((word & 255) + 4);
  expect([...painted].sort()).toEqual([accent, text, muted, hairline, background].sort());
});

test("a label is typed for the selected head, and taken back with Escape", async () => {
  const { model, find } = await show({ selected: [[1, 0, "self"]] });
  const field = find<HTMLInputElement>("[data-control=label]");
  const press = (key: string) =>
    field.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  expect(field.closest("label")?.textContent).toContain("label of L1 H0");
  field.value = "to next";
  press("x");
  expect(model.get("disabled")).toEqual([]);
  field.dispatchEvent(new Event("change", { bubbles: true }));
  expect(model.sent).toEqual([{ labels: [[[1, 0, "self"], "to next"]] }]);
  await frame();
  expect(find("[data-caption]").textContent).toContain("L1 H0 (2-1) “to next”");
  field.value = "other";
  press("Escape");
  expect(field.value).toBe("to next");
  field.value = "";
  field.dispatchEvent(new Event("change", { bubbles: true }));
  expect(model.get("labels")).toEqual([]);
});

test("labels stand under large cells, and the caption lists them", () => {
  const labels: GridState["labels"] = [[[0, 1, "self"], "to <next>"]];
  const request = { theme: THEMES.light, density: 1, blank: false, dense: false };
  const drawn = (width: number) =>
    drawPicture(state({ labels }), { ...request, width, brief: false, caption: false });
  const printed = (width: number) =>
    drawn(width).sheet.pen.body.split("to &lt;next&gt;").length - 1;
  // The label is under the cell and in the note; if cells are small, only in the note.
  expect([printed(480), printed(120)]).toEqual([2, 1]);
  expect(captionText(drawn(120).caption)).toContain("corner: labeled, L0 H1 “to <next>”");
});
