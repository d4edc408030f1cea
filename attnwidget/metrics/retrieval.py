"""Heads that copy an answer from far back in a long text (Wu et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.results import HeadResult, LayerCurves, per_head
from attnwidget.inputs.given_words import read_words
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.running_text import RunningText

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


@dataclass(frozen=True, eq=False, repr=False)
class RetrievalResult(HeadResult):
    """Scores of heads that attend to the needle token that the model copies.

    Attributes:
        scores: Share of the needle's distinct tokens that a head copied, [L, H].
        model_name: Name of the model.
        answer: Answer of the model.
        copied: Tokens of the answer that occur in the needle.
        needle: First and end index (exclusive) of the needle in the input tokens.
        n_tokens: Number of input tokens, without the answer.
        share: Share of the needle's distinct tokens that occur in the answer, which is the highest
            possible score.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.metrics import retrieval_scores
        >>> model, needle = load_model("attnwidget/induction"), "The key is in the jar."
        >>> question = "The key is in the"
        >>> found = retrieval_scores(model, "It rained. " * 5, needle, question, max_new_tokens=3)
        >>> found.scores.shape, found.needle
        ((2, 4), (22, 33))
    """

    scores: NDArray[np.float64] = field(metadata=per_head("copied from the needle"))
    answer: str
    copied: tuple[str, ...]
    needle: tuple[int, int]
    n_tokens: int
    share: float

    figure = LayerCurves(
        "Copying from a needle",
        "share of the needle's tokens",
        {"answered": "self.share"},
        "{self.model_name}; {self.n_tokens:,} tokens read, the needle from {self.needle[0]:,}",
    )


@in_plain_torch
def retrieval_scores(
    model: AttentionModel,
    haystack: str,
    needle: str,
    question: str,
    *,
    depth: float = 0.5,
    max_new_tokens: int = 32,
) -> RetrievalResult:
    """Measure how often the most attended token is the needle token that the model writes.

    A needle is a sentence that answers the question. It is inserted into a long text about other
    topics; the model reads the whole text and answers. A head copies a token if the model writes a
    token of the needle and, at this step, the head attends most to an occurrence of the token in
    the needle. The score is the share of the needle's distinct tokens that the head copies (Wu et
    al. 2024, section 2). The paper averages over many needles, depths and lengths: call the
    function several times and average the scores.

    The score needs a model that answers, and has no control: no head can score more than `share`.
    The behavior "retrieval" of `measure_behaviors` is another value: the mean attention to the next
    token of a passage that a text repeats, compared with the same text with another passage. Use
    the behavior for a claim about a head, and this function for long texts and for the definition
    of the paper.

    Args:
        model: Causal model with its tokenizer.
        haystack: Long text.
        needle: Sentence to insert.
        question: Text after the haystack, which the needle continues or answers.
        depth: Position of the needle, from 0 (the beginning) to 1 (the end of the text). It is
            placed between two sentences if the text has several.
        max_new_tokens: Largest number of tokens of the answer.

    Raises:
        ValueError: If there is no tokenizer, the model is an encoder-decoder, the depth is outside
            of 0 to 1, the tokenizer drops the needle, or the model cannot process the text.

    Example:
        >>> from transformers import GPT2Config, GPT2LMHeadModel
        >>> from attnwidget import load_model
        >>> from attnwidget.metrics import retrieval_scores
        >>> tokenizer = load_model().tokenizer
        >>> config = GPT2Config(n_layer=2, n_head=2, n_embd=16, vocab_size=len(tokenizer))
        >>> model = load_model(GPT2LMHeadModel(config), tokenizer)
        >>> found = retrieval_scores(
        ...     model, "It rained. " * 20, "The key is in the jar.", "The key is in the",
        ...     max_new_tokens=3)
        >>> found.scores.shape, found.needle
        ((2, 2), (41, 48))
    """
    if model.tokenizer is None:
        raise ValueError("retrieval_scores reads texts: pass a tokenizer to load_model too")
    if getattr(model.hf_model.config, "is_encoder_decoder", False):
        raise ValueError(
            f"{model.name} is an encoder-decoder: retrieval scores need a decoder-only model"
        )
    if isinstance(depth, (bool, str)) or not 0 <= depth <= 1:
        raise ValueError(f"depth must be from 0 to 1, got {depth!r}")
    if not needle.strip() or not question.strip():
        raise ValueError("needle and question have at least one word each")
    before, after = _split_at(haystack, depth)
    parts = list(filter(None, [before, needle.strip(), after, question.strip()]))
    ids, needle_span = _located(model, parts, part=1 if before else 0)
    attention = model.generate(ids, max_new_tokens)
    token_ids = list(attention.stacks["self"].query.ids)
    needle_ids = set(ids[slice(*needle_span)])
    stack = attention.stacks["self"]
    copied: dict[tuple[int, ...], set[int]] = {
        head: set() for head in np.ndindex(stack.n_layers, stack.n_heads)
    }
    answer_positions = [i for i in range(len(ids), len(token_ids)) if token_ids[i] in needle_ids]
    for step in answer_positions:
        # The query before a position predicts the token at this position.
        strongest = np.nanargmax(attention.token_values("query", step - 1), -1)  # [L, H]
        for head, key in np.ndenumerate(strongest):
            if needle_span[0] <= key < needle_span[1] and ids[key] == token_ids[step]:
                copied[head].add(token_ids[step])
    scores = np.array([len(tokens) for tokens in copied.values()]) / len(needle_ids)
    return RetrievalResult(
        scores.reshape(stack.n_layers, stack.n_heads),
        model.tokenizer.decode(token_ids[len(ids) :]),
        tuple(stack.query.text[i] for i in answer_positions),
        needle_span,
        len(ids),
        len({token_ids[i] for i in answer_positions}) / len(needle_ids),
        model_name=model.name,
    )


def _split_at(haystack: str, depth: float) -> tuple[str, str]:
    """Split a text at the sentence end that is nearest to a depth."""
    haystack = haystack.strip()
    target = round(depth * len(haystack))
    ends = [
        i + 1
        for i, character in enumerate(haystack)
        if character in ".!?" and i + 1 < len(haystack)
    ]
    split = min([0, *ends, len(haystack)], key=lambda end: abs(end - target))
    return haystack[:split].strip(), haystack[split:].strip()


def _located(
    model: AttentionModel, parts: list[str], part: int
) -> tuple[list[int], tuple[int, int]]:
    """Return the ids of a text without its end token, and the token span of one of its parts."""
    words = read_words(model.texts, RunningText(tuple(parts), label="the text with the needle"))
    # Drop special tokens after the text: an end-of-text token would also end the answer.
    before = model.texts.template(pair=False).before
    part_tokens = [i for i, owner in enumerate(words.owners) if owner == part]
    if not part_tokens:
        raise ValueError("the tokenizer keeps no token of the needle")
    n_before = len(before)
    return [*before, *words.ids], (n_before + part_tokens[0], n_before + part_tokens[-1] + 1)
