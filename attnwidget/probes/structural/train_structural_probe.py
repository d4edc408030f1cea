"""The structural probe: whether trees are distances in a model's vectors (Hewitt, Manning 2019)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from attnwidget.probes.features import extract_features
from attnwidget.probes.layer_vectors import cache_folder, chosen_layers
from attnwidget.probes.structural.structural_result import StructuralProbe
from attnwidget.probes.structural.structural_runs import StructuralRuns, scores_of
from attnwidget.probes.structural.structural_scores import GoldTree, chain_scores, punctuation_rule
from attnwidget.probes.structural.structural_training import VectorTrees
from attnwidget.probes.train_and_dev import train_and_dev
from attnwidget.probes.untrained_model import untrained_like
from attnwidget.studies.argument_checks import refuse_no_model
from attnwidget.studies.streaming.checkpoint import Checkpoint, digest_of
from attnwidget.studies.streaming.file_lock import one_writer
from attnwidget.studies.streaming.progress_bar import progress_bar
from attnwidget.studies.streaming.shards import Executor
from attnwidget.text.treebank import Sentence

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

Rank = int | None


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
    checkpoint: str | Path | None = None,
    executor: Executor | None = None,
) -> StructuralProbe:
    """Whether a linear map turns a layer's vectors into trees (Hewitt and Manning 2019).

    For every layer two maps B are trained: for one, squared distances |B^T (h_i - h_j)|^2
    approximate the numbers of edges between words i and j of the tree; for the second, squared
    lengths |B^T h_i|^2 approximate the depths. h is the mean of the vectors of a word's tokens. The
    loss is the absolute error, of all ordered pairs of words divided by m^2 or of all words divided
    by m, m the words of the sentence; punctuation takes part. Adam starts at `learning_rate`, which
    is divided by ten after each epoch without a lower loss on `dev`; the best map is kept, and
    training ends when the best map is more than four epochs old.

    Scored on `dev`, as the authors' code does: UUAS, the share of edges of the tree that are in the
    minimum spanning tree of the predicted distances, both without punctuation; DSpr, for each word
    Spearman's correlation of its predicted and its true distances, averaged over sentences of one
    length and then over lengths 5 to 50; root accuracy, how often the least deep word that is no
    punctuation is the root; NSpr, the correlation of depths, averaged like DSpr. `dev` also decides
    when to stop: for unbiased numbers, call `score` on a third part. The baseline is the chain, in
    which every word hangs on the word before it.

    Args:
        model: what `load_model` gave; of an encoder-decoder the encoder is read.
        train: sentences to train on (`load_treebank`).
        dev: others.
        layers: which, from 0, or "all". Layer 0 is what the first block gives, as in the paper's
            BERTbase7.
        rank: columns of B; None = as many as the vectors have; or several, each trained on its own.
        seeds: Number of trainings, with different initial values and orders.
        epochs: Maximum number of passes over the sentences.
        batch_size: sentences a step.
        learning_rate: of Adam, at the beginning.
        untrained: probe the same architecture with random weights too, embeddings of words and
            positions kept, with the largest rank and one seed: what words and their order alone
            give.
        cache: a folder to keep the vectors in for the next call; None = they are removed.
        skip_unaligned: leave out sentences that have a word without tokens or are too long for the
            model, and count them, instead of raising.
        progress: show progress bars.
        checkpoint: an .npz file to go on from after the last whole epoch.
        executor: has workers read the sentences, as in `measure`; training is here.

    Raises:
        TypeError: no model, or sentences without trees.
        ValueError: no sentences, or one in both parts, found by its words if it has ten or more; a
            layer that the model has not, a rank above
            the width of its vectors; a checkpoint of something else; a sentence that is too long or
            has a word without tokens.
        RuntimeError: the model was closed, or changed meanwhile; another run writes the checkpoint
            or the same file in `cache`.
        OSError: too little space; the checkpoint cannot be written.
        KeyboardInterrupt: before the first epoch was done, or while what was learned is scored;
            between these Ctrl-C keeps what was best until then, and the result says so.

    Example:
        >>> from attnwidget import load_model, train_structural_probe
        >>> from attnwidget.demo import demo_treebank
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
    chosen = chosen_layers(model, layers)
    for name, number in (("seeds", seeds), ("epochs", epochs), ("batch_size", batch_size)):
        if number < 1:
            raise ValueError(f"{name} is at least 1, got {number}")
    subjects = {"probe": model}
    if untrained:
        subjects["untrained"] = untrained_like(model)
    with one_writer(checkpoint), cache_folder(cache) as folder:
        read = {
            name: [
                extract_features(
                    subject,
                    part,
                    folder,
                    kind="hidden",
                    layers=[layer + 1 for layer in chosen],
                    skip_unaligned=skip_unaligned,
                    progress=progress,
                    executor=executor,
                )
                for part in (train, dev)
            ]
            for name, subject in subjects.items()
        }
        trees = {name: [VectorTrees(v.sentences, v) for v in both] for name, both in read.items()}
        of_train, of_dev = read["probe"]
        ranks = _ranks(rank, trees["probe"][0].dim)
        plan = [("probe", r, seed) for seed in range(seeds) for r in ranks]
        plan += [("untrained", ranks[-1], 0)] * untrained
        about = {
            "model": of_train.model_digest,
            "sentences": digest_of([of_train.sentences, of_dev.sentences]),
            "layers": list(chosen),
            "batch_size": batch_size,
            "learning_rate": learning_rate,
        }
        with progress_bar(len(plan) * epochs, "epoch", shown=progress) as bar:
            trainer = StructuralRuns(
                epochs=epochs,
                batch_size=batch_size,
                rate=learning_rate,
                file=None if checkpoint is None else Checkpoint(checkpoint, about),
                bar=bar,
            )
            made = [(name, trainer.run(name, trees[name], r, seed)) for name, r, seed in plan]
        runs = [run for name, run in made if name == "probe" and run]
        control = [run for name, run in made if name == "untrained" and run]
        if not runs:
            raise KeyboardInterrupt
        rule = punctuation_rule([*of_train.sentences, *of_dev.sentences])
        gold = [GoldTree.of(sentence, rule) for sentence in of_dev.sentences]
        reached = tuple(r for r in ranks if any(run.rank == r for run in runs))
        scored = [
            scores_of([run for run in runs if run.rank == r], trees["probe"][1], gold)
            for r in reached
        ]
        of_control = scores_of(control, trees["untrained"][1], gold)[0] if control else None
    return StructuralProbe(
        layers=chosen,
        ranks=reached,
        runs=tuple(runs),
        scores=np.stack([estimates for estimates, _ in scored]),
        deviations=np.stack([deviations for _, deviations in scored]),
        chain=chain_scores(gold).estimates()[..., 0],
        untrained=of_control,
        n_seeds=seeds,
        n_train=len(of_train),
        n_dev=len(of_dev),
        n_skipped=of_train.n_skipped + of_dev.n_skipped,
        punctuation=rule,
        complete=not trainer.interrupted,
        model_name=model.name,
        model_digest=of_train.model_digest,
        model=model,
    )


def _ranks(rank: Rank | Sequence[Rank], dim: int) -> tuple[int, ...]:
    """Ranks asked for, least first; ValueError for one that no map of the vectors has."""
    listed = list(rank) if isinstance(rank, Sequence) else [rank]
    ranks = [dim if value is None else value for value in listed]
    wrong = [value for value in ranks if not 1 <= value <= dim]
    if wrong or not ranks or len({*ranks}) < len(ranks):
        raise ValueError(
            f"rank is 1 to {dim}, the width of the vectors (None), or several of these, each once; "
            f"got {wrong[0] if wrong else listed}"
        )
    return tuple(sorted(ranks))
