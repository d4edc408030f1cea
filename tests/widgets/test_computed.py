"""Computed traits: when they are computed, in which order, and what the page receives."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ipywidgets
import pytest
import traitlets

import attnwidget.widgets
from attnwidget.widgets.shared.computed import ComputedTraits, computed, when_open
from fixtures.recording import from_page, on_page, updates
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")


class Sums(ComputedTraits):
    """A widget with two options and sums of them; `calls` has each computation."""

    first = traitlets.Int(1).tag(sync=True)
    second = traitlets.Int(10).tag(sync=True)
    other = traitlets.Unicode().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        self.calls: list[str] = []
        super().__init__(**traits)

    # The name comes before `_sum` in the alphabet, but the sum is computed first.
    @computed("_sum", "second", sync=False)
    def _difference(self) -> int:
        self.calls.append("difference")
        return self._sum - self.second

    @computed("first", "second")
    def _sum(self) -> int:
        self.calls.append("sum")
        if self.first < 0:
            raise ValueError("a negative number")
        return self.first + self.second

    @computed("first")
    def _double(self) -> int:
        self.calls.append("double")
        return 2 * self.first


def test_a_subclass_adds_a_computed_trait_in_five_lines() -> None:
    class Products(Sums):
        @computed("first", "second")
        def _product(self) -> int:
            return self.first * self.second

    products = Products(first=3)
    assert on_page(products, "product") == 30
    from_page(products, {"second": 5})
    assert on_page(products, "product") == 15
    assert updates(products)[-1][0]["_product"] == 15


def test_traits_are_computed_once_per_assignment_in_the_order_of_their_dependencies() -> None:
    sums = Sums()
    assert sorted(sums.calls) == ["difference", "double", "sum"]
    assert sums.calls.index("sum") < sums.calls.index("difference")
    sums.calls.clear()
    sums.second = 20
    assert (sums.calls, sums._sum, sums._difference) == (["sum", "difference"], 21, 1)


def test_nothing_is_computed_before_the_widget_opens() -> None:
    class Late(Sums):
        def open(self) -> None:
            self.before = list(self.calls), self._sum
            self.first = 4
            super().open()

    late = Late()
    assert late.before == ([], None)
    assert sorted(late.calls) == ["difference", "double", "sum"] and late._sum == 14
    opening = next(data for kind, data, _ in late.comm.sent if kind == "comm_open")
    assert opening["state"]["_sum"] == 14 and "_difference" not in opening["state"]
    assert not updates(late), "the opening message has everything"


def test_a_host_that_opens_a_widget_before_its_constructor_does_gets_all_traits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    states: list[dict[str, object]] = []

    def constructed(widget: ipywidgets.Widget) -> None:
        if isinstance(widget, Sums):
            states.append(widget.get_state())

    monkeypatch.setattr(ipywidgets.Widget, "_widget_construction_callback", constructed)
    sums = Sums()
    assert [state["_sum"] for state in states] == [sums._sum]


@pytest.mark.parametrize("block", ["hold_trait_notifications", "together"])
def test_a_block_of_changes_is_computed_once_and_sent_in_one_message(block: str) -> None:
    sums = Sums()
    sums.calls.clear()
    with getattr(sums, block)():
        sums.first = 2
        sums.second = 30
        sums.first = 3
    assert sums.calls.count("sum") == sums.calls.count("double") == 1
    assert [state for state, _ in updates(sums)] == [
        {"first": 3, "second": 30, "_sum": 33, "_double": 6}
    ]


def test_a_message_of_the_page_is_computed_once_and_answered_once() -> None:
    sums = Sums()
    sums.calls.clear()
    from_page(sums, {"first": 2, "second": 30})
    assert sums.calls.count("sum") == 1
    assert [state for state, _ in updates(sums)] == [{"_sum": 32, "_double": 4}]


def test_an_option_that_nothing_depends_on_computes_nothing() -> None:
    sums = Sums()
    sums.calls.clear()
    sums.other = "changed"
    assert sums.calls == [] and [state for state, _ in updates(sums)] == [{"other": "changed"}]


def test_a_value_is_current_whenever_it_is_read() -> None:
    sums = Sums()
    read: list[int] = []
    sums.observe(lambda _: read.append(sums._sum), "first")
    sums.first = 5
    assert read == [15]
    with sums._lock, sums.together():
        sums.first = 6
        assert sums._sum == 16


def test_an_error_is_shown_and_all_values_stay_until_a_change_that_matters() -> None:
    sums = Sums()
    with pytest.raises(ValueError, match="negative"):
        sums.first = -1
    assert (sums._sum, sums._double, on_page(sums, "error")) == (11, 2, "a negative number")
    sums.calls.clear()
    sums.other = "changed"
    assert sums._sum == 11 and sums.calls == []
    with pytest.raises(ValueError, match="negative"):
        sums.second = 20
    sums.first = 2
    assert (sums._sum, sums._double, on_page(sums, "error")) == (22, 4, "")


def test_a_computed_trait_cannot_be_assigned() -> None:
    sums = Sums()
    with pytest.raises(traitlets.TraitError, match=naming('"_sum"', "read-only")):
        sums._sum = 3


def test_wrong_names_and_circles_are_refused_when_the_class_is_first_used() -> None:
    class Misspelt(Sums):
        @computed("frist")
        def _triple(self) -> int:
            return 3

    with pytest.raises(TypeError, match=naming("Misspelt._triple", "'frist'", "'first'")):
        Misspelt()

    class Circle(Sums):
        @computed("_right")
        def _left(self) -> int:
            return 0

        @computed("_left")
        def _right(self) -> int:
            return 0

    with pytest.raises(TypeError, match=naming("depend", "other")):
        Circle()


def test_an_observer_can_wait_until_the_widget_is_open() -> None:
    class Resetting(Sums):
        @when_open("first")
        def _reset(self, change: object) -> None:
            self.second = 0

    resetting = Resetting(first=2, second=3)
    assert (resetting.second, resetting._sum) == (3, 5)
    resetting.comm.sent.clear()
    resetting.first = 7
    assert [state for state, _ in updates(resetting)] == [
        {"first": 7, "second": 0, "_sum": 7, "_double": 14}
    ]


def test_an_option_that_an_observer_of_a_computed_trait_changes_is_computed_too() -> None:
    class Capped(Sums):
        @traitlets.observe("_sum")
        def _cap(self, change: dict[str, Any]) -> None:
            if change["new"] > 100:
                self.second = 100 - self.first

    capped = Capped()
    capped.first = 95
    assert (capped.second, capped._sum, capped._difference) == (5, 100, 95)


def test_a_closed_widget_computes_nothing() -> None:
    sums = Sums()
    sums.close()
    sums.calls.clear()
    sums.first = 3
    assert sums.calls == [] and sums._sum == 11


def test_threads_end_with_what_was_set_last_and_send_their_own_changes() -> None:
    sums = Sums()
    start = threading.Barrier(4)
    errors: list[Exception] = []

    def change(seed: int) -> None:
        try:
            start.wait(30)
            for step in range(200):
                if (step + seed) % 3:
                    sums.first = step
                else:
                    with sums._lock, sums.together():
                        sums.first = step
                        sums.second = step
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=change, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors and not any(thread.is_alive() for thread in threads)
    assert sums._sum == sums.first + sums.second and sums._double == 2 * sums.first
    told: dict[str, Any] = {}
    for state, _ in updates(sums):
        told |= state
    assert told.keys() == {"first", "second", "_sum", "_double"}


def test_a_thread_sends_its_change_while_another_thread_holds_messages_back() -> None:
    sums = Sums()
    with sums.hold_sync():
        sums.first = 2
        thread = threading.Thread(target=setattr, args=(sums, "other", "changed"))
        thread.start()
        thread.join(30)
        assert [state for state, _ in updates(sums)] == [{"other": "changed"}]
    assert updates(sums)[-1][0].keys() == {"first", "_sum", "_double"}


def guarded_observers(source: str) -> Iterator[str]:
    """Observers that ask a private flag of the widget, which they do not observe."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef):
            continue
        decorators = " ".join(map(ast.unparse, node.decorator_list))
        if "traitlets.observe(" not in decorators:
            continue
        called = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
        for condition in (part.test for part in ast.walk(node) if isinstance(part, ast.If)):
            flags = {
                part.attr
                for part in ast.walk(condition)
                if isinstance(part, ast.Attribute) and id(part) not in called
                if ast.unparse(part).startswith("self._")
            }
            if flags and not any(f"'{flag}'" in decorators for flag in flags):
                yield node.name


def test_no_observer_of_a_widget_has_a_guard_flag() -> None:
    folder = Path(attnwidget.widgets.__file__).parent
    found = {
        f"{path.relative_to(folder)}: {name}"
        for path in folder.rglob("*.py")
        for name in guarded_observers(path.read_text(encoding="utf-8"))
    }
    assert not found, f"use @computed or @when_open: {sorted(found)}"


def test_a_guard_flag_is_found() -> None:
    observer = "@traitlets.observe('layer')\ndef draw(self, change):\n    if {}:\n        pass"
    assert list(guarded_observers(observer.format("self._stacks and change"))) == ["draw"]
    assert list(guarded_observers(observer.format("self.head"))) == []


def test_a_figure_out_of_sight_computes_when_it_is_read_and_follows_again_in_sight() -> None:
    sums = Sums()
    sums.calls.clear()
    sums._answer_when_read()
    sums.first = 2
    sums.first = 3
    assert sums.calls == []
    assert sums._sum == 13 and sums.calls.count("sum") == 1
    sums.second = 20
    assert sums.calls.count("sum") == 1
    sums._answer_changes()
    assert sums.calls.count("sum") == 2 and updates(sums)[-1][0]["_sum"] == 23
    sums.first = 4
    assert sums.calls.count("sum") == 3
