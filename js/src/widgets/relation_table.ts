import type { Cell } from "../draw/grid_layout.js";
import { announcement } from "../draw/grid_text.js";
import { keyList } from "../draw/key_list.js";
import { relationControls } from "../draw/relation_controls.js";
import { relationHeat } from "../draw/relation_heat.js";
import { relationList } from "../draw/relation_list.js";
import {
  chosenRows,
  type Decoded,
  decodeRelations,
  type Row,
  scoreText,
  sorted,
} from "../draw/relation_rows.js";
import { element } from "../model/dom.js";
import { forcedTheme, watchForced } from "../model/forced.js";
import { perFrame } from "../model/frame.js";
import { ALL, DIRECTIONS, type TableState } from "../model/relation_types.js";
import { releasing } from "../model/release.js";
import { stepTo } from "../model/selection.js";
import { type Theme, watchTheme } from "../model/theme.js";
import { type Head, headName, type RenderContext, sameHead } from "../model/types.js";

const WATCHED = [
  ...["selected", "layer", "relation", "direction", "min_count", "significant", "search", "sort"],
  ...["descending", "_numbers", "_source", "_error"],
];
/** From this width on the map stands beside the table. */
const WIDE = 960;
const ASIDE = 384;
/** Below it intervals are drawn but not printed. */
const NARROW = 560;
/** Below it they are not drawn either, so that no column is cut. */
const BARLESS = 448;
const UNATTACHED = 640;
const HISTORY = 100;
const KEYS = [
  ["↑ ↓", "in the table: move between relations; Home and End to the first and last"],
  ["Enter or Space, click", "choose the relation and its best head"],
  ["Arrow keys", "in the map: move between heads"],
  ["Enter or Space, click", "in the map: select the head, with Shift add or remove it"],
  ["d", "the other direction"],
  ["[ and ]", "step to the layer above / below"],
  ["Escape", "back to the choice before"],
  ["?", "show or hide this list"],
] as const;
type Choice = Pick<TableState, "relation" | "direction" | "selected">;

function render({ model, el, signal }: RenderContext<TableState>): void {
  const root = element(el, "div", {
    class: "attnw-root attnw-rel-root",
    "data-lm-suppress-shortcuts": "true",
  });
  const alert = element(root, "p", { role: "alert", class: "attnw-rel-alert", hidden: true });
  const inner = element(root, "div");
  const state = () =>
    Object.fromEntries(
      WATCHED.map((name) => [name, model.get(name as keyof TableState)]),
    ) as unknown as TableState;
  const controls = relationControls(inner, model, signal, toggleKeys);
  const body = element(inner, "div", { class: "attnw-rel-body" });
  const left = element(body, "div", { class: "attnw-rel-left" });
  const aside = element(body, "div", { class: "attnw-rel-aside" });
  const list = relationList(left, signal, {
    choose: (row) =>
      change({ relation: row.relation, direction: row.direction, selected: [row.head] }),
    sort(column) {
      save(sorted(state(), column));
    },
  });
  const title = element(aside, "p", { class: "attnw-rel-title" });
  const direction = element(
    element(aside, "label", { class: "attnw-group" }, "direction "),
    "select",
  );
  for (const value of DIRECTIONS) element(direction, "option", { value }, value);
  direction.addEventListener(
    "change",
    () => change({ direction: direction.value as TableState["direction"] }),
    { signal },
  );
  const heat = relationHeat(aside, signal, {
    choose,
    point(cell) {
      pointed = cell;
      read();
    },
  });
  const readout = element(aside, "p", { class: "attnw-rel-readout" });
  const line = element(inner, "p", { class: "attnw-rel-caption" });
  const keys = keyList(inner, KEYS, "attnw-keys");
  const live = element(inner, "div", { class: "attnw-unseen", "aria-live": "polite" });

  let theme: Theme | undefined;
  let decodedFrom: TableState["_numbers"] = null;
  let decoded: Decoded | undefined;
  let pointed: Cell | undefined;
  let spoken = JSON.stringify([model.get("relation"), model.get("selected")]);
  let revealed = "";
  const history: Choice[] = [];

  const chosenRow = (): Row | undefined =>
    decoded?.rows.find(({ relation }) => relation === model.get("relation"));

  function save(change: Partial<TableState>): void {
    for (const [key, value] of Object.entries(change))
      model.set(key as keyof TableState, value as TableState[keyof TableState]);
    model.save_changes();
  }

  /** Choose a relation, a direction or heads, so that Escape can take it back. */
  function change(next: Partial<Choice>): void {
    const { relation, direction: way, selected } = state();
    const before = { relation, direction: way, selected };
    const after = { ...before, ...next };
    if (JSON.stringify(after) === JSON.stringify(before)) return;
    history.push(before);
    if (history.length > HISTORY) history.shift();
    apply(after);
  }

  function apply(choice: Choice): void {
    const last = choice.selected.at(-1);
    save({ ...choice, ...(last ? { layer: last[0] } : {}) });
  }

  function choose([layer, number]: Cell, add: boolean): void {
    if (!decoded) return;
    const head: Head = [layer, number, decoded.stack];
    const before = model.get("selected");
    const others = before.filter((other) => !sameHead(other, head));
    change({
      selected: !add ? [head] : others.length < before.length ? others : [...before, head],
    });
  }

  function toggleKeys(): void {
    keys.hidden = !keys.hidden;
    controls.keys.setAttribute("aria-expanded", String(!keys.hidden));
  }

  /** The head pointed at, else the one selected, on the chosen relation. */
  function read(): void {
    const row = chosenRow();
    const last = model.get("selected").at(-1);
    const cell = pointed ?? (last && last[2] === decoded?.stack ? [last[0], last[1]] : undefined);
    if (!row || !decoded || !cell) {
      readout.textContent = "Point at a head for its accuracy, click to select it.";
      return;
    }
    const [layer = 0, head = 0] = cell;
    const score = decoded.score(row, layer, head, model.get("direction"));
    readout.textContent = `${headName([layer, head, decoded.stack])}: ${scoreText(score, row)}`;
  }

  function showMap(now: Theme, forced: boolean, width: number): void {
    const row = chosenRow();
    if (!row || !decoded) return;
    const { layers, heads, stack, score } = decoded;
    const way = model.get("direction");
    title.textContent = `every head on ${row.relation === ALL ? "all words" : row.relation}`;
    direction.value = way;
    heat.box.setAttribute("aria-label", `accuracy of every head on ${row.relation}, ${way}`);
    heat.update({
      ...{ theme: now, forced, rows: layers, cols: heads },
      width: width >= WIDE ? ASIDE : width,
      font: getComputedStyle(root).fontFamily || "sans-serif",
      score: ([layer, head]) => score(row, layer, head, way),
      selected: model
        .get("selected")
        .flatMap(([layer, head, of]): Cell[] => (of === stack ? [[layer, head]] : [])),
      describe: ([layer, head], selected) =>
        [
          `layer ${layer} head ${head}`,
          scoreText(score(row, layer, head, way), row),
          selected && "selected",
        ]
          .filter(Boolean)
          .join(", "),
    });
  }

  function speak(): void {
    const now = JSON.stringify([model.get("relation"), model.get("selected")]);
    if (now !== spoken)
      live.textContent = `${model.get("relation")}: ${announcement(model.get("selected"))}`;
    spoken = now;
  }

  const schedule = perFrame(signal, () => {
    if (!theme) return;
    const error = model.get("_error");
    alert.hidden = !error;
    inner.hidden = Boolean(error);
    if (alert.textContent !== error) alert.textContent = error;
    if (error) return;
    const table = model.get("_numbers");
    if (table !== decodedFrom) decoded = table ? decodeRelations(table) : undefined;
    decodedFrom = table;
    const { forced, ...now } = forcedTheme(theme);
    const width = inner.clientWidth || UNATTACHED;
    body.classList.toggle("attnw-rel-wide", width >= WIDE);
    body.classList.toggle("attnw-rel-narrow", width < NARROW);
    body.classList.toggle("attnw-rel-barless", width < BARLESS);
    const rows = decoded?.rows ?? [];
    const shown = chosenRows(rows, state());
    controls.update();
    list.update(rows, shown, state(), model.get("relation"));
    if (model.get("relation") !== revealed) list.reveal(model.get("relation"));
    revealed = model.get("relation");
    showMap(now, forced, width);
    read();
    const { model: name, note } = model.get("_source");
    line.textContent = [
      ...[name, decoded?.stack === "self" ? "" : decoded?.stack, note],
      "accuracy: how often the most attended word is the governor",
      "intervals: Wilson, 95 %",
      "p: McNemar's test against the offset, Holm's correction",
    ]
      .filter(Boolean)
      .join(" · ");
    speak();
  });

  root.addEventListener(
    "keydown",
    (event) => {
      const typing = event.target instanceof HTMLInputElement && event.target.type !== "checkbox";
      const chord = event.metaKey || (event.ctrlKey && !event.altKey);
      if (event.defaultPrevented || typing || chord) return;
      if (event.target instanceof HTMLSelectElement && event.key !== "Escape") return;
      const [layers, layer] = [decoded?.layers ?? 1, model.get("layer")];
      if (event.key === "?") toggleKeys();
      else if (event.key === "[") stepTo(model, layer - 1, layers);
      else if (event.key === "]") stepTo(model, layer + 1, layers);
      else if (event.key === "d") {
        const [first, second] = DIRECTIONS;
        change({ direction: model.get("direction") === first ? second : first });
      } else if (event.key === "Escape") {
        const before = history.pop();
        if (!before) return;
        apply(before);
      } else return;
      event.preventDefault();
    },
    { signal },
  );
  for (const name of WATCHED) model.on(`change:${name}`, schedule);
  watchTheme(root, signal, (next) => {
    theme = next;
    schedule();
  });
  watchForced(signal, schedule);
  const resized = new ResizeObserver(schedule);
  resized.observe(root);
  signal.addEventListener("abort", () => {
    for (const name of WATCHED) model.off(`change:${name}`, schedule);
    resized.disconnect();
    root.remove();
  });
}

export default () => ({ initialize: releasing<TableState>("_numbers"), render });
