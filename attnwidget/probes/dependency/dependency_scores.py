"""Scores of several dependency probes side by side (Clark et al. 2019, Table 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attnwidget.capture.result import Result
from attnwidget.hidden_frames import hides_frames
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.parse_scores import ParseScores
from attnwidget.text.counted import counted
from attnwidget.text.percent import percent

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

#: UAS in the paper's Table 3 by predictor, in the paper's order: BERT-base on the Wall Street
#: Journal in Stanford Dependencies, with GloVe vectors of 100 dimensions.
PAPER_UAS: Mapping[str, float] = {
    "right-branching": 0.26,
    "distances+words": 0.58,
    "random weights": 0.30,
    "attention": 0.61,
    "attention+words": 0.77,
}


@dataclass(frozen=True)
class PredictorScore:
    """Score of one predictor of governors.

    Attributes:
        predictor: Name of the predictor.
        uas: Share of words with a correct governor, without punctuation, 0 to 1.
        low: Lower end of the 95 % interval over sentences.
        high: Upper end of the interval.
        spread: Standard deviation over seeds; None for predictors without seeds.

    Example:
        >>> from attnwidget.demo import demo_dependency_scores
        >>> score = demo_dependency_scores().scores[0]
        >>> score.predictor, round(score.uas, 3)
        ('right-branching', 0.314)
    """

    predictor: str
    uas: float
    low: float
    high: float
    spread: float | None


@dataclass(frozen=True, eq=False, repr=False)
class DependencyScores(Result):
    """Scores of dependency probes and baselines, in the order of Clark et al. 2019, Table 3.

    Made by `compare_dependency_probes`; `demo_dependency_scores` has stored scores.

    Attributes:
        scores: Scores of the predictors.
        data: Sentences of the training and the evaluation, in words.

    Example:
        >>> from attnwidget.demo import demo_dependency_scores
        >>> found = demo_dependency_scores()
        >>> found.to_frame()["predictor"].tolist()
        ['right-branching', 'distances+words', 'random weights', 'attention', 'attention+words']
    """

    scores: tuple[PredictorScore, ...]
    data: str

    @property
    def finding(self) -> str:
        """Score of the probe with the largest score, and of the other predictors."""
        best, *others = sorted(self.scores, key=lambda score: -score.uas)
        rest = ", ".join(f"{score.predictor} {percent(score.uas)}" for score in others)
        return f"{best.predictor} finds {percent(best.uas)} of the governors" + (
            f"; {rest}" if rest else ""
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per predictor: predictor, uas, low, high, spread, in the paper.

        Shares are from 0 to 1. "in the paper" is NaN for predictors that Table 3 does not have.
        """
        import pandas as pd

        frame = pd.DataFrame([vars(score) for score in self.scores])
        frame["spread"] = frame["spread"].astype(float)
        frame["in the paper"] = frame["predictor"].map(PAPER_UAS).astype(float)
        return frame

    def chart(self, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw one bar per predictor, with the paper's value as a tick.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.bars_with_ticks import bars_with_ticks

        return bars_with_ticks(
            self.to_frame().rename(columns={"uas": "value", "in the paper": "tick"}),
            title=f"Governors found by probes\n{self.model_name}, {self.data}; lines: 95\xa0% "
            "intervals over sentences",
            value_title="UAS, words with the correct governor",
            tick_title="in the paper (BERT-base)",
            emphasized=("attention", "attention+words"),
            width=width,
        )

    def __repr__(self) -> str:
        scores = ", ".join(f"{score.predictor} {score.uas:.1%}" for score in self.scores)
        return f"DependencyScores({self.model_name}: {scores})"


@hides_frames
def compare_dependency_probes(
    probes: Iterable[DependencyProbe], *, data: str = ""
) -> DependencyScores:
    """Return the scores of dependency probes and of their baselines as one table (Table 3).

    The rows are in the paper's order: the next word ("right-branching"), distances and words,
    attention and words of a model with random weights ("random weights"), attention, attention and
    words. Predictors that no probe has are left out.

    Args:
        probes: Probes of `train_dependency_probe` for one model, scored on the same sentences.
        data: Description of the sentences for the figure; "" = the number of training sentences.

    Returns:
        Scores with a table and a chart.

    Raises:
        ValueError: If there are no probes, two probes of a kind, or probes of several models or
            sentences.

    Example:
        >>> from attnwidget.demo import demo_probe
        >>> from attnwidget.probes import compare_dependency_probes
        >>> compare_dependency_probes([demo_probe()]).to_frame()["predictor"].tolist()
        ['right-branching', 'attention']
    """
    probes = list(probes)
    if not probes:
        raise ValueError("there are no probes: pass those of train_dependency_probe")
    kinds = [probe.form.kind for probe in probes]
    if len(set(kinds)) < len(kinds):
        raise ValueError(f"probes must be of different kinds, got {', '.join(kinds)}")
    first = probes[0]
    for probe in probes[1:]:
        if probe.model_name != first.model_name:
            raise ValueError(
                f"probes must be of one model, got {first.model_name} and {probe.model_name}"
            )
        if probe.scores.hits.shape[1] != first.scores.hits.shape[1]:
            raise ValueError("probes must be scored on the same sentences: pass the same dev")
    scores: dict[str, ParseScores] = {}
    for probe in probes:
        scores |= {name: score for name, score in probe.baselines.items() if name in PAPER_UAS}
        scores[probe.form.kind] = probe.scores
    with_words = next((probe for probe in probes if probe.form.kind == "attention+words"), None)
    if with_words is not None and "untrained" in with_words.baselines:
        scores["random weights"] = with_words.baselines["untrained"]
    rows = [
        PredictorScore(
            name,
            scores[name].uas,
            *scores[name].interval,
            scores[name].spread if len(scores[name].hits) > 1 else None,
        )
        for name in PAPER_UAS
        if name in scores
    ]
    return DependencyScores(
        tuple(rows),
        data or f"trained on {counted(int(first.options['n_train']), 'sentence')}",
        complete=all(probe.complete for probe in probes),
        model_name=first.model_name,
    )


def scores_to_json(found: DependencyScores) -> dict[str, Any]:
    """Return scores as JSON, with shares to five digits."""
    rows = [
        {
            name: round(value, 5) if isinstance(value, float) else value
            for name, value in vars(score).items()
        }
        for score in found.scores
    ]
    return {"model_name": found.model_name, "data": found.data, "scores": rows}


def scores_from_json(stored: Mapping[str, Any]) -> DependencyScores:
    """Return the scores from the JSON of `scores_to_json`."""
    rows = tuple(PredictorScore(**row) for row in stored["scores"])
    return DependencyScores(rows, stored["data"], model_name=stored["model_name"])
