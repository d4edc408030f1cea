import { html, nothing, svg } from "lit-html";
import { FAMILY_COLORS } from "../shared/families.js";
import type { Theme } from "../shared/theme.js";
import { headName } from "../shared/types.js";
import type { Reading } from "./sentence/reading.js";

const POWER = svg`<path d="M6 .8V6M3.2 2.4a4.6 4.6 0 1 0 5.6 0" fill="none" stroke="currentColor"
  stroke-width="1.5" stroke-linecap="round"></path>`;

/** Return the title of the shown head: its name, the switch, and the choice of how it is drawn. */
export function headTitle(of: {
  reading: Reading | undefined;
  /** Whether heads of the model have tested names. */
  hasNames: boolean;
  /** Whether the selected head is off. */
  isOff: boolean;
  /** Reason why no head can be switched off, or "" if heads can be. */
  fixed: string;
  switchHead(): void;
  ways: unknown;
  theme: Theme;
  hidden: boolean;
}) {
  const { theme, reading, hasNames, isOff, fixed, switchHead, ways, hidden } = of;
  const named = reading?.name || (hasNames ? "no tested name" : "");
  const family = reading?.family;
  const colors = FAMILY_COLORS[theme.dark ? "dark" : "light"];
  const power = isOff ? "switch on" : "switch off";
  return html`<h4 aria-level="2" class="attnw-ex-title" ?hidden=${hidden}>
    <span class="attnw-ex-head-name">${reading ? headName(reading.head) : "no head"}</span>
    <span class="attnw-ex-muted">${
      family && family !== "other"
        ? html`<s class="attnw-ex-mark"
            style=${`background: ${theme.forced ? theme.text : colors[family]}`}></s>`
        : nothing
    }${named}</span>
    <button type="button" class="attnw-ex-power" aria-pressed=${isOff} aria-label=${power}
      title=${fixed || `${power} (x)`}
      ?disabled=${fixed !== "" || !reading} @click=${switchHead}
      ><svg class="attnw-icon" width="11" height="11" viewBox="0 0 12 12"
      aria-hidden="true">${POWER}</svg><span>${power}</span></button>
    ${ways}
  </h4>`;
}
