import { element } from "../../shared/dom.js";
import { decode } from "../../shared/encoded_picture.js";
import { fresh } from "../../shared/pen.js";
import type { Figure, Scene } from "../scene.js";
import type { Target } from "../source/target.js";
import { picturesOf } from "./picture_files.js";
import { arrangePlaces, type Chip, type PlacesPanels, topOf } from "./places_layout.js";
import { elementsOf, paintPlaces } from "./places_paint.js";
import { placesNotes } from "./places_text.js";
import { chosenOf, directionOf } from "./shown_row.js";

/**
 * Return the target of a token. If both axes have the same tokens, it is on the side whose row or
 * column is painted.
 */
function targetOf(scene: Scene, { side, position }: Pick<Chip, "side" | "position">): Target {
  return { [scene.places?.isOneText ? directionOf(scene) : side]: position };
}

const contains = ({ x, y, width, height }: Chip, left: number, top: number) =>
  left >= x && left < x + width && top >= y && top < y + height;

/** Directions of the arrow keys: right and down are positive. */
const WAYS: Record<string, [dx: number, dy: number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Return the nearest token in a direction, or the token itself at the edge. */
function nextToken(all: Chip[], from: Chip | undefined, key: string): Chip | undefined {
  if (key === "Home") return all[0];
  if (key === "End") return all.at(-1);
  const way = WAYS[key];
  if (!way) return undefined;
  if (!from) return all[0];
  const middle = ({ x, y, width, height }: Chip) => [x + width / 2, y + height / 2] as const;
  const [x0, y0] = middle(from);
  let best = from;
  let least = Number.POSITIVE_INFINITY;
  for (const token of all) {
    const [x, y] = middle(token);
    const ahead = (x - x0) * way[0] + (y - y0) * way[1];
    const aside = Math.abs((x - x0) * way[1]) + Math.abs((y - y0) * way[0]);
    // Penalize sideways distance: lines of tokens differ in length, so distant tokens are a last
    // resort.
    const distance = ahead + 3 * aside;
    if (ahead > 1 && distance < least) [best, least] = [token, distance];
  }
  return best;
}

/** Create a figure that paints a row or a column of the map on pictures. */
export function placesFigure(parent: DocumentFragment): Figure {
  const box = element(parent, "div", { class: "attnw-figure attnw-places-figure" });
  const canvas = element(box, "canvas", { class: "attnw-places", "aria-hidden": "true" });
  let drawn: { all: PlacesPanels; scene: Scene } | undefined;

  /** Return the token at a point of the figure. */
  function under(clientX: number, clientY: number): Chip | undefined {
    const { left, top } = box.getBoundingClientRect();
    for (const panel of drawn?.all.panels ?? []) {
      const x = clientX - left - panel.x;
      const y = clientY - top - topOf(panel);
      const found = elementsOf(panel.layout).findLast((token) => contains(token, x, y));
      if (found) return found;
    }
    return undefined;
  }

  return {
    element: box,
    draw(scene) {
      // The media of a new input may still be on their way.
      if (!scene.places) return;
      const all = arrangePlaces(scene);
      drawn = { all, scene };
      for (const picture of picturesOf(scene.state))
        decode(picture, () => box.dispatchEvent(new Event("scroll")));
      box.style.width = `${all.width}px`;
      box.style.height = `${all.height}px`;
      box.dataset.layout = JSON.stringify(
        all.panels.map((panel) => ({
          x: panel.x,
          y: topOf(panel),
          plates: panel.layout.plates.map(({ x, y, width, height }) => ({ x, y, width, height })),
          chips: panel.layout.chips.slice(0, 8).map(({ x, y, width, height }) => ({
            x,
            y,
            width,
            height,
          })),
        })),
      );
      const pen = fresh(canvas, all.width, all.height);
      if (pen) paintPlaces(pen, all, scene);
    },
    hit(clientX, clientY) {
      const token = under(clientX, clientY);
      return drawn && token ? targetOf(drawn.scene, token) : {};
    },
    neighbor(scene, at, key) {
      const [panel] = drawn?.all.panels ?? [];
      if (!panel) return undefined;
      const all = elementsOf(panel.layout);
      const { side, of } = chosenOf(scene);
      const place = (token: Chip) => targetOf(scene, token);
      const isAt = (token: Chip, target: Target) =>
        Object.entries(place(token)).every(([name, index]) => target[name as "query"] === index);
      const from =
        all.find((token) => isAt(token, at)) ?? all.find((token) => isAt(token, { [side]: of }));
      const next = nextToken(all, from, key);
      return next && place(next);
    },
    reveal() {},
    // A region has no text, so the tooltip must show its name.
    isCut: () => true,
    notes: () => (drawn ? placesNotes(drawn.all, drawn.scene) : []),
  };
}
