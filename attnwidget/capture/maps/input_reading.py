"""Reading: the input that an attention is of, for the same model to read it again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, Protocol

from torch import Tensor

from attnwidget.capture.hub_model.losses import LossFunction, LossName
from attnwidget.capture.hub_model.predictions import Predictions
from attnwidget.capture.hub_model.weights_seen import WeightsSeen
from attnwidget.capture.tapping.edits import EditMethod
from attnwidget.capture.tapping.head import Head
from attnwidget.text.tokens import Tokens

#: Attentions under edits that one input keeps: linked figures ask for the same one.
_KEPT = 4


class Reader(Protocol):
    """What an `AttentionModel` is for its readings."""

    hf_model: Any
    lock: RLock

    @property
    def disabled(self) -> Callable[..., AbstractContextManager[object]]:
        """The block in which heads are off."""

    @property
    def predict(self) -> Callable[..., Predictions]:
        """What the model answers to an input."""

    def question(self, inputs: Mapping[str, Tensor], position: int) -> Any:
        """Return the `Question` at one of the positions that `predict` answers."""

    def read_again(self, reading: Reading) -> Any:
        """The attention of a reading under the edits that hold now."""


@dataclass(frozen=True, eq=False)
class Reading:
    """One input of a model, as the model read it.

    Attributes:
        model: what read it.
        inputs: The model's inputs, a batch of one.
        tokens: The attending tokens of the first stack, if known.
        n_prompt: tokens of the prompt where the rest was generated, else None.
        loss: what gradients are taken of; None for none.
        seed: of the masking of that loss.
        weights: those of the model by then; None = any will do.
    """

    model: Reader
    inputs: Mapping[str, Tensor]
    tokens: Tokens | None
    n_prompt: int | None = None
    loss: LossName | LossFunction | None = None
    seed: int = 0
    weights: WeightsSeen | None = None
    _edited: OrderedDict[object, Any] = field(default_factory=OrderedDict, repr=False)

    def refuse_changed(self) -> None:
        """Raise RuntimeError if the model has changed since it read this attention."""
        if self.weights is not None:
            self.weights.refuse_changed(self.model.hf_model)

    def without(self, heads: Sequence[Head], method: EditMethod) -> Any:
        """The `Attention` of the same input with heads off; the last few are kept.

        Raises:
            ValueError: no such head, or an edit that the model does not allow.
            RuntimeError: the model was closed, or its weights are others by now.
        """
        self.refuse_changed()
        key = tuple(sorted(heads)), method
        with self.model.lock:
            attention = self._edited.pop(key, None)
            if attention is None:
                with self.model.disabled(heads, method=method):
                    attention = self.model.read_again(self)
            self._edited[key] = attention
            while len(self._edited) > _KEPT:
                self._edited.popitem(last=False)
        return attention

    def predict(
        self,
        heads: Sequence[Head] = (),
        method: EditMethod = "uniform",
        *,
        at: Iterable[int] | None = None,
        top: int = 10,
    ) -> Predictions:
        """What the model answers to the input, with heads off where some are named.

        Raises:
            TypeError, ValueError: as `AttentionModel.predict` and `AttentionModel.disabled`.
            RuntimeError: as `without`.
        """
        self.refuse_changed()
        if not heads:
            return self.model.predict(self.inputs, at=at, top=top)
        with self.model.lock, self.model.disabled(heads, method=method):
            return self.model.predict(self.inputs, at=at, top=top)
