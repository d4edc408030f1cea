"""Metrics and scores of every head over the checkpoints of a training run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.default_method import is_causal_model
from attnwidget.capture.load import EMBEDDED, load_model
from attnwidget.capture.model import AttentionModel
from attnwidget.corpus.argument_checks import each_once
from attnwidget.corpus.file_lock import one_writer
from attnwidget.corpus.progress_bar import progress_bar
from attnwidget.corpus.resume_file import Progress, ResumeFile, digest_of, keeping
from attnwidget.corpus.resume_from import resume_from, resume_path
from attnwidget.corpus.shared_inputs import SharedInputs
from attnwidget.hidden_frames import warn_caller
from attnwidget.inputs.input_list import each_of
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.metrics.checkpoint_numbers import CheckpointNumbers
from attnwidget.metrics.measure_heads import Metrics, accumulators_of, measure
from attnwidget.metrics.measured_checkpoints import MeasuredCheckpoints
from attnwidget.metrics.repeated_tokens import (
    SCORES,
    read_repeated,
    repeated_and_other,
)
from attnwidget.model_facts.pickled_model import weights_digest
from attnwidget.text.given_paths import refuse_missing_folder
from attnwidget.text.whole_number import whole_number

_HOW = (
    "checkpoints are models, names, folders, functions that load a model, or pairs of a label and "
    "one of these"
)
Loader = Callable[[], AttentionModel]


@in_plain_torch
@says_cuts
def measure_checkpoints(
    checkpoints: Iterable[Any],
    segments: Iterable[Any] | None = None,
    metrics: Metrics = ("position", "classes", "entropy", "confidence"),
    *,
    batch_size: int = 8,
    n_sequences: int = 8,
    length: int = 50,
    seed: int = 0,
    resume: str | Path | None = None,
    progress: bool = True,
) -> MeasuredCheckpoints:
    """Measure every head at each checkpoint of a training run.

    Causal models process random tokens that are repeated once (Olsson et al. 2022). The result has
    the induction, duplicate-token and previous-token scores and the attention to the first token,
    each with a control; the losses of the first and of the second copy; and the checkpoint at which
    each head emerged. With `segments`, the result also has `metrics` over the same segments.

    A checkpoint given by name or function is loaded for its measurement and released afterwards, so
    memory holds one model at a time. Published checkpoints are sometimes copies of one another, so
    weights are hashed first: a warning and the result name checkpoints with equal weights. Ctrl-C
    ends the study and returns the finished checkpoints.

    Args:
        checkpoints: Models (`load_model`), names or folders for `load_model`, functions without
            arguments that return a model, or pairs of a label or step and one of these. Pass them
            in training order. The default label is the name from `load_model`; a function needs a
            label.
        segments: Texts, which the first loaded model cuts as in `make_segments`; or segments made
            with one of the models, or pictures and sounds, as in `measure`. None = no metrics over
            segments.
        metrics: Metrics, as in `measure`; accumulators must be unused.
        batch_size: Number of segments in a forward pass.
        n_sequences: Number of sequences of repeated random tokens; 0 = none.
        length: Number of random tokens before their repetition. If the model's length limit is too
            small, copies are shorter, and the result has their length.
        seed: Seed of the random tokens.
        resume: File (.npz) for the values of finished checkpoints. If it exists, these checkpoints
            are found by their label and not loaded again, and the result is the same to the last
            bit. A file belongs to one training run.
        progress: Whether to show progress bars.

    Raises:
        TypeError: If a checkpoint has another type, or `segments` are not segments.
        ValueError: If there is no checkpoint, two checkpoints have the same label, models differ in
            the number of layers or heads or in the vocabulary, there is nothing to measure (no
            segments, and no causal model or `n_sequences` of 0), or the file belongs to another
            study; or as in `measure`.
        OSError: If a checkpoint cannot be loaded, or the file cannot be written.
        RuntimeError: If another run writes the file.
        WorkersError: As in `measure`.
        KeyboardInterrupt: If Ctrl-C was pressed before the first checkpoint was done.

    Example:
        >>> from attnwidget.demo import induction_checkpoints
        >>> from attnwidget.metrics import measure_checkpoints
        >>> steps = induction_checkpoints()
        >>> found = measure_checkpoints(steps[::11], n_sequences=6, progress=False)
        >>> found.checkpoints, found.losses.shape
        (('0', '4000'), (2, 2, 6))
        >>> found.heads("0")["induction (random tokens)"].shape
        (2, 4)
        >>> found.emergence("induction (random tokens)")["checkpoint"][0]
        '4000'
    """
    sources = [_labeled(entry) for entry in each_of(checkpoints, _HOW)]
    each_once("labels of checkpoints", [label for label, _ in sources])
    n_sequences = whole_number("n_sequences", n_sequences, 0)
    length = whole_number("length", length, 1, "token")
    seed = whole_number("seed", seed, 0)
    inputs = SharedInputs(() if segments is None else segments)
    accumulators = accumulators_of(metrics)

    def numbers_of(label: str, model: AttentionModel, weights: str) -> CheckpointNumbers | None:
        """Return the values of a checkpoint; None after Ctrl-C in the pass over segments."""
        head_metrics = {}
        if len(inputs):
            measurements = measure(
                model,
                inputs.segments(model),
                deepcopy(accumulators),
                batch_size=batch_size,
                progress=progress,
            )
            if not measurements.complete:
                return None
            head_metrics = measurements.heads()
        numbers = CheckpointNumbers(
            label=label,
            weights=weights,
            model_name=model.name,
            metrics=head_metrics,
            n_segments=len(inputs),
        )
        if n_sequences and is_causal_model(model.hf_model):
            return _with_random_tokens(numbers, model, n_sequences, length, seed)
        if not len(inputs):
            raise ValueError(
                f"there is nothing to measure at the checkpoint {label!r}: pass segments, or a "
                "causal model and n_sequences of 1 or more"
            )
        return numbers

    study_key = {
        "study": "checkpoints",
        "metrics": {part.name: part.options for part in accumulators} if len(inputs) else {},
        "segments": digest_of(inputs.contents),
        "batch_size": batch_size if len(inputs) else None,
        "random tokens": [n_sequences, length, seed],
    }
    finished: list[CheckpointNumbers] = []
    resume = resume_path(resume)
    # The file stores complete checkpoints, so measurements within a checkpoint need no resume file.
    with one_writer(resume), resume_from(None):
        file = None if resume is None else ResumeFile(resume, study_key)
        done = Progress() if file is None else file.load()
        previous = [CheckpointNumbers.of_state(state) for state in done.states.values()]
        stored = {numbers.label: numbers for numbers in previous}
        show_bar = progress and not len(inputs)
        with (
            keeping(file, done) as keep,
            progress_bar(len(sources), "checkpoint", shown=show_bar) as bar,
        ):
            for label, source in sources:
                numbers = stored.get(label)
                if numbers is not None:
                    _warn_of_equal(label, numbers.weights, finished)
                else:
                    model = _loaded(label, source)
                    weights = weights_digest(model.hf_model, whole=True)
                    _warn_of_equal(label, weights, finished)
                    numbers = numbers_of(label, model, weights)
                    del model
                if numbers is None:
                    break
                _check_fits(numbers, finished)
                finished.append(numbers)
                if label not in stored:
                    stored[label] = numbers
                    keep(_progress(stored))
                bar.update(1)
    if not finished:
        raise KeyboardInterrupt("interrupted before the first checkpoint was done")
    return _result(finished, complete=len(finished) == len(sources))


def _with_random_tokens(
    numbers: CheckpointNumbers, model: AttentionModel, n_sequences: int, length: int, seed: int
) -> CheckpointNumbers:
    """Return the values of a checkpoint with the scores and losses on repeated random tokens."""
    pairs = repeated_and_other(model, n_sequences, length, seed)
    return replace(
        numbers,
        repeated=read_repeated(model, pairs),
        sequences=digest_of(pairs),
        length=len(pairs[0][0]) // 2,
    )


def _warn_of_equal(label: str, weights: str, measured: Sequence[CheckpointNumbers]) -> None:
    """Warn if an earlier checkpoint has the same weights."""
    if equal_labels := [other.label for other in measured if other.weights == weights]:
        warn_caller(
            f"the checkpoints {equal_labels[0]!r} and {label!r} have equal weights: one of them is "
            "probably not what its label says",
        )


def _labeled(entry: Any) -> tuple[str, Any]:
    """Return the label and the source of a checkpoint."""
    label = None
    source = entry
    if isinstance(entry, tuple) and len(entry) == 2:
        label = str(entry[0])
        source = entry[1]
    if isinstance(source, AttentionModel):
        return label or source.name, source
    if isinstance(source, (str, Path)):
        # Refuse a missing folder now, before earlier checkpoints are measured.
        if source not in EMBEDDED:
            refuse_missing_folder(source, "a checkpoint (config.json and safetensors weights)")
        is_folder = Path(source).is_dir()
        name = Path(os.path.abspath(source)).name if is_folder else str(source)
        return label or name, source
    if callable(source):
        if label is None:
            raise TypeError(
                "a function that loads a checkpoint needs a label or a step: pass (step, function)"
            )
        return label, source
    raise TypeError(f"got {type(source).__name__} for a checkpoint: {_HOW}")


def _loaded(label: str, source: AttentionModel | str | Path | Loader) -> AttentionModel:
    """Return the model of a checkpoint, and load it if needed.

    Raises:
        TypeError: If a function returned something other than a model of `load_model`.
    """
    if isinstance(source, AttentionModel):
        return source
    if isinstance(source, (str, Path)):
        return load_model(source)
    model: object = source()
    if not isinstance(model, AttentionModel):
        raise TypeError(
            f"the function of the checkpoint {label!r} returned {type(model).__name__}: return "
            "load_model(...)"
        )
    return model


def _progress(stored: Mapping[str, CheckpointNumbers]) -> Progress:
    """Return the finished checkpoints in the form of a resume file."""
    states = {str(position): numbers.state() for position, numbers in enumerate(stored.values())}
    return Progress(n_batches=len(states), states=states)


def _check_fits(numbers: CheckpointNumbers, before: Sequence[CheckpointNumbers]) -> None:
    """Raise ValueError if a checkpoint does not belong to the same training run as the first."""
    if before and numbers.shapes != before[0].shapes:
        raise ValueError(
            f"the checkpoint {numbers.label!r} and the first checkpoint differ in layers or heads: "
            "pass checkpoints of one training"
        )
    if before and numbers.sequences != before[0].sequences:
        raise ValueError(
            f"the checkpoint {numbers.label!r} and the first checkpoint read other random tokens, "
            "since their vocabularies or lengths of inputs differ: pass checkpoints of one training"
        )


def _result(measured: Sequence[CheckpointNumbers], *, complete: bool) -> MeasuredCheckpoints:
    """Combine the values of all checkpoints."""
    labels = tuple(numbers.label for numbers in measured)
    groups: dict[str, list[str]] = {}
    for numbers in measured:
        groups.setdefault(numbers.weights, []).append(numbers.label)
    repeated_tokens = [numbers.repeated for numbers in measured if numbers.repeated is not None]
    scores = {}
    controls = {}
    for position, title in enumerate(SCORES if repeated_tokens else ()):
        scores[title] = np.stack([repeated.scores[position] for repeated in repeated_tokens])
        controls[title] = np.stack([repeated.controls[position] for repeated in repeated_tokens])
    return MeasuredCheckpoints(
        checkpoints=labels,
        metrics={
            title: np.stack([numbers.metrics[title] for numbers in measured])
            for title in measured[0].metrics
        },
        scores=scores,
        controls=controls,
        losses=np.stack([repeated.losses for repeated in repeated_tokens])
        if repeated_tokens
        else None,
        equal=tuple(tuple(group) for group in groups.values() if len(group) > 1),
        n_segments=measured[0].n_segments,
        length=measured[0].length,
        complete=complete,
        model_name=measured[-1].model_name,
    )
