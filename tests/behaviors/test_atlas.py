"""The atlas of a model with planted heads and of the embedded model, its files and its effects."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from attnwidget import (
    AttentionModel,
    Head,
    atlas,
    load_atlas,
    load_model,
    make_segments,
    read_segments,
)
from attnwidget.behaviors.effects import measure_effects
from attnwidget.behaviors.effects.head_effect import head_effect, outcome_of
from attnwidget.behaviors.effects.question_losses import QuestionLosses, question_losses
from attnwidget.behaviors.head_atlas import build_atlas
from attnwidget.behaviors.head_atlas.atlas_result import Atlas
from attnwidget.demo import demo_atlas, demo_prose, demo_treebank
from attnwidget.interventions.examples import encode_examples
from attnwidget.text.segments import Segment
from fixtures import planted_circuit as planted
from fixtures.on_workers import on_workers
from refusals import naming

QUIET: dict[str, Any] = {"progress": False, "batch_size": 4}
CHOSEN = [
    "previous token",
    "rests on the first token",
    "induction",
    "repeated random tokens",
    "copying",
]


@pytest.fixture(scope="module")
def circuit() -> AttentionModel:
    model = planted.planted_llama()
    return load_model(model, planted.planted_tokenizer(), name="planted circuit", device="cpu")


@pytest.fixture(scope="module")
def texts(circuit: AttentionModel) -> list[Segment]:
    return make_segments(planted.repeated_texts(16), circuit)


def planted_atlas(model: AttentionModel, texts: list[Segment], **options: Any) -> Atlas:
    options = {"treebank": (), "behaviors": CHOSEN, "n_examples": 3, "n_random_models": 1} | options
    return atlas(model, texts, **options, **QUIET)


@pytest.fixture(scope="module")
def of_circuit(circuit: AttentionModel, texts: list[Segment]) -> Atlas:
    return planted_atlas(circuit, texts)


@pytest.mark.slow
def test_planted_heads_are_causes_that_feed_each_other(of_circuit: Atlas) -> None:
    assert set(of_circuit.find("induction")) == {Head(*planted.INDUCTION)}
    assert of_circuit.find("previous") == [Head(*planted.PREVIOUS)]
    card = of_circuit.card(*planted.INDUCTION)
    # The layer has three other heads: too few to show that the best of them does less.
    assert card.effect is not None and card.effect.outcome == "secondary cause"
    # Before the repetition, the head predicts a wrong token, and the loss falls without it.
    assert card.effect.effect > 1 > 0 > card.effect.matched
    previous = of_circuit.card(*planted.PREVIOUS)
    assert previous.effect is not None and previous.effect.outcome == "secondary cause"
    assert previous.effect.low > 0 and np.isnan(previous.effect.advantage)
    keys = [feeder.head for feeder in card.feeds if feeder.fed == "key"]
    assert keys[0] == Head(*planted.PREVIOUS)
    words = [item for item in card.writes if item.source.startswith("w")]
    assert words and all(item.source == item.promoted[0] for item in words)
    assert set(card.examples) >= {"strongest", "heaviest", "top tenth", "middle", "missed"}
    links = [link for link in card.examples["strongest"] if link.key > 0]
    for link in links:
        assert link.tokens.text[link.key - 1] == link.tokens.text[link.query]


def test_a_card_prints_the_evidence(of_circuit: Atlas) -> None:
    printed = repr(of_circuit.card(*planted.INDUCTION))
    assert printed.startswith("L1 H2: ") and "secondary cause: loss +" in printed
    assert "L0 H1 feeds its key" in printed and "strongest: " in printed
    assert repr(of_circuit.card(1, 0)).startswith("L1 H0: no name")
    assert {"behavior", "score", "control", "adjusted"} <= set(
        of_circuit.card(1, 2).to_frame().columns
    )


def test_an_atlas_is_a_table_and_a_figure(of_circuit: Atlas) -> None:
    frame = of_circuit.to_frame()
    assert len(frame) == 8 and (frame["name"] != "").sum() == 2
    assert set(frame["outcome"]) == {"", "secondary cause"}
    assert of_circuit.chart() is not None and of_circuit.chart("induction") is not None
    assert repr(of_circuit).startswith("Atlas(planted circuit, 8 heads, 2 named")
    assert of_circuit.provenance["n_texts"] == 16 and "torch" in of_circuit.provenance["versions"]
    with pytest.raises(ValueError, match=naming("'retrieval'", "behavior")):
        of_circuit.find("retrieval")
    with pytest.raises(ValueError, match=naming("head 4", "0 to 3")):
        of_circuit.card(0, 4)


def test_the_chart_counts_heads_that_rest() -> None:
    found = demo_atlas()
    spec = found.chart().to_dict()
    (rows,) = spec["datasets"].values()
    resting = {row["name"]: row for row in rows if row["says"] == "rests on [CLS]"}
    assert len(resting) == (found.names == "rests on [CLS]").sum() == 29
    assert all(
        row["text"] == "•" and row["shade"] == 0 < row["strength"] for row in resting.values()
    )
    others = [row for row in rows if row["says"] and row["name"] not in resting]
    assert len(others) == 9
    assert all(row["shade"] == row["strength"] and row["text"] != "•" for row in others)
    subtitle = " ".join(spec["title"]["subtitle"])
    assert "9 of 72 heads do more than rest; •: rests on [CLS] 29; 34 without a name" in subtitle
    # A letter never stands for a name that has a dot.
    assert subtitle.count("rests on") == 1


def same(first: Atlas, second: Atlas) -> None:
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame(), check_exact=True)
    pd.testing.assert_frame_equal(first.table.to_frame(), second.table.to_frame())
    for layer, head in np.ndindex(*first.names.shape):
        assert repr(first.card(layer, head)) == repr(second.card(layer, head))
        assert first.examples.keys() == second.examples.keys()
        for kind, links in first.examples[Head(layer, head)].items():
            others = second.examples[Head(layer, head)][kind]
            assert [str(link) for link in links] == [str(link) for link in others]


def test_a_saved_atlas_is_the_same(of_circuit: Atlas, tmp_path: Path) -> None:
    path = tmp_path / "atlas.json"
    of_circuit.save(path)
    same(of_circuit, load_atlas(path))
    stored = json.loads(path.read_text("utf-8"), parse_constant=lambda name: pytest.fail(name))
    assert stored["format"] == "attnwidget atlas"
    with pytest.raises(ValueError, match=naming("'atlas.txt'", '"atlas.json"', '"atlas.html"')):
        of_circuit.save(tmp_path / "atlas.txt")
    for text in ("no JSON", "[]", '{"format": "other"}', '{"format": "attnwidget atlas"}'):
        path.write_text(text)
        with pytest.raises(ValueError, match=naming("Atlas.save", "atlas.json")):
            load_atlas(path)


@pytest.mark.slow
def test_workers_and_resume_files_give_the_same_atlas(
    circuit: AttentionModel, texts: list[Segment], of_circuit: Atlas, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(2) as pool:
        same(of_circuit, on_workers(pool, planted_atlas, circuit, texts))
    for _ in range(2):
        same(of_circuit, planted_atlas(circuit, texts, resume=tmp_path / "parts"))
    assert {"texts.npz", "repeated-random-tokens.npz", "effects-segments.npz"} <= {
        path.name for path in (tmp_path / "parts").iterdir()
    }
    with pytest.raises(ValueError, match=naming("another study")):
        planted_atlas(circuit, texts, resume=tmp_path / "parts", n_effect_texts=3)


@pytest.mark.slow
def test_an_interrupted_atlas_has_what_was_done(
    circuit: AttentionModel, texts: list[Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(measure_effects, "question_losses", interrupted)
    found = planted_atlas(circuit, texts)
    assert not found.complete and not found.effects and found.find("induction")
    assert "interrupted" in repr(found)
    monkeypatch.setattr(build_atlas, "measure", interrupted)
    found = planted_atlas(circuit, texts)
    assert not found.complete and "missed" not in found.examples[Head(1, 2)]


@pytest.mark.slow
def test_losses_equal_those_of_switched_off_heads(model: AttentionModel) -> None:
    segments = make_segments(["The captain told his men to wait.", "It was a cold night."], model)
    heads = [Head(4, 1), Head(1, 8)]
    reference = ["The dog saw the cat.", "They went home."]
    found = question_losses(model, segments, heads, reference, progress=False)
    assert found.heads == (Head(1, 8), Head(4, 1)) and found.complete
    asked = encode_examples(model, segments)
    for column, question in enumerate(asked):
        assert found.texts[column] == question.index
        places = list(question.places)
        assert found.places[: len(places), column].tolist() == places
        inputs = torch.tensor([question.encoded.ids])
        for number, head in enumerate(found.heads):
            with model.disabled([head], method="mean", reference=reference), torch.no_grad():
                logits = model.hf_model(input_ids=inputs).logits[0]
            logs = torch.log_softmax(logits, -1)
            losses = -logs[places, list(question.targets)]
            np.testing.assert_allclose(
                found.without[number, : len(places), column], losses, atol=1e-4
            )


WEAK = (0.1, 0.0, 0.02, 0.05, -0.1)
STRONG = (0.3, 0.0, 0.02, 0.05, -0.1)
NAN = float("nan")


@pytest.mark.parametrize(
    ("low", "high", "effect", "difference_low", "random", "outcome"),
    [
        (0.3, 0.5, 0.4, 0.1, WEAK, "primary cause"),
        (0.3, 0.5, 0.4, -0.1, WEAK, "secondary cause"),
        (0.3, 0.5, 0.4, 0.1, STRONG, "secondary cause"),
        (0.3, 0.5, 0.4, -0.1, STRONG, "correlate"),
        (0.3, 0.5, 0.4, NAN, WEAK, "primary cause"),
        (0.3, 0.5, 0.4, NAN, STRONG, "correlate"),
        (0.3, 0.5, 0.4, NAN, WEAK[:4], ""),
        (0.3, 0.5, 0.4, 0.1, WEAK[:4], "secondary cause"),
        (0.3, 0.5, 0.4, -0.1, WEAK[:4], "correlate"),
        (-0.1, 0.3, 0.1, 0.1, (), "null"),
        (-0.3, -0.1, -0.2, -0.1, (0.0,), "interferer"),
    ],
)
def test_outcomes_follow_from_intervals(
    low: float,
    high: float,
    effect: float,
    difference_low: float,
    random: tuple[float, ...],
    outcome: str,
) -> None:
    assert outcome_of(low, high, effect, difference_low, random) == outcome


def test_the_interval_over_the_best_other_head_decides() -> None:
    assert outcome_of(0.3, 0.5, 0.4, NAN, STRONG, 0.01) == "primary cause"
    assert outcome_of(0.3, 0.5, 0.4, NAN, WEAK, -0.01) == "correlate"


def losses_of_equal_heads(n_heads: int, seed: int) -> QuestionLosses:
    """Return losses in 12 texts, each with 4 questions, of a layer whose heads all do the same."""
    random = np.random.default_rng(seed)
    intact = random.normal(3, 0.3, (4, 12))
    changes = random.normal(0.1, 0.1, (n_heads, 4, 12)) + random.normal(0, 0.05, (1, 1, 12))
    return QuestionLosses(
        heads=tuple(Head(0, head) for head in range(n_heads)),
        texts=np.arange(12),
        places=np.tile(np.arange(4)[:, None], (1, 12)),
        intact=intact,
        without=intact + changes,
        complete=True,
    )


@pytest.mark.parametrize("n_heads", [1, 2, 5, 6, 8, 16])
def test_equal_heads_are_no_primary_causes(n_heads: int) -> None:
    fires = np.ones((4, 12), bool)
    causes = 0
    for seed in range(200):
        effect = head_effect("a behavior", Head(0, 0), losses_of_equal_heads(n_heads, seed), fires)
        assert effect.low > 0 or effect.outcome == "null"
        assert np.isnan(effect.advantage_low) == (n_heads <= 5)
        causes += effect.outcome == "primary cause"
    assert causes <= (5 if n_heads > 5 else 0)


def test_a_head_with_a_larger_effect_is_a_primary_cause() -> None:
    losses = losses_of_equal_heads(8, 0)
    losses.without[2] += 0.3
    effect = head_effect("a behavior", Head(0, 2), losses, np.ones((4, 12), bool))
    assert effect.outcome == "primary cause"
    assert 0 < effect.advantage_low < effect.advantage < effect.advantage_high
    best = max(value for _, value in effect.random)
    assert effect.advantage == pytest.approx(effect.effect - best)


def test_progress_bars_name_the_stage_of_the_work(
    circuit: AttentionModel, texts: list[Segment], capsys: pytest.CaptureFixture[str]
) -> None:
    found = atlas(
        circuit, texts, treebank=(), behaviors=CHOSEN, n_examples=1, n_random_models=1, batch_size=4
    )
    assert found.complete
    bars = [line for line in re.split(r"[\r\n]+", capsys.readouterr().err) if line.strip()]
    assert {bar.split(":")[0] for bar in bars} == {
        "behaviors",
        "behaviors, random model 1 of 1",
        "repeated random tokens",
        "repeated random tokens, random model 1 of 1",
        "missed links in the segments",
        "effects in the segments",
    }


@pytest.mark.slow
def test_the_embedded_model_has_known_names(model: AttentionModel) -> None:
    found = atlas(model, **QUIET)
    assert Head(2, 8) in found.find("determiner to its noun")
    assert found.find("previous token")[0] == Head(0, 2)
    assert found.find("next token")[0] == Head(1, 8)
    assert found.card(0, 2).effect is not None
    assert "writes" in found.reasons and "induction" in found.reasons


@pytest.mark.slow
def test_relations_of_an_encoder_have_examples_and_effects(model: AttentionModel) -> None:
    segments = read_segments(demo_prose(), model, max_tokens=24, limit=6)
    found = atlas(
        model,
        segments,
        treebank=demo_treebank(),
        behaviors=["relations"],
        n_examples=2,
        n_effect_texts=12,
        n_random_models=0,
        **QUIET,
    )
    card = found.card(2, 8)
    assert card.name == "determiner to its noun" and card.named_by is not None
    assert card.named_by.control_name == "the best fixed offset (+1)"
    assert card.effect is not None and card.effect.n_places > 0
    for link in card.examples["missed"]:
        assert link.weight < 0.5 and link.tokens.text[link.query] != "[CLS]"
    assert not card.writes and "writes" in found.reasons
