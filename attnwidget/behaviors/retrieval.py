"""Heads that look back at a passage far away in a text when the text repeats the passage."""

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

#: Number of texts: half of them score heads, and half check the result.
TEXTS = 16
#: Tokens of the passage, and of the text around it: at least, and at most.
NEEDLE = 12
_HAYSTACK = (24, 96)
_FEWEST = 6


class Retrieval(PairedInputs):
    """Attention to the token that a passage far back continues with, in natural text.

    A passage of one text (the needle) is inserted near the beginning of another text, and the text
    ends with the same passage. The score is the attention from each token of the passage at the end
    to the next token of the passage near the beginning, the mean over tokens. The control is the
    same text with another passage near the beginning, read at the same places.

    The score is a mean of weights, in texts that the package puts together. `retrieval_scores` has
    the definition of the paper: the share of a needle's tokens to which the head attends most while
    the model writes them.
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
    """Return texts with a passage of the next text near their beginning and at their end.

    Raises:
        NotApplicableError: There are too few texts of the needed length.
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
    found = []
    for number in range(n_texts):
        own, other = (_middle(texts[number + step]) for step in (1, 2))
        text = texts[number]
        cut = len(text) // 4
        head = [*start, *text[:cut]]
        rest = [*text[cut:], *own]
        found.append(InputPair([*head, *own, *rest], [*head, *other, *rest], len(head)))
    return found


def _middle(ids: Sequence[int]) -> list[int]:
    """Return the passage in the middle of a text."""
    first = (len(ids) - NEEDLE) // 2
    return list(ids[first : first + NEEDLE])


BEHAVIORS = (Retrieval(),)
