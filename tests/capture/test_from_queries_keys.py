"""Attention.from_queries_keys: states that another program recorded give the maps of the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from attnwidget import Attention, HeadGrid, HeadView, load_model
from attnwidget.capture.maps.thumbnails import draw_thumbnails
from attnwidget.capture.tapping.attention_sites import find_sites
from attnwidget.capture.tapping.projection import projection_of, projection_weight
from attnwidget.capture.tapping.tap import LayerAttention, tap
from attnwidget.capture.tapping.torch_functions import visible_in
from attnwidget.mechanisms import explain_link, head_writes, key_biplot
from attnwidget.metrics import attention_rollout
from attnwidget.metrics.measure_heads import measure_attention
from fixtures import zoo
from fixtures.mechanism_models import READABLE, build
from refusals import naming

TOKENS = ["[CLS]", "play", "##ing", "cats", "[SEP]"]
LENGTH = 20


def recorded(name: str) -> dict[str, dict[str, Any]]:
    """The arguments of `from_queries_keys` for each stack of a random model of the zoo."""
    model = build(name)
    projections = {
        site.module: projection_weight(projection_of(model, site)) for site in find_sites(model)
    }
    stacks: dict[str, dict[str, Any]] = {}

    def keep(seen: LayerAttention) -> None:
        shape = seen.weights.shape[1:]
        mask = torch.ones(shape, dtype=torch.bool)
        bias = torch.zeros(shape)
        for added in (seen.mask, seen.kwargs.get("position_bias")):
            if isinstance(added, torch.Tensor):
                visible = added if added.dtype == torch.bool else visible_in(added)
                mask = mask & visible[0]
                if added.dtype != torch.bool:
                    bias = bias + torch.where(visible, added, 0)[0]
        layer = {
            "queries": seen.query,
            "keys": seen.key,
            "values": seen.value,
            "output": projections[seen.module],
            "mask": mask.numpy(),
            "bias": bias.numpy(),
            "scale": seen.scaling,
        }
        stack = stacks.setdefault(seen.stack, {key: [] for key in layer})
        for key, value in layer.items():
            stack[key].append(value)
        stack["softcap"] = seen.kwargs.get("softcap")
        if seen.kwargs.get("s_aux") is not None:
            stack.setdefault("sinks", []).append(seen.kwargs["s_aux"].detach().tolist())

    with torch.no_grad(), tap(model, keep):
        model(**zoo.inputs(name, batch=1, length=LENGTH, padded=0))
    return stacks


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in ("bert", "gpt2", "llama", "gemma2", "t5") if name in READABLE),
        pytest.param("gpt-oss", marks=pytest.mark.slow),
    ],
)
def test_maps_are_those_of_the_model(name: str) -> None:
    model = load_model(build(name), None)
    read = model.attend(zoo.inputs(name, batch=1, length=LENGTH, padded=0))
    stacks = recorded(name)
    assert set(stacks) == set(read.stacks)
    for stack, states in stacks.items():
        axes = read.stacks[stack]
        for long in (False, True):
            attention = Attention.from_queries_keys(
                **states, tokens=axes.query, key_tokens=axes.key, stack=stack, long=long
            )
            assert attention.is_long == long
            assert attention.stacks[stack] == axes
            np.testing.assert_allclose(attention.weights(), read.weights(stack=stack), atol=1e-6)
            norms = read.norms(stack=stack)
            np.testing.assert_allclose(attention.norms(), norms, atol=1e-5 * norms.max())
            np.testing.assert_allclose(
                attention.scores(1, 2).scores, read.scores(1, 2, stack=stack).scores, atol=1e-5
            )
            seen, expected = (found.visible(1, 2, stack=stack) for found in (attention, read))
            np.testing.assert_array_equal(
                np.isnan(attention.token_values("key", 1)),
                np.isnan(read.token_values("key", 1, stack=stack)),
            )
            assert (seen is None) == (expected is None)
            if not long:
                summed = read.summed_norms(1, stack=stack)
                np.testing.assert_allclose(
                    attention.summed_norms(1), summed, atol=1e-5 * summed.max()
                )


def states(
    layers: int = 2,
    heads: int = 4,
    key_heads: int = 2,
    queries: int = 5,
    keys: int = 5,
    size: int = 8,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Random queries and keys, with scores that are spread enough for peaks."""
    random = np.random.default_rng(seed)
    return (
        random.normal(size=(layers, heads, queries, size)),
        random.normal(size=(layers, key_heads, keys, size)),
    )


def softmax_of(
    query: NDArray[np.float64],
    key: NDArray[np.float64],
    scale: float,
    mask: NDArray[np.bool_] | None = None,
    bias: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """The weights by their definition, [L, H, Q, K] float64."""
    shared = np.repeat(key, query.shape[1] // key.shape[1], axis=1)
    scores = scale * np.einsum("lhqd,lhkd->lhqk", query, shared)
    scores = scores if bias is None else scores + bias
    scores = scores if mask is None else np.where(mask, scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    weights: NDArray[np.float64] = powers / powers.sum(-1, keepdims=True)
    return weights


@given(data=st.data())
@settings(max_examples=20)
def test_weights_follow_the_definition_for_every_shape(data: st.DataObject) -> None:
    sizes = st.integers(1, 4)
    layers, key_heads, group, n_query, size = (data.draw(sizes) for _ in range(5))
    n_key = n_query + data.draw(st.integers(0, 3))
    query, key = states(
        layers, key_heads * group, key_heads, n_query, n_key, size, data.draw(st.integers(0, 99))
    )
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    n_maps = data.draw(st.sampled_from([1, key_heads * group]))
    shape = data.draw(
        st.sampled_from(
            [(n_query, n_key), (n_maps, n_query, n_key), (layers, n_maps, n_query, n_key)]
        )
    )
    mask: Any = data.draw(st.sampled_from(["causal", None, "drawn"]))
    seen = None if mask is None else np.tril(np.ones((n_query, n_key), bool), n_key - n_query)
    if mask == "drawn":
        mask = random.random(shape) < 0.6
        mask[..., 0] = True
        seen = mask
    bias = random.normal(size=shape) if data.draw(st.booleans()) else None
    expected = softmax_of(query, key, 0.5, seen, bias)
    for long in (False, True):
        attention = Attention.from_queries_keys(
            query,
            key,
            scale=0.5,
            mask=mask,
            bias=bias,
            tokens=[f"t{place}" for place in range(n_query)],
            key_tokens=[f"t{place}" for place in range(n_key)],
            long=long,
        )
        np.testing.assert_allclose(attention.weights(), expected, atol=2e-6)
        np.testing.assert_allclose(attention.row_sums(), 1, atol=2e-6)


@pytest.mark.slow
def test_two_thousand_tokens_are_served_in_parts() -> None:
    length = 2000
    query, key = states(1, 2, 1, length, length)
    attention = Attention.from_queries_keys(
        query, key, scale=1.0, mask="causal", tokens=[f"t{place}" for place in range(length)]
    )
    assert attention.is_long
    assert attention.note == "long input"
    seen = np.tril(np.ones((length, length), bool))
    expected = softmax_of(query, key, 1.0, seen)
    part = np.where(seen, expected[0, 1], np.nan)[1700:1956, 1500:1756]
    np.testing.assert_allclose(attention.tile(0, 1, (1700, 1956), (1500, 1756)), part, atol=1e-5)
    overview = attention.tile(0, 1, (0, length), (0, length), step=16)
    blocks = expected[0, 1].reshape(125, 16, 125, 16).max((1, 3))
    np.testing.assert_allclose(np.nan_to_num(overview), blocks, atol=1e-5)
    links = attention.top_links(0, 1, 9)
    strongest = np.sort(expected[0, 1], axis=None)[::-1][:9]
    np.testing.assert_allclose(links["weight"], strongest, atol=1e-5)
    small = draw_thumbnails(attention)
    assert small.values.shape == (1, 2, 63, 63)
    np.testing.assert_allclose(small.maxima, expected.max((-2, -1)), atol=1e-5)
    view = HeadView(attention, 0, 1)
    view.window = (1990, 2000, 0, 10)
    assert "long input" in str(view.caption)


def test_one_row_per_server_step_is_an_attention_of_its_own() -> None:
    query, key = states(queries=1, keys=7)
    attention = Attention.from_queries_keys(
        query, key, scale=1.0, mask="causal", tokens=["next"], key_tokens=list("abcdefg")
    )
    np.testing.assert_allclose(attention.weights(), softmax_of(query, key, 1.0), atol=1e-6)


class OtherLibrary:
    """An array of another library, which offers the exchange protocol of DLPack."""

    def __init__(self, array: NDArray[np.float64]) -> None:
        self._held = torch.from_numpy(array)

    def __dlpack__(self, **options: Any) -> Any:
        return self._held.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._held.__dlpack_device__()


class OtherDevice(OtherLibrary):
    """An array on a device that torch cannot reach, which numpy copies from there."""

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("this device cannot be exchanged")

    def __array__(self, *options: Any, **named: Any) -> Any:
        return self._held.numpy()


FORMS: dict[str, Callable[[NDArray[np.float64]], Any]] = {
    "torch": torch.from_numpy,
    "DLPack": OtherLibrary,
    "__array__": OtherDevice,
    "float32": lambda array: array.astype(np.float32),
    "big endian": lambda array: array.astype(">f8"),
    "layers": list,
    "layers with a batch axis": lambda array: tuple(torch.from_numpy(one)[None] for one in array),
    "nested lists": lambda array: array.tolist(),
    "with a gradient": lambda array: torch.from_numpy(array).requires_grad_(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms(form: Callable[[NDArray[np.float64]], Any]) -> None:
    query, key = states()
    attention = Attention.from_queries_keys(form(query), form(key), scale=0.4, tokens=TOKENS)
    np.testing.assert_allclose(attention.weights(), softmax_of(query, key, 0.4), atol=1e-6)


def test_a_later_recording_into_the_same_memory_changes_no_map() -> None:
    query, key = (array.astype(np.float32) for array in states())
    attention = Attention.from_queries_keys(query, key, scale=0.4, tokens=TOKENS)
    expected = softmax_of(query, key, 0.4)
    query[:] = 0
    np.testing.assert_allclose(attention.weights(), expected, atol=1e-6)


def test_half_precision_is_computed_in_float32() -> None:
    query, key = (torch.from_numpy(array).bfloat16() for array in states())
    attention = Attention.from_queries_keys(query, key, scale=0.4, tokens=TOKENS)
    expected = softmax_of(query.double().numpy(), key.double().numpy(), 0.4)
    np.testing.assert_allclose(attention.weights(), expected, atol=1e-6)


def test_each_layer_has_its_scale_mask_and_bias() -> None:
    query, key = states()
    bias = np.random.default_rng(1).normal(size=(5, 5))
    attention = Attention.from_queries_keys(
        query, key, scale=[0.2, 0.6], mask=["causal", None], bias=[None, bias], tokens=TOKENS
    )
    causal = np.tril(np.ones((5, 5), bool))
    first = softmax_of(query[:1], key[:1], 0.2, causal)
    second = softmax_of(query[1:], key[1:], 0.6, None, bias)
    np.testing.assert_allclose(attention.weights(), np.concatenate([first, second]), atol=1e-6)
    np.testing.assert_array_equal(attention.visible(0, 1), causal)
    assert attention.visible(1, 1) is None


def test_figures_and_metrics_without_a_model_work() -> None:
    attention = Attention.from_queries_keys(*states(), scale=1.0, tokens=TOKENS, model_name="mine")
    assert repr(attention) == "Attention(mine, self 2×4, 5 tokens)"
    for figure in (
        HeadGrid(attention),
        HeadView(attention, 1, 2),
        HeadGrid(attention, tokens=[("query", 1)]),
    ):
        assert "mine" in str(figure.caption)
        assert figure.figure().svg.startswith("<svg")
    found = measure_attention(attention, ["position", "classes", "entropy", "confidence"])
    assert all(np.isfinite(values).all() for values in found.heads().values())
    assert attention_rollout(attention).relevance.shape[-1] == len(TOKENS)
    assert "Attention.from_queries_keys(" in HeadGrid(attention).code()
    assert attention.words.weights(0, 0).shape == (4, 4)
    assert "content" in repr(explain_link(attention, 0, 1, 3, 1))
    assert "explained" in repr(key_biplot(attention, 0, 1))


def test_what_needs_a_model_is_refused_by_name() -> None:
    attention = Attention.from_queries_keys(*states(), scale=1.0, tokens=TOKENS)
    with pytest.raises(ValueError, match=naming("disabled", "given queries and keys")):
        attention.disabled([(0, 1)])
    with pytest.raises(
        ValueError, match=naming("what a head writes", "given queries and keys", "load_model")
    ):
        head_writes(attention, 0, 1, position=2)
    with pytest.raises(ValueError, match=naming("norms", "values=..., output=...")):
        attention.norms(0, 1)
    with pytest.raises(ValueError, match=naming("gradients", "loss='auto'")):
        attention.gradients(0, 1)
    long = Attention.from_queries_keys(*states(), scale=1.0, tokens=TOKENS, long=True)
    np.testing.assert_allclose(
        long.words.map("weights", 0, 0), attention.words.map("weights", 0, 0), atol=1e-6
    )


QUERY, KEY = states()
VALUES = np.ones((2, 2, 5, 3))
OUTPUT = np.ones((2, 16, 12))


def with_value(array: NDArray[Any], value: float) -> NDArray[Any]:
    changed = array.copy()
    changed[1, 0, 2, 1] = value
    return changed


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a value that is not finite": (
        {"queries": with_value(QUERY, np.nan)},
        ("layer 1 of the queries", "nan", "[0, 2, 1]"),
    ),
    "beyond float32": ({"keys": with_value(KEY, 1e39)}, ("layer 1 of the keys", "1e+39")),
    "scores beyond float32": (
        {"queries": with_value(QUERY, 1e20), "keys": with_value(KEY, 1e20)},
        ("layer 1", "1e+20", "scale"),
    ),
    "one layer": ({"queries": QUERY[0]}, ("[layers, heads, queries, size]", "[4, 5, 8]")),
    "a batch": (
        {"queries": [QUERY, QUERY]},
        ("layer 0 of the queries", "2 inputs", "[layer[i] for layer in queries]"),
    ),
    "a matrix": (
        {"keys": [KEY[0, 0]] * 2},
        ("layer 0 of the keys", "[5, 8]", "[key heads, keys, size]"),
    ),
    "no layers": ({"queries": []}, ("queries", "empty", "[layers, heads, queries, size]")),
    "no tokens": (
        {"queries": QUERY[:, :, :0]},
        ("queries", "empty", "[layers, heads, queries, size]"),
    ),
    "a layer fewer": ({"keys": KEY[:1]}, ("2 layers", "1")),
    "uneven layers": (
        {"queries": [QUERY[0], QUERY[1, :2]]},
        ("layer 0 has 4, 5 and 5", "layer 1 2, 5 and 5"),
    ),
    "another size": ({"keys": KEY[..., :4]}, ("layer 0", "size 8", "size 4")),
    "uneven heads": ({"keys": np.ones((2, 3, 5, 8))}, ("layer 0", "4 query", "3 key")),
    "tokens before heads": (
        {"queries": QUERY.swapaxes(1, 2), "keys": KEY[:, :1]},
        ("[5, 4, 8]", "4 tokens", "[heads, queries, size]"),
    ),
    "too few tokens": ({"tokens": TOKENS[:4]}, ("[4, 5, 8]", "5 tokens", "4")),
    "one key token": ({"key_tokens": ["a"]}, ("[2, 5, 8]", "5 tokens", "key_tokens=")),
    "a scale of 0": ({"scale": 0}, ("scale", "0.0", "-0.5")),
    "an infinite scale": ({"scale": float("inf")}, ("scale", "inf")),
    "three scales": ({"scale": [1.0, 1.0, 1.0]}, ("scale", "3 numbers", "2 layers")),
    "a soft cap below 0": ({"softcap": -1}, ("softcap", "-1.0")),
    "another mask": ({"mask": "sliding"}, ("mask", "'sliding'", '"causal"')),
    "a mask of another size": ({"mask": np.ones((4, 4), bool)}, ("mask", "[4, 4]", "[5, 5]")),
    "a mask per layer too few": ({"mask": [None]}, ("mask", "1 array", "2 layers")),
    "a query without keys": (
        {"mask": np.arange(25).reshape(5, 5) > 4},
        ("mask", "query 0", "head 0"),
    ),
    "causal without the first keys": (
        {"keys": KEY[:, :, :3], "key_tokens": TOKENS[:3], "mask": "causal"},
        ("mask", "5 queries", "3 keys"),
    ),
    "a bias that hides": (
        {"bias": np.where(np.tri(5) > 0, 0, -np.inf)},
        ("bias", "-inf", "mask="),
    ),
    "values alone": ({"values": VALUES}, ("norms", "values without output", "output=")),
    "an output alone": ({"output": OUTPUT}, ("norms", "output without values", "values=")),
    "values of fewer keys": (
        {"values": VALUES[:, :, :4], "output": OUTPUT},
        ("layer 0", "values of 4", "5"),
    ),
    "a transposed output": (
        {"values": VALUES, "output": OUTPUT.swapaxes(1, 2)},
        ("layer 0", "[12, 16]", "[hidden units, 12]"),
    ),
    "sinks of another shape": ({"sinks": np.ones((2, 3))}, ("sinks", "[2, 3]", "[2, 4]")),
    "another stack": ({"stack": "other"}, ("stack", "'self'", "'other'")),
}


@pytest.mark.parametrize(("changed", "parts"), REFUSED.values(), ids=REFUSED)
def test_what_gives_no_attention_is_refused(
    changed: dict[str, Any], parts: tuple[str, ...]
) -> None:
    sound = {"queries": QUERY, "keys": KEY, "scale": 1.0, "tokens": TOKENS}
    with pytest.raises(ValueError, match=naming(*parts)):
        Attention.from_queries_keys(**(sound | changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"queries": "queries"},
        {"queries": QUERY + 1j},
        {"keys": {"keys": KEY}},
        {"scale": "large"},
        {"mask": np.zeros((5, 5))},
        {"tokens": None},
    ],
)
def test_other_types_are_refused(changed: dict[str, Any]) -> None:
    sound = {"queries": QUERY, "keys": KEY, "scale": 1.0, "tokens": TOKENS}
    with pytest.raises(TypeError):
        Attention.from_queries_keys(**(sound | changed))
