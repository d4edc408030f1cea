import { html, nothing } from "lit-html";
import { guard } from "lit-html/directives/guard.js";
import { ALL_HIDDEN, captionText } from "../shared/caption.js";
import { NEARER, partByKey, placeAt, stepped, windowGestures } from "../shared/gestures.js";
import { hideOffer } from "../shared/hide_offer.js";
import { commonKey, keyList } from "../shared/key_list.js";
import { labelOf } from "../shared/labels.js";
import { announcer } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { onPeek, type Peeked } from "../shared/peek.js";
import { fresh } from "../shared/pen.js";
import { onPointed, pointOut } from "../shared/pointed.js";
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
import { findForm } from "./aside/find_form.js";
import { hasMinimap, MINIMAP, paintMinimap } from "./aside/minimap.js";
import { curveSize, keyAt, lockedRow, paintCurve } from "./aside/row_curve.js";
import { stepsView } from "./aside/steps_view.js";
import { tiledNotes } from "./aside/tiled_text.js";
import { printerOf } from "./aside/token_name.js";
import { tooltip } from "./aside/tooltip.js";
import { linesRange } from "./lines/lines_focus.js";
import { peekShown } from "./peek_shown.js";
import {
  choices,
  type Figure,
  isZoomable,
  lastLock,
  leads,
  roomFor,
  type Scene,
  sceneOf,
  visibleOf,
} from "./scene.js";
import { type Chip, chipRow, chipsOf, drawThese, toggledHeads } from "./several/chips.js";
import { isTwo, nextArrangement } from "./several/several.js";
import { pointedAt, said, severalNotes, severalTitle, shareOf } from "./several/several_text.js";
import type { Row } from "./source/map_source.js";
import { sourceOf } from "./source/source_of.js";
import { isBlock, isEmpty, isPair, type Target } from "./source/target.js";
import { tileRequests } from "./source/tile_requests.js";
import type { VisibleMap } from "./source/visible_map.js";
import { partOf, positionOf, sizeOf, windowOf } from "./source/window_of.js";
import { type ViewState, WATCHED } from "./state.js";
import { type BodyState, HINT, legendView, viewBody, viewFigures, ZOOM_HINT } from "./view_body.js";
import { type Controlled, viewControls } from "./view_controls.js";
import { KEYS, marksOf, moved, toggled } from "./view_cursor.js";
import { viewHead } from "./view_head.js";
import { type Shown, shownHeads } from "./view_shown.js";
import {
  captionOf,
  figureName,
  keyGroup,
  linksListed,
  NO_SELECTION,
  secondOf,
  standsBeside,
  strongestOf,
  title,
} from "./view_text.js";

/** A click on a block, and on the small map of all, brings so much nearer. */
const INTO = 2 * NEARER;

function render(context: RenderContext<ViewState>): void {
  const { model, signal } = context;
  const mounted = mount(context, "view", WATCHED, { update, view, paint, keys: key });
  const { root, inner, schedule, invalidate } = mounted;
  const choose = (head: Head, alone: boolean) =>
    drawThese(model, alone ? [head] : toggledHeads(snapshot(model, WATCHED), head));
  const figures = viewFigures(inner.ownerDocument, signal, (head) => choose(head, true));
  const body = viewBody(figures, mounted.save, { go, goTo, minimapped, curveClicked });
  const find = findForm(model, schedule);
  const tip = tooltip(inner);
  const live = announcer("");
  const keys = keyList(KEYS, mounted, signal);
  const requests = tileRequests(model, () => part, invalidate, signal);

  /**
   * The figure of the selection, and the drawn figure: while another figure points at a head, the
   * drawing shows that head.
   */
  let selected: Shown | null = null;
  let shown: Shown | null = null;
  let peeked: Peeked | null = null;
  let map: VisibleMap | undefined;
  let mapOf: unknown[] = [];
  let scene: Scene | undefined;
  /** What is written round the figure; absent without a head. */
  let heading: { title: string; note: string } | undefined;
  let controlled: Controlled | undefined;
  let message = "";
  let chips: Chip[] = [];
  let colourOf: (head: Head) => string = () => "";
  let zoom = { zooms: false, zoomed: false };
  /** All weights of a locked query, where not all are in sight. */
  let row: Row | undefined;
  const parts: BodyState = {
    hidden: false,
    wide: false,
    several: undefined,
    busy: false,
    held: 0,
    readout: HINT,
    strongest: undefined,
    links: undefined,
    legend: undefined,
    second: "",
    caption: "",
    minimap: false,
    curve: false,
  };
  let name = "";
  /** In sight of the map, while it can be zoomed. */
  let part: Part | undefined;
  /** The part that colours are scaled to: what was in sight when a hand took hold of the map. */
  let scaledTo: Part | undefined;
  /** Where the pointer or the cursor is; the scene has what is known there. */
  let active: Target = {};
  let byKeyboard = false;
  /** Whether another figure points at the active token: it stands in the place of the locks. */
  let isPointed = false;
  /** The locks that were last brought into sight. */
  let sought: string | undefined;
  /** The locks before the first of two clicks, which together show all of a zoomed matrix. */
  let before: ViewState["tokens"] = [];
  /** How many marks the last lock set: Escape takes back a whole cell. */
  let lockSize = 1;

  const kind = (mode = scene?.state.mode ?? model.get("mode")) =>
    shown?.several?.arrangement === "beside" ? "beside" : mode;
  const figure = (): Figure => figures[kind()];
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
      tip.point("", 0, 0);
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
    find.update();
    chips = state.arrangement === "one" || isTwo(state) ? [] : chipsOf(state);
    if (!head) {
      shown = null;
      heading = undefined;
      message = NO_SELECTION;
      return;
    }
    if (requests.isMoved()) part = undefined;
    const shownNow = shownHeads(state, head, selected);
    selected = shownNow.shown;
    const peek = peeked && peekShown(state, selected, peeked);
    shown = peek?.shown ?? selected;
    const { several } = shown ?? {};
    const { quantity, unit, labels, scale } = state;
    if (peek)
      heading = { title: title(peek.shown.head, quantity, unit, labels, scale), note: "peek" };
    else if (several) {
      // Two attentions have their names over their maps.
      const note = several.names ? "" : shareOf(several);
      heading = { title: severalTitle(several, quantity, unit, labels, scale), note };
    } else
      heading = {
        title: title(head, quantity, unit, labels, scale),
        note: keyGroup(stackOf(head), head),
      };
    message = "";
    parts.busy = (shownNow.busy || requests.isOpen()) && !peek;
    if (shown) showMap(peek?.state ?? state, shown, look);
    showFigure();
    if (!shown && state._axes?.query) controlled = { axes: state._axes, leavesOut: false };
  }

  function showFigure(kept = kind()): void {
    for (const [name, { element: node }] of Object.entries(figures))
      node.hidden = !shown || name !== kept;
  }

  function showMap(state: ViewState, of: Shown, look: Look): void {
    const now = visible(state, of);
    controlled = { axes: of.axes, leavesOut: now.cols.length < of.axes.key.text.length };
    if (now.rows.length === 0 || now.cols.length === 0) {
      message = ALL_HIDDEN;
      return;
    }
    const zooms = isZoomable(state, now) && of === selected;
    part = zooms ? (part ?? partOf(now, state.window)) : undefined;
    // Colours that change under a moving hand would hide what moves.
    if (!part || !isDragging()) scaledTo = part;
    const room = roomFor(look.width, of.several);
    const ground = { ...look, room, active, dense: false, moved: part, scaledTo };
    scene = sceneOf(state, of, now, ground);
    const { several, colours } = scene;
    if (!peeked)
      colourOf = (head) =>
        colours?.[several?.heads.findIndex((other) => sameHead(other, head)) ?? -1] ?? "";
    parts.wide = room < look.width;
    parts.several = several;
    parts.strongest = several || standsBeside(scene) ? undefined : strongestOf(scene);
    parts.links = peeked ? undefined : linksListed(scene);
    parts.second = secondOf(of);
    figure().element.setAttribute("aria-label", name);
  }

  function view({ width }: Look): unknown {
    // The caption says what the figure leaves out, so the figure draws first.
    if (scene && shown) draw(scene, shown);
    parts.hidden = Boolean(message);
    return html`${viewHead({
      title: heading?.title ?? "",
      note: heading?.note ?? "",
      ...zoom,
      hidden: !heading,
      mode: model.get("mode"),
      setMode,
      step: (by) => {
        const plot = plotOf(figure());
        if (plot) show(stepped(plot, by, cursor()));
      },
      showAll: () => map && show(wholeOf(sizeOf(map))),
      keysButton: keys.button("attnw-help"),
    })}
      <div class="attnw-view-controls" ?hidden=${!heading}>
        ${guard([controlled], () => controlled && viewControls(model, controlled))}${find.view()}
      </div>
      ${heading ? stepsView(model, snapshot(model, WATCHED)) : nothing}
      ${offerView()}
      <p class="attnw-message" ?hidden=${!message}>${message}</p>
      ${guard([chips, colourOf], () => chipRow(chips, colourOf, choose))}
      ${body.view(parts, width)}
      ${live.view()}${tip.view()}${keys.list()}`;
  }

  /** The offer to hide, or to show, special tokens on which much attention rests. */
  const offerView = () =>
    selected ? hideOffer(model, selected.axes, model.get("_source")) : nothing;

  /** Draws the figure, and writes what stands round it. */
  function draw(before: Scene, of: Shown): void {
    const locked = isPointed ? { query: new Set<number>(), key: new Set<number>() } : before.locked;
    const now = { ...before, locked, active: known(before, active), part: part ?? before.part };
    scene = now;
    figure().draw(now);
    const zooms = isZoomable(now.state, now.map);
    zoom = { zooms, zoomed: zooms && !isWhole(sizeOf(now.map), now.part) };
    parts.minimap = hasMinimap(now);
    row = lockedRow(now);
    parts.curve = row !== undefined;
    parts.legend = legendView(now, linesRange(now), of.quantity);
    const range = linesRange({ ...now, active: {} });
    const notes = [...severalNotes(now), ...figure().notes(), ...tiledNotes(now)];
    // Words that change with every frame would be laid out with every frame.
    if (!isDragging()) parts.caption = captionText(captionOf(now.state, of, now.map, notes, range));
    const target = isEmpty(now.active) ? leads(now) : now.active;
    const text = said(now, target);
    // What is locked is listed below, or stands beside the tokens.
    const isListed =
      (parts.strongest || standsBeside(now)) && isEmpty(now.active) && !isPair(target);
    parts.readout = (isListed ? "" : text) || (zooms ? ZOOM_HINT : HINT);
    if (byKeyboard) live.say(text, text);
  }

  /** The small map of all, and all weights of a locked query, where not all is in sight. */
  function paint(): void {
    if (!scene || !shown) return;
    const all = body.minimap();
    const small = parts.minimap && all ? fresh(all, MINIMAP, MINIMAP) : null;
    if (small) paintMinimap(small, scene);
    const curve = body.curve();
    const { width, height } = curveSize(scene);
    const bars = row && curve && fresh(curve, width, height);
    if (row && bars) paintCurve(bars, scene, row);
    if (!peeked) seek(scene);
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
    if (!map) return;
    if (!part || !samePart(part, next)) {
      part = next;
      requests.show(windowOf(map, next));
    }
    // The end of a drag moves nothing, but colours and caption follow it.
    invalidate();
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
    figures[kind(mode)].element.focus();
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
    if (commonKey(event, keys.toggle, step)) return true;
    if (event.metaKey || event.ctrlKey || event.altKey) return false;
    if (event.key === "m") setMode(model.get("mode") === "lines" ? "matrix" : "lines");
    else if (event.key === "s")
      save(model, { arrangement: nextArrangement(model.get("arrangement")) });
    else if (event.key === "a" && model.get("arrangement") !== "one")
      save(model, { of: model.get("of") === "layer" ? "selected" : "layer" });
    else if (event.key === "f" && find.focus()) return true;
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
      tip.point("", 0, 0);
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
    if (isDragging()) {
      tip.point("", 0, 0);
      return;
    }
    const quantity = shown?.quantity ?? "weights";
    const text =
      event && scene && isPair(target)
        ? `${pointedAt(scene, target)} ${symbolOf(quantity)}`.trim()
        : fullText(target);
    tip.point(text, event?.clientX ?? 0, event?.clientY ?? 0);
    if (["query", "key", "step"].every((side) => target[side as "key"] === active[side as "key"]))
      return;
    active = target;
    isPointed = false;
    byKeyboard = false;
    tellPointed(target);
    schedule();
  }

  /** Let linked figures follow the pointer to a token. */
  function tellPointed({ query, key: col }: Target): void {
    const side = query !== undefined ? "query" : "key";
    const index = query !== undefined ? map?.rows[query] : map?.cols[col ?? -1];
    pointOut(model.get("_circle"), model, index === undefined ? null : { side, index });
  }

  // A word that another figure points at is active here too.
  onPointed(
    signal,
    () => model.get("_circle"),
    model,
    (pointed) => {
      const places = pointed?.side === "query" ? map?.rows : map?.cols;
      const place = pointed && places ? positionOf(places, pointed.index) : -1;
      isPointed = pointed !== null && place >= 0;
      active = pointed && isPointed ? { [pointed.side]: place } : {};
      schedule();
    },
  );

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
      if (!peeked !== !next) parts.held = next ? body.plateHeight() : 0;
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
  const gestures = Object.values(figures).map((each) =>
    windowGestures(each.element, (at) => plotOf(each, at), show, signal),
  );
  const isDragging = () => gestures.some((each) => each.dragging());
  const isNear = () => Boolean(map && part && !isWhole(sizeOf(map), part));
  for (const each of Object.values(figures)) {
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

  function minimapped(event: PointerEvent): void {
    if (!map || !part || (event.type === "pointermove" && !event.buttons)) return;
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const { left, top, width, height } = box;
    const size = sizeOf(map);
    const all = { size, part: wholeOf(size), left, top, width, height };
    const plot = plotOf(figure());
    if (!plot) return;
    const place = placeAt({ ...plot, ...all }, event);
    // Of all there is nothing to move: the first click goes nearer.
    const near = isWhole(size, part) ? zoomed(size, part, INTO, place, plot.room) : part;
    show(centred(size, near, place));
  }

  function curveClicked(event: MouseEvent): void {
    if (!map || !part || !scene) return;
    const { left } = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const key = keyAt(scene, event.clientX - left);
    const query = (row?.query ?? 0) + 0.5;
    if (key !== undefined) show(centred(sizeOf(map), part, { query, key }));
  }
}

export default () => ({
  initialize: releasing<ViewState>("_map", "_maps", "_long", "_tile"),
  render,
});
