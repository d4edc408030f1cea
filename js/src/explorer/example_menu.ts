import { html } from "lit-html";
import { selectOptions } from "../shared/select_options.js";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { ExplorerState } from "./explorer_types.js";

/** JupyterLab would take the arrows for its own. */
const keepFromHost = (event: Event) => event.stopPropagation();

/** The menu of the examples. `isOwn`: the text is of no example, which the menu calls "your text". */
export function exampleMenu(model: Model<ExplorerState>, isOwn: boolean) {
  const examples = model.get("_examples");
  const options = [
    { value: "", text: "your text", disabled: true },
    ...examples.map(({ name }) => ({ value: name, text: name })),
  ];
  const pick = ({ currentTarget }: Event) => {
    const { value } = currentTarget as HTMLSelectElement;
    const chosen = examples.find(({ name }) => name === value);
    if (!chosen) return;
    // Send the text with its name: the page marks the figures as outdated at once.
    const { name, text, pair } = chosen;
    save(model, { example: name, text, pair, target: null, versus_text: null });
  };
  return html`<label class="attnw-ex-example" ?hidden=${!examples.length}>example
    <select class="attnw-ex-examples" @change=${pick} @keydown=${keepFromHost}
      ${selectOptions(options, isOwn ? "" : (model.get("example") ?? ""))}></select></label>`;
}
