"""Dependency probing classifiers on attention (Clark et al. 2019, section 5, Table 3)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.corpus.argument_checks import each_once, one_of, refuse_no_model
from attnwidget.corpus.file_lock import one_writer
from attnwidget.corpus.model_reader import one_thread
from attnwidget.corpus.resume_from import resume_from, resume_path
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.spanning_tree import best_tree
from attnwidget.probes.dependency.dependency_answers import CodeLength
from attnwidget.probes.dependency.dependency_form import Form, ProbeKind
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.dependency.probe_fitting import Fits, FittedProbes, TrainingExamples
from attnwidget.probes.features import StoredFeatures, extract_features
from attnwidget.probes.parse_scores import (
    JudgedWords,
    ParseScores,
    best_offset,
    control_governors,
    judged,
    offset_governors,
)
from attnwidget.probes.train_and_dev import train_and_dev
from attnwidget.probes.untrained_model import untrained_like
from attnwidget.text.treebank import Sentence
from attnwidget.text.whole_number import whole_number, whole_numbers
from attnwidget.text.word_vectors import WordVectors

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel

Decode = Literal["words", "tree"]

# Steps between the training sentences of the data-size curve: every 16th, every 8th, and so on.
_EVERY = (16, 8, 4, 2)
# Shares of the training sentences at which blocks of the online code begin (Voita and Titov 2020).
_SHARES = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5)


@in_plain_torch
def train_dependency_probe(
    model: AttentionModel,
    train: Iterable[Sentence],
    dev: Iterable[Sentence],
    kind: ProbeKind = "attention",
    *,
    vectors: WordVectors | None = None,
    seeds: int | Iterable[int] = 3,
    epochs: int = 1,
    learning_rate: float = 0.002,
    decode: Decode = "words",
    untrained: bool = False,
    control: bool = False,
    description_length: bool = False,
    curve: bool = False,
    skip_unaligned: bool = False,
    batch_size: int = 32,
    cache: str | Path | None = None,
    resume: str | Path | None = None,
    progress: bool = True,
) -> DependencyProbe:
    """Train a probe that predicts governors from the attention of all heads (Clark et al. 2019).

    These are the probes of section 5. For each word, the probe gives a distribution over the root
    and all words of the sentence. The probe uses every map in both directions, from dependent to
    governor and back. For the root, the attention is s times the attention to [CLS] plus e times
    the attention to [SEP], and in the other direction the attention from both, with learned s and
    e. The score of a governor is

    - "attention": the sum of a weight times attention over maps; 2LH + 2 parameters.
    - "attention+words": the weight of a map is W (v_i ; v_j) + b, with fixed word vectors v, both 0
      for the root. The bias b is from the authors' code; the paper's formula has none.
    - "distances+words": one hidden layer (256, tanh) over eight features of distance and both
      vectors; no attention.

    The loss is the cross entropy, summed over the words of a sentence including punctuation. Adam
    makes one step per sentence, in the given order. The baselines are scored on the same words of
    `dev`: the next word ("right-branching"), the offset that is best on `train`, and, for
    "attention+words", the probe "distances+words".

    Args:
        model: Model from `load_model`. For an encoder-decoder, the probe uses the encoder. Heads
            of the model may be disabled.
        train: Sentences for the training.
        dev: Sentences for the evaluation, disjoint from the training sentences.
        kind: Inputs of the probe: attention, attention and words, or distances and words.
        vectors: Fixed word vectors (`load_vectors`), for the two kinds that use words.
        seeds: Number of probes, or the seeds of their initial parameters. One pass trains all.
        epochs: Number of passes over `train`.
        learning_rate: Learning rate of Adam.
        decode: Decoding: "words" for the likeliest governor of each word, as in the paper; "tree"
            for the likeliest tree with one root. The control task has no trees and always uses
            "words".
        untrained: Whether to train the probe on the same architecture with random weights as well.
            The word and position embeddings are those of the model.
        control: Whether to train the probe on the control task of Hewitt and Liang (2019) as well,
            in which each word type has a random governor. `selectivity` is the difference of the
            two scores.
        description_length: Whether to measure the bits per governor of the online code of Voita and
            Titov (2020) as well, learned in one pass.
        curve: Whether to train the probe on every 16th, 8th, 4th and 2nd sentence of `train` as
            well, which shows how the score grows with the number of sentences.
        skip_unaligned: Whether to skip and count sentences that are too long for the model, or have
            a word without tokens or a token of several words. By default, such a sentence raises an
            error.
        batch_size: Number of sentences in a forward pass of the model.
        cache: Folder that keeps the maps of the model for the next probe (`extract_features`).
            None deletes the maps.
        resume: File (.npz) for the state of the training. If the file exists, the training
            continues from it, with the same result.
        progress: Whether to show progress bars.

    Returns:
        Probe with its scores. Ctrl-C ends the training: the probe then has the parameters
        learned so far, lacks the remaining baselines, and has `complete=False`.

    Raises:
        TypeError: If `model` is no model, or the sentences have no trees.
        ValueError: If the kind or the decoding is unknown; if `train` and `dev` share a sentence of
            ten words or more; if the vectors are missing, not needed, or know no word of `train`;
            if the model cannot process a sentence; or if the resume file belongs to another
            training.
        RuntimeError: If the model was closed or changed during the call, or another run writes the
            resume file or the same maps in `cache`.
        OSError: If the disk has too little space for the maps, or the resume file cannot be
            written.
        KeyboardInterrupt: If Ctrl-C was pressed before the first step, or during the scoring.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.probes import train_dependency_probe
        >>> sentences = demo_treebank()
        >>> train, dev = sentences[:90], sentences[90:]
        >>> probe = train_dependency_probe(load_model(), train, dev, progress=False)
        >>> probe.form.n_parameters, list(probe.baselines)
        (146, ['right-branching', 'offset 1'])
    """
    refuse_no_model(model)
    one_of("kind", kind, get_args(ProbeKind))
    one_of("decode", decode, get_args(Decode))
    if not isinstance(seeds, Iterable):
        seeds = range(whole_number("seeds", seeds, 1))
    numbers = each_once("seeds", whole_numbers("seeds", seeds, 0))
    epochs = whole_number("epochs", epochs, 1)
    batch_size = whole_number("batch_size", batch_size, 1)
    if not learning_rate > 0:
        raise ValueError(f"learning_rate must be above 0, got {learning_rate!r}")
    if untrained and kind == "distances+words":
        raise ValueError("a probe of distances+words reads no attention: leave untrained out")
    train, dev, n_repeated = train_and_dev(train, dev)
    _check_vectors(kind, vectors, train)
    study = _Study(
        kind, vectors, numbers, epochs, learning_rate, decode, progress, description_length
    )
    folder = nullcontext(cache) if cache is not None else tempfile.TemporaryDirectory()
    resume = resume_path(resume)
    with one_writer(resume), resume_from(resume), folder as cache_path:

        def read(subject: AttentionModel) -> tuple[StoredFeatures, StoredFeatures]:
            train_features, dev_features = (
                extract_features(
                    subject,
                    sentences,
                    cache_path,
                    skip_unaligned=skip_unaligned,
                    batch_size=batch_size,
                    progress=progress,
                )
                for sentences in (train, dev)
            )
            return train_features, dev_features

        features = read(model)
        tree_examples = [study.examples(stored, kind) for stored in features]
        fits = Fits(
            study.about | {"model": features[0].model_digest, "sentences": tree_examples[0].digest},
            progress=progress,
        )
        main = study.fit(fits, kind, kind, tree_examples[0], features[0])
        scores = study.judge(main, tree_examples[1])
        baselines = study.offsets(features[0].sentences, features[1].sentences)
        control_scores = None
        sizes = {len(tree_examples[0]): scores} if curve else {}

        def also(name: str, other: ProbeKind, every: int = 1) -> ParseScores | None:
            """Return the scores of an additional probe, or None after Ctrl-C ended the training."""
            if fits.stopped:
                return None
            try:
                probe_features = read(untrained_like(model)) if name == "untrained" else features
                is_control = name == "control"
                train_examples = study.examples(probe_features[0], other, is_control, every)
                dev_examples = study.examples(probe_features[1], other, is_control)
                fitted = study.fit(fits, name, other, train_examples, None)
            except KeyboardInterrupt:
                fits.stopped = True
                return None
            return study.judge(fitted, dev_examples, is_control) if fitted.complete else None

        if kind == "attention+words":
            baselines["distances+words"] = also("distances+words", "distances+words")
        for every in _EVERY if curve else ():
            if smaller := also(f"1/{every} of train", kind, every):
                sizes[-(-len(features[0]) // every)] = smaller
        if control:
            control_scores = also("control", kind)
        if untrained:
            baselines["untrained"] = also("untrained", kind)
    sentences = features[1].sentences
    return DependencyProbe(
        form=main.form,
        parameters=main.parameters.numpy(),
        seeds=tuple(numbers),
        model_name=features[0].model_name,
        model_digest=features[0].model_digest,
        n_layers=features[0].n_layers,
        n_heads=features[0].n_heads,
        options={
            "epochs": epochs,
            "learning_rate": learning_rate,
            "decode": decode,
            "vectors": None if vectors is None else vectors.name,
            "vectors_digest": None if vectors is None else vectors.digest,
            "n_train": len(features[0]),
            "n_dev": len(features[1]),
            "n_skipped": features[0].n_skipped + features[1].n_skipped,
            "n_repeated": n_repeated,
            "n_steps": main.n_steps,
        },
        scores=scores,
        baselines={name: baseline for name, baseline in baselines.items() if baseline is not None},
        curve=dict(sorted(sizes.items())),
        control=control_scores,
        code=study.code(main, features[0].sentences) if description_length else None,
        mean_pair=_mean_pair(sentences, vectors),
        complete=main.complete and not fits.stopped,
        model=model,
        vectors=vectors,
    )


class _Study:
    """Options that all probes of one call share."""

    def __init__(
        self,
        kind: ProbeKind,
        vectors: WordVectors | None,
        seeds: Sequence[int],
        epochs: int,
        learning_rate: float,
        decode: Decode,
        progress: bool,
        coded: bool,
    ) -> None:
        self._vectors = vectors
        self._seeds = seeds
        self._decode = decode
        self._coded = coded
        self._options: dict[str, Any] = {"epochs": epochs, "learning_rate": learning_rate}
        self.about = {"kind": kind, "seeds": list(seeds), "coded": coded, **self._options}

    def examples(
        self, features: StoredFeatures, kind: ProbeKind, drawn: bool = False, every: int = 1
    ) -> TrainingExamples:
        """Return sentences in the form for a probe of `kind`, with drawn or true governors."""
        form = Form(kind, 0)
        sentences = features.sentences[::every]
        return TrainingExamples(
            sentences,
            [
                control_governors(sentence) if drawn else sentence.governors
                for sentence in sentences
            ],
            features if form.reads_maps else None,
            self._vectors if form.reads_words else None,
            every,
        )

    def fit(
        self,
        fits: Fits,
        name: str,
        kind: ProbeKind,
        examples: TrainingExamples,
        coded: StoredFeatures | None,
    ) -> FittedProbes:
        """Train one probe per seed; with `coded`, also measure the online code if requested."""
        maps = examples.features
        vectors = examples.vectors
        form = Form(
            kind,
            0 if maps is None else maps.n_layers * maps.n_heads,
            0 if vectors is None else vectors.dimension,
        )
        blocks = self.bounds(len(examples)) if coded is not None and self._coded else ()
        return fits.fit(name, form, examples, seeds=self._seeds, blocks=blocks, **self._options)

    def judge(
        self, fitted: FittedProbes, examples: TrainingExamples, drawn: bool = False
    ) -> ParseScores:
        """Return the scores of trained probes; drawn governors are not trees."""
        words = JudgedWords.from_sentences(examples.sentences)
        tree = self._decode == "tree" and not drawn
        return judged(words, examples.governors, _predicted(fitted, examples, tree))

    def offsets(
        self, train: Sequence[Sentence], dev: Sequence[Sentence]
    ) -> dict[str, ParseScores | None]:
        """Return the scores of the next word, and of the best offset on the training sentences."""
        words = JudgedWords.from_sentences(dev)
        governors = [sentence.governors for sentence in dev]
        best = best_offset(train)

        def score(offset: int) -> ParseScores:
            guesses = (offset_governors(len(sentence), offset)[None] for sentence in dev)
            return judged(words, governors, guesses)

        return {"right-branching": score(1), f"offset {best}": score(best)}

    def bounds(self, n_sentences: int) -> tuple[int, ...]:
        """Return the first sentence of each online code block, and the end of the last block."""
        starts = {max(1, round(share * n_sentences)) for share in _SHARES}
        return (0, *sorted(start for start in starts if start < n_sentences), n_sentences)

    def code(self, fitted: FittedProbes, sentences: Sequence[Sentence]) -> CodeLength:
        """Return the description length for the governors of the training sentences."""
        bounds = self.bounds(len(sentences))
        uniform = [
            sum(len(sentence) * np.log2(len(sentence) + 1) for sentence in sentences[start:stop])
            for start, stop in pairwise(bounds)
        ]
        n_words = sum(map(len, sentences))
        return CodeLength(bounds, fitted.bits, np.array(uniform, np.float64), n_words)


@torch.no_grad()
def _predicted(
    fitted: FittedProbes, examples: TrainingExamples, tree: bool
) -> Iterator[NDArray[np.int64]]:
    """Yield the predicted governors of each probe, [S, m] per sentence."""
    by_name = fitted.named
    for example in examples:
        with one_thread():
            scores = fitted.form.scores(by_name, example.maps, example.vectors)
        if tree:
            yield np.stack(
                [best_tree(scores_of_seed) for scores_of_seed in scores.double().numpy()]
            )
        else:
            yield scores.argmax(-1).numpy()


def _check_vectors(kind: ProbeKind, vectors: WordVectors | None, train: Sequence[Sentence]) -> None:
    if not Form(kind, 0).reads_words:
        if vectors is not None:
            raise ValueError(f"a probe of {kind} reads no words: leave vectors out")
        return
    if not isinstance(vectors, WordVectors):
        received = "none" if vectors is None else type(vectors).__name__
        raise ValueError(
            f"a probe of {kind} reads word vectors, got {received}: load_vectors(path)"
        )
    if not vectors.coverage(word for sentence in train for word in sentence.words):
        raise ValueError(
            f"{vectors.name!r} knows no word of the training sentences: it is of another language, "
            "or its words are not in lower case"
        )


def _mean_pair(sentences: Sequence[Sentence], vectors: WordVectors | None) -> NDArray[np.float64]:
    """Return the mean over arcs of both words' vectors, [2d]; the dependent's first, no root."""
    if vectors is None:
        return np.zeros(0)
    total = np.zeros(2 * vectors.dimension)
    n_arcs = 0
    for sentence in sentences:
        word_vectors = vectors(sentence.words).astype(np.float64)
        governors = np.array(sentence.governors)
        arcs = np.flatnonzero(governors)
        pairs = np.concatenate([word_vectors[arcs], word_vectors[governors[arcs] - 1]], 1)
        total, n_arcs = total + pairs.sum(0), n_arcs + len(arcs)
    return total / max(1, n_arcs)
