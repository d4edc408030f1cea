"""Results of the relation probe: accuracies of heads and of the best fixed offset."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from attnwidget.capture.tapping.head import Head
from attnwidget.capture.tapping.layer_numbers import LayerNumbers
from attnwidget.corpus.argument_checks import all_of
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.kernels.arrays import Float64Array, Int64Array
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.significance import better_than, holm, wilson_interval
from attnwidget.text.counted import counted
from attnwidget.text.near_names import among
from attnwidget.text.percent import percent
from attnwidget.text.treebank import Sentence
from attnwidget.text.whole_number import whole_number
from attnwidget.words.governors import GovernorPredictions, Possessive, WordUnit, predict_governors

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.model import AttentionModel


DIRECTIONS = ("dependent to governor", "governor to dependent")
"""Directions of attention; both predict a governor for each word."""
TABLE_COUNT = 100
"""Words that a relation of Clark et al.'s Table 1 has at least."""
_TABLE_COLUMNS = ("Relation", "Head", "Head in the paper", "Accuracy", "Baseline")
_POOLED = " (all)"
"""Suffix of the name of a relation that is pooled over its subtypes."""


@dataclass(frozen=True, eq=False, repr=False)
class RelationAccuracies(HeadResult):
    """Accuracies of heads whose most attended word predicts the governor of a word.

    There are R relations: "all" words first, then the relations of the treebank, most frequent
    first. A relation with subtypes has an entry for each subtype and one for all together, "nmod
    (all)". There are O fixed offsets.

    Attributes:
        relations: Names of the relations.
        counts: Number of words of each relation, int64 [R].
        correct: Number of words for which a head is correct, by direction (`DIRECTIONS`), int64 [L,
            H, 2, R].
        offsets: Fixed offsets.
        baseline_correct: Number of words for which an offset is correct, int64 [O, R].
        both_correct: Number of words for which a head and an offset are both correct, int64 [L, H,
            2, O, R].
        n_sentences: Number of processed sentences.
        n_skipped: Number of skipped sentences: invalid (`skip_invalid` of `load_treebank`), too
            long, or with a word without tokens or a token of several words.
        complete: False if the pass was interrupted.
        unit: Pooling of tokens to words, as in `probe_relations`.
        possessive: Rule for possessors before "'s".
        model_name: Name of the model.
        stack: Stack of the heads: "self", or "encoder" in an encoder-decoder.
        model: Model for `predictions`; None if it is not available, as in pickles and deep
            copies.
        layers_without_attention: Layers without attention in a hybrid model, which have 0 in
            `correct` and NaN in every share.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_treebank
        >>> from attnwidget.words import probe_relations
        >>> found = probe_relations(load_model(), demo_treebank()[:10], progress=False)
        >>> found.relations[:3], found.accuracy.shape[:3]
        (('all', 'det', 'punct'), (6, 12, 2))
        >>> found.best(min_count=5).columns.tolist()[:3]
        ['relation', 'n', 'layer']
    """

    relations: tuple[str, ...]
    counts: Int64Array
    correct: Int64Array
    offsets: tuple[int, ...]
    baseline_correct: Int64Array
    both_correct: Int64Array
    n_sentences: int
    n_skipped: int
    unit: WordUnit
    possessive: Possessive
    stack: str
    model: AttentionModel | None = None
    layers_without_attention: tuple[int, ...] = ()

    def __copy__(self) -> RelationAccuracies:
        return replace(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickles and deep copies, without the model."""
        return self.__dict__ | {"model": None}

    @property
    def accuracy(self) -> Float64Array:
        """Accuracy of each head, float64 [L, H, 2, R], 0 to 1; NaN in layers without attention."""
        accuracy: Float64Array = self.correct / self.counts
        accuracy[list(self.layers_without_attention)] = np.nan
        return accuracy

    @property
    def baseline_offset(self) -> Int64Array:
        """Offset that is correct most often, int64 [R]; the largest one if tied."""
        return np.array(self.offsets)[self._best_offsets]

    @property
    def baseline(self) -> Float64Array:
        """Accuracy of the best fixed offset, float64 [R], 0 to 1."""
        return self.baseline_correct.max(0) / self.counts

    @property
    def uas(self) -> Float64Array:
        """Accuracy over all words except punctuation, float64 [L, H, 2]; the root counts as wrong.

        This is the usual unlabeled attachment score, while "all" of `accuracy` includes
        punctuation.
        """
        punctuation = [i for i, name in enumerate(self.relations) if name == "punct"]
        n_words = self.counts[0] - self.counts[punctuation].sum()
        right = self.correct[..., 0] - self.correct[..., punctuation].sum(-1)
        uas = right / n_words if n_words else np.full(right.shape, np.nan)
        uas[list(self.layers_without_attention)] = np.nan
        return uas

    @cached_property
    def p_values(self) -> Float64Array:
        """Corrected p-values that a head is better than the best offset, float64 [L, H, 2, R].

        The test is an exact one-sided McNemar test against the best offset of the relation on the
        same words, with Holm's correction over all heads, both directions and all relations. The
        test treats words as independent, which is only approximately true within a sentence.
        """
        numbers = list(self._layers.numbers)
        return self._layers.spread(holm(self.single_p_values[numbers]))

    @property
    def single_p_values(self) -> Float64Array:
        """P-values before the correction of `p_values`, float64 [L, H, 2, R]."""
        layers = self._layers
        only_head, only_offset = (counts[list(layers.numbers)] for counts in self.only_one_right)
        return layers.spread(better_than(only_head, only_offset))

    @property
    def only_one_right(self) -> tuple[Int64Array, Int64Array]:
        """Number of words for which only the head, and only the best offset, is correct.

        Two arrays, int64 [L, H, 2, R].
        """
        both_right = np.take_along_axis(
            self.both_correct, self._best_offsets[None, None, None, None], axis=3
        )[..., 0, :]
        return self.correct - both_right, self.baseline_correct.max(0) - both_right

    @property
    def _layers(self) -> LayerNumbers:
        return LayerNumbers.without(self.layers_without_attention, len(self.correct))

    def best(
        self,
        min_count: int = TABLE_COUNT,
        *,
        skip: Collection[str] = ("root", "punct"),
        alpha: float = 0.05,
    ) -> pd.DataFrame:
        """Return the best head and the best fixed offset of each relation (Clark et al., Table 1).

        Ties go to the last layer, head and direction, as in the released code. The interval
        (Wilson, 95 %) is for the head's own accuracy. Selecting the best head on the same words
        makes its accuracy look better than it is.

        Args:
            min_count: Smallest number of words of a relation.
            skip: Relations to leave out; no head can be correct for the root.
            alpha: Largest corrected p-value that counts as significant.

        Returns:
            Columns: relation, n, layer, head, direction, accuracy, low, high, baseline, offset,
            p_value (corrected), significant.

        Example:
            >>> from attnwidget import Head, load_model
            >>> from attnwidget.demo import demo_treebank
            >>> from attnwidget.words import probe_relations
            >>> relations = probe_relations(load_model(), demo_treebank()[:10], progress=False)
            >>> best = relations.best(min_count=5).set_index("relation")
            >>> for relation in ("nsubj", "det"):
            ...     print(relation, Head(best.layer[relation], best["head"][relation]))
            nsubj L2 H8
            det L3 H8
        """
        import pandas as pd

        min_count = whole_number("min_count", min_count)
        selected = [
            r
            for r, name in enumerate(self.relations)
            if self.counts[r] >= min_count and name not in skip
        ]
        correct = self.correct.copy()
        correct[list(self.layers_without_attention)] = -1
        correct = correct.reshape(-1, len(self.relations))[:, selected]
        last = len(correct) - 1 - correct[::-1].argmax(0)
        layer, head, direction = np.unravel_index(last, self.correct.shape[:3])
        hits = correct[last, np.arange(len(selected))]
        n = self.counts[selected]
        low, high = wilson_interval(hits, n)
        p_value = self.p_values[layer, head, direction, selected]
        return pd.DataFrame(
            {
                "relation": [self.relations[r] for r in selected],
                "n": n,
                "layer": layer,
                "head": head,
                "direction": [DIRECTIONS[d] for d in direction],
                "accuracy": hits / n,
                "low": low,
                "high": high,
                "baseline": self.baseline[selected],
                "offset": self.baseline_offset[selected],
                "p_value": p_value,
                "significant": p_value <= alpha,
            }
        )

    def table(self, min_count: int = TABLE_COUNT) -> pd.DataFrame:
        """Return `best` with the columns and the format of Table 1 of Clark et al.

        Args:
            min_count: Smallest number of words of a relation.

        Returns:
            Columns Relation, Head ("L7 H10", counted from 0 as everywhere in this package), Head in
            the paper ("8-11", counted from 1), Accuracy (in %), Baseline (in %, with its offset:
            "51.7 (1)"); the most frequent relation first, after all of them.
        """
        import pandas as pd

        best = self.best(min_count).sort_values("n", ascending=False, kind="stable")
        rows = [
            (
                "All" if row["relation"] == "all" else row["relation"],
                str(head := Head(row["layer"], row["head"], self.stack)),
                head.paper_name,
                round(100 * row["accuracy"], 1),
                f"{100 * row['baseline']:.1f} ({row['offset']})",
            )
            for row in best.to_dict("records")
        ]
        return pd.DataFrame(rows, columns=list(_TABLE_COLUMNS))

    def _paper_frame(self) -> pd.DataFrame:
        # With few words, the table has at least the row of all words.
        return self.table(min(TABLE_COUNT, int(self.counts[0])))

    @property
    def finding(self) -> str:
        """Number of relations with a head that exceeds the best offset, and the largest gain."""
        best = _one_row_each(self.best())
        if best.empty:
            return f"No relation has {TABLE_COUNT} words, too few for a comparison of heads"
        gains = best[best["significant"]]
        n_relations = counted(len(best), "relation")
        if gains.empty:
            return f"No head is significantly better than the best offset for any of {n_relations}"
        row = gains.iloc[0]
        return (
            f"For {len(gains)} of {n_relations}, a head is significantly better than the best "
            f"offset; the largest gain is {Head(row['layer'], row['head'], self.stack)} for "
            f"{row['relation']}, {percent(row['accuracy'])} against {percent(row['baseline'])}"
        )

    def heads(self) -> HeadMetrics:
        """Return the accuracy of the better direction, for all words and frequent relations."""
        better = np.maximum(self.accuracy[:, :, 0], self.accuracy[:, :, 1])
        return {
            f"accuracy on {name}": better[..., r]
            for r, name in enumerate(self.relations)
            if not r or (self.counts[r] >= TABLE_COUNT and name != "root")
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row per head, direction and relation, with columns as in `best`."""
        import pandas as pd

        layer, head, direction, r = (i.ravel() for i in np.indices(self.correct.shape))
        correct = self.correct.ravel()
        n = self.counts[r]
        low, high = wilson_interval(correct, n)
        frame = pd.DataFrame(
            {
                "relation": np.array(self.relations, dtype=object)[r],
                "n": n,
                "layer": layer,
                "head": head,
                "direction": np.array(DIRECTIONS, dtype=object)[direction],
                "correct": correct,
                "accuracy": correct / n,
                "low": low,
                "high": high,
                "baseline": self.baseline[r],
                "offset": self.baseline_offset[r],
                "p_value": self.p_values.ravel(),
            }
        )
        return frame[~frame["layer"].isin(self.layers_without_attention)].reset_index(drop=True)

    def chart(
        self,
        relation: str | None = None,
        *,
        min_count: int = TABLE_COUNT,
        limit: int = 20,
        width: int = 640,
    ) -> alt.TopLevelMixin:
        """Draw the best head and the best offset of each relation, or all heads on one relation.

        Heads that are significantly better than the offset come first, ordered by their gain over
        the offset. A relation with subtypes has one row for all its subtypes; `best()` and
        `table()` have all rows.

        Args:
            relation: Relation for which to draw the accuracy of every head in the better direction;
                None = all relations.
            min_count: Smallest number of words of the drawn relations; ignored with `relation`.
            limit: Largest number of drawn relations; ignored with `relation`.
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If the relation does not exist, no relation has enough words, or `limit` is
                below 1.
        """
        from attnwidget.charts.answer_title import answer_title
        from attnwidget.charts.best_heads import best_heads
        from attnwidget.charts.head_heatmap import head_heatmap

        if relation is not None:
            r = self._index(relation)
            words = counted(int(self.counts[r]), "word")
            title = f"Accuracy on {relation}\n{self.model_name}, {words}; the better direction"
            values = self.accuracy[..., r].max(-1)
            return head_heatmap(
                values, title=answer_title(title, values), value_title="accuracy", width=width
            )
        limit = whole_number("limit", limit, 1, "relation")
        best = _one_row_each(self.best(min_count))
        if best.empty:
            raise ValueError(
                f"no relation has {min_count} words, the most frequent {self.counts[1:].max()}: "
                "pass a lower min_count"
            )
        sentences = counted(self.n_sentences, "sentence")
        title = f"The best head of each relation\n{self.model_name}, {sentences}"
        if len(best) > limit:
            title += f"; the first {limit} of {len(best)} relations by gain over the offset"
        return best_heads(best.head(limit), title=title, width=width)

    @in_plain_torch
    def predictions(self, sentence: Sentence) -> GovernorPredictions:
        """Return the predictions of every head for one sentence, with the same unit.

        Raises:
            RuntimeError: If the model is not available, or was closed.
            ValueError: If the sentence is too long for the model, or has a word without tokens.
        """
        all_of(Sentence, [sentence], "pass one of the treebank, treebank[0]")
        if self.model is None:
            raise RuntimeError(
                "these accuracies came without their model: use predict_governors(model, sentence)"
            )
        return predict_governors(self.model, sentence, unit=self.unit)

    def __repr__(self) -> str:
        n_layers, n_heads = self.correct.shape[:2]
        stopped = "" if self.complete else ", interrupted"
        skipped = f", {self.n_skipped} skipped" if self.n_skipped else ""
        return (
            f"RelationAccuracies({self.model_name}, {n_layers}×{n_heads} heads, "
            f"{counted(self.n_sentences, 'sentence')}{skipped}{stopped}, "
            f"{counted(int(self.counts[0]), 'word')}, "
            f"{counted(len(self.relations) - 1, 'relation')})"
        )

    @property
    def _best_offsets(self) -> Int64Array:
        """Index of the best offset of each relation; the largest offset if tied."""
        order = np.argsort(self.offsets)[::-1]
        return np.asarray(order[self.baseline_correct[order].argmax(0)])

    def _index(self, relation: str) -> int:
        try:
            return self.relations.index(relation)
        except ValueError:
            raise ValueError(
                f"there is no relation {relation!r}: {among(relation, self.relations)}"
            ) from None


def _one_row_each(best: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a figure: each relation once, largest significant gain first."""
    names = set(best["relation"])
    pooled = {name.removesuffix(_POOLED) for name in names if name.endswith(_POOLED)}
    repeated = best["relation"].isin(pooled | ({"all"} if len(names) > 1 else set()))
    rows = best[~repeated]
    rows = rows.assign(
        relation=[name.removesuffix(_POOLED) for name in rows["relation"]],
        gain=rows["accuracy"] - rows["baseline"],
    )
    return rows.sort_values(["significant", "gain"], ascending=False, kind="stable")
