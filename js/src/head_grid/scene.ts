import {
  type Cell,
  type CellLimits,
  canvasSize,
  type GridLayout,
  gridLayout,
} from "../shared/cells.js";
import { clamp } from "../shared/clamp.js";
import { diverging, ramp } from "../shared/color.js";
import { word } from "../shared/color_levels.js";
import type { Family } from "../shared/families.js";
import { AXIS_LABEL_SIZE, labelFont } from "../shared/labels.js";
import type { Look as Page } from "../shared/mount.js";
import type { Raster } from "../shared/pen.js";
import type { Head, StackInfo } from "../shared/types.js";
import { WRITTEN } from "./answer_paint.js";
import { papersOf } from "./changed_paper.js";
import { compose, gridEnd, type Look, type SmallMaps } from "./grid_pixels.js";
import {
  cellOf,
  chosenMetric,
  flipped,
  type Metric,
  type Order,
  orderHeads,
} from "./head_order.js";
import { type LayerHeads, layerHeadsOf, marginsOf } from "./layer_heads.js";
import { paintedRows } from "./painted_rows.js";
import type { GridState } from "./state.js";
import { askedOf, type WordQuestion } from "./word_answers.js";

/** Complete description of the drawing of a grid. */
export interface Scene extends Omit<Page, "width"> {
  /** Available width, and the width in use. */
  room: number;
  width: number;
  state: GridState;
  /** Decoded thumbnails; null until the kernel has answered. */
  maps: SmallMaps | null;
  stack: StackInfo | undefined;
  metric: Metric | undefined;
  order: Order;
  look: Look;
  /** Number of heads with their own keys, if groups of adjacent heads share keys; otherwise 0. */
  bands: number;
  layout: GridLayout;
  height: number;
  /** Description of the order of the heads, or "" if they are not sorted. */
  sorting: string;
  /** Rows of layers without attention. */
  emptyRows: number[];
  /** Cells of the selected heads; a view shows the last one. */
  selected: Cell[];
  /** Disabled heads of the stack, as layer * heads + head. */
  off: Set<number>;
  /** Labels of heads with a cell, from the top left to the bottom right. */
  labels: { at: Cell; text: string }[];
  /** Question that the cells answer instead of showing thumbnails; undefined for thumbnails. */
  asked: WordQuestion | undefined;
  /** Strongest head of each layer for the locked words; undefined if the layout has no room. */
  heads: LayerHeads | undefined;
  /** Families of heads with a tested name, by layer * heads + head. */
  families: Map<number, Family>;
  /** Divergence of each head from the intact one, in nats; null if no head is off. */
  changes: Float32Array | null;
}

/**
 * Return the mapping from values to colors. Answers for locked words are always weights on the
 * absolute scale.
 */
export const colorsOf = ({ asked, maps, look, theme }: Scene) =>
  asked
    ? { maps: null, scale: "absolute" as const, end: 1, table: ramp(theme), rows: undefined }
    : { maps, ...look };

/** Smallest cells of a grid with horizontal layers, unless cells are larger otherwise. */
const TURNED = 10;

/** Return the scene of a state on a page. */
export function sceneOf(
  state: GridState,
  maps: SmallMaps | null,
  page: Page,
  limits: Partial<CellLimits> = {},
): Scene {
  const stack = state._stacks.find(({ name }) => name === state.stack);
  const rows = maps?.rows ?? stack?.n_layers ?? 0;
  const cols = maps?.cols ?? stack?.n_heads ?? 0;
  // While the maps of another stack are still shown, the metric does not belong to their heads.
  const metric = !maps || maps.stack === state.stack ? chosenMetric(state) : undefined;
  const without = stack?.layers_without_attention ?? [];
  const upright = orderHeads(rows, cols, metric, state, without);
  const { width: room, density, font, ruler } = page;
  const labels = (state.labels ?? []).filter(([[, , name]]) => name === state.stack);
  const families = state._families ?? [];
  const bare = labels.length && !families.length ? "label" : "nothing";
  const below = upright.sort !== "none" ? "name" : metric ? "bar" : bare;
  const shared = stack && stack.n_key_heads < stack.n_heads && upright.sort === "none";
  // Cells with pictures keep their shape.
  const shape = maps?.row && state._media?.pictures.length ? { widest: 1 } : { written: WRITTEN };
  const layoutOf = (
    { rows, cols }: Order,
    isBanded: boolean,
    more: Partial<CellLimits>,
    spare: number,
  ) =>
    gridLayout(room - spare, rows, cols, isBanded, density, below, {
      ...limits,
      ...shape,
      ...more,
    });
  const turned = flipped(upright);
  const asked = askedOf(state);
  const margins = asked && upright.sort !== "all" && !stack?.names ? marginsOf(asked) : undefined;
  const least = Math.min(limits.least ?? TURNED, TURNED);
  const flat = (more: Partial<CellLimits>, spare = 0) =>
    layoutOf(upright, shared === true, more, spare);
  const across = (more: Partial<CellLimits>, spare = 0) =>
    layoutOf(turned, false, { least, ...more }, spare);
  const before = flat({});
  const after = across({});
  // The longer side is horizontal, on pages and in files, unless that makes cells both smaller and
  // too small. Layers without attention stay rows, which have room for their text.
  const isLarge = after.tall >= Math.min(TURNED, before.tall);
  const fits = isLarge && canvasSize(after)[0] <= room;
  const turns = rows > cols && !without.length && (fits || after.tall > before.tall);
  const order = turns ? turned : upright;
  const plain = turns ? after : before;
  const layout = margins
    ? turns
      ? margins.below(plain, across)
      : margins.beside(plain, flat)
    : plain;
  const bands = shared && !turns ? stack.n_key_heads : 0;
  const sorting = sortingText(order, metric, state.descending);
  const sortingEnd = layout.x0 + Math.ceil(ruler(labelFont(font, false, AXIS_LABEL_SIZE))(sorting));
  const [width, height] = canvasSize(layout);
  const snap = (x: number) => Math.round(x * density) / density;
  const table = maps?.signed ? diverging(page.theme) : ramp(page.theme);
  const changes = maps?.stack === state.stack ? maps.changes : null;
  const painted = paintedRows(maps, state, page.theme);
  return {
    ...page,
    room,
    state,
    maps,
    stack,
    metric,
    order,
    bands,
    layout,
    sorting,
    emptyRows: order.sort === "all" ? [] : without,
    asked,
    heads: asked && margins && layerHeadsOf(asked, state, layout, turns),
    families: new Map(
      families
        .filter(([[, , name]]) => name === state.stack)
        .map(([[layer, head], family]) => [layer * cols + head, family]),
    ),
    height: snap(height),
    look: {
      table,
      papers: papersOf(table, page.theme, maps?.signed ? null : changes),
      ground: word(page.theme.background),
      line: word(page.theme.hairline),
      scale: state.scale,
      end: gridEnd(state.scale, maps),
      rows: painted,
    },
    // In a comparison of two attentions, the heads of the second are all on.
    off: new Set(
      maps?.versus && maps.comparison_part === "second"
        ? []
        : state.disabled
            .filter(([, , name]) => name === state.stack)
            .map(([layer, head]) => layer * cols + head),
    ),
    labels: labels
      .flatMap(([[layer, head], text]) => {
        const at = cellOf(order, [layer, head]);
        return at ? [{ at, text }] : [];
      })
      .sort((a, b) => a.at[0] - b.at[0] || a.at[1] - b.at[1]),
    changes,
    // The description of the order may be wider than a few heads.
    width: snap(sorting ? clamp(sortingEnd, width, room) : width),
    selected: state.selected.flatMap(([layer, head, name]) => {
      const inside = name === state.stack && head < cols;
      const cell = inside ? cellOf(order, [layer, head]) : undefined;
      return cell ? [cell] : [];
    }),
  };
}

/** Describe the order of the heads. */
function sortingText(order: Order, metric: Metric | undefined, descending: boolean): string {
  if (order.sort === "none" || !metric) return "";
  return `${metric.title}, ${descending ? "largest" : "smallest"} first →`;
}

/** Return whether labels are printed under their cells. */
export const hasLabels = ({ metric, layout, labels, families }: Scene): boolean =>
  labels.length > 0 && !metric && !families.size && layout.band > 0;

/** Return the maps as an image; undefined if there are none. */
export const composed = ({ maps, layout, order, look }: Scene): Raster | undefined =>
  maps && (maps.values.length || look.rows) ? compose(layout, maps, order, look) : undefined;

/**
 * Return a function that composes the maps, and repeats it only if something they depend on has
 * changed.
 */
export function rasterOfScenes(): (scene: Scene) => Raster | undefined {
  let raster: Raster | undefined;
  let before: unknown[] = [];
  return (scene) => {
    const { maps, layout, order, look, theme } = scene;
    const now = [
      maps,
      look.rows,
      JSON.stringify([layout, order.heads, look.scale, look.end, theme]),
    ];
    if (now.some((value, i) => value !== before[i])) raster = composed(scene);
    before = now;
    return raster;
  };
}

/** Return whether the maps match the requested state. */
export function areCurrent(maps: SmallMaps | null, state: GridState): maps is SmallMaps {
  const set = (kinds: (string | Head)[]) => kinds.map(String).sort().join();
  return (
    maps?.stack === state.stack &&
    maps.quantity === state.quantity &&
    maps.unit === state.unit &&
    set(maps.hidden) === set(state.hidden) &&
    set(maps.disabled) === set(state.disabled) &&
    (!state.disabled.length || maps.method === state.method) &&
    maps.versus === (state.versus ?? null) &&
    maps.times_keys === (state.times_keys && state.quantity === "weights" && !maps.signed) &&
    (!state._compared?.length || maps.comparison_part === state.comparison_part) &&
    isOfLocked(maps, state)
  );
}

/** Return whether a painted row belongs to the last locked query; true without a locked query. */
function isOfLocked({ row }: SmallMaps, { tokens, thumbnail, _axes: axes }: GridState): boolean {
  if (!row) return true;
  const locked = tokens.filter(([side]) => side === "query").at(-1)?.[1];
  const isThere = locked !== undefined && locked < (axes?.query.text.length ?? 0);
  return thumbnail !== "maps" && (!isThere || (row.side === "query" && row.of === locked));
}
