import { type Control, choice } from "../shared/controls.js";
import { save } from "../shared/snapshot.js";
import type { Model } from "../shared/types.js";
import type { PredictionState } from "./state.js";

const LIKELIEST = "";
const EFFECTS = {
  passes: "without each head",
  gradient: "without each head, estimated",
  direct: "direct, on the logit",
  patch: "patched into a second text",
};

/** Return the text of an answer in the list of answers. */
function nameOf({ _predictions, answer }: PredictionState, token: string): string {
  const { rows = [], name = "" } = _predictions ?? {};
  if (token === LIKELIEST) return answer === null ? `the likeliest: ${name}` : "the likeliest";
  return rows.find((row) => row.token === token)?.answer ?? token;
}

/** Return the controls of the effects. `asks`: Whether there is a kernel that computes them. */
export function predictionControls(
  model: Model<PredictionState>,
  state: PredictionState,
  asks: boolean,
): Control[] {
  const { _predictions, _stacks, answer, stack, effects_by, corrupted, lens } = state;
  const rows = _predictions?.rows ?? [];
  return [
    {
      kind: "choice",
      name: "effects on",
      place: "bar",
      values: asks ? [LIKELIEST, ...rows.map(({ token }) => token)] : [],
      value: answer ?? LIKELIEST,
      change: (token) => save(model, { answer: token || null }),
      print: (token) => nameOf(state, token),
    },
    choice<PredictionState["effects_by"]>({
      name: "effects",
      place: "bar",
      values: asks ? ["passes", "gradient", "direct", "patch"] : [],
      value: effects_by,
      change: (kind) => save(model, { effects_by: kind }),
      print: (kind) => EFFECTS[kind],
    }),
    {
      kind: "text",
      name: "second text",
      place: "bar",
      value: corrupted,
      change: (text) => save(model, { corrupted: text }),
      hidden: !asks || effects_by !== "patch",
    },
    {
      kind: "tick",
      name: "lens",
      place: "bar",
      label: "answer after each layer",
      value: lens,
      change: (checked) => save(model, { lens: checked }),
      hidden: !asks || !["masked", "next"].includes(_predictions?.task ?? "masked"),
    },
    {
      kind: "choice",
      name: "stack",
      place: "bar",
      values: asks ? _stacks.map(({ name }) => name) : [],
      value: stack,
      change: (name) => save(model, { stack: name }),
    },
  ];
}
