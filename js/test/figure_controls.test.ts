import { html } from "lit-html";
import { describe, expect, test } from "vitest";
import { viewMenu } from "../src/explorer/view_menu.js";
import { type Control, choice, controlView } from "../src/shared/controls.js";
import { withControls } from "../src/shared/figure_controls.js";
import { keyList } from "../src/shared/key_list.js";
import { mount } from "../src/shared/mount.js";
import { drawnControls, hideControl, labelControl } from "../src/shared/shared_controls.js";
import { save } from "../src/shared/snapshot.js";
import type { RenderContext, SharedState } from "../src/shared/types.js";
import { fakeModel } from "./fake_model.js";
import { axes } from "./four_tokens.js";
import { frame, mounted } from "./mounted.js";

interface State extends SharedState {
  mode: "lines" | "matrix";
  framed: boolean;
  share: number;
}

const state = (change: Partial<State> = {}): State => ({
  selected: [[1, 5, "self"]],
  layer: 1,
  tokens: [["query", 1]],
  hidden: [],
  quantity: "weights",
  unit: "tokens",
  scale: "absolute",
  disabled: [],
  method: null,
  labels: [],
  _source: { model: "m", note: "", loss: "" },
  _quantities: ["weights", "norms"],
  _axes: axes,
  _stacks: [],
  _error: "",
  _circle: "",
  mode: "lines",
  framed: false,
  share: 0.8,
  ...change,
});

const WATCHED = Object.keys(state()) as (keyof State)[];

/** Return a figure with a control in each position, including shared controls. */
const figure = (name: string) => ({
  render(context: RenderContext<State>): void {
    const { model, signal } = context;
    const place = withControls(mount(context, name, WATCHED, { view }), signal);
    const keys = keyList([["x", "y"]], place, signal);
    const controls = (): Control[] => [
      choice<State["mode"]>({
        name: "mode",
        place: "bar",
        look: "buttons",
        values: ["lines", "matrix"],
        value: model.get("mode"),
        change: (mode) => save(model, { mode }),
      }),
      {
        kind: "tick",
        name: "framed",
        place: "bar",
        label: "frame the diagonal",
        hint: "a frame a token",
        value: model.get("framed"),
        change: (framed) => save(model, { framed }),
        hidden: model.get("mode") === "lines",
      },
      hideControl(model, (kind) => ({ cls: "[CLS]", sep: "[SEP]", first: undefined })[kind]),
      ...drawnControls(model),
      {
        kind: "range",
        name: "share",
        place: "menu",
        max: 100,
        value: Math.round(100 * model.get("share")),
        text: `${Math.round(100 * model.get("share"))} %`,
        change: (share) => save(model, { share: share / 100 }),
      },
      labelControl(model),
    ];
    function view(): unknown {
      return html`<p class="row">${place.bar(place.own(controls()))}${keys.button()}</p>`;
    }
  },
});

/** Return an explorer with a menu around figures. `told` receives the function that redraws it. */
const explorer = (told: (schedule: () => void) => void) => ({
  render(context: RenderContext<{ _error: string }>): void {
    const { signal } = context;
    const place = mount(context, "ex", [], { view });
    told(place.schedule);
    const menu = viewMenu(place, signal);
    function view(): unknown {
      const way = menu.control("mode");
      return html`<div class="ex-row">${way && controlView(way)}${menu.view("mode")}</div
        ><div class="slot"></div>`;
    }
  },
});

async function explored(...names: string[]) {
  let schedule = () => {};
  const around = await mounted(
    explorer((place) => {
      schedule = place;
    }),
    { _error: "" },
  );
  const figures = names.map((name) => {
    const model = fakeModel(state());
    const el = around.find(".slot").appendChild(document.createElement("section"));
    const controller = new AbortController();
    figure(name).render({ model, el, signal: controller.signal });
    return { model, el, leave: () => controller.abort() };
  });
  await frame();
  return { ...around, figures, schedule };
}

/** Return the names of the offered controls inside an element, in their order. */
const offered = (within: Element | null) => [
  ...new Set(
    [...(within?.querySelectorAll<HTMLElement>("[data-control]") ?? [])]
      .filter((control) => !control.closest("label[hidden], [data-label][hidden]"))
      .map((control) => control.dataset.control),
  ),
];

function pick(control: HTMLSelectElement | HTMLInputElement, value: string): void {
  control.value = value;
  const type = control.type === "range" ? "input" : "change";
  control.dispatchEvent(new Event(type, { bubbles: true }));
}

describe("a figure alone", () => {
  test("has what answers the first question in its bar, and the rest in its menu", async () => {
    const { el, find, model } = await mounted(figure("view"), state());
    const [menu, button] = [find(".attnw-menu"), find(".attnw-menu-button")];
    expect(offered(menu)).toEqual(["quantity", "unit", "scale", "share", "label"]);
    expect(offered(el).filter((name) => !offered(menu).includes(name))).toEqual([
      "mode",
      "cls",
      "sep",
      "keys",
    ]);
    expect([menu.hidden, button.getAttribute("aria-expanded")]).toEqual([true, "false"]);
    button.click();
    expect([menu.hidden, button.getAttribute("aria-expanded")]).toEqual([false, "true"]);
    find("[data-value=matrix]").click();
    await frame();
    expect(offered(el)).toContain("framed");
    const framed = find<HTMLInputElement>("[data-control=framed]");
    expect(framed.closest("label")?.title).toBe("a frame a token");
    framed.click();
    pick(find<HTMLSelectElement>("[data-control=unit]"), "words");
    pick(find<HTMLInputElement>("[data-control=share]"), "50");
    expect(model.sent).toEqual([
      { mode: "matrix" },
      { framed: true },
      { tokens: [], unit: "words" },
      { share: 0.5 },
    ]);
    await frame();
    expect(find(".attnw-menu output").textContent).toBe("50 %");
  });

  test("closes its menu with its button and Escape alone, and keeps letters", async () => {
    const { el, find } = await mounted(figure("view"), state());
    const [menu, button] = [find(".attnw-menu"), find(".attnw-menu-button")];
    const keys: string[] = [];
    el.addEventListener("keydown", ({ key }) => keys.push(key));
    const press = (key: string) =>
      find(".attnw-menu select").dispatchEvent(
        new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }),
      );
    button.click();
    press("m");
    press("Escape");
    expect([menu.hidden, keys]).toEqual([true, []]);
    expect(document.activeElement).toBe(button);
    button.click();
    // The menu pushes the figure down, so closing it would move the figure under the pointer.
    document.body.dispatchEvent(new MouseEvent("pointerdown", { bubbles: true, composed: true }));
    find(".attnw-menu select").dispatchEvent(
      new FocusEvent("focusout", { bubbles: true, relatedTarget: find("[data-control=keys]") }),
    );
    await frame();
    expect(menu.hidden).toBe(false);
    button.click();
    expect(menu.hidden).toBe(true);
  });
});

describe("figures in an explorer", () => {
  test("give it what they share once, and the two main figures all of their controls", async () => {
    const { find, figures } = await explored("view", "head-scatter");
    const menu = find(".ex-row .attnw-menu");
    expect(offered(menu)).toEqual(["cls", "sep", "quantity", "unit", "scale", "label", "share"]);
    expect(menu.querySelectorAll("[data-control=share]")).toHaveLength(2);
    expect(find(".ex-row").querySelectorAll("[data-control=cls]")).toHaveLength(1);
    expect(find(".ex-row").querySelectorAll("[data-control=keys]")).toHaveLength(0);
    // Other figures keep their own controls in their bar, and there is only one menu.
    const [view, other] = figures;
    view?.model.fromKernel({ mode: "matrix" });
    await frame();
    expect(offered(menu)).toContain("framed");
    expect(offered(view?.el ?? null)).toEqual([]);
    expect(offered(other?.el ?? null)).toEqual(["mode"]);
    expect(view?.el.querySelector(".attnw-menu-button")).toBeNull();
  });

  test("are changed from its menu, which follows them until they leave", async () => {
    const { find, figures } = await explored("view", "head-scatter");
    const [view, other] = figures;
    pick(find<HTMLSelectElement>(".ex-row [data-control=quantity]"), "norms");
    expect(view?.model.sent).toEqual([{ quantity: "norms" }]);
    find("[data-value=matrix]").click();
    await frame();
    expect(find("[data-value=matrix]").getAttribute("aria-pressed")).toBe("true");
    view?.leave();
    await frame();
    pick(find<HTMLSelectElement>(".ex-row [data-control=quantity]"), "norms");
    expect(other?.model.sent).toEqual([{ quantity: "norms" }]);
  });

  test("do not show the old value again when the explorer was about to be drawn", async () => {
    const { find, figures, schedule } = await explored("view");
    figures[0]?.model.fromKernel({ mode: "matrix" });
    await frame();
    const framed = find<HTMLInputElement>(".ex-row [data-control=framed]");
    const share = find<HTMLInputElement>(".ex-row [data-control=share]");
    schedule();
    framed.click();
    await new Promise(requestAnimationFrame);
    expect(framed.checked).toBe(true);
    await frame();
    schedule();
    pick(share, "50");
    await new Promise(requestAnimationFrame);
    expect(share.value).toBe("50");
  });
});
