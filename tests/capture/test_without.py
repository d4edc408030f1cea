"""Attention of an input that is read again with heads off."""

from __future__ import annotations

import numpy as np
import pytest
import traitlets

from attnwidget import Attention, AttentionModel, Head, HeadGrid, HeadView, link_figures, mechanisms
from refusals import naming


def test_without_equals_reading_in_a_disabled_block(model: AttentionModel) -> None:
    attention = model.attend("The woman washed her hands.", "She was clean.")
    off = attention.disabled([(1, 3), (2, 0)], "zero")
    with model.disabled([(2, 0), (1, 3)], method="zero"):
        wanted = model.attend("The woman washed her hands.", "She was clean.")
    assert np.array_equal(off.weights(), wanted.weights())
    assert off.tokens == attention.tokens and "without" in off.model_name
    assert np.array_equal(off.weights(0), attention.weights(0))
    assert not np.allclose(off.weights(3), attention.weights(3))


def test_asking_again_gives_the_same_object_and_no_heads_the_intact_one(
    model: AttentionModel,
) -> None:
    attention = model.attend("The cat sat.")
    off = attention.disabled([(0, 3), (1, 2)])
    assert attention.disabled([(1, 2), (0, 3)]) is off
    assert off.disabled([]) is attention and off.intact is attention
    assert off.disabled([(0, 3)]) is attention.disabled([(0, 3)])
    assert attention.disabled([(0, 3)], "zero") is not attention.disabled([(0, 3)])


def test_an_item_of_a_batch_is_read_again_alone(model: AttentionModel) -> None:
    first, second = model.attend_batch(["The cat sat.", "A dog ran."])
    off = second.disabled([(0, 0)])
    alone = model.attend("A dog ran.").disabled([(0, 0)])
    assert off.tokens == second.tokens != first.tokens
    assert np.allclose(off.weights(), alone.weights(), atol=1e-6)


def test_gradients_are_taken_again(model: AttentionModel) -> None:
    attention = model.attend("The cat sat on the mat.", loss="masked", seed=2)
    off = attention.disabled([(0, 1)])
    assert off.loss is not None and attention.loss is not None
    assert not np.allclose(off.gradients(3), attention.gradients(3))


def test_the_reading_predicts_with_heads_off(model: AttentionModel) -> None:
    text = "The woman washed [MASK] hands."
    reading = model.attend(text).reading
    assert reading is not None
    before = reading.predict()
    after = reading.predict([(5, 0), (5, 1)], "zero")
    assert np.array_equal(before.log_probabilities, model.predict(text).log_probabilities)
    with model.disabled([(5, 0), (5, 1)], method="zero"):
        wanted = model.predict(text)
    assert np.array_equal(after.log_probabilities, wanted.log_probabilities)


def test_what_cannot_be_read_again_says_so(model: AttentionModel) -> None:
    attention = model.attend("The cat sat.")
    with pytest.raises(ValueError, match=naming("head 12", "'self'")):
        attention.disabled([(0, 12)])
    with pytest.raises(ValueError, match=naming("another input")):
        attention.disabled([(0, 1)], "mean")
    given = Attention.from_weights(attention.weights(), attention.tokens)
    with pytest.raises(ValueError, match=naming("given weights", "load_model(...).attend(text)")):
        given.disabled([(0, 1)])
    with model.disabled([(0, 0)]):
        edited = model.attend("The cat sat.")
    with pytest.raises(
        ValueError, match=naming("block of `disabled`", "load_model(...).attend(text)")
    ):
        edited.disabled([(0, 1)])


def test_a_widget_switches_heads_off_for_every_input(model: AttentionModel) -> None:
    first = model.attend("The cat sat.")
    second = model.attend("A dog ran away.")
    view = HeadView(first, 3, 0, tokens=[("query", 1)])
    view.disabled = [(0, 3), (1, 2)]
    off = first.disabled([(0, 3), (1, 2)])
    assert view.attention is off and view.tokens == [("query", 1)]
    assert "without L0 H3, L1 H2 (uniform)" in view.caption.text()
    view.method = "zero"
    assert view.attention is first.disabled(view.disabled, "zero")
    view.attention = second
    assert view.attention is second.disabled(view.disabled, "zero") and view.tokens == []
    view.disabled = []
    assert view.attention is second and "without" not in view.caption.text()


def test_linked_widgets_read_the_input_once(model: AttentionModel) -> None:
    attention = model.attend("The cat sat.")
    grid = HeadGrid(attention)
    view = HeadView(attention)
    link_figures(grid, view)
    grid.disabled = [(0, 3)]
    assert view.disabled == [Head(0, 3, "self")] and view.attention is grid.attention
    grid.disabled = []
    assert view.attention is attention is grid.attention


def test_a_linked_figure_of_given_weights_stays_as_it_is(model: AttentionModel) -> None:
    attention = model.attend("The cat sat.")
    grid = HeadGrid(attention)
    view = HeadView(attention)
    given = HeadView(Attention.from_weights(attention.weights(), attention.tokens))
    link_figures(grid, given, view)
    grid.disabled = [(0, 3)]
    assert view.disabled == grid.disabled and given.disabled == []
    grid.selected = [(2, 2)]
    assert given.selected == grid.selected


def test_code_names_what_is_off(model: AttentionModel) -> None:
    grid = HeadGrid(model.attend("The cat sat."), disabled=[(0, 3)], method="zero")
    assert grid.attention.edits
    said = grid.code()
    assert "disabled=[(0, 3" in said and 'method="zero"' in said and "without" not in said


def test_given_weights_refuse(model: AttentionModel) -> None:
    attention = model.attend("The cat sat.")
    grid = HeadGrid(Attention.from_weights(attention.weights(), attention.tokens))
    with pytest.raises(traitlets.TraitError, match=naming("given weights", "load_model")):
        grid.disabled = [(0, 0)]
    assert grid.disabled == []


def test_an_intact_attention_refuses_questions_in_a_block_with_heads_off(
    model: AttentionModel,
) -> None:
    attention = model.attend("The woman washed [MASK] hands.")
    with model.disabled([(0, 1)]):
        for ask in (
            lambda: attention.disabled([(3, 2)]),
            lambda: mechanisms.logit_lens(attention),
            lambda: mechanisms.head_writes(attention, 2, 3),
            lambda: mechanisms.score_sources(attention, 1, 3, query=2, key=1),
        ):
            with pytest.raises(RuntimeError, match=naming("heads on", "without L0 H1")):
                ask()
    alone = model.attend("The woman washed [MASK] hands.").disabled([(3, 2)])
    assert np.array_equal(attention.disabled([(3, 2)]).weights(), alone.weights())
