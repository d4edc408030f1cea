"""A report: its numbers are those of the studies, and its page is complete, safe and offline."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from attnwidget import AttentionModel, load_model, measure, report
from attnwidget.__main__ import main
from attnwidget.demo import (
    demo_dependency_scores,
    demo_documents,
    demo_probe,
    demo_treebank,
)
from attnwidget.kernels.patterns import PATTERNS
from attnwidget.probes import train_pair_probe
from attnwidget.results import PaperReport
from refusals import naming

TEXTS = ["The captain told his men that he would not leave the ship.", "It slept there all day."]
#: Examples for switching heads off.
EXAMPLES = [("The captain told his men.", "weblog"), ("Press the red button twice.", "email")]
PAPERS = [
    "Clark et al. 2019",
    "Kovaleva et al. 2019",
    "Kobayashi et al. 2020",
    "Coenen et al. 2019",
    "Hewitt and Manning 2019",
    "Olsson et al. 2022",
    "",
]


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model()


@pytest.fixture(scope="module")
def full(model: AttentionModel) -> PaperReport:
    """Report with all studies that BERT allows."""
    return report(
        model,
        TEXTS,
        demo_treebank(),
        demo_documents()[:4],
        tuned=load_model("attnwidget/genre"),
        examples=EXAMPLES,
        progress=False,
    )


def test_entries_are_in_the_order_of_the_papers(full: PaperReport) -> None:
    assert list(dict.fromkeys(entry.paper for entry in full.entries)) == PAPERS
    frame = full.to_frame()
    assert len(frame) == len(full.entries) and (frame["finding"] != "").all()
    assert frame.attrs["model"] == full.model_name


def test_numbers_are_those_of_the_studies(full: PaperReport, model: AttentionModel) -> None:
    names = ["classes", "position", "entropy", "patterns", "norms", "gradients"]
    for name in names:
        alone = measure(model, TEXTS, [name], progress=False)[name]
        assert full[name].finding == alone.finding
        for title, values in alone.heads().items():
            assert np.array_equal(full[name].heads()[title], values, equal_nan=True), title


def test_what_a_model_does_not_allow_has_a_reason(full: PaperReport) -> None:
    with pytest.raises(KeyError, match=naming("induction", "causal")):
        full["induction"]
    with pytest.raises(KeyError, match=naming("clases", "classes")):
        full["clases"]
    assert repr(full).endswith("; without alignment, induction)")


def test_a_causal_model_has_a_report_too() -> None:
    induction = load_model("attnwidget/induction")
    found = report(induction, TEXTS, treebank=(), documents=(), progress=False)
    missing = {entry.study: entry.reason for entry in found.entries if entry.result is None}
    assert missing.keys() == {
        "relations",
        "gallery",
        "coreference",
        "dependency probes",
        "links",
        "comparison",
        "features",
        "heads off",
        "alignment",
        "pairs",
        "edge lengths",
        "trees",
        "names",
    }
    assert "load_treebank" in missing["gallery"] and "examples=" in missing["heads off"]
    assert "train_dependency_probe" in missing["dependency probes"]
    assert "train_structural_probe" in missing["edge lengths"]
    assert "pairs=train_pair_probe(model, train, dev)" in missing["pairs"]
    assert "load_treebank" in missing["links"] and "tuned=" in missing["features"]
    assert "load_alignments" in missing["alignment"]
    assert "train_structural_probe" in missing["trees"]
    assert "load_treebank" in missing["relations"]
    assert "load_coreference" in missing["coreference"]
    assert "tuned=" in missing["comparison"] and "atlas=" in missing["names"]
    assert found["induction"].finding.startswith("L")


def test_heads_on_sentences_are_those_with_the_largest_gains(full: PaperReport) -> None:
    best = full["relations"].best()
    best = best[best["significant"] & ~best["relation"].str.endswith("(all)")]
    best = best[best["relation"] != "all"]
    gains = (best["accuracy"] - best["baseline"]).sort_values(ascending=False)
    first = best.loc[gains.index[0]]
    assert tuple(full["gallery"].heads[0][:2]) == (first["layer"], first["head"])
    assert f"{100 * first['accuracy']:.0f}" in full["gallery"].finding.split(";")[0]


def test_patterns_have_one_head_each(full: PaperReport) -> None:
    examples = full["pattern examples"]
    shares = full["patterns"].fractions
    for pattern, head, share in zip(
        examples.patterns, examples.heads, examples.shares, strict=True
    ):
        assert f"{pattern} {head}" in examples.finding
        assert share == shares[PATTERNS.index(pattern), head.layer, head.head]


def test_heads_of_the_tuned_model_are_switched_off(full: PaperReport) -> None:
    off = full["heads off"]
    assert off.model_name == load_model("attnwidget/genre").name
    assert off.score == "accuracy" and len(off.intact) == len(EXAMPLES)


def test_dependency_scores_are_those_stored_for_the_bundled_weights(full: PaperReport) -> None:
    assert full["dependency probes"].finding == demo_dependency_scores().finding
    other = load_model("attnwidget/genre")
    found = report(other, TEXTS, treebank=(), documents=(), progress=False)
    assert {e.study: e.result for e in found.entries}["dependency probes"] is None


def test_edges_are_those_of_the_bundled_probe(full: PaperReport) -> None:
    lengths = demo_probe("trees").edge_lengths(demo_treebank(), progress=False)
    assert full["edge lengths"].finding == lengths.finding


def test_the_lead_says_that_bundled_texts_are_easy(
    full: PaperReport, model: AttentionModel
) -> None:
    assert "easy" not in full.lead
    found = report(model, TEXTS, documents=(), progress=False)
    assert "bundled sentences are easy" in found.lead


def test_trees_are_scored_with_the_bundled_probe(full: PaperReport) -> None:
    score = full["trees"]
    assert score.n_sentences == len(demo_treebank()) and score.uuas > 0.7
    assert full["trees"].finding.startswith("L2 has 73 % of the edges of the trees, more than")


def test_a_model_that_translates_has_its_alignment() -> None:
    translation = load_model("attnwidget/translation")
    found = report(translation, ["the old dog sees a cat"] * 3, (), (), progress=False)
    assert found["alignment"].n_pairs == 100
    assert found["alignment"].finding.startswith("L1 aligns words best, from the row that writes")


def test_the_page_has_every_finding_and_fetches_nothing(full: PaperReport, tmp_path: Path) -> None:
    page = full.save(tmp_path / "report.html").read_text("utf-8")
    text = unescape(re.sub(r"<[^>]+>", "", page))
    for entry in full.entries:
        assert entry.finding in text
        assert entry.value in text or entry.result is None
    assert page.count("<picture>") == sum(entry.result is not None for entry in full.entries)
    assert "<script" not in page and "default-src 'none'" in page
    assert not re.search(r"(src|href|srcset)=\"(?!data:)", page)


def test_texts_of_the_page_are_escaped(tmp_path: Path) -> None:
    model = load_model(name="<script>alert(1)</script>")
    found = report(model, TEXTS, treebank=(), documents=(), progress=False)
    page = found.save(tmp_path / "report.html").read_text("utf-8")
    assert "<script" not in page and "&lt;script&gt;" in page


def test_a_report_continues_from_its_folder(model: AttentionModel, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    first = report(model, TEXTS, treebank=(), documents=(), resume=folder, progress=False)
    assert {"metrics.npz", "norms.npz", "gradients.npz"} <= {p.name for p in folder.iterdir()}
    again = report(model, TEXTS, treebank=(), documents=(), resume=folder, progress=False)
    assert again.to_frame().equals(first.to_frame())


def test_wrong_arguments_are_refused(model: AttentionModel, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="load_model"):
        report("bert", TEXTS)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=naming("[text]")):
        report(model, TEXTS[0])
    with pytest.raises(ValueError, match="no segments"):
        report(model, [], treebank=(), documents=(), progress=False)


def test_only_a_page_is_written(full: PaperReport, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=naming("report.pdf", "HTML")):
        full.save(tmp_path / "report.pdf")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        full.save(tmp_path / "nowhere" / "report.html")


def test_the_command_writes_a_page_and_names_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join([*TEXTS, "", *TEXTS]), "utf-8")
    trees = tmp_path / "trees.conllu"
    trees.write_text("1\tCats\t_\t_\t_\t_\t2\tnsubj\t_\t_\n2\tpurr\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    page = tmp_path / "page.html"
    options = ["--texts", str(texts), "--treebank", str(trees), "--output", str(page)]
    assert main(["report", "attnwidget/induction", *options]) == 0
    out, _ = capsys.readouterr()
    assert page.is_file() and str(page) in out and "Clark et al. 2019 Figure 2: " in out
    assert "more than 1 sentences" in page.read_text("utf-8")
    assert main(["report", "--texts", str(tmp_path / "missing.txt")]) == 1
    assert "missing.txt" in capsys.readouterr().err


def test_the_report_has_weights_and_norms_of_all_pairs(full: PaperReport) -> None:
    norms = full["norms"]
    assert full["norm pairs"] is norms.pairs
    assert full["norms by frequency"].finding == norms.by_frequency().finding
    figures = {entry.study: entry.figure for entry in full.entries}
    assert figures["norm pairs"] == "Figure 4" and figures["norms by frequency"] == "Figure 5"


def test_the_report_has_the_probe_of_pairs(full: PaperReport, model: AttentionModel) -> None:
    entry = next(entry for entry in full.entries if entry.study == "pairs")
    assert entry.result is not None and (entry.paper, entry.figure) == (
        "Coenen et al. 2019",
        "Section 3.1",
    )
    probe = demo_probe("pairs")
    for value in (probe.dependency_accuracy, probe.relation_accuracy, probe.accuracies[0, 2, 0]):
        assert f"{100 * value:.0f} %" in entry.finding
    assert "85.8 %" in entry.value and "2,091 annotated sentences" in entry.data
    trees = demo_treebank()
    own = train_pair_probe(model, trees[:6], trees[6:8], min_count=9, epochs=1, progress=False)
    given = report(model, TEXTS, treebank=(), documents=(), pairs=own, progress=False)
    assert given["pairs"].finding == own.finding != entry.finding
    with pytest.raises(ValueError, match=naming("small BERT", "weights")):
        report(load_model("attnwidget/genre"), TEXTS, pairs=own, progress=False)
