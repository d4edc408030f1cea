"""The coreference probe: every head's choices equal those read off the maps one at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers

from attnwidget import load_model
from attnwidget.corpus.resume_from import resume_from
from attnwidget.demo import demo_documents
from attnwidget.text.antecedents import BASELINES
from attnwidget.text.coreference import Document, load_coreference
from attnwidget.words.coreference import probe_coreference
from attnwidget.words.coreference_results import AMONG, KINDS, CoreferenceAccuracies
from fixtures.coreference_passages import PASSAGES
from fixtures.vocabularies import MAKERS
from references import reference_coreference as reference
from refusals import naming

DOCUMENTS = [
    Document.from_spans(p.words, p.spans, tags=p.tags, governors=p.governors, name=p.name)
    for p in PASSAGES
]


@pytest.fixture(scope="module")
def found(model: Any) -> CoreferenceAccuracies:
    return probe_coreference(model, DOCUMENTS, progress=False)


def word_maps(model: Any, words: list[str]) -> np.ndarray:
    """[L, H, m, m] of one text, read alone."""
    attention = model.attend(words)
    owners = attention.stacks["self"].query.words
    groups = [[i for i, own in enumerate(owners) if own == word] for word in range(len(words))]
    shape = (model.n_layers, model.n_heads)
    return np.array(
        [
            [reference.word_map(attention.weights(layer, head), groups) for head in range(shape[1])]
            for layer in range(shape[0])
        ]
    )


def check_choices(model: Any, result: CoreferenceAccuracies) -> int:
    """Compare every choice of every head; returns how many were compared."""
    compared = 0
    for index, document in enumerate(result.documents):
        choices = result.choices(index)
        mentions = [(m.start, m.end, m.cluster, m.head) for m in document.mentions]
        row = 0
        for start, end in choices.windows:
            maps = word_maps(model, list(document.words[start:end]))
            for mention, right, preceding in reference.evaluated(mentions, start, end):
                own = mention[3] - start
                for variant, allowed in enumerate(
                    [range(end - start), sorted({m[3] - start for m in preceding})]
                ):
                    for layer, head in np.ndindex(maps.shape[:2]):
                        weights = maps[layer, head, own]
                        word, margin = reference.chosen_word(weights, own, allowed)
                        at = (row, variant, layer, head)
                        assert choices.weights[at] == pytest.approx(weights[word], abs=1e-5)
                        if margin > 1e-5:
                            assert choices.words[at] == word + start
                            heads = [m[3] for m in right]
                            assert choices.correct[at] == (word + start in heads)
                            compared += 1
                row += 1
        assert row == len(choices.mentions)
    return compared


def test_choices_equal_the_reference(model: Any, found: CoreferenceAccuracies) -> None:
    assert check_choices(model, found) > 0.95 * found.chosen.size


def test_table_counts_what_was_worked_out_by_hand(found: CoreferenceAccuracies) -> None:
    answers = [
        (document.mentions, one.mention, PASSAGES[one.document].answers)
        for one in found.evaluated
        for document in [found.documents[one.document]]
    ]
    expected = np.zeros((3, 4), int)
    counts = np.zeros(4, int)
    rows = [list(answers_of.values()) for answers_of in [p.answers for p in PASSAGES]]
    flat = [row for passage in rows for row in passage]
    assert len(flat) == len(answers)
    for (mentions, index, _), row in zip(answers, flat, strict=True):
        columns = [0, KINDS.index(mentions[index].kind)]
        counts[columns] += 1
        for system, chosen in enumerate(row):
            expected[system, columns] += chosen is not None and chosen.startswith("*")
    assert counts.tolist() == found.counts.tolist() == [16, 12, 0, 4]
    assert np.array_equal(found.baseline_correct, expected)
    table = found.table()
    assert list(table.columns[:4]) == list(KINDS)
    assert list(table.index[:3]) == ["nearest", "head match", "rule-based"]
    assert table.iloc[0, 0] == pytest.approx(6 / 16)
    assert np.isnan(table.loc["nearest", "proper"])


def test_best_head_is_the_last_of_the_largest(found: CoreferenceAccuracies) -> None:
    for variant, among in enumerate(AMONG):
        best = found.best_head(among)
        values = found.accuracy[variant, ..., 0]
        assert values[best.layer, best.head] == values.max()
        ties = np.argwhere(values == values.max())
        assert (best.layer, best.head) == tuple(ties[-1])
        row = found.table(among).iloc[3]
        assert row.name == f"best head {best}" and row["all"] == values.max()


def test_result_shows_its_definitions_and_its_heads(found: CoreferenceAccuracies) -> None:
    assert found.definitions in repr(found) and "16 all" in repr(found)
    heads = found.heads()
    assert list(heads)[:2] == ["coreference", "coreference, pronoun"]
    assert not any("proper" in title for title in heads)
    assert np.array_equal(heads["coreference among mentions"], found.accuracy[1, ..., 0])
    frame = found.to_frame()
    assert len(frame) == len(heads) * found.chosen[0, 0].size
    assert found.chart().to_dict() and found.chart("mentions").to_dict()


def test_choices_are_found_by_document_name_and_index(found: CoreferenceAccuracies) -> None:
    document = DOCUMENTS[3]
    by_index = found.choices(3)
    for key in (document, document.name):
        assert found.choices(key).mentions == by_index.mentions
    assert by_index.baselines["nearest"].tolist() == [1, 2]
    assert by_index.baselines["head match"].tolist() == [-1, -1]
    with pytest.raises(KeyError, match=naming("'another'", "10 documents")):
        found.choices("another")
    with pytest.raises(KeyError, match=naming("Ann", "10 documents")):
        found.choices(Document.from_spans(["Ann"], [], name="Ann"))


@pytest.mark.slow
def test_batches_change_nothing(model: Any, found: CoreferenceAccuracies) -> None:
    alone = probe_coreference(model, DOCUMENTS, batch_size=1, progress=False)
    assert np.allclose(alone.weights, found.weights, atol=1e-6)
    assert np.mean(alone.chosen != found.chosen) < 0.01


@pytest.mark.slow
def test_a_resume_file_goes_on_and_knows_its_study(
    model: Any, found: CoreferenceAccuracies, tmp_path: Path
) -> None:
    path = tmp_path / "study.npz"
    with resume_from(path):
        probe_coreference(model, DOCUMENTS, progress=False)
        again = probe_coreference(model, DOCUMENTS, progress=False)
    assert np.array_equal(again.chosen, found.chosen)
    assert np.array_equal(again.correct, found.correct)
    other = [replace(d, mentions=d.mentions[:2]) for d in DOCUMENTS]
    with (
        resume_from(path),
        pytest.raises(ValueError, match=naming("'coreference'", "study.npz", "another")),
    ):
        probe_coreference(model, other[:9], progress=False)


def long_document(n: int = 12) -> Document:
    """The first passage again and again, every time of the same captain."""
    passage = PASSAGES[0]
    m = len(passage.words)
    spans = [(s + i * m, e + i * m, f"{c}{i if c == 'b' else ''}") for i in range(n)
             for s, e, c in passage.spans]  # fmt: skip
    return Document.from_spans(
        passage.words * n,
        spans,
        tags=passage.tags * n,
        sentence_starts=[i * m for i in range(n)],
        name="long",
    )


@pytest.mark.slow
def test_windows_split_a_long_document(model: Any) -> None:
    document = long_document()
    m = len(PASSAGES[0].words)
    first = probe_coreference(model, [document], max_tokens=32, progress=False)
    assert first.choices(0).windows == ((0, 30),)  # 30 words of one token each, [CLS] and [SEP]
    every = probe_coreference(model, [document], windows="all", max_tokens=29, progress=False)
    windows = every.choices("long").windows
    assert windows == tuple((i * m, (i + 2) * m) for i in range(0, 12, 2))
    check_choices(model, every)
    # In each window "The captain" of its first sentence has nothing before it.
    starts = [document.mentions[i].start for i in every.choices(0).mentions]
    assert [s for s in starts if s % m == 0] == [(i + 1) * m for i in range(0, 12, 2)]


def test_a_window_ends_where_the_model_does(model: Any) -> None:
    with pytest.raises(ValueError, match=naming("max_tokens", "3 to 512", "513")):
        probe_coreference(model, DOCUMENTS, max_tokens=513, progress=False)
    with pytest.raises(ValueError, match=naming("max_tokens", "3 to 512", "got 2")):
        probe_coreference(model, DOCUMENTS, max_tokens=2, progress=False)


def test_ten_thousand_words_are_read_to_where_they_fit(model: Any) -> None:
    document = replace(long_document(1000), sentence_starts=(0,))
    found = probe_coreference(model, [document], progress=False)
    assert found.choices(0).windows == ((0, 126),)


@pytest.mark.parametrize(
    ("documents", "options", "parts"),
    [
        ([], {}, ("mention", "0 documents")),
        ([Document.from_spans(["Ann"], [(0, 0, "a")])], {}, ("mention", "1 documents")),
        (DOCUMENTS, {"windows": "last"}, ("windows", "'first'", "'all'", "'last'")),
        (DOCUMENTS, {"max_tokens": 5}, ("mention", "10 documents", "antecedent")),
    ],
)
def test_what_cannot_be_probed_is_refused(
    model: Any, documents: Any, options: dict[str, Any], parts: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match=naming(*parts)):
        probe_coreference(model, documents, progress=False, **options)


def test_words_without_tokens_are_refused_or_left_out(model: Any) -> None:
    words = ["She", "said", "\u200b", "he", "knew", "her"]
    odd = Document.from_spans(words, [(0, 0, "a"), (3, 3, "b"), (5, 5, "a")], name="odd")
    with pytest.raises(
        ValueError,
        match=naming("odd", "words 1 to 6", "word 3", "'\\u200b'", "skip_unaligned=True"),
    ):
        probe_coreference(model, [odd, *DOCUMENTS], progress=False)
    found = probe_coreference(model, [odd, *DOCUMENTS], skip_unaligned=True, progress=False)
    assert (found.n_skipped, found.counts[0]) == (1, 16)
    assert "1 window left out" in repr(found) and found.complete
    assert found.choices("odd").mentions == ()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["roberta", "byte level", "sentencepiece"])
def test_other_vocabularies(kind: str) -> None:
    tokenizer = MAKERS[kind]()
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_attention_heads=4,
        num_hidden_layers=2,
        intermediate_size=48,
        max_position_embeddings=256,
    )
    small = load_model(transformers.BertModel(config), tokenizer)
    result = probe_coreference(small, DOCUMENTS, progress=False)
    assert check_choices(small, result) > 0.5 * result.chosen.size


@pytest.mark.slow
@pytest.mark.data
def test_gum(model: Any, data: Path) -> None:
    documents = load_coreference(data / "gum" / "en_gum-ccby.conllu.gz")[:4]
    result = probe_coreference(model, documents, progress=False)
    assert check_choices(model, result) > 0.99 * result.chosen.size


def test_the_table_of_the_paper_has_all_kinds_and_their_counts() -> None:
    model = load_model()
    documents = demo_documents()
    first, second = (
        probe_coreference(model, documents[part::2], progress=False) for part in (0, 1)
    )
    table = second.paper_table(choose=first)
    assert table.columns.tolist()[:4] == ["All", "Pronoun", "Proper", "Nominal"]
    assert table.columns.tolist()[4:] == [f"{kind} on GUM" for kind in table.columns[:4]]
    head = first.best_head()
    assert table.index.tolist() == [*BASELINES, f"head {head}", "mentions"]
    assert table.loc["mentions"].tolist()[:4] == [str(count) for count in second.counts]
    shares = second.table(choose=first)
    assert table.loc[f"head {head}", "All"] == f"{100 * shares.loc[f'head {head}', 'all']:.0f}"
    assert table["Proper"].tolist() == ["–", "–", "–", "–", "0"]
    on_gum = second.table()["all on GUM"]
    shown = f"(on GUM: {100 * on_gum.iloc[-1]:.0f} % and {100 * on_gum['rule-based']:.0f} %)"
    assert second.finding.endswith(shown)
    assert table.attrs["note"] == "head chosen on other documents"
