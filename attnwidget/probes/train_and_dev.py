"""The training sentences of a probe and the disjoint sentences for its evaluation."""

from __future__ import annotations

from collections.abc import Iterable

from attnwidget.corpus.argument_checks import SENTENCES, all_of
from attnwidget.text.treebank import Sentence

#: Sentences of so many words are not written twice by chance; "Thank you." is.
LONG = 10


def train_and_dev(
    train: Iterable[Sentence], dev: Iterable[Sentence]
) -> tuple[list[Sentence], list[Sentence], int]:
    """The sentences of both as lists, and how many of `dev` have the words of one of `train`.

    Those are shorter than `LONG` words. Every treebank has them: of UD English EWT's 2,001
    development sentences 68 are in its training sentences too, the longest of nine words.

    Raises:
        TypeError: something is no `Sentence`: it has no tree.
        ValueError: one of both is empty, or a sentence is in both: with its tree, name and place,
            or, if it has at least `LONG` words, by its words alone.

    Example:
        >>> from attnwidget import Sentence
        >>> from attnwidget.probes.train_and_dev import train_and_dev
        >>> one, two = (Sentence(("Thank", "you"), (0, 1), ("root", "obj"), name=n) for n in "ab")
        >>> train_and_dev([one], [two])[2]
        1
    """
    train, dev = all_of(Sentence, train, SENTENCES), all_of(Sentence, dev, SENTENCES)
    for name, sentences in (("train", train), ("dev", dev)):
        if not sentences:
            raise ValueError(f"{name} has no sentences: pass those of a treebank")
    known = {*train}
    spelt = {sentence.words: sentence for sentence in train}
    repeated = [sentence for sentence in dev if sentence.words in spelt]
    if shared := [sentence for sentence in repeated if sentence in known or len(sentence) >= LONG]:
        first = shared[0]
        raise ValueError(
            f"{len(shared):,} of the {len(dev):,} sentences of dev are in train, the first is "
            f"{first.label}, there {spelt[first.words].label}: {first.text!r}. What was learned by "
            "heart would count as found: pass different parts of the treebank"
        )
    return train, dev, len(repeated)
