import { ALL_HIDDEN, captionText } from "../shared/caption.js";
import { listening } from "../shared/dom.js";
import { NEARER, partByKey, placeAt, stepped, windowGestures } from "../shared/gestures.js";
import { commonKey, keyHelp } from "../shared/key_list.js";
import { labelOf } from "../shared/labels.js";
import { type Look, mount } from "../shared/mount.js";
import { onPeek, type Peeked } from "../shared/peek.js";
import { fresh } from "../shared/pen.js";
import { symbolOf } from "../shared/quantity.js";
import { releasing } from "../shared/release.js";
import { shownHead, stepTo } from "../shared/selection.js";
import { save, snapshot } from "../shared/snapshot.js";
import { type Head, type RenderContext, sameHead } from "../shared/types.js";
import {
  around,
  centred,
  isWhole,
  type Part,
  type Place,
  samePart,
  showing,
  wholeOf,
  zoomed,
} from "../shared/window.js";
import { hasMinimap, MINIMAP, paintMinimap } from "./aside/minimap.js";
import { curveSize, keyAt, lockedRow, paintCurve } from "./aside/row_curve.js";
import { targetList } from "./aside/strongest_list.js";
import { tiledNotes } from "./aside/tiled_text.js";
import { printerOf } from "./aside/token_name.js";
import { linesRange } from "./lines/lines_focus.js";
import { peekShown } from "./peek_shown.js";
import {
  choices,
  type Figure,
  isZoomable,
  lastLock,
  leads,
  type Scene,
  sceneOf,
  visibleOf,
} from "./scene.js";
import { chipsOf, drawThese, toggledHeads } from "./several/chips.js";
import { isTwo, nextArrangement } from "./several/several.js";
import { pointedAt, said, severalNotes, severalTitle, shareOf } from "./several/several_text.js";
import { sourceOf } from "./source/source_of.js";
import { isBlock, isEmpty, isPair, type Target } from "./source/target.js";
import { tileRequests } from "./source/tile_requests.js";
import type { VisibleMap } from "./source/visible_map.js";
import { partOf, sizeOf, windowOf } from "./source/window_of.js";
import { type ViewState, WATCHED } from "./state.js";
import { viewBody, ZOOM_HINT } from "./view_body.js";
import { viewControls } from "./view_controls.js";
import { KEYS, marksOf, moved, toggled } from "./view_cursor.js";
import { type Shown, shownHeads } from "./view_shown.js";
import {
  captionOf,
  figureName,
  keyGroup,
  linksListed,
  NO_SELECTION,
  secondOf,
  strongestOf,
  title,
} from "./view_text.js";

/** A click on a block, and on the small map of all, brings so much nearer. */
const INTO = 2 * NEARER;

function render({ model, el, signal }: RenderContext<ViewState>): void {
  const { root, inner, schedule, invalidate } = mount({ model, el, signal }, "view", WATCHED, {
    update,
    paint,
    keys: key,
  });
  const controls = viewControls(inner, model, signal, setMode, {
    step: (by) => {
      const plot = plotOf(figure());
      if (plot) show(stepped(plot, by, cursor()));
    },
    whole: () => map && show(wholeOf(sizeOf(map))),
  });
  const body = viewBody(inner, signal, (head, alone) =>
    drawThese(model, alone ? [head] : toggledHeads(snapshot(model, WATCHED), head)),
  );
  const requests = tileRequests(model, () => part, invalidate, signal);
  const list = targetList(body.listing, signal, strongestOf, go);
  const linkList = targetList(body.links, signal, linksListed, goTo);
  const toggleKeys = keyHelp(inner, KEYS, controls.keys, signal);

  /**
   * The figure of the selection, and the drawn figure: while another figure points at a head, the
   * drawing shows that head.
   */
  let selected: Shown | null = null;
  let shown: Shown | null = null;
  let peeked: Peeked | null = null;
  let map: VisibleMap | undefined;
  let mapOf: unknown[] = [];
  let name = "";
  let scene: Scene | undefined;
  /** In sight of the map, while it can be zoomed. */
  let part: Part | undefined;
  /** Where the pointer or the cursor is; the scene has what is known there. */
  let active: Target = {};
  let byKeyboard = false;
  /** The locks that were last brought into sight. */
  let sought: string | undefined;
  /** The locks before the first of two clicks, which together show all of a zoomed matrix. */
  let before: ViewState["tokens"] = [];
  /** How many marks the last lock set: Escape takes back a whole cell. */
  let lockSize = 1;

  const kind = (mode = scene?.state.mode ?? model.get("mode")) =>
    shown?.several?.arrangement === "beside" ? "beside" : mode;
  const figure = (): Figure => body.figures[kind()];
  const stackOf = ([, , name]: Head) => model.get("_stacks").find((stack) => stack.name === name);

  function visible(state: ViewState, of: Shown): VisibleMap {
    const now = [of, ...choices(state)];
    if (!map || now.some((value, i) => value !== mapOf[i])) {
      const before = map;
      map = visibleOf(state, of);
      // The cursor stays where it is from one head to the next.
      const moves =
        before?.rows.length !== map.rows.length || before.cols.length !== map.cols.length;
      if (moves) {
        active = {};
        part = undefined;
      }
      body.point("", 0, 0);
      name = figureName(
        of.several?.heads ?? [of.head],
        of.quantity,
        map,
        of.axes,
        printerOf(of.exact, of.quantity, of.axes.key),
      );
    }
    mapOf = now;
    return map;
  }

  function update(look: Look): void {
    const state = snapshot(model, WATCHED);
    const head = shownHead(model);
    scene = undefined;
    if (!head) {
      shown = null;
      controls.clear();
      body.say(NO_SELECTION);
      return;
    }
    if (requests.isMoved()) part = undefined;
    const shownNow = shownHeads(state, head, selected);
    selected = shownNow.shown;
    const peek = peeked && peekShown(state, selected, peeked);
    shown = peek?.shown ?? selected;
    const { several } = shown ?? {};
    if (peek) controls.name(title(peek.shown.head, state.quantity, state.unit), "peek");
    else if (several)
      controls.name(severalTitle(several, state.quantity, state.unit), shareOf(several));
    else controls.name(title(head, state.quantity, state.unit), keyGroup(stackOf(head), head));
    body.say("");
    body.setBusy((shownNow.busy || requests.isOpen()) && !peek);
    if (state.arrangement === "one" || isTwo(state)) body.chips([], () => "");
    if (shown) showMap(peek?.state ?? state, shown, look);
    showFigure();
    if (!shown && state._axes?.query) controls.update(state._axes, false);
  }

  function showFigure(kept = kind()): void {
    for (const [name, { element: node }] of Object.entries(body.figures))
      node.hidden = !shown || name !== kept;
  }

  function showMap(state: ViewState, of: Shown, look: Look): void {
    const now = visible(state, of);
    controls.update(of.axes, now.cols.length < of.axes.key.text.length);
    if (now.rows.length === 0 || now.cols.length === 0) {
      body.say(ALL_HIDDEN);
      return;
    }
    const zooms = isZoomable(state, now) && of === selected;
    part = zooms ? (part ?? partOf(now, state.window)) : undefined;
    scene = sceneOf(state, of, now, {
      ...look,
      room: body.arrange(of.several),
      active,
      dense: false,
      moved: part,
    });
    const { several, colours } = scene;
    const colourOf = (head: Head) =>
      colours?.[several?.heads.findIndex((other) => sameHead(other, head)) ?? -1] ?? "";
    if (state.arrangement !== "one" && !isTwo(state)) body.chips(chipsOf(state), colourOf);
    body.setHighlight(secondOf(of));
    figure().element.setAttribute("aria-label", name);
  }

  function paint(): void {
    if (!scene || !shown) return;
    scene = { ...scene, active: known(scene, active), part: part ?? scene.part };
    figure().draw(scene);
    paintAside(scene);
    if (!peeked) seek(scene);
    body.setLegend(scene, linesRange(scene), shown.quantity);
    const range = linesRange({ ...scene, active: {} });
    const notes = [...severalNotes(scene), ...figure().notes(), ...tiledNotes(scene)];
    // Words that change with every frame would be laid out with every frame.
    if (!gestures.some((each) => each.dragging()))
      body.setCaption(captionText(captionOf(scene.state, shown, scene.map, notes, range)));
    const listed = list(scene.several ? undefined : scene);
    linkList(peeked ? undefined : scene);
    const target = isEmpty(scene.active) ? leads(scene) : scene.active;
    const text = said(scene, target);
    // What is locked is listed below.
    const isListed = listed && isEmpty(scene.active) && !isPair(target);
    body.read(isListed ? "" : text, isZoomable(scene.state, scene.map) ? ZOOM_HINT : undefined);
    if (byKeyboard) body.announce(text);
  }

  /** The small map of all, and all weights of a locked query, where not all is in sight. */
  function paintAside(now: Scene): void {
    const zooms = isZoomable(now.state, now.map);
    controls.zoom({ zoom: zooms, zoomed: zooms && !isWhole(sizeOf(now.map), now.part) });
    body.minimap.hidden = !hasMinimap(now);
    const small = body.minimap.hidden ? null : fresh(body.minimap, MINIMAP, MINIMAP);
    if (small) paintMinimap(small, now);
    const row = lockedRow(now);
    body.curve.hidden = !row;
    const { width, height } = curveSize(now);
    const bars = row && fresh(body.curve, width, height);
    if (bars) paintCurve(bars, now, row);
  }

  /**
   * The cell, or block of cells, that is known by now where the pointer or the cursor is. Of the
   * cell of a link only its block may be known, until the tile round it is there.
   */
  function known({ map: now, state }: Scene, at: Target): Target {
    const { step = 1 } = at;
    if (!now.tiles || !isPair(at) || state.mode === "lines") return at;
    const place = { query: at.query + (step - 1) / 2, key: at.key + (step - 1) / 2 };
    const block = sourceOf(now).at(place);
    return block ? { query: block.query, key: block.key, step: block.step } : {};
  }

  /** The middle of the cell under the cursor. */
  function cursor(): Place | undefined {
    const { query, key, step = 1 } = active;
    if (query === undefined || key === undefined || model.get("mode") === "lines") return undefined;
    return { query: query + step / 2, key: key + step / 2 };
  }

  function show(next: Part): void {
    if (!map || (part && samePart(part, next))) return;
    part = next;
    requests.show(windowOf(map, next));
    schedule();
  }

  /** Bring a token or a cell into sight. */
  function reveal(target: Target, amid = false): void {
    if (map && part) show(showing(sizeOf(map), part, target, target.step));
    else figure().reveal(target, amid);
  }

  /**
   * New locks are brought into sight, whoever set them; a window that was given with them stays.
   */
  function seek(now: Scene): void {
    const locks = JSON.stringify([now.state.mode, now.state.tokens]);
    if (locks === sought || !root.isConnected) return;
    const first = sought === undefined;
    sought = locks;
    if (!first || now.state.mode === "lines") reveal(lastLock(now), true);
  }

  /** Show one of the strongest of a locked token, with the cursor on it. */
  function go(target: Target): void {
    if (!scene) return;
    if (scene.map.tiles) {
      goTo(target);
      return;
    }
    const { query, key: col } = target;
    const lead = leads({ ...scene, active: {} });
    active =
      model.get("mode") === "matrix"
        ? { query, key: col }
        : lead.query !== undefined
          ? { key: col }
          : { query };
    byKeyboard = true;
    reveal(active, true);
    figure().element.focus();
    schedule();
  }

  /** Show a link where its tokens can be read, locked. */
  function goTo(target: Target): void {
    if (!map || !isPair(target)) return;
    save(model, { tokens: marksOf(map, target) });
    lockSize = 2;
    active = model.get("mode") === "matrix" ? target : {};
    byKeyboard = true;
    if (part) show(around(sizeOf(map), target));
    figure().element.focus();
    schedule();
  }

  function setMode(mode: ViewState["mode"]): void {
    const held = figure().element.contains(root.ownerDocument.activeElement);
    active = {};
    part = undefined;
    save(model, { mode });
    if (!held) return;
    showFigure(kind(mode));
    body.figures[kind(mode)].element.focus();
  }

  function step(by: number): void {
    const head = shownHead(model);
    const stack = head && stackOf(head);
    if (stack) stepTo(model, head[0] + by, stack);
  }

  function lock(target: Target, add: boolean): void {
    // While the picture still shows another stack, its tokens cannot be locked.
    if (peeked) return;
    const stays = shown?.head[2] === shownHead(model)?.[2] && shown?.unit === model.get("unit");
    if (!scene || !stays || isEmpty(target)) return;
    if (isBlock(target)) {
      goInto(target);
      return;
    }
    const marks = marksOf(scene.map, target);
    lockSize = marks.length;
    save(model, { tokens: toggled(model.get("tokens"), marks, add) });
  }

  /** Go nearer to a block of cells, until its tokens are known. */
  function goInto({ query = 0, key: col = 0, step: size = 1 }: Target): void {
    const plot = plotOf(figure());
    if (!plot || !map) return;
    const middle = { query: query + size / 2, key: col + size / 2 };
    const near = zoomed(plot.size, plot.part, INTO, middle, plot.room);
    show(centred(plot.size, near, middle));
  }

  function unlock(): boolean {
    const locked = model.get("tokens");
    if (locked.length === 0) return false;
    save(model, { tokens: locked.slice(0, -lockSize) });
    lockSize = 1;
    return true;
  }

  function key(event: KeyboardEvent): boolean {
    const inFigure = event.target === figure().element;
    if (event.key === "Escape") return gestures.some((each) => each.cancel()) || unlock();
    // A select moves to the option that starts with the letter.
    if (event.target instanceof HTMLSelectElement) return false;
    if (event.target instanceof HTMLInputElement && event.target.type === "search") return false;
    if (commonKey(event, toggleKeys, step)) return true;
    if (event.metaKey || event.ctrlKey || event.altKey) return false;
    if (event.key === "m") setMode(model.get("mode") === "lines" ? "matrix" : "lines");
    else if (event.key === "s")
      save(model, { arrangement: nextArrangement(model.get("arrangement")) });
    else if (event.key === "a" && model.get("arrangement") !== "one")
      save(model, { of: model.get("of") === "layer" ? "selected" : "layer" });
    else if (event.key === "f" && controls.find()) return true;
    else if (!inFigure || !scene) return false;
    else if (event.key === "Enter" || event.key === " ") lock(known(scene, active), event.shiftKey);
    else {
      const plot = plotOf(figure());
      const next = plot && partByKey(event, plot, cursor());
      byKeyboard = true;
      if (next) {
        show(next);
        return true;
      }
      const target = movedBy(event.key, scene);
      if (!target) return false;
      active = target;
      reveal(target);
      body.point("", 0, 0);
      schedule();
    }
    return true;
  }

  /** Where a key moves the cursor; of blocks from block to block. */
  function movedBy(pressed: string, current: Scene): Target | undefined {
    const { map: now, part: inSight, state } = current;
    const at = known(current, active);
    const { rows, cols } = sizeOf(now);
    const matrix = state.mode === "matrix";
    const step = matrix && now.tiles ? (sourceOf(now).cells(inSight).at(-1)?.step ?? 1) : 1;
    const first = { query: Math.floor(inSight[0] / step), key: Math.floor(inSight[2] / step) };
    // The first key shows the cursor where it is.
    if (isEmpty(at) && !isWhole(sizeOf(now), inSight) && matrix && pressed.startsWith("Arrow"))
      return { query: first.query * step, key: first.key * step, step };
    const blocks = (index: number | undefined) => index && Math.floor(index / step);
    const from = { query: blocks(at.query), key: blocks(at.key) };
    const to = moved(pressed, from, state.mode, Math.ceil(rows / step), Math.ceil(cols / step));
    if (!to || step === 1) return to;
    return { query: (to.query ?? 0) * step, key: (to.key ?? 0) * step, step };
  }

  function hover(target: Target, event?: PointerEvent): void {
    if (gestures.some((each) => each.dragging())) {
      body.point("", 0, 0);
      return;
    }
    const quantity = shown?.quantity ?? "weights";
    const text =
      event && scene && isPair(target)
        ? `${pointedAt(scene, target)} ${symbolOf(quantity)}`.trim()
        : fullText(target);
    body.point(text, event?.clientX ?? 0, event?.clientY ?? 0);
    if (["query", "key", "step"].every((side) => target[side as "key"] === active[side as "key"]))
      return;
    active = target;
    byKeyboard = false;
    schedule();
  }

  /** A token's whole text where its label may be cut short. */
  function fullText({ query, key: col }: Target): string {
    if (!scene) return "";
    const { map: now, axes } = scene;
    const side = query !== undefined ? "query" : "key";
    const index = query !== undefined ? now.rows[query] : now.cols[col ?? -1];
    const text = index === undefined ? "" : labelOf(axes[side], index);
    return figure().isCut(scene, side, text) ? text : "";
  }

  onPeek(
    signal,
    () => model.get("_circle"),
    (next) => {
      if (next && !peekShown(snapshot(model, WATCHED), selected, next)) return false;
      if (!peeked !== !next) body.hold(next !== null);
      peeked = next;
      invalidate();
      return true;
    },
  );

  /** What can be zoomed under a point, with what is in sight by now: painting follows. */
  function plotOf(each: Figure, at?: Parameters<NonNullable<Figure["plot"]>>[0]) {
    const plot = each.plot?.(at);
    return plot && part ? { ...plot, part } : undefined;
  }
  const gestures = Object.values(body.figures).map((each) =>
    windowGestures(each.element, (at) => plotOf(each, at), show, signal),
  );
  const isNear = () => Boolean(map && part && !isWhole(sizeOf(map), part));
  for (const each of Object.values(body.figures)) {
    const on = <K extends keyof HTMLElementEventMap>(
      type: K,
      listener: (event: HTMLElementEventMap[K]) => void,
    ) => each.element.addEventListener(type, listener, { signal });
    on("pointermove", (event) => hover(each.hit(event.clientX, event.clientY), event));
    on("pointerleave", () => hover({}));
    on("click", (event) => {
      if (isNear()) {
        if (event.detail > 1) return;
        before = model.get("tokens");
      }
      lock(each.hit(event.clientX, event.clientY), event.shiftKey);
    });
    on("dblclick", () => {
      if (!map || !isNear()) return;
      save(model, { tokens: before });
      show(wholeOf(sizeOf(map)));
    });
    on("blur", () => byKeyboard && hover({}));
    on("scroll", schedule);
  }
  const on = listening(signal);
  const toMinimap = (event: PointerEvent) => {
    if (!map || !part || (event.type === "pointermove" && !event.buttons)) return;
    const { left, top, width, height } = body.minimap.getBoundingClientRect();
    const size = sizeOf(map);
    const all = { size, part: wholeOf(size), left, top, width, height };
    const plot = plotOf(figure());
    if (!plot) return;
    const place = placeAt({ ...plot, ...all }, event);
    // Of all there is nothing to move: the first click goes nearer.
    const near = isWhole(size, part) ? zoomed(size, part, INTO, place, plot.room) : part;
    show(centred(size, near, place));
  };
  on(body.minimap, "pointerdown", toMinimap);
  on(body.minimap, "pointermove", toMinimap);
  on(body.curve, "click", (event) => {
    if (!map || !part || !scene) return;
    const key = keyAt(scene, event.clientX - body.curve.getBoundingClientRect().left);
    const query = lockedRow(scene)?.query ?? 0;
    if (key !== undefined) show(centred(sizeOf(map), part, { query: query + 0.5, key }));
  });
}

export default () => ({
  initialize: releasing<ViewState>("_map", "_maps", "_long", "_tile"),
  render,
});
