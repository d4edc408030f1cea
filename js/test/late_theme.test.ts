import { expect, test, vi } from "vitest";
import headView from "../src/head_view/widget.js";
import { mounted } from "./mounted.js";
import { viewState } from "./view_state.js";

test("a style sheet that arrives late changes the theme of a figure", async () => {
  const { el, find } = await mounted(headView(), viewState());
  const root = find(".attnw-root");
  const theme = () => root.dataset.theme;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    el.style.backgroundColor = "rgb(255, 255, 255)";
    document.body.dataset.changed = "dark";
    await Promise.resolve();
    // Wait until the last check of the theme after the attribute has changed.
    vi.advanceTimersByTime(2000);
    expect(theme()).toBe("light");
    el.style.backgroundColor = "rgb(17, 17, 17)";
    const sheet = document.createElement("link");
    document.head.append(sheet);
    sheet.dispatchEvent(new Event("load"));
    expect(theme()).toBe("dark");
    sheet.remove();
  } finally {
    delete document.body.dataset.changed;
    vi.useRealTimers();
  }
});
