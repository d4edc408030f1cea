"""Words that a head writes from one token to another: sums, a planted circuit, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from attnwidget import load_model
from attnwidget.mechanisms import direct_effects
from attnwidget.mechanisms.written_vocabulary import written_vocabulary
from capture.test_predict import words
from fixtures import planted_circuit, zoo
from fixtures.mechanism_models import tiered
from mechanisms.test_head_writes import randomized
from refusals import naming

TEXT = "w7 w8 w9 w11 w30"
CAUSAL = ["gpt2", "gpt-neox", "llama", "qwen3", "gemma", "gemma2", "gpt-oss", "opt"]


@pytest.mark.parametrize("name", tiered(CAUSAL))
def test_logits_of_a_source_are_its_direct_effects(name: str) -> None:
    attention = load_model(randomized(name), words()).attend(TEXT)
    effects = direct_effects(attention, "w3", "w40")
    for layer, head, key in ((0, 1, 2), (1, 3, 4)):
        found = written_vocabulary(attention, layer, head, query=4, key=key)
        difference = found.logits[3] - found.logits[40]
        wanted = effects.sources[layer, head, key]
        assert difference == pytest.approx(wanted, abs=1e-5 * np.abs(effects.sources).max())
        assert abs(found.logits.mean()) < 1e-6
        assert bool(found.note) == bool(effects.note)


def test_an_induction_head_promotes_the_token_that_it_reads() -> None:
    ids = planted_circuit.repeated()
    attention = planted_circuit.planted_model().attend({"input_ids": ids})
    query = ids.shape[1] - 4
    key = query - 15 + 1  # the token after the first copy of the query
    layer, head = planted_circuit.INDUCTION
    found = written_vocabulary(attention, layer, head, query=query, key=key)
    first, second = found.promoted(2)
    assert first.token == f"id {int(ids[0, key])}" and first.logit > 2 * abs(second.logit)
    assert found.suppressed(1)[0].logit == found.logits.min()


def test_models_without_an_exact_path_are_refused_with_the_reason() -> None:
    masked = load_model(device="cpu").attend("The cat sat.")
    with pytest.raises(
        ValueError, match=naming("BertForMaskedLM", "cls.predictions.transform.dense", "linear")
    ):
        written_vocabulary(masked, 1, 2, query=2, key=1)
    seq2seq = load_model(zoo.build("bart")).attend(zoo.inputs("bart", batch=1, padded=0))
    with pytest.raises(
        TypeError, match=naming("stack", "BartForConditionalGeneration", "encoder-decoder")
    ):
        written_vocabulary(seq2seq, 0, 1, query=2, key=1, stack="decoder")
    with pytest.raises(ValueError, match=naming("key 99", "5")):
        written_vocabulary(masked, 1, 2, query=2, key=99)
