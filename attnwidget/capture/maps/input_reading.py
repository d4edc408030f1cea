"""Inputs that a model can read again, with heads switched off or for predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from attnwidget.capture.model_lock import ModelLock
from attnwidget.capture.tapping.edit_methods import RULED, EditMethod
from attnwidget.capture.tapping.head import Head, HeadName
from attnwidget.capture.tapping.head_rule import HeadRule, TextRules
from attnwidget.capture.tapping.link_edit import LinkEdit
from attnwidget.model_facts.latest_values import LatestValues
from attnwidget.text.link_ends import LinkName
from attnwidget.text.places import Media
from attnwidget.text.tokens import Tokens

if TYPE_CHECKING:
    from torch import Tensor

    from attnwidget.capture.answers.losses import LossFunction, LossName
    from attnwidget.capture.answers.predictions import Predictions
    from attnwidget.capture.tapping.edits import Edits
    from attnwidget.inputs.example import ReadExample
    from attnwidget.inputs.model_tensors import ModelBatch
    from attnwidget.model_facts.weights_seen import WeightsSeen

#: Type of the attentions that a model returns.
A = TypeVar("A")

#: Heads that are off, their method, scaled links, and the rules in the place of the heads.
_EditKey = tuple[tuple[Head, ...], EditMethod, tuple[LinkEdit, ...], tuple[HeadRule, ...]]

# Number of attentions with heads off that are cached per input, because linked figures request
# the same attentions.
_KEPT = 4
# Number of predictions that are cached per input: for the default position, and for a locked token.
_KEPT_ANSWERS = 2


class Reader(Protocol[A]):
    """Part of an `AttentionModel` that reads an input again.

    Attributes:
        hf_model: Transformers model.
        tokenizer: Tokenizer of the model, or None.
        lock: Lock that is held during forward passes.
    """

    hf_model: Any
    tokenizer: Any
    lock: ModelLock

    @property
    def edits(self) -> Edits:
        """The edits of the enclosing `disabled` and `scaled_links` blocks."""

    @property
    def default_method(self) -> EditMethod:
        """Default replacement of disabled heads."""

    def disabled(
        self, heads: Sequence[Head], *, method: EditMethod | None
    ) -> AbstractContextManager[object]:
        """Switch heads off in the block, as in `AttentionModel.disabled`."""

    def _link_edit(
        self,
        links: Iterable[LinkName],
        factor: float,
        heads: HeadName | Iterable[HeadName] | None,
        *,
        layers: Iterable[int | str] | str | None,
        stack: str | None,
        axes: Mapping[str, tuple[Tokens, Tokens]],
        keeps_sum: bool,
    ) -> LinkEdit:
        """Return links of one input by position, with names looked up in its tokens."""

    def _edited(
        self,
        heads: Sequence[Head],
        method: EditMethod | None,
        link_edits: Sequence[LinkEdit],
    ) -> AbstractContextManager[object]:
        """Return a block with heads off and with links of one input scaled."""

    def _ruled(
        self, rules: Mapping[Head, HeadRule], text: Mapping[str, Tensor]
    ) -> AbstractContextManager[object]:
        """Return a block with rules in the place of heads, for one text."""

    def _predict_again(
        self, reading: Reading[A], *, at: Iterable[int] | None, top: int
    ) -> Predictions:
        """Return the predictions for an input under the current edits."""

    def question(
        self, inputs: Mapping[str, Tensor], position: int, tokens: Tokens | None = None
    ) -> ReadExample:
        """Return the question at one of the positions that `predict` answers."""

    def _read_again(self, reading: Reading[A]) -> A:
        """Return the attention of an input under the current edits."""


@dataclass(frozen=True, eq=False)
class Reading(Generic[A]):
    """One input of a model, with the options of its pass.

    Attributes:
        model: Model that read the input.
        batch: Input, as a batch of one.
        loss: Loss whose gradients are read; None for no gradients.
        seed: Seed of the masking for this loss.
        weights: State of the model's weights when it read the input; None accepts any weights.
        rules: Rules of the heads in this text, for the method "rule".
    """

    model: Reader[A]
    batch: ModelBatch
    loss: LossName | LossFunction | None = None
    seed: int = 0
    weights: WeightsSeen | None = None
    rules: TextRules = field(default_factory=TextRules, repr=False)
    _answered: LatestValues[tuple[tuple[int, ...] | None, int], Predictions] = field(
        default_factory=lambda: LatestValues(_KEPT_ANSWERS), repr=False
    )
    _edited: LatestValues[_EditKey, A] = field(
        default_factory=lambda: LatestValues(_KEPT), repr=False
    )

    @property
    def inputs(self) -> Mapping[str, Tensor]:
        """Tensors of the input by name, a batch of one."""
        return self.batch.tensors

    @property
    def tokens(self) -> Tokens | None:
        """Tokens that attend in the first stack; None if they are unknown."""
        return self.batch.tokens[0]

    @property
    def media(self) -> Media:
        """Pictures and sounds of the input."""
        return self.batch.media

    def refuse_changed(self) -> None:
        """Raise RuntimeError if the model has changed, or has heads off, since it read this input.

        Raises:
            RuntimeError: Weights were changed; or the call is in a block of `disabled`, so that an
                answer would belong to another computation than the maps.
        """
        if edits := self.model.edits:
            raise RuntimeError(
                f"this attention was read with all heads on, and this block reads {edits}: ask "
                "outside of the block, or read the text inside it, model.attend(text)"
            )
        if self.weights is not None:
            self.weights.refuse_changed(self.model.hf_model)

    def without(
        self,
        heads: Sequence[Head],
        method: EditMethod | None,
        link_edits: Sequence[LinkEdit] = (),
    ) -> A:
        """Return the attention of this input under edits; recent results are cached.

        Args:
            heads: Heads that are off.
            method: Replacement of their outputs; None uses the model's default.
            link_edits: Links that are scaled.

        Raises:
            ValueError: A head does not exist, or the model does not allow the edit.
            RuntimeError: The model was closed, its weights have changed, or the call is in a block
                of `disabled` or `scaled_links`.
        """
        self.refuse_changed()
        with self.model.lock.in_turn():
            method = method or self.model.default_method
            rules = self.rules.of_heads(tuple(sorted(heads))) if method == RULED else {}
            key = tuple(sorted(heads)), method, tuple(link_edits), tuple(rules.values())
            attention = self._edited.get(key)
            if attention is None:
                with self.edited(heads, method, link_edits):
                    attention = self._edited.add(key, self.model._read_again(self))
        return attention

    @contextmanager
    def edited(
        self,
        heads: Sequence[Head],
        method: EditMethod | None,
        link_edits: Sequence[LinkEdit] = (),
    ) -> Iterator[None]:
        """Return a block in which the model computes this input under edits, as in `without`."""
        with ExitStack() as blocks:
            if method == RULED and heads:
                rules = self.rules.of_heads(tuple(heads))
                blocks.enter_context(self.model._ruled(rules, self.inputs))
                blocks.enter_context(self.model._edited((), None, link_edits))
            else:
                blocks.enter_context(self.model._edited(heads, method, link_edits))
            yield

    def answer(self, at: tuple[int, ...] | None, top: int) -> Predictions:
        """Return the predictions of `predict` with all heads on; recent results are cached.

        Background work can call this first, so that a figure opens without a model pass.

        Args:
            at: Positions that `predict` answers, or None for its default.
            top: Number of answers per question.

        Raises:
            TypeError, ValueError, RuntimeError: As in `predict`.
        """
        self.refuse_changed()
        predictions = self._answered.get((at, top))
        if predictions is None:
            predictions = self.predict(positions=at, top=top)
            self._answered.add((at, top), predictions)
        return predictions

    def predict(
        self,
        heads: Sequence[Head] = (),
        method: EditMethod | None = None,
        *,
        link_edits: Sequence[LinkEdit] = (),
        positions: Iterable[int] | None = None,
        top: int = 10,
    ) -> Predictions:
        """Return the model's predictions for this input under edits, as in `without`.

        Raises:
            TypeError, ValueError: As in `AttentionModel.predict` and `AttentionModel.disabled`.
            RuntimeError: As in `without`.
        """
        self.refuse_changed()
        if not heads and not link_edits:
            return self.model._predict_again(self, at=positions, top=top)
        with self.model.lock.in_turn(), self.edited(heads, method, link_edits):
            return self.model._predict_again(self, at=positions, top=top)
