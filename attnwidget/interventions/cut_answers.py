"""Probability of an answer without each of several groups of links, from few passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnwidget.capture.disabled import intact_edits
from attnwidget.capture.tapping.edits import link_change
from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.last_token import LastToken, running_last_token
from attnwidget.capture.tapping.link_factors import LinkFactors
from attnwidget.capture.tapping.replay import Changes, Replay, replaying
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.inputs.example import ExampleBatch
from attnwidget.kernels.arrays import Float64Array
from attnwidget.text.link_ends import EndPositions

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


@dataclass(frozen=True, eq=False)
class AskedPass:
    """The intact pass that answers a question.

    Attributes:
        log_probabilities: Log probability of every answer, float64 [V].
        attention: Attention weights, mean over the chosen heads, float64 [Q, K].
    """

    log_probabilities: Tensor
    attention: Float64Array


class CutAnswers:
    """Answers to one question with links cut. Made by `cutting_links`.

    Attributes:
        asked: The intact pass.
    """

    def __init__(
        self,
        model: AttentionModel,
        batch: ExampleBatch,
        heads: Sequence[Head],
        undo: ExitStack,
        *,
        from_last_token: bool,
    ) -> None:
        self._model = model
        self._batch = batch
        self._heads = frozenset(heads)
        self._undo = undo
        self._replay: Replay | None = None
        self._last: LastToken | None = None
        with model.lock.in_turn():
            if from_last_token:
                intact = intact_edits(model.hf_model)
                block = running_last_token(model.hf_model, model.edits, intact)
                last = self._last = undo.enter_context(block)
                self.asked = self._read(lambda: last.intact(batch.inputs))
            else:
                replay = self._open_replay()
                self.asked = self._read(lambda: replay.intact(batch.inputs))

    def probabilities(
        self,
        units: Sequence[Changes],
        answer: int | Sequence[int],
        *,
        from_last_token: bool = False,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Iterator[tuple[int, int, Float64Array]]:
        """Yield the probability of an answer with each unit changed, pass by pass.

        The lock of the model is held during one pass at a time.

        Args:
            units: Changes of each unit, in layer order.
            answer: Id of the answer, or ids of A answers.
            from_last_token: Whether all units only change the attention of the last token.
            stopped: Function that is called before each pass; if it returns True, the remaining
                units are left out.

        Yields:
            First unit, end of the units, and probabilities, float64 [k], or [k, A] for several
            answers.
        """
        passes = self._passes(units, from_last_token=from_last_token)
        while not stopped():
            with self._model.lock.in_turn():
                step = next(passes, None)
            if step is None:
                return
            start, stop, logits = step
            answers = torch.log_softmax(logits.double(), -1)[:, answer]
            yield start, stop, answers.exp().cpu().numpy()

    def _passes(
        self, units: Sequence[Changes], *, from_last_token: bool
    ) -> Iterator[tuple[int, int, Tensor]]:
        if not units:
            return
        if from_last_token and self._last is not None and self._last.works:
            yield from self._last.with_units(units)
            if self._last.works:
                return
        batch = self._batch
        replay = self._replay
        if replay is None:
            replay = self._open_replay()
            replay.intact(batch.inputs)
        places = None if batch.columns is None else (batch.rows, batch.columns)
        starts_above = min(head.layer for head in units[0]) > 0
        run = replay.without if starts_above else replay.from_first_layer
        for start, stop, output in run(batch.inputs, units, places=places):
            logits = batch.logits(output, stop - start, narrowed=replay.narrows)
            yield start, stop, torch.cat(logits)

    def _open_replay(self) -> Replay:
        hf_model = self._model.hf_model
        block = replaying(hf_model, self._model.edits, intact_edits(hf_model))
        self._replay = self._undo.enter_context(block)
        return self._replay

    def _read(self, run: Callable[[], object]) -> AskedPass:
        """Run the intact pass, and return its answers and its attention."""
        sums: list[Tensor] = []
        stack = next(iter(self._heads)).stack

        def keep(seen: LayerAttention) -> None:
            chosen = [
                index
                for index in range(seen.weights.shape[1])
                if Head(seen.layer, index, stack) in self._heads
            ]
            if seen.stack == stack and chosen:
                sums.append(seen.weights[0, chosen].double().sum(0).cpu())

        with tap(self._model.hf_model, keep):
            output = run()
        logits = self._batch.logits(output)[0][0]
        attention = torch.stack(sums).sum(0) / len(self._heads)
        return AskedPass(torch.log_softmax(logits.double(), -1), attention.numpy())


def cut_unit(links: Sequence[tuple[EndPositions, EndPositions]], heads: Sequence[Head]) -> Changes:
    """Return the change that cuts links, all by position, in some heads.

    Example:
        >>> from attnwidget import Head
        >>> from attnwidget.interventions.cut_answers import cut_unit
        >>> list(cut_unit([((4,), (2,))], [Head(0, 1)]))
        [Head(layer=0, head=1, stack='self')]
    """
    return dict.fromkeys(heads, link_change(LinkFactors(tuple(links), 0.0)))


@contextmanager
def cutting_links(
    model: AttentionModel,
    batch: ExampleBatch,
    heads: Sequence[Head],
    *,
    from_last_token: bool = False,
) -> Iterator[CutAnswers]:
    """Yield the answers to one question, for changes of links; the edits of the block apply.

    Args:
        model: Model from `load_model`.
        batch: One input with one question.
        heads: Heads whose attention is averaged, all in one stack.
        from_last_token: Whether the last token of a causal model answers, and later changes are
            those of its own attention.

    Example:
        >>> from attnwidget import Head, load_model
        >>> from attnwidget.inputs.example import ExampleBatch
        >>> from attnwidget.interventions.cut_answers import cut_unit, cutting_links
        >>> model = load_model(device="cpu")
        >>> reading = model.attend("The woman washed [MASK] hands.").reading
        >>> question = model.question(reading.inputs, 4)
        >>> heads = [Head(layer, head) for layer in range(6) for head in range(12)]
        >>> with cutting_links(model, ExampleBatch(question.encoded, (question,)), heads) as cut:
        ...     answer = int(cut.asked.log_probabilities.argmax())
        ...     steps = list(cut.probabilities([cut_unit([((4,), (2,))], heads)], answer))
        >>> model.tokenizer.decode([answer]), steps[0][:2]
        ('her', (0, 1))
    """
    with ExitStack() as undo:
        yield CutAnswers(model, batch, heads, undo, from_last_token=from_last_token)
