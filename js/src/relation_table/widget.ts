import { html, nothing } from "lit-html";
import { captionText } from "../shared/caption.js";
import type { Cell } from "../shared/cells.js";
import { choice, controlView } from "../shared/controls.js";
import { withControls } from "../shared/figure_controls.js";
import { initializing } from "../shared/initialize.js";
import { commonKey, keyList } from "../shared/key_list.js";
import { announcer } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { DIRECTIONS, type Direction } from "../shared/relation_types.js";
import { remembered } from "../shared/remembered.js";
import { captioned } from "../shared/save_menu.js";
import { announcement, chosenHeads, stepTo, undoable } from "../shared/selection.js";
import { save, snapshot } from "../shared/snapshot.js";
import type { Model, RenderContext } from "../shared/types.js";
import { arrange } from "./layout.js";
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
import type { TableState } from "./state.js";

const WATCHED: (keyof TableState)[] = [
  "selected",
  "labels",
  "layer",
  "relation",
  "direction",
  "min_count",
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
type Selection = Pick<TableState, "relation" | "direction" | "selected">;

/** Return the field that filters rows while the user types. */
function countField(model: Model<TableState>) {
  function count({ currentTarget }: Event): void {
    const min_count = (currentTarget as HTMLInputElement).valueAsNumber;
    if (Number.isInteger(min_count) && min_count >= 1) save(model, { min_count });
  }
  const blur = ({ currentTarget }: Event) => {
    (currentTarget as HTMLInputElement).value = String(model.get("min_count"));
  };
  const value = String(model.get("min_count"));
  return html`<label>at least <input type="number" min="1" step="1" .value=${value}
      @input=${count} @blur=${blur}> words</label>`;
}

function render(context: RenderContext<TableState>): void {
  const { model, signal } = context;
  const mounted = withControls(
    mount(context, "rel", WATCHED, { update, view, paint, keys: key }),
    context.signal,
  );
  const { schedule } = mounted;
  const keys = keyList(KEYS, mounted, signal);
  const live = announcer([model.get("relation"), model.get("selected")]);
  const list = relationList({
    choose: ({ relation, direction, head }) => change({ relation, direction, selected: [head] }),
    sort: (column) => save(model, sorted(snapshot(model, WATCHED), column)),
    redraw: schedule,
  });
  const heat = relationHeat(signal, choose, schedule);

  let scene: Scene | undefined;
  let layout: ReturnType<typeof arrange> | undefined;
  /** Width of the scroll bar for which the layout leaves space. */
  let gutter = 0;
  let revealed = "";
  const decoded = remembered((of: TableState["_numbers"]) =>
    of ? decodeRelations(of) : undefined,
  );
  const {
    choose: decide,
    undo,
    notice,
  } = undoable<Selection>(
    () => snapshot(model, ["relation", "direction", "selected"]),
    (choice) => {
      const last = choice.selected.at(-1);
      save(model, last ? { ...choice, layer: last[0] } : choice);
    },
  );

  /** Select a relation, a direction or heads, and let Escape undo the choice. */
  const change = (next: Partial<Selection>) =>
    decide({ ...snapshot(model, ["relation", "direction", "selected"]), ...next });

  function choose([layer, number]: Cell, add: boolean): void {
    if (scene?.heat)
      change({ selected: chosenHeads(model.get("selected"), [layer, number, scene.stack], add) });
  }

  function update(look: Look): void {
    const state = snapshot(model, WATCHED);
    notice();
    scene = sceneOf(state, decoded(state._numbers));
    gutter = list.gutter(scene.rows.length);
    layout = arrange(scene, look, gutter);
    heat.update(scene, layout.heat);
    const { relation, selected } = state;
    if (relation !== revealed) list.reach(relation);
    live.say([relation, selected], `${relation}: ${announcement(selected)}`);
  }

  function view(look: Look): unknown {
    if (!scene || !layout) return nothing;
    const said = captionText(captionOf(scene, layout.table.bar > 0));
    const direction = mounted.own([directionControl()], "direction");
    return html`<div class="attnw-controls">${countField(model)}${keys.button()}</div>
      <div class=${`attnw-rel-body${layout.aside > 0 ? " attnw-rel-wide" : ""}`}>
        <div class="attnw-rel-left">${list.view(scene, layout.table, look)}</div>
        <div class="attnw-rel-aside">
          <p class="attnw-figure-title attnw-rel-title">${mapTitle(scene.state)}</p>
          <span class="attnw-group">${direction.map(controlView)}</span>
          ${heat.view(look)}
          <p class="attnw-rel-readout">${readout(scene, heat.pointed()) || HINT}</p>
        </div>
      </div>
      ${captioned(mounted.save, html`<p class="attnw-rel-caption" data-caption>${said}</p>`)}
      ${keys.list()}${live.view()}`;
  }

  const directionControl = () =>
    choice<Direction>({
      name: "direction",
      place: "bar",
      values: DIRECTIONS,
      value: model.get("direction"),
      change: (direction) => change({ direction }),
    });

  function paint(look: Look): void {
    heat.paint(look);
    const relation = model.get("relation");
    if (relation !== revealed) list.reveal(relation);
    revealed = relation;
    // The scroll bar appears together with the rows and takes space from the table.
    if (scene && list.gutter(scene.rows.length) !== gutter) mounted.invalidate();
  }

  function stepBy(layers: number): void {
    const n_layers = model.get("_numbers")?.correct.shape[0] ?? 1;
    const { layers_without_attention } = model.get("_source");
    stepTo(model, model.get("layer") + layers, { n_layers, layers_without_attention });
  }

  function key(event: KeyboardEvent): boolean {
    if (heat.key(event)) return true;
    const typing = event.target instanceof HTMLInputElement && event.target.type !== "checkbox";
    if (typing || event.metaKey || (event.ctrlKey && !event.altKey)) return false;
    if (event.target instanceof HTMLSelectElement && event.key !== "Escape") return false;
    if (commonKey(event, keys.toggle, stepBy)) return true;
    if (event.key === "Escape") return undo();
    if (event.key !== "d") return false;
    const [first, second] = DIRECTIONS;
    change({ direction: model.get("direction") === first ? second : first });
    return true;
  }
}

export default () => ({ initialize: initializing<TableState>("_numbers"), render });
