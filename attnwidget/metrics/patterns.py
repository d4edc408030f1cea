"""Share of five attention patterns in the maps of each head (Kovaleva et al. 2019, 4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model_reading import refuse_no_attention
from attnwidget.corpus.accumulator import Batch, LayerBatch
from attnwidget.corpus.argument_checks import one_of
from attnwidget.corpus.attention_reader import read_attention
from attnwidget.corpus.results import HeadMetrics, HeadResult, heads_frame
from attnwidget.corpus.segment_means import SegmentMeans
from attnwidget.kernels.causal import is_causal
from attnwidget.kernels.pattern_network import PatternNetwork, classify_images, pattern_images
from attnwidget.kernels.patterns import PATTERNS, PatternScores, classify, pattern_scores
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.metrics.pattern_examples import PatternExamples, best_examples
from attnwidget.text.percent import percent

if TYPE_CHECKING:
    import altair as alt

PatternMethod = Literal["rules", "cnn"]
_BY = {"rules": "by rule", "cnn": "by a convolutional network"}


@dataclass(frozen=True, eq=False, repr=False)
class PatternsResult(HeadResult):
    """Share of each pattern among the maps of each head.

    Attributes:
        fractions: Share of each pattern, float64 [5, L, H], in the order of `PATTERNS`: "vertical",
            "diagonal", "vertical + diagonal", "block", "heterogeneous". The shares of a head sum to
            1.
        scores: Mean vertical, diagonal and block score, float64 [3, L, H].
        n_documents: Number of maps of each head.
        n_pairs: Number of maps of two sentences; only these can show a block.
        method: Classifier of the patterns, "rules" or "cnn"; the scores come from the rules in both
            cases.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> found = measure_attention(load_model().attend("The cat sat."), ["patterns"])["patterns"]
        >>> found.fractions.shape, found.most_frequent().shape
        ((5, 6, 12), (6, 12))
    """

    fractions: NDArray[np.float64]
    scores: NDArray[np.float64]
    n_documents: int
    n_pairs: int
    method: PatternMethod

    def heads(self) -> HeadMetrics:
        """Return the share of each pattern by name."""
        return dict(zip(PATTERNS, self.fractions, strict=True))

    def overall(self) -> dict[str, float]:
        """Return the share of each pattern among all maps of all heads."""
        shares = self.fractions.mean((1, 2)).tolist()
        return dict(zip(PATTERNS, shares, strict=True))

    def most_frequent(self) -> NDArray[np.str_]:
        """Return the most frequent pattern of each head, [L, H]; the first if there is a tie."""
        return np.array(PATTERNS)[self.fractions.argmax(0)]

    @in_plain_torch
    @says_cuts
    def examples(self, attention: Attention) -> PatternExamples:
        """Return one head for each pattern, with its map of one input (Kovaleva et al., Figure 1).

        A head is an example of a pattern if its map of the input has the pattern. The best example
        has the largest product of two numbers: the share of the pattern among the measured maps of
        the head, and the plainness of its map of the input. `kernels.patterns.plainness` defines
        the plainness, from the same scores as the rules.

        Args:
            attention: Attention of a pair of texts, best with about 20 tokens each. A single text
                and a causal model have no block.

        Raises:
            ValueError: If the attention has other layers or heads, or more than 100 tokens.

        Example:
            >>> from attnwidget import load_model, measure_attention
            >>> model = load_model()
            >>> attention = model.attend("The cat sat on the mat.", "It slept there all day.")
            >>> patterns = measure_attention(attention, ["patterns"])["patterns"]
            >>> patterns.examples(attention).to_frame().columns.tolist()
            ['pattern', 'layer', 'head', 'share', 'plainness']
        """
        refuse_no_attention(attention)
        metric = Patterns(self.method)
        read_attention(attention, [metric])
        here = metric.compute()
        return best_examples(
            attention,
            metric.stack,
            shares=self.fractions,
            here=here.fractions,
            scores=here.scores,
            n_documents=self.n_documents,
        )

    @property
    def finding(self) -> str:
        """The patterns with their shares among all maps, most frequent first."""
        shares = sorted(self.overall().items(), key=lambda item: -item[1])
        (first, share), *others = [item for item in shares if percent(item[1]) != percent(0)]
        rest = "".join(f", {percent(share)} {name}" for name, share in others)
        return f"{percent(share)} of the maps are {first}{rest}"

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the share of each pattern over the layers as bars.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.pattern_shares import pattern_shares

        frame = heads_frame(self.heads()).rename(columns={"metric": "pattern"})
        maps = f"{self.n_documents} maps per head"
        title = f"Patterns of attention\n{self.model_name}, {_BY[self.method]}, {maps}"
        return pattern_shares(frame, title=title, width=width)


class Patterns(SegmentMeans[PatternsResult]):
    """Metric: the pattern of every map, by rules on three scores or by a trained network.

    The patterns are the classes of Kovaleva et al. 2019. Their classifier and labels were not
    published, so shares cannot be compared with theirs. `kernels.patterns` defines scores and
    thresholds, and `kernels.pattern_network` the network and its input. The page on patterns
    compares both with manual labels. Maps of fewer than 8 tokens are classified as well, although
    their patterns cannot be distinguished. Causal heads show no block, because the first sentence
    cannot see the second.

    Args:
        method: Classifier: "rules", or "cnn" for a network of eight convolutional layers as in the
            paper.

    Raises:
        ValueError: If the method is unknown.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.metrics import Patterns
        >>> model = load_model()
        >>> segments = make_segments(["The captain told his men to leave the ship."], model)
        >>> found = measure(model, segments, ["patterns"], progress=False)["patterns"]
        >>> found.fractions.shape, found.n_documents
        ((5, 6, 12), 1)
        >>> found = measure(model, segments, [Patterns("cnn")], progress=False)["patterns"]
        >>> found.method, found.fractions.shape
        ('cnn', (5, 6, 12))
    """

    name = "patterns"
    along_line = True
    of_heads = {"maps": (len(PATTERNS),), "scores": (len(PatternScores._fields),)}
    of_segments = {"pairs": ()}

    def __init__(self, method: PatternMethod = "rules") -> None:
        one_of("method", method, get_args(PatternMethod))
        self.method: PatternMethod = method

    @property
    def options(self) -> dict[str, Any]:
        return {"method": self.method}

    def begin_batch(self, layer: LayerBatch) -> None:
        self._segments = _segments(layer.batch).to(layer.weights.device)
        self._causal = is_causal(layer.weights, layer.batch.real)

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        scores = pattern_scores(
            layer.weights,
            row_weights=layer.batch.row_weights,
            segments=self._segments,
            causal=self._causal,
        )
        if self.method == "cnn":
            images = pattern_images(
                layer.weights,
                layer.batch.lengths,
                segments=self._segments,
                causal=self._causal,
            )
            patterns = classify_images(pattern_network(str(images.device)), images)
        else:
            patterns = classify(scores)
        one_hot = torch.nn.functional.one_hot(patterns, len(PATTERNS))  # [B, H, 5]
        return {"maps": one_hot, "scores": torch.stack(tuple(scores), -1)}

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        return {"pairs": self._segments.any(-1) & (not self._causal)}

    def compute(self) -> PatternsResult:
        return PatternsResult(
            self.mean("maps"),
            self.mean("scores"),
            self.n_segments,
            int(self.counted("pairs")),
            self.method,
            model_name=self.model_name,
        )


@cache
def pattern_network(device: str = "cpu") -> PatternNetwork:
    """Load the bundled network, which `docs/models/patterns_cnn.py` trained.

    Example:
        >>> from attnwidget.metrics.patterns import pattern_network
        >>> sum(values.numel() for values in pattern_network().parameters())
        63221
    """
    stored = files("attnwidget").joinpath("demo/patterns.safetensors").read_bytes()
    network = PatternNetwork()
    network.load_state_dict(safetensors.torch.load(stored))
    network.requires_grad_(False).eval()
    return network.to(torch.device(device), memory_format=torch.channels_last)  # type: ignore[call-overload]


def _segments(batch: Batch) -> Tensor:
    """Return the sentence index of each token, int64 [B, n]; 0 for padding."""
    segments = torch.zeros(batch.real.shape, dtype=torch.int64, device="cpu")
    for row, tokens in zip(segments, batch.tokens, strict=True):
        row[: len(tokens)] = torch.tensor(tokens.segments, dtype=torch.long, device="cpu")
    return segments
