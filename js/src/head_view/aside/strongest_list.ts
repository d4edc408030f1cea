import { html, nothing } from "lit-html";
import type { Target } from "../source/target.js";
import type { Listed } from "../view_text.js";

/** Targets with their weights, under a heading. */
export interface Listing {
  of: string;
  listed: Listed[];
}

/** Weights under their heading, as buttons that go to their cells. */
export function targetList(listing: Listing | undefined, go: (target: Target) => void) {
  const item = ({ label, weight, target }: Listed) =>
    html`<li><button type="button" class="attnw-strongest-go"
      aria-label=${`go to ${label}, ${weight}`} @click=${() => go(target)}
      ><span>${label}</span><span class="attnw-strongest-weight">${weight}</span></button></li>`;
  return html`<div class="attnw-strongest" ?hidden=${!listing}>
    <p class="attnw-strongest-of">${listing?.of}</p>
    <ol>${listing?.listed.map(item) ?? nothing}</ol>
  </div>`;
}
