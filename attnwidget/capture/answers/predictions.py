"""A model's answers with their probabilities, and the change between two predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Protocol, overload

import numpy as np

from attnwidget.capture.result import Result
from attnwidget.kernels.arrays import Float32Array
from attnwidget.text.counted import counted
from attnwidget.text.option_names import other_options
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

Task = Literal["masked", "next", "label", "class", "span"]


class FindsAnswer(Protocol):
    """Function that returns the id of an answer, or None."""

    def __call__(self, answer: str, /, *, warns: bool = ...) -> int | None:
        """Find an answer. With `warns`, warn about an entry that continues a word."""


@dataclass(frozen=True)
class Answers:
    """The possible answers of a model: V vocabulary entries or classes.

    Attributes:
        count: Number of answers, V.
        spelt: Function from ids to the readable text and the vocabulary entry of each id.
        found: Function from a spelling to the id of the answer, or None.
    """

    count: int
    spelt: Callable[[Sequence[int]], list[tuple[str, str]]] = field(repr=False)
    found: FindsAnswer = field(repr=False)

    def index(self, answer: str | int, kind: str = "vocabulary entries") -> int:
        """Return the index of an answer, by its spelling or id.

        Args:
            answer: Spelling or id.
            kind: Plural noun for the answers, for the error message.

        Raises:
            ValueError: The answer does not exist.

        Warns:
            UserWarning: The entry continues a word, and another entry begins a word.
        """
        if isinstance(answer, str):
            index = self.found(answer)
        else:
            index = whole_number("an answer id", answer)
        if index is None or not 0 <= index < self.count:
            raise ValueError(
                f"{answer!r} is none of the {self.count:,} {kind}: write it as the column 'token' "
                "of model.predict(text).to_frame() does, or pass its id"
            )
        return index

    def __deepcopy__(self, memo: object) -> Answers:
        # The answers do not change, and may hold a large tokenizer.
        return self


@dataclass(frozen=True, eq=False, repr=False)
class Predictions(Result):
    """A model's answers for one input. Made by `AttentionModel.predict`.

    The P questions are about masked or named tokens, the next token, token labels, the class, or
    the span with the answer. `after - before` is the difference between two models, or between
    heads on and off.

    Attributes:
        task: "masked", "next", "label", "class" or "span".
        model_name: Name of the model, with its disabled heads.
        tokens: The n tokens of the input; in an encoder-decoder, the decoder's tokens.
        positions: Token index of each question; n for the next token, -1 for a class and a span.
        log_probabilities: Log probability of every vocabulary entry, label, class or span in nats,
            float32 [P, V].
        top: Number of answers per question in the table and the chart.
        log_probability: Log probability of the text in a causal model, conditioned on its first
            token, in nats; otherwise None.
        pieces: 1-based index of each question's token among the pieces of its word, and the number
            of pieces, for a masked language model; () for other tasks.

    Raises:
        ValueError: A log probability is NaN.

    Example:
        >>> from attnwidget import load_model
        >>> model = load_model(device="cpu")
        >>> before = model.predict("The woman washed [MASK] hands.")
        >>> before.to_frame()["answer"][0]
        'her'
        >>> with model.disabled(layers=[5]):
        ...     after = model.predict("The woman washed [MASK] hands.")
        >>> (after - before).to_frame().columns.tolist()[-3:]
        ['before', 'after', 'change']
    """

    task: Task
    tokens: tuple[str, ...]
    positions: tuple[int, ...]
    log_probabilities: Float32Array
    answers: Answers
    top: int = 10
    log_probability: float | None = None
    pieces: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if np.isnan(self.log_probabilities).any():
            raise ValueError(
                f"{self.model_name} gives NaN instead of probabilities: its weights are not "
                "finite, or numbers are too large for its dtype; "
                "load_model(..., dtype=torch.float32) has room for larger numbers"
            )

    @cached_property
    def probabilities(self) -> Float32Array:
        """Probabilities of all answers, float32 [P, V]; each row sums to 1."""
        return np.exp(self.log_probabilities)

    @overload
    def probability(self, answer: str | int, question: int = 0) -> float: ...

    @overload
    def probability(
        self, answer: list[str] | list[int] | tuple[str | int, ...], question: int = 0
    ) -> list[float]: ...

    def probability(
        self, answer: str | int | list[str] | list[int] | tuple[str | int, ...], question: int = 0
    ) -> float | list[float]:
        """Return the probability of a class or vocabulary entry, by its spelling or id.

        Args:
            answer: Spelling of the answer, as in the column "token" of `to_frame`, or its id; or a
                list of answers, which returns a list.
            question: Index of the question.

        Raises:
            ValueError: The answer or the question does not exist.

        Warns:
            UserWarning: The entry continues a word, and another entry begins a word, such as "her"
                and "Ġher".
        """
        if isinstance(answer, (list, tuple)):
            return [self.probability(one, question) for one in answer]
        if not 0 <= whole_number("question", question) < len(self.positions):
            n_questions = counted(len(self.positions), "question")
            raise ValueError(f"question {question}: there is {n_questions}, counted from 0")
        kinds = {"class": "classes", "label": "labels", "span": "spans"}
        index = self.answers.index(answer, kinds.get(self.task, "vocabulary entries"))
        return float(self.probabilities[question, index])

    def to_frame(self) -> pd.DataFrame:
        """Return a table of the `top` answers to each question, the likeliest first.

        Columns: question, position, answer (readable), token (the vocabulary entry), id,
        probability, log_probability in nats. `attrs["model"]` is the name of the model.
        """
        import pandas as pd

        rows = []
        for question, scores in enumerate(self.log_probabilities):
            ids = np.argsort(-scores, kind="stable")[: self.top]
            for token_id, (answer, token) in zip(
                ids, self.answers.spelt(ids.tolist()), strict=True
            ):
                rows.append(
                    {
                        "question": question,
                        "position": self.positions[question],
                        "answer": answer,
                        "token": token,
                        "id": int(token_id),
                        "probability": float(self.probabilities[question, token_id]),
                        "log_probability": float(scores[token_id]),
                    }
                )
        return pd.DataFrame(rows)

    @other_options(
        before="(after - before).chart()",
        compared="(after - before).chart()",
        versus="(after - before).chart()",
    )
    def chart(self, *, width: int = 640) -> alt.VConcatChart:
        """Draw a bar for each of the `top` answers to each question; needs no network.

        Args:
            width: Width of the whole figure, in pixels.
        """
        from attnwidget.charts.answer_bars import answer_bars

        frame = self.to_frame()
        frame["question"] = [self.asked(question) for question in frame["question"]]
        return answer_bars(frame, title=f"{self.said}\n{self.model_name}", width=width)

    @property
    def said(self) -> str:
        """Description of the questions in titles."""
        text = " ".join(self.tokens)
        heading = {
            "masked": "Answers",
            "next": "Next tokens",
            "label": "Labels",
            "class": "Classes",
            "span": "Spans",
        }[self.task]
        return f"{heading}: {text if len(text) <= 100 else text[:99] + '…'}"

    def asked(self, question: int) -> str:
        """Return the name of one question: its token and its position."""
        position = self.positions[question]
        if position < 0:
            return "class" if self.task == "class" else "answer"
        if position == len(self.tokens):
            return "next token"
        number, count = self.pieces[question] if self.pieces else (1, 1)
        piece_label = f", piece {number} of {count} of its word" if count > 1 else ""
        return f"{position}: {self.tokens[position]}{piece_label}"

    def __sub__(self, before: Predictions) -> PredictionChange:
        if not isinstance(before, Predictions):
            return NotImplemented
        return PredictionChange(before, self)

    def __repr__(self) -> str:
        best = self.log_probabilities.argmax(-1).tolist()
        answers = [
            f"{answer} {self.probabilities[question, token_id]:.3g}"
            for question, (token_id, (answer, _)) in enumerate(
                zip(best, self.answers.spelt(best), strict=True)
            )
        ]
        return f"Predictions({self.model_name}, {self.task}: {', '.join(answers[:5])})"


@dataclass(frozen=True, eq=False, repr=False)
class PredictionChange(Result):
    """The change between two predictions for the same input: `after - before`.

    Raises:
        ValueError: The questions or the vocabularies differ.

    Example:
        >>> from attnwidget import load_model
        >>> model = load_model(device="cpu")
        >>> before = model.predict("The woman washed [MASK] hands.")
        >>> with model.disabled(layers=[5]):
        ...     after = model.predict("The woman washed [MASK] hands.")
        >>> (after - before).to_frame().columns.tolist()[-3:]
        ['before', 'after', 'change']
    """

    before: Predictions
    after: Predictions
    model_name: str = field(init=False, default="")

    def __post_init__(self) -> None:
        names = f"{self.before.model_name} → {self.after.model_name}"
        object.__setattr__(self, "model_name", names)
        kinds = [
            (
                predictions.task,
                predictions.tokens,
                predictions.positions,
                predictions.log_probabilities.shape,
            )
            for predictions in (self.before, self.after)
        ]
        for name, first, second in zip(
            ("task", "tokens", "positions", "numbers of questions and answers"),
            *kinds,
            strict=True,
        ):
            if first != second:
                raise ValueError(
                    f"the predictions have other {name}, {first!r:.80} and {second!r:.80}: a "
                    "change is between answers to the same input"
                )
        if self.after.cut:
            self.add_cut(self.after.cut)

    @property
    def changes(self) -> Float32Array:
        """Increase of each answer's probability, float32 [P, V]."""
        return self.after.probabilities - self.before.probabilities

    @property
    def log_probability(self) -> float | None:
        """Increase of the text's log probability in nats, or None if there is no text."""
        if self.after.log_probability is None or self.before.log_probability is None:
            return None
        return self.after.log_probability - self.before.log_probability

    def to_frame(self) -> pd.DataFrame:
        """Return a table of the answers with the largest changes, the largest change first.

        Columns: question, position, answer, token, id, before, after, change. `attrs` has the names
        of the models "before" and "after".
        """
        import pandas as pd

        rows = []
        for question, changes in enumerate(self.changes):
            ids = np.argsort(-np.abs(changes), kind="stable")[: self.after.top]
            spellings = self.after.answers.spelt(ids.tolist())
            for token_id, (answer, token) in zip(ids, spellings, strict=True):
                rows.append(
                    {
                        "question": question,
                        "position": self.after.positions[question],
                        "answer": answer,
                        "token": token,
                        "id": int(token_id),
                        "before": float(self.before.probabilities[question, token_id]),
                        "after": float(self.after.probabilities[question, token_id]),
                        "change": float(changes[token_id]),
                    }
                )
        frame = pd.DataFrame(rows)
        frame.attrs |= {"before": self.before.model_name, "after": self.after.model_name}
        return frame

    def chart(self, *, width: int = 640) -> alt.VConcatChart:
        """Draw bars for the probabilities after the change, with strokes for those before.

        Args:
            width: Width of the whole figure, in pixels.
        """
        from attnwidget.charts.answer_bars import answer_bars

        frame = self.to_frame().rename(columns={"after": "probability"})
        frame["question"] = [self.after.asked(question) for question in frame["question"]]
        names = [f"bars: {self.after.model_name}", f"strokes: {self.before.model_name}"]
        return answer_bars(frame, title="\n".join([self.after.said, *names]), width=width)

    def __repr__(self) -> str:
        rows = self.to_frame().drop_duplicates("question")
        changes = [f"{row.answer} {row.change:+.3g}" for row in rows.itertuples()]
        return f"PredictionChange({self.model_name}: {', '.join(changes[:5])})"
