"""The eigenvalues of copying with an unembedding whose mean over the vocabulary is subtracted."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnwidget.capture.model import AttentionModel
from attnwidget.mechanisms import copying_scores
from fixtures import zoo

NAMES = [5, 6, 7, 8, 9]


@pytest.mark.parametrize("name", ["llama", "gpt-neox"])
def test_a_logit_that_all_tokens_share_changes_only_uncentered_eigenvalues(name: str) -> None:
    model = AttentionModel(zoo.build(name), None, name)
    unembedding = model.hf_model.get_output_embeddings().weight
    both = {}
    for when in ("before", "after"):
        for centered in (False, True):
            both[when, centered] = copying_scores(model, names=NAMES, center_unembed=centered)
        with torch.no_grad():
            # Every token gets the same further logit, so no probability changes.
            unembedding += 0.5 * torch.linspace(-1, 1, unembedding.shape[1])
    centered = [both[when, True].eigenvalues for when in ("before", "after")]
    plain = [both[when, False].eigenvalues for when in ("before", "after")]
    np.testing.assert_allclose(*centered, atol=1e-3)
    assert np.abs(plain[0] - plain[1]).max() > 0.05
    for when in ("before", "after"):
        np.testing.assert_array_equal(both[when, True].copying, both[when, False].copying)
