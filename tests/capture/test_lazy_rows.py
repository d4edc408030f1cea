"""Spans of visible keys in masks that are computed in parts."""

from __future__ import annotations

import torch

from attnwidget.capture.tapping.lazy_rows import Index, LazyRows

N = 12
WINDOW = 3
SHAPE = (N, N)


def window_mask(requests: list[tuple[Index, Index]]) -> LazyRows:
    """Return a causal mask in which each query sees three keys; `requests` gets computed parts."""
    positions = torch.arange(N)
    distances = positions[:, None] - positions
    visible = (distances >= 0) & (distances < WINDOW)

    def part(rows: Index, keys: Index) -> torch.Tensor:
        requests.append((rows, keys))
        return visible[rows][:, keys][None]

    return LazyRows(1, part)


def test_a_span_has_the_seen_keys_and_those_that_not_all_queries_see() -> None:
    mask = window_mask([])
    assert mask.span(slice(5, 7), slice(None), SHAPE) == (slice(3, 7), slice(3, 7))
    assert mask.span(slice(6, 7), slice(None), SHAPE) == (slice(4, 7), slice(4, 4))


def test_a_span_among_some_keys_is_the_part_of_the_span_of_all_keys() -> None:
    for rows in (slice(0, 4), slice(5, 7), slice(10, 12)):
        for keys in (slice(0, 5), slice(4, 6), slice(2, 12)):
            stored = window_mask([])
            stored.span(rows, slice(None), SHAPE)
            seen, _ = stored.span(rows, keys, SHAPE)
            visible = stored.part(rows, keys)[0].any(0)
            first = keys.start
            expected = [first + int(key) for key in visible.nonzero()[:, 0]]
            assert list(range(seen.start, seen.stop)) == expected


def test_the_span_of_all_keys_is_computed_once() -> None:
    requests: list[tuple[Index, Index]] = []
    mask = window_mask(requests)
    first = mask.span(slice(5, 7), slice(None), SHAPE)
    assert mask.span(slice(5, 7), slice(0, N), SHAPE) == first and len(requests) == 1


def test_queries_without_a_visible_key_among_some_keys_get_all_of_them() -> None:
    seen, partly_seen = window_mask([]).span(slice(8, 10), slice(1, 4), SHAPE)
    assert seen == partly_seen == slice(1, 4)


def test_a_span_within_a_known_span_is_found_among_the_keys_that_not_all_queries_saw() -> None:
    requests: list[tuple[Index, Index]] = []
    for rows in (slice(5, 7), slice(6, 7), slice(4, 8)):
        mask = window_mask(requests)
        expected = window_mask([]).span(rows, slice(None), SHAPE)
        mask.span(slice(4, 8), slice(None), SHAPE)
        assert mask.span(rows, slice(None), SHAPE) == expected
    assert requests[-2:] == [(slice(6, 7), slice(2, 8)), (slice(4, 8), slice(0, N))]


def test_a_span_within_a_known_span_has_the_keys_that_all_queries_saw() -> None:
    requests: list[tuple[Index, Index]] = []

    def part(rows: Index, keys: Index) -> torch.Tensor:
        requests.append((rows, keys))
        positions = torch.arange(N)
        return (positions[:, None] >= positions)[rows][:, keys][None]

    mask = LazyRows(1, part)
    assert mask.span(slice(6, 10), slice(None), SHAPE) == (slice(0, 10), slice(7, 10))
    assert mask.span(slice(7, 9), slice(None), SHAPE) == (slice(0, 9), slice(8, 9))
    assert mask.span(slice(9, 10), slice(None), SHAPE) == (slice(0, 10), slice(0, 0))
    assert requests[1:] == [(slice(7, 9), slice(6, 10)), (slice(9, 10), slice(6, 10))]
