import { ALL_HIDDEN, captionText } from "../shared/caption.js";
import { listening } from "../shared/dom.js";
import { commonKey, keyHelp } from "../shared/key_list.js";
import { labelOf } from "../shared/labels.js";
import { type Look, mount } from "../shared/mount.js";
import { onPeek, type Peeked } from "../shared/peek.js";
import { printer, symbolOf } from "../shared/quantity.js";
import { releasing } from "../shared/release.js";
import { shownHead, stepTo } from "../shared/selection.js";
import { save, snapshot } from "../shared/snapshot.js";
import { type Head, type RenderContext, sameHead } from "../shared/types.js";
import { chipsOf, drawThese, toggledHeads } from "./chips.js";
import { linesRange } from "./lines_focus.js";
import { renderLong } from "./long_widget.js";
import { matrixZoom } from "./matrix_zoom.js";
import { peekShown } from "./peek_shown.js";
import { choices, type Figure, lastLock, leads, type Scene, sceneOf, visibleOf } from "./scene.js";
import { isTwo, nextArrangement } from "./several.js";
import { pointedAt, said, severalNotes, severalTitle, shareOf } from "./several_text.js";
import { type ViewState, WATCHED } from "./state.js";
import { strongestList } from "./strongest_list.js";
import { isEmpty, isPair, type Target } from "./targets.js";
import { MATRIX_HINT, viewBody } from "./view_body.js";
import { viewControls } from "./view_controls.js";
import { KEYS, marksOf, moved, toggled } from "./view_cursor.js";
import { type Shown, shownHeads } from "./view_shown.js";
import { captionOf, figureName, keyGroup, NO_SELECTION, secondOf, title } from "./view_text.js";
import type { VisibleMap } from "./visible_map.js";

function renderShort({ model, el, signal }: RenderContext<ViewState>): void {
  const { root, inner, schedule, invalidate } = mount({ model, el, signal }, "view", WATCHED, {
    update,
    paint,
    keys: key,
  });
  const controls = viewControls(inner, model, signal, setMode, {
    step: (by) => zoom.step(by, active),
    whole: () => zoom.whole(),
  });
  const body = viewBody(inner, signal, (head, alone) =>
    drawThese(model, alone ? [head] : toggledHeads(snapshot(model, WATCHED), head)),
  );
  const zoom = matrixZoom(body.figures.matrix, model, () => map, signal);
  const list = strongestList(body.listing, signal, go);
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
      if (moves) active = {};
      body.point("", 0, 0);
      name = figureName(
        of.several?.heads ?? [of.head],
        of.quantity,
        map,
        of.axes,
        printer(of.exact, of.quantity),
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
    body.setBusy(shownNow.busy && !peek);
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
    scene = sceneOf(state, of, now, {
      ...look,
      room: body.arrange(of.several),
      active,
      dense: false,
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
    scene = { ...scene, active };
    figure().draw(scene);
    if (!peeked) seek(scene);
    body.setLegend(scene, linesRange(scene), shown.quantity);
    const range = linesRange({ ...scene, active: {} });
    const notes = [...severalNotes(scene), ...figure().notes()];
    body.setCaption(captionText(captionOf(scene.state, shown, scene.map, notes, range)));
    const listed = list(scene.several ? undefined : scene);
    const target = isEmpty(active) ? leads(scene) : active;
    const text = said(scene, target);
    // What is locked is listed below.
    const known = listed && isEmpty(active) && !isPair(target);
    body.read(known ? "" : text, kind() === "matrix" ? MATRIX_HINT : undefined);
    if (byKeyboard) body.announce(text);
  }

  /** Bring a token or a cell into sight. */
  function reveal(target: Target, amid = false): void {
    if (kind() === "matrix") zoom.keep(target);
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
  function go({ query, key: col }: Target): void {
    if (!scene) return;
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

  function setMode(mode: ViewState["mode"]): void {
    const held = figure().element.contains(root.ownerDocument.activeElement);
    active = {};
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
    const marks = marksOf(scene.map, target);
    lockSize = marks.length;
    save(model, { tokens: toggled(model.get("tokens"), marks, add) });
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
    if (event.key === "Escape") return zoom.key(event.key, active) || unlock();
    // A select moves to the option that starts with the letter.
    if (event.target instanceof HTMLSelectElement) return false;
    if (commonKey(event, toggleKeys, step)) return true;
    if (event.metaKey || event.ctrlKey || event.altKey) return false;
    if (event.key === "m") setMode(model.get("mode") === "lines" ? "matrix" : "lines");
    else if (event.key === "s")
      save(model, { arrangement: nextArrangement(model.get("arrangement")) });
    else if (event.key === "a" && model.get("arrangement") !== "one")
      save(model, { of: model.get("of") === "layer" ? "selected" : "layer" });
    else if (!inFigure || !scene) return false;
    else if (kind() === "matrix" && zoom.key(event.key, active)) return true;
    else if (event.key === "Enter" || event.key === " ") lock(active, event.shiftKey);
    else {
      const { rows, cols } = scene.map;
      const target = moved(event.key, active, model.get("mode"), rows.length, cols.length);
      if (!target) return false;
      active = target;
      byKeyboard = true;
      reveal(target);
      body.point("", 0, 0);
      schedule();
    }
    return true;
  }

  function hover(target: Target, event?: PointerEvent): void {
    const quantity = shown?.quantity ?? "weights";
    const text =
      event && scene && isPair(target)
        ? `${pointedAt(scene, target)} ${symbolOf(quantity)}`.trim()
        : fullText(target);
    body.point(text, event?.clientX ?? 0, event?.clientY ?? 0);
    if (target.query === active.query && target.key === active.key) return;
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

  for (const each of Object.values(body.figures)) {
    const on = <K extends keyof HTMLElementEventMap>(
      type: K,
      listener: (event: HTMLElementEventMap[K]) => void,
    ) => each.element.addEventListener(type, listener, { signal });
    on("pointermove", (event) => hover(each.hit(event.clientX, event.clientY), event));
    on("pointerleave", () => hover({}));
    on("click", (event) => {
      if (each === body.figures.matrix && zoom.zoomed()) {
        if (event.detail > 1) return;
        before = model.get("tokens");
      }
      lock(each.hit(event.clientX, event.clientY), event.shiftKey);
    });
    on("blur", () => byKeyboard && hover({}));
    on("scroll", schedule);
  }
  listening(signal)(body.figures.matrix.element, "dblclick", () => {
    if (zoom.zoomed()) save(model, { tokens: before, window: null });
  });
}

/** Inputs without a whole map have a separate figure, also after a change of the input. */
function render({ model, el, signal }: RenderContext<ViewState>): void {
  const isLong = () => Boolean(model.get("_long"));
  let shown = isLong();
  let end = new AbortController();
  const draw = () => (shown ? renderLong : renderShort)({ model, el, signal: end.signal });
  const follow = () => {
    if (isLong() === shown) return;
    end.abort();
    shown = isLong();
    end = new AbortController();
    draw();
  };
  model.on("change:_long", follow);
  signal.addEventListener("abort", () => {
    model.off("change:_long", follow);
    end.abort();
  });
  draw();
}

export default () => ({
  initialize: releasing<ViewState>("_map", "_maps", "_long", "_tile"),
  render,
});
