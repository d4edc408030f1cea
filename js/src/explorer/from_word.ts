import { html } from "lit-html";
import { inQuotes } from "../shared/labels.js";

/** Return the attending word in its color. */
export const fromWord = (word: string) => html`<b class="attnw-ex-from-part">${inQuotes(word)}</b>`;
