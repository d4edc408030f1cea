"""Pairs of a clean and a corrupted input, with the question to the model about each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from attnwidget.corpus.argument_checks import one_of
from attnwidget.inputs.example import ExampleBatch, StudyExample
from attnwidget.inputs.input_list import each_of
from attnwidget.inputs.media_input import EncodedMedia, is_media
from attnwidget.inputs.text_encoder import Encoded
from attnwidget.interventions.examples import batch_of, encode_examples
from attnwidget.interventions.media_examples import attention_of
from attnwidget.interventions.scores import PatchScore
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

Into = Literal["corrupted", "clean"]
HOW = (
    "clean and corrupted are examples with the right answer to each, [(text, answer), ...] or "
    "[(picture, answer), ...], pair by pair of as many tokens"
)


@dataclass(frozen=True)
class PatchPair:
    """A clean and a corrupted input of equal length, both with the answer to the clean input.

    Attributes:
        clean: Clean input.
        corrupted: Corrupted input.
    """

    clean: StudyExample
    corrupted: StudyExample

    @property
    def encoded(self) -> Encoded | EncodedMedia:
        """Encoded clean input."""
        return self.clean.encoded

    def tokens(self, model: AttentionModel, stack: str) -> tuple[str, ...]:
        """Return the tokens of the clean input; "clean / corrupted" where the inputs differ."""
        sides = [_names(model, example, stack) for example in (self.clean, self.corrupted)]
        return tuple(a if a == b else f"{a} / {b}" for a, b in zip(*sides, strict=True))

    @property
    def originals(self) -> tuple[Any, Any]:
        """Original examples of the user."""
        return self.clean.original, self.corrupted.original

    def batches(self, model: AttentionModel, into: Into) -> tuple[ExampleBatch, ExampleBatch]:
        """Return the batch that is patched, and the batch from which head outputs are taken."""
        clean = batch_of(model, [self.clean])
        corrupted = batch_of(model, [self.corrupted])
        return (corrupted, clean) if into == "corrupted" else (clean, corrupted)


def patch_pairs_of(
    model: AttentionModel,
    clean: Iterable[Any],
    corrupted: Iterable[Any],
    score: PatchScore,
    *,
    into: str,
    stack: str | None = None,
) -> list[PatchPair]:
    """Encode the examples pair by pair.

    Args:
        model: Model with one stack and a prediction head.
        clean: Clean input or list of inputs: (text, answer), (text, second text, answer), (picture,
            answer) or (sound, answer).
        corrupted: Corrupted inputs, equally many, with the same numbers of tokens.
        score: Score of a run. A function needs no answers, and a logit difference needs two.
        into: Run that is patched; it is only checked here.
        stack: Stack whose heads are patched; None = the default stack.

    Raises:
        TypeError: If the examples are texts for an encoder-decoder or of another type, or the model
            has no prediction head.
        ValueError: If there are no examples, or numbers of tokens or answers of a pair do not fit.
    """
    one_of("patch_into", into, get_args(Into))
    lists = [_listed(examples) for examples in (clean, corrupted)]
    if len(lists[0]) != len(lists[1]):
        raise ValueError(
            f"every clean example has a corrupted one, got {len(lists[0])} and {len(lists[1])}"
        )
    sides = [
        encode_examples(model, examples, answered=not callable(score), stack=stack)
        for examples in lists
    ]
    by_index = [sorted(side, key=lambda example: example.index) for side in sides]
    pairs = []
    for clean_example, corrupted_example in zip(*by_index, strict=True):
        _check(clean_example, corrupted_example, different=score == "logit difference")
        answers = {"targets": clean_example.targets, "rivals": corrupted_example.targets}
        pairs.append(
            PatchPair(replace(clean_example, **answers), replace(corrupted_example, **answers))
        )
    return pairs


def _listed(examples: Iterable[Any]) -> list[Any]:
    if isinstance(examples, tuple) and examples:
        first = examples[0]
        if is_media(first) or not isinstance(first, tuple):
            examples = [examples]
    example_list = list(each_of(examples, HOW))
    for example in example_list:
        if not isinstance(example, tuple):
            raise TypeError(f"got {type(example).__name__} {example!r:.60}: {HOW}")
    return example_list


def _check(clean: StudyExample, corrupted: StudyExample, *, different: bool) -> None:
    lengths = [example.encoded.n_tokens for example in (clean, corrupted)]
    if lengths[0] != lengths[1]:
        advice = "write texts of as many tokens (attend(text).tokens lists them)"
        if isinstance(clean.encoded, EncodedMedia):
            advice = "pass pictures of one size, with texts of as many tokens"
        raise ValueError(
            f"pair {clean.index} has {counted(lengths[0], 'clean token')} and {lengths[1]} "
            f"corrupted ones: outputs are patched token by token, so {advice}"
        )
    if isinstance(clean.encoded, EncodedMedia) and max(map(_n_answers, (clean, corrupted))) > 1:
        raise ValueError(
            f"pair {clean.index} has answers of several tokens, and the runs would read different "
            "tokens before the last one: pass answers of one token"
        )
    if different and clean.targets == corrupted.targets:
        raise ValueError(
            f"both inputs of pair {clean.index} have the same answer, so there is no logit "
            "difference: give the corrupted input the answer that the clean one should beat, or "
            "scoring='loss'"
        )


def _n_answers(example: StudyExample) -> int:
    return len(example.targets)


def _names(model: AttentionModel, example: StudyExample, stack: str) -> tuple[str, ...]:
    if isinstance(example.encoded, EncodedMedia):
        return attention_of(model, example.encoded).stacks[stack].query.text
    return example.encoded.tokens.text


def longest_and_shortest(pairs: Sequence[PatchPair]) -> tuple[int, int]:
    """Return the largest and the smallest number of tokens of an input."""
    lengths = [pair.encoded.n_tokens for pair in pairs]
    return max(lengths), min(lengths)
