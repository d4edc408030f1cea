"""Fine-tuning, and the fine-tuned sibling of the embedded model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from attnwidget import AttentionModel, load_model
from finetune import (
    LabeledText,
    accuracy,
    classifier,
    fine_tune,
    genre_of,
    main,
    majority_share,
    padded_batches,
    read_examples,
)
from fixtures import small_corpus
from refusals import naming
from vocabulary import new_model


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model with its tokenizer, untrained."""
    folder = tmp_path_factory.mktemp("start")
    tokenizer = small_corpus.tokenizer()
    torch.manual_seed(0)
    new_model(len(tokenizer), layers=1, heads=2, size=16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def write_treebank(path: Path, seed: int) -> Path:
    """Letters and reviews: the ones about doors, the others about ships."""
    draw = np.random.default_rng(seed)
    lines = []
    for number in range(40):
        genre, thing = [("letters", "door"), ("reviews", "ship")][number % 2]
        lines.append(f"# newdoc id = {genre}-{number}")
        for _ in range(3):
            name = draw.choice(small_corpus.NAMES)
            lines += [f"# text = The {name} saw the {thing}.", "1\tThe\tthe\t_\t_\t_\t0\troot", ""]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_examples_are_whole_sentences_of_one_document(start: Path, tmp_path: Path) -> None:
    tokenizer = small_corpus.tokenizer()
    path = write_treebank(tmp_path / "a.conllu", 0)
    examples = read_examples(path, tokenizer, longest=16)
    assert len(examples) == 80, "two sentences, then the third"
    assert {example.genre for example in examples} == {"letters", "reviews"}
    for example in examples:
        text = tokenizer.decode(example.ids)
        assert text.startswith("[CLS] the ")
        assert text.endswith(". [SEP]")
        assert len(example.ids) <= 16
        assert ("ship" in text) == (example.genre == "reviews")
    (cut, *_) = read_examples(path, tokenizer, longest=6)
    assert len(cut.ids) == 6


def test_the_majority_is_that_of_the_training_examples() -> None:
    a, b, c = (LabeledText((1,), genre) for genre in "abc")
    assert majority_share([a, a, b], [a, b, b, c]) == 0.25


def test_batches_hold_every_example_once() -> None:
    examples = [LabeledText((1,) * n, "ab"[n % 2]) for n in range(1, 30)]
    for generator in (None, np.random.default_rng(0)):
        seen = []
        for ids, labels in padded_batches(examples, {"a": 0, "b": 1}, 8, generator):
            lengths = (ids != 0).sum(-1)
            assert int(lengths.max()) == ids.shape[1]
            assert labels.tolist() == [n % 2 for n in lengths.tolist()]
            seen += lengths.tolist()
        assert sorted(seen) == list(range(1, 30))


@pytest.mark.slow
def test_the_script_learns_genres_and_leaves_a_model(
    start: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, dev = (write_treebank(tmp_path / f"{seed}.conllu", seed) for seed in (1, 2))
    files = ["--train", str(train), "--dev", str(dev), "--start", str(start)]
    main([*files, "--out", str(tmp_path / "out"), "--epochs", "100", "--learning-rate", "2e-2"])
    printed = capsys.readouterr().out
    assert "always the most frequent genre: 50.0 %" in printed
    assert "dev accuracy 100.0 %" in printed.rstrip().split("\n")[-1]
    model = load_model(str(tmp_path / "out"), device="cpu", dtype=torch.float32)
    examples = read_examples(dev, model.tokenizer, 64)
    assert accuracy(model.hf_model, examples, model.hf_model.config.label2id) == 1


def test_a_seed_decides_the_result(start: Path, tmp_path: Path) -> None:
    examples = read_examples(write_treebank(tmp_path / "a.conllu", 0), small_corpus.tokenizer(), 64)
    weights = []
    for _ in range(2):
        model = classifier(start, ["letters", "reviews"], seed=3)
        ((done, *_),) = fine_tune(model, examples, examples, epochs=1, learning_rate=1e-3)
        assert done == 1
        weights.append(model.classifier.weight.detach())
    assert (weights[0] == weights[1]).all()


def test_an_unknown_genre_is_an_error_of_the_model(start: Path) -> None:
    model = classifier(start, ["letters", "reviews"])
    known = LabeledText((2, 5, 3), "letters"), LabeledText((2, 5, 3), "reviews")
    assert accuracy(model, known, model.config.label2id) == 0.5
    assert (
        accuracy(model, [*known, *[LabeledText((2, 5, 3), "poems")] * 2], model.config.label2id)
        == 0.25
    )


def test_genres_begin_the_names_of_documents() -> None:
    names = ["reviews-001325-0001", "email-enronsent19_01", "GUM_bio_byron", "answers"]
    assert [genre_of(name) for name in names] == ["reviews", "email", "bio", "answers"]


@pytest.fixture(scope="module")
def sibling() -> AttentionModel:
    return load_model("attnwidget/genre", device="cpu")


def test_the_sibling_comes_with_the_package(sibling: AttentionModel) -> None:
    assert sibling.source == "attnwidget/genre"
    assert type(sibling.hf_model).__name__ == "BertForSequenceClassification"
    text = "The captain told his men."
    attention = sibling.attend(text)
    embedded = load_model(device="cpu").attend(text)
    assert attention.tokens == embedded.tokens
    difference = np.abs(attention.weights() - embedded.weights()).max()
    assert 0.01 < difference < 1, "fine-tuning changes maps"


@pytest.mark.parametrize(
    ("text", "genre"),
    [
        ("Great food and friendly staff. I would recommend this place to anyone.", "reviews"),
        ("Please find attached the agreement. Let me know if you have any questions.", "email"),
        ("What is the best way to get to the airport from my hotel? Is it far?", "answers"),
    ],
)
def test_the_sibling_tells_genres(sibling: AttentionModel, text: str, genre: str) -> None:
    with torch.no_grad():
        logits = sibling.hf_model(**sibling.tokenizer(text, return_tensors="pt")).logits
    assert sibling.hf_model.config.id2label[int(logits.argmax())] == genre


def test_an_embedded_model_has_its_own_tokenizer() -> None:
    with pytest.raises(TypeError, match=naming("embedded", "leave tokenizer out")):
        load_model("attnwidget/genre", "some-tokenizer")
