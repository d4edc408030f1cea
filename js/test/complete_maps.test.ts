// @vitest-environment node
import { expect, test } from "vitest";
import { completeTile, mapsTogether, ownMap } from "../src/head_view/source/complete_maps.js";
import type { BlockMaps } from "../src/head_view/source/tile_types.js";
import { wire } from "../src/shared/page/embedded_maps.js";
import type { Head } from "../src/shared/types.js";
import { weights } from "./four_tokens.js";
import { heads, maps, second, severalState } from "./two_heads.js";
import { tileOf, viewState } from "./view_state.js";

const own: Head = [1, 5, "self"];
const tile = tileOf(wire(Float32Array.from(weights.flat()), [4, 4]));
const blocks: BlockMaps = {
  complete: false,
  heads: [own],
  stack: "self",
  quantity: "weights",
  unit: "tokens",
  hidden: [],
  sentences: "all",
  n_query: 4,
  n_key: 4,
  step: 4,
  maxima: [0.5],
  shares: [0, 0],
  values: wire(Float32Array.of(0.5), [1, 1, 1]),
  first: null,
  links: [[]],
};

test("the tile of a short input is the whole map of its head alone", () => {
  const state = viewState({ _tile: tile });
  expect([...(ownMap(state, own) ?? [])]).toEqual([...Float32Array.from(weights.flat())]);
  expect(ownMap(state, [1, 6, "self"])).toBeUndefined();
  expect(ownMap({ ...state, quantity: "norms" }, own)).toBeUndefined();
  expect(ownMap({ ...state, unit: "words" }, own)).toBeUndefined();
});

test("a tile of maps in blocks is no whole map", () => {
  const state = viewState({ _tile: tile, _maps: blocks });
  expect(completeTile(state)).toBeUndefined();
  expect(ownMap(state, own)).toBeUndefined();
  expect(mapsTogether(state, [own])).toBeUndefined();
});

test("maps together are there if the page has every one of them", () => {
  const state = severalState();
  const [last] = mapsTogether(state, [heads[1] as Head]) ?? [];
  expect([...(last ?? [])]).toEqual([...Float32Array.from(second.flat())]);
  expect(mapsTogether(state, heads)).toHaveLength(2);
  expect(mapsTogether(state, [...heads, own])).toBeUndefined();
});

test("one head in two attentions has the two maps in order", () => {
  const head = heads[0] as Head;
  const state = severalState({ _maps: { ...maps, heads: [head, head] } });
  const [first, other] = mapsTogether(state, [head, head]) ?? [];
  expect([...(first ?? [])]).toEqual([...Float32Array.from(weights.flat())]);
  expect([...(other ?? [])]).toEqual([...Float32Array.from(second.flat())]);
});
