"""The explorer of an attention that was made elsewhere."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import traitlets

from attnwidget import Attention, AttentionModel, Explorer, explore, watch_attention
from attnwidget.demo import demo_atlas, demo_treebank
from refusals import naming

WORDS = ["The", "cat", "sat", "on", "it"]
RANDOM = np.random.default_rng(0)
SENTENCE = ("heads", "switched off", "predictions", "text")


def watched() -> Attention:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    with watch_attention(encoder) as calls, torch.no_grad():
        encoder(torch.randn(1, len(WORDS), 16))
    return calls.attention(WORDS)


def weights(n_keys: int = len(WORDS)) -> np.ndarray[Any, Any]:
    return RANDOM.dirichlet(np.ones(n_keys), (2, 3, len(WORDS))).astype("f4")


def of_queries() -> Attention:
    queries, keys = RANDOM.normal(size=(2, 2, 3, len(WORDS), 8)).astype("f4")
    return Attention.from_queries_keys(queries, keys, scale=0.3, tokens=WORDS)


#: Attentions without a model, and the details that their data allow.
WITHOUT_MODEL: dict[str, tuple[Callable[[], Attention], set[str]]] = {
    "a watched module": (watched, {"head_scatter", "why"}),
    "weights": (lambda: Attention.from_weights(weights(), WORDS), {"head_scatter"}),
    "weights to other tokens": (
        lambda: Attention.from_weights(weights(4), WORDS, key_tokens=list("abcd")),
        set(),
    ),
    "queries and keys": (of_queries, {"head_scatter", "why"}),
}


@pytest.fixture
def opened() -> Iterator[list[Explorer]]:
    explorers: list[Explorer] = []
    yield explorers
    for explorer in explorers:
        explorer.close()


@pytest.mark.parametrize("made", WITHOUT_MODEL)
def test_what_needs_no_model_is_shown(opened: list[Explorer], made: str) -> None:
    make, details = WITHOUT_MODEL[made]
    explorer = explore(make())
    opened.append(explorer)
    explorer._begin_measuring(None)
    assert explorer.wait(60)
    assert explorer.model is None and explorer.children.keys() == {"grid", "view"} | details
    assert not explorer._offers and not explorer._examples and explorer._tested is None
    assert "confidence" in explorer.grid.metrics["self"]
    assert all(part in explorer._without_model for part in SENTENCE)
    assert explorer._source["fixed"]
    assert "explore(attention" in explorer.code()


def test_the_attention_of_a_model_brings_its_model(
    model: AttentionModel, opened: list[Explorer]
) -> None:
    explorer = explore(model.attend("The cat sat."), treebank=False)
    opened.append(explorer)
    assert explorer.model is model and explorer._without_model == ""
    explorer.text = "It slept."
    assert explorer.attention.tokens == model.attend("It slept.").tokens


def test_a_pickled_attention_has_no_model(model: AttentionModel, opened: list[Explorer]) -> None:
    attention = pickle.loads(pickle.dumps(model.attend("The cat sat.")))
    explorer = explore(attention, atlas=demo_atlas())
    opened.append(explorer)
    assert explorer.model is None and explorer.labels
    # Another attention of these heads may have a model of its own.
    explorer.show(model.attend("It slept."))
    assert explorer._source["fixed"] == "" and "no other text" in explorer._without_model


def test_what_needs_a_model_is_refused_with_the_next_step(opened: list[Explorer]) -> None:
    attention = Attention.from_weights(weights(), WORDS)
    with pytest.raises(ValueError, match=naming("explore(model, attention, treebank=...)")):
        explore(attention, treebank=demo_treebank())
    with pytest.raises(ValueError, match=naming("model", "attention")):
        explore(attention, "The cat sat.")
    explorer = explore(attention)
    opened.append(explorer)
    with pytest.raises(ValueError, match=naming("explore(model, text)")):
        explorer.text = "It slept."
    assert explorer.attention is attention
    with pytest.raises(
        traitlets.TraitError, match=naming("'disabled'", "load_model(...).attend(text)")
    ):
        explorer.disabled = [(0, 1)]


def test_a_saved_page_names_what_it_cannot_do(opened: list[Explorer], tmp_path: Path) -> None:
    explorer = explore(watched())
    opened.append(explorer)
    explorer.save(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "comes without its model" in page and "needs a notebook" not in page
