import { html, render } from "lit-html";
import { expect, test, vi } from "vitest";
import { captioned, saveMenu } from "../src/shared/save_menu.js";

type Listener = (answer: object, buffers: DataView[]) => void;

/** Return a menu on the page, and the kernel that it asks. */
function onPage() {
  const asked: { id: string; format: string }[] = [];
  let listener: Listener | undefined;
  const model = {
    send: (content: { id: string; format: string }) => asked.push(content),
    on: (_: string, heard: Listener) => {
      listener = heard;
    },
    off: () => {},
  };
  const inner = document.createElement("div");
  document.body.replaceChildren(inner);
  const end = new AbortController();
  const box = saveMenu(document, model, end.signal);
  const draw = () => render(captioned(box, html`<p data-caption></p>`), inner);
  draw();
  const button = box.querySelector<HTMLButtonElement>(".attnw-save-button");
  const menu = box.querySelector<HTMLElement>("[role=menu]");
  if (!button || !menu) throw new Error("there is no menu");
  const answer = (of: object, buffers: DataView[] = []) =>
    listener?.({ kind: "attnwidget-saved", id: asked.at(-1)?.id, ...of }, buffers);
  const press = (key: string) => {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    document.activeElement?.dispatchEvent(event);
  };
  const items = [...menu.querySelectorAll("button")];
  return {
    inner,
    draw,
    box,
    button,
    menu,
    items,
    asked,
    answer,
    press,
    said: () => box.querySelector("p")?.textContent,
  };
}

test("without a kernel there is nothing to press", () => {
  const inner = document.createElement("div");
  const box = saveMenu(document, { get: () => null }, new AbortController().signal);
  render(captioned(box, html`<p data-caption></p>`), inner);
  const details = inner.querySelector("button");
  expect([...(inner.firstElementChild?.children ?? [])].map(({ tagName }) => tagName)).toEqual([
    "BUTTON",
    "P",
  ]);
  details?.click();
  expect([details?.textContent, details?.getAttribute("aria-expanded")]).toEqual([
    "details",
    "true",
  ]);
});

test("it stands with the caption, once", () => {
  const { inner, box, draw } = onPage();
  draw();
  expect(inner.children).toHaveLength(1);
  const caption = inner.querySelector("[data-caption]");
  const fold = inner.querySelector(".attnw-fold");
  expect([...(inner.firstElementChild?.children ?? [])]).toEqual([box, fold, caption]);
});

test("the keyboard opens it, moves in it and closes it, unheard by the figure", () => {
  const { inner, button, menu, items, press } = onPage();
  const listener = vi.fn();
  inner.addEventListener("keydown", ({ key }) => listener(key));
  button.focus();
  press("[");
  press("Enter");
  button.click();
  expect([menu.hidden, button.getAttribute("aria-expanded")]).toEqual([false, "true"]);
  expect(document.activeElement).toBe(items[0]);
  press("ArrowRight");
  expect(document.activeElement).toBe(items[1]);
  press("End");
  press("ArrowDown");
  expect(document.activeElement).toBe(items[0]);
  press("Escape");
  expect([menu.hidden, document.activeElement]).toEqual([true, button]);
  press("Escape");
  expect(listener.mock.calls.flat()).toEqual(["[", "Escape"]);
});

test("a file is asked for, and downloaded under the name that it came with", () => {
  vi.useFakeTimers();
  const { button, items, asked, answer, said } = onPage();
  const files: Blob[] = [];
  vi.stubGlobal("URL", {
    createObjectURL: (file: Blob) => files.push(file) && "blob:1",
    revokeObjectURL: () => {},
  });
  const clicked: string[] = [];
  const click = vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (
    this: HTMLAnchorElement,
  ) {
    clicked.push(this.download);
  });
  button.click();
  items[0]?.click();
  expect(asked.map(({ format }) => format)).toEqual(["svg"]);
  const bytes = new DataView(new TextEncoder().encode("<svg/>").buffer);
  answer({ id: "another", name: "no.svg", type: "image/svg+xml" }, [bytes]);
  expect(clicked).toEqual([]);
  answer({ name: "head-view.svg", type: "image/svg+xml" }, [bytes]);
  expect([clicked, files.map(({ type, size }) => [type, size])]).toEqual([
    ["head-view.svg"],
    [["image/svg+xml", 6]],
  ]);
  expect(said()).toBe("head-view.svg");
  vi.advanceTimersByTime(6_000);
  expect(said()).toBe("");
  click.mockRestore();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test("what went wrong is said, and so is a kernel that does not answer", () => {
  vi.useFakeTimers();
  const { button, items, answer, said } = onPage();
  button.click();
  items[1]?.click();
  answer({ error: "no <font>" });
  vi.advanceTimersByTime(60_000);
  expect(said()).toBe("Not saved: no <font>");
  button.click();
  items[1]?.click();
  vi.advanceTimersByTime(10_000);
  expect(said()).toContain("run the cell again");
  vi.useRealTimers();
});

test("the code is copied, or shown where the clipboard is not ours", async () => {
  const { box, button, items, asked, answer, said } = onPage();
  const writeText = vi.fn(() => Promise.resolve());
  vi.stubGlobal("navigator", { clipboard: { writeText } });
  button.click();
  items.at(-1)?.click();
  expect(asked.at(-1)?.format).toBe("code");
  answer({ text: "HeadView(attention)" });
  await vi.waitFor(() => expect(said()).toBe("code copied"));
  expect(writeText).toHaveBeenCalledWith("HeadView(attention)");
  vi.stubGlobal("navigator", {});
  button.click();
  items.at(-1)?.click();
  answer({ text: "HeadView(attention)" });
  await vi.waitFor(() => expect(box.querySelector("textarea")?.value).toBe("HeadView(attention)"));
  vi.unstubAllGlobals();
});
