import { html, nothing } from "lit-html";
import { selectOptions } from "../../shared/select_options.js";
import { save } from "../../shared/snapshot.js";
import type { Model } from "../../shared/types.js";
import type { ExplorerState } from "../explorer_types.js";
import {
  type Extent,
  extentOf,
  FACTORS,
  type Factor,
  headOf,
  includes,
  type LockedLink,
  scopeOf,
  scopeText,
  withoutLink,
} from "./link_state.js";

const LABELS: Record<Factor, string> = { 0: "cut", 1: "as it is", 4: "4 ×" };
const HINTS: Record<Factor, string> = {
  0: "the word cannot be seen (0)",
  1: "the weight that the model has (1)",
  4: "4 times the weight, divided by the new sum (4)",
};
const EXTENTS: Extent[] = ["head", "layer", "all"];

/** Return the control of the link between the locked words: its factor, and its heads. */
export function linkControl(model: Model<ExplorerState>, changed: () => void) {
  let link: LockedLink | undefined;
  /** Heads that the reader chose last. */
  let extent: Extent = "head";

  const shown = () => model.get("selected").at(-1);
  const isFixed = () => Boolean(model.get("_source").fixed);
  const isOffered = () => link !== undefined && shown() !== undefined && !isFixed();

  /** Return the scope of the next change. */
  function scopeNow(): string {
    const head = shown();
    return link?.asked?.scope ?? (head ? scopeOf(extent, head) : "");
  }

  function change(factor: number, scope: string): void {
    if (!link || !isOffered()) return;
    extent = extentOf(scope);
    const others = withoutLink(model.get("scaled_links"), link);
    const own: ExplorerState["scaled_links"] =
      factor === 1 ? [] : [[link.query, link.key, factor, scope]];
    save(model, { scaled_links: [...others, ...own] });
    changed();
  }

  /** Cut the link in a scope, and show the head if the scope is another head. */
  function cut(scope: string): void {
    const head = headOf(scope);
    if (head && !includes(scope, shown() ?? head)) {
      model.set("selected", [head]);
      model.set("layer", head[0]);
    }
    change(0, scope);
  }

  function chooseScope(scope: string): void {
    extent = extentOf(scope);
    if (link?.asked) change(link.asked.factor, scope);
    else changed();
  }

  return {
    /** Set the link of the locked words, or undefined without one. */
    show(next: LockedLink | undefined): void {
      link = next;
    },
    /** Cut the link in some heads; undefined if it cannot be changed. */
    cut: () => (isOffered() ? cut : undefined),
    view() {
      const head = shown();
      if (!link || !head || !isOffered()) return nothing;
      const now = link.asked?.factor ?? 1;
      const scope = scopeNow();
      const scopes = [...new Set([scope, ...EXTENTS.map((each) => scopeOf(each, head))])];
      const options = scopes.map((value) => ({ value, text: scopeText(value) }));
      const chosen = ({ currentTarget }: Event) =>
        chooseScope((currentTarget as HTMLSelectElement).value);
      return html`<div class="attnw-ex-cut" role="group" aria-label="the kept link">
        <span class="attnw-choice" role="group" aria-label="weight of the link">${FACTORS.map(
          (factor) => html`<button type="button" data-factor=${factor} title=${HINTS[factor]}
            aria-pressed=${factor === now} @click=${() => change(factor, scope)}
            >${LABELS[factor]}</button>`,
        )}</span>
        <label>in <select aria-label="heads in which the link is changed" @change=${chosen}
          ${selectOptions(options, scope)}></select></label>
      </div>`;
    },
    /** Handle a key; returns whether it is one of the control. */
    press(key: string): boolean {
      const factor = FACTORS.find((each) => String(each) === key);
      if (factor === undefined || !isOffered()) return false;
      change(factor, scopeNow());
      return true;
    },
    /** Undo all changes of links; returns whether there were any. */
    takeBack(): boolean {
      if (!model.get("scaled_links").length || isFixed()) return false;
      save(model, { scaled_links: [] });
      return true;
    },
  };
}
