"""What an explorer opens on, and the line of words about its picture."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from attnwidget import AttentionModel, Head, load_model
from attnwidget.widgets.explorer.explore import explore
from fixtures.recording import from_page, on_page
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

TEXTS = (
    "The keys to the cabinet are on the table.",
    "Why did nobody tell her that the unbelievable otters had purred?",
    "Rain.",
    "He gave the book to Mary, and she read it to him twice.",
    "The captain told his men that he would not leave the ship.",
)


def test_a_head_of_a_causal_model_is_shown_from_the_last_word() -> None:
    causal = load_model(build("gpt2"), word_tokenizer(template=False))
    explorer = explore(causal, "w1 w2 w3 w4", selected=[(1, 0)])
    assert explorer.tokens == [("query", len(explorer.attention.tokens) - 1)]
    assert "“w4” looks at no word in particular: most at" in str(explorer.caption)
    explorer.text = "w5 w6"
    assert explorer.tokens == [("query", len(explorer.attention.tokens) - 1)]


def test_a_text_with_a_mask_opens_on_the_mask(model: AttentionModel) -> None:
    explorer = explore(model, "The woman washed [MASK] hands.", treebank=False)
    ((_, place),) = explorer.tokens
    assert explorer.attention.tokens[place] == "[MASK]"
    explorer.selected = [(4, 4)]
    assert explorer.tokens == [("query", place)]


def test_the_line_of_a_picture_has_the_numbers_of_the_map(model: AttentionModel) -> None:
    explorer = explore(model, TEXTS[1], treebank=False, atlas=False, selected=[(2, 8)])
    words = explorer.attention.words.stacks["self"].query.text
    place = words.index("her")
    explorer.tokens = [("query", place)]
    kept = [i for i, word in enumerate(words) if word not in ("[CLS]", "[SEP]")]
    weights = explorer.attention.words.weights()[:, :, place]  # [L, H, K]
    layer, head = np.unravel_index(weights[..., kept].max(-1).argmax(), weights.shape[:2])
    explorer.selected = [(int(layer), int(head))]
    best = max(kept, key=lambda i: weights[layer, head, i])
    to = "itself" if best == place else f"“{words[best]}”"
    percent = f"{weights[layer, head, best] * 100:.0f}"
    line = explorer.caption.notes[0]
    assert line.startswith(f"In L{layer} H{head}, “her” looks at {to} ({percent}")
    explorer.quantity = "norms"
    norms = explorer.attention.words.map("norms", layer, head)[place]
    line = explorer.caption.notes[0]
    assert line.startswith(f"In L{layer} H{head}, by norms, “her” is moved most by ")
    (said,) = re.findall(r"\(([\d.]+)\)", line)
    assert float(said) == pytest.approx(norms[kept].max(), rel=0.01)


@pytest.mark.parametrize("unit", ["tokens", "words"])
def test_heads_that_send_a_pair_are_counted_on_the_weights_themselves(
    model: AttentionModel, unit: str
) -> None:
    explorer = explore(model, TEXTS[1], treebank=False, unit=unit)
    shown = explorer.attention if unit == "tokens" else explorer.attention.words
    for query, key in ((3, 5), (5, 3), (4, 4)):
        explorer.tokens = [("query", query), ("key", key)]
        rows = explorer.grid._rows
        held = np.frombuffer(rows["values"]["view"], "<f4").reshape(rows["values"]["shape"])
        weights = shown.weights()[:, :, query]
        assert (rows["side"], rows["of"], rows["unit"]) == ("query", query, unit)
        np.testing.assert_allclose(held, weights, atol=1e-6)
        kept = [i for i, kind in enumerate(shown.special) if kind not in explorer.hidden]
        others = np.max(weights[..., [i for i in kept if i != key]], axis=-1)
        largest = (weights[..., key] > others) & (weights[..., key] >= 1.5 / weights.shape[-1])
        counted = (held[..., key] > np.max(held[..., [i for i in kept if i != key]], -1)) & (
            held[..., key] >= 1.5 / held.shape[-1]
        )
        assert counted.sum() == largest.sum()


def test_rows_of_all_heads_are_those_of_the_locked_word(model: AttentionModel) -> None:
    explorer = explore(model, TEXTS[0], treebank=False)
    explorer.tokens = []
    assert on_page(explorer.grid, "rows") is None
    explorer.tokens = [("query", 2)]
    explorer.disabled = [(1, 3)]
    rows = on_page(explorer.grid, "rows")
    held = np.frombuffer(rows["values"]["view"], "<f4").reshape(rows["values"]["shape"])
    assert (rows["side"], rows["of"]) == ("query", 2) and not held[1, 3].any()
    expected = explorer.attention.words.weights()[4, 4]
    np.testing.assert_allclose(held[4, 4], expected[2], atol=1e-6)
    # A lock on the key side alone asks who looks at the word.
    explorer.tokens = [("key", 2)]
    rows = on_page(explorer.grid, "rows")
    held = np.frombuffer(rows["values"]["view"], "<f4").reshape(rows["values"]["shape"])
    assert (rows["side"], rows["of"]) == ("key", 2) and not held[1, 3].any()
    np.testing.assert_allclose(held[4, 4], expected[:, 2], atol=1e-6)
    explorer.versus_text = TEXTS[3]
    assert on_page(explorer.grid, "rows") is None


@pytest.mark.slow
def test_a_comparison_opens_on_the_head_that_changed_most(model: AttentionModel) -> None:
    explorer = explore(model, TEXTS[0], treebank=False, atlas=False)
    from_page(explorer, {"versus_text": "The key to the cabinet is on the table."})
    changes = explorer.attention.changes(explorer.view.versus)
    most = np.unravel_index(changes.argmax(), changes.shape)
    assert explorer.head is not None and explorer.head[:2] == most
    assert (explorer.grid.metric, explorer.view.versus) == ("change", explorer.grid.versus)
    # Another edit opens on the head that changed most again, unless a reader selected a head.
    from_page(explorer, {"versus_text": "The key to the cabinet was on the table."})
    changes = explorer.attention.changes(explorer.view.versus)
    again = np.unravel_index(changes.argmax(), changes.shape)
    assert explorer.head[:2] == again
    explorer.selected = [(0, 0)]
    from_page(explorer, {"versus_text": "The key to the drawer is on the table."})
    assert explorer.head == Head(0, 0)
    from_page(explorer, {"versus_text": None})
    assert explorer.view.versus is None
    assert explorer.caption.notes[0].startswith("In L0 H0, ")
    opened = explore(model, TEXTS[0], versus_text="The key is on the table.", treebank=False)
    assert "most of 72 heads" in opened.caption.notes[0]
    chosen = explore(
        model, TEXTS[0], versus_text="The key is on the table.", selected=[(1, 1)], treebank=False
    )
    assert chosen.head == Head(1, 1)


def test_the_line_says_what_an_answer_is_without_the_shown_head(model: AttentionModel) -> None:
    explorer = explore(model, "The woman washed [MASK] hands.", treebank=False)
    assert explorer.wait(120)
    effects = explorer.predictions.effects
    head = tuple(map(int, np.unravel_index(np.abs(effects).argmax(), effects.shape)))
    explorer.selected = [head]
    before = explorer.predictions.predictions.probability("her")
    line = explorer.caption.notes[0]
    said = f"the model says her {before:.0%}"
    assert said[:-1] in line
    assert f"Without this head: her {before + effects[head]:.0%}"[:-1] in line
    explorer.disabled = [head]
    line = explorer.caption.notes[0]
    assert f"Now: her {explorer.predictions.after.probability('her'):.0%}"[:-1] in line


@pytest.mark.slow
def test_a_text_that_is_too_long_can_be_shortened(model: AttentionModel) -> None:
    explorer = explore(model, TEXTS[0], treebank=False)
    with pytest.raises(ValueError, match=naming("702 tokens", "512", "truncate=True")):
        explorer.text = "otters " * 350
    assert on_page(explorer, "way_out") == "read the first 512 tokens"
    from_page(explorer, {"_way_out_taken": 1})
    n = len(explorer.attention.tokens)
    assert explorer.text == ("otters " * 350)[: len(explorer.text)] and 500 < n <= 512
    assert (on_page(explorer, "way_out"), explorer._error) == ("", "")


def test_a_folder_with_a_name_that_says_nothing_takes_its_parent_s(tmp_path: Path) -> None:
    folder = tmp_path / "tiny-bert" / "final"
    build("bert").save_pretrained(folder)
    assert load_model(folder, word_tokenizer()).name == "tiny-bert"
