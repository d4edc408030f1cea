// @vitest-environment node
import { afterEach, expect, test, vi } from "vitest";
import { onPeek, type Peeked, peekOut } from "../src/shared/peek.js";

const PEEKED: Peeked = {
  head: [1, 2, "self"],
  quantity: "weights",
  unit: "tokens",
  hidden: [],
  rows: 1,
  cols: 2,
  values: new Uint8Array([255, 0]),
  maximum: 1,
};

let page = new AbortController();
afterEach(() => {
  page.abort();
  page = new AbortController();
});

test("only figures of the same circle hear of a head, and the one that points is told", () => {
  const listener = vi.fn();
  onPeek(page.signal, () => "here", listener);
  expect(peekOut("here", PEEKED)).toBe(true);
  expect(peekOut("elsewhere", PEEKED)).toBe(false);
  expect(peekOut("here", null)).toBe(true);
  expect(listener.mock.calls).toEqual([[PEEKED], [null]]);
});

test("a figure alone hears nothing, and none after it has left", () => {
  const listener = vi.fn();
  onPeek(page.signal, () => "", listener);
  expect(peekOut("", PEEKED)).toBe(false);
  onPeek(page.signal, () => "here", listener);
  page.abort();
  expect(peekOut("here", PEEKED)).toBe(false);
  expect(listener).not.toHaveBeenCalled();
});

test("who cannot show the head says so", () => {
  onPeek(
    page.signal,
    () => "here",
    () => false,
  );
  expect(peekOut("here", PEEKED)).toBe(false);
});

test("a bundle with a module of its own hears it too", async () => {
  const listener = vi.fn();
  onPeek(page.signal, () => "here", listener);
  vi.resetModules();
  const other = await import("../src/shared/peek.js");
  expect(other.peekOut).not.toBe(peekOut);
  expect(other.peekOut("here", PEEKED)).toBe(true);
  expect(listener).toHaveBeenCalledWith(PEEKED);
});
