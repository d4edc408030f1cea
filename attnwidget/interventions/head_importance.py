"""Gradient head importance: the change of the loss if a head's output shrinks slightly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from attnwidget.capture.tapping.tap import LayerAttention
from attnwidget.corpus.argument_checks import one_of, refuse_no_model
from attnwidget.corpus.equal_lengths import of_one_length
from attnwidget.corpus.input_numbers import ReadInputs, input_numbers
from attnwidget.corpus.results import HeadHeatMap, HeadResult, in_stack, per_head
from attnwidget.corpus.resume_file import digest_of
from attnwidget.inputs.example import StudyExample
from attnwidget.interventions.examples import batch_of, encode_examples
from attnwidget.interventions.head_gradients import head_gradients, output_times_gradient
from attnwidget.interventions.scores import check_score, question_scores
from attnwidget.interventions.units import studied_stack
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.text.counted import counted
from attnwidget.text.minimal_pairs import MinimalPair
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

ImportanceVariant = Literal["paper", "released", "bertology"]
VARIANTS: tuple[str, ...] = get_args(ImportanceVariant)


@dataclass(frozen=True, eq=False, repr=False)
class HeadImportance(HeadResult):
    """Importance of every head for a loss. Made by `head_importance`.

    Attributes:
        values: Importance `raw` with each layer divided by its Euclidean norm, float64 [L, H].
        raw: Importance as the variant sums it, float64 [L, H]. The scale depends on the loss.
        variant: Formula: "paper", "released" or "bertology".
        loss: Mean loss of the examples in nats.
        n_examples: Number of examples.
        stack: Stack of the heads.
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions import head_importance
        >>> examples = [("The woman washed [MASK] hands.", "her")]
        >>> found = head_importance(load_model(), examples, progress=False)
        >>> found.variant, found.values.shape
        ('paper', (6, 12))
        >>> (found.values**2).sum(1).round(2)
        array([1., 1., 1., 1., 1., 1.])
    """

    values: Float64Array = field(metadata=per_head("importance"))
    raw: Float64Array
    variant: ImportanceVariant
    loss: float
    n_examples: int
    stack: str = "self"

    figure = HeadHeatMap(
        "values",
        "Importance of heads by gradients ({self.variant})",
        "importance",
        "{self._inputs}, loss {self.loss:.3g} nats; each layer divided by its length",
    )

    @property
    def _inputs(self) -> str:
        examples = counted(self.n_examples, "example")
        return f"{in_stack(self.model_name, self.stack)}; {examples}"


@in_plain_torch
def head_importance(
    model: AttentionModel,
    examples: Iterable[Any],
    *,
    variant: ImportanceVariant = "paper",
    stack: str | None = None,
    batch_size: int = 32,
    progress: bool = True,
) -> HeadImportance:
    """Measure how much the loss would change if each head's output shrank slightly.

    Let z_q be a head's output at token q before the output projection, and L the cross entropy of
    one example. Then t_q = z_q . dL/dz_q, and the sum of t_q is the derivative of L with respect to
    a factor of the head's output. A forward and a backward pass compute t. There are three
    published sums of t. In all three, each layer is divided by its Euclidean norm (+ 1e-20):

    - "paper" (Michel et al. 2019, section 4.1): |sum over tokens of t|, averaged over examples.
    - "released" (their code): the sum over tokens and examples of |t|, divided by the number of
      tokens, in the last layer by the number of examples.
    - "bertology" (run_bertology.py of Hugging Face): the sum over tokens of t is averaged over the
      examples of a batch; the absolute values are summed over batches and divided by the number of
      tokens. The result depends on `batch_size` (1 in their code) and on the order of the examples.

    The published code uses the mean loss of a batch. The first two variants use the loss of each
    example, which does not depend on the batch. The loss of a minimal pair is the log probability
    of the unacceptable sentence minus the log probability of the acceptable sentence, as in
    `measure_minimal_pairs`.

    Args:
        model: Model with a prediction head; heads may be disabled.
        examples: Examples with a label, `MinimalPair`, or texts or `Segment` for a language model,
            as in `ablate`.
        variant: Formula for the sum of t: "paper", "released" or "bertology".
        stack: Stack of the heads, as in `ablate`.
        batch_size: Number of examples of equal length in a forward pass; for "bertology", the
            number of examples, in the given order, whose mean loss is differentiated.
        progress: Whether to show a progress bar.

    Raises:
        TypeError, ValueError, RuntimeError, OSError, WorkersError: As in `ablate`; ValueError also
            if the variant is unknown.
        KeyboardInterrupt: If Ctrl-C was pressed. The resume file has the finished work.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.interventions import head_importance
        >>> examples = [("The woman washed [MASK] hands.", "her")]
        >>> head_importance(load_model(), examples, progress=False).values.shape
        (6, 12)
    """
    refuse_no_model(model)
    one_of("variant", variant, VARIANTS)
    batch_size = whole_number("batch_size", batch_size, 1)
    stack = studied_stack(model, stack)
    inputs = encode_examples(model, examples, stack=stack)
    signs = np.array([example.sign for example in inputs], dtype=np.float64)
    if (signs > 0).all():
        check_score("loss", inputs)
    batches = list(of_one_length(inputs, batch_size, model.hf_model))
    study_key = {"inputs": digest_of(inputs), "batch_size": batch_size}
    if stack != "self":
        study_key["stack"] = stack
    numbers, complete = input_numbers(
        "head importance",
        study_key,
        model,
        ReadInputs(model, partial(input_sums, stack=stack)).results(batches),
        batches,
        progress=progress,
    )
    if not complete:
        raise KeyboardInterrupt
    signed, absolute, losses = np.moveaxis(numbers, -1, 1)  # [N inputs, L, H] each
    tokens = sum(example.encoded.n_tokens for example in inputs)
    # A minimal pair has several inputs: two sentences, or one input for each masked token.
    example_of = [example.index for example in inputs]
    n_examples = max(example_of) + 1
    sums = np.zeros((n_examples, *signed.shape[1:]))
    sizes = np.zeros_like(sums)
    loss_sums = np.zeros(n_examples)
    np.add.at(sums, example_of, signs[:, None, None] * signed)
    np.add.at(sizes, example_of, absolute)
    np.add.at(loss_sums, example_of, signs * losses[:, 0, 0])
    if variant == "paper":
        raw = np.abs(sums).mean(0)
    elif variant == "released":
        raw = sizes.sum(0) / tokens
        raw[-1] *= tokens / len(sizes)
    else:
        parts = [sums[i : i + batch_size] for i in range(0, len(sums), batch_size)]
        raw = np.sum([np.abs(part.mean(0)) for part in parts], 0) / tokens
    return HeadImportance(
        values=raw / (np.linalg.norm(raw, axis=-1, keepdims=True) + 1e-20),
        raw=raw,
        variant=variant,
        loss=float(loss_sums.mean()),
        n_examples=n_examples,
        stack=stack,
        model_name=model.name,
    )


def input_sums(
    model: AttentionModel, examples: Sequence[StudyExample], *, stack: str = "self"
) -> Float64Array:
    """Return sums of t and of |t| over tokens, and the loss, for inputs of one shape: [3, L, H, B].

    The loss is the same for all heads. For a minimal pair, it is minus the log probability.
    """
    batch = batch_of(model, examples)
    are_pairs = isinstance(examples[0].original, MinimalPair)

    def importance_in_layer(seen: LayerAttention, gradient: Tensor) -> Tensor:
        if seen.outputs_replaced:
            raise ValueError(
                "head importance needs outputs that weights and values make; in this block of "
                "disabled 'mean' or 'patch' replaces some"
            )
        return output_times_gradient(seen, gradient)

    def loss(output: Any) -> Tensor:
        losses = question_scores("loss", batch.logits(output)[0], batch)
        sums = batch.per_input(losses)
        return sums if are_pairs else sums / batch.per_input(torch.ones_like(losses))

    numbers, losses = head_gradients(
        model.hf_model, batch.inputs, loss, importance_in_layer, stack=stack
    )
    token_sums = np.moveaxis(numbers, 1, -1)  # [2, L, H, B]
    input_losses = np.broadcast_to(losses.double().cpu().numpy(), token_sums.shape[1:])
    return np.concatenate([token_sums, input_losses[None]])
