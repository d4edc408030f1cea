import { expect, test } from "vitest";
import { drawPicture } from "../src/dependency_arcs/picture.js";
import { captionOf, sceneOf, tableOf, wordTexts } from "../src/dependency_arcs/scene.js";
import type { ArcsState, Votes } from "../src/dependency_arcs/state.js";
import arcs from "../src/dependency_arcs/widget.js";
import { THEMES } from "../src/shared/theme.js";
import { drawnCats } from "./drawn_cats.js";
import { frame, mounted } from "./mounted.js";
import { wireOf } from "./wire_of.js";

/**
 * Votes of heads (0, 1) and (1, 0) for each governor. The second head votes from governor to
 * dependent.
 */
const VOTES: Votes = {
  heads: 2,
  places: wireOf(Int32Array.from([2, 5, 2, 5, 2, 5]), [3, 2]),
  values: wireOf(Float32Array.from([2, -0.5, 1, 0.5, 3, 1]), [3, 2]),
  sums: wireOf(Float32Array.from([1.5, 1.5, 4]), [3]),
};

/**
 * Return "Cats eat fish" with a probe that is right on the first word and the root, and wrong on
 * the last word.
 */
function state(votes: Votes | null = VOTES, change: Partial<ArcsState> = {}): ArcsState {
  const map = Float32Array.from([0, 0.75, 0, 0.25, 0, 0.25, 0.5, 0.25, 0]);
  const predicted = {
    governors: wireOf(Int32Array.from([2, 0, 1, 2, 0, 1]), [2, 3]),
    map: wireOf(map, [3, 3]),
    root: wireOf(Float32Array.from([0.25, 0.5, 0.25]), [3]),
    votes,
  };
  return {
    selected: [],
    layer: 0,
    _error: "",
    relation: "all",
    sentence: 0,
    _drawn: drawnCats({ head: null, predicted }),
    _jump: {},
    _jumped: {},
    word: null,
    _source: {
      model: "BertModel",
      note: "UAS 60.0 %",
      count: 9,
      layers: 4,
      relations: ["all", "nsubj", "obj"],
      answerer: { kind: "dependency probe", name: "probe of attention" },
    },
    ...change,
  };
}

function sceneWith(votes?: Votes | null, change?: Partial<ArcsState>) {
  const scene = sceneOf(state(votes, change));
  if (!scene) throw new Error("nothing is drawn");
  return scene;
}

test("every word has a governor with a probability, the root too", () => {
  const scene = sceneWith();
  expect(scene.title).toBe("probe of attention · all relations · annotated and predicted arcs");
  expect(scene.rightness).toBe("right on 2 of 3 words here");
  expect(captionOf(scene)).toMatchObject({
    head: "probe of attention",
    quantity: "probability of each governor",
    scale: "width: probability, 10 pixels for 1, at least 0.75",
  });
  expect(tableOf(scene)).toEqual({
    columns: ["word", "relation", "governor", "predicted", "probability", "right or wrong"],
    rows: [
      ["1 Cats", "nsubj", "2 <b>eat</b>", "2 <b>eat</b>", "0.75", "right"],
      ["2 <b>eat</b>", "root", "", "root", "0.5", "right"],
      ["3 fish", "obj", "2 <b>eat</b>", "1 Cats", "0.5", "wrong"],
    ],
  });
});

test("the readout of a word has its governors, and the votes if the probe reads attention", () => {
  const votes = wordTexts(sceneWith(), 0);
  expect(votes.arc).toBe("Cats: nsubj of <b>eat</b> · predicted <b>eat</b> with 75\u00a0%, right");
  expect(votes.from).toBe(
    "governors: root 25\u00a0% · <b>eat</b> 75\u00a0% · itself 0\u00a0% · fish 0\u00a0%",
  );
  expect(votes.to).toContain("of all heads, most by L0 H1 +2");
  expect(votes.to).toContain("L1 H0 back");
  const without = wordTexts(sceneWith(null), 0);
  expect([without.from, without.to]).toEqual([votes.from, ""]);
});

test("a picture says the governor of the held word, with votes or without", () => {
  const request = {
    theme: THEMES.light,
    width: 640,
    density: 1,
    blank: false,
    dense: false,
    brief: false,
    caption: false,
  };
  const bodyOf = (votes: Votes | null) =>
    drawPicture(state(votes, { word: 0 }), request).sheet.pen.body;
  expect(bodyOf(VOTES)).toContain("of all heads, most by");
  expect(bodyOf(null)).toContain("with 75\u00a0%, right");
});

test("a reader chooses no direction and needs no head; the held word is sent", async () => {
  const { model, el, find } = await mounted(arcs(), state());
  expect(find<HTMLElement>("[data-label=direction]").hidden).toBe(true);
  expect(el.textContent).not.toContain("Select a head");
  expect(find<HTMLElement>(".attnw-progress").hidden).toBe(true);
  const words = find<HTMLElement>("[role=listbox]");
  for (const key of ["d", "Home", "Enter"]) {
    words.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    await frame();
  }
  expect(model.sent).toEqual([{ word: 0 }]);
  expect(find(".attnw-arcs-readout").textContent).toContain("governors: root 25\u00a0%");
  expect(find(".attnw-arcs-shading").textContent).toBe("bars: how likely each is its governor");
  expect(find("[aria-live]").textContent).toContain("governors: root");
});
