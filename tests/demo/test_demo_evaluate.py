"""Masked-word scores and tables of the evaluation script."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

import evaluate
from attnwidget import AttentionModel, load_model
from attnwidget.demo import demo_treebank
from attnwidget.words import probe_relations
from batches import encode
from evaluate import (
    WINDOW,
    attention_masses,
    main,
    masked_windows,
    score_masked,
    score_unigram,
    treebank_documents,
    windows,
)
from fixtures import small_corpus

PROSE = [
    ["The old woman opened the door of the house and saw her brother in the garden. " * 12],
    ["He did not know what to say to her.", "She said that she would not go."],
]
TREEBANK = """\
# newdoc id = reviews-1
# text = He left the house.
1\tHe\the\tPRON\t_\t_\t2\tnsubj\t_\t_
2\tleft\tleave\tVERB\t_\t_\t0\troot\t_\t_
3\tthe\tthe\tDET\t_\t_\t4\tdet\t_\t_
4\thouse\thouse\tNOUN\t_\t_\t2\tobj\t_\tSpaceAfter=No
5\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

# newdoc id = email-1
# text = Yes.
1\tYes\tyes\tINTJ\t_\t_\t0\troot\t_\tSpaceAfter=No
2\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_
"""


def write_houses(path: Path) -> Path:
    """Five sentences of twenty-five houses each, every article before its noun."""
    words = "".join(
        f"{i}\tthe\tthe\tDET\t_\t_\t{i + 1}\tdet\t_\t_\n"
        f"{i + 1}\thouse\thouse\tNOUN\t_\t_\t{i - 1}\t{'conj' if i > 1 else 'root'}\t_\t_\n"
        for i in range(1, 50, 2)
    )
    text = " ".join(["the house"] * 25)
    path.write_text(f"# newdoc id = x\n# text = {text}\n{words}\n" * 5, encoding="utf-8")
    return path


def test_windows_are_all_of_each_chapter_and_never_of_two(model: AttentionModel) -> None:
    prose = encode(PROSE, model.tokenizer)
    cut = windows(prose)
    assert np.concatenate(cut).tolist() == prose.ids.tolist()
    assert [len(ids) == WINDOW for ids in cut] == [True, False, False]
    second = model.tokenizer.decode(cut[-1].tolist())
    assert second.startswith("he did not know")


def test_a_seed_decides_what_is_masked(model: AttentionModel) -> None:
    cut = windows(encode(PROSE, model.tokenizer))
    first = masked_windows(cut, 0)
    again = masked_windows(cut, 0)
    other = masked_windows(cut, 1)
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert any((a != b).any() for a, b in zip(first, other, strict=True))
    assert [len(chosen) for chosen in first] == [max(1, round(0.15 * len(ids))) for ids in cut]
    assert all(len(set(chosen)) == len(chosen) for chosen in first)


def test_unigram_scores_are_those_of_frequencies(model: AttentionModel) -> None:
    prose = encode([["He left."]], model.tokenizer)
    counts = np.zeros(len(model.tokenizer), dtype=np.int64)
    (chosen,) = masked_windows(windows(prose), 0)
    goal = int(prose.ids[chosen[0]])
    counts[goal] = 99
    score = score_unigram(counts, prose)
    total = 99 + len(counts)
    assert (score.accuracy, score.count) == (1, 1)
    assert score.perplexity == pytest.approx(total / 100)
    counts[(goal + 1) % len(counts)] = 100
    assert score_unigram(counts, prose).accuracy == 0


def test_masked_scores_equal_the_model_s_and_padding_does_not_matter(
    model: AttentionModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    prose = encode(PROSE, model.tokenizer)
    together = score_masked(model, prose)
    monkeypatch.setattr(evaluate, "BATCH", 1)
    apart = score_masked(model, prose)
    assert (apart.accuracy, apart.count) == (together.accuracy, together.count)
    assert apart.perplexity == pytest.approx(together.perplexity, rel=1e-4)

    cut = windows(prose)
    loss = 0.0
    right = 0
    count = 0
    for ids, chosen in zip(cut, masked_windows(cut, 0), strict=True):
        text = torch.tensor([[2, *ids, 3]])
        text[0, chosen + 1] = 4
        with torch.no_grad():
            chances = model.hf_model(text).logits[0].log_softmax(-1)
        for position in chosen:
            loss -= float(chances[position + 1, ids[position]])
            right += int(chances[position + 1].argmax()) == ids[position]
            count += 1
    assert together.count == count
    assert together.accuracy == pytest.approx(right / count)
    assert together.perplexity == pytest.approx(math.exp(loss / count), rel=1e-4)


def test_documents_of_a_treebank_are_its_texts(tmp_path: Path) -> None:
    (tmp_path / "a.conllu").write_text(TREEBANK, encoding="utf-8")
    assert treebank_documents(tmp_path / "a.conllu") == [["He left the house."], ["Yes."]]


def test_the_embedded_model_has_heads_for_positions_and_for_cls(model: AttentionModel) -> None:
    prose = encode([PROSE[0] * 2], model.tokenizer)
    masses = attention_masses(model, prose, n_pairs=2)
    assert list(masses) == ["previous token", "next token", "[CLS]", "[SEP]"]
    assert all(mass.shape == (6, 12) for mass in masses.values())
    assert all(mass.min() >= 0 and mass.max() <= 1 for mass in masses.values())
    for name in ("previous token", "next token", "[CLS]"):
        assert masses[name].max() > 0.5


@pytest.mark.slow
def test_the_script_prints_every_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = small_corpus.write_corpus(tmp_path / "corpus.txt")
    treebank = str(write_houses(tmp_path / "a.conllu"))
    monkeypatch.setattr(evaluate, "WINDOW", 20)
    main(["--corpus", str(corpus), "--treebank", treebank, "--device", "cpu"])
    printed = capsys.readouterr().out.split("\n")
    rows = {line.split("|")[1].strip(): line for line in printed if line.startswith("| ")}
    assert {"embedded", "unigram", "det", "conj", "previous token", "[SEP]"} <= set(rows)
    assert rows["det"].split("|")[2].strip() == "125"
    assert rows["det"].split("|")[6].strip() == "100.0 (+1)"
    assert rows["conj"].split("|")[6].strip() == "100.0 (-2)"
    assert rows["embedded"].count("%") == 2
    assert any("2 held-out chapters" in line for line in printed)


@pytest.mark.slow
def test_relations_are_those_of_the_probe() -> None:
    found = probe_relations(load_model(device="cpu"), demo_treebank(), progress=False)
    said, _, _, *rows = evaluate.relation_table(found, "embedded")
    assert said.startswith("embedded: ")
    assert "relations at least 10 points above the best offset (115 sentences, 0 skipped)" in said
    cells = {row.split(" | ")[0].strip("| "): row.split(" | ") for row in rows}
    assert not any("all" in relation for relation in cells)
    r = found.relations.index("det")
    assert cells["det"][1] == str(found.counts[r]) == "213"
    assert cells["det"][4] == f"{100 * found.accuracy[..., r].max():.1f}"
    assert cells["det"][5] == f"{100 * found.baseline[r]:.1f} (+1)"
