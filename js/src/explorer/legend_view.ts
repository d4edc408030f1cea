import { html, nothing } from "lit-html";
import { barView } from "../shared/color_bar_view.js";
import { FAMILIES, FAMILY_COLORS } from "../shared/families.js";
import type { Theme } from "../shared/theme.js";
import type { NamedHead } from "./explorer_types.js";

const PAPER = html`<span class="attnw-ex-family attnw-ex-paper"><s></s>changed</span>`;

/**
 * Return the legend: the colors of weights, the marks of named heads, and the background of heads
 * that other heads change. `named` is null if names were not requested.
 */
export function legendView(theme: Theme, named: NamedHead[] | null, hasChanges: boolean) {
  const there = FAMILIES.filter((family) => named?.some((of) => of.family === family));
  const colors = FAMILY_COLORS[theme.dark ? "dark" : "light"];
  return html`<div class="attnw-ex-key">
    <span class="attnw-ex-ink">0 ${barView(theme, [])} 100&nbsp;%</span>
    ${there.map(
      (family) => html`<span class="attnw-ex-family"><s
        style=${`background: ${theme.forced ? theme.text : colors[family]}`}></s>${family}</span>`,
    )}
    ${hasChanges ? PAPER : nothing}
    ${named?.length === 0 ? html`<span>heads of this model have no tested names</span>` : nothing}
  </div>`;
}
