"""Results of the coreference probe: accuracies, the table, and the choices for each mention."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from attnwidget.capture.tapping.head import Head
from attnwidget.corpus.other_texts import OtherTexts
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.text.antecedents import BASELINES
from attnwidget.text.counted import counted
from attnwidget.text.mentions import Document
from attnwidget.text.percent import percent

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

Among = Literal["words", "mentions"]
CHOSEN_HERE = "head chosen and scored on the same mentions"
CHOSEN_ELSEWHERE = "head chosen on other documents"
AMONG: tuple[Among, ...] = ("words", "mentions")
KINDS = ("all", "pronoun", "proper", "nominal")

DEFINITIONS = """\
Clark et al. 2019 released no code for this and leave much open; the numbers here mean:
Mentions and clusters are the annotators'. A window is [CLS] ... [SEP] of running text; mentions \
count that lie within it.
Head word: the word of a mention whose governor is outside of it, the leftmost of several; without \
a tree the last noun, else the last word.
Pronoun: one word tagged PRP or PRP$. Proper: the head word is tagged NNP or NNPS (without such \
tags PRON, PROPN). Nominal: all others.
Evaluated: mentions with a preceding mention (smaller start) of the same cluster in the window; of \
mentions with one head word the longest. Right: the word chosen is the head word of any preceding \
mention of the cluster; a mention's own head word never is.
A head chooses the word that its weights from the mention's head word are largest to, the first of \
equals: among all other words, or among the head words of preceding mentions. Special tokens never \
count.
Nearest: the preceding mention with the largest start, then the largest end. Head match: the \
nearest with the same head word, in whatever case. Rule-based: the nearest that passes the first \
of four sieves that any passes: same words; same head word; number, gender and person agree, by \
lists of pronouns and the tags of nouns; any. Nothing found is wrong.
Accuracies are over mentions (micro). The best head is chosen on the very mentions shown."""


@dataclass(frozen=True)
class Evaluated:
    """Evaluated mention; all numbers are indices into the `mentions` of its document.

    Attributes:
        document: Index of the document in the study.
        mention: Index of the mention.
        antecedents: Preceding mentions of its cluster.
        candidates: All preceding mentions in the window, nearest first.
        baselines: Choices of "nearest", "head match" and "rule-based"; -1 = no choice.
    """

    document: int
    mention: int
    antecedents: tuple[int, ...]
    candidates: tuple[int, ...]
    baselines: tuple[int, ...]


@dataclass(frozen=True)
class EvaluatedWindow:
    """Words `start` to `end` (exclusive) of a document, with the evaluated mentions in them."""

    document: int
    start: int
    end: int
    evaluated: tuple[Evaluated, ...]


@dataclass(frozen=True, eq=False, repr=False)
class AntecedentChoices:
    """Choices of every system for the mentions of one document.

    Attributes:
        document: Document of the mentions.
        windows: First word and end (exclusive) of each processed window.
        mentions: Indices of the E evaluated mentions in `document.mentions`.
        antecedents: Indices of the correct mentions, for each evaluated mention.
        words: Word that each head chose, among all words and among head words of preceding
            mentions (`AMONG`), int32 [E, 2, L, H].
        weights: Weight on the chosen word, float32 [E, 2, L, H].
        correct: Whether the choice is correct, bool [E, 2, L, H].
        baselines: Indices of the chosen mentions for each system, int64 [E]; -1 = no choice.
    """

    document: Document
    windows: tuple[tuple[int, int], ...]
    mentions: tuple[int, ...]
    antecedents: tuple[tuple[int, ...], ...]
    words: NDArray[np.int32]
    weights: NDArray[np.float32]
    correct: NDArray[np.bool_]
    baselines: Mapping[str, NDArray[np.int64]]

    def __repr__(self) -> str:
        mentions = counted(len(self.mentions), "evaluated mention")
        return f"AntecedentChoices({self.document!r}, {mentions})"


@dataclass(frozen=True, eq=False, repr=False)
class CoreferenceAccuracies(HeadResult):
    """Accuracies of heads and simple rules in finding an antecedent.

    E is the number of evaluated mentions. The axis of length 2 is `AMONG`: the choice among all
    other words ("words"), and among the head words of preceding mentions ("mentions"). The axis of
    length 4 is `KINDS`: all, pronoun, proper, nominal.

    Attributes:
        documents: All documents of the study.
        windows: Processed windows, with their evaluated mentions.
        chosen: Word of the document that each head chose, int32 [E, 2, L, H].
        weights: Weight on the chosen word, float32 [E, 2, L, H].
        model_name: Name of the model.
        n_skipped: Number of windows skipped because a word has no tokens, or a token has several
            words.
        complete: False if the pass was interrupted.
        layers_without_attention: Layers without attention in a hybrid model, which have -1 in
            `chosen`.
        left_out: Reason for each document that `load_coreference` left out as invalid.
        other_texts: Stored accuracies of the bundled model on GUM; None for other models, and for
            documents of GUM.
        definitions: Definitions of details that the paper leaves open.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_documents
        >>> from attnwidget.words import probe_coreference
        >>> found = probe_coreference(load_model(), demo_documents()[28:29], progress=False)
        >>> found.accuracy.shape, found.counts.tolist()
        ((2, 6, 12, 4), [3, 3, 0, 0])
    """

    documents: tuple[Document, ...]
    windows: tuple[EvaluatedWindow, ...]
    chosen: NDArray[np.int32]
    weights: NDArray[np.float32]
    n_skipped: int
    layers_without_attention: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()
    other_texts: OtherTexts | None = None
    definitions: ClassVar[str] = DEFINITIONS

    @cached_property
    def evaluated(self) -> tuple[Evaluated, ...]:
        """Evaluated mentions (E)."""
        return tuple(mention for window in self.windows for mention in window.evaluated)

    @cached_property
    def is_correct(self) -> NDArray[np.bool_]:
        """Whether the chosen word is the head word of an antecedent, bool [E, 2, L, H]."""
        correct = np.zeros(self.chosen.shape, bool)
        for row, mention in enumerate(self.evaluated):
            mentions = self.documents[mention.document].mentions
            heads = [mentions[index].head for index in mention.antecedents]
            correct[row] = np.isin(self.chosen[row], heads)
        return correct

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of evaluated mentions of each of `KINDS`, int64 [4]."""
        return self._of_kind.sum(0)

    @cached_property
    def correct(self) -> NDArray[np.int64]:
        """Number of mentions for which each head is correct, int64 [2, L, H, 4]."""
        return np.einsum("evlh,ek->vlhk", self.is_correct.astype(np.int64), self._of_kind)

    @cached_property
    def baseline_correct(self) -> NDArray[np.int64]:
        """Number of mentions for which each of the three rules is correct, int64 [3, 4]."""
        right = np.array(
            [[c in mention.antecedents for c in mention.baselines] for mention in self.evaluated]
        )
        return right.astype(np.int64).T @ self._of_kind

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """Accuracies, float64 [2, L, H, 4]; NaN for kinds without mentions or attention."""
        accuracy = self._share(self.correct)
        accuracy[:, list(self.layers_without_attention)] = np.nan
        return accuracy

    def best_head(self, among: Among = "words") -> Head:
        """Return the head with the largest accuracy on all mentions; the last one if tied."""
        values = self.correct[_variant(among), ..., 0]
        heads = (
            cell
            for cell in np.ndindex(values.shape)
            if cell[0] not in self.layers_without_attention
        )
        layer, head = max(heads, key=lambda at: (values[at], at))
        return Head(layer, head)

    def table(
        self, among: Among = "words", *, choose: CoreferenceAccuracies | None = None
    ) -> pd.DataFrame:
        """Return accuracies of the three rules and of the best head by kind (table of section 4.3).

        Without `choose`, the head is chosen and scored on the same mentions, as in the paper. For
        the bundled model, further columns have the accuracies of the same rules and the same head
        on the 135 documents of GUM.

        Args:
            among: Words among which the head chooses: "words" or "mentions".
            choose: Result for other documents, on which the head is chosen; None = the documents of
                this result.

        Returns:
            Rows: nearest, head match, rule-based, best head (or "head L2 H9" with `choose`).
                Columns: all, pronoun, proper, nominal, and "all on GUM" and so on if there are
                `other_texts`. `attrs["note"]` says on which mentions the head was chosen.

        Raises:
            TypeError: If `choose` is not such a result.
            ValueError: If `choose` belongs to other heads.
        """
        import pandas as pd

        variant = _variant(among)
        best = (self if choose is None else self._checked_choice(choose)).best_head(among)
        rows = [*self.baseline_correct, self.correct[variant, best.layer, best.head]]
        names = [*BASELINES, f"best head {best}" if choose is None else f"head {best}"]
        table = pd.DataFrame(self._share(np.array(rows)), index=names, columns=list(KINDS))
        if (other := self.other_texts) is not None:
            others = [other.rule_accuracy(rule, KINDS) for rule in range(len(BASELINES))]
            others.append(other.accuracy((variant, best.layer, best.head), KINDS))
            other.add_columns(table, dict(zip(KINDS, np.array(others).T, strict=True)))
        table.attrs["note"] = CHOSEN_HERE if choose is None else CHOSEN_ELSEWHERE
        return table

    def paper_table(
        self, among: Among = "words", *, choose: CoreferenceAccuracies | None = None
    ) -> pd.DataFrame:
        """Return `table` with the columns and rows of Table 2 of Clark et al., in % with counts.

        Args:
            among: Words among which the head chooses: "words" or "mentions".
            choose: Result for other documents, on which the head is chosen, as in `table`.

        Returns:
            Columns: All, Pronoun, Proper, Nominal, and "All on GUM" and so on if there are
                `other_texts`. Rows: nearest, head match, rule-based and the head, in % as text, or
                "–" for a kind without mentions, then the number of evaluated mentions. `attrs` as
                in `table`.

        Raises:
            TypeError: If `choose` is not such a result.
            ValueError: If `choose` belongs to other heads.

        Example:
            >>> from attnwidget import load_model
            >>> from attnwidget.demo import demo_documents
            >>> from attnwidget.words import probe_coreference
            >>> documents = demo_documents()
            >>> first, second = (
            ...     probe_coreference(load_model(), documents[part::2], progress=False)
            ...     for part in (0, 1)
            ... )
            >>> second.paper_table(choose=first).iloc[:, :3]
                        All Pronoun Proper
            nearest      22      22      –
            head match    3       3      –
            rule-based   41      41      –
            head L1 H3   82      82      –
            mentions    103     103      0
        """
        table = self.table(among, choose=choose)
        counts = [int(count) for count in self.counts]
        if self.other_texts is not None:
            counts += self.other_texts.counts_of(KINDS)
        shares = table.map(lambda share: "–" if np.isnan(share) else f"{100 * share:.0f}")
        shares.loc["mentions"] = [f"{count:,}" for count in counts]
        shares.columns = [f"{name[0].upper()}{name[1:]}" for name in table.columns]
        shares.attrs = table.attrs
        return shares

    def other_paper_table(self, among: Among = "words") -> pd.DataFrame:
        """Return Table 2 of Clark et al. for the bundled model on GUM, from stored counts.

        The head is chosen on four of five documents of the free part of GUM (108), and scored on
        every fifth document (27), with all windows. The documents of this result have no part in
        it. `docs/models/measure_other_texts.py` measures the counts; the package has no text of
        GUM.

        Args:
            among: Words among which the head chooses: "words" or "mentions".

        Returns:
            Rows and columns of `paper_table(choose=...)`, in % as text.

        Raises:
            ValueError: If there are no stored counts: for other models, or documents of GUM.

        Example:
            >>> from attnwidget import load_model
            >>> from attnwidget.demo import demo_documents
            >>> from attnwidget.words import probe_coreference
            >>> found = probe_coreference(load_model(), demo_documents()[:2], progress=False)
            >>> found.other_paper_table().loc["rule-based"].tolist()
            ['74', '78', '80', '62']
        """
        import pandas as pd

        variant = _variant(among)
        other = self.other_texts
        if other is None or other.held_out is None:
            raise ValueError(
                "stored counts exist only for the bundled model on other documents than those of "
                "GUM: use probe_coreference(...).paper_table(choose=other)"
            )
        scored = other.held_out
        chosen = (other.correct - scored.correct)[variant, ..., KINDS.index("all")]
        cells = list(np.ndindex(chosen.shape))
        layer, head = max(cells, key=lambda at: (chosen[at], at))
        rows = {name: scored.rule_accuracy(i, KINDS) for i, name in enumerate(BASELINES)}
        rows[f"head {Head(layer, head)}"] = scored.accuracy((variant, layer, head), KINDS)
        shares = pd.DataFrame(rows, index=[f"{kind[0].upper()}{kind[1:]}" for kind in KINDS]).T
        table = shares.map(lambda share: f"{100 * share:.0f}")
        table.loc["mentions"] = [f"{count:,}" for count in scored.counts_of(KINDS)]
        table.attrs["note"] = f"{CHOSEN_ELSEWHERE}; stored counts: {scored.description}"
        return table

    def _checked_choice(self, choose: CoreferenceAccuracies) -> CoreferenceAccuracies:
        """Return the result on which the head is chosen, if it fits this result."""
        if not isinstance(choose, CoreferenceAccuracies):
            raise TypeError(
                "choose must be a result of probe_coreference for other documents, got "
                f"{type(choose).__name__}"
            )
        if choose.chosen.shape[1:] != self.chosen.shape[1:]:
            layers, heads = choose.chosen.shape[2:]
            raise ValueError(
                f"choose has {layers}×{heads} heads, this result has {self.chosen.shape[2]}×"
                f"{self.chosen.shape[3]}: probe the same model"
            )
        return choose

    def _paper_frame(self) -> pd.DataFrame:
        return self.table()

    def choices(self, document: Document | str | int) -> AntecedentChoices:
        """Return the choices of every system for the mentions of one document.

        Args:
            document: Document, its name, or its index in `documents`.

        Raises:
            KeyError: If the document was not part of the study.
        """
        index = self._index(document)
        rows = [row for row, mention in enumerate(self.evaluated) if mention.document == index]
        evaluated = [self.evaluated[row] for row in rows]
        rule_choices = np.array([mention.baselines for mention in evaluated], np.int64)
        by_rule = rule_choices.reshape(-1, len(BASELINES)).T
        return AntecedentChoices(
            document=self.documents[index],
            windows=tuple((w.start, w.end) for w in self.windows if w.document == index),
            mentions=tuple(mention.mention for mention in evaluated),
            antecedents=tuple(mention.antecedents for mention in evaluated),
            words=self.chosen[rows],
            weights=self.weights[rows],
            correct=self.is_correct[rows],
            baselines=dict(zip(BASELINES, by_rule, strict=True)),
        )

    @property
    def finding(self) -> str:
        """Accuracy of the best head and of the best rule over all mentions."""
        table = self.table()
        accuracies = table["all"]
        rule = str(accuracies.iloc[:-1].idxmax())
        found = (
            f"{self.best_head()} finds an antecedent for {percent(accuracies.iloc[-1])} of the "
            f"mentions, the best rule ({rule}) for {percent(accuracies[rule])}"
        )
        if self.other_texts is None:
            return found
        on_others = table[f"all on {self.other_texts.corpus}"]
        return (
            f"{found} (on {self.other_texts.corpus}: {percent(on_others.iloc[-1])} and "
            f"{percent(on_others[rule])})"
        )

    def heads(self) -> HeadMetrics:
        """Return accuracies for each kind with mentions and each of `AMONG`: [L, H] by title."""
        titles = {"words": "coreference", "mentions": "coreference among mentions"}
        return {
            titles[among] + ("" if kind == "all" else f", {kind}"): self.accuracy[variant, ..., k]
            for variant, among in enumerate(AMONG)
            for k, kind in enumerate(KINDS)
            if self.counts[k]
        }

    def chart(self, among: Among = "words", *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the accuracy of every head on all mentions.

        Args:
            among: Words among which the head chooses: "words" or "mentions".
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.head_heatmap import head_heatmap

        best = self.best_head(among)
        value = self.accuracy[_variant(among), best.layer, best.head, 0]
        rules = ", ".join(
            f"{name} {share:.1%}"
            for name, share in zip(BASELINES, self._share(self.baseline_correct)[:, 0], strict=True)
        )
        mentions = counted(int(self.counts[0]), "mention")
        return head_heatmap(
            self.accuracy[_variant(among), ..., 0],
            title=f"Antecedents found, choosing among {among}\n"
            f"{self.model_name}; best {best} {value:.1%}, chosen and scored on the same "
            f"mentions; {rules}; {mentions}",
            value_title="accuracy",
            width=width,
        )

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {kind}" for n, kind in zip(self.counts, KINDS, strict=True))
        n_documents = len({window.document for window in self.windows})
        notes = "" if self.complete else ", interrupted"
        notes += f", {counted(self.n_skipped, 'window')} left out" if self.n_skipped else ""
        if self.left_out:
            notes += f", {counted(len(self.left_out), 'invalid document')} left out"
        best = self.best_head("mentions")
        among = self.table("mentions").iloc[-1]
        return (
            f"CoreferenceAccuracies({self.model_name}, {counted(n_documents, 'document')}, "
            f"{counted(len(self.windows), 'window')}{notes}; mentions: {counts})\n"
            f"{self.table().map('{:.3f}'.format)}\n"
            f"among mentions, best head {best}: "
            f"{', '.join(f'{value:.3f} {kind}' for kind, value in among.items())}\n\n"
            f"{self.definitions}"
        )

    @cached_property
    def _of_kind(self) -> NDArray[np.int64]:
        """Membership of each mention in the kinds, 1 or 0, [E, 4]."""
        kinds = [
            self.documents[mention.document].mentions[mention.mention].kind
            for mention in self.evaluated
        ]
        return np.array([[1, *(kind == name for name in KINDS[1:])] for kind in kinds], np.int64)

    def _share(self, correct: NDArray[np.int64]) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore"):  # Kinds without mentions have no accuracy.
            return correct / self.counts

    def _index(self, document: Document | str | int) -> int:
        for index, candidate in enumerate(self.documents):
            name = candidate.name if isinstance(document, str) else index
            if document is candidate or document == name:
                return index
        what = f"the document {document.name!r}" if isinstance(document, Document) else document
        raise KeyError(f"{what!r} is not among the {len(self.documents)} documents of this study")


def _variant(among: Among) -> int:
    if among not in AMONG:
        raise ValueError(f"among must be 'words' or 'mentions', got {among!r}")
    return AMONG.index(among)
