"""PredictionView: what a model answers, and which heads the answer depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import traitlets
from numpy.typing import NDArray

from attnwidget.capture.answers.predictions import Predictions
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.input_reading import Reading
from attnwidget.capture.tapping.edit_methods import EditMethod
from attnwidget.capture.tapping.head import Head
from attnwidget.interventions.head_effects import effects_of, effects_on_answers
from attnwidget.mechanisms.direct_effects import direct_effects
from attnwidget.widgets.pages.page_part import Part
from attnwidget.widgets.prediction_view.answers_by_layer import answers_by_layer
from attnwidget.widgets.prediction_view.effect_work import (
    ESTIMATE,
    MOST_SECONDS,
    pass_work,
    passes_of_exact_effects,
    speed,
)
from attnwidget.widgets.prediction_view.patched_effects import PatchedEffects, patched_effects
from attnwidget.widgets.prediction_view.shown_question import (
    Answered,
    answers_to_wire,
    ask,
    asked_places,
    default_position,
    id_of,
    likeliest,
    masks_of,
    own_word,
    position_after,
    predicted_input,
    stack_of_answers,
    what_is_read,
)
from attnwidget.widgets.shared.background import Job
from attnwidget.widgets.shared.background_answers import BackgroundAnswers
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.shared.durations import duration_in_words
from attnwidget.widgets.shared.head_widget import LayerOptions
from attnwidget.widgets.shared.page_changes import changed_by_page
from attnwidget.widgets.shared.stack_choice import StackChoice, StackOptions
from attnwidget.widgets.wire.values import axes_to_wire, to_wire

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Unpack

#: Why the page of the figure stays with its word.
_ONE_WORD = "This page has the predictions for one word; another word needs a notebook."
#: Seconds after an answer in which the model is left to whoever asks next.
_PAUSE = 0.2
#: Heads of a stack whose exact effects are computed although no reader sees them.
_MANY_HEADS = 500
#: What is computed for each kind of effects, in order: estimates (False), exact effects (True).
_STEPS = {"passes": (False, True), "gradient": (False,), "direct": (True,), "patch": (True,)}
_NO_MASK = "The text has no mask token: choose a token above, and the model says what stands there."


class WantedEffects(NamedTuple):
    """The effects that are computed: what each head changes in the probability of an answer.

    Attributes:
        attention: The attention to the input.
        name: The answer in words.
        answer: The id of the answer.
        position: The token that is predicted, as in `Predictions.positions`.
        heads: The heads that are off already.
        method: What stands in the place of heads that are off.
        stack: The stack of the heads.
        effects_by: "passes", "gradient", "direct" or "patch".
        versus: The id of the other answer of direct effects; of patching, None is the likeliest
            other answer to the second text.
        corrupted: The second text of patching; "" for other effects.
        others: The ids of further answers, whose exact effects the same passes measure.
    """

    attention: Attention
    name: str
    answer: int
    position: int
    heads: tuple[Head, ...]
    method: EditMethod
    stack: str
    effects_by: str
    versus: int | None
    corrupted: str
    others: tuple[int, ...] = ()


class FoundEffects(NamedTuple):
    """Computed effects.

    Attributes:
        wanted: The question that they answer.
        values: The effects [layers, heads].
        is_estimate: Whether they are an estimate.
        versus: The other answer of direct effects and of patching, in words; "" for changes of a
            probability.
        patched: The second text and the logit differences of patching; None for other effects.
        of_others: The exact effects on the other answers of the question, [A, layers, heads]; None
            for other kinds of effects.
    """

    wanted: WantedEffects
    values: NDArray[np.float64]
    is_estimate: bool
    versus: str = ""
    patched: PatchedEffects | None = None
    of_others: NDArray[np.float64] | None = None


class PredictionViewOptions(LayerOptions, StackOptions, total=False):
    """Options of a `PredictionView`."""

    effects_by: Literal["passes", "gradient", "direct", "patch"]
    versus: str | None
    corrupted: str
    lens: bool


class PredictionView(BackgroundAnswers, StackChoice):
    """A model's answer to one question, and the heads on which the answer depends.

    The question is a masked word, the next token or the class. With heads off (`disabled`, shared
    with a linked `HeadGrid`) the figure shows the answers before and after; for each head, the map
    shows the change in an answer's probability if this head is switched off too. These effects are
    first estimated by a backward pass, and then computed in the background, with a pass per head:
    `wait()` returns when they are done. With `effects_by="direct"` the map shows the exact share of
    each head in the difference of two logits instead. With `effects_by="patch"` and a second text
    in `corrupted`, the map shows how much of the answer each head carries over: its outputs are put
    into a pass over the second text. `lens=True` adds the answer after each layer.

    Linked to a `HeadView` or `HeadGrid`, the last query locked there is the token asked about; of
    a causal model what follows that token. Options are the traits, as keywords. An unknown one
    raises TypeError, a value out of range traitlets.TraitError; so does a token that cannot be
    asked about. A model without a head that predicts raises TypeError, an attention of given
    weights ValueError.

    Example:
        >>> from attnwidget import PredictionView, load_model
        >>> attention = load_model(device="cpu").attend("The woman washed [MASK] hands.")
        >>> view = PredictionView(attention)
        >>> view.to_frame()["answer"][0]
        'her'
        >>> view.disabled = [(5, 8), (2, 3)]
        >>> view.to_frame().columns.tolist()
        ['answer', 'token', 'id', 'before', 'after', 'change']
        >>> view.wait()
        True
        >>> view.effects.shape
        (6, 12)
        >>> view.close()
    """

    kind = "prediction_view"
    page_label = "predictions"
    page_title = "What the model answers"
    jobs = ("lens", "effects")
    page_remark = "as they were when it was saved: a page has no model to be asked again"

    position = traitlets.Int(
        None,
        allow_none=True,
        help="The token to predict, from 0: a masked model predicts it with a mask in its place, "
        "a causal model from the tokens before. None = the locked token, otherwise the first mask "
        "token, the end of the text, or the class.",
    ).tag(sync=True, option=True)
    answer = traitlets.Unicode(
        None,
        allow_none=True,
        help="The answer whose probability the effects are of, as the vocabulary spells it; None = "
        "the likeliest with all heads on.",
    ).tag(sync=True, option=True)
    top = traitlets.Int(10, min=1, help="Answers that are shown, of each of before and after.").tag(
        sync=True, option=True
    )
    effects_by = traitlets.Enum(
        ["passes", "gradient", "direct", "patch"],
        "passes",
        help='How effects are found: "passes" (an estimate first, then one pass a head), '
        '"gradient" (the estimate alone, for large models), "direct" (the exact share of each '
        'head in the difference of two logits, of causal models) or "patch" (the change of this '
        "difference in the text `corrupted` with the outputs of each head from this text).",
    ).tag(sync=True, option=True)
    versus = traitlets.Unicode(
        None,
        allow_none=True,
        help="The other answer of direct effects and of patching, as the vocabulary spells it; "
        "None = the likeliest other answer, in patching the likeliest to the second text.",
    ).tag(sync=True, option=True)
    corrupted = traitlets.Unicode(
        help='Second text of patching, of as many tokens as this text; "" = none. It is asked '
        "about the same token, with a mask token in its place for a masked model."
    ).tag(sync=True, option=True)
    lens = traitlets.Bool(
        False, help="Show the answer after each layer below the answers (a logit lens)."
    ).tag(sync=True, option=True)

    # Whether readers see the figure: effects that take long wait until they do.
    _in_sight = traitlets.Bool(True)
    # The text of the button that begins slow effects; "" without slow effects.
    _offer = traitlets.Unicode()
    # The question whose effects are computed although they take long.
    _accepted: WantedEffects | None = None
    _found: traitlets.TraitType[FoundEffects | None, FoundEffects | None] = traitlets.Any(None)
    # The answers after each layer as the page draws them; None until they are known.
    _lens: traitlets.TraitType[dict[str, Any] | None, Any] = traitlets.Any(None).tag(sync=True)
    # Why there are no effects.
    _problem = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        attention: Attention,
        position: int | None = None,
        answer: str | None = None,
        top: int = 10,
        **traits: Unpack[PredictionViewOptions],
    ) -> None:
        if isinstance(attention, Attention):
            predicted_input(attention)
        self._before: tuple[Reading[Attention], int | None, Predictions] | None = None
        super().__init__(attention, position=position, answer=answer, top=top, **traits)
        # Before the figure opens, no answers are known that could be checked.
        for token in (self.answer, self.versus):
            if token is not None:
                self._find(token)

    # What is asked

    @property
    def predictions(self) -> Predictions | None:
        """What the model answers with all heads on; None without a question."""
        return self._answered.before if self._answered else None

    @property
    def after(self) -> Predictions | None:
        """The same with heads off; `after - predictions` is what changed."""
        return self._answered.after if self._answered else None

    @property
    def effects(self) -> NDArray[np.float64] | None:
        """By how much the answer's probability changes without each head, [L, H].

        With `effects_by="direct"`: the share of each head in the difference of the logits of the
        answer and of `versus`. Heads of `stack`; heads that are already off have effect 0. None
        until the effects are known; `is_estimate` says whether they are estimates.
        """
        found = self._known()
        return found.values.copy() if found else None

    @property
    def is_estimate(self) -> bool | None:
        """Whether `effects` are a first-order estimate; None before there are any."""
        found = self._known()
        return found.is_estimate if found else None

    @property
    def effect_metric(self) -> dict[str, Any]:
        """The effects as `HeadGrid(attention, metrics=...)` takes them; {} until they are found.

        The title names the answer, what stands in the place of heads, and estimates: "effect on
        “her” (uniform)", "effect on “her” (uniform, estimate)". In a model of several stacks, the
        keys are the stacks.
        """
        found = self._known()
        if found is None:
            return {}
        how = f"{found.wanted.method}{', estimate' if found.is_estimate else ''}"
        title = f"effect on “{found.wanted.name}” ({how})"
        if found.versus:
            kind = "effect of patching" if found.patched else "direct effect"
            title = f"{kind} on “{found.wanted.name}” against “{found.versus}”"
        metric = {title: found.values.copy()}
        return {self.stack: metric} if len(self.attention.stacks) > 1 else metric

    def _known(self) -> FoundEffects | None:
        """The effects for the shown question; None until they are known."""
        return self._found if self._wanted is not None else None

    def page_part(self) -> Part:
        """Return the state, which has the predictions for one word."""
        return replace(super().page_part(), fixed_here=dict.fromkeys(("tokens", "unit"), _ONE_WORD))

    def to_frame(self) -> pd.DataFrame:
        """The answers shown: answer, token (as the vocabulary has it), id, before, after, change.

        Those that changed most first, or the likeliest where no heads are off.
        """
        import pandas as pd

        rows = self._answered.rows(self.top) if self._answered else []
        columns = ["answer", "token", "id", "before", "after", "change"]
        return pd.DataFrame([(*row, row.change) for row in rows], columns=columns)

    # Traits

    def _edited(
        self, attention: Attention, heads: list[Head], method: EditMethod | None
    ) -> Attention:
        """Return the intact attention: the figure asks the model, and needs no maps read again."""
        try:
            predicted_input(attention)
        except (TypeError, ValueError) as error:
            raise traitlets.TraitError(f"'attention': {error}") from None
        return attention.intact

    @traitlets.validate("position")
    def _check_position(self, proposal: dict[str, Any]) -> int | None:
        position: int | None = proposal["value"]
        _, task = predicted_input(self.attention)
        if position is None:
            return None
        if task == "class":
            raise traitlets.TraitError(
                "'position' is None: a classifier answers to the whole input"
            )
        first = int(task == "next")
        last = first + len(stack_of_answers(self.attention).query) - 1
        if not first <= position <= last:
            raise traitlets.TraitError(
                f"'position' is {first} to {last} in this text, got {position}"
            )
        return position

    @traitlets.validate("answer", "versus")
    def _check_answer(self, proposal: dict[str, Any]) -> str | None:
        token: str | None = proposal["value"]
        if token is not None and self._answered is not None:
            try:
                self._find(token)
            except ValueError as error:
                raise traitlets.TraitError(f"{proposal['trait'].name!r}: {error}") from None
        return token

    def _find(self, token: str) -> None:
        """Refuse an answer that the model cannot give, and warn of the end of a word."""
        if self._answered is None:
            return
        before = self._answered.before
        # The page takes entries from the table of the figure.
        if changed_by_page():
            id_of(before, token)
        else:
            before.probability(token)

    @when_open("attention")
    def _ask_about_another(self, change: object) -> None:
        self._forget_question()

    def _forget_question(self) -> None:
        """Return to the default question: a choice for a text does not apply to the next text."""
        with self._lock, self.together():
            self.position = None
            self.answer = None
            self.versus = None
            self.corrupted = ""

    @when_open("tokens")
    def _ask_locked(self, change: object) -> None:
        if self._locked() is not None:
            self.position = None

    def _locked(self) -> int | None:
        """The position that the last locked query asks about."""
        _, task = predicted_input(self.attention)
        queries = [index for side, index in self.tokens if side == "query"]
        stack = stack_of_answers(self.attention)
        if task == "class" or not queries or self.stack == "encoder":
            return None
        return position_after(stack.query, queries[-1], self.unit, task)

    # What is answered

    @computed("attention")
    def _axes(self) -> dict[str, Any]:
        return axes_to_wire(stack_of_answers(self.attention), "tokens")

    @computed(
        "attention",
        "position",
        "answer",
        "tokens",
        "unit",
        "stack",
        "top",
        "_edit",
        sync=False,
    )
    def _answered(self) -> Answered | None:
        """The question with its answers; None without a question."""
        reading, task = predicted_input(self.attention)
        position = self.position if self.position is not None else self._locked()
        if position is None and task == "masked":
            position = default_position(reading)
            if position is None:
                return None
        before = self._ask_intact(reading, position)
        answer = likeliest(before) if self.answer is None else id_of(before, self.answer)
        heads, method = self._edit
        after = ask(reading, before.positions[0], heads, method, before)
        return Answered(before, after, answer, own_word(reading, before))

    @computed("_answered")
    def _message(self) -> str:
        """What to do if there is no question; else ""."""
        return "" if self._answered else _NO_MASK

    @computed("_answered", "top", "_edit")
    def _predictions(self) -> dict[str, Any] | None:
        """The answers as the page draws them; None without a question."""
        if self._answered is None:
            return None
        reading, task = predicted_input(self.attention)
        masks = masks_of(reading) if task == "masked" else [self._answered.position]
        return answers_to_wire(
            self._answered,
            self._answered.rows(self.top),
            reads=what_is_read(reading),
            off=[list(head) for head in self._edit[0]],
            method=self._method_used(),
            masks=self._answered.position not in masks,
        )

    def _ask_intact(self, reading: Reading[Attention], position: int | None) -> Predictions:
        """What the model answers with all heads on, asked once."""
        if self._before is None or self._before[:2] != (reading, position):
            places = asked_places(reading, position)
            self._before = reading, position, reading.answer(places, self.top)
        return self._before[2]

    # Effects

    @computed("_answered", "stack", "effects_by", "versus", "corrupted", sync=False)
    def _wanted(self) -> WantedEffects | None:
        """The effects to compute for the shown question; None without a question."""
        answered = self._answered
        if answered is None:
            return None
        return WantedEffects(
            self.attention,
            answered.name,
            answered.answer,
            answered.position,
            tuple(self._edit[0]),
            self._method_used(),
            self.stack,
            self.effects_by,
            self._rival(answered),
            self.corrupted if self.effects_by == "patch" else "",
            answered.likely_answers() if self.effects_by == "passes" else (),
        )

    def _rival(self, answered: Answered) -> int | None:
        """The id of the other answer; None if it is not needed, or follows from the second text."""
        if self.effects_by not in ("direct", "patch"):
            return None
        if self.versus is not None:
            return id_of(answered.before, self.versus)
        if self.effects_by == "patch":
            return None
        order = answered.before.log_probabilities[0].argsort()[::-1]
        return int(order[order != answered.answer][0])

    @computed("_found")
    def _effects(self) -> dict[str, Any] | None:
        """The effects as the page draws them; None until they are known."""
        found, answered = self._found, self._answered
        if found is None or answered is None:
            return None
        wanted = found.wanted
        ids = (wanted.answer, *wanted.others)
        followed, *others = (token for _, token in answered.before.answers.spelt(ids))
        return {
            "stack": wanted.stack,
            "name": wanted.name,
            "followed": followed,
            "others": None
            if found.of_others is None
            else {"tokens": others, "values": to_wire(found.of_others.astype(np.float32))},
            "versus": found.versus,
            "patched": found.patched
            and {
                "text": found.patched.corrupted,
                "differences": list(found.patched.logit_differences),
            },
            "estimate": found.is_estimate,
            "method": wanted.method,
            "values": to_wire(found.values.astype(np.float32)),
        }

    @traitlets.observe("_wanted")
    def _find_effects(self, change: object) -> None:
        self._found = None
        self._begin_effects(delay=_PAUSE)

    def _look_at_effects(self, is_in_sight: bool) -> None:
        """State whether readers see the effects: effects that take long wait until they do."""
        self._in_sight = is_in_sight

    @when_open("_in_sight")
    def _look_again(self, change: object) -> None:
        with self._lock, self.together():
            self._begin_effects()

    def measure_effects(self) -> None:
        """Begin to compute the effects, also if this takes long; `wait` returns after them.

        If an estimate is above about ten seconds, effects wait for this call, a call of `wait`, or
        a click on the button with the estimate.
        """
        with self._lock, self.together():
            self._accepted = self._wanted
            self._begin_effects()

    def wait(self, timeout: float | None = None) -> bool:
        """Return when all answers are found; False if `timeout` seconds were not enough.

        Effects that take long are computed too.

        Raises:
            Exception: What went wrong in finding them; the figure shows it too.
        """
        if self._is_open:
            self.measure_effects()
        return super().wait(timeout)

    def _wait_for_what_began(self, timeout: float | None = None) -> bool:
        """Wait as `wait`, but begin no effects that take long."""
        return super().wait(timeout)

    @property
    def offer(self) -> str:
        """What `measure_effects` does and how long it takes; "" if no effects wait to be asked for.

        Effects out of sight are not offered.
        """
        return str(self._offer)

    def _begin_effects(self, *, delay: float = 0.0) -> None:
        """Compute the effects that are due, and offer effects that take long."""
        wanted = self._wanted
        self._offer = ""
        if wanted is None:
            self._problem = ""
            self._ask("effects", None, self._effects_job)
            return
        steps = self._steps(wanted)
        if not steps:
            # This ends a job that runs.
            self._ask("effects", None, self._effects_job)
        if self._in_sight and len(steps) < len(_STEPS[wanted.effects_by]):
            self._offer = f"measure the effects of heads: {self._duration(wanted)}"
        if self._is_asked_now("effects", wanted):
            return  # the job looks at the steps itself
        self._problem = "" if steps or self._is_found(wanted) else self._reason_to_wait(wanted)
        if steps and not self._is_found(wanted, exact=max(steps)):
            self._ask("effects", wanted, self._effects_job, delay=delay)

    def _steps(self, wanted: WantedEffects) -> list[bool]:
        """Return which effects are computed now: False for estimates, True for exact effects."""
        steps = _STEPS[wanted.effects_by]
        if wanted is self._accepted or wanted.effects_by in ("direct", "patch"):
            return list(steps)
        reading, _ = predicted_input(wanted.attention)
        work = pass_work(wanted.attention, reading)
        limit = MOST_SECONDS * speed(reading)
        stack = wanted.attention.stacks[wanted.stack]
        few = stack.n_layers * stack.n_heads <= _MANY_HEADS
        exact = work * passes_of_exact_effects(wanted.attention, wanted.stack) <= limit
        exact = exact and True in steps and (few or self._in_sight)
        estimate = work * ESTIMATE <= limit and (exact or self._in_sight)
        return [False] * estimate + [True] * exact

    def _duration(self, wanted: WantedEffects) -> str:
        """Return in words how long the effects take."""
        passes = ESTIMATE
        if True in _STEPS[wanted.effects_by]:
            passes += passes_of_exact_effects(wanted.attention, wanted.stack)
        reading, _ = predicted_input(wanted.attention)
        return duration_in_words(passes * pass_work(wanted.attention, reading) / speed(reading))

    def _reason_to_wait(self, wanted: WantedEffects) -> str:
        """Return why the effects are not computed now."""
        if not self._in_sight:
            return "they are computed while this tab is open"
        return f"they take {self._duration(wanted)}, and begin with measure_effects()"

    def _is_found(self, wanted: WantedEffects, exact: bool = False) -> bool:
        """Whether effects are found, or exact effects."""
        found = self._found
        return found is not None and found.wanted is wanted and found.is_estimate <= (not exact)

    def _effects_job(self, wanted: WantedEffects) -> Job:
        reading, _ = predicted_input(wanted.attention)

        def stopped() -> bool:
            return not self._is_asked_now("effects", wanted)

        def shown(found: FoundEffects) -> Callable[[], None]:
            show = partial(setattr, self, "_found", found)
            return self._unless_replaced("effects", wanted, show)

        if wanted.effects_by in ("direct", "patch"):
            found = _direct(wanted) if wanted.effects_by == "direct" else _patched(wanted)
            yield shown(found)
            return
        for exact in _STEPS[wanted.effects_by]:
            with self._lock:
                if stopped() or exact not in self._steps(wanted):
                    # A later look at the figure may ask this question again.
                    if not stopped():
                        self._questions["effects"] = None
                    return
            if self._is_found(wanted, exact):
                continue
            asked = (wanted.position, wanted.heads, wanted.method)
            if exact:
                answers = (wanted.answer, *wanted.others)
                values = effects_on_answers(
                    reading, answers, *asked, stack=wanted.stack, stopped=stopped
                )
            else:
                estimates = effects_of(
                    reading, wanted.answer, *asked, stack=wanted.stack, exact=False
                )
                values = None if estimates is None else estimates[None]
            if values is None or stopped():
                return
            of_others = values[1:] if exact else None
            yield shown(FoundEffects(wanted, values[0], not exact, of_others=of_others))

    # The logit lens

    @computed("_answered", "lens", sync=False)
    def _lens_wanted(self) -> Answered | None:
        """The question whose answers after each layer are shown."""
        return self._answered if self.lens else None

    @traitlets.observe("_lens_wanted")
    def _find_lens(self, change: object) -> None:
        self._lens = None
        self._ask("lens", self._lens_wanted, partial(self._lens_job, self.attention))

    def _lens_job(self, attention: Attention, answered: Answered) -> Job:
        found = answers_by_layer(attention, answered)
        show = partial(setattr, self, "_lens", found)
        yield self._unless_replaced("lens", answered, show)


def _direct(wanted: WantedEffects) -> FoundEffects:
    """Return the direct effects of all heads on the difference of two logits.

    Raises:
        TypeError, ValueError: As `direct_effects`; or heads are off.
    """
    _refuse_heads_off("direct effects", wanted)
    assert wanted.versus is not None
    effects = direct_effects(
        wanted.attention,
        wanted.answer,
        wanted.versus,
        position=wanted.position,
    )
    return FoundEffects(wanted, effects.head_effects, False, effects.versus)


def _patched(wanted: WantedEffects) -> FoundEffects:
    """Return the effects of patching each head.

    Raises:
        TypeError, ValueError: As `patched_effects`; or heads are off.
    """
    _refuse_heads_off("effects of patching", wanted)
    patched = patched_effects(
        wanted.attention, wanted.position, wanted.answer, wanted.corrupted, wanted.versus
    )
    return FoundEffects(wanted, patched.effects, False, patched.versus, patched)


def _refuse_heads_off(effects: str, wanted: WantedEffects) -> None:
    """Raise ValueError if heads are off, for effects that are of the whole model."""
    if wanted.heads:
        raise ValueError(
            f"{effects} are those of the whole model: switch all heads on, or choose another kind "
            "of effects"
        )
