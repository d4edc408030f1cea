import { html, nothing } from "lit-html";
import { type Look, mount } from "../shared/mount.js";
import { releasing } from "../shared/release.js";
import { snapshot } from "../shared/snapshot.js";
import { groupsFor, leastGrid, PLANS, type Plan, planFor, present } from "./arrangement.js";
import { errorWithWayOut } from "./error_line.js";
import { explorerPanel, type Standing } from "./explorer_panel.js";
import { type ExplorerContext, type ExplorerState, PANELS, type Panel } from "./explorer_types.js";
import { tabList } from "./tabs.js";
import { isBehind, textForm } from "./text_form.js";
import { toolbar } from "./toolbar.js";

const WATCHED: (keyof ExplorerState)[] = [
  "text",
  "pair",
  "target",
  "versus_text",
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
  "disabled",
  "labels",
  ...PANELS,
  "_shown",
  "_notes",
  "_problems",
  "_stacks",
  "_source",
  "_quantities",
  "_examples",
  "_look",
  "_effect_told",
  "_way_out",
  "_second",
  "_offer",
];
/** Of a page that has not been attached yet. */
const USUAL_WIDTH = 1000;
const PARTS = ["panels", "progress", "_offer", "_problems", ...PANELS] as const;

/** What of the explorer is in sight. */
interface Arrangement {
  plan: Plan;
  /** The lists of tabs: of all panels, of details, and of what stands below both. */
  lists: { panels: Panel[]; open: Panel | undefined }[];
  standing(panel: Panel): Standing;
}

function render({ model, el, signal, host }: ExplorerContext): void {
  const mounted = mount({ model, el, signal }, "ex", WATCHED, {
    update,
    view,
    paint: (look) => {
      form.fit(look);
      for (const panel of panels) if (arrangement?.standing(panel.name).open) panel.fill();
    },
    keys,
    keepsShowing: true,
    unattached: USUAL_WIDTH,
  });
  const { root, save, schedule, invalidate } = mounted;
  const form = textForm(model, mounted);
  const bar = toolbar(model, mounted, signal);
  const panels = PANELS.map((name) => explorerPanel(name, model, host, signal, schedule));
  const idOf = (name: Panel) => panels.find((panel) => panel.name === name)?.id ?? "";

  let arrangement: Arrangement | undefined;
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
  function openOf(group: Panel[], plan: Plan): Panel | undefined {
    const tab = model.get("tab");
    if (plan === "one" && main && group.includes(main)) return main;
    if (group.includes(tab)) return tab;
    return [...opened].reverse().find((name) => group.includes(name)) ?? group[0];
  }

  function update({ width }: Look): void {
    const tab = model.get("tab");
    if (tab !== before) main = undefined;
    before = tab;
    opened.delete(tab);
    opened.add(tab);
    form.update();
    const plan = planFor(width, model.get("_stacks"));
    root.classList.toggle("attnw-ex-failed", Boolean(model.get("_error")));
    for (const name of PLANS) root.classList.toggle(`attnw-ex-${name}`, name === plan);
    // The grid is never narrower than its smallest cells.
    root.style.setProperty("--attnw-ex-grid", `${leastGrid(model.get("_stacks"))}px`);
    const { fixed, groups } = groupsFor(plan, present(snapshot(model, PARTS)));
    const [first = [], second = []] = groups;
    const lists = (plan === "one" ? [first, [], []] : [[], first, second]).map((panels) => ({
      panels,
      open: openOf(panels, plan),
    }));
    const behind = !model.get("_error") && isBehind(model);
    const standing = (name: Panel): Standing => ({
      open: fixed.includes(name) || lists.some(({ open }) => open === name),
      tab: groups.flat().includes(name),
      // What is measured on a treebank does not wait for the text.
      behind: behind && name !== "table" && name !== "arcs",
    });
    arrangement = { plan, lists, standing };
  }

  function view(): unknown {
    if (!arrangement) return nothing;
    const { plan, lists, standing } = arrangement;
    const tabs = (name: string, list: Arrangement["lists"][number] | undefined) =>
      tabList({
        name,
        panels: list?.panels ?? [],
        open: list?.open,
        note: (list?.open && model.get("_notes")[list.open]) ?? "",
        idOf,
        pick: open,
      });
    const figures = (...names: Panel[]) =>
      panels
        .filter(({ name }) => names.includes(name))
        .map((panel) =>
          panel.view(standing(panel.name), panel.name === "grid" ? tapped : undefined),
        );
    const [all, details, below] = lists;
    return html`${form.view(save, errorWithWayOut(model))}
      <div class="attnw-ex-sticky">${bar.view(plan === "one")}${tabs("panels", all)}</div>
      <div class="attnw-ex-panels">
        ${figures("grid", "view")}
        <div class="attnw-ex-details">${tabs("details", details)}</div>
        ${figures("lens", "strip", "head_map", "predictions", "why", "card")}
        <div class="attnw-ex-below">${tabs("below", below)}</div>
        ${figures("table", "arcs")}
      </div>`;
  }

  function keys({ target, key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
    if (metaKey || (ctrlKey && !altKey)) return false;
    if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return false;
    if (key === "?") bar.toggleKeys();
    else if (key === "[" || key === "]") bar.step(key === "[" ? -1 : 1);
    else return false;
    return true;
  }

  /** Where one panel is in sight, a head that is tapped is looked at. */
  function tapped({ target, shiftKey, ctrlKey, metaKey }: MouseEvent): void {
    if (
      arrangement?.plan === "one" &&
      target instanceof HTMLCanvasElement &&
      !shiftKey &&
      !ctrlKey &&
      !metaKey
    )
      open("view");
  }

  // The story line names no picture of a kernel that is gone.
  const link = new MutationObserver(schedule);
  link.observe(root, { attributeFilter: ["data-link"] });
  signal.addEventListener("abort", () => link.disconnect());
  // Figures are asked for at once, not in the next frame.
  mounted.drawNow();

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

export default () => ({ initialize: releasing<ExplorerState>(), render });
