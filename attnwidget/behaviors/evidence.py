"""Model and data from which behaviors are scored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from attnwidget.corpus.progress_bar import OnProgress, progress_label
from attnwidget.corpus.resume_from import resume_from, resume_path
from attnwidget.inputs.media_input import MediaSegment
from attnwidget.text.mentions import Document
from attnwidget.text.segments import Segment
from attnwidget.text.treebank import Sentence
from attnwidget.words.coreference import probe_coreference
from attnwidget.words.coreference_results import CoreferenceAccuracies

if TYPE_CHECKING:
    from attnwidget.capture.model import AttentionModel


@dataclass(frozen=True, eq=False)
class Run:
    """Settings for running the studies of an atlas.

    Attributes:
        batch_size: Number of inputs in a forward pass.
        folder: Folder of the resume files, with one file per study; None = no resume files.
        progress: Whether to show progress bars; or a function that is called with the number of
            processed inputs and the total (None if unknown).
    """

    batch_size: int = 8
    folder: Path | None = None
    progress: bool | OnProgress = True

    @classmethod
    def from_arguments(
        cls, batch_size: int, resume: str | Path | None, progress: bool | OnProgress
    ) -> Run:
        """Return a run that uses the folder of `resume`, or of the enclosing `resume_from`."""
        folder = resume_path(resume)
        return cls(batch_size, None if folder is None else Path(folder), progress)

    @contextmanager
    def keeping(self, study: str, label: str) -> Iterator[None]:
        """Continue a study from its file in the folder, if any, and label its progress bars.

        Args:
            study: Name of the file, without its suffix.
            label: Name of the study for readers.
        """
        path = None if self.folder is None else self.folder / f"{study}.npz"
        with progress_label(label), resume_from(path):
            yield


@dataclass(frozen=True, eq=False)
class Evidence:
    """Model and data from which behaviors are scored.

    Each kind of data has two halves: the first scores heads, and the second checks the result.

    Attributes:
        model: Model whose heads are scored.
        causal: Whether each token sees only itself and earlier tokens.
        segments: Texts without annotation.
        treebank: Sentences with dependency trees; may be empty.
        documents: Documents with coreference: at least two, or none.
        seed: Seed of all random numbers.
        n_random_models: Number of models with random weights, which show the scores that occur
            without any learning.
        run: Settings of the studies.
    """

    model: AttentionModel
    causal: bool
    segments: Sequence[Segment]
    treebank: Sequence[Sentence] = ()
    documents: Sequence[Document] = ()
    seed: int = 0
    n_random_models: int = 0
    run: Run = Run()

    @cached_property
    def coreference(self) -> tuple[CoreferenceAccuracies, CoreferenceAccuracies]:
        """Coreference results of both halves of the documents.

        The results are cached, because several behaviors use them.

        Raises:
            ValueError: If no mention of a half has an antecedent in its window.
            KeyboardInterrupt: Ctrl-C.
        """

        def accuracies(number: int) -> CoreferenceAccuracies:
            label = f"coreference, half {number + 1} of 2"
            with self.run.keeping(f"coreference-{number}", label):
                return probe_coreference(
                    self.model,
                    self.documents[number::2],
                    windows="all",
                    max_tokens=min(128, self.model.length_limit.tokens or 128),
                    skip_unaligned=True,
                    batch_size=self.run.batch_size,
                    progress=self.run.progress,
                )

        first, second = accuracies(0), accuracies(1)
        if not (first.complete and second.complete):
            raise KeyboardInterrupt
        return first, second

    @property
    def of_pictures(self) -> bool:
        """Whether the inputs are pictures."""
        return bool(self.segments) and isinstance(self.segments[0], MediaSegment)

    def lacks(self, needs: frozenset[str]) -> str:
        """Return the unmet needs as a sentence; "" if all are met."""
        reasons = {
            "causal": ("" if self.causal else "tokens of this model see later tokens"),
            "bidirectional": ("tokens of this model see no later tokens" if self.causal else ""),
            "pairs": (
                "" if any(segment.second for segment in self.segments) else "no text is a pair"
            ),
            "treebank": "" if self.treebank else "there is no treebank",
            "documents": "" if self.documents else "there are no documents with coreference",
            "circuits": "",
        }
        return "; ".join(reasons[need] for need in sorted(needs) if reasons[need])
