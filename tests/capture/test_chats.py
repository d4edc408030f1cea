"""Chats as inputs: one BOS, the chat template applied once, and the role of every token."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch

from attnwidget import Attention, AttentionModel, load_model
from attnwidget.text.tokens import Tokens
from fixtures.chat_models import CHATML, MESSAGES, TEMPLATES, chat_model, chat_tokenizer, pieces
from refusals import naming

QUESTION = [{"role": "user", "content": "Why not?"}]


@pytest.fixture(scope="module", params=TEMPLATES)
def template(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def chatml() -> AttentionModel:
    return chat_model("chatml")


def axis(attention: Attention) -> Tokens:
    return attention.stacks["self"].query


def expected_marks(
    tokenizer: Any, ids: tuple[int, ...], written: list[tuple[str, int | None, str]]
) -> list[tuple[str, int | None]]:
    """The role and turn of each token, from the characters that the tokens decode to."""
    owners = [(role, turn) for role, turn, text in written for _ in text.encode()]
    alphabet = {character: code for code, character in _byte_characters().items()}
    marks = []
    at = 0
    for token_id in ids:
        raw = tokenizer.convert_ids_to_tokens(token_id)
        size = len(raw) if token_id < 13 else len([alphabet[character] for character in raw])
        token_values = owners[at : at + size]
        at += size
        marks.append(next((mark for mark in token_values if mark[1] is not None), token_values[0]))
    assert at == len(owners)
    return marks


def _byte_characters() -> dict[int, str]:
    """The characters that stand for bytes in byte-level vocabularies (GPT-2)."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [code for code in range(256) if code not in kept]
    return {code: chr(code) for code in kept} | {c: chr(256 + i) for i, c in enumerate(others)}


@pytest.mark.parametrize("trim_offsets", [False, True])
def test_every_token_of_a_chat_has_the_role_and_the_turn_of_its_message(
    template: str, trim_offsets: bool
) -> None:
    model = chat_model(template, trim_offsets=trim_offsets)
    attention = model.attend(MESSAGES)
    tokens = axis(attention)
    written = pieces(template, MESSAGES)
    whole = model.tokenizer.apply_chat_template(
        MESSAGES, add_generation_prompt=True, tokenize=False
    )
    assert "".join(text for _, _, text in written) == whole
    assert list(tokens.ids) == model.tokenizer(whole, add_special_tokens=False)["input_ids"]
    assert tokens.ids.count(model.tokenizer.bos_token_id) == 1
    marks = expected_marks(model.tokenizer, tokens.ids, written)
    assert list(zip(tokens.roles, tokens.turns, strict=True)) == marks
    assert set(tokens.roles) == {"template", "system", "user", "assistant", "tool"}
    assert {turn for turn in tokens.turns if turn is not None} == set(range(12))


def test_words_end_where_a_message_ends() -> None:
    model = chat_model("{{ bos_token }}{% for m in messages %}A{{ m['content'] }}Z{% endfor %}")
    words = axis(model.attend([{"role": "user", "content": "bcd"}])).to_words()
    assert words.text[1:] == ("A", "bcd", "Z")
    assert words.roles == ("template", "template", "user", "template")
    assert words.turns == (None, None, 0, None)


def test_roles_survive_copies_pickles_and_another_reading(chatml: AttentionModel) -> None:
    attention = chatml.attend(MESSAGES)
    tokens = axis(attention)
    for copied in (copy.copy(attention), copy.deepcopy(attention)):
        assert axis(copied).roles == tokens.roles
    assert axis(pickle.loads(pickle.dumps(attention))).turns == tokens.turns
    assert axis(attention.disabled([(0, 1)])).roles == tokens.roles
    assert attention.words.stacks["self"].query.roles.count("tool") > 1


def test_options_of_the_template_are_those_of_transformers(chatml: AttentionModel) -> None:
    tools = [{"type": "function", "function": {"name": "get_weather"}}]
    for opens in (True, False):
        options: dict[str, Any] = {"tools": tools, "add_generation_prompt": opens}
        tokens = axis(chatml.attend(MESSAGES, **options))
        text = chatml.tokenizer.apply_chat_template(MESSAGES, tokenize=False, **options)
        assert list(tokens.ids) == chatml.tokenizer(text, add_special_tokens=False)["input_ids"]
        shown = chatml.tokenizer.decode(
            [i for i, r in zip(tokens.ids, tokens.roles, strict=True) if r == "template"]
        )
        assert 'Tools: [{"type": "function"' in shown
    made = str(chatml.attend(QUESTION, tools=tools).made_by)
    assert '[{"role": "user", "content": "Why not?"}],\n    tools=[{"type": "function"' in made
    # A finished chat needs no beginning of another answer.
    finished = [*QUESTION, {"role": "assistant", "content": "So."}]
    assert not "".join(axis(chatml.attend(finished)).added).rstrip().endswith("assistant")


def test_contents_may_be_lists_of_texts(chatml: AttentionModel) -> None:
    plain = axis(chatml.attend(MESSAGES))
    listed = [
        message | {"content": [{"type": "text", "text": message["content"]}]}
        if message["content"]
        else message
        for message in MESSAGES
    ]
    assert axis(chatml.attend(listed)) == plain
    of_lists = "{% for m in messages %}<|im_start|>{% for p in m['content'] %}"
    of_lists += "{% if p['type'] == 'text' %}{{ p['text'] }}{% endif %}{% endfor %}{% endfor %}"
    reads_lists = chat_model(of_lists)
    for content in ("Why not?", [{"type": "text", "text": "Why not?"}]):
        tokens = axis(reads_lists.attend([{"role": "user", "content": content}]))
        assert "".join(tokens.added) == "<|im_start|>Why not?"
        assert set(tokens.roles[1:]) == {"user"}
    two = [{"type": "text", "text": "Why"}, {"type": "text", "text": "not?"}]
    assert "Why\nnot?" in "".join(axis(chatml.attend([{"role": "user", "content": two}])).added)
    with pytest.raises(ValueError, match=naming("'image'", "part")):
        chatml.attend([{"role": "user", "content": [{"type": "image"}]}])


def test_a_template_that_shortens_or_leaves_out_messages_still_tells_the_roles() -> None:
    thinking = CHATML.replace(
        "{{ m['content'] }}", "{{ m['content'].split('</think>')[-1] | trim }}"
    )
    model = chat_model(thinking)
    chat = [*QUESTION, {"role": "assistant", "content": "<think>Why?</think>\n\nSo."}]
    tokens = axis(model.attend(chat))
    answer = [text for text, turn in zip(tokens.added, tokens.turns, strict=True) if turn == 1]
    assert "".join(answer) == "So."
    without_tools = CHATML.replace(
        "<|im_start|>{{ m['role'] }}\n",
        "{% if m['role'] == 'tool' %}{% continue %}{% endif %}<|im_start|>{{ m['role'] }}\n",
    )
    attention = chat_model(without_tools).attend(MESSAGES)
    assert attention.note == "the chat template leaves out the content of message 5 (tool)"
    assert 5 not in axis(attention).turns


def test_a_message_that_is_in_a_chat_twice_has_two_turns(chatml: AttentionModel) -> None:
    tokens = axis(chatml.attend([*MESSAGES[:7], *MESSAGES[3:7]]))
    turns = [turn for turn in tokens.turns if turn is not None]
    for turn in range(3, 7):
        assert turns.count(turn) == turns.count(turn + 4) > 0


@pytest.mark.parametrize(
    ("written", "parts"),
    [
        (
            "{% for m in messages %}{{ m['content'] }} {{ m['content'] }}{% endfor %}",
            ("2 times", "apply_chat_template"),
        ),
        (
            "{{ messages | map(attribute='content') | join('') | upper }}",
            ("tokenizer.apply_chat_template", "changes"),
        ),
        (
            "{% for m in messages %}{{ m['content'] | replace('q', 'k') }}{% endfor %}",
            ("tokenizer.apply_chat_template", "changes"),
        ),
        (
            "{% for m in messages %}{% if m['content'] | length > 6 %}{{ m['content'] }}{% endif %}"
            "{% endfor %}",
            ("message 0", "tokenizer.apply_chat_template", "changes"),
        ),
        (
            "{{ raise_exception('roles must alternate') }}",
            ("chat template", "roles must alternate"),
        ),
        ("", ("tokenizer.chat_template", "template")),
    ],
)
def test_a_template_without_places_of_messages_is_refused_with_the_reason(
    written: str, parts: tuple[str, ...]
) -> None:
    model = chat_model(written)
    chat = [*QUESTION, {"role": "assistant", "content": "So."}]
    with pytest.raises(ValueError, match=naming(*parts)):
        model.attend(chat)


SWITCH = (
    "{% set state = namespace(thinks=true) %}{% for m in messages %}"
    "{% if '/no_think' in m['content'] %}{% set state.thinks = false %}{% endif %}"
    "<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n{% if not state.thinks %}({% endif %}"
)
FULL_STOP = (
    "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}"
    "{% if not m['content'].endswith('.') %}.{% endif %}\n{% endfor %}"
)
# Qwen3 writes the reasoning of the last answer between tags of its own.
REASONING = (
    "{% for m in messages %}{% set parts = m['content'].split('</think>') %}"
    "{{ m['role'] }}: {% if loop.last %}<think>\n{{ parts[0].split('<think>')[-1].strip('\n') "
    "if '</think>' in m['content'] else '' }}\n</think>\n\n{% endif %}"
    "{{ parts[-1].lstrip('\n') }};\n{% endfor %}"
)
LENGTHS = (
    "{% for m in messages %}{{ m['content'] | length }} {{ m['content'] }}\n{% endfor %}"
    "{{ messages[0]['content'] | length }}"
)


@pytest.mark.parametrize(
    ("written", "contents"),
    [
        (SWITCH, ["be nice", "quit it /no_think"]),
        (SWITCH, ["/no_think", "quit it"]),
        (FULL_STOP, ["be nice", "quit it."]),
        (LENGTHS, ["be nice", "quit it"]),
        (REASONING, ["be nice", "<think>\nWhy?\n</think>\n\nquit it"]),
        ("{% for m in messages %}[{{ m['content'] }}]{% endfor %}", ["   ", "quit it"]),
    ],
)
def test_a_message_that_changes_the_text_around_it_keeps_its_tokens(
    written: str, contents: list[str]
) -> None:
    roles = ("system", "user")
    messages = [
        {"role": role, "content": content} for role, content in zip(roles, contents, strict=True)
    ]
    tokens = axis(chat_model(written).attend(messages))
    for role, content in zip(roles, contents, strict=True):
        pieces = zip(tokens.roles, tokens.added, strict=True)
        found = "".join(piece for own, piece in pieces if own == role)
        # A token of a word may begin with the space before the word.
        assert found == content or found.lstrip() == content


def test_a_message_whose_place_is_in_another_message_is_refused() -> None:
    written = "{{ messages[0]['content'] | length }}{{ messages[1]['content'] }}"
    chat = [{"role": "user", "content": "So"}, {"role": "assistant", "content": "So."}]
    with pytest.raises(
        ValueError, match=naming("message 0", "tokenizer.apply_chat_template", "changes")
    ):
        chat_model(written).attend(chat)


def test_contents_that_a_template_cuts_are_read_as_strings() -> None:
    def read(content: str, end: int) -> str:
        model = chat_model(f"{{% for m in messages %}}{{{{ m['content'][:{end}] }}}}{{% endfor %}}")
        return "".join(axis(model.attend([{"role": "user", "content": content}])).added)

    assert read("quit it", 20) == "quit it"
    with pytest.raises(
        ValueError, match=naming("message 0", "tokenizer.apply_chat_template", "changes")
    ):
        read("quit it", 4)


@pytest.mark.parametrize(
    ("chat", "parts"),
    [
        ([{"content": "Hi"}], ("message 0", '"role"', "'content'")),
        ([*QUESTION, {"role": "user"}], ("message 1", '"content"')),
        ([{"role": "user", "content": 3}], ("content of message 0", "int")),
    ],
)
def test_invalid_messages_are_named(
    chatml: AttentionModel, chat: Any, parts: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        chatml.attend(chat)


def test_options_of_the_template_need_a_chat(chatml: AttentionModel) -> None:
    with pytest.raises(TypeError, match=naming("tools", "str", "chat")):
        chatml.attend("Why not?", tools=[])
    with pytest.raises(TypeError, match=naming("pair", "chat")):
        chatml.attend(QUESTION, "Why not?")
    with pytest.raises(TypeError, match=naming("attend_batch", "attend(text)")):
        chatml.attend_batch(QUESTION)


def test_chats_are_read_in_batches_and_for_predictions(chatml: AttentionModel) -> None:
    first, second = chatml.attend_batch([MESSAGES, QUESTION])
    assert axis(first) == axis(chatml.attend(MESSAGES))
    alone = chatml.attend(QUESTION)
    np.testing.assert_allclose(second.weights(), alone.weights(), atol=1e-6)
    ids = list(axis(alone).ids)
    expected = chatml.predict(ids).log_probabilities
    np.testing.assert_array_equal(chatml.predict(QUESTION).log_probabilities, expected)


def test_a_generated_answer_belongs_to_the_assistant(chatml: AttentionModel) -> None:
    attention = chatml.generate(MESSAGES, max_new_tokens=5)
    tokens = axis(attention)
    n_prompt = attention.n_prompt
    assert n_prompt == len(axis(chatml.attend(MESSAGES)))
    new = [
        ("template", None) if special else ("assistant", 12)
        for special in tokens.special[n_prompt:]
    ]
    assert new and list(zip(tokens.roles, tokens.turns, strict=True))[n_prompt:] == new
    replayed = chatml.replay(MESSAGES, tokens.ids[n_prompt:])
    assert axis(replayed) == tokens and replayed.n_prompt == n_prompt
    np.testing.assert_array_equal(replayed.weights(), attention.weights())
    by_text = chatml.replay(MESSAGES, "Nobody told me.<|im_end|>")
    assert axis(by_text).roles[-1] == "template"
    assert set(axis(by_text).roles[n_prompt:-1]) == {"assistant"}
    assert "".join(axis(by_text).added[n_prompt:-1]) == "Nobody told me."


def test_an_unfinished_answer_is_continued(chatml: AttentionModel) -> None:
    begun = [*QUESTION, {"role": "assistant", "content": "Nobody told"}]
    attention = chatml.generate(begun, max_new_tokens=2)
    tokens = axis(attention)
    assert "".join(tokens.added[: attention.n_prompt]).endswith("assistant\nNobody told")
    assert set(tokens.turns[attention.n_prompt :]) <= {1, None}
    finished = chatml.generate(begun, max_new_tokens=2, add_generation_prompt=True)
    assert "".join(axis(finished).added[: finished.n_prompt]).endswith("assistant\n")


@pytest.mark.parametrize("content", ["", None, [], [{"type": "text", "text": ""}]])
def test_an_empty_answer_is_begun_and_never_the_question_continued(
    chatml: AttentionModel, content: Any
) -> None:
    begun = [*QUESTION, {"role": "assistant", "content": content}]
    opened = chatml.tokenizer.apply_chat_template(
        QUESTION, tokenize=False, add_generation_prompt=True
    )
    for attention in (
        chatml.generate(begun, max_new_tokens=2),
        chatml.replay(begun, "Nobody"),
    ):
        tokens = axis(attention)
        assert "".join(tokens.added[: attention.n_prompt]) == opened
        assert set(tokens.turns[attention.n_prompt :]) <= {1, None}


def test_an_answer_that_is_not_the_end_of_the_text_is_not_continued() -> None:
    model = chat_model("{% for m in messages | reverse %}{{ m['content'] }}|{% endfor %}")
    begun = [*QUESTION, {"role": "assistant", "content": "So"}]
    with pytest.raises(ValueError, match=naming("message 1", "continued")):
        model.generate(begun, max_new_tokens=2)


def test_a_chat_that_is_too_long_is_refused_or_cut() -> None:
    tokenizer = chat_tokenizer("chatml")
    model = load_model(chat_model("chatml").hf_model, tokenizer, max_tokens=64)
    with pytest.raises(ValueError, match=naming("256 tokens", "max_tokens", "64")):
        model.attend(MESSAGES)
    tokens = axis(model.attend(MESSAGES, truncate=True))
    assert len(tokens) == 64 and tokens.roles[-1] != ""


class Slow:
    """A tokenizer that reports no places of tokens."""

    is_fast = False

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def __len__(self) -> int:
        return len(self._tokenizer)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        options.pop("return_offsets_mapping", None)
        encoding = self._tokenizer(*arguments, **options)
        return {name: list(values) for name, values in encoding.items()}


def test_a_tokenizer_without_places_of_tokens_tells_the_roles_too(chatml: AttentionModel) -> None:
    slow = load_model(chatml.hf_model, Slow(chatml.tokenizer), device="cpu")
    assert axis(slow.attend(MESSAGES)) == axis(chatml.attend(MESSAGES))
    # " in" is one token, whose beginning the template wrote.
    mistral = chat_model("mistral")
    chat = [{"role": "user", "content": "in Rome?"}]
    expected = axis(mistral.attend(chat))
    assert expected.raw[2] == "Ġin" and expected.roles[2] == "user"
    assert axis(load_model(mistral.hf_model, Slow(mistral.tokenizer)).attend(chat)) == expected
    # "And" is one token as well.
    written = "{% for m in messages %}A{{ m['content'] }}{% endfor %}"
    joined = load_model(mistral.hf_model, Slow(chat_tokenizer(written)))
    with pytest.raises(ValueError, match=naming("Slow", "'A'", "apply_chat_template")):
        joined.attend([{"role": "user", "content": "nd in Rome"}])


def test_a_text_with_its_own_special_tokens_gets_no_second_ones(chatml: AttentionModel) -> None:
    text = chatml.tokenizer.apply_chat_template(
        MESSAGES, add_generation_prompt=True, tokenize=False
    )
    attention = chatml.attend(text)
    assert axis(attention).ids == axis(chatml.attend(MESSAGES)).ids
    assert attention.note == "the text begins with <s>, which was not added again"
    assert chatml.attend("Why not?").note == "" and chatml.attend(MESSAGES).note == ""
    generated = chatml.generate(text, max_new_tokens=1)
    assert axis(generated).ids.count(1) == 1 and "begins with <s>" in generated.note
    assert chatml.attend(["<s>", "Why", "not?"]).tokens.count("<s>") == 1
    assert chatml.attend_batch([text])[0].note == attention.note


def test_a_pair_and_a_segment_have_their_special_tokens_once() -> None:
    from attnwidget import make_segments

    bert = load_model(device="cpu")
    plain = bert.attend("The cat sat.", "It slept.")
    marked = bert.attend("[CLS] The cat sat.", "It slept. [SEP]")
    assert marked.tokens == plain.tokens
    assert "begins with [CLS]" in marked.note and "ends with [SEP]" in marked.note
    np.testing.assert_array_equal(marked.weights(), plain.weights())
    assert axis(marked).segments == axis(plain).segments
    segments = make_segments(["[CLS] The cat sat. [SEP]", "The cat sat."], bert)
    assert segments[0] == segments[1]


@pytest.mark.parametrize(
    "form",
    [
        lambda ids: torch.tensor(ids),
        lambda ids: torch.tensor([ids]),
        lambda ids: np.array(ids, dtype=np.int32),
        lambda ids: np.array([ids]),
        lambda ids: [ids],
        tuple,
    ],
    ids=["[n]", "[1, n]", "numpy", "numpy [1, n]", "a list of one list", "a tuple"],
)
def test_ids_may_be_arrays_and_batches_of_one(chatml: AttentionModel, form: Any) -> None:
    ids = list(axis(chatml.attend("Why not?")).ids)
    expected = chatml.attend(ids)
    attention = chatml.attend(form(ids))
    assert axis(attention) == axis(expected)
    assert str(attention.made_by) == str(expected.made_by).replace("[", "(").replace("]", ")") or (
        str(attention.made_by) == str(expected.made_by)
    )
    generated = chatml.generate(form(ids), max_new_tokens=2)
    new = axis(generated).ids[len(ids) :]
    assert axis(chatml.replay(form(ids), form(list(new)))) == axis(generated)
    assert len(chatml.attend_batch([form(ids), "Why not?"])) == 2


@pytest.mark.parametrize(
    ("given", "kind", "parts"),
    [
        (torch.zeros(2, 3, dtype=torch.long), ValueError, ("[2, 3]", "attend_batch")),
        (np.zeros((1, 3)), TypeError, ("vocabulary ids", "integers", "inputs_embeds")),
        (
            torch.ones(3, dtype=torch.bool),
            TypeError,
            ("vocabulary ids", "integers", "inputs_embeds"),
        ),
        (torch.tensor(3), ValueError, ("[]", "attend_batch")),
    ],
)
def test_arrays_that_are_no_ids_are_refused(
    chatml: AttentionModel, given: Any, kind: type[Exception], parts: tuple[str, ...]
) -> None:
    for read in (chatml.attend, chatml.generate, chatml.predict):
        with pytest.raises(kind, match=naming(*parts)):
            read(given)


def test_generate_takes_the_dicts_that_attend_takes(chatml: AttentionModel) -> None:
    expected = axis(chatml.generate("Why not?", max_new_tokens=3))
    encoding = chatml.tokenizer("Why not?", return_tensors="pt")
    assert axis(chatml.generate(encoding, max_new_tokens=3)) == expected
    ids = encoding["input_ids"][0]
    pad = torch.zeros(2, dtype=torch.long)
    for parts in ((pad, ids), (ids, pad)):
        padded = {
            "input_ids": torch.cat(parts),
            "attention_mask": torch.cat([(part != 0).long() for part in parts]),
        }
        assert axis(chatml.generate(padded, max_new_tokens=3)) == expected
    vectors = torch.zeros(1, len(ids), 32)
    with pytest.raises(ValueError, match=naming("'inputs_embeds'", "leave")):
        chatml.generate({"input_ids": ids, "inputs_embeds": vectors}, max_new_tokens=3)
    with pytest.raises(ValueError, match=naming("input_ids", "dict")):
        chatml.generate({"inputs_embeds": torch.zeros(1, 3, 32)})
    with pytest.raises(ValueError, match=naming("attention_mask", "between")):
        chatml.generate({"input_ids": [5, 6, 7], "attention_mask": [1, 0, 1]})
