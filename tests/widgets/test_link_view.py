"""LinkView with a recording comm: which link is shown, what crosses, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import traitlets

from attnwidget import Attention, Head, HeadView, LinkView, link_figures, load_model
from attnwidget.mechanisms import (
    explain_link,
    head_writes,
    link_factors,
    score_at_distances,
    score_sources,
)
from attnwidget.widgets.link_view import widget
from fixtures import planted_circuit, zoo
from fixtures.mechanism_models import READABLE, attend
from fixtures.recording import from_page, on_page, updates
from fixtures.svg_picture import texts
from fixtures.tiers import only_first_is_fast
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

TEXT = "The captain told his men that he would not leave the ship."
HE = 7
CAPTAIN = 2


@pytest.fixture(scope="module")
def attention() -> Attention:
    return load_model(device="cpu").attend(TEXT)


@pytest.fixture(scope="module")
def rotary() -> Attention:
    return attend("llama")


def numbers(wire: dict[str, object]) -> np.ndarray:
    """The numbers of a float32 array as the page has it."""
    return np.frombuffer(wire["view"], "<f4")


def test_the_panels_hold_the_results_of_the_functions(attention: Attention) -> None:
    view = LinkView(attention, 1, 3, query=HE, key=CAPTAIN, hidden=[])
    why = explain_link(attention, 1, 3, HE, CAPTAIN)
    assert view.explanation is not None and view.explanation.versus == why.versus
    factors = link_factors(attention, 1, 3, HE, CAPTAIN)
    held = on_page(view, "why")["found"]
    assert [name for name, _, _ in held["factors"]] == factors.to_frame()["part"].tolist()
    logs = [log for _, log, _ in held["factors"]]
    assert logs[:-1] == pytest.approx(list(factors.logs.values()))
    assert sum(logs[:-1]) == pytest.approx(logs[-1])
    assert held["finding"] == factors.finding == view.factors.finding
    assert on_page(view, "wavelengths") is None, "nothing rotates"
    sources = score_sources(attention, 1, 3, HE, CAPTAIN, why.versus)
    held = on_page(view, "sources")["found"]
    assert [name for name, _ in held["pairs"]] == [f"{q} × {k}" for q, k, _ in sources.strongest(8)]
    assert sum(v for _, v in held["pairs"]) + held["rest"][1] == pytest.approx(sources.total)
    writes = head_writes(attention, 1, 3, position=HE)
    held = on_page(view, "writes")["found"]
    assert held["tokens"][0] == [
        CAPTAIN,
        pytest.approx(writes.shares[CAPTAIN]),
        pytest.approx(writes.weights[CAPTAIN]),
    ]
    assert sum(share for _, share, _ in held["tokens"]) + held["rest"][1] == pytest.approx(1)
    frame = view.to_frame()
    by_panel = frame.groupby("panel")["value"].sum()
    assert by_panel["who wrote"] == pytest.approx(view.explanation.total, abs=1e-4)
    assert set(frame["panel"]) == {"why", "who wrote", "carried"}, "BERT has no exact words"
    whole = frame[(frame["panel"] == "why") & (frame["part"] == "together")]["value"].item()
    assert whole == pytest.approx(factors.ratio)


def test_what_has_no_exact_decomposition_is_refused_with_the_reason(attention: Attention) -> None:
    view = LinkView(attention, 1, 3, query=HE, key=CAPTAIN)
    assert view.distances is None and view.vocabulary is None
    assert "ask for layer 0" in on_page(view, "distances")["problem"]
    assert "not linear in the residual stream" in on_page(view, "vocabulary")["problem"]
    view.selected = [(0, 3)]
    assert view.wait() and on_page(view, "distances")["problem"] == ""
    weights = Attention.from_weights(np.full((1, 1, 3, 3), 1 / 3), ["a", "b", "c"])
    given = LinkView(weights, 0, 0, query=1, key=2)
    for name in ("why", "distances", "sources", "writes"):
        assert on_page(given, name)["found"] is None and on_page(given, name)["problem"], name
    assert given.to_frame().empty
    alone = LinkView(attend("llama"), 0, 0, query=0)
    assert "sees no other word" in on_page(alone, "why")["problem"]
    assert on_page(alone, "wavelengths") is None
    cross = load_model(zoo.build("bart")).attend(zoo.inputs("bart", batch=1, padded=0))
    two_texts = LinkView(cross, 0, 1, "cross", query=2, key=3)
    assert "two texts" in on_page(two_texts, "distances")["problem"]


def test_distances_go_beyond_the_text_where_positions_turn(rotary: Attention) -> None:
    view = LinkView(rotary, 1, 2, query=9, key=5)
    held = on_page(view, "distances")["found"]
    assert (held["first"], held["distance"]) == (0, 4), "no query sees a later key"
    wanted = score_at_distances(rotary, 1, 2, 9, 5, range(65))
    np.testing.assert_allclose(numbers(held["weights"]), wanted.weights, rtol=1e-5)
    np.testing.assert_allclose(numbers(held["scores"]), wanted.scores, rtol=1e-5)
    held = on_page(view, "wavelengths")["found"]
    why = explain_link(rotary, 1, 2, 9, 5)
    parts = sum(value for _, value in [*held["parts"], *held["others"]]) + held["rest"][1]
    assert parts == pytest.approx(why.total)
    assert held["total"] == pytest.approx(why.log_ratio, abs=1e-4)


KNOWN_DISTANCES = [("alibi", None, 0, 65), ("gpt2", None, 0, 10), ("t5", "encoder", -13, 27)]


@pytest.mark.parametrize(
    ("name", "stack", "first", "count"), [case for case in KNOWN_DISTANCES if case[0] in READABLE]
)
def test_distances_that_are_not_known_are_not_offered(
    name: str, stack: str | None, first: int, count: int
) -> None:
    view = LinkView(attend(name), 0, 1, stack, query=9, key=5)
    held = on_page(view, "distances")["found"]
    assert (held["first"], numbers(held["weights"]).size) == (first, count)
    assert view.distances is not None and view.distances.distance == 4


MODELS = sorted([*READABLE, *zoo.WEIGHTS_ONLY], key=lambda name: (name != "gemma2", name))


@pytest.mark.parametrize("name", only_first_is_fast(MODELS))
def test_every_model_answers_or_says_why_not(name: str) -> None:
    attention = attend(name)
    last = next(iter(attention.stacks.values())).layers.numbers[-1]
    view = LinkView(attention, last, 1, query=3)
    for part in ("why", "distances", "sources", "writes", "vocabulary"):
        answer = on_page(view, part)
        assert (answer["found"] is None) == bool(answer["problem"]), part
    for part, listed in (("wavelengths", "parts"), ("sources", "pairs")):
        if held := (on_page(view, part) or {"found": None})["found"]:
            values = [value for _, value in [*held[listed], *held.get("others", [])]]
            assert sum(values) + held["rest"][1] == pytest.approx(held["total"], abs=1e-4)
    assert "Why" in " ".join(texts(view.figure()))


@pytest.mark.slow
def test_a_long_input_has_no_maps_to_split_an_output_with() -> None:
    ids = torch.arange(1100)[None] % 90 + 3
    attention = load_model(zoo.build("llama", positions=2048)).attend({"input_ids": ids})
    view = LinkView(attention, 1, 2, query=1000, key=20)
    assert attention.is_long and view.explanation is not None and view.sources is not None
    held = on_page(view, "distances")["found"]
    assert held["distance"] == 980 and held["first"] <= 980 < held["first"] + 1024
    assert "needs whole maps" in on_page(view, "writes")["problem"]


def test_the_words_of_an_induction_head() -> None:
    ids = planted_circuit.repeated()
    attention = planted_circuit.planted_model().attend({"input_ids": ids})
    query = ids.shape[1] - 4
    view = LinkView(attention, *planted_circuit.INDUCTION, query=query)
    assert view.explanation is not None and view.explanation.key == query - 15 + 1
    held = on_page(view, "vocabulary")["found"]
    assert held["promoted"][0][0] == f"id {int(ids[0, view.explanation.key])}"
    assert on_page(view, "sources")["found"]["pairs"][0][0] == "embeddings × L0 H1"
    assert "words" in set(view.to_frame()["panel"])


def test_a_query_without_a_key_goes_to_its_strongest_key(attention: Attention) -> None:
    view = LinkView(attention, 1, 3, query=HE, hidden=["cls", "sep"])
    row = attention.rows(1, 3, HE)
    shown = np.where(attention.special, -1, row)
    first, second = (int(i) for i in np.argsort(-shown)[:2])
    held = on_page(view, "link")
    assert (held["key"], held["versus"]) == (first, second)
    assert held["is_strongest"] and held["is_runner_up"]
    assert all(not attention.special[i] for i, _ in held["rivals"])
    view.versus = next(i for i in (4, 5) if i != second)
    assert view.explanation is not None and view.explanation.versus == view.versus
    assert not on_page(view, "link")["is_runner_up"]
    with pytest.raises(traitlets.TraitError, match=naming("'versus'", "0 to 14", "99")):
        view.versus = 99


def test_words_are_answered_by_their_strongest_tokens() -> None:
    attention = load_model(device="cpu").attend("The unsinkable ship sank.")
    groups = attention.stacks["self"].key.word_groups()
    word = next(i for i, group in enumerate(groups) if len(group) > 1)
    view = LinkView(attention, 2, 1, unit="words", query=3, key=word)
    row = attention.rows(2, 1, groups[3][0])
    held = on_page(view, "link")
    assert held["key"] == max(groups[word], key=lambda token: row[token])
    assert held["query"] == groups[3][0]


def test_without_a_head_or_a_query_nothing_is_computed(attention: Attention) -> None:
    view = LinkView(attention)
    assert on_page(view, "link") is None and "Select a head" in texts(view.figure())[-1]
    view.selected = [(1, 3)]
    assert on_page(view, "link") is None and "Choose a link" in " ".join(texts(view.figure()))
    with pytest.raises(traitlets.TraitError, match=naming("'tokens'", "query 400")):
        view.tokens = [("query", 400)]
    assert on_page(view, "link") is None and view.to_frame().empty


def test_it_follows_a_linked_view_and_asks_only_what_is_new(attention: Attention) -> None:
    view = HeadView(attention, 1, 3)
    why = LinkView(attention)
    link_figures(view, why)
    view.tokens = [("query", HE), ("key", CAPTAIN)]
    assert why.wait() and on_page(why, "link")["head"] == [1, 3, "self"]
    written = why.writes
    before = len(updates(why))
    assert why.factors.against is None
    from_page(why, {"versus": 5})
    assert why.wait() and why.writes is written and why.sources.versus == 5
    assert why.factors.against == 5
    states = [state for state, _ in updates(why)[before:]]
    assert any("_why" in state for state in states)
    view.selected = [(0, 5)]
    assert why.wait() and why.writes.head == Head(0, 5)
    why.distance = 9
    view.tokens = [("query", HE), ("key", 4)]
    assert why.wait() and why.distance is None and why.writes is not written


def test_heads_that_are_off_have_no_model_to_ask(attention: Attention) -> None:
    view = LinkView(attention, 3, 1, query=HE, key=CAPTAIN, disabled=[(0, 2)])
    assert view.explanation is not None, "queries and keys of the edited pass are kept"
    assert view.sources is None
    for name in ("why", "sources", "writes", "vocabulary"):
        problem = on_page(view, name)["problem"]
        assert "the unchanged model" in problem and "without L0 H2" in problem, name
        assert "load_model" not in problem and "attention.intact" not in problem, name
    cut = LinkView(attention.scaled_links([(HE, CAPTAIN)], 0), 3, 1, query=HE, key=CAPTAIN)
    for name in ("why", "distances", "sources", "writes", "vocabulary"):
        problem = on_page(cut, name)["problem"]
        assert "the unchanged model" in problem and "cut in all heads" in problem, name
        assert "attention.intact" not in problem, name
    view.disabled = []
    assert view.wait() and view.sources is not None


def test_picture_caption_and_table_say_what_the_page_shows(rotary: Attention) -> None:
    view = LinkView(rotary, 1, 2, query=9, key=5)
    picture = view.figure(width=700)
    written = " ".join(texts(picture))
    assert "Who wrote the query and the key" in written
    assert "by wavelength" in written and "log ratio" in written
    assert "the word itself" in written and "× " in written and "equal" in written
    assert "4 tokens before the query" in written
    view.distance = 11
    moved = " ".join(texts(view.figure(width=700)))
    assert "11 tokens before the query" in moved.lower() and "in the text" in moved
    table = picture.table
    assert list(table.columns) == ["part", "panel", "value"]
    total = table[(table["part"] == "sum") & (table["panel"] == "wavelengths")]["value"]
    assert total.item() == pytest.approx(view.explanation.total)
    whole = table[(table["part"] == "together") & (table["panel"] == "why")]["value"].item()
    assert whole == pytest.approx(view.factors.ratio)
    assert "L1 H2" in str(view.caption)


def test_the_code_makes_the_figure_again(attention: Attention) -> None:
    view = LinkView(attention, 1, 3, query=HE, key=CAPTAIN, versus=5)
    said = " ".join(view.code().split())
    assert 'layer=1, head=3, tokens=[("query", 7), ("key", 2)], versus=5' in said
    with pytest.raises(TypeError, match=naming("`query`", "`key`", "`tokens`")):
        LinkView(attention, 1, 3, query=1, tokens=[("query", 1)])
    with pytest.raises(TypeError, match=naming("`layer`", "`selected`")):
        LinkView(attention, 1, 3, selected=[(1, 3)])


def test_an_error_in_the_background_is_shown_and_raised(
    attention: Attention, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = LinkView(attention, 1, 3, query=HE, key=CAPTAIN)

    def fails(shown: object) -> None:
        raise KeyError("a fault of this test")

    monkeypatch.setitem(widget._QUESTIONS, "sources", fails)
    view.versus = 5
    with pytest.raises(KeyError, match=naming("'a fault of this test'")):
        view.wait()
    assert "a fault of this test" in on_page(view, "problem")


def test_its_page_holds_the_link_and_the_data_of_the_slider(
    rotary: Attention, tmp_path: Path
) -> None:
    view = LinkView(rotary, 1, 2, query=9, key=5)
    page = view.save(tmp_path / "link.html").read_text("utf-8")
    assert "of the link that was shown when the page was saved" in page
    assert '"_distances":' in page and '"first":0' in page.replace(" ", "")


def test_a_weight_that_is_zero_in_float32_has_no_log_ratio() -> None:
    model = zoo.build("llama")
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.q_proj.weight *= 1000
    attention = load_model(model).attend(zoo.inputs("llama", batch=1, padded=0))
    layer, head = 0, 1
    key = next(k for k in range(10) if attention.rows(layer, head, 9)[k] == 0)
    view = LinkView(attention, layer, head, query=9, key=key)
    held = on_page(view, "wavelengths")["found"]
    assert held["log_ratio"] is None and held["total"] < -80
    assert "no log ratio" in " ".join(texts(view.figure()))
