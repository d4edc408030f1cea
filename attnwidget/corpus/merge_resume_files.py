"""Merging of resume files from runs that each measured a part of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from attnwidget.corpus.file_lock import one_writer
from attnwidget.corpus.resume_file import Progress, ResumeFile
from attnwidget.hidden_frames import hides_frames
from attnwidget.text.given_paths import refuse_no_file


@hides_frames
def merge_resume_files(parts: Iterable[str | Path], whole: str | Path) -> Path:
    """Merge the resume files of several `measure` runs, such as the runs of an array job.

    Each run must have measured its part of the segments with a separate resume file and with the
    same model, metrics and `batch_size`. If you then call `measure` for all segments with the
    merged resume file, it reads no segment again. The sums are added in a different order than in a
    single run, so numbers agree to 1e-12, while `run_on` gives bit-identical numbers.

    Batches are made from 32 times `batch_size` segments at a time. The number of segments in every
    part except the last must therefore be a multiple of this number.

    Args:
        parts: Finished resume files, in segment order.
        whole: File to write, .npz.

    Returns:
        `whole`, as a path.

    Raises:
        ValueError: There are no parts; a file is not a resume file of `measure` or belongs to a
            different study; or the numbers of a metric are not sums over segments.
        RuntimeError: Another run is writing `whole`.
        FileNotFoundError: A part, or the folder of `whole`, does not exist.

    Example:
        >>> import tempfile
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.metrics import merge_resume_files
        >>> model = load_model()
        >>> segments = make_segments(["It slept."] * 40, model)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = [f"{folder}/{part}.npz" for part in range(2)]
        ...     options = dict(metrics=["entropy"], batch_size=1, progress=False)
        ...     for file, part in zip(files, (segments[:32], segments[32:])):
        ...         _ = measure(model, part, resume=file, **options)
        ...     whole = merge_resume_files(files, f"{folder}/whole.npz")
        ...     print(measure(model, segments, resume=whole, **options))
        Measurements(small BERT (in the package), 40 segments: entropy)
    """
    files = [ResumeFile(path, {}) for path in parts]
    if not files:
        raise ValueError("there are no resume files to merge: name those of the parts, in order")
    for file in files:
        refuse_no_file(file.path, "the resume file of a part (.npz; measure that part first)")
    about, merged = files[0].stored()
    _refuse_unsummed(files[0].path, about, merged)
    for file in files[1:]:
        other_about, other = file.stored()
        if other_about != about or _arrays(other) != _arrays(merged):
            raise ValueError(
                f"{file.path} is of another study than {files[0].path}: merge parts that were "
                "measured with the same model, metrics and batch_size"
            )
        merged = _sum(merged, other)
    with one_writer(whole):
        ResumeFile(whole, about).save(merged)
    return Path(whole)


def _refuse_unsummed(path: Path, about: Mapping[str, Any], progress: Progress) -> None:
    """Raise ValueError for a resume file with numbers that cannot be added."""
    if "metrics" not in about:
        raise ValueError(
            f"{path} is no resume file of measure: only resume files of measure can be merged"
        )
    if progress.unsummed:
        raise ValueError(
            f"{path} has numbers of {', '.join(progress.unsummed)}, which are no sums over "
            "segments and cannot be merged: measure all segments in one run, with `run_on` for "
            "several processes"
        )


def _sum(first: Progress, second: Progress) -> Progress:
    """Return the progress of two parts together."""
    return Progress(
        n_batches=first.n_batches + second.n_batches,
        n_segments=first.n_segments + second.n_segments,
        digest=second.digest,
        earlier=[*first.parts, *second.earlier],
        states={
            name: {entry: values + second.states[name][entry] for entry, values in state.items()}
            for name, state in first.states.items()
        },
    )


def _arrays(progress: Progress) -> dict[str, dict[str, tuple[int, ...]]]:
    """Return the shapes of all arrays by accumulator and entry."""
    return {
        name: {entry: values.shape for entry, values in state.items()}
        for name, state in progress.states.items()
    }
