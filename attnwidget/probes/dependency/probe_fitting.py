"""Training of probes: one sentence per step, several seeds at once, resumable after a kill."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from attnwidget.corpus.model_reader import one_thread
from attnwidget.corpus.progress_bar import progress_bar
from attnwidget.corpus.resume_file import Progress, ResumeFile, digest_of
from attnwidget.corpus.resume_from import resume_path
from attnwidget.model_facts.free_memory import give_memory_back
from attnwidget.probes.dependency.dependency_form import Form
from attnwidget.probes.features import StoredFeatures
from attnwidget.text.treebank import Sentence
from attnwidget.text.word_vectors import WordVectors

_SECONDS_BETWEEN_SAVES = 5.0
# Number of steps between copies of all parameters, to which Ctrl-C goes back.
_KEPT_EVERY = 200


class TrainingExamples(Sequence["TrainingExample"]):
    """Sentences in the form that a probe uses, one at a time.

    Args:
        sentences: Sentences of the training or evaluation.
        governors: Governors of each sentence's words, from 1; 0 for the root.
        features: Maps of the sentences, or None if the probe does not use attention.
        vectors: Word vectors, or None if the probe does not use words.
        every: Step from one sentence to the next in `features`; 2 takes every second one.
    """

    def __init__(
        self,
        sentences: Sequence[Sentence],
        governors: Sequence[Sequence[int]],
        features: StoredFeatures | None,
        vectors: WordVectors | None,
        every: int = 1,
    ) -> None:
        self.sentences = sentences
        self.governors = governors
        self.features = features
        self.vectors = vectors
        self._every = every

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: Any) -> Any:
        maps = vectors = None
        if self.features is not None:
            maps = torch.from_numpy(self.features[index * self._every].astype(np.float32))
        if self.vectors is not None:
            vectors = torch.from_numpy(self.vectors(self.sentences[index].words))
        return TrainingExample(
            maps, vectors, torch.tensor(self.governors[index], dtype=torch.long, device="cpu")
        )

    @property
    def digest(self) -> str:
        """Fingerprint of the examples."""
        digests = [
            None if self.features is None else self.features.path.parent.name,
            None if self.vectors is None else self.vectors.digest,
        ]
        words = ((s.words, tuple(g)) for s, g in zip(self.sentences, self.governors, strict=True))
        return digest_of([*digests, *words])


@dataclass(frozen=True, eq=False)
class TrainingExample:
    """One sentence: `maps` [C, m + 2, m + 2], `vectors` [m, d], `governors` int64 [m]."""

    maps: Tensor | None
    vectors: Tensor | None
    governors: Tensor


@dataclass(frozen=True, eq=False)
class FittedProbes:
    """Result of a training.

    Attributes:
        form: Form of the probes.
        parameters: Parameters of all seeds, float32 [S, P].
        n_steps: Number of steps over all epochs, one sentence each.
        complete: Whether all steps were done.
        bits: Bits of each block in the online code, float64 [K, S]; NaN for unprocessed blocks.
    """

    form: Form
    parameters: Tensor
    n_steps: int
    complete: bool
    bits: NDArray[np.float64]

    @property
    def named(self) -> dict[str, Tensor]:
        """Parameters by name, [S, ...]."""
        return self.form.named(self.parameters)


class Fits:
    """Several trainings with the resume file of the enclosing block, ended together by Ctrl-C.

    Args:
        about: Description of the trainings, as JSON; a file about other trainings is refused.
        progress: Whether to show a progress bar for each training.

    Attributes:
        stopped: Whether Ctrl-C ended a training; no other training begins then.
    """

    def __init__(self, about: Mapping[str, Any], *, progress: bool) -> None:
        resume = resume_path()
        self._file = None if resume is None else ResumeFile(resume, about)
        self._states: dict[str, Mapping[str, NDArray[Any]]] = {}
        if self._file is not None:
            self._states = dict(self._file.load().states)
        self._progress = progress
        self.stopped = False

    def fit(
        self,
        name: str,
        form: Form,
        examples: TrainingExamples,
        *,
        seeds: Sequence[int],
        epochs: int,
        learning_rate: float,
        blocks: Sequence[int] = (),
    ) -> FittedProbes:
        """Train a probe for each seed, all in one pass over the sentences, in their order.

        Adam makes one step per sentence; the loss is the cross entropy summed over the sentence's
        words. `blocks` are the bounds of the online code's blocks: before training on a block, it
        is encoded with the parameters learned from all earlier blocks.

        Raises:
            KeyboardInterrupt: If Ctrl-C was pressed before anything was learned.
        """
        parameters = form.start(seeds).requires_grad_()
        adam = torch.optim.Adam([parameters], lr=learning_rate)
        bits = np.full((max(0, len(blocks) - 1), len(seeds)), np.nan)
        saved_state = self._states.get(name)
        done = 0 if saved_state is None else self._restore(saved_state, parameters, adam, bits)
        total = epochs * len(examples)
        saved_at = time.monotonic()
        starts = {start: k for k, start in enumerate(blocks[:-1])}
        try:
            with (
                one_thread(),
                progress_bar(total, f"sentence ({name})", done=done, shown=self._progress) as bar,
            ):
                for step in range(done, total):
                    if step in starts:
                        k = starts[step]
                        bits[k] = code_length(form, parameters, examples, step, blocks[k + 1])
                    train_on(form, parameters, adam, examples[step % len(examples)])
                    bar.update()
                    if (step + 1) % _KEPT_EVERY == 0 or step + 1 == total:
                        saved_state = _state(parameters, adam, bits, step + 1)
                        self._states[name] = saved_state
                        give_memory_back()
                        if time.monotonic() - saved_at > _SECONDS_BETWEEN_SAVES:
                            self._save()
                            saved_at = time.monotonic()
        except KeyboardInterrupt:
            # An interrupted step may have changed only some parameters, so restore the last copy.
            if saved_state is None:
                raise
            self._restore(saved_state, parameters, adam, bits)
            self.stopped = True
        self._save()
        n_steps = total if saved_state is None else int(saved_state["n_steps"])
        return FittedProbes(form, parameters.detach(), n_steps, n_steps == total, bits)

    def _save(self) -> None:
        if self._file is not None:
            self._file.save(Progress(states=self._states))

    def _restore(
        self,
        kept: Mapping[str, NDArray[Any]],
        parameters: Tensor,
        adam: torch.optim.Adam,
        bits: NDArray[np.float64],
    ) -> int:
        with torch.no_grad():
            parameters.copy_(torch.from_numpy(kept["parameters"]))
        adam.state[parameters] = {
            "step": torch.tensor(float(kept["n_steps"]), dtype=torch.float32, device="cpu"),
            "exp_avg": torch.from_numpy(kept["mean"].copy()),
            "exp_avg_sq": torch.from_numpy(kept["square"].copy()),
        }
        bits[:] = kept["bits"]
        return int(kept["n_steps"])


def train_on(
    form: Form, parameters: Tensor, adam: torch.optim.Adam, example: TrainingExample
) -> None:
    """Make a training step on one sentence, separately for the probe of each seed."""
    scores = form.scores(form.named(parameters), example.maps, example.vectors)
    loss = cross_entropy(
        scores.flatten(0, 1), example.governors.repeat(len(scores)), reduction="sum"
    )
    adam.zero_grad()
    loss.backward()
    adam.step()


@torch.no_grad()
def code_length(
    form: Form, parameters: Tensor, examples: TrainingExamples, start: int, stop: int
) -> NDArray[np.float64]:
    """Return the bits [S] of the governors of sentences `start` to `stop` under each probe."""
    total = torch.zeros(len(parameters), dtype=torch.float64, device="cpu")
    by_name = form.named(parameters)
    for index in range(start, stop):
        example = examples[index]
        logs = form.scores(by_name, example.maps, example.vectors).double().log_softmax(-1)
        true_governors = example.governors.expand(len(logs), -1)[..., None]
        total -= logs.gather(-1, true_governors).sum((1, 2))
    return (total / np.log(2)).numpy()


def _state(
    parameters: Tensor, adam: torch.optim.Adam, bits: NDArray[np.float64], n_steps: int
) -> dict[str, NDArray[Any]]:
    state = adam.state[parameters]
    return {
        "parameters": parameters.detach().numpy().copy(),
        "mean": state["exp_avg"].numpy().copy(),
        "square": state["exp_avg_sq"].numpy().copy(),
        "bits": bits.copy(),
        "n_steps": np.array(n_steps),
    }
