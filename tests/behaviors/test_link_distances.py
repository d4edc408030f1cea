"""Shares of attention by distance, beside a slow loop, and in atlases and their files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attnwidget import AttentionModel, Head, atlas, load_atlas, load_model, make_segments, measure
from attnwidget.behaviors.examples.link_distances import DISTANCES, LinkDistanceSums
from attnwidget.demo import demo_atlas
from refusals import naming

TEXTS = ["The cat sat on the mat, and it slept there until the old man woke up.", "He left."]


def bin_of(offset: int) -> int:
    """Number of the bin of a signed distance."""
    size = abs(offset)
    name = str(size) if size < 4 else "4–7" if size < 8 else "8–15" if size < 16 else "16+"
    side = "before" if offset < 0 else "after"
    return DISTANCES.index("itself" if not size else f"{name} {side}")


def slow_shares(model: AttentionModel, texts: list[str], causal: bool) -> NDArray[np.float64]:
    """Shares by distance, one pair of tokens after the other."""
    mass = np.zeros((len(DISTANCES), model.n_layers, model.n_heads))
    for text in texts:
        attention = model.attend(text)
        special = attention.special
        for layer in range(model.n_layers):
            weights = attention.weights(layer)
            for query, key in np.ndindex(*weights.shape[1:]):
                is_ordinary = {special[query], special[key]} <= {"", "first"}
                if is_ordinary and not (causal and key == 0):
                    mass[bin_of(key - query), layer] += weights[:, query, key]
    return mass / mass.sum(0)


def test_shares_are_those_of_a_slow_loop(model: AttentionModel) -> None:
    found = measure(
        model,
        make_segments(TEXTS, model),
        [LinkDistanceSums(causal=False)],
        batch_size=2,
        progress=False,
    )["distances"]
    assert found.n_segments == 2
    np.testing.assert_allclose(found.shares, slow_shares(model, TEXTS, False), atol=1e-6)
    np.testing.assert_allclose(found.shares.sum(0), 1)
    np.testing.assert_allclose(found.near, found.shares[3:10].sum(0))
    assert list(found.heads()) == list(DISTANCES)
    frame = found.to_frame()
    assert len(frame) == len(DISTANCES) * 72 and set(frame["metric"]) == set(DISTANCES)
    assert "Attention up to three tokens away" in str(found.chart().to_dict()["title"])


def test_the_first_token_of_a_causal_model_does_not_count() -> None:
    model = load_model("attnwidget/induction")
    texts = ["a b c a b c a b", "c d c d c d"]
    segments = make_segments(texts, model)
    sums = LinkDistanceSums(causal=True)
    found = measure(model, segments, [sums], batch_size=2, progress=False)["distances"]
    after = DISTANCES.index("itself") + 1
    assert not found.shares[after:].any()
    np.testing.assert_allclose(found.shares.sum(0), 1)


def test_an_atlas_has_distances_and_keeps_them_in_its_file(
    model: AttentionModel, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"behaviors": ["previous token"], "n_random_models": 0}
    made = atlas(
        model, make_segments(TEXTS, model), treebank=(), effects=False, progress=False, **options
    )
    assert made.distances is not None
    shares = made.distances.shares.copy()
    shares[:, 1, 0] = np.nan
    changed = replace(made, distances=replace(made.distances, shares=shares))
    changed.save(tmp_path / "atlas.json")
    again = load_atlas(tmp_path / "atlas.json")
    assert again.distances is not None and again.distances.n_segments == 2
    np.testing.assert_array_equal(again.distances.shares, shares)
    assert again.distances.model_name == model.name
    assert again.card(1, 0).distances == {} and again.card(1, 1).distances
    without = replace(made, distances=None)
    without.save(tmp_path / "earlier.json")
    earlier = load_atlas(tmp_path / "earlier.json")
    assert earlier.distances is None and earlier.card(0, 2).distances == {}
    text = (tmp_path / "atlas.json").read_text("utf-8")
    (tmp_path / "wrong.json").write_text(text.replace('"shares": [', '"shares": [[], '), "utf-8")
    with pytest.raises(ValueError, match=naming("wrong.json", "no atlas")):
        load_atlas(tmp_path / "wrong.json")


def test_the_bundled_atlases_have_the_distances_of_their_texts() -> None:
    for name in ("embedded", "attnwidget/genre"):
        stored = demo_atlas(name)
        assert stored.distances is not None
        assert stored.distances.n_segments == stored.provenance["n_texts"]
    card = demo_atlas().card(Head(0, 2))
    assert card.distances["1 before"] == pytest.approx(0.99, abs=0.01)
    assert "distances in tokens: 1 before 99%" in repr(card)
    assert max(demo_atlas().card(1, 8).distances.items(), key=lambda item: item[1])[0] == "1 after"
