"""Logit lens: answers from the residual stream after each layer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from attnwidget.capture.answers.predictions import Answers
from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model_reading import (
    language_model,
    predicted_position,
    whole_reading_of,
)
from attnwidget.capture.predict import prediction_task, vocabulary_answers
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.hooked import hooked
from attnwidget.capture.tapping.layer_outputs import layers_of
from attnwidget.capture.tapping.tap import tap
from attnwidget.capture.tapping.thread_forwards import replaced_forwards
from attnwidget.inputs.model_tensors import without_cache
from attnwidget.kernels.arrays import Float32Array, Float64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.mechanisms.module_calls import first_argument
from attnwidget.model_facts.answer_logits import answer_logits
from attnwidget.text.index_among import index_among
from attnwidget.text.whole_number import whole_number, whole_numbers

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

# Tolerance for rounding errors, because the last row of the lens must equal the model's own answer.
# In half precision, batches of two sizes round differently.
_ROUNDING = {torch.float16: 2e-2, torch.bfloat16: 5e-2}
# Exceptions of an output head that cannot run on the states of earlier layers.
_CANNOT = (RuntimeError, TypeError, ValueError, IndexError, AttributeError)
_WHAT = "a logit lens"


@dataclass(frozen=True, eq=False, repr=False)
class LogitLens(Result):
    """Answers from the residual stream after each layer. Made by `logit_lens`.

    Attributes:
        log_probabilities: Log probabilities of every vocabulary entry in nats, float32 [L + 1, P,
            V]: row 0 is for the embeddings, row l + 1 for the stream after layer l. The last row
            is the model's answer.
        positions: Indices of the P predicted tokens, as in `Predictions.positions`.
        questions: Names of the predicted tokens.
        answers: Vocabulary entries (V).
        top: Number of answers per layer in the table.
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import logit_lens
        >>> attention = load_model(device="cpu").attend("The woman washed [MASK] hands.")
        >>> lens = logit_lens(attention)
        >>> lens.log_probabilities.shape, lens.probability("her").shape
        ((7, 1, 8192), (7,))
        >>> lens.to_frame().query("layer == 5")["answer"].iloc[0]
        'her'
    """

    log_probabilities: Float32Array
    positions: tuple[int, ...]
    questions: tuple[str, ...]
    answers: Answers
    top: int

    @cached_property
    def probabilities(self) -> Float32Array:
        """Probabilities of every vocabulary entry, float32 [L + 1, P, V]."""
        return np.exp(self.log_probabilities)

    @property
    def divergence(self) -> Float64Array:
        """Divergence between the answers after each layer and the model's answers, [L + 1, P].

        This is the Kullback-Leibler divergence of the last row from each row, in nats.
        """
        logs = self.log_probabilities.astype(np.float64)
        return (np.exp(logs[-1]) * (logs[-1] - logs)).sum(-1)

    def probability(self, answer: str | int, question: int = 0) -> Float32Array:
        """Return the probability of one answer after each layer, [L + 1].

        Raises:
            ValueError: If there is no such answer or question.

        Warns:
            UserWarning: As in `Predictions.probability`.
        """
        question = index_among("question", question, len(self.positions))
        return self.probabilities[:, question, self.answers.index(answer)]

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the L + 1 rows: "embeddings", "L0", "L1", ..."""
        return ("embeddings", *(f"L{i}" for i in range(len(self.log_probabilities) - 1)))

    def to_frame(self) -> pd.DataFrame:
        """Return the `top` answers after each layer, likeliest first.

        Columns: question, position, layer (-1 for the embeddings), answer (readable), token (as the
        vocabulary has it), id, probability. `attrs["model"]` is the name of the model.
        """
        import pandas as pd

        rows = []
        for question, position in enumerate(self.positions):
            for layer, logs in enumerate(self.log_probabilities[:, question], -1):
                ids = np.argsort(-logs, kind="stable")[: self.top].tolist()
                for token_id, (answer, token) in zip(ids, self.answers.spelt(ids), strict=True):
                    rows.append(
                        {
                            "question": question,
                            "position": position,
                            "layer": layer,
                            "answer": answer,
                            "token": token,
                            "id": token_id,
                            "probability": float(np.exp(logs[token_id])),
                        }
                    )
        return pd.DataFrame(rows)

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the likeliest answer after each layer, shaded by its probability, layers upwards.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.answer_grid import answer_grid

        best = self.to_frame().groupby(["question", "layer"], sort=False).head(1)
        frame = best.rename(columns={"probability": "value"}).assign(
            row=[self.rows[layer + 1] for layer in best["layer"]],
            question=[self.questions[question] for question in best["question"]],
        )
        title = f"Answers after each layer (logit lens)\n{self.model_name}"
        return answer_grid(frame, title=title, width=width)

    def __repr__(self) -> str:
        best = self.log_probabilities[:, 0].argmax(-1).tolist()
        answers = [answer for answer, _ in self.answers.spelt(best)]
        return f"LogitLens({self.model_name}, {self.questions[0]}: {' → '.join(answers)})"


@in_plain_torch
@says_cuts
def logit_lens(
    attention: Attention, *, positions: Iterable[int] | None = None, top: int = 5
) -> LogitLens:
    """Return the answers from the residual stream after each layer.

    The stream goes through everything that follows the last layer: the final norm, with the
    statistics of this stream, and the head (nostalgebraist 2020). The lens shows when an answer
    appears, but is not an attribution: the norms differ from layer to layer, so differences of rows
    do not sum to a logit. `direct_effects` attributes a logit, with one frozen norm.

    Args:
        attention: Attention of a language model with a single stack.
        positions: Tokens to predict, as in `AttentionModel.predict`. None = the token after the
            text, or the mask token.
        top: Number of answers per layer in the table.

    Raises:
        TypeError: If the model has no head that predicts words, or is an encoder-decoder.
        ValueError: If there is no such token; if the attention comes from given weights, edits or a
            long input; if there is padding; if the layers are not in a list; or if the head cannot
            run on earlier states.
        RuntimeError: If the weights of the model have changed since.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import logit_lens
        >>> attention = load_model(device="cpu").attend("The woman washed [MASK] hands.")
        >>> lens = logit_lens(attention)
        >>> lens.log_probabilities.shape
        (7, 1, 8192)
        >>> lens.probability("her")[-1].round(2)
        np.float32(0.82)
    """
    reading = whole_reading_of(attention, _WHAT)
    model = language_model(reading, _WHAT)
    top = whole_number("top", top, 1)
    if positions is None:
        positions = [predicted_position(reading, model, None, "positions=[3]")]
    else:
        positions = whole_numbers("positions", positions)
    if not positions:
        raise ValueError("positions is empty: name the tokens to predict, such as positions=[3]")
    with model.lock.in_turn():
        questions = [
            model.question(reading.inputs, position, reading.tokens) for position in positions
        ]
        rows = [position for question in questions for position in question.places]
        if prediction_task(model.hf_model) == "next":
            logs = _lens(model.hf_model, questions[0].encoded, rows)
        else:  # Each masked token needs a separate input.
            lenses = [
                _lens(model.hf_model, question.encoded, [row])
                for question, row in zip(questions, rows, strict=True)
            ]
            logs = np.concatenate(lenses, 1)
    tokens = attention.stacks["self"].query.text
    return LogitLens(
        log_probabilities=logs,
        positions=tuple(positions),
        questions=tuple(_name(position, tokens) for position in positions),
        answers=vocabulary_answers(model.tokenizer, logs.shape[-1]),
        top=top,
        model_name=attention.model_name,
    )


def _lens(hf_model: Any, inputs: Mapping[str, Tensor], rows: Sequence[int]) -> Float32Array:
    """Return the log probabilities at some tokens after each layer, [L + 1, P, V].

    Raises:
        ValueError: If the layers are not in a list, or the modules after them cannot run on earlier
            states.
    """
    name = type(hf_model).__name__
    layers = layers_of(hf_model, "self")
    if layers is None:
        raise ValueError(
            f"{_WHAT} runs the head after every layer, and the layers of {name} are in no list"
        )
    head = hf_model.get_output_embeddings()
    if head is None:
        raise ValueError(f"{_WHAT} needs a projection onto the vocabulary, and {name} has none")
    modules = [layer for layer, _ in layers]
    options = without_cache(hf_model)
    row_list = list(rows)
    first: list[Tensor] = []
    outputs: dict[nn.Module, Any] = {}

    def enter(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        first[:] = [first_argument(args, kwargs)]

    def keep(module: nn.Module, _: object, __: object, output: Any) -> None:
        outputs[module] = output

    with (
        torch.no_grad(),
        tap(hf_model, lambda _: None),
        hooked(modules[:1], before=enter),
        hooked(modules, after=keep),
    ):
        logits = answer_logits(hf_model(**inputs, **options))[0, row_list]
    # The layers of a model may be on several devices; the head is on the device of the last layer.
    layer_states = [_state(outputs[module]) for module in modules]
    states = torch.cat([state.to(layer_states[-1].device) for state in (*first, *layer_states)])
    last = outputs[modules[-1]]
    outputs[modules[-1]] = (states, *last[1:]) if isinstance(last, tuple) else states

    def stand_in(module: nn.Module, _: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: outputs[module]

    def narrow(
        _: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (args[0][:, row_list], *args[1:]), kwargs

    makers = {module: partial(stand_in, module) for module in modules}
    try:
        with (
            torch.no_grad(),
            tap(hf_model, lambda _: None),
            replaced_forwards(makers),
            hooked([head], before=narrow),
        ):
            lens_logits = answer_logits(hf_model(**inputs, **options))
    except _CANNOT as error:
        raise ValueError(
            f"what follows the layers of {name} cannot run on the states after each layer: {error}"
        ) from error
    tolerance = _ROUNDING.get(logits.dtype, 1e-3) * max(1.0, float(logits.abs().max()))
    if (
        lens_logits[-1].shape != logits.shape
        or float((lens_logits[-1] - logits).abs().max()) > tolerance
    ):
        raise ValueError(
            f"the head of {name} gives another answer when its layers are not run: it reads more "
            "than their last state"
        )
    logs: Float32Array = torch.log_softmax(lens_logits.float(), -1).cpu().numpy()
    return logs


def _state(output: Any) -> Tensor:
    state: Tensor = output[0] if isinstance(output, tuple) else output
    return state


def _name(place: int, tokens: tuple[str, ...]) -> str:
    return "next token" if place == len(tokens) else f"{place}: {tokens[place]}"
