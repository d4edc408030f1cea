"""The steps of a generated text: probabilities, the slider, captions, pages, the explorer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import traitlets

from attnwidget import Attention, AttentionModel, HeadGrid, HeadView, link_figures, load_model
from attnwidget.widgets.explorer.explore import explore
from attnwidget.widgets.head_view.generation_steps import RIVALS
from fixtures import zoo
from fixtures.recording import from_page, on_page
from fixtures.shown_code import shown_by
from fixtures.vocabularies import word_tokenizer
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

PROMPT = "He had been with them in the night. He had been with"


@pytest.fixture(scope="module")
def causal() -> AttentionModel:
    return load_model("attnwidget/induction", device="cpu")


@pytest.fixture(scope="module")
def written(causal: AttentionModel) -> Attention:
    return causal.generate(PROMPT, max_new_tokens=8)


def test_probabilities_of_each_step_are_those_of_the_model(
    causal: AttentionModel, written: Attention
) -> None:
    steps = on_page(HeadView(written), "steps")
    n_prompt = len(causal.attend(PROMPT).tokens)
    assert steps["first"] == n_prompt - 1 and steps["count"] == 8 and steps["problem"] == ""
    ids = causal.tokenizer.convert_tokens_to_ids(written.tokens)
    for step in range(8):
        place = n_prompt + step
        (shares,) = causal.predict(ids[:place], positions=[place]).probabilities
        assert steps["chosen"][step] == pytest.approx(shares[ids[place]], abs=2e-6)
        likeliest = np.argsort(-shares)
        others = [int(i) for i in likeliest if i != ids[place]][:RIVALS]
        assert [share for _, share in steps["rivals"][step]] == pytest.approx(
            shares[others], abs=2e-6
        )
        assert [text for text, _ in steps["rivals"][step]] == [
            causal.tokenizer.convert_ids_to_tokens(i) for i in others
        ]
    # The model copies the words that followed the same words before.
    assert written.tokens[n_prompt:] == ["them", "in", "the", "n", "##i", "##g", "##h", "##t"]


def test_linked_figures_follow_the_step(written: Attention) -> None:
    view, grid = HeadView(written, 1, 2), HeadGrid(written)
    both = link_figures(view, grid)
    first = on_page(view, "steps")["first"]
    from_page(view, {"tokens": [["query", first + 2]]})
    rows = on_page(grid, "rows")
    assert (rows["of"], rows["values"]["shape"]) == (first + 2, [2, 4, len(written.tokens)])
    both.unlink()


def test_probabilities_follow_the_heads_that_are_off(
    causal: AttentionModel, written: Attention
) -> None:
    view = HeadView(written)
    before = on_page(view, "steps")
    view.disabled = [(1, 2)]
    after = on_page(view, "steps")
    with causal.disabled([(1, 2)]):
        place = before["first"] + 1
        ids = causal.tokenizer.convert_tokens_to_ids(written.tokens)
        (shares,) = causal.predict(ids[:place], positions=[place]).probabilities
    assert after["chosen"][0] == pytest.approx(shares[ids[place]], abs=2e-6)
    assert after["chosen"] != before["chosen"]
    view.disabled = []
    assert on_page(view, "steps") == before


def test_without_a_model_the_slider_stays_and_says_why(causal: AttentionModel) -> None:
    with causal.disabled([(1, 2)]):
        steps = on_page(HeadView(causal.generate("the man", max_new_tokens=2)), "steps")
    assert steps["count"] == 2 and steps["chosen"] == [] and "heads off" in steps["problem"]
    model = load_model("attnwidget/induction", device="cpu")
    attention = model.generate("the man", max_new_tokens=2)
    model.close()
    view = HeadView(attention, tokens=[("query", attention.n_prompt - 1)])
    assert "was closed" in on_page(view, "steps")["problem"]


def test_texts_that_no_model_wrote_have_no_steps(
    causal: AttentionModel, written: Attention
) -> None:
    assert on_page(HeadView(causal.attend(PROMPT)), "steps") is None
    view = HeadView(written, versus=causal.generate("She had been with", max_new_tokens=3))
    # Places on the common axes are no places in the text.
    assert on_page(view, "steps") is None


def test_an_encoder_decoder_has_steps_in_the_decoder() -> None:
    model = load_model(zoo.build("bart"), word_tokenizer(template=False))
    attention = model.generate("w1 w2 w3", max_new_tokens=3)
    view = HeadView(attention, 0, 0, "decoder", tokens=[("query", 1)])
    steps = on_page(view, "steps")
    assert steps["first"] == 0 and steps["count"] == len(attention.stacks["decoder"].query) - 1
    assert any(note.startswith("generated token 2 of") for note in view.caption.notes)
    view.selected = [(0, 0, "encoder")]
    view.tokens = [("query", 1)]
    assert not any("generated token" in note for note in view.caption.notes)


def test_a_page_keeps_the_steps(written: Attention, tmp_path: Path) -> None:
    view = HeadView(written, tokens=[("query", on_page(HeadView(written), "steps")["first"])])
    page = view.save(tmp_path / "page.html").read_text("utf-8")
    assert '"_steps"' in page and '"rivals"' in page


def test_an_explorer_lets_the_model_write_on(causal: AttentionModel) -> None:
    explorer = explore(causal, PROMPT, max_new_tokens=4, treebank=False)
    n_tokens = len(explorer.attention.tokens)
    # The query of the last step is locked.
    assert explorer.tokens == [("query", n_tokens - 2)] == explorer.view.tokens
    assert "generated token 4 of 4" in " ".join(explorer.view.caption.notes)
    assert "max_new_tokens=4" in explorer.code()
    again = shown_by(explorer.code())
    assert again.max_new_tokens == 4 and again.attention.tokens == explorer.attention.tokens
    explorer.max_new_tokens = 2
    assert len(explorer.attention.tokens) == n_tokens - 2
    explorer.text = "the man"
    assert explorer.attention.n_prompt == 3 and len(explorer.attention.tokens) == 5
    explorer.max_new_tokens = None
    assert explorer.attention.n_prompt is None and len(explorer.attention.tokens) == 3
    assert on_page(explorer.view, "steps") is None


@pytest.mark.parametrize(
    ("options", "error", "parts"),
    [
        ({"max_new_tokens": 0}, traitlets.TraitError, ("'max_new_tokens'", "None", "got 0")),
        ({"max_new_tokens": "two"}, traitlets.TraitError, ("'max_new_tokens'", "None", "'two'")),
        ({"max_new_tokens": 2, "pair": "A cat."}, ValueError, ("'pair'", "max_new_tokens=None")),
    ],
)
def test_a_continuation_that_cannot_be_is_refused(
    causal: AttentionModel, options: dict, error: type[Exception], parts: tuple[str, ...]
) -> None:
    with pytest.raises(error, match=naming(*parts)):
        explore(causal, "the man", treebank=False, **options)


def test_a_masked_model_writes_nothing(model: AttentionModel) -> None:
    with pytest.raises(ValueError, match=naming("BertForMaskedLM", "generates")):
        explore(model, "The cat.", max_new_tokens=2, treebank=False)
