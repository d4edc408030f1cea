"""Caches of limited size keep the values that were used last."""

from __future__ import annotations

from attnwidget.model_facts.latest_values import LatestValues


def test_the_value_whose_use_is_longest_ago_is_forgotten() -> None:
    cache: LatestValues[str, int] = LatestValues(2)
    assert [cache.add("a", 1), cache.add("b", 2)] == [1, 2]
    assert cache.get("a") == 1
    cache.add("c", 3)
    assert [cache.get(key) for key in "abc"] == [1, None, 3] and len(cache) == cache.total == 2
    cache.add("a", 4)
    assert cache.get("a") == 4 and len(cache) == 2
    cache.clear()
    assert not cache and cache.get("a") is None


def test_a_value_is_made_once_while_it_is_kept() -> None:
    made: list[int] = []

    def square(number: int) -> int:
        made.append(number)
        return number**2

    cache: LatestValues[int, int] = LatestValues(2)
    for number in (1, 2, 1, 3, 1, 2):
        assert cache.get_or_make(number, lambda number=number: square(number)) == number**2
    assert made == [1, 2, 3, 2]


def test_sizes_count_and_the_latest_values_can_be_kept_whatever_their_size() -> None:
    cache: LatestValues[str, str] = LatestValues(5, len)
    cache.add("first", "xx")
    cache.add("second", "xxx")
    assert cache.total == 5
    cache.add("third", "x")
    assert cache.get("first") is None and cache.total == 4
    cache.add("large", "x" * 6)
    assert cache.get("large") is None and not cache
    cache = LatestValues(5, len, at_least=1)
    cache.add("first", "xx")
    cache.add("large", "x" * 6)
    assert cache.get("large") == "x" * 6 and len(cache) == 1
