"""Answers without groups of links, in windows of layers: against blocks and a planted link."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnwidget import load_model, make_segments, run_on
from attnwidget.interventions import knockout
from fixtures.chat_models import CHATML, chat_model
from fixtures.planted_circuit import planted_llama, planted_tokenizer
from refusals import naming

EXAMPLES = [
    ("The woman washed [MASK] hands.", "her"),
    ("The man washed [MASK] hands.", "his"),
    ("The girl quickly hurt [MASK] leg.", "her"),
    ("The boy hurt [MASK] leg.", "his"),
    ("The queen lost [MASK] crown.", "her"),
    ("The king lost [MASK] crown.", "his"),
    ("The mother called [MASK] son.", "her"),
]
SUBJECTS = ["woman", "man", "girl", "boy", "queen", "king", "mother"]


def study(model: Any = None, examples: Any = EXAMPLES, **options: Any) -> Any:
    model = load_model(device="cpu") if model is None else model
    given = {"to": {"subject": SUBJECTS}, "window": 2, "progress": False} | options
    return knockout(model, examples, **given)


def test_scores_are_those_of_blocks() -> None:
    model = load_model(device="cpu")
    found = study(model)
    assert found.groups == ("subject", "other words", "random links") and not found.note
    assert found.windows == ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 5))
    for index in (0, 2):
        text, label = EXAMPLES[index]
        tokens = model.attend(text).tokens
        subject, mask = tokens.index(SUBJECTS[index]), tokens.index("[MASK]")
        rest = [i for i in range(len(tokens)) if i not in (subject, mask)]
        assert found.n_links[:, index].tolist() == [1, len(tokens) - 2, 1]
        assert found.intact[index] == pytest.approx(model.predict(text).probability(label))
        for row, (first, last) in enumerate(found.windows):
            for column, keys in enumerate(([subject], rest)):
                with model.scaled_links([(mask, keys)], 0, layers=range(first, last + 1)):
                    expected = model.predict(text).probability(label)
                assert found.scores[row, column, index] == pytest.approx(expected, abs=2e-6)


def test_the_subject_is_needed_in_upper_layers() -> None:
    found = study()
    table = found.to_frame()
    worst = table[table["group"] == "subject"].nsmallest(1, "difference").iloc[0]
    assert worst["layer"] == 4 and worst["difference"] < -0.2 and worst["high"] < 0
    random = table[table["group"] == "random links"]
    assert random["difference"].abs().max() < 0.03
    assert table.attrs["n"] == 7 and len(table) == 18
    assert found.finding.startswith(
        "Without its links to subject in layers 4 to 5, the probability of the answer goes from "
    )
    assert "95 % interval" in found.finding and "random links" in found.finding


def test_a_planted_link_is_found_and_no_other() -> None:
    model = load_model(planted_llama(), planted_tokenizer(), device="cpu")
    texts = [("w3 w5 w9 w12 w7 w3", "w5"), ("w8 w2 w11 w6 w2", "w11"), ("w4 w1 w13 w4", "w1")]
    answers = ["w5", "w11", "w1"]
    found = knockout(model, texts, {"copy": answers}, window=1, random_links=False, progress=False)
    assert found.groups == ("copy", "other words")
    change = found.changes.difference
    assert change[1, 0] < -0.5, "the induction head reads the copied token in layer 1"
    assert np.abs(np.delete(change.ravel(), 2)).max() < 0.05
    everywhere = knockout(
        model, texts, {"copy": answers}, from_="all after", window=2, progress=False
    )
    assert everywhere.changes.difference[0, 0] < -0.5


def test_roles_of_a_chat_are_groups() -> None:
    model = chat_model(CHATML, spread=3.0)
    chats = [
        [{"role": "system", "content": system}, {"role": "user", "content": user}]
        for system, user in (("be short", "go on"), ("be kind", "stop"))
    ]
    examples = [(chat, 40) for chat in chats]
    found = knockout(
        model,
        examples,
        {"system": "role=system", "user": "role=user"},
        window=2,
        random_links=False,
        progress=False,
    )
    roles = np.array(model.attend(chats[0]).stacks["self"].query.roles)
    assert found.groups == ("system", "user", "other words")
    assert found.n_links[0, 0] == (roles == "system").sum()
    asked = len(roles) - 1
    with model.scaled_links([(asked, "role=system")], 0, layers=[0, 1], text=chats[0]):
        expected = np.exp(model.predict(chats[0]).log_probabilities[0, 40])
    assert found.scores[0, 0, 0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("scoring", ["loss", "accuracy"])
def test_scores_have_names(scoring: Any) -> None:
    found, probability = study(scoring=scoring), study()
    if scoring == "loss":
        np.testing.assert_allclose(np.exp(-found.scores), probability.scores, atol=1e-9)
        assert "nats" in found.finding
    else:
        assert set(np.unique(found.scores)) <= {0.0, 1.0}
        assert "share of right answers" in found.finding


def test_a_study_continues_from_its_file(tmp_path: Path) -> None:
    model = load_model(device="cpu")
    file = tmp_path / "knockout.npz"
    whole = study(model, resume=file)
    again = study(model, resume=file)
    np.testing.assert_array_equal(whole.scores, again.scores)
    with pytest.raises(ValueError, match=naming("knockout.npz", "another")):
        study(model, resume=file, window=3)


@pytest.mark.slow
def test_workers_give_the_same_bits() -> None:
    whole = study()
    with run_on(ProcessPoolExecutor(2, mp_context=get_context("spawn"))):
        shared = study()
    np.testing.assert_array_equal(whole.scores, shared.scores)


def test_links_that_are_cut_already_stay_cut() -> None:
    model = load_model(device="cpu")
    with model.scaled_links([("[MASK]", "hands")], 0):
        found = study(model, EXAMPLES[:2], to={"subject": SUBJECTS[:2]})
        expected = model.predict(EXAMPLES[0][0]).probability("her")
    assert found.intact[0] == pytest.approx(expected)
    assert "[MASK]→hands cut in all heads" in found.model_name


def test_the_chart_has_a_line_and_a_band_per_group() -> None:
    found = study()
    chart = found.chart().to_dict()
    assert "windows of 2 layers" in chart["title"]["text"][0]
    marks = [layer["mark"]["type"] for layer in chart["layer"]]
    assert marks == ["rule", "area", "line", "point"]
    assert set(chart["layer"][2]["encoding"]["color"]["scale"]["domain"]) == set(found.groups)
    table = found.to_frame()
    assert (table["low"] <= table["difference"]).all()
    assert (table["difference"] <= table["high"]).all()


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"to": {}}, ("to must have an end for each group",)),
        ({"to": {"subject": SUBJECTS[:2]}}, ("to['subject']", "2 ends for 7 examples")),
        ({"to": {"other words": 1}}, ("'other words'", "name of a control")),
        ({"to": {"subject": "nought"}}, ("the key of example 0", "'nought'")),
        ({"to": {"late": 40}}, ("example", "no position 40")),
        ({"window": 0}, ("window",)),
        ({"scoring": "kl"}, ("scoring", "'kl'")),
    ],
)
def test_wrong_groups_are_refused(options: dict[str, Any], parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        study(**options)


def test_examples_have_one_answer() -> None:
    model = load_model(device="cpu")
    with pytest.raises(ValueError, match=naming("example 0", "(text, label)")):
        study(model, make_segments(["It was late, and the men slept. " * 4], model), to={"a": 0})
