import { element } from "../shared/dom.js";
import { type Look, mount } from "../shared/mount.js";
import { snapshot } from "../shared/snapshot.js";
import type { RenderContext } from "../shared/types.js";
import { groupsFor, PLANS, type Plan, planFor, present } from "./arrangement.js";
import { explorerPanel } from "./explorer_panel.js";
import {
  type ExplorerContext,
  type ExplorerState,
  type GridModel,
  PANELS,
  type Panel,
} from "./explorer_types.js";
import { tabList } from "./tabs.js";
import { isBehind, textForm } from "./text_form.js";
import { toolbar } from "./toolbar.js";

const WATCHED: (keyof ExplorerState)[] = [
  "text",
  "pair",
  "target",
  "example",
  "panels",
  "tab",
  "progress",
  "selected",
  "layer",
  "hidden",
  "unit",
  "quantity",
  "scale",
  ...PANELS,
  "_shown",
  "_notes",
  "_problems",
  "_stacks",
  "_source",
  "_quantities",
  "_examples",
  "_look",
  "_second",
  "_offer",
];
/** Of a page that has not been attached yet. */
const USUAL_WIDTH = 1000;
const PARTS = ["panels", "progress", "_offer", "_problems", ...PANELS] as const;

function render({ model, el, signal, host }: ExplorerContext): void {
  const { root, inner, alert, save, invalidate } = mount(
    { model, el, signal } as RenderContext<ExplorerState>,
    "ex",
    WATCHED,
    {
      update,
      keys,
      keepsShowing: true,
    },
  );
  const form = textForm(inner, model, signal);
  form.element.after(alert);
  form.actions.append(save);
  const head = element(inner, "div", { class: "attnw-ex-sticky" });
  const bar = toolbar(head, model, signal);
  const idOf = (name: Panel) => panels.find((panel) => panel.name === name)?.id ?? "";
  const all = tabList(head, "panels", signal, idOf, open);
  const body = element(inner, "div", { class: "attnw-ex-panels" });
  const panels: ReturnType<typeof explorerPanel>[] = [];
  const add = (names: Panel[]) => {
    for (const name of names) panels.push(explorerPanel(body, name, model, host, signal));
  };
  add(["grid", "view"]);
  const list = (name: string) => {
    const place = element(body, "div", { class: `attnw-ex-${name}` });
    return tabList(place, name, signal, idOf, open);
  };
  const details = list("details");
  add(["lens", "strip", "head_map", "predictions"]);
  const below = list("below");
  add(["table", "arcs"]);

  let plan: Plan = "two";
  /** In one column: what is in sight where that is no detail. */
  let main: Panel | undefined = "grid";
  /** The panel of each group that was last open. */
  const opened = new Set<Panel>();
  let before = model.get("tab");

  function open(name: Panel): void {
    main = name === "grid" || name === "view" ? name : undefined;
    if (!main) {
      model.set("tab", name);
      model.save_changes();
    }
    invalidate();
  }

  /** The open one of a group: the chosen tab, else what was open there before, else its first. */
  function openOf(group: Panel[]): Panel | undefined {
    const tab = model.get("tab");
    if (plan === "one" && main && group.includes(main)) return main;
    if (group.includes(tab)) return tab;
    return [...opened].reverse().find((name) => group.includes(name)) ?? group[0];
  }

  function update({ width }: Pick<Look, "width">): void {
    const error = model.get("_error");
    const tab = model.get("tab");
    if (tab !== before) main = undefined;
    before = tab;
    opened.delete(tab);
    opened.add(tab);
    root.classList.toggle("attnw-ex-failed", Boolean(error));
    const stacks = model.get("_stacks");
    plan = planFor(width, stacks);
    for (const name of PLANS) root.classList.toggle(`attnw-ex-${name}`, name === plan);
    form.update();
    form.fit();
    bar.update(plan === "one");
    const { fixed, groups } = groupsFor(plan, present(snapshot(model, PARTS)));
    const [first = [], second = []] = groups;
    const lists = plan === "one" ? [first, [], []] : [[], first, second];
    const open = lists.map(openOf);
    for (const [i, show] of [all, details, below].entries()) {
      const name = open[i];
      show(lists[i] ?? [], name, (name && model.get("_notes")[name]) ?? "");
    }
    const behind = !error && isBehind(model);
    for (const panel of panels) {
      const isOpen = fixed.includes(panel.name) || open.includes(panel.name);
      // What is measured on a treebank does not wait for the text.
      const waits = behind && panel.name !== "table" && panel.name !== "arcs";
      const fills = ["three", "beside", "under"].includes(plan) && first.includes(panel.name);
      panel.update({ open: isOpen, tab: groups.flat().includes(panel.name), fills, behind: waits });
    }
  }

  function keys({ target, key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
    if (metaKey || (ctrlKey && !altKey)) return false;
    if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return false;
    if (key === "?") bar.toggleKeys();
    else if (key === "[" || key === "]") bar.step(key === "[" ? -1 : 1);
    else return false;
    return true;
  }

  // Where one panel is in sight, a head that is tapped is looked at.
  panels[0]?.element.addEventListener(
    "click",
    ({ target, shiftKey, ctrlKey, metaKey }) => {
      if (
        plan === "one" &&
        target instanceof HTMLCanvasElement &&
        !shiftKey &&
        !ctrlKey &&
        !metaKey
      )
        open("view");
    },
    { signal },
  );

  // Figures are asked for at once, not in the next frame.
  update({ width: el.clientWidth || USUAL_WIDTH });
  const grid = model.get("grid");
  if (grid !== null)
    void host.getModel(grid).then((gridModel) => {
      if (!signal.aborted) bar.join(gridModel as GridModel, invalidate);
    });

  /** The kernel measures the rest once there is something to see. */
  async function painted(): Promise<void> {
    await Promise.all(panels.map((panel) => panel.drawn()));
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (signal.aborted || model.get("_painted")) return;
        model.set("_painted", true);
        model.save_changes();
      }),
    );
  }
  void painted();
}

export default () => ({ render });
