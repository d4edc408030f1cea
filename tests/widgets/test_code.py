"""The code of a widget: run, it makes the same widget."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import (
    Attention,
    CoreferenceView,
    DependencyArcs,
    Document,
    HeadGrid,
    HeadScatter,
    HeadView,
    RelationTable,
    explore,
    load_model,
)
from attnwidget.capture.maps.python_call import call, literal
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.words import probe_coreference, probe_relations
from fixtures import zoo
from fixtures.shown_code import choices, shown_by

TEXT = 'The captain told "his" men:\n«a \\story»'
SENTENCE = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
WEIGHTS = np.full((2, 3, 3, 3), 1 / 3, dtype="f4")


def assert_same(widget: HeadWidget, **given: Any) -> str:
    """The code makes a widget of the same state, and names what it is `given`."""
    code = widget.code()
    again = shown_by(code, **given)
    assert again.kind == widget.kind
    own = plain(widget)
    other = plain(again)
    assert {name for name in own if own[name] != other[name]} == set()
    assert all(f"# {name}: put in what " in code for name in given)
    assert code.count("# ") == len(given)
    again.close()
    widget.close()
    return code


def plain(widget: HeadWidget) -> dict[str, Any]:
    """What the page has of a widget, arrays as bytes; nothing that names one session's objects."""

    def said(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: said(inner) for name, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [said(inner) for inner in value]
        return bytes(value) if isinstance(value, memoryview) else value

    state = widget._drawn_state()
    names = [name for name in state if "IPY_MODEL" not in str(state[name]) and name != "_figure"]
    return {name: said(state[name]) for name in names}


VIEWS: dict[str, Callable[[Attention], HeadWidget]] = {
    "as it comes": lambda a: HeadView(a),
    "chosen": lambda a: HeadView(
        a, 2, 1, tokens=[("query", 2)], mode="matrix", highlight="captain", hidden=["sep"]
    ),
    "several": lambda a: HeadView(a, selected=[(1, 2), (3, 4)], unit="words", scale="log"),
    "none": lambda a: HeadView(a, selected=[]),
    "grid": lambda a: HeadGrid(a),
    "stepped": lambda a: HeadGrid(a, layer=2, scale="sqrt", quantity="norms"),
    "selected": lambda a: HeadGrid(a, selected=[(5, 11)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", VIEWS)
def test_views_and_grids(name: str) -> None:
    assert_same(VIEWS[name](load_model().attend(TEXT, "A pair.", truncate=True)))


@pytest.mark.slow
def test_only_what_was_chosen_is_said() -> None:
    attention = load_model().attend("The cat sat.", loss="masked", seed=3)
    code = assert_same(HeadView(attention, 2, 1, quantity="gradients"))
    assert code == (
        "from attnwidget import HeadView, load_model\n"
        "\n"
        'attention = load_model().attend("The cat sat.", loss="masked", seed=3)\n'
        'HeadView(attention, layer=2, head=1, quantity="gradients")'
    )
    assert HeadView(attention).code().endswith("HeadView(attention, layer=0, head=0)")


def test_long_calls_have_a_line_for_each_argument() -> None:
    code = HeadView(load_model().attend("The cat sat. " * 9, "It slept."), 2, 1).code()
    assert f'.attend(\n    "{"The cat sat. " * 9}",\n    "It slept.",\n)\nHeadView(' in code


def test_weights_of_ones_own_are_named_and_not_written() -> None:
    attention = Attention.from_weights(WEIGHTS, ["a", "b", "c"], model_name="mine")
    code = assert_same(HeadGrid(attention, selected=[(1, 2)]), weights=WEIGHTS)
    assert "# weights: put in what Attention.from_weights was given" in code
    assert 'Attention.from_weights(weights, ["a", "b", "c"], model_name="mine")' in code


def test_a_user_s_model_and_its_inputs() -> None:
    module = zoo.build("llama")
    inputs = zoo.inputs("llama", batch=1, padded=0)
    view = HeadView(load_model(module).attend(inputs), 1, 1)
    assert "attention = load_model(model).attend(text)\n" in view.code()
    assert_same(view, model=module, text=inputs)


def test_a_stack_is_said_where_there_are_several() -> None:
    module = zoo.build("bart")
    inputs = zoo.inputs("bart", batch=1, padded=0)
    attention = load_model(module).attend(inputs)
    code = assert_same(HeadView(attention, 1, 0, "cross"), model=module, text=inputs)
    assert 'layer=1, head=0, stack="cross"' in code
    code = assert_same(HeadGrid(attention, stack="decoder"), model=module, text=inputs)
    assert 'HeadGrid(attention, stack="decoder")' in code


def test_a_batch_and_a_generated_text_say_how_they_were_made() -> None:
    model = load_model(device="cpu", dtype=torch.float32)
    first, second = model.attend_batch(["The cat sat.", "It slept."])
    assert str(second.made_by) == (
        'load_model(device="cpu", dtype=torch.float32).attend("It slept.")'
    )
    code = assert_same(HeadGrid(first))
    assert code.startswith("import torch\n\nfrom attnwidget import HeadGrid, load_model\n")


def test_measurements_are_named_and_not_written() -> None:
    metrics = {"x": np.arange(72.0).reshape(6, 12)}
    attention = load_model().attend("The cat sat.")
    assert_same(
        HeadGrid(attention, metrics=metrics, metric="x", sort="all", filter=(3.0, 60.0)),
        metrics=metrics,
    )
    positions = np.random.default_rng(0).normal(size=(6, 12, 2))
    labels = np.full((6, 12), "to [SEP]")
    given = {"positions": positions, "behaviors": labels}
    plane = HeadScatter.from_positions(positions, labels, note="by hand", selected=[(1, 2)])
    assert_same(plane, **given)


@pytest.mark.slow
def test_code_of_figures_that_open_on_the_best_head_names_other_heads() -> None:
    model = load_model()
    found = probe_relations(model, [SENTENCE], progress=False)
    given = {"sentences": [SENTENCE], "accuracies": found}
    for selected in ([(3, 3)], []):
        assert_same(DependencyArcs(model, [SENTENCE], found, selected=selected), **given)
    arcs = DependencyArcs(model, [SENTENCE], relation="obj")
    assert_same(arcs, sentences=[SENTENCE])
    assert_same(RelationTable(found, min_count=1, relation="obj"), accuracies=found)
    words = ["The", "captain", "told", "his", "men", "that", "he", "would", "not", "leave", "."]
    spans = [(0, 1, "captain"), (3, 3, "captain"), (3, 4, "men"), (6, 6, "captain")]
    among = [Document.from_spans(words, spans)]
    coreference = probe_coreference(model, among, progress=False)
    given = {"accuracies": coreference, "documents": among}
    for options in ({"selected": [(2, 4)], "mention": 3}, {"selected": [], "mention": None}):
        assert_same(CoreferenceView(coreference, among, **options), **given)


@pytest.mark.slow
def test_an_explorer_and_the_options_of_its_figures() -> None:
    explorer = explore(text="The cat sat.", selected=[(2, 4)], treebank=False)
    explorer.wait()
    explorer.view.mode = "matrix"
    explorer.grid.metric = "entropy"
    code = explorer.code()
    again = shown_by(code)
    assert code.index("explorer.view.mode") < code.index("explorer.wait()")
    assert again.wait() and choices(again) == choices(explorer)
    again.close()
    explorer.show(Attention.from_weights(np.full((6, 12, 3, 3), 1 / 3), ["a", "b", "c"]))
    explorer.hidden = ["sep"]
    again = shown_by(explorer.code(), weights=np.full((6, 12, 3, 3), 1 / 3))
    assert again.attention.tokens == ["a", "b", "c"] and again.hidden == ["sep"]
    again.close()
    explorer.close()


@pytest.mark.parametrize(
    "value", ["a\"b'c\\n\n\t\x00é\u2028😀", [("query", 7)], (0.5, 1.0), (1,), {"a": [None, True]}]
)
def test_literals_evaluate_to_their_value(value: Any) -> None:
    assert ast.literal_eval(literal(value) or "") == value


def test_what_has_no_form_is_named() -> None:
    made = call("f", {"x": np.ones(3), "y": None}, {"z": 2})
    assert (str(made), made.unsaid) == ("f(x, z=2)", (("x", "f"),))
