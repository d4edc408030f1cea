import type { Look } from "../shared/mount.js";
import type { Peeked } from "../shared/peek.js";
import { shownHead } from "../shared/selection.js";
import type { Head, Model } from "../shared/types.js";
import { isWhole, type MapPart, type Position, samePart } from "../shared/window.js";
import { peekShown } from "./peek_shown.js";
import { directionOf } from "./places/shown_row.js";
import {
  choices,
  drawnState,
  type Figure,
  isZoomable,
  roomFor,
  type Scene,
  sceneOf,
  visibleOf,
} from "./scene.js";
import { sourceOf } from "./source/source_of.js";
import { isPair, type Target } from "./source/target.js";
import { tileRequests } from "./source/tile_requests.js";
import type { VisibleMap } from "./source/visible_map.js";
import { partOf, sizeOf, windowOf } from "./source/window_of.js";
import type { ViewState } from "./state.js";
import type { viewFigures } from "./view_body.js";
import { type Shown, shownHeads } from "./view_shown.js";

/** Result of following a change of the state. */
export interface Followed {
  head: Head | undefined;
  /** Preview of a head from another figure, which replaces the selected head. */
  peek: ReturnType<typeof peekShown>;
  /** Whether values are still missing. */
  busy: boolean;
}

/** Callbacks to the view. */
interface Events {
  invalidate(): void;
  /** Handle a map with other tokens or values. */
  mapChanged(map: VisibleMap, of: Shown): void;
  /** Return whether the map is being dragged. */
  isDragging(): boolean;
}

/**
 * State of a view: the head, its map, the visible part, and the target of the pointer or cursor. It
 * requests the parts that are missing on the page from the kernel.
 */
export class ShownView {
  /** Map of the selected head. */
  selected: Shown | null = null;
  /** Map that is drawn: of the selected head, or of a head previewed by another figure. */
  shown: Shown | null = null;
  peeked: Peeked | null = null;
  /** Map without hidden and filtered tokens. */
  map: VisibleMap | undefined;
  scene: Scene | undefined;
  /** Visible part of the map, if it can be zoomed. */
  part: MapPart | undefined;
  /** Target of the pointer or cursor. The scene has the block that is known there. */
  active: Target = {};
  byKeyboard = false;
  /**
   * Whether another figure points at the active token, which is then drawn instead of the locks.
   */
  isPointed = false;
  readonly #requests: ReturnType<typeof tileRequests>;
  /** Values from which the map was computed. */
  #mapOf: unknown[] = [];
  /** Part to which colors are scaled: the part that was visible at the start of a drag. */
  #scaledTo: MapPart | undefined;

  constructor(
    readonly model: Model<ViewState>,
    readonly figures: ReturnType<typeof viewFigures>,
    readonly events: Events,
    signal: AbortSignal,
  ) {
    this.#requests = tileRequests(model, () => this.part, events.invalidate, signal);
  }

  kind(mode = this.scene?.state.mode ?? this.model.get("mode")): keyof typeof this.figures {
    if (mode === "places") return mode;
    return this.shown?.several?.arrangement === "beside" ? "beside" : mode;
  }

  get figure(): Figure {
    return this.figures[this.kind()];
  }

  stackOf([, , stack]: Head) {
    return this.model.get("_stacks").find(({ name }) => name === stack);
  }

  follow(now: ViewState, look: Look): Followed {
    const state = drawnState(now);
    this.scene = undefined;
    const head = shownHead(this.model);
    if (!head) {
      this.shown = null;
      return { head, peek: null, busy: false };
    }
    if (this.#requests.isMoved()) this.part = undefined;
    const heads = shownHeads(state, head, this.selected);
    this.selected = heads.shown;
    const peek = this.peeked && peekShown(state, this.selected, this.peeked);
    this.shown = peek?.shown ?? this.selected;
    if (this.shown) this.#arrange(peek?.state ?? state, this.shown, look);
    const lacksPlaces = state.mode === "places" && !this.#hasPlaces();
    const busy = heads.busy || lacksPlaces || this.#lacksRow(state) || this.#requests.isOpen();
    return { head, peek, busy: busy && !peek };
  }

  /** Return whether the kernel has not yet sent the locked row or column of a long input. */
  #lacksRow({ mode, _maps: maps, _row: row }: ViewState): boolean {
    if (mode !== "places" || maps?.complete !== false) return false;
    if (!this.model.send || !this.scene) return false;
    const side = directionOf(this.scene);
    const locked = [...this.scene.locked[side]].at(-1);
    if (!row || row.links) return true;
    return locked !== undefined && (row.side !== side || row.at !== locked);
  }

  #hasPlaces(): boolean {
    return this.scene?.places !== undefined;
  }

  #arrange(state: ViewState, of: Shown, look: Look): void {
    const map = this.#visible(state, of);
    if (map.rows.length === 0 || map.cols.length === 0) return;
    const zooms = isZoomable(state, map) && of === this.selected;
    this.part = zooms ? (this.part ?? partOf(map, state.window)) : undefined;
    // Keep the colors during a drag: changing colors would hide the movement.
    if (!this.part || !this.events.isDragging()) this.#scaledTo = this.part;
    this.scene = sceneOf(state, of, map, {
      ...look,
      room: roomFor(look.width, of.several),
      active: this.active,
      dense: false,
      moved: this.part,
      scaledTo: this.#scaledTo,
    });
  }

  #visible(state: ViewState, of: Shown): VisibleMap {
    const now = [of, ...choices(state)];
    if (this.map && now.every((value, i) => value === this.#mapOf[i])) return this.map;
    const before = this.map;
    const map = visibleOf(state, of);
    // Keep the cursor when the head changes and the map has the same size.
    const isSame =
      before?.rows.length === map.rows.length && before.cols.length === map.cols.length;
    if (!isSame) {
      this.active = {};
      this.part = undefined;
    }
    this.map = map;
    this.#mapOf = now;
    this.events.mapChanged(map, of);
    return map;
  }

  /** Return the scene to draw now, with the current cursor and visible part. */
  drawn(before: Scene): Scene {
    const locked = this.isPointed
      ? { query: new Set<number>(), key: new Set<number>() }
      : before.locked;
    this.scene = {
      ...before,
      locked,
      active: this.known(before, this.active),
      part: this.part ?? before.part,
    };
    return this.scene;
  }

  /**
   * Return the cell, or block of cells, that is known at the pointer or cursor. Until the tile
   * around a link arrives, only the block of its cell may be known.
   */
  known({ map, state }: Scene, at: Target): Target {
    const { step = 1 } = at;
    if (sourceOf(map).isComplete || !isPair(at) || state.mode === "lines") return at;
    const place = { query: at.query + (step - 1) / 2, key: at.key + (step - 1) / 2 };
    const block = sourceOf(map).at(place);
    return block ? { query: block.query, key: block.key, step: block.step } : {};
  }

  /** Return the center of the cell under the cursor. */
  cursor(): Position | undefined {
    const { query, key, step = 1 } = this.active;
    if (query === undefined || key === undefined || this.model.get("mode") === "lines")
      return undefined;
    return { query: query + step / 2, key: key + step / 2 };
  }

  /** Return the plot at a point with the current visible part, which may not be painted yet. */
  plotOf(figure: Figure, at?: Parameters<NonNullable<Figure["plot"]>>[0]) {
    const plot = figure.plot?.(at);
    return plot && this.part ? { ...plot, part: this.part } : undefined;
  }

  isNear(): boolean {
    return Boolean(this.map && this.part && !isWhole(sizeOf(this.map), this.part));
  }

  /** Make a part of the map visible. */
  show(next: MapPart): void {
    if (!this.map) return;
    if (!this.part || !samePart(this.part, next)) {
      this.part = next;
      this.#requests.show(windowOf(this.map, next));
    }
    // The end of a drag moves nothing, but colors and caption follow it.
    this.events.invalidate();
  }

  /** Show the figure of a mode and hide the others. */
  showFigure(kept = this.kind()): void {
    for (const [name, { element: node }] of Object.entries(this.figures))
      node.hidden = !this.shown || name !== kept;
  }
}
