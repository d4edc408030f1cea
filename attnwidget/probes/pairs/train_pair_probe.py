"""Pair probe: word relations predicted from attention (Coenen et al. 2019, section 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.corpus.argument_checks import one_of, refuse_no_model
from attnwidget.corpus.file_lock import one_writer
from attnwidget.corpus.progress_bar import progress_bar
from attnwidget.corpus.resume_file import ResumeFile, digest_of
from attnwidget.corpus.resume_from import resume_path
from attnwidget.kernels.plain_torch import in_plain_torch
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
from attnwidget.text.treebank import Sentence
from attnwidget.text.whole_number import whole_number
from attnwidget.words.relation_results import DIRECTIONS

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

Direction = Literal["dependent to governor", "governor to dependent", "both"]


@in_plain_torch
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
    resume: str | Path | None = None,
) -> PairProbe:
    """Train classifiers of word pairs on the attention of all heads (Coenen et al. 2019).

    The vector of a word pair has the weights of all heads between the two words (Coenen et al.
    2019, section 3). Weights are those of the word maps of Clark et al.: summed over the tokens of
    the attended word, averaged over the tokens of the attending word. The function trains two
    linear classifiers. The first predicts whether the first word depends on the second: half of its
    pairs have no dependency in either direction and come from the same sentences. The second
    predicts the relation of a dependency. Two baselines are trained in the same way, on the offset
    between the words (clipped to -10 to 10) and on the distance. A third baseline is the most
    frequent class.

    The paper leaves some choices open. This function uses the direction `direction` and word maps,
    and draws each pair without a dependency uniformly and once. Sentences are split as given. The
    loss is logistic, and its L2 penalty is the value from 1e-6 to 1e-2 that is best on a tenth of
    `train`, which is excluded from the training. Weights are divided by their standard deviation.

    Args:
        model: Model from `load_model`. For an encoder-decoder, the probe uses the encoder.
        train: Sentences for the training (`load_treebank`).
        dev: Sentences for the evaluation, disjoint from the training sentences.
        direction: Attending word: "dependent to governor", "governor to dependent", or "both"
            for a vector of twice the length.
        min_count: Smallest number of dependencies in `train` for a relation of the second task.
        epochs: Number of passes of stochastic gradient descent, each in a random order.
        seed: Seed of the pairs without a dependency, of the tenth of `train` and of the order.
        cache: Folder that keeps the word maps for the next call. None deletes the maps.
        skip_unaligned: Whether to skip and count sentences that are too long for the model, or have
            a word without tokens or a token of several words. By default, such a sentence raises an
            error.
        progress: Whether to show progress bars.
        resume: File (.npz) for the state after each epoch. If the file exists, the training
            continues from it, with the same result.

    Raises:
        TypeError: If `model` is no model, or the sentences have no trees.
        ValueError: If there are no sentences, or `train` and `dev` share a sentence of ten words or
            more; if the direction is unknown; if fewer than two relations have `min_count`
            dependencies; if every pair of words has a dependency; if the resume file belongs to
            another training; or if a sentence is too long or has a word without tokens.
        RuntimeError: If the model was closed or changed during the call, or another run writes the
            resume file or the same file in `cache`.
        OSError: If the disk has too little space, or the resume file cannot be written.
        KeyboardInterrupt: If Ctrl-C was pressed before the end of the first epoch, or during the
            scoring. At other times, Ctrl-C ends the training, and the result has the parameters so
            far.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.probes import train_pair_probe
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
    min_count = whole_number("min_count", min_count, 1)
    epochs = whole_number("epochs", epochs, 1)
    seed = whole_number("seed", seed, 0)
    directions = DIRECTIONS if direction == "both" else (direction,)
    resume = resume_path(resume)
    with one_writer(resume), cache_folder(cache) as folder:
        features = [
            extract_features(
                model,
                part,
                folder,
                skip_unaligned=skip_unaligned,
                progress=progress,
            )
            for part in (train, dev)
        ]
        counts = relation_counts(features[0].sentences, min_count)
        examples = [
            PairExamples(part_features.sentences, part_features, tuple(counts), directions, seed)
            for part_features in features
        ]
        _refuse_no_pairs(examples)
        study_key = {
            "model": features[0].model_digest,
            "sentences": digest_of(features[0].sentences),
            "relations": list(counts),
            "directions": list(directions),
            "epochs": epochs,
            "seed": seed,
        }
        file = None if resume is None else ResumeFile(resume, study_key)
        with progress_bar(epochs + 1, "epoch", shown=progress) as bar:
            classifiers, complete = train_classifiers(
                examples[0], len(counts), epochs=epochs, seed=seed, bar=bar, file=file
            )
        accuracies, n_pairs, confusion = pair_scores(classifiers, examples[1], len(counts))
    shape = len(directions), features[0].n_layers, features[0].n_heads
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
        n_train=len(features[0]),
        n_dev=len(features[1]),
        n_skipped=sum(part_features.n_skipped for part_features in features),
        complete=complete,
        model_name=model.name,
        model_digest=features[0].model_digest,
        stack="encoder" if getattr(model.hf_model.config, "is_encoder_decoder", False) else "self",
    )


def relation_counts(sentences: Sequence[Sentence], min_count: int) -> dict[str, int]:
    """Return the number of dependencies of each frequent relation, most frequent first.

    Raises:
        ValueError: If fewer than two relations have `min_count` dependencies.
    """
    counts = Counter(
        relation
        for sentence in sentences
        for relation, governor in zip(sentence.relations, sentence.governors, strict=True)
        if governor
    )
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    valid = {name: n for name, n in ordered if n >= min_count}
    if len(ordered) < 2:
        description = f"the single relation {ordered[0][0]!r}" if ordered else "no relation"
        raise ValueError(
            f"the dependencies of train have {description}, and it takes two to tell apart: pass "
            "sentences with further relations, or find the heads of one relation with "
            "probe_relations"
        )
    if len(valid) < 2:
        second = ordered[1][1]
        raise ValueError(
            f"{len(valid)} relations of train have {min_count:,} dependencies, and it takes two to "
            f"tell apart: pass more sentences, or a min_count up to {second:,}"
        )
    return valid


def _refuse_no_pairs(parts: Sequence[PairExamples]) -> None:
    for name, part in zip(("train", "dev"), parts, strict=True):
        if not any(pairs.balanced for pairs in part.pairs):
            raise ValueError(
                f"{name} has no sentence of three words, which it takes to have a pair without a "
                "dependency: pass longer sentences"
            )


def _each_class(classifier: PairClassifier) -> NDArray[np.float64]:
    """Return the coefficients of each class; with two classes, one row determines both."""
    weights = classifier.weights
    return np.concatenate([-weights, weights]) if len(weights) == 1 else weights
