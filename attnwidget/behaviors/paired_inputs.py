"""Behaviors that are scored on token ids, with a control input for each input."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviors.behavior_score import BehaviorScore, HalfScore, t_test
from attnwidget.behaviors.evidence import Evidence
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.behaviors.matched_sharpness import (
    EXPONENTS,
    entropies_over_ids,
    matching_exponents,
    read_maps,
)
from attnwidget.behaviors.random_heads import RandomHeads
from attnwidget.behaviors.shuffled_model import shuffled_like
from attnwidget.behaviors.study_behavior import StudyBehavior
from attnwidget.capture.model import AttentionModel
from attnwidget.corpus.each_input import numbers_of_each
from attnwidget.kernels.arrays import Float64Array


class InputPair(NamedTuple):
    """Input of a model and its control input.

    Attributes:
        ids: Token ids with a repetition.
        other_ids: Token ids of the same number, in which other tokens replace one copy.
        first: Index of the first token of the first copy.
    """

    ids: list[int]
    other_ids: list[int]
    first: int


class PairedScore(NamedTuple):
    """Behavior that a study on pairs of inputs scores.

    Attributes:
        name: Name of the behavior; "" = the name of the study.
        description: Action of the heads with this name; "" = the description of the study.
        source: Paper or program with the definition; "" = the source of the study.
        rule: Rule that predicts links in other texts, or None.
    """

    name: str = ""
    description: str = ""
    source: str = ""
    rule: LinkRule | None = None


class PairedInputs(StudyBehavior):
    """Behaviors with one number per map, scored on inputs with a control input each.

    Both inputs of a pair are measured at the same positions. Every second pair scores heads, and
    the other pairs check the result. The test is Student's t over pairs, for score minus control.
    The score of a named head also exceeds the scores of equally sharp heads with random weights.

    Attributes:
        control_name: Description of the control.
        unit: Name of an input.
        behaviors: D behaviors that the study scores, in the order of `numbers`.
    """

    control_name: str
    unit: str
    behaviors: Sequence[PairedScore] = (PairedScore(),)

    def gives_name(self, name: str) -> bool:
        return name in (self.name, *(score.name for score in self.behaviors))

    @abstractmethod
    def pairs(self, evidence: Evidence) -> Sequence[InputPair]:
        """Return the pairs of inputs.

        Raises:
            NotApplicableError: If the model or the data allow no pairs.
        """

    @abstractmethod
    def numbers(self, weights: NDArray[np.float32], pair: InputPair) -> NDArray[np.float32]:
        """Return one number per behavior and map, for one input of a pair.

        Args:
            weights: Attention maps, [L, H, n, n].
            pair: Pair of inputs, with the positions.

        Returns:
            Array with one number per behavior and head, [D, L, H].
        """

    def scores(self, evidence: Evidence) -> Sequence[BehaviorScore]:
        model = evidence.model
        pairs = self.pairs(evidence)
        numbers = self._read(evidence, model, pairs)
        random = self._read_random(evidence, pairs) if evidence.n_random_models else []
        return [
            BehaviorScore.from_halves(
                self,
                HalfScore.of_inputs(pair_numbers[..., ::2]),
                HalfScore.of_inputs(pair_numbers[..., 1::2]),
                t_test(pair_numbers[..., ::2]),
                name=behavior.name,
                description=behavior.description,
                source=behavior.source,
                control_name=self.control_name,
                unit=self.unit,
                rule=behavior.rule,
                corpus="" if behavior.rule is None else "segments",
                random=RandomHeads.from_models([(means[d, 0], means[d, 1]) for means in random]),
            )
            for d, (behavior, pair_numbers) in enumerate(zip(self.behaviors, numbers, strict=True))
        ]

    def _read_random(self, evidence: Evidence, pairs: Sequence[InputPair]) -> list[Float64Array]:
        """Return the mean score and control of the heads of each random model, [D, 2, L, H]."""
        inputs = [pair.ids for pair in pairs]
        sharpness = entropies_over_ids(evidence.model, inputs)[0]
        means = []
        for number in range(evidence.n_random_models):
            shuffled = shuffled_like(evidence.model, seed=evidence.seed + number)
            of_random = entropies_over_ids(shuffled, inputs, EXPONENTS)
            exponents = matching_exponents(sharpness, of_random)
            label = f"{self.name}, random model {number + 1} of {evidence.n_random_models}"
            read = self._read(evidence, shuffled, pairs, f"-random-{number}", exponents, label)
            means.append(read.mean(-1))
        return means

    def _read(
        self,
        evidence: Evidence,
        model: AttentionModel,
        pairs: Sequence[InputPair],
        part: str = "",
        exponents: Float64Array | None = None,
        label: str = "",
    ) -> Float64Array:
        """Return score and control of each pair, [D, 2, L, H, pairs].

        `exponents` sharpen the maps of random heads, as in `read_maps`. `label` stands before the
        progress bar; the default is the name of the behavior.
        """
        study = self.name.replace(" ", "-")
        with evidence.run.keeping(f"{study}{part}", label or self.name):
            return numbers_of_each(
                self.name,
                model,
                pairs,
                partial(_of_pair, study=self, exponents=exponents),
                unit=self.unit,
                progress=evidence.run.progress,
            )


def _of_pair(
    model: AttentionModel,
    batch: Sequence[InputPair],
    *,
    study: PairedInputs,
    exponents: Float64Array | None,
) -> Float64Array:
    """Return score and control of one pair, [D, 2, L, H, 1]."""
    (pair,) = batch
    sides = [
        study.numbers(read_maps(model, ids, exponents), pair) for ids in (pair.ids, pair.other_ids)
    ]
    return np.stack(sides, 1).astype(np.float64)[..., None]
