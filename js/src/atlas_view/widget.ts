import { html, nothing } from "lit-html";
import { live } from "lit-html/directives/live.js";
import { captionText } from "../shared/caption.js";
import { initializing } from "../shared/initialize.js";
import { commonKey, type Keys, keyList } from "../shared/key_list.js";
import { announcer } from "../shared/live_region.js";
import { type Look, mount } from "../shared/mount.js";
import { remembered } from "../shared/remembered.js";
import { captioned } from "../shared/save_menu.js";
import { announcement, selectHeads, stepTo, undoable } from "../shared/selection.js";
import { save, snapshot } from "../shared/snapshot.js";
import type { Head, RenderContext } from "../shared/types.js";
import { captionOf } from "./card_text.js";
import { cardView } from "./card_view.js";
import { headList } from "./head_list.js";
import { layoutOf } from "./layout.js";
import { anchorOf, rowsOf, shownRows, sorted } from "./rows.js";
import { type AtlasState, WATCHED } from "./state.js";

/** Return the keys. A saved page has no model to read the text of an example. */
const keysOf = (isPage: boolean): Keys => [
  ["↑ ↓", "in the table: move between heads; Home and End to the first and last"],
  ["Enter or Space, click", "show the card of the head"],
  [
    "Enter or Space, click on an example",
    isPage ? "mark the example" : "show its text in linked figures, with the link locked",
  ],
  ["[ and ]", "step to the layer above / below"],
  ["Escape", "back to the head before"],
  ["?", "show or hide this list"],
];

function render(context: RenderContext<AtlasState>): void {
  const { model, signal } = context;
  const mounted = mount(context, "atlas", WATCHED, { update, view, paint, keys: key });
  const isPage = !model.send;
  const keys = keyList(keysOf(isPage), mounted, signal);
  const said = announcer(model.get("selected"));
  const decoded = remembered((heads: AtlasState["_heads"]) => (heads ? rowsOf(heads) : []));
  let revealed = "";
  const history = undoable<Head[]>(
    () => model.get("selected"),
    (heads) => selectHeads(model, heads),
  );
  const choose = (head: Head) => history.choose([head]);
  const list = headList({
    choose,
    sort: (column) => save(model, sorted(snapshot(model, WATCHED), column)),
    redraw: mounted.schedule,
  });

  const chosen = () => {
    const head = model.get("selected").at(-1);
    return head ? anchorOf(head) : "";
  };

  function update(): void {
    history.notice();
    if (chosen() !== revealed) list.reach(chosen());
    said.say(model.get("selected"), announcement(model.get("selected")));
  }

  function view(look: Look): unknown {
    const state = snapshot(model, WATCHED) as AtlasState;
    const layout = layoutOf(look.width, state.table);
    const all = decoded(state._heads);
    const rows = shownRows(all, state);
    const search = ({ currentTarget }: Event) =>
      save(model, { search: (currentTarget as HTMLInputElement).value });
    const actions = { choose, change: (change: Partial<AtlasState>) => save(model, change) };
    const caption = captionText(captionOf(state, rows, all.length));
    const table = html`<div class="attnw-atlas-heads" .style=${`width: ${layout.table}px`}>
        ${list.view(rows, all.length, state, layout)}</div>`;
    return html`<div class="attnw-controls" ?hidden=${!state.table}><label>search <input
        type="search" placeholder="name, outcome or L1 H3" autocomplete="off" spellcheck="false"
        .value=${live(state.search)} @input=${search}></label>${keys.button()}</div>
      <div class=${`attnw-atlas-body${layout.isWide ? " attnw-atlas-wide" : ""}`}>
        ${state.table ? table : nothing}
        <div class="attnw-atlas-card" role="region" aria-label="card of the head"
          .style=${`width: ${layout.card}px`}>
          ${cardView(state, layout, look, isPage, actions)}
        </div>
      </div>
      ${captioned(
        mounted.save,
        html`<p class="attnw-below attnw-atlas-caption" data-caption>${caption}</p>`,
      )}
      ${keys.list()}${said.view()}`;
  }

  function paint(): void {
    if (chosen() !== revealed) list.reveal(chosen());
    revealed = chosen();
  }

  function stepBy(layers: number): void {
    const { layers: n_layers = 1 } = model.get("_heads") ?? {};
    stepTo(model, model.get("layer") + layers, { n_layers });
  }

  function key(event: KeyboardEvent): boolean {
    const { target } = event;
    const isTyping = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
    if (isTyping || event.metaKey || (event.ctrlKey && !event.altKey)) return false;
    if (target instanceof HTMLSelectElement && event.key !== "Escape") return false;
    if (commonKey(event, keys.toggle, stepBy)) return true;
    return event.key === "Escape" && history.undo();
  }
}

export default () => ({ initialize: initializing<AtlasState>("_heads", "_card"), render });
