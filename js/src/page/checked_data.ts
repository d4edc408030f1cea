import { DamagedError } from "../shared/page/damage.js";
import { bytesOf, embedded } from "../shared/page/embedded_arrays.js";
import type { EmbeddedMaps } from "../shared/page/embedded_maps.js";
import type { Held, PageFigure, StoredMaps } from "../shared/page/page_data.js";

/**
 * Largest number of layers or heads that a page may name. Larger numbers are damage and would hang
 * the page.
 */
const MOST_HEADS = 4096;
const COUNTS = new Set(["n_layers", "n_heads", "n_key_heads"]);

type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isCount = (value: unknown, most: number): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most;

/** Return the parts of a page's JSON, whose content is not checked yet. */
export function parsedPage(source: string): { figures: unknown[]; held: Fields } {
  let page: unknown;
  try {
    page = JSON.parse(source);
  } catch {
    throw new DamagedError("its data is no JSON");
  }
  if (!isFields(page) || !Array.isArray(page.figures) || !page.figures.length)
    throw new DamagedError("its data names no figures");
  return { figures: page.figures, held: isFields(page.held) ? page.held : {} };
}

/**
 * Return a checked figure of the page. `isKnown` tells whether the page has the code that draws it.
 */
export function checkedFigure(stored: unknown, isKnown: (name: string) => boolean): PageFigure {
  if (!isFields(stored) || typeof stored.name !== "string" || !isKnown(stored.name))
    throw new DamagedError("the page has no code for it");
  if (!isFields(stored.state)) throw new DamagedError("its state is missing");
  checkCounts(stored.state);
  checkShapes(stored.shapes);
  const { relations } = stored;
  if (relations !== null && !isTexts(relations))
    throw new DamagedError("its relations are not names");
  if (stored.children !== undefined && !isFields(stored.children))
    throw new DamagedError("its panels are not names");
  for (const name of ["label", "remark"] as const)
    if (typeof stored[name] !== "string") throw new DamagedError(`its ${name} is no text`);
  return embedded(stored) as PageFigure;
}

/**
 * Return the data behind the figures. Each part is checked at its first use, so that damage in one
 * part does not affect figures that do not need it.
 */
export function checkedHeld(stored: Fields): Held {
  const held: Held = {};
  const parts: Record<string, (value: unknown) => unknown> = {
    maps: checkedMaps,
    two: (value) => {
      if (!Array.isArray(value) || value.length !== 2)
        throw new DamagedError("it needs two attentions");
      return value.map(checkedMaps);
    },
  };
  for (const [name, value] of Object.entries(stored)) {
    let read: unknown;
    Object.defineProperty(held, name, {
      enumerable: true,
      get: () => {
        read ??= value === null ? value : (parts[name] ?? embedded)(value);
        return read;
      },
    });
  }
  return held;
}

function checkedMaps(stored: unknown): EmbeddedMaps[] {
  if (!Array.isArray(stored)) throw new DamagedError("its maps are missing");
  return stored.map(checkedMap);
}

function checkedMap(stored: unknown): EmbeddedMaps {
  if (!isFields(stored)) throw new DamagedError("its maps are missing");
  const given = stored as unknown as StoredMaps;
  const { shape, maxima, axes, values, fine, only } = given;
  if (!Array.isArray(shape) || shape.length !== 4 || !shape.every((n) => isCount(n, 1e8)))
    throw new DamagedError(`its maps have the shape ${JSON.stringify(shape)}`);
  const [layers, heads, queries, keys] = shape;
  checkShapes({ maps: [layers, heads] });
  const maps = layers * heads;
  if (!Array.isArray(maxima) || maxima.length !== maps || !maxima.every(Number.isFinite))
    throw new DamagedError(`it needs the largest weights of ${maps} maps`);
  for (const [side, length] of [
    [axes?.query, queries],
    [axes?.key, keys],
  ] as const)
    if (!side || !isTexts(side.text) || !isTexts(side.special) || side.text.length !== length)
      throw new DamagedError(`its maps need the names of ${length} tokens`);
  const bytes = bytesOf(values);
  const expected = maps * queries * keys;
  if (bytes.length !== expected)
    throw new DamagedError(`its maps have ${bytes.length} of ${expected} bytes`);
  if (only && maps !== 1) throw new DamagedError("it has several maps where one is expected");
  return { ...given, values: bytes, fine: fine ? bytesOf(fine, expected) : null };
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

/** Check the numbers of layers and heads of each stack. */
function checkShapes(shapes: unknown): void {
  const isShape = (shape: unknown) =>
    Array.isArray(shape) && shape.length === 2 && shape.every((n) => isCount(n, MOST_HEADS));
  if (!isFields(shapes) || !Object.values(shapes).every(isShape))
    throw new DamagedError("its numbers of layers and heads are wrong");
}

/** Check the numbers of layers and heads anywhere in a state. */
function checkCounts(value: unknown): void {
  if (Array.isArray(value)) for (const item of value) checkCounts(item);
  else if (isFields(value))
    for (const [name, inner] of Object.entries(value)) {
      if (COUNTS.has(name) && !isCount(inner, MOST_HEADS))
        throw new DamagedError(`its ${name} is ${JSON.stringify(inner)}`);
      checkCounts(inner);
    }
}
