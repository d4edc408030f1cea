"""Attention by role and by turn in chats: to the system prompt, the user, tools, the template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from attnwidget.capture.tapping.head import HeadName, head_of_result, listed_heads
from attnwidget.corpus.accumulator import Batch, LayerBatch
from attnwidget.corpus.argument_checks import one_of
from attnwidget.corpus.results import LayerCurves, per_head
from attnwidget.corpus.segment_means import SegmentMeans, SegmentMeansResult
from attnwidget.hidden_frames import hides_frames
from attnwidget.metrics.class_mass import (
    ClassMass,
    ClassTable,
    has_learned_sink,
    visible_shares,
)
from attnwidget.text.counted import counted
from attnwidget.text.near_names import among
from attnwidget.text.tokens import TEMPLATE, Tokens
from attnwidget.text.whole_number import whole_number

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

FIRST = "first token"
OTHER = "other roles"
SINK = "sink"
#: Classes of chat tokens. Every token is in one class; "sink" is the weight on no token.
CLASSES = ("system", "user", "assistant", "tool", TEMPLATE, FIRST, OTHER, SINK)
# Other names for the same roles.
_SAME = {"developer": "system", "model": "assistant", "function": "tool", "ipython": "tool"}
_LAST = "last token"
_ALL = "all tokens"
_QUERIES = (*CLASSES[:5], _LAST, _ALL)
# Number of heads in the figure if the caller names none.
_NAMED = 3


@dataclass(frozen=True, eq=False, repr=False)
class RolesResult(SegmentMeansResult):
    """Attention by role and by turn, from the selected queries of chats.

    The shares of a head sum to 1 over the classes. Turns are message indices, from 0.

    Attributes:
        names: Names of the C classes: "system", "user", "assistant", "tool", "template", "first
            token", "other roles" and "sink". Tokens from the chat template are "template", except
            the first token of the chat. "sink" is the weight on no token in models with learned
            sinks, such as GPT-OSS; 0 in other models.
        shares: Mean attention to all tokens of a class together, [C, L, H]. A chat without the
            class counts as 0.
        by_turn: Mean attention to each class from the queries of each turn, [T, C, L, H]; NaN for
            turns without queries.
        to_turns: Mean attention to the messages of each turn, [T, L, H]. A chat without the turn
            counts as 0.
        even: Share of each class if every query attended evenly to all tokens up to itself, [C].
        even_by_turn: Share of each class under even attention, from the queries of each turn,
            [T, C].
        with_class: Number of chats with a token of each class, [C]. For "sink", the number of all
            chats if the model has learned sinks, otherwise 0.
        with_turn: Number of chats with queries in each turn, [T].
        n_longer: Number of chats with queries in later turns, which only count in `shares`,
            `to_turns` and `even`.
        queries: Description of the selected queries.

    Example:
        >>> from attnwidget import load_model, measure_attention
        >>> model = load_model("attnwidget/induction")
        >>> model.tokenizer.chat_template = "{% for m in messages %}{{ m.content }} {% endfor %}"
        >>> chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
        >>> found = measure_attention(model.attend(chat), ["roles"])["roles"]
        >>> found.names[:3], found.shares.shape
        (('system', 'user', 'assistant'), (8, 2, 4))
    """

    names: tuple[str, ...]
    shares: NDArray[np.float64] = field(
        metadata=per_head("to {name}", each="names", counts="with_class")
    )
    by_turn: NDArray[np.float64]
    to_turns: NDArray[np.float64]
    even: NDArray[np.float64]
    even_by_turn: NDArray[np.float64]
    with_class: NDArray[np.int64]
    with_turn: NDArray[np.int64]
    n_longer: int
    queries: str

    @property
    def turns(self) -> list[int]:
        """Turns with queries, in order."""
        return [int(turn) for turn in np.flatnonzero(self.with_turn)]

    def turns_to_frame(self) -> pd.DataFrame:
        """Return one row per turn, head and class with tokens: turn, layer, head, role, share.

        `attrs["model"]` is the name of the model.
        """
        import pandas as pd

        class_indices = [index for index, count in enumerate(self.with_class) if count]
        values = self.by_turn[self.turns][:, class_indices]
        turn, role, layer, head = (index.ravel() for index in np.indices(values.shape))
        frame = pd.DataFrame(
            {
                "turn": np.array(self.turns)[turn],
                "layer": layer,
                "head": head,
                "role": np.array(self.names)[class_indices][role],
                "share": values.ravel(),
            }
        ).dropna(ignore_index=True)
        frame.attrs["model"] = self.model_name
        return frame

    def chart(self, names: Sequence[str] | None = None, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the share of each class over the layers.

        Args:
            names: Classes to draw; None = all classes with tokens.
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If no chat has tokens of the class.
        """
        heads = self.heads()
        titles = [self._title(name) for name in names or [t[3:] for t in heads]]
        figure = LayerCurves("Attention by role from {self.queries}", "share of attention")
        return figure.draw(self, {title: heads[title] for title in titles}, width=width)

    def turn_chart(
        self,
        to: str = "system",
        heads: HeadName | Iterable[HeadName] | None = None,
        *,
        width: int = 640,
    ) -> alt.TopLevelMixin:
        """Draw the share on one class by the turn of the query.

        The figure has the mean of all heads, some heads, and the share under even attention. The
        even share falls while a chat gets longer. Heads above the even share still attend to the
        class.

        Args:
            to: Attended class, such as "system" or "user".
            heads: Head or heads to draw, each as (1, 3), "L1 H3" or a `Head`; None = the three
                heads with the largest share.
            width: Width of the whole figure in pixels.

        Raises:
            ValueError: If there is no such class or head, or no chat has tokens of the class.
        """
        import pandas as pd

        from attnwidget.charts.turn_curves import turn_curves

        share = self.heads()[self._title(to)]
        class_index = self.names.index(to)
        by_turn = self.by_turn[:, class_index]
        if heads is None:
            order = np.argsort(np.where(np.isnan(share), -1, share), axis=None)[::-1][:_NAMED]
            cells = [divmod(int(index), share.shape[1]) for index in order]
        else:
            selected_heads = [
                head_of_result(name, None, share.shape) for name in listed_heads(heads)
            ]
            cells = [(head.layer, head.head) for head in selected_heads]
        rows: list[dict[str, Any]] = []
        for layer, head in cells:
            rows += self._rows(f"L{layer} H{head}", by_turn[:, layer, head])
        with np.errstate(invalid="ignore"):
            rows += self._rows("mean of heads", _mean_of_heads(by_turn))
        rows += self._rows("even attention", self.even_by_turn[:, class_index])
        longer = (
            f", turns from {len(self.with_turn)} on of {counted(self.n_longer, 'chat')} left out"
            if self.n_longer
            else ""
        )
        return turn_curves(
            pd.DataFrame(rows),
            title=f"Attention to {_phrase(to)} by turn\n{self.model_name}, "
            f"{counted(self.n_documents, 'chat')}, from {self.queries}{longer}",
            value_title=f"share of attention to {_phrase(to)}",
            width=width,
        )

    def _rows(self, series: str, values: NDArray[np.float64]) -> list[dict[str, Any]]:
        return [
            {"turn": turn, "series": series, "value": float(values[turn])} for turn in self.turns
        ]

    def _title(self, name: str) -> str:
        available = [title.removeprefix("to ") for title in self.heads()]
        if name not in available:
            raise ValueError(f"no chat has tokens of {name!r}: {among(name, available)}")
        return f"to {name}"


@hides_frames
def Roles(  # noqa: N802, as the other metrics
    queries: str | None = None, *, max_turns: int = 40
) -> SegmentMeans[RolesResult]:
    """Metric: shares of attention to the roles and the turns of chats.

    Attention to a role is summed over its tokens in a chat and averaged over the selected queries,
    then over chats. Segments are chats (`make_segments`, or rows with "messages"), or the attention
    of a chat (`measure_attention`). Long chats are processed without whole maps.

    Args:
        queries: Tokens whose attention is measured: "assistant" or another role, "template",
            "last token" or "all tokens". None = the tokens of the assistant's messages, or the last
            token in a chat without an answer. The last token belongs to the turn that a model would
            write next.
        max_turns: Number of turns with separate results.

    Raises:
        ValueError: If `queries` is unknown, or the number of turns is below 1.

    Example:
        >>> from attnwidget import load_model, make_segments, measure
        >>> from attnwidget.metrics import Roles
        >>> model = load_model("attnwidget/induction")
        >>> model.tokenizer.chat_template = (
        ...     "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }} {% endfor %}")
        >>> chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"},
        ...         {"role": "assistant", "content": "Good day."}]
        >>> found = measure(model, make_segments([chat], model), [Roles()], progress=False)
        >>> found["roles"].shares.sum(0).round(6).min(), found["roles"].turns
        (np.float64(1.0), [2])
    """
    if queries is not None:
        one_of("queries", queries, _QUERIES)
    max_turns = whole_number("max_turns", max_turns, 1)
    c = len(CLASSES)
    return ClassMass(
        "roles",
        partial(_table, queries, max_turns),
        partial(_result, queries),
        parts=_parts,
        of_heads={"shares": (c,), "by_turn": (max_turns, c), "to_turns": (max_turns,)},
        of_segments={
            "even": (c,),
            "even_by_turn": (max_turns, c),
            "with_class": (c,),
            "with_queries": (),
            "with_turn": (max_turns,),
            "longer": (),
        },
        settings={"queries": queries, "max_turns": max_turns},
        n_sharing=c - 1,
    )


def _table(queries: str | None, max_turns: int, layer: LayerBatch) -> ClassTable:
    """Return the table, whose query groups are the selected tokens of all turns and of each turn.

    The messages of each turn follow the classes as additional classes.
    """
    batch = layer.batch
    members = _members_of(batch, max_turns)
    rows, longer = _rows_of(batch, queries, max_turns)
    classes = members[:, : len(CLASSES)].double()
    even = rows.double() @ visible_shares(classes).transpose(-1, -2)
    has_queries = rows.amax(-1) > 0
    return ClassTable(
        rows,
        members,
        {
            "even": even[:, 0],
            "even_by_turn": even[:, 1:],
            "with_class": classes.amax(-1),
            "with_queries": has_queries[:, 0],
            "with_turn": has_queries[:, 1:],
            "longer": longer,
        },
    )


def _parts(mass: Tensor) -> Mapping[str, Tensor]:
    """Return the shares from all queries and from each turn, and the mass on each turn."""
    c = len(CLASSES)
    # The last class, the weight on no token, is the share of the sink.
    shares = torch.cat([mass[..., : c - 1], mass[..., -1:]], dim=-1)
    return {
        "shares": shares[:, :, 0],
        "by_turn": shares[:, :, 1:],
        "to_turns": mass[:, :, 0, c:-1],
    }


def _result(queries: str | None, metric: ClassMass[RolesResult]) -> RolesResult:
    shares = metric.mean("shares", over="with_queries")
    by_turn = metric.mean("by_turn", over="with_turn")
    with_class = metric.counted("with_class")
    sink = CLASSES.index(SINK)
    if has_learned_sink(shares[sink]):
        with_class[sink] = metric.n_segments
    else:
        # Values below the threshold are rounding errors.
        shares[sink] *= 0
        by_turn[:, sink] *= 0
    return RolesResult(
        metric.n_segments,
        CLASSES,
        shares,
        by_turn,
        metric.mean("to_turns", over="with_queries"),
        metric.mean("even", over="with_queries"),
        metric.mean("even_by_turn", over="with_turn"),
        with_class,
        metric.counted("with_turn"),
        int(metric.counted("longer")),
        _said_queries(queries),
        model_name=metric.model_name,
    )


def _members_of(batch: Batch, max_turns: int) -> Tensor:
    """Return the membership of tokens in all classes and all turns, float32 [B, C + T, n]."""
    n_classes = len(CLASSES)
    shape = len(batch.segments), n_classes + max_turns, batch.real.shape[1]
    members = np.zeros(shape, np.float32)
    for chat_members, tokens in zip(members, batch.tokens, strict=True):
        for position, (name, turn) in enumerate(zip(_classes(tokens), tokens.turns, strict=True)):
            chat_members[CLASSES.index(name), position] = 1
            # The first token is a separate class and belongs to no turn.
            if turn is not None and turn < max_turns and position:
                chat_members[n_classes + turn, position] = 1
    return torch.from_numpy(members).to(batch.real.device)


def _rows_of(batch: Batch, queries: str | None, max_turns: int) -> tuple[Tensor, Tensor]:
    """Return the query weights for all turns and each turn, and whether chats have more turns.

    The weights are float32 [B, 1 + T, n], and the second result is bool [B].
    """
    shape = len(batch.segments), 1 + max_turns, batch.real.shape[1]
    rows = np.zeros(shape, np.float32)
    longer = np.zeros(shape[0], bool)
    for item, tokens in enumerate(batch.tokens):
        for position, turn in _chosen(tokens, queries):
            rows[item, 0, position] = 1
            if turn is not None and turn < max_turns:
                rows[item, 1 + turn, position] = 1
            longer[item] |= turn is not None and turn >= max_turns
    rows /= np.maximum(rows.sum(-1, keepdims=True), 1)
    device = batch.real.device
    return torch.from_numpy(rows).to(device), torch.from_numpy(longer).to(device)


def _chosen(tokens: Tokens, queries: str | None) -> list[tuple[int, int | None]]:
    """Return the positions of the queries of a chat, and their turns."""
    positions: list[int] = list(range(len(tokens)))
    if queries not in (_ALL, _LAST):
        role = queries or "assistant"
        positions = [position for position in positions if _role(tokens.roles[position]) == role]
    if queries == _LAST or (queries is None and not positions):
        last = len(tokens) - 1
        earlier_turns = [turn for turn in tokens.turns if turn is not None]
        turn = tokens.turns[last]
        return [(last, max(earlier_turns, default=-1) + 1 if turn is None else turn)]
    return [(position, tokens.turns[position]) for position in positions]


def _classes(tokens: Tokens) -> list[str]:
    """Return the class of each token.

    Raises:
        ValueError: If the tokens have no roles.
    """
    if not tokens.roles:
        raise ValueError(
            "roles are known in chats: pass lists of messages, make_segments(chats, model), or "
            "measure_attention(model.attend(messages), [Roles()])"
        )
    names = [_role(role) for role in tokens.roles]
    return [FIRST, *(name if name in CLASSES[:5] else OTHER for name in names[1:])]


def _role(role: str) -> str:
    return _SAME.get(role, role)


def _phrase(name: str) -> str:
    """Return the wording of a class in a figure."""
    phrases = {
        "system": "the system prompt",
        TEMPLATE: "the template",
        FIRST: "the first token",
        SINK: "the sink",
    }
    return phrases.get(name, f"the {name}" if name in CLASSES[:4] else name)


def _said_queries(queries: str | None) -> str:
    if queries is None:
        return "the assistant's tokens (else the last token)"
    return {_LAST: "the last token", _ALL: "all tokens"}.get(
        queries, f"tokens of {_phrase(queries)}"
    )


def _mean_of_heads(by_turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of [T, L, H] over all heads, excluding layers without attention."""
    is_measured = ~np.isnan(by_turn)
    count = is_measured.sum((1, 2))
    mean: NDArray[np.float64] = np.where(is_measured, by_turn, 0).sum((1, 2)) / np.where(
        count, count, np.nan
    )
    return mean
