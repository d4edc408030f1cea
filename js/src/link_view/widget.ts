import { html, nothing } from "lit-html";
import { captionText } from "../shared/caption.js";
import { rangeInput } from "../shared/controls.js";
import { withControls } from "../shared/figure_controls.js";
import { initializing } from "../shared/initialize.js";
import { commonKey, keyList } from "../shared/key_list.js";
import { announcer } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { painted } from "../shared/painted.js";
import { fresh } from "../shared/pen.js";
import { captioned } from "../shared/save_menu.js";
import { stepTo } from "../shared/selection.js";
import { save, snapshot } from "../shared/snapshot.js";
import type { RenderContext } from "../shared/types.js";
import type { Curve } from "./distance_curve.js";
import { linkControls } from "./link_controls.js";
import { type AnswerPanel, captionOf, messageOf, titleOf } from "./link_text.js";
import { paintCurve, paintPanels } from "./paint.js";
import { type Scene, sceneOf } from "./scene.js";
import { isAsked, type LinkState, WATCHED } from "./state.js";

const KEYS = [
  ["Tab", "to the controls above, then to the slider of distances"],
  ["Arrow keys", "on the slider: move the key by one token"],
  ["[ and ]", "step to the layer before / after"],
  ["Escape", "back to the distance in the text, to a typical word, then unlock the last token"],
  ["?", "show or hide this list"],
] as const;
/**
 * Half the width of a slider's handle. The handle stays inside the slider, and the curve ends at
 * its center.
 */
const HANDLE = 8;

function render(context: RenderContext<LinkState>): void {
  const { model, signal } = context;
  const mounted = withControls(
    mount(context, "why", WATCHED, { update, view, keys: key }),
    context.signal,
  );
  /** Whether a kernel can answer about another link. */
  const asks = typeof model.send === "function";
  const keys = keyList(KEYS, mounted, signal);
  const live = announcer(model.get("_link"));

  let state: LinkState | undefined;
  let scene: Scene | null = null;

  function update(look: Look): void {
    state = snapshot(model, WATCHED);
    scene = sceneOf(state, look);
    live.say(state._link, scene ? titleOf(state, scene.link) : "");
  }

  /** Undo the last choice; returns whether there was one. */
  function undo(): boolean {
    const tokens = model.get("tokens");
    if (model.get("distance") !== null) save(model, { distance: null });
    else if (model.get("versus") !== null) save(model, { versus: null });
    else if (tokens.length) save(model, { tokens: tokens.slice(0, -1) });
    else return false;
    return true;
  }

  function key(event: KeyboardEvent): boolean {
    if (event.key === "Escape") return undo();
    if (event.target instanceof HTMLSelectElement) return false;
    const stack = model.get("_stacks").find(({ name }) => name === model.get("_axes").stack);
    const step = (by: number) => stepTo(model, model.get("layer") + by, stack);
    return commonKey(event, keys.toggle, step);
  }

  function view(): unknown {
    if (!state) return nothing;
    const isStale = scene !== null && !isAsked(scene.link, state);
    const held = scene && isStale && !asks ? heldNote(state, scene) : "";
    const controls = mounted.own(asks ? linkControls(model, state) : []);
    return html`<div class="attnw-controls" ?hidden=${!asks}>${mounted.bar(controls)}</div>
      <div class="attnw-why-keys">${keys.button()}</div>
      <p class="attnw-figure-title attnw-why-title" ?hidden=${!scene}
        >${scene && titleOf(state, scene.link)}</p>
      <p class="attnw-message" ?hidden=${scene !== null}>${messageOf(state)}</p>
      <p class="attnw-why-held" ?hidden=${!held}>${held}</p>
      <div class="attnw-progress" ?hidden=${!isStale || !asks}></div>
      <div class=${isStale && asks ? "attnw-why-stale" : ""}>
        ${scene && panelsView(scene)}${scene && curveView(scene)}
      </div>
      ${keys.list()}
      ${captioned(
        mounted.save,
        html`<p class="attnw-below" data-caption>${captionText(captionOf(state))}</p>`,
      )}
      ${live.view()}`;
  }

  function panelsView(shown: Scene) {
    const paint = (canvas: HTMLCanvasElement) => {
      const pen = fresh(canvas, shown.width, shown.height);
      if (pen) paintPanels(pen, shown);
    };
    return html`<div class="attnw-drawn"><canvas class="attnw-why-panels" aria-hidden="true"
        ${painted(paint, shown)}></canvas></div>
      <div class="attnw-unseen">${shown.said.map(panelInWords)}</div>`;
  }

  /** Return the curve and the slider below it, or the reason why a key cannot be moved. */
  function curveView(shown: Scene) {
    const { curve, noCurve } = shown;
    if (!curve) return html`<p class="attnw-muted attnw-why-fixed">${noCurve}</p>`;
    const paint = (canvas: HTMLCanvasElement) => {
      const pen = fresh(canvas, curve.width, curve.height);
      if (pen) paintCurve(pen, curve, shown);
    };
    return html`<div class="attnw-drawn attnw-why-moved"><canvas class="attnw-why-curve"
        aria-hidden="true" ${painted(paint, shown)}></canvas></div>
      <div class="attnw-why-slider" .style=${sliderStyle(curve)}>
        ${rangeInput({
          max: curve.weights.length - 1,
          value: curve.at - curve.first,
          // The page has all weights, so it redraws immediately and tells the kernel only at the
          // end.
          slide: (index) => model.set("distance", curve.first + index),
          release: () => model.save_changes(),
          label: "distance from the query back to the key",
          valueText: curve.readout,
        })}
      </div>`;
  }
}

const sliderStyle = ({ left, right }: Curve) =>
  `margin-left: ${left - HANDLE}px; width: ${right - left + 2 * HANDLE}px`;

/** Return the values of a panel as text, for readers who do not see its bars. */
function panelInWords({ title, above, blocks, below }: AnswerPanel) {
  return html`<p>${[title, ...above].join(" ")}</p>
    ${blocks.map(
      ({ heading, rows }) => html`<ul aria-label=${heading}>
        ${rows.map(({ label, text }) => html`<li>${`${label}: ${text}`}</li>`)}
      </ul>`,
    )}
    <p>${below.join(" ")}</p>`;
}

/** Return the note of a page without a kernel if another link is selected. */
const heldNote = (state: LinkState, { link }: Scene) =>
  `This page holds one link, ${titleOf(state, link)}. Another link needs a notebook.`;

export default () => ({
  initialize: initializing<LinkState>("_distances", "_sources", "_writes"),
  render,
});
