import { shownHead } from "../shared/selection.js";
import { save } from "../shared/snapshot.js";
import { around, centered, showing, wholeOf, zoomed } from "../shared/window.js";
import { NEARER } from "./gestures.js";
import { turnedMarks } from "./places/turned_row.js";
import { lastLock, leads, type Scene } from "./scene.js";
import type { ShownView } from "./shown_view.js";
import { sourceOf } from "./source/source_of.js";
import { isBlock, isEmpty, isPair, type Target } from "./source/target.js";
import { sizeOf } from "./source/window_of.js";
import type { ViewState } from "./state.js";
import { marksOf, toggled } from "./view_cursor.js";

/** Zoom factor of a click on a block or on the minimap. */
export const INTO = 2 * NEARER;

/** Locks of tokens and cells, and scrolling to them. */
export class ViewLocks {
  readonly #view: ShownView;
  readonly #schedule: () => void;
  /** Locks that were last scrolled into view. */
  #sought: string | undefined;
  /** Locks before the first click of a double click, which shows all of a zoomed matrix. */
  #before: ViewState["tokens"] = [];
  /** Number of tokens in the last lock: Escape unlocks both tokens of a cell. */
  #size = 1;

  constructor(view: ShownView, schedule: () => void) {
    this.#view = view;
    this.#schedule = schedule;
  }

  lock(target: Target, add: boolean): void {
    const { model, peeked, shown, scene } = this.#view;
    // During a preview, the tokens of another head cannot be locked.
    if (peeked) return;
    const stays = shown?.head[2] === shownHead(model)?.[2] && shown?.unit === model.get("unit");
    if (!scene || !stays || isEmpty(target)) return;
    if (isBlock(target)) {
      this.#goInto(target);
      return;
    }
    const marks = marksOf(scene.map, target);
    this.#size = marks.length;
    save(model, { tokens: toggled(model.get("tokens"), marks, add) });
  }

  /** Switch between "where a token attends" and "which tokens attend to it". */
  turn(): void {
    const { model, scene, peeked } = this.#view;
    if (!scene || peeked) return;
    const marks = turnedMarks(scene);
    if (marks.length === 0) return;
    this.#size = 1;
    this.#view.active = {};
    save(model, { tokens: marks });
  }

  unlock(): boolean {
    const { model } = this.#view;
    const locked = model.get("tokens");
    if (locked.length === 0) return false;
    save(model, { tokens: locked.slice(0, -this.#size) });
    this.#size = 1;
    return true;
  }

  /** Remember the locks before a click, which may start a double click. */
  remember(): void {
    this.#before = this.#view.model.get("tokens");
  }

  /** Show all of a zoomed matrix after a double click, and restore the locks. */
  showAll(): void {
    const { map, model } = this.#view;
    if (!map) return;
    save(model, { tokens: this.#before });
    this.#view.show(wholeOf(sizeOf(map)));
  }

  /** Zoom in on a block of cells, until its tokens are known. */
  #goInto({ query = 0, key = 0, step = 1 }: Target): void {
    const { figure, map } = this.#view;
    const plot = this.#view.plotOf(figure);
    if (!plot || !map) return;
    const middle = { query: query + step / 2, key: key + step / 2 };
    const near = zoomed(plot.size, plot.part, INTO, middle, plot.room);
    this.#view.show(centered(plot.size, near, middle));
  }

  /** Make a token or a cell visible. */
  reveal(target: Target, toMiddle = false): void {
    const { map, part, figure } = this.#view;
    if (map && part) this.#view.show(showing(sizeOf(map), part, target, target.step));
    else figure.reveal(target, toMiddle);
  }

  /** Make new locks visible, whoever set them. A window that was set together with them stays. */
  seek(now: Scene): void {
    const locks = JSON.stringify([now.state.mode, now.state.tokens]);
    if (locks === this.#sought || !this.#view.figure.element.isConnected) return;
    const isFirst = this.#sought === undefined;
    this.#sought = locks;
    if (!isFirst || now.state.mode === "lines") this.reveal(lastLock(now), true);
  }

  /** Show one of the strongest pairs of a locked token, with the cursor on it. */
  go = (target: Target): void => {
    const { scene, model } = this.#view;
    if (!scene) return;
    if (!sourceOf(scene.map).isComplete) {
      this.goTo(target);
      return;
    }
    const { query, key } = target;
    const lead = leads({ ...scene, active: {} });
    const isOfQuery = lead.query !== undefined;
    const place = model.get("mode") === "matrix" ? { query, key } : isOfQuery ? { key } : { query };
    this.#view.active = place;
    this.#view.byKeyboard = true;
    this.reveal(place, true);
    this.#view.figure.element.focus();
    this.#schedule();
  };

  /** Lock a link and zoom in until its tokens can be read. */
  goTo = (target: Target): void => {
    const { map, model, part } = this.#view;
    if (!map || !isPair(target)) return;
    save(model, { tokens: marksOf(map, target) });
    this.#size = 2;
    this.#view.active = model.get("mode") === "matrix" ? target : {};
    this.#view.byKeyboard = true;
    if (part) this.#view.show(around(sizeOf(map), target));
    this.#view.figure.element.focus();
    this.#schedule();
  };
}
