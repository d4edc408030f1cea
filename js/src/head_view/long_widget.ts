import { captionText } from "../shared/caption.js";
import { listening } from "../shared/dom.js";
import { adds, commonKey, keyHelp } from "../shared/key_list.js";
import { type Look, mount } from "../shared/mount.js";
import { fresh } from "../shared/pen.js";
import { remembered } from "../shared/remembered.js";
import { shownHead, stepTo } from "../shared/selection.js";
import { save, snapshot } from "../shared/snapshot.js";
import { type RenderContext, sameHead } from "../shared/types.js";
import { longBody, longControls } from "./long_body.js";
import { longGestures } from "./long_gestures.js";
import { CURVE, type LongLayout, longLayout, MINIMAP, placeAt } from "./long_layout.js";
import { linkAt, paintLinks } from "./long_lines.js";
import {
  type Clipped,
  paintAxes,
  paintCells,
  paintCurve,
  paintMinimap,
  pixelsOf,
} from "./long_paint.js";
import { longRequests } from "./long_requests.js";
import {
  type Block,
  blockAt,
  blockBeside,
  type LongScene,
  linkLabel,
  longScene,
  named,
  reader,
} from "./long_scene.js";
import {
  headOf,
  inSightText,
  linksOf,
  longCaption,
  longName,
  longSaid,
  scaleTexts,
  scaleUse,
} from "./long_text.js";
import type { Part } from "./long_types.js";
import {
  around,
  centred,
  isWhole,
  type Place,
  partOf,
  shifted,
  showing,
  whole,
  wholeOf,
  windowOf,
  zoomed,
} from "./long_window.js";
import type { ViewState } from "./state.js";
import { WATCHED } from "./state.js";
import { toggled } from "./view_cursor.js";
import { viewHead } from "./view_head.js";
import { keyGroup, NO_SELECTION, title } from "./view_text.js";

const KEYS = [
  ["↑ ↓ ← →", "matrix: move between cells, or blocks of them; lines: from link to link"],
  ["Shift + arrows, drag", "move what is in sight"],
  [
    "+ −, Ctrl or ⌘ + wheel, pinch",
    "zoom, down to single tokens; in the focused figure a wheel alone does",
  ],
  ["Home or 0", "show the whole map"],
  ["Enter or Space, click", "go into a block; lock a token's cell, again to unlock it"],
  ["Escape", "undo the lock"],
  ["f", "find a token"],
  ["m", "lines or matrix"],
  ["[ and ]", "step to the layer before / after"],
  ["?", "show or hide this list"],
] as const;
const HINT = "Drag to move, + and − to zoom; click the map beside to go there.";
const ARROWS: Record<string, Place> = {
  ArrowUp: { query: -1, key: 0 },
  ArrowDown: { query: 1, key: 0 },
  ArrowLeft: { query: 0, key: -1 },
  ArrowRight: { query: 0, key: 1 },
};
const STEPS: Record<string, 1 | -1> = { "+": 1, "=": 1, "-": -1, _: -1 };
/** Links that are listed, of all that lines show. */
const MOST_LISTED = 20;
/** A click on a block brings so much nearer, a step of a key so much. */
const INTO = 4;
const NEARER = 2;

/** A cell as the `tokens` trait names it. */
const marksOf = ({ query, key }: Place): ViewState["tokens"] => [
  ["query", query],
  ["key", key],
];

/** A canvas draws within a rectangle. */
const clippedOn =
  (context: CanvasRenderingContext2D): Clipped =>
  (width, height, draw) => {
    context.save();
    context.beginPath();
    context.rect(0, 0, width, height);
    context.clip();
    draw();
    context.restore();
  };

/** One head of an input that is too long for its whole map: what is in sight is asked for. */
export function renderLong({ model, el, signal }: RenderContext<ViewState>): void {
  const { root, inner, schedule, invalidate } = mount({ model, el, signal }, "view", WATCHED, {
    update,
    paint,
    keys: key,
  });
  const head = viewHead(inner, signal, (mode) => setMode(mode), {
    step: (by) => zoom(by),
    whole: () => show(wholeOf(of())),
  });
  const controls = longControls(inner, model, signal);
  const body = longBody(inner, signal);
  const toggleKeys = keyHelp(inner, KEYS, head.keys, signal);
  const read = reader();
  let scene: LongScene | undefined;
  let layout: LongLayout | undefined;
  let part: Part | undefined;
  let look: Look | undefined;
  let state: ViewState | undefined;
  /**
   * Where the keyboard is, and where the pointer is: blocks and links follow from it, whatever is
   * in sight by then.
   */
  let cursor: Place | undefined;
  let pointer: (Record<"x" | "y", number> & { event: PointerEvent }) | undefined;
  let link: number | undefined;
  let byKeyboard = false;
  let spoken = "";
  let drawnSizes = "";

  const of = () => model.get("_long") ?? { n_query: 1, n_key: 1 };
  const requests = longRequests(model, () => part, invalidate, signal);
  const gestures = longGestures(
    body.box,
    () => layout && scene && part && { layout, head: scene.head, part },
    (next) => show(next),
    signal,
  );
  // One picture of each tile: moving it is then no more than placing it elsewhere.
  const maximum = (now: LongScene) => now.maximum;
  const pixels = {
    overview: pictured((now) => now.overview, maximum),
    tile: pictured((now) => now.tile, maximum),
    minimap: pictured(
      (now) => now.overview,
      (now) => now.head.maximum,
    ),
  };

  function update(now: Look): void {
    look = now;
    state = snapshot(model, WATCHED);
    const long = state._long;
    const chosen = shownHead(model);
    if (!long || !chosen || !("values" in long)) {
      scene = undefined;
      part = undefined;
      drawnSizes = "";
      head.hide(true);
      controls.row.hidden = true;
      body.say(NO_SELECTION);
      return;
    }
    head.hide(false);
    controls.row.hidden = false;
    controls.update();
    body.say("");
    const moved = requests.isMoved();
    const sizes = wholeOf(long).join();
    if (moved || sizes !== drawnSizes) part = partOf(long, state.window);
    drawnSizes = sizes;
    const stack = state._stacks.find(({ name }) => name === long.stack);
    head.name(title(headOf(long), "weights", "tokens"), keyGroup(stack, headOf(long)));
    body.setBusy(requests.isOpen() || !sameHead(headOf(long), chosen));
  }

  function paint(): void {
    if (!look || !state?._long || !part) return;
    const { theme, font, ruler, density, width } = look;
    const room = body.arrange(width);
    scene = longScene({ theme, font, ruler, density, room }, state, read, part, {
      active: undefined,
      link,
    });
    layout = longLayout(scene);
    scene = { ...scene, ...pointedAt(scene, layout, part) };
    head.update(state.mode, { zoom: true, zoomed: !isWhole(scene.head, part) });
    body.box.style.width = `${layout.width}px`;
    body.box.classList.toggle("attnw-zoomed", !isWhole(scene.head, part));
    const drawn = [pixels.overview(scene), pixels.tile(scene)] as const;
    const base = fresh(body.base, layout.width, layout.height);
    const lines = state.mode === "lines";
    if (base && lines) paintLinks(base, layout, scene, clippedOn(base));
    else if (base && drawn[0])
      paintCells(base, layout, scene, [drawn[0], drawn[1] ?? null], clippedOn(base));
    const over = fresh(body.overlay, layout.width, layout.height);
    if (over) paintAxes(over, layout, scene);
    const map = fresh(body.minimap, MINIMAP, MINIMAP);
    const small = map && pixels.minimap(scene);
    if (map && small) paintMinimap(map, scene, small, MINIMAP);
    paintRow(scene, layout);
    tell(scene, layout);
  }

  /** The block, or the link, under the pointer or the keyboard's cursor. */
  function pointedAt(
    now: LongScene,
    at: LongLayout,
    inSight: Part,
  ): Pick<LongScene, "active" | "link"> {
    const lines = now.state.mode === "lines";
    if (pointer) {
      const { x, y } = pointer;
      if (gestures.dragging()) return { link: undefined, active: undefined };
      if (lines) link = linkAt(at, now, x, y);
      const { inside, ...place } = placeAt(at, inSight, x, y);
      return { link, active: !lines && inside ? blockAt(now, place) : undefined };
    }
    return { link, active: cursor && !lines ? blockAt(now, cursor) : undefined };
  }

  function paintRow(now: LongScene, at: LongLayout): void {
    body.curve.hidden = !now.row;
    if (!now.row) return;
    const pen = fresh(body.curve, at.width, CURVE.heading + CURVE.bars + CURVE.mark);
    if (pen) paintCurve(pen, at, now, now.row);
  }

  /** The text beside the figure, and the text for screen readers. */
  function tell(now: LongScene, at: LongLayout): void {
    const { x0, y0, across, down } = at;
    const { step = 0 } = now.tile ?? {};
    body.base.dataset.layout = JSON.stringify({ x0, y0, across, down, part: now.part, step });
    body.box.setAttribute("aria-label", longName(now));
    body.bar(now.theme, scaleTexts(now));
    body.setUse(`${now.state.scale} · ${scaleUse(now)}`);
    const text = longSaid(now);
    body.read(text || HINT);
    const moves = gestures.dragging();
    body.point(
      pointer && !moves ? text : "",
      pointer?.event.clientX ?? 0,
      pointer?.event.clientY ?? 0,
    );
    // Words that change with every frame would be laid out with every frame.
    if (!moves) body.setCaption(captionText(longCaption(now)));
    const { row } = now;
    body.rowList(
      row
        ? {
            of: `strongest from ${named(row.text, row.query)}`,
            listed: row.links.map(([index, weight, to]) => ({
              label: named(to, index),
              weight: now.print(weight, row.links[0]?.[1]),
            })),
          }
        : undefined,
      (i) => row?.links[i] && go({ query: row.query, key: row.links[i][0] }),
    );
    const links = linksOf(now);
    body.links(
      {
        of: now.state.mode === "lines" ? "strongest links in sight" : "strongest links of the head",
        listed: links
          .slice(0, MOST_LISTED)
          .map((link) => ({ label: linkLabel(link), weight: now.print(link[2], links[0]?.[2]) })),
      },
      (i) => links[i] && go({ query: links[i][0], key: links[i][1] }),
    );
    const aloud = text || inSightText(now);
    if (byKeyboard && aloud !== spoken) body.announce(aloud);
    spoken = aloud;
  }

  function show(next: Part): void {
    part = next;
    requests.show(windowOf(of(), next));
    schedule();
  }

  function zoom(by: 1 | -1, times = NEARER): void {
    if (!part) return;
    const active = scene?.active;
    const half = (active?.step ?? 0) / 2;
    const middle = { query: (part[0] + part[1]) / 2, key: (part[2] + part[3]) / 2 };
    const place =
      active && state?.mode === "matrix"
        ? { query: active.query + half, key: active.key + half }
        : middle;
    if (cursor) cursor = { query: Math.floor(place.query), key: Math.floor(place.key) };
    show(zoomed(of(), part, by > 0 ? times : 1 / times, place));
  }

  /** Show a cell where its tokens can be read, locked. */
  function go(place: Place): void {
    save(model, { tokens: marksOf(place) });
    show(around(of(), place));
    cursor = place;
    pointer = undefined;
    byKeyboard = true;
    body.box.focus();
  }

  /** Go into a block, or lock a cell. */
  function choose(block: Block | undefined, add: boolean): void {
    if (!block || !part) return;
    const { step } = block;
    const middle = { query: block.query + step / 2, key: block.key + step / 2 };
    if (step > 1) show(whole(centred(of(), zoomed(of(), part, INTO, middle), middle)));
    else save(model, { tokens: toggled(model.get("tokens"), marksOf(block), add) });
  }

  function setMode(mode: ViewState["mode"]): void {
    cursor = undefined;
    link = undefined;
    save(model, { mode });
  }

  function step(by: number): void {
    const chosen = shownHead(model);
    const stack = chosen && model.get("_stacks").find(({ name }) => name === chosen[2]);
    if (chosen && stack) stepTo(model, chosen[0] + by, stack);
  }

  function moveCursor(by: Place): void {
    if (!scene || !part) return;
    if (scene.state.mode === "lines") {
      const count = scene.links?.length ?? 0;
      link = count ? Math.max(0, Math.min(count - 1, (link ?? -1) + by.query + by.key)) : undefined;
    } else {
      const { active } = scene;
      const middle = { query: (part[0] + part[1]) / 2, key: (part[2] + part[3]) / 2 };
      const isIn = (at: number, start: number, end: number) =>
        at + (active?.step ?? 0) > start && at < end;
      const inSight =
        active && isIn(active.query, part[0], part[1]) && isIn(active.key, part[2], part[3]);
      const next = inSight
        ? blockAt(scene, blockBeside(scene, active, by))
        : blockAt(scene, middle);
      cursor = next;
      if (next) {
        const around = showing(scene.head, part, next, next.step);
        if (around.some((end, i) => end !== part?.[i])) show(around);
      }
    }
    pointer = undefined;
    byKeyboard = true;
    schedule();
  }

  function key(event: KeyboardEvent): boolean {
    const { key: pressed, target } = event;
    if (pressed === "Escape") {
      if (!model.get("tokens").length) return false;
      save(model, { tokens: [] });
      return true;
    }
    if (target instanceof HTMLSelectElement || target instanceof HTMLInputElement) return false;
    if (commonKey(event, toggleKeys, step)) return true;
    if (event.metaKey || event.ctrlKey || event.altKey || !part) return false;
    const by = STEPS[pressed];
    const arrow = ARROWS[pressed];
    if (pressed === "m") setMode(model.get("mode") === "lines" ? "matrix" : "lines");
    else if (pressed === "f" && model.send) controls.focus();
    else if (by) zoom(by);
    else if (pressed === "0" || pressed === "Home") show(wholeOf(of()));
    else if (target !== body.box) return false;
    else if (arrow && event.shiftKey)
      show(
        shifted(of(), part, {
          query: (arrow.query * (part[1] - part[0])) / 4,
          key: (arrow.key * (part[3] - part[2])) / 4,
        }),
      );
    else if (arrow) moveCursor(arrow);
    else if (pressed === "Enter" || pressed === " ") enter(adds(event));
    else return false;
    byKeyboard = true;
    return true;
  }

  function enter(add: boolean): void {
    const chosen = link === undefined ? undefined : scene?.links?.[link];
    if (chosen) go({ query: chosen[0], key: chosen[1] });
    else choose(scene?.active, add);
  }

  function hover(event?: PointerEvent): void {
    pointer = event && { ...gestures.local(event), event };
    cursor = undefined;
    link = undefined;
    byKeyboard = false;
    schedule();
  }

  /** A picture of the parts that do not change during a movement. */
  function pictured(
    cells: (now: LongScene) => LongScene["tile"],
    maximum: (now: LongScene) => number,
  ) {
    let now: LongScene | undefined;
    const made = remembered((_: unknown) => {
      const cell = now && cells(now);
      return cell && now ? pixelsOf(cell, now, maximum(now)) : null;
    });
    let last: unknown[] = [];
    return (next: LongScene) => {
      now = next;
      const key = [cells(next), next.state.scale, next.theme, maximum(next)];
      if (key.some((value, i) => value !== last[i])) last = key;
      return made(last);
    };
  }

  const on = listening(signal);
  on(body.box, "pointermove", hover);
  on(body.box, "pointerleave", () => hover());
  on(body.box, "pointerup", hover);
  on(body.box, "click", (event) => {
    if (scene?.state.mode === "lines") enter(false);
    else choose(scene?.active, adds(event));
  });
  on(body.box, "blur", () => byKeyboard && hover());
  const toMinimap = (event: PointerEvent) => {
    if (!part || (event.type === "pointermove" && !event.buttons)) return;
    const { left, top, width, height } = body.minimap.getBoundingClientRect();
    const { n_query, n_key } = of();
    const place = {
      query: ((event.clientY - top) / height) * n_query,
      key: ((event.clientX - left) / width) * n_key,
    };
    // Of all there is nothing to move: the first click goes nearer.
    const near = isWhole(of(), part) ? zoomed(of(), part, INTO, place) : part;
    show(centred(of(), near, place));
  };
  on(body.minimap, "pointerdown", toMinimap);
  on(body.minimap, "pointermove", toMinimap);
  on(body.curve, "click", (event) => {
    if (!layout || !part || !scene) return;
    const x = event.clientX - body.curve.getBoundingClientRect().left;
    const row = scene.row?.query ?? 0;
    const share = (x - layout.x0) / layout.across;
    if (share >= 0 && share < 1)
      show(centred(of(), part, { query: row + 0.5, key: share * of().n_key }));
  });
  root.classList.add("attnw-long-root");
}
