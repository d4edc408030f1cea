"""Example links of heads beside a search of all maps, in any order of reading, with any workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from attnwidget import AttentionModel, load_model, make_segments, read_segments
from attnwidget.behaviors import head_examples
from attnwidget.behaviors.examples.example_links import SAMPLED, ExampleLinks
from attnwidget.behaviors.examples.example_results import KINDS, HeadExamples
from attnwidget.behaviors.examples.place_priorities import place_priorities
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.corpus.accumulator import Accumulator, Batch, LayerBatch, Subject
from attnwidget.corpus.batches import batched
from attnwidget.corpus.head_projections import HeadProjections
from attnwidget.corpus.model_reader import ModelReader
from attnwidget.corpus.resume_from import resume_from
from attnwidget.corpus.segment_indices import with_index
from attnwidget.demo import demo_prose
from attnwidget.kernels.strongest_links import strongest_links
from attnwidget.text.segments import Segment
from fixtures.on_workers import on_workers
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from refusals import naming

K = 3
QUIET: dict[str, Any] = {"progress": False, "batch_size": 4}


class Previous(LinkRule):
    """A rule for tests: the token before."""

    name = "previous"

    def links(self, batch: Batch) -> torch.Tensor:
        n = batch.real.shape[1]
        return torch.ones(n, n, dtype=torch.bool).tril(-1).triu(-1).expand(len(batch.real), n, n)


class WholeMaps(Accumulator[Any]):
    """The maps and strengths of every segment, without padding."""

    name = "whole maps"

    def start(self, subject: Subject) -> None:
        super().start(subject)
        self.maps: dict[int, list[NDArray[np.float32]]] = {}
        self.strengths: dict[int, list[NDArray[np.float32]]] = {}
        self._projections = HeadProjections(subject.needed_model("maps"), "self")

    def update(self, layer: LayerBatch) -> None:
        norms = self._projections.norms(layer)
        for item, segment in enumerate(layer.batch.segments):
            n = int(layer.batch.lengths[item])
            weights = layer.weights[item, :, :n, :n].clone()
            index = segment.index
            self.maps.setdefault(index, []).append(weights.numpy())
            scaled = weights * norms[item, :, None, :n]
            self.strengths.setdefault(index, []).append(scaled.numpy())

    def compute(self) -> Any:
        raise NotImplementedError


def whole_maps(model: AttentionModel, segments: Sequence[Segment]) -> WholeMaps:
    kept = WholeMaps()
    reader = ModelReader(model, [kept], None)
    listed = list(with_index(segments))
    reader.start(listed[0])
    for batch in batched(listed, QUIET["batch_size"]):
        reader.add(batch)
    return kept


def places_and_values(
    kept: WholeMaps, layer: int, head: int, of: str
) -> Iterator[tuple[float, tuple[int, int, int]]]:
    for index, layers in getattr(kept, of).items():
        for (query, key), value in np.ndenumerate(layers[layer][head]):
            yield float(value), (index, query, key)


def place(example: Any) -> tuple[int, int, int]:
    return example.segment, example.query, example.key


@pytest.fixture(scope="module")
def segments(model: AttentionModel) -> list[Segment]:
    return read_segments(demo_prose(), model, max_tokens=24, limit=14)


@pytest.fixture(scope="module")
def found(model: AttentionModel, segments: list[Segment]) -> HeadExamples:
    return head_examples(model, segments, K, rule=Previous(), **QUIET)


@pytest.fixture(scope="module")
def kept(model: AttentionModel, segments: list[Segment]) -> WholeMaps:
    return whole_maps(model, segments)


@pytest.mark.parametrize("head", [(0, 0), (2, 8), (5, 11)])
def test_strongest_links_equal_a_search_of_all_maps(
    found: HeadExamples, kept: WholeMaps, head: tuple[int, int]
) -> None:
    for kind, of in (("strongest", "strengths"), ("heaviest", "maps")):
        everything = sorted(
            places_and_values(kept, *head, of), key=lambda entry: (-entry[0], entry[1])
        )
        examples = found.links(*head, kind)  # type: ignore[arg-type]
        assert [place(example) for example in examples] == [at for _, at in everything[:K]]
        values = [e.strength if kind == "strongest" else e.weight for e in examples]
        assert values == [value for value, _ in everything[:K]]


def test_random_links_are_of_their_part_of_the_sample(found: HeadExamples, kept: WholeMaps) -> None:
    lengths = {index: len(layers[0][0]) for index, layers in kept.maps.items()}
    ranked = sorted(
        (int(number), (index, *at))
        for index, n in lengths.items()
        for at, number in np.ndenumerate(place_priorities(np.array([index]), n, n, 0)[0])
    )
    sample = [at for _, at in ranked[: SAMPLED * K]]
    for layer, head in ((1, 3), (4, 4)):
        strengths = {
            (index, query, key): float(kept.strengths[index][layer][head][query, key])
            for index, query, key in sample
        }
        by_strength = sorted(sample, key=lambda at: -strengths[at])
        tenth = len(sample) // 10
        for kind, part in (
            ("top tenth", by_strength[:tenth]),
            ("middle", by_strength[round(0.45 * len(sample)) : round(0.55 * len(sample))]),
        ):
            examples = found.links(layer, head, kind)  # type: ignore[arg-type]
            assert len({place(example) for example in examples}) == K
            assert all(place(example) in part for example in examples)
            assert all(example.strength == strengths[place(example)] for example in examples)


def test_missed_links_are_predicted_and_light(found: HeadExamples, kept: WholeMaps) -> None:
    for layer, head in ((0, 1), (3, 3)):
        missed = set()
        n_predicted = 0
        for index, layers in kept.maps.items():
            weights = layers[layer][head]
            n_predicted += len(weights) - 1
            for query in range(1, len(weights)):
                if weights[query, query - 1] < 1 / len(weights):
                    missed.add((index, query, query - 1))
        examples = found.links(layer, head, "missed")
        assert len(examples) == min(K, len(missed))
        assert {place(example) for example in examples} <= missed
        assert found.missed_share[layer, head] == len(missed) / n_predicted


def test_right_and_wrong_links_are_those_of_the_most_attended_key(
    model: AttentionModel, segments: list[Segment], found: HeadExamples, kept: WholeMaps
) -> None:
    for layer, head in ((0, 2), (3, 3)):
        right = set()
        wrong = set()
        for index, layers in kept.maps.items():
            weights = layers[layer][head]
            special = model.inputs.encoded_segment(segments[index]).tokens.special
            for query in range(1, len(weights)):
                # [CLS] and [SEP] do not count, unless the rule predicts them.
                keys = [key for key, kind in enumerate(special) if not kind or key == query - 1]
                most = max(keys, key=lambda key: weights[query, key])
                (right if most == query - 1 else wrong).add((index, query, most))
        for kind, expected in (("right", right), ("wrong", wrong)):
            examples = found.links(layer, head, kind)  # type: ignore[arg-type]
            assert len(examples) == min(K, len(expected))
            assert {place(example) for example in examples} <= expected
            for example in examples:
                index, query, key = place(example)
                assert example.weight == kept.maps[index][layer][head][query, key]


def same(first: HeadExamples, second: HeadExamples) -> None:
    assert first.arrays.keys() == second.arrays.keys()
    for name, values in first.arrays.items():
        np.testing.assert_array_equal(values, second.arrays[name], name)
    assert first.texts == second.texts and first.n_segments == second.n_segments


@pytest.mark.slow
def test_workers_resume_files_and_iterators_give_the_same_bits(tmp_path: Path) -> None:
    model = load_model(build("bert"), word_tokenizer())
    random = np.random.default_rng(0)
    texts = [
        Segment(tuple(f"w{i}" for i in random.integers(0, 90, random.integers(3, 9))))
        for _ in range(21)
    ]
    options: dict[str, Any] = {
        "n_examples": K,
        "rule": Previous(),
        "progress": False,
        "batch_size": 2,
    }
    alone = head_examples(model, texts, **options)
    with ThreadPoolExecutor(2) as pool:
        same(alone, on_workers(pool, head_examples, model, iter(texts), **options))
    path = tmp_path / "examples.npz"
    with resume_from(path):
        for _ in range(2):
            same(alone, head_examples(model, texts, **options))


@pytest.mark.slow
def test_two_hundred_segments_equal_a_search_of_all_maps(model: AttentionModel) -> None:
    many = read_segments(demo_prose(), model, max_tokens=16, limit=200)
    found = head_examples(model, many, 20, **QUIET)
    kept = whole_maps(model, many)
    for layer, head in np.ndindex(6, 12):
        everything = sorted(
            places_and_values(kept, layer, head, "strengths"),
            key=lambda entry: (-entry[0], entry[1]),
        )
        assert [place(e) for e in found.links(layer, head)] == [at for _, at in everything[:20]]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_corpus() -> None:
    model = load_model(build("bert"), word_tokenizer())
    sizes = []
    for count in (150, 450):
        texts = [Segment((f"w{i % 90}", f"w{i % 7}")) for i in range(count)]
        metric = ExampleLinks(1)
        reader = ModelReader(model, [metric], None)
        listed = list(with_index(texts))
        reader.start(listed[0])
        for batch in batched(listed, 50):
            reader.add(batch)
        sizes.append(sum(values.nbytes for values in metric.state().values()))
    assert sizes[1] < 1.2 * sizes[0]


def test_examples_print_their_sentence(found: HeadExamples) -> None:
    example = found.links(1, 3)[0]
    assert str(example).count("[") >= 2 and "→" in str(example)
    frame = found.to_frame()
    # Few heads make all predicted links, or none.
    assert (~frame["kind"].isin(["right", "wrong", "missed"])).sum() == 72 * 4 * K
    assert set(frame["kind"]) == set(KINDS)
    assert found.chart() is not None and len(found.heads()) == 3


def test_a_causal_model_has_no_links_to_later_tokens() -> None:
    model = load_model(build("gpt2"), word_tokenizer(template=False))
    texts = make_segments(["w1 w2 w3 w4 w5", "w3 w1 w2"], model)
    found = head_examples(model, texts, K, progress=False)
    places = found.arrays["sample place"]
    assert (places[:, 2] <= places[:, 1]).all()
    assert (places[:, 0] >= 0).sum() == 15 + 6


def test_wrong_requests_are_refused(model: AttentionModel, found: HeadExamples) -> None:
    with pytest.raises(ValueError, match=naming("n_examples", "0", "example")):
        head_examples(model, [Segment(("the",))], 0)
    with pytest.raises(TypeError, match=naming("int", "0", "read_segments")):
        head_examples(model, [1])  # type: ignore[list-item]
    with pytest.raises(ValueError, match=naming("kind", "'best'")):
        found.links(0, 0, "best")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=naming("head 12", "0 to 11")):
        found.links(0, 12)
    without = head_examples(model, make_segments(["It slept."], model), 1, progress=False)
    for kind in ("right", "wrong", "missed"):
        with pytest.raises(ValueError, match=naming(f"{kind} links", "head_examples")):
            without.links(0, 0, kind)  # type: ignore[arg-type]


@given(
    seed=st.integers(0, 2**31 - 1),
    lengths=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    k=st.integers(1, 12),
)
def test_strongest_links_order_equal_values_by_place(seed: int, lengths: list[int], k: int) -> None:
    random = np.random.default_rng(seed)
    n = max(lengths) + 1
    values = random.integers(0, 4, (len(lengths), 2, n, n)).astype("f4")
    real = np.arange(n) < np.array(lengths)[:, None]
    for item, length in enumerate(lengths):
        values[item, :, :length, length:] = 0
    order = random.permutation(len(lengths))
    found = strongest_links(
        torch.from_numpy(values), torch.from_numpy(real), torch.from_numpy(order), k
    )
    rank = np.argsort(order)
    for head in range(2):
        cells = sorted(
            (-value, rank[item], query, key)
            for (item, query, key), value in np.ndenumerate(values[:, head])
            if real[item, query] and value > 0
        )[:k]
        size = len(cells)
        assert found.values[head, :size].tolist() == [-value for value, *_ in cells]
        assert not found.values[head, size:].any()
        places = zip(found.items[head], found.queries[head], found.keys[head], strict=True)
        expected = [(order[item], query, key) for _, item, query, key in cells]
        assert [tuple(map(int, at)) for at in places][:size] == expected
