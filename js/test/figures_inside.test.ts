import { expect, test } from "vitest";
import {
  answerLocks,
  hostOf,
  type ModelledFigure,
  namesInside,
} from "../src/page/figures_inside.js";
import { localModel } from "../src/shared/page/local_model.js";

const figure = (name: string, state: object, children?: Record<string, string>) =>
  ({
    figure: { name, children },
    linked: { model: localModel(state) },
  }) as unknown as ModelledFigure;

test("a figure with panels finds the figures in them, and the cells answer once a word is locked", async () => {
  const grid = figure("head_grid", { cells: "maps" });
  const explorer = figure("explorer", { tokens: [] }, { grid: "head_grid", view: "head_view" });
  const all = [explorer, grid];
  expect([...namesInside(all.map((of) => of.figure))]).toEqual(["head_grid", "head_view"]);
  answerLocks(all);
  const cells = () => (grid.linked.model.get as (name: string) => unknown)("cells");
  expect(cells()).toBe("maps");
  (explorer.linked.model.set as (name: string, value: unknown) => void)("tokens", [["query", 1]]);
  expect(cells()).toBe("answers");
  const drawn: string[] = [];
  const host = hostOf(all, (name) => drawn.push(name));
  expect(await host.getModel("head_grid")).toBe(grid.linked.model);
  const { signal } = new AbortController();
  (await host.getWidget("head_grid")).render({ el: document.body, signal });
  expect(drawn).toEqual(["head_grid"]);
  await expect(host.getWidget("head_view")).rejects.toThrow("damaged");
});
