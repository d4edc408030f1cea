import { type Caption, caption, headNames, type Table } from "../shared/caption.js";
import type { Cell } from "../shared/cells.js";
import { shortName } from "../shared/head_names.js";
import { labelOf } from "../shared/labels.js";
import { aligned } from "../shared/numbers.js";
import { shareText } from "../shared/percent_text.js";
import { signedValue } from "../shared/quantity.js";
import { headName } from "../shared/types.js";
import { effectAt, effectPrinter, headAt, isOff, type Scene, signedChange } from "./scene.js";
import type { Answered, Effects, PredictionState } from "./state.js";

export const FIGURE = "What the model answers";
export const HINT =
  "Point at a head for its effect; click it to select it, press x to switch it off or on.";
const OTHERS = 12;

const tokenOf = ({ _axes }: PredictionState, index: number) =>
  _axes.query ? labelOf(_axes.query, index) : "";

/** Return whether the answer is about the whole input rather than one of its tokens. */
export const isOfInput = (task: string | undefined) => task === "class" || task === "span";

/** Return the token of the question; undefined for a class and a span. */
export function chosenToken({ _predictions }: PredictionState): number | undefined {
  if (!_predictions || isOfInput(_predictions.task)) return undefined;
  return _predictions.position - (_predictions.task === "next" ? 1 : 0);
}

/** Return the question as a sentence. */
export function questionOf(state: PredictionState): string {
  const { task = "masked", masks, reads = "text" } = state._predictions ?? {};
  const index = chosenToken(state);
  if (task === "span") return "Which words answer the question?";
  if (index === undefined) return task === "class" ? `Which class is the ${reads}?` : "";
  const token = `“${tokenOf(state, index)}”`;
  if (task === "label") return `Which label has ${token} (token ${index})?`;
  if (task === "next") return `What follows ${token} (token ${index})?`;
  const [number, count] = state._predictions?.piece ?? [1, 1];
  const piece = count > 1 ? `, piece ${number} of ${count} of its word` : "";
  const masked =
    count > number ? "when it and the rest of the word are masked" : "when it is masked";
  return masks
    ? `What stands at ${token} (token ${index}${piece}), ${masked}?`
    : `What stands at ${token} (token ${index})?`;
}

/** Return the replacement method of a head, and whether the effects are estimates. */
const howOf = ({ method, estimate }: Effects) => `${method}${estimate ? ", estimate" : ""}`;

/** Return the title above the map. */
export function mapTitle({ state, answered, effects, off }: Scene): string {
  const more = off ? " too" : "";
  if (state.effects_by === "direct" || state.effects_by === "patch") {
    const against = effects?.versus ? ` against “${effects.versus}”` : state._problem ? "" : " …";
    const kind = state.effects_by === "patch" ? "Effect of patching" : "Direct effect";
    return `${kind} on “${answered.name}”${against}`;
  }
  const how = effects ? ` (${howOf(effects)})` : state._problem ? "" : " …";
  return `Change of “${answered.name}” without each head${more}${how}`;
}

/** Return the two answers whose logits are compared. */
const rivals = ({ name, versus }: Effects) => `“${name}” against “${versus}”`;

/**
 * Return the probability from which effects of heads are measured: with all links, and with the
 * same heads off; undefined if the page lacks it.
 */
function startOf({ rows, followed, links, off }: Answered): number | undefined {
  const row = rows.find(({ token }) => token === followed);
  if (!links.length) return row?.after ?? 0;
  return off.length ? undefined : (row?.before ?? 0);
}

/** Return the edits before the second probability: "heads were switched off". */
function editsText({ off, links }: Answered): string {
  const changed = links.map(
    ({ name, factor, scope }) => `${name} was ${factor ? `× ${factor}` : "cut"} in ${scope}`,
  );
  return [off.length ? "heads were switched off" : "", ...changed].filter(Boolean).join(" and ");
}

/** Describe a cell. */
export function describe(scene: Scene, cell: Cell): string {
  const head = headAt(scene, cell);
  if (!head) return "";
  const name = shortName(head, scene.state);
  if (isOff(scene, head)) return `${name}: off`;
  const { answered, effects } = scene;
  const effect = effectAt(scene, cell);
  if (effect === undefined || !effects) return `${name}: effect not known yet`;
  if (effects.versus) {
    const added = effectPrinter(scene)(effect);
    return effects.patched
      ? `${name}: its outputs add ${added} to ${rivals(effects)} in the second text`
      : `${name}: adds ${added} to the logit of ${rivals(effects)}`;
  }
  const now = startOf(answered);
  const change = signedChange(effect);
  const without = `${name}: without it (${effects.method}) “${effects.name}”`;
  if (effects.estimate) return `${without} changes by about ${change} (estimate)`;
  if (now === undefined) return `${without} changes by ${change}`;
  return `${without} ${shareText(now)} → ${shareText(now + effect)} (${change})`;
}

/** Return the cells of the largest effects, for readers who cannot see the map. */
function strongest(scene: Scene): Cell[] {
  const { values, map } = scene;
  if (!values) return [];
  const known = [...values.keys()].filter((i) => !Number.isNaN(values[i]));
  const order = known.sort((a, b) => Math.abs(values[b] ?? 0) - Math.abs(values[a] ?? 0));
  return order.slice(0, OTHERS).map((i) => [Math.floor(i / map.cols), i % map.cols] as const);
}

/** Return the note about the second text, with the logit differences in both texts. */
function patchingNote({ text, differences }: NonNullable<Effects["patched"]>): string {
  const print = signedValue(aligned(Math.max(...differences.map(Math.abs), 1e-3)));
  const [there, here] = differences;
  return (
    `outputs of heads in this text are put into the text “${text}”: the logit difference is ` +
    `${print(there)} in that text and ${print(here)} in this text`
  );
}

function maskNote({ masks, piece: [number, count] }: Answered): string {
  if (!masks) return "";
  return count > number
    ? "this token and the rest of its word were masked for the question"
    : "this token was masked for the question";
}

/** Return the caption. */
export function captionOf(state: PredictionState, scene: Scene | null): Caption {
  if (!scene) return caption(FIGURE, { model: state._source.model, notes: [state._message] });
  const { answered, effects, reach, off, isEdited } = scene;
  const print = effectPrinter(scene);
  const range = reach ? `${print(-reach)} to ${print(reach)}` : "all 0";
  const change = `change of the probability of “${answered.name}” without each head`;
  const kind = effects?.patched ? "effect of patching each head" : "direct effect of each head";
  const what = effects?.versus
    ? `${kind} on the logit of ${rivals(effects)}`
    : `${change}${off ? " too" : ""}${effects ? ` (${effects.method})` : ""}`;
  return caption(FIGURE, {
    model: answered.model,
    head: headNames(state.selected, state),
    quantity:
      `${questionOf(state)} Probabilities of ` +
      `answers${isEdited ? `, before and after ${editsText(answered)}` : ""}`,
    scale: effects ? `map: ${what}, ${range}` : "",
    notes: [
      maskNote(answered),
      effects?.estimate ? "effects are a first-order estimate" : "",
      effects?.versus && !effects.patched
        ? "direct effects with norms as they are in this text; biases left out"
        : "",
      effects?.patched ? patchingNote(effects.patched) : "",
      scene.layers ? "below: the likeliest answer after each layer, each with its own norm" : "",
      effects
        ? ""
        : state._problem
          ? `no effects of heads: ${state._problem}`
          : "effects of heads are not computed yet",
      state._source.note,
    ],
  });
}

/** Return the table of the answers, followed by the heads with the largest effects. */
export function tableOf(scene: Scene | null): Table {
  if (!scene) return { columns: ["answer", "probability"], rows: [] };
  const { answered, bars, isEdited, effects } = scene;
  const columns = ["answer or head", "before", "after", "change"];
  const rows: Table["rows"] = bars.map(({ answer, before, after }) => [
    answer,
    before,
    isEdited ? after : before,
    isEdited ? after - before : 0,
  ]);
  for (const cell of strongest(scene)) {
    const head = headAt(scene, cell);
    const effect = effectAt(scene, cell) ?? Number.NaN;
    const now = startOf(answered);
    if (head && effects?.versus)
      rows.push([
        `${effects.name} against ${effects.versus}: ${headName(head)}`,
        null,
        null,
        effect,
      ]);
    else if (head && effects)
      rows.push([
        `${effects.name} without ${headName(head)} (${howOf(effects)})`,
        now ?? null,
        now === undefined ? null : now + effect,
        effect,
      ]);
  }
  for (const { layer, answer, probability } of scene.layers?.rows ?? [])
    rows.push([`after ${layer}: ${answer}`, probability, probability, 0]);
  return { columns, rows };
}
