"""Two models over the same segments, head by head: what fine-tuning changed, for one."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.special_token_template import Template
from attnwidget.kernels.cosine import map_cosines
from attnwidget.kernels.divergence import js_divergences
from attnwidget.kernels.entropy import entropy
from attnwidget.studies.accumulator import Accumulator, Batch, LayerBatch, Subject
from attnwidget.studies.argument_checks import all_of, refuse_no_model
from attnwidget.studies.compare_results import ModelComparison
from attnwidget.studies.measure import read_all
from attnwidget.studies.model_reader import ModelReader
from attnwidget.text.segments import Segment

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

_HOW = "read segments with read_segments(path, model), or cut texts with make_segments"
# Each comparison locks two models: two at once, of the same models in turn, could wait for ever.
_comparing = threading.Lock()


def compare(
    a: AttentionModel,
    b: AttentionModel,
    segments: Iterable[Segment],
    *,
    padded: int | None = None,
    across_layers: bool = False,
    batch_size: int = 8,
    progress: bool = True,
    checkpoint: str | Path | None = None,
) -> ModelComparison:
    """Compare every head of a model with the same head of another one, over the same segments.

    For a model and its fine-tuned copy, two seeds, or two steps of one training (Kovaleva et al.
    2019, section 4.3). Every number is of the tokens of a segment without padding, and a mean over
    segments.

    The maps of one batch of `a` are in memory at a time, and one layer of `b`'s: 4 L B H n^2 bytes,
    75 MB for 8 segments of 128 tokens in 12 layers of 12 heads. Ctrl-C ends the pass and
    returns what is done.

    Args:
        a: what `load_model` gave.
        b: a model with as many layers and heads, whose tokenizer has the same tokens.
        segments: cut with one of the two (`read_segments`, `make_segments`).
        padded: also the cosine of maps padded to so many tokens, rows of padding included, as in
            the released code, where it is 200.
        across_layers: also compare heads of different layers, which `match(across_layers=True)`
            needs: about four times as slow, and `b`'s maps of a batch are kept, too.
        batch_size: segments that go through the models together.
        progress: show a progress bar.
        checkpoint: an .npz file that keeps the sums. Where it exists already, the pass goes on
            after its last batch, with the same result to the last bit.

    Raises:
        TypeError: no model, or no segments.
        ValueError: the two differ in layers, heads or tokens; no segments; a segment too long for
            one of them or for `padded`; a checkpoint of another study.
        KeyboardInterrupt: before the first batch was done.

    Example:
        >>> from attnwidget import compare, load_model, make_segments
        >>> model, tuned = load_model(), load_model("attnwidget/genre")
        >>> segments = make_segments(["The cat sat on the mat.", "She washed her hands."], model)
        >>> found = compare(model, tuned, segments, progress=False)
        >>> found.cosine.shape, bool((found.cosine < 1).all())
        ((6, 12), True)
        >>> compare(model, model, segments, progress=False).cosine.min()
        np.float64(1.0)
    """
    for model in (a, b):
        refuse_no_model(model)
    if padded is not None and padded < 1:
        raise ValueError(f"padded is a number of tokens, such as 200, or None; got {padded}")
    given = all_of(Segment, segments, _HOW)
    if not given:
        raise ValueError("there are no segments to compare models over")
    _check_tokens(a, b, given)
    numbered = [_Numbered(one.first, one.second, index) for index, one in enumerate(given)]
    pair = _Pair(ModelReader(b, [], None, padded), given, padded, across_layers)
    with _comparing:
        read_all(
            ModelReader(a, [pair], None, padded),
            numbered,
            batch_size=batch_size,
            checkpoint=checkpoint,
            progress=progress,
        )
    return pair.compute()


@dataclass(frozen=True)
class _Numbered(Segment):
    """A segment that knows which one it is, in whatever order batches take them."""

    index: int = 0


class _Pair(Accumulator[ModelComparison]):
    """Keeps a model's maps of a batch, then compares them with another's, layer by layer.

    Its sums have a place for each segment: bootstrap intervals need the numbers themselves.
    """

    name: ClassVar[str] = "comparison"

    def __init__(
        self,
        other: ModelReader,
        segments: Sequence[Segment],
        padded: int | None,
        across_layers: bool,
    ) -> None:
        self._other, self._first, self._n_segments = other, segments[0], len(segments)
        self._padded, self._across_layers = padded, across_layers
        self._maps: list[Tensor] = []
        self._other_maps: list[Tensor] = []

    @property
    def options(self) -> dict[str, Any]:
        return {
            "other": self._other.about(),
            "segments": self._n_segments,
            "padded": self._padded,
            "across_layers": self._across_layers,
        }

    def start(self, subject: Subject) -> None:
        super().start(subject)
        other = self._other.subject(self._first)
        self._other_name = other.model_name
        own_size = subject.n_layers, subject.n_heads
        if (other.n_layers, other.n_heads) != own_size:
            raise ValueError(
                f"{subject.model_name} has {own_size[0]} layers of {own_size[1]} heads, "
                f"{other.model_name} {other.n_layers} of {other.n_heads}: heads are compared one "
                "to one, so pass two models of one architecture, such as a model and its "
                "fine-tuned copy"
            )
        names = ["cosine", "words", "divergence", "entropy"]
        names += ["padded"] if self._padded is not None else []
        n_layers, n_heads = own_size
        self.sums = {name: np.zeros((*own_size, self._n_segments)) for name in names}
        self.sums["read"] = np.zeros(self._n_segments, np.int64)
        self.sums["pairs"] = np.zeros((n_layers, n_heads, n_heads))
        if self._across_layers:
            self.sums["across"] = np.zeros((n_layers * n_heads,) * 2)

    def update(self, layer: LayerBatch) -> None:
        """Keep the layer's maps until the other model has read the batch."""
        if layer.layer == 0:
            self._maps, self._other_maps = [], []  # also of a batch that was cut short
        self._maps.append(layer.weights)

    def end_batch(self, batch: Batch) -> None:
        places = [one.index for one in batch.segments if isinstance(one, _Numbered)]
        self._other.read(batch.segments, partial(self._compare, batch, places))
        if self._across_layers:
            for document, n in enumerate(batch.lengths.tolist()):
                own, others = (
                    torch.cat([layer[document, :, :n, :n].cpu() for layer in layers])
                    for layers in (self._maps, self._other_maps)
                )
                self.sums["across"] += _between(own, others)
        self.sums["read"][places] += 1
        self._maps, self._other_maps = [], []

    def _compare(self, batch: Batch, places: list[int], layer: LayerBatch) -> None:
        own, at = self._maps[layer.layer], layer.layer
        others = layer.weights.to(own.device)
        if self._across_layers:
            self._other_maps.append(others)
        special = batch.classes["[CLS]"] | batch.classes["[SEP]"]
        found = {
            "cosine": map_cosines(own, others, batch.real),
            "words": map_cosines(own, others, batch.real & ~special),
            "entropy": _mean_entropy(others, batch) - _mean_entropy(own, batch),
        }
        if self._padded is not None:
            found["padded"] = map_cosines(own, others, torch.ones_like(batch.real))
        for name, values in found.items():
            self.sums[name][at][:, places] += values.T.cpu().numpy()
        for document, (place, n) in enumerate(zip(places, batch.lengths.tolist(), strict=True)):
            first, second = (maps[document, :, :n, :n].cpu() for maps in (own, others))
            between = _between(first, second)
            self.sums["divergence"][at, :, place] += between.diagonal()
            self.sums["pairs"][at] += between

    def compute(self) -> ModelComparison:
        read = self.sums["read"] > 0
        n_read = int(read.sum())
        titles = {"cosine": "cosine", "words": "cosine without special tokens"}
        titles |= {"divergence": "divergence", "entropy": "entropy change"}
        titles |= {} if self._padded is None else {"padded": f"cosine padded to {self._padded}"}
        return ModelComparison(
            model_names=(self.model_name, self._other_name),
            segments={title: self.sums[name][..., read] for name, title in titles.items()},
            pairs=self.sums["pairs"] / n_read,
            across=self.sums["across"] / n_read if self._across_layers else None,
            complete=n_read == self._n_segments,
        )


def _mean_entropy(maps: Tensor, batch: Batch) -> Tensor:
    """Nats, the mean over queries: float64 [B, H]."""
    rows = batch.row_weights.double()[:, None]
    return torch.linalg.vecdot(entropy(maps, batch.lengths).double(), rows)


def _between(own: Tensor, others: Tensor) -> NDArray[np.float64]:
    """Divergences between every map of one model and every one of the other, nats a query."""
    n_heads, n = own.shape[:2]
    both = js_divergences(torch.cat([own, others])).numpy()[:n_heads, n_heads:] / n
    # Of two equal maps it can come out a rounding error above 0.
    unchanged = np.flatnonzero((own == others).all(-1).all(-1).numpy())
    both[unchanged, unchanged] = 0
    return both


def _check_tokens(a: AttentionModel, b: AttentionModel, segments: Sequence[Segment]) -> None:
    """ValueError where the two would not read the same ids, special tokens included."""
    tokens = sorted({token for one in segments for token in (*one.first, *one.second)})
    pairs = {bool(one.second) for one in segments}
    seen = []
    for model in (a, b):
        if model.tokenizer is None:
            raise ValueError(
                f"{model.name} has no tokenizer that could put special tokens around segments: "
                "pass one to load_model(model, tokenizer)"
            )
        ids = model.tokenizer.convert_tokens_to_ids(tokens)
        templates = [Template.of(model.tokenizer, pair=pair) for pair in sorted(pairs)]
        seen.append((ids, templates))
    advice = "compare models that share a tokenizer, such as a model and its fine-tuned copy"
    differing = [t for t, i, j in zip(tokens, seen[0][0], seen[1][0], strict=True) if i != j]
    if differing:
        shown = ", ".join(map(repr, differing[:3]))
        raise ValueError(
            f"{a.name} and {b.name} do not have the same tokens: {len(differing)} of the "
            f"segments' {len(tokens)}, {shown} among them, have other ids or none in one of them; "
            f"{advice}"
        )
    if seen[0][1] != seen[1][1]:
        raise ValueError(
            f"{a.name} and {b.name} put different special tokens or token types around a text: "
            f"{advice}"
        )
