import type { Axes } from "../src/shared/types.js";

const axis = {
  text: ["[CLS]", "cat", "sat", "[SEP]"],
  raw: ["[CLS]", "cat", "sat", "[SEP]"],
  special: ["cls", "", "", "sep"],
  segments: [0, 0, 0, 0],
};
export const axes: Axes = { stack: "self", unit: "tokens", query: axis, key: axis };
export const weights = [
  [0.7, 0.1, 0.1, 0.1],
  [0.05, 0.05, 0.831, 0.069],
  [0.25, 0.25, 0.25, 0.25],
  [0.4, 0.3, 0.2, 0.1],
];
