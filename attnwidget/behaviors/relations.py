"""Heads that follow a dependency relation of a treebank."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import torch
from torch import Tensor

from attnwidget.behaviors.behavior import HeadWords, Need
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
#: Names of relations of Universal Dependencies, and the word that such a word depends on.
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


#: Words of English that depend on a later word by a relation. Other relations need a parser.
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
#: Largest distance in words between such a word and the word that it depends on.
_REACH = 4


class RelationRule(LinkRule):
    """A rule that predicts the links of a relation of a treebank, between all tokens of two words.

    Args:
        name: Name of the behavior.
        sentences: The sentences; a batch has `WordSegment`s with their indices.
        relation: The relation with its subtype.
        direction: Who attends to whom (`DIRECTIONS`).
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


# Smallest number of words of a relation in the half that scores heads.
_LEAST_WORDS = 20


class RelationBehavior(StudyBehavior):
    """Accuracy of a head on each frequent relation, against the best fixed offset.

    The study is `probe_relations`. From a word to its governor, the predicted governor is the word
    that the word attends to most; from a governor to a word, it is the word that attends most to
    the word. Both directions of a relation are behaviors of their own. The test is McNemar's exact
    test.
    """

    name = "relations"
    description = "attends along a dependency relation"
    source = "Clark et al. 2019, 4.2"
    needs: frozenset[Need] = frozenset({"treebank"})

    def words(self, name: str) -> HeadWords | None:
        ends = name.split(" to ")
        if len(ends) != 2 or "governor" not in ends:
            return None
        relation = next(end for end in ends if end != "governor")
        dependent, governor = _ENDS.get(relation, (relation, "its governor"))
        if ends[0] == "governor":
            return HeadWords(f"{governor.removeprefix('its ')} to its {dependent}", "grammar")
        return HeadWords(f"{dependent} to {governor}", "grammar")

    def likely_links(self, name: str, batch: Batch) -> Tensor | None:
        """Return links from English function words to the next words of content.

        Return None for all other relations, because they need a parse.
        """
        if self.words(name) is None:
            return None
        relation = name.removeprefix("governor to ").removesuffix(" to governor")
        if relation not in _DEPENDENTS:
            return None
        dependents = _DEPENDENTS[relation].split()
        n = batch.real.shape[1]
        links = torch.zeros(len(batch.real), n, n, dtype=torch.bool, device="cpu")
        for item, axis in enumerate(batch.tokens):
            words = classified_words(axis)
            for place, word in enumerate(words):
                if word.text not in dependents:
                    continue
                for later in words[place + 1 : place + 1 + _REACH]:
                    if not later.text or later.text in dependents:
                        break
                    if later.kind == "content":
                        for query, key in product(word.tokens, later.tokens):
                            links[item, query, key] = True
        links = links.mT if name.startswith("governor to ") else links
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
        of_first = (slice(None), slice(None), direction, r)
        score = first.accuracy[of_first]
        n = int(first.counts[r])
        only_head, only_offset = (counts[of_first] for counts in first.only_one_right)
        low, high = paired_interval(only_head.astype(float), only_offset.astype(float), n)
        unknown = np.full(score.shape, np.nan)
        held_out = HalfScore(unknown, unknown, 0)
        if relation in second.relations:
            other = second.relations.index(relation)
            held_out = HalfScore(
                second.accuracy[:, :, direction, other],
                np.full(score.shape, second.baseline[other]),
                int(second.counts[other]),
            )
        ends = (relation, "governor") if direction == 0 else ("governor", relation)
        name = " to ".join(ends)
        return BehaviorScore.from_halves(
            self,
            HalfScore(score, np.full(score.shape, first.baseline[r]), n),
            held_out,
            ExcessTest(low, high, first.single_p_values[of_first]),
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
