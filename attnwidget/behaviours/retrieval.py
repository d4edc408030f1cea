"""Heads that look back at a passage far away in a text when the text repeats the passage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviours.behaviour import Need, StudyBehaviour
from attnwidget.behaviours.behaviour_score import BehaviourScore, t_interval
from attnwidget.behaviours.evidence import Evidence
from attnwidget.behaviours.matched_sharpness import exponents_over_ids, read_maps
from attnwidget.behaviours.not_applicable import NotApplicableError
from attnwidget.behaviours.random_heads import RandomHeads
from attnwidget.behaviours.shuffled_model import shuffled_like
from attnwidget.capture.model import AttentionModel
from attnwidget.corpus.input_numbers import ReadInputs, input_numbers
from attnwidget.corpus.resume_file import digest_of
from attnwidget.kernels.arrays import Float64Array
from attnwidget.metrics.induction import start_and_vocabulary
from attnwidget.text.segments import Segment

#: Number of texts: half of them score heads, and half check the result.
TEXTS = 16
#: Tokens of the passage, and of the text around it: at least, and at most.
NEEDLE = 12
_HAYSTACK = (24, 96)
_FEWEST = 6


@dataclass(frozen=True)
class Haystack:
    """A text with a passage near its beginning and again at its end.

    Attributes:
        ids: The tokens, with the passage at both places.
        other_ids: The same tokens with another passage near the beginning.
        first: Index of the first token of the passage near the beginning.
    """

    ids: tuple[int, ...]
    other_ids: tuple[int, ...]
    first: int


class Retrieval(StudyBehaviour):
    """Attention to the token that a passage far back continues with, in natural text.

    A passage of one text (the needle) is inserted near the beginning of another text, and the text
    ends with the same passage. The score is the attention from each token of the passage at the end
    to the next token of the passage near the beginning, the mean over tokens. The control is the
    same text with another passage near the beginning, read at the same places.
    """

    name = "retrieval"
    description = "attends to the next token of a passage far back that the text repeats"
    source = "Wu et al. 2024, with attention weights"
    needs: frozenset[Need] = frozenset({"causal"})  # type: ignore[misc]

    def scores(self, evidence: Evidence) -> Sequence[BehaviourScore]:
        texts = haystacks(evidence.model, evidence.segments)
        numbers = _read(evidence, evidence.model, texts, "retrieval")  # [2, L, H, texts]
        random = []
        for number in range(evidence.random_models):
            shuffled = shuffled_like(evidence.model, seed=evidence.seed + number)
            exponents = exponents_over_ids(evidence.model, shuffled, [text.ids for text in texts])
            study = f"retrieval-random-{number}"
            read = _read(evidence, shuffled, texts, study, exponents).mean(-1)
            random.append((read[0], read[1]))
        first, second = numbers[..., ::2], numbers[..., 1::2]
        score, control = first.mean(-1)
        differences = first[0] - first[1]
        n = differences.shape[-1]
        low, high, p = t_interval(differences.mean(-1), (differences**2).mean(-1), n)
        heads = RandomHeads.of(random)
        if heads is not None:
            p = np.maximum(p, heads.p_values(score, control))
        held_out, held_out_control = second.mean(-1)
        return [
            BehaviourScore(
                name=self.name,
                description=self.description,
                source=self.source,
                control_name="another passage at the same places",
                score=score,
                control=control,
                low=low,
                high=high,
                p=p,
                n=n,
                unit="text",
                held_out=held_out,
                held_out_control=held_out_control,
                held_out_n=second.shape[-1],
                auc=np.full_like(score, np.nan),
                random=float("nan") if heads is None else heads.largest,
            )
        ]


def haystacks(model: AttentionModel, segments: Sequence[Segment]) -> list[Haystack]:
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
        found.append(Haystack((*head, *own, *rest), (*head, *other, *rest), len(head)))
    return found


def _middle(ids: Sequence[int]) -> list[int]:
    """Return the passage in the middle of a text."""
    first = (len(ids) - NEEDLE) // 2
    return list(ids[first : first + NEEDLE])


def _read(
    evidence: Evidence,
    model: AttentionModel,
    texts: Sequence[Haystack],
    study: str,
    exponents: Float64Array | None = None,
) -> NDArray[np.float64]:
    """Return score and control of all texts, [2, L, H, texts].

    `exponents` sharpen the maps of random heads, as in `read_maps`.
    """
    batches = [[text] for text in texts]
    numbers, complete = input_numbers(
        "retrieval",
        {"inputs": digest_of((text.ids, text.other_ids) for text in texts)},
        model,
        ReadInputs(model, partial(_text_numbers, exponents=exponents)).results(
            batches, evidence.run.executor
        ),
        batches,
        resume=evidence.run.resume_file(study),
        progress=evidence.run.progress,
        unit="text",
    )
    if not complete:
        raise KeyboardInterrupt
    return numbers


def _text_numbers(
    model: AttentionModel, batch: Sequence[Haystack], *, exponents: Float64Array | None
) -> NDArray[np.float64]:
    """Return score and control of one text, [2, L, H, 1]."""
    (text,) = batch
    queries = np.arange(len(text.ids) - NEEDLE, len(text.ids) - 1)
    keys = text.first + np.arange(1, NEEDLE)
    numbers = [
        read_maps(model, ids, exponents)[..., queries, keys].mean(-1)
        for ids in (text.ids, text.other_ids)
    ]
    return np.array(numbers, np.float64)[..., None]
