import { snapshot } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState, Input } from "./explorer_types.js";

const INPUT = ["text", "pair", "target", "versus_text"] as const;

/** Return an input as comparable text. Missing texts are null. */
const written = (input: Partial<Input>): string =>
  JSON.stringify(INPUT.map((name) => input[name] || null));

/** Return the input that the page has requested. */
const askedInput = (model: Model<ExplorerState>): Input =>
  snapshot(model, INPUT as readonly (keyof ExplorerState)[]);

/** Return whether the figures show another input than the requested one. */
export function isBehind(model: Model<ExplorerState>): boolean {
  const shown = model.get("_shown");
  return shown.text !== undefined && written(shown) !== written(askedInput(model));
}

/** Text typed into the boxes. It stays until the input is changed elsewhere. */
export class TextDraft {
  /** Text of the first box, which is the second text in a comparison. */
  first = "";
  second = "";
  hasSecond = false;
  readonly #model: Model<ExplorerState>;
  /** Input at the start of the draft. */
  #begun = "";

  constructor(model: Model<ExplorerState>) {
    this.#model = model;
  }

  /** Trait of the second box. */
  get kind(): "pair" | "target" {
    return this.#model.get("_second") || "pair";
  }

  /** Whether two texts are compared, so that the first one is fixed as A. */
  get compares(): boolean {
    return Boolean(this.#model.get("versus_text"));
  }

  /** Whether the text of the first box differs from the input. */
  get isOther(): boolean {
    return this.first !== (this.#model.get("versus_text") || this.#model.get("text"));
  }

  get isChanged(): boolean {
    return written(this.input()) !== written(askedInput(this.#model));
  }

  /** Return the input as typed. */
  input(): Input {
    const { compares, first } = this;
    return {
      text: compares ? this.#model.get("text") : first,
      pair: null,
      target: null,
      versus_text: compares ? first : null,
      [this.kind]: (this.hasSecond && this.second) || null,
    };
  }

  /**
   * Adopt an input that was changed elsewhere. `isTyping`: Whether the second box has the focus.
   */
  update(isTyping: boolean): void {
    const now = askedInput(this.#model);
    if (written(now) === this.#begun) return;
    this.#begun = written(now);
    this.first = now.versus_text || now.text;
    this.second = now[this.kind] ?? "";
    this.hasSecond =
      this.second !== "" || (this.hasSecond && isTyping) || this.#model.get("_second") === "target";
  }

  /** Discard the typed text at the next update. */
  drop(): void {
    this.#begun = "";
  }
}
