import { html, nothing } from "lit-html";
import type { Line, Part } from "./sentence/line.js";

export const SILENT_KERNEL = "The kernel does not answer: this is the last picture that it sent.";

/**
 * Return one part of the line. The share on special tokens is a button that shows or hides them.
 */
const partView = ({ text, style }: Part, toggleResting: () => void) =>
  style === "rest"
    ? html`<button type="button" class="attnw-ex-rests" title="show or hide these tokens"
        @click=${toggleResting}>${text}</button>`
    : style === "plain"
      ? text
      : html`<span dir="ltr" class=${`attnw-ex-${style}-part`}>${text}</span>`;

/** Return the line of words about the screen. */
export const lineView = (line: Line | string, toggleResting: () => void, isSpoken: boolean) =>
  html`<p class="attnw-ex-look" aria-live=${isSpoken ? "polite" : "off"}>${
    typeof line === "string" ? line || nothing : line.map((part) => partView(part, toggleResting))
  }</p>`;
