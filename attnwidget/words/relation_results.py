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
from attnwidget.corpus.other_texts import OtherTexts
from attnwidget.corpus.results import HeadMetrics, HeadResult, heads_frame, sorted_heads
from attnwidget.hidden_frames import warn_caller
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
CHOSEN_HERE = "heads chosen and scored on the same words"
CHOSEN_ELSEWHERE = "heads chosen on other sentences"
_TABLE_COLUMNS = ("Relation", "Head", "Head from 1", "Accuracy", "Baseline")
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
        special_tokens: Whether special tokens were possible predictions; `predictions` always
            leaves them out.
        model_name: Name of the model.
        stack: Stack of the heads: "self", or "encoder" in an encoder-decoder.
        model: Model for `predictions`; None if it is not available, as in pickles and deep
            copies.
        layers_without_attention: Layers without attention in a hybrid model, which have 0 in
            `correct` and NaN in every share.
        other_texts: Stored accuracies of the bundled model on UD English EWT; None for other
            models, other options of the probe, and sentences of EWT.

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
    special_tokens: bool = False
    model: AttentionModel | None = None
    layers_without_attention: tuple[int, ...] = ()
    other_texts: OtherTexts | None = None

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
        choose: RelationAccuracies | None = None,
    ) -> pd.DataFrame:
        """Return the best head and the best fixed offset of each relation (Clark et al., Table 1).

        Ties go to the last layer, head and direction, as in the released code. The interval
        (Wilson, 95 %) is for the head's own accuracy. Choosing the best head on the same words
        makes its accuracy look better than it is. With `choose`, heads and offsets are chosen on
        other words, and scored on the words of this result.

        Args:
            min_count: Smallest number of words of a relation.
            skip: Relations to leave out; no head can be correct for the root.
            alpha: Largest corrected p-value that counts as significant.
            choose: Result for other sentences, on which heads and offsets are chosen; relations
                that it does not have are left out. None = the sentences of this result.

        Returns:
            Columns: relation, n, layer, head, direction, accuracy, low, high, baseline, offset,
            p_value (corrected for all heads, directions and relations; with `choose`, for the
            relations of the table), significant.

        Raises:
            TypeError: If `choose` is not such a result.
            ValueError: If `choose` belongs to other heads or offsets.

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
            >>> model, sentences = load_model(), demo_treebank()
            >>> first, second = (
            ...     probe_relations(model, sentences[part::2], progress=False) for part in (0, 1)
            ... )
            >>> scored = second.best(40, choose=first).set_index("relation")
            >>> bool(scored.loc["obj", "accuracy"] > scored.loc["obj", "baseline"])
            True
        """
        import pandas as pd

        min_count = whole_number("min_count", min_count)
        chosen_on = self if choose is None else self._checked_choice(choose)
        selected = [
            r
            for r, name in enumerate(self.relations)
            if self.counts[r] >= min_count and name not in skip and name in chosen_on.relations
        ]
        names = [self.relations[r] for r in selected]
        layer, head, direction, offset = chosen_on._best_at(names)
        hits = self.correct[layer, head, direction, selected]
        n = self.counts[selected]
        low, high = wilson_interval(hits, n)
        baseline_hits = self.baseline_correct[offset, selected]
        if choose is None:
            p_value = self.p_values[layer, head, direction, selected]
        else:
            both = self.both_correct[layer, head, direction, offset, selected]
            p_value = holm(better_than(hits - both, baseline_hits - both))
        return pd.DataFrame(
            {
                "relation": names,
                "n": n,
                "layer": layer,
                "head": head,
                "direction": [DIRECTIONS[d] for d in direction],
                "accuracy": hits / n,
                "low": low,
                "high": high,
                "baseline": baseline_hits / n,
                "offset": np.array(self.offsets)[offset],
                "p_value": p_value,
                "significant": p_value <= alpha,
            }
        )

    def on_other_texts(self, best: pd.DataFrame) -> Float64Array:
        """Return the stored accuracies on other texts of the heads in a table of `best`.

        Args:
            best: Table with the columns relation, layer, head and direction.

        Returns:
            Accuracies 0 to 1, one per row; NaN if there are no `other_texts`, or if they do not
            have the relation.
        """
        if self.other_texts is None:
            return np.full(len(best), np.nan)
        rows = best[["layer", "head", "direction", "relation"]].itertuples(index=False)
        accuracies = [
            self.other_texts.accuracy((layer, head, DIRECTIONS.index(direction)), [relation])
            for layer, head, direction, relation in rows
        ]
        return np.concatenate([*accuracies, np.zeros(0)])

    def table(
        self, min_count: int = TABLE_COUNT, *, choose: RelationAccuracies | None = None
    ) -> pd.DataFrame:
        """Return `best` with the columns and the format of Table 1 of Clark et al.

        Without `choose`, heads are chosen and scored on the same words, as in the paper, and are
        less accurate on other texts. For the bundled model, the column "On EWT" has the accuracy of
        the same head on 2,001 sentences of UD English EWT, and "Baseline on EWT" that of the best
        fixed offset on these sentences.

        Args:
            min_count: Smallest number of words of a relation.
            choose: Result for other sentences, on which the heads are chosen, as in `best`.

        Returns:
            Columns Relation, Head ("L7 H10", counted from 0 as everywhere in this package), Head
            from 1 (the same head counted from 1, as the paper counts: "8-11"), Accuracy (in %),
            Baseline (in %, with its offset: "51.7 (1)"), and, if there are `other_texts`, On EWT
            and Baseline on EWT (in %); the most frequent relation first, after all of them.
            `attrs["note"]` says on which words heads were chosen.
        """
        import pandas as pd

        best = self.best(min_count, choose=choose)
        best = best.sort_values("n", ascending=False, kind="stable")
        if min_count == TABLE_COUNT and set(best["relation"]) <= {"all"}:
            most = int(np.sort(self.counts)[-2])
            warn_caller(
                f"no relation has {min_count:,} words, and the most frequent one has {most:,}: "
                f"table(min_count={max(1, most // 2)}) has the frequent ones, to_frame() has all"
            )
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
        table = pd.DataFrame(rows, columns=list(_TABLE_COLUMNS))
        if self.other_texts is not None:
            baselines = self.other_texts.rule_accuracy(0, best["relation"].tolist())
            self.other_texts.add_columns(
                table,
                {
                    "": (100 * self.on_other_texts(best)).round(1),
                    "Baseline": (100 * baselines).round(1),
                },
            )
        table.attrs["note"] = CHOSEN_HERE if choose is None else CHOSEN_ELSEWHERE
        return table

    def _checked_choice(self, choose: RelationAccuracies) -> RelationAccuracies:
        """Return the result on which heads are chosen, if it fits this result."""
        if not isinstance(choose, RelationAccuracies):
            raise TypeError(
                "choose must be a result of probe_relations for other sentences, got "
                f"{type(choose).__name__}"
            )
        shape = self.correct.shape[:3]
        if choose.correct.shape[:3] != shape or choose.offsets != self.offsets:
            raise ValueError(
                f"choose has {choose.correct.shape[0]}×{choose.correct.shape[1]} heads and the "
                f"offsets {choose.offsets}, this result has {shape[0]}×{shape[1]} and "
                f"{self.offsets}: probe the same model with the same offsets"
            )
        return choose

    def _best_at(
        self, names: Collection[str]
    ) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
        """Return layer, head, direction and offset index of the best predictors of relations."""
        selected = [self.relations.index(name) for name in names]
        correct = self.correct.copy()
        correct[list(self.layers_without_attention)] = -1
        correct = correct.reshape(-1, len(self.relations))[:, selected]
        last = len(correct) - 1 - correct[::-1].argmax(0)
        layer, head, direction = np.unravel_index(last, self.correct.shape[:3])
        return layer, head, direction, self._best_offsets[selected]

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
        found = (
            f"For {len(gains)} of {n_relations}, a head is significantly better than the best "
            f"offset; the largest gain is {Head(row['layer'], row['head'], self.stack)} for "
            f"{row['relation']}, {percent(row['accuracy'])} against {percent(row['baseline'])}"
        )
        accuracy = float(self.on_other_texts(gains[:1])[0])
        if self.other_texts is None or np.isnan(accuracy):
            return found
        [baseline] = self.other_texts.rule_accuracy(0, [row["relation"]])
        on_others = f"{percent(accuracy)} against {percent(baseline)}"
        return f"{found} (on {self.other_texts.corpus}: {on_others})"

    def heads(self) -> HeadMetrics:
        """Return the accuracy of the better direction, for all words and frequent relations."""
        frequent = {
            name
            for name, count in zip(self.relations, self.counts, strict=True)
            if name == "all" or (count >= TABLE_COUNT and name != "root")
        }
        return {f"accuracy on {name}": v for name, v in self._better.items() if name in frequent}

    def top_heads(
        self, metric: str | None = None, top: int = 10, *, smallest: bool = False
    ) -> pd.DataFrame:
        """Return the most accurate heads for a relation as a table: layer, head, metric, value.

        Of equal heads, the last is the first row, as in `best`.

        Args:
            metric: Relation, such as "nsubj"; None = "all".
            top: Largest number of heads.
            smallest: Whether to return the least accurate heads.

        Raises:
            KeyError: If there is no such relation.
            ValueError: If `top` is below 1.

        Example:
            >>> from attnwidget import load_model
            >>> from attnwidget.demo import demo_treebank
            >>> from attnwidget.words import probe_relations
            >>> relations = probe_relations(load_model(), demo_treebank()[:10], progress=False)
            >>> relations.top_heads("nsubj", 1)[["layer", "head"]].values.tolist()
            [[2, 8]]
        """
        name = (metric or "all").removeprefix("accuracy on ")
        return sorted_heads(heads_frame(self._better)[::-1], name, top, smallest=smallest)

    @property
    def _better(self) -> HeadMetrics:
        """Accuracy of the better direction for each relation, [L, H] each."""
        better = self.accuracy.max(2)
        return {name: better[..., r] for r, name in enumerate(self.relations)}

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
        choose: RelationAccuracies | None = None,
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
            choose: Result for other sentences, on which the heads are chosen, as in `best`; ignored
                with `relation`.
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
        best = _one_row_each(self.best(min_count, choose=choose))
        if best.empty:
            raise ValueError(
                f"no relation has {min_count} words, the most frequent {self.counts[1:].max()}: "
                "pass a lower min_count"
            )
        sentences = counted(self.n_sentences, "sentence")
        note = CHOSEN_HERE if choose is None else CHOSEN_ELSEWHERE
        title = f"The best head of each relation\n{self.model_name}, {sentences}; {note}"
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
