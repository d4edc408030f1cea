"""The prose of stored notebooks fits their outputs and what the embedded models do."""

from __future__ import annotations

import bisect
import html
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnwidget import Attention, AttentionModel, ablate, load_model
from attnwidget.demo import demo_genres, demo_minimal_pairs, demo_probe

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SOURCES = [*sorted(NOTEBOOKS.glob("*.ipynb")), *sorted(NOTEBOOKS.glob("lessons/*.ipynb"))]

# A number with a point or a unit; whole numbers may count anything.
NUMBER = re.compile(
    r"(?<![\w.,×-])(?P<digits>\d*\.\d+|\d+)(?![\w]|[.,]\d)(?P<unit> ?%| points?(?!\w))?"
)
IN_OUTPUT = re.compile(r"\d[\d,]*\.?\d*(?:e-?\d+)?|\.\d+")
# Code, tables of papers, and citations have numbers of their own.
NOT_PROSE = re.compile(
    r"```.*?```|^\|.*?$|`[^`]*`|\([^)]*\b\d{4}\b[^)]*\)|[Ss]ections? \d[\d., and]*",
    re.DOTALL | re.MULTILINE,
)
HIDDEN = re.compile(r"<style.*?</style>|<script.*?</script>|<[^>]+>", re.DOTALL)
# Numbers that no output of the notebook has: of papers, of other models, of studies with data that
# the package does not include (each is in the documentation), and constants.
OF_PAPERS = {
    "02_what_does_bert_look_at": {
        *("4.2", "4.85", "3.8", "4.79", "82.5", "40.5", "34.5", "26.3", "94.3", "86.8"),
        # Section 3.3 of the paper, and accuracies of relations on EWT (docs, relations.md).
        *("3.89", "49.5", "47.5", "75.3"),
        *(".55", ".68", ".56", ".51", ".58", ".49", ".98", ".60", ".89", ".74"),
    },
    "03_norms": {
        *(".901", ".740", ".632", ".679", ".911", ".989"),
        *(".919", ".905", ".948", ".913", ".932", "1.051"),
    },
    "05_what_do_heads_do": {"95", "71.2", "1.5", "2.0", "6.1", "3.0", "4.0", "4.5"},
    "06_what_did_fine_tuning_change": {"0.201", "0.209", "0.037", "0.189", "0.043"},
    "07_is_syntax_in_the_maps": {"42.1"},  # the chain in UD German PUD
    "08_who_is_she": {"65.1", "78", "83"},  # also accuracies on GUM (docs, coreference.md)
    "01_what_attention_is": {"2.718"},
}


def cells_of(source: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(source.read_text("utf-8"))["cells"]
    return found


def prose_of(source: Path) -> str:
    cells = [cell for cell in cells_of(source) if cell["cell_type"] == "markdown"]
    return "\n\n".join("".join(cell["source"]) for cell in cells)


def output_texts(source: Path) -> Iterator[str]:
    """The texts of outputs: what is printed, tables of figures, and captions."""
    for cell in cells_of(source):
        for output in cell.get("outputs", ()):
            yield "".join(output.get("text", ()))
            for kind in ("text/plain", "text/html"):
                text = "".join(output.get("data", {}).get(kind, ()))
                yield html.unescape(HIDDEN.sub(" ", text))
            for described in output.get("metadata", {}).values():
                yield str(described.get("alt", "")) if isinstance(described, dict) else ""


def is_among(digits: str, unit: str, numbers: list[float]) -> bool:
    """Whether a number rounds to these digits; a share may be printed without per cent."""
    value, half = float(digits), 0.51 * 10.0 ** -len(digits.partition(".")[2])
    for scale in (1, 0.01) if unit else (1,):
        place = bisect.bisect_left(numbers, (value - half) * scale)
        if place < len(numbers) and numbers[place] <= (value + half) * scale:
            return True
    return False


@pytest.mark.parametrize("source", SOURCES, ids=[path.stem for path in SOURCES])
def test_numbers_of_the_prose_are_in_the_outputs(source: Path) -> None:
    printed = (
        match.group().replace(",", "")
        for text in output_texts(source)
        for match in IN_OUTPUT.finditer(text)
    )
    numbers = sorted({float(number) for number in printed})
    elsewhere = OF_PAPERS.get(source.stem, set())
    checked = [claim.sentence for claim in CLAIMS if claim.notebook == source.stem]
    prose = prose_of(source)
    for sentence in checked:
        prose = prose.replace(sentence, "")
    missing = [
        match.group()
        for match in NUMBER.finditer(NOT_PROSE.sub(" ", prose))
        if (match["unit"] or "." in match["digits"])
        and match["digits"] not in elsewhere
        and not is_among(match["digits"], match["unit"] or "", numbers)
    ]
    assert not missing, f"no output has {missing}: mend the prose, or print the number"


@dataclass(frozen=True)
class Facts:
    """What the embedded model does with the texts of the notebooks."""

    model: AttentionModel

    @cached_property
    def captain(self) -> Attention:
        text = "The captain told his men that he would not leave the ship until they were safe."
        return self.model.attend(text)

    @cached_property
    def woman(self) -> Attention:
        text = "The old woman opened the heavy door and saw her younger brother in the garden."
        return self.model.attend(text)

    def weight(self, attention: Attention, head: tuple[int, int], query: str, key: str) -> float:
        """Weight between the first tokens with these texts."""
        tokens = attention.tokens
        return float(attention.weights(*head)[tokens.index(query), tokens.index(key)])

    def most(self, attention: Attention, head: tuple[int, int], query: int) -> str:
        """The word at which a token looks most, without [CLS] and [SEP]."""
        row = attention.weights(*head)[query].copy()
        row[[token in ("[CLS]", "[SEP]") for token in attention.tokens]] = -1
        return attention.tokens[int(row.argmax())]


def captain_gets_little(facts: Facts) -> bool:
    tokens = facts.captain.tokens
    column = facts.captain.weights(1, 3)[:, tokens.index("captain")]
    others = [w for token, w in zip(tokens, column, strict=True) if token not in ("he", "his")]
    return max(others) < 0.16 and min(column[tokens.index("he")], column[tokens.index("his")]) > 0.5


def they_look_at_men_and_ship(facts: Facts) -> bool:
    row = facts.captain.weights(1, 3)[facts.captain.tokens.index("they")]
    return {facts.captain.tokens[i] for i in np.argsort(-row)[:2]} == {"men", "ship"}


def thirteen_heads(facts: Facts) -> bool:
    tokens = facts.captain.tokens
    he, captain = tokens.index("he"), tokens.index("captain")
    rows = facts.captain.weights()[:, :, he]
    words = rows[..., 1:-1].argmax(-1) + 1 == captain
    marked = rows[words & (rows[..., captain] >= 1.5 / len(tokens))]
    largest = np.sort(marked[:, captain])
    return (
        len(marked) == 13
        and (largest < 0.2).sum() == 5
        and round(100 * largest[-1]) == 59
        and largest[-1] > 1.5 * largest[-2]
        and (marked[:, 0] > marked[:, captain]).sum() == 7
    )


def children_get_most(facts: Facts) -> bool:
    pair = facts.model.attend(
        "Where did the children hide the money?", "They hid it under the stone by the gate."
    )
    places = range(len(pair.tokens))
    shares = [facts.weight(pair, (5, 2), query, "children") for query in ("did", "by")]
    return all(facts.most(pair, (5, 2), place) == "children" for place in places) and [
        round(100 * share) for share in shares
    ] == [57, 51]


def four_heads_of_grammar(facts: Facts) -> bool:
    tokens = facts.woman.tokens
    looks = {
        ((2, 8), tokens.index("in")): "garden",
        ((2, 8), tokens.index("the")): "woman",
        ((2, 0), tokens.index("door")): "opened",
        ((2, 0), tokens.index("brother")): "saw",
        ((2, 4), tokens.index("and")): "opened",
        ((2, 4), tokens.index("saw")): "opened",
        ((1, 3), tokens.index("her")): "woman",
    }
    return all(facts.most(facts.woman, head, query) == key for (head, query), key in looks.items())


def cells_of_would(facts: Facts) -> bool:
    tokens = facts.captain.tokens
    most = facts.captain.weights()[:, :, tokens.index("would")].argmax(-1)
    return tokens[most[0, 2]] == "he" and (most == 0).mean() > 0.5


def first_token_after_fine_tuning(facts: Facts) -> bool:
    text = [text for text, _ in demo_genres()[::2]][1]
    before = facts.model.attend(text)
    after = load_model("attnwidget/genre", device="cpu").attend(text)
    shares = [
        facts.weight(attention, (3, 9), "[CLS]", key)
        for attention, key in ((before, "[CLS]"), (after, "[CLS]"), (after, "##uit"))
    ]
    return [round(100 * share) for share in shares] == [97, 14, 29]


def baselines_of_the_probe(facts: Facts) -> bool:
    baselines = demo_probe().baselines
    found = [baselines["right-branching"].uas, baselines["untrained"].uas]
    return [round(100 * share, 1) for share in found] == [34.4, 9.6]


def regular_plurals_by_all_words(facts: Facts) -> bool:
    pairs = [pair for pair in demo_minimal_pairs() if pair.phenomenon.startswith("regular_plural")]
    score = "minimal pair, all words"
    found = ablate(facts.model, pairs, scoring=score, method="zero", heads=[(2, 8)], progress=False)
    shares = [found.intact.mean(), found.head_scores[2, 8].mean()]
    return [round(100 * float(share), 1) for share in shares] == [75.0, 73.3]


@dataclass(frozen=True)
class Claim:
    """A sentence of a notebook that no output shows, and whether it holds."""

    notebook: str
    sentence: str
    holds: Callable[[Facts], bool]


CLAIMS = [
    Claim(
        "01_quickstart",
        "Two rows are dark under *captain*: *his* and *he*. Every other word gives *captain* less "
        "than 16 %.",
        captain_gets_little,
    ),
    Claim(
        "01_quickstart",
        "*They* is divided between *men* and *ship*.",
        they_look_at_men_and_ship,
    ),
    Claim(
        "01_quickstart",
        "`L1 H3` has by far the largest weight, 59 %, and five of the thirteen have less than "
        "20 %. In seven of them *he* looks even more at `[CLS]`, which is hidden here.",
        thirteen_heads,
    ),
    Claim(
        "01_quickstart",
        "Among the words, *children* gets the most attention from every word, for example 57 % "
        "from *did* and 51 % from *by*.",
        children_get_most,
    ),
    Claim(
        "02_what_does_bert_look_at",
        "- In `L2 H0`, *door* and *brother* look back at their verbs.",
        four_heads_of_grammar,
    ),
    Claim(
        "02_what_heads_look_at",
        "from *would*, L0 H2 looks at *he*, the token before, and most heads look at `[CLS]`.",
        cells_of_would,
    ),
    Claim(
        "06_what_did_fine_tuning_change",
        "Before fine-tuning, `[CLS]` looks almost only at itself (97 %). Afterwards, 14 % stays "
        "there, and most of the attention goes to the parts of rare words, such as *##uit* (29 %).",
        first_token_after_fine_tuning,
    ),
    Claim(
        "07_is_syntax_in_the_maps",
        "The next word is the governor 34.4 % of the time, and the probe on random weights scores "
        "far lower (9.6 %).",
        baselines_of_the_probe,
    ),
    Claim(
        "05_what_do_heads_do",
        "the model without L2 H8 is no longer better at regular plurals (73.3 % instead of 75.0 %, "
        "one pair of 60).",
        regular_plurals_by_all_words,
    ),
]


@pytest.fixture(scope="module")
def facts(model: AttentionModel) -> Facts:
    return Facts(model)


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(claim, marks=pytest.mark.slow if claim.notebook[:2] == "05" else [])
        for claim in CLAIMS
    ],
    ids=lambda claim: claim.holds.__name__,
)
def test_claims_of_the_prose_hold(claim: Claim, facts: Facts) -> None:
    (source,) = (path for path in SOURCES if path.stem == claim.notebook)
    assert claim.sentence in prose_of(source), "the sentence has changed: change its claim too"
    assert claim.holds(facts)
