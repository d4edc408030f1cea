import { explorerForm, isBehind } from "../draw/explorer_form.js";
import { explorerPanel } from "../draw/explorer_panel.js";
import { element } from "../model/dom.js";
import { type ExplorerContext, PANELS, type Panel } from "../model/explorer_types.js";
import { perFrame } from "../model/frame.js";
import { watchTheme } from "../model/theme.js";

const WATCHED = [
  ...["text", "pair", "panels", "progress", "selected", "layer", ...PANELS],
  ...["_shown", "_notes", "_problems", "_stacks", "_source", "_error"],
];
/** From this width on two figures stand side by side. */
const WIDE = 840;
const COLUMNS: Panel[][] = [
  ["grid", "head_map"],
  ["view", "strip"],
];
const BELOW: Panel[] = ["table", "arcs"];

function render({ model, el, signal, host }: ExplorerContext): void {
  const root = element(el, "div", {
    class: "attnw-root attnw-ex-root",
    "data-lm-suppress-shortcuts": "true",
  });
  const form = explorerForm(root, model, signal);
  const alert = element(root, "p", { role: "alert", class: "attnw-ex-alert", hidden: true });
  const body = element(root, "div", { class: "attnw-ex-panels" });
  const panels = COLUMNS.flatMap((names) => {
    const column = element(body, "div", { class: "attnw-ex-column" });
    return names.map((name) => explorerPanel(column, name, model, host, signal));
  });
  const below = element(body, "div", { class: "attnw-ex-below" });
  for (const name of BELOW) panels.push(explorerPanel(below, name, model, host, signal));

  function update(): void {
    const error = model.get("_error");
    alert.hidden = !error;
    if (alert.textContent !== error) alert.textContent = error;
    root.classList.toggle("attnw-ex-failed", Boolean(error));
    form.update();
    const behind = !error && isBehind(model);
    // What is measured beside the text says so itself; the rest waits for the text.
    for (const [index, panel] of panels.entries())
      panel.update(behind && index < COLUMNS.flat().length);
  }
  const schedule = perFrame(signal, update);

  root.addEventListener(
    "keydown",
    (event) => {
      const { target, key, ctrlKey, metaKey, altKey } = event;
      if (event.defaultPrevented || metaKey || (ctrlKey && !altKey)) return;
      if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return;
      if (key !== "[" && key !== "]") return;
      form.step(key === "[" ? -1 : 1);
      event.preventDefault();
    },
    { signal },
  );
  for (const name of WATCHED) model.on(`change:${name}`, schedule);
  watchTheme(root, signal, schedule);
  const resized = new ResizeObserver(() => {
    root.classList.toggle("attnw-ex-wide", root.clientWidth >= WIDE);
    form.fit();
  });
  resized.observe(root);
  root.classList.toggle("attnw-ex-wide", (el.clientWidth || WIDE) >= WIDE);
  update();

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
  signal.addEventListener("abort", () => {
    for (const name of WATCHED) model.off(`change:${name}`, schedule);
    resized.disconnect();
    root.remove();
  });
}

export default () => ({ render });
