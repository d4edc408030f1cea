"""ProbeView: predictions of a trained probe for a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import traitlets
from numpy.typing import NDArray

from attnwidget.capture.maps.python_call import YOURS
from attnwidget.capture.tapping.head import Head
from attnwidget.probes.dependency.dependency_answers import ProbePredictions
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.structural.structural_result import PredictedTree, StructuralProbe
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.dependency_arcs.dependency_probe_answerer import DependencyProbeAnswerer
from attnwidget.widgets.dependency_arcs.sentence_arcs import SentenceArcs, SentenceOptions
from attnwidget.widgets.dependency_arcs.structural_probe_answerer import StructuralProbeAnswerer
from attnwidget.widgets.shared.computed import computed, when_open
from attnwidget.widgets.shared.widget_code import code_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Heads that are selected by their votes for a word.
_SELECTED = 3


class ProbeViewOptions(SentenceOptions, total=False):
    """Options of a `ProbeView`."""

    word: int | None


class ProbeView(SentenceArcs):
    """Sentence with its annotated arcs above the text and a trained probe's predictions below.

    For a probe from `train_dependency_probe`, the arcs of the predicted governors are below the
    text: solid if right, dashed if wrong, and thicker for higher probabilities. A word that is
    predicted as root has an arc to "root" at the edge. Choose a word, with a click or `word`, to
    see the votes of the heads for its governor. A vote is the weight times the attention of a head,
    and the sum over all heads is the score of the arc. The three heads with the largest votes
    become `selected`, also in a linked `HeadGrid`.

    For a probe from `train_structural_probe`, the predicted tree of `layer` at the largest rank is
    below the text: undirected links between words, which are solid if the annotated tree has them,
    and the predicted root. Two matrices show the annotated and the predicted distances between all
    words, with the chosen word marked in both. The figure opens on the best layer.

    `probe` is a result of `train_dependency_probe` or `train_structural_probe`, or of `load_probe`
    with its model. `sentences` are sentences of a treebank, preferably not the training sentences.
    Further options are the options of `DependencyArcs` except the direction.
    Unknown options raise TypeError, a probe without its model ValueError, values out of range
    traitlets.TraitError.

    Example:
        >>> from attnwidget import ProbeView, load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.probes import train_dependency_probe
        >>> sentences = demo_treebank()
        >>> train, dev = sentences[:80], sentences[80:]
        >>> probe = train_dependency_probe(load_model(), train, dev, progress=False)
        >>> view = ProbeView(probe, sentences[80:], word=2)
        >>> view.votes.shape, len(view.selected)
        ((6, 12, 2), 3)
    """

    kind = "dependency_arcs"
    _computed_defaults: ClassVar[Mapping[str, str]] = {
        "selected": "three heads that vote for `word`, otherwise []",
        "layer": "the best layer of a structural probe, otherwise 0",
    }

    word = traitlets.Int(
        None,
        allow_none=True,
        help="Index of the word whose votes or distances are shown, from 0; None = no word.",
    ).tag(sync=True, option=True)

    _answerer: DependencyProbeAnswerer | StructuralProbeAnswerer

    def __init__(
        self,
        probe: DependencyProbe | StructuralProbe,
        sentences: Iterable[Sentence],
        **traits: Unpack[ProbeViewOptions],
    ) -> None:
        if isinstance(probe, DependencyProbe):
            self._answerer = DependencyProbeAnswerer(probe)
        elif isinstance(probe, StructuralProbe):
            self._answerer = StructuralProbeAnswerer(probe)
        else:
            raise TypeError(
                f"ProbeView shows a probe, got {type(probe).__name__}: pass a result of "
                "train_dependency_probe, train_structural_probe or load_probe(path, model)"
            )
        if "direction" in traits:
            raise TypeError("a probe finds governors in one direction: leave direction out")
        self._probe = probe
        super().__init__(self._answerer, sentences, traits)

    def _given(self) -> dict[str, Any]:
        return {"probe": YOURS, "sentences": YOURS}

    def _code(self) -> str:
        return code_of("ProbeView", self._given(), self._chosen())

    @property
    def probe(self) -> DependencyProbe | StructuralProbe:
        """Trained probe."""
        return self._probe

    @property
    def answers(self) -> ProbePredictions | PredictedTree:
        """Predictions of the probe for the current sentence, and layer of a structural probe.

        Raises:
            ValueError: If the sentence is too long for the model or has a word without tokens, if
                the model has changed since the training, or if the layer was not probed.
        """
        with self._lock:
            return self._answerer.answers(self.sentences[self.sentence], self.layer)

    @property
    def votes(self) -> NDArray[np.float64] | None:
        """Votes of all heads for the arc of `word`, weight times attention: float64 [L, H, 2].

        The last axis is the direction: from dependent to governor, and back. None without a word,
        or for a probe that reads no attention.
        """
        if self.word is None:
            return None
        with self._lock:
            return self._answerer.votes(self.sentences[self.sentence], self.word)

    @property
    def vote_metric(self) -> dict[str, NDArray[np.float64]]:
        """Sum of the votes in both directions, as `metrics` of a `HeadGrid`; {} without votes."""
        votes = self.votes
        answers = self.answers
        if votes is None or self.word is None or not isinstance(answers, ProbePredictions):
            return {}
        governor = int(answers.governors[self.word])
        words = answers.sentence.words
        governor_text = words[governor - 1] if governor else "root"
        return {f"vote for “{words[self.word]} → {governor_text}”": votes.sum(-1)}

    @traitlets.validate("word")
    def _check_word(self, proposal: dict[str, Any]) -> int | None:
        word = proposal["value"]
        count = len(self.sentences[self.sentence])
        if word is not None and not 0 <= word < count:
            raise traitlets.TraitError(
                f"'word' must be 0 to {count - 1} in this sentence, got {word}"
            )
        return None if word is None else int(word)

    @when_open("sentence", "sentences")
    def _let_go(self, change: object) -> None:
        self.word = None

    @computed("sentences", "sentence", "layer", page_chooses=("layer",))
    def _drawn(self) -> dict[str, Any]:
        """Drawing data of the sentence with the probe's predictions."""
        return self._answered()

    @traitlets.observe("word")
    def _select_voters(self, change: object) -> None:
        votes = self.votes
        if votes is not None:
            strongest = np.argsort(-votes.sum(-1), axis=None, kind="stable")[:_SELECTED]
            (stack, (_, n_heads)) = next(iter(self.shapes().items()))
            # Put the strongest head last, because a view of one head shows the last selected head.
            self.selected = [Head(*divmod(int(index), n_heads), stack) for index in strongest[::-1]]

    def __repr__(self) -> str:
        return (
            f"ProbeView({self._answerer.label} of {self._probe.model_name}, sentence "
            f"{self.sentence} of {len(self.sentences)}, {self.relation})"
        )
