"""The texts of the package, each with a head that shows a visible behaviour on it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from attnwidget.text.minimal_pairs import MinimalPair, load_pairs
from attnwidget.text.treebank import Sentence
from attnwidget.text.treebank_files import load_treebank


@dataclass(frozen=True)
class DemoText:
    """A text written for the package and what to look at in it on the embedded model.

    `head` is (layer, head), 0-based; its attention from the token `query` to the token `key` is
    what `look` describes.
    """

    name: str
    text: str
    pair: str | None
    head: tuple[int, int]
    query: str
    key: str
    look: str


def demo_texts() -> dict[str, DemoText]:
    """The demonstration texts by name.

    Example:
        >>> from attnwidget.demo import demo_texts
        >>> demo_texts()["pronouns"].look
        'L1 H3 looks from a pronoun back to a person: "he" and "his" to "captain"'
    """
    entries = json.loads(files("attnwidget").joinpath("demo/texts.json").read_text("utf-8"))
    return {
        entry["name"]: DemoText(
            **{**entry, "pair": entry.get("pair"), "head": tuple(entry["head"])}
        )
        for entry in entries
    }


def demo_prose() -> Path:
    """A text file to measure heads on: twelve passages of five paragraphs of English novels.

    One paragraph a line, an empty line between passages, as `read_segments` takes it; all of it is
    in the public domain.

    Example:
        >>> from attnwidget.text.demonstrations import demo_prose
        >>> len(demo_prose().read_text(encoding="utf-8").splitlines())
        71
    """
    return Path(str(files("attnwidget").joinpath("demo/prose.txt")))


def demo_treebank() -> list[Sentence]:
    """A treebank to probe heads on: 115 English sentences, 1,849 words, of seventeen kinds of text.

    Written and annotated for the package in Universal Dependencies (version 2), with the labels of
    UD English EWT 2.16; a sentence's `name` begins with its kind: "news-01", "recipe-01". Enough to
    see what a probe finds; too little for the rarer relations, and to publish.

    Example:
        >>> from attnwidget.text.demonstrations import demo_treebank
        >>> sentence = demo_treebank()[39]
        >>> sentence.text
        'Before you add the milk, mix the flour with a little cold water.'
        >>> list(zip(sentence.words, sentence.relations))[:3]
        [('Before', 'mark'), ('you', 'nsubj'), ('add', 'advcl')]
    """
    return list(_treebank())


@cache
def _treebank() -> tuple[Sentence, ...]:
    """Read once: every explorer of the embedded model asks for it."""
    return tuple(load_treebank(Path(str(files("attnwidget").joinpath("demo/treebank.conllu")))))


def demo_pairs(paradigm: str | None = None) -> list[MinimalPair]:
    """300 minimal pairs of BLiMP (Warstadt et al. 2020), 60 of each of five paradigms.

    The pairs are spread evenly over each file's pairs from the 200th on, counted from 0, in which
    the differing words are one wordpiece each in the embedded vocabulary. BLiMP has the licence CC
    BY 4.0; LICENSE names the chosen pairs. A pair's `phenomenon` is its paradigm.

    Args:
        paradigm: A single paradigm, such as "anaphor_number_agreement"; None = all paradigms.

    Raises:
        ValueError: no such paradigm.

    Example:
        >>> from attnwidget.demo import demo_pairs
        >>> pairs = demo_pairs("anaphor_number_agreement")
        >>> len(pairs), pairs[0].differing
        (60, (('themselves.',), ('herself.',)))
    """
    pairs = load_pairs(Path(str(files("attnwidget").joinpath("demo/pairs.jsonl"))))
    known = list(dict.fromkeys(pair.phenomenon for pair in pairs))
    if paradigm is not None and paradigm not in known:
        listed = ", ".join(map(repr, known))
        raise ValueError(f"there are no pairs of {paradigm!r}: a paradigm is one of {listed}")
    return [pair for pair in pairs if paradigm in (None, pair.phenomenon)]


def demo_genres() -> list[tuple[str, str]]:
    """80 short texts with their genre, 16 of each that `load_model("attnwidget/genre")` tells.

    (text, genre), as `ablate` and `head_importance` take them. The texts were written for the
    package in the manner of the five kinds of web text of UD English EWT, on which the model was
    fine-tuned; they are not part of that treebank, and were not chosen by the model's predictions.

    Example:
        >>> from attnwidget.demo import demo_genres
        >>> demo_genres()[0][1], len(demo_genres())
        ('answers', 80)
    """
    lines = files("attnwidget").joinpath("demo/genres.jsonl").read_text("utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    return [(entry["text"], entry["genre"]) for entry in entries]
