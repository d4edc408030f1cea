import { colourBar } from "../shared/colour_bar.js";
import { choice } from "../shared/controls.js";
import { element, listening } from "../shared/dom.js";
import { save } from "../shared/snapshot.js";
import { type Model, SCALES, type Scale, type Side } from "../shared/types.js";
import { MISSING } from "./long_text.js";
import { ASIDE, roomFor } from "./scene.js";
import type { ViewState } from "./state.js";
import { goList } from "./strongest_list.js";
import { tooltip } from "./tooltip.js";

const SIDES: Side[] = ["key", "query"];
const SIDE_NAMES = { key: "keys (to)", query: "queries (from)" };

/** The scale, and a token to look for; returns how to bring them up to date. */
export function longControls(parent: HTMLElement, model: Model<ViewState>, signal: AbortSignal) {
  const row = element(parent, "div", { class: "attnw-view-controls" });
  const scale = choice<Scale>(row, "scale", signal, (value) => save(model, { scale: value }));
  const form = element(row, "form", { role: "search", class: "attnw-find", hidden: !model.send });
  const label = element(form, "label", {}, "find ");
  const text = element(label, "input", {
    type: "search",
    placeholder: "token or word",
    autocomplete: "off",
  });
  let side: Side = "key";
  const among = choice<Side>(
    form,
    "among",
    signal,
    (value) => {
      side = value;
      say("");
    },
    (value) => SIDE_NAMES[value],
  );
  const button = (sign: string, name: string, step: 1 | -1) => {
    const node = element(
      form,
      "button",
      { type: "button", class: "attnw-button", title: name, "aria-label": name },
      sign,
    );
    listening(signal)(node, "click", () => find(step));
  };
  button("‹", "previous place", -1);
  button("›", "next place", 1);
  const said = element(form, "span", { role: "status", class: "attnw-view-note" });
  element(parent, "p", { class: "attnw-view-note attnw-long-note" }, MISSING);
  const say = (words: string) => {
    if (said.textContent !== words) said.textContent = words;
  };
  function find(step: 1 | -1): void {
    const n = (model.get("_jump").n ?? 0) + 1;
    if (text.value.trim()) save(model, { _jump: { n, text: text.value, side, step } });
    else text.focus();
  }
  const on = listening(signal);
  on(form, "submit", (event) => event.preventDefault());
  // Escape empties the field, and does not unlock what is locked.
  on(text, "keydown", (event) => {
    if (event.key === "Enter") find(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape" && text.value) {
      text.value = "";
      say("");
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return {
    row,
    focus: () => text.focus(),
    update(): void {
      scale(SCALES, model.get("scale"));
      among(SIDES, side);
      const [{ n }, { n: answered, count = 0, nth }] = [model.get("_jump"), model.get("_jumped")];
      if (n !== undefined && n === answered) say(count ? `${nth} of ${count}` : "not among them");
    },
  };
}

/**
 * The figure with what is beside or under it: minimap, what is pointed at, lists, legend, caption.
 */
export function longBody(parent: HTMLElement, signal: AbortSignal) {
  const message = element(parent, "p", { class: "attnw-message", hidden: true });
  const body = element(parent, "div", { class: "attnw-view-body" });
  const plate = element(body, "div", { class: "attnw-plate attnw-drawn" });
  const progress = element(plate, "div", { class: "attnw-progress", hidden: true });
  const box = element(plate, "div", {
    class: "attnw-figure attnw-long",
    tabindex: 0,
    role: "group",
    "aria-roledescription": "attention map",
  });
  const canvas = (className: string, at: HTMLElement = box) =>
    element(at, "canvas", { class: className, "aria-hidden": "true" });
  const base = canvas("attnw-matrix");
  const overlay = canvas("attnw-overlay");
  const curve = canvas("attnw-curve", plate);
  const aside = element(body, "div", { class: "attnw-aside" });
  const top = element(aside, "div", { class: "attnw-long-top" });
  const minimap = canvas("attnw-minimap", top);
  const words = element(top, "div", { class: "attnw-long-words" });
  const readout = element(words, "p", { class: "attnw-readout" });
  const legend = element(words, "div", { class: "attnw-legend" });
  const bar = colourBar(legend);
  const inUse = element(legend, "span");
  const rowList = goList(aside, signal);
  const links = goList(element(aside, "div", { class: "attnw-long-links" }), signal);
  const caption = element(aside, "p", { class: "attnw-caption", "data-caption": "" });
  const live = element(parent, "div", { class: "attnw-unseen", "aria-live": "polite" });
  const setText = (node: HTMLElement, text: string) => {
    if (node.textContent !== text) node.textContent = text;
  };
  return {
    box,
    base,
    overlay,
    curve,
    minimap,
    bar,
    rowList,
    links,
    point: tooltip(parent),
    /** Put what is beside the figure beside or under it; returns the width left for the figure. */
    arrange(width: number): number {
      const room = roomFor(width);
      body.classList.toggle("attnw-wide", room < width);
      aside.style.maxWidth = room < width ? `${ASIDE}px` : "";
      return room;
    },
    say(sentence: string): void {
      message.hidden = !sentence;
      body.hidden = Boolean(sentence);
      setText(message, sentence);
    },
    setBusy(busy: boolean): void {
      progress.hidden = !busy;
      plate.setAttribute("aria-busy", String(busy));
    },
    read: (text: string) => setText(readout, text),
    announce: (text: string) => setText(live, text),
    setCaption: (text: string) => setText(caption, text),
    setUse: (text: string) => setText(inUse, text),
  };
}
