"""ProbeView: what a trained probe answers for a sentence, and which heads it went by."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from time import monotonic
from typing import Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from attnwidget.capture.advice import on_page
from attnwidget.capture.call import YOURS
from attnwidget.capture.head import Head
from attnwidget.probes.dependency_answers import ProbePredictions
from attnwidget.probes.dependency_results import DependencyProbe
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.predictions import sentence_to_wire, too_long
from attnwidget.widgets.dependency_arcs.widget import DependencyArcs
from attnwidget.widgets.shared.code import code_of
from attnwidget.widgets.shared.relation_words import words_of
from attnwidget.widgets.shared.wire import to_wire

#: Votes of a word that the page names, and heads that are selected by them.
_VOTES, _SELECTED = 8, 3
# Sentences whose answers are kept.
_KEPT = 50


class ProbeView(DependencyArcs):
    """A sentence with its annotated arcs above, and below those that a trained probe answers.

    Below are the governors of `train_probe`'s probe: solid where they are the annotated ones,
    dashed elsewhere, the likelier the thicker; a word that it takes for the root has an arc to
    "root" at the edge. Choose a word, by a click or `word`, and see which heads its governor was
    found by: their votes, weight times attention, whose sum over all heads is the score of the arc.
    The three that spoke for it most are then `selected`, also in a linked `HeadGrid`.

    `probe` is what `train_probe` gave, or `load_probe` with its model; `sentences` are those of a
    treebank, best others than it was trained on. Further options are those of `DependencyArcs`,
    without a direction. An unknown one raises TypeError, a probe without its model ValueError, a
    value out of range traitlets.TraitError.

    Example:
        >>> from attnwidget import ProbeView, demo_treebank, load_model, train_probe
        >>> sentences = demo_treebank()
        >>> probe = train_probe(load_model(), sentences[:80], sentences[80:], progress=False)
        >>> view = ProbeView(probe, sentences[80:], word=2)
        >>> view.votes.shape, len(view.selected)
        ((6, 12, 2), 3)
    """

    word = traitlets.Int(
        None,
        allow_none=True,
        help="The word whose governor's votes are shown, counted from 0; None for no word.",
    ).tag(sync=True)

    def __init__(
        self, probe: DependencyProbe, sentences: Iterable[Sentence], **traits: Any
    ) -> None:
        if not isinstance(probe, DependencyProbe):
            raise TypeError(
                f"ProbeView shows a probe, got {type(probe).__name__}: pass what train_probe or "
                "load_probe(path, model) gave"
            )
        if probe.model is None:
            raise ValueError(
                "no model is at hand to read sentences: load_probe(path, model), or "
                "probe.of_model(model)"
            )
        if "direction" in traits:
            raise TypeError("a probe finds governors in one direction: leave direction out")
        self._probe = probe
        self._answers: OrderedDict[int, ProbePredictions] = OrderedDict()
        super().__init__(probe.model, sentences, **traits)

    def _given(self) -> dict[str, Any]:
        return {"probe": YOURS, "sentences": YOURS}

    def _code(self) -> str:
        return code_of("ProbeView", self._given(), self._chosen())

    @property
    def probe(self) -> DependencyProbe:
        """What was trained."""
        return self._probe

    @property
    def answers(self) -> ProbePredictions:
        """What the probe says of the sentence shown.

        Raises:
            ValueError: it is too long for the model, has a word without tokens, or the model has
                changed since the probe was trained.
        """
        with self._lock:
            return self._answer(self.sentence)

    @property
    def votes(self) -> NDArray[np.float64] | None:
        """Weight times attention of every head for the arc of `word`: float64 [L, H, 2].

        From dependent to governor, and back; None without a word, and of a probe that reads no
        attention.
        """
        if self.word is None:
            return None
        return _votes(self.answers, self.word)

    @property
    def vote_metric(self) -> dict[str, NDArray[np.float64]]:
        """The votes of both directions together, as `metrics` of a `HeadGrid`; {} for none."""
        votes = self.votes
        if votes is None or self.word is None:
            return {}
        answers = self.answers
        governor = int(answers.governors[self.word])
        words = answers.sentence.words
        named = words[governor - 1] if governor else "root"
        return {f"vote for “{words[self.word]} → {named}”": votes.sum(-1)}

    @traitlets.validate("word")
    def _check_word(self, proposal: dict[str, Any]) -> int | None:
        word, count = proposal["value"], len(self.sentences[self.sentence])
        if word is not None and not 0 <= word < count:
            raise traitlets.TraitError(f"'word' is 0 to {count - 1} in this sentence, got {word}")
        return None if word is None else int(word)

    @traitlets.observe("sentence", "sentences")
    def _let_go(self, change: object) -> None:
        if self._drawn:
            self.word = None

    @traitlets.observe("word")
    def _select_voters(self, change: object) -> None:
        votes = self.votes
        if votes is not None:
            strongest = np.argsort(-votes.sum(-1), axis=None, kind="stable")[:_SELECTED]
            (stack, (_, n_heads)) = next(iter(self._shapes().items()))
            # The last one is what a view of one head shows.
            self.selected = [Head(*divmod(int(at), n_heads), stack) for at in strongest[::-1]]

    @traitlets.observe("selected")
    def _other_arcs(self, change: object) -> None:
        """Heads say nothing about the arcs of a probe."""

    @traitlets.observe("sentence")
    def _other_sentence(self, change: object) -> None:
        if self._drawn:
            with self._answering():
                self._draw()

    def _answer(self, index: int) -> ProbePredictions:
        if index not in self._answers:
            self._answers[index] = self._probe.predictions(self.sentences[index])
            while len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
        self._answers.move_to_end(index)
        return self._answers[index]

    def _compute(self) -> None:
        self._answers.clear()
        super()._compute()
        scores = self._probe.scores
        low, high = scores.interval
        self._source = {
            **self._source,
            "probe": f"probe of {self._probe.form.kind}",
            "note": f"UAS {100 * scores.uas:.1f} % ({100 * low:.1f} to {100 * high:.1f}) on "
            f"{self._probe.options['n_dev']:,} sentences",
        }

    def _draw(self) -> None:
        sentence = self.sentences[self.sentence]
        problem, answers = too_long(sentence), None
        if not problem:
            try:
                answers = self._answer(self.sentence)
            except ValueError as error:
                problem = on_page(error)
        drawn = sentence_to_wire(self.sentence, sentence, None, None, problem)
        if answers is not None:
            governors = np.stack([answers.governors] * 2).astype(np.int32)
            drawn["predicted"] = {
                "governors": to_wire(governors),
                "map": to_wire(answers.probabilities[:, 1:].astype(np.float32)),
                "root": to_wire(answers.probabilities[:, 0].astype(np.float32)),
                "votes": _strongest_votes(answers),
            }
        self._drawn = drawn
        self._measure()

    def _next(self, right: bool, start: int, step: int, seconds: float) -> tuple[int | None, int]:
        count, until = len(self.sentences), monotonic() + seconds
        for away in range(1, count):
            if monotonic() > until:
                return None, away - 1
            index = (start + step * away) % count
            if self._has(index, right):
                return index, away
        return None, count - 1

    def _has(self, index: int, right: bool) -> bool:
        """Whether the probe is right, or wrong, on a word of the relation in a sentence."""
        sentence = self.sentences[index]
        words = words_of(sentence, self.relation)
        if not words or too_long(sentence):
            return False
        try:
            answers = self._answer(index)
        except ValueError:
            return False  # said when it is shown
        found = answers.governors[words]
        strong = answers.probabilities[words, found] >= self.threshold
        return bool((((found == np.array(sentence.governors)[words]) == right) & strong).any())

    def __repr__(self) -> str:
        return (
            f"ProbeView({self._probe.form.kind} of {self._probe.model_name}, sentence "
            f"{self.sentence} of {len(self.sentences)}, {self.relation})"
        )


def _votes(answers: ProbePredictions, word: int) -> NDArray[np.float64] | None:
    """Votes for the governor that a word got, float64 [L, H, 2]."""
    if answers.votes is None:
        return None
    found: NDArray[np.float64] = answers.votes[..., word, int(answers.governors[word])]
    return found


def _strongest_votes(answers: ProbePredictions) -> dict[str, Any] | None:
    """For each word the heads whose votes are farthest from 0: places in [L, H, 2], and votes."""
    if answers.votes is None:
        return None
    every = np.stack([answers.votes[..., i, g] for i, g in enumerate(answers.governors.tolist())])
    flat = every.reshape(len(every), -1)
    places = np.argsort(-np.abs(flat), axis=1, kind="stable")[:, :_VOTES]
    return {
        "heads": every.shape[2],
        "places": to_wire(places.astype(np.int32)),
        "values": to_wire(np.take_along_axis(flat, places, 1).astype(np.float32)),
        "sums": to_wire(flat.sum(1).astype(np.float32)),
    }
