"""Demonstration texts of the package, each with a head that shows a clear behavior."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from attnwidget.hidden_frames import hides_frames
from attnwidget.text.mentions import Document
from attnwidget.text.minimal_pairs import MinimalPair, load_minimal_pairs
from attnwidget.text.near_names import among
from attnwidget.text.treebank import Sentence
from attnwidget.text.treebank_files import load_treebank


@dataclass(frozen=True)
class DemoText:
    """Demonstration text with an attention link of the embedded model to look at.

    `head` is (layer, head), counted from 0. `look` describes the attention of this head from the
    token `query` to the token `key`.
    """

    name: str
    text: str
    pair: str | None
    head: tuple[int, int]
    query: str
    key: str
    look: str


@hides_frames
def demo_texts() -> dict[str, DemoText]:
    """Return the demonstration texts by name.

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


@hides_frames
def demo_prose() -> Path:
    """Return the path of a text for head studies: twelve passages from English novels.

    A passage has five paragraphs. Each paragraph is one line, and an empty line separates passages,
    as `read_segments` expects. All passages are in the public domain.

    Example:
        >>> from attnwidget.demo import demo_prose
        >>> len(demo_prose().read_text(encoding="utf-8").splitlines())
        71
    """
    return Path(str(files("attnwidget").joinpath("demo/prose.txt")))


@hides_frames
def demo_treebank() -> list[Sentence]:
    """Return a treebank for probes: 115 English sentences from seventeen kinds of text.

    The 1,849 words were written and annotated for the package in Universal Dependencies (version
    2), with the labels of UD English EWT 2.16. The `name` of a sentence begins with the kind of
    text: "news-01", "recipe-01". The treebank shows how a probe works. It is too small for rare
    relations and for publications.

    Example:
        >>> from attnwidget.demo import demo_treebank
        >>> sentence = demo_treebank()[39]
        >>> sentence.text
        'Before you add the milk, mix the flour with a little cold water.'
        >>> list(zip(sentence.words, sentence.relations))[:3]
        [('Before', 'mark'), ('you', 'nsubj'), ('add', 'advcl')]
    """
    return list(_treebank())


@cache
def _treebank() -> tuple[Sentence, ...]:
    """Load the treebank once, because every explorer of the embedded model uses it."""
    return tuple(load_treebank(Path(str(files("attnwidget").joinpath("demo/treebank.conllu")))))


@hides_frames
def demo_documents() -> list[Document]:
    """Return 60 short passages whose pronouns all refer to people: 1,315 words, 207 pronouns.

    The passages were written and annotated for the package. The pronouns "he", "she" and "they"
    distinguish the three people or groups of a passage. Neither the nearest nor the first person
    is the usual antecedent. The sentences are short and simple, as in a tale. The passages show how
    a pronoun study works; for conclusions, use a corpus (`load_coreference`).

    Example:
        >>> from attnwidget.demo import demo_documents
        >>> document = demo_documents()[28]
        >>> document.running.text
        'Tom saw the witch before the girls. He shouted, and they ran, but she did not turn around.'
        >>> [document.words[mention.head] for mention in document.mentions]
        ['Tom', 'witch', 'girls', 'He', 'they', 'she']
    """
    lines = files("attnwidget").joinpath("demo/passages.txt").read_text("utf-8").splitlines()
    return [bracketed_passage(line, f"passage-{n:02}") for n, line in enumerate(lines, 1)]


@hides_frames
def demo_minimal_pairs(paradigm: str | None = None) -> list[MinimalPair]:
    """Return 300 minimal pairs from BLiMP (Warstadt et al. 2020), 60 for each of five paradigms.

    The pairs are spread evenly over each file, starting at pair 200 (counted from 0). In each pair,
    the differing words are single wordpieces of the embedded vocabulary. BLiMP is licensed under
    CC BY 4.0, and LICENSE lists the selected pairs. The `phenomenon` of a pair is its paradigm.

    Args:
        paradigm: A single paradigm, such as "anaphor_number_agreement"; None = all paradigms.

    Raises:
        ValueError: There is no such paradigm.

    Example:
        >>> from attnwidget.demo import demo_minimal_pairs
        >>> pairs = demo_minimal_pairs("anaphor_number_agreement")
        >>> len(pairs), pairs[0].differing
        (60, (('themselves.',), ('herself.',)))
    """
    pairs = load_minimal_pairs(Path(str(files("attnwidget").joinpath("demo/pairs.jsonl"))))
    paradigms = list(dict.fromkeys(pair.phenomenon for pair in pairs))
    if paradigm is not None and paradigm not in paradigms:
        raise ValueError(f"there are no pairs of {paradigm!r}: {among(paradigm, paradigms)}")
    return [pair for pair in pairs if paradigm in (None, pair.phenomenon)]


@hides_frames
def demo_genres() -> list[tuple[str, str]]:
    """Return 80 short texts with their genre, 16 for each of five genres.

    The result is a list of (text, genre) for `ablate` and `head_importance`. The genres are the
    classes of `load_model("attnwidget/genre")`, which was fine-tuned on the five kinds of web text
    in UD English EWT. The texts were written for the package. They are not part of this treebank
    and were not selected by the model's predictions.

    Example:
        >>> from attnwidget.demo import demo_genres
        >>> demo_genres()[0][1], len(demo_genres())
        ('answers', 80)
    """
    lines = files("attnwidget").joinpath("demo/genres.jsonl").read_text("utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    return [(entry["text"], entry["genre"]) for entry in entries]


_PART = re.compile(r"\[(\w+) |\]|\w+(?:['’]\w+)*|[^\w\s\[\]]")


def bracketed_passage(text: str, name: str = "") -> Document:
    """Return the document for a passage with brackets around its mentions.

    The label after an opening bracket is the cluster of the mention. Mentions may nest. Punctuation
    marks are separate words.

    Args:
        text: Passage on one line.
        name: Name of the document.

    Raises:
        ValueError: A bracket is not opened or not closed, or a mention has no word.

    Example:
        >>> from attnwidget.text.demonstrations import bracketed_passage
        >>> document = bracketed_passage("[a The captain] told [b [a his] men] a story.")
        >>> document.running.text
        'The captain told his men a story.'
        >>> [(" ".join(document.words[i] for i in m.words), m.cluster) for m in document.mentions]
        [('The captain', 'a'), ('his', 'a'), ('his men', 'b')]
    """
    where = name or "passage"
    words: list[str] = []
    space_after: list[bool] = []
    open_brackets: list[tuple[int, str]] = []
    spans: list[tuple[int, int, str]] = []
    for part in _PART.finditer(text):
        piece = part.group()
        if piece.startswith("["):
            open_brackets.append((len(words), part.group(1)))
        elif piece == "]":
            if not open_brackets:
                raise ValueError(f"{where}: a bracket closes at {text[part.start() :]!r:.40}")
            start, cluster = open_brackets.pop()
            spans.append((start, len(words) - 1, cluster))
        else:
            words.append(piece)
            following = text[part.end() :].lstrip("]")
            space_after.append(following[:1] in ("", " "))
    if open_brackets:
        raise ValueError(f"{where}: the bracket of {open_brackets[-1][1]!r} is not closed")
    starts = [i + 1 for i, word in enumerate(words[:-1]) if word in (".", "!", "?")]
    return Document.from_spans(
        words, spans, sentence_starts=[0, *starts], name=name, space_after=space_after
    )
