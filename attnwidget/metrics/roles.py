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
#: Classes of the tokens of a chat. Every token is in one of them, and no token in the last.
CLASSES = ("system", "user", "assistant", "tool", TEMPLATE, FIRST, OTHER, SINK)
# Other names of the same roles.
_SAME = {"developer": "system", "model": "assistant", "function": "tool", "ipython": "tool"}
_LAST = "last token"
_ALL = "all tokens"
_QUERIES = (*CLASSES[:5], _LAST, _ALL)
# Number of heads that a figure names if the caller names none.
_NAMED = 3


@dataclass(frozen=True, eq=False, repr=False)
class RolesResult(SegmentMeansResult):
    """Attention by role and by turn, from the chosen queries of chats.

    The shares of a head sum to 1 over the classes. Turns are numbers of messages, from 0.

    Attributes:
        names: The C classes: "system", "user", "assistant", "tool", "template", "first token",
            "other roles" and "sink". Tokens that the chat template writes are "template", except
            the first token of the chat. "sink" is the weight on no token in models with learned
            sinks, such as GPT-OSS; 0 in other models.
        shares: Mean attention to all tokens of a class together, [C, L, H]. A chat without the
            class counts as 0.
        by_turn: The same from the queries of each turn, [T, C, L, H]; NaN for turns without
            queries.
        to_turns: Mean attention to the messages of each turn, [T, L, H]. A chat without the turn
            counts as 0.
        even: Share of each class if every query attended evenly to all tokens up to itself, [C].
        even_by_turn: The same from the queries of each turn, [T, C].
        with_class: Number of chats with a token of each class, [C]. For "sink", the number of all
            chats if the model has learned sinks, else 0.
        with_turn: Number of chats with queries in each turn, [T].
        n_longer: Number of chats with queries in later turns, which only `shares`, `to_turns` and
            `even` contain.
        queries: The chosen queries, in words.

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
        """The turns with queries, in order."""
        return [int(turn) for turn in np.flatnonzero(self.with_turn)]

    def turns_to_frame(self) -> pd.DataFrame:
        """Return one row per turn, head and class with tokens: turn, layer, head, role, share.

        `attrs["model"]` is the name of the model.
        """
        import pandas as pd

        kept = [place for place, count in enumerate(self.with_class) if count]
        values = self.by_turn[self.turns][:, kept]
        turn, role, layer, head = (index.ravel() for index in np.indices(values.shape))
        frame = pd.DataFrame(
            {
                "turn": np.array(self.turns)[turn],
                "layer": layer,
                "head": head,
                "role": np.array(self.names)[kept][role],
                "share": values.ravel(),
            }
        ).dropna(ignore_index=True)
        frame.attrs["model"] = self.model_name
        return frame

    def chart(self, names: Sequence[str] | None = None, *, width: int = 640) -> alt.TopLevelMixin:
        """Draw the share of each class over the layers.

        Args:
            names: The classes to draw; None = all classes with tokens.
            width: Pixels of the whole figure.

        Raises:
            ValueError: No chat has tokens of the class.
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
        """Draw the share that goes to one class by the turn of the query.

        The figure has the mean of all heads, some heads, and the share under even attention. The
        even share falls while a chat gets longer. Heads above the even share still look at the
        class.

        Args:
            to: The attended class, such as "system" or "user".
            heads: The head or heads to draw, each as (1, 3), "L1 H3" or a `Head`; None = the three
                heads with the largest share.
            width: Pixels of the whole figure.

        Raises:
            ValueError: There is no such class or head, or no chat has tokens of the class.
        """
        import pandas as pd

        from attnwidget.charts.turn_curves import turn_curves

        share = self.heads()[self._title(to)]
        place = self.names.index(to)
        by_turn = self.by_turn[:, place]
        if heads is None:
            order = np.argsort(np.where(np.isnan(share), -1, share), axis=None)[::-1][:_NAMED]
            chosen = [divmod(int(at), share.shape[1]) for at in order]
        else:
            named = [head_of_result(name, None, share.shape) for name in listed_heads(heads)]
            chosen = [(head.layer, head.head) for head in named]
        rows: list[dict[str, Any]] = []
        for layer, head in chosen:
            rows += self._rows(f"L{layer} H{head}", by_turn[:, layer, head])
        with np.errstate(invalid="ignore"):
            rows += self._rows("mean of heads", _mean_of_heads(by_turn))
        rows += self._rows("even attention", self.even_by_turn[:, place])
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
        having = [title.removeprefix("to ") for title in self.heads()]
        if name not in having:
            raise ValueError(f"no chat has tokens of {name!r}: {among(name, having)}")
        return f"to {name}"


def Roles(  # noqa: N802, as the other metrics
    queries: str | None = None, *, max_turns: int = 40
) -> SegmentMeans[RolesResult]:
    """Metric: shares of attention to the roles and the turns of chats.

    Attention to a role is summed over its tokens in a chat and averaged over the chosen queries,
    then over chats. Segments are chats (`make_segments`, or rows with "messages"), or the attention
    of a chat (`measure_attention`). Long chats are read without maps.

    Args:
        queries: The tokens whose attention is measured: "assistant" or another role, "template",
            "last token" or "all tokens". None = the tokens of the assistant's messages; a chat
            without an answer is read from its last token. The last token belongs to the turn that
            a model would write next.
        max_turns: Number of turns with a result of their own.

    Raises:
        ValueError: unknown queries, or a number of turns below 1.

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
    """The groups of queries are the chosen tokens, all and of each turn.

    The classes are followed by the messages of each turn.
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
    """Return the shares of all queries and of each turn, and the mass that goes to each turn."""
    c = len(CLASSES)
    # The weight on no token is the share of the sink.
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
        # The rest is rounding.
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
    """Return the members of all classes and of all turns, float32 [B, C + T, n]."""
    n_classes = len(CLASSES)
    shape = len(batch.segments), n_classes + max_turns, batch.real.shape[1]
    members = np.zeros(shape, np.float32)
    for of_chat, tokens in zip(members, batch.tokens, strict=True):
        for place, (name, turn) in enumerate(zip(_classes(tokens), tokens.turns, strict=True)):
            of_chat[CLASSES.index(name), place] = 1
            # The first token counts as a class of its own, and as no turn.
            if turn is not None and turn < max_turns and place:
                of_chat[n_classes + turn, place] = 1
    return torch.from_numpy(members).to(batch.real.device)


def _rows_of(batch: Batch, queries: str | None, max_turns: int) -> tuple[Tensor, Tensor]:
    """Return the weights of the queries, all and of each turn, and which chats have more turns.

    The weights are float32 [B, 1 + T, n], and the second result is bool [B].
    """
    shape = len(batch.segments), 1 + max_turns, batch.real.shape[1]
    rows = np.zeros(shape, np.float32)
    longer = np.zeros(shape[0], bool)
    for item, tokens in enumerate(batch.tokens):
        for place, turn in _chosen(tokens, queries):
            rows[item, 0, place] = 1
            if turn is not None and turn < max_turns:
                rows[item, 1 + turn, place] = 1
            longer[item] |= turn is not None and turn >= max_turns
    rows /= np.maximum(rows.sum(-1, keepdims=True), 1)
    device = batch.real.device
    return torch.from_numpy(rows).to(device), torch.from_numpy(longer).to(device)


def _chosen(tokens: Tokens, queries: str | None) -> list[tuple[int, int | None]]:
    """Return the places of the queries of a chat, and their turns."""
    places: list[int] = list(range(len(tokens)))
    if queries not in (_ALL, _LAST):
        role = queries or "assistant"
        places = [at for at in places if _role(tokens.roles[at]) == role]
    if queries == _LAST or (queries is None and not places):
        last = len(tokens) - 1
        so_far = [turn for turn in tokens.turns if turn is not None]
        own = tokens.turns[last]
        return [(last, max(so_far, default=-1) + 1 if own is None else own)]
    return [(place, tokens.turns[place]) for place in places]


def _classes(tokens: Tokens) -> list[str]:
    """Return the class of each token.

    Raises:
        ValueError: The tokens have no roles.
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
    """Return a class as a figure says it."""
    named = {
        "system": "the system prompt",
        TEMPLATE: "the template",
        FIRST: "the first token",
        SINK: "the sink",
    }
    return named.get(name, f"the {name}" if name in CLASSES[:4] else name)


def _said_queries(queries: str | None) -> str:
    if queries is None:
        return "the assistant's tokens (else the last token)"
    return {_LAST: "the last token", _ALL: "all tokens"}.get(
        queries, f"tokens of {_phrase(queries)}"
    )


def _mean_of_heads(by_turn: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of [T, L, H] over all heads, without layers without attention."""
    known = ~np.isnan(by_turn)
    count = known.sum((1, 2))
    mean: NDArray[np.float64] = np.where(known, by_turn, 0).sum((1, 2)) / np.where(
        count, count, np.nan
    )
    return mean
