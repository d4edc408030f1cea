import { captionText } from "../shared/caption.js";
import type { Cell } from "../shared/cells.js";
import { choice } from "../shared/controls.js";
import { element } from "../shared/dom.js";
import { commonKey, keyHelp } from "../shared/key_list.js";
import { liveRegion } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { DIRECTIONS, type Direction, type TableState } from "../shared/relation_types.js";
import { releasing } from "../shared/release.js";
import { remembered } from "../shared/remembered.js";
import { announcement, chosenHeads, stepTo, undoable } from "../shared/selection.js";
import { save, snapshot } from "../shared/snapshot.js";
import type { RenderContext } from "../shared/types.js";
import { arrange } from "./layout.js";
import { relationControls } from "./relation_controls.js";
import { relationHeat } from "./relation_heat.js";
import { relationList } from "./relation_list.js";
import {
  captionOf,
  decodeRelations,
  mapTitle,
  readout,
  type Scene,
  sceneOf,
  sorted,
} from "./scene.js";

const WATCHED: (keyof TableState)[] = [
  "selected",
  "layer",
  "relation",
  "direction",
  "min_count",
  "significant",
  "search",
  "sort",
  "descending",
  "_numbers",
  "_source",
];
const HINT = "Point at a head for its accuracy, click to select it.";
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

function render(context: RenderContext<TableState>): void {
  const { model, signal } = context;
  const { inner } = mount(context, "rel", WATCHED, { update, keys: key });
  const controls = relationControls(inner, context);
  const body = element(inner, "div", { class: "attnw-rel-body" });
  const left = element(body, "div", { class: "attnw-rel-left" });
  const aside = element(body, "div", { class: "attnw-rel-aside" });
  const list = relationList(left, signal, {
    choose: ({ relation, direction, head }) => change({ relation, direction, selected: [head] }),
    sort: (column) => save(model, sorted(snapshot(model, WATCHED), column)),
  });
  const title = element(aside, "p", { class: "attnw-rel-title" });
  const group = element(aside, "span", { class: "attnw-group" });
  const showDirection = choice<Direction>(group, "direction", signal, (direction) =>
    change({ direction }),
  );
  const heat = relationHeat(aside, signal, {
    choose,
    point(cell) {
      pointed = cell;
      read();
    },
  });
  const numbers = element(aside, "p", { class: "attnw-rel-readout" });
  const line = element(inner, "p", { class: "attnw-rel-caption", "data-caption": "" });
  const toggleKeys = keyHelp(inner, KEYS, controls.keys, signal);
  const live = liveRegion(inner, [model.get("relation"), model.get("selected")]);

  let scene: Scene | undefined;
  let pointed: Cell | undefined;
  let revealed = "";
  const decoded = remembered((of: TableState["_numbers"]) =>
    of ? decodeRelations(of) : undefined,
  );
  const {
    choose: decide,
    undo,
    notice,
  } = undoable<Choice>(
    () => snapshot(model, ["relation", "direction", "selected"]),
    (choice) => {
      const last = choice.selected.at(-1);
      save(model, { ...choice, ...(last ? { layer: last[0] } : {}) });
    },
  );

  /** Choose a relation, a direction or heads, and let Escape undo the choice. */
  const change = (next: Partial<Choice>) =>
    decide({ ...snapshot(model, ["relation", "direction", "selected"]), ...next });

  function choose([layer, number]: Cell, add: boolean): void {
    if (scene?.heat)
      change({ selected: chosenHeads(model.get("selected"), [layer, number, scene.stack], add) });
  }

  /** The head pointed at, else the one selected, on the chosen relation. */
  function read(): void {
    numbers.textContent = (scene && readout(scene, pointed)) || HINT;
  }

  function update(look: Look): void {
    const state = snapshot(model, WATCHED);
    notice();
    scene = sceneOf(state, decoded(state._numbers));
    const at = arrange(scene, look, list.gutter(scene.rows.length));
    body.classList.toggle("attnw-rel-wide", at.aside > 0);
    controls.update();
    list.update(scene, at.table, look.theme);
    if (state.relation !== revealed) list.reveal(state.relation);
    revealed = state.relation;
    title.textContent = mapTitle(state);
    showDirection(DIRECTIONS, state.direction);
    if (scene.heat) heat.update(scene, scene.heat, at.heat, look);
    read();
    line.textContent = captionText(captionOf(scene, at.table.bar > 0));
    const { relation, selected } = state;
    live.say([relation, selected], `${relation}: ${announcement(selected)}`);
  }

  function stepBy(layers: number): void {
    const n_layers = model.get("_numbers")?.correct.shape[0] ?? 1;
    const { without_attention } = model.get("_source");
    stepTo(model, model.get("layer") + layers, { n_layers, without_attention });
  }

  function key(event: KeyboardEvent): boolean {
    if (heat.key(event)) return true;
    const typing = event.target instanceof HTMLInputElement && event.target.type !== "checkbox";
    if (typing || event.metaKey || (event.ctrlKey && !event.altKey)) return false;
    if (event.target instanceof HTMLSelectElement && event.key !== "Escape") return false;
    if (commonKey(event, toggleKeys, stepBy)) return true;
    if (event.key === "Escape") return undo();
    if (event.key !== "d") return false;
    const [first, second] = DIRECTIONS;
    change({ direction: model.get("direction") === first ? second : first });
    return true;
  }
}

export default () => ({ initialize: releasing<TableState>("_numbers"), render });
