"""The pairs and the texts with a genre that come with the package, and what models make of them."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest
from scipy.stats import binomtest

from attnwidget import load_model
from attnwidget.demo import demo_genres, demo_minimal_pairs
from attnwidget.interventions import measure_minimal_pairs
from refusals import naming

PARADIGMS = [
    "anaphor_number_agreement",
    "anaphor_gender_agreement",
    "regular_plural_subject_verb_agreement_1",
    "irregular_plural_subject_verb_agreement_2",
    "determiner_noun_agreement_1",
]
ROOT = Path(__file__).parents[2]


def lines_of(name: str) -> list[dict[str, str]]:
    text = files("attnwidget").joinpath(f"demo/{name}").read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_pairs_are_sixty_of_each_paradigm_and_of_one_piece() -> None:
    assert Counter(pair.phenomenon for pair in demo_minimal_pairs()) == dict.fromkeys(PARADIGMS, 60)
    assert demo_minimal_pairs(PARADIGMS[2]) == demo_minimal_pairs()[120:180]
    tokenizer = load_model(device="cpu").tokenizer
    for pair in demo_minimal_pairs():
        (good,), (bad,) = pair.differing
        assert [len(tokenizer.tokenize(word.strip("."))) for word in (good, bad)] == [1, 1]
    with pytest.raises(ValueError, match=naming("'anaphor'", "'anaphor_number_agreement'")):
        demo_minimal_pairs("anaphor")


@pytest.mark.slow
@pytest.mark.parametrize("paradigm", PARADIGMS)
def test_the_embedded_model_tells_most_pairs(paradigm: str) -> None:
    found = measure_minimal_pairs(
        load_model(device="cpu"), demo_minimal_pairs(paradigm), progress=False
    )
    assert binomtest(int(found.right.sum()), 60, alternative="greater").pvalue < 0.01


def test_no_pair_is_of_those_that_heads_were_chosen_on() -> None:
    entries = lines_of("pairs.jsonl")
    assert all(set(one) == {"sentence_good", "sentence_bad", "UID", "pairID"} for one in entries)
    assert min(int(one["pairID"]) for one in entries) >= 200
    assert len({(one["UID"], one["pairID"]) for one in entries}) == 300


@pytest.mark.data
def test_pairs_are_blimps(data: Path) -> None:
    for paradigm in PARADIGMS:
        with gzip.open(data / "blimp" / f"{paradigm}.jsonl.gz", "rt", encoding="utf-8") as file:
            source = {one["pairID"]: one for one in map(json.loads, file)}
        own = [one for one in lines_of("pairs.jsonl") if one["UID"] == paradigm]
        assert all(one.items() <= source[one["pairID"]].items() for one in own)


def test_the_licence_of_the_pairs_is_said() -> None:
    for path in ("LICENSE", "attnwidget/demo/README.md"):
        text = (ROOT / path).read_text(encoding="utf-8")
        assert "pairs.jsonl" in text and "Warstadt" in text
        assert "creativecommons.org/licenses/by/4.0" in text
    assert "CC-BY-4.0" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_sibling_tells_genres_better_than_chance() -> None:
    model = load_model("attnwidget/genre", device="cpu")
    examples = demo_genres()
    labels = set(model.hf_model.config.label2id)
    assert Counter(genre for _, genre in examples) == dict.fromkeys(labels, 16)
    assert len({text for text, _ in examples}) == 80
    said = [model.predict(text).to_frame()["answer"][0] for text, _ in examples]
    right = sum(answer == genre for answer, (_, genre) in zip(said, examples, strict=True))
    assert right == 59, "attnwidget/demo/README.md says how many"
    assert binomtest(right, 80, 0.2, alternative="greater").pvalue < 1e-9


@pytest.mark.data
def test_no_text_is_of_those_that_the_sibling_learned_from(data: Path) -> None:
    def sentences(text: str) -> set[str]:
        parts = re.split(r"(?<=[.!?]) ", text.lower())
        return {one for one in parts if len(one.split()) > 5}

    known: set[str] = set()
    for part in ("train", "dev"):
        path = data / "ewt" / f"en_ewt-ud-{part}.conllu.gz"
        with gzip.open(path, "rt", encoding="utf-8") as file:
            for line in file:
                if line.startswith("# text = "):
                    known |= sentences(line.removeprefix("# text = ").strip())
    assert len(known) > 8_000
    assert not set().union(*(sentences(text) for text, _ in demo_genres())) & known
