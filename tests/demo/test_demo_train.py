"""The training script: targets, gradients, budgets, and checkpoints that lose nothing."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertModel

from attnwidget import load_model
from batches import BatchMaker, TrainingBatch, encode
from distil import Student, Teacher, TracedSelfAttention, trace
from fixtures import small_corpus
from fixtures.small_corpus import HELD_OUT_WORD
from refusals import naming
from train import Recipe, Trainer, main, save
from vocabulary import (
    SPECIAL,
    frequent_wordpieces,
    learnt_wordpieces,
    make_tokenizer,
    new_model,
    take_embeddings,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus and a teacher."""
    made = tmp_path_factory.mktemp("training")
    small_corpus.write_corpus(made / "corpus.txt")
    small_corpus.write_teacher(made / "teacher")
    return made


def make_trainer(folder: Path, recipe: Recipe, *, taught: bool = True) -> Trainer:
    torch.manual_seed(0)
    tokenizer = small_corpus.tokenizer()
    pieces = list(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))
    model = new_model(len(pieces), layers=2, heads=2, size=16)
    teacher = Teacher(folder / "teacher", pieces, recipe.precision) if taught else None
    batches = BatchMaker(
        encode(small_corpus.chapters(), tokenizer),
        tokenizer,
        tokens=128,
        longest=64,
        generator=np.random.default_rng(0),
    )
    return Trainer(Student(model, teacher), teacher, batches, recipe, torch.device("cpu"))


def test_the_divergence_has_the_gradient_of_its_formula() -> None:
    torch.manual_seed(0)
    attention = TracedSelfAttention(
        BertModel(small_corpus.configuration()).encoder.layer[0].attention.self, heads=2
    ).double()
    hidden = torch.randn(3, 7, 16, dtype=torch.float64)
    target = torch.randn(3, 2, 7, 7, dtype=torch.float64).softmax(-1)
    into = torch.randn(3, 7, 16, dtype=torch.float64)

    attention.target = target
    context, _ = attention(hidden)
    assert attention.divergence is not None
    ((context * into).sum() + 5 * attention.divergence).backward()
    found = {name: p.grad.clone() for name, p in attention.named_parameters()}

    attention.zero_grad()
    attention.target = None
    attention.keep = True
    plain, _ = attention(hidden)
    assert attention.weights is not None
    divergence = (target * (target / attention.weights).log()).sum(-1).mean()
    ((plain * into).sum() + 5 * divergence).backward()

    torch.testing.assert_close(context, plain)
    assert divergence.item() > 0.1
    for name, parameter in attention.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, atol=1e-8, rtol=1e-6)


def test_tracing_changes_no_output_and_no_parameter_name() -> None:
    torch.manual_seed(0)
    model = BertModel(small_corpus.configuration(), add_pooling_layer=False).eval()

    ids = torch.randint(5, 90, (2, 9))
    with torch.no_grad():
        before = model(ids).last_hidden_state
        names = list(model.state_dict())
        layers = trace(model)
        torch.testing.assert_close(model(ids).last_hidden_state, before)
        for layer in layers:
            layer.keep = True
        torch.testing.assert_close(model(ids).last_hidden_state, before)
    assert list(model.state_dict()) == names
    for layer in layers:
        assert layer.weights is not None
        assert layer.weights.shape == (2, 2, 9, 9)
        torch.testing.assert_close(layer.weights.sum(-1), torch.ones(2, 2, 9))


def test_the_teacher_reads_the_wordpieces_of_the_student(folder: Path) -> None:
    pieces = list(small_corpus.tokenizer().get_vocab())[:40]
    teacher = Teacher(folder / "teacher", pieces, torch.float32)
    full = BertModel.from_pretrained(
        folder / "teacher", add_pooling_layer=False, attn_implementation="eager"
    ).eval()
    names = (folder / "teacher" / "vocab.txt").read_text("utf-8").split("\n")
    ids = torch.randint(0, 40, (2, 8))
    theirs = torch.tensor([[names.index(pieces[i]) for i in row] for row in ids.tolist()])
    segments = torch.tensor([[0] * 4 + [1] * 4] * 2)
    maps, hidden = teacher(ids, segments)
    with torch.no_grad():
        goal = full(
            theirs, token_type_ids=segments, output_attentions=True, output_hidden_states=True
        )
    for own, other in zip([*maps, *hidden], [*goal.attentions, *goal.hidden_states], strict=True):
        torch.testing.assert_close(own, other)


def test_a_teacher_that_does_not_fit_is_an_error(folder: Path) -> None:
    with pytest.raises(ValueError, match=naming("1 wordpieces", "'##qq'")):
        Teacher(folder / "teacher", ["the", "##qq"], torch.float32)
    teacher = Teacher(folder / "teacher", ["the"], torch.float32)
    with pytest.raises(ValueError, match=naming("num_hidden_layers", "3", "2")):
        Student(new_model(9, layers=3, heads=2, size=16), teacher)


def test_losses_are_zero_or_absent_where_nothing_teaches(folder: Path) -> None:
    trainer = make_trainer(folder, Recipe(tokens=1), taught=False)
    text = torch.full((2, 16), 7)
    blank = torch.full_like(text, -100)
    losses = trainer.student(TrainingBatch(text, text, torch.zeros_like(text), blank), None)
    assert losses.masked_lm is None
    assert losses.divergence == losses.hidden == 0


@pytest.mark.parametrize("taught", [True, False])
def test_training_lowers_its_losses(folder: Path, taught: bool) -> None:
    recipe = Recipe(tokens=80 * 128, learning_rate=1e-1, precision=torch.float32)
    trainer = make_trainer(folder, recipe, taught=taught)
    losses = [trainer.step() for _ in range(60)]
    masked = [loss.masked_lm.item() for loss in losses if loss.masked_lm is not None]
    assert np.mean(masked[-10:]) < 0.8 * np.mean(masked[:10])
    if taught:
        divergence = [loss.divergence.item() for loss in losses]
        assert np.mean(divergence[-10:]) < 0.8 * np.mean(divergence[:10])
        assert 0.3 < len(masked) / len(losses) < 0.7, "half of the batches are unmasked"
    else:
        assert len(masked) == len(losses)


@pytest.mark.slow
def test_a_run_goes_on_from_its_checkpoint_as_if_it_had_not_stopped(
    folder: Path, tmp_path: Path
) -> None:
    recipe = Recipe(tokens=60 * 128)
    whole = make_trainer(folder, recipe)
    for _ in range(55):
        whole.step()
    first = make_trainer(folder, recipe)
    for _ in range(30):
        first.step()
    save(first, small_corpus.tokenizer(), tmp_path)
    second = make_trainer(folder, recipe)
    second.restore(torch.load(tmp_path / "checkpoint.pt", weights_only=True))
    for _ in range(25):
        second.step()
    for name, value in whole.student.state_dict().items():
        torch.testing.assert_close(second.student.state_dict()[name], value, rtol=0, atol=0)
    assert second.progress.tokens == whole.progress.tokens
    losses = [row[4:] for row in whole.progress.curve]
    assert [row[4:] for row in second.progress.curve] == losses
    assert len(losses) == 1, "one report every 50 steps"


@pytest.mark.slow
def test_the_script_trains_a_model_that_can_be_looked_at(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    command = ["--corpus", str(folder / "corpus.txt"), "--out", str(out), "--tokens", "6.6e3"]
    command += ["--teacher", str(folder / "teacher"), "--vocabulary", "100"]
    command += ["--layers", "2", "--heads", "2", "--hidden", "16", "--batch-tokens", "128"]
    command += ["--longest", "64", "--device", "cpu"]
    main(command)
    with (out / "losses.csv").open(encoding="utf-8") as file:
        curve = list(csv.DictReader(file))
    assert int(curve[-1]["step"]) >= 50
    assert 0 < float(curve[-1]["masked_lm"]) < 10
    model = load_model(str(out), device="cpu", dtype=torch.float32)
    assert model.attend("The captain saw the door.").weights().shape[:2] == (2, 2)
    vocabulary = (out / "vocab.txt").read_text("utf-8").split("\n")[:-1]
    assert vocabulary == model.tokenizer.convert_ids_to_tokens(list(range(len(vocabulary))))
    assert HELD_OUT_WORD not in vocabulary, "the vocabulary is of what is trained on"
    finished = (out / "checkpoint.pt").stat().st_mtime_ns
    before = torch.load(out / "checkpoint.pt", weights_only=True)
    main(command)  # the budget is used: nothing is learnt any more
    after = torch.load(out / "checkpoint.pt", weights_only=True)
    assert after["progress"] == before["progress"]
    assert (out / "checkpoint.pt").stat().st_mtime_ns > finished


def test_a_run_needs_a_budget(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=naming("budget", "minutes", "tokens")):
        Recipe()
    with pytest.raises(SystemExit):
        main(["--corpus", "x", "--out", str(tmp_path)])
    assert "--minutes, --tokens or both" in capsys.readouterr().err


def test_vocabularies_are_the_frequent_part(folder: Path) -> None:
    paragraphs = [p for chapter in small_corpus.chapters() for p in chapter]
    known = [*SPECIAL, "the", "door", "aardvark", "captain", "##s", "##ing", "a", "."]
    # Single characters stay: 5 special ones, ".", "a", "##s", then the frequent ones.
    assert frequent_wordpieces(paragraphs, known, 9) == [*SPECIAL, "the", "##s", "a", "."]
    learnt = learnt_wordpieces(paragraphs, 90)
    assert learnt[:5] == list(SPECIAL)
    assert len(learnt) <= 90
    tokenizer = make_tokenizer(learnt)
    encoded = tokenizer("The captain.", "The door.")
    assert tokenizer.decode(encoded["input_ids"]) == "[CLS] the captain. [SEP] the door. [SEP]"
    types = encoded["token_type_ids"]
    first = encoded["input_ids"].index(tokenizer.sep_token_id)
    assert types == [int(i > first) for i in range(len(types))]


def test_a_student_starts_on_the_axes_of_its_teacher(folder: Path) -> None:
    pieces = list(small_corpus.tokenizer().get_vocab())
    teacher = Teacher(folder / "teacher", pieces, torch.float32).bert
    model = new_model(len(pieces), layers=2, heads=2, size=16)
    take_embeddings(model, teacher)
    own = model.bert.embeddings.word_embeddings.weight.detach()
    its = teacher.embeddings.word_embeddings.weight
    # As many axes as the teacher has keep every distance, up to one factor.
    ratio = torch.pdist(own) / torch.pdist(its)
    torch.testing.assert_close(ratio, ratio.mean().expand_as(ratio), rtol=1e-3, atol=1e-5)
    with pytest.raises(ValueError, match=naming("16", "3 heads")):
        new_model(9, layers=1, heads=3, size=16)
