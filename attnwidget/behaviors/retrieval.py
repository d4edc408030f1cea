"""Heads that attend to the earlier copy of a passage that the text repeats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviors.behavior import Need
from attnwidget.behaviors.evidence import Evidence
from attnwidget.behaviors.paired_inputs import InputPair, PairedInputs
from attnwidget.behaviors.study_behavior import NotApplicableError
from attnwidget.capture.model import AttentionModel
from attnwidget.metrics.induction import start_and_vocabulary
from attnwidget.text.segments import Segment

#: Number of texts. Half of them score heads, and the other half checks the result.
TEXTS = 16
#: Number of tokens of the passage, and smallest and largest number of tokens of the text around it.
NEEDLE = 12
_HAYSTACK = (24, 96)
_FEWEST = 6


class Retrieval(PairedInputs):
    """Attention to the next token of a passage far back, in natural text.

    A passage of one text (the needle) is inserted near the beginning of another text, and the text
    ends with the same passage. The score is the attention from each token of the final passage to
    the next token of the earlier copy, averaged over tokens. The control is the same text with
    another passage near the beginning, measured at the same positions.

    The score is a mean weight in synthetic texts. `retrieval_scores` has the definition of the
    paper: the share of needle tokens that get the largest weight of the head while the model writes
        them.
    """

    name = "retrieval"
    description = "attends to the next token of a passage far back that the text repeats"
    source = "Wu et al. 2024, with attention weights"
    needs: frozenset[Need] = frozenset({"causal"})
    control_name = "another passage at the same places"
    unit = "text"

    def pairs(self, evidence: Evidence) -> Sequence[InputPair]:
        return haystacks(evidence.model, evidence.segments)

    def numbers(self, weights: NDArray[np.float32], pair: InputPair) -> NDArray[np.float32]:
        queries = np.arange(len(pair.ids) - NEEDLE, len(pair.ids) - 1)
        keys = pair.first + np.arange(1, NEEDLE)
        numbers: NDArray[np.float32] = weights[..., queries, keys].mean(-1)[None]
        return numbers


def haystacks(model: AttentionModel, segments: Sequence[Segment]) -> list[InputPair]:
    """Return texts that contain a passage of the next text near the beginning and at the end.

    Raises:
        NotApplicableError: If there are too few texts of the needed length.
    """
    start, _ = start_and_vocabulary(model)
    limit = model.length_limit.tokens
    shortest, longest = _HAYSTACK
    if limit is not None:
        longest = min(longest, limit - len(start) - 2 * NEEDLE)
    texts = [model.tokenizer.convert_tokens_to_ids([*s.first, *s.second]) for s in segments]
    texts = [ids[:longest] for ids in texts if len(ids) >= shortest][: TEXTS + 2]
    n_texts = len(texts) - 2
    if longest < shortest or n_texts < _FEWEST:
        raise NotApplicableError(
            f"retrieval needs {_FEWEST + 2} texts of {shortest} or more tokens, and room for "
            f"{shortest + 2 * NEEDLE + len(start)} tokens"
        )
    pairs = []
    for number in range(n_texts):
        needle, other_needle = (_middle(texts[number + step]) for step in (1, 2))
        text = texts[number]
        split = len(text) // 4
        head = [*start, *text[:split]]
        rest = [*text[split:], *needle]
        pairs.append(InputPair([*head, *needle, *rest], [*head, *other_needle, *rest], len(head)))
    return pairs


def _middle(ids: Sequence[int]) -> list[int]:
    """Return the passage in the middle of a text."""
    first = (len(ids) - NEEDLE) // 2
    return list(ids[first : first + NEEDLE])


BEHAVIORS = (Retrieval(),)
