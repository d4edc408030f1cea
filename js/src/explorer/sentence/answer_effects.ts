import type { PredictionState } from "../../prediction_view/state.js";
import type { Head } from "../../shared/types.js";
import { asFloat32 } from "../../shared/wire.js";

/** Exact effects of all heads of a stack on the answers to the shown question. */
export interface AnswerEffects {
  stack: string;
  layers: number;
  heads: number;
  /** Replacement method of heads that are off. */
  method: string;
  /** Followed answer, as spelled in the vocabulary and for readers. */
  followed: string;
  name: string;
  /** Probability of the followed answer without further heads off. */
  probability: number;
  /** Whether other heads are off already. */
  areOthersOff: boolean;
  /**
   * Change of the followed answer's probability without each head, [layers * heads]; NaN in layers
   * without attention.
   */
  values: Float32Array;
  /** The same changes of each answer, by vocabulary entry. */
  ofAnswer: Map<string, Float32Array>;
}

/** Return the exact effects on the answers to the shown question; undefined if not computed. */
export function exactEffects({
  _effects: effects,
  _predictions: answered,
}: PredictionState): AnswerEffects | undefined {
  const isExact =
    effects &&
    answered &&
    !effects.estimate &&
    !effects.versus &&
    effects.followed === answered.followed;
  if (!isExact) return undefined;
  const { stack, method, followed, name } = effects;
  const [layers = 0, heads = 0] = effects.values.shape;
  const values = asFloat32(effects.values);
  const others = effects.others && asFloat32(effects.others.values);
  const size = layers * heads;
  const ofAnswer = new Map([[followed, values]]);
  for (const [i, token] of (effects.others?.tokens ?? []).entries())
    if (others) ofAnswer.set(token, others.subarray(i * size, (i + 1) * size));
  const row = answered.rows.find(({ token }) => token === followed);
  const areOthersOff = answered.off.length > 0;
  const probability = (areOthersOff ? row?.after : row?.before) ?? 0;
  return {
    stack,
    layers,
    heads,
    method,
    followed,
    name,
    probability,
    areOthersOff,
    values,
    ofAnswer,
  };
}

/** Return the changes of answers without one head, by vocabulary entry; empty if unknown. */
export function changesWithout(
  effects: AnswerEffects | undefined,
  [layer, number, stack]: Head,
): Map<string, number> {
  const changes = new Map<string, number>();
  if (!effects || effects.stack !== stack || layer >= effects.layers || number >= effects.heads)
    return changes;
  for (const [token, values] of effects.ofAnswer) {
    const change = values[layer * effects.heads + number] ?? Number.NaN;
    if (!Number.isNaN(change)) changes.set(token, change);
  }
  return changes;
}

/** Return whether the kernel is computing exact effects that the page does not have yet. */
export function areExpected(state: PredictionState, isOffered: boolean): boolean {
  const isPossible = state.effects_by === "passes" && !state._problem && !state._source.fixed;
  return isPossible && !isOffered && state._predictions !== null && !exactEffects(state);
}
