"""The model of translation of the package: its files, what it translates, and its script."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import attnwidget
from attnwidget import AttentionModel, load_model
from attnwidget.demo import demo_alignments
from attnwidget.words import probe_alignment
from train_translation import END, FIRST_SEED, VOCABULARY, main, new_model, padded, share_right

FOLDER = Path(attnwidget.__file__).parent / "demo" / "translation"
HELD_OUT = demo_alignments(40, seed=7)


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model("attnwidget/translation", device="cpu")


def test_every_word_but_the_marker_has_one_counterpart() -> None:
    for pair in HELD_OUT:
        assert len({target for _, target in pair.sure}) == len(pair.sure) == len(pair.target) - 1
        linked = {source for source, _ in pair.sure}
        articles = {i for i, word in enumerate(pair.source) if word == "the"}
        assert linked == {*range(len(pair.source))} - articles
        assert pair.target.count("o") == 1
        words = {pair.source[source]: pair.target[target] for source, target in pair.sure}
        assert len({*words.values()}) == len(words)
    assert demo_alignments(3, seed=5) == demo_alignments(3, seed=5) != demo_alignments(3, seed=6)
    with pytest.raises(ValueError, match="n must be"):
        demo_alignments(0)


def test_the_model_translates(model: AttentionModel) -> None:
    assert model.name == "small Marian (in the package)"
    assert model.hf_model.dtype == torch.float32
    assert share_right(model.hf_model, HELD_OUT) > 0.9
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 200_000


def test_its_last_layer_aligns_words_where_it_writes_them(model: AttentionModel) -> None:
    """The numbers of the model card: far below the diagonal."""
    found = probe_alignment(model, HELD_OUT, progress=False)
    assert found.best("weights") == found.best("norms") == ("written", 1)
    assert found.errors[0, :, 0, 1].max() < 0.15 < 0.8 < found.diagonal[0]


def test_the_script_writes_a_folder_that_loads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--out", str(tmp_path), "--steps", "2", "--batch", "2", "--every", "1"])
    printed = capsys.readouterr().out
    assert "1: loss" in printed and "without an error" in printed
    again = load_model(str(tmp_path), device="cpu")
    pair = HELD_OUT[0]
    attention = again.attend(" ".join(pair.source), target=" ".join(pair.target))
    assert attention.stacks["cross"].n_layers == 2
    own, packaged = (
        json.loads((folder / "config.json").read_text("utf-8")) for folder in (tmp_path, FOLDER)
    )
    assert own["d_model"] == packaged["d_model"] == 32


def test_sentences_are_padded_after_their_end() -> None:
    assert FIRST_SEED > 1000 and new_model().config.vocab_size == len(VOCABULARY)
    assert padded([["the"], ["the", "o"]], -100).tolist() == [[3, END, -100], [3, 4, END]]
