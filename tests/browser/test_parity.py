"""What is saved is what is seen: a widget's picture and its page, pixel by pixel, word by word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attnwidget import (
    Attention,
    DependencyArcs,
    HeadGrid,
    HeadScatter,
    HeadView,
    LinkView,
    PredictionView,
    ProbeView,
    RelationTable,
    load_model,
)
from attnwidget.demo import demo_treebank
from attnwidget.probes import train_dependency_probe, train_structural_probe
from attnwidget.text.treebank import Sentence
from attnwidget.widgets.shared.head_widget import HeadWidget
from attnwidget.words.relations import RelationAccuracies, probe_relations
from browser.parity import Desk, assert_all_alike
from capture.test_predict import words
from fixtures import zoo
from fixtures.pictures import picture_attention, sound_attention
from fixtures.tiers import only_first_is_fast
from fixtures.vocabularies import word_tokenizer
from references.formula_attention import FormulaAttention

pytestmark = pytest.mark.browser
PROSE = "The captain told his men that he would not leave the ship , and they sat down to wait . "


LABELS = {(0, 1): "induction", (1, 0): "a label that is longer than its panel is wide", (7, 9): "x"}


def of_length(n: int) -> Attention:
    """Attention of the embedded model over exactly `n` tokens."""
    model = load_model()
    words = (PROSE * 60).split()
    texts = (" ".join(words[:count]) for count in range(1, n))
    return model.attend(next(text for text in texts if len(model.tokenizer(text).input_ids) == n))


@pytest.fixture(scope="module")
def inputs() -> dict[str, Attention]:
    model = load_model()
    llama = load_model(zoo.build("llama"))
    return {
        "6 tokens": of_length(6),
        "40 tokens": of_length(40),
        "122 tokens": of_length(122),
        "502 tokens": of_length(502),
        "a pair": model.attend("The cat sat on the mat.", "It was very tired."),
        "causal": llama.attend(zoo.inputs("llama", batch=1, padded=0)),
    }


def several(attention: Attention, arrangement: str, mode: str, **options: Any) -> HeadView:
    options |= {"selected": [(0, 1), (1, 0), (1, 2)], "tokens": [("query", 2)], "mode": mode}
    return HeadView(attention, arrangement=arrangement, **options)


VIEWS: dict[str, Callable[[Attention], HeadWidget]] = {
    "lines": lambda attention: HeadView(attention, 1, 2, mode="lines"),
    "locked lines": lambda attention: HeadView(
        attention, 1, 2, mode="lines", tokens=[("query", len(attention.tokens) * 2 // 3)]
    ),
    "matrix": lambda attention: HeadView(attention, 1, 2, mode="matrix"),
    "side by side": lambda attention: several(attention, "beside", "lines"),
    "matrices side by side": lambda attention: several(attention, "beside", "matrix"),
    "overlaid": lambda attention: several(attention, "overlay", "lines"),
    "overlaid matrices": lambda attention: several(attention, "overlay", "matrix"),
}


@pytest.mark.slow
@pytest.mark.parametrize("length", only_first_is_fast([40, 502]))
def test_a_zoomed_matrix_is_saved_as_it_is_seen(
    desk: Desk, inputs: dict[str, Attention], length: int
) -> None:
    window = (length // 4, length // 4 + 20, 3, 18)
    options = {"tokens": [("query", window[0] + 2)], "highlight": ["he"], "token_size": "L"}
    assert_all_alike(
        desk, HeadView(inputs[f"{length} tokens"], 1, 2, mode="matrix", window=window, **options)
    )


@pytest.mark.parametrize("mode", only_first_is_fast(["lines", "matrix"]))
def test_a_long_input_is_saved_as_it_is_seen(desk: Desk, mode: str) -> None:
    assert_all_alike(desk, HeadView(FormulaAttention(3600), 0, 1, mode=mode))


@pytest.mark.parametrize("arrangement", only_first_is_fast(["one", "beside", "overlay"]))
def test_places_on_a_picture_are_saved_as_they_are_seen(desk: Desk, arrangement: str) -> None:
    options = {"arrangement": arrangement, "tokens": [("query", 9)]}
    heads = [(0, 0)] if arrangement == "one" else [(0, 0), (1, 2)]
    assert_all_alike(desk, HeadView(picture_attention(registers=2), selected=heads, **options))


@pytest.mark.slow
def test_places_on_a_sound_are_saved_as_they_are_seen(desk: Desk) -> None:
    assert_all_alike(desk, HeadView(sound_attention(), stack="cross", tokens=[("query", 1)]))


@pytest.mark.slow
def test_generated_text_is_saved_as_it_is_seen(desk: Desk) -> None:
    model = load_model(zoo.build("llama"), word_tokenizer(template=False))
    written = model.generate("w1 w2 w3 w4", max_new_tokens=5)
    for mode in ("lines", "matrix"):
        assert_all_alike(desk, HeadView(written, 1, 1, mode=mode, tokens=[("query", 4)]))


@pytest.mark.slow
@pytest.mark.parametrize("arrangement", only_first_is_fast(["one", "beside", "overlay"]))
def test_labels_of_heads_are_saved_as_they_are_seen(
    desk: Desk, inputs: dict[str, Attention], arrangement: str
) -> None:
    labels = {head: text for head, text in LABELS.items() if head != (7, 9)}
    for mode in ("lines", "matrix"):
        widget = several(inputs["6 tokens"], arrangement, mode, labels=labels)
        assert_all_alike(desk, widget, widths=(480, 750, 1200))


INPUTS = ["6 tokens", "40 tokens", "122 tokens", "502 tokens", "a pair", "causal"]
EVERY = [(kind, name) for kind in VIEWS for name in INPUTS]
# Every view and every input once.
SOME = [(kind, INPUTS[i % len(INPUTS)]) for i, kind in enumerate(VIEWS)]


@pytest.mark.parametrize(
    ("desk", "kind", "name"),
    [
        *(("pairwise", *pair) for pair in SOME[:2]),
        *(pytest.param("whole", *pair, marks=pytest.mark.slow) for pair in EVERY),
    ],
    indirect=["desk"],
)
def test_a_view_is_saved_as_it_is_seen(
    desk: Desk, inputs: dict[str, Attention], kind: str, name: str
) -> None:
    # A canvas rounds each of thousands of strokes to 8 bits, a picture their sum.
    by = 20 if (kind, name) == ("lines", "122 tokens") else 16
    assert_all_alike(desk, VIEWS[kind](inputs[name]), by=by)


TEXTS = {"one text": "the cat sits on the mat .", "two texts": "the cats sit on a mat , today ."}


@pytest.mark.slow
@pytest.mark.parametrize("mode", only_first_is_fast(["lines", "matrix"]))
@pytest.mark.parametrize("text", only_first_is_fast(TEXTS))
def test_a_comparison_is_saved_as_it_is_seen(desk: Desk, text: str, mode: str) -> None:
    model = load_model()
    other = load_model("attnwidget/genre") if text == "one text" else model
    pair = model.attend(TEXTS["one text"]), other.attend(TEXTS[text])
    view = HeadView(pair[0], 2, 3, versus=pair[1], mode=mode, tokens=[("query", 3)])
    assert_all_alike(desk, view)
    for comparison_part in ("difference", "second") if mode == "lines" else ():
        assert_all_alike(
            desk,
            HeadGrid(pair[0], versus=pair[1], comparison_part=comparison_part, selected=[(2, 3)]),
        )


HERE = [(1, 2), (3, 5)]
GRIDS: dict[str, dict[str, object]] = {
    "plain": {},
    "with a metric": {"metric": "largest"},
    "sorted": {"metric": "largest", "sort": "all", "filter": (0.9, 1.0)},
    "heads off": {"disabled": [(0, 1), (1, 2)], "method": "zero"},
    "differences": {"disabled": [(0, 1), (1, 2)], "versus": "intact"},
    "labeled": {"labels": {(1, 2): "pronoun", (3, 11): "a label that is longer than its cell"}},
    "within layers": {"metric": "largest", "sort": "rows", "scale": "sqrt"},
}


@pytest.mark.parametrize("options", only_first_is_fast(GRIDS))
def test_a_grid_is_saved_as_it_is_seen(
    desk: Desk, inputs: dict[str, Attention], options: str
) -> None:
    names = ["6 tokens", "122 tokens"]
    for name in [*names, "502 tokens", "a pair"] if options == "plain" else names:
        attention = inputs[name]
        largest = {"largest": attention.weights().max(axis=(-2, -1))}
        widget = HeadGrid(attention, selected=HERE, metrics=largest, **GRIDS[options])
        assert_all_alike(desk, widget)
    widget = HeadGrid(inputs["causal"], selected=[(1, 1)])
    assert_all_alike(desk, widget)


PREDICTIONS: dict[str, dict[str, object]] = {
    "intact": {},
    "heads off": {"disabled": [(1, 8), (5, 8)], "selected": [(2, 3)]},
    "an estimate": {"effects_by": "gradient", "method": "zero"},
    "after each layer": {"effects_by": "gradient", "lens": True},
}


@pytest.mark.slow
def test_direct_effects_are_saved_as_they_are_seen(desk: Desk) -> None:
    attention = load_model(zoo.build("gpt2"), words()).attend("w7 w8 w9 w11 w30")
    widget = PredictionView(attention, effects_by="direct", lens=True)
    assert widget.wait()
    assert_all_alike(desk, widget)


@pytest.mark.slow
def test_patching_is_saved_as_it_is_seen(desk: Desk, inputs: dict[str, Attention]) -> None:
    second = inputs["6 tokens"].tokens[1:-1]
    second[0] = "dogs"
    widget = PredictionView(inputs["6 tokens"], 3, effects_by="patch", corrupted=" ".join(second))
    assert widget.wait()
    assert_all_alike(desk, widget)


@pytest.mark.slow
@pytest.mark.parametrize("options", only_first_is_fast(PREDICTIONS))
def test_predictions_are_saved_as_they_are_seen(
    desk: Desk, inputs: dict[str, Attention], options: str
) -> None:
    widget = PredictionView(inputs["6 tokens"], position=3, **PREDICTIONS[options])
    assert widget.wait()
    assert_all_alike(desk, widget)


WORDS: dict[str, dict[str, object]] = {
    "from": {"tokens": [("query", 3)]},
    "to": {"tokens": [("key", 2)], "hidden": ["cls", "sep"]},
    "a pair": {"tokens": [("query", 3), ("key", 2)], "unit": "words"},
}


@pytest.mark.slow
@pytest.mark.parametrize("options", only_first_is_fast(WORDS))
def test_a_word_in_all_heads_is_saved_as_it_is_seen(
    desk: Desk, inputs: dict[str, Attention], options: str
) -> None:
    for name in ["6 tokens", "122 tokens", "causal"]:
        assert_all_alike(desk, HeadGrid(inputs[name], selected=[(1, 2)], **WORDS[options]))


@pytest.mark.slow
def test_a_link_is_saved_as_it_is_seen(desk: Desk, inputs: dict[str, Attention]) -> None:
    first = LinkView(inputs["40 tokens"], 0, 1, query=7, key=2, distance=9)
    assert_all_alike(desk, first, widths=(480, 700, 1200))
    assert_all_alike(desk, LinkView(inputs["causal"], 1, 2, query=9, distance=20))
    assert_all_alike(desk, LinkView(inputs["6 tokens"], 3, 2, query=2))


@pytest.mark.slow
@pytest.mark.parametrize("word", only_first_is_fast([None, 2]))
def test_probe_predictions_are_saved_as_they_are_seen(desk: Desk, word: int | None) -> None:
    cats = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
    probe = train_dependency_probe(
        load_model(), demo_treebank()[:10], [cats], seeds=1, progress=False
    )
    assert_all_alike(desk, ProbeView(probe, [cats], word=word))


@pytest.mark.slow
@pytest.mark.parametrize("word", only_first_is_fast([None, 2]))
def test_the_tree_of_a_probe_is_saved_as_it_is_seen(desk: Desk, word: int | None) -> None:
    cats = Sentence.from_lists(["Cats", "eat", "fish"], [2, 0, 2], ["nsubj", "root", "obj"])
    options = {"layers": [1], "rank": 4, "epochs": 1, "progress": False}
    probe = train_structural_probe(load_model(), demo_treebank()[:10], [cats], **options)
    assert_all_alike(desk, ProbeView(probe, [cats], word=word))


@pytest.mark.slow
@pytest.mark.parametrize("selected", [[], [(2, 8)]])
@pytest.mark.parametrize("relation", ["all", "det"])
def test_a_sentence_is_saved_as_it_is_seen(
    desk: Desk, selected: list[tuple[int, int]], relation: str
) -> None:
    words = ["The", "old", "cat", "sat", "on", "my", "mat"]
    governors = [3, 3, 4, 0, 7, 7, 4]
    relations = ["det", "amod", "nsubj", "root", "case", "nmod:poss", "obl"]
    mat = Sentence.from_lists(words, governors, relations, name="mat")
    widget = DependencyArcs(load_model(), mat, selected=selected, relation=relation)
    assert_all_alike(desk, widget)


def measured() -> dict[str, HeadWidget]:
    """Maps of 12 x 12 heads, small and large names, many and few heads."""
    random = np.random.default_rng(0)
    positions = random.normal(size=(12, 12, 2))
    names = np.array(["to [SEP]", "other", "a behavior whose name is longer than a line is wide"])
    labels = names[random.integers(0, 3, size=(12, 12))]
    here = [(0, 1), (7, 9)]
    return {
        "layers": HeadScatter.from_positions(positions, model_name="a model", selected=here),
        "labeled": HeadScatter.from_positions(positions, selected=here, labels=LABELS),
        "behaviors": HeadScatter.from_positions(positions, labels, selected=here),
        "a thousand": HeadScatter.from_positions(random.normal(size=(32, 32, 2))),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", only_first_is_fast(["layers", "labeled", "behaviors", "a thousand"])
)
def test_maps_are_saved_as_they_are_seen(desk: Desk, name: str) -> None:
    assert_all_alike(desk, measured()[name])


@pytest.fixture(scope="module")
def relations() -> RelationAccuracies:
    words = ["The", "old", "cat", "sat", "on", "my", "mat"]
    labels = ["det", "amod", "nsubj", "root", "case", "nmod:poss", "obl"]
    sentence = Sentence.from_lists(words, [3, 3, 4, 0, 7, 7, 4], labels)
    return probe_relations(load_model(), [sentence] * 40, progress=False)


TABLES: dict[str, dict[str, object]] = {
    # A picture has the row of all words only where it has no other row.
    "a row": {"min_count": 100, "relation": "case", "selected": [(3, 8), (1, 2)]},
    "wishes": {"min_count": 100, "sort": "accuracy", "relation": "obl"},
    "empty": {"min_count": 2000, "relation": "det"},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", only_first_is_fast(TABLES))
def test_a_table_of_relations_is_saved_as_it_is_seen(
    desk: Desk, relations: RelationAccuracies, kind: str
) -> None:
    assert_all_alike(desk, RelationTable(relations, **TABLES[kind]), widths=(480, 700, 1200))
