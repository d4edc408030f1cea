"""One `Attention` measured without a model: the numbers of `measure` over its text alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import Attention, AttentionModel, Segment, load_model, measure
from attnwidget.metrics.attention_to_classes import Classes
from attnwidget.metrics.entropy import Confidence
from attnwidget.metrics.induction import Induction
from attnwidget.metrics.measure_heads import measure_attention, metrics_by_name
from attnwidget.metrics.position import Position
from attnwidget.text.tokens import Tokens
from fixtures.picture_metrics import OF_PICTURES
from fixtures.tiers import only_first_is_fast
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from refusals import naming

TEXT = "w1 w2 w3 w1 w2 w9 w4"
PAIR = "w5 w1 w2"
# The control of this metric reads the shuffled text, which takes a model.
CONTROL = "explained by offset, tokens shuffled"


def metrics(causal: bool) -> list[Any]:
    """Everything that maps alone tell, with options of all kinds."""
    classes = {"some": {"w1", "w9"}, "odd": lambda tokens: [i % 2 == 1 for i in range(len(tokens))]}
    asked = [Position([-2, 0, 3]), Classes(classes), Confidence(["[SEP]"])]
    names = metrics_by_name().keys() - {one.name for one in asked} - {"norms", "gradients", "roles"}
    names -= OF_PICTURES
    return [*asked, *sorted(names if causal else names - {"induction"})]


@pytest.mark.parametrize("pair", [None, PAIR])
@pytest.mark.parametrize(
    "name", only_first_is_fast(["bert", "roberta", "distilbert", "gpt2", "t5"])
)
def test_measure_attention_equals_measure_on_one_segment(name: str, pair: str | None) -> None:
    torch.manual_seed(0)
    model = load_model(build(name), word_tokenizer())
    causal = name == "gpt2"
    segment = Segment(tuple(TEXT.split()), tuple(pair.split()) if pair else ())
    expected = measure(model, [segment], metrics(causal), progress=False)
    target = {"target": "w1"} if name == "t5" else {}
    attention = model.attend(TEXT, pair, **target)
    stack = next(iter(attention.stacks))
    found = measure_attention(attention, metrics(causal), stack=stack)
    assert (found.stack, found.n_segments, found.complete) == (expected.stack, 1, True)
    assert found.heads().keys() == expected.heads().keys() - {CONTROL}
    for title, values in found.heads().items():
        # Sums over all tokens of a map that the model computes in another order.
        np.testing.assert_allclose(values, expected.heads()[title], atol=2e-5, err_msg=title)


@pytest.mark.slow
def test_the_embedded_model_is_measured_alike(model: AttentionModel) -> None:
    texts = ("Who told the captain, and when?", "The captain told his men.")
    segment = Segment(*(tuple(model.tokenizer.tokenize(text)) for text in texts))
    expected = measure(model, [segment], metrics(causal=False), progress=False).heads()
    found = measure_attention(model.attend(*texts), metrics(causal=False)).heads()
    assert found.keys() == expected.keys() - {CONTROL}
    for title, values in found.items():
        np.testing.assert_allclose(values, expected[title], atol=2e-5, err_msg=title)


def test_tokens_that_have_no_ids_are_told_by_their_spelling() -> None:
    maps = np.tril(np.ones((1, 1, 4, 4), "f4"))
    maps[..., 3, :] = [0.1, 0.6, 0.2, 0.1]
    maps /= maps.sum(-1, keepdims=True)
    tokens = Tokens.plain(["a", "b", "a", "a"])
    found = measure_attention(Attention.from_weights(maps, tokens), [Induction()])["induction"]
    # From the third and from the last token to the second, which came after an earlier "a".
    np.testing.assert_allclose(found.heads()["induction"], [[(1 / 3 + 0.6) / 2]], atol=1e-6)


@pytest.mark.parametrize("metric", ["norms", "gradients"])
def test_what_maps_do_not_tell_is_refused(model: AttentionModel, metric: str) -> None:
    with pytest.raises(ValueError, match=naming(f"{metric}", "measure")):
        measure_attention(model.attend("The cat sat."), [metric])


def test_other_tokens_and_other_stacks_are_refused() -> None:
    maps = np.full((1, 2, 2, 3), 1 / 3, "f4")
    cross = Attention.from_weights(maps, list("xy"), key_tokens=list("abc"), stack="cross")
    with pytest.raises(ValueError, match=naming("'cross'", "another")):
        measure_attention(cross, ["entropy"])
    with pytest.raises(ValueError, match=naming("'self'", "stack")):
        measure_attention(cross, ["entropy"], stack="self")
    with pytest.raises(ValueError, match=naming("'width'", "attention_distance")):
        measure_attention(cross, ["width"])


def test_classes_are_checked(model: AttentionModel) -> None:
    attention = model.attend("The cat sat.")
    for wrong, parts in (
        ({"[SEP]": {"."}}, ("'[SEP]'", "standard")),
        ({"none": set()}, ("set", "'none'", "collection")),
        ({"short": lambda tokens: [True]}, ("'short'", "1 values", "6 tokens")),
    ):
        with pytest.raises(ValueError, match=naming(*parts)):
            measure_attention(attention, [Classes(wrong)])
    two = [Classes({"a": {"cat"}}), *_other_classes()]
    with pytest.raises(ValueError, match=naming("'a'", "different")):
        measure_attention(attention, two)


def _other_classes() -> list[Any]:
    others = Classes({"a": {"sat"}})
    others.name = "others"
    return [others]
