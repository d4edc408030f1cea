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
    """Scores of the heads that attend to the token of the needle that the model copies.

    Attributes:
        scores: Share of the needle's different tokens that a head copied, [L, H].
        model_name: Name of the model.
        answer: The model's answer.
        copied: The tokens of the answer that the needle has.
        needle: First token and end (excluded) of the needle among the input tokens.
        n_tokens: Number of input tokens, without the answer.
        share: Share of the needle's different tokens that the answer has, which is the highest
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
    """Measure how often a head attends most to the needle's token that the model writes.

    A needle is a sentence that answers the question. It is inserted into a long text about other
    things; the model reads the whole text and answers. A head copies a token if the model writes a
    token of the needle and the head attends most, at this step, to an occurrence of the token in
    the needle. The score is the share of the needle's different tokens that the head copies (Wu et
    al. 2024, section 2). The paper averages over many needles, depths and lengths: call the
    function several times and average the scores.

    The score needs a model that answers, and has no control: no head can score more than `share`.
    The behavior "retrieval" of `measure_behaviors` is another number: the mean attention to the
    next token of a passage that a text repeats, beside the same text with another passage. Use the
    behavior to say whether a head retrieves, and this function for long texts and for the
    definition of the paper.

    Args:
        model: A causal model with its tokenizer.
        haystack: A long text.
        needle: A sentence.
        question: Text after the long text, which the needle continues or answers.
        depth: Position of the needle, from 0 (the beginning) to 1 (the end of the text), between
            two sentences if the text has several.
        max_new_tokens: Largest number of tokens of the answer.

    Raises:
        ValueError: no tokenizer, an encoder-decoder, a depth outside of 0 to 1, a needle that the
            tokenizer cannot find again, or a text that the model cannot take.

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
        raise ValueError(f"depth is from 0 to 1, got {depth!r}")
    if not needle.strip() or not question.strip():
        raise ValueError("needle and question have at least one word each")
    before, after = _split_at(haystack, depth)
    parts = list(filter(None, [before, needle.strip(), after, question.strip()]))
    ids, place = _located(model, parts, part=1 if before else 0)
    attention = model.generate(ids, max_new_tokens)
    written = list(attention.stacks["self"].query.ids)
    of_needle = set(ids[slice(*place)])
    stack = attention.stacks["self"]
    copied: dict[tuple[int, ...], set[int]] = {
        head: set() for head in np.ndindex(stack.n_layers, stack.n_heads)
    }
    answered = [i for i in range(len(ids), len(written)) if written[i] in of_needle]
    for step in answered:
        # The query before a place predicts the token at this place.
        strongest = np.nanargmax(attention.token_values("query", step - 1), -1)  # [L, H]
        for head, key in np.ndenumerate(strongest):
            if place[0] <= key < place[1] and ids[key] == written[step]:
                copied[head].add(written[step])
    scores = np.array([len(tokens) for tokens in copied.values()]) / len(of_needle)
    return RetrievalResult(
        scores.reshape(stack.n_layers, stack.n_heads),
        model.tokenizer.decode(written[len(ids) :]),
        tuple(stack.query.text[i] for i in answered),
        place,
        len(ids),
        len({written[i] for i in answered}) / len(of_needle),
        model_name=model.name,
    )


def _split_at(haystack: str, depth: float) -> tuple[str, str]:
    """Split a text at the end of the sentence that is nearest to a depth."""
    haystack = haystack.strip()
    wanted = round(depth * len(haystack))
    ends = [i + 1 for i, sign in enumerate(haystack) if sign in ".!?" and i + 1 < len(haystack)]
    place = min([0, *ends, len(haystack)], key=lambda end: abs(end - wanted))
    return haystack[:place].strip(), haystack[place:].strip()


def _located(
    model: AttentionModel, parts: list[str], part: int
) -> tuple[list[int], tuple[int, int]]:
    """Return the ids of a text without its end token, and the tokens of one of its parts."""
    read = read_words(model.texts, RunningText(tuple(parts), label="the text with the needle"))
    # Special tokens after the text are left out: an end of text would end the answer too.
    before = model.texts.template(pair=False).before
    inside = [i for i, owner in enumerate(read.owners) if owner == part]
    if not inside:
        raise ValueError("the tokenizer keeps no token of the needle")
    n_before = len(before)
    return [*before, *read.ids], (n_before + inside[0], n_before + inside[-1] + 1)
