"""Patching of heads against plain hooks on the model's own projections, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from attnwidget import MinimalPair, load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.corpus.resume_from import resume_from
from attnwidget.interventions import patch_heads
from attnwidget.results import HeadPatches
from capture.test_predict import words
from fixtures import zoo
from references.hooked_heads import hooked, layers, outputs_of
from refusals import naming

CLEAN = [("w7 w8 w9 w11", "w3"), ("w12 w8 w30 w11", "w6")]
CORRUPTED = [("w7 w20 w9 w11", "w4"), ("w12 w21 w30 w2", "w9")]
BERT_CLEAN = ("The woman said that [MASK] was late.", "she")
BERT_CORRUPTED = ("The man said that [MASK] was late.", "he")


def run(model: AttentionModel, *pairs: Any, **options: Any) -> HeadPatches:
    return patch_heads(model, *pairs, progress=False, **options)


def patched_logits(
    name: str,
    model: AttentionModel,
    source: str,
    base: str,
    heads: list[tuple[int, int]],
    query: int | None = None,
) -> torch.Tensor:
    """The logits of a base text with heads of the source text, by hooks."""
    texts = [dict(model.tokenizer(text, return_tensors="pt")) for text in (source, base)]
    own = layers(name, model.hf_model, "self")
    layer = heads[0][0]
    kept = outputs_of(own[layer], model.hf_model, texts[0])

    def put(outputs: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        changed = outputs.clone()
        rows = slice(None) if query is None else query
        for _, head in heads:
            changed[:, head, rows] = kept[:, head, rows]
        return changed

    with torch.no_grad(), hooked(own[layer], put):
        logits: torch.Tensor = model.hf_model(**texts[1]).logits[0]
    return logits


@pytest.mark.parametrize("name", ["llama", "gpt2", "gpt-neox"])
@pytest.mark.parametrize("into", ["corrupted", "clean"])
def test_patches_are_those_of_hooks(name: str, into: Literal["corrupted", "clean"]) -> None:
    model = load_model(zoo.build(name), words())
    found = run(model, CLEAN, CORRUPTED, patch_into=into, by_position=True)
    assert found.note == "" and found.complete
    vocabulary = model.tokenizer.get_vocab()
    for pair in range(2):
        sides = [CLEAN[pair], CORRUPTED[pair]]
        source, base = sides if into == "corrupted" else sides[::-1]
        answer, rival = (vocabulary[side[1]] for side in sides)

        def score(
            heads: list[tuple[int, int]],
            query: int | None = None,
            texts: tuple[str, str] = (source[0], base[0]),
            ids: tuple[int, int] = (answer, rival),
        ) -> float:
            logits = patched_logits(name, model, *texts, heads, query)[-1]
            return float(logits[ids[0]] - logits[ids[1]])

        for layer, head in [(0, 1), (1, 3), (2, 0)]:
            got = found.head_scores[layer, head, pair]
            assert got == pytest.approx(score([(layer, head)]), abs=1e-4)
            assert found.position_scores is not None
            for query in (1, 3):
                got = found.position_scores[layer, head, query, pair]
                assert got == pytest.approx(score([(layer, head)], query), abs=1e-4)
        whole = score([(1, head) for head in range(4)])
        assert found.layer_scores[1, pair] == pytest.approx(whole, abs=1e-4)
        with torch.no_grad():
            for (text, _), scores in zip(sides, (found.clean, found.corrupted), strict=True):
                logits = model.hf_model(**model.tokenizer(text, return_tensors="pt")).logits[0, -1]
                wanted = float(logits[answer] - logits[rival])
                assert scores[pair] == pytest.approx(wanted, abs=1e-4)


@pytest.mark.slow
def test_masked_answers_and_their_table() -> None:
    model = load_model(device="cpu")
    found = run(model, BERT_CLEAN, BERT_CORRUPTED)
    ids = model.tokenizer.convert_tokens_to_ids(["she", "he"])
    inputs = model.tokenizer(BERT_CORRUPTED[0], return_tensors="pt")
    with model.disabled((2, 3), method="patch", reference=BERT_CLEAN[0]), torch.no_grad():
        logits = model.hf_model(**inputs).logits[0, 5]
    wanted = float(logits[ids[0]] - logits[ids[1]])
    assert found.head_scores[2, 3, 0] == pytest.approx(wanted, abs=1e-4)
    assert found.tokens[2] == "woman / man" and found.clean[0] > found.corrupted[0]
    frame = found.to_frame()
    assert len(frame) == 78 and frame["head"].isna().sum() == 6
    shares = found.of_heads.difference / found.gap.mean()
    np.testing.assert_allclose(found.heads()["logit difference recovered"], shares)
    row = frame[(frame["layer"] == 2) & (frame["head"] == 3)].iloc[0]
    assert row["recovered"] == pytest.approx(shares[2, 3])
    assert found.chart().to_dict() and "into corrupted, 1 pair" in repr(found)
    with pytest.raises(ValueError, match=naming("patch_heads(by_position=True)")):
        found.to_frame("positions")


@pytest.mark.slow
def test_all_heads_of_every_layer_together_carry_the_difference_of_later_tokens() -> None:
    """In a corrupted run, everything at the last token but its own stream comes from heads."""
    model = load_model(zoo.build("gpt2"), words())
    same_end = [("w7 w8 w9 w11", "w3")], [("w7 w20 w9 w11", "w4")]
    one_layer = run(load_model(_one_layer(), words()), *same_end, heads="layers")
    assert one_layer.layer_scores[0, 0] == pytest.approx(one_layer.clean[0], abs=1e-4)
    assert one_layer.heads() == {} and len(one_layer.to_frame()) == 1
    found = run(model, *same_end, heads=[(1, 2)])
    assert np.isnan(found.head_scores).sum() == 11 and np.isnan(found.layer_scores).all()


@pytest.mark.slow
def test_positions_sum_up_where_one_token_counts() -> None:
    """In the last layer only the last token reaches the answer."""
    model = load_model(zoo.build("llama"), words())
    found = run(model, CLEAN, CORRUPTED, by_position=True)
    last = found.of_positions.difference[2]
    np.testing.assert_allclose(last[:, :-1], 0, atol=1e-5)
    np.testing.assert_allclose(last[:, -1], found.of_heads.difference[2], atol=1e-5)
    frame = found.to_frame("positions")
    assert len(frame) == 3 * 4 * 4 and frame["token"][1] == "w8 / w20"
    assert found.chart("positions").to_dict()


@pytest.mark.parametrize("score", ["loss", "accuracy"])
def test_other_scores(score: Any) -> None:
    model = load_model(zoo.build("llama"), words())
    found = run(model, CLEAN, CORRUPTED, scoring=score, heads=[(1, 1)])
    logits = patched_logits("llama", model, CLEAN[0][0], CORRUPTED[0][0], [(1, 1)])[-1]
    answer = model.tokenizer.get_vocab()["w3"]
    wanted = -float(torch.log_softmax(logits, -1)[answer])
    if score == "accuracy":
        wanted = float(logits.argmax() == answer)
    assert found.head_scores[1, 1, 0] == pytest.approx(wanted, abs=1e-4)


def test_a_function_scores_outputs() -> None:
    model = load_model(zoo.build("llama"), words())

    def first(output: Any, batch: Any) -> torch.Tensor:
        assert len(batch.examples) == 1
        return output.logits[:, -1, 0]

    found = run(model, CLEAN, CORRUPTED, scoring=first, heads=[(1, 1)])
    logits = patched_logits("llama", model, CLEAN[1][0], CORRUPTED[1][0], [(1, 1)])
    assert found.score == "first"
    assert found.head_scores[1, 1, 1] == pytest.approx(float(logits[-1, 0]), abs=1e-4)


@pytest.mark.slow
def test_passes_of_the_whole_model_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    model = load_model(zoo.build("llama"), words())
    fast = run(model, CLEAN, CORRUPTED, by_position=True)
    monkeypatch.setattr("attnwidget.capture.tapping.replay.layers_of", lambda _: None)
    slow = run(model, CLEAN, CORRUPTED, by_position=True)
    assert "whole model" in slow.note and "whole model" in repr(slow)
    np.testing.assert_allclose(fast.head_scores, slow.head_scores, atol=1e-4)
    assert fast.position_scores is not None and slow.position_scores is not None
    np.testing.assert_allclose(fast.position_scores, slow.position_scores, atol=1e-4)


def test_patching_goes_on_from_a_resume_file(tmp_path: Path) -> None:
    model = load_model(zoo.build("llama"), words())
    file = tmp_path / "patching.npz"
    with resume_from(file):
        whole = run(model, CLEAN, CORRUPTED)
        again = run(model, CLEAN, CORRUPTED)
        np.testing.assert_array_equal(whole.head_scores, again.head_scores)
        with pytest.raises(ValueError, match=naming("'clean'", "patch_into", "patching.npz")):
            run(model, CLEAN, CORRUPTED, patch_into="clean")


def test_refusals_have_reasons() -> None:
    model = load_model(zoo.build("llama"), words())
    with pytest.raises(ValueError, match=naming("pair 0", "4 clean", "3 corrupted", "attend")):
        run(model, ("w1 w2 w3 w4", "w5"), ("w1 w2 w3", "w6"))
    with pytest.raises(ValueError, match=naming("pair 0", "scoring='loss'", "same")):
        run(model, ("w1 w2", "w6"), ("w1 w3", "w6"))
    with pytest.raises(ValueError, match=naming("2", "1", "corrupted")):
        run(model, CLEAN, CORRUPTED[:1])
    with pytest.raises(ValueError, match=naming("scoring", "'kl'")):
        run(model, CLEAN, CORRUPTED, scoring="kl")
    with pytest.raises(ValueError, match=naming("patch_into", "'both'", "'corrupted'")):
        run(model, CLEAN, CORRUPTED, patch_into="both")
    with pytest.raises(ValueError, match=naming("head 9", "'self'")):
        run(model, CLEAN, CORRUPTED, heads=[(0, 9)])
    with pytest.raises(ValueError, match=naming("L0 H1", "twice", "once")):
        run(model, CLEAN, CORRUPTED, heads=[(0, 1), (0, 1)])
    with pytest.raises(TypeError, match=naming("MinimalPair", "pair")):
        run(model, [MinimalPair("w1 w2", "w1 w3")], [MinimalPair("w1 w2", "w1 w3")])
    shorter = [CLEAN[0], ("w1 w2", "w6")], [CORRUPTED[0], ("w1 w3", "w7")]
    with pytest.raises(ValueError, match=naming("2", "4 tokens", "by_position=False")):
        run(model, *shorter, by_position=True)
    with (
        model.disabled((0, 0), method="mean", reference="w1"),
        pytest.raises(ValueError, match=naming("'mean'", "outside")),
    ):
        run(model, CLEAN, CORRUPTED)


def _one_layer() -> Any:
    model = zoo.build("gpt2")
    model.transformer.h = model.transformer.h[:1]
    model.config.n_layer = 1
    return model
