"""Heads that follow a dependency relation of a treebank."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import torch
from torch import Tensor

from attnwidget.behaviors.behavior import Family, Need
from attnwidget.behaviors.behavior_score import BehaviorScore, ExcessTest, HalfScore
from attnwidget.behaviors.evidence import Evidence
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.behaviors.study_behavior import StudyBehavior
from attnwidget.corpus.accumulator import Batch
from attnwidget.kernels.significance import paired_interval
from attnwidget.text.classified_words import classified_words
from attnwidget.text.treebank import Sentence
from attnwidget.words.relation_results import DIRECTIONS, RelationAccuracies
from attnwidget.words.relations import probe_relations
from attnwidget.words.word_segments import WordAxes

_LEFT_OUT = ("all", "root", "punct")
#: Relations of Universal Dependencies: name of the dependent, and name of its governor.
_ENDS = {
    "acl": ("clause", "its noun"),
    "advcl": ("adverbial clause", "its verb"),
    "advmod": ("adverb", "its word"),
    "amod": ("adjective", "its noun"),
    "appos": ("apposition", "its noun"),
    "aux": ("auxiliary", "its verb"),
    "aux:pass": ("passive auxiliary", "its verb"),
    "case": ("preposition", "its noun"),
    "cc": ("conjunction", "its word"),
    "ccomp": ("object clause", "its verb"),
    "compound": ("compound", "its noun"),
    "conj": ("second conjunct", "the first"),
    "cop": ("copula", "its predicate"),
    "det": ("determiner", "its noun"),
    "iobj": ("indirect object", "its verb"),
    "mark": ("conjunction", "its clause"),
    "nmod": ("modifying noun", "its noun"),
    "nmod:poss": ("possessive", "its noun"),
    "nsubj": ("subject", "its verb"),
    "nsubj:pass": ("passive subject", "its verb"),
    "nummod": ("number", "its noun"),
    "obj": ("object", "its verb"),
    "obl": ("phrase", "its verb"),
    "xcomp": ("complement", "its verb"),
}


#: English function words that depend on a later word. Other relations need a parser.
_DEPENDENTS = {
    "det": "the a an this that these those some any no every each another all both either neither",
    "case": "of in to for with on at from by about as into like through after over between out "
    "against during without before under around among near beside behind",
    "nmod:poss": "my your his her its our their",
    "aux": "is are was were am be been has have had do does did will would can could shall should "
    "may might must",
    "aux:pass": "is are was were am be been being",
    "cop": "is are was were am be been",
    "cc": "and or but nor",
}
#: Largest distance in words between a function word and its governor.
_REACH = 4


def name_of_relation(relation: str, direction: str) -> str:
    """Return the name of heads that follow a relation, such as "determiner to its noun".

    Relations outside of Universal Dependencies keep their label: "label to its governor".

    Example:
        >>> from attnwidget.behaviors.relations import name_of_relation
        >>> name_of_relation("det", "dependent to governor")
        'determiner to its noun'
        >>> name_of_relation("det", "governor to dependent")
        'noun to its determiner'
        >>> name_of_relation("my label", "governor to dependent")
        'governor to its my label'
    """
    dependent, governor = _ENDS.get(relation, (relation, "its governor"))
    if direction == DIRECTIONS[0]:
        return f"{dependent} to {governor}"
    return f"{governor.removeprefix('its ')} to its {dependent}"


def relation_of_name(name: str) -> tuple[str, str] | None:
    """Return relation and direction of a name of `name_of_relation`; None for other names.

    Example:
        >>> from attnwidget.behaviors.relations import relation_of_name
        >>> relation_of_name("noun to its determiner")
        ('det', 'governor to dependent')
        >>> relation_of_name("my label to its governor"), relation_of_name("induction")
        (('my label', 'dependent to governor'), None)
    """
    for relation in _ENDS:
        for direction in DIRECTIONS:
            if name == name_of_relation(relation, direction):
                return relation, direction
    if name.endswith(" to its governor"):
        return name.removesuffix(" to its governor"), DIRECTIONS[0]
    if name.startswith("governor to its "):
        return name.removeprefix("governor to its "), DIRECTIONS[1]
    return None


class RelationRule(LinkRule):
    """A rule that predicts the links of a treebank relation, between all tokens of two words.

    Args:
        name: Name of the behavior.
        sentences: Sentences; a batch has `WordSegment`s with their indices.
        relation: Relation with its subtype.
        direction: Direction of attention, one of `DIRECTIONS`.
    """

    def __init__(
        self, name: str, sentences: Sequence[Sentence], relation: str, direction: str
    ) -> None:
        self.name = name
        self._sentences = sentences
        self._relation = relation
        self._reverse = direction != DIRECTIONS[0]

    def links(self, batch: Batch) -> Tensor:
        n = batch.real.shape[1]
        links = torch.zeros(len(batch.real), n, n, dtype=torch.bool, device="cpu")
        axes = WordAxes(batch)
        for item, segment in enumerate(axes.segments):
            sentence = self._sentences[segment.index]
            for word, (label, governor) in enumerate(
                zip(sentence.relations, sentence.governors, strict=True)
            ):
                if label == self._relation and governor:
                    ends = axes.tokens(item, word), axes.tokens(item, governor - 1)
                    for query, key in product(*(ends[::-1] if self._reverse else ends)):
                        links[item, query, key] = True
        return links.to(batch.real.device)


# Smallest number of words with a relation in the half that scores heads.
_LEAST_WORDS = 20


class RelationBehavior(StudyBehavior):
    """Accuracy of a head on each frequent relation, compared with the best fixed offset.

    The study is `probe_relations`. From a word to its governor, the predicted governor is the word
    that the dependent attends to most. From a governor to a word, it is the word that attends most
    to the dependent. The two directions of a relation are separate behaviors. The test is McNemar's
    exact test.
    """

    name = "relations"
    description = "attends along a dependency relation"
    source = "Clark et al. 2019, 4.2"
    needs: frozenset[Need] = frozenset({"treebank"})

    family: Family = "grammar"

    def gives_name(self, name: str) -> bool:
        return relation_of_name(name) is not None

    def likely_links(self, name: str, batch: Batch) -> Tensor | None:
        """Return links from English function words to the content words that follow.

        Return None for all other relations, because they need a parse.
        """
        relation, direction = relation_of_name(name) or ("", DIRECTIONS[0])
        if relation not in _DEPENDENTS:
            return None
        dependents = _DEPENDENTS[relation].split()
        n = batch.real.shape[1]
        links = torch.zeros(len(batch.real), n, n, dtype=torch.bool, device="cpu")
        for item, axis in enumerate(batch.tokens):
            words = classified_words(axis)
            for position, word in enumerate(words):
                if word.text not in dependents:
                    continue
                for later in words[position + 1 : position + 1 + _REACH]:
                    if not later.text or later.text in dependents:
                        break
                    if later.kind == "content":
                        for query, key in product(word.tokens, later.tokens):
                            links[item, query, key] = True
        links = links if direction == DIRECTIONS[0] else links.mT
        return links.to(batch.real.device)

    def scores(self, evidence: Evidence) -> Sequence[BehaviorScore]:
        halves = [evidence.treebank[::2], evidence.treebank[1::2] or evidence.treebank[:1]]

        def accuracies(number: int) -> RelationAccuracies:
            label = f"relations, half {number + 1} of 2"
            with evidence.run.keeping(f"relations-{number}", label):
                return probe_relations(
                    evidence.model,
                    halves[number],
                    skip_unaligned=True,
                    batch_size=evidence.run.batch_size,
                    progress=evidence.run.progress,
                )

        first, second = accuracies(0), accuracies(1)
        if not (first.complete and second.complete):
            raise KeyboardInterrupt
        return [
            self._score(first, second, r, direction, evidence.treebank)
            for r, relation in enumerate(first.relations)
            if first.counts[r] >= _LEAST_WORDS
            and relation not in _LEFT_OUT
            and not relation.endswith("(all)")
            for direction in range(len(DIRECTIONS))
        ]

    def _score(
        self,
        first: RelationAccuracies,
        second: RelationAccuracies,
        r: int,
        direction: int,
        treebank: Sequence[Sentence],
    ) -> BehaviorScore:
        relation = first.relations[r]
        cells = (slice(None), slice(None), direction, r)
        score = first.accuracy[cells]
        n = int(first.counts[r])
        only_head, only_offset = (counts[cells] for counts in first.only_one_right)
        low, high = paired_interval(only_head.astype(float), only_offset.astype(float), n)
        missing = np.full(score.shape, np.nan)
        held_out = HalfScore(missing, missing, 0)
        if relation in second.relations:
            other = second.relations.index(relation)
            held_out = HalfScore(
                second.accuracy[:, :, direction, other],
                np.full(score.shape, second.baseline[other]),
                int(second.counts[other]),
            )
        name = name_of_relation(relation, DIRECTIONS[direction])
        return BehaviorScore.from_halves(
            self,
            HalfScore(score, np.full(score.shape, first.baseline[r]), n),
            held_out,
            ExcessTest(low, high, first.single_p_values[cells]),
            name=name,
            description=(
                f"attends from a word with the relation {relation} to its governor"
                if direction == 0
                else f"attends from a governor to a word with the relation {relation}"
            ),
            control_name=f"the best fixed offset ({first.baseline_offset[r]:+d})",
            unit="word",
            rule=RelationRule(name, treebank, relation, DIRECTIONS[direction]),
            corpus="treebank",
        )


BEHAVIORS = (RelationBehavior(),)
