import { render } from "lit-html";
import { expect, test } from "vitest";
import { lineView } from "../src/explorer/line_view.js";
import { plain } from "../src/explorer/sentence/line.js";

test("a word that is written from right to left does not turn the words beside it", () => {
  const el = document.createElement("div");
  const line = [plain("In L4 H4, "), { text: "“لأن”", style: "to" as const }, plain(" (72 %).")];
  render(
    lineView(line, () => {}, true),
    el,
  );
  // An element with a `dir` attribute isolates its direction. A `bdi` element would take the
  // direction of the word, so that its quotes would swap sides.
  expect(el.querySelector('[dir="ltr"]')?.textContent).toBe("“لأن”");
  expect(el.querySelector("bdi")).toBeNull();
  expect(el.textContent).toBe("In L4 H4, “لأن” (72 %).");
});
