"""Heads that continue repeated sequences in causal models (Olsson et al. 2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.corpus.accumulator import Batch, LayerBatch, Subject
from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.corpus.attention_reader import read_attention
from attnwidget.corpus.each_input import numbers_of_each
from attnwidget.corpus.progress_bar import OnProgress
from attnwidget.corpus.results import LayerCurves, extreme_head, per_head
from attnwidget.corpus.segment_means import SegmentMeans, SegmentMeansResult
from attnwidget.kernels.causal import is_causal
from attnwidget.kernels.induction import even_spread, induction_targets, mass_on_targets
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.percent import percent
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

_TITLES = ("induction", "duplicate token", "previous-token score")


@dataclass(frozen=True, eq=False, repr=False)
class InductionResult(SegmentMeansResult):
    """Scores of induction, duplicate-token and previous-token heads.

    Attributes:
        induction: Prefix-matching score, [L, H]: attention from a token to the tokens after its
            earlier copies, averaged over tokens with an earlier copy, then over documents. NaN
            without such tokens.
        duplicate: Attention to the earlier copies, averaged in the same way, [L, H].
        previous: Attention to the previous token, averaged over all tokens except the first, [L,
            H].
        even: Scores of a head with equal attention to all visible tokens, by title.
        n_documents: Number of documents with a repeated token.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.metrics import induction_scores
        >>> model = load_model("attnwidget/induction")
        >>> found = induction_scores(model, n_sequences=2, length=10, progress=False)
        >>> found.induction.shape, bool(found.induction.max() > 0.5)
        ((2, 4), True)
    """

    unit: ClassVar[str] = "sequence"

    induction: NDArray[np.float64] = field(metadata=per_head(_TITLES[0]))
    duplicate: NDArray[np.float64] = field(metadata=per_head(_TITLES[1]))
    previous: NDArray[np.float64] = field(metadata=per_head(_TITLES[2]))
    even: Mapping[str, float]

    @property
    def finding(self) -> str:
        """The head with the largest prefix-matching score."""
        if np.isnan(self.induction).all():
            return ""
        name, share = extreme_head(self.induction)
        return (
            f"{name} gives {percent(share)} of its attention to the tokens after earlier copies "
            f"(even attention: {percent(self.even[_TITLES[0]])})"
        )

    figure = LayerCurves(
        "Attention in repeated sequences", reference={"even": "self.even[induction]"}
    )


class Induction(SegmentMeans[InductionResult]):
    """Metric: induction, duplicate-token and previous-token scores of a causal model.

    Repetitions in the texts count; `induction_scores` uses sequences that consist of repetitions.
    If a token has several earlier copies, the attention to the tokens after them is summed. The
    behavior "induction" of an atlas only counts copies at a distance of three or more tokens, and
    has a control and a test. Use it to decide whether a head does induction in natural text.

    Raises:
        ValueError: During the measurement, if a query sees a later token.

    Example:
        >>> from attnwidget.metrics import Induction
        >>> Induction().name
        'induction'
    """

    name = "induction"
    along_line = True
    of_heads = {"scores": (len(_TITLES),)}
    of_segments = {"even": (len(_TITLES),), "with_targets": (len(_TITLES),)}

    def start(self, subject: Subject) -> None:
        super().start(subject)
        model = subject.model
        self._called = subject.model_name if model is None else type(model.hf_model).__name__

    def begin_batch(self, layer: LayerBatch) -> None:
        batch = layer.batch
        if not is_causal(layer.weights, batch.real):
            raise ValueError(
                f"{self._called} is no causal model: its tokens attend to later ones, which in a "
                "repeated text are the answer; induction scores are for decoders such as GPT-2"
            )
        self._targets = induction_targets(batch.inputs["input_ids"], batch.real)
        self._with_targets = torch.stack([t.any(-1).any(-1) for t in self._targets], -1)  # [B, 3]

    def head_numbers(self, layer: LayerBatch) -> Mapping[str, Tensor]:
        scores = torch.stack([mass_on_targets(layer.weights, t) for t in self._targets], -1)
        return {"scores": torch.where(self._with_targets[:, None], scores, 0)}  # [B, H, 3]

    def segment_numbers(self, batch: Batch) -> Mapping[str, Tensor]:
        even = torch.stack([even_spread(targets) for targets in self._targets], -1)
        return {
            "even": torch.where(self._with_targets, even, 0),
            "with_targets": self._with_targets,
        }

    def compute(self) -> InductionResult:
        induction, duplicate, previous = self.mean("scores", over="with_targets")
        even = self.mean("even", over="with_targets").tolist()
        even_by_title = dict(zip(_TITLES, even, strict=True))
        n_documents = int(self.counted("with_targets")[0])
        return InductionResult(
            n_documents, induction, duplicate, previous, even_by_title, model_name=self.model_name
        )


@in_plain_torch
def induction_scores(
    model: AttentionModel,
    *,
    n_sequences: int = 8,
    length: int = 50,
    repeats: int = 2,
    seed: int = 0,
    progress: bool | OnProgress = True,
) -> InductionResult:
    """Measure induction, duplicate-token and previous-token scores on repeated random tokens.

    `length` different tokens are drawn uniformly from the vocabulary without special tokens, and
    repeated. The beginning-of-text token comes first if the model has one. Olsson et al. 2022
    repeat 25 tokens four times, and exclude the most and least frequent tokens, which needs
    counts of a corpus.

    The behaviors "induction (random tokens)" and "duplicate token (random tokens)" of
    `measure_behaviors` are the same means over other sequences, with a control, a test and a
    held-out half. Use them for a claim about a head, and these scores for the curve over layers.
    "previous-token score" is the mean over random tokens; the behavior "previous token" is measured
    in texts.

    Args:
        model: Causal model; it needs no tokenizer.
        n_sequences: Number of sequences.
        length: Number of tokens before the first repetition.
        repeats: Number of occurrences of these tokens.
        seed: Seed of the drawn tokens.
        progress: Whether to show a progress bar; or a function that is called with the number of
            processed inputs and the total (None if unknown).

    Raises:
        ValueError: If tokens see later tokens, the model is an encoder-decoder, the numbers are too
            small, sequences are too long for the model, or the resume file belongs to another
            study.
        RuntimeError, OSError, WorkersError: As in `measure`.
        KeyboardInterrupt: If Ctrl-C was pressed. The resume file has the finished work.

    Example:
        >>> from transformers import GPT2Config, GPT2LMHeadModel
        >>> from attnwidget import load_model
        >>> from attnwidget.metrics import induction_scores
        >>> config = GPT2Config(n_layer=2, n_head=4, n_embd=32, vocab_size=99,
        ...                     bos_token_id=0, eos_token_id=0)
        >>> model = load_model(GPT2LMHeadModel(config), name="GPT-2")
        >>> induction_scores(model, n_sequences=2, length=10, progress=False)
        InductionResult(GPT-2, 2×4 heads: induction, duplicate token, previous-token score)
    """
    n_sequences = whole_number("n_sequences", n_sequences, 1)
    length = whole_number("length", length, 2, "tokens")
    repeats = whole_number("repeats", repeats, 2)
    seed = whole_number("seed", seed, 0)
    start, vocabulary = start_and_vocabulary(model)
    if length > len(vocabulary):
        raise ValueError(f"length {length} exceeds the {len(vocabulary)} tokens of the vocabulary")
    limit = model.length_limit.tokens
    n_tokens = len(start) + length * repeats
    if limit is not None and n_tokens > limit:
        raise ValueError(
            f"{length} tokens {repeats} times make {n_tokens} with the special ones; "
            f"{model.length_limit.reads} {limit} at most: make length smaller"
        )
    draw = np.random.default_rng(seed)
    repeated = [
        np.tile(draw.choice(vocabulary, length, replace=False), repeats).tolist()
        for _ in range(n_sequences)
    ]
    sequences = [[*start, *ids] for ids in repeated]
    numbers = numbers_of_each(
        "induction scores",
        model,
        sequences,
        sequence_scores,
        unit="sequence",
        progress=progress,
    )
    induction, duplicate, previous = numbers.mean(-1)
    # All sequences repeat the same number of tokens at the same distance.
    ids = torch.tensor(sequences[:1], dtype=torch.long, device="cpu")
    targets = induction_targets(ids, torch.ones_like(ids, dtype=torch.bool))
    spreads = [float(even_spread(target)[0]) for target in targets]
    even = dict(zip(_TITLES, spreads, strict=True))
    return InductionResult(n_sequences, induction, duplicate, previous, even, model_name=model.name)


def sequence_scores(model: AttentionModel, sequences: Sequence[list[int]]) -> NDArray[np.float64]:
    """Return the three scores of every head for a batch with one sequence of ids, [3, L, H, 1]."""
    (ids,) = sequences
    scores = sequence_result(model, ids)
    return np.stack([scores.induction, scores.duplicate, scores.previous])[..., None]


def sequence_result(
    model: AttentionModel, ids: list[int], *, repeated: list[int] | None = None
) -> InductionResult:
    """Return the scores of every head on one sequence of ids.

    Args:
        model: Causal model.
        ids: Sequence that the model processes.
        repeated: Sequence of the same length whose repetitions define the scored positions. It
            gives the control score of `ids` without repetitions. None = `ids`.

    Raises:
        ValueError: If the model is an encoder-decoder or not causal.
    """
    attention = model.attend(ids)
    if "self" not in attention.stacks:
        raise ValueError(
            f"{attention.model_name} is an encoder-decoder: induction scores need a decoder-only "
            "model such as GPT-2"
        )
    metric = Induction()
    read_attention(attention, [metric], model=model, ids=ids if repeated is None else repeated)
    return metric.compute()


def start_and_vocabulary(model: AttentionModel) -> tuple[list[int], NDArray[np.int64]]:
    """Return the beginning-of-text token, if any, and the ids of tokens that are not special."""
    refuse_no_model(model)
    config = model.hf_model.config.get_text_config()
    tokenizer = model.tokenizer
    size = int(model.hf_model.get_input_embeddings().num_embeddings)
    special: set[int] = set(getattr(tokenizer, "all_special_ids", ()))
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        ids = getattr(config, name, None)  # Some models have several end-of-text tokens.
        special |= {int(i) for i in np.atleast_1d(ids)} if ids is not None else set()
    bos_id = getattr(tokenizer, "bos_token_id", None)
    bos_id = getattr(config, "bos_token_id", None) if bos_id is None else bos_id
    # A configuration may name a token outside of the vocabulary.
    start = [int(bos_id)] if bos_id is not None and bos_id < size else []
    vocabulary_size = min(size, getattr(tokenizer, "vocab_size", None) or size)
    return start, np.setdiff1d(np.arange(vocabulary_size), list(special))
