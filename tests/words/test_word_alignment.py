"""Word alignment by cross-attention: files, error rates against a loop, figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnwidget import AttentionModel, load_alignments
from attnwidget.results import AlignedPair, AlignmentErrors
from attnwidget.words import probe_alignment
from fixtures.made_language import aligning_model, made_pairs
from refusals import naming

PAIRS = [
    *made_pairs(10),
    AlignedPair.from_text("the dog sees the cat", "u12 u0 o u1", "2-0 1-1 4?3 3p2"),
]


@pytest.fixture(scope="module")
def aligning() -> AttentionModel:
    return aligning_model()


@pytest.fixture(scope="module")
def found(aligning: AttentionModel) -> AlignmentErrors:
    return probe_alignment(aligning, PAIRS, progress=False)


def test_the_planted_head_reads_every_counterpart(found: AlignmentErrors) -> None:
    assert found.best_head() == found.best_head("weights", "read") == (1, 0, "cross")
    read = found.rows.index("read")
    written = found.rows.index("written")
    # The marker has no counterpart; the planted head attends somewhere from its row.
    assert found.head_errors[0, 0, read, 1, 0] < 0.2
    assert found.head_errors[0, 0, written, 1, 0] > 0.6
    assert found.head_errors[0, 0, read, 0].min() > 0.4
    assert 0.3 < found.diagonal[0] < 1


def test_error_rates_are_those_of_a_loop(aligning: AttentionModel, found: AlignmentErrors) -> None:
    """Counts by hand: one token is one word, so that rows and columns are the words."""
    for q, quantity in enumerate(("weights", "norms")):
        for r, shift in enumerate((0, 1)):
            for layer in range(2):
                counted = dict.fromkeys(("layer", 0, 1), 0)
                hits = {key: [0, 0] for key in counted}
                n_sure = 0
                for pair in PAIRS:
                    attention = aligning.attend(" ".join(pair.source), target=" ".join(pair.target))
                    n_sure += len(pair.sure)
                    for key in counted:
                        heads = getattr(attention, quantity)(stack="cross")[layer]
                        if key != "layer":
                            rows = heads[key]
                        elif quantity == "weights":
                            rows = heads.mean(0)
                        else:
                            rows = attention.summed_norms(layer, stack="cross")
                        for word in range(len(pair.target)):
                            best = int(rows[word + shift].argmax())
                            if best >= len(pair.source):
                                continue
                            counted[key] += 1
                            sure = (best, word) in pair.sure
                            hits[key][0] += sure
                            hits[key][1] += sure or (best, word) in pair.possible
                for key in counted:
                    rate = 1 - sum(hits[key]) / (counted[key] + n_sure)
                    array = found.errors[0, q, r] if key == "layer" else found.head_errors[0, q, r]
                    own = array[layer] if key == "layer" else array[layer, key]
                    assert own == pytest.approx(rate, abs=1e-12), (quantity, shift, layer, key)


def test_intervals_hold_the_value_and_one_quantity_is_the_same(
    aligning: AttentionModel, found: AlignmentErrors
) -> None:
    value, low, high = found.errors
    assert (low <= value).all() and (value <= high).all() and (low < high).any()
    only = probe_alignment(aligning, PAIRS, quantity="norms", progress=False)
    assert only.quantities == ("norms",)
    np.testing.assert_array_equal(only.errors[:, 0], found.errors[:, 1])


def test_tokens_of_a_word_are_joined() -> None:
    """Tokens of a source word are added, tokens of a target word averaged; here by hand."""
    from attnwidget.kernels.alignment_errors import aligned_words, word_values

    maps = np.array([[0.3, 0.3, 0.4, 0.0], [0.1, 0.0, 0.9, 0.0], [0.1, 0.1, 0.1, 0.7]])
    words = word_values(maps, [0, 0, 1], [0, 0, 1, None])
    np.testing.assert_allclose(words, [[0.35, 0.65, 0.0], [0.2, 0.1, 0.7]])
    assert aligned_words(maps, [0, 0, 1], [0, 0, 1, None]).tolist() == [1, -1]


def test_tables_frames_and_findings(found: AlignmentErrors) -> None:
    table = found.table()
    assert [*table.columns] == [
        "written, weights",
        "written, norms",
        "read, weights",
        "read, norms",
    ]
    assert [*table.index] == [
        "L0",
        "L1",
        "mean of layers",
        "best layer",
        "best head",
        "diagonal",
    ]
    assert table.loc["best layer"].tolist() == [*found.errors[0].min(-1).T.ravel()]
    frame = found.to_frame()
    assert len(frame) == 2 * 2 * 2 * 3 and frame["head"].isna().sum() == 8
    row, layer = found.best()
    assert (row, layer) == ("read", 1)
    assert found.finding.startswith("L1 aligns words best, from the row that reads the word: AER")
    assert f"{100 * found.diagonal[0]:.0f} %" in found.finding
    assert len(found.heads()) == 4 and "score" not in repr(found)


def test_figures_name_the_row_and_the_gold_links(
    found: AlignmentErrors,
) -> None:
    chart = found.chart(width=320).to_dict()
    assert "row that reads the word" in str(chart) and "diagonal" in str(chart)
    maps = found.maps(PAIRS[-1], layer=1, row="read")
    assert maps.maps.shape == (2, 4, 6) and maps.special == ("</s>",)
    assert maps.finding.endswith("3 of 4 by weights, 3 of 4 by norms")
    assert maps.to_frame()["gold"].value_counts().to_dict() == {"": 40, "sure": 4, "possible": 4}
    drawn = str(maps.chart(width=320).to_dict())
    assert "strokeDash" in drawn and "row that reads the word" in drawn


def test_files_of_pharaoh(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("links", "source", "target")]
    texts = ["1-1 2?3\n\n3p2\n", "the dog\n\na b c\n", "u v w\n\nd e\n"]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    first, second = load_alignments(*paths, first=1)
    assert first.sure == ((0, 0),) and first.possible == ((1, 2),)
    assert second.possible == ((2, 1),) and second.name.endswith("links:3")


@pytest.mark.parametrize(
    ("texts", "options", "parts"),
    [
        (["0-9", "a b", "c"], {}, ["links:1", "0-9", "0 to 0"]),
        (["0:1", "a b", "c d"], {}, ["links:1", "0:1", '"0?2"']),
        (["0-0\n1-1", "a b", "c d"], {}, ["same number of lines", "links has 2"]),
        (["0-0", "a b", "c d"], {"first": 2}, ["first must be 0 or 1", "2"]),
        (["0-1", "a b", "c d"], {"first": 1}, ["-1-0", "first=1"]),
        ([" ", "a", "b"], {}, ["links has no links"]),
    ],
)
def test_files_that_cannot_be(
    tmp_path: Path, texts: list[str], options: dict[str, Any], parts: list[str]
) -> None:
    paths = [tmp_path / name for name in ("links", "source", "target")]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=naming(*parts)):
        load_alignments(*paths, **options)


def test_refusals_name_the_next_step(
    model: AttentionModel, aligning: AttentionModel, found: AlignmentErrors
) -> None:
    with pytest.raises(ValueError, match=naming("no cross-attention", "encoder-decoder")):
        probe_alignment(model, PAIRS, progress=False)
    with pytest.raises(ValueError, match=naming("no sure links", "load_alignments")):
        probe_alignment(aligning, [AlignedPair(("a",), ("b",), ())], progress=False)
    with pytest.raises(TypeError, match=naming("load_alignments")):
        probe_alignment(aligning, [("a", "b")], progress=False)  # type: ignore[list-item]
    with pytest.raises(ValueError, match=naming("quantity", "weights")):
        probe_alignment(aligning, PAIRS, quantity="size", progress=False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=naming("layer", "9")):
        found.maps(PAIRS[0], layer=9)
    with pytest.raises(ValueError, match=naming("no words")):
        AlignedPair((), ("b",), ())
