"""The finding of each result: the sentence is computed from the numbers, in all of its forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from attnwidget import Attention, AttentionModel, load_model, measure, measure_attention
from attnwidget.comparison.compare import compare
from attnwidget.demo import demo_atlas, demo_treebank
from attnwidget.metrics import induction_scores
from attnwidget.results import HeadResult
from attnwidget.words import probe_relations

TOKENS = ["[CLS]", "the", "cat", "sat", "on", "the", "mat", "[SEP]"]


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return load_model()


def measured(weights: NDArray[np.float64], metric: str) -> HeadResult:
    """Return the result of a metric for maps [L, H, 8, 8]."""
    attention = Attention.from_weights(weights, TOKENS)
    result: HeadResult = measure_attention(attention, [metric])[metric]
    return result


def to_key(key: int) -> NDArray[np.float64]:
    """Return a map [8, 8] whose rows attend to one key."""
    return np.tile(np.eye(8)[key], (8, 1))


UNIFORM = np.full((8, 8), 1 / 8)
NEXT = np.roll(np.eye(8), 1, axis=1)


def test_classes_name_the_layer_that_rests_on_one() -> None:
    resting = np.array([[UNIFORM, UNIFORM], [to_key(7), to_key(7)]])
    finding = measured(resting, "classes").finding
    assert finding == "The heads of L1 give 100 % of their attention to [SEP]"


def test_classes_say_if_no_layer_rests() -> None:
    diagonal = np.array([[np.eye(8) * 0.6 + to_key(3) * 0.4]])
    finding = measured(diagonal, "classes").finding
    assert finding == "No class of tokens gets more than 8 % of the attention of a layer"


def test_offsets_name_the_heads_above_one_half() -> None:
    finding = measured(np.array([[NEXT, UNIFORM], [UNIFORM, NEXT]]), "position").finding
    assert finding == (
        "2 heads give more than half of their attention to the next token (most in L0 H0, 88 %)"
    )
    finding = measured(np.array([[np.eye(8), NEXT]]), "position").finding
    assert finding == (
        "1 head gives more than half of its attention to the current token (L0 H0, 100 %), "
        "1 head to the next token (L0 H1, 88 %)"
    )


def test_offsets_say_if_no_head_is_above_one_half() -> None:
    finding = measured(UNIFORM[None, None], "position").finding
    assert finding.startswith("No head gives more than half of its attention to one offset")
    assert finding.endswith("12 %, from L0 H0 to the current token")


def test_entropy_names_the_broadest_and_the_sharpest_head() -> None:
    finding = measured(np.array([[UNIFORM, np.eye(8)]]), "entropy").finding
    assert finding == (
        "The broadest head is L0 H0 with 2.08 nats (even attention: 2.08), the sharpest L0 H1 with "
        "0.00 nats"
    )


def test_patterns_are_sorted_by_share() -> None:
    finding = measured(np.array([[to_key(0), to_key(0), np.eye(8)]]), "patterns").finding
    assert finding == "67 % of the maps are vertical, 33 % diagonal"


def test_distances_compare_heads_of_a_layer_with_heads_of_others() -> None:
    alike = np.array([[UNIFORM, UNIFORM], [np.eye(8), np.eye(8)]])
    assert "more alike than" in measured(alike, "distances").finding
    unlike = np.array([[UNIFORM, np.eye(8)], [UNIFORM, np.eye(8)]])
    assert "no more alike than" in measured(unlike, "distances").finding
    # One head has no other head.
    assert measured(UNIFORM[None, None], "distances").finding == ""


def test_gradients_and_norms_compare_classes_with_other_tokens(model: AttentionModel) -> None:
    results = measure(model, ["The cat sat.", "It slept."], ["gradients", "norms"], progress=False)
    gradients, norms = results["gradients"], results["norms"]
    values = np.ones_like(gradients.values)
    values[gradients.classes.index("[SEP]"), 2] = 0.25
    finding = replace(gradients, values=values).finding
    assert finding == (
        "In L2, the loss depends on attention to [SEP] 0.25 times as much as on attention to other "
        "tokens"
    )
    assert "more than half as much" in replace(gradients, values=values**0).finding
    shares = np.full_like(norms.weights, 1 / len(norms.classes))
    even = replace(norms, weights=shares, weighted_norms=shares)
    assert "about the same shares" in even.finding
    resting = shares.copy()
    resting[norms.classes.index("[CLS]"), 3] = 0.75
    finding = replace(even, weights=resting).finding
    assert finding == "In L3, [CLS] gets 75 % of the attention, but has 25 % of the norms"


def test_relations_count_what_is_better_than_the_offset(model: AttentionModel) -> None:
    found = probe_relations(model, demo_treebank(), progress=False)
    best = found.best()
    best = best[(best["relation"] != "all") & best["significant"]]
    n_better = best["relation"].str.removesuffix(" (all)").nunique()
    gains = best["accuracy"] - best["baseline"]
    row = best.loc[gains.idxmax()]
    assert found.finding.startswith(f"For {n_better} of ")
    assert f"L{row['layer']} H{row['head']} for {row['relation']}, " in found.finding
    worthless = replace(found, correct=np.zeros_like(found.correct))
    assert worthless.finding.startswith("No head is significantly better than the best offset")
    few = probe_relations(model, demo_treebank()[:2], progress=False)
    assert few.finding == "No relation has 100 words, too few for a comparison of heads"


def test_other_findings_name_their_largest_number(model: AttentionModel) -> None:
    induction = load_model("attnwidget/induction")
    scores = induction_scores(induction, n_sequences=2, length=10, progress=False)
    layer, head = np.unravel_index(scores.induction.argmax(), scores.induction.shape)
    assert scores.finding.startswith(f"L{layer} H{head} gives {100 * scores.induction.max():.0f} %")
    tuned = load_model("attnwidget/genre")
    changes = compare(model, tuned, ["The cat sat.", "It slept."], progress=False)
    most = int((1 - changes.cosine).mean(1).argmax())
    assert changes.finding.startswith(f"The maps of L{most} change most")
    assert demo_atlas().finding == (
        "38 of 72 heads have a name; the most frequent is 'rests on [CLS]' (29 heads)"
    )
