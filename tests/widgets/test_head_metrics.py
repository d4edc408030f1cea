"""Metrics of heads in HeadGrid: what is read, sent, chosen and refused."""

from __future__ import annotations

import warnings

import ipywidgets
import numpy as np
import pytest
import torch
import traitlets
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from transformers.utils import ModelOutput

from attnwidget import Attention, Head, HeadGrid, HeadView
from attnwidget.corpus.results import Measurements
from attnwidget.metrics.measured_checkpoints import MeasuredCheckpoints
from attnwidget.widgets.pages.write_page import page_of
from attnwidget.widgets.shared.metric_table import nearest_heads, read_metrics
from fixtures.recording import from_page, on_page, updates
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

L = 3
H = 4
rng = np.random.default_rng(0)
METRICS = {
    "entropy": np.arange(12.0).reshape(L, H),
    "to [SEP]": rng.random((L, H)),
    "constant": np.full((L, H), 0.1),
}


def attention(layers: int = L, heads: int = H) -> Attention:
    return Attention.from_weights(np.full((layers, heads, 5, 5), 0.2, "f4"), list("abcde"))


def three_stacks() -> Attention:
    def maps(layers: int, heads: int) -> tuple[torch.Tensor, ...]:
        return tuple(torch.full((layers, heads, 5, 5), 0.2))

    output = ModelOutput(
        encoder_attentions=maps(2, 4),
        decoder_attentions=maps(L, H),
        cross_attentions=maps(L, H),
    )
    return Attention.from_weights(output, list("abcde"), key_tokens=list("abcde"))


class Found:
    """What a study returns, as far as widgets are concerned."""

    def __init__(self, heads: dict[str, np.ndarray], stack: str = "self") -> None:
        self._heads = heads
        self.stack = stack

    def heads(self) -> dict[str, np.ndarray]:
        return self._heads


def sent(widget: HeadGrid) -> dict[str, np.ndarray]:
    wire = widget.get_state()["_metrics"]
    values = np.frombuffer(wire["values"]["view"], "<f4").reshape(wire["values"]["shape"])
    return dict(zip(wire["titles"], values, strict=True))


# -- what is read --


def test_the_page_gets_every_metric_as_float32() -> None:
    values = sent(HeadGrid(attention(), metrics=METRICS))
    assert list(values) == list(METRICS)
    for title, own in METRICS.items():
        np.testing.assert_array_equal(values[title], own.astype("f4"))
    assert HeadGrid(attention()).get_state()["_metrics"] is None


def test_results_and_measurements_are_read_by_their_heads() -> None:
    result = Found(METRICS)
    measured = Measurements(
        {"all": result}, n_segments=1, complete=True, model_name="m", stack="self"
    )
    for given_ in (result, measured, {"self": measured}):
        assert list(read_metrics(given_, {"self": (L, H)})["self"]) == list(METRICS)


def test_a_metric_that_could_not_be_measured_is_left_out_of_a_result() -> None:
    missing = {**METRICS, "entropy from [CLS]": np.full((L, H), np.nan)}
    assert list(read_metrics(Found(missing))["self"]) == list(METRICS)
    with pytest.raises(ValueError, match=naming("'entropy from [CLS]'", "nan", "L0 H0", "11 more")):
        read_metrics(missing)


@pytest.mark.parametrize(
    ("metrics", "parts"),
    [
        ({"entropy": np.zeros((L, H + 1))}, ("'entropy'", "[3, 5]", "[3, 4]")),
        ({"entropy": np.zeros(12)}, ("'entropy'", "[12]", "[layers, heads]")),
        ({"entropy": [["high"] * H] * L}, ("'entropy'", "'high'")),
        (
            {"entropy": np.where(np.eye(L, H) > 0, np.nan, 0)},
            ("'entropy'", "nan", "L0 H0", "2 more"),
        ),
        (
            {"entropy": np.where(np.arange(12).reshape(L, H) == 6, np.inf, 0)},
            ("'entropy'", "inf", "L1 H2"),
        ),
        ({"decoder": METRICS}, ("'self'", "'decoder'")),
        (METRICS["entropy"], ("titles", "[layers, heads]", "ndarray")),
        ("entropy", ("titles", "[layers, heads]", "str")),
        ({"self": Found({"entropy": 3})}, ("'entropy'", "[]", "[layers, heads]")),
    ],
)
def test_metrics_that_do_not_fit_are_refused(metrics: object, parts: tuple[str, ...]) -> None:
    with pytest.raises(traitlets.TraitError, match=naming(*parts)):
        HeadGrid(attention(), metrics=metrics)
    grid = HeadGrid(attention())
    with pytest.raises(traitlets.TraitError, match=naming(*parts)):
        grid.metrics = metrics


def test_metrics_of_several_stacks_are_sent_one_at_a_time() -> None:
    metrics = {"encoder": {"entropy": np.ones((2, 4))}, "cross": METRICS}
    grid = HeadGrid(three_stacks(), metrics=metrics, metric="to [SEP]")
    assert list(sent(grid)) == ["entropy"]
    grid.comm.sent.clear()
    from_page(grid, {"stack": "cross"})
    states = [state for state, _ in updates(grid) if "_metrics" in state]
    assert len(states) == 1 and "_thumbnails" in states[0]
    assert list(sent(grid)) == list(METRICS)
    from_page(grid, {"stack": "decoder"})
    assert grid.get_state()["_metrics"] is None
    assert grid.metric == "to [SEP]"
    with pytest.raises(
        traitlets.TraitError, match=naming("'encoder', 'decoder', 'cross'", "metrics")
    ):
        HeadGrid(three_stacks(), metrics=METRICS)
    assert "cross" in HeadGrid(three_stacks(), metrics=Found(METRICS, "cross")).metrics


def test_other_tokens_do_not_send_the_metrics_again() -> None:
    grid = HeadGrid(attention(), metrics=METRICS)
    grid.comm.sent.clear()
    from_page(grid, {"unit": "words"})
    assert not any("_metrics" in state for state, _ in updates(grid))


def test_metrics_stay_with_a_model_of_their_shape() -> None:
    grid = HeadGrid(attention(), metrics=METRICS, metric="entropy", filter=(1, 2))
    grid.attention = attention()
    assert (grid.metric, grid.filter) == ("entropy", (1.0, 2.0))
    parts = ("HeadGrid", "'entropy'", "[3, 4]", "[2, 2]")
    with pytest.warns(UserWarning, match=naming(*parts)):
        grid.attention = attention(2, 2)
    assert (grid.metrics, grid.metric, grid.filter) == ({}, None, None)
    assert grid.get_state()["_metrics"] is None
    note = grid.get_state()["_source"]["note"]
    assert "left out, of another model: entropy, " in note
    grid.hidden = ["first"]
    assert grid.get_state()["_source"]["note"] == note
    grid.attention = attention(2, 2)
    assert "left out" not in grid.get_state()["_source"]["note"]


def test_metrics_of_a_stack_that_is_gone_are_named() -> None:
    grid = HeadGrid(three_stacks(), metrics={"cross": METRICS})
    parts = ("HeadGrid", "'constant'", "'cross'")
    with pytest.warns(UserWarning, match=naming(*parts)):
        grid.attention = attention()
    assert grid.metrics == {}


# -- the chosen one --


def test_the_page_chooses_sorts_and_filters() -> None:
    grid = HeadGrid(attention(), metrics=METRICS)
    from_page(grid, {"metric": "entropy", "filter": None})
    from_page(grid, {"sort": "all", "descending": False})
    from_page(grid, {"filter": [9.5, 11]})
    assert (grid.metric, grid.sort, grid.descending) == ("entropy", "all", False)
    assert grid.filter == (9.5, 11.0)
    assert grid.passing == [Head(2, 2), Head(2, 3)]


def test_options_may_come_in_any_order() -> None:
    grid = HeadGrid(
        attention(), filter=(2, 3), sort="rows", metric="entropy", metrics=METRICS, selected=(1, 1)
    )
    assert grid.passing == [Head(0, 2), Head(0, 3)]


def test_another_metric_starts_without_a_filter() -> None:
    grid = HeadGrid(attention(), metrics=METRICS, metric="entropy", filter=(2, 3))
    grid.metric = "to [SEP]"
    assert grid.filter is None and len(grid.passing) == 12
    grid.filter = (0, 1)
    grid.metric = None
    assert grid.filter is None


def test_the_ends_of_a_filter_belong_to_it_in_float32_as_on_the_page() -> None:
    grid = HeadGrid(attention(), metrics=METRICS, metric="constant", filter=(0.1, 0.1))
    assert len(grid.passing) == 12


@pytest.mark.parametrize(
    ("option", "value", "parts"),
    [
        ("metric", "entrophy", ("'metric'", "'entrophy'", "'entropy', 'to [SEP]', 'constant'")),
        ("sort", "layer", ("'sort'", "'none'", "'layer'")),
        ("filter", (1, 0), ("'filter'", "(smallest, largest)")),
        ("filter", 3, ("'filter'", "(smallest, largest)")),
        ("filter", (np.nan, 1), ("'filter'", "(smallest, largest)")),
    ],
)
def test_bad_choices_are_refused(option: str, value: object, parts: tuple[str, ...]) -> None:
    grid = HeadGrid(attention(), metrics=METRICS, metric="entropy")
    with pytest.raises(traitlets.TraitError, match=naming(*parts)):
        setattr(grid, option, value)


def test_choices_without_metrics_are_refused() -> None:
    with pytest.raises(traitlets.TraitError, match=naming("'metric'", "metrics=measure_attention")):
        HeadGrid(attention(), metric="entropy")
    with pytest.raises(traitlets.TraitError, match=naming("'filter'", "`metric`")):
        HeadGrid(attention(), metrics=METRICS, filter=(0, 1))


# -- heads like one --


def slow_nearest(metrics: dict[str, np.ndarray], head: tuple[int, int], n: int) -> list[Head]:
    """The nearest heads, one distance at a time."""
    away = {}
    for other in np.ndindex(L, H):
        total = 0.0
        for values in metrics.values():
            if len(set(values.ravel())) > 1:
                total += ((values[head] - values[other]) / values.std()) ** 2
        away[Head(*other)] = total
    del away[Head(*head)]
    return sorted(away, key=lambda other: (away[other], other))[:n]


def test_similar_heads_are_the_nearest_in_standardized_metrics() -> None:
    metrics = {**METRICS, "large": 1e6 * rng.random((L, H))}
    grid = HeadGrid(attention(), metrics=metrics)
    for head in np.ndindex(L, H):
        assert grid.similar(head, top=4) == slow_nearest(metrics, head, 4)
    grid.selected = [(1, 2)]
    assert grid.similar() == slow_nearest(metrics, (1, 2), 5)
    assert len(grid.similar(top=99)) == L * H - 1
    wire = grid.get_state()["_metrics"]["similar"]
    table = np.frombuffer(wire["view"], "<i4").reshape(wire["shape"])
    assert [Head(*divmod(int(i), H)) for i in table[1 * H + 2]] == grid.similar()


@given(arrays(np.float64, (2, L, H), elements=st.floats(-1e9, 1e9)))
def test_no_head_is_like_itself_and_none_comes_twice(values: np.ndarray) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = nearest_heads({"a": values[0], "b": values[1]}, 5)
    for head, others in enumerate(table):
        assert head not in others and len(set(others)) == 5


def test_similar_says_what_it_lacks() -> None:
    grid = HeadGrid(attention(), metrics=METRICS)
    with pytest.raises(ValueError, match=naming("no head", "similar((layer, head))")):
        grid.similar()
    with pytest.raises(ValueError, match=naming("top", "got 0")):
        grid.similar((0, 0), top=0)
    with pytest.raises(ValueError, match=naming("'self'", "`metrics`")):
        HeadGrid(attention()).similar((0, 0))


# -- one head among all --


def test_the_caption_has_value_and_rank_of_the_shown_head() -> None:
    grid = HeadGrid(attention(), metrics=METRICS, metric="entropy", selected=[(0, 0), (2, 1)])
    assert "L2 H1: 9, rank 3 of 12 (1 is the largest)" in grid.caption.notes
    grid.selected = []
    assert "rank" not in grid.caption.text()


def test_every_trait_has_help() -> None:
    for widget in (HeadGrid(attention()), HeadView(attention())):
        own = set(widget.trait_names()) - set(ipywidgets.DOMWidget.class_trait_names())
        public = [name for name in own if not name.startswith("_") and name != "comm"]
        assert all(widget.traits()[name].help for name in public)
        assert len(repr(widget)) < 120


# Metrics over a training


def training(**change: np.ndarray) -> MeasuredCheckpoints:
    """A score that rises over three checkpoints, and a metric over segments."""
    score = np.stack([METRICS["entropy"] / 11 * share for share in (0.0, 0.5, 1.0)])[..., None]
    return MeasuredCheckpoints(
        checkpoints=("0", "100", "900"),
        metrics={"to [SEP]": np.stack([METRICS["to [SEP]"]] * 3)} | change,
        scores={"induction": score},
        controls={"induction": np.zeros_like(score)},
        losses=None,
        equal=(),
        n_segments=1,
        length=50,
        complete=True,
        model_name="a model",
    )


def test_a_step_chooses_the_checkpoint_whose_numbers_are_shown() -> None:
    grid = HeadGrid(attention(), metrics=training(), metric="induction", step="100")
    assert on_page(grid, "steps") == ["0", "100", "900"]
    wire = on_page(grid, "metrics")
    assert wire["step"] == "100" and wire["ranges"][0] == [0.0, 1.0]
    np.testing.assert_allclose(grid._values, METRICS["entropy"] / 22)
    grid.filter = (0.25, 1.0)
    assert len(grid.passing) == 6
    from_page(grid, {"step": "900"})
    assert len(grid.passing) == 9 and grid.filter == (0.25, 1.0)
    np.testing.assert_allclose(grid.figure().table["induction"].astype(float).max(), 1)
    assert any("checkpoint 900 (0 to 900)" in note for note in grid.caption.notes)
    from_page(grid, {"step": None})
    assert on_page(grid, "metrics")["step"] == "900"
    with pytest.raises(traitlets.TraitError, match=naming("'step'", "'0', '100', '900'", "'50'")):
        grid.step = "50"
    assert 'step="0"' in HeadGrid(attention(), metrics=training(), step="0").code()


def test_other_metrics_leave_the_step() -> None:
    grid = HeadGrid(attention(), metrics=training(), step="0", metric="to [SEP]")
    grid.metrics = METRICS
    assert grid.step is None and on_page(grid, "steps") == []
    assert "ranges" not in on_page(grid, "metrics")
    with pytest.raises(traitlets.TraitError, match=naming("'step'", "None", "'0'")):
        grid.step = "0"
    grid.metrics = training()
    np.testing.assert_allclose(grid.metrics["self"]["induction"], METRICS["entropy"] / 11)
    with pytest.raises(traitlets.TraitError, match=naming("'induction'", "[3, 4]", "[2, 2]")):
        HeadGrid(attention(2, 2), metrics=training())


def test_a_metric_that_a_checkpoint_lacks_is_left_out() -> None:
    missing = np.stack([np.full((L, H), np.nan), *[METRICS["entropy"]] * 2])
    grid = HeadGrid(attention(), metrics=training(loss=missing))
    assert on_page(grid, "metrics")["titles"] == ["induction", "to [SEP]"]


def test_a_page_has_the_numbers_of_all_checkpoints() -> None:
    grid = HeadGrid(attention(), metrics=training(), metric="induction", step="100")
    (part,) = page_of(grid).parts.values()
    assert [metrics["step"] for metrics in part.own["metrics"]] == ["0", "100", "900"]
    assert part.state["step"] == "100" and part.state["_steps"] == ["0", "100", "900"]
