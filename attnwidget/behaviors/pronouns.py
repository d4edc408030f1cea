"""Heads that attend from a pronoun to the person it refers to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.behaviors.behavior import Need
from attnwidget.behaviors.behavior_score import BehaviorScore, HalfScore, paired_test
from attnwidget.behaviors.coreference import share_right
from attnwidget.behaviors.corpus_texts import document_windows
from attnwidget.behaviors.evidence import Evidence
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.behaviors.study_behavior import NotApplicableError, StudyBehavior
from attnwidget.corpus.accumulator import Batch
from attnwidget.text.classified_words import classified_words
from attnwidget.text.mentions import Document
from attnwidget.words.coreference_results import (
    CoreferenceAccuracies,
    Evaluated,
    EvaluatedWindow,
)
from attnwidget.words.word_segments import WordAxes

#: Pronouns that refer to things.
_THINGS = frozenset({"it", "its", "itself"})
#: Pronouns for speakers and hearers, whom a text seldom names before.
_SPEAKERS = frozenset({"i", "me", "my", "we", "us", "our", "you", "your"})
#: Name of the behavior.
PRONOUN = "pronoun to its person"
_RULES = ("the nearest person", "the first person")


@dataclass(frozen=True)
class _Pronoun:
    """A pronoun with its person; all numbers are word indices in the document.

    Attributes:
        word: Index of the pronoun.
        persons: Head words of the earlier mentions of the same person, without pronouns.
        others: Head words of all earlier mentions, without pronouns, nearest first.
    """

    word: int
    persons: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def rules_right(self) -> tuple[bool, bool]:
        """Whether the nearest and the first person are the person of the pronoun."""
        return self.others[0] in self.persons, self.others[-1] in self.persons


class PronounRule(LinkRule):
    """A rule that predicts the links from a pronoun to the earlier nouns for its person.

    Args:
        name: Name of the behavior.
        documents: All documents.
        windows: Windows of the study; segment i is window i.
    """

    def __init__(
        self, name: str, documents: Sequence[Document], windows: Sequence[EvaluatedWindow]
    ) -> None:
        self.name = name
        self._links = [
            [
                (pronoun.word - window.start, [word - window.start for word in pronoun.persons])
                for evaluated in window.evaluated
                if (pronoun := _pronoun(documents[window.document], evaluated)) is not None
            ]
            for window in windows
        ]

    def links(self, batch: Batch) -> Tensor:
        n = batch.real.shape[1]
        links = torch.zeros(len(batch.real), n, n, dtype=torch.bool, device="cpu")
        axes = WordAxes(batch)
        for item, segment in enumerate(axes.segments):
            for pronoun, persons in self._links[segment.index]:
                keys = [token for word in persons for token in axes.tokens(item, word)]
                for query, key in product(axes.tokens(item, pronoun), keys):
                    links[item, query, key] = True
        return links.to(batch.real.device)


class Pronouns(StudyBehavior):
    """Share of pronouns whose most attended word is a noun for their person.

    Only pronouns count whose person was mentioned earlier by a noun or a name. Pronouns for things
    ("it") do not count. The most attended word is selected from all other words of the window
    (`probe_coreference`). The control is the better of two rules: the nearest and the first person
    mentioned before the pronoun. The test is McNemar's exact test.
    """

    name = PRONOUN
    description = "attends from a pronoun to the person it stands for"
    source = "Clark et al. 2019, 4.3"
    needs: frozenset[Need] = frozenset({"documents"})
    family = "pronoun"

    def likely_links(self, name: str, batch: Batch) -> Tensor | None:
        """Return links from English pronouns of the third person to earlier content words."""
        n = batch.real.shape[1]
        links = torch.zeros(len(batch.real), n, n, dtype=torch.bool, device="cpu")
        for item, axis in enumerate(batch.tokens):
            words = classified_words(axis)
            for position, word in enumerate(words):
                if word.kind != "pronoun" or word.text in _THINGS | _SPEAKERS:
                    continue
                keys = [
                    token
                    for earlier in words[:position]
                    if earlier.kind == "content"
                    for token in earlier.tokens
                ]
                for query, key in product(word.tokens, keys):
                    links[item, query, key] = True
        return links.to(batch.real.device)

    def scores(self, evidence: Evidence) -> Sequence[BehaviorScore]:
        if len(evidence.documents) < 2:
            raise NotApplicableError("pronouns need two documents, one for each half")
        first, second = evidence.coreference
        heads, rules = right_pronouns(first)
        if not len(heads):
            raise NotApplicableError("no pronoun of the first half has a noun for its person")
        best = int(rules.mean(0).argmax())
        return [
            BehaviorScore.from_halves(
                self,
                _half(first, best),
                _half(second, best),
                paired_test(heads, rules[:, best, None, None]),
                control_name=_RULES[best],
                unit="pronoun",
                rule=PronounRule(self.name, evidence.documents, document_windows(evidence)),
                corpus="documents",
            )
        ]


def _half(found: CoreferenceAccuracies, best: int) -> HalfScore:
    """Return the shares of one half, with rule number `best` as the control."""
    heads, rules = right_pronouns(found)
    score = share_right(heads, found)
    control = rules[:, best].mean() if len(heads) else np.nan
    return HalfScore(score, np.full(score.shape, control), len(heads))


def _pronoun(document: Document, evaluated: Evaluated) -> _Pronoun | None:
    """Return an evaluated mention as a pronoun with its person; None for other mentions."""
    mentions = document.mentions
    mention = mentions[evaluated.mention]
    if mention.kind != "pronoun" or document.words[mention.head].lower() in _THINGS:
        return None
    persons, others = (
        tuple(mentions[i].head for i in mention_indices if mentions[i].kind != "pronoun")
        for mention_indices in (evaluated.antecedents, evaluated.candidates)
    )
    return _Pronoun(mention.head, persons, others) if persons else None


def right_pronouns(found: CoreferenceAccuracies) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether heads and the two rules are correct: bool [P, L, H] and [P, 2]."""
    pronouns = [_pronoun(found.documents[e.document], e) for e in found.evaluated]
    rows = [row for row, pronoun in enumerate(pronouns) if pronoun is not None]
    right = np.zeros((len(rows), *found.chosen.shape[2:]), bool)
    rules = np.zeros((len(rows), len(_RULES)), bool)
    for number, row in enumerate(rows):
        pronoun = pronouns[row]
        if pronoun is not None:
            right[number] = np.isin(found.chosen[row, 0], pronoun.persons)
            rules[number] = pronoun.rules_right
    return right, rules


BEHAVIORS = (Pronouns(),)
