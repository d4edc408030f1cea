import type { Theme } from "../model/theme.js";
import type { Axes, Scale, Side } from "../model/types.js";
import type { VisibleMap } from "./visible_map.js";

/** A token (one side) or a pair (both), as positions on the visible axes. */
export interface Target {
  query?: number | undefined;
  key?: number | undefined;
}

export interface Positions {
  query: Set<number>;
  key: Set<number>;
}

/** All that a figure of one map draws. */
export interface Scene {
  map: VisibleMap;
  axes: Axes;
  theme: Theme;
  /** Width there is to draw in, in CSS pixels. */
  room: number;
  /** Family of the labels. */
  font: string;
  scale: Scale;
  topMass: number;
  /** Prints a weight. */
  print: (weight: number) => string;
  /** Under the pointer or the keyboard's cursor. */
  active: Target;
  locked: Positions;
  highlighted: Positions;
}

/** One way to draw a scene. */
export interface Figure {
  element: HTMLElement;
  draw(scene: Scene): void;
  /** What lies under a point of the page. */
  hit(clientX: number, clientY: number): Target;
  reveal(target: Target): void;
  /** Whether a side's label is too long to be printed whole. */
  isCut(scene: Scene, side: Side, text: string): boolean;
  /** What the caption must say about the drawing. */
  note(): string;
}

export const isPair = (target: Target): target is { query: number; key: number } =>
  target.query !== undefined && target.key !== undefined;
export const isEmpty = (target: Target) => target.query === undefined && target.key === undefined;

export const weightAt = (map: VisibleMap, query: number, key: number) =>
  map.values[query * map.cols.length + key] ?? Number.NaN;

/** The token of each side whose weights are printed: the active one, else the last locked. */
export function leads(scene: Scene): Target {
  const token = isPair(scene.active) ? {} : scene.active;
  return {
    query: token.query ?? [...scene.locked.query].at(-1),
    key: token.key ?? [...scene.locked.key].at(-1),
  };
}

/** Positions on the visible axes of indices on the full ones. */
export function positions(map: VisibleMap, query: number[], key: number[]): Positions {
  const places = (visible: number[], wanted: number[]) =>
    new Set(wanted.map((index) => visible.indexOf(index)).filter((place) => place >= 0));
  return { query: places(map.rows, query), key: places(map.cols, key) };
}

/** A canvas's context, sized to CSS pixels and cleared; null where there are no canvases. */
export function fresh(
  canvas: HTMLCanvasElement,
  width: number,
  height: number,
): CanvasRenderingContext2D | null {
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
