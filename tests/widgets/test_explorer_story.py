"""The sentence about the picture of an explorer: it names what the kernel holds, in any state."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest

from attnwidget import AttentionModel, Head, load_model
from attnwidget.demo import demo_texts
from attnwidget.widgets.explorer.story import Shown, told
from attnwidget.widgets.explorer.widget import Explorer, explore
from fixtures.recording import from_page, on_page
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build

pytestmark = pytest.mark.usefixtures("recording")

TEXTS = (
    "The keys to the cabinet are on the table.",
    "Why did nobody tell her that the unbelievable otters had purred?",
    "Rain.",
    "He gave the book to Mary, and she read it to him twice.",
    "The captain told his men that he would not leave the ship.",
)

#: Each of these has a token in common with every text: texts without one cannot be compared.
COMPARED = (TEXTS[0], TEXTS[3], TEXTS[4])


def expected(explorer: Explorer) -> list[str]:
    """What the sentence has to say of a map of tokens, found without the code of the sentence."""
    head = explorer.head
    assert head is not None
    tokens = explorer.attention.tokens
    special = {"cls": "[CLS]", "sep": "[SEP]"}
    hidden = [special[kind] for kind in explorer.hidden]
    shown = [i for i, token in enumerate(tokens) if token not in hidden]
    weights = explorer.attention.weights(head.layer, head.head)
    label = explorer.labels.get(head)
    said = [f"{head} “{label}”" if label else str(head)]
    queries = [i for side, i in explorer.tokens if side == "query" and i in shown]
    keys = [i for side, i in explorer.tokens if side == "key" and i in shown]
    if queries and not keys:
        row = {j: weights[queries[-1], j] for j in shown}
        best = max(row, key=lambda j: row[j])
        to = "itself" if best == queries[-1] else tokens[best]
        weight = f"{row[best]:.2f}" if row[best] >= 0.095 else f"{row[best]:.2g}"
        # Less than this is no line of the figure.
        is_link = row[best] >= max(1.5 / len(tokens), 0.03)
        looks = "looks most at" if is_link else "looks at no word in particular: most at"
        said += [tokens[queries[-1]], looks, to, f"({weight})"]
    elif keys and not queries:
        column = {i: weights[i, keys[-1]] for i in shown}
        best = max(column, key=lambda i: column[i])
        by = "itself" if best == keys[-1] else tokens[best]
        said += [tokens[keys[-1]], "gets most from", by]
    elif queries and keys:
        said += [tokens[queries[-1]], "looks at"]
    if hidden:
        gone = [i for i in range(len(tokens)) if i not in shown]
        share = weights[shown][:, gone].sum() / weights[shown].sum()
        said += [*hidden, f"{share * 100:.0f} % of its attention"]
    return said


@pytest.mark.slow
def test_the_line_names_what_the_kernel_holds_in_300_random_states(model: AttentionModel) -> None:
    rng = random.Random(28)
    explorer = explore(model, TEXTS[0], treebank=False)
    compared: set[bool] = set()
    for _ in range(300):
        n = len(explorer.attention.tokens)
        change = rng.randrange(11)
        if change == 0:
            explorer.text = rng.choice(TEXTS)
        elif change == 1:
            explorer.example = rng.choice(list(demo_texts()))
        elif change in (2, 3):
            from_page(explorer.grid, {"selected": [[rng.randrange(6), rng.randrange(12), "self"]]})
        elif change == 4:
            explorer.hidden = rng.choice([[], ["cls"], ["sep"], ["cls", "sep"]])
        elif change == 5:
            sides = rng.choice([["query"], ["key"], ["query", "key"], []])
            explorer.tokens = [(side, rng.randrange(n)) for side in sides]
        elif change == 6:
            off = rng.sample(range(12), rng.randrange(3))
            explorer.disabled = [(rng.randrange(6), head) for head in off]
        elif change == 7:
            explorer.labels = {(rng.randrange(6), rng.randrange(12)): "name" for _ in range(20)}
        elif change == 8:
            from_page(explorer, {"versus_text": rng.choice(COMPARED)})
        elif change == 9:
            from_page(explorer, {"versus_text": None})
        else:
            explorer.layer = rng.randrange(6)
        line = on_page(explorer, "look")
        assert line == explorer._look
        assert explorer.hidden == explorer.grid.hidden == explorer.view.hidden
        # On the common axes of two texts, tokens have other places than in either text.
        if explorer.versus_text is None:
            assert explorer.tokens == explorer.view.tokens
        assert explorer.head is not None
        name = explorer.labels.named(explorer.head)
        compared.add(explorer.versus_text is not None)
        if explorer.versus_text is not None:
            changes = explorer.attention.changes(explorer.view.versus)
            other = model.attend(explorer.versus_text, pair=explorer.pair)
            assert explorer.view.versus.tokens == other.tokens
            assert line.startswith(f"{name} changes by {changes[explorer.head[:2]]:.3g} nats")
            continue
        if explorer.head in explorer.disabled:
            assert f"{name} is switched off (uniform)" in line
            continue
        demo = demo_texts().get(explorer.example or "")
        if demo is not None and demo.look.removeprefix(str(explorer.head)) in line:
            assert explorer.head == Head(*demo.head) and not explorer.disabled
            continue
        place = 0
        for part in expected(explorer):
            place = line.find(part, place)
            assert place >= 0, (part, line)
        for head in explorer.disabled:
            assert str(head) in line
    assert compared == {False, True}


def test_a_head_of_a_causal_model_is_shown_from_the_last_word() -> None:
    causal = load_model(build("gpt2"), word_tokenizer(template=False))
    explorer = explore(causal, "w1 w2 w3 w4", selected=[(1, 0)])
    assert explorer.tokens == [("query", len(explorer.attention.tokens) - 1)]
    assert "w4” looks at no word in particular: most at" in on_page(explorer, "look")
    explorer.text = "w5 w6"
    assert explorer.tokens == [("query", len(explorer.attention.tokens) - 1)]


def test_a_text_with_a_mask_opens_on_the_mask(model: AttentionModel) -> None:
    explorer = explore(model, "The woman washed [MASK] hands.", treebank=False)
    ((_, place),) = explorer.tokens
    assert explorer.attention.tokens[place] == "[MASK]"
    explorer.selected = [(4, 4)]
    assert explorer.tokens == [("query", place)]


def test_words_and_further_quantities_are_told_of_what_is_drawn(model: AttentionModel) -> None:
    explorer = explore(model, TEXTS[1], treebank=False, atlas=False, selected=[(2, 8)])
    from_page(explorer, {"tokens": [], "unit": "words"})
    ((_, place),) = explorer.tokens
    words = explorer.attention.words.stacks["self"].query.text
    assert f"“{words[place]}” looks most at" in on_page(explorer, "look")
    explorer.quantity = "norms"
    norms = explorer.attention.words.map("norms", 2, 8)
    kept = [i for i, word in enumerate(words) if word not in ("[CLS]", "[SEP]")]
    seen = norms[place][kept] if explorer.hidden else norms[place]
    line = on_page(explorer, "look")
    assert line.startswith("L2 H8 by norms: ") and f"({seen.max():.2f})" in line
    explorer.quantity = "weights"
    explorer.hidden = ["cls", "sep"]
    before = on_page(explorer, "look")
    explorer.view.renormalise = True
    after = on_page(explorer, "look")
    (weight,), (share,) = (re.findall(r"\(([\d.]+)\)", line) for line in (before, after))
    assert float(share) > float(weight)


@pytest.mark.slow
def test_a_chosen_metric_is_told_with_its_rank(model: AttentionModel) -> None:
    explorer = explore(model, TEXTS[0], treebank=False, selected=[(2, 8)])
    assert explorer.wait(60)
    explorer.grid.metric = "entropy"
    values = explorer.grid.metrics["self"]["entropy"]
    rank = 1 + int((values > values[2, 8]).sum())
    assert on_page(explorer, "look").endswith(
        f"; entropy {values[2, 8]:.3g}, number {rank} of 72 heads"
    )
    explorer.grid.metric = None
    assert "entropy" not in on_page(explorer, "look")


@pytest.mark.slow
def test_a_comparison_opens_on_the_head_that_changed_most(model: AttentionModel) -> None:
    explorer = explore(model, TEXTS[0], treebank=False)
    from_page(explorer, {"versus_text": "The key to the cabinet is on the table."})
    changes = explorer.attention.changes(explorer.view.versus)
    most = np.unravel_index(changes.argmax(), changes.shape)
    assert explorer.head is not None and explorer.head[:2] == most
    assert (explorer.grid.metric, explorer.view.versus) == ("change", explorer.grid.versus)
    line = on_page(explorer, "look")
    assert line.startswith(f"{explorer.head} changes by {changes.max():.3g} nats from A to B")
    assert line.endswith("the most of 72 heads")
    # Another edit keeps the head.
    explorer.selected = [(0, 0)]
    from_page(explorer, {"versus_text": "The key to the drawer is on the table."})
    assert explorer.head == Head(0, 0) and "L0 H0 changes by" in on_page(explorer, "look")
    from_page(explorer, {"versus_text": None})
    assert explorer.view.versus is None
    assert on_page(explorer, "look").startswith("L0 H0: ")
    opened = explore(model, TEXTS[0], versus_text="The key is on the table.", treebank=False)
    assert "the most of 72 heads" in on_page(opened, "look")
    chosen = explore(
        model, TEXTS[0], versus_text="The key is on the table.", selected=[(1, 1)], treebank=False
    )
    assert chosen.head == Head(1, 1)


def test_the_head_on_which_an_answer_depends_is_told_and_switched_off(
    model: AttentionModel,
) -> None:
    explorer = explore(model, treebank=False)
    assert explorer.wait(120)
    effect = on_page(explorer, "effect_told")
    effects = explorer.predictions.effects
    head = np.unravel_index(np.abs(effects).argmax(), effects.shape)
    assert effect["head"] == [*head, "self"]
    before, after = re.findall(r"\d\.\d{3}", effect["text"])
    assert float(after) - float(before) == pytest.approx(effects[head], abs=2e-3)
    from_page(explorer, {"disabled": [effect["head"]], "tab": "predictions"})
    assert on_page(explorer, "look").startswith(effect["text"])
    assert on_page(explorer, "effect_told") is None


@pytest.mark.slow
def test_a_text_that_is_too_long_can_be_shortened(model: AttentionModel) -> None:
    explorer = explore(model, TEXTS[0], treebank=False)
    with pytest.raises(ValueError, match="702 tokens"):
        explorer.text = "otters " * 350
    assert on_page(explorer, "way_out") == "read the first 512 tokens"
    assert on_page(explorer, "look").startswith("L")
    from_page(explorer, {"_way_out_taken": 1})
    n = len(explorer.attention.tokens)
    assert explorer.text == ("otters " * 350)[: len(explorer.text)] and 500 < n <= 512
    assert (on_page(explorer, "way_out"), explorer._error) == ("", "")


def test_a_head_that_is_off_and_no_head_are_told(model: AttentionModel) -> None:
    attention = model.attend(TEXTS[0])
    off = Shown(attention, Head(1, 3), disabled=[Head(1, 3)], method="zero")
    assert told(off) == "L1 H3 is switched off (zero)" and told(Shown(attention, None)) == ""


def test_a_folder_with_a_name_that_says_nothing_takes_its_parent_s(tmp_path: Path) -> None:
    folder = tmp_path / "tiny-bert" / "final"
    build("bert").save_pretrained(folder)
    assert load_model(folder, word_tokenizer()).name == "tiny-bert"
