"""Every public call that takes a head takes each of its forms."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from transformers import LlamaConfig, LlamaForCausalLM

import attnwidget
from attnwidget import (
    Attention,
    AttentionModel,
    Head,
    HeadGrid,
    HeadView,
    LinkView,
    MinimalPair,
    ablate,
    load_model,
    make_segments,
    measure_attention,
)
from attnwidget.behaviors import head_examples
from attnwidget.demo import demo_atlas, drawn_shapes
from attnwidget.interventions import needed_links, patch_heads, patch_path
from attnwidget.mechanisms import (
    attended_vocabulary,
    explain_link,
    head_composition,
    head_vocabulary,
    head_writes,
    key_biplot,
    link_factors,
    score_at_distances,
    score_sources,
)
from attnwidget.metrics import attention_rollout
from attnwidget.words import word_map_steps
from fixtures import zoo
from refusals import naming

TEXT = "The captain told his men that he would not leave the ship."
#: One head in each form of one argument; the forms of two arguments are `(1, 3)` unpacked.
FORMS = ["L1 H3", "l1h3", (1, 3), [1, 3], Head(1, 3), np.array([1, 3])]
#: The forms of one head where several heads may stand; a list is of several heads there.
FORMS_OF_LISTS = ["L1 H3", (1, 3), Head(1, 3), ["L1 H3"], [(1, 3)], [Head(1, 3)], [[1, 3]]]
#: Public parameters that are no names of a head: sizes, results, and numbers of a layer.
NOT_NAMED = {
    "Attention.row_blocks",
    "Attention.score_parts",
    "Head",
    "Mention",
    "Stack.head_name",
    "StructuralProbe.chart",
    "StructuralProbe.edge_lengths",
    "StructuralProbe.keep_maps",
    "StructuralProbe.predictions",
    "StructuralProbe.score",
    "TokenRelevance.chart",
    "TokenRelevance.after_layer",
    "measure_rules",  # asked in tests/behaviors/test_measure_rules.py: a mapping of heads
    "with_rules",  # asked in tests/behaviors/test_rules_in_text.py: a mapping of heads
    "link_panels",  # asked in tests/behaviors/test_link_panels.py: not every head has examples
    "word_times",  # asked in tests/words/test_speech.py: cross-attention
}


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend(TEXT)


@pytest.fixture(scope="module")
def causal() -> AttentionModel:
    config = LlamaConfig(
        vocab_size=99,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=3,
        num_attention_heads=4,
    )
    return load_model(LlamaForCausalLM(config), device="cpu")


def of_attention() -> dict[str, Callable[..., Any]]:
    """Return calls of one head by name: each gets an attention, and the head in any form."""
    return {
        "Attention.weights": lambda a, *h: a.weights(*h),
        "Attention.to_frame": lambda a, *h: a.to_frame(*h)["weight"].to_numpy(),
        "Attention.norms": lambda a, *h: a.norms(*h),
        "Attention.gradients": lambda a, *h: a.gradients(*h),
        "Attention.scores": lambda a, *h: a.scores(*h).products,
        "Attention.rows": lambda a, *h: a.rows(*h, 7),
        "Attention.tile": lambda a, *h: a.tile(*h, (0, 5), (2, 9)),
        "Attention.top_links": lambda a, *h: a.top_links(*h, 3),
        "Attention.visible": lambda a, *h: a.visible(*h),
        "Attention.map": lambda a, *h: a.map("norms", *h),
        "WordAttention.weights": lambda a, *h: a.words.weights(*h),
        "WordAttention.map": lambda a, *h: a.words.map("weights", *h),
        "WordAttention.visible": lambda a, *h: a.words.visible(*h),
        "HeadView": lambda a, *h: HeadView(a, *h).weights,
        "LinkView": lambda a, *h: LinkView(a, *h, query=7, key=2).factors.ratio,
        "explain_link": lambda a, *h: explain_link(a, *h, 7, 2).total,
        "link_factors": lambda a, *h: link_factors(a, *h, 7, 2).ratio,
        "score_sources": lambda a, *h: score_sources(a, *h, 7, 2).matrix,
        "head_writes": lambda a, *h: head_writes(a, *h, position=7).vectors,
        "word_map_steps": lambda a, *h: word_map_steps(a, *h).word_map,
        "key_biplot": lambda a, *h: key_biplot(a, *h).queries,
    }


def of_lists(model: AttentionModel) -> dict[str, Callable[..., Any]]:
    """Return calls of several heads by name: each gets an attention, and the heads in any form."""
    pairs = [MinimalPair("Cats purr.", "Cats purrs.")]
    clean = ("The woman said that [MASK] was late.", "she")
    corrupted = ("The man said that [MASK] was late.", "he")

    def switched_off(_: Attention, heads: Any) -> Any:
        with model.disabled(heads):
            return model.attend("The cat sat.").weights(2)

    def cut(_: Attention, heads: Any) -> Any:
        with model.scaled_links([(1, 0)], 0, heads):
            return model.attend("The cat sat.").weights(2)

    return {
        "Attention.scaled_links": lambda a, heads: a.scaled_links([(7, 2)], 0, heads).weights()[
            ..., 2
        ],
        "AttentionModel.scaled_links": cut,
        "needed_links": lambda a, heads: (
            needed_links(a, position=7, heads=heads, shown=heads, n_random_links=0).need
        ),
        "Attention.mean": lambda a, heads: a.mean(heads=heads).weights(),
        "Attention.max": lambda a, heads: a.max(heads=heads).weights(),
        "Attention.disabled": lambda a, heads: a.disabled(heads).weights(3),
        "AttentionModel.disabled": switched_off,
        "ablate": lambda a, heads: (
            ablate(model, pairs, scoring="minimal pair", heads=heads, progress=False).head_scores
        ),
        "patch_heads": lambda a, heads: (
            patch_heads(model, clean, corrupted, heads=heads, progress=False).head_scores
        ),
        "HeadGrid": lambda a, heads: HeadGrid(a, selected=heads).selected,
    }


def equal(first: Any, second: Any) -> bool:
    if isinstance(first, np.ndarray) and first.dtype.kind == "f":
        return bool(np.array_equal(first, second, equal_nan=True))
    return first is second if first is None else bool(np.all(np.asarray(first == second)))


@pytest.mark.parametrize("name", of_attention())
def test_a_head_is_named_in_every_form(name: str, model: AttentionModel) -> None:
    attention = model.attend(TEXT, loss="masked")
    call = of_attention()[name]
    expected = call(attention, 1, 3)
    for form in FORMS:
        assert equal(call(attention, form), expected), form
    assert not equal(call(attention, 3, 1), expected) or expected is None
    view = HeadView(attention, "L1 H3")
    assert equal(call(attention, view.head), expected)


@pytest.mark.parametrize(
    "name",
    [
        "Attention.mean",
        "Attention.max",
        "Attention.disabled",
        "Attention.scaled_links",
        "AttentionModel.disabled",
        "AttentionModel.scaled_links",
        "ablate",
        "needed_links",
        "patch_heads",
        "HeadGrid",
    ],
)
def test_heads_are_named_in_every_form(
    name: str, attention: Attention, model: AttentionModel
) -> None:
    calls = of_lists(model)
    expected = calls[name](attention, [(1, 3)])
    for form in FORMS_OF_LISTS:
        assert equal(calls[name](attention, form), expected), form
    several = calls[name](attention, [(1, 3), (2, 0)])
    assert equal(calls[name](attention, ["L1 H3", Head(2, 0)]), several)


def test_heads_of_models_and_results_are_named_in_every_form(
    attention: Attention, model: AttentionModel, causal: AttentionModel
) -> None:
    segments = make_segments([TEXT, "The lawyer and the banker left."], model)
    examples = head_examples(model, segments, progress=False)
    atlas = demo_atlas()
    pictures = measure_attention(
        load_model("attnwidget/shapes").attend(images=drawn_shapes(1).images[0]),
        ["image_offsets"],
    )["image_offsets"]

    def written(call: Callable[..., Any], *head: Any) -> str:
        table: str = call(causal, *head, words=[5, 6], top=3).to_frame().to_csv()
        return table

    given: dict[str, Callable[..., Any]] = {
        "HeadExamples.links": lambda *h: examples.links(*h, "heaviest"),
        "Atlas.card": lambda *h: atlas.card(*h).name,
        "head_composition": lambda *h: head_composition(causal, *h).to_frame().to_csv(),
        "head_vocabulary": lambda *h: written(head_vocabulary, *h),
        "attended_vocabulary": lambda *h: written(attended_vocabulary, *h),
        "ImageOffsetsResult.chart": lambda *h: (
            pictures.chart([h]).to_json() if len(h) == 2 else pictures.chart(h[0]).to_json()
        ),
        "attention_rollout": lambda *h: (
            attention_rollout(attention, head=h if len(h) == 2 else h[0]).relevance
        ),
    }
    for name, call in given.items():
        expected = call(1, 3)
        for form in ("L1 H3", (1, 3), Head(1, 3)):
            assert equal(call(form), expected), (name, form)


def test_a_head_in_one_argument_leaves_the_others_their_places(attention: Attention) -> None:
    whole = explain_link(attention, 1, 3, 7, 2)
    for found in (
        explain_link(attention, "L1 H3", "he", "captain"),
        explain_link(attention, (1, 3), query="he", key="captain"),
        explain_link(attention, head="L1 H3", query=("he", 1), key=2),
        explain_link(attention, layer=1, head=3, query=7, key=2),
    ):
        assert found.log_ratio == whole.log_ratio
    moved = score_at_distances(attention, "L0 H3", "he", "captain", [5])
    assert moved.head == Head(0, 3)


def test_a_head_with_its_stack_is_named_in_one_argument() -> None:
    attention = load_model(zoo.build("bart")).attend(zoo.inputs("bart", batch=1, padded=0))
    expected = attention.weights(1, 3, stack="decoder")
    for form in ("decoder L1 H3", (1, 3, "decoder"), Head(1, 3, "decoder")):
        assert np.array_equal(attention.weights(form), expected)
    with pytest.raises(ValueError, match=naming("'decoder'", "stack='encoder'")):
        attention.weights("decoder L1 H3", stack="encoder")


@pytest.mark.parametrize(
    ("call", "error", "parts"),
    [
        (lambda a: a.weights("the pronoun head"), ValueError, ("'L1 H3'", "'the pronoun head'")),
        (lambda a: a.scores(1), ValueError, ("layer=1", "head=")),
        (lambda a: a.scores("L1 H3", 3), ValueError, ("once", "'L1 H3'", "head=3")),
        (lambda a: a.disabled([1, 3]), TypeError, ("[1, 3]", "layer")),
        (lambda a: a.mean(1, 3), TypeError, ("mean", "positional")),
        (lambda a: a.rows("L1 H3", "hee"), ValueError, ("'hee'", "'he'")),
        (lambda a: a.rows("L1 H3", "the"), ValueError, ("'the'", "1, 11", "('the', 2)")),
        (lambda a: a.rows("L1 H3", ("the", 3)), ValueError, ("('the', 3)", "2 times", "1, 11")),
        (lambda a: HeadView(a, 1, 33), ValueError, ("head 33", "'self'")),
    ],
)
def test_what_names_no_head_or_token_is_refused(
    attention: Attention,
    call: Callable[[Attention], object],
    error: type[Exception],
    parts: tuple[str, ...],
) -> None:
    with pytest.raises(error, match=naming(*parts)):
        call(attention)


def test_every_public_call_with_a_head_is_asked(model: AttentionModel) -> None:
    known = {*of_attention(), *of_lists(model), *NOT_NAMED}
    known |= {"HeadExamples.links", "Atlas.card", "head_composition", "head_vocabulary"}
    known |= {"attended_vocabulary", "ImageOffsetsResult.chart", "attention_rollout"}
    # The same two functions of `attnwidget.capture.tapping.head` as above.
    known |= {"FoundLinks.links", "GovernorPredictions.map", "NoOpWeights.head", "patch_path"}
    known |= {"RolesResult.turn_chart", "score_at_distances", "Attention.head", "Attention.has"}
    found = set()
    for module in ("", ".metrics", ".mechanisms", ".interventions", ".words", ".behaviors"):
        found |= _takers(importlib.import_module(f"attnwidget{module}"))
    found |= _takers(importlib.import_module("attnwidget.results"))
    assert found <= known, sorted(found - known)
    assert patch_path is not None and attnwidget.Head is Head


def _takers(module: Any) -> set[str]:
    """Return the public calls of a module whose parameters name a head."""
    takers = set()
    for name in module.__all__:
        thing = getattr(module, name)
        calls = {name: thing}
        if inspect.isclass(thing):
            if thing.__module__.startswith("attnwidget.results") or "dataclass" in repr(thing):
                calls = {}
            calls |= {
                f"{name}.{method}": getattr(value, "__func__", value)
                for method, value in vars(thing).items()
                if not method.startswith("_") and callable(getattr(value, "__func__", value))
            }
        for called, function in calls.items():
            if _names_a_head(function):
                takers.add(called)
    return takers


def _names_a_head(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    if inspect.isclass(function) and hasattr(function, "__dataclass_fields__"):
        return False
    notes = {name: str(parameters[name].annotation) for name in parameters}
    is_pair = {"layer", "head"} <= notes.keys() and "LayerBatch" not in notes["layer"]
    is_list = "heads" in notes and "ndarray" not in notes["heads"]
    return is_pair or is_list or "HeadName" in " ".join(notes.values())


def test_a_layer_has_a_name_where_it_has_a_number(
    model: AttentionModel, attention: Attention
) -> None:
    assert np.array_equal(attention.weights("L2"), attention.weights(2))
    assert np.array_equal(attention.weights("l2", 8), attention.weights(2, 8))
    assert np.array_equal(attention.norms(" L2 "), attention.norms(2))
    assert attention.to_frame("L2").equals(attention.to_frame(2))
    assert np.array_equal(attention.words.weights("L2"), attention.words.weights(2))
    assert HeadView(attention, "L2").head == HeadView(attention, layer=2).head
    for layers in ("L2", ["L2"]):
        mean = attention.mean(layers=layers).weights()
        assert np.array_equal(mean, attention.mean(layers=[2]).weights())
    with model.disabled(layers=[1, 2]):
        expected = model.attend("The cat sat.").weights()
    for heads, layers in (([(1, h) for h in range(12)], "L2"), (["L1", "L2"], None), ("L1", [2])):
        with model.disabled(heads, layers=layers):
            assert np.array_equal(model.attend("The cat sat.").weights(), expected)
    with (
        pytest.raises(ValueError, match=naming("L2 H0", "twice")),
        model.disabled("L2", layers=[2]),
    ):
        pass
