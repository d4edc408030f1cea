import { nothing } from "lit-html";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LOST, WAITING } from "../src/shared/kernel_connection.js";
import { mount } from "../src/shared/mount.js";

type Status = { content: { execution_state: string } };
type Told = { iopub: { status(message: Status): void } };
const IDLE = { content: { execution_state: "idle" } };

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  page.abort();
  page = new AbortController();
  document.body.replaceChildren();
  vi.useRealTimers();
});
let page = new AbortController();

/**
 * Return a figure and its kernel. `asked` holds the questions, and `answer` replies to the last
 * one.
 */
function figure(parent: HTMLElement = document.body, kernel?: { status: string } | null) {
  const asked: unknown[] = [];
  const heard = new Set<(message?: unknown) => void>();
  let told: Told | undefined;
  const model = {
    get: () => undefined as never,
    set: () => {},
    on: (event: string, callback: (message?: unknown) => void) => {
      if (event === "msg:custom") heard.add(callback);
    },
    off: () => {},
    save_changes: () => {},
    send(content: unknown, callbacks?: unknown) {
      asked.push(content);
      told = callbacks as Told;
    },
    ...(kernel === undefined ? {} : { widget_manager: { kernel } }),
  };
  const { root, inner } = mount({ model, el: parent, signal: page.signal }, "figure", [], {
    view: () => nothing,
  });
  return {
    root,
    inner,
    model,
    asked,
    answer: () => {
      for (const callback of heard) callback(asked.at(-1));
    },
    done: () => told?.iopub.status(IDLE),
    note: () => root.querySelector<HTMLElement>(":scope > .attnw-link"),
    choose: () => model.save_changes(),
  };
}

test("a change that is answered says nothing", () => {
  const { choose, answer, done, note, root, asked } = figure();
  choose();
  choose();
  expect(asked).toHaveLength(1);
  answer();
  done();
  vi.advanceTimersByTime(5000);
  expect([note()?.hidden, root.dataset.link]).toEqual([true, "live"]);
});

test("a kernel that is through without an answer does not know the figure", () => {
  const { choose, done, note, root, inner } = figure();
  choose();
  done();
  vi.advanceTimersByTime(300);
  expect([note()?.textContent, root.dataset.link, inner.ariaDisabled]).toEqual([
    LOST,
    "lost",
    "true",
  ]);
});

test("a busy kernel is waited for, however long it takes", () => {
  const { choose, answer, note, root } = figure(document.body, { status: "busy" });
  choose();
  vi.advanceTimersByTime(60_000);
  expect([note()?.textContent, root.dataset.link]).toEqual([WAITING, "waiting"]);
  answer();
  expect([note()?.hidden, root.dataset.link]).toEqual([true, "live"]);
});

test.each([null, { status: "dead" }, { status: "autorestarting" }])(
  "a kernel that is gone (%o) is said within two seconds",
  (kernel) => {
    const { choose, note } = figure(document.body, kernel);
    choose();
    vi.advanceTimersByTime(1900);
    expect(note()?.textContent).toBe(LOST);
  },
);

test("a comm that refuses, and a view that Jupyter marks as disconnected, are lost at once", () => {
  const refused = figure();
  refused.model.send = () => {
    throw new Error("Cannot send");
  };
  refused.choose();
  expect(refused.note()?.textContent).toBe(LOST);
  const place = document.createElement("div");
  place.className = "jupyter-widgets-disconnected";
  document.body.append(place);
  const marked = figure(place);
  marked.choose();
  expect(marked.note()?.textContent).toBe(LOST);
});

test("the other figures of the page ask too, and only those without an answer are lost", () => {
  const first = figure();
  const second = figure();
  const third = figure();
  first.choose();
  first.done();
  vi.advanceTimersByTime(300);
  expect([second.asked.length, third.asked.length]).toEqual([1, 1]);
  second.done();
  third.answer();
  third.done();
  vi.advanceTimersByTime(300);
  expect([first, second, third].map(({ root }) => root.dataset.link)).toEqual([
    "lost",
    "lost",
    "live",
  ]);
});

test("a panel asks through the figure that holds it", () => {
  const outer = figure();
  const panel = figure(outer.inner);
  panel.choose();
  expect([outer.asked.length, panel.asked.length]).toEqual([1, 1]);
});

test("an answer that comes late after all connects the figure again", () => {
  const { choose, done, answer, note } = figure();
  choose();
  done();
  vi.advanceTimersByTime(300);
  answer();
  expect(note()?.hidden).toBe(true);
});
