"""Pages of every widget: what they hold, what they say, what is refused before it is written."""

from __future__ import annotations

import base64
import html
import json
import re
from base64 import b64encode
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ipywidgets.widgets.widget import _instances

import attnwidget
from attnwidget import Attention, AttentionModel, HeadGrid, HeadView, load_model, save_page
from attnwidget.demo import demo_atlas
from attnwidget.text.coreference import Document
from attnwidget.text.treebank import Sentence
from attnwidget.widgets import head_grid
from attnwidget.widgets.atlas_view.widget import AtlasView
from attnwidget.widgets.coreference_view.widget import CoreferenceView
from attnwidget.widgets.dependency_arcs.widget import DependencyArcs
from attnwidget.widgets.explorer.widget import Explorer
from attnwidget.widgets.head_scatter import HeadScatter
from attnwidget.widgets.link_view.widget import LinkView
from attnwidget.widgets.pages.encoding import as_json_value
from attnwidget.widgets.pages.page_data import page_data
from attnwidget.widgets.pages.page_part import Part
from attnwidget.widgets.pages.size_limit import held_around, held_note
from attnwidget.widgets.pages.write_page import write_page
from attnwidget.widgets.prediction_view.widget import PredictionView
from attnwidget.widgets.relation_table import RelationTable
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.words.coreference import probe_coreference
from attnwidget.words.coreference_results import CoreferenceAccuracies
from attnwidget.words.relations import (
    RelationAccuracies,
    predict_governors,
    probe_relations,
)
from fixtures.figure_classes import FIGURE_CLASSES
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from refusals import naming

TEXT = "The captain told his men that he would not leave the ship."
HOSTILE = "</script><img src=x onerror=alert(1)><!--<script>"
SENTENCES = [
    Sentence.from_lists(
        ["The", "old", "cat", "sat", "on", "my", "mat"],
        [3, 3, 4, 0, 7, 7, 4],
        ["det", "amod", "nsubj", "root", "case", "nmod:poss", "obl"],
        name="mat",
    ),
    Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"]),
    Sentence.from_lists(
        ["The", "end", "of", "the", "day"],
        [2, 0, 5, 5, 2],
        ["det", "root", "case", "det", "nmod"],
    ),
]
DOCUMENTS = [
    Document.from_spans(
        ["The", "captain", "told", "his", "men", "that", "he", "would", "not", "leave", "."],
        [(0, 1, "captain"), (3, 3, "captain"), (3, 4, "men"), (6, 6, "captain")],
        name="captain",
    ),
    Document.from_spans(
        ["Mary", "said", "she", "saw", "her", "dog", "."],
        [(0, 0, "mary"), (2, 2, "mary"), (4, 4, "mary")],
        name="mary",
    ),
]


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT)


@pytest.fixture(scope="module")
def relations(model: AttentionModel) -> RelationAccuracies:
    return probe_relations(model, SENTENCES, progress=False)


@pytest.fixture(scope="module")
def coreference(model: AttentionModel) -> CoreferenceAccuracies:
    return probe_coreference(model, DOCUMENTS, progress=False)


def read(path: Path) -> dict[str, Any]:
    """The data that a page holds."""
    found = re.search(r'id="attnw-data">(.*?)</script>', path.read_text("utf-8"), re.S)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def figures(path: Path) -> dict[str, Any]:
    """What a page holds of each figure, in its order."""
    return {figure["name"]: figure for figure in read(path)["figures"]}


def caption(path: Path) -> str:
    found = re.search(r'class="attnw-page-caption">(.*?)</p>', path.read_text("utf-8"), re.S)
    assert found
    return html.unescape(found[1])


def array(text: str, dtype: str, *shape: int) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype).reshape(shape)


@pytest.mark.slow
def test_every_kind_of_figure_has_a_page_and_stays_as_it_is(
    attention: Attention,
    model: AttentionModel,
    relations: RelationAccuracies,
    coreference: CoreferenceAccuracies,
    tmp_path: Path,
) -> None:
    strongest = {"strongest": attention.weights().max((-2, -1))}
    predictions = PredictionView(attention, position=3, disabled=[(1, 8)])
    assert predictions.wait()
    widgets: dict[str, HeadWidget] = {
        "head_grid": HeadGrid(attention, metrics=strongest, metric="strongest", sort="all"),
        "head_view": HeadView(attention, layer=3, head=5),
        "head_scatter": HeadScatter.from_positions(np.zeros((6, 12, 2))),
        "relation_table": RelationTable(relations, sort="relation"),
        "dependency_arcs": DependencyArcs(model, SENTENCES, relations, sentence=1),
        "coreference_view": CoreferenceView(coreference, document=1),
        "prediction_view": predictions,
        "link_view": LinkView(attention, 0, 3, query=7, key=2),
        "atlas_view": AtlasView(demo_atlas()),
    }
    alive = set(_instances)
    assert {*widgets, "explorer"} == {figure.kind for figure in FIGURE_CLASSES}
    for name, widget in widgets.items():
        before = widget.get_state()
        path = write_page(widget, tmp_path / f"{name}.html")
        page = path.read_text("utf-8")
        (held,) = read(path)["figures"]
        assert (held["name"], held["label"]) == (name, type(widget).page_label)
        assert held["state"]["selected"] == [list(head) for head in widget.selected]
        assert held["shapes"] == {"self": [6, 12]}
        assert f'id="attnw-{name}"' in page and page.count('<script type="module"') == 2
        assert "http://" not in page.replace("http://www.w3.org/", "")
        assert "https://" not in page
        assert '<html lang="en">' in page and "<h1>" in page and "<main>" in page
        size = path.stat().st_size
        assert caption(path).startswith((f"{size / 1e3:.0f} kB · ", f"{size / 1e6:.1f} MB · "))
        assert widget.get_state().keys() == before.keys()
        assert {k: v for k, v in widget.get_state().items() if not k.startswith("_")} == {
            k: v for k, v in before.items() if not k.startswith("_")
        }
    held = figures(tmp_path / "head_grid.html")["head_grid"]
    assert held["state"]["sort"] == "all" and held["own"]["metrics"][0]["titles"] == ["strongest"]
    held = figures(tmp_path / "relation_table.html")["relation_table"]
    assert held["state"]["sort"] == "relation"
    held = figures(tmp_path / "prediction_view.html")["prediction_view"]
    assert held["remark"] == "as they were when it was saved: a page has no model to be asked again"
    assert held["state"]["_predictions"]["off"] == [[1, 8, "self"]]
    held_link = figures(tmp_path / "link_view.html")["link_view"]
    assert held_link["remark"] == "of the link that was shown when the page was saved"
    assert held_link["state"]["_distances"]["found"]["distance"] == 5
    effects = array(held["state"]["_effects"]["values"]["view"], "<f4", 6, 12)
    np.testing.assert_array_equal(effects, predictions.effects.astype("f4"))
    assert set(_instances) == alive
    assert not list(tmp_path.glob("*.part"))


def test_every_figure_is_public_and_has_a_label_and_one_name_on_both_sides() -> None:
    root = Path(attnwidget.__file__).parents[1]
    folders = {path.parent.name for path in (root / "js" / "src").glob("*/widget.ts")}
    assert folders == {figure.kind for figure in FIGURE_CLASSES}
    widgets = root / "attnwidget" / "widgets"
    assert folders >= {path.parent.name for path in widgets.glob("*/widget.py")}
    labels: dict[str, str] = {}
    for figure in FIGURE_CLASSES:
        assert f"{figure.__module__}.".startswith(f"attnwidget.widgets.{figure.kind}.")
        assert labels.setdefault(figure.kind, figure.page_label) == figure.page_label
    assert labels.pop("explorer") == ""
    assert all(labels.values()) and len(set(labels.values())) == len(labels)


def test_figures_have_one_order_on_a_page_and_further_figures_follow_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("attnwidget.widgets.pages.page_data.code_size", lambda figures: 0)
    names = ("zebra", "atlas_view", "head_view", "aardvark", "head_grid")
    parts = {name: Part(name, name, name, {"selected": []}, shapes={}, shared=()) for name in names}
    shown = page_data(parts, 1.0).data["figures"]
    expected = ["head_grid", "head_view", "atlas_view", "aardvark", "zebra"]
    assert [figure["name"] for figure in shown] == expected


def test_arcs_hold_every_heads_predictions_exactly_and_its_maps_rounded(
    model: AttentionModel, relations: RelationAccuracies, tmp_path: Path
) -> None:
    arcs = DependencyArcs(model, SENTENCES, relations, sentence=2)
    path = write_page(arcs, tmp_path / "arcs.html")
    held = read(path)["held"]["sentences"]
    assert (held["first"], len(held["held"])) == (0, 3)
    about = figures(path)["dependency_arcs"]
    assert about["shapes"] == {"self": [6, 12]} and not about["own"]["follows"]
    for sentence, one in zip(SENTENCES, held["held"], strict=True):
        m = len(sentence)
        found = predict_governors(model, sentence)
        assert one["drawn"]["words"] == list(sentence.words)
        predicted = one["predicted"]
        governors = array(predicted["governors"], "<u2", 6, 12, 2, m)
        np.testing.assert_array_equal(governors, found.governors)
        np.testing.assert_allclose(
            array(predicted["weights"], "<f4", 6, 12, 2, m), found.weights, rtol=1e-6
        )
        share = (array(predicted["maps"], "u1", 6, 12, m, m) - 1.0) / 254
        maxima = np.array(predicted["maxima"]).reshape(6, 12, 1, 1)
        np.testing.assert_allclose(maxima * share**2, found.maps, atol=0.004)
    measured = about["own"]["measured"]
    correct = array(measured["correct"]["view"], "<i4", *measured["correct"]["shape"])
    np.testing.assert_array_equal(correct, relations.correct)
    assert "holds all 3 sentences" in caption(path)
    assert arcs.sentence == 2


@pytest.mark.slow
def test_arcs_hold_neighbors_as_far_as_there_is_room(model: AttentionModel, tmp_path: Path) -> None:
    many = [SENTENCES[1]] * 100
    path = write_page(DependencyArcs(model, many, sentence=50), tmp_path / "arcs.html")
    assert "holds sentences 31 to 70 of 100 (counted from 0)" in caption(path)
    path = write_page(DependencyArcs(model, many, sentence=50), tmp_path / "a.html", limit_mb=0.13)
    held = read(path)["held"]["sentences"]
    assert 1 < len(held["held"]) < 10 and held["first"] <= 50
    assert path.stat().st_size < 1.3e5


def test_a_sentence_that_cannot_be_read_is_said_in_its_place(
    model: AttentionModel, tmp_path: Path
) -> None:
    long = Sentence.from_lists(["a"] * 900, [0, *range(1, 900)], ["root", *["dep"] * 899])
    arcs = DependencyArcs(model, [*SENTENCES, long])
    with pytest.raises(ValueError, match=naming("limit_mb=20", "shorter sentence")):
        write_page(DependencyArcs(model, [long]), tmp_path / "long.html")
    data = read(write_page(arcs, tmp_path / "arcs.html", limit_mb=400))
    held = data["held"]["sentences"]["held"]
    assert "too long: " in held[3]["drawn"]["problem"]
    assert held[3]["predicted"] is None and held[0]["predicted"]


def test_coreference_holds_every_heads_choices(
    coreference: CoreferenceAccuracies, tmp_path: Path
) -> None:
    view = CoreferenceView(coreference, ["mary", "captain"], selected=[(1, 2)])
    path = write_page(view, tmp_path / "page.html")
    held = read(path)["held"]["windows"]
    assert [one["drawn"]["name"] for one in held["held"]] == ["mary", "captain"]
    assert [one["drawn"]["document"] for one in held["held"]] == [0, 1]
    for one in held["held"]:
        found = coreference.choices(one["drawn"]["name"])
        n = len(found.mentions)
        start = one["drawn"]["start"]
        words = array(one["words"], "<i2", n, 2, 6, 12)
        np.testing.assert_array_equal(words + start, found.words)
        np.testing.assert_array_equal(array(one["weights"], "<f4", n, 2, 6, 12), found.weights)
    own = figures(path)["coreference_view"]["own"]
    correct = np.array(own["correct"]).reshape(2, 6, 12)
    np.testing.assert_array_equal(correct, coreference.correct[..., 0])
    assert "holds all 2 documents" in caption(path)


def test_a_view_without_room_for_all_heads_holds_the_shown_one(
    attention: Attention, tmp_path: Path
) -> None:
    view = HeadView(attention, layer=3, head=5, highlight=["he"])
    path = write_page(view, tmp_path / "one.html", limit_mb=0.215)
    maps = read(path)["held"]["maps"]
    assert [one["only"] for one in maps] == [[3, 5, "self"]] * 2
    tokens = maps[0]
    assert tokens["shape"] == [1, 1, 15, 15]
    values = (array(tokens["values"], "u1", 15, 15) - 1.0) / 254
    np.testing.assert_allclose(tokens["maxima"][0] * values**2, view.weights, atol=0.004)
    assert "holds only L3 H5" in caption(path) and "cannot be stepped through" in caption(path)
    fixed = figures(path)["head_view"]["state"]["_fixed"]
    assert fixed.keys() == {"quantity", "versus", "selected", "layer", "arrangement", "shown_heads"}
    assert "no room for the maps of other heads" in fixed["selected"]
    where = [attention.tokens.index("he")]
    highlighted = figures(path)["head_view"]["own"]["highlighted"]
    assert highlighted[0] == {"stack": "self", "unit": "tokens", "query": where, "key": where}
    with pytest.raises(ValueError, match=r"limit_mb=0\.11.*(shorten the text|raise limit_mb)"):
        write_page(HeadGrid(attention), tmp_path / "grid.html", limit_mb=0.11)
    assert not (tmp_path / "grid.html").exists()


def test_a_page_of_a_grid_has_disabled_heads_and_differences(
    attention: Attention, tmp_path: Path
) -> None:
    grid = HeadGrid(attention, disabled=[(1, 3)], versus="intact")
    held = figures(grid.save(tmp_path / "off.html"))["head_grid"]
    state = held["state"]
    (first, *rest) = read(tmp_path / "off.html")["held"]["thumbnails"]
    assert state["disabled"] == [[1, 3, "self"]]
    assert "without L1 H3 (uniform)" in state["_source"]["model"]
    assert "kernel" in state["_source"]["fixed"]
    drawn = first["thumbnails"]
    got = array(drawn["changes"]["view"], "<f4", 6, 12)
    wanted = attention.disabled([(1, 3)]).changes(attention)
    wanted[1, 3] = 0
    np.testing.assert_array_equal(got, wanted)
    assert drawn["signed"] and drawn["values"] == as_json_value(grid._thumbnails["values"])
    sides = [
        (one["thumbnails"]["unit"], one["thumbnails"]["comparison_part"]) for one in (first, *rest)
    ]
    assert sides == list(product(("tokens", "words"), ("difference", "first", "second")))
    grid.versus = None
    (first, second) = read(grid.save(tmp_path / "maps.html"))["held"]["thumbnails"]
    assert not first["thumbnails"]["signed"] and first["thumbnails"]["changes"]
    assert second["thumbnails"]["unit"] == "words"
    grid.disabled = []
    path = grid.save(tmp_path / "on.html")
    (first, _) = read(path)["held"]["thumbnails"]
    assert first["thumbnails"]["changes"] is None
    assert "without" not in figures(path)["head_grid"]["state"]["_source"]["model"]


@pytest.mark.parametrize("unit", ["tokens", "words"])
def test_a_page_of_a_grid_has_the_thumbnails_of_the_kernel(
    attention: Attention, tmp_path: Path, unit: str
) -> None:
    grid = HeadGrid(attention, hidden=["cls"], times_keys=True, unit="words")
    held = read(grid.save(tmp_path / "page.html"))["held"]
    grid.unit = unit
    (one,) = (one for one in held["thumbnails"] if one["thumbnails"]["unit"] == unit)
    assert one["thumbnails"] == as_json_value(grid._thumbnails)
    assert one["axes"] == grid._axes and one["rows"] == ["query", "key"]
    assert one["painted"] is None and one["places"] is None


@pytest.mark.parametrize("unit", ["tokens", "words"])
@pytest.mark.parametrize("side", ["query", "key"])
def test_the_maps_of_a_grid_hold_the_answers_for_every_word(
    attention: Attention, tmp_path: Path, unit: str, side: str
) -> None:
    grid = HeadGrid(attention, unit=unit)
    held = read(grid.save(tmp_path / "page.html"))["held"]
    (maps,) = (one for one in held["maps"] if one["axes"]["unit"] == unit)
    shape = maps["shape"]
    fine = (array(maps["fine"], "u1", *shape) - 128.0) / 256
    levels = array(maps["values"], "u1", *shape) - 1 + fine
    weights = np.array(maps["maxima"]).reshape(6, 12, 1, 1) * (levels / 254) ** 2
    for at in range(shape[2]):
        grid.tokens = [(side, at)]
        rows = weights[..., at, :] if side == "query" else weights[..., at]
        answer = grid._rows
        assert answer is not None and answer["side"] == side
        exact = np.frombuffer(answer["values"]["view"], "<f4").reshape(rows.shape)
        np.testing.assert_allclose(rows, exact, rtol=1e-3, atol=1e-6)


def test_options_that_need_a_computation_are_fixed_with_a_reason(
    attention: Attention, tmp_path: Path
) -> None:
    data = figures(save_page(attention, tmp_path / "page.html"))
    reasons = {name: figure["state"]["_fixed"] for name, figure in data.items()}
    drawn = {"hidden", "quantity", "times_keys", "versus"}
    assert reasons["head_grid"].keys() == drawn
    # The two figures share what is hidden, and the grid cannot follow the view.
    assert reasons["head_view"].keys() == {"hidden", "quantity", "versus"}
    said = {reason for figure in reasons.values() for reason in figure.values()}
    assert said == {
        "Other values need a notebook: a saved page shows what was computed when it was saved."
    }
    alone = figures(write_page(HeadView(attention), tmp_path / "view.html"))["head_view"]
    assert alone["state"]["_fixed"].keys() == {"quantity", "versus"}


def test_a_comparison_needs_no_maps_on_the_page_of_a_grid(
    attention: Attention, model: AttentionModel, tmp_path: Path
) -> None:
    other = model.attend("The captain told her men that she would not leave the ship.")
    held = read(HeadGrid(attention, versus=other).save(tmp_path / "two.html"))["held"]
    assert held.keys() == {"thumbnails"}
    assert [one["rows"] for one in held["thumbnails"]] == [[]] * 6


def test_the_limit_is_checked_before_anything_is_computed(
    attention: Attention, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = Attention.from_weights(
        np.full((2, 4, 600, 600), 1 / 600, "f4"), [f"t{i}" for i in range(600)]
    )
    kept = tmp_path / "page.html"
    kept.write_text("before")
    monkeypatch.setattr(Attention, "map", lambda *a, **k: pytest.fail("computed a map"))
    monkeypatch.setattr(head_grid, "draw_thumbnails", lambda *a, **k: pytest.fail("drew the grid"))
    with pytest.raises(ValueError, match=naming("7.7 MB", "limit_mb=2", "maps of all heads")):
        save_page(long, kept, limit_mb=2.0)
    assert kept.read_text() == "before"


def test_a_failed_write_leaves_the_old_file(
    attention: Attention, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    path.write_text("before")

    def full(*arguments: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space"):
        write_page(HeadView(attention, layer=0, head=0), path)
    assert path.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]


def test_hostile_text_stays_text_and_only_the_pages_own_script_may_run(tmp_path: Path) -> None:
    weights = np.full((1, 2, 2, 2), 0.5, "f4")
    hostile = Attention.from_weights(weights, [HOSTILE, "plain"])
    page = write_page(HeadView(hostile), tmp_path / "page.html", title=HOSTILE).read_text("utf-8")
    assert "<img" not in page and page.count("<script") == page.count("</script>") == 3
    assert read(tmp_path / "page.html")["held"]["maps"][0]["axes"]["query"]["text"][0] == HOSTILE
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)
    assert policy and policy[1].startswith("default-src 'none'; script-src 'sha256-")
    scripts = re.findall(r'<script type="module" id="attnw-\w+">(.*?)</script>', page, re.DOTALL)
    hashes = [b64encode(sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = re.search(r"script-src (.*?);", policy[1])
    assert allowed and allowed[1].split() == [f"'sha256-{one}'" for one in hashes]
    assert page.index("<meta") == page.index('<meta http-equiv="Content-Security-Policy"')
    assert 0 < page.encode().index(b'<meta charset="utf-8">') < 1000


def test_any_sign_can_be_part_of_a_page(tmp_path: Path) -> None:
    tokens = ["\ud800", "\x00", "@size@"]
    given = Attention.from_weights(np.full((1, 1, 3, 3), 1 / 3), tokens, model_name="@size@")
    page = write_page(HeadGrid(given), tmp_path / "page.html").read_text("utf-8")
    assert "\ud800" not in page and "@size@</h1>" in page
    assert re.search(r'page-caption">\d+(\.\d+)? [kM]B', page)


@pytest.mark.parametrize("theme", ["light", "dark", None])
def test_a_theme_can_be_forced(attention: Attention, tmp_path: Path, theme: Any) -> None:
    page = write_page(HeadView(attention), tmp_path / "p.html", theme=theme).read_text("utf-8")
    assert (f'<html lang="en" data-theme="{theme}">' in page) == (theme is not None)
    with pytest.raises(ValueError, match=naming("theme", "'solarised'")):
        write_page(HeadView(attention), tmp_path / "p.html", theme="solarised")  # type: ignore[arg-type]


def test_figures_of_one_page_are_in_step(
    attention: Attention, model: AttentionModel, relations: RelationAccuracies, tmp_path: Path
) -> None:
    table = RelationTable(relations, relation="det", selected=[(1, 1)])
    arcs = DependencyArcs(model, SENTENCES, relations)
    path = save_page(
        attention, tmp_path / "page.html", selected=[(2, 3)], relations=table, arcs=arcs
    )
    data = figures(path)
    assert list(data) == ["head_grid", "head_view", "relation_table", "dependency_arcs"]
    for name, held in data.items():
        state = held["state"]
        assert (state["selected"], state["layer"]) == ([[2, 3, "self"]], 2), name
    assert data["dependency_arcs"]["state"]["relation"] == "det"
    assert arcs.relation == "all" and table.selected == [(1, 1, "self")]
    page = path.read_text("utf-8")
    assert (
        page.index('id="attnw-head_grid"')
        < page.index('id="attnw-relation_table"')
        < page.index('id="attnw-dependency_arcs"')
    )


def test_an_explorer_is_a_figure_with_its_panels_inside(
    model: AttentionModel, relations: RelationAccuracies, tmp_path: Path
) -> None:
    explorer = Explorer(
        model, "The cat sat.", treebank=(relations, SENTENCES), panels=["grid", "view", "arcs"]
    )
    path = write_page(explorer, tmp_path / "page.html", title="Cats & mats")
    data = figures(path)
    explorer.close()
    assert list(data) == ["explorer", "head_grid", "head_view", "dependency_arcs"]
    inside = {"grid": "head_grid", "view": "head_view", "arcs": "dependency_arcs"}
    assert data["explorer"]["children"] == inside
    state = data["explorer"]["state"]
    assert {name: state[name] for name in inside} == inside and state["panels"] == list(inside)
    assert state["_shown"]["text"] == "The cat sat." and not state["_offers"]
    assert "kernel" in state["_source"]["fixed"]
    page = path.read_text("utf-8")
    assert "<h1>Cats &amp; mats</h1>" in page
    assert '<p class="attnw-page-text">' not in page
    assert "the page has no model: another text needs a notebook" in caption(path)
    assert data["dependency_arcs"]["own"]["follows"]


def test_small_maps_are_held_to_four_digits(attention: Attention, tmp_path: Path) -> None:
    path = write_page(HeadView(attention, layer=3, head=5), tmp_path / "fine.html")
    held = next(of for of in read(path)["held"]["maps"] if of["axes"]["unit"] == "tokens")
    levels = array(held["values"], "u1", 6, 12, 15, 15)
    fine = array(held["fine"], "u1", 6, 12, 15, 15)
    share = (levels - 1 + (fine - 128.0) / 256) / 254
    maxima = np.array(held["maxima"]).reshape(6, 12, 1, 1)
    np.testing.assert_allclose(maxima * share**2, attention.weights(), rtol=1e-3, atol=1e-6)
    assert "bits" not in caption(path)


def test_a_folder_that_is_missing_is_named(attention: Attention, tmp_path: Path) -> None:
    path = tmp_path / "nowhere/page.html"
    names = naming("nowhere", "'page.html'")
    with pytest.raises(FileNotFoundError, match=names):
        write_page(HeadGrid(attention), path)
    with pytest.raises(FileNotFoundError, match=names):
        save_page(attention, path)


@pytest.mark.slow
def test_a_page_of_an_encoder_decoder_begins_with_its_first_stack(tmp_path: Path) -> None:
    attention = load_model(build("t5"), word_tokenizer()).attend("w1 w2", target="w3")
    data = figures(save_page(attention, tmp_path / "page.html"))
    for name in ("head_grid", "head_view"):
        assert data[name]["state"]["selected"] == [[0, 0, "encoder"]]


def test_what_is_no_page_or_no_attention_is_refused(attention: Attention, tmp_path: Path) -> None:
    for name in ("page.svg", "page"):
        with pytest.raises(ValueError, match=naming(".html", f"'{name}'")):
            save_page(attention, tmp_path / name)
    with pytest.raises(TypeError, match=naming("save_page", "HeadGrid", ".save(path)")):
        save_page(HeadGrid(attention), tmp_path / "page.html")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=naming("HeadScatter or None", "int")):
        save_page(attention, tmp_path / "page.html", head_scatter=3)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_what_is_no_figure_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=naming("figure of heads", "str")):
        write_page("grid", tmp_path / "no.html")  # type: ignore[arg-type]


def test_what_is_held_grows_evenly() -> None:
    assert held_around(0, [1, 1, 1], 10) == range(3)
    assert held_around(2, [1] * 5, 10, most=3) == range(1, 4)
    assert held_around(1, [9, 9, 9], 1) == range(1, 2)
    assert held_note(range(1), 1, "sentence") == "holds the sentence"
    assert held_note(range(4, 5), 9, "document") == "holds document 4 of 9 (counted from 0)"
