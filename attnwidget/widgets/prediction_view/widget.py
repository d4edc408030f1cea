"""PredictionView: a model's predictions, and the effects of heads on them."""

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
from attnwidget.capture.tapping.edit_methods import RULED, EditMethod
from attnwidget.capture.tapping.head import Head
from attnwidget.interventions.head_effects import (
    effects_of,
    effects_on_answers,
    method_of_others,
)
from attnwidget.interventions.link_cuts import link_cuts
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
from attnwidget.widgets.prediction_view.locked_link import (
    LockedLink,
    asked_link,
    can_be_cut_unasked,
    cuts_to_wire,
    locked_link,
)
from attnwidget.widgets.prediction_view.patched_effects import PatchedEffects, patched_effects
from attnwidget.widgets.prediction_view.scaled_links import (
    LinkScaling,
    LinkScalingOptions,
    link_edits,
    links_to_wire,
)
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
from attnwidget.widgets.prediction_view.word_needs import WantedNeeds, word_needs
from attnwidget.widgets.shared.background import Job
from attnwidget.widgets.shared.background_answers import BackgroundAnswers
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.shared.durations import duration_in_words
from attnwidget.widgets.shared.head_widget import LayerOptions
from attnwidget.widgets.shared.page_changes import changed_by_page
from attnwidget.widgets.shared.stack_choice import StackChoice, StackOptions
from attnwidget.widgets.shared.traits import Choice
from attnwidget.widgets.wire.values import axes_to_wire, to_wire

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Unpack

#: Reason why a saved page cannot change its word.
_ONE_WORD = "This page has the predictions for one word; another word needs a notebook."
#: Delay in seconds before effects are computed, so that other requests can use the model first.
_PAUSE = 0.2
#: Maximum number of heads in a stack for which invisible exact effects are computed.
_MANY_HEADS = 500
#: Computation steps for each kind of effects: estimates (False), exact effects (True).
_STEPS = {"passes": (False, True), "gradient": (False,), "direct": (True,), "patch": (True,)}
_NO_MASK = "The text has no mask token: choose a token above, and the model says what stands there."


class WantedEffects(NamedTuple):
    """Request for the effects of heads on an answer's probability.

    Attributes:
        attention: Attention of the input.
        name: Text of the answer.
        answer: Id of the answer.
        position: Position of the predicted token, as in `Predictions.positions`.
        heads: Heads that are already disabled.
        method: Replacement method of disabled heads.
        stack: Stack of the heads.
        effects_by: "passes", "gradient", "direct" or "patch".
        versus: Id of the rival answer, for direct effects and patching; for patching, None = the
            most likely other answer for the second text.
        corrupted: Second text for patching; "" for other effects.
        others: Ids of further answers, whose exact effects are measured in the same passes.
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
    """Computed effects of heads.

    Attributes:
        wanted: Request that the effects answer.
        values: Effects, [layers, heads].
        is_estimate: Whether the effects are an estimate.
        versus: Text of the rival answer, for direct effects and patching; "" for changes of a
            probability.
        patched: Second text and logit differences of patching; None for other effects.
        of_others: Exact effects on the other answers of the request, [A, layers, heads]; None for
            other kinds of effects.
    """

    wanted: WantedEffects
    values: NDArray[np.float64]
    is_estimate: bool
    versus: str = ""
    patched: PatchedEffects | None = None
    of_others: NDArray[np.float64] | None = None


class PredictionViewOptions(LayerOptions, StackOptions, LinkScalingOptions, total=False):
    """Options of a `PredictionView`."""

    effects_by: Literal["passes", "gradient", "direct", "patch"]
    versus: str | None
    corrupted: str
    lens: bool


class PredictionView(BackgroundAnswers, StackChoice, LinkScaling):
    """Prediction of a model, and the heads on which the prediction depends.

    The model predicts a masked word, the next token or the class. If heads are disabled
    (`disabled`, shared with a linked `HeadGrid`) or links are cut or strengthened (`scaled_links`),
    the figure shows the answers before and after.
    The map shows for each head how the probability of an answer changes if this head is disabled
    too. These effects are first estimated with a backward pass, and then computed in the background
    with one pass per head; `wait()` waits for them. With `effects_by="direct"`, the map shows each
    head's exact share in the difference of two logits. With `effects_by="patch"` and a second text
    in `corrupted`, the map shows the effect of patching each head's outputs into a pass over the
    second text. `lens=True` adds the answer after each layer.

    If the figure is linked to a `HeadView` or `HeadGrid`, the last locked query is the predicted
    token, or for a causal model the token before it.

    Options are keywords, and traits of the figure. An unknown option raises TypeError, and a value
    out of range or a token that has no prediction raises traitlets.TraitError. A model without a
    head that predicts raises TypeError, and an attention of given weights raises ValueError.

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
    jobs = ("link", "lens", "needs", "effects")
    page_remark = "as they were when it was saved: a page has no model to be asked again"

    position = traitlets.Int(
        None,
        allow_none=True,
        help="Position of the token to predict, from 0. A masked model predicts it with a mask "
        "token in its place, a causal model from the tokens before. None = the locked token, "
        "otherwise the first mask token, the end of the text, or the class.",
    ).tag(sync=True, option=True)
    answer = traitlets.Unicode(
        None,
        allow_none=True,
        help="Answer whose effects are shown, in the spelling of the vocabulary; None = the most "
        "likely answer with all heads on.",
    ).tag(sync=True, option=True)
    top = traitlets.Int(10, min=1, help="Number of most likely answers, before and after.").tag(
        sync=True, option=True
    )
    effects_by = Choice(
        ["passes", "gradient", "direct", "patch"],
        "passes",
        help='Method for the effects: "passes" (an estimate, then one pass per head), "gradient" '
        '(only the estimate, for large models), "direct" (the exact share of each head in the '
        'difference of two logits, for causal models) or "patch" (the change of this difference '
        "if each head's outputs are patched into the text `corrupted`).",
    ).tag(sync=True, option=True)
    versus = traitlets.Unicode(
        None,
        allow_none=True,
        help="Rival answer for direct effects and patching, in the spelling of the vocabulary; "
        "None = the most likely other answer, for patching in the second text.",
    ).tag(sync=True, option=True)
    corrupted = traitlets.Unicode(
        help="Second text for patching, with the same number of tokens as the current text; "
        '"" = no second text. The predicted token has the same position in both texts.'
    ).tag(sync=True, option=True)
    lens = traitlets.Bool(
        False, help="Whether to show the answer after each layer (a logit lens)."
    ).tag(sync=True, option=True)

    # Whether the figure is visible. Slow effects wait until it is.
    _in_sight = traitlets.Bool(True)
    # Text of the button that starts slow effects; "" if there are no slow effects.
    _offer = traitlets.Unicode()
    # Request whose effects are computed even if they are slow.
    _accepted: WantedEffects | None = None
    _found: traitlets.TraitType[FoundEffects | None, FoundEffects | None] = traitlets.Any(None)
    # Answers without the link between the locked words, for the page; None until they are computed.
    _cuts: traitlets.TraitType[dict[str, Any] | None, Any] = traitlets.Any(None).tag(sync=True)
    # Answers after each layer, for the page; None until they are computed.
    _lens: traitlets.TraitType[dict[str, Any] | None, Any] = traitlets.Any(None).tag(sync=True)
    # Whether an explorer shows which words the answer needs.
    _needs_asked = traitlets.Bool(False).tag(sync=True, from_page=True)
    # What the answer loses without each word, for the page; None until it is measured.
    _needs: traitlets.TraitType[dict[str, Any] | None, Any] = traitlets.Any(None).tag(sync=True)
    # Reason why there are no effects, or "".
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
        self._last_wanted: WantedEffects | None = None
        self._last_asked_link: tuple[LockedLink, Answered] | None = None
        super().__init__(attention, position=position, answer=answer, top=top, **traits)
        # Check these options here, because there are no answers to check against before the figure
        # opens.
        for token in (self.answer, self.versus):
            if token is not None:
                self._find(token)

    # Results

    @property
    def predictions(self) -> Predictions | None:
        """Predictions with all heads on; None without a question."""
        return self._answered.before if self._answered else None

    @property
    def after(self) -> Predictions | None:
        """Predictions with disabled heads; `after - predictions` is the change."""
        return self._answered.after if self._answered else None

    @property
    def effects(self) -> NDArray[np.float64] | None:
        """Change of the answer's probability without each head of `stack`, [L, H].

        With `effects_by="direct"`, it is each head's share in the logit difference between the
        answer and `versus`. Heads that are already disabled have the effect 0. None until the
        effects are computed. `is_estimate` says whether they are estimates.
        """
        result = self._known()
        return result.values.copy() if result else None

    @property
    def is_estimate(self) -> bool | None:
        """True if `effects` are a first-order estimate; None until they are computed."""
        result = self._known()
        return result.is_estimate if result else None

    @property
    def effect_metric(self) -> dict[str, Any]:
        """Effects as the argument `metrics` of `HeadGrid`; {} until they are computed.

        The title has the answer and the replacement method, and says if the effects are estimates:
        "effect on “her” (uniform)", "effect on “her” (uniform, estimate)". For a model with several
        stacks, the keys are the stacks.
        """
        result = self._known()
        if result is None:
            return {}
        others = self._method_of_others(result.wanted.method)
        method = f"{others}{', estimate' if result.is_estimate else ''}"
        title = f"effect on “{result.wanted.name}” ({method})"
        if result.versus:
            kind = "effect of patching" if result.patched else "direct effect"
            title = f"{kind} on “{result.wanted.name}” against “{result.versus}”"
        metric = {title: result.values.copy()}
        return {self.stack: metric} if len(self.attention.stacks) > 1 else metric

    def _known(self) -> FoundEffects | None:
        """Return the effects for the current question; None until they are computed."""
        return self._found if self._wanted is not None else None

    def page_part(self) -> Part:
        """Return the figure's part of a saved page, which has the predictions for one word."""
        return replace(super().page_part(), fixed_here=dict.fromkeys(("tokens", "unit"), _ONE_WORD))

    def to_frame(self) -> pd.DataFrame:
        """Return the answers with the columns answer, token, id, before, after and change.

        The token is the vocabulary entry. The rows are sorted by the size of the change, or by
        probability if no head is disabled.
        """
        import pandas as pd

        rows = self._answered.rows(self.top) if self._answered else []
        columns = ["answer", "token", "id", "before", "after", "change"]
        return pd.DataFrame([(*row, row.change) for row in rows], columns=columns)

    # Traits

    def _edited(
        self, attention: Attention, heads: list[Head], method: EditMethod | None
    ) -> Attention:
        """Return the intact attention, because this figure needs no maps with disabled heads."""
        if heads and method == RULED:
            self._add_rules(attention)
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
                f"'position' must be {first} to {last} in this text, got {position}"
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
        """Raise an error for an answer that is not in the vocabulary; warn about partial words."""
        if self._answered is None:
            return
        before = self._answered.before
        # The page chooses answers from the figure's table, so they need no warning.
        if changed_by_page():
            id_of(before, token)
        else:
            before.probability(token)

    @when_open("attention")
    def _ask_about_another(self, change: object) -> None:
        self._forget_question()

    def _forget_question(self) -> None:
        """Return to the default question, because a choice applies only to one text."""
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
        """Return the position that is predicted for the last locked query, or None."""
        _, task = predicted_input(self.attention)
        queries = [index for side, index in self.tokens if side == "query"]
        stack = stack_of_answers(self.attention)
        if task == "class" or not queries or self.stack == "encoder":
            return None
        return position_after(stack.query, queries[-1], self.unit, task)

    # Answers

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
        "scaled_links",
        sync=False,
    )
    def _answered(self) -> Answered | None:
        """Question with its answers; None without a question."""
        reading, task = predicted_input(self.attention)
        position = self.position if self.position is not None else self._locked()
        if position is None and task == "masked":
            position = default_position(reading)
            if position is None:
                return None
        before = self._ask_intact(reading, position)
        answer = likeliest(before) if self.answer is None else id_of(before, self.answer)
        heads, method = self._edit
        links = link_edits(self.attention, self.scaled_links)
        after = ask(reading, before.positions[0], heads, method, before, links)
        return Answered(before, after, answer, own_word(reading, before))

    @computed("_answered")
    def _message(self) -> str:
        """Advice if there is no question, or ""."""
        return "" if self._answered else _NO_MASK

    @computed("_answered", "top", "_edit")
    def _predictions(self) -> dict[str, Any] | None:
        """Answers for the page; None without a question."""
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
            links=links_to_wire(self.attention, self.scaled_links),
            masks=self._answered.position not in masks,
        )

    def _ask_intact(self, reading: Reading[Attention], position: int | None) -> Predictions:
        """Return the predictions with all heads on, which are cached."""
        if self._before is None or self._before[:2] != (reading, position):
            positions = asked_places(reading, position)
            self._before = reading, position, reading.answer(positions, self.top)
        return self._before[2]

    # Effects

    @computed("_answered", "stack", "effects_by", "versus", "corrupted", sync=False)
    def _wanted(self) -> WantedEffects | None:
        """Request for the effects of the current question; None without a question."""
        answered = self._answered
        if answered is None:
            return None
        wanted = WantedEffects(
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
        # The effects are those without scaled links, so scaling a link asks for the same effects.
        if wanted != self._last_wanted:
            self._last_wanted = wanted
        return self._last_wanted

    def _method_of_others(self, method: EditMethod) -> EditMethod:
        """Return the method by which the effects of the other heads are measured."""
        reading = self.attention.intact.reading
        return method if reading is None else method_of_others(reading.model, method)

    def _rival(self, answered: Answered) -> int | None:
        """Return the id of the rival answer; None if none is needed or the second text decides."""
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
        """Effects for the page; None until they are computed."""
        result, answered = self._found, self._answered
        if result is None or answered is None:
            return None
        request = result.wanted
        ids = (request.answer, *request.others)
        tracked, *other_tokens = (token for _, token in answered.before.answers.spelt(ids))
        return {
            "stack": request.stack,
            "name": request.name,
            "followed": tracked,
            "others": None
            if result.of_others is None
            else {"tokens": other_tokens, "values": to_wire(result.of_others.astype(np.float32))},
            "versus": result.versus,
            "patched": result.patched
            and {
                "text": result.patched.corrupted,
                "differences": list(result.patched.logit_differences),
            },
            "estimate": result.is_estimate,
            "method": self._method_of_others(request.method),
            "values": to_wire(result.values.astype(np.float32)),
        }

    @traitlets.observe("_wanted")
    def _find_effects(self, change: object) -> None:
        self._found = None
        self._begin_effects(delay=_PAUSE)

    def _look_at_effects(self, is_in_sight: bool) -> None:
        """Set whether the effects are visible; slow effects wait until they are."""
        self._in_sight = is_in_sight

    @when_open("_in_sight")
    def _look_again(self, change: object) -> None:
        with self._lock, self.together():
            self._begin_effects()

    def measure_effects(self) -> None:
        """Start to compute the effects even if this is slow; `wait` waits for them.

        If the estimated time is above about ten seconds, the computation starts only after this
        call, a call of `wait`, or a click on the button with the estimate.
        """
        with self._lock, self.together():
            self._accepted = self._wanted
            self._begin_effects()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all answers are available, including slow effects.

        Args:
            timeout: Time limit in seconds; None = no limit.

        Returns:
            False if the time limit was reached, otherwise True.

        Raises:
            Exception: If an answer could not be computed. The figure shows the error too.
        """
        if self._is_open:
            self.measure_effects()
        return super().wait(timeout)

    def _wait_for_what_began(self, timeout: float | None = None) -> bool:
        """Wait like `wait`, but do not start slow effects."""
        return super().wait(timeout)

    @property
    def offer(self) -> str:
        """Description of `measure_effects` with its duration; "" if no effects wait for this call.

        Invisible effects are not offered.
        """
        return str(self._offer)

    def _begin_effects(self, *, delay: float = 0.0) -> None:
        """Compute the fast effects, and offer slow effects."""
        request = self._wanted
        self._offer = ""
        if request is None:
            self._problem = ""
            self._ask("effects", None, self._effects_job)
            return
        steps = self._steps(request)
        if not steps:
            # End a running job.
            self._ask("effects", None, self._effects_job)
        if self._in_sight and len(steps) < len(_STEPS[request.effects_by]):
            self._offer = f"measure the effects of heads: {self._duration(request)}"
        if self._is_asked_now("effects", request):
            return  # The running job checks the steps itself.
        self._problem = "" if steps or self._is_found(request) else self._reason_to_wait(request)
        if steps and not self._is_found(request, exact=max(steps)):
            self._ask("effects", request, self._effects_job, delay=delay)

    def _steps(self, wanted: WantedEffects) -> list[bool]:
        """Return the steps to compute now: False for estimates, True for exact effects."""
        steps = _STEPS[wanted.effects_by]
        if wanted is self._accepted or wanted.effects_by in ("direct", "patch"):
            return list(steps)
        reading, _ = predicted_input(wanted.attention)
        work = pass_work(wanted.attention, reading)
        limit = MOST_SECONDS * speed(reading)
        stack = wanted.attention.stacks[wanted.stack]
        has_few_heads = stack.n_layers * stack.n_heads <= _MANY_HEADS
        exact = work * passes_of_exact_effects(wanted.attention, wanted.stack) <= limit
        exact = exact and True in steps and (has_few_heads or self._in_sight)
        estimate = work * ESTIMATE <= limit and (exact or self._in_sight)
        return [False] * estimate + [True] * exact

    def _duration(self, wanted: WantedEffects) -> str:
        """Return the estimated duration of the effects in words."""
        passes = ESTIMATE
        if True in _STEPS[wanted.effects_by]:
            passes += passes_of_exact_effects(wanted.attention, wanted.stack)
        reading, _ = predicted_input(wanted.attention)
        return duration_in_words(passes * pass_work(wanted.attention, reading) / speed(reading))

    def _reason_to_wait(self, wanted: WantedEffects) -> str:
        """Return the reason why the effects are not computed now."""
        if not self._in_sight:
            return "they are computed while this tab is open"
        return f"they take {self._duration(wanted)}, and begin with measure_effects()"

    def _is_found(self, wanted: WantedEffects, exact: bool = False) -> bool:
        """Return True if the effects are available, or exact effects if `exact`."""
        result = self._found
        return result is not None and result.wanted is wanted and result.is_estimate <= (not exact)

    def _effects_job(self, wanted: WantedEffects) -> Job:
        reading, _ = predicted_input(wanted.attention)

        def stopped() -> bool:
            return not self._is_asked_now("effects", wanted)

        def shown(found: FoundEffects) -> Callable[[], None]:
            show = partial(setattr, self, "_found", found)
            return self._unless_replaced("effects", wanted, show)

        if wanted.effects_by in ("direct", "patch"):
            effects = _direct(wanted) if wanted.effects_by == "direct" else _patched(wanted)
            yield shown(effects)
            return
        for exact in _STEPS[wanted.effects_by]:
            with self._lock:
                if stopped() or exact not in self._steps(wanted):
                    # Clear the question, so that it can be asked again when the figure is visible.
                    if not stopped():
                        self._questions["effects"] = None
                    return
            if self._is_found(wanted, exact):
                continue
            question = (wanted.position, wanted.heads, wanted.method)
            if exact:
                answers = (wanted.answer, *wanted.others)
                values = effects_on_answers(
                    reading, answers, *question, stack=wanted.stack, stopped=stopped
                )
            else:
                estimates = effects_of(
                    reading, wanted.answer, *question, stack=wanted.stack, exact=False
                )
                values = None if estimates is None else estimates[None]
            if values is None or stopped():
                return
            of_others = values[1:] if exact else None
            yield shown(FoundEffects(wanted, values[0], not exact, of_others=of_others))

    # Links between locked words

    @when_open("scaled_links")
    def _undo_failed_links(self, change: dict[str, Any]) -> None:
        """Answer with the links now, and restore the previous links if the model refuses these."""
        with self._lock:
            try:
                self._update()
            except BaseException:
                self.scaled_links = change["old"]
                raise

    @computed("_answered", "attention", "tokens", "unit", "stack", sync=False)
    def _locked_link(self) -> LockedLink | None:
        """Link between the locked words if the model is asked about the first; otherwise None."""
        answered = self._answered
        if answered is None:
            return None
        tokens = list(self.tokens)
        return locked_link(self.attention, answered, tokens, self.unit, self.stack)

    @computed("_locked_link")
    def _link(self) -> dict[str, Any] | None:
        """Link between the locked words for the page, which can be cut there."""
        return None if self._locked_link is None else self._locked_link._asdict()

    @computed("_locked_link", "_answered", "_edit", sync=False)
    def _asked_link(self) -> tuple[LockedLink, Answered] | None:
        """Link whose cuts are computed before the user cuts it; None if none are."""
        link, answered = self._locked_link, self._answered
        is_quick = link is not None and can_be_cut_unasked(self.attention, by_head=False)
        if link is None or answered is None or self._edit[0] or not is_quick:
            return None
        last = self._last_asked_link
        is_same = last is not None and last[0] == link and last[1].before is answered.before
        if last is None or not is_same or last[1].answer != answered.answer:
            self._last_asked_link = last = link, answered
        return last

    @traitlets.observe("_asked_link")
    def _cut_link(self, change: object) -> None:
        self._cuts = None
        job = partial(self._link_job, self.attention)
        self._ask("link", self._asked_link, job, delay=_PAUSE)

    def _link_job(self, attention: Attention, asked: tuple[LockedLink, Answered]) -> Job:
        link, answered = asked
        by_head = can_be_cut_unasked(attention, by_head=True)
        steps = link_cuts(
            asked_link(attention, link, answered),
            by_head=by_head,
            stopped=lambda: not self._is_asked_now("link", asked),
        )
        for cuts in steps:
            show = partial(setattr, self, "_cuts", cuts_to_wire(cuts, link, answered))
            self._background.call(self._unless_replaced("link", asked, show))
        yield None

    # The logit lens

    @computed("_answered", "lens", sync=False)
    def _lens_wanted(self) -> Answered | None:
        """Question whose answers after each layer are shown; None if they are not shown."""
        return self._answered if self.lens else None

    @traitlets.observe("_lens_wanted")
    def _find_lens(self, change: object) -> None:
        self._lens = None
        self._ask("lens", self._lens_wanted, partial(self._lens_job, self.attention))

    def _lens_job(self, attention: Attention, answered: Answered) -> Job:
        lens = answers_by_layer(attention, answered)
        show = partial(setattr, self, "_lens", lens)
        yield self._unless_replaced("lens", answered, show)

    # The words that the answer needs

    @computed("_answered", "_needs_asked", "unit", sync=False)
    def _needs_wanted(self) -> WantedNeeds | None:
        """Request for the words that the answer needs; None if they are not shown."""
        if self._answered is None or not self._needs_asked:
            return None
        heads = tuple(self._edit[0])
        return WantedNeeds(
            self.attention.intact, self._answered, heads, self._method_used(), self.unit
        )

    @traitlets.observe("_needs_wanted")
    def _find_needs(self, change: object) -> None:
        self._needs = None
        self._ask("needs", self._needs_wanted, self._needs_job)

    def _needs_job(self, wanted: WantedNeeds) -> Job:
        def show(needs: dict[str, Any]) -> None:
            setting = partial(setattr, self, "_needs", needs)
            self._background.call(self._unless_replaced("needs", wanted, setting))

        show(word_needs(wanted, lambda: not self._is_asked_now("needs", wanted), show))
        yield None


def _direct(wanted: WantedEffects) -> FoundEffects:
    """Return the direct effects of all heads on the difference of two logits.

    Raises:
        TypeError: If `direct_effects` raises it.
        ValueError: If heads are disabled, or if `direct_effects` raises it.
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
        TypeError: If `patched_effects` raises it.
        ValueError: If heads are disabled, or if `patched_effects` raises it.
    """
    _refuse_heads_off("effects of patching", wanted)
    patched = patched_effects(
        wanted.attention, wanted.position, wanted.answer, wanted.corrupted, wanted.versus
    )
    return FoundEffects(wanted, patched.effects, False, patched.versus, patched)


def _refuse_heads_off(effects: str, wanted: WantedEffects) -> None:
    """Raise ValueError if heads are disabled, for effects that need the whole model."""
    if wanted.heads:
        raise ValueError(
            f"{effects} are those of the whole model: switch all heads on, or choose another kind "
            "of effects"
        )
