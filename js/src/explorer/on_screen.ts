import type { GridState } from "../head_grid/state.js";
import type { PredictionState } from "../prediction_view/state.js";
import { snapshot } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import { type ExplorerState, NO_PANELS } from "./explorer_types.js";
import type { joinedFigures } from "./joined_figures.js";
import { SILENT_KERNEL } from "./line_view.js";
import { withLinkCut } from "./link/link_guess.js";
import { linkLines } from "./link/link_line.js";
import { type LockedLink, lockedLink } from "./link/link_state.js";
import { withScaledLink } from "./link/scaled_reading.js";
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
  "scaled_links",
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
  /** Link between the locked words, if the model is asked about the first. */
  link: LockedLink | undefined;
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
    const read = view && readingOf({ explorer, grid, view, predictions, ...at });
    const link = lockedLink(read, predictions, explorer);
    const reading = withScaledLink(read, link);
    const guess = withLinkCut(reading && guessOf(reading, predictions), link, reading);
    return { reading, grid, guess, link, predictions };
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
  { reading, grid, guess, link, needs, predictions }: OnScreen,
  isLost: boolean,
): Line | string {
  if (isLost) return SILENT_KERNEL;
  if (isWaiting(model)) return "";
  // A page without a kernel has only the data of its panels.
  if (!reading) return model.get("panels").length ? "" : NO_PANELS;
  if (guess && needs) return needsLine(reading, guess, needs);
  const problem = canAsk(reading, guess) && needsProblem(predictions);
  return problem || lineOf(reading, grid, guess, linkLines(reading, guess, link));
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
