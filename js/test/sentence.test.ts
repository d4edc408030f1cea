// @vitest-environment node
import { describe, expect, test } from "vitest";
import { chosenWords, withoutLast } from "../src/explorer/locks.js";
import { arcsOf, marksOf } from "../src/explorer/sentence/arcs.js";
import { afterName, askedOf, guessOf } from "../src/explorer/sentence/guess.js";
import { sentenceSize } from "../src/explorer/sentence/layout.js";
import { lineOf, lineText } from "../src/explorer/sentence/line.js";
import { leastDrawn, standsOut } from "../src/explorer/sentence/looks.js";
import { type Reading, readingOf, type Screen } from "../src/explorer/sentence/reading.js";
import {
  fitsSentence,
  inSentence,
  shownText,
  unbroken,
  wordsOf,
} from "../src/explorer/sentence/words.js";
import { cellOf, flipped, headIn, orderHeads } from "../src/head_grid/head_order.js";
import { drawPicture } from "../src/head_grid/picture.js";
import { pairCount, wordAnswers } from "../src/head_grid/word_answers.js";
import type { PredictionState } from "../src/prediction_view/state.js";
import { tableRuler } from "../src/shared/labels.js";
import type { Peeked } from "../src/shared/peek.js";
import { percentText } from "../src/shared/percent_text.js";
import type { Request } from "../src/shared/picture/sheet.js";
import { THEMES } from "../src/shared/theme.js";
import type { Axes, Axis, Head, Side } from "../src/shared/types.js";
import { gridState } from "./grid_state.js";
import { tileOf, viewState } from "./view_state.js";
import { wireOf } from "./wire_of.js";

/** Return a generator of numbers from 0 to 1 that are the same in every run. */
function random(seed: number): () => number {
  let now = seed;
  return () => {
    now = (now * 1664525 + 1013904223) % 4294967296;
    return now / 4294967296;
  };
}

const TEXT = "The nurse said that she was tired.";
const WORDS = ["[CLS]", "the", "nurse", "said", "that", "she", "was", "tired", ".", "[SEP]"];
const N = WORDS.length;
const SPECIAL = WORDS.map((word) => ({ "[CLS]": "cls", "[SEP]": "sep" })[word] ?? "");
const axis = (text: string[], special: string[]): Axis => ({
  text,
  raw: text,
  special,
  segments: text.map(() => 0),
});
const AXIS = axis(WORDS, SPECIAL);
const AXES: Axes = { stack: "self", unit: "words", query: AXIS, key: AXIS };
const ORDER = { sort: "none", descending: true, filter: null } as const;
const LAYERS = 2;
const HEADS = 3;
const STACK = {
  name: "self",
  n_layers: LAYERS,
  n_heads: HEADS,
  n_key_heads: HEADS,
  n_query: N,
  n_key: N,
};

/** Return the attention of all heads as [head][query][key]; rows sum to 1. */
function attention(next: () => number, sharp: number, causal: boolean): Float32Array[][] {
  return Array.from({ length: LAYERS * HEADS }, () =>
    Array.from({ length: N }, (_, query) => {
      const row = Float32Array.from({ length: N }, (_, key) =>
        causal && key > query ? 0 : next() ** sharp + 0.001,
      );
      const sum = row.reduce((a, b) => a + b, 0);
      return row.map((value, key) => (causal && key > query ? Number.NaN : value / sum));
    }),
  );
}

/**
 * Return the data that the page has of these maps: a map of the selected head, and the rows of the
 * locked word.
 */
function screenOf(
  maps: Float32Array[][],
  change: {
    selected?: Head;
    tokens?: [Side, number][];
    disabled?: Head[];
    hidden?: ("cls" | "sep")[];
    pointed?: Screen["pointed"];
    peeked?: Peeked | null;
  } = {},
): Screen {
  const { selected = [0, 0, "self"], tokens = [], disabled = [], hidden = [] } = change;
  const query = tokens.filter(([side]) => side === "query").at(-1)?.[1];
  const map = maps[selected[0] * HEADS + selected[1]] ?? [];
  const shared = { selected: [selected], tokens, disabled, hidden, unit: "words" as const };
  const rows = query === undefined ? undefined : maps.map((of) => of[query] ?? new Float32Array(N));
  const flat = (of: Float32Array[]) => Float32Array.from(of.flatMap((row) => [...row]));
  return {
    explorer: {
      ...shared,
      labels: [],
      _tested: [],
      _name_links: null,
      _unknown: null,
      _shown: { text: TEXT, pair: null, target: null, versus_text: null },
    },
    grid: gridState({
      ...shared,
      _axes: AXES,
      _stacks: [STACK],
      _rows:
        rows && query !== undefined
          ? {
              stack: "self",
              unit: "words",
              quantity: "weights",
              side: "query",
              of: query,
              values: wireOf(flat(rows), [LAYERS, HEADS, N]),
            }
          : null,
    }),
    view: viewState({
      ...shared,
      _axes: AXES,
      _stacks: [STACK],
      _tile: tileOf(wireOf(flat(map), [N, N]), {
        head: [selected[0], selected[1], "self"],
        unit: "words",
      }),
    }),
    predictions: undefined,
    peeked: change.peeked ?? null,
    pointed: change.pointed ?? null,
  };
}

/** Return the thumbnail of a head as the grid sends it to other figures. */
function peekOf(maps: Float32Array[][], head: Head, hidden: ("cls" | "sep")[]): Peeked {
  const indices = [...SPECIAL.keys()].filter(
    (i) => !(hidden as string[]).includes(SPECIAL[i] ?? ""),
  );
  const map = maps[head[0] * HEADS + head[1]] ?? [];
  const values = indices.flatMap((q) => indices.map((k) => map[q]?.[k] || 0));
  const maximum = Math.max(...values);
  return {
    head,
    quantity: "weights",
    unit: "words",
    hidden,
    rows: indices.length,
    cols: indices.length,
    values: Uint8Array.from(values, (value) => Math.round(255 * Math.sqrt(value / maximum))),
    maximum,
  };
}

const read = (screen: Screen): Reading => {
  const reading = readingOf(screen);
  if (!reading) throw new Error("nothing is shown");
  return reading;
};
const said = (screen: Screen) => lineText(lineOf(read(screen), screen.grid, undefined));
const QUOTED = /“([^”]+)”/g;

test("the line names only the head and the words that are drawn, in 500 random states", () => {
  const next = random(40);
  const whole = (n: number) => Math.floor(next() * n);
  const wrong: string[] = [];
  const check = (isRight: boolean, line: string) => isRight || wrong.push(line);
  for (let run = 0; run < 500; run++) {
    const maps = attention(next, 1 + whole(8), next() < 0.3);
    const head: Head = [whole(LAYERS), whole(HEADS), "self"];
    const hidden = next() < 0.5 ? (["cls", "sep"] as ("cls" | "sep")[]) : [];
    const shown = [...SPECIAL.keys()].filter((i) => !hidden.length || !SPECIAL[i]);
    const word = () => shown[whole(shown.length)] ?? 0;
    const tokens: [Side, number][] =
      next() < 0.4
        ? []
        : [["query", word()], ...(next() < 0.5 ? [["key", word()] as [Side, number]] : [])];
    const peekedHead: Head = [whole(LAYERS), whole(HEADS), "self"];
    const peeked = next() < 0.3 ? peekOf(maps, peekedHead, hidden) : null;
    const pointed = !peeked && next() < 0.4 ? { side: "query" as const, index: word() } : null;
    const disabled: Head[] = next() < 0.2 ? [head] : [];
    const screen = screenOf(maps, { selected: head, tokens, hidden, peeked, pointed, disabled });
    const reading = read(screen);
    const line = said(screen);
    const [layer, number] = peeked ? peekedHead : head;
    const names = [...line.matchAll(/L\d+ H\d+/g)].map(([name]) => name);
    check(names.length > 0 || line.includes("cannot see"), line);
    const others = reading.othersOff.map(([l, h]) => `L${l} H${h}`);
    for (const name of names) check([`L${layer} H${number}`, ...others].includes(name), line);
    // Every word in quotes is a word of the sentence.
    const texts = reading.words.query.map(({ text }) => text);
    const quoted = [...line.matchAll(QUOTED)].map(([, text]) => text);
    for (const text of quoted) check(texts.includes(text ?? ""), line);
    // The first quoted word is the active word.
    const { from, to } = reading;
    const isOff = disabled.length > 0 && reading.isOff;
    const first = from === undefined ? undefined : reading.words.query[from];
    if (!isOff && first && first.kind === "word") check(quoted[0] === first.text, line);
    if (isOff) {
      const others = disabled.length - 1;
      const beside = others ? `, with ${others === 1 ? "L" : `${others} heads`}` : "";
      check(line.includes(` is off${beside}`) && !quoted.length, line);
      check(line.includes(": it looks nowhere"), line);
      continue;
    }
    const row = from === undefined ? undefined : maps[layer * HEADS + number]?.[from];
    if (!row || line.includes("…")) continue;
    // The numbers match the map, within a percentage point if they come from a thumbnail.
    const percents = [...line.matchAll(/([\d.]+)\u00a0%/g)].map(([, value]) => Number(value) / 100);
    const weights = [...row].filter((value) => !Number.isNaN(value));
    const even = 1 / weights.length;
    const rest = [...row].reduce(
      (sum, w, i) => sum + (shown.includes(i) || Number.isNaN(w) ? 0 : w),
      0,
    );
    const near = reading.weights?.hasHidden(from ?? 0) ? 0.0051 : 0.03;
    for (const percent of percents)
      expect(
        [...weights, even, rest].some((w) => Math.abs(w - percent) <= near),
        line,
      ).toBe(true);
    if (to !== undefined && Number.isNaN(row[to] ?? 0)) check(line.includes("cannot see"), line);
  }
  expect(wrong).toEqual([]);
}, 60_000);

describe("the cases of the line", () => {
  const map = (rows: Record<number, Record<number, number>>) => {
    const even = () =>
      Array.from({ length: N }, (_, query) => {
        const row = rows[query];
        const sum = Object.values(row ?? {}).reduce((a, b) => a + b, 0);
        const others = N - Object.keys(row ?? {}).length;
        return Float32Array.from({ length: N }, (_, key) => row?.[key] ?? (1 - sum) / others);
      });
    return Array.from({ length: LAYERS * HEADS }, even);
  };
  const hidden: ("cls" | "sep")[] = ["cls", "sep"];
  const she = [["query", 5]] as [Side, number][];

  test("a word that looks at one word, and what rests on special tokens", () => {
    const maps = map({ 5: { 0: 0.2, 2: 0.4, 9: 0.1 } });
    expect(said(screenOf(maps, { tokens: she, hidden }))).toBe(
      "In L0 H0, “she” looks at “nurse” (40\u00a0%); 30\u00a0% rests on [CLS] and [SEP].",
    );
  });
  test("quotes keep their places round a right-to-left word", () => {
    const now = screenOf(map({ 5: { 2: 0.4 } }), { tokens: she });
    const hebrew = "\u05e9\u05dc\u05d5\u05dd";
    const text = AXES.key.text.map((of, i) => (i === 2 ? hebrew : of));
    const _axes = { ...AXES, key: { ...AXES.key, text, raw: text } };
    const view = now.view && { ...now.view, _axes };
    expect(said({ ...now, view })).toContain(`looks at “\u2067${hebrew}\u2069” (40\u00a0%)`);
  });
  test("two words that get about as much, with the even share", () => {
    const maps = map({ 5: { 2: 0.34, 3: 0.3 } });
    expect(said(screenOf(maps, { tokens: she }))).toBe(
      "In L0 H0, “she” looks at “nurse” (34\u00a0%) and “said” (30\u00a0%); even: 10\u00a0%.",
    );
  });
  test("a word that looks at itself", () => {
    const maps = map({ 5: { 5: 0.9 } });
    expect(said(screenOf(maps, { tokens: she }))).toContain("“she” looks at itself (90\u00a0%)");
  });
  test("a word that looks nowhere in particular, and one whose attention rests", () => {
    expect(said(screenOf(map({ 5: { 2: 0.13 } }), { tokens: she }))).toBe(
      "In L0 H0, “she” looks at no word in particular: most at “nurse” (13\u00a0%), even " +
        "attention gives 10\u00a0%.",
    );
    expect(said(screenOf(map({ 5: { 0: 0.96 } }), { tokens: she, hidden }))).toContain(
      "“she” looks at no word: 96\u00a0% rests on [CLS] and [SEP].",
    );
  });
  test("pairs, with their place and the even share", () => {
    const pair = [...she, ["key", 2]] as [Side, number][];
    expect(said(screenOf(map({ 5: { 2: 0.4 } }), { tokens: pair }))).toBe(
      "In L0 H0, “she” gives “nurse” 40\u00a0% of its attention, more than any other word " +
        "(even: 10\u00a0%).",
    );
    expect(said(screenOf(map({ 5: { 2: 0.2, 3: 0.4 } }), { tokens: pair }))).toContain(
      "number 2 of 10 (even: 10\u00a0%)",
    );
    expect(said(screenOf(map({ 5: { 2: 0.02 } }), { tokens: pair }))).toContain(
      "less than an even share of 10\u00a0%",
    );
    expect(said(screenOf(map({ 5: { 2: 0.4, 3: 0.4 } }), { tokens: pair }))).toContain(
      "as much as any other word",
    );
  });
  test("a word that comes later cannot be seen", () => {
    const maps = attention(random(1), 2, true);
    const pair = [...she, ["key", 7]] as [Side, number][];
    expect(said(screenOf(maps, { tokens: pair }))).toBe(
      "“she” cannot see “tired”: it comes later.",
    );
  });
  test("a word that is pointed at while another one is locked has the line to itself", () => {
    const maps = map({ 5: { 2: 0.4 }, 7: { 3: 0.5 } });
    const pointed = { side: "query" as const, index: 7 };
    expect(said(screenOf(maps, { tokens: she, pointed }))).toContain("“tired” looks at “said”");
  });
  test("without a word, the strongest link; and that no word stands out", () => {
    expect(said(screenOf(map({ 5: { 2: 0.4 } })))).toContain(
      "In L0 H0, the strongest link is “she” to “nurse” (40\u00a0%).",
    );
    expect(said(screenOf(map({ 5: { 2: 0.12 } })))).toContain("In L0 H0, no word stands out");
  });
});

test("a head that is pointed at is read from the rounded maps of a saved page", () => {
  const maps = attention(random(11), 4, true);
  const other: Head = [1, 2, "self"];
  const screen = screenOf(maps, { tokens: [], peeked: peekOf(maps, other, []) });
  const maxima = maps.map((of) => Math.max(...of.flatMap((row) => [...row].map((w) => w || 0))));
  const bytes = maps.flatMap((of, head) =>
    of.flatMap((row) =>
      Array.from(row, (weight) =>
        Number.isNaN(weight) ? 0 : 1 + Math.round(254 * Math.sqrt(weight / (maxima[head] ?? 1))),
      ),
    ),
  );
  const _maps = {
    complete: true as const,
    stack: "self",
    quantity: "weights",
    unit: "words" as const,
    exact: false,
    maxima,
    heads: maps.map((_, i): Head => [Math.floor(i / HEADS), i % HEADS, "self"]),
    values: wireOf(Uint8Array.from(bytes), [maps.length, N, N]),
  };
  const saved = { ...screen, view: screen.view && { ...screen.view, _maps } };
  const { head, weights } = read(saved);
  expect(head).toEqual(other);
  const row = weights?.row(6) ?? new Float32Array();
  const exact = maps[other[0] * HEADS + other[1]]?.[6] ?? new Float32Array();
  expect([...row].map(Number.isNaN)).toEqual([...exact].map(Number.isNaN));
  for (let key = 0; key <= 6; key++) expect(row[key]).toBeCloseTo(exact[key] ?? -1, 2);
  // The row of the locked word is complete, so that the line is the same before and after a click.
  const locked = screenOf(maps, { tokens: [["query", 6]], peeked: peekOf(maps, other, []) });
  const both = read({ ...locked, view: locked.view && { ...locked.view, _maps } });
  expect([...(both.weights?.row(6) ?? [])]).toEqual([...exact]);
});

test("a flat model draws neither arcs nor tints, and a head that is off none", () => {
  const even = Array.from({ length: LAYERS * HEADS }, () =>
    Array.from({ length: N }, () => new Float32Array(N).fill(1 / N)),
  );
  const box = { x: 0, y: 0, width: 10, height: 10 };
  const reading = read(screenOf(even, { tokens: [["query", 5]] }));
  expect(marksOf(reading).size).toBe(0);
  expect(arcsOf(reading, () => box, true, THEMES.light)).toEqual([]);
  const sharp = attention(random(3), 9, false);
  const tokens: [Side, number][] = [["query", 5]];
  expect(marksOf(read(screenOf(sharp, { tokens }))).size).toBeGreaterThan(0);
  const off = read(screenOf(sharp, { tokens, disabled: [[0, 0, "self"]] }));
  expect(marksOf(off).size).toBe(0);
  // Two heads that are off change the answer together.
  const both = screenOf(sharp, {
    tokens,
    disabled: [
      [0, 0, "self"],
      [1, 2, "self"],
    ],
  });
  expect(said(both)).toContain("L0 H0 is off, with L1 H2: it looks nowhere");
});

test("what a head that is off hands on is said when the kernel has answered", () => {
  const screen = screenOf(attention(random(3), 9, false), { disabled: [[0, 0, "self"]] });
  expect(said(screen)).toBe("L0 H0 is off: it looks nowhere.");
  const lineFor = (method: "zero" | "uniform" | "rule") => {
    const view = { ...screen.view, _source: { ...screen.view._source, method } };
    return said({ ...screen, view });
  };
  expect(lineFor("zero")).toBe("L0 H0 is off: it looks nowhere and hands on nothing.");
  expect(lineFor("uniform")).toContain("and hands on the mean of all words.");
  expect(lineFor("rule")).toContain(
    "L0 H0 is off: its rule is in its place, and looks alike at all",
  );
});

describe("the name of a head", () => {
  const NAME = { head: [0, 0, "self"] as Head, label: "determiner to its noun" };
  const named = (screen: Screen, links: [number, number][]): string => {
    const values = new Uint8Array(N * N);
    for (const [query, key] of links) values[query * N + key] = 1;
    const explorer = {
      ...screen.explorer,
      _tested: [{ ...NAME, family: "grammar" as const }],
      _name_links: { names: [NAME.label], values: wireOf(values, [1, N, N]) },
    };
    return said({ ...screen, explorer });
  };
  const maps = attention(random(7), 1, false);
  for (const row of maps[0] ?? []) row.fill(0.02);
  const look = (query: number, key: number) => maps[0]?.[query]?.fill(0.7, key, key + 1);
  look(1, 2);
  look(5, 3);
  const hidden = ["cls", "sep"] as ("cls" | "sep")[];

  test("is said of a link that it predicts, and of no other link", () => {
    const of = (query: number) => screenOf(maps, { tokens: [["query", query]], hidden });
    expect(named(of(1), [[1, 2]])).toContain("In L0 H0 (determiner to its noun), “The” looks at");
    expect(named(of(5), [[1, 2]])).toContain("In L0 H0, “she” looks at “said” (70\u00a0%)");
    const pair = (key: number) =>
      screenOf(maps, {
        tokens: [
          ["query", 1],
          ["key", key],
        ],
        hidden,
      });
    const both: [number, number][] = [
      [1, 2],
      [1, 4],
    ];
    expect(named(pair(2), both)).toContain("(determiner to its noun), “The” gives “nurse” 70");
    // The name does not predict this link, so the line leaves it out.
    expect(named(pair(4), both)).toContain("In L0 H0, “The” gives “that” 2");
  });
  test("is said of the strongest link, and not where nothing stands out", () => {
    const strongest = screenOf(maps, { hidden });
    expect(named(strongest, [[1, 2]])).toContain("(determiner to its noun), the strongest link");
    expect(named(strongest, [[3, 2]])).toContain("In L0 H0, the strongest link is");
    const flat = screenOf(
      maps.map((map) => map.map((row) => row.map(() => 0.1))),
      { tokens: [["query", 1]], hidden },
    );
    expect(named(flat, [[1, 2]])).toContain("In L0 H0, “The” looks at no word in particular");
  });
  test("of resting places is said where the attention rests", () => {
    const rests = attention(random(7), 1, false);
    for (const row of rests[0] ?? []) row.fill(0.02).fill(0.8, 0, 1);
    const screen = screenOf(rests, { tokens: [["query", 5]], hidden });
    expect(named(screen, [[5, 0]])).toContain("(determiner to its noun), “she” looks at no word:");
    expect(named(screen, [[5, 9]])).toContain("In L0 H0, “she” looks at no word:");
  });
  test("that a reader wrote is said of every link", () => {
    const screen = screenOf(maps, { tokens: [["query", 5]], hidden });
    const labels: [Head, string][] = [[[0, 0, "self"], "mine"]];
    const explorer = { ...screen.explorer, labels };
    expect(said({ ...screen, explorer })).toContain("In L0 H0 (“mine”), “she” looks at");
  });
});

test("of a word that is looked at, the line says which words look", () => {
  const maps = attention(random(7), 1, false);
  for (const row of maps[0] ?? []) row.fill(0.02);
  maps[0]?.[5]?.fill(0.6, 2, 3);
  maps[0]?.[7]?.fill(0.5, 2, 3);
  const screen = screenOf(maps, { tokens: [["key", 2]] });
  expect(said(screen)).toBe(
    "In L0 H0, “nurse” is looked at most by “she” (60\u00a0%) and “tired” (50\u00a0%); even: 10\u00a0%.",
  );
  const pointed = { side: "key" as const, index: 2 };
  expect(said(screenOf(maps, { pointed }))).toBe(said(screen));
  expect(said(screenOf(maps, { tokens: [["key", 3]] }))).toContain(
    "“said” is looked at by no word in particular: most by “[CLS]”".replace("“[CLS]”", "[CLS]"),
  );
  // A locked word attends to the key under the pointer, which may be the word itself.
  const self = { tokens: [["query", 2]] as [Side, number][], pointed };
  expect(said(screenOf(maps, self))).toContain("“nurse” gives itself 2\u00a0% of its attention");
});

test("of a causal model, a link that stands out comes before a stronger one that does not", () => {
  const maps = attention(random(7), 1, true);
  for (const [query, row] of (maps[0] ?? []).entries()) row.fill(0.01, 0, query + 1);
  // "nurse" sees three words, "tired" eight.
  maps[0]?.[2]?.fill(0.6, 1, 2);
  expect(said(screenOf(maps))).toContain(
    "In L0 H0, no word stands out: the strongest link, “nurse” to “The”, has 60\u00a0%",
  );
  maps[0]?.[7]?.fill(0.5, 1, 2);
  expect(said(screenOf(maps))).toContain(
    "In L0 H0, the strongest link that stands out is “tired” to “The” (50\u00a0%); even: 13\u00a0%.",
  );
  expect(said(screenOf(maps, { tokens: [["key", 1]] }))).toBe(
    "In L0 H0, “The” is looked at by “tired” (50\u00a0%); even: 13\u00a0%.",
  );
});

test("of parts of a picture the line says parts, and between tokens it says tokens", () => {
  const flat = Array.from({ length: LAYERS * HEADS }, () =>
    Array.from({ length: N }, () => new Float32Array(N).fill(1 / N)),
  );
  const of = (
    change: { placed?: boolean[]; unit?: "tokens" | "words" },
    tokens: [Side, number][],
  ) => {
    const { unit = "words", placed } = change;
    const screen = screenOf(flat, { tokens });
    const axes = { ...AXES, unit, query: { ...AXIS, placed }, key: { ...AXIS, placed } };
    const tile = screen.view._tile && { ...screen.view._tile, unit };
    const view = { ...screen.view, unit, _axes: axes, _tile: tile };
    return said({ ...screen, view, grid: undefined });
  };
  const placed = SPECIAL.map((kind) => kind === "");
  expect(of({ placed }, [])).not.toContain("word");
  expect(of({ placed }, [["query", 5]])).toContain("looks at no part in particular");
  expect(of({}, [["query", 5]])).toContain("looks at no word in particular");
  expect(of({ unit: "tokens" }, [["query", 5]])).toContain("looks at no token in particular");
});

test("the line says that the model cannot read a script", () => {
  const maps = attention(random(7), 3, false);
  const screen = screenOf(maps, { tokens: [["query", 5]] });
  const reads = (unknown: number[], special = SPECIAL) => {
    const raw = WORDS.map((word, i) => (unknown.includes(i) ? "[UNK]" : word));
    const axes = { ...AXES, query: { ...AXIS, raw, special }, key: { ...AXIS, raw, special } };
    const explorer = { ...screen.explorer, _unknown: "[UNK]" };
    return said({ ...screen, explorer, view: { ...screen.view, _axes: axes } });
  };
  expect(reads([1, 2, 3, 4, 5, 6, 7])).toContain(
    "The model cannot read any of the 7 words: to it they are all the same, [UNK]. In L0 H0",
  );
  expect(reads([1, 2, 3, 4])).toContain("cannot read 4 of 7 words: to it");
  expect(reads([2])).not.toContain("cannot read");
  // The token before the text of a causal model is none of its words.
  const causal = SPECIAL.map((kind) => (kind === "cls" ? "first" : kind));
  expect(reads([1, 2, 3, 4, 5, 6, 7], causal)).toContain("cannot read any of the 7 words: to it");
  const special = WORDS.map((_, i) => (i === 5 ? "" : "cls"));
  expect(reads([5], special)).toContain(
    "The model cannot read the only word: to it, it is [UNK]. In L0 H0",
  );
});

test("a head that is pointed at has the same number as after a click", () => {
  const maps = attention(random(9), 6, false);
  const hidden = ["cls", "sep"] as ("cls" | "sep")[];
  const head: Head = [1, 1, "self"];
  const clicked = said(screenOf(maps, { selected: head, hidden }));
  const peeked = peekOf(maps, head, hidden);
  const map = maps[4] ?? [];
  const shown = [...SPECIAL.keys()].filter((i) => !SPECIAL[i]);
  const places = shown.flatMap((q) => shown.map((k) => [map[q]?.[k] ?? 0, q, k] as const));
  const [weight, query, key] = places.reduce((a, b) => (b[0] > a[0] ? b : a));
  const maxima = new Float32Array(LAYERS * HEADS).fill(0.5);
  const strongest = new Int32Array(2 * LAYERS * HEADS);
  maxima[4] = weight;
  strongest.set([query, key], 8);
  const screen = screenOf(maps, { hidden, peeked });
  const thumbnails = {
    stack: "self",
    quantity: "weights",
    unit: "words",
    hidden,
    signed: false,
    values: wireOf(new Uint8Array(LAYERS * HEADS), [LAYERS, HEADS, 1, 1]),
    maxima: wireOf(maxima, [LAYERS, HEADS]),
    strongest: wireOf(strongest, [LAYERS, HEADS, 2]),
  };
  const grid = screen.grid && { ...screen.grid, _thumbnails: thumbnails };
  expect(said({ ...screen, grid })).toBe(clicked);
});

test("an arc up to another line ends below the number of its word", () => {
  const maps = attention(random(5), 9, false);
  const reading = read(screenOf(maps, { tokens: [["query", 7]] }));
  const boxOf = (_: string, at: number) => ({
    x: 50 * at,
    y: at < 6 ? 0 : 50,
    width: 40,
    height: 27,
  });
  const marks = marksOf(reading);
  const above = arcsOf(reading, boxOf, false, THEMES.light).filter(({ key }) => key < 6);
  expect(above.length).toBeGreaterThan(0);
  for (const { key, path } of above) {
    const end = path.steps.at(-1)?.at(-1)?.[1] ?? 0;
    expect(end).toBeGreaterThan(marks.get(key)?.isNumbered ? 27 : 20);
    expect(end).toBeLessThan(50);
  }
});

test("arcs are as thick as their weights, and none is below the smallest link", () => {
  const next = random(5);
  for (let run = 0; run < 100; run++) {
    const reading = read(
      screenOf(attention(next, 1 + run / 10, false), { tokens: [["query", 3]] }),
    );
    const boxOf = (_: Side, at: number) => ({ x: 40 * at, y: 0, width: 30, height: 20 });
    const least = leastDrawn(reading.looks ?? { even: 1 });
    const arcs = arcsOf(reading, boxOf, true, THEMES.light);
    for (const { key, weight, look } of arcs) {
      expect(weight).toBeGreaterThanOrEqual(least);
      expect(look.width).toBeCloseTo(10 * weight);
      expect(key).not.toBe(3);
    }
    const drawn = [...(reading.looks?.row ?? [])].filter((w, i) => i !== 3 && w >= least).length;
    expect(arcs).toHaveLength(drawn);
  }
});

test("heads that send a pair are counted strictly, on the weights themselves", () => {
  const next = random(7);
  const maps = attention(next, 4, false);
  // Give two keys equal weights, so that neither is the largest.
  const tied = maps[0]?.[5];
  if (!tied) throw new Error("no row");
  tied.fill(0.05);
  tied[2] = tied[3] = 0.35;
  // Give key 6 most in a head that gives key 7 more, and less in a head that gives no key more.
  const divided = maps[1]?.[5];
  const clear = maps[2]?.[5];
  if (!divided || !clear) throw new Error("no row");
  for (const row of maps.map((of) => of[5])) if (row) row[6] = Math.min(row[6] ?? 0, 0.05);
  divided.fill(0.01);
  divided[6] = 0.4;
  divided[7] = 0.5;
  clear.fill(0.05);
  clear[6] = 0.3;
  const { grid } = screenOf(maps, { tokens: [["query", 5]] });
  const rows = grid?._rows;
  if (!rows) throw new Error("no rows");
  for (let key = 0; key < N; key++) {
    const expected = maps.filter((of) => {
      const row = [...(of[5] ?? [])];
      const weight = row[key] ?? 0;
      return weight >= 1.5 / N && row.every((other, i) => i === key || other < weight);
    });
    const { count, most } = pairCount(rows, key, AXES, []);
    expect(count).toBe(expected.length);
    // The named head is one of the counted heads, even if another head gives the key more.
    const weightOf = (of: Float32Array[]) => of[5]?.[key] ?? 0;
    const named = [...(count ? expected : maps)].sort((a, b) => weightOf(b) - weightOf(a))[0];
    if (!named) throw new Error("no head");
    const at = maps.indexOf(named);
    const head = [Math.floor(at / HEADS), at % HEADS];
    expect(most).toEqual(weightOf(named) < 0.1 ? undefined : { head, weight: weightOf(named) });
  }
  expect(pairCount(rows, 6, AXES, [])).toMatchObject({ count: 1, most: { head: [0, 2] } });
  const answers = wordAnswers(rows, AXES, ["cls", "sep"]);
  for (const [head, { other, weight, standsOut: stands }] of answers.entries()) {
    const row = [...(maps[head]?.[5] ?? [])].map((w, i) => (SPECIAL[i] ? 0 : w));
    expect(weight).toBe(Math.max(...row));
    expect(row[other]).toBe(weight);
    expect(stands).toBe(standsOut(weight, 1 / N));
  }
});

test("a locked key asks which visible word gives it most", () => {
  const next = random(3);
  const maps = attention(next, 4, false);
  const column = (map: Float32Array[]) => Float32Array.from(map, (row) => row[4] ?? 0);
  const flat = Float32Array.from(maps.flatMap((map) => [...column(map)]));
  const values = wireOf(flat, [LAYERS, HEADS, N]);
  const rows = { stack: "self", unit: "words", quantity: "weights", values };
  const answers = wordAnswers({ ...rows, side: "key", of: 4 }, AXES, ["cls", "sep"]);
  for (const [head, { other, weight, standsOut: stands }] of answers.entries()) {
    const weights = [...column(maps[head] ?? [])].map((w, i) => (SPECIAL[i] ? 0 : w));
    expect([other, weight]).toEqual([weights.indexOf(Math.max(...weights)), Math.max(...weights)]);
    expect(stands).toBe(standsOut(weight, 1 / N));
  }
});

describe("the cells of all heads", () => {
  const request: Request = {
    width: 700,
    theme: THEMES.light,
    density: 2,
    blank: false,
    dense: false,
    brief: false,
    caption: false,
  };
  const maps = attention(random(11), 9, false);
  const thumbnails = {
    stack: "self",
    quantity: "weights",
    unit: "words",
    hidden: [],
    values: wireOf(new Uint8Array(LAYERS * HEADS * 4), [LAYERS, HEADS, 2, 2]),
    maxima: wireOf(new Float32Array(LAYERS * HEADS), [LAYERS, HEADS]),
    strongest: wireOf(new Int32Array(2 * LAYERS * HEADS), [LAYERS, HEADS, 2]),
    disabled: [],
  };
  const drawn = (tokens: [Side, number][], cells: "answers" | "maps" = "answers") => {
    const { grid } = screenOf(maps, { tokens });
    if (!grid) throw new Error("no grid");
    const { sheet, caption } = drawPicture({ ...grid, cells, _thumbnails: thumbnails }, request);
    return { texts: [...sheet.pen.body.matchAll(/>([^<]+)<\/text>/g)].map(([, t]) => t), caption };
  };

  test("say where a locked word looks, with its share", () => {
    const { texts, caption } = drawn([["query", 5]]);
    for (const of of maps) {
      const row = [...(of[5] ?? [])];
      const most = Math.max(...row);
      if (!standsOut(most, 1 / N)) continue;
      expect(texts).toContain(String(Math.round(100 * most)));
      const word = row.indexOf(most) === 5 ? "self" : (WORDS[row.indexOf(most)] ?? "");
      expect(texts.some((text) => text && word.startsWith(text))).toBe(true);
    }
    expect(caption.notes.join()).toContain("cells: where “she” looks most");
  });
  test("say how much a locked word gives to a second one", () => {
    const { texts, caption } = drawn([
      ["query", 5],
      ["key", 2],
    ]);
    for (const of of maps) {
      const row = [...(of[5] ?? [])];
      const weight = row[2] ?? 0;
      if (weight >= 3 / N) expect(texts).toContain(String(Math.round(100 * weight)));
    }
    expect(caption.notes.join()).toContain("cells: attention from “she” to “nurse” in per cent");
  });
  test("show the maps where no reader has locked a word", () => {
    const { texts, caption } = drawn([["query", 5]], "maps");
    expect(texts).not.toContain("self");
    expect(caption.notes.join()).not.toContain("cells:");
  });
  test("have layers side by side where they get larger so", () => {
    const order = flipped(orderHeads(3, 2, undefined, ORDER));
    expect(order).toMatchObject({ rows: 2, cols: 3, heads: [0, 2, 4, 1, 3, 5] });
    expect(headIn(order, [1, 2])).toEqual([2, 1]);
    expect(cellOf(order, [2, 1])).toEqual([1, 2]);
  });
});

test.each([
  [0.995, "100"],
  [0.186, "19"],
  [0.0096, "1"],
  [0.009, "0.9"],
  [0.0004, "0"],
])("%s is %s %", (share, text) => expect(percentText(share)).toBe(`${text}\u00a0%`));

describe("words of the sentence", () => {
  const texts = (words: ReturnType<typeof wordsOf>) =>
    words.map(({ before, text }) => before + text).join("");

  test("are spelled and spaced as in the text", () => {
    const words = wordsOf(AXIS, [TEXT]);
    expect(texts(words.slice(1, -1))).toBe(TEXT);
    expect(words.map(({ kind }) => kind).filter((kind) => kind === "chip")).toHaveLength(2);
  });
  test("wordpieces and accents find their letters", () => {
    const text = ["[CLS]", "cafe", "##s", "sch", "##on", "!", "[SEP]"];
    const pieces = axis(text, ["cls", "", "", "", "", "", "sep"]);
    expect(texts(wordsOf(pieces, ["Cafés schön!"]).slice(1, -1))).toBe("Cafés schön!");
  });
  test("the first word of a causal model is a word, and a mark at the beginning is a chip", () => {
    const causal = axis(["When", "Mary", "came"], ["first", "", ""]);
    expect(wordsOf(causal, ["When Mary came"]).map(({ kind }) => kind)).toEqual([
      "first",
      "word",
      "word",
    ]);
    const marked = axis(["<|endoftext|>", "Mary"], ["first", ""]);
    expect(wordsOf(marked, ["Mary"])[0]?.kind).toBe("chip");
  });
  test("without a text, marks of the vocabulary say where spaces are", () => {
    const raw = ["Ġthe", "Ġca", "t", "."];
    const of = { ...axis([" the", " ca", "t", "."], ["", "", "", ""]), raw };
    expect(texts(wordsOf(of, []))).toBe("the cat.");
    expect(texts(wordsOf(axis(["我", "喜欢", "猫"], ["", "", ""]), ["我喜欢猫"]))).toBe("我喜欢猫");
  });
  test("of a long text or sound are no sentence", () => {
    const word = (index: number) => ({ index, text: "a", before: " ", kind: "word" as const });
    const few = [word(0), word(1)];
    const many = Array.from({ length: 1500 }, (_, index) => word(index));
    expect(fitsSentence({ query: few, key: few })).toBe(true);
    expect(fitsSentence({ query: few, key: many })).toBe(false);
    expect(fitsSentence({ query: many, key: few })).toBe(false);
  });

  test("of more than a hundred parts of a picture or a sound are left to the figure", () => {
    const part = (index: number) => ({ index, text: "", before: "", kind: "place" as const });
    const cls = { index: 0, text: "[CLS]", before: "", kind: "chip" as const };
    const few = [cls, ...Array.from({ length: 100 }, (_, i) => part(i + 1))];
    const many = [...few, part(101)];
    expect(inSentence(few)).toEqual(few);
    expect(inSentence(many)).toEqual([cls]);
    expect(fitsSentence({ query: many, key: many })).toBe(true);
    expect(fitsSentence({ query: many.slice(1), key: many.slice(1) })).toBe(false);
  });

  test("of numbers of the vocabulary have spaces, after the first one too", () => {
    const words = wordsOf(axis(["3", "126", "126"], ["first", "", ""]), []);
    expect(words.map((word) => word.before + shownText(word)).join("")).toBe("3 126 126");
    const marked = wordsOf(axis(["<s>", "126"], ["first", ""]), []);
    expect(marked.map(({ before }) => before)).toEqual(["", ""]);
  });

  test("that are parts of a picture are signs without spaces", () => {
    const of = { ...axis(["see", "r0c0", "r0c1", "it"], ["", "", "", ""]) };
    const words = wordsOf({ ...of, placed: [false, true, true, false] }, ["see it"]);
    expect(words.map((word) => word.before + shownText(word)).join("")).toBe("see ▪▪ it");
    expect(words.map(({ kind }) => kind)).toEqual(["word", "place", "place", "word"]);
  });

  test("that are padding after a sound are signs too", () => {
    const of = axis(["0.01 s", "0.02 s", "0.03 s"], ["", "padding", "padding"]);
    const words = wordsOf({ ...of, placed: [true, false, false] }, []);
    expect(words.map((word) => word.before + shownText(word)).join("")).toBe("▪▪▪");
  });

  test("of a chat begin a line with each message and its role, and fold the template", () => {
    const text = ["<s>", "<|im|>", "user", "Hi", "there", "<|end|>", "<|im|>", "bot", "Yes", "Yes"];
    const special = ["first", "other", "", "", "", "other", "other", "", "", ""];
    const chat: Axis = {
      ...axis(text, special),
      roles: ["template", "template", "template", "user", "user"].concat([
        "template",
        "template",
        "template",
        "assistant",
        "assistant",
      ]),
      turns: [null, null, null, 0, 0, null, null, null, 1, 1],
    };
    const words = wordsOf(chat, ["<s><|im|>user\nHi there<|end|>\n<|im|>bot\nYes Yes"]);
    expect(words.map(shownText)).toEqual([
      "<s>",
      "·",
      "·",
      "Hi",
      "there",
      "·",
      "·",
      "·",
      "Yes",
      "Yes",
    ]);
    // The line names template tokens by their spelling, although the sentence shows a dot.
    expect(words[2]?.text).toBe("user");
    expect(words.map(({ role }) => role).filter(Boolean)).toEqual(["user", "assistant"]);
    // The first line also begins with the role, before the template.
    expect([words[0]?.role, words[8]?.role]).toEqual(["user", "assistant"]);
    expect(words.map(({ before }) => before).join("|")).toBe("||| | ||||\n| ");
    const size = sentenceSize(words, 900, "Arial", tableRuler);
    expect([size.lines, size.hasArcs]).toEqual([2, false]);
    // A tool call follows the text of its message on the same line.
    const call: Axis = {
      ...axis(["Look", ":", "search"], ["", "", ""]),
      roles: ["assistant", "template", "assistant"],
      turns: [0, null, 0],
    };
    expect(wordsOf(call, ["Look:search"]).map(({ role }) => role)).toEqual([
      "assistant",
      undefined,
      undefined,
    ]);
  });
  test("a word that the vocabulary lacks stands in its place", () => {
    const of = axis(["[CLS]", "the", "[UNK]", "sat"], ["cls", "", "", ""]);
    const words = wordsOf(of, ["The 🦦 sat"]);
    expect(words.map(({ text }) => text)).toEqual(["[CLS]", "The", "[UNK]", "sat"]);
  });
});

test("the sentence is large in up to two and a half lines, and small without arcs above four", () => {
  const sentence = (count: number) =>
    wordsOf(axis(Array(count).fill("word"), Array(count).fill("")), [
      Array(count).fill("word").join(" "),
    ]);
  const size = (count: number, width = 1050) =>
    sentenceSize(sentence(count), width, "Arial", tableRuler);
  expect(size(15)).toMatchObject({ font: 20, lines: 1, hasArcs: true });
  expect(size(40)).toMatchObject({ font: 20, hasArcs: true });
  expect(size(60)).toMatchObject({ font: 17, hasArcs: true });
  expect(size(140)).toMatchObject({ font: 14, hasArcs: false });
  expect(size(10, 380)).toMatchObject({ font: 18, hasArcs: false });
  // Two texts take two lines, and arcs between them need as much space as several lines.
  const two = sentenceSize(sentence(12), 1050, "Arial", tableRuler, false);
  expect(two).toMatchObject({ lines: 2, hasArcs: true, leading: 2.5 });
  expect(sentenceSize(sentence(40), 1050, "Arial", tableRuler, false)).toEqual(size(40));
  // A smaller font size avoids a single word on the last line.
  const fonts = Array.from({ length: 40 }, (_, i) => size(20, 860 + 10 * i)).filter(
    ({ lines }) => lines === 1,
  );
  expect(new Set(fonts.map(({ font }) => font))).toEqual(new Set([18, 19, 20]));
});

describe("lines of the sentence", () => {
  const groups = (tokens: string[], text: string, special = tokens.map(() => "")) =>
    unbroken(wordsOf(axis(tokens, special), [text])).map((group) =>
      group.map(({ text }) => text).join(""),
    );

  test("break before no mark and within no word", () => {
    expect(groups(["Yes", ",", "(", "he", ")", "said", "."], "Yes, (he) said.")).toEqual([
      "Yes,",
      "(he)",
      "said.",
    ]);
    expect(groups(["the", "game", "##keeper", "##s"], "the gamekeepers")).toEqual([
      "the",
      "gamekeepers",
    ]);
  });

  test("break within scripts without spaces, beside chips, and in words longer than a line", () => {
    expect(groups(["我", "喜欢", "猫", "。"], "我喜欢猫。").slice(0, 2)).toEqual(["我", "喜欢"]);
    expect(groups(["[CLS]", "The"], "The", ["cls", ""])).toEqual(["[CLS]", "The"]);
    const long = Array<string>(20).fill("abcd");
    expect(groups(long, long.join("")).length).toBeGreaterThan(2);
  });
});

describe("clicks on words", () => {
  const click = (tokens: [Side, number][], index: number) =>
    chosenWords(tokens, { side: "query", index }, true);

  test("lock a word, make a pair, begin anew, and unlock", () => {
    expect(click([], 5)).toEqual([["query", 5]]);
    expect(click([["query", 5]], 2)).toEqual([
      ["query", 5],
      ["key", 2],
    ]);
    expect(
      click(
        [
          ["query", 5],
          ["key", 2],
        ],
        7,
      ),
    ).toEqual([["query", 7]]);
    expect(click([["query", 5]], 5)).toEqual([]);
  });
  test("of two texts, each side keeps its own word", () => {
    const key = { side: "key" as const, index: 4 };
    expect(chosenWords([["query", 1]], key, false)).toEqual([
      ["query", 1],
      ["key", 4],
    ]);
    expect(chosenWords([], key, false)).toEqual([["key", 4]]);
    const query = { side: "query" as const, index: 3 };
    expect(chosenWords([["query", 1]], query, false)).toEqual([["query", 3]]);
  });
  test("Escape takes back the pair, then the word", () => {
    const pair: [Side, number][] = [
      ["query", 5],
      ["key", 2],
    ];
    expect(withoutLast(pair)).toEqual([["query", 5]]);
    expect(withoutLast([["query", 5]])).toEqual([]);
  });
});

describe("the guess of the model", () => {
  const rows = [
    { answer: "he", token: "he", before: 0.3, after: 0.3 },
    { answer: "she", token: "she", before: 0.18, after: 0.18 },
    { answer: "they", token: "they", before: 0.15, after: 0.15 },
  ];
  const predictions = (change: object = {}): PredictionState =>
    ({
      tokens: [["query", 5]],
      _stacks: [STACK],
      unit: "words",
      _predictions: {
        task: "masked",
        reads: "text",
        position: 5,
        own: rows[1],
        piece: [1, 1],
        followed: "he",
        name: "he",
        model: "Bert",
        rows,
        off: [],
        links: [],
        method: "uniform",
        masks: true,
      },
      _effects: null,
      ...change,
    }) as unknown as PredictionState;
  const effects = (value: number, ofOthers: [she: number, they: number] = [0, 0]) => {
    const values = new Float32Array(LAYERS * HEADS);
    values[0] = value;
    values[4] = -0.2;
    const others = new Float32Array(2 * LAYERS * HEADS);
    for (const [i, change] of ofOthers.entries()) others[i * LAYERS * HEADS] = change;
    return {
      stack: "self",
      name: "he",
      followed: "he",
      others: { tokens: ["she", "they"], values: wireOf(others, [2, LAYERS, HEADS]) },
      versus: "",
      method: "uniform",
      estimate: false,
      values: wireOf(values, [LAYERS, HEADS]),
    };
  };
  const screen = () => screenOf(attention(random(2), 6, false), { tokens: [["query", 5]] });
  const line = (state: PredictionState) => {
    const now = screen();
    const reading = read(now);
    return lineText(lineOf(reading, now.grid, guessOf(reading, state)));
  };

  test("names the likeliest answer and the word of the text", () => {
    expect(line(predictions())).toContain(
      " Asked to guess “she”, the model says he 30\u00a0%, she 18\u00a0%.",
    );
    expect(line(predictions())).not.toContain("Without");
  });
  test("says what is without the head only where that is computed", () => {
    expect(line(predictions({ _effects: effects(0.004) }))).toContain(
      "Without this head, these answers change by less than a point.",
    );
    expect(line(predictions({ _effects: effects(0.04, [-0.02, 0]) }))).toContain(
      "Without this head: he 34\u00a0%, she 16\u00a0%.",
    );
    // The second answer changes by less than a percentage point, so it is left out.
    expect(line(predictions({ _effects: effects(0.04, [-0.008, 0]) }))).toContain(
      "Without this head: he 34\u00a0%.",
    );
    const estimate = { ...effects(0.04), estimate: true };
    expect(line(predictions({ _effects: estimate }))).not.toContain("Without");
  });
  test("looks at all shown answers before it says that none changes", () => {
    expect(line(predictions({ _effects: effects(0.001, [0.002, 0.03]) }))).toContain(
      "Without this head: they 15\u00a0% → 18\u00a0%.",
    );
    const ofOne = { ...effects(0.004), others: null };
    expect(line(predictions({ _effects: ofOne }))).not.toContain("Without");
  });
  test("has the effects of all heads, and none in layers without attention", () => {
    const reading = read(screen());
    const values = new Float32Array(LAYERS * HEADS);
    values.fill(Number.NaN, 0, HEADS);
    values[4] = -0.2;
    const found = { ...effects(0), values: wireOf(values, [LAYERS, HEADS]) };
    const guess = guessOf(reading, predictions({ _effects: found }));
    expect(guess?.effects).toMatchObject({ layers: LAYERS, heads: HEADS, stack: "self" });
    expect(guess?.effects?.values[4]).toBeCloseTo(-0.2);
    expect(guess?.answers[0]?.after).toBeUndefined();
    expect(guess?.changes).toBeUndefined();
  });
  test("tells answers apart that are spelled alike, and marks the ends of words", () => {
    const reading = read(screen());
    const { _predictions: asked } = predictions();
    const alike = [
      { answer: "her", token: "her", before: 0.3, after: 0.3 },
      { answer: "her", token: "Ġher", before: 0.2, after: 0.2 },
      { answer: "##h", token: "##h", before: 0.1, after: 0.1 },
    ];
    const own = { answer: "her", token: "Ġher", before: 0.2, after: 0.2 };
    const guess = guessOf(
      reading,
      predictions({ _predictions: { ...asked, rows: alike, own, followed: "her" } }),
    );
    expect(guess?.answers.map(({ text, isOwn }) => [text, isOwn])).toEqual([
      ["…her", false],
      ["her", true],
      ["…h", false],
    ]);
    const found = { ...effects(0.04), followed: "Ġher" };
    const other = predictions({
      _predictions: { ...asked, rows: alike, own, followed: "her" },
      _effects: found,
    });
    expect(guessOf(reading, other)?.answers[1]?.after).toBeUndefined();
  });
  test("says that the first piece of a word is guessed, and how likely the word is", () => {
    const { _predictions: asked } = predictions();
    const own = { answer: "mathematician", token: "", before: 0.002, after: 0.002 };
    const piece = (number: number) => ({ ...asked, own, piece: [number, 4] });
    expect(line(predictions({ _predictions: piece(1) }))).toContain(
      " Asked to guess the first of the 4 pieces of “mathematician”, the model says " +
        "he 30\u00a0%, she 18\u00a0%. All 4 pieces: 0.2\u00a0%.",
    );
    const second = { ...piece(2), own: rows[1] };
    expect(line(predictions({ _predictions: second }))).toContain(
      " Asked to guess “she”, piece 2 of the 4 of its word, the model says he 30\u00a0%",
    );
    const rare = { ...piece(1), own: { ...own, before: 1e-9 } };
    expect(line(predictions({ _predictions: rare }))).toContain("All 4 pieces: under 0.1\u00a0%.");
  });
  test("quotes punctuation and keeps the order of right-to-left answers", () => {
    const { _predictions: asked } = predictions();
    const says = (texts: string[], change: object = {}) => {
      const spelled = texts.map((answer, i) => ({ ...rows[i], answer, ...change }));
      return line(predictions({ _predictions: { ...asked, own: null, rows: spelled } }));
    };
    expect(says([",", "of"])).toContain("the model says “,” 30\u00a0%, of 18\u00a0%.");
    expect(says(["\u05e9\u05dc\u05d5\u05dd"])).toContain(
      "the model says \u2067\u05e9\u05dc\u05d5\u05dd\u2069 30\u00a0%.",
    );
    expect(says(["."], { before: 0.03 })).toContain(
      "“she”, the model has no guess (“.” 3\u00a0%).",
    );
  });
  test("of a class without a clear winner no word is named", () => {
    const { _predictions: asked } = predictions();
    const weak = rows.map((row) => ({ ...row, before: 0.02 }));
    const text = line(predictions({ _predictions: { ...asked, task: "class", rows: weak } }));
    expect(text).toContain(" The model has no guess (he 2\u00a0%).");
  });
  test("has one title and one name of the second bar on a page and in a picture", () => {
    const reading = read(screen());
    const title = (state: PredictionState) => {
      const guess = guessOf(reading, state);
      if (!guess) throw new Error("no guess");
      const { lead, word, rest } = askedOf(guess, reading);
      return `${lead}${word}${rest} says | ${afterName(guess, reading.head)}`;
    };
    const { _predictions: asked } = predictions();
    expect(title(predictions())).toBe("Asked to guess she, the model says | ");
    expect(title(predictions({ _effects: effects(0.04) }))).toContain("| without L0 H0");
    const off = { ...asked, off: [[0, 0, "self"]], task: "class" };
    expect(title(predictions({ _predictions: off }))).toBe("The model says | with heads off");
  });
  test("has effects of the followed answer, with its present probability", () => {
    const reading = read(screen());
    const found = effects(0.04);
    expect(guessOf(reading, predictions({ _effects: found }))?.effects).toMatchObject({
      name: "he",
      probability: 0.3,
      areOthersOff: false,
      method: "uniform",
    });
    const { _predictions: asked } = predictions();
    const without = rows.map((row) => ({ ...row, after: 0.2 }));
    const off = { ...asked, off: [[1, 1, "self"]], rows: without };
    expect(
      guessOf(reading, predictions({ _predictions: off, _effects: found }))?.effects,
    ).toMatchObject({ probability: 0.2, areOthersOff: true });
    const estimate = { ...found, estimate: true };
    expect(guessOf(reading, predictions({ _effects: estimate }))?.effects).toBeUndefined();
  });
  test("is silent about another word than the one that was asked about", () => {
    const reading = read(screen());
    expect(guessOf(reading, predictions({ tokens: [["query", 2]] }))).toBeUndefined();
  });
  test("is about the word after a text while no word is active, in causal models only", () => {
    const now = screenOf(attention(random(2), 6, false), { tokens: [] });
    const reading = read(now);
    const after = (change: object) => {
      const { _predictions: asked } = predictions();
      return predictions({ tokens: [], _predictions: { ...asked, task: "next", ...change } });
    };
    const guess = guessOf(reading, after({ position: STACK.n_query }));
    expect(guess?.answers[0]).toMatchObject({ text: "he", before: 0.3 });
    const line = lineText(lineOf(reading, now.grid, guess));
    expect(line).toContain(" Next token: the model says he 30\u00a0%, she 18\u00a0%.");
    expect(guessOf(reading, after({ task: "masked" }))).toBeUndefined();
    expect(guessOf(reading, predictions())).toBeUndefined();
  });
  test("has five answers, and the word of the text among them", () => {
    const texts = ["he", "they", "you", "we", "it", "she"];
    const many = texts.map((answer, i) => ({ ...rows[0], answer, before: 0.2 - 0.03 * i }));
    const { _predictions: asked } = predictions();
    const listed = many.map((row) => ({ ...row, token: row.answer }));
    const own = { ...rows[1], before: 0.05 };
    const now = { ...asked, rows: listed.slice(0, 5), own };
    const guess = guessOf(read(screen()), predictions({ _predictions: now }));
    const names = guess?.answers.map(({ text, isOwn }) => [text, isOwn]);
    const four = texts.slice(0, 4).map((text) => [text, false]);
    expect(names).toEqual([...four, ["she", true]]);
  });
});
