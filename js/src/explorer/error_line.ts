import { html } from "lit-html";
import { errorOf } from "../shared/mount.js";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";

/** Why the input was not read, with a button for the way out where there is one. */
export function errorWithWayOut(model: Model<ExplorerState>) {
  const text = errorOf(model);
  const way = text ? model.get("_way_out") : "";
  const take = () => save(model, { _way_out_taken: model.get("_way_out_taken") + 1 });
  return html`<p role="alert" class="attnw-alert" ?hidden=${!text}>${text}<button type="button"
    class="attnw-ex-act" ?hidden=${!way} @click=${take}>${way}</button></p>`;
}
