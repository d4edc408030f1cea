// @vitest-environment node
import { expect, test } from "vitest";
import { reportChanges } from "../src/shared/reported_changes.js";
import { fakeModel } from "./fake_model.js";

function figure() {
  const listeners = new Set<(message?: unknown) => void>();
  const model = Object.assign(fakeModel<Record<string, unknown>>({ _changes_reported: 0 }), {
    send: () => {},
    on: (event: string, callback: (message?: unknown) => void) => {
      if (event === "msg:custom") listeners.add(callback);
    },
    off: (_: string, callback: (message?: unknown) => void) => void listeners.delete(callback),
  });
  const page = new AbortController();
  reportChanges<Record<string, unknown>>({ model, signal: page.signal });
  const hear = (message: unknown) => {
    for (const callback of [...listeners]) callback(message);
  };
  return { model, page, hear };
}

test("a change that the kernel asks about is reported once", () => {
  const { model, hear } = figure();
  hear({ changes: 1 });
  hear({ changes: 2 });
  expect(model.sent).toEqual([{ _changes_reported: 1 }, { _changes_reported: 2 }]);
});

test("other messages of the kernel are not answered", () => {
  const { model, hear } = figure();
  hear({ asked: 0.5 });
  hear(undefined);
  expect(model.sent).toEqual([]);
});

test("a closed model reports nothing", () => {
  const { model, page, hear } = figure();
  page.abort();
  hear({ changes: 1 });
  expect(model.sent).toEqual([]);
});
