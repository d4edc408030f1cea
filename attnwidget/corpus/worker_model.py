"""Model for other processes, with the edits of the process that sends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from attnwidget.capture.disabled import changed
from attnwidget.capture.model_lock import ModelLock
from attnwidget.capture.tapping.edits import Change
from attnwidget.capture.tapping.head import Head

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


class WorkerModel:
    """Model with the heads that are disabled in the process that sends the model to a worker.

    Args:
        model: Model to send.
        changes: Heads that are disabled in the sending process; empty in that process itself, where
            the `disabled` block is active.
    """

    def __init__(self, model: AttentionModel, changes: Mapping[Head, Change] | None = None) -> None:
        self.model = model
        self._changes = changes or {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.model, dict(self.model.edits.changes))

    @property
    def lock(self) -> ModelLock:
        """Lock of the model, which must be held during a `reading` block."""
        return self.model.lock

    @contextmanager
    def reading(self) -> Iterator[AttentionModel]:
        """Apply the edits of the sending process while the block reads the model.

        Raises:
            RuntimeError: The model was closed.
        """
        hf_model = self.model.hf_model
        spell = self.model.inputs.encoder.axis
        with changed(hf_model, self._changes, spell) if self._changes else nullcontext():
            self.model.check_open()
            yield self.model
