"""Structural probe: trees as distances in a model's vectors (Hewitt and Manning 2019)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from attnwidget.corpus.argument_checks import refuse_no_model
from attnwidget.corpus.file_lock import one_writer
from attnwidget.corpus.progress_bar import progress_bar
from attnwidget.corpus.resume_file import ResumeFile, digest_of
from attnwidget.corpus.resume_from import resume_path
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.probes.features import extract_features
from attnwidget.probes.layer_vectors import cache_folder, chosen_layers
from attnwidget.probes.structural.structural_result import StructuralProbe
from attnwidget.probes.structural.structural_runs import StructuralRuns, scores_of
from attnwidget.probes.structural.structural_scores import GoldTree, chain_scores, punctuation_rule
from attnwidget.probes.structural.structural_training import VectorTrees
from attnwidget.probes.train_and_dev import train_and_dev
from attnwidget.probes.untrained_model import untrained_like
from attnwidget.text.treebank import Sentence
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

Rank = int | None


@in_plain_torch
def train_structural_probe(
    model: AttentionModel,
    train: Iterable[Sentence],
    dev: Iterable[Sentence],
    *,
    layers: Sequence[int] | Literal["all"] = "all",
    rank: Rank | Sequence[Rank] = None,
    seeds: int = 1,
    epochs: int = 40,
    batch_size: int = 20,
    learning_rate: float = 0.001,
    untrained: bool = False,
    cache: str | Path | None = None,
    skip_unaligned: bool = False,
    progress: bool = True,
    resume: str | Path | None = None,
) -> StructuralProbe:
    """Train linear maps that turn the vectors of a layer into trees (Hewitt and Manning 2019).

    The function trains two maps B for each layer. For the first map, the squared distances
    |B^T (h_i - h_j)|^2 approximate the number of edges between the words i and j in the tree. For
    the second map, the squared lengths |B^T h_i|^2 approximate the depths. h is the mean of the
    vectors of a word's tokens. The loss is the absolute error: summed over all ordered pairs of
    words and divided by m^2, or summed over all words and divided by m, where m is the number of
    words including punctuation. The learning rate of Adam is divided by ten after each epoch
    without a lower loss on `dev`. The training ends when the best map is more than four epochs old,
    and returns the best map.

    The scores on `dev` follow the authors' code:

    - UUAS is the share of the edges of the tree that are in the minimum spanning tree of the
      predicted distances, both without punctuation.
    - DSpr is Spearman's correlation between predicted and true distances of each word, averaged
      over sentences of one length and then over the lengths 5 to 50.
    - Root accuracy is the share of sentences in which the word with the smallest depth, except
      punctuation, is the root.
    - NSpr is the correlation of depths, averaged like DSpr.

    `dev` also determines when to stop: for unbiased scores, call `StructuralProbe.score` on further
    sentences. The baseline is the chain, in which the governor of every word is the previous word.

    Args:
        model: Model from `load_model`. For an encoder-decoder, the probe uses the encoder.
        train: Sentences for the training (`load_treebank`).
        dev: Sentences for the evaluation, disjoint from the training sentences.
        layers: Layers, counted from 0, or "all". Layer 0 is the output of the first block, as in
            the name BERTbase7 of the paper.
        rank: Number of columns of B, or several numbers, each of which is trained separately. None
            = the size of the vectors.
        seeds: Number of trainings, with different initial values and orders.
        epochs: Largest number of passes over the sentences.
        batch_size: Number of sentences per step.
        learning_rate: Initial learning rate of Adam.
        untrained: Whether to probe the same architecture with random weights as well, with the word
            and position embeddings of the model, the largest rank and one seed. The result shows
            the scores from words and their order alone.
        cache: Folder that keeps the vectors for the next call. None deletes the vectors.
        skip_unaligned: Whether to skip and count sentences that are too long for the model, or have
            a word without tokens or a token of several words. By default, such a sentence raises an
            error.
        progress: Whether to show progress bars.
        resume: File (.npz) for the state after each epoch. If the file exists, the training
            continues from it.

    Raises:
        TypeError: If `model` is no model, or the sentences have no trees.
        ValueError: If there are no sentences, or `train` and `dev` share a sentence of ten words or
            more; if the model lacks a layer of `layers`, or a rank exceeds the size of its vectors;
            if the resume file belongs to another training; or if a sentence is too long or has a
            word without tokens.
        RuntimeError: If the model was closed or changed during the call, or another run writes the
            resume file or the same file in `cache`.
        OSError: If the disk has too little space, or the resume file cannot be written.
        KeyboardInterrupt: If Ctrl-C was pressed before the end of the first epoch, or during the
            scoring. In between, Ctrl-C ends the training, and the result has the best maps so far.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.probes import train_structural_probe
        >>> trees = demo_treebank()
        >>> probe = train_structural_probe(
        ...     load_model(), trees[:80], trees[80:], layers=[2, 3], rank=8, epochs=2,
        ...     progress=False
        ... )
        >>> probe.uuas.shape, probe.to_frame()["predictor"].unique().tolist()
        ((1, 2), ['probe', 'chain'])
    """
    refuse_no_model(model)
    train, dev, _ = train_and_dev(train, dev)
    layer_numbers = chosen_layers(model, layers)
    seeds = whole_number("seeds", seeds, 1)
    epochs = whole_number("epochs", epochs, 1)
    batch_size = whole_number("batch_size", batch_size, 1)
    if not learning_rate > 0:
        raise ValueError(f"learning_rate must be above 0, got {learning_rate!r}")
    subjects = {"probe": model}
    if untrained:
        subjects["untrained"] = untrained_like(model)
    resume = resume_path(resume)
    with one_writer(resume), cache_folder(cache) as folder:
        features = {
            name: [
                extract_features(
                    subject,
                    part,
                    folder,
                    kind="hidden",
                    layers=[layer + 1 for layer in layer_numbers],
                    skip_unaligned=skip_unaligned,
                    progress=progress,
                )
                for part in (train, dev)
            ]
            for name, subject in subjects.items()
        }
        trees = {
            name: [VectorTrees(v.sentences, v) for v in parts] for name, parts in features.items()
        }
        train_features, dev_features = features["probe"]
        ranks = _ranks(rank, trees["probe"][0].dim)
        plan = [("probe", r, seed) for seed in range(seeds) for r in ranks]
        plan += [("untrained", ranks[-1], 0)] * untrained
        study_key = {
            "model": train_features.model_digest,
            "sentences": digest_of([train_features.sentences, dev_features.sentences]),
            "layers": list(layer_numbers),
            "batch_size": batch_size,
            "learning_rate": learning_rate,
        }
        with progress_bar(len(plan) * epochs, "epoch", shown=progress) as bar:
            trainer = StructuralRuns(
                epochs=epochs,
                batch_size=batch_size,
                rate=learning_rate,
                file=None if resume is None else ResumeFile(resume, study_key),
                bar=bar,
            )
            results = [(name, trainer.run(name, trees[name], r, seed)) for name, r, seed in plan]
        runs = [run for name, run in results if name == "probe" and run]
        control = [run for name, run in results if name == "untrained" and run]
        if not runs:
            raise KeyboardInterrupt
        rule = punctuation_rule([*train_features.sentences, *dev_features.sentences])
        gold = [GoldTree.from_sentence(sentence, rule) for sentence in dev_features.sentences]
        reached_ranks = tuple(r for r in ranks if any(run.rank == r for run in runs))
        rank_scores = [
            scores_of([run for run in runs if run.rank == r], trees["probe"][1], gold)
            for r in reached_ranks
        ]
        control_scores = scores_of(control, trees["untrained"][1], gold)[0] if control else None
    return StructuralProbe(
        layers=layer_numbers,
        ranks=reached_ranks,
        runs=tuple(runs),
        scores=np.stack([estimates for estimates, _ in rank_scores]),
        deviations=np.stack([deviations for _, deviations in rank_scores]),
        chain=chain_scores(gold).estimates()[..., 0],
        untrained=control_scores,
        n_seeds=seeds,
        n_train=len(train_features),
        n_dev=len(dev_features),
        n_skipped=train_features.n_skipped + dev_features.n_skipped,
        punctuation=rule,
        complete=not trainer.interrupted,
        model_name=model.name,
        model_digest=train_features.model_digest,
        model=model,
    )


def _ranks(rank: Rank | Sequence[Rank], dim: int) -> tuple[int, ...]:
    """Return the requested ranks, smallest first; ValueError if a rank is impossible."""
    requested = list(rank) if isinstance(rank, Sequence) else [rank]
    ranks = [dim if value is None else whole_number("rank", value) for value in requested]
    impossible = [value for value in ranks if not 1 <= value <= dim]
    if impossible or not ranks or len({*ranks}) < len(ranks):
        raise ValueError(
            f"rank is 1 to {dim}, the width of the vectors (None), or several of these, each once; "
            f"got {impossible[0] if impossible else requested}"
        )
    return tuple(sorted(ranks))
