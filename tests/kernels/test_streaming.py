"""Attention in blocks of rows, against whole maps: hypothesis over shapes, masks and options."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from attnwidget.capture.tapping.lazy_mask import LazyMask, split_mask
from attnwidget.capture.tapping.lazy_rows import LazyRows
from attnwidget.kernels import streaming
from attnwidget.kernels.pooling import SIDE, block_maxima
from attnwidget.kernels.streaming import stream_attention
from attnwidget.kernels.weights import attention_scores, attention_weights

LOWEST = torch.finfo(torch.float32).min


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**31 - 1),
    sizes=st.tuples(st.integers(1, 150), st.integers(1, 150)),
    heads=st.sampled_from([(1, 1), (4, 4), (4, 2)]),
    window=st.sampled_from([None, 3, 40]),
    sees_later=st.booleans(),
    softcap=st.sampled_from([None, 3.0]),
    sinks=st.booleans(),
    bias=st.sampled_from([None, 1, 4]),
    cells=st.sampled_from([1, 700, 10**6]),
)
@example(
    seed=24,
    sizes=(24, 1),
    heads=(4, 4),
    window=None,
    sees_later=False,
    softcap=None,
    sinks=False,
    bias=None,
    cells=1,
)
def test_outputs_weights_and_blocks_are_those_of_whole_maps(
    seed: int,
    sizes: tuple[int, int],
    heads: tuple[int, int],
    window: int | None,
    sees_later: bool,
    softcap: float | None,
    sinks: bool,
    bias: int | None,
    cells: int,
) -> None:
    draw = torch.Generator().manual_seed(seed)
    (n_query, n_key), (n_heads, n_key_heads) = sizes, heads
    query = torch.randn(n_heads, n_query, 8, generator=draw)
    key = torch.randn(n_key_heads, n_key, 8, generator=draw)
    value = torch.randn(n_key_heads, n_key, 5, generator=draw)
    rows = torch.arange(n_query)[:, None]
    columns = torch.arange(n_key)[None]
    seen = torch.ones(n_query, n_key, dtype=torch.bool)
    if not sees_later:
        seen &= columns <= rows
    if window is not None:
        seen &= (columns - rows).abs() < window
    seen[~seen.any(-1), 0] = True
    own_sinks = torch.randn(n_heads, generator=draw) if sinks else None
    if bias is not None and n_heads % bias:
        bias = 1
    added = None if bias is None else torch.randn(bias, n_query, n_key, generator=draw)
    options = {"scaling": 0.4, "softcap": softcap}
    mask = torch.zeros(n_query, n_key).masked_fill(~seen, LOWEST)
    scores = attention_scores(query, key, **options, mask=mask, position_bias=added)
    expected = attention_weights(
        query, key, **options, mask=mask, position_bias=added, sinks=own_sinks
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "_CELLS_AT_ONCE", cells)
        outputs, found = stream_attention(
            query,
            key,
            value,
            **options,
            sinks=own_sinks,
            visible=lambda rows, keys: seen[None, rows, keys],
            bias=None if added is None else lambda rows, keys: added[:, rows, keys],
        )
    group = n_heads // n_key_heads
    torch.testing.assert_close(
        outputs, expected @ value.repeat_interleave(group, 0), atol=1e-5, rtol=1e-5
    )
    again = found.largest[..., None] * (scores - found.top[..., None]).exp()
    # Products of other shapes round scores near 8 by up to 5e-7 each, and so their weights.
    torch.testing.assert_close(again, expected, atol=3e-6, rtol=0)
    block = -(-max(n_query, n_key) // SIDE)
    assert found.block == block
    pooled = block_maxima(block_maxima(expected, block).mT, block).mT
    torch.testing.assert_close(found.blocks, pooled, atol=1e-6, rtol=0)


def test_two_threads_compute_what_one_does() -> None:
    draw = torch.Generator().manual_seed(0)
    given_ = [torch.randn(2, 700, 8, generator=draw) for _ in range(3)]
    threads = torch.get_num_threads()
    found = []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            found.append(stream_attention(*given_, scaling=0.4))
            assert torch.get_num_threads() == count
    finally:
        torch.set_num_threads(threads)
    (outputs, one), (others, two) = found
    torch.testing.assert_close(outputs, others, atol=1e-6, rtol=0)
    torch.testing.assert_close(one.blocks, two.blocks, atol=1e-6, rtol=0)


def test_half_precision_is_computed_as_the_model_does() -> None:
    draw = torch.Generator().manual_seed(0)
    query, key, value = (
        torch.randn(2, 90, 8, generator=draw, dtype=torch.bfloat16) for _ in range(3)
    )
    outputs, found = stream_attention(query, key, value, scaling=0.5)
    expected = attention_weights(query, key, scaling=0.5)
    assert outputs.dtype == torch.bfloat16
    torch.testing.assert_close(found.largest, expected.amax(-1), atol=1e-6, rtol=0)
    torch.testing.assert_close(outputs.float(), expected @ value.float(), atol=2e-2, rtol=2e-2)


def test_a_mask_as_a_rule_is_any_part_of_the_mask() -> None:
    real = torch.ones(2, 9, dtype=torch.bool)
    real[1, 6:] = False
    given_ = {
        "q_length": 9,
        "kv_length": 9,
        "mask_function": lambda item, head, query, key: key <= query,
        "attention_mask": real,
    }
    whole = torch.ones(9, 9, dtype=torch.bool).tril()
    for item in (0, 1):
        rows = LazyMask.from_arguments(given_).item(item)
        torch.testing.assert_close(rows[...][0], whole & real[item])
        torch.testing.assert_close(rows[:, 2:5], (whole & real[item])[None, 2:5])
        torch.testing.assert_close(rows[..., [7, 1]], (whole & real[item])[None, :, [7, 1]])


def test_what_is_added_to_scores_is_a_mask_and_a_bias() -> None:
    added = torch.tensor([[[0.5, LOWEST], [-100.0, 0.0]]])
    seen, rest = split_mask(added)
    assert isinstance(rest, LazyRows)
    assert seen is not None
    assert seen[...].tolist() == [[[True, False], [True, True]]]
    assert rest[:, 0:1].tolist() == [[[0.5, 0.0]]]
    assert split_mask(added > 0)[1] is None
