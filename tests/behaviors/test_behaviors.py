"""Scores of behaviors beside simple sums, on planted heads and on random weights."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel

from attnwidget import AttentionModel, load_model, make_segments, read_segments
from attnwidget import behaviors as folder
from attnwidget.behaviors import LinkBehavior, measure_behaviors
from attnwidget.behaviors.registry import family_of, known_behaviors
from attnwidget.behaviors.relations import relation_of_name
from attnwidget.behaviors.scores.behavior_table import BehaviorTable
from attnwidget.demo import demo_prose, demo_treebank
from attnwidget.kernels.link_controls import controls_at_offsets, controls_beside
from attnwidget.text.mentions import Document
from attnwidget.text.segments import Segment
from attnwidget.words import probe_relations
from attnwidget.words.relation_results import DIRECTIONS
from fixtures import planted_circuit as planted
from fixtures.on_workers import on_workers
from fixtures.vocabularies import word_tokenizer
from fixtures.zoo import VOCABULARY
from refusals import naming

QUIET: dict[str, Any] = {"progress": False, "batch_size": 4}
FEW = [
    "previous token",
    "rests on [SEP]",
    "rests on punctuation",
    "duplicate token",
    "within sentence",
    "broad",
]


@given(seed=st.integers(0, 2**31 - 1), n=st.integers(1, 6), causal=st.booleans())
def test_controls_equal_means_over_other_links(seed: int, n: int, causal: bool) -> None:
    random = np.random.default_rng(seed)
    visible = np.tril(np.ones((n, n), bool)) if causal else np.ones((n, n), bool)
    # All queries attend to the predicted keys, as for a kind of token.
    links = visible & (random.uniform(size=n) < 0.4)
    compared = random.uniform(size=n) < 0.9
    others = visible & ~links & compared
    weights = random.uniform(size=(n, n))
    n_seen = visible.sum(-1)
    expected = {controls_at_offsets: 0.0, controls_beside: 0.0}
    kept: dict[Any, set[tuple[int, int]]] = {control: set() for control in expected}
    for i, j in np.argwhere(links).tolist():
        offsets = [
            weights[k, k + j - i] * n_seen[k] / n_seen[i]
            for k in range(n)
            if 0 <= k + j - i < n and others[k, k + j - i]
        ]
        beside = [weights[i, k] for k in (j - 1, j + 1) if 0 <= k < n and others[i, k]]
        for control, pairs in ((controls_at_offsets, offsets), (controls_beside, beside)):
            if pairs:
                expected[control] += float(np.mean(pairs))
                kept[control].add((i, j))
    for control, total in expected.items():
        found, shares = control(*map(torch.from_numpy, (links, visible, compared)))
        assert {tuple(at) for at in found.nonzero().tolist()} == kept[control]
        assert float((torch.from_numpy(weights) * shares).sum()) == pytest.approx(total, abs=1e-5)


@given(seed=st.integers(0, 2**31 - 1), n=st.integers(3, 7), causal=st.booleans())
def test_controls_of_other_keys_are_a_fit_to_other_links(seed: int, n: int, causal: bool) -> None:
    random = np.random.default_rng(seed)
    visible = np.tril(np.ones((n, n), bool)) if causal else np.ones((n, n), bool)
    links = visible & (random.uniform(size=(n, n)) < 0.3)
    every = np.ones(n, bool)
    weights = random.uniform(size=(n, n))
    even = visible / visible.sum(-1, keepdims=True)
    others = visible & ~links
    query, key = np.nonzero(others)
    columns = np.concatenate(
        [np.eye(2 * n - 1)[key - query + n - 1], np.eye(n)[key], even[others][:, None]], axis=1
    )
    # The penalty of keys is a further row of the regression for each.
    penalties = np.zeros((n, columns.shape[1]))
    penalties[:, 2 * n - 1 : -1] = np.eye(n) * np.sqrt(0.1)
    small = np.zeros((1, columns.shape[1]))
    small[0, -1] = 1e-3
    rows = np.concatenate([columns, penalties, small])
    target = np.append(weights[others], np.zeros(n + 1))
    fit = np.linalg.lstsq(rows, target, rcond=1e-13)[0]
    of_keys = fit[2 * n - 1 : -1]
    mean_of_keys = of_keys[others.any(0)].mean() if others.any() else 0.0
    total = 0.0
    any_known = False
    for i, j in np.argwhere(links).tolist():
        if any(others[k, k + j - i] for k in range(n) if 0 <= k + j - i < n):
            any_known |= others[:, j].any()
            of_key = of_keys[j] if others[:, j].any() else mean_of_keys
            total += fit[j - i + n - 1] + of_key + fit[-1] * even[i, j]
    if not any_known:
        return  # the test above
    _, shares = controls_at_offsets(*map(torch.from_numpy, (links, visible, every)))
    assert float((torch.from_numpy(weights) * shares).sum()) == pytest.approx(total, abs=1e-3)


@pytest.mark.parametrize("causal", [False, True])
def test_heads_without_a_rule_have_no_excess(causal: bool) -> None:
    n = 40
    visible = torch.ones(n, n, dtype=torch.bool)
    visible = visible.tril() if causal else visible
    every = torch.ones(n, dtype=torch.bool)
    words = torch.randint(0, 8, (n,), generator=torch.Generator().manual_seed(0))
    copies = (words[:, None] == words) & ~torch.eye(n, dtype=torch.bool)
    texts = torch.arange(n) // (n // 2)
    even = visible / visible.sum(-1, keepdim=True)
    # With a causal mask, no query of the first text sees the keys of the second text.
    seen = (0, 3, n // 2 - 2) if causal else (0, 3, n // 2, n - 9)
    columns = [torch.eye(n)[key].expand(n, n) * visible for key in seen]
    near = torch.eye(n) / 2 + torch.eye(n).roll(-1, 1) / 2
    for links in ((texts[:, None] == texts) & visible, copies & visible):
        kept, shares = controls_at_offsets(links, visible, every)

        def excess(head: torch.Tensor, kept: Any = kept, shares: Any = shares) -> float:
            return float((head * (kept.float() - shares)).sum() / kept.any(-1).sum())

        for head in (even, near * visible, *columns, even / 3 + columns[1] / 3 + near / 3):
            # Keys of the second text then have the mean number of those of the first.
            assert (-0.5 if causal else -0.05) <= excess(head * visible) <= 0.05
        assert excess(links / links.sum(-1, keepdim=True).clamp_min(1)) >= 0.7


@pytest.fixture(scope="module")
def segments(model: AttentionModel) -> list[Segment]:
    return read_segments(demo_prose(), model, max_tokens=32, limit=13)


@pytest.fixture(scope="module")
def table(model: AttentionModel, segments: list[Segment]) -> BehaviorTable:
    return measure_behaviors(model, segments, FEW, n_random_models=0, **QUIET)


@pytest.mark.slow
def test_scores_equal_sums_over_whole_maps(
    model: AttentionModel, segments: list[Segment], table: BehaviorTable
) -> None:
    scores: list[dict[str, list[np.ndarray]]] = [{}, {}]
    for segment in segments:
        tokens = ["[CLS]", *segment.first, "[SEP]", *segment.second, "[SEP]"]
        ids = model.tokenizer.convert_tokens_to_ids(tokens)
        types = [0] * (len(segment.first) + 2) + [1] * (len(segment.second) + 1)
        inputs = {"input_ids": torch.tensor([ids]), "token_type_ids": torch.tensor([types])}
        weights = model.attend(inputs).weights()
        assert segment.document is not None
        half = scores[segment.document % 2]
        n = len(tokens)
        previous = np.mean([weights[:, :, i, i - 1] for i in range(1, n)], 0)
        half.setdefault("previous token", []).append(previous)
        ends = [i for i, token in enumerate(tokens) if token == "[SEP]"]
        # The link from the first token to the last has no other link at its offset.
        queries = [weights[:, :, i, [j for j in ends if i or j < n - 1]].sum(-1) for i in range(n)]
        half.setdefault("rests on [SEP]", []).append(np.mean(queries, 0))
    for name, of_half in scores[0].items():
        np.testing.assert_allclose(table[name].score, np.mean(of_half, 0), atol=1e-5)
        assert table[name].n == len(of_half)
    for name, of_half in scores[1].items():
        np.testing.assert_allclose(table[name].held_out, np.mean(of_half, 0), atol=1e-5)


def test_a_table_has_controls_intervals_and_tests(table: BehaviorTable) -> None:
    frame = table.to_frame()
    assert len(frame) == 72 * len(FEW)
    of_text = frame[frame["behavior"] != "broad"]
    assert of_text["score"].between(0, 1).all() and of_text["auc"].between(0, 1).all()
    assert (frame["low"] <= frame["score"] - frame["control"] + 1e-9).all()
    assert (frame["high"] >= frame["score"] - frame["control"] - 1e-9).all()
    named = frame[frame["behavior"] != "broad"]
    assert (named["adjusted"] >= named["p"]).all() and not frame.drop(named.index)["names"].any()
    assert frame["names"].any() and (frame[frame["names"]]["adjusted"] <= 0.05).all()
    assert set(np.unique(table.names)) <= {"", *FEW}
    assert table.chart() is not None and table.chart("rests on [SEP]") is not None
    with pytest.raises(KeyError, match=naming("'copying'", "previous token")):
        table["copying"]


@pytest.mark.slow
def test_workers_and_resume_files_give_the_same_bits(
    model: AttentionModel, segments: list[Segment], table: BehaviorTable, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"n_random_models": 0, **QUIET}
    with ThreadPoolExecutor(2) as pool:
        others = [on_workers(pool, measure_behaviors, model, segments, FEW, **options)]
    for _ in range(2):
        others.append(measure_behaviors(model, segments, FEW, resume=tmp_path, **options))
    for other in others:
        for first, second in zip(table.scores, other.scores, strict=True):
            for name in ("score", "control", "low", "p", "held_out", "auc"):
                np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@pytest.fixture(scope="module")
def circuit() -> AttentionModel:
    model = planted.planted_llama()
    return load_model(model, planted.planted_tokenizer(), name="planted circuit", device="cpu")


@pytest.fixture(scope="module")
def of_circuit(circuit: AttentionModel) -> BehaviorTable:
    texts = make_segments(planted.repeated_texts(24), circuit)
    return measure_behaviors(circuit, texts, treebank=(), **QUIET)


def test_planted_heads_are_named_and_no_other(of_circuit: BehaviorTable) -> None:
    names = of_circuit.names
    assert names[planted.PREVIOUS] == "previous token"
    names_of = [of_circuit.behaviors[d] for d in of_circuit.named.behaviors(*planted.INDUCTION)]
    assert {"induction", "induction (random tokens)", "copying"} <= set(names_of)
    assert {tuple(at) for at in np.argwhere(names != "").tolist()} == {
        planted.PREVIOUS,
        planted.INDUCTION,
    }
    assert {
        "relations",
        "coreference",
        "rests on [SEP]",
        "rests on [CLS]",
    } <= of_circuit.left_out.keys()


def random_model(seed: int, causal: bool) -> AttentionModel:
    torch.manual_seed(seed)
    if not causal:
        from attnwidget.probes.untrained_model import untrained_like

        return untrained_like(load_model(device="cpu"), seed=seed)
    config = GPT2Config(n_layer=3, n_head=4, n_embd=48, vocab_size=VOCABULARY, bos_token_id=0)
    return load_model(GPT2LMHeadModel(config), word_tokenizer(template=False), device="cpu")


def random_texts(model: AttentionModel, seed: int) -> list[Segment]:
    random = np.random.default_rng(seed)
    lengths = random.integers(20, 40, 24)
    texts = [" ".join(f"w{i}" for i in random.integers(0, 60, length)) for length in lengths]
    return make_segments(texts, model)


def names_of_random_weights(seed: int, causal: bool) -> int:
    model = random_model(seed, causal)
    texts = random_texts(model, seed) if causal else None
    treebank = () if causal else demo_treebank()
    found = measure_behaviors(
        model, texts, treebank=treebank, n_random_models=2, seed=1000 + seed, **QUIET
    )
    return int((found.names != "").sum())


@pytest.mark.slow
def test_random_weights_have_no_name() -> None:
    assert names_of_random_weights(0, causal=True) == 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_few_of_twenty_models_with_random_weights_have_a_name() -> None:
    named = [names_of_random_weights(seed, causal=True) > 0 for seed in range(20)]
    named += [names_of_random_weights(seed, causal=False) > 0 for seed in range(1)]
    assert sum(named) <= 1


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("spread", [0.02, 0.2])
def test_few_of_twenty_encoders_with_random_weights_have_a_name(
    model: AttentionModel, spread: float
) -> None:
    """Random weights with a spread of 0.2 give maps with large and small weights."""
    texts = read_segments(demo_prose(), model, max_tokens=48, limit=24)
    named = 0
    for seed in range(20):
        torch.manual_seed(seed)
        config = BertConfig(
            vocab_size=len(model.tokenizer),
            hidden_size=48,
            intermediate_size=48,
            num_hidden_layers=3,
            num_attention_heads=4,
            initializer_range=spread,
        )
        random = load_model(BertForMaskedLM(config), model.tokenizer, device="cpu")
        found = measure_behaviors(
            random, texts, treebank=demo_treebank()[:80], seed=1000 + 10 * seed, **QUIET
        )
        assert {"rests on [SEP]", "rare words", "noun to its determiner"} <= set(found.behaviors)
        named += bool((found.names != "").any())
    assert named <= 1


@pytest.mark.slow
def test_names_of_relations_agree_with_the_probe(model: AttentionModel) -> None:
    found = measure_behaviors(model, (), ["relations"], **QUIET)
    probed = probe_relations(model, demo_treebank()[::2], progress=False)
    for score in found.scores:
        relation, name_of_direction = relation_of_name(score.name) or ("", "")
        direction = DIRECTIONS.index(name_of_direction)
        r = probed.relations.index(relation)
        assert probed.counts[r] == score.n >= 20
        np.testing.assert_array_equal(score.score, probed.accuracy[:, :, direction, r])
        assert score.control[0, 0] == probed.baseline[r]
        number = found.behaviors.index(score.name)
        significant = found.named.significant[number]
        # The family of the atlas is smaller than that of the probe, which tests rare relations too.
        strong = (probed.p_values[:, :, direction, r] <= 0.05) & (score.strength >= 0.25)
        assert (strong <= significant).all()
    assert "determiner to its noun" in found.names


def test_coreference_takes_documents(model: AttentionModel) -> None:
    words = [
        "The",
        "captain",
        "told",
        "his",
        "men",
        "that",
        "the",
        "captain",
        "would",
        "not",
        "leave",
        ".",
    ]
    spans = [(0, 1, "captain"), (3, 3, "captain"), (3, 4, "men"), (6, 7, "captain")]
    documents = [Document.from_spans(words, spans) for _ in range(4)]
    found = measure_behaviors(model, (), ["coreference"], documents=documents, **QUIET)
    (score,) = found.scores
    assert (score.unit, score.n, score.held_out_n) == ("mention", 4, 4)
    assert ((score.score >= 0) & (score.score <= 1)).all()


@pytest.mark.slow
def test_a_behavior_of_a_user_is_scored_like_the_others(model: AttentionModel) -> None:
    class ToCapitals(LinkBehavior):
        name = "the"
        description = "attends to the word the"
        source = "this test"

        def links(self, batch: Any) -> torch.Tensor:
            member = batch.inputs["input_ids"] == model.tokenizer.convert_tokens_to_ids("the")
            return member[:, None].expand(-1, member.shape[1], -1)

    texts = read_segments(demo_prose(), model, max_tokens=24, limit=8)
    found = measure_behaviors(
        model, texts, [ToCapitals(), "rests on [SEP]"], n_random_models=1, **QUIET
    )
    assert found.behaviors == ("the", "rests on [SEP]")
    assert np.isfinite(found["the"].random) and found["the"].rule is not None


def test_behaviors_have_names_sources_and_descriptions() -> None:
    known = known_behaviors()
    assert len({behavior.name for behavior in known}) == len(known)
    assert all(b.source and b.description for b in known)
    for behavior in known:
        assert behavior.gives_name(behavior.name) or behavior.name == "relations"
        assert not behavior.gives_name("another name")


ONE_FILE = """
import torch

from attnwidget.behaviors.behavior import LinkBehavior


class ToTheEnd(LinkBehavior):
    name = "last token"
    description = "attends to the last token"
    source = "this test"
    family = "neighbor"

    def links(self, batch):
        places = torch.arange(batch.real.shape[1], dtype=torch.long, device=batch.real.device)
        last = places == batch.lengths[:, None] - 1
        return last[:, None].expand(-1, len(places), -1)


BEHAVIORS = (ToTheEnd(),)
"""


def test_a_file_in_the_folder_is_a_behavior_of_the_package(
    model: AttentionModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = known_behaviors()
    (tmp_path / "added_file.py").write_text(ONE_FILE, "utf-8")
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
    for found in (known_behaviors, family_of):
        found.cache_clear()
    try:
        assert known_behaviors()[:-1] == before and known_behaviors()[-1].name == "last token"
        assert family_of("last token") == "neighbor"
        texts = make_segments(["The cat sat on the mat.", "It slept there."] * 4, model)
        asked = {"treebank": (), "n_random_models": 0, "progress": False}
        table = measure_behaviors(model, texts, ["last token", "rests on [CLS]"], **asked)
        assert table["last token"].description == "attends to the last token"
        np.testing.assert_array_less(0, table["last token"].score)
    finally:
        sys.modules.pop("attnwidget.behaviors.added_file", None)
        for found in (known_behaviors, family_of):
            found.cache_clear()


def test_unclear_requests_are_refused(model: AttentionModel, segments: list[Segment]) -> None:
    for behaviors, parts in (
        (["nothing"], ("'nothing'", "previous token")),
        ([], ("behaviors", "[]")),
        (["broad", "broad"], ("behaviors", "'broad'", "each")),
        (["induction"], ("induction", "later tokens")),
    ):
        with pytest.raises(ValueError, match=naming(*parts)):
            measure_behaviors(model, segments, behaviors, **QUIET)
    with pytest.raises(TypeError, match=naming("3", "LinkBehavior", "Behavior")):
        measure_behaviors(model, segments, [3], **QUIET)  # type: ignore[list-item]
    with pytest.raises(ValueError, match=naming("broad", "no texts")):
        measure_behaviors(model, (), ["broad"], **QUIET)
