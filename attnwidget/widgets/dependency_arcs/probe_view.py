"""ProbeView: the answers of a trained probe for a sentence, and the distances behind them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from time import monotonic
from typing import Any

import numpy as np
import traitlets
from numpy.typing import NDArray

from attnwidget.capture.hub_model.advised_error import on_page
from attnwidget.capture.maps.python_call import YOURS
from attnwidget.capture.tapping.head import Head
from attnwidget.probes.dependency.dependency_answers import ProbePredictions
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.structural.structural_result import PredictedTree, StructuralProbe
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.predictions import sentence_to_wire, too_long
from attnwidget.widgets.dependency_arcs.widget import DependencyArcs
from attnwidget.widgets.shared.relation_words import words_of
from attnwidget.widgets.shared.widget_code import code_of
from attnwidget.widgets.wire.values import to_wire

#: Votes of a word that the page names, and heads that are selected by them.
_VOTES = 8
_SELECTED = 3
# Sentences whose answers are kept.
_KEPT = 50


class ProbeView(DependencyArcs):
    """A sentence with its annotated arcs above, and below what a trained probe answers.

    For a probe from `train_dependency_probe`, the predicted governors are below the text: solid if
    right, dashed if wrong, and thicker for higher probabilities. A word predicted as root has an
    arc to "root" at the edge. Choose a word, by a click or `word`, and see which heads its governor
    was found by: their votes, weight times attention, whose sum over all heads is the score of the
    arc. The three that spoke for it most are then `selected`, also in a linked `HeadGrid`.

    For a probe from `train_structural_probe`, the figure shows the predicted tree of `layer` at the
    largest rank below the text: undirected links between words, solid if the annotated tree has
    them, and the word that is taken for the root. Two matrices show the annotated and the predicted
    distances between all words; a chosen word is marked in both. It opens on the best layer.

    `probe` is the result of `train_dependency_probe` or `train_structural_probe`, or of
    `load_probe` with its model; `sentences` are sentences of a treebank, preferably not the
    training sentences. Further options are the options of `DependencyArcs` except the direction,
    and for a structural probe except the threshold. Unknown options raise TypeError, a probe
    without its model ValueError, values out of range traitlets.TraitError.

    Example:
        >>> from attnwidget import ProbeView, load_model, train_dependency_probe
        >>> from attnwidget.demo import demo_treebank
        >>> sentences = demo_treebank()
        >>> train, dev = sentences[:80], sentences[80:]
        >>> probe = train_dependency_probe(load_model(), train, dev, progress=False)
        >>> view = ProbeView(probe, sentences[80:], word=2)
        >>> view.votes.shape, len(view.selected)
        ((6, 12, 2), 3)
    """

    word = traitlets.Int(
        None,
        allow_none=True,
        help="The word whose votes or distances are shown, counted from 0; None for no word.",
    ).tag(sync=True)

    def __init__(
        self,
        probe: DependencyProbe | StructuralProbe,
        sentences: Iterable[Sentence],
        **traits: Any,
    ) -> None:
        if not isinstance(probe, (DependencyProbe, StructuralProbe)):
            raise TypeError(
                f"ProbeView shows a probe, got {type(probe).__name__}: pass a result of "
                "train_dependency_probe, train_structural_probe or load_probe(path, model)"
            )
        if probe.model is None:
            raise ValueError(
                "no model is at hand to read sentences: load_probe(path, model), or "
                "probe.of_model(model)"
            )
        if "direction" in traits:
            raise TypeError("a probe finds governors in one direction: leave direction out")
        if isinstance(probe, StructuralProbe):
            if "threshold" in traits:
                raise TypeError("links of a tree have no weight: leave threshold out")
            traits = {"layer": probe.best_layer, **traits}
        self._probe = probe
        self._answers: OrderedDict[tuple[int, int], ProbePredictions | PredictedTree]
        self._answers = OrderedDict()
        super().__init__(probe.model, sentences, **traits)

    def _given(self) -> dict[str, Any]:
        return {"probe": YOURS, "sentences": YOURS}

    def _code(self) -> str:
        return code_of("ProbeView", self._given(), self._chosen())

    @property
    def probe(self) -> DependencyProbe | StructuralProbe:
        """What was trained."""
        return self._probe

    @property
    def answers(self) -> ProbePredictions | PredictedTree:
        """Return the probe's answers for the shown sentence (and layer of a structural probe).

        Raises:
            ValueError: it is too long for the model, has a word without tokens, or the model has
                changed since the probe was trained; the layer was not probed.
        """
        with self._lock:
            return self._answer(self.sentence, self.layer)

    @property
    def votes(self) -> NDArray[np.float64] | None:
        """Weight times attention of every head for the arc of `word`: float64 [L, H, 2].

        From dependent to governor, and back; None without a word, and of a probe that reads no
        attention.
        """
        answers = self.answers if self.word is not None else None
        if not isinstance(answers, ProbePredictions) or answers.votes is None:
            return None
        weights: NDArray[np.float64]
        weights = answers.votes[..., self.word, int(answers.governors[self.word])]
        return weights

    @property
    def vote_metric(self) -> dict[str, NDArray[np.float64]]:
        """The votes of both directions together, as `metrics` of a `HeadGrid`; {} for none."""
        votes = self.votes
        answers = self.answers
        if votes is None or self.word is None or not isinstance(answers, ProbePredictions):
            return {}
        governor = int(answers.governors[self.word])
        words = answers.sentence.words
        named = words[governor - 1] if governor else "root"
        return {f"vote for “{words[self.word]} → {named}”": votes.sum(-1)}

    @traitlets.validate("word")
    def _check_word(self, proposal: dict[str, Any]) -> int | None:
        word = proposal["value"]
        count = len(self.sentences[self.sentence])
        if word is not None and not 0 <= word < count:
            raise traitlets.TraitError(f"'word' is 0 to {count - 1} in this sentence, got {word}")
        return None if word is None else int(word)

    @traitlets.observe("sentence", "sentences")
    def _let_go(self, change: object) -> None:
        if self._drawn:
            self.word = None

    @traitlets.observe("word")
    def _select_voters(self, change: object) -> None:
        votes = self.votes if isinstance(self._probe, DependencyProbe) else None
        if votes is not None:
            strongest = np.argsort(-votes.sum(-1), axis=None, kind="stable")[:_SELECTED]
            (stack, (_, n_heads)) = next(iter(self._shapes().items()))
            # A view of one head shows the last of the selected heads.
            self.selected = [Head(*divmod(int(at), n_heads), stack) for at in strongest[::-1]]

    @traitlets.observe("selected")
    def _other_arcs(self, change: object) -> None:
        """Heads say nothing about the arcs of a probe."""

    @traitlets.observe("sentence", "layer")
    def _other_answers(self, change: dict[str, Any]) -> None:
        reads_layer = isinstance(self._probe, StructuralProbe)
        if self._drawn and (change["name"] == "sentence" or reads_layer):
            with self._answering():
                self._draw()

    def _answer(self, index: int, layer: int) -> ProbePredictions | PredictedTree:
        probe = self._probe
        sentence = self.sentences[index]
        key = index, layer if isinstance(probe, StructuralProbe) else 0
        if key not in self._answers:
            self._answers[key] = (
                probe.predictions(sentence, layer=layer)
                if isinstance(probe, StructuralProbe)
                else probe.predictions(sentence)
            )
            while len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
        self._answers.move_to_end(key)
        return self._answers[key]

    def _compute(self) -> None:
        self._answers.clear()
        super()._compute()

    def _draw(self) -> None:
        self._drawn, self._source = self.drawn_in(self.layer), self._source | self._about()
        self._measure()

    def _about(self) -> dict[str, Any]:
        """What the page says of the probe; its score is that of the layer shown."""
        probe = self._probe
        if isinstance(probe, DependencyProbe):
            measure, value, (low, high) = "UAS", probe.scores.uas, probe.scores.interval
            about: dict[str, Any] = {"probe": f"probe of {probe.form.kind}"}
        else:
            about = {"probe": "structural probe", "probed": list(probe.layers)}
            if self.layer not in probe.layers:
                return about | {"note": ""}
            measure = "UUAS"
            value, low, high = probe.scores[-1, :, 0, probe.layers.index(self.layer)]
        of = f"on {probe.options['n_dev']:,} sentences"
        score = f"{measure} {100 * value:.1f} % ({100 * low:.1f} to {100 * high:.1f}) {of}"
        return about | {"note": score}

    def drawn_in(self, layer: int) -> dict[str, Any]:
        """Return the drawing data of the shown sentence (and layer of a structural probe)."""
        sentence = self.sentences[self.sentence]
        problem = too_long(sentence)
        answers = None
        if not problem:
            try:
                answers = self._answer(self.sentence, layer)
            except ValueError as error:
                problem = on_page(error)
        drawn = sentence_to_wire(self.sentence, sentence, None, None, problem)
        if isinstance(answers, ProbePredictions):
            governors = np.stack([answers.governors] * 2).astype(np.int32)
            drawn["predicted"] = {
                "governors": to_wire(governors),
                "map": to_wire(answers.probabilities[:, 1:].astype(np.float32)),
                "root": to_wire(answers.probabilities[:, 0].astype(np.float32)),
                "votes": _strongest_votes(answers),
            }
        elif answers is not None:
            drawn["structure"] = _structure(answers)
        return drawn

    def _next(self, right: bool, start: int, step: int, seconds: float) -> tuple[int | None, int]:
        count = len(self.sentences)
        until = monotonic() + seconds
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
            answers = self._answer(index, self.layer)
        except ValueError:
            return False  # said when it is shown
        if isinstance(answers, PredictedTree):
            return bool((answers.found[words] == right).any())
        governor = answers.governors[words]
        strong = answers.probabilities[words, governor] >= self.threshold
        return bool((((governor == np.array(sentence.governors)[words]) == right) & strong).any())

    def __repr__(self) -> str:
        probe = self._probe
        kind = probe.form.kind if isinstance(probe, DependencyProbe) else "structural probe"
        return (
            f"ProbeView({kind} of {probe.model_name}, sentence {self.sentence} of "
            f"{len(self.sentences)}, {self.relation})"
        )


def _structure(tree: PredictedTree) -> dict[str, Any]:
    """A predicted tree as the page draws it."""
    gold = {*tree.gold_edges}
    links = [(*edge, edge in gold) for edge in tree.edges]
    return {
        "layer": tree.layer,
        "links": to_wire(np.array(links, np.int32).reshape(-1, 3)),
        "found": to_wire(tree.found.astype(np.int32)),
        "root": tree.root,
        "gold": to_wire(tree.gold_distances.astype(np.int32)),
        "distances": to_wire(tree.distances.astype(np.float32)),
        "depths": to_wire(tree.depths.astype(np.float32)),
    }


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
