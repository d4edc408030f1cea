"""An input with a question to the model, and a batch of such inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

import torch
from torch import Tensor

from attnwidget.inputs.media_input import EncodedMedia
from attnwidget.inputs.text_encoder import Encoded
from attnwidget.model_facts.answer_logits import TokenSpan, answer_logits, span_logits

#: Type of an input: an `Encoded` text, `EncodedMedia`, or the tensors of a batch of one.
Input = TypeVar("Input")


@dataclass(frozen=True, eq=False)
class Example(Generic[Input]):
    """An input with the positions, targets and sign of a question to the model.

    Attributes:
        encoded: Input with its mask tokens: an `Encoded` text or `EncodedMedia` of a study, or the
            tensors that the model has read.
        places: Positions of the tokens whose logits have the answers; empty for a class or a span.
        targets: Answer id for each position, or answer ids for the whole input; empty without
            answers.
        rivals: Ids of the answers that the targets compete with in a logit difference.
        sign: 1, or -1 for the unacceptable sentence of a minimal pair.
        spans: Candidate spans for the answer; None for words, labels and classes.
        index: Index of the user's example. A minimal pair has several inputs.
        original: Example as the user passed it; None for an input that the model has read.

    Example:
        >>> from attnwidget import load_model
        >>> model = load_model(device="cpu")
        >>> text = model.tokenizer("The woman washed [MASK] hands.", return_tensors="pt")
        >>> model.question(text, 4).places
        (4,)
    """

    encoded: Input
    places: tuple[int, ...] = ()
    targets: tuple[int, ...] = ()
    rivals: tuple[int, ...] = ()
    sign: int = 1
    spans: tuple[TokenSpan, ...] | None = None
    index: int = 0
    original: Any = field(default=None, repr=False)


#: A text of a study, in the form in which studies store it and send it to workers.
TextExample: TypeAlias = Example[Encoded]
#: An example of a study: a text, or pictures and sounds.
StudyExample: TypeAlias = Example[Encoded] | Example[EncodedMedia]
#: A question about an input that the model has read.
ReadExample: TypeAlias = Example[Mapping[str, Tensor]]


@dataclass(frozen=True, eq=False)
class ExampleBatch:
    """B examples of equal length, which the model reads in one pass.

    The batch has P questions: one for each position of each input, or one for each input.

    Attributes:
        inputs: Inputs of the model, [B, ...].
        questions: Inputs with their questions.
    """

    inputs: Mapping[str, Tensor]
    questions: tuple[Example[Any], ...] = field(repr=False)

    @property
    def examples(self) -> tuple[Any, ...]:
        """The user's examples, one for each of the B inputs."""
        return tuple(question.original for question in self.questions)

    @cached_property
    def rows(self) -> Tensor:
        """Input index of each question, [P]."""
        counts = [
            max(1, len(question.places), len(question.targets)) for question in self.questions
        ]
        return torch.repeat_interleave(torch.tensor(counts, dtype=torch.long, device="cpu")).to(
            self._device
        )

    @cached_property
    def columns(self) -> Tensor | None:
        """Index of the token with the answer, for each question, [P]; None for classes."""
        return self._ids([place for question in self.questions for place in question.places])

    @cached_property
    def targets(self) -> Tensor | None:
        """Right answers, [P], or None without right answers."""
        return self._ids([target for question in self.questions for target in question.targets])

    @cached_property
    def rivals(self) -> Tensor | None:
        """Answers that the targets compete with, [P], or None without such answers."""
        return self._ids([rival for question in self.questions for rival in question.rivals])

    def _ids(self, ids: list[int]) -> Tensor | None:
        return torch.tensor(ids, dtype=torch.long, device=self._device) if ids else None

    @property
    def _device(self) -> torch.device:
        return next(iter(self.inputs.values())).device

    def logits(self, output: Any, parts: int = 1, *, narrowed: bool = False) -> list[Tensor]:
        """Return the logits of the questions, [P, V] for each batch copy.

        Args:
            output: Output of the model.
            parts: Number of batch copies in the output.
            narrowed: Whether the logits are only those of the questions, [parts, P, V].
        """
        spans = self.questions[0].spans
        logits = answer_logits(output) if spans is None else span_logits(output, spans)
        if narrowed:
            return list(logits.unbind())
        rows = self.rows
        columns = self.columns
        return [
            part[rows] if columns is None else part[rows, columns] for part in logits.chunk(parts)
        ]

    def per_input(self, values: Tensor) -> Tensor:
        """Return the sum over the questions of each input: [..., B] from [..., P]."""
        shape = (*values.shape[:-1], len(self.questions))
        sums = torch.zeros(shape, dtype=values.dtype, device=values.device)
        return sums.index_add(-1, self.rows, values)
