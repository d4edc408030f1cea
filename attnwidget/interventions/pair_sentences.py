"""Encoding of minimal pairs: one input per sentence, or one per masked token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from attnwidget.capture.predict import prediction_task
from attnwidget.inputs.example import Example, TextExample
from attnwidget.inputs.mask_token import mask_id_of
from attnwidget.text.minimal_pairs import MinimalPair, common_ends
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel
    from attnwidget.inputs.text_encoder import Encoded

PairWords = Literal["differing", "all"]


def sentences_of(
    model: AttentionModel, pairs: Sequence[MinimalPair], words: PairWords | None = None
) -> list[TextExample]:
    """Return the sentences to score: one input per sentence, or one per token to mask.

    `words` has the same meaning as in `measure_minimal_pairs`.

    Raises:
        TypeError, ValueError: As in `measure_minimal_pairs`.
    """
    task = prediction_task(model.hf_model)
    if task not in ("masked", "next") or model.inputs.encodes_apart:
        name = type(model.hf_model).__name__
        raise TypeError(
            f"pairs are scored by masked and causal language models of one stack, not by {name}"
        )
    if task == "next" and words == "differing":
        raise ValueError(
            f"{type(model.hf_model).__name__} is a causal model, which scores whole sentences: "
            "pass words='all', or a masked language model"
        )
    masking = f"a masked word of {type(model.hf_model).__name__}"
    sentences: list[TextExample] = []
    for index, pair in enumerate(pairs):
        encoded_pair = [model.inputs.encoder(text) for text in (pair.good, pair.bad)]
        if task == "masked":
            mask_id = mask_id_of(model.tokenizer, masking)
            tokens = [sentence.tokens for sentence in encoded_pair]
            positions = _of_words(tokens) if words == "all" else _differing(pair, tokens)
            inputs = [
                _masked_in_turn(*side, mask_id)
                for side in zip(encoded_pair, positions, strict=True)
            ]
        else:
            inputs = [[_whole(sentence)] for sentence in encoded_pair]
        for sign, examples in zip((1, -1), inputs, strict=True):
            sentences += [
                replace(example, sign=sign, index=index, original=pair) for example in examples
            ]
    return sentences


def _whole(sentence: Encoded) -> TextExample:
    """Return a sentence whose tokens after the first are all predicted."""
    ids = sentence.ids
    return Example(sentence, tuple(range(len(ids) - 1)), tuple(ids[1:]))


def _masked_in_turn(sentence: Encoded, places: Sequence[int], mask_id: int) -> list[TextExample]:
    """Return one input per position, with masks at this position and in the rest of its word."""
    examples = []
    for position in places:
        ids = list(sentence.ids)
        target = ids[position]
        for masked_position in sentence.tokens.rest_of_word(position):
            ids[masked_position] = mask_id
        examples.append(Example(replace(sentence, ids=ids), (position,), (target,)))
    return examples


def _of_words(read: Sequence[Tokens]) -> tuple[list[int], list[int]]:
    """Return all tokens of the text of both sentences, without special tokens."""
    first, second = (
        [i for i, kind in enumerate(tokens.special) if not kind or kind == "first"]
        for tokens in read
    )
    return first, second


def _differing(pair: MinimalPair, read: Sequence[Tokens]) -> tuple[list[int], list[int]]:
    """Return the tokens of the words between the common beginning and end of both sentences."""
    groups = [tokens.word_groups() for tokens in read]
    words = [
        [tuple(tokens.ids[i] for i in group) for group in spelling]
        for tokens, spelling in zip(read, groups, strict=True)
    ]
    start, end = common_ends(*words)
    first, second = (
        [i for word in spelling[start : len(spelling) - end] for i in word] for spelling in groups
    )
    if not first or not second:
        raise ValueError(
            f"{pair.good!r} and {pair.bad!r} have no differing words to mask, because one sentence "
            "contains the other; leave the pair out, pass words='all', or use a causal model"
        )
    return first, second
