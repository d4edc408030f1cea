"""Result of a dependency probe: scores with baselines, weights, and predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from attnwidget.corpus.argument_checks import one_of, refuse_no_model
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.kernels.arrays import Float64Array
from attnwidget.kernels.dependency_scores import map_votes, word_factors
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.spanning_tree import best_tree
from attnwidget.probes.dependency.dependency_answers import CodeLength, HeadVotes, ProbePredictions
from attnwidget.probes.dependency.dependency_form import Form
from attnwidget.probes.features import sentence_maps
from attnwidget.probes.parse_scores import JudgedWords, ParseScores
from attnwidget.probes.saved_arrays import refuse_other_weights, write_probe
from attnwidget.text.counted import counted
from attnwidget.text.treebank import Sentence
from attnwidget.text.word_vectors import WordVectors
from attnwidget.words.relation_results import DIRECTIONS

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel


# Attributes of a probe that JSON stores unchanged.
_PLAIN = ("model_name", "model_digest", "n_layers", "n_heads", "complete")


@dataclass(frozen=True, eq=False, repr=False)
class DependencyProbe(HeadResult):
    """A probe that predicts governors, with one set of parameters per seed.

    Made by `train_dependency_probe` or `load_probe`.

    Attributes:
        form: Inputs and number of parameters of the probe.
        parameters: Parameters of all seeds, float32 [S, P]; `named` gives them by name.
        seeds: Seeds of the S probes.
        model_name: Name of the model whose attention the probe uses.
        model_digest: Fingerprint of the model.
        n_layers: Number of layers of the model, L.
        n_heads: Number of attention heads per layer, H.
        options: Training options and a description of the training data.
        scores: Scores on the sentences of `dev`.
        baselines: Scores of other predictors on the same words: "right-branching", "offset -1"…,
            "distances+words", "untrained".
        curve: Scores of the same probe by number of training sentences, or {}.
        control: Scores on the control task, or None.
        code: Description length, or None.
        mean_pair: Mean over the arcs of `dev` of both words' vectors, the dependent's first,
            float64 [2d].
        complete: False if Ctrl-C ended the training, with the number of processed sentences in
            `options["n_steps"]`, or if a baseline was not trained.
        model: Model for `predictions`; None if the probe was loaded without one.
        vectors: Word vectors for `predictions`; None if the probe was loaded without them.

    Example:
        >>> from attnwidget.demo import demo_probe, demo_treebank
        >>> probe = demo_probe()
        >>> probe.form.n_parameters, len(probe.seeds), list(probe.baselines)
        (146, 3, ['right-branching', 'offset 1', 'untrained'])
        >>> probe.predictions(demo_treebank()[94])
        ProbePredictions(8 of 15 right: 'Sorry, I missed your call, my phone was in my other coat.')
    """

    kind: ClassVar[str] = "dependency probe"

    form: Form
    parameters: NDArray[np.float32]
    seeds: tuple[int, ...]
    model_digest: str
    n_layers: int
    n_heads: int
    options: Mapping[str, Any]
    scores: ParseScores
    baselines: Mapping[str, ParseScores]
    curve: Mapping[int, ParseScores]
    control: ParseScores | None
    code: CodeLength | None
    mean_pair: Float64Array
    model: AttentionModel | None = None
    vectors: WordVectors | None = None

    @property
    def uas(self) -> float:
        """Share of words of `dev` with a correct governor, with the root, without punctuation."""
        return self.scores.uas

    @property
    def selectivity(self) -> float | None:
        """`uas` minus the score of the same probe on the control task (Hewitt and Liang 2019)."""
        return None if self.control is None else self.uas - self.control.uas

    @property
    def weights(self) -> Float64Array:
        """Weight of each map, float64 [S, L, H, 2]: from dependent to governor, and back.

        For a probe with words, this is the mean over the arcs of `dev`, without the root.

        Raises:
            ValueError: If the probe does not use attention.
        """
        if not self.form.reads_maps:
            raise ValueError(f"a probe of {self.form.kind} reads no attention: it weighs no head")
        parameters = self.named
        head_weights = parameters["weights"].double()
        if self.form.reads_words:
            head_weights = (
                head_weights @ torch.from_numpy(self.mean_pair) + parameters["bias"].double()
            )
        shape = (len(self.seeds), 2, self.n_layers, self.n_heads)
        weights: Float64Array = head_weights.reshape(shape).permute(0, 2, 3, 1).numpy()
        return weights

    @cached_property
    def named(self) -> dict[str, torch.Tensor]:
        """Parameters by name, [S, ...]."""
        return self.form.named(torch.from_numpy(self.parameters.copy()))

    def heads(self) -> HeadMetrics:
        """Return the mean weight over seeds of each head in both directions: [L, H] by title."""
        if not self.form.reads_maps:
            return {}
        mean = self.weights.mean(0)
        return {f"weight, {name}": mean[..., i] for i, name in enumerate(DIRECTIONS)}

    def predictors(self) -> dict[str, ParseScores]:
        """Return the scores of the probe and of its baselines, by name."""
        return {self.form.kind: self.scores, **self.baselines}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per predictor: score with interval, spread over seeds, and relations.

        Columns: predictor, uas, low, high, spread, with punctuation, and one per relation.
        `attrs["model"]` is the name of the model.
        """
        import pandas as pd

        rows = [
            {
                "predictor": name,
                "uas": score.uas,
                "low": score.interval[0],
                "high": score.interval[1],
                "spread": score.spread,
                "with punctuation": score.uas_with_punctuation,
                **{relation: share for relation, (_, share) in score.by_relation().items()},
            }
            for name, score in self.predictors().items()
        ]
        return pd.DataFrame(rows)

    def chart(
        self, by: Literal["predictor", "sentences"] = "predictor", *, width: int = 640
    ) -> alt.VConcatChart:
        """Draw the scores of the probe and its baselines; needs no network.

        "sentences" draws the score by the number of training sentences, with the baselines as
        lines. It needs `train_dependency_probe(curve=True)`; otherwise, ValueError is raised.

        Args:
            by: Axis of the figure: "predictor" or "sentences".
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.accuracy_bars import accuracy_bars
        from attnwidget.charts.score_panels import score_panels

        one_of("by", by, ("predictor", "sentences"))
        frame = self.to_frame().rename(columns={"uas": "value"}).assign(task="UAS")
        title = f"Governors found by a probe of {self.form.kind}\n{self.model_name}"
        if by == "sentences":
            if not self.curve:
                raise ValueError("there is no curve: pass curve=True to train_dependency_probe")
            lines = {name: score.uas for name, score in self.baselines.items()}
            return score_panels(
                self.curve_frame(),
                along="sentences",
                title=f"{title}; by the number of sentences it learned from; 95\xa0% intervals",
                reference={"UAS": lines},
                width=width,
            )
        caption = (
            f"trained on {counted(self.options['n_train'], 'sentence')}, "
            f"{counted(len(self.seeds), 'seed')}; lines: 95\xa0% intervals over sentences"
        )
        suffix = "" if self.complete else "; ended before all was trained"
        return accuracy_bars(frame, title=f"{title}; {caption}{suffix}", width=width)

    def curve_frame(self) -> pd.DataFrame:
        """Return one row per size of `curve`: sentences, series, measure, value, low, high."""
        import pandas as pd

        rows = [
            (n, self.form.kind, "UAS", score.uas, *score.interval)
            for n, score in sorted(self.curve.items())
        ]
        columns = ["sentences", "series", "measure", "value", "low", "high"]
        return pd.DataFrame(rows, columns=columns)

    @in_plain_torch
    def predictions(self, sentence: Sentence, *, seed: int = 0) -> ProbePredictions:
        """Return the probe's predictions for one sentence.

        Args:
            sentence: Sentence of a treebank, or from `Sentence.from_lists`.
            seed: Index of the probe in `seeds`.

        Raises:
            ValueError: If the model or the word vectors are missing or differ from those of the
                training, or the sentence is too long for the model or has a word without tokens.

        Example:
            >>> from attnwidget import load_model
            >>> from attnwidget.demo import demo_treebank
            >>> from attnwidget.probes import train_dependency_probe
            >>> sentences = demo_treebank()
            >>> train, dev = sentences[:80], sentences[80:]
            >>> probe = train_dependency_probe(load_model(), train, dev, progress=False)
            >>> found = probe.predictions(sentences[80])
            >>> found.probabilities.shape, float(found.probabilities[0].sum().round(6))
            ((16, 17), 1.0)
        """
        if not 0 <= seed < len(self.seeds):
            raise ValueError(
                f"seed must be an index of the {len(self.seeds)} seeds, counted from 0; got {seed}"
            )
        maps = self._maps(sentence) if self.form.reads_maps else None
        vectors = self._vectors(sentence) if self.form.reads_words else None
        parameters = {name: values[seed : seed + 1].double() for name, values in self.named.items()}
        scores = self.form.scores(parameters, maps, vectors)[0]
        votes = None if maps is None else self._votes(maps, vectors, parameters)
        probabilities = scores.softmax(-1)
        tree = self.options["decode"] == "tree"
        governors = best_tree(scores.numpy()) if tree else scores.argmax(-1).numpy()
        return ProbePredictions(sentence, probabilities.numpy(), scores.numpy(), governors, votes)

    @in_plain_torch
    def votes(
        self, sentence: Sentence, dependent: int, governor: int, *, seed: int = 0
    ) -> HeadVotes:
        """Return the vote of every head for one arc: weight times attention.

        Args:
            sentence: Sentence, as in `predictions`.
            dependent: Number of the dependent, from 1.
            governor: Number of the governor, from 1, or 0 for the root.
            seed: Index of the probe in `seeds`.

        Raises:
            ValueError: If there is no such word, or the probe does not use attention; or as in
                `predictions`.
        """
        m = len(sentence)
        if not 1 <= dependent <= m or not 0 <= governor <= m:
            raise ValueError(
                f"a dependent must be a word from 1 to {m} and its governor one from 0 (the root), "
                f"got {dependent} and {governor}"
            )
        if not self.form.reads_maps:
            raise ValueError(f"a probe of {self.form.kind} reads no attention: no head votes")
        head_votes = self.predictions(sentence, seed=seed).votes
        assert head_votes is not None
        words = ["root", *sentence.words]
        return HeadVotes(
            values=head_votes[..., dependent - 1, governor],
            arc=f"{words[governor]} → {words[dependent]}",
            model_name=self.model_name,
        )

    def for_model(self, model: AttentionModel) -> DependencyProbe:
        """Return the probe with a model attached, for a probe that was loaded without one.

        Raises:
            ValueError: If the model differs from the model of the training.
        """
        self._check_model(model)
        return replace(self, model=model)

    def with_vectors(self, vectors: WordVectors) -> DependencyProbe:
        """Return the probe with word vectors attached, for a probe that was loaded without them.

        Raises:
            ValueError: If the word vectors differ from those of the training.
        """
        self._check_vectors(vectors)
        return replace(self, vectors=vectors)

    def save(self, path: str | Path) -> Path:
        """Write the probe with its scores to an .npz file that `load_probe` reads; return its path.

        The file does not include the model and the word vectors.

        Raises:
            ValueError: If the file name does not end with .npz.
        """
        words = self.scores.words
        code = self.code
        metadata = {
            **{name: getattr(self, name) for name in _PLAIN},
            "form": vars(self.form),
            "seeds": list(self.seeds),
            "options": dict(self.options),
            "relations": list(words.relations),
            "baselines": list(self.baselines),
            "curve": list(self.curve),
            "bounds": None if code is None else list(code.bounds),
            "n_words": None if code is None else code.n_words,
        }
        arrays: dict[str, NDArray[Any]] = {
            "parameters": self.parameters,
            "mean_pair": self.mean_pair,
            "relation": words.relation,
            "sentence": words.sentence,
            "hits": self.scores.hits,
            **{f"hits/{name}": score.hits for name, score in self.baselines.items()},
            **{f"curve/{n}": score.hits for n, score in self.curve.items()},
        }
        if self.control is not None:
            arrays["control"] = self.control.hits
        if code is not None:
            arrays |= {"bits": code.bits, "uniform_bits": code.uniform_bits}
        return write_probe(path, self.kind, metadata, arrays)

    @classmethod
    def restored(
        cls, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> DependencyProbe:
        """Return the probe from a file of `save`; ValueError if arrays do not fit."""
        words = JudgedWords(tuple(about["relations"]), arrays["relation"], arrays["sentence"])
        code = None
        if about["bounds"] is not None:
            bounds = tuple(about["bounds"])
            n_words = about["n_words"]
            code = CodeLength(bounds, arrays["bits"], arrays["uniform_bits"], n_words)
        form = Form(**about["form"])
        parameters = arrays["parameters"]
        expected = (len(about["seeds"]), form.n_parameters)
        if parameters.shape != expected:
            raise ValueError(f"its parameters are {parameters.shape}, expected {expected}")
        return cls(
            form=form,
            parameters=parameters,
            seeds=tuple(about["seeds"]),
            options=about["options"],
            scores=ParseScores(arrays["hits"], words),
            baselines={n: ParseScores(arrays[f"hits/{n}"], words) for n in about["baselines"]},
            curve={n: ParseScores(arrays[f"curve/{n}"], words) for n in about["curve"]},
            control=ParseScores(arrays["control"], words) if "control" in arrays else None,
            code=code,
            mean_pair=arrays["mean_pair"],
            **{name: about[name] for name in _PLAIN},
        )

    def _votes(
        self, maps: torch.Tensor, vectors: torch.Tensor | None, own: Mapping[str, torch.Tensor]
    ) -> Float64Array:
        first_seed = {name: values[0] for name, values in own.items()}
        if vectors is None:
            factors = first_seed["weights"][..., None, None]
        else:
            factors = word_factors(vectors, first_seed["weights"], first_seed["bias"])
        votes = map_votes(maps, factors, first_seed["root"]).movedim(0, 1)  # [C, 2, m, m + 1]
        by_head: Float64Array = votes.unflatten(0, (self.n_layers, self.n_heads)).numpy()
        return by_head

    def _maps(self, sentence: Sentence) -> torch.Tensor:
        if self.model is None:
            raise ValueError(
                "no model is at hand to read the sentence: load_probe(path, model), or "
                "probe.for_model(model)"
            )
        self._check_model(self.model)
        return torch.from_numpy(sentence_maps(self.model, sentence)).double()

    def _vectors(self, sentence: Sentence) -> torch.Tensor:
        if self.vectors is None:
            raise ValueError(
                f"no word vectors are at hand: load_probe(path, vectors=…) with "
                f"{self.options['vectors']!r}, or probe.with_vectors(vectors)"
            )
        return torch.from_numpy(self.vectors(sentence.words)).double()

    def _check_model(self, model: AttentionModel) -> None:
        refuse_no_model(model)
        if (model.n_layers, model.n_heads) != (self.n_layers, self.n_heads):
            raise ValueError(
                f"the probe was trained on {self.model_name}, of {self.n_layers}×{self.n_heads} "
                f"heads; {model.name} has {model.n_layers}×{model.n_heads}: pass that model"
            )
        refuse_other_weights(model, self.model_name, self.model_digest)

    def _check_vectors(self, vectors: WordVectors) -> None:
        if vectors.dimension != self.form.dimension:
            raise ValueError(
                f"the probe was trained with vectors of {self.form.dimension} dimensions, "
                f"{vectors.name!r} has {vectors.dimension}: pass {self.options['vectors']!r}"
            )
        if vectors.digest != self.options["vectors_digest"]:
            raise ValueError(
                f"the probe was trained with {self.options['vectors']!r}; {vectors.name!r} are "
                "other words or numbers"
            )

    def __repr__(self) -> str:
        low, high = self.scores.interval
        ended = "" if self.complete else ", ended before all was trained"
        return (
            f"DependencyProbe({self.form.kind} of {self.model_name}: UAS {self.uas:.1%} "
            f"({low:.1%} to {high:.1%}), {counted(len(self.seeds), 'seed')}{ended})"
        )
