"""The words that an answer needs, as the page of an explorer gets them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attnwidget import Attention, PredictionView, load_model
from attnwidget.interventions import needed_links
from attnwidget.results import NeededLinks
from attnwidget.widgets.prediction_view import word_needs

TEXT = "The captain told his men that he would not leave the ship."
HE = 7


@pytest.fixture(scope="module")
def attention() -> Attention:
    return load_model(device="cpu").attend(TEXT)


@pytest.fixture
def view(attention: Attention) -> Iterator[PredictionView]:
    made = PredictionView(attention, position=HE)
    yield made
    made.close()


def needs_of(view: PredictionView) -> dict[str, Any]:
    """What the page gets when it asks."""
    view._needs_asked = True
    view.wait()
    found = view._needs
    assert isinstance(found, dict)
    return found


def numbers(array: dict[str, Any]) -> NDArray[np.float32]:
    return np.frombuffer(array["view"], np.float32)


def test_needs_are_those_of_cut_links_in_the_asked_pass(
    attention: Attention, view: PredictionView
) -> None:
    found = needs_of(view)
    expected = needed_links(attention, position=HE, n_random_links=0)
    np.testing.assert_allclose(numbers(found["need"]), expected.need, atol=1e-6)
    np.testing.assert_allclose(numbers(found["attention"]), expected.attention, atol=1e-6)
    assert found["entries"] == [place for place in range(15) if place != HE]
    assert found["masked"] and found["query"] == HE and found["problem"] == ""
    assert found["agreement"] == pytest.approx(expected.agreement)


def test_needs_are_measured_only_on_request_and_again_for_another_question(
    view: PredictionView,
) -> None:
    view.wait()
    assert view._needs is None
    first = needs_of(view)
    view.answer = "they"
    view.wait()
    second = view._needs
    assert second is not None and second["followed"] == "they" != first["followed"]
    view._needs_asked = False
    assert view._needs is None


def test_heads_that_are_off_stay_off(attention: Attention, view: PredictionView) -> None:
    view.disabled = [(2, 11)]
    found = needs_of(view)
    off = attention.disabled([(2, 11)], view.method)
    expected = needed_links(off, "he", position=HE, n_random_links=0)
    np.testing.assert_allclose(numbers(found["need"]), expected.need, atol=1e-6)
    assert found["off"] == [[2, 11, "self"]]


LONG = " ".join(["The captain said that he and the men left the ship ."] * 5)


def test_words_arrive_pass_by_pass_and_orders_are_compared_at_the_end() -> None:
    view = PredictionView(load_model(device="cpu").attend(LONG), position=5)
    sent: list[dict[str, Any]] = []
    view.observe(lambda change: sent.append(change["new"]), "_needs")
    needs_of(view)
    known = [int((~np.isnan(numbers(needs["need"]))).sum()) for needs in sent]
    assert len(known) > 2 and known[0] == 0 and known == sorted(set(known))
    assert known[-1] == len(sent[-1]["entries"])
    assert all(needs["agreement"] is None and needs["control"] is None for needs in sent[:-1])
    assert sent[-1]["agreement"] is not None
    view.close()


@pytest.mark.parametrize(
    "change", [{"_needs_asked": False}, {"position": 2}, {"disabled": [(2, 11)]}]
)
def test_a_reader_who_goes_on_ends_the_measurement(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    view = PredictionView(load_model(device="cpu").attend(LONG), position=5)
    results: list[NeededLinks] = []

    def interrupted(*arguments: Any, on_pass: Any, **options: Any) -> NeededLinks:
        def goes_on(needs: NeededLinks) -> None:
            on_pass(needs)
            for name, value in change.items():
                setattr(view, name, value)

        result = needed_links(*arguments, on_pass=on_pass if results else goes_on, **options)
        results.append(result)
        return result

    monkeypatch.setattr(word_needs, "needed_links", interrupted)
    view._needs_asked = True
    view.wait()
    assert np.isnan(results[0].need).any()
    if "_needs_asked" in change:
        assert view._needs is None
    else:
        assert results[-1].complete and view._needs is not None
        assert view._needs["position"] == view.position
    view.close()


def test_words_of_several_tokens_are_cut_together() -> None:
    attention = load_model("attnwidget/induction").attend("The captain told his men that he")
    view = PredictionView(attention, unit="words")
    found = needs_of(view)
    groups = attention.stacks["self"].query.word_groups()
    assert found["entries"] == list(range(len(groups) - 1))
    assert found["query"] == len(groups) - 1 and not found["masked"]
    view.close()


def test_long_measurements_are_refused_with_their_duration(
    view: PredictionView, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_needs, "MOST_SECONDS", 1e-6)
    problem = needs_of(view)["problem"]
    assert "15 tokens" in problem and "shorten the text" in problem
