"""Result of `atlas`: a card for every head of a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnwidget.behaviors.effects.head_effect import HeadEffect
from attnwidget.behaviors.effects.known_rules import has_rule
from attnwidget.behaviors.effects.rule_effects import MeasuredRule, MeasuredRules
from attnwidget.behaviors.examples.example_link import ExampleLink
from attnwidget.behaviors.examples.link_distances import LinkDistances
from attnwidget.behaviors.examples.text_examples import TextExamples, text_examples
from attnwidget.behaviors.head_atlas.atlas_figure import figure_of
from attnwidget.behaviors.head_atlas.atlas_json import encoded_notes, encoded_parts
from attnwidget.behaviors.head_atlas.distances_json import encoded_distances
from attnwidget.behaviors.head_atlas.head_card import HeadCard, HeadScore
from attnwidget.behaviors.head_atlas.head_writes_and_feeds import Feeds, Writes
from attnwidget.behaviors.head_atlas.rule_columns import rule_columns, share_columns
from attnwidget.behaviors.head_atlas.rules_json import encoded_rules
from attnwidget.behaviors.link_rule import LinkRule
from attnwidget.behaviors.pronouns import PRONOUN
from attnwidget.behaviors.scores.behavior_table import BehaviorTable
from attnwidget.capture.tapping.head import Head, HeadName, head_of_result
from attnwidget.corpus.other_texts import stored_accuracies
from attnwidget.corpus.results import HeadMetrics, HeadResult
from attnwidget.hidden_frames import hides_frames
from attnwidget.text.atomic_file import write_whole
from attnwidget.text.counted import counted
from attnwidget.text.near_names import among
from attnwidget.words.explained_attention_result import FACTORS, ExplainedAttention

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.maps.attention import Attention


@dataclass(frozen=True, eq=False, repr=False)
class Atlas(HeadResult):
    """Description of every head of a model, with the evidence. Made by `atlas`.

    Attributes:
        table: Scores of all heads for all behaviors.
        examples: Example links of each head by kind; empty without examples.
        effects: Effects of the heads whose name has a rule.
        writes: Tokens that named heads promote and suppress.
        feeds: Earlier heads that feed named heads.
        reasons: Reason for each missing part, by "writes", "feeds", "effects" or behavior name.
        provenance: Model, weights, tokenizer, texts, seeds and versions.
        complete: False if the study was interrupted before its end.
        model_name: Name of the model.
        notes: Notes of the user by head. They can be changed, also in an `AtlasView`.
        rules: Measured rule of each named head that has one; empty if no rules were measured.
        explained: Shares of attention that position, grammar and equal words explain; None if they
            were not measured.
        explained_texts: Description of the texts of `explained`.
        distances: Shares of attention by distance in the texts of the atlas; None for pictures, and
            for atlases of earlier versions.

    Example:
        >>> from attnwidget.demo import demo_atlas
        >>> atlas = demo_atlas()
        >>> str(atlas.find("previous token")[0])
        'L0 H2'
        >>> atlas.card(0, 2).name
        'previous token'
    """

    table: BehaviorTable
    examples: Mapping[Head, Mapping[str, Sequence[ExampleLink]]]
    effects: Mapping[Head, HeadEffect]
    writes: Mapping[Head, Sequence[Writes]]
    feeds: Mapping[Head, Sequence[Feeds]]
    reasons: Mapping[str, str]
    provenance: Mapping[str, Any]
    model_name: str = field(init=False, default="")
    notes: dict[Head, str] = field(default_factory=dict)
    rules: Mapping[Head, MeasuredRule] = field(default_factory=dict)
    explained: ExplainedAttention | None = None
    explained_texts: str = ""
    distances: LinkDistances | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "model_name", self.table.model_name)

    @property
    def names(self) -> NDArray[np.str_]:
        """Name of each head, "" for a head without a name, [L, H]."""
        return self.table.names

    @property
    def names_by_head(self) -> dict[Head, str]:
        """Name of each named head."""
        return {
            Head(layer, head): str(self.names[layer, head])
            for layer, head in np.argwhere(self.names != "").tolist()
        }

    @property
    def finding(self) -> str:
        """Number of named heads, and the most frequent name."""
        names, counts = np.unique(self.names[self.names != ""], return_counts=True)
        n_heads = counted(self.names.size, "head")
        if not len(names):
            return f"None of {n_heads} has a name"
        most = int(counts.argmax())
        return (
            f"{counts.sum()} of {n_heads} have a name; the most frequent is {str(names[most])!r} "
            f"({counted(int(counts[most]), 'head')})"
        )

    def card(
        self,
        layer: int | HeadName,
        head: int | None = None,
        *,
        attention: Attention | None = None,
    ) -> HeadCard:
        """Return the evidence about one head.

        Args:
            layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
            head: Number of the head within the layer; not needed if `layer` is a head.
            attention: Attention of a text of your own, read by the model of the atlas. The card
                then has the links that the name predicts in this text (`HeadCard.in_text`).

        Raises:
            ValueError: If there is no such head, or the attention has another number of heads.

        Example:
            >>> from attnwidget import load_model
            >>> from attnwidget.demo import demo_atlas
            >>> attention = load_model().attend("The captain told his men to wait.")
            >>> card = demo_atlas().card("L1 H3", attention=attention)
            >>> print(card.in_text.links["right"][0])
            his → captain (0.62): [CLS] the [captain] told [his] men to wait . [SEP]
        """
        selected_head = head_of_result(layer, head, self.names.shape)
        layer, head, _ = selected_head
        return HeadCard(
            head=selected_head,
            name=str(self.names[layer, head]),
            runner_up=str(self.table.runners_up[layer, head]),
            scores=self._rows(layer, head),
            examples=self.examples.get(selected_head, {}),
            effect=self.effects.get(selected_head),
            writes=tuple(self.writes.get(selected_head, ())),
            feeds=tuple(self.feeds.get(selected_head, ())),
            model_name=self.model_name,
            note=self.notes.get(selected_head, ""),
            other_texts=self._on_other_texts(layer, head),
            rule=self.rules.get(selected_head),
            shares=self._shares(layer, head),
            shares_texts=self.explained_texts,
            distances=self._distances(layer, head),
            in_text=None if attention is None else self._in_text(attention, selected_head),
        )

    def _distances(self, layer: int, head: int) -> dict[str, float]:
        """Return the shares of a head's attention by distance; {} if they were not measured."""
        found = self.distances
        if found is None or np.isnan(found.shares[0, layer, head]):
            return {}
        return dict(zip(found.distances, found.shares[:, layer, head].tolist(), strict=True))

    def _in_text(self, attention: Attention, head: Head) -> TextExamples | None:
        """Return the links that the name of a head predicts in a text."""
        stack = attention.stacks.get(head.stack)
        shape = None if stack is None else (stack.n_layers, stack.n_heads)
        if shape is not None and shape != self.names.shape:
            raise ValueError(
                f"the attention has {shape[0]}×{shape[1]} heads, and the atlas of "
                f"{self.model_name} has {self.names.shape[0]}×{self.names.shape[1]}: pass an "
                "attention of the same model"
            )
        rule = self.named_rules.get(head)
        own_rule = rule if isinstance(rule, LinkRule) else None
        return text_examples(attention, head, str(self.names[head.layer, head.head]), own_rule)

    @property
    def named_rules(self) -> dict[Head, LinkRule | str]:
        """Rule of each named head that has one, as `measure_rules` takes them.

        Rules of the package are names, and your own rules are the rules themselves, which a loaded
        atlas does not have. A rule of pronouns belongs to its documents and is left out.

        Example:
            >>> from attnwidget import Head
            >>> from attnwidget.demo import demo_atlas
            >>> demo_atlas().named_rules[Head(0, 2)]
            'previous token'
        """
        rules: dict[Head, LinkRule | str] = {}
        for head, name in self.names_by_head.items():
            own_rule = self.table[name].rule
            if has_rule(name):
                rules[head] = name
            elif own_rule is not None and own_rule.name == name != PRONOUN:
                rules[head] = own_rule
        return rules

    def with_measured(
        self,
        rules: MeasuredRules | None = None,
        explained: ExplainedAttention | None = None,
        *,
        texts: str = "",
    ) -> Atlas:
        """Return the atlas with rules and shares that were measured on texts of your choice.

        `atlas(..., rules=True)` measures them on the held-out half of the texts of the atlas.
        Rules of heads that are not named by the rule are refused.

        Args:
            rules: Result of `measure_rules` for named heads; None keeps the rules of the atlas.
            explained: Result of `explained_attention`; None keeps the shares of the atlas.
            texts: Description of the texts for the cards, such as "300 sentences of EWT".

        Raises:
            ValueError: If a result is about other heads, or a rule is not the name of its head.

        Example:
            >>> from attnwidget import load_model
            >>> from attnwidget.behaviors import measure_rules
            >>> from attnwidget.demo import demo_atlas, demo_treebank
            >>> rules = {"L0 H2": "previous token"}
            >>> measured = measure_rules(load_model(), demo_treebank()[:8], rules, progress=False)
            >>> atlas = demo_atlas().with_measured(measured, texts="8 sentences of the package")
            >>> atlas.card(0, 2).rule.texts
            '8 sentences of the package'
        """
        by_head = dict(self.rules)
        for rule in () if rules is None else rules.rules:
            name = str(self.names[head_of_result(rule.head, None, self.names.shape)[:2]])
            if rule.rule != name:
                raise ValueError(
                    f"the rule of {rule.head} is {rule.rule!r}, and the atlas names the head "
                    f"{name!r}: measure the rule of its name"
                )
            by_head[rule.head] = replace(rule, texts=texts or rule.texts)
        if explained is None:
            return replace(self, rules=by_head)
        if explained.shares.shape[1:] != self.names.shape:
            raise ValueError(
                f"the shares are of {explained.shares.shape[1]}×{explained.shares.shape[2]} heads, "
                f"and the atlas has {self.names.shape[0]}×{self.names.shape[1]}: measure the "
                "shares of the same model"
            )
        said = texts or counted(explained.n_sentences, "sentence")
        return replace(self, rules=by_head, explained=explained, explained_texts=said)

    def _shares(self, layer: int, head: int) -> dict[str, float]:
        """Return what decides where a head looks, by factor; {} if it was not measured."""
        if self.explained is None or np.isnan(self.explained.shares[0, layer, head]):
            return {}
        shares = self.explained.shares[:, layer, head].tolist()
        return dict(zip(FACTORS, shares, strict=True))

    def _on_other_texts(self, layer: int, head: int) -> str:
        """Return the accuracy of a pronoun head on other texts, if it is stored."""
        if self.names[layer, head] != PRONOUN or self.provenance.get("edits"):
            return ""
        other = stored_accuracies("pronouns", self.provenance.get("weights", ""))
        if other is None:
            return ""
        share = other.accuracy((layer, head), [PRONOUN])[0]
        nearest = other.rule_accuracy(0, [PRONOUN])[0]
        return (
            f"on other texts ({other.description}): {share:.2f} against {nearest:.2f} by the "
            "nearest person"
        )

    def _rows(self, layer: int, head: int) -> tuple[HeadScore, ...]:
        ranked = self.table.named
        index = (layer, head)
        return tuple(
            HeadScore(
                behavior=score.name,
                description=score.description,
                control_name=score.control_name,
                score=float(score.score[index]),
                control=float(score.control[index]),
                low=float(score.low[index]),
                high=float(score.high[index]),
                adjusted=float(ranked.adjusted[d][index]),
                names=bool(ranked.significant[d][index]),
                strength=float(score.strength[index]),
                n=score.n,
                unit=score.unit,
                held_out=float(score.held_out[index]),
                held_out_control=float(score.held_out_control[index]),
                auc=float(score.auc[index]),
                random=score.random,
                source=score.source,
            )
            for d, score in enumerate(self.table.scores)
            if not np.isnan(score.score[index])
        )

    def find(self, behavior: str) -> list[Head]:
        """Return the heads that a behavior may name, strongest first.

        Args:
            behavior: Name of a behavior, or a part of it: "induction" finds induction in text and
                in random tokens.

        Raises:
            ValueError: If no behavior has this text in its name.
        """
        matches = [d for d, name in enumerate(self.table.behaviors) if behavior in name]
        if not matches:
            raise ValueError(
                f"no behavior has {behavior!r} in its name: {among(behavior, self.table.behaviors)}"
            )
        ranked = self.table.named
        strengths: dict[Head, float] = {}
        for d in matches:
            for layer, head in np.argwhere(ranked.significant[d]).tolist():
                strength = float(self.table.scores[d].strength[layer, head])
                previous = strengths.get(Head(layer, head), -np.inf)
                strengths[Head(layer, head)] = max(previous, strength)
        return sorted(strengths, key=lambda head: (-strengths[head], head))

    def heads(self) -> HeadMetrics:
        """Return score minus control of every behavior: float64 [L, H] by name."""
        return self.table.heads()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per head.

        Columns: layer, head, name, strength, score, control, low, high, adjusted, held_out,
        held_out_control, auc (for the behavior of the name), runner_up, outcome, effect,
        effect_low, effect_high, matched, coverage, where_applied, applied (shares of attention and
        tokens that the rule of the name predicts), work, recovered, recovered_low, recovered_high
        (with the rule in the head's place, for the word itself), the same four with "others_" in
        front (for the other words), position, grammar, same_word, rest (shares of what decides
        where the head looks), note. `attrs["model"]` is the name of the model. `table.to_frame()`
        has all behaviors.
        """
        import pandas as pd

        columns = ["strength", "score", "control", "low", "high", "adjusted"]
        columns += ["held_out", "held_out_control", "auc"]
        rows = []
        for layer, head in np.ndindex(*self.names.shape):
            card = self.card(layer, head)
            score = card.named_by
            row: dict[str, Any] = {"layer": layer, "head": head, "name": card.name}
            row |= {c: np.nan if score is None else getattr(score, c) for c in columns}
            effect = card.effect
            row |= {"runner_up": card.runner_up, "outcome": effect.outcome if effect else ""}
            row |= {
                title: np.nan if effect is None else getattr(effect, field)
                for title, field in (
                    ("effect", "effect"),
                    ("effect_low", "low"),
                    ("effect_high", "high"),
                    ("matched", "matched"),
                )
            }
            row |= rule_columns(card.rule) | share_columns(card.shares)
            row["note"] = card.note
            rows.append(row)
        return pd.DataFrame(rows)

    def chart(self, behavior: str | None = None, *, width: int = 640) -> alt.LayerChart:
        """Draw the names and strengths of all heads, or the scores of all heads for one behavior.

        A head whose name only says where it rests has a dot, and the subtitle counts these heads.

        Args:
            behavior: Name of the behavior; None = the names of all heads.
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If the behavior has no score.
        """
        return self.table.chart(behavior, width=width)

    @hides_frames
    def save(self, path: str | Path) -> None:
        """Write the atlas to a JSON file, which `load_atlas` reads, or to an HTML page.

        A page (.html) is an `AtlasView` in one file, which needs no kernel and no network. Each
        head has an anchor: "atlas.html#L1H3" opens the card of head 3 in layer 1.

        Args:
            path: File whose name ends with ".json" or ".html".

        Raises:
            ValueError: If the file name has another ending, or the page is larger than 20 MB.
            OSError: If the file cannot be written. An existing file is then unchanged.
        """
        path = Path(path)
        if path.suffix == ".html":
            figure = figure_of(self)
            try:
                figure.save(path)
            finally:
                figure.close()
            return
        if path.suffix != ".json":
            raise ValueError(
                'an atlas is saved as JSON or as a page: name the file "atlas.json" or '
                f'"atlas.html", not {path.name!r}'
            )
        parts = encoded_parts(self.table, self.examples, self.effects, self.writes, self.feeds)
        parts |= encoded_rules(self.rules, self.explained, self.explained_texts)
        parts |= encoded_distances(self.distances)
        parts |= {
            "reasons": dict(self.reasons),
            "provenance": dict(self.provenance),
            "complete": self.complete,
        }
        if self.notes:
            parts["notes"] = encoded_notes(self.notes)
        text = json.dumps(parts, ensure_ascii=False, allow_nan=False)
        write_whole(path, text.encode("utf-8", "surrogatepass"))

    def __repr__(self) -> str:
        n_named = int((self.names != "").sum())
        stopped = "" if self.complete else ", interrupted"
        return (
            f"Atlas({self.model_name}, {counted(self.names.size, 'head')}, {n_named} named, "
            f"{counted(len(self.table.scores), 'behavior')}{stopped})"
        )
