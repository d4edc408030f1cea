"""Whether attention between two words tells their relation (Coenen et al. 2019, section 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.probes.features import extract_features
from attnwidget.probes.layer_vectors import cache_folder
from attnwidget.probes.pairs.pair_classifiers import (
    PREDICTORS,
    TASKS,
    PairClassifier,
    train_classifiers,
)
from attnwidget.probes.pairs.pair_examples import PairExamples
from attnwidget.probes.pairs.pair_result import PairProbe, pair_scores
from attnwidget.probes.train_and_dev import train_and_dev
from attnwidget.studies.argument_checks import one_of, refuse_no_model
from attnwidget.studies.streaming.checkpoint import Checkpoint, digest_of
from attnwidget.studies.streaming.file_lock import one_writer
from attnwidget.studies.streaming.progress_bar import progress_bar
from attnwidget.studies.streaming.shards import Executor
from attnwidget.studies.words.relation_results import DIRECTIONS
from attnwidget.text.treebank import Sentence

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

Direction = Literal["dependent to governor", "governor to dependent", "both"]


def train_pair_probe(
    model: AttentionModel,
    train: Iterable[Sentence],
    dev: Iterable[Sentence],
    *,
    direction: Direction = "both",
    min_count: int = 100,
    epochs: int = 5,
    seed: int = 0,
    cache: str | Path | None = None,
    skip_unaligned: bool = False,
    progress: bool = True,
    executor: Executor | None = None,
    checkpoint: str | Path | None = None,
) -> PairProbe:
    """Whether the attention of all heads from one word to another tells their relation.

    A pair of words is the vector of all heads' weights between them (Coenen et al. 2019, section
    3), of the word maps of Clark et al.: sums over the attended word's tokens, means over the
    attending one's. Two linear classifiers are trained: whether the first word depends on the
    second, with equally many pairs without a dependency in either direction, drawn from the same
    sentence; and the relation of a dependency. Two baselines are trained in the same way, on the
    offset between the words (-10 to 10, with larger offsets cut) and on the distance alone; a third
    baseline is the most frequent class.

    The paper leaves open which direction is read, how words of several tokens and pairs without a
    dependency are treated, the split and the penalty. Here: `direction`; word maps; drawn
    uniformly, once; by sentence, as given; a logistic loss with the L2 penalty out of 1e-6 to 1e-2
    that is best on a tenth of `train`, which is not trained on. Numbers are divided by their
    standard deviation.

    Args:
        model: what `load_model` gave; of an encoder-decoder the encoder is read.
        train: sentences to train on (`load_treebank`).
        dev: others, to be scored.
        direction: who attends to whom: "dependent to governor", "governor to dependent", or "both",
            a vector of twice the length.
        min_count: dependencies that a relation has in `train` at least, to be told apart; others
            are left out of the second task.
        epochs: how often pairs are read; stochastic gradient descent, in an order of its own each.
        seed: of the pairs without a dependency, of the tenth and of the order.
        cache: a folder to keep the word maps in for the next call; None = they are removed.
        skip_unaligned: leave out sentences that have a word without tokens or are too long for the
            model, and count them, instead of raising.
        progress: show progress bars.
        executor: has workers read the sentences, as in `measure`; training is here.
        checkpoint: an .npz file to go on from after the last whole epoch, with the same result.

    Raises:
        TypeError: no model, or sentences without trees.
        ValueError: no sentences, or one in both parts, found by its words if it has ten or more; a
            checkpoint of something else; an unknown direction; no relation, or a
            single one, with so many dependencies; no pair without a dependency; a sentence that is
            too long or has a word without tokens.
        RuntimeError: the model was closed, or changed meanwhile; another run writes the checkpoint
            or the same file in `cache`.
        OSError: too little space; the checkpoint cannot be written.
        KeyboardInterrupt: before the end of the first epoch, or during the evaluation; at other
            times Ctrl-C keeps the parameters learned so far, and the result says so.

    Example:
        >>> from attnwidget import load_model, train_pair_probe
        >>> from attnwidget.demo import demo_treebank
        >>> trees = demo_treebank()
        >>> found = train_pair_probe(
        ...     load_model(), trees[:80], trees[80:], min_count=50, progress=False
        ... )
        >>> found.relations[:3], found.dependency_weights.shape
        (('det', 'punct', 'nsubj'), (2, 6, 12))
        >>> found.dependency_accuracy > 0.6
        True
    """
    refuse_no_model(model)
    train, dev, _ = train_and_dev(train, dev)
    one_of("direction", direction, (*DIRECTIONS, "both"))
    for name, number in (("min_count", min_count), ("epochs", epochs)):
        if number < 1:
            raise ValueError(f"{name} is at least 1, got {number}")
    directions = DIRECTIONS if direction == "both" else (direction,)
    with one_writer(checkpoint), cache_folder(cache) as folder:
        read = [
            extract_features(
                model,
                part,
                folder,
                skip_unaligned=skip_unaligned,
                progress=progress,
                executor=executor,
            )
            for part in (train, dev)
        ]
        counts = relation_counts(read[0].sentences, min_count)
        examples = [
            PairExamples(one.sentences, one, tuple(counts), directions, seed) for one in read
        ]
        _refuse_no_pairs(examples)
        about = {
            "model": read[0].model_digest,
            "sentences": digest_of(read[0].sentences),
            "relations": list(counts),
            "directions": list(directions),
            "epochs": epochs,
            "seed": seed,
        }
        file = None if checkpoint is None else Checkpoint(checkpoint, about)
        with progress_bar(epochs + 1, "epoch", shown=progress) as bar:
            classifiers, complete = train_classifiers(
                examples[0], len(counts), epochs=epochs, seed=seed, bar=bar, file=file
            )
        accuracies, n_pairs, confusion = pair_scores(classifiers, examples[1], len(counts))
    shape = len(directions), read[0].n_layers, read[0].n_heads
    return PairProbe(
        directions=directions,
        relations=tuple(counts),
        relation_counts=np.array(list(counts.values()), np.int64),
        min_count=min_count,
        accuracies=accuracies,
        counts=n_pairs,
        alphas=np.array([[classifiers[task, p].alpha for p in PREDICTORS] for task in TASKS]),
        dependency_weights=classifiers["dependency", "attention"].weights.reshape(shape),
        relation_weights=_each_class(classifiers["relation", "attention"]).reshape(-1, *shape),
        confusion=confusion,
        n_train=len(read[0]),
        n_dev=len(read[1]),
        n_skipped=sum(one.n_skipped for one in read),
        complete=complete,
        model_name=model.name,
        model_digest=read[0].model_digest,
        stack="encoder" if getattr(model.hf_model.config, "is_encoder_decoder", False) else "self",
    )


def relation_counts(sentences: Sequence[Sentence], min_count: int) -> dict[str, int]:
    """Dependencies between words by relation, most frequent first, of those with enough.

    Raises:
        ValueError: fewer than two relations have so many.
    """
    counts = Counter(
        relation
        for sentence in sentences
        for relation, governor in zip(sentence.relations, sentence.governors, strict=True)
        if governor
    )
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    kept = {name: n for name, n in ordered if n >= min_count}
    if len(kept) < 2:
        second = ordered[1][1] if len(ordered) > 1 else 0
        raise ValueError(
            f"{len(kept)} relations of train have {min_count:,} dependencies, and it takes two to "
            f"tell apart: pass more sentences, or a min_count up to {second:,}"
        )
    return kept


def _refuse_no_pairs(parts: Sequence[PairExamples]) -> None:
    for name, part in zip(("train", "dev"), parts, strict=True):
        if not any(pairs.balanced for pairs in part.pairs):
            raise ValueError(
                f"{name} has no sentence of three words, which it takes to have a pair without a "
                "dependency: pass longer sentences"
            )


def _each_class(classifier: PairClassifier) -> NDArray[np.float64]:
    """The coefficients of each class; where there are two, one row is both."""
    weights = classifier.weights
    return np.concatenate([-weights, weights]) if len(weights) == 1 else weights
