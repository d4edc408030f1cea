"""LinkView: explanation of one attention link and the information that it carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import traitlets

from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.tapping.head import HeadName
from attnwidget.mechanisms.explain_link import LinkExplanation
from attnwidget.mechanisms.head_writes import HeadWrites
from attnwidget.mechanisms.link_factors import LinkFactors
from attnwidget.mechanisms.score_at_distances import ScoresAtDistances
from attnwidget.mechanisms.score_sources import ScoreSources
from attnwidget.mechanisms.written_vocabulary import WrittenVocabulary
from attnwidget.widgets.link_view.link_answers import (
    LinkAnswer,
    LinkAnswers,
    answer_to_wire,
    distances,
    distances_to_wire,
    explanation,
    factors,
    factors_to_wire,
    link_to_wire,
    sources,
    sources_to_wire,
    vocabulary,
    vocabulary_to_wire,
    wavelengths_to_wire,
    writes,
    writes_to_wire,
)
from attnwidget.widgets.link_view.shown_link import ShownLink, shown_link
from attnwidget.widgets.shared.attention_widget import (
    AttentionOptions,
    AttentionWidget,
    chosen_head,
)
from attnwidget.widgets.shared.background import Job
from attnwidget.widgets.shared.background_answers import BackgroundAnswers
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.shared.head_widget import HeadOptions
from attnwidget.widgets.wire.values import axes_to_wire

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Unpack

#: Delay in seconds before the model computes answers about a new link, so that other requests can
#: use the model first.
_PAUSE = 0.1

#: Questions that need the model, in the order in which they are answered.
_QUESTIONS: dict[str, Callable[[ShownLink], LinkAnswer[Any]]] = {
    "factors": factors,
    "distances": distances,
    "writes": writes,
    "vocabulary": vocabulary,
    "sources": sources,
}

#: Questions whose answers depend on the rival.
_AGAINST_A_RIVAL = ("factors", "sources")


class LinkViewOptions(HeadOptions, AttentionOptions, total=False):
    """Options of a `LinkView`."""

    versus: int | None
    distance: int | None


class LinkView(BackgroundAnswers, AttentionWidget):
    """Explanation of a link: why a head attends to a token, and what the link carries.

    A link is a head, a query and a key: the last selected head and the last locked tokens. If the
    figure is linked to a `HeadView`, a click on a line or a cell chooses the link. The figure
    splits the weight of the key, relative to a typical word or a chosen rival, into factors: the
    word itself, its place, and what earlier heads wrote there. It also shows the wavelengths of
    rotary encodings, the weight of the key at different distances, the strongest pairs of writers
    of the query and the key, the share of the key in the head's output, and the words that this
    share promotes. If a model has no exact decomposition, the panel shows the reason.

    The answers about the first link are available when the figure appears. Answers about later
    links are computed in the background; `wait()` waits for them. Options are the traits, passed as
    keywords. An unknown option raises TypeError, a value out of range traitlets.TraitError.

    Args:
        attention: Attention of one input.
        layer: Layer of the head, from 0, or a head name in place of layer and head: "L1 H3",
            (1, 3) or a `Head`. Alternatively, pass `selected`.
        head: Index of the head in its layer, from 0.
        stack: Stack of the layer, for a model with several stacks.
        query: Position of the attending token, from 0. Alternatively, pass `tokens`.
        key: Position of the attended token; default: the key with the largest weight.

    Example:
        >>> from attnwidget import LinkView, load_model
        >>> attention = load_model(device="cpu").attend("The cat sat on the mat.")
        >>> view = LinkView(attention, 2, 8, query=2, key=3)
        >>> list(view.factors.factors)
        ['word', 'place', 'heads']
        >>> view.to_frame().columns.tolist()
        ['panel', 'part', 'value']
        >>> view.close()
    """

    kind = "link_view"
    page_label = "why it attends"
    page_title = "Why a head attends, and what it carries"
    page_remark = "of the link that was shown when the page was saved"
    jobs = ("link",)
    _other_options: ClassVar[Mapping[str, str]] = {
        **AttentionWidget._other_options,
        "query": "'tokens'",
        "key": "'tokens'",
    }

    versus = traitlets.Int(
        None,
        allow_none=True,
        min=0,
        help="Position of the rival key, from 0; None = a typical word for the factors, and the "
        "other key with the largest weight for wavelengths and writers.",
    ).tag(sync=True, option=True)
    distance = traitlets.Int(
        None,
        allow_none=True,
        help="Distance of the slider, in tokens from the query back to the key; None = the "
        "distance in the text.",
    ).tag(sync=True, option=True)

    _answers = traitlets.Instance(LinkAnswers, ())
    # Error of the background job, or "".
    _problem = traitlets.Unicode().tag(sync=True)

    def __init__(
        self,
        attention: Attention,
        layer: int | HeadName | None = None,
        head: int | HeadName | None = None,
        stack: str | None = None,
        *,
        query: int | None = None,
        key: int | None = None,
        **traits: Unpack[LinkViewOptions],
    ) -> None:
        if layer is not None or head is not None or stack is not None:
            if "selected" in traits:
                raise TypeError(
                    "choose the head by `layer`, `head` and `stack`, or by `selected`, not both"
                )
            if isinstance(attention, Attention):
                traits["selected"] = [chosen_head(attention, layer, head, stack)]
        if query is not None or key is not None:
            if "tokens" in traits:
                raise TypeError("choose tokens by `query` and `key`, or by `tokens`, not both")
            positions = [("query", query), ("key", key)]
            traits["tokens"] = [
                (side, position) for side, position in positions if position is not None
            ]
        try:
            super().__init__(attention, **traits)
        except traitlets.TraitError as error:
            # The user passed `query` or `key` and may not know `tokens`, so do not mention it.
            if query is None and key is None:
                raise
            raise traitlets.TraitError(str(error).removeprefix("'tokens': ")) from None
        if self._link_shown is not None:
            self.wait()

    def _chosen(self) -> dict[str, Any]:
        options = super()._chosen()
        if len(self.selected) == 1:
            layer, head, *stack = options.pop("selected")[0]
            head_options = {"layer": layer, "head": head, "stack": stack[0] if stack else None}
            options = {**{name: v for name, v in head_options.items() if v is not None}, **options}
        return options

    # Results

    @property
    def explanation(self) -> LinkExplanation | None:
        """Parts of the score difference between key and rival; None without a link."""
        answer = self._explained
        return answer.found if answer else None

    @property
    def factors(self) -> LinkFactors | None:
        """Factors of the weight; None if unknown or not ready yet."""
        return self._known(self._answers.factors)

    @property
    def distances(self) -> ScoresAtDistances | None:
        """Score and weight of the key at other distances; None if unknown or not ready yet."""
        return self._known(self._answers.distances)

    @property
    def sources(self) -> ScoreSources | None:
        """Score parts by the writers of the query and the key; None if unknown or not ready yet."""
        return self._known(self._answers.sources)

    @property
    def writes(self) -> HeadWrites | None:
        """Output of the head at the query by attended token; None if unknown or not ready yet."""
        return self._known(self._answers.writes)

    @property
    def vocabulary(self) -> WrittenVocabulary | None:
        """Effect of the carried vector on all logits; None if unknown or not ready yet."""
        return self._known(self._answers.vocabulary)

    def _known(self, answer: LinkAnswer[Any] | None) -> Any:
        """Return the result of an answer about the current link; None without such an answer."""
        return answer.found if answer and answer.link is self._link_shown else None

    def to_frame(self) -> pd.DataFrame:
        """Return all parts of all panels as a table with the columns panel, part and value.

        The panels are "why" (factors of the weight, and their product "together"), "wavelengths" in
        models with rotary positions (parts of the score difference, and their "sum"), "who wrote"
        (pairs of writers), "carried" (shares of tokens in the head's output) and "words" (the 10
        vocabulary entries at each end).
        """
        import pandas as pd

        rows: list[tuple[str, str, float]] = []
        if weight_factors := self.factors:
            rows += [("why", name, factor) for name, factor, _ in weight_factors.rows()]
        if (score_parts := self.explanation) and len(score_parts.wavelengths):
            rows += [("wavelengths", name, value) for name, value in score_parts.parts().items()]
            rows.append(("wavelengths", "sum", score_parts.total))
        if score_sources := self.sources:
            pairs = score_sources.strongest(score_sources.matrix.size)
            rows += [("who wrote", f"{q} × {k}", value) for q, k, value in pairs]
        if head_output := self.writes:
            shares = zip(head_output.tokens, head_output.shares, strict=True)
            rows += [("carried", token, float(share)) for token, share in shares]
        if words := self.vocabulary:
            ends = [*words.promoted(10), *reversed(words.suppressed(10))]
            rows += [("words", word.token, word.logit) for word in ends]
        return pd.DataFrame(rows, columns=["panel", "part", "value"])

    # Traits

    @traitlets.validate("versus")
    def _check_versus(self, proposal: dict[str, Any]) -> int | None:
        versus: int | None = proposal["value"]
        count = max(len(stack.key) for stack in self.attention.stacks.values())
        if versus is not None and versus >= count:
            raise traitlets.TraitError(
                f"'versus' must be a token position, 0 to {count - 1} in this text, got {versus}"
            )
        return versus

    @when_open("attention", "tokens", "unit")
    def _forget_distance(self, change: object) -> None:
        self.distance = None

    @when_open("attention")
    def _forget_rival(self, change: object) -> None:
        self.versus = None

    @computed("attention", "selected", sync=False)
    def _stack(self) -> str:
        return self._stepped_stack()

    @computed("attention", "_stack", "unit")
    def _axes(self) -> dict[str, Any]:
        return axes_to_wire(self.attention.stacks[self._stack], self.unit)

    @computed("attention", "_stack")
    def _token_axes(self) -> dict[str, Any]:
        """Token axes of the current stack, which the link uses even if words are locked."""
        return axes_to_wire(self.attention.stacks[self._stack], "tokens")

    @computed("attention", "selected", "tokens", "hidden", "unit", "versus", sync=False)
    def _link_shown(self) -> ShownLink | None:
        """Current link; None without a head or a query."""
        if self.head is None:
            return None
        return shown_link(
            self.attention,
            self.head,
            self.tokens,
            hidden=self.hidden,
            unit=self.unit,
            versus=self.versus,
        )

    @computed("_link_shown", sync=False)
    def _explained(self) -> LinkAnswer[LinkExplanation] | None:
        return explanation(self._link_shown) if self._link_shown else None

    @computed("_explained")
    def _wavelengths(self) -> dict[str, Any] | None:
        """Parts of the score difference by wavelength; None if nothing rotates."""
        answer = self._explained
        if answer is None or answer.found is None or not len(answer.found.wavelengths):
            return None
        return answer_to_wire(answer, wavelengths_to_wire)

    @computed("_answers")
    def _why(self) -> dict[str, Any] | None:
        """Factors of the weight, for the page."""
        return answer_to_wire(self._answers.factors, factors_to_wire)

    @computed("_link_shown")
    def _link(self) -> dict[str, Any] | None:
        """Current link and the options that chose it."""
        if self._link_shown is None:
            return None
        options = {
            "selected": [list(self.head)] if self.head else [],
            "tokens": [list(mark) for mark in self.tokens],
            "hidden": list(self.hidden),
            "unit": self.unit,
            "versus": self.versus,
        }
        return {"asked": options, **link_to_wire(self._link_shown)}

    @computed("_answers")
    def _distances(self) -> dict[str, Any] | None:
        return answer_to_wire(self._answers.distances, distances_to_wire)

    @computed("_answers")
    def _sources(self) -> dict[str, Any] | None:
        answer = self._explained
        is_whole = answer is None or answer.found is None or not any(answer.found.others())
        return answer_to_wire(self._answers.sources, partial(sources_to_wire, is_whole=is_whole))

    @computed("_answers")
    def _writes(self) -> dict[str, Any] | None:
        answer = self._answers.writes
        if answer is None:
            return None
        return answer_to_wire(answer, partial(writes_to_wire, key=answer.link.key))

    @computed("_answers")
    def _vocabulary(self) -> dict[str, Any] | None:
        return answer_to_wire(self._answers.vocabulary, vocabulary_to_wire)

    @traitlets.observe("_link_shown")
    def _find_answers(self, change: object) -> None:
        link = self._link_shown
        self._problem = ""
        if link is None:
            self._answers = LinkAnswers()
        self._ask("link", link, self._answer_job, delay=_PAUSE if self._is_open else 0.0)

    def _answer_job(self, link: ShownLink) -> Job:
        """Answer the questions that need the model, in order."""
        for name, ask in _QUESTIONS.items():
            previous: LinkAnswer[Any] | None = getattr(self._answers, name)
            if previous and previous.link.has_same_ends(link, with_rival=name in _AGAINST_A_RIVAL):
                answer = replace(previous, link=link)
            else:
                answer = ask(link)
            yield self._unless_replaced("link", link, partial(self._add_answer, name, answer))
            if not self._is_asked_now("link", link):
                return

    def _add_answer(self, name: str, answer: LinkAnswer[Any]) -> None:
        self._answers = replace(self._answers, **{name: answer})
