"""Direct effects and patching name the parts of a hand-built induction circuit, and no others."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnwidget.interventions import patch_heads, patch_path
from attnwidget.mechanisms import direct_effects
from fixtures.planted_circuit import INDUCTION, PREVIOUS, planted_model, repeated

# Numbers of other parts, as a share of the number of the planted part.
_NOTHING = 0.05


def texts() -> tuple[list[int], list[int], int, int]:
    """Return two texts with another continuation of their last token, and the continuations.

    The token after the first copy of the last token is another one in the second text. The new
    token occurs once, so that nothing but the circuit predicts it.
    """
    ids = repeated(length=10)[0].tolist()
    clean = ids[:14]
    place = clean.index(clean[-1]) + 1
    answer = clean[place]
    unused = sorted({*range(1, 16)} - {*ids})
    corrupted = [*clean]
    corrupted[place] = unused[0]
    return clean, corrupted, answer, unused[0]


def others(values: np.ndarray, planted: tuple[int, int]) -> float:
    """The largest magnitude among the heads that are not planted."""
    magnitudes = np.abs(values)
    magnitudes[planted] = 0
    return float(magnitudes.max())


def test_direct_effects_name_the_induction_head() -> None:
    clean, _, answer, rival = texts()
    attention = planted_model().attend({"input_ids": torch.tensor([clean])})
    effects = direct_effects(attention, answer, rival)
    planted = effects.head_effects[INDUCTION]
    assert planted == pytest.approx(effects.logit_difference, rel=_NOTHING)
    assert others(effects.head_effects, INDUCTION) < _NOTHING * planted
    assert np.abs(effects.mlp_effects).max() < _NOTHING * planted
    # It writes from the place of the token that it predicts.
    source = clean.index(answer)
    assert effects.sources[INDUCTION][source] == pytest.approx(planted, rel=_NOTHING)


def test_total_effects_name_both_heads() -> None:
    clean, _, answer, rival = texts()
    attention = planted_model().attend({"input_ids": torch.tensor([clean])})
    effects = direct_effects(attention, answer, rival, with_total=True)
    assert effects.total is not None
    totals = effects.total.copy()
    for head in (PREVIOUS, INDUCTION):
        assert totals[head] > 0.8 * effects.logit_difference
        totals[head] = 0
    assert np.abs(totals).max() < _NOTHING * effects.logit_difference


def test_patching_names_the_induction_head() -> None:
    clean, corrupted, answer, rival = texts()
    found = patch_heads(
        planted_model(), (clean, answer), (corrupted, rival), by_position=True, progress=False
    )
    shares = found.heads()["logit difference recovered"]
    assert shares[INDUCTION] == pytest.approx(1, abs=_NOTHING)
    assert others(shares, INDUCTION) < _NOTHING
    assert found.position_scores is not None
    gaps = found.of_positions.difference[INDUCTION] / found.gap.mean()
    assert gaps[-1] == pytest.approx(1, abs=_NOTHING)
    assert np.abs(gaps[:-1]).max() < _NOTHING


def test_patching_names_the_previous_token_head_where_the_texts_differ_in_the_match() -> None:
    """The token before the answer differs: the key of the induction head changes."""
    clean, _, answer, rival = texts()
    place = clean.index(answer)
    # In the corrupted text the last token has its first copy before another token.
    corrupted = [*clean]
    other = next(i for i in range(2, 9) if i not in (place - 1, place))
    corrupted[place - 1], corrupted[other] = corrupted[other], corrupted[place - 1]
    model = planted_model()
    found = patch_heads(model, (clean, answer), (corrupted, rival), scoring="loss", progress=False)
    shares = found.heads()["loss recovered"]
    ranked = np.argsort(-shares, axis=None)
    assert {tuple(np.unravel_index(i, shares.shape)) for i in ranked[:2]} == {PREVIOUS, INDUCTION}
    path = patch_path(
        model, (clean, answer), (corrupted, rival), PREVIOUS, INDUCTION, scoring="loss"
    )
    query, key, value = np.abs(path.of_inputs.difference)
    assert key > 5 * max(query, value)
    nothing = patch_path(
        model, (clean, answer), (corrupted, rival), (0, 3), INDUCTION, scoring="loss"
    )
    assert np.abs(nothing.of_inputs.difference).max() < _NOTHING * key
