"""What the relation probe gives back: the table, its significance and figures; what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import transformers
from scipy.stats import binomtest

from attnwidget import load_model
from attnwidget.charts.best_heads import best_heads
from attnwidget.corpus import resume_file
from attnwidget.corpus.other_texts import OtherTexts
from attnwidget.demo import demo_treebank
from attnwidget.text.treebank import Sentence
from attnwidget.words.relations import (
    DIRECTIONS,
    RelationAccuracies,
    predict_governors,
    probe_relations,
)
from fixtures.probed_sentences import SENTENCES, reader
from fixtures.vocabularies import byte_level, sentencepiece, wordpiece
from refusals import naming


def result(correct: Any, counts: list[int], both: Any = None, **fields: Any) -> RelationAccuracies:
    correct = np.asarray(correct)
    shape = (*correct.shape[:3], 1, correct.shape[-1])
    given: dict[str, Any] = {
        "relations": ("all", "obj", "root", "punct", "det")[: len(counts)],
        "counts": np.array(counts),
        "correct": correct,
        "offsets": (1,),
        "baseline_correct": np.zeros((1, len(counts)), int),
        "both_correct": np.zeros(shape, int) if both is None else both,
        "n_sentences": 9,
        "n_skipped": 1,
        "complete": False,
        "unit": "words",
        "possessive": "clark",
        "model_name": "test",
        "stack": "self",
    }
    return RelationAccuracies(**given | fields)


def test_the_table() -> None:
    correct = np.zeros((2, 2, 2, 5), int)
    correct[0, 1, 1] = [80, 40, 0, 30, 5]
    correct[1, 0, 1, 1] = correct[1, 0, 0, 1] = 40
    found = result(correct, [400, 100, 50, 200, 99])
    best = found.best()
    assert best["relation"].tolist() == ["all", "obj"]  # no root, no punct, no rare ones
    obj = best.iloc[1]
    # On equal accuracy the later layer, then the later direction.
    assert (obj["layer"], obj["head"], obj["direction"]) == (1, 0, DIRECTIONS[1])
    assert (obj["accuracy"], round(obj["low"], 3), round(obj["high"], 3)) == (0.4, 0.309, 0.498)
    assert len(found.best(99, skip=())) == 4
    assert found.uas[0, 1, 1] == (80 - 30) / 200
    printed = found.table()
    assert printed.columns.tolist() == [
        "Relation",
        "Head",
        "Head from 1",
        "Accuracy",
        "Baseline",
    ]
    assert printed.values.tolist() == [
        ["All", "L0 H1", "1-2", 20.0, "0.0 (1)"],
        ["obj", "L1 H0", "2-1", 40.0, "0.0 (1)"],
    ]
    frame = found.to_frame()
    assert len(frame) == 2 * 2 * 2 * 5
    row = frame.query(
        "layer == 0 and head == 1 and relation == 'det' and direction == @DIRECTIONS[1]"
    )
    assert row["correct"].tolist() == [5] and row["accuracy"].tolist() == [5 / 99]
    assert found.accuracy.shape == (2, 2, 2, 5)
    assert list(found.heads()) == ["accuracy on all", "accuracy on obj", "accuracy on punct"]
    assert found.heads()["accuracy on obj"].tolist() == [[0, 0.4], [0.4, 0]]
    assert repr(found) == (
        "RelationAccuracies(test, 2×2 heads, 9 sentences, 1 skipped, interrupted, 400 words, "
        "4 relations)"
    )
    with pytest.raises(RuntimeError, match=naming("predict_governors", "accuracies")):
        found.predictions(SENTENCES[0])


def stored(n: int, correct: Any) -> OtherTexts:
    return OtherTexts(
        corpus="EWT",
        description="made",
        names=("all", "obj"),
        counts=np.array([1000, n]),
        correct=np.asarray(correct),
        rules_correct=np.array([[200, 45]]),
        options={},
    )


def test_the_table_has_the_same_heads_on_other_texts() -> None:
    correct = np.zeros((2, 2, 2, 5), int)
    correct[0, 1, 1] = [80, 40, 0, 30, 99]
    elsewhere = np.zeros((2, 2, 2, 2), int)
    elsewhere[0, 1, 1] = [150, 30]
    elsewhere[1, 0, 0] = [900, 90]  # Better there, but not the best head here.
    found = result(correct, [400, 100, 50, 200, 99], other_texts=stored(90, elsewhere))
    table = found.table(99)
    assert table.columns[-2:].tolist() == ["On EWT", "Baseline on EWT"]
    assert table["Baseline on EWT"].tolist()[:2] == [20.0, 50.0]
    assert table["On EWT"].tolist()[:2] == [15.0, 33.3] and np.isnan(table["On EWT"][2])
    assert table.attrs["note"] == "heads chosen and scored on the same words"
    assert "chosen and scored on the same words" in str(found.chart().to_dict()["title"])
    assert np.isnan(found.table(99)["On EWT"][2])
    without = result(correct, [400, 100, 50, 200, 99])
    assert "On EWT" not in without.table(99)
    assert np.isnan(without.on_other_texts(without.best(99))).all()


def test_the_finding_has_the_numbers_on_other_texts() -> None:
    sentences = demo_treebank()
    found = probe_relations(load_model(), sentences, progress=False)
    best = found.best()
    best = best[best["significant"]]
    gains = best["accuracy"] - best["baseline"]
    row = best.loc[gains.idxmax()]
    ewt = found.other_texts
    assert ewt is not None
    at = int(row["layer"]), int(row["head"]), DIRECTIONS.index(row["direction"])
    accuracy = 100 * ewt.accuracy(at, [row["relation"]])[0]
    baseline = 100 * ewt.rule_accuracy(0, [row["relation"]])[0]
    assert found.finding.endswith(f"(on EWT: {accuracy:.0f} % against {baseline:.0f} %)")


def test_heads_and_offsets_chosen_on_other_words_are_scored_here() -> None:
    first = np.zeros((2, 2, 2, 3), int)
    first[0, 0, 0] = [60, 40, 7]
    first[1, 1, 1] = [50, 30, 9]
    second = np.zeros((2, 2, 2, 2), int)
    second[0, 0, 0] = [10, 9]
    second[1, 1, 1] = [90, 80]
    both = np.zeros((2, 2, 2, 2, 2), int)
    both[0, 0, 0, 1] = [4, 5]
    options = {"offsets": (1, -1)}
    chosen_on = result(
        first, [100, 100, 10], both=np.zeros((2, 2, 2, 2, 3), int),
        baseline_correct=np.array([[5, 5, 1], [20, 20, 2]]), **options
    )  # fmt: skip
    scored = result(
        second, [100, 100], both, baseline_correct=np.array([[70, 70], [20, 12]]), **options
    )
    best = scored.best(choose=chosen_on)
    assert best["relation"].tolist() == ["all", "obj"]
    assert best[["layer", "head"]].values.tolist() == [[0, 0], [0, 0]]
    assert best["accuracy"].tolist() == [0.1, 0.09]
    assert best["offset"].tolist() == [-1, -1] and best["baseline"].tolist() == [0.2, 0.12]
    # 6 to 16 and 4 to 7, corrected for the two relations of the table.
    wanted = [binomtest(6, 22, alternative="greater").pvalue, 1]
    assert best["p_value"].tolist() == [pytest.approx(min(1, 2 * wanted[0])), pytest.approx(1)]
    assert scored.best()["accuracy"].tolist() == [0.9, 0.8]
    table = scored.table(choose=chosen_on)
    assert table["Head"].tolist() == ["L0 H0", "L0 H0"]
    assert table.attrs["note"] == "heads chosen on other sentences"
    assert "chosen on other sentences" in str(scored.chart(choose=chosen_on).to_dict()["title"])
    pd.testing.assert_frame_equal(scored.best(choose=scored).drop(columns="p_value"),
                                  scored.best().drop(columns="p_value"))  # fmt: skip
    with pytest.raises(TypeError, match=naming("choose", "probe_relations", "list")):
        scored.best(choose=[])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=naming("choose", "2×2 heads", "offsets (1,)")):
        scored.best(choose=result(first, [100, 100, 10]))


def test_significance_is_against_the_offset_on_the_same_words() -> None:
    correct = np.zeros((1, 1, 2, 2), int)
    both = np.zeros((1, 1, 2, 1, 2), int)
    correct[0, 0, :, 0] = [60, 50]
    correct[0, 0, :, 1] = [60, 50]
    both[0, 0, :, 0, 0] = [50, 50]
    both[0, 0, :, 0, 1] = [40, 30]
    found = result(correct, [100, 100], both, baseline_correct=np.array([[50, 50]]))
    # 10 to 0, 0 to 0; 20 to 10, 20 to 20: corrected for four tests.
    assert found.p_values[0, 0, :, 0].tolist() == [pytest.approx(4 * 0.5**10), 1]
    assert found.p_values[0, 0, 0, 1] == pytest.approx(3 * 0.04937, rel=1e-3)
    assert found.best()["significant"].tolist() == [True, False]


def test_a_probe_goes_on_from_its_resume_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = reader(wordpiece())
    path = tmp_path / "relations.npz"
    whole = probe_relations(model, SENTENCES, batch_size=2, progress=False)
    passes = iter(range(99))

    def interrupt(*_: Any) -> None:
        if next(passes) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(resume_file, "_SECONDS_BETWEEN_SAVES", 0)
    hook = model.hf_model.encoder.layer[1].register_forward_pre_hook(interrupt)
    part = probe_relations(model, SENTENCES, batch_size=2, progress=False, resume=path)
    hook.remove()
    assert not part.complete and 0 < part.n_sentences < len(SENTENCES)
    rest = probe_relations(model, SENTENCES, batch_size=2, progress=False, resume=path)
    assert rest.complete
    np.testing.assert_array_equal(rest.correct, whole.correct)
    np.testing.assert_array_equal(rest.both_correct, whole.both_correct)
    with pytest.raises(ValueError, match=naming("relations.npz", "batch_size", "another")):
        probe_relations(model, SENTENCES, unit="first", progress=False, resume=path)


@pytest.mark.slow
def test_what_cannot_be_probed(tmp_path: Path) -> None:
    model = reader(wordpiece())
    path = tmp_path / "relations.npz"
    chain = Sentence.from_lists(
        ["a"] * 10_000, range(10_000), ["root"] + ["dep"] * 9_999, name="s9"
    )
    lost = Sentence.from_lists(["a", "\u200d"], [0, 1], ["root", "dep"], name="s8")
    with pytest.raises(ValueError, match=naming("'s9'", "10,000 words", "skip_unaligned=True")):
        probe_relations(model, [*SENTENCES, chain], progress=False, resume=path)
    assert not path.exists()
    model = load_model()
    with pytest.raises(
        ValueError, match=naming("'s8'", "word 2", "'\\u200d'", "skip_unaligned=True")
    ):
        probe_relations(model, [*SENTENCES, lost], progress=False)
    found = probe_relations(model, [chain, *SENTENCES, lost], skip_unaligned=True, progress=False)
    assert (found.n_sentences, found.n_skipped, found.complete) == (7, 2, True)
    with pytest.raises(ValueError, match=naming("'s9'", "10,000 words", "skip_unaligned=True")):
        predict_governors(model, chain)
    for options, parts in (
        ({"unit": "word"}, ("unit", "'word'", "'first'")),
        ({"possessive": "either"}, ("possessive", "'either'", "'clark'")),
        ({"offsets": []}, ("offsets", "once")),
        ({"offsets": [1, 1]}, ("offsets", "once")),
    ):
        with pytest.raises(ValueError, match=naming(*parts)):
            probe_relations(model, SENTENCES, progress=False, **options)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=naming("no sentences", "treebank")):
        probe_relations(model, [])
    with pytest.raises(ValueError, match=naming("no texts", "2")):
        probe_relations(model, [chain, lost], skip_unaligned=True, progress=False)


def test_causal_heads_and_encoders_of_two() -> None:
    tokenizer = byte_level()
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=16, n_layer=2, n_head=2, n_positions=64
    )
    causal = load_model(transformers.GPT2LMHeadModel(config), tokenizer)
    predicted = predict_governors(causal, SENTENCES[0])
    assert (
        predicted.governors[:, :, 0, 1:] <= np.arange(1, 7)
    ).all()  # words before, else the first
    assert probe_relations(causal, SENTENCES, progress=False).stack == "self"
    config = transformers.T5Config(
        vocab_size=200, d_model=16, d_kv=4, num_heads=4, num_layers=2, d_ff=16
    )
    two = load_model(transformers.T5ForConditionalGeneration(config), sentencepiece())
    found = probe_relations(two, SENTENCES, progress=False)
    assert found.stack == "encoder" and found.correct.shape[:2] == (2, 4)


def test_figures() -> None:
    found = probe_relations(reader(wordpiece()), SENTENCES, progress=False)
    with pytest.raises(ValueError, match=naming("100 words", "min_count")):
        found.chart()
    spec = found.chart(min_count=2).to_dict()
    (rows,) = spec["datasets"].values()
    named = [row["relation"] for row in rows]
    best = {name.removesuffix(" (all)") for name in found.best(2)["relation"]} - {"all"}
    assert set(named) == best and len(named) == len(best), "each relation once"
    gains = [(row["better"], row["accuracy"] - row["baseline"]) for row in rows]
    assert gains == sorted(gains, reverse=True), "significant gains first, then by size"
    assert all(row["label"] == f"{row['relation']} ({row['n']:.0f})" for row in rows)
    assert found.chart("det").to_dict()["description"].startswith("Accuracy on det")
    with pytest.raises(ValueError, match=naming("'dobj'", "'all', 'det'")):
        found.chart("dobj")


@pytest.mark.slow
def test_the_figure_says_what_it_needs() -> None:
    best = probe_relations(reader(wordpiece()), SENTENCES, progress=False).best(2)
    with pytest.raises(ValueError, match=naming("best_heads", "offset missing")):
        best_heads(best.drop(columns="offset"), title="Heads")
    with pytest.raises(ValueError, match=naming("best_heads", "columns low, high")):
        best_heads(best.drop(columns=["low", "high"]), title="Heads")
    with pytest.raises(ValueError, match=naming("best_heads", "twice")):
        best_heads(pd.concat([best, best]), title="Heads")
    with pytest.raises(ValueError, match=naming("best_heads", "nothing")):
        best_heads(best[:0], title="Heads")
    assert best_heads(best, title="Heads").to_dict()["config"]["background"] == "#ffffff"


def test_latex_and_markdown_have_the_table_of_the_paper() -> None:
    found = probe_relations(reader(wordpiece()), SENTENCES, progress=False)
    columns, rule, first, *_ = found.to_markdown().splitlines()
    assert columns == "| Relation | Head | Head from 1 | Accuracy | Baseline |"
    assert rule.count("---") == 5
    assert first.startswith("| All | ")
    assert r"Relation & Head & Head from 1 & Accuracy & Baseline \\" in found.to_latex()
