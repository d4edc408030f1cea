"""Direct logit attribution: contribution of each part of a model to a logit difference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model_reading import (
    language_model,
    predicted_position,
    whole_reading_of,
)
from attnwidget.corpus.results import HeadResult, per_head
from attnwidget.interventions.head_effects import total_effects
from attnwidget.interventions.rival_answers import rival_answers
from attnwidget.kernels.array_library import joined
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.mechanisms.direct_path import DirectPath, direct_path

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

# Number of parts that have their own bar in the chart.
_SHOWN = 20
_WHAT = "a direct effect"


@dataclass(frozen=True, eq=False, repr=False)
class DirectEffects(HeadResult):
    """Parts of the difference of two logits at one token. Made by `direct_effects`.

    `head_effects`, `attention_biases`, `mlp_effects`, `embeddings` and `biases` sum to
    `logit_difference`. Layers without attention are NaN in the arrays of heads.

    Attributes:
        head_effects: Contribution of each head, float64 [L, H].
        attention_biases: Contribution of the biases of each layer's values and output projection,
            float64 [L].
        mlp_effects: Contribution of MLPs and other modules of each layer, float64 [L].
        embeddings: Contributions of the "embeddings", "positions" and "token types".
        biases: Contribution of the norm and unembedding biases.
        sources: Contributions in `head_effects`, split by the token that each head reads, float64
            [L, H, K].
        total: Logit difference minus the difference with the head's output set to zero, float64
            [L, H]; None if it was not measured.
        logit_difference: Logit difference at the output of the unembedding.
        model_difference: Difference of the model's logits, which differs if the model caps or
            scales its logits.
        answer: Answer in readable form.
        versus: Competing answer in readable form.
        position: Predicted token, as in `Predictions.positions`.
        tokens: Texts of the K input tokens.
        note: Remark for readers, or "".
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import direct_effects
        >>> attention = load_model("attnwidget/induction").attend("The cat sat. The c")
        >>> effects = direct_effects(attention, "##a", "##o")
        >>> effects.head_effects.shape, effects.mlp_effects.shape
        ((2, 4), (2,))
    """

    head_effects: Float64Array = field(metadata=per_head("direct effect"))
    attention_biases: Float64Array
    mlp_effects: Float64Array
    embeddings: Mapping[str, float]
    biases: float
    sources: Float64Array
    total: Float64Array | None = field(metadata=per_head("total effect"))
    logit_difference: float
    model_difference: float
    answer: str
    versus: str
    position: int
    tokens: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per part of the logit difference.

        Columns: part ("L0 H1", "L0 MLP", "L0 attention bias", "embeddings", ...); kind ("head",
        "mlp", "attention bias", "embeddings", "biases"); layer and head, empty for other parts;
        direct; total, after `total=True`. The column direct sums to the logit difference.
        `attrs` has the "model", "answer", "versus", "position" and "logit_difference".
        """
        import pandas as pd

        rows: list[tuple[str, str, int | None, int | None, float, float]] = [
            (name, "embeddings", None, None, value, np.nan)
            for name, value in self.embeddings.items()
        ]
        for layer, effects in enumerate(self.head_effects):
            for head, effect in enumerate(effects):
                total = np.nan if self.total is None else self.total[layer, head]
                if not np.isnan(effect):
                    rows.append((f"L{layer} H{head}", "head", layer, head, effect, total))
            bias = self.attention_biases[layer]
            if not np.isnan(bias):
                name = f"L{layer} attention bias"
                rows.append((name, "attention bias", layer, None, bias, np.nan))
            rows.append((f"L{layer} MLP", "mlp", layer, None, self.mlp_effects[layer], np.nan))
        rows.append(("biases", "biases", None, None, self.biases, np.nan))
        columns = ["part", "kind", "layer", "head", "direct", "total"]
        frame = pd.DataFrame(rows, columns=columns).astype({"layer": "Int64", "head": "Int64"})
        if self.total is None:
            frame = frame.drop(columns="total")
        frame.attrs |= {"model": self.model_name, "answer": self.answer, "versus": self.versus}
        frame.attrs |= {"position": self.position, "logit_difference": self.logit_difference}
        return frame

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the 20 largest parts as bars, and a last bar for the sum of the other parts.

        The bars sum to the logit difference. Strokes are total effects, if they were measured.

        Args:
            width: Width of the whole figure in pixels.
        """
        import pandas as pd

        from attnwidget.charts.signed_bars import signed_bars

        frame = self.to_frame().rename(columns={"direct": "value", "total": "stroke"})
        order = frame["value"].abs().sort_values(ascending=False, kind="stable").index
        largest = frame.loc[order[:_SHOWN]]
        rest = frame.loc[order[_SHOWN:]]
        if len(rest):
            others = {"part": f"{len(rest)} other parts", "value": rest["value"].sum()}
            largest = pd.concat([largest, pd.DataFrame([others])], ignore_index=True)
        strokes = "" if self.total is None else "; strokes: total effect"
        return signed_bars(
            largest,
            title=f"Direct effects on {self.answer} against {self.versus}\n{self.model_name}; "
            f"logit difference {self.logit_difference:.3g}{strokes}",
            value_title="logit difference",
            stroke_title="total effect",
            width=width,
        )

    def __repr__(self) -> str:
        frame = self.to_frame()
        order = frame["direct"].abs().sort_values(ascending=False, kind="stable").index[:3]
        best = [f"{frame['part'][i]} {frame['direct'][i]:+.3g}" for i in order]
        return (
            f"DirectEffects({self.model_name}, {self.answer} against {self.versus}: "
            f"{self.logit_difference:.3g} = {', '.join(best)}, ...)"
        )


@in_plain_torch
@says_cuts
def direct_effects(
    attention: Attention,
    answer: str | int,
    versus: str | int,
    *,
    position: int | None = None,
    with_total: bool = False,
) -> DirectEffects:
    """Split the difference of two logits over the heads, MLPs, embeddings and biases of a model.

    This is direct logit attribution (Elhage et al. 2021; Wang et al. 2023). The residual stream is
    a sum of parts. With frozen statistics of the final norm, the difference of two logits is linear
    in the stream, so every part has a share. Norms between a part and the stream are frozen too
    (Gemma 2 and 3). The bias of the values belongs to the layer, as in `head_writes`. Caps and
    scales of logits are applied after the split. The model processes the input again, in a single
    forward pass.

    Direct and total effects differ, because later layers read the output of a head and compensate
    for a missing output. `total=True` measures both.

    Args:
        attention: Attention of one input, from a causal language model in float32.
        answer: Vocabulary entry in the spelling of the vocabulary, or its id.
        versus: Competing answer. A single logit has no meaning of its own, since softmax ignores a
            constant.
        position: Predicted token, as in `AttentionModel.predict`; None = the token after the text.
        with_total: Whether to run the model with the output of each head set to zero as well.

    Raises:
        TypeError: If the model has no head that predicts words, or is an encoder-decoder.
        ValueError: If logits are not linear in the residual stream (BERT's head has a dense layer,
            GELU and a norm); if weights are quantized or have less precision than float32; if there
            is no such token or answer; if the attention comes from given weights, edits or a long
            input; or if there is padding.
        RuntimeError: If the weights of the model have changed since.

    Example:
        >>> import torch, transformers
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import direct_effects
        >>> config = transformers.GPT2Config(n_layer=2, n_head=4, n_embd=32, vocab_size=8192)
        >>> causal = transformers.GPT2LMHeadModel(config)
        >>> model = load_model(causal, load_model().tokenizer)
        >>> effects = direct_effects(model.attend("The cat sat on the"), "mat", "dog")
        >>> effects.head_effects.shape
        (2, 4)
        >>> rest = effects.to_frame()["direct"].sum() - effects.logit_difference
        >>> bool(abs(rest) < 1e-5)
        True
    """
    reading = whole_reading_of(attention, _WHAT)
    model = language_model(reading, _WHAT)
    target_position = predicted_position(reading, model, position)
    batch, names = rival_answers(model, reading.inputs, target_position, answer, versus)
    (question,) = batch.questions
    with model.lock.in_turn():
        path = direct_path(
            model.hf_model, batch.inputs, *question.places, *question.targets, *question.rivals
        )
        totals = total_effects(model.hf_model, batch) if with_total else None
    return _result(attention, names, target_position, path, totals)


def _result(
    attention: Attention,
    names: tuple[str, str],
    position: int,
    path: DirectPath,
    totals: Float64Array | None,
) -> DirectEffects:
    axes = attention.stacks["self"]
    effects = np.full((axes.n_layers, axes.n_heads), np.nan)
    sources = np.full((axes.n_layers, axes.n_heads, len(axes.key)), np.nan)
    biases = np.full(axes.n_layers, np.nan)
    mlps = np.zeros(axes.n_layers)
    notes: dict[str, None] = {}
    by_source = []
    bias_shares = []
    layers = list(path.heads.layers)
    for layer in layers:
        heads = path.heads.at(layer)
        if heads.note:
            notes[heads.note] = None
        with torch.no_grad():
            by_source.append(heads.along(path.directions[layer])[None])
            bias_shares.append((heads.bias @ path.directions[layer])[None])
    sources[layers] = joined(by_source)
    effects[layers] = sources[layers].sum(-1)
    biases[layers] = joined(bias_shares)
    for layer, share in path.mlps.items():
        mlps[layer] = share
    if path.changed:
        notes["the model caps or scales its logits, and the effects are of the logits before"] = (
            None
        )
    return DirectEffects(
        head_effects=effects,
        attention_biases=biases,
        mlp_effects=mlps,
        embeddings=path.embeddings,
        biases=path.biases,
        sources=sources,
        total=totals,
        logit_difference=path.difference,
        model_difference=path.model_difference,
        answer=names[0],
        versus=names[1],
        position=position,
        tokens=tuple(axes.key.text),
        note="; ".join(notes),
        model_name=attention.model_name,
    )
