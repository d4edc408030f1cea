"""Pairs of a clean and a corrupted input, and the question to the model about each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from attnwidget.capture.hub_model.example import ExampleBatch, TextExample
from attnwidget.capture.hub_model.text_encoder import Encoded
from attnwidget.corpus.argument_checks import each_of, one_of
from attnwidget.interventions.examples import batch_of, encode_examples
from attnwidget.text.counted import counted

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

Into = Literal["corrupted", "clean"]
HOW = (
    "clean and corrupted are examples with the right answer to each, [(text, answer), ...], pair "
    "by pair of as many tokens"
)


@dataclass(frozen=True)
class PatchPair:
    """A clean and a corrupted input of equal length, both with the answer to the clean input.

    Attributes:
        clean: The clean input.
        corrupted: The corrupted input.
    """

    clean: TextExample
    corrupted: TextExample

    @property
    def encoded(self) -> Encoded:
        """The clean input."""
        return self.clean.encoded

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the clean input; where the inputs differ, "clean / corrupted"."""
        texts = zip(self.clean.encoded.tokens.text, self.corrupted.encoded.tokens.text, strict=True)
        return tuple(a if a == b else f"{a} / {b}" for a, b in texts)

    @property
    def originals(self) -> tuple[Any, Any]:
        """The user's examples."""
        return self.clean.original, self.corrupted.original

    def batches(self, model: AttentionModel, into: Into) -> tuple[ExampleBatch, ExampleBatch]:
        """Return the run that is patched, and the run from which outputs of heads are taken."""
        clean = batch_of(model, [self.clean])
        corrupted = batch_of(model, [self.corrupted])
        return (corrupted, clean) if into == "corrupted" else (clean, corrupted)


def patch_pairs_of(
    model: AttentionModel,
    clean: Iterable[Any],
    corrupted: Iterable[Any],
    *,
    answered: bool,
    different: bool,
    into: str,
) -> list[PatchPair]:
    """Read the examples pair by pair.

    Args:
        model: A model of one stack with a head that answers.
        clean: (text, answer) or (text, second text, answer), or a list of them.
        corrupted: As many, of as many tokens each.
        answered: Whether the score asks for the answers.
        different: Whether the answers of a pair must differ.
        into: The run that is patched, which is checked only.

    Raises:
        TypeError: An encoder-decoder, no head that answers, or other examples.
        ValueError: No examples, or pairs whose numbers of tokens or answers do not fit.
    """
    one_of("into", into, get_args(Into))
    listed = [_listed(examples) for examples in (clean, corrupted)]
    if len(listed[0]) != len(listed[1]):
        raise ValueError(
            f"every clean example has a corrupted one, got {len(listed[0])} and {len(listed[1])}"
        )
    sides = [encode_examples(model, examples, answered=answered) for examples in listed]
    by_index = [sorted(side, key=lambda example: example.index) for side in sides]
    pairs = []
    for own, other in zip(*by_index, strict=True):
        _check(own, other, different=different)
        answers = {"targets": own.targets, "rivals": other.targets}
        pairs.append(PatchPair(replace(own, **answers), replace(other, **answers)))
    return pairs


def _listed(examples: Iterable[Any]) -> list[Any]:
    if isinstance(examples, tuple) and examples and not isinstance(examples[0], tuple):
        examples = [examples]
    listed = list(each_of(examples, HOW))
    for example in listed:
        if not isinstance(example, tuple):
            raise TypeError(f"got {type(example).__name__} {example!r:.60}: {HOW}")
    return listed


def _check(clean: TextExample, corrupted: TextExample, *, different: bool) -> None:
    lengths = [len(example.encoded.ids) for example in (clean, corrupted)]
    if lengths[0] != lengths[1]:
        raise ValueError(
            f"pair {clean.index} has {counted(lengths[0], 'clean token')} and {lengths[1]} "
            "corrupted ones: outputs are patched token by token, so write texts of as many tokens "
            "(attend(text).tokens lists them)"
        )
    if different and clean.targets == corrupted.targets:
        raise ValueError(
            f"both inputs of pair {clean.index} have the same answer, so there is no logit "
            "difference: give the corrupted input the answer that the clean one should beat, or "
            "score='loss'"
        )


def longest_and_shortest(pairs: Sequence[PatchPair]) -> tuple[int, int]:
    """The most and the fewest tokens of an input."""
    lengths = [len(pair.encoded.ids) for pair in pairs]
    return max(lengths), min(lengths)
