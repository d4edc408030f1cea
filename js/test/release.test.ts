// @vitest-environment node
import { expect, test } from "vitest";
import { releasing } from "../src/shared/release.js";
import { fakeModel } from "./fake_model.js";

test("a closed model keeps neither its arrays nor the code of its figure", () => {
  const model = fakeModel<Record<string, unknown>>({
    _esm: "export default {}",
    _css: ".attnw-root {}",
    _maps: new DataView(new ArrayBuffer(8)),
    selected: [[1, 2, "self"]],
  });
  const controller = new AbortController();
  releasing<Record<string, unknown>>("_maps")({ model, signal: controller.signal });
  expect(model.get("_esm")).toBe("export default {}");
  controller.abort();
  for (const name of ["_esm", "_css", "_maps"]) expect(model.get(name)).toBeUndefined();
  expect(model.get("selected")).toEqual([[1, 2, "self"]]);
  expect(model.sent).toEqual([]);
});
