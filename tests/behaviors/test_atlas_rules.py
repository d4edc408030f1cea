"""Rules and shares on the cards of an atlas: planted heads, a rule of the user, files, refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from attnwidget import AttentionModel, Head, atlas, load_atlas, load_model, make_segments
from attnwidget.behaviors import LinkBehavior, measure_rules
from attnwidget.behaviors.effects import named_rules
from attnwidget.behaviors.effects.rule_effects import LossChange
from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.demo import demo_atlas, demo_treebank
from attnwidget.text.segments import Segment
from attnwidget.words import explained_attention
from fixtures import planted_circuit as planted
from refusals import naming

PREVIOUS = Head(*planted.PREVIOUS)
QUIET: dict[str, Any] = {"progress": False, "batch_size": 4}


class OneBack(LinkBehavior):
    """A rule of the user, which the planted head follows."""

    name = "one back"
    description = "attends to the token before"
    source = "this test"
    control = "neighboring keys"

    def links(self, batch: Any) -> torch.Tensor:
        n = batch.real.shape[1]
        return torch.ones(len(batch.real), n, n, dtype=torch.bool).tril(-1).triu(-1)


@pytest.fixture(scope="module")
def circuit() -> AttentionModel:
    model = planted.planted_llama()
    return load_model(model, planted.planted_tokenizer(), name="planted circuit", device="cpu")


@pytest.fixture(scope="module")
def texts(circuit: AttentionModel) -> list[Segment]:
    return make_segments(planted.repeated_texts(16), circuit)


def own_atlas(model: AttentionModel, texts: list[Segment], **options: Any) -> Atlas:
    chosen = {"treebank": (), "behaviors": [OneBack(), "induction"], "n_random_models": 1}
    return atlas(
        model, texts, **chosen, rules=True, effects=False, examples=False, **options, **QUIET
    )


@pytest.fixture(scope="module")
def own(circuit: AttentionModel, texts: list[Segment]) -> Atlas:
    return own_atlas(circuit, texts)


def test_a_rule_of_the_user_gets_coverage_and_replacement(
    own: Atlas, circuit: AttentionModel, texts: list[Segment]
) -> None:
    card = own.card(PREVIOUS)
    assert card.name == "one back" and card.rule is not None
    assert card.rule.coverage.where_applied > 0.9
    held_out = [text for number, text in enumerate(texts) if number % 2]
    other = [text for number, text in enumerate(texts) if not number % 2]
    again = measure_rules(
        circuit, held_out, {PREVIOUS: OneBack()}, reference=other, progress=False, batch_size=4
    )[PREVIOUS]
    assert card.rule.coverage == again.coverage and card.rule.effects == again.effects
    assert card.rule.effects[0].work == "all its work"
    assert card.rule.texts == "8 texts that did not choose the name"
    assert own.named_rules[PREVIOUS].name == "one back"
    assert own.named_rules[Head(*planted.INDUCTION)] == "induction"
    assert own.reasons["shares"] == "there is no treebank"


def test_a_card_and_the_table_say_what_the_rule_recovers(own: Atlas) -> None:
    printed = repr(own.card(PREVIOUS)).replace("\u00a0", " ")
    assert "Its rule predicts 100 % of where the head looks" in printed
    assert "the word itself: its rule recovers " in printed
    row = own.to_frame().set_index(["layer", "head"]).loc[(PREVIOUS.layer, PREVIOUS.head)]
    assert row["work"] == "all its work" and row["recovered"] > 0.9
    assert row["recovered_low"] <= row["recovered"] <= row["recovered_high"]
    assert row["where_applied"] > 0.9 and np.isnan(row["position"])
    unnamed = own.to_frame().query("name == ''")
    assert unnamed["coverage"].isna().all() and set(unnamed["work"]) == {""}


def test_the_bundled_atlas_has_the_rules_of_its_names() -> None:
    atlas = demo_atlas()
    frame = atlas.to_frame()
    named = frame[frame["name"] != ""]
    heads = [f"L{layer} H{head}" for layer, head in zip(named["layer"], named["head"], strict=True)]
    assert sorted(map(str, atlas.rules)) == sorted(heads)
    assert all(rule.rule == atlas.names[head[:2]] for head, rule in atlas.rules.items())
    shares = frame[["position", "grammar", "same_word", "rest"]].to_numpy()
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-3)
    next_token = frame[(frame["layer"] == 1) & (frame["head"] == 8)].iloc[0]
    assert next_token["work"] == "part of its work"
    assert 0.7 < next_token["recovered_low"] < next_token["recovered"] < 0.92
    assert "UD English EWT" in atlas.explained_texts


def test_a_wide_interval_is_no_evidence_that_a_head_is_not_needed(own: Atlas) -> None:
    effect = own.rules[PREVIOUS].effects[0]
    unknown = replace(effect, work="not shown", off=LossChange(0.292, -0.05, 0.63))
    assert unknown.verdict.endswith(
        "do not show whether the model needs this head (off: \u22120.050 to +0.630 nats)"
    )
    small = replace(effect, work="head not needed", off=LossChange(0.001, -0.01, 0.012))
    assert small.verdict == "the model does not need this head"
    nothing = replace(effect, work="recovers nothing")
    assert nothing.verdict == "its rule recovers nothing of what the head is worth"
    assert replace(effect, work="", n_texts=2).verdict == "2 texts, too few to tell"


def test_files_and_resumed_studies_have_the_same_rules(
    own: Atlas, circuit: AttentionModel, texts: list[Segment], tmp_path: Path
) -> None:
    own.save(tmp_path / "atlas.json")
    loaded = load_atlas(tmp_path / "atlas.json")
    pd.testing.assert_frame_equal(own.to_frame(), loaded.to_frame(), check_exact=True)
    # NaN is not equal to itself, so compare what is printed.
    assert repr(loaded.rules[PREVIOUS].effects) == repr(own.rules[PREVIOUS].effects)
    assert loaded.rules[PREVIOUS].coverage == own.rules[PREVIOUS].coverage
    assert loaded.explained is None
    # A loaded atlas has no rule of the user, only its name.
    assert PREVIOUS not in loaded.named_rules
    for _ in range(2):
        found = own_atlas(circuit, texts, resume=tmp_path / "parts")
        pd.testing.assert_frame_equal(own.to_frame(), found.to_frame(), check_exact=True)
    assert (tmp_path / "parts" / "rules-segments.npz").exists()
    stored = json.loads((tmp_path / "atlas.json").read_text("utf-8"))
    stored["rules"]["0,1"]["effects"][0]["work"] = "some of its work"
    (tmp_path / "atlas.json").write_text(json.dumps(stored))
    with pytest.raises(ValueError, match=naming("'some of its work'", "all its work")):
        load_atlas(tmp_path / "atlas.json")


def test_an_interrupted_study_leaves_the_rules_out(
    circuit: AttentionModel, texts: list[Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(named_rules, "measure_rules", interrupted)
    found = own_atlas(circuit, texts)
    assert not found.complete and not found.rules and found.names[PREVIOUS[:2]] == "one back"


def test_shares_of_all_heads_come_from_the_treebank(model: AttentionModel) -> None:
    sentences = demo_treebank()[:12]
    found = atlas(
        model,
        make_segments([sentence.text for sentence in demo_treebank()[12:20]], model),
        treebank=sentences,
        documents=(),
        behaviors=["previous token"],
        rules=True,
        n_effect_texts=4,
        examples=False,
        effects=False,
        n_random_models=0,
        **QUIET,
    )
    expected = explained_attention(model, sentences, skip_unaligned=True, progress=False)
    for layer, head in ((0, 2), (2, 8), (5, 7)):
        shares = found.card(layer, head).shares
        assert list(shares) == ["position", "grammar", "same word", "rest"]
        assert list(shares.values()) == expected.shares[:, layer, head].tolist()
    assert "what decides where it looks: position " in repr(found.card(2, 8))
    assert found.explained_texts == "12 sentences of the treebank"
    row = found.to_frame().iloc[2]
    assert row["same_word"] == expected.shares[2, 0, 2]


def test_results_of_other_heads_or_names_are_refused(model: AttentionModel) -> None:
    stored = demo_atlas()
    sentences = demo_treebank()[:3]
    wrong = measure_rules(model, sentences, {"L0 H2": "next token"}, progress=False)
    with pytest.raises(ValueError, match=naming("L0 H2", "'next token'", "'previous token'")):
        stored.with_measured(wrong)
    circuit = load_model("attnwidget/induction")
    explained = explained_attention(circuit, sentences, skip_unaligned=True, progress=False)
    with pytest.raises(ValueError, match=naming("2×4", "6×12")):
        stored.with_measured(explained=explained)
