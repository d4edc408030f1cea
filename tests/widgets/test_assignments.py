"""What can be assigned on a figure, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import traitlets

from attnwidget import Attention, AttentionModel, Explorer, HeadGrid, HeadView
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")


@pytest.fixture(scope="module")
def attention(model: AttentionModel) -> Attention:
    return model.attend("The captain told his men that he would not leave.")


@pytest.fixture
def explorer() -> Iterator[Explorer]:
    explorer = Explorer(text="The cat sat.", treebank=False, atlas=False)
    yield explorer
    explorer.close()


def test_a_misspelt_option_is_refused_with_the_option(
    attention: Attention, explorer: Explorer
) -> None:
    for figure in (HeadView(attention), explorer.view):
        with pytest.raises(AttributeError, match=naming("HeadView", "arangement", "'arrangement'")):
            figure.arangement = "beside"
        assert not hasattr(figure, "arangement")
    with pytest.raises(AttributeError, match=naming("Explorer", "'example'")):
        explorer.exmaple = "pronouns"
    with pytest.raises(AttributeError, match=naming("HeadGrid", "'note'", "options", "sort")):
        HeadGrid(attention).note = "a head for pronouns"


def test_known_attributes_can_be_assigned(attention: Attention) -> None:
    class CountingView(HeadView):
        """A figure of a user, with attributes of its own."""

        label: int
        limit = 3
        _width = 0

        @property
        def width(self) -> int:
            return self._width

        @width.setter
        def width(self, width: int) -> None:
            self._width = width

    view = CountingView(attention)
    view.label = 1
    view.count = 2
    view.limit = 5
    view.width = 7
    view._remark = "mine"
    view.layout.width = "40em"
    assert (view.label, view.count, view.limit, view.width, view._width) == (1, 2, 5, 7, 7)
    with pytest.raises(AttributeError, match=naming("CountingView", "'arrangement'")):
        view.arangement = "beside"
    # traitlets and ipywidgets assign names of their classes on the instance.
    with view.hold_trait_notifications():
        view.layer = 2
    view.add_traits(remark=traitlets.Unicode())
    view.remark = "yours"
    view.close()
    assert view.comm is None
