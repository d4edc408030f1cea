"""Retrieval scores and sinks: planted heads, and numbers against plain loops."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from attnwidget import load_model
from attnwidget.capture.maps.attention import Attention
from attnwidget.inputs.text_ids import TextIds
from attnwidget.metrics import Sinks, retrieval_scores
from fixtures.random_batches import HEADS, LAYERS, random_batch, random_maps, seen
from refusals import naming

NEEDLE = "The key is in the blue jar."
QUESTION = "The key is in"
HAYSTACK = "It rained all day. The men went home. Nobody sang. " * 3


class Planted:
    """A model that answers with the needle, one of whose heads looks at what is copied."""

    def __init__(self) -> None:
        self.tokenizer = load_model().tokenizer
        self.texts = TextIds(self.tokenizer)
        self.hf_model = SimpleNamespace(config=SimpleNamespace(is_encoder_decoder=False))
        self.name = "planted"
        self.answer = self.tokenizer.convert_tokens_to_ids(["the", "blue", "jar", "men"])

    def generate(self, ids: list[int], max_new_tokens: int) -> Attention:
        self.asked = ids
        whole = [*ids, *self.answer]
        tokens = self.tokenizer.convert_ids_to_tokens(whole)
        n = len(whole)
        weights = np.tril(np.ones((1, 3, n, n)))
        blue = tokens.index("blue")
        jar = tokens.index("jar")
        # Head 1 looks at what is copied, head 2 at the token after it.
        for step, place in ((len(ids), blue), (len(ids) + 1, jar)):
            weights[0, 1, step, place] = 1000
            weights[0, 2, step, place + 1] = 1000
        weights /= weights.sum(-1, keepdims=True)
        found = Attention.from_weights(weights, tokens)
        axis = found.stacks["self"].query
        stack = SimpleNamespace(
            n_layers=1, n_heads=3, query=SimpleNamespace(ids=whole, text=axis.text)
        )
        return SimpleNamespace(stacks={"self": stack}, token_values=found.token_values)  # type: ignore[return-value]


@pytest.mark.slow
def test_the_head_that_copies_is_found() -> None:
    found = retrieval_scores(Planted(), HAYSTACK, NEEDLE, QUESTION, depth=0.4)  # type: ignore[arg-type]
    different = len(set(Planted().tokenizer.tokenize(NEEDLE)))
    # "the" is written by a query that looks nowhere in particular: its strongest key is the first.
    np.testing.assert_allclose(found.scores, [[0, 2 / different, 0]])
    assert found.answer == "the blue jar men"
    assert found.copied == ("the", "blue", "jar")
    assert found.share == pytest.approx(3 / different)
    assert "from 1" in found.chart().to_dict()["layer"][0].get("title", "") or found.needle[0] > 9


@pytest.mark.slow
@pytest.mark.parametrize("depth", [0.0, 0.3, 1.0])
def test_the_needle_stands_between_sentences(depth: float) -> None:
    model = Planted()
    tokenize = model.tokenizer.tokenize
    found = retrieval_scores(model, HAYSTACK, NEEDLE, QUESTION, depth=depth)  # type: ignore[arg-type]
    start, end = found.needle
    tokens = model.tokenizer.convert_ids_to_tokens(model.asked)
    assert tokens[start:end] == tokenize(NEEDLE)
    before, after = (
        [token for token in part if token not in model.tokenizer.all_special_tokens]
        for part in (tokens[:start], tokens[end:])
    )
    assert before + after == tokenize(HAYSTACK) + tokenize(QUESTION)
    assert not before or before[-1] == "."
    sentence = max(len(tokenize(one)) for one in HAYSTACK.split("."))
    assert abs(len(before) - depth * len(tokenize(HAYSTACK))) <= sentence


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"depth": 1.5}, ("depth", "1.5")),
        ({"needle": " "}, ("needle", "question")),
        ({"question": ""}, ("needle", "question")),
    ],
)
def test_bad_questions(given: dict[str, object], parts: tuple[str, ...]) -> None:
    asked = {"haystack": HAYSTACK, "needle": NEEDLE, "question": QUESTION} | given
    with pytest.raises(ValueError, match=naming(*parts)):
        retrieval_scores(Planted(), **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("causal", [False, True])
def test_sinks_are_means_over_later_queries(causal: bool) -> None:
    lengths = [9, 3, 14, 4]
    batch = random_batch(3, lengths, padding=2)
    maps = random_maps(3, lengths, padding=2, causal=causal)
    found = seen(Sinks(4), batch, maps).compute()
    long = [(d, n) for d, n in enumerate(lengths) if n > 4]
    for layer in range(LAYERS):
        for head in range(HEADS):
            of_documents = [maps[layer, d, head, 4:n, :4].double().mean(0) for d, n in long]
            expected = torch.stack(of_documents).mean(0).numpy()
            np.testing.assert_allclose(found.mass[:, layer, head], expected, atol=1e-6)
    even = [np.mean([4 / (i + 1 if causal else n) for i in range(4, n)]) for _, n in long]
    assert found.even == pytest.approx(np.mean(even), abs=1e-6)
    assert found.n_documents == 2
    np.testing.assert_allclose(found.heads()["to the first 4 tokens"], found.mass.sum(0))
    assert "from query 5 on" in str(found.chart().to_dict()["title"])
    with pytest.raises(ValueError, match=naming("n_tokens", "0", "token")):
        Sinks(0)
