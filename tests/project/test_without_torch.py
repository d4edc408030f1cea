"""Maps of numpy are shown, linked and saved where torch and transformers cannot be imported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import Attention
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from fixtures.script_answer import script_answer

TOKENS = ["[CLS]", "the", "otter", "##s", "sleep", ".", "[SEP]"]

SCRIPT = """
import json
import sys
from pathlib import Path


class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers"):
            raise ImportError(f"{name} is blocked")


sys.meta_path.insert(0, Blocked())

import numpy as np

from attnwidget import Attention, HeadGrid, HeadView, link_figures, save_page

folder = Path(sys.argv[1])
maps = np.load(folder / "maps.npy")


class Foreign:
    # An array of a library such as JAX, which numpy can read.
    def __dlpack__(self, **options):
        raise BufferError("on another device")

    def __array__(self, dtype=None, copy=None):
        return maps


tokens = json.loads((folder / "tokens.json").read_text(encoding="utf-8"))
attention = Attention.from_weights(Foreign(), tokens, model_name="a server")
grid = HeadGrid(attention)
view = HeadView(attention)
word = HeadGrid(attention, tokens=[("query", 2)])
link_figures(grid, view, word)
grid.selected = [(1, 2)]
grid.hidden = ["sep"]
view.unit = "words"
for widget, kind in ((grid, "png"), (view, "svg"), (word, "pdf"), (view, "html")):
    widget.save(folder / f"{widget.kind}.{kind}")
save_page(attention, folder / "page.html")
answer = {
    "selected": [list(map(list, widget.selected)) for widget in (grid, view, word)],
    "hidden": [list(widget.hidden) for widget in (grid, view, word)],
    "code": grid.code(),
    "words": attention.words.weights(1, 2).tolist(),
    "word": attention.token_values("query", 2).tolist(),
    "tile": attention.tile(1, 2, (0, 7), (0, 7), step=2).tolist(),
    "links": attention.top_links(1, 2, 4).to_numpy().tolist(),
    "frame": len(attention.to_frame()),
    "loaded": [name for name in ("torch", "transformers") if name in sys.modules],
}
try:
    attention.changes(attention)
except ImportError as error:
    answer["changes"] = str(error)
print(json.dumps(answer))
"""


def causal_maps(n_layers: int = 2, n_heads: int = 4, n: int = len(TOKENS)) -> Any:
    weights = np.random.default_rng(0).random((n_layers, n_heads, n, n)).astype(np.float32)
    weights *= np.tri(n, dtype=np.float32)
    return weights / weights.sum(-1, keepdims=True)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("without_torch")
    np.save(folder / "maps.npy", causal_maps())
    (folder / "tokens.json").write_text(json.dumps(TOKENS), encoding="utf-8")
    return folder, script_answer(SCRIPT, folder)


def test_numbers_equal_those_of_tensors(saved: tuple[Path, dict[str, Any]]) -> None:
    _, answer = saved
    with_torch = Attention.from_weights(torch.from_numpy(causal_maps()), TOKENS)
    assert answer["loaded"] == []
    np.testing.assert_allclose(answer["words"], with_torch.words.weights(1, 2), atol=1e-6)
    np.testing.assert_array_equal(answer["word"], with_torch.token_values("query", 2))
    np.testing.assert_array_equal(answer["tile"], with_torch.tile(1, 2, (0, 7), (0, 7), step=2))
    assert answer["links"] == with_torch.top_links(1, 2, 4).to_numpy().tolist()
    assert answer["frame"] == 2 * 4 * 7 * 7


def test_figures_are_linked_and_say_how_they_were_made(
    saved: tuple[Path, dict[str, Any]],
) -> None:
    _, answer = saved
    assert answer["selected"] == [[[1, 2, "self"]]] * 3
    assert answer["hidden"] == [["sep"]] * 3
    assert "attention = Attention.from_weights(" in answer["code"]
    assert "HeadGrid(attention" in answer["code"]


def test_pictures_and_pages_are_saved(saved: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = saved
    drawn = (folder / "head_view.svg").read_text(encoding="utf-8")
    assert "otters" in drawn and "a server" in drawn and ">[SEP]<" not in drawn
    assert (folder / "head_grid.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / "head_grid.pdf").read_bytes().startswith(b"%PDF")
    for page in ("head_view.html", "page.html"):
        assert "otter" in (folder / page).read_text(encoding="utf-8")


def test_a_method_that_needs_torch_says_so(saved: tuple[Path, dict[str, Any]]) -> None:
    _, answer = saved
    assert "torch" in answer["changes"]


@pytest.mark.parametrize("n", [7, 100])
@pytest.mark.parametrize("is_causal", [True, False])
def test_arrays_and_tensors_have_the_same_thumbnails(n: int, is_causal: bool) -> None:
    maps = causal_maps(n=n)
    maps = maps if is_causal else maps[..., ::-1, ::-1]
    tokens = ["[CLS]", *(f"##t{i}" if i % 3 else f"t{i}" for i in range(n - 2)), "[SEP]"]
    array = Attention.from_weights(maps, tokens)
    tensor = Attention.from_weights(torch.from_numpy(maps.copy()), tokens)
    other = Attention.from_weights(torch.from_numpy(maps[:, ::-1].copy()), tokens)
    options: list[dict[str, Any]] = [
        {},
        {"hidden": ["cls", "sep"]},
        {"times_keys": True},
        {"minus": other},
    ]
    for given in options:
        drawn = draw_thumbnails(array, **given)
        expected = draw_thumbnails(tensor, **given)
        np.testing.assert_array_equal(drawn.values, expected.values)
        np.testing.assert_array_equal(drawn.maxima, expected.maxima)
        np.testing.assert_array_equal(drawn.strongest, expected.strongest)
    words = draw_thumbnails(array.words, hidden=["cls"])
    expected = draw_thumbnails(tensor.words, hidden=["cls"])
    assert abs(words.values.astype(int) - expected.values).max() <= 1
    np.testing.assert_allclose(words.maxima, expected.maxima, atol=1e-6)
    np.testing.assert_array_equal(array.visible(0, 0) is None, tensor.visible(0, 0) is None)
