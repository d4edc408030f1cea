import { element } from "../../shared/dom.js";
import type { Scene } from "../scene.js";
import type { Target } from "../source/target.js";
import type { Listed } from "../view_text.js";

/** Weights with their labels. */
interface Listing {
  of: string;
  listed: { label: string; weight: string }[];
}

/**
 * Weights under a heading, as buttons that go to their cells; returns a function that updates them.
 */
function goList(parent: HTMLElement, signal: AbortSignal) {
  const box = element(parent, "div", { class: "attnw-strongest", hidden: true });
  const heading = element(box, "p", { class: "attnw-strongest-of" });
  const list = element(box, "ol");
  let last = "";
  let goTo: (index: number) => void = () => {};
  return (listing: Listing | undefined, go: (index: number) => void): void => {
    box.hidden = !listing;
    goTo = go;
    const text = JSON.stringify(listing);
    if (!listing || text === last) return;
    last = text;
    heading.textContent = listing.of;
    list.replaceChildren();
    for (const [i, { label, weight }] of listing.listed.entries()) {
      const name = {
        type: "button",
        class: "attnw-strongest-go",
        "aria-label": `go to ${label}, ${weight}`,
      };
      const button = element(element(list, "li"), "button", name);
      element(button, "span", {}, label);
      element(button, "span", { class: "attnw-strongest-weight" }, weight);
      button.addEventListener("click", () => goTo(i), { signal });
    }
  };
}

/**
 * Targets with their weights, as a list that goes to them; returns how to bring it up to date, and
 * whether there are any.
 */
export function targetList(
  parent: HTMLElement,
  signal: AbortSignal,
  listingOf: (scene: Scene) => { of: string; listed: Listed[] } | undefined,
  go: (target: Target) => void,
) {
  const update = goList(parent, signal);
  return (scene: Scene | undefined): boolean => {
    const listing = scene && listingOf(scene);
    update(listing, (i) => go(listing?.listed[i]?.target ?? {}));
    return listing !== undefined;
  };
}
