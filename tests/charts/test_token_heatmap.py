"""The heat map of tokens: every token at its place, whatever it is spelt like."""

from __future__ import annotations

import json

import numpy as np
import pytest

from attnwidget.charts.token_heatmap import token_heatmap
from refusals import naming

TOKENS = ["[CLS]", 'he said "no"', "back\\slash", "</script><script>alert(1)</script>", "[CLS]"]


def test_every_value_has_its_tokens() -> None:
    values = np.arange(10.0).reshape(2, 5)
    spec = token_heatmap(
        values, TOKENS[:2], TOKENS, title="A title", value_title="weight"
    ).to_dict()
    (rows,) = spec["datasets"].values()
    assert [row["value"] for row in rows] == list(range(10))
    assert (rows[7]["query"], rows[7]["key"]) == (TOKENS[1], TOKENS[2])
    labels = spec["encoding"]["x"]["axis"]["labelExpr"].removesuffix("[datum.value]")
    assert json.loads(labels) == TOKENS
    assert spec["encoding"]["color"]["scale"]["domain"] == [0, 9]


@pytest.mark.slow
def test_no_token_ends_the_script_of_a_page(tmp_path) -> None:
    chart = token_heatmap(
        np.eye(5), TOKENS, TOKENS, title="A </script> title", value_title="weight"
    )
    path = tmp_path / "map.html"
    chart.save(path)
    for page in (chart.to_html(), path.read_text("utf-8")):
        assert "</script><script>alert" not in page and "A </script>" not in page
        assert "alert(1)" in page


@pytest.mark.slow
def test_many_tokens_are_drawn_small_and_without_labels() -> None:
    few, many = (
        token_heatmap(
            np.eye(n), ["x"] * n, ["x"] * n, title="A title", value_title="weight"
        ).to_dict()
        for n in (20, 128)
    )
    assert few["encoding"]["y"]["axis"]["labels"] and not many["encoding"]["y"]["axis"]["labels"]
    assert many["height"]["step"] * 128 <= 600


def test_what_cannot_be_drawn_is_refused() -> None:
    def drawn(values: object) -> None:
        token_heatmap(values, ["a", "b"], ["a", "b"], title="A title", value_title="weight")

    with pytest.raises(ValueError, match=naming("token_heatmap", "[2, 2]", "[2, 3]")):
        drawn(np.ones((2, 3)))
    for wrong in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match=naming("token_heatmap", "finite")):
            drawn(np.full((2, 2), wrong))
