import { html, nothing } from "lit-html";
import { createRef, ref } from "lit-html/directives/ref.js";
import type { Look } from "../../shared/look.js";
import { painted } from "../../shared/painted.js";
import { fresh } from "../../shared/pen.js";
import { type Head, headName } from "../../shared/types.js";
import type { AnswerEffects } from "../sentence/answer_effects.js";
import { paintStrip } from "./strip_paint.js";
import {
  areWide,
  type Bar,
  barAt,
  changeText,
  SCALE_WIDTH,
  STRIP_HEIGHT,
  type StripScene,
  scaleTexts,
  stripScene,
  stripText,
} from "./strip_scene.js";

interface StripActions {
  /** Show a head while the pointer or the keyboard is at its bar; null: no longer. */
  point(head: Head | null): void;
  select(head: Head): void;
}

interface Shown {
  effects: AnswerEffects | undefined;
  /** Head on the screen. */
  shown: Head;
  /** Whether the answers are on the screen. */
  hasAnswers: boolean;
  /** Whether the kernel is computing effects. */
  isWaiting: boolean;
}

/**
 * Return the strip of all heads below the answers: one bar per head, in the order of layers, with
 * the change of the followed answer without the head.
 */
export function headStrip(actions: StripActions) {
  const canvas = createRef<HTMLCanvasElement>();
  let scene: StripScene | undefined;
  /** Head at whose bar the pointer or the keyboard is. */
  let pointed: Head | undefined;
  let isTouch = false;
  /** Whether the last answers had a strip, so that its place is kept while there are none. */
  let wasThere = false;
  /** Effects that were drawn last, for the time in which the kernel computes others. */
  let last: AnswerEffects | undefined;

  function point(bar: Bar | undefined): void {
    if (String(bar?.head) === String(pointed)) return;
    pointed = bar?.head;
    actions.point(pointed ?? null);
  }

  function under({ clientX }: MouseEvent): Bar | undefined {
    if (!scene || !canvas.value) return undefined;
    const x = clientX - canvas.value.getBoundingClientRect().left;
    return barAt(scene, x, isTouch && !areWide(scene));
  }

  function moved(event: PointerEvent): void {
    if (event.pointerType !== "touch") point(under(event));
  }

  function clicked(event: MouseEvent): void {
    const bar = under(event);
    if (bar) actions.select(bar.head);
  }

  function press(event: KeyboardEvent): void {
    if (!scene || event.ctrlKey || event.metaKey || event.altKey) return;
    const { bars, present, effects } = scene;
    // The strip may not have been drawn since the last key.
    const cursor = pointed ?? present?.head;
    const at = bars.findIndex(({ head }) => String(head) === String(cursor));
    const next = {
      ArrowRight: at + 1,
      ArrowUp: at + 1,
      ArrowLeft: at - 1,
      ArrowDown: at - 1,
      PageUp: at + effects.heads,
      PageDown: at - effects.heads,
      Home: 0,
      End: bars.length - 1,
    }[event.key];
    if (next !== undefined) point(bars[Math.min(Math.max(next, 0), bars.length - 1)]);
    else if ((event.key === "Enter" || event.key === " ") && cursor) actions.select(cursor);
    else {
      // This key switches the selected head off, so select the head of the cursor first.
      if (event.key === "x" && pointed) actions.select(pointed);
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  function sliderView(now: StripScene) {
    const { effects, bars, present } = now;
    const at = present ? bars.indexOf(present) : 0;
    const bar = present ?? bars[0];
    const said = bar ? `${headName(bar.head)} off: ${changeText(effects, bar.change)}` : "";
    const paint = (element: HTMLCanvasElement) => {
      const pen = fresh(element, now.width, STRIP_HEIGHT);
      if (pen) paintStrip(pen, now);
    };
    return html`<canvas class="attnw-ex-strip-bars" role="slider" tabindex="0"
      aria-label=${`${stripText(effects)}; arrow keys move between heads, Enter selects one`}
      aria-valuemin="0" aria-valuemax=${bars.length - 1} aria-valuenow=${at} aria-valuetext=${said}
      @pointerdown=${(event: PointerEvent) => {
        isTouch = event.pointerType === "touch";
      }}
      @pointermove=${moved} @pointerleave=${() => point(undefined)}
      @click=${clicked} @keydown=${press} @blur=${() => point(undefined)}
      ${painted(paint, now)} ${ref(canvas)}></canvas>`;
  }

  /** Return the earlier effects, pale and without names, while the kernel computes others. */
  function waitingView(room: { width: number; look: Look }) {
    const now = last && { ...stripScene(last, NO_HEAD, false, room), names: [] };
    const paint = (element: HTMLCanvasElement) => {
      const pen = fresh(element, room.width, STRIP_HEIGHT);
      if (pen && now) paintStrip(pen, now);
    };
    return html`<canvas class="attnw-ex-strip-bars attnw-ex-stale" aria-hidden="true"
      ${painted(paint, last, room.width, room.look)}></canvas>`;
  }

  return {
    /**
     * Return the strip, in a figure of this width. While there are no answers, its place is kept.
     */
    view(of: Shown, look: Look, width: number) {
      const { effects, shown, isWaiting, hasAnswers } = of;
      scene = undefined;
      if (!effects) point(undefined);
      const room = { width: Math.max(1, width - SCALE_WIDTH), look };
      if (hasAnswers) wasThere = effects !== undefined || isWaiting;
      if (!wasThere) return nothing;
      if (!hasAnswers) return html`<div class="attnw-ex-strip"></div>`;
      if (effects) {
        last = effects;
        scene = stripScene(effects, pointed ?? shown, pointed !== undefined, room);
      }
      const [first, second] = effects ? scaleTexts(effects) : ["each head off", "…"];
      return html`<div class="attnw-ex-strip" aria-busy=${!effects}>
        <span class="attnw-ex-strip-scale" title=${effects ? stripText(effects) : nothing}
          >${first}<br />${second}</span
        >${scene ? sliderView(scene) : waitingView(room)}
      </div>`;
    },
  };
}

const NO_HEAD: Head = [-1, -1, ""];
