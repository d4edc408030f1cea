import type { GridState } from "../head_grid/state.js";
import type { PredictionState } from "../prediction_view/state.js";
import { snapshot } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import { type ExplorerState, NO_PANELS } from "./explorer_types.js";
import type { joinedFigures } from "./joined_figures.js";
import { SILENT_KERNEL } from "./line_view.js";
import type { Pointer } from "./pointer.js";
import { type Guess, guessOf } from "./sentence/guess.js";
import { type Line, lineOf } from "./sentence/line.js";
import { type Reading, readingOf } from "./sentence/reading.js";
import { canAsk, needsLine, needsOf, needsProblem, type WordNeeds } from "./sentence/word_needs.js";
import { isBehind } from "./text_draft.js";

const READ = [
  "selected",
  "tokens",
  "labels",
  "disabled",
  "_shown",
  "_tested",
  "_name_links",
  "_unknown",
] as const;

/** Content of the screen; `reading` is undefined while the figures have no data. */
export interface OnScreen {
  reading: Reading | undefined;
  grid: GridState | undefined;
  guess: Guess | undefined;
  predictions: PredictionState | undefined;
  /** Words that the answer needs, if they are asked for and known. */
  needs: WordNeeds | undefined;
}

/** Read the head and the words on the screen, and the model's answers about them. */
export function readScreen(
  model: Model<ExplorerState>,
  figures: ReturnType<typeof joinedFigures>,
  pointer: Pointer,
): OnScreen {
  const view = figures.view();
  const grid = figures.grid();
  const isAsked = model.get("progress").predictions === undefined;
  const predictions = isAsked ? figures.predictions() : undefined;
  const explorer = snapshot(model, READ as readonly (keyof ExplorerState)[]);
  const screen = (at: Pointer) => {
    const reading = view && readingOf({ explorer, grid, view, predictions, ...at });
    return { reading, grid, guess: reading && guessOf(reading, predictions), predictions };
  };
  // The bars at the words are about the locked word, so the pointer does not replace it.
  if (predictions?._needs_asked) {
    const locked = screen({ ...pointer, pointed: null });
    const needs = canAsk(locked.reading, locked.guess)
      ? needsOf(locked.guess, predictions)
      : undefined;
    if (needs) return { ...locked, needs };
  }
  return { ...screen(pointer), needs: undefined };
}

/** Return whether the figures wait for the requested input. */
export const isWaiting = (model: Model<ExplorerState>): boolean =>
  !model.get("_error") && isBehind(model);

/** Return the line about the screen. `isLost`: Whether the kernel has stopped answering. */
export function lineNow(
  model: Model<ExplorerState>,
  { reading, grid, guess, needs, predictions }: OnScreen,
  isLost: boolean,
): Line | string {
  if (isLost) return SILENT_KERNEL;
  if (isWaiting(model)) return "";
  // A page without a kernel has only the data of its panels.
  if (!reading) return model.get("panels").length ? "" : NO_PANELS;
  if (guess && needs) return needsLine(reading, guess, needs);
  return (canAsk(reading, guess) && needsProblem(predictions)) || lineOf(reading, grid, guess);
}

/**
 * Return why the model has no answer about the active word, or what needs a model if there is none.
 */
export function guessHint(model: Model<ExplorerState>, { reading, predictions }: OnScreen): string {
  const lacks = model.get("_without_model");
  if (lacks || reading?.compared.length || !reading) return lacks;
  if (model.get("progress").predictions !== undefined) return "Asking the model …";
  if (!predictions) return "";
  if (reading.from === undefined) return "Choose a word to see what the model says there.";
  return reading.isLocked ? "" : "Click the word to see what the model says there.";
}
