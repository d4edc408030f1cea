"""Two models over the same segments: against a plain loop, and what must hold of any two."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from attnwidget import compare, load_model, make_segments, read_segments
from attnwidget.capture.model import AttentionModel
from attnwidget.comparison.compare_results import ModelComparison
from attnwidget.corpus.model_reader import ModelReader
from attnwidget.demo import demo_prose
from attnwidget.kernels import cache_blocks, divergence, map_pairs
from attnwidget.kernels.map_pairs import map_cosines, pair_sums
from attnwidget.text.segments import Segment
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from references import reference_compare as reference
from refusals import naming

TEXTS: list[str | tuple[str, str]] = [
    "The captain spoke to his men.",
    ("Who was at the door?", "It was the doctor."),
    "Yes.",
    ("She had left the letter there, and he knew it.", "He said nothing."),
    "They would not leave the ship while it rained.",
]

# Models of transformers 4 round otherwise in batches of other sizes; kernels agree to 1e-6.
ROUNDING = 3e-6 if transformers.__version__.startswith("4.") else 1e-6
# Maps of models in float64 are kept in float32.
EXACT = 5e-7


@pytest.fixture(scope="module")
def embedded() -> AttentionModel:
    return load_model()


@pytest.fixture(scope="module")
def tuned() -> AttentionModel:
    return load_model("attnwidget/genre")


@pytest.fixture(scope="module")
def segments(embedded: AttentionModel) -> list[Segment]:
    return make_segments(TEXTS, embedded)


def run(a: AttentionModel, b: AttentionModel, given: Any, **options: Any) -> ModelComparison:
    return compare(a, b, given, progress=False, **options)


def same(first: ModelComparison, second: ModelComparison, atol: float = 0) -> None:
    assert first.segments.keys() == second.segments.keys()
    for title, values in first.segments.items():
        np.testing.assert_allclose(second.segments[title], values, rtol=0, atol=atol, err_msg=title)
    if first.pairs is not None:
        np.testing.assert_allclose(second.pairs, first.pairs, rtol=0, atol=atol)


@pytest.mark.slow
def test_a_model_beside_itself_has_not_changed(
    embedded: AttentionModel, segments: list[Segment]
) -> None:
    found = run(embedded, embedded, segments, pad_to=30, matches=True, across_layers=True)
    for title, values in found.segments.items():
        np.testing.assert_array_equal(values, 1.0 if "cosine" in title else 0.0, title)
    for matched in (found.match(), found.match(across_layers=True)):
        assert (matched["layer"] == matched["other_layer"]).all()
        assert (matched["head"] == matched["other_head"]).all()
        assert (matched["divergence"] == 0).all() and (matched["margin"] > 0).all()


@pytest.fixture(scope="module")
def exact() -> tuple[AttentionModel, AttentionModel]:
    """Both models in float64: the rounding of a pass in float32 differs between processors."""
    pair = (load_model(dtype=torch.float64), load_model("attnwidget/genre", dtype=torch.float64))
    assert all(model.hf_model.dtype == torch.float64 for model in pair)
    return pair


@pytest.fixture(scope="module")
def expected(exact: tuple[AttentionModel, AttentionModel]) -> dict[str, np.ndarray]:
    """[L, H, N] by a loop over texts, layers and heads."""
    tokenizer = exact[0].tokenizer
    models = [deepcopy(model.hf_model).base_model for model in exact]
    titles = ["cosine", "cosine without special tokens", "divergence", "entropy change"]
    found = {title: np.zeros((6, 12, len(TEXTS))) for title in [*titles, "cosine padded to 30"]}
    for place, text in enumerate(TEXTS):
        encoded = tokenizer(*[text] if isinstance(text, str) else text)
        ids = encoded["input_ids"]
        types = encoded["token_type_ids"]
        words = [i for i, one in enumerate(ids) if one not in tokenizer.all_special_ids]
        alone = [reference.maps(model, ids, types) for model in models]
        padded = [reference.maps(model, ids, types, 30) for model in models]
        for layer, head in np.ndindex(6, 12):
            pair = [one[layer, head] for one in alone]
            numbers = reference.compared(pair[0], pair[1], words)
            numbers["cosine padded to 30"] = reference.cosine(
                padded[0][layer, head], padded[1][layer, head]
            )
            for title, value in numbers.items():
                found[title][layer, head, place] = value
    return found


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 2, 8])
def test_the_embedded_model_and_its_sibling_as_a_plain_loop_has_them(
    exact: tuple[AttentionModel, AttentionModel],
    segments: list[Segment],
    expected: dict[str, np.ndarray],
    batch_size: int,
) -> None:
    found = run(*exact, segments, batch_size=batch_size, pad_to=30)
    assert found.segments.keys() == expected.keys()
    for title, values in expected.items():
        np.testing.assert_allclose(found.segments[title], values, atol=EXACT, err_msg=title)
        np.testing.assert_allclose(found.heads()[title], values.mean(-1), atol=EXACT)
    # Padding to a length changes what is measured of padding, and nothing else.
    unpadded = run(*exact, segments, batch_size=batch_size)
    for title, values in unpadded.segments.items():
        np.testing.assert_allclose(found.segments[title], values, atol=EXACT, err_msg=title)
    assert found.complete and found.n_segments == len(TEXTS)


@pytest.mark.slow
def test_pairs_are_the_divergences_of_all_heads_of_a_layer(
    embedded: AttentionModel, tuned: AttentionModel, segments: list[Segment]
) -> None:
    found = run(embedded, tuned, segments[:1], matches=True, across_layers=True)
    encoded = embedded.tokenizer(TEXTS[0])
    ids = encoded["input_ids"]
    types = encoded["token_type_ids"]
    a, b = (
        reference.maps(deepcopy(model.hf_model).base_model, ids, types)
        for model in (embedded, tuned)
    )
    assert found.across is not None
    for layer, head, other in [(0, 0, 1), (2, 5, 5), (5, 11, 3)]:
        value = reference.divergence(a[layer, head], b[layer, other])
        assert found.pairs[layer, head, other] == pytest.approx(value, abs=1e-6)
        place = found.across[layer * 12 + head, layer * 12 + other]
        assert place == pytest.approx(value, abs=1e-6)
        value = reference.divergence(a[0, head], b[layer, other])
        assert found.across[head, layer * 12 + other] == pytest.approx(value, abs=1e-6)


def permuted(hf_model: Any, orders: np.ndarray) -> Any:
    """The same function with the heads of each layer in another order: new head h was order[h]."""
    copy = deepcopy(hf_model)
    size = copy.config.hidden_size // copy.config.num_attention_heads
    with torch.no_grad():
        for block, order in zip(copy.base_model.encoder.layer, orders, strict=True):
            rows = torch.from_numpy(
                np.concatenate([np.arange(h * size, h * size + size) for h in order])
            )
            own = block.attention.self
            for linear in (own.query, own.key, own.value):
                linear.weight.copy_(linear.weight[rows])
                linear.bias.copy_(linear.bias[rows])
            block.attention.output.dense.weight.copy_(block.attention.output.dense.weight[:, rows])
    return copy


@pytest.mark.slow
@pytest.mark.parametrize("across_layers", [False, True])
def test_heads_in_another_order_are_found_again(
    embedded: AttentionModel, segments: list[Segment], across_layers: bool
) -> None:
    random = np.random.default_rng(0)
    orders = np.array([random.permutation(12) for _ in range(6)])
    moved = load_model(permuted(embedded.hf_model, orders), embedded.tokenizer)
    found = run(embedded, moved, segments, matches=True, across_layers=True)
    assert found.cosine.min() < 0.5
    matched = found.match(across_layers=across_layers)
    assert (matched["layer"] == matched["other_layer"]).all()
    recovered = orders[matched["other_layer"], matched["other_head"]]
    np.testing.assert_array_equal(recovered, matched["head"])
    assert matched["divergence"].max() < 1e-6 and matched["margin"].min() > 1e-3


def test_heads_that_share_keys_are_found_again_in_another_order() -> None:
    """Heads 0 and 1 share a key head, 2 and 3 another: groups change places, and heads in one."""
    torch.manual_seed(0)
    own = build("llama")
    order = [3, 2, 0, 1]
    groups = [1, 0]
    moved = deepcopy(own)
    with torch.no_grad():
        for one in (own, moved):
            for layer in one.model.layers:
                layer.self_attn.q_proj.weight *= 60
        for layer in moved.model.layers:
            at = layer.self_attn
            for linear, heads in ((at.q_proj, order), (at.k_proj, groups), (at.v_proj, groups)):
                linear.weight.copy_(
                    linear.weight.unflatten(0, (len(heads), -1))[heads].flatten(0, 1)
                )
            columns = at.o_proj.weight.unflatten(1, (4, -1))[:, order].flatten(1)
            at.o_proj.weight.copy_(columns)
    models = [load_model(one, word_tokenizer()) for one in (own, moved)]
    ids = torch.tensor([[5, 9, 30, 8]])
    torch.testing.assert_close(own(ids).logits, moved(ids).logits)
    texts = [Segment(("w1", "w7", "w3", "w20", "w5", "w11")), *WORDS]
    found = run(models[0], models[1], texts, matches=True)
    matched = found.match()
    recovered = np.array(order)[matched["other_head"]]
    np.testing.assert_array_equal(recovered, matched["head"])
    assert matched["divergence"].max() < 1e-6 and matched["margin"].min() > 1e-3
    assert found.cosine.min() < 0.99


@pytest.mark.slow
def test_the_more_noise_the_further_apart(
    embedded: AttentionModel, segments: list[Segment]
) -> None:
    divergences = []
    cosines = []
    for scale in (0.0, 0.01, 0.03, 0.1, 0.3):
        noisy = deepcopy(embedded.hf_model)
        torch.manual_seed(0)
        with torch.no_grad():
            for parameter in noisy.base_model.encoder.parameters():
                parameter += scale * parameter.std() * torch.randn_like(parameter)
        found = run(embedded, load_model(noisy, embedded.tokenizer), segments)
        divergences.append(found.divergence.mean())
        cosines.append(found.cosine.mean())
    assert divergences[0] == 0 and cosines[0] == 1
    assert (np.diff(divergences) > 0).all() and (np.diff(cosines) < 0).all()


@pytest.mark.slow
def test_the_other_way_round(
    embedded: AttentionModel, tuned: AttentionModel, segments: list[Segment]
) -> None:
    there, back = (
        run(*models, segments, matches=True) for models in ((embedded, tuned), (tuned, embedded))
    )
    assert there.model_names == back.model_names[::-1]
    np.testing.assert_allclose(there.cosine, back.cosine, atol=1e-12)
    np.testing.assert_allclose(there.entropy_change, -back.entropy_change, atol=1e-12)
    np.testing.assert_allclose(there.pairs, back.pairs.transpose(0, 2, 1), atol=1e-7)


def stop_after(monkeypatch: pytest.MonkeyPatch, batches: int) -> None:
    """Interrupt the first model, or the second one within a batch, after so many readings."""
    add = ModelReader.add
    count = 0

    def counted(self: ModelReader, given: Sequence[Segment]) -> None:
        nonlocal count
        count += 1
        if count > batches:
            raise KeyboardInterrupt
        add(self, given)

    monkeypatch.setattr(ModelReader, "add", counted)


@pytest.mark.slow
@pytest.mark.parametrize("readings", [2, 3])
def test_an_interrupted_run_goes_on_to_the_last_bit(
    embedded: AttentionModel,
    tuned: AttentionModel,
    segments: list[Segment],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    readings: int,
) -> None:
    options: dict[str, Any] = {"batch_size": 2, "pad_to": 30, "across_layers": True}
    options |= {"matches": True, "metrics": ["position"]}
    whole = run(embedded, tuned, segments, **options)
    options["resume"] = tmp_path / "sums.npz"
    stop_after(monkeypatch, readings)
    stopped = run(embedded, tuned, segments, **options)
    assert not stopped.complete and stopped.n_segments == 2 and "interrupted" in repr(stopped)
    monkeypatch.undo()
    finished = run(embedded, tuned, segments, **options)
    assert finished.complete
    same(whole, finished)
    np.testing.assert_array_equal(finished.across, whole.across)
    assert len(whole.changes) == 5
    for title, values in whole.changes.items():
        np.testing.assert_array_equal(finished.changes[title], values)
    with pytest.raises(ValueError, match=naming("sums.npz", "another study")):
        run(embedded, embedded, segments, **options)
    with pytest.raises(ValueError, match=naming("sums.npz", "another study")):
        run(embedded, tuned, segments, **options | {"pad_to": 40})


WORDS = [Segment(("w1", "w2", "w3")), Segment(("w4", "w5"), ("w6",))]


@pytest.mark.parametrize("name", ["gpt2", "llama", "t5"])
def test_other_architectures(name: str) -> None:
    model = load_model(build(name), word_tokenizer())
    found = run(model, model, WORDS)
    assert (found.cosine == 1).all() and (found.divergence == 0).all()


def test_models_that_cannot_be_compared(
    embedded: AttentionModel, segments: list[Segment], tuned: AttentionModel
) -> None:
    from transformers import BertConfig, BertModel

    def bert(layers: int, heads: int) -> AttentionModel:
        size = {"hidden_size": 24, "intermediate_size": 24, "vocab_size": 200}
        config = BertConfig(num_hidden_layers=layers, num_attention_heads=heads, **size)
        return load_model(BertModel(config), word_tokenizer(), name=f"{layers}×{heads}")

    for other in (bert(3, 4), bert(2, 2)):
        with pytest.raises(ValueError, match=naming("2×4", "2 layers", "4 heads")):
            run(bert(2, 4), other, WORDS)
    with pytest.raises(ValueError, match=naming("34 of 34", "'##ed'", "tokenizer")):
        run(embedded, bert(6, 12), segments)
    swapped = word_tokenizer()
    swapped.add_tokens(["new"])
    with pytest.raises(ValueError, match=naming("1 of 2", "('new')")):
        run(bert(2, 4), load_model(bert(2, 4).hf_model, swapped), [Segment(("w1", "new"))])
    with pytest.raises(ValueError, match=naming("load_model", "tokenizer")):
        run(embedded, load_model(tuned.hf_model, None), segments)
    with pytest.raises(
        TypeError, match=naming("study", "BertForSequenceClassification", "load_model()")
    ):
        run(embedded, tuned.hf_model, segments)
    with pytest.raises(TypeError, match=naming("compare(a, b, ['The cat sat on the mat.'])")):
        compare(embedded, embedded)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match=naming("no segments")):
        run(embedded, tuned, [])
    with pytest.raises(TypeError, match=naming("'The cat sat.'", "read_segments")):
        run(embedded, tuned, "The cat sat.")


def test_padding_that_does_not_fit(
    embedded: AttentionModel, tuned: AttentionModel, segments: list[Segment]
) -> None:
    with pytest.raises(ValueError, match=naming("19 tokens", "pad_to", "8")):
        run(embedded, tuned, segments, pad_to=8)
    with pytest.raises(ValueError, match=naming("513", "512")):
        run(embedded, tuned, segments, pad_to=513)
    with pytest.raises(ValueError, match=naming("pad_to", "got 0")):
        run(embedded, tuned, segments, pad_to=0)


@pytest.mark.slow
def test_a_text_of_special_tokens_alone_has_no_cosine_without_them(
    embedded: AttentionModel, tuned: AttentionModel, segments: list[Segment]
) -> None:
    found = run(embedded, tuned, [segments[0], Segment(("[SEP]",))])
    title = "cosine without special tokens"
    assert np.isnan(found.segments[title][..., 1]).all()
    alone = run(embedded, tuned, segments[:1])
    np.testing.assert_allclose(found.heads()[title], alone.heads()[title], atol=ROUNDING)
    only = run(embedded, tuned, [Segment(("[SEP]",))])
    assert np.isnan(only.cosine_without_special).all() and only.cosine.max() <= 1


@pytest.mark.slow
def test_results_as_a_frame_charts_and_intervals(
    embedded: AttentionModel, tuned: AttentionModel, segments: list[Segment]
) -> None:
    found = run(embedded, tuned, [*segments, *make_segments(["It was cold."], embedded)])
    frame = found.to_frame()
    assert list(frame.columns) == ["layer", "head", "metric", "value", "low", "high"]
    assert len(frame) == 4 * 72
    assert (frame["low"] <= frame["value"]).all() and (frame["value"] <= frame["high"]).all()
    low, high = found.intervals["divergence"]
    one = frame[(frame["metric"] == "divergence") & (frame["layer"] == 3)].iloc[4]
    assert (one["low"], one["high"]) == (low[3, 4], high[3, 4]) and one["head"] == 4
    assert np.isnan(run(embedded, tuned, segments).to_frame()["low"]).all()
    for metric in found.heads():
        said = found.chart(metric).to_json()
        assert "small BERT for genres" in said and "6 segments" in said
    spec = found.chart().to_dict()
    (values,) = spec["datasets"].values()
    drawn = {(row["layer"], row["head"]): row["value"] for row in values}
    assert drawn[5, 10] == pytest.approx(1 - found.cosine[5, 10])
    assert "without special tokens" in found.curves().to_json()
    with pytest.raises(ValueError, match=naming("metric", "'cosine'")):
        found.chart("cosines")
    with pytest.raises(ValueError, match=naming("across_layers=True")):
        found.match(across_layers=True)
    with pytest.raises(ValueError, match=naming("matches=True")):
        found.match()
    least = np.unravel_index(found.cosine.argmin(), (6, 12))
    assert f"least L{least[0]} H{least[1]}" in repr(found)


@pytest.mark.slow
def test_updates_of_low_rank_changed_the_fourth_layer_most(
    embedded: AttentionModel, tuned: AttentionModel
) -> None:
    found = run(embedded, tuned, read_segments(demo_prose(), embedded, limit=8), matches=True)
    assert found.cosine.mean(1).argmin() == 3
    assert (found.match()["head"] == found.match()["other_head"]).all()


def test_maps_without_weights() -> None:
    some = torch.rand(1, 2, 3, 3)
    tokens = torch.ones(1, 3, dtype=torch.bool)
    none = torch.zeros_like(some)
    keys = torch.tensor([3])
    for first, expected in ((some, 0), (none, 1)):
        sums = pair_sums(first, none, ~tokens, keys)
        for products in (sums.whole, sums.without):
            assert (map_cosines(products, tokens) == expected).all()
    with pytest.raises(ValueError, match=naming("[1, 2, 3, 3]", "[1, 1, 3, 3]")):
        pair_sums(some, some[:, :1], ~tokens, keys)
    with pytest.raises(ValueError, match=naming("smoothing", "got 0")):
        pair_sums(some, some, ~tokens, keys, smoothing=0)


@pytest.mark.parametrize("numpy_log", [True, False])
def test_sums_of_two_maps_by_either_library(
    monkeypatch: pytest.MonkeyPatch, numpy_log: bool
) -> None:
    """In blocks of a few rows; what is computed on a GPU is the same."""
    monkeypatch.setattr(divergence, "_NUMPY_LOG", numpy_log)
    monkeypatch.setattr(cache_blocks, "_CELLS", 40)
    maps = torch.softmax(torch.randn(2, 3, 4, 9, 9, generator=torch.Generator().manual_seed(0)), -1)
    apart = torch.rand(3, 9) < 0.3
    uniform = torch.full((3, 1, 1, 1), 1e-5)
    asked = (*maps, (~apart)[:, None, None].float(), uniform, 1 - 9e-5)
    expected = map_pairs._by_torch(
        *(one.double() if torch.is_tensor(one) else one for one in asked)
    )
    for sums_of in (map_pairs._by_numpy, map_pairs._by_torch):
        torch.testing.assert_close(sums_of(*asked).double(), expected, rtol=1e-6, atol=1e-6)
