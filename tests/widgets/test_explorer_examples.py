"""The explorer's examples, the head that it opens on, and what it says there is to see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import traitlets
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from attnwidget import Attention, AttentionModel, Head, load_model
from attnwidget.capture.maps.resting_places import resting_places
from attnwidget.demo import demo_texts
from attnwidget.text.demonstrations import demo_treebank
from attnwidget.widgets import head_grid
from attnwidget.widgets.explorer.examples import examples_for
from attnwidget.widgets.explorer.explore import explore
from attnwidget.widgets.explorer.opening import active_word, opening_of
from attnwidget.words.relation_results import DIRECTIONS
from fixtures.recording import from_page, on_page, updates
from fixtures.shown_code import choices, shown_by
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import build
from refusals import naming

pytestmark = pytest.mark.usefixtures("recording")

TOKENS = ["[CLS]", "an", "old", "cat", "sat", "on", "the", "mat", ".", "[SEP]"]


@pytest.fixture(scope="module")
def own() -> AttentionModel:
    """A model that comes with nothing known about its heads."""
    return load_model("attnwidget/genre")


def test_the_explorer_opens_on_the_first_example_with_its_story(model: AttentionModel) -> None:
    explorer = explore(model)
    demo = demo_texts()["pronouns"]
    assert (explorer.example, explorer.text, explorer.head) == ("pronouns", demo.text, Head(1, 3))
    assert explorer.tokens == explorer.view.tokens == [("query", 7)]
    assert explorer.hidden == explorer.grid.hidden == ["cls", "sep"]
    # The word is locked as if a reader had clicked it: the grid says where it looks.
    assert (explorer.unit, explorer.grid.cells, explorer.tab) == ("words", "answers", None)
    assert explorer.grid._rows["of"] == 7
    assert [one["name"] for one in explorer.get_state()["_examples"]] == list(demo_texts())
    line = explorer.caption.notes[0]
    assert line.startswith("In L1 H3 (pronoun to its person), “he” looks at “captain” (59\xa0%)")


def test_an_example_needs_one_pass_and_one_message_per_figure(
    model: AttentionModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    explorer = explore(model, treebank=False, atlas=False)
    demo = demo_texts()["question and answer"]
    attend = AttentionModel.attend
    read = []
    drawn = []
    thumbnails = head_grid.draw_thumbnails

    def attended(self: AttentionModel, *given: object, **more: object) -> Attention:
        read.append(given)
        return attend(self, *given, **more)

    def counted(*given: Any, **more: Any) -> object:
        drawn.append(more["hidden"])
        return thumbnails(*given, **more)

    monkeypatch.setattr(AttentionModel, "attend", attended)
    monkeypatch.setattr(head_grid, "draw_thumbnails", counted)
    figures = (explorer.grid, explorer.view)
    for one in (explorer, *figures):
        one.comm.sent.clear()
    from_page(explorer, {"example": demo.name, "text": demo.text, "pair": demo.pair})
    assert read == [(demo.text, demo.pair)] and len(drawn) == 1
    assert [len(updates(one)) for one in figures] == [1, 1]
    (grid, _), (view, _) = updates(explorer.grid)[0], updates(explorer.view)[0]
    assert grid["selected"] == view["selected"] == [(5, 2, "self")]
    # Between words, the question word is the eighth: two words have several tokens.
    words = explorer.attention.words.tokens
    ((side, place),) = view["tokens"]
    assert (
        (side, words[place]) == ("query", demo.query) and "_tile" in view and "_thumbnails" in grid
    )
    told = [state for state, _ in updates(explorer) if "_shown" in state]
    assert len(told) == 1
    assert told[0]["_shown"]["pair"] == demo.pair


@pytest.mark.slow
def test_every_example_opens_on_the_word_that_it_is_about(model: AttentionModel) -> None:
    explorer = explore(model, treebank=False, atlas=False)
    for name, demo in demo_texts().items():
        explorer.example = name
        assert explorer.head == Head(*demo.head)
        ((side, place),) = explorer.tokens
        row = explorer.view.weights[place]
        words = explorer.attention.words.tokens
        # A token of an example can be a piece of its word.
        assert side == "query" and demo.query.removeprefix("##") in words[place]
        others = [i for i, word in enumerate(words) if word not in ("[CLS]", "[SEP]")]
        best = words[max(others, key=lambda i: row[i])]
        assert demo.key.removeprefix("##") in best, name


def test_the_word_stays_from_head_to_head_and_another_text_begins_anew(
    model: AttentionModel,
) -> None:
    explorer = explore(model, treebank=False, atlas=False)
    explorer.selected = [(2, 4)]
    assert (explorer.tokens, explorer.example) == ([("query", 7)], "pronouns")
    # No word of this text stands out in this head, and of the next text one does.
    explorer.text = "The keys to the cabinet are on the table."
    assert explorer.example is None and explorer.hidden == ["cls", "sep"]
    assert explorer.tokens == []
    explorer.text = "The old woman opened the door and saw her brother."
    ((side, _),) = explorer.tokens
    assert side == "query" and explorer.grid._rows is not None
    # What a reader hides and locks stays so from head to head.
    explorer.hidden = ["sep"]
    explorer.tokens = [("query", 2)]
    assert explorer.grid._rows["of"] == 2
    explorer.selected = [(4, 4)]
    assert (explorer.hidden, explorer.tokens) == (["sep"], [("query", 2)])
    explorer.text = "The dog sat."
    assert explorer.hidden == explorer.grid.hidden == ["sep"]
    explorer.example = "conjuncts"
    before = explorer.attention
    explorer.example = "objects"
    assert explorer.attention is before and explorer.head == Head(0, 4)
    explorer.attention = model.attend("Short.")
    assert explorer.example is None


def test_an_example_of_another_name_is_refused(model: AttentionModel) -> None:
    with pytest.raises(traitlets.TraitError, match=naming("'example'", "'pronouns'", "'poem'")):
        explore(model, example="poem")
    explorer = explore(model, example="passive", selected=[(0, 1)], hidden=["sep"], treebank=False)
    assert explorer.text.startswith("The letter") and explorer.head == Head(0, 1)
    assert explorer.hidden == ["sep"]
    with pytest.raises(traitlets.TraitError, match=naming("'example'", "'poem'")):
        explorer.example = "poem"
    with pytest.raises(ValueError, match=naming("example 'passive'", "text of its own")):
        explore(model, "The cat.", example="passive")


def test_the_code_keeps_the_example(model: AttentionModel) -> None:
    explorer = explore(model, example="clauses", treebank=False)
    again = shown_by(explorer.code())
    assert (again.example, again.tokens) == ("clauses", explorer.tokens)
    assert choices(again) == choices(explorer)


def planted(layer: int, head: int, n: int = 10) -> np.ndarray:
    """Maps of 2 x 3 heads to [SEP], to the neighbor, and in one head from each word far off."""
    maps = np.zeros((2, 3, n, n), "f4")
    maps[..., -1] = 1
    maps[0, 1] = np.roll(np.eye(n), 1, axis=1)
    maps[1, 2] = np.eye(n)[[n // 2] * n]
    maps[layer, head] = np.eye(n)[(np.arange(n) + 3) % n]
    return maps


@pytest.mark.parametrize("place", [(0, 0), (1, 1)])
def test_the_explorer_opens_on_the_head_that_looks_from_each_word_to_a_different_word(
    place: tuple[int, int],
) -> None:
    opening = opening_of(Attention.from_weights(planted(*place), TOKENS))
    assert opening.stands_out and opening.head == Head(*place)


def test_special_tokens_with_much_of_the_attention_are_hidden() -> None:
    maps = planted(0, 0)
    most = 0.4 * maps + 0.6 * np.eye(10)[9]
    even = np.full_like(maps, 0.1)
    for weights, hidden in ((most, ("cls", "sep")), (even, ())):
        attention = Attention.from_weights(weights.astype("f4"), TOKENS)
        assert resting_places(attention).kinds == hidden


def test_long_texts_and_texts_without_words_are_read_too() -> None:
    n = 200
    words = ["[CLS]", *[f"word{i}" for i in range(n - 2)], "[SEP]"]
    long = planted(1, 1, n)
    long[1, 1] = np.eye(n)[(np.arange(n) + 50) % n]
    assert opening_of(Attention.from_weights(long, words)).head == Head(1, 1)
    dots = Attention.from_weights(planted(0, 0, 4), ["[CLS]", ".", "!", "[SEP]"])
    opening = opening_of(dots)
    assert not opening.stands_out and opening.tokens == () == active_word(dots, Head(0, 0))


def test_a_user_s_model_opens_on_the_link_that_stands_out_most(own: AttentionModel) -> None:
    explorer = explore(own, atlas=False)
    opening = opening_of(explorer.attention)
    assert opening.stands_out and explorer.head == explorer.view.head == opening.head
    axis = explorer.attention.stacks["self"].query
    assert tuple(explorer.tokens) == opening.in_unit("words", axis)
    assert explorer.caption.notes[0].startswith(f"In {opening.head}, “")
    assert tuple(explorer.hidden) == resting_places(explorer.attention).kinds
    assert explorer.example == "pronouns"
    # Nothing is known of its heads on an example, which opens like any other text.
    explorer.example = "passive"
    assert explorer.head == opening_of(explorer.attention).head != opening.head
    assert explore(own, "The cat sat.", layer=3).head == Head(3, 0)
    typed = explore(load_model(), "My brother sold the boat because it leaked.")
    assert typed.example is None and typed.head == Head(1, 3) and typed.tokens == [("query", 7)]
    assert typed.caption.notes[0].startswith("In L1 H3, “it” looks at “boat”")


STORY = "My brother sold the boat because it leaked."
ANOTHER_STORY = "Heavy rain destroyed several small bridges near the village."


def test_another_text_opens_on_what_stands_out_in_it(model: AttentionModel) -> None:
    explorer = explore(model, STORY, treebank=False)
    assert explorer.head == Head(1, 3)
    for text in (ANOTHER_STORY, STORY):
        from_page(explorer, {"text": text})
        opened = explore(model, text, treebank=False)
        for figure in (explorer, explorer.grid, explorer.view):
            assert (figure.selected, figure.tokens) == (opened.selected, opened.tokens)
        assert explorer.caption.notes[0] == opened.caption.notes[0]
    # A text of which only the attention is known, and the text of an example, do so too.
    explorer.attention = model.attend(ANOTHER_STORY)
    assert (explorer.head, explorer.text) == (Head(1, 4), "")
    explorer.example = "objects"
    assert explorer.head == Head(*demo_texts()["objects"].head)
    explorer.text = STORY
    assert explorer.head == Head(1, 3)


def test_the_explorer_opens_on_no_link_of_an_unknown_word(model: AttentionModel) -> None:
    for text in ("漢字 かな 😀 Ω hello 漢", "She saw 漢 and 😀 laughed.", "漢 ate 😀"):
        explorer = explore(model, text, treebank=False)
        query = explorer.attention.words.stacks["self"].query
        assert "[UNK]" in query.raw
        assert all(query.raw[index] != "[UNK]" for _, index in explorer.tokens)
        unnamed = opening_of(explorer.attention, unknown="[UNK]")
        assert all(explorer.attention.tokens[i] != "[UNK]" for i in unnamed.query + unnamed.key)
        for head in map(Head, range(6), range(6)):
            explorer.selected = [head]
            assert all(query.raw[index] != "[UNK]" for _, index in explorer.tokens)


def test_another_text_keeps_the_head_that_a_reader_selected(model: AttentionModel) -> None:
    explorer = explore(model, ANOTHER_STORY, treebank=False)
    from_page(explorer.grid, {"selected": [[4, 4, "self"]]})
    explorer.text = STORY
    assert explorer.head == explorer.view.head == Head(4, 4)
    # Steps through the layers choose a head, and so do options.
    stepped = explore(model, ANOTHER_STORY, treebank=False)
    from_page(stepped, {"layer": 2})
    strongest = stepped.head
    assert strongest is not None and strongest.layer == 2
    stepped.text = STORY
    assert stepped.head == strongest
    opened = explore(model, ANOTHER_STORY, treebank=False, selected=[(1, 4)])
    opened.text = STORY
    assert opened.head == Head(1, 4)
    # A reader who returns to the first head has selected it.
    stepped.selected = [(1, 4)]
    stepped.text = ANOTHER_STORY
    stepped.text = STORY
    assert stepped.head == Head(1, 4)
    # An example shows its head, and the text after it is open again.
    stepped.example = "objects"
    stepped.text = STORY
    assert stepped.head == Head(1, 3)


def test_another_text_keeps_a_head_that_is_off(model: AttentionModel) -> None:
    explorer = explore(model, ANOTHER_STORY, treebank=False)
    from_page(explorer, {"disabled": [[1, 4, "self"]]})
    explorer.text = STORY
    assert explorer.head == Head(1, 4) and explorer.disabled == [Head(1, 4)]
    # Another head that is off does not hold the shown head.
    explorer = explore(model, ANOTHER_STORY, treebank=False)
    explorer.disabled = [(0, 0)]
    explorer.text = STORY
    assert explorer.head == Head(1, 3)


def test_another_text_of_a_causal_model_opens_on_the_head_of_its_answer() -> None:
    causal = load_model("attnwidget/induction")
    texts = "the cat sat on the mat and the cat", "a red car and a blue car and a red"
    explorer = explore(causal, texts[0], treebank=False, atlas=False)
    for text in reversed(texts):
        explorer.text = text
        opened = explore(causal, text, treebank=False, atlas=False)
        assert (explorer.selected, explorer.tokens) == (opened.selected, opened.tokens)


def test_only_texts_that_a_model_reads_are_offered() -> None:
    causal = load_model(build("gpt2"), word_tokenizer(template=False))
    assert "pronouns" in examples_for(causal) and "paraphrase" not in examples_for(causal)
    assert examples_for(load_model(build("bert"))) == {}
    assert list(examples_for(load_model())) == list(demo_texts())


def test_an_encoder_decoder_reads_a_target_and_others_do_not(model: AttentionModel) -> None:
    translating = load_model(build("t5"), word_tokenizer())
    explorer = explore(translating, "w1 w2", target="w3 w4")
    assert explorer.get_state()["_second"] == "target" and explorer.target == "w3 w4"
    before = len(explorer.attention.stacks["decoder"].query)
    from_page(explorer, {"target": "w3 w4 w5 w6"})
    assert len(explorer.attention.stacks["decoder"].query) == before + 2
    assert on_page(explorer, "shown")["target"] == "w3 w4 w5 w6"
    assert 'target="w3 w4 w5 w6"' in explorer.code()
    assert explore(model).get_state()["_second"] == "pair"
    causal = explore(load_model(build("gpt2"), word_tokenizer(template=False)), "w1 w2 w3")
    assert causal.get_state()["_second"] == ""
    with pytest.raises(TypeError, match=naming("target", "BertForMaskedLM")):
        explore(model, "The cat.", target="The mat.")


# Relations on demand


@pytest.mark.slow
def test_relations_of_a_model_of_ones_own_are_measured_when_asked_for(own: AttentionModel) -> None:
    explorer = explore(own, "The cat sat.")
    offers = on_page(explorer, "offers")
    assert offers["table"] == offers["arcs"] == "measure on the 115 demonstration sentences"
    assert "treebank" not in explorer.code() and explorer.table is None
    from_page(explorer, {"_accepted": "table"})
    assert "table" not in on_page(explorer, "offers")
    assert set(explorer.progress) >= {"table", "arcs"}
    assert explorer.wait(120) and explorer.table is not None
    explorer.choose("obj")
    assert explorer.arcs.relation == "obj"
    assert "treebank=True" in explorer.code()
    assert set(explore(own, "The cat sat.", treebank=True).progress) >= {"table", "arcs"}
    none = explore(own, "The cat sat.", treebank=False)
    assert "table" not in on_page(none, "offers") and "treebank=False" in none.code()


@pytest.mark.slow
def test_arcs_show_a_sentence_on_which_the_head_is_right(
    model: AttentionModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine would show another sentence of the relation in time.
    monkeypatch.setattr("attnwidget.widgets.explorer.relations._PATIENCE", 600.0)
    explorer = explore(model, selected=[(2, 0)], relation="obj")
    explorer.wait(120)

    def right() -> bool:
        arcs = explorer.arcs
        sentence = demo_treebank()[explorer.arcs.sentence]
        found = arcs.predictions.governors[arcs.head[:2]][DIRECTIONS.index(arcs.direction)]
        words = [i for i, name in enumerate(sentence.relations) if name == arcs.relation]
        return any(found[i] == sentence.governors[i] for i in words)

    assert explorer.arcs.relation == "obj" and right()
    for relation in ("det", "nsubj", "aux"):
        explorer.choose(relation)
        assert explorer.arcs.head == explorer.table.head and right()
    # A row of the table is chosen with its head, in one message.
    best = explorer.table.to_frame().set_index("relation").loc["case"]
    head = [int(best["layer"]), int(best["head"]), "self"]
    row = {"relation": "case", "direction": best["direction"], "selected": [head], "layer": head[0]}
    from_page(explorer.table, row)
    assert explorer.arcs.relation == "case" and list(explorer.arcs.head) == head and right()


@pytest.mark.slow
def test_the_sentence_of_the_arcs_can_be_read_in_all_figures(model: AttentionModel) -> None:
    explorer = explore(model, example="question and answer")
    with pytest.raises(RuntimeError, match=naming("arcs", "treebank=")):
        explorer.read_sentence()
    explorer.wait(120)
    explorer.arcs.sentence = 39
    from_page(explorer, {"_sentence_asked": 1})
    assert explorer.text == demo_treebank()[39].text == on_page(explorer, "shown")["text"]
    assert (explorer.pair, explorer.example) == (None, None)
    assert "flour" in explorer.view.attention.tokens


def test_a_text_without_spaces_is_read_between_tokens_and_the_next_between_words() -> None:
    letters = dict.fromkeys("?abcdefghijklmnopqrstuvwxyz护士说她很累因为律师了一整夜ก็ไม่")
    known = {letter: number for number, letter in enumerate(letters)}
    letter_by_letter = Tokenizer(models.BPE(vocab=known, merges=[], unk_token="?"))
    letter_by_letter.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=letter_by_letter, unk_token="?")
    explorer = explore(load_model(build("gpt2"), tokenizer), "护士说她很累")
    assert len(explorer.attention.tokens) == 6 and len(explorer.attention.words.tokens) == 1
    assert explorer.unit == explorer.grid.unit == explorer.view.unit == "tokens"
    explorer.text = "the nurse said"
    assert explorer.unit == explorer.grid.unit == explorer.view.unit == "words"
    assert len(explorer.view.weights) == 3
    explorer.text = "ไม่ก็ไม่"
    assert explorer.unit == explorer.view.unit == "tokens"
    # What a reader chooses stays.
    explorer.text = "the nurse"
    explorer.unit = "tokens"
    for text in ("the nurse said", "护士说", "the nurse"):
        explorer.text = text
        assert explorer.unit == explorer.view.unit == "tokens"
    assert explore(explorer.model, "护士说她很累", unit="words").unit == "words"
