"""Attention by role and by turn of chats, for one chat and over a corpus."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnwidget import (
    Attention,
    AttentionModel,
    compare,
    load_model,
    make_segments,
    measure,
    measure_attention,
)
from attnwidget.behaviors import find_links, head_examples
from attnwidget.metrics import Classes, Roles
from attnwidget.results import RolesResult
from attnwidget.text.segments import Segment
from fixtures import zoo
from fixtures.chat_models import MESSAGES, TEMPLATES, chat_model, chat_tokenizer
from refusals import naming

SHORT: list[dict[str, Any]] = [
    {"role": "developer", "content": "Be brief."},
    {"role": "user", "content": "Why not?"},
    {"role": "assistant", "content": "Nobody told me."},
]
QUESTION = [{"role": "user", "content": "Why?"}]


@pytest.fixture(scope="module")
def model() -> AttentionModel:
    return chat_model("chatml", spread=8.0)


def of(attention: Attention, **options: Any) -> RolesResult:
    found = measure_attention(attention, [Roles(**options)])["roles"]
    assert isinstance(found, RolesResult)
    return found


def by_hand(attention: Attention, queries: list[int]) -> dict[str, np.ndarray[Any, Any]]:
    """The mean attention to each class, from whole maps."""
    tokens = attention.stacks["self"].query
    rows = attention.weights()[:, :, queries].astype(np.float64).mean(2)
    names = ["first token", *tokens.roles[1:]]
    return {
        name: rows[..., [i for i, n in enumerate(names) if n == name]].sum(-1)
        for name in dict.fromkeys(names)
    }


@pytest.mark.parametrize("template", TEMPLATES)
def test_shares_of_twelve_turns_are_sums_of_weights_and_sum_to_1(template: str) -> None:
    attention = chat_model(template, spread=8.0).attend(MESSAGES)
    tokens = attention.stacks["self"].query
    found = of(attention)
    queries = [place for place, role in enumerate(tokens.roles) if role == "assistant"]
    expected = by_hand(attention, queries)
    assert set(expected) == {"system", "user", "assistant", "tool", "template", "first token"}
    for name, share in expected.items():
        np.testing.assert_allclose(found.shares[found.names.index(name)], share, atol=1e-6)
        np.testing.assert_allclose(found.heads()[f"to {name}"], share, atol=1e-6)
    np.testing.assert_allclose(found.shares.sum(0), 1, atol=1e-6)
    assert found.turns == [2, 4, 6, 8, 10]
    for turn in found.turns:
        of_turn = by_hand(attention, [i for i in queries if tokens.turns[i] == turn])
        at = found.names.index("system")
        np.testing.assert_allclose(found.by_turn[turn, at], of_turn["system"], atol=1e-6)
        np.testing.assert_allclose(found.by_turn[turn].sum(0), 1, atol=1e-6)
        np.testing.assert_allclose(found.even_by_turn[turn].sum(), 1, atol=1e-6)
    assert np.isnan(found.by_turn[3]).all()
    outside = [found.names.index(name) for name in ("template", "first token")]
    around = found.shares[outside].sum(0)
    np.testing.assert_allclose(found.to_turns.sum(0) + around, 1, atol=1e-6)
    rows = attention.weights()[:, :, queries].mean(2)
    of_user = [place for place, turn in enumerate(tokens.turns) if turn == 7]
    np.testing.assert_allclose(found.to_turns[7], rows[..., of_user].sum(-1), atol=1e-6)


def test_the_share_of_a_learned_sink_is_a_class_of_its_own(model: AttentionModel) -> None:
    tokenizer = chat_tokenizer("chatml")
    hf_model = zoo.build("gpt-oss", positions=512)
    hf_model.resize_token_embeddings(len(tokenizer))
    with_sinks = load_model(hf_model, tokenizer, device="cpu")
    attention = with_sinks.attend(MESSAGES)
    whole = of(attention)
    tokens = attention.stacks["self"].query
    queries = [place for place, role in enumerate(tokens.roles) if role == "assistant"]
    left = 1 - attention.weights()[:, :, queries].astype(np.float64).sum(-1).mean(-1)
    assert left.max() > 0.2
    np.testing.assert_allclose(whole.heads()["to sink"], left, atol=1e-5)
    np.testing.assert_allclose(whole.shares.sum(0), 1, atol=1e-6)
    np.testing.assert_allclose(whole.by_turn[4].sum(0), 1, atol=1e-6)
    for name, share in by_hand(attention, queries).items():
        np.testing.assert_allclose(whole.heads()[f"to {name}"], share, atol=1e-5)
    assert "the sink by turn" in str(whole.turn_chart("sink").to_dict())
    chats = make_segments([MESSAGES, SHORT], with_sinks)
    both = measure(with_sinks, chats, [Roles()], progress=False)["roles"]
    assert both.with_class[both.names.index("sink")] == 2
    without = of(model.attend(MESSAGES))
    assert "to sink" not in without.heads() and not without.shares[-1].any()


def test_a_corpus_is_the_mean_of_its_chats(model: AttentionModel) -> None:
    chats = [MESSAGES, SHORT, MESSAGES[:7]]
    each = [of(model.attend(chat)) for chat in chats]
    segments = make_segments(chats, model)
    found = measure(model, segments, [Roles()], progress=False)["roles"]
    np.testing.assert_allclose(found.shares, np.mean([one.shares for one in each], 0), atol=1e-6)
    second = np.mean([one.by_turn[2] for one in each], 0)
    np.testing.assert_allclose(found.by_turn[2], second, atol=1e-6)
    # Only the first chat has a tenth turn.
    np.testing.assert_allclose(found.by_turn[10], each[0].by_turn[10], atol=1e-6)
    assert found.with_turn[[2, 6, 10]].tolist() == [3, 2, 1]
    tools = [{"type": "function", "function": {"name": "get_weather"}}]
    rows = [{"messages": chat, "tools": None} for chat in chats]
    again = measure(model, rows, [Roles()], progress=False)["roles"]
    np.testing.assert_array_equal(again.shares, found.shares)
    with_tools = measure(model, [{"messages": SHORT, "tools": tools}], [Roles()], progress=False)
    alone = of(model.attend(SHORT, tools=tools))
    np.testing.assert_allclose(with_tools["roles"].shares, alone.shares, atol=1e-6)


def test_a_segment_of_a_chat_has_the_ids_and_roles_that_attend_reads(
    model: AttentionModel,
) -> None:
    (segment,) = make_segments([MESSAGES], model)
    tokens = model.attend(MESSAGES).stacks["self"].query
    assert (segment.first, segment.roles, segment.turns) == (
        tokens.raw,
        tokens.roles,
        tokens.turns,
    )
    assert pickle.loads(pickle.dumps(segment)) == segment
    assert segment != Segment(segment.first)
    assert len(make_segments([MESSAGES], model, max_tokens=9, truncate=True)[0].roles) == 9
    with pytest.raises(ValueError, match=naming("max_tokens", "9", "truncate=True")):
        make_segments([MESSAGES], model, max_tokens=9)
    with pytest.raises(TypeError, match=naming("chat", "[chat]")):
        make_segments(MESSAGES, model)
    found = compare(
        model, chat_model("chatml", spread=1.0), make_segments([MESSAGES, SHORT], model)
    )
    assert found.n_segments == 2
    examples = head_examples(model, make_segments([SHORT] * 2, model), n_examples=1, progress=False)
    assert examples.n_segments == 2


def test_long_chats_have_the_same_shares_without_maps(model: AttentionModel) -> None:
    chat = [*MESSAGES[:11], *(message for _ in range(4) for message in MESSAGES[1:11])]
    long, whole = model.attend(chat, long=True), model.attend(chat, long=False)
    assert long.is_long and not whole.is_long
    expected = of(whole)
    np.testing.assert_allclose(of(long).shares, expected.shares, atol=1e-5)
    longer = chat + MESSAGES[1:11] * 6
    segments = make_segments([longer], model)
    assert len(segments[0]) > 1024
    found = measure(model, segments, [Roles()], progress=False)["roles"]
    alone = of(model.attend(longer, long=False))
    np.testing.assert_allclose(found.shares, alone.shares, atol=1e-5)
    np.testing.assert_allclose(found.by_turn, alone.by_turn, atol=1e-5)
    assert alone.n_longer == 1 and len(alone.turns) == 19
    assert "turns from 40 on of 1 chat left out" in alone.turn_chart().to_json()


def test_queries_can_be_chosen(model: AttentionModel) -> None:
    attention = model.attend(MESSAGES)
    tokens = attention.stacks["self"].query
    n = len(tokens)
    chosen = {
        "user": [i for i in range(n) if tokens.roles[i] == "user"],
        "all tokens": list(range(n)),
        "last token": [n - 1],
    }
    for queries, places in chosen.items():
        found = of(attention, queries=queries)
        expected = by_hand(attention, places)["system"]
        np.testing.assert_allclose(found.heads()["to system"], expected, atol=1e-6)
        assert queries.removesuffix("s") in found.queries
    # The last token writes the next message.
    assert of(attention, queries="last token").turns == [12]
    question = model.attend(QUESTION)
    np.testing.assert_allclose(
        of(question).shares, of(question, queries="last token").shares, atol=1e-6
    )
    assert of(question).turns == [1]
    assert np.isnan(of(question, queries="tool").shares).all()
    with pytest.raises(ValueError, match=naming("queries", "'robot'")):
        Roles("robot")
    with pytest.raises(ValueError, match=naming("max_turns", "got 0")):
        Roles(max_turns=0)
    with pytest.raises(TypeError, match=naming("max_turns", "2.5")):
        Roles(max_turns=2.5)


def test_other_names_of_roles_are_known() -> None:
    model = chat_model("chatml")
    critic = [*SHORT, {"role": "critic", "content": "Good."}]
    later = [*critic, {"role": "assistant", "content": "Yes."}]
    found = of(model.attend(later))
    assert (found.shares[found.names.index("other roles")] > 0).all()
    assert (found.heads()["to system"] > 0).all()
    np.testing.assert_allclose(found.shares.sum(0), 1, atol=1e-6)


def test_even_attention_is_the_share_of_tokens(model: AttentionModel) -> None:
    found = of(model.attend(SHORT), queries="last token")
    tokens = model.attend(SHORT).stacks["self"].query
    share = sum(role == "developer" for role in tokens.roles) / len(tokens)
    assert found.even[found.names.index("system")] == pytest.approx(share, abs=1e-6)


def test_roles_are_classes_of_every_metric_with_classes(model: AttentionModel) -> None:
    segments = make_segments([MESSAGES, SHORT], model)
    classes = Classes({"prompt": "role=system|developer", "tools": "role=tool"})
    found = measure(model, segments, [classes, Roles("all tokens")], progress=False)
    roles = found["roles"].heads()
    np.testing.assert_allclose(found["classes"].heads()["to prompt"], roles["to system"], atol=1e-6)
    np.testing.assert_allclose(found["classes"].heads()["to tools"], roles["to tool"], atol=1e-6)
    alone = measure_attention(model.attend(MESSAGES), [classes])["classes"]
    assert alone.with_class["tools"] == 1
    assert classes.options["classes"]["tools"] == ["role=tool"]
    with pytest.raises(ValueError, match=naming("make_segments", "roles", "chats")):
        measure(model, make_segments(["Why not?"], model), [classes], progress=False)
    with pytest.raises(ValueError, match=naming("'role=…'", "'system'")):
        measure(model, segments, [Classes({"prompt": "system"})], progress=False)


def test_links_are_found_by_roles(model: AttentionModel) -> None:
    segments = make_segments([SHORT], model)
    found = find_links(
        model, segments, query="role=assistant", key="role=developer", progress=False
    )
    words = model.attend(SHORT).stacks["self"].query.to_words()
    counts = [sum(role == name for role in words.roles) for name in ("assistant", "developer")]
    assert found.n_places == counts[0] * counts[1] > 1
    both = find_links(model, segments, query="role=assistant", key="word=brief.|be", progress=False)
    assert 0 < both.n_places < found.n_places
    for texts in (make_segments(["Why not?"], model),):
        with pytest.raises(ValueError, match=naming("make_segments", "roles", "chats")):
            find_links(model, texts, query="role=user", key="word=why", progress=False)


def test_texts_without_roles_are_refused(model: AttentionModel) -> None:
    for attention in (model.attend("Why not?"), load_model(device="cpu").attend("The cat sat.")):
        with pytest.raises(ValueError, match=naming("make_segments", "roles", "chats")):
            of(attention)


def test_a_resume_file_belongs_to_the_roles_of_its_chats(
    model: AttentionModel, tmp_path: Path
) -> None:
    path = tmp_path / "roles.npz"
    segments = make_segments([SHORT, MESSAGES], model)
    options: dict[str, Any] = {"batch_size": 1, "resume": path, "progress": False}
    first = measure(model, segments, [Roles()], **options)["roles"]
    again = measure(model, segments, [Roles()], **options)["roles"]
    np.testing.assert_array_equal(first.by_turn, again.by_turn)
    with pytest.raises(ValueError):
        measure(model, segments, [Roles("user")], **options)
    renamed = [{**message, "role": "system"} for message in SHORT]
    assert make_segments([renamed], model)[0] != segments[0]


def test_charts_and_tables_name_roles_turns_and_heads(model: AttentionModel) -> None:
    found = of(model.attend(MESSAGES))
    chart = found.turn_chart().to_dict()
    rows = next(iter(chart["datasets"].values())) if "datasets" in chart else []
    rows = rows or chart["layer"][0]["data"]["values"]
    assert {row["x"] for row in rows} == {2, 4, 6, 8, 10}
    series = {row["series"] for row in rows}
    assert {"mean of heads", "even attention"} < series and len(series) == 5
    system = found.names.index("system")
    mean = next(r["value"] for r in rows if r["series"] == "mean of heads" and r["x"] == 10)
    assert mean == pytest.approx(found.by_turn[10, system].mean())
    named = found.turn_chart("user", heads=[(1, 2)]).to_json()
    assert "L1 H2" in named and "Attention to the user by turn" in named
    assert "to tool" in found.chart().to_json()
    assert "to tool" not in found.chart(["system", "user"]).to_json()
    table = found.turns_to_frame()
    sums = table.groupby(["turn", "layer", "head"])["share"].sum()
    assert len(sums) == 5 * 2 * 4
    np.testing.assert_allclose(sums, 1, atol=1e-6)
    for wrong in ("system prompt", "other roles"):
        with pytest.raises(ValueError, match=naming("no chat", "system")):
            found.turn_chart(wrong)
    with pytest.raises(ValueError, match=naming("layer 9", "'self'")):
        found.turn_chart(heads=[(9, 0)])
    with pytest.raises(TypeError, match=naming("heads", "'L1 H3'", "[3]")):
        found.turn_chart(heads=[3])
