"""Models on a GPU: the numbers of the CPU, and few waits. The GPU is pretended, or a real one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from attnwidget import AttentionModel, HeadGrid, HeadView, Segment, compare, load_model, measure
from attnwidget.behaviors import head_examples, measure_behaviors
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from attnwidget.capture.tapping.of_latest import OfLatest
from attnwidget.capture.tapping.weights_agree import weights_agree
from attnwidget.corpus.waiting_numbers import WaitingNumbers
from attnwidget.interventions import gradient_effects, patch_heads
from attnwidget.interventions.head_effects import effects_of
from attnwidget.kernels import entropy, norms, pooling, streaming
from attnwidget.kernels.cells_at_once import cells_at_once
from attnwidget.mechanisms import direct_effects, logit_lens
from attnwidget.metrics import position
from fixtures import zoo
from fixtures.pretended_gpu import PretendedGpu
from fixtures.vocabularies import word_tokenizer
from refusals import naming

pytestmark = pytest.mark.skipif(
    zoo.TRANSFORMERS_4, reason="the pretended GPU does not see how transformers 4 makes masks"
)
HAS_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no CUDA GPU")
IDS = [5, 9, 30, 12, 9, 30, 41, 7, 66, 5, 9, 30, 12, 77, 8, 21]


def built(name: str, layers: int = 3) -> Any:
    fields = {"num_hidden_layers": layers}
    recipe = zoo.ZOO[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(
            zoo.ZOO,
            name,
            zoo.Recipe(recipe.model, recipe.config, recipe.fields | fields, recipe.reads),
        )
        return zoo.build(name)


def loaded(hf_model: Any) -> AttentionModel:
    return load_model(hf_model, word_tokenizer(zoo.VOCABULARY))


@pytest.fixture
def gpu() -> Iterator[PretendedGpu]:
    with PretendedGpu() as pretended:
        yield pretended


def segments(model: AttentionModel, least: int = 8) -> list[Segment]:
    draw = np.random.default_rng(0)
    words = model.tokenizer.convert_ids_to_tokens
    sizes = draw.integers(least, 20, 5)
    return [Segment(tuple(words(draw.integers(5, 90, size).tolist()))) for size in sizes]


def masked_ids(model: AttentionModel) -> list[int]:
    mask = model.tokenizer.mask_token_id
    return [*IDS[:4], mask, *IDS[5:]] if "Bert" in type(model.hf_model).__name__ else IDS


def heads_of(result: Any) -> dict[str, Any]:
    return dict(result.heads())


def measures(model: AttentionModel) -> dict[str, Any]:
    names = ["position", "classes", "entropy", "confidence", "norms", "patterns", "distances"]
    return heads_of(measure(model, segments(model), [*names, "sinks"], progress=False))


def without(model: AttentionModel) -> Any:
    with model.disabled([(1, 2)]):
        return model.attend(masked_ids(model)).weights()


def grid_state(model: AttentionModel, long: bool | None = None) -> dict[str, Any]:
    drawn = draw_thumbnails(model.attend(IDS, long=long))
    return {"values": drawn.values, "maxima": drawn.maxima, "strongest": drawn.strongest}


def figures(model: AttentionModel) -> None:
    attention = model.attend(IDS)
    for figure in (HeadGrid(attention), HeadView(attention, 1, 2)):
        figure.open()
        figure.close()


def effects(model: AttentionModel, *, exact: bool) -> Any:
    ids = masked_ids(model)
    place = 4 if ids is not IDS else len(IDS)
    return effects_of(model.attend(ids).reading, 11, place, stack="self", exact=exact)


def compared(model: AttentionModel) -> Any:
    other = load_model(model.hf_model, model.tokenizer)
    return compare(model, other, segments(model), matches=True, progress=False).pairs


def patched(model: AttentionModel) -> Any:
    first, second = (" ".join(f"w{number}" for number in range(a, a + 6)) for a in (5, 6))
    if "Bert" in type(model.hf_model).__name__:
        first, second = (f"{text} [MASK]" for text in (first, second))
    pair = [(first, "w20")], [(second, "w21")]
    return patch_heads(model, *pair, heads=[(0, 1), (2, 3)], progress=False).to_frame()["score"]


def behaviors(model: AttentionModel) -> Any:
    options: dict[str, Any] = {"treebank": (), "documents": (), "n_random_models": 0}
    table = measure_behaviors(model, segments(model), progress=False, **options).to_frame()
    return table["score"].to_numpy(float)


def examples(model: AttentionModel) -> Any:
    return head_examples(model, segments(model), progress=False).to_frame()["weight"]


READINGS: Mapping[str, Callable[[AttentionModel], Any]] = {
    "weights": lambda model: model.attend(IDS).weights(),
    "weights of long inputs": lambda model: model.attend(IDS, long=True).weights(1, 2),
    "norms": lambda model: model.attend(IDS).norms(1, 2),
    "gradients": lambda model: model.attend(IDS, loss=lambda out: out[0].sum()).gradients(1, 2),
    "batch": lambda model: model.attend_batch(["w5 w6", "w7 w8", "w9"])[1].weights(),
    "thumbnails": grid_state,
    "thumbnails of long inputs": lambda model: grid_state(model, long=True),
    "figures": figures,
    "head off": without,
    "predictions": lambda model: model.predict(masked_ids(model)).probabilities,
    "first-order effects": lambda model: effects(model, exact=False),
    "exact effects": lambda model: effects(model, exact=True),
    "gradient effects": lambda model: heads_of(
        gradient_effects(model.attend(masked_ids(model)), 11, 12, with_total=True)
    ),
    "lens": lambda model: logit_lens(model.attend(masked_ids(model))).log_probabilities,
    "measures": measures,
    "comparison": compared,
    "patches": patched,
    "behaviors": behaviors,
    "examples": examples,
}
CAUSAL: Mapping[str, Callable[[AttentionModel], Any]] = {
    "direct effects": lambda model: heads_of(direct_effects(model.attend(IDS), 11, 12)),
}
CASES = [(name, reading) for name in ("llama", "bert") for reading in READINGS]
CASES += [("llama", reading) for reading in CAUSAL]


def check_same(found: Any, expected: Any) -> None:
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name in expected:
            check_same(found[name], expected[name])
    elif expected is not None:
        np.testing.assert_allclose(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("name", "reading"), CASES)
def test_a_model_on_a_gpu_gives_the_numbers_of_the_cpu(name: str, reading: str) -> None:
    run = {**READINGS, **CAUSAL}[reading]
    expected = run(loaded(built(name)))
    with PretendedGpu() as gpu:
        model = loaded(gpu.put(built(name)))
        assert model.device.type == "cuda"
        found = run(model)
    check_same(found, expected)


@HAS_GPU
@pytest.mark.parametrize(("name", "reading"), CASES)
def test_a_real_gpu_gives_the_numbers_of_the_cpu(name: str, reading: str) -> None:
    run = {**READINGS, **CAUSAL}[reading]
    expected = run(loaded(built(name)))
    found = run(loaded(built(name).to("cuda")))
    if reading.startswith("thumbnails"):  # rounding moves a color by one of 255 steps
        assert np.abs(found["values"].astype(int) - expected["values"].astype(int)).max() <= 1
        found, expected = ({"maxima": drawn["maxima"]} for drawn in (found, expected))
    check_same(found, expected)


@HAS_GPU
def test_a_long_pass_on_a_real_gpu_gives_the_maps_of_whole_maps() -> None:
    model = load_model(zoo.build("llama", positions=1300).to("cuda"), max_tokens=1300)
    ids = {"input_ids": torch.arange(1200, device="cuda")[None] % 90 + 5}
    long = model.attend(ids)
    assert long.is_long
    np.testing.assert_allclose(
        long.weights(1, 2), model.attend(ids, long=False).weights(1, 2), atol=1e-5
    )


def waits_of(gpu: PretendedGpu, run: Callable[[], object]) -> int:
    run()  # the first run compares outputs with a plain pass
    gpu.waits.clear()
    run()
    return sum(gpu.waits.values())


@pytest.mark.parametrize("long", [False, True])
def test_a_pass_waits_for_no_layer_and_no_token(gpu: PretendedGpu, long: bool) -> None:
    waits = set()
    for layers in (2, 6):
        model = loaded(gpu.put(built("llama", layers)))
        for ids in (IDS, IDS * 2):
            waits.add(waits_of(gpu, partial(model.attend, ids, long=long)))
    assert len(waits) == 1


def test_links_of_a_layer_are_copied_together(gpu: PretendedGpu) -> None:
    waits = []
    for layers in (2, 6):
        model = loaded(gpu.put(built("llama", layers)))
        waits.append(waits_of(gpu, partial(examples, model)))
    # Places and numbers, the check of each output projection, and the check of padding.
    assert waits[1] - waits[0] == 4 * 4


def test_maps_that_do_not_follow_on_a_gpu_are_kept(
    gpu: PretendedGpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    def differs(computed: Tensor, expected: Tensor) -> Tensor:
        return torch.zeros((), dtype=torch.bool, device=expected.device)

    expected = loaded(built("llama")).attend(IDS).weights()
    model = loaded(gpu.put(built("llama")))
    monkeypatch.setattr("attnwidget.capture.maps.layer_from_pass.weights_agree", differs)
    attention = model.attend(IDS)
    assert all(layer.products is None for layer in attention.head_maps.layers["self"].values())
    np.testing.assert_allclose(attention.weights(), expected, atol=1e-6)
    monkeypatch.setattr("attnwidget.capture.tapping.streamed_layer.weights_agree", differs)
    with pytest.raises(ValueError, match=naming("LlamaAttention", "attention")):
        model.attend(IDS, long=True)


def test_ids_on_a_gpu_are_read_in_one_copy(gpu: PretendedGpu) -> None:
    model = loaded(gpu.put(built("llama")))
    waits = []
    for ids in (IDS, IDS * 3):
        inputs = {"input_ids": torch.tensor([ids], device="cuda")}
        waits.append(waits_of(gpu, lambda given=inputs: model.attend(given)))  # type: ignore[misc]
    assert waits[0] == waits[1]


@pytest.mark.parametrize("long", [False, True])
def test_thumbnails_are_copied_together(gpu: PretendedGpu, long: bool) -> None:
    waits = []
    for layers in (2, 6):
        attention = loaded(gpu.put(built("llama", layers))).attend(IDS, long=long)
        waits.append(waits_of(gpu, lambda shown=attention: draw_thumbnails(shown)))  # type: ignore[misc]
    assert waits[1] == waits[0]


def test_measures_of_all_layers_are_copied_together(gpu: PretendedGpu) -> None:
    waits = []
    names = ["position", "entropy", "confidence", "sinks", "norms"]
    for layers in (2, 6):
        model = loaded(gpu.put(built("llama", layers)))
        read = segments(model, least=19)  # the first batch with padding is checked in each layer
        waits.append(waits_of(gpu, partial(measure, model, read, names, progress=False)))
    # Norms compare each output projection with its layer once.
    assert waits[1] - waits[0] <= 4


def test_the_pretended_gpu_refuses_tensors_of_the_cpu(gpu: PretendedGpu) -> None:
    there = torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError, match="same device"):
        _ = there + torch.ones(3)
    with pytest.raises(TypeError, match=naming("numpy")):
        there.numpy()
    assert (there + torch.tensor(1.0)).device.type == "cuda"
    assert there.cpu().device.type == "cpu"


@pytest.fixture
def all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels work on as many cells as on a GPU."""
    for file in (entropy, norms, position, streaming):
        monkeypatch.setattr(file, "cells_at_once", lambda device, in_cache: 2**20 + in_cache)


@pytest.mark.parametrize("key_heads", [1, 2, 4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_heads_that_are_streamed_at_once_give_the_same_numbers(
    key_heads: int, dtype: torch.dtype, request: pytest.FixtureRequest
) -> None:
    draw = torch.Generator().manual_seed(0)
    query = torch.randn(4, 150, 8, generator=draw).to(dtype)
    key, value = (torch.randn(key_heads, 150, 8, generator=draw).to(dtype) for _ in range(2))
    seen = torch.ones(150, 150, dtype=torch.bool).tril()
    seen[40] = False
    bias = torch.randn(4, 150, 150, generator=draw)

    def run() -> tuple[Tensor, streaming.Streamed]:
        return streaming.stream_attention(
            query,
            key,
            value,
            scaling=0.4,
            softcap=3.0,
            sinks=torch.linspace(-1, 1, 4),
            visible=lambda rows, keys: seen[None, rows, keys],
            bias=lambda rows, keys: bias[:, rows, keys],
            without_keys=~seen.any(-1)[None],
        )

    outputs, found = run()
    request.getfixturevalue("all_at_once")
    others, also = run()
    half = dtype == torch.bfloat16
    same: dict[str, Any] = {"atol": 2e-2 if half else 1e-5, "rtol": 0}
    torch.testing.assert_close(others, outputs, **same)
    for name in ("top", "largest", "blocks"):
        torch.testing.assert_close(getattr(also, name), getattr(found, name), atol=1e-5, rtol=0)


def test_documents_at_once_give_the_same_distances_and_norms(
    request: pytest.FixtureRequest,
) -> None:
    draw = torch.Generator().manual_seed(0)
    weights = torch.rand(5, 3, 40, 40, generator=draw).softmax(-1)
    rows = torch.rand(5, 40, generator=draw)
    value, shares = torch.rand(2, 2, 30, 4, generator=draw), torch.rand(4, 4, 9, generator=draw)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(position, "_CELLS_AT_ONCE", 300)
        patch.setattr(norms, "_ENTRIES_AT_ONCE", 100)
        expected = position.mean_distances(weights, rows), norms.value_products(value, shares)
    request.getfixturevalue("all_at_once")
    found = position.mean_distances(weights, rows), norms.value_products(value, shares)
    for other, own in zip(found, expected, strict=True):
        torch.testing.assert_close(other, own, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("length", [65, 128, 200])
def test_a_pool_in_one_operation_has_the_same_maxima(
    length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    maps = torch.rand(2, 3, length, 7, generator=torch.Generator().manual_seed(0))
    expected = pooling.max_pool(maps)
    monkeypatch.setattr(pooling, "is_on_cpu", lambda _: False)
    assert torch.equal(pooling.max_pool(maps), expected)


def test_a_gpu_works_on_more_cells() -> None:
    assert cells_at_once(torch.device("cpu"), 100) == 100
    assert cells_at_once(torch.device("cuda"), 100) > 10**6


def test_waiting_numbers_are_added_in_their_order(gpu: PretendedGpu) -> None:
    waiting = WaitingNumbers()
    sums = np.zeros((2, 3))
    counts = np.zeros(3, np.int64)
    waiting.add(torch.full((3,), 1e16, dtype=torch.float64, device="cuda"), sums, 0)
    waiting.add(torch.ones(3, dtype=torch.float64, device="cuda"), sums, 0)
    waiting.add(torch.full((3,), -1e16, dtype=torch.float64, device="cuda"), sums, 0)
    waiting.add(torch.arange(3, device="cuda"), counts, slice(None))
    waiting.add(torch.ones(3), sums, 1)
    assert sums[1].tolist() == [1, 1, 1] and not sums[0].any() and not gpu.waits
    waiting.read()
    assert sums[0].tolist() == [(1e16 + 1) - 1e16] * 3 and counts.tolist() == [0, 1, 2]
    assert sum(gpu.waits.values()) == 2  # one copy for each type
    waiting.read()
    assert counts.tolist() == [0, 1, 2]


def test_answers_are_kept_for_the_same_unchanged_tensors() -> None:
    latest: OfLatest[int] = OfLatest()
    asked = []

    def ask(*about: object) -> int:
        return latest(about, lambda: asked.append(about) or len(asked))  # type: ignore[func-returns-value]

    first, second, third = (torch.zeros(2) for _ in range(3))
    assert [ask(first, 1), ask(first, 1), ask(second, 1), ask(first, 1)] == [1, 1, 2, 1]
    assert ask(first, 2) == 3  # another number
    first.add_(1)
    assert ask(first, 2) == 4
    assert ask(third) == 5
    with torch.inference_mode():
        made_there = torch.zeros(2)
    assert [ask(made_there), ask(made_there)] == [6, 7]


def test_maps_of_other_shapes_do_not_agree() -> None:
    maps = torch.full((2, 3, 4), 0.25)
    assert weights_agree(maps, maps.clone())
    assert not weights_agree(maps, maps[:1])
    assert not weights_agree(maps, maps[:, :1])
    assert weights_agree(maps * torch.nan, maps * torch.nan)
    assert not weights_agree(maps, maps * torch.nan)


def round_as_a_gpu(hf_model: Any) -> Any:
    """Make batches of two sizes round in two ways, as the products of a GPU do."""
    share = 2**-8 if next(hf_model.parameters()).dtype == torch.bfloat16 else 2**-11

    def rounds(_: object, __: object, output: Tensor) -> Tensor:
        return output * (1 + share) if len(output) > 1 else output

    hf_model.get_output_embeddings().register_forward_hook(rounds)
    return hf_model


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_half_precision_that_rounds_by_batch_is_read(name: str, dtype: torch.dtype) -> None:
    model = loaded(round_as_a_gpu(zoo.build(name, dtype=dtype)))
    lens = logit_lens(model.attend(IDS))
    assert np.isfinite(lens.log_probabilities).all()
    passes = []
    model.hf_model.base_model.get_input_embeddings().register_forward_hook(
        lambda *_: passes.append(1)
    )
    effects_of(model.attend(IDS).reading, 11, len(IDS), stack="self")
    assert len(passes) < 12  # several heads in one pass


def test_another_answer_in_float32_is_refused() -> None:
    model = loaded(zoo.build("llama"))
    attention = model.attend(IDS)
    model.hf_model.lm_head.register_forward_hook(
        lambda _, __, output: output * 1.01 if len(output) > 1 else output
    )
    with pytest.raises(ValueError, match=naming("LlamaForCausalLM", "another answer")):
        logit_lens(attention)
