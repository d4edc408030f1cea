"""Shares of attention by modality: to pictures, sounds, the prompt, the answer and other tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.maps.stack_axes import chosen_stack
from attnwidget.capture.model_reading import refuse_no_attention
from attnwidget.corpus.accumulator import Batch, LayerBatch
from attnwidget.corpus.results import HeadMetrics, HeadResult, LayerCurves, per_head
from attnwidget.corpus.segment_means import SegmentMeans, SegmentMeansResult
from attnwidget.hidden_frames import hides_frames
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.metrics.class_mass import (
    LEAST_SINK,
    ClassMass,
    ClassTable,
    even_mass,
    has_learned_sink,
)
from attnwidget.text.index_among import index_among
from attnwidget.text.near_names import among
from attnwidget.text.places import Box, Span
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.maps.attention import Attention

#: Groups of tokens. Every token is in one group; "no token" is the weight on no token.
MODALITIES = ("picture", "sound", "prompt", "answer", "special", "padding", "no token")
_TOKENS = MODALITIES[:-1]
_NONE = len(_TOKENS)


def modality_numbers(tokens: Tokens, n_prompt: int | None = None) -> NDArray[np.int64]:
    """Return the index into MODALITIES of the group of each token, int64 [n].

    Tokens of silence and empty pixels are "padding", tokens with a region "picture" or "sound", and
    [CLS], [SEP], registers and other tokens without text "special". The rest is text: "answer" for
    tokens that the model generated and for messages of the role "assistant", otherwise "prompt".

    Args:
        tokens: Tokens of an axis.
        n_prompt: Number of prompt tokens at the beginning, if the model generated the rest.

    Example:
        >>> from attnwidget.metrics.modalities import MODALITIES, modality_numbers
        >>> from attnwidget.text.tokens import Tokens
        >>> tokens = Tokens.plain(["[CLS]", "a", "cat"])
        >>> [MODALITIES[number] for number in modality_numbers(tokens, n_prompt=2)]
        ['special', 'prompt', 'answer']
    """
    numbers = []
    for token, special in enumerate(tokens.special):
        region = tokens.places[token] if tokens.places else None
        role = tokens.roles[token] if tokens.roles else ""
        if special == "padding":
            name = "padding"
        elif isinstance(region, Box):
            name = "picture"
        elif isinstance(region, Span):
            name = "sound"
        # Without [CLS], the first token of a text is an ordinary word or a special token.
        elif special not in ("", "first") or (special and tokens.words[token] is None):
            name = "special"
        elif (n_prompt is not None and token >= n_prompt) or role == "assistant":
            name = "answer"
        else:
            name = "prompt"
        numbers.append(MODALITIES.index(name))
    return np.array(numbers, np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class ModalitiesResult(SegmentMeansResult):
    """Shares of attention by modality. The shares of a head sum to 1 over the modalities.

    Attributes:
        names: Names of the M modalities: "picture", "sound", "prompt", "answer", "special",
            "padding" and "no token", the weight on no token in models with learned sinks.
        shares: Mean share of the weight of a query on each modality, [M, L, H].
        by_query: Mean share from the queries of each modality, [M, M, L, H], queries first; NaN if
            no input has such queries.
        even: Shares under even attention to all visible tokens, [M].
        with_tokens: Number of inputs with tokens of each modality, [M]; for "no token", the number
            of all inputs if the model has learned sinks, otherwise 0.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> found = measure_attention(load_model().attend("The cat sat."), ["modalities"])
        >>> result = found["modalities"]
        >>> list(result.heads()), result.shares.sum(0).round(5).min()
        (['to prompt', 'to special'], np.float64(1.0))
    """

    names: tuple[str, ...]
    shares: NDArray[np.float64] = field(
        metadata=per_head("to {name}", each="names", counts="with_tokens")
    )
    by_query: NDArray[np.float64]
    even: NDArray[np.float64]
    with_tokens: NDArray[np.int64]

    figure = LayerCurves("Attention by modality", "share of attention")

    def share(self, query: str, key: str) -> NDArray[np.float64]:
        """Return the share from the queries of one modality to another, [L, H].

        Args:
            query: Modality of the queries, such as "answer".
            key: Modality of the attended tokens, such as "picture".

        Raises:
            ValueError: If the modality does not exist, or no input has queries of the modality.
        """
        query_modalities = [
            name for name, count in zip(_TOKENS, self.with_tokens, strict=False) if count
        ]
        if query not in query_modalities:
            raise ValueError(f"no input has queries of {query!r}: {among(query, query_modalities)}")
        if key not in self.names:
            raise ValueError(f"there is no {key!r}: {among(key, self.names)}")
        share: NDArray[np.float64] = self.by_query[self.names.index(query), self.names.index(key)]
        return share


@hides_frames
def Modalities() -> SegmentMeans[ModalitiesResult]:  # noqa: N802, as the other metrics
    """Metric: shares of attention to pictures, sounds, the prompt, the answer and other tokens.

    The shares of a query sum to 1. They are averaged over the queries of an input, then over
    inputs. In vision-language models, the share of the answer's queries on the picture is small in
    late layers (Lin et al. 2025, *Boosting Multimodal Large Language Models with Visual Tokens
    Withdrawal for Rapid Inference*, the section on attention sinks).

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> from attnwidget.demo import drawn_shapes
        >>> attention = load_model("attnwidget/shapes").attend(images=drawn_shapes(1).images[0])
        >>> found = measure_attention(attention, ["modalities"])["modalities"]
        >>> list(found.heads()), found.share("special", "picture").shape
        (['to picture', 'to special'], (4, 4))
    """
    return ClassMass(
        "modalities",
        _table,
        _result,
        of_heads={"mass": (len(_TOKENS) + 1, len(MODALITIES))},
        of_segments={"even": (len(MODALITIES),), "with_tokens": (len(_TOKENS),)},
        n_sharing=len(_TOKENS),
    )


def _table(layer: LayerBatch) -> ClassTable:
    """Return the table; its query groups are all tokens and the tokens of each modality."""
    batch = layer.batch
    members = _members_of(batch)
    queries = torch.cat([batch.real.float()[:, None], members], dim=1)
    even = even_mass(members, layer)
    return ClassTable(
        queries / queries.sum(-1, keepdim=True).clamp(min=1),
        members,
        {"even": torch.nn.functional.pad(even, (0, 1)), "with_tokens": members.amax(-1)},
    )


def _result(metric: ClassMass[ModalitiesResult]) -> ModalitiesResult:
    counts = metric.counted("with_tokens")
    with_queries = np.concatenate([[metric.n_segments], counts])
    with np.errstate(invalid="ignore"):
        means = metric.mean("mass") * metric.n_segments
        means = means / with_queries.reshape(-1, 1, 1, 1)
    with_sink = has_learned_sink(means[0, _NONE])
    if not with_sink:
        # Values below the threshold are rounding errors.
        means[:, _NONE] *= 0
    by_query = np.full((len(MODALITIES), *means.shape[1:]), np.nan)
    by_query[:_NONE] = means[1:]
    return ModalitiesResult(
        metric.n_segments,
        MODALITIES,
        means[0],
        by_query,
        metric.mean("even"),
        np.append(counts, metric.n_segments if with_sink else 0),
        model_name=metric.model_name,
    )


@dataclass(frozen=True, eq=False, repr=False)
class ModalityShares(HeadResult):
    """Shares of attention by modality for every query of one input.

    Attributes:
        names: Names of the M modalities, as in `ModalitiesResult`.
        shares: Share of the weight of each query on each modality, [M, L, H, Q]; sums to 1 over the
            modalities.
        tokens: Texts of the Q queries.
        of_tokens: Modality of each query, indices into `names`, [Q].

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import drawn_shapes
        >>> from attnwidget.metrics import modality_shares
        >>> model = load_model("attnwidget/shapes")
        >>> found = modality_shares(model.attend(images=drawn_shapes(1).images[0]))
        >>> found.shares.shape, found.tokens[0], found.names[found.of_tokens[0]]
        ((7, 4, 4, 65), '[CLS]', 'special')
    """

    names: tuple[str, ...]
    shares: NDArray[np.float64]
    tokens: tuple[str, ...]
    of_tokens: NDArray[np.int64]

    def heads(self) -> HeadMetrics:
        """Return the mean over all queries for each modality with weight: [L, H] by title."""
        means = self.shares.mean(-1)
        return {
            f"to {name}": share
            for name, share in zip(self.names, means, strict=True)
            if np.nan_to_num(share).any()
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row per query, head and modality: layer, head, query, token, modality, share.

        Modalities without weight are left out. `attrs["model"]` is the name of the model.
        """
        import pandas as pd

        weighted = self._kept()
        values = self.shares[weighted]
        modality, layer, head, query = (index.ravel() for index in np.indices(values.shape))
        return pd.DataFrame(
            {
                "layer": layer,
                "head": head,
                "query": query,
                "token": np.array(self.tokens, dtype=object)[query],
                "modality": np.array(self.names)[weighted][modality],
                "share": values.ravel(),
            }
        ).dropna(ignore_index=True)

    def chart(self, layer: int | None = None, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the shares of every query, averaged over heads.

        Args:
            layer: Layer to draw; None = the mean over all layers.
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If the layer does not exist or has no attention.
        """
        from attnwidget.charts.token_heatmap import token_heatmap

        n_layers = self.shares.shape[1]
        if layer is not None:
            layer = index_among("layer", layer, n_layers)
        shares = self.shares[:, slice(None) if layer is None else slice(layer, layer + 1)]
        if np.isnan(shares).all():
            raise ValueError(f"layer {layer} has no attention")
        weighted = self._kept()
        return token_heatmap(
            np.nanmean(shares, axis=(1, 2))[weighted].T,
            self.tokens,
            [self.names[number] for number in weighted],
            title="Attention by modality\n"
            f"{self.model_name}, {'all layers' if layer is None else f'layer {layer}'}",
            value_title="share of attention",
            width=width,
        )

    def _kept(self) -> list[int]:
        """Return the indices of the modalities with weight."""
        return [n for n, share in enumerate(self.shares) if np.nan_to_num(share).any()]


@in_plain_torch
@says_cuts
def modality_shares(attention: Attention, *, stack: str | None = None) -> ModalityShares:
    """Return the share of attention on each modality for every layer, head and query.

    The modalities are those of the metric `Modalities`: pictures, sounds, the prompt, the answer,
    special tokens and padding.

    Args:
        attention: Attention of one input.
        stack: Stack of the attention, also "cross"; None = the only stack, or the language model of
            a model with towers.

    Raises:
        ValueError: If the stack does not exist or must be named, or if the attention is a maximum
            over heads.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.metrics import modality_shares
        >>> attention = load_model("attnwidget/induction").generate("The man", max_new_tokens=3)
        >>> found = modality_shares(attention)
        >>> [found.names[number] for number in found.of_tokens]
        ['special', 'prompt', 'prompt', 'answer', 'answer', 'answer']
    """
    refuse_no_attention(attention)
    attention.head_maps.refuse_no_shares("shared out by modality: shares are of rows that sum to 1")
    selected_stack = chosen_stack(attention.stacks, stack, attention.model_name)
    numbers = modality_numbers(selected_stack.key, attention.n_prompt)
    members = torch.from_numpy(np.eye(len(_TOKENS))[numbers])  # [K, M - 1]
    shape = (
        len(MODALITIES),
        selected_stack.n_layers,
        selected_stack.n_heads,
        len(selected_stack.query),
    )
    shares = np.full(shape, np.nan)
    for layer in selected_stack.layers.numbers:
        blocks = attention.row_blocks(layer, stack=selected_stack.name)
        mass = np.concatenate([(rows.double() @ members).numpy() for _, rows in blocks], axis=1)
        shares[:_NONE, layer] = np.moveaxis(mass, 2, 0)
        rest = (1 - mass.sum(2)).clip(min=0)
        shares[_NONE, layer] = rest if rest.mean() >= LEAST_SINK else 0
    return ModalityShares(
        MODALITIES,
        shares,
        selected_stack.query.text,
        modality_numbers(selected_stack.query, attention.n_prompt),
        model_name=attention.model_name,
    )


def _members_of(batch: Batch) -> Tensor:
    """Return the membership of tokens in each modality, float32 [B, M - 1, n]."""
    members = np.zeros((len(batch.segments), len(_TOKENS), batch.real.shape[1]), np.float32)
    prompts = batch.n_prompts or [None] * len(batch.segments)
    for input_members, tokens, n_prompt in zip(members, batch.tokens, prompts, strict=True):
        numbers = modality_numbers(tokens, n_prompt)
        input_members[numbers, np.arange(len(numbers))] = 1
    return torch.from_numpy(members).to(batch.real.device)
