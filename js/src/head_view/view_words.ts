import { ALL_HIDDEN, captionText } from "../shared/caption.js";
import type { Look } from "../shared/mount.js";
import { type Head, sameHead } from "../shared/types.js";
import { isWhole } from "../shared/window.js";
import { hasMinimap } from "./aside/minimap.js";
import { lockedRow } from "./aside/row_curve.js";
import { tiledNotes } from "./aside/tiled_text.js";
import { linesRange } from "./lines/lines_focus.js";
import { placesLine } from "./places/places_text.js";
import { playedPart, playText } from "./places/play_sound.js";
import { isZoomable, leads, roomFor, type Scene } from "./scene.js";
import { type Chip, chipsOf } from "./several/chips.js";
import { isTwo } from "./several/several.js";
import { severalNotes, severalTitle, shareOf, targetText } from "./several/several_text.js";
import type { Followed, ShownView } from "./shown_view.js";
import type { QueryRow } from "./source/map_source.js";
import { isEmpty, isPair } from "./source/target.js";
import { sizeOf } from "./source/window_of.js";
import type { ViewState } from "./state.js";
import { type BodyState, HINT, legendView, placesHint, ZOOM_HINT } from "./view_body.js";
import type { Shown } from "./view_shown.js";
import {
  captionOf,
  keyGroup,
  linksListed,
  NO_SELECTION,
  secondOf,
  standsBeside,
  strongestOf,
  title,
} from "./view_text.js";

/** Texts around the figure of a view. */
export class ViewWords {
  /** Title and the note next to it; absent if no head is selected. */
  heading: { title: string; note: string } | undefined;
  /** Sentence that replaces the figure, or "". */
  message = "";
  /** Heads that can be drawn together. */
  chips: Chip[] = [];
  colorOf: (head: Head) => string = () => "";
  zoom = { zooms: false, zoomed: false };
  /** All weights of a locked query, if some of them are out of sight. */
  row: QueryRow | undefined;
  /** Announcement of the target under the keyboard cursor; "" if there is nothing new. */
  spoken = "";
  readonly body: BodyState = {
    hidden: false,
    wide: false,
    several: undefined,
    busy: false,
    held: 0,
    readout: HINT,
    hint: "",
    play: "",
    strongest: undefined,
    links: undefined,
    legend: undefined,
    second: "",
    caption: "",
    minimap: false,
    curve: false,
  };
  readonly #view: ShownView;

  constructor(view: ShownView) {
    this.#view = view;
  }

  /** Follow a change of the state. */
  follow(state: ViewState, followed: Followed, look: Look): void {
    const { shown, scene } = this.#view;
    this.chips = state.arrangement === "one" || isTwo(state) ? [] : chipsOf(state);
    this.heading = this.#headingOf(state, followed);
    this.message = !followed.head ? NO_SELECTION : shown && !scene ? ALL_HIDDEN : "";
    this.body.hidden = Boolean(this.message);
    if (!followed.head) return;
    this.body.busy = followed.busy;
    if (shown && scene) this.#followScene(scene, shown, look);
  }

  #headingOf(state: ViewState, { head, peek }: Followed): ViewWords["heading"] {
    if (!head) return undefined;
    const { several } = this.#view.shown ?? {};
    const { quantity, unit, scale } = state;
    const named = (of: Head) => title(of, quantity, unit, state, scale);
    if (peek) return { title: named(peek.shown.head), note: "peek" };
    if (!several) return { title: named(head), note: keyGroup(this.#view.stackOf(head), head) };
    return {
      title: severalTitle(several, quantity, unit, state, scale),
      // Two compared attentions have their names above their maps.
      note: several.names ? "" : shareOf(several),
    };
  }

  #followScene(scene: Scene, shown: Shown, look: Look): void {
    const { several, colors } = scene;
    const { peeked } = this.#view;
    if (!peeked)
      this.colorOf = (head) =>
        colors?.[several?.heads.findIndex((other) => sameHead(other, head)) ?? -1] ?? "";
    this.body.wide = roomFor(look.width, shown.several) < look.width;
    this.body.several = several;
    this.body.strongest = several || standsBeside(scene) ? undefined : strongestOf(scene);
    this.body.links = peeked ? undefined : linksListed(scene);
    this.body.second = secondOf(shown);
  }

  /** Follow the drawing of a scene, whose figure returns notes on what it leaves out. */
  drawn(scene: Scene, of: Shown, left: string[]): void {
    const { body } = this;
    const { events, byKeyboard } = this.#view;
    const zooms = isZoomable(scene.state, scene.map);
    this.zoom = { zooms, zoomed: zooms && !isWhole(sizeOf(scene.map), scene.part) };
    body.minimap = hasMinimap(scene);
    this.row = lockedRow(scene);
    body.curve = this.row !== undefined;
    body.legend = legendView(scene, linesRange(scene), of.quantity);
    const range = linesRange({ ...scene, active: {} });
    const notes = [...severalNotes(scene), ...left, ...tiledNotes(scene)];
    // A caption that changes with every frame would force a new layout with every frame.
    if (!events.isDragging())
      body.caption = captionText(captionOf(scene.state, of, scene.map, notes, range));
    const target = isEmpty(scene.active) ? leads(scene) : scene.active;
    const text = scene.places ? placesLine(scene) : targetText(scene, target);
    // The weights of locked tokens are listed below or printed next to the tokens.
    const isListed =
      (body.strongest || standsBeside(scene)) && isEmpty(scene.active) && !isPair(target);
    const hint = scene.places ? placesHint(scene.state) : zooms ? ZOOM_HINT : HINT;
    body.readout = (isListed && !scene.places ? "" : text) || hint;
    const heard = scene.places && playedPart(scene);
    body.play = heard ? playText(heard) : "";
    body.hint = scene.places && isEmpty(leads(scene)) ? hint : "";
    this.spoken = byKeyboard ? text : "";
  }
}
