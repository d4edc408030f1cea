import { describe, expect, test } from "vitest";
import { drawPicture } from "../src/prediction_view/picture.js";
import {
  captionOf,
  chosenToken,
  describe as inWords,
  mapTitle,
  questionOf,
  tableOf,
} from "../src/prediction_view/prediction_text.js";
import { barAt, HEADER, sceneOf, signedChange } from "../src/prediction_view/scene.js";
import type { Answered, PredictionState } from "../src/prediction_view/state.js";
import predictions from "../src/prediction_view/widget.js";
import { captionText } from "../src/shared/caption.js";
import { tableRuler } from "../src/shared/labels.js";
import { THEMES } from "../src/shared/theme.js";
import type { Head } from "../src/shared/types.js";
import { axes } from "./four_tokens.js";
import { frame, mounted } from "./mounted.js";
import { wireOf } from "./wire_of.js";

const ANSWERED: Answered = {
  task: "masked",
  reads: "text",
  position: 2,
  own: null,
  piece: [1, 1],
  followed: "sat",
  name: "sat",
  model: "BertModel",
  off: [],
  links: [],
  method: "uniform",
  masks: true,
  rows: [
    { answer: "sat", token: "sat", before: 0.6, after: 0.6 },
    { answer: "ran", token: "ran", before: 0.25, after: 0.25 },
  ],
};
const OFF: Answered = {
  ...ANSWERED,
  model: "BertModel, without L0 H1 (uniform)",
  off: [[0, 1, "self"]],
  rows: [
    { answer: "sat", token: "sat", before: 0.6, after: 0.2 },
    { answer: "ran", token: "ran", before: 0.25, after: 0.3501 },
  ],
};
const EFFECTS = {
  stack: "self",
  name: "sat",
  followed: "sat",
  others: null,
  versus: "",
  method: "zero",
  estimate: false,
  values: wireOf(Float32Array.of(0.1, 0, -0.15, 0.05), [2, 2]),
};

const state = (change: Partial<PredictionState> = {}): PredictionState => ({
  selected: [],
  layer: 0,
  tokens: [],
  hidden: [],
  quantity: "weights",
  unit: "tokens",
  scale: "absolute",
  disabled: [],
  method: "uniform",
  stack: "self",
  position: null,
  answer: null,
  effects_by: "passes",
  corrupted: "",
  lens: false,
  _lens: null,
  _needs_asked: false,
  _needs: null,
  _message: "",
  _problem: "",
  _predictions: ANSWERED,
  _effects: EFFECTS,
  _link: null,
  _cuts: null,
  _axes: axes,
  _error: "",
  _circle: "",
  _quantities: ["weights"],
  _source: { model: "BertModel", note: "", loss: "" },
  _stacks: [{ name: "self", n_layers: 2, n_heads: 2, n_key_heads: 2, n_query: 4, n_key: 4 }],
  ...change,
});
const look = { theme: THEMES.light, width: 800, font: "Arial", ruler: tableRuler, density: 1 };
function scene(change: Partial<PredictionState> = {}, width = 800) {
  const found = sceneOf(state(change), { ...look, width });
  if (!found) throw new Error("nothing to draw");
  return found;
}

describe("what is shown", () => {
  test("one number an answer while all heads are on, three while some are off", () => {
    expect(scene().bars.map(({ texts }) => texts)).toEqual([["60\u00a0%"], ["25\u00a0%"]]);
    const off = scene({ _predictions: OFF });
    expect(off.bars.map(({ texts }) => texts)).toEqual([
      ["60\u00a0%", "20\u00a0%", "−40\u00a0points"],
      ["25\u00a0%", "35\u00a0%", "+10\u00a0points"],
    ]);
    expect(off.bars.map(({ followed }) => followed)).toEqual([true, false]);
    expect([signedChange(0), signedChange(-0.0001)]).toEqual(["0", "≈0"]);
  });

  test("the map stands beside the bars where there is room, else below", () => {
    expect(scene().mapTop).toBe(0);
    const narrow = scene({}, 480);
    expect(narrow.mapLeft).toBe(0);
    expect(narrow.mapTop).toBeGreaterThan(HEADER + 2 * narrow.row);
    for (const one of [scene(), narrow, scene({ _predictions: OFF }, 480)])
      expect(one.width).toBeLessThanOrEqual(one.mapTop ? 480 : 800);
    expect(barAt(scene(), 10, HEADER + 1)?.token).toBe("sat");
    expect(barAt(scene(), 10, HEADER - 1)).toBeUndefined();
  });

  test("a map of few heads has room for its title and for the ends of its scale", () => {
    const found = scene();
    expect(found.map.cols * (found.map.cell + 1)).toBeLessThan(100);
    const measure = tableRuler("600 11px Arial");
    expect(measure(mapTitle(found))).toBeLessThan(found.mapWidth);
    const ends = ["−0.0687 less likely", "0", "more likely +0.0687"];
    const least = ends.reduce((sum, text) => sum + tableRuler("11px Arial")(text) + HEADER / 2, 0);
    expect(found.mapWidth).toBeGreaterThan(least);
    expect(scene({}, 480).mapWidth).toBeGreaterThan(least);
  });

  test("the question, by what the model predicts", () => {
    expect(questionOf(state())).toBe("What stands at “sat” (token 2), when it is masked?");
    expect(questionOf(state({ _predictions: { ...ANSWERED, masks: false } }))).toBe(
      "What stands at “sat” (token 2)?",
    );
    const next = state({ _predictions: { ...ANSWERED, task: "next", masks: false } });
    expect([questionOf(next), chosenToken(next)]).toEqual(["What follows “cat” (token 1)?", 1]);
    const classes = state({ _predictions: { ...ANSWERED, task: "class", position: -1 } });
    expect([questionOf(classes), chosenToken(classes)]).toEqual([
      "Which class is the text?",
      undefined,
    ]);
    const ofPicture = { ...ANSWERED, task: "class", reads: "picture", position: -1 } as const;
    expect(questionOf(state({ _predictions: ofPicture }))).toBe("Which class is the picture?");
  });

  test("effects in words, and how far they are known", () => {
    expect(inWords(scene(), [1, 0])).toBe(
      "L1 H0: without it (zero) “sat” 60\u00a0% → 45\u00a0% (−15\u00a0points)",
    );
    const estimate = { _effects: { ...EFFECTS, estimate: true } };
    expect(inWords(scene(estimate), [1, 0])).toContain(
      "changes by about −15\u00a0points (estimate)",
    );
    expect(mapTitle(scene(estimate))).toBe("Change of “sat” without each head (zero, estimate)");
    expect(inWords(scene({ _effects: null }), [1, 0])).toBe("L1 H0: effect not known yet");
    expect(inWords(scene({ _predictions: OFF }), [0, 1])).toBe("L0 H1: off");
    const text = captionText(captionOf(state(), scene()));
    expect(text).toContain("this token was masked for the question");
    expect(text).toContain("without each head (zero), −15\u00a0points to +15\u00a0points");
    expect(captionText(captionOf(state(), scene(estimate)))).toContain(
      "effects are a first-order estimate",
    );
    const failed = { _effects: null, _problem: "no gradient" };
    expect(captionText(captionOf(state(failed), scene(failed)))).toContain(
      "no effects of heads: no gradient",
    );
  });

  test("the table has answers, then heads by the size of their effect", () => {
    const { columns, rows } = tableOf(scene({ _predictions: OFF }));
    expect(columns).toEqual(["answer or head", "before", "after", "change"]);
    expect(rows.map(([name]) => name).slice(0, 4)).toEqual([
      "sat",
      "ran",
      "sat without L1 H0 (zero)",
      "sat without L0 H0 (zero)",
    ]);
    expect(rows[2]?.[3]).toBeCloseTo(-0.15);
  });

  test("a picture without a question says what to do", () => {
    const request = {
      width: 480,
      theme: THEMES.dark,
      density: 1,
      blank: false,
      dense: false,
      brief: false,
      caption: false,
    };
    const empty = state({ _predictions: null, _effects: null, _message: "choose a token" });
    const { sheet, caption } = drawPicture(empty, request);
    expect(sheet.pen.body).toContain("choose a token");
    expect(caption.notes).toEqual(["choose a token"]);
    const drawn = drawPicture(state({ _predictions: OFF, selected: [[1, 0, "self"]] }), request)
      .sheet.pen.body;
    for (const text of ["before", "after", "−40\u00a0points", "layer 0", "less likely"])
      expect(drawn).toContain(text);
  });
});

describe("a piece of a word", () => {
  test("is named as a piece, with what is masked", () => {
    const captionFor = (piece: [number, number]) => {
      const now = { _predictions: { ...ANSWERED, piece } };
      return captionText(captionOf(state(now), scene(now)));
    };
    expect(captionFor([1, 3])).toContain(
      "What stands at “sat” (token 2, piece 1 of 3 of its word), when it and the rest of the " +
        "word are masked?",
    );
    expect(captionFor([1, 3])).toContain("this token and the rest of its word were masked");
    expect(captionFor([3, 3])).toContain("(token 2, piece 3 of 3 of its word), when it is masked?");
    expect(captionFor([1, 1])).toContain("(token 2), when it is masked?");
  });
  test("layers without attention, whose effects are NaN, do not hide the strongest heads", () => {
    const values = wireOf(Float32Array.of(Number.NaN, Number.NaN, -0.15, 0.05), [2, 2]);
    const rows = tableOf(scene({ _effects: { ...EFFECTS, values } })).rows.map(([name]) => name);
    expect(rows).toEqual(["sat", "ran", "sat without L1 H0 (zero)", "sat without L1 H1 (zero)"]);
  });
});

describe("direct effects and the logit lens", () => {
  const direct: Partial<PredictionState> = {
    effects_by: "direct",
    _effects: {
      ...EFFECTS,
      versus: "ran",
      values: wireOf(Float32Array.of(1.5, 0, -0.5, 0), [2, 2]),
    },
  };
  const LENS = {
    problem: "",
    rows: [
      { layer: "embeddings", answer: "the", probability: 0.2, followed: 0.01 },
      { layer: "L0", answer: "sat", probability: 0.6, followed: 0.6 },
    ],
  };

  test("name both answers, and are shares of a logit difference", () => {
    const shown = scene(direct);
    expect(mapTitle(shown)).toBe("Direct effect on “sat” against “ran”");
    expect(inWords(shown, [0, 0])).toBe("L0 H0: adds +1.50 to the logit of “sat” against “ran”");
    expect(captionText(captionOf(state(direct), shown))).toContain(
      "map: direct effect of each head on the logit of “sat” against “ran”, −1.50 to +1.50",
    );
    expect(tableOf(shown).rows).toContainEqual(["sat against ran: L0 H0", null, null, 1.5]);
    expect(mapTitle(scene({ effects_by: "direct", _effects: null }))).toContain(" …");
  });

  test("patching names the second text, and what each head adds there", () => {
    const patch: Partial<PredictionState> = {
      effects_by: "patch",
      corrupted: "the dog sat",
      _effects: {
        ...EFFECTS,
        versus: "ran",
        patched: { text: "the dog sat", differences: [-2, 3] },
        values: wireOf(Float32Array.of(1.5, 0, -0.5, 0), [2, 2]),
      },
    };
    const shown = scene(patch);
    expect(mapTitle(shown)).toBe("Effect of patching on “sat” against “ran”");
    expect(inWords(shown, [0, 0])).toBe(
      "L0 H0: its outputs add +1.50 to “sat” against “ran” in the second text",
    );
    const text = captionText(captionOf(state(patch), shown));
    expect(text).toContain("effect of patching each head on the logit of “sat” against “ran”");
    expect(text).toContain("the logit difference is −2.00 in that text and +3.00 in this text");
    expect(text).not.toContain("direct effects");
  });

  test("the answer after each layer stands below, with its probability", () => {
    expect(scene().layers).toBeNull();
    const shown = scene({ lens: true, _lens: LENS });
    expect(shown.height).toBeGreaterThan(scene().height);
    expect(shown.layers?.rows.map(({ layer, answer, text }) => [layer, answer, text])).toEqual([
      ["embeddings", "the", "20\u00a0%"],
      ["L0", "sat", "60\u00a0%"],
    ]);
    expect(tableOf(shown).rows).toContainEqual(["after L0: sat", 0.6, 0.6, 0]);
    expect(scene({ lens: true, _lens: null }).layers?.note).toContain("being asked");
    const refused = scene({ lens: true, _lens: { rows: [], problem: "an encoder-decoder" } });
    expect(refused.layers?.note).toBe("an encoder-decoder");
  });
});

describe("the widget", () => {
  /** Mount the figure with a simulated kernel. */
  async function asking(of: PredictionState) {
    const widget = {
      render: (context: Parameters<ReturnType<typeof predictions>["render"]>[0]) => {
        context.model.send = () => {};
        predictions().render(context);
      },
    };
    return mounted(widget, of);
  }
  const press = (target: Element, key: string) =>
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));

  test("a token is chosen by a click, and let go by another", async () => {
    const { model, el } = await asking(state());
    const buttons = [...el.querySelectorAll<HTMLButtonElement>(".attnw-prediction-tokens button")];
    expect(buttons.map(({ textContent }) => textContent)).toEqual(["[CLS]", "cat", "sat", "[SEP]"]);
    expect(buttons.map((one) => one.getAttribute("aria-pressed"))).toEqual([
      "false",
      "false",
      "true",
      "false",
    ]);
    expect(buttons.map(({ tabIndex }) => tabIndex)).toEqual([-1, -1, 0, -1]);
    buttons[2]?.focus();
    if (buttons[2]) press(buttons[2], "ArrowLeft");
    expect(buttons.map(({ tabIndex }) => tabIndex)).toEqual([-1, 0, -1, -1]);
    buttons[1]?.click();
    expect(model.sent).toEqual([{ position: 1 }]);
    buttons[1]?.click();
    expect(model.sent.at(-1)).toEqual({ position: null });
  });

  test("a head is selected and switched off by keys, and on again", async () => {
    const { model, find } = await asking(state());
    const box = find("[role=grid]");
    for (const key of ["ArrowDown", "Enter"]) press(box, key);
    expect(model.get("selected")).toEqual([[1, 0, "self"]]);
    press(box, "x");
    expect(model.sent.at(-1)).toEqual({ disabled: [[1, 0, "self"]] });
    press(box, "x");
    expect(model.get("disabled")).toEqual([] as Head[]);
    await frame();
    expect(find(".attnw-prediction-readout").textContent).toContain("L1 H0");
  });

  test("the answer followed is chosen among those shown", async () => {
    const { model, find } = await asking(state());
    const select = find<HTMLSelectElement>("[data-control='effects on']");
    expect([...select.options].map(({ text }) => text)).toEqual([
      "the likeliest: sat",
      "sat",
      "ran",
    ]);
    select.value = "ran";
    select.dispatchEvent(new Event("change"));
    expect(model.sent).toEqual([{ answer: "ran" }]);
  });

  test("the second text is asked for in a patching map only", async () => {
    const hidden = await asking(state());
    expect(hidden.find("[data-label='second text']").hidden).toBe(true);
    const { model, find } = await asking(state({ effects_by: "patch", corrupted: "the dog" }));
    const line = find<HTMLInputElement>("[data-control='second text']");
    expect(line.value).toBe("the dog");
    press(line, "x");
    expect(model.sent).toEqual([]);
    line.value = "the dog sat";
    line.dispatchEvent(new Event("change"));
    expect(model.sent).toEqual([{ corrupted: "the dog sat" }]);
  });

  test("a page without a kernel asks nothing", async () => {
    const { model, el, find } = await mounted(predictions(), state({ disabled: [] }));
    expect(
      [...el.querySelectorAll<HTMLButtonElement>(".attnw-prediction-tokens button")].every(
        ({ disabled }) => disabled,
      ),
    ).toBe(true);
    press(find("[role=grid]"), "x");
    expect(model.sent).toEqual([]);
    // A linked figure may switch heads off, but the drawing still belongs to the old answer.
    model.fromKernel({ disabled: [[1, 1, "self"]] });
    await frame();
    expect(find("[data-caption]").textContent).not.toContain("without L1 H1");
  });

  test("without a question it says what to do, beside the tokens", async () => {
    const { el, find } = await asking(
      state({ _predictions: null, _effects: null, _message: "choose a token" }),
    );
    expect(find(".attnw-message").textContent).toBe("choose a token");
    expect(find(".attnw-prediction-box").hidden).toBe(true);
    expect(el.querySelectorAll(".attnw-prediction-tokens button").length).toBe(4);
  });
});
