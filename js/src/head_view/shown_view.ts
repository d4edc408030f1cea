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

/** What a change of the state has brought. */
export interface Followed {
  head: Head | undefined;
  /** A head that another figure points at, in the place of the selected head. */
  peek: ReturnType<typeof peekShown>;
  /** Whether values are still to come. */
  busy: boolean;
}

/** What the view calls when it changes. */
interface Events {
  invalidate(): void;
  /** The map has other tokens, or other values. */
  mapChanged(map: VisibleMap, of: Shown): void;
  /** Whether a hand moves the map at the moment. */
  isDragging(): boolean;
}

/**
 * What a view shows: the head, its map, the part of the map in sight, and the place of the pointer
 * or cursor. The kernel is asked for the parts that the page lacks.
 */
export class ShownView {
  /** The map of the selection. */
  selected: Shown | null = null;
  /** The drawn map: of the selection, or of a head that another figure points at. */
  shown: Shown | null = null;
  peeked: Peeked | null = null;
  /** The tokens and values that are neither hidden nor filtered. */
  map: VisibleMap | undefined;
  scene: Scene | undefined;
  /** In sight of the map, while it can be zoomed. */
  part: MapPart | undefined;
  /** Where the pointer or the cursor is; the scene has what is known there. */
  active: Target = {};
  byKeyboard = false;
  /** Whether another figure points at the active token, which stands in the place of the locks. */
  isPointed = false;
  readonly #requests: ReturnType<typeof tileRequests>;
  /** What the map was made from. */
  #mapOf: unknown[] = [];
  /** The part that colors are scaled to: what was in sight when a hand took hold of the map. */
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

  /** Whether the kernel has still to send the locked row or column of a long input. */
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
    // Colors that change under a moving hand would hide what moves.
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
    // The cursor stays where it is from one head to the next.
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

  /** The scene to draw now: with the cursor, and with what is in sight. */
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
   * The cell, or block of cells, that is known by now where the pointer or the cursor is. Of the
   * cell of a link only its block may be known, until the tile round it is there.
   */
  known({ map, state }: Scene, at: Target): Target {
    const { step = 1 } = at;
    if (sourceOf(map).isComplete || !isPair(at) || state.mode === "lines") return at;
    const place = { query: at.query + (step - 1) / 2, key: at.key + (step - 1) / 2 };
    const block = sourceOf(map).at(place);
    return block ? { query: block.query, key: block.key, step: block.step } : {};
  }

  /** The middle of the cell under the cursor. */
  cursor(): Position | undefined {
    const { query, key, step = 1 } = this.active;
    if (query === undefined || key === undefined || this.model.get("mode") === "lines")
      return undefined;
    return { query: query + step / 2, key: key + step / 2 };
  }

  /** What can be zoomed under a point, with what is in sight by now: painting follows. */
  plotOf(figure: Figure, at?: Parameters<NonNullable<Figure["plot"]>>[0]) {
    const plot = figure.plot?.(at);
    return plot && this.part ? { ...plot, part: this.part } : undefined;
  }

  isNear(): boolean {
    return Boolean(this.map && this.part && !isWhole(sizeOf(this.map), this.part));
  }

  /** Bring a part of the map into sight. */
  show(next: MapPart): void {
    if (!this.map) return;
    if (!this.part || !samePart(this.part, next)) {
      this.part = next;
      this.#requests.show(windowOf(this.map, next));
    }
    // The end of a drag moves nothing, but colors and caption follow it.
    this.events.invalidate();
  }

  /** Show the figure of a mode, and hide the others. */
  showFigure(kept = this.kind()): void {
    for (const [name, { element: node }] of Object.entries(this.figures))
      node.hidden = !this.shown || name !== kept;
  }
}
