"""Errors of a first session: each names the value, what is expected, and the call that works."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import traitlets

from attnwidget import (
    Attention,
    AttentionModel,
    CoreferenceView,
    Head,
    HeadGrid,
    HeadView,
    RelationTable,
    compare,
    explore,
    link_figures,
    load_model,
    measure,
    measure_attention,
)
from attnwidget.demo import demo_treebank
from attnwidget.words import probe_relations
from refusals import naming

TEXT = "The captain told his men that he would not leave the ship."


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT)


def _generate(model: AttentionModel, attention: Attention) -> object:
    return model.generate(TEXT)


def _disable_layer(model: AttentionModel, attention: Attention) -> None:
    with model.disabled("L9"):
        pass


Use = Callable[[AttentionModel, Attention], object]

#: A mistake, its error, and what the message names.
MISTAKES: dict[str, tuple[Use, type[Exception], tuple[str, ...]]] = {
    "a layer that does not exist": (
        lambda model, attention: attention.weights("L9"),
        ValueError,
        ("layer 9", "0 to 5"),
    ),
    "a layer to switch off that does not exist": (
        _disable_layer,
        ValueError,
        ("layer 9", "0 to 5"),
    ),
    "a head by its name in a paper": (
        lambda model, attention: attention.weights("2-4"),
        ValueError,
        ("'2-4'", "counts from 1", "'L1 H3'"),
    ),
    "a layer and a head as texts": (
        lambda model, attention: attention.weights("1", "3"),
        ValueError,
        ("layer='1'", "head='3'", "1, 3", "'L1 H3'"),
    ),
    "several heads for one": (
        lambda model, attention: attention.rows(["L1 H3", "L5 H8"], "he", "captain"),  # type: ignore[arg-type]
        TypeError,
        ("one head", "'L5 H8'", "call it for each head"),
    ),
    "a result in place of an attention": (
        lambda model, attention: HeadGrid(measure_attention(attention)),  # type: ignore[arg-type]
        TypeError,
        ("Measurements", "HeadGrid(attention, metrics=result)"),
    ),
    "a word for a head": (
        lambda model, attention: attention.top_links("he"),
        ValueError,
        ("'he'", "token_values('query', 'he')"),
    ),
    "a value of another option": (
        lambda model, attention: HeadView(attention, "L1 H3", arrangement="lines"),  # type: ignore[arg-type]
        traitlets.TraitError,
        ("arrangement", "'lines'", "mode='lines'"),
    ),
    "figures in a list": (
        lambda model, attention: link_figures([HeadGrid(attention)]),  # type: ignore[arg-type]
        TypeError,
        ("list", "link_figures(grid, view)"),
    ),
    "one figure to link": (
        lambda model, attention: link_figures(HeadGrid(attention)),
        TypeError,
        ("1", "link_figures(grid, view)"),
    ),
    "a text in place of a model": (
        lambda model, attention: explore(TEXT),
        OSError,
        (TEXT, "explore(None, text)", "load_model().attend(text)"),
    ),
    "a model in place of accuracies": (
        lambda model, attention: RelationTable(model),  # type: ignore[arg-type]
        TypeError,
        ("AttentionModel", "attnwidget.words.probe_relations(model, sentences)", "demo_treebank()"),
    ),
    "a model in place of accuracies of coreference": (
        lambda model, attention: CoreferenceView(model),  # type: ignore[arg-type]
        TypeError,
        ("AttentionModel", "attnwidget.words.probe_coreference(model, documents)"),
    ),
    "an empty text": (
        lambda model, attention: measure(model, ["The cat sat.", ""], progress=False),
        ValueError,
        ("text 1", "at least one word"),
    ),
    "no texts": (
        lambda model, attention: measure(model, [], progress=False),
        ValueError,
        ("list of texts", "read_segments(path, model)"),
    ),
    "no texts to compare": (
        lambda model, attention: compare(model, model, []),
        ValueError,
        ("list of texts", "read_segments(path, model)"),
    ),
    "text of a model that does not generate": (
        _generate,
        ValueError,
        ("BertForMaskedLM", "attend(text)", "load_model('attnwidget/induction')"),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_error_names_the_value_and_the_next_step(
    name: str, model: AttentionModel, attention: Attention
) -> None:
    use, error, parts = MISTAKES[name]
    with pytest.raises(error, match=naming(*parts)):
        use(model, attention)


def test_the_named_calls_work(model: AttentionModel, attention: Attention) -> None:
    assert attention.weights(1).shape == (12, 15, 15)
    assert HeadView(attention, layer=1).head == Head(1, 0)
    with model.disabled(layers=[1]):
        assert "without layer 1" in model.attend("The cat sat.").model_name
    assert Head(1, 3).paper_name == "2-4" and str(Head(1, 3)) == "L1 H3"
    assert load_model("attnwidget/induction").generate("The cat", max_new_tokens=1).n_prompt
    accuracies = probe_relations(model, demo_treebank()[:2], progress=False)
    assert RelationTable(accuracies).relations()[0] == "all"
    explorer = explore(None, "The cat sat.", treebank=False, atlas=False)
    assert explorer.view.attention.source_text == "The cat sat."
    explorer.close()


def test_help_names_the_forms_of_heads_and_tokens() -> None:
    for figure in (HeadGrid, HeadView):
        text = " ".join(str(figure.__doc__).split())
        assert 'selected (a head such as "L1 H3", (1, 3) or a `Head`, or a list of heads)' in text
        assert 'tokens (a word, or a list such as ["he"], [("he", 2)], [("key", "ship")]' in text


def test_the_forms_that_help_names_are_accepted(attention: Attention) -> None:
    view = HeadView(attention, "L1 H3", tokens=["he", ("key", "ship")])
    grid = HeadGrid(attention, selected="L1 H3", tokens="he")
    assert view.tokens == [("query", 7), ("key", 12)] and grid.tokens == view.tokens[:1]
    assert [view.head, *grid.selected] == [Head(1, 3)] * 2
