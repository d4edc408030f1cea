"""What heads look at: kernels and accumulators against slow references, and what must hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from attnwidget.corpus.accumulator import Accumulator, Batch, LayerBatch, Subject
from attnwidget.corpus.segment_means import SegmentMeans
from attnwidget.kernels import cache_blocks, divergence
from attnwidget.kernels import entropy as entropy_file
from attnwidget.kernels.classes import class_mass
from attnwidget.kernels.entropy import confidence, entropy
from attnwidget.metrics import position
from attnwidget.metrics.attention_to_classes import Classes
from attnwidget.metrics.entropy import Confidence, Entropy
from attnwidget.metrics.position import Position, mean_distances, offset_mass
from attnwidget.metrics.position_content import PositionContent
from attnwidget.text.segments import Segment
from fixtures.tiers import only_first_is_fast
from references import reference_surface as reference
from refusals import naming

seeds = st.integers(0, 2**31 - 1)
several_lengths = st.lists(st.integers(1, 12), min_size=1, max_size=4)
LAYERS = 2
HEADS = 3
SUBJECT = Subject(LAYERS, HEADS, model_name="random")
MAKERS: dict[str, Callable[[], Accumulator[Any]]] = {
    "position": lambda: Position(range(-3, 4)),
    "classes": Classes,
    "classes as released": lambda: Classes(variant="released"),
    "entropy": Entropy,
    "confidence": Confidence,
    "confidence without [SEP]": lambda: Confidence("[SEP]"),
    "position content": lambda: PositionContent(4),
}


def random_maps(seed: int, lengths: Sequence[int], padding: int = 0) -> torch.Tensor:
    """[L, B, H, n, n] of rows that sum to 1 over real keys, anything finite in rows of padding."""
    random = np.random.default_rng(seed)
    n = max(lengths) + padding
    maps = random.uniform(size=(LAYERS, len(lengths), HEADS, n, n)).astype("f4")
    for document, length in enumerate(lengths):
        scores = np.exp(random.normal(size=(LAYERS, HEADS, length, length)) * 4)
        maps[:, document, :, :length] = 0
        maps[:, document, :, :length, :length] = scores / scores.sum(-1, keepdims=True)
        maps[:, document, :, :, length:] = 0
    return torch.from_numpy(maps)


def make_batch(seed: int, lengths: Sequence[int], padding: int = 0) -> Batch:
    """A batch whose tokens are in classes as they fall; the last token is a [SEP], or is not."""
    random = np.random.default_rng(seed)
    length = torch.tensor(lengths)
    real = torch.arange(max(lengths) + padding) < length[:, None]
    classes = {name: torch.zeros_like(real) for name in ("[CLS]", "[SEP]", ". ,", "first token")}
    for document, n in enumerate(lengths):
        for name in (". ,", "[SEP]"):
            classes[name][document, :n] = torch.from_numpy(random.uniform(size=n) < 0.3)
        classes["[CLS]"][document, 0] = classes["first token"][document, 0] = True
        classes["[SEP]"][document, 0] = False
    return Batch(
        segments=[Segment(("x",) * n) for n in lengths],
        tokens=(),
        inputs={},
        lengths=length,
        real=real,
        row_weights=real / length[:, None],
        classes=classes,
    )


def started(kind: str) -> Accumulator[Any]:
    accumulator = MAKERS[kind]()
    accumulator.start(SUBJECT)
    return accumulator


def seen(accumulator: Accumulator[Any], batch: Batch, maps: torch.Tensor) -> Accumulator[Any]:
    for layer in range(LAYERS):
        accumulator.update(LayerBatch(batch, layer, maps[layer], None))
    accumulator.end_batch(batch)
    return accumulator


def one_document(batch: Batch, maps: torch.Tensor, document: int) -> tuple[Batch, torch.Tensor]:
    n = int(batch.lengths[document])
    at = slice(document, document + 1)
    alone = Batch(
        segments=batch.segments[at],
        tokens=(),
        inputs={},
        lengths=batch.lengths[at],
        real=batch.real[at, :n],
        row_weights=batch.row_weights[at, :n],
        classes={name: member[at, :n] for name, member in batch.classes.items()},
    )
    return alone, maps[:, at, :, :n, :n]


def same(first: Accumulator[Any], second: Accumulator[Any], atol: float = 1e-6) -> None:
    heads = first.compute().heads()
    others = second.compute().heads()
    assert heads.keys() == others.keys()
    for title in heads:
        np.testing.assert_allclose(heads[title], others[title], atol=atol, rtol=1e-6)


@pytest.mark.slow
@given(seed=seeds, lengths=several_lengths, padding=st.integers(0, 3))
def test_results_equal_the_reference(seed: int, lengths: list[int], padding: int) -> None:
    batch = make_batch(seed, lengths, padding)
    maps = random_maps(seed, lengths, padding)
    found = {kind: seen(started(kind), batch, maps).compute() for kind in MAKERS}
    exact = maps.double().numpy()

    def mean(of_map: Callable[[Any, int], float], documents: Sequence[int]) -> np.ndarray:
        """[L, H], the mean over documents of a function of a map and its document."""
        cut = lambda d, layer, h: exact[layer, d, h, : lengths[d], : lengths[d]]  # noqa: E731
        rows = [
            [np.mean([of_map(cut(d, layer, h), d) for d in documents]) for h in range(HEADS)]
            for layer in range(LAYERS)
        ]
        return np.array(rows)

    every = range(len(lengths))
    member = {
        name: [torch.nonzero(of)[:, 0].tolist() for of in rows]
        for name, rows in batch.classes.items()
    }
    with_sep = [d for d in every if member["[SEP]"][d]]
    expected: dict[str, dict[str, np.ndarray]] = {
        "position": {
            "mean signed distance": mean(lambda a, _: reference.distances(a)[0], every),
            "mean distance": mean(lambda a, _: reference.distances(a)[1], every),
            "previous token": mean(lambda a, _: reference.offset_mass(a, -1), every),
            "offset +3": mean(lambda a, _: reference.offset_mass(a, 3), every),
        },
        "classes": {
            f"to {name}": mean(
                lambda a, d, name=name: reference.class_mass(
                    a, list(range(lengths[d])), member[name][d]
                ),
                every,
            )
            for name in member
            if any(member[name])
        },
        "entropy": {
            "entropy": mean(lambda a, _: reference.entropy(a), every),
            "entropy from [CLS]": mean(lambda a, _: reference.row_entropy(a[0]), every),
        },
        "confidence": {"confidence": mean(lambda a, _: reference.confidence(a, []), every)},
        "confidence without [SEP]": {
            "confidence": mean(lambda a, d: reference.confidence(a, member["[SEP]"][d]), every)
        },
        "position content": {
            "explained by offset": np.array(
                [
                    [
                        reference.explained_by_offset(
                            [exact[layer, d, h, :n, :n] for d, n in enumerate(lengths)], reach=4
                        )
                        for h in range(HEADS)
                    ]
                    for layer in range(LAYERS)
                ]
            )
        },
    }
    if with_sep:
        sep = member["[SEP]"]
        expected["classes"] |= {
            "[SEP] to [SEP]": mean(lambda a, d: reference.class_mass(a, sep[d], sep[d]), with_sep),
            "other to [SEP]": mean(
                lambda a, d: reference.class_mass(
                    a, [i for i in range(lengths[d]) if i not in sep[d]], sep[d]
                ),
                with_sep,
            ),
        }
        assert found["classes"].heads().keys() == expected["classes"].keys()
    for kind, titles in expected.items():
        for title, values in titles.items():
            got = found[kind].heads()[title]
            np.testing.assert_allclose(got, values, atol=1e-5, err_msg=title)
    assert found["entropy"].uniform == pytest.approx(np.mean(np.log(lengths)))


@pytest.mark.parametrize("kind", only_first_is_fast(MAKERS))
@given(seed=seeds, lengths=several_lengths, padding=st.integers(1, 9))
def test_padding_changes_nothing(kind: str, seed: int, lengths: list[int], padding: int) -> None:
    batch = make_batch(seed, lengths)
    maps = random_maps(seed, lengths)
    padded = make_batch(seed, lengths, padding)
    n = max(lengths)
    wide = torch.full((*maps.shape[:-2], n + padding, n + padding), 0.0)
    wide[..., n:, :n] = 7.0
    wide[..., :n, :n] = maps
    same(seen(started(kind), batch, maps), seen(started(kind), padded, wide))


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
@given(seed=seeds, lengths=several_lengths)
def test_one_batch_is_many(kind: str, seed: int, lengths: list[int]) -> None:
    batch = make_batch(seed, lengths, 2)
    maps = random_maps(seed, lengths, 2)
    together = seen(started(kind), batch, maps)
    apart = started(kind)
    merged = started(kind)
    last = []
    for document in range(len(lengths)):
        alone = one_document(batch, maps, document)
        seen(apart, *alone)
        last.append(seen(started(kind), *alone))
    for part in reversed(last):
        merged.merge(part)
    same(together, apart)
    same(together, merged)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
@given(seed=seeds, lengths=several_lengths, order=st.permutations(range(HEADS)))
def test_heads_permute_with_their_maps(
    kind: str, seed: int, lengths: list[int], order: list[int]
) -> None:
    batch = make_batch(seed, lengths)
    maps = random_maps(seed, lengths)
    heads = seen(started(kind), batch, maps).compute().heads()
    moved = seen(started(kind), batch, maps[:, :, order]).compute().heads()
    for title in heads:
        np.testing.assert_allclose(moved[title], heads[title][:, order], atol=1e-6, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MAKERS)
@given(seed=seeds, lengths=several_lengths)
def test_a_restored_state_goes_on_to_the_last_bit(kind: str, seed: int, lengths: list[int]) -> None:
    batch = make_batch(seed, lengths)
    maps = random_maps(seed, lengths)
    straight = seen(started(kind), batch, maps)
    stopped = started(kind)
    stopped.restore(straight.state())
    seen(stopped, batch, maps)
    seen(straight, batch, maps)
    for title, values in straight.compute().heads().items():
        np.testing.assert_array_equal(stopped.compute().heads()[title], values)
    with pytest.raises(ValueError, match=naming("stored sums")):
        started("position" if kind != "position" else "entropy").restore(straight.state())


def test_the_released_code_divides_by_two_separators() -> None:
    maps = random_maps(0, [6])
    batch = make_batch(0, [6])
    batch.classes["[SEP]"][:] = False
    batch.classes["[SEP]"][0, 5] = True
    paper = seen(started("classes"), batch, maps).compute()
    released = seen(started("classes as released"), batch, maps).compute()
    np.testing.assert_allclose(released.sep_to_sep, paper.sep_to_sep / 2, atol=1e-7)
    np.testing.assert_allclose(released.other_to_sep, paper.other_to_sep * 5 / 4, atol=1e-7)
    batch.classes["[SEP]"][0, 2] = True
    paper = seen(started("classes"), batch, maps).compute()
    released = seen(started("classes as released"), batch, maps).compute()
    np.testing.assert_allclose(released.sep_to_sep, paper.sep_to_sep, atol=1e-7)
    # sep = ((n - 2) / n) other + (2 / n) [SEP] to [SEP]
    whole = paper.heads()["to [SEP]"]
    np.testing.assert_allclose(
        whole, 4 / 6 * paper.other_to_sep + 2 / 6 * paper.sep_to_sep, atol=1e-6
    )


def test_what_is_nowhere_is_left_out() -> None:
    batch = make_batch(0, [5, 4])
    maps = random_maps(0, [5, 4])
    for name in ("[CLS]", "[SEP]"):
        batch.classes[name][:] = False
    classes = seen(started("classes"), batch, maps).compute()
    assert not {"to [CLS]", "to [SEP]", "[SEP] to [SEP]", "other to [SEP]"} & classes.heads().keys()
    assert classes.with_class["[SEP]"] == 0 and np.isnan(classes.sep_to_sep).all()
    with pytest.raises(ValueError, match=naming("[SEP]", "document")):
        classes.sep_chart()
    entropies = seen(started("entropy"), batch, maps).compute()
    assert list(entropies.heads()) == ["entropy", "entropy from first token"]


@pytest.mark.parametrize("kind", only_first_is_fast(MAKERS))
def test_results_have_a_table_and_a_chart(kind: str) -> None:
    result = seen(started(kind), make_batch(1, [5, 4]), random_maps(1, [5, 4])).compute()
    table = result.to_frame()
    assert list(table) == ["layer", "head", "metric", "value"]
    assert len(table) == LAYERS * HEADS * len(result.heads())
    layer, head, metric, value = table.iloc[4]
    assert result.heads()[metric][int(layer), int(head)] == value
    assert "2×3 heads" in repr(result) and len(repr(result)) < 250
    assert "random, 2 segments" in str(result.chart().to_dict()["title"])


def test_long_maps_are_worked_on_in_blocks() -> None:
    n = 700  # more cells than one block holds
    weights = torch.softmax(torch.randn(1, 2, n, n, generator=torch.Generator().manual_seed(0)), -1)
    lengths = torch.tensor([n - 10])
    weights[..., n - 10 :] = 0
    weights /= weights.sum(-1, keepdim=True)
    got = entropy(weights, lengths)
    p = 0.9999 * weights[..., : n - 10].double() + 0.0001 / (n - 10)
    expected = -(p * p.log()).sum(-1)[..., : n - 10]
    torch.testing.assert_close(got[..., : n - 10].double(), expected, atol=1e-5, rtol=0)
    assert not got[..., n - 10 :].any()


@pytest.mark.parametrize("smoothing", [1e-4, 0.0])
@pytest.mark.parametrize("numpy_log", [True, False])
def test_entropies_by_either_library(
    monkeypatch: pytest.MonkeyPatch, numpy_log: bool, smoothing: float
) -> None:
    """In blocks of a few rows; the sums on a GPU are the same."""
    monkeypatch.setattr(divergence, "_NUMPY_LOG", numpy_log)
    monkeypatch.setattr(cache_blocks, "_CELLS", 40)
    weights = torch.randn(2, 3, 9, 9, generator=torch.Generator().manual_seed(0)).mul(9).softmax(-1)
    weights[0, 0, 0] = torch.eye(9)[3]
    lengths = torch.tensor([9, 6])
    weights[1, :, :, 6:] = 0
    expected = entropy_file._by_torch(weights.double(), lengths, smoothing, 0)
    for entropies_of in (entropy_file._by_torch, _entropy_of_some_rows, _entropy_on_cpu):
        found = entropies_of(weights, lengths, smoothing, 0).double()
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


def _entropy_on_cpu(weights: Tensor, lengths: Tensor, smoothing: float, first: int) -> Tensor:
    return entropy(weights, lengths, smoothing=smoothing, first=first)


def _entropy_of_some_rows(weights: Tensor, lengths: Tensor, smoothing: float, first: int) -> Tensor:
    parts = (weights[:, :, :4], 0), (weights[:, :, 4:], 4)
    return torch.cat([entropy_file._by_torch(w, lengths, smoothing, at) for w, at in parts], -1)


def test_extreme_maps() -> None:
    n = 128
    sharp = torch.eye(n)[None, None]
    flat = torch.full((1, 1, n, n), 1 / n)
    lengths = torch.tensor([n])
    rows = torch.full((1, n), 1 / n)
    assert entropy(sharp, lengths).max() < 0.0015
    torch.testing.assert_close(entropy(flat, lengths), torch.full((1, 1, n), float(np.log(n))))
    assert confidence(sharp).eq(1).all()
    assert mean_distances(sharp, rows).abs().max() == 0
    assert offset_mass(flat, rows, [200, -200]).abs().max() == 0
    empty = torch.zeros(1, 0, n)
    assert class_mass(flat, rows[:, None], empty).shape == (1, 1, 1, 0)


def test_wrong_options_are_refused() -> None:
    for wrong in ([], [1, 1]):
        with pytest.raises(ValueError, match=naming("offsets", "once")):
            Position(wrong)
    with pytest.raises(ValueError, match=naming("variant", "'paper'", "'released'", "'code'")):
        Classes(variant="code")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=naming("'[EOS]'", "class")):
        Confidence(["[EOS]"])


@pytest.mark.parametrize("cells", [1024, 128 * 1024])
def test_mean_distances_of_long_texts_are_exact(
    monkeypatch: pytest.MonkeyPatch, cells: int
) -> None:
    monkeypatch.setattr(position, "_CELLS_AT_ONCE", cells)
    random = torch.Generator().manual_seed(0)
    weights = torch.randn(2, 3, 300, 300, generator=random).mul(3).softmax(-1)
    rows = torch.full((2, 300), 1 / 300)
    place = torch.arange(300).double()
    signed = place - place[:, None]
    for distances, got in zip(
        (signed, signed.abs()), mean_distances(weights, rows).unbind(-1), strict=True
    ):
        expected = (weights.double() * distances * rows.double()[:, None, :, None]).sum((-2, -1))
        torch.testing.assert_close(got, expected, atol=1e-10, rtol=0)


class Made(SegmentMeans[Any]):
    """A metric whose numbers are what a test wants."""

    name = "made"

    def __init__(self, heads: dict[str, list[int]], segments: dict[str, list[int]]) -> None:
        self.of_heads = {"first": (), "second": (4,)}
        self.of_segments = {"count": ()}
        self.heads_made = heads
        self.segments_made = segments

    def head_numbers(self, layer: LayerBatch) -> dict[str, torch.Tensor]:
        return {name: torch.ones(shape) for name, shape in self.heads_made.items()}

    def segment_numbers(self, batch: Batch) -> dict[str, torch.Tensor]:
        return {name: torch.ones(shape) for name, shape in self.segments_made.items()}

    def compute(self) -> Any:
        raise NotImplementedError


def made(first: list[int], second: list[int], count: list[int]) -> Made:
    metric = Made({"first": first, "second": second}, {"count": count})
    metric.start(SUBJECT)
    return metric


def test_a_mean_has_the_axes_that_its_number_names() -> None:
    metric = made([2, HEADS], [2, 1, 4], [2])
    seen(metric, make_batch(0, [5, 4]), random_maps(0, [5, 4]))
    assert metric.mean("first").shape == (LAYERS, HEADS) and metric.n_segments == 2
    assert metric.mean("second", over="count").shape == (4, LAYERS, HEADS)
    assert (metric.mean("second") == 1).all() and metric.counted("count") == 2


@pytest.mark.parametrize(
    ("metric", "parts"),
    [
        (
            made([HEADS], [2, HEADS, 4], [2]),
            ("'first'", "'made'", "[3]", "[1]", "of_heads"),
        ),
        (
            made([2, HEADS], [2, 4, HEADS], [2]),
            ("'second'", "'made'", "[3, 4]", "[2, 4, 3]", "of_heads"),
        ),
        (made([2, HEADS], [2, HEADS], [2]), ("'second'", "'made'", "[2, 3]", "of_heads")),
        (made([2, HEADS], [2, HEADS, 4], [2, 1]), ("'count'", "'made'", "of_segments", "[2, 1]")),
    ],
)
def test_numbers_of_another_shape_are_refused(metric: Made, parts: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        seen(metric, make_batch(0, [5, 4]), random_maps(0, [5, 4]))


def test_numbers_that_are_missing_or_have_no_name_are_refused() -> None:
    metric = Made({"first": [2, HEADS]}, {})
    metric.start(SUBJECT)
    with pytest.raises(ValueError, match=naming("['first', 'second']", "of_heads", "['first']")):
        seen(metric, make_batch(0, [5, 4]), random_maps(0, [5, 4]))
    metric = Made({}, {"counts": [2]})
    metric.start(SUBJECT)
    with pytest.raises(ValueError, match=naming("'count'", "of_segments", "'counts'", "names")):
        seen(metric, make_batch(0, [5, 4]), random_maps(0, [5, 4]))
