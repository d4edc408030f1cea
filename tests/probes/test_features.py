"""What probes read: equal to what the model computes, and the same bytes after a killed process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from attnwidget import Sentence, load_model
from attnwidget.demo import demo_treebank
from attnwidget.probes import feature_file, features
from attnwidget.probes.feature_file import FeatureFile, FeatureLayout
from attnwidget.probes.features import extract_features
from fixtures.annotated_sentences import SENTENCES, maps_of, small_model
from fixtures.vocabularies import MAKERS
from refusals import naming

MODEL = load_model()


def word_map(maps: np.ndarray, groups: list[list[int]]) -> np.ndarray:
    """Sums over the attended word's tokens, means over the attending one's; [CLS] and [SEP] too."""
    n = maps.shape[-1]
    places = [[0], *groups, [n - 1]]
    rows = np.stack([maps[:, :, own].mean(2) for own in places], 2)
    return np.stack([rows[..., own].sum(-1) for own in places], -1)


@pytest.mark.parametrize("model", [MODEL, small_model()], ids=["embedded", "many tokens a word"])
def test_maps_are_those_of_the_sentence_read_alone(model: Any, tmp_path: Path) -> None:
    found = extract_features(
        model, SENTENCES, tmp_path, dtype="float32", batch_size=3, progress=False
    )
    assert (found.n_layers, found.n_heads) == (model.n_layers, model.n_heads)
    for sentence, values in zip(found.sentences, found, strict=True):
        maps, groups, axis = maps_of(model, sentence.words)
        assert axis.special[0] and axis.special[-1]
        expected = word_map(maps, groups).reshape(values.shape)
        np.testing.assert_allclose(values, expected, atol=2e-6)


def test_hidden_states_are_means_of_a_words_tokens(tmp_path: Path) -> None:
    model = small_model()
    options: dict[str, Any] = {"kind": "hidden", "dtype": "float32", "progress": False}
    found = extract_features(model, SENTENCES, tmp_path, batch_size=2, **options)
    last = extract_features(model, SENTENCES, tmp_path, layers=(2,), **options)
    assert found.layers == (0, 1, 2) and last.layers == (2,)
    for sentence, values, of_last in zip(SENTENCES, found, last, strict=True):
        inputs = model.tokenizer(" ".join(sentence.words), return_tensors="pt")
        with torch.no_grad():
            own = {k: v for k, v in inputs.items() if k != "token_type_ids"}
            states = model.hf_model(**own, output_hidden_states=True).hidden_states
        _, groups, _ = maps_of(model, sentence.words)
        expected = [[s[0, own].mean(0).numpy() for own in groups] for s in states]
        np.testing.assert_allclose(values, expected, atol=2e-6)
        np.testing.assert_allclose(of_last, expected[-1:], atol=2e-6)


def test_a_vocabulary_without_special_tokens_has_empty_columns(tmp_path: Path) -> None:
    tokenizer = MAKERS["byte level"]()
    config = transformers.GPT2Config(vocab_size=330, n_embd=16, n_layer=2, n_head=2)
    config.bos_token_id = config.eos_token_id = None
    model = load_model(transformers.GPT2LMHeadModel(config), tokenizer)
    assert tokenizer.num_special_tokens_to_add(pair=False) == 0
    values = extract_features(model, SENTENCES[:1], tmp_path, dtype="float32", progress=False)[0]
    assert not values[:, [0, -1]].any() and not values[..., [0, -1]].any()
    np.testing.assert_allclose(values[:, 1:-1].sum(-1), 1, atol=1e-6)


def test_what_is_there_is_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(**options: Any) -> list[np.ndarray]:
        return list(extract_features(MODEL, SENTENCES, tmp_path, progress=False, **options))

    first = made()
    monkeypatch.setattr(features, "_read", None)
    for one, other in zip(first, made(), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(TypeError):  # other options are computed
        made(batch_size=2)
    with MODEL.disabled([(0, 0)]), pytest.raises(TypeError):
        made()


_SCRIPT = """
import os, signal, sys
from attnwidget import load_model
from attnwidget.demo import demo_treebank
from attnwidget.probes import feature_file
from attnwidget.probes import features

features._SECONDS_BETWEEN_FLUSHES = 0
write, written = feature_file.FeatureFile.write, []

def killed(self, place, values):
    written.append(place)
    if len(written) == 30:
        os.kill(os.getpid(), signal.SIGKILL)
    write(self, place, values)

feature_file.FeatureFile.write = killed
features.extract_features(
    load_model(), demo_treebank()[:40], sys.argv[1], batch_size=4, progress=False
)"""


@pytest.mark.slow
def test_a_killed_process_goes_on_to_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentences = demo_treebank()[:40]
    options: dict[str, Any] = {"batch_size": 4, "progress": False}
    whole = extract_features(MODEL, sentences, tmp_path / "a", **options)
    killed = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(tmp_path / "b")], capture_output=True, text=True
    )
    assert killed.returncode == -9, killed.stderr
    index = next((tmp_path / "b").glob("*/index.json"))
    data = index.with_name("features.bin")
    assert json.loads(index.read_text())["n_batches"] == 7
    assert data.read_bytes() != whole.path.read_bytes()
    # What the killed process had not counted may be anything.
    left = np.fromfile(data, np.float16)
    left[left != np.fromfile(whole.path, np.float16)] = 0.5
    left.tofile(data)
    read = features._read
    n_read = []
    monkeypatch.setattr(features, "_read", lambda *given: n_read.append(1) or read(*given))
    again = extract_features(MODEL, sentences, tmp_path / "b", **options)
    assert again.path == data and len(n_read) == 3
    assert data.read_bytes() == whole.path.read_bytes()


def test_a_missing_feature_file_has_no_finished_batches(tmp_path: Path) -> None:
    found = extract_features(MODEL, SENTENCES, tmp_path, progress=False)
    first = found.path.read_bytes()
    index = found.path.with_name("index.json")
    found.path.unlink()
    layout = FeatureLayout("maps", (), 1, 1, 0, "float16", "", "")
    with FeatureFile(tmp_path, found.path.parent.name, layout, [1], 1) as file:
        assert file.n_batches == 0 and not index.exists()
    assert not index.exists()
    again = extract_features(MODEL, SENTENCES, tmp_path, progress=False)
    assert again.path.read_bytes() == first


def test_ctrl_c_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = features._read
    calls = []

    def interrupted(*given: Any) -> Any:
        calls.append(given)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return read(*given)

    monkeypatch.setattr(features, "_read", interrupted)
    with pytest.raises(KeyboardInterrupt):
        extract_features(MODEL, SENTENCES, tmp_path, batch_size=1, progress=False)
    extract_features(MODEL, SENTENCES, tmp_path, batch_size=1, progress=False)
    assert len(calls) == 3 + len(SENTENCES) - 2


def test_too_little_space_is_said_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature_file.shutil, "disk_usage", lambda _: SimpleNamespace(free=1000))
    monkeypatch.setattr(features, "_read", None)
    with pytest.raises(OSError, match=naming("0 MB", "folder", "sentences")):
        extract_features(MODEL, SENTENCES, tmp_path, progress=False)


def test_sentences_that_cannot_be_read_are_left_out_when_asked(tmp_path: Path) -> None:
    empty = Sentence.from_lists(["\u200b", "purr"], [2, 0], ["nsubj", "root"])
    given = [empty, *SENTENCES]
    with pytest.raises(ValueError, match=naming("word 1", "skip_unaligned=True")):
        extract_features(MODEL, given, tmp_path, progress=False)
    found = extract_features(MODEL, given, tmp_path, skip_unaligned=True, progress=False)
    assert found.n_skipped == 1 and found.sentences == tuple(SENTENCES)
    assert [one.shape[-1] for one in found] == [len(one) + 2 for one in SENTENCES]


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"kind": "values"}, ("kind", "'maps'", "'hidden'", "'values'")),
        ({"dtype": "int8"}, ("dtype", "'float16'", "'float32'", "'int8'")),
        ({"layers": [1]}, ("layers", "hidden states")),
        ({"kind": "hidden", "layers": [7]}, ("layers", "6", "[7]")),
        ({"kind": "hidden", "layers": []}, ("layers", "[]")),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: Any, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        extract_features(MODEL, SENTENCES, tmp_path, progress=False, **options)


def test_states_that_float16_cannot_hold_are_refused(tmp_path: Path) -> None:
    model = small_model()
    with torch.no_grad():
        model.hf_model.encoder.layer[-1].output.LayerNorm.bias.fill_(1e5)
    with pytest.raises(ValueError, match=naming("hidden", "float16", "dtype='float32'")):
        extract_features(model, SENTENCES, tmp_path, kind="hidden", progress=False)
    options: dict[str, Any] = {"kind": "hidden", "dtype": "float32", "progress": False}
    assert extract_features(model, SENTENCES, tmp_path, **options)[0].max() > 9e4


def test_a_folder_whose_parent_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=naming("'b'", "folder")):
        extract_features(MODEL, SENTENCES, tmp_path / "a" / "b", progress=False)
    with pytest.raises(ValueError, match=naming("sentences", "treebank")):
        extract_features(MODEL, [], tmp_path, progress=False)


def test_memory_does_not_hold_what_was_read(tmp_path: Path) -> None:
    """Arrays are mapped one by one: their pages are the process's only while they are in use."""
    found = extract_features(MODEL, SENTENCES, tmp_path, progress=False)
    status = Path("/proc/self/maps")
    if not status.exists():
        pytest.skip("no /proc")
    held = list(found)
    assert status.read_text().count(str(found.path)) == len(found)
    del held
    for _ in found:
        assert status.read_text().count(str(found.path)) <= 2
    shutil.rmtree(found.path.parent)
    assert os.listdir(tmp_path) == []
