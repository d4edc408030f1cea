"""Inputs of which only a part is read: everything that is made of them says so."""

from __future__ import annotations

import importlib
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from attnwidget import (
    Attention,
    AttentionModel,
    HeadGrid,
    HeadScatter,
    HeadView,
    LinkView,
    PredictionView,
    Segment,
    behaviors,
    compare,
    load_model,
    make_segments,
    measure,
    measure_attention,
)
from attnwidget.interventions import gradient_effects, needed_links
from attnwidget.mechanisms import (
    direct_effects,
    explain_link,
    head_writes,
    key_biplot,
    link_factors,
    logit_lens,
    score_at_distances,
    score_sources,
    token_norms,
    wavelength_shares,
)
from attnwidget.metrics import (
    attention_flow,
    attention_rollout,
    measure_checkpoints,
    modality_shares,
)
from attnwidget.results import Result
from attnwidget.words import word_map_steps
from fixtures import zoo
from fixtures.vocabularies import word_tokenizer

pytestmark = pytest.mark.usefixtures("recording")

#: Words of a text, of which the model reads 64 tokens.
LONG = " ".join(f"w{i % 40}" for i in range(100))
SHORT = "w1 w2 w3 w4"
CUT = "cut to 64 of 100 tokens"
#: Functions with an attention or segments that return no result.
WITHOUT_RESULT = {"save_page", "with_rules"}


@pytest.fixture(scope="module")
def causal() -> AttentionModel:
    return load_model(zoo.build("llama"), word_tokenizer(template=False))


@pytest.fixture(scope="module")
def cut(causal: AttentionModel) -> Attention:
    return causal.attend(LONG, truncate=True)


@pytest.fixture(scope="module")
def segments(causal: AttentionModel) -> list[Segment]:
    return make_segments([LONG, SHORT, f"{SHORT} {SHORT}"], causal, max_tokens=6, truncate=True)


OF_ATTENTION: dict[str, Callable[[Attention], Any]] = {
    "measure_attention": lambda a: measure_attention(a, ["entropy"]),
    "scores": lambda a: a.scores(1, 2),
    "attention_flow": lambda a: attention_flow(a, queries=[5]),
    "attention_rollout": attention_rollout,
    "modality_shares": modality_shares,
    "explain_link": lambda a: explain_link(a, 1, 2, 9, 3),
    "link_factors": lambda a: link_factors(a, 1, 2, 9, 3),
    "score_at_distances": lambda a: score_at_distances(a, 1, 2, 9, 3, [1, 2]),
    "score_sources": lambda a: score_sources(a, 1, 2, 9, 3),
    "head_writes": lambda a: head_writes(a, 1, 2),
    "direct_effects": lambda a: direct_effects(a, 5, 6),
    "gradient_effects": lambda a: gradient_effects(a, 5, 6),
    "logit_lens": logit_lens,
    "needed_links": lambda a: needed_links(a, n_random_links=0),
    "token_norms": token_norms,
    "word_map_steps": lambda a: word_map_steps(a, 1, 2),
    "wavelength_shares": lambda a: wavelength_shares(a, 1),
    "key_biplot": lambda a: key_biplot([a], 1, 2),
    "predict": lambda a: a.reading.predict(),
    "change of predictions": lambda a: a.reading.predict([(1, 2, "self")]) - a.reading.predict(),
}
OF_SEGMENTS: dict[str, Callable[[AttentionModel, list[Segment]], Any]] = {
    "measure": lambda m, s: measure(m, s, ["entropy"], progress=False),
    "measure_checkpoints": lambda m, s: measure_checkpoints([m], s, ["entropy"], progress=False),
    "compare": lambda m, s: compare(m, m, s, progress=False),
    "head_examples": lambda m, s: behaviors.head_examples(m, s, n_examples=2, progress=False),
    "find_links": lambda m, s: behaviors.find_links(
        m, s, regex="(?P<query>w3) (?P<key>w4)", progress=False
    ),
    "measure_behaviors": lambda m, s: behaviors.measure_behaviors(
        m, s, behaviors=["previous token"], n_random_models=0, progress=False
    ),
}


def results_of(made: Any) -> list[Result]:
    return list(made.values()) if hasattr(made, "values") else [made]


def assert_said(made: Any, remark: str) -> None:
    assert remark in repr(made)
    for result in results_of(made):
        assert isinstance(result, Result)
        assert remark in repr(result) and remark in result.note and result.cut == remark
        assert result.to_frame().attrs["note"] == result.note
        described = result.chart().to_dict()
        assert remark in str(described["title"]) and remark in described["description"]


@pytest.mark.parametrize("name", OF_ATTENTION)
def test_a_result_of_a_cut_text_says_so(name: str, cut: Attention) -> None:
    assert_said(OF_ATTENTION[name](cut), CUT)


@pytest.mark.parametrize("name", OF_SEGMENTS)
def test_a_study_of_cut_segments_says_so(
    name: str, causal: AttentionModel, segments: list[Segment]
) -> None:
    assert [segment.n_cut for segment in segments] == [94, 0, 2]
    assert_said(OF_SEGMENTS[name](causal, segments), "2 inputs cut to 12 of 108 tokens")


@pytest.mark.parametrize("name", ["measure_attention", "scores", "predict"])
def test_a_result_of_a_whole_text_says_nothing(name: str, causal: AttentionModel) -> None:
    for result in results_of(OF_ATTENTION[name](causal.attend(SHORT, truncate=True))):
        assert result.cut == "" and "cut" not in repr(result)
        assert "cut to" not in str(result.chart().to_dict())


def test_every_study_of_an_attention_or_of_segments_says_what_was_cut() -> None:
    """A walk over the public functions; a new one needs the decorator `says_cuts`."""
    studies = {}
    for module in ("", ".behaviors", ".interventions", ".mechanisms", ".metrics", ".words"):
        public = importlib.import_module(f"attnwidget{module}")
        for name in dir(public):
            function = getattr(public, name)
            if inspect.isfunction(function) and not name.startswith("_"):
                types = inspect.signature(function).parameters.values()
                read = [str(one.annotation).replace("AttentionModel", "") for one in types]
                if any("Attention" in one or "Segment" in one for one in read) or (
                    "segments" in inspect.signature(function).parameters
                ):
                    studies[name] = function
    assert len(studies) > 20
    silent = {name for name, study in studies.items() if not getattr(study, "says_cuts", False)}
    assert silent == WITHOUT_RESULT


FIGURES: dict[str, Callable[[Attention], Any]] = {
    "HeadGrid": HeadGrid,
    "HeadView": lambda a: HeadView(a, 1, 2),
    "HeadView, heads off": lambda a: HeadView(a, 1, 2, disabled=[(0, 3)]),
    "HeadView, versus": lambda a: HeadView(a, 1, 2, versus=a.disabled([(0, 3)])),
    "LinkView": lambda a: LinkView(a, 1, 2, query=9, key=3),
    "PredictionView": PredictionView,
}


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_of_a_cut_text_says_so(figure: str, cut: Attention) -> None:
    made = FIGURES[figure](cut)
    assert CUT in repr(made)
    assert any(CUT in note for note in made.caption.notes)
    drawn = made.figure()
    assert CUT in drawn.svg.partition("</desc>")[0], "the description of the picture"
    assert CUT in drawn.svg.partition("</desc>")[2], "the notes under the picture"


def test_a_map_of_heads_of_cut_segments_says_so(
    causal: AttentionModel, segments: list[Segment]
) -> None:
    found = measure(causal, segments, ["distances"], progress=False)
    assert "2 inputs cut to 12 of 108 tokens" in HeadScatter(found["distances"]).caption.text()


def test_what_is_made_of_a_cut_attention_says_so(cut: Attention, causal: AttentionModel) -> None:
    assert cut.cut == CUT and CUT in cut.note and CUT in repr(cut)
    assert CUT in cut.disabled([(1, 2)]).note
    assert CUT in pickle.loads(pickle.dumps(cut)).note
    assert CUT in cut.mean(each="layer").note
    assert CUT in cut.to_frame().attrs["note"]
    (batched,) = causal.attend_batch([LONG], truncate=True)
    assert batched.cut == CUT
    predictions = causal.predict(LONG, truncate=True)
    assert CUT in repr(pickle.loads(pickle.dumps(predictions)))


@pytest.mark.parametrize("text", [[5] * 100, LONG.split(), (LONG, SHORT)])
def test_ids_words_and_pairs_say_what_was_cut(text: Any, causal: AttentionModel) -> None:
    pair = isinstance(text, tuple)
    attention = causal.attend(*text if pair else [text], truncate=True)
    assert attention.cut == f"cut to 64 of {104 if pair else 100} tokens"


def test_an_encoder_decoder_says_which_of_its_texts_was_cut() -> None:
    model = load_model(zoo.build("bart"), word_tokenizer())
    attention = model.attend(LONG, target=LONG, truncate=True)
    limit = model.length_limit.tokens
    text, target = attention.cut.split(", ")
    assert text == f"cut to {limit} of 102 tokens"
    assert target.startswith(f"target cut to {limit} of 10")
    assert attention.disabled([(1, 2, "encoder")]).cut == attention.cut


def test_a_chat_says_what_was_cut(causal: AttentionModel) -> None:
    causal.tokenizer.chat_template = (
        "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    )
    messages = [{"role": "user", "content": LONG}]
    assert causal.attend(messages, truncate=True).cut == CUT
    (segment,) = make_segments([messages], causal, max_tokens=10, truncate=True)
    assert (len(segment), segment.n_cut) == (10, 90)
