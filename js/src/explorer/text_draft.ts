import { snapshot } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState, Input } from "./explorer_types.js";

const INPUT = ["text", "pair", "target", "versus_text"] as const;

/** An input as text that can be compared: a text that is not there is null. */
const written = (input: Partial<Input>): string =>
  JSON.stringify(INPUT.map((name) => input[name] || null));

/** The input that the page has asked for. */
const askedInput = (model: Model<ExplorerState>): Input =>
  snapshot(model, INPUT as readonly (keyof ExplorerState)[]);

/** Whether the figures show another input than the one asked for. */
export function isBehind(model: Model<ExplorerState>): boolean {
  const shown = model.get("_shown");
  return shown.text !== undefined && written(shown) !== written(askedInput(model));
}

/** What is typed into the text boxes; it stays until the input changes elsewhere. */
export class TextDraft {
  /** The first box is for the second text of a comparison. */
  first = "";
  second = "";
  hasSecond = false;
  readonly #model: Model<ExplorerState>;
  /** The input that the draft began with. */
  #begun = "";

  constructor(model: Model<ExplorerState>) {
    this.#model = model;
  }

  /** The trait of the second box. */
  get kind(): "pair" | "target" {
    return this.#model.get("_second") || "pair";
  }

  /** Whether two texts are compared: then the first one is kept as A. */
  get compares(): boolean {
    return Boolean(this.#model.get("versus_text"));
  }

  /** Whether the first box has another text than the input. */
  get isOther(): boolean {
    return this.first !== (this.#model.get("versus_text") || this.#model.get("text"));
  }

  get isChanged(): boolean {
    return written(this.input()) !== written(askedInput(this.#model));
  }

  /** The input as it is typed. */
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

  /** Take over an input that has changed elsewhere. `isTyping`: the second box has the focus. */
  update(isTyping: boolean): void {
    const now = askedInput(this.#model);
    if (written(now) === this.#begun) return;
    this.#begun = written(now);
    this.first = now.versus_text || now.text;
    this.second = now[this.kind] ?? "";
    this.hasSecond =
      this.second !== "" || (this.hasSecond && isTyping) || this.#model.get("_second") === "target";
  }

  /** The next update drops what is typed. */
  drop(): void {
    this.#begun = "";
  }
}
