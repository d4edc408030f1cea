"""Training sentences of a probe and disjoint sentences for its evaluation."""

from __future__ import annotations

from collections.abc import Iterable

from attnwidget.corpus.argument_checks import SENTENCES, all_of
from attnwidget.text.treebank import Sentence

#: Sentences of at least this many words are not repeated by chance, unlike "Thank you."
LONG = 10


def train_and_dev(
    train: Iterable[Sentence], dev: Iterable[Sentence]
) -> tuple[list[Sentence], list[Sentence], int]:
    """Return both sets of sentences as lists, and the number of `dev` sentences in `train`.

    Repeated sentences are shorter than `LONG` words. Every treebank has them: of the 2,001
    development sentences of UD English EWT, 68 are also in its training sentences, the longest with
    nine words.

    Raises:
        TypeError: If an item is not a `Sentence`, which has a tree.
        ValueError: If one of both is empty, or a sentence is in both: with its tree, name and
            position, or, if it has at least `LONG` words, with the same words.

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
    train_set = {*train}
    texts = {sentence.words: sentence for sentence in train}
    repeated = [sentence for sentence in dev if sentence.words in texts]
    if shared := [
        sentence for sentence in repeated if sentence in train_set or len(sentence) >= LONG
    ]:
        first = shared[0]
        raise ValueError(
            f"{len(shared):,} of the {len(dev):,} sentences of dev are in train, the first is "
            f"{first.label}, there {texts[first.words].label}: {first.text!r}. What was learned by "
            "heart would count as found: pass different parts of the treebank"
        )
    return train, dev, len(repeated)
