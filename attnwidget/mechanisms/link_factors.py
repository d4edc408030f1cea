"""Factors of a weight: the word itself, its place, and what earlier heads wrote there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, overload

import torch
from torch import Tensor

from attnwidget.capture.cut_inputs import says_cuts
from attnwidget.capture.model_reading import reading_of
from attnwidget.capture.result import Result
from attnwidget.capture.tapping.head import Head, HeadName, takes_head
from attnwidget.kernels.plain_torch import in_plain_torch
from attnwidget.kernels.rotary import turned
from attnwidget.kernels.score_parts import capped
from attnwidget.kernels.shapley import Swapped, shapley_values
from attnwidget.mechanisms.bias_by_offset import offset_bias
from attnwidget.mechanisms.checked_places import head_at, refuse_hidden
from attnwidget.mechanisms.input_positions import positions
from attnwidget.mechanisms.rotations import Rotation, known_rotation
from attnwidget.mechanisms.swapped_keys import SwappedKeys, swapped_keys
from attnwidget.mechanisms.written_parts import WrittenPart, written_parts
from attnwidget.text.factor_text import LARGEST_FACTOR, factor_number, factor_text
from attnwidget.text.percent import percent
from attnwidget.text.place_of_token import TokenName, place_of_token

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd

    from attnwidget.capture.maps.attention import Attention
    from attnwidget.capture.maps.products import ScoreParts

# Tolerance for rounding errors of keys, as a share of the largest value, and further tolerance per
# position, because models compute the angles of rotary encodings in float32.
_ROUNDING = 1e-4
_ANGLE = 1e-6
# Names of the parts, in tables, figures and sentences.
_NAMES = {
    "word": "the word itself",
    "place": "its place",
    "heads": "what earlier heads wrote there",
}
# Share of all parts in the same direction from which one part is the main reason.
_MOSTLY = 0.6
# Share of the total from which a part in the other direction is named, and its smallest factor.
_AGAINST = 0.5
_LEAST_AGAINST = math.log(1.5)
# Smallest factor of "what earlier heads wrote there" that is divided among heads and words.
_LEAST_DIVIDED = math.log(1.5)
# Number of heads and words that the sentence about them names, and the smallest factor of each.
_NAMED_PARTS = 2
_LEAST_PART = math.log(1.1)
# Factor up to which two weights count as equal.
_EQUAL = math.log(1.05)


@dataclass(frozen=True, eq=False, repr=False)
class LinkFactors(Result):
    """A weight relative to another weight, as a product of up to three factors.

    Attributes:
        head: Head that attends.
        query, key: Indices of the query and the key.
        against: Index of the rival key; None for a typical word.
        tokens: Texts of the query, the key and the rival key, if there is one.
        weight: Weight of the key.
        ratio: Weight of the key divided by the weight of the rival, or by the geometric mean of
            the weights of the other words.
        logs: Natural logarithm of each factor: "word" (the embedding of the word), "place" (the
            position embedding, the rotation or the relative bias) and "heads" (the outputs of all
            earlier heads at the key). A part that does not exist has no entry.
        n_words: Number of words that a typical word is the mean of; 1 for a rival key.
        written: Parts of the factor "heads" by earlier head and by the word that the head read, the
            largest first; their logarithms sum to that of the factor. Empty for a factor below 1.5
            in both directions.
        not_written: Reason why a factor of 1.5 or more is not divided, or "".
        model_name: Name of the model.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import link_factors
        >>> attention = load_model(device="cpu").attend("The captain said that he was old.")
        >>> found = link_factors(attention, "L1 H3", "he", "captain")
        >>> {name: round(factor, 1) for name, factor in found.factors.items()}
        {'word': 10.2, 'place': 1.9, 'heads': 1.3}
    """

    head: Head
    query: int
    key: int
    against: int | None
    tokens: tuple[str, ...]
    weight: float
    ratio: float
    logs: Mapping[str, float]
    n_words: int
    written: tuple[WrittenPart, ...] = ()
    not_written: str = ""

    @property
    def factors(self) -> dict[str, float]:
        """Factor of each part that exists: "word", "place" and "heads"; their product is `ratio`.

        1 means that the part makes no difference.
        """
        return {name: _factor(value) for name, value in self.logs.items()}

    @property
    def finding(self) -> str:
        """The weight, its ratio to the rival, and the main reason, as one sentence."""
        query, key = (token.strip() for token in self.tokens[:2])
        subject = f"In {self.head}, “{query}” gives “{key}” {percent(self.weight)}"
        total = sum(self.logs.values())
        if abs(total) < _EQUAL:
            return f"{subject}, about as much as {self.rival}."
        times = factor_number(self.ratio)
        if self.ratio > LARGEST_FACTOR:
            times = f"more than {LARGEST_FACTOR:,.0f}"
        if self.ratio < 1 / LARGEST_FACTOR:
            times = f"less than {1 / LARGEST_FACTOR:.5f}"
        return f"{subject}, {times} times the weight of {self.rival}{self._why()}."

    @property
    def rival(self) -> str:
        """Name of the rival in sentences: "a typical word", or the token in quotation marks."""
        return "a typical word" if self.against is None else f"“{self.tokens[2].strip()}”"

    def _why(self) -> str:
        """Return the reason as the end of the sentence."""
        total = sum(self.logs.values())
        sign = math.copysign(1.0, total)
        ranked = sorted(self.logs.items(), key=lambda part: -sign * part[1])
        helping = [(name, sign * value) for name, value in ranked if sign * value > 0]
        (first, size), *others = helping
        if len(self.logs) == 1:
            reason = f", because of {_NAMES[first]}"
        elif size >= _MOSTLY * sum(value for _, value in helping):
            reason = f", mostly because of {_NAMES[first]}"
        else:
            reason = f", because of {_NAMES[first]} and {_NAMES[others[0][0]]}"
        against, value = ranked[-1]
        if -sign * value > max(_AGAINST * abs(total), _LEAST_AGAINST):
            reason += f", in spite of {_NAMES[against]}"
        return reason

    @property
    def written_finding(self) -> str:
        """The earlier heads with the largest parts, and the words that they read; "" if undivided.

        Example:
            >>> from attnwidget import load_model
            >>> from attnwidget.mechanisms import link_factors
            >>> text = "The captain told his men that he would not leave the ship."
            >>> attention = load_model(device="cpu").attend(text)
            >>> link_factors(attention, "L2 H8", ("the", 2), "ship").written_finding
            'What earlier heads wrote there × 2.3: L0 H2 about “the” × 1.3, all other heads and \
words × 1.8.'
        """
        if not self.written:
            return self.not_written
        total = self.logs["heads"]
        sign = math.copysign(1.0, total)
        helping = [part for part in self.written if sign * part.log >= _LEAST_PART]
        named = helping[:_NAMED_PARTS]
        name = _NAMES["heads"]
        subject = f"{name[0].upper()}{name[1:]} {factor_text(_factor(total))}"
        if not named:
            least = factor_text(_factor(sign * _LEAST_PART))
            side = "above" if sign > 0 else "below"
            return f"{subject}: many heads about many words, none of them {side} {least}."
        rest = factor_text(_factor(total - sum(part.log for part in named)))
        parts = ", ".join(
            f"{part.head} about “{part.text.strip()}” {factor_text(_factor(part.log))}"
            for part in named
        )
        return f"{subject}: {parts}, all other heads and words {rest}."

    def written_frame(self) -> pd.DataFrame:
        """Return one row per earlier head and word: layer, head, word, text, factor, log.

        The product of the factors is the factor "heads". `attrs` has the "model" and the "head".
        """
        import pandas as pd

        rows = [
            (part.head.layer, part.head.head, part.word, part.text, _factor(part.log), part.log)
            for part in self.written
        ]
        columns = ["layer", "head", "word", "text", "factor", "log"]
        frame = pd.DataFrame(rows, columns=columns)
        frame.attrs |= {"model": self.model_name, "head": str(self.head)}
        return frame

    def rows(self) -> list[tuple[str, float, float]]:
        """Return the name, the factor and its logarithm for each part, and for "together"."""
        rows = [(_NAMES[name], _factor(value), value) for name, value in self.logs.items()]
        return [*rows, ("together", self.ratio, sum(self.logs.values()))]

    def to_frame(self) -> pd.DataFrame:
        """Return one row per part and one for "together": part, factor, log.

        `attrs` has the "model" and the "head".
        """
        import pandas as pd

        frame = pd.DataFrame(self.rows(), columns=["part", "factor", "log"])
        frame.attrs |= {"model": self.model_name, "head": str(self.head)}
        return frame

    def chart(self, *, width: int = 640) -> alt.LayerChart:
        """Draw the factors as bars on a logarithmic axis, and their product.

        Args:
            width: Width of the whole figure in pixels.
        """
        from attnwidget.charts.factor_bars import factor_bars

        return factor_bars(
            self.to_frame().rename(columns={"log": "value"}),
            title=f"{self.finding}\n{self.model_name}; each factor swaps one part of "
            f"“{self.tokens[1].strip()}” for that of {self.rival}, in all orders\n"
            f"{self.written_finding}",
            value_title=f"weight, relative to {self.rival}",
            width=width,
        )

    def __repr__(self) -> str:
        query, key, *_ = self.tokens
        factors = " ".join(f"{name} {factor_text(value)}" for name, value in self.factors.items())
        return (
            f"LinkFactors({self.model_name}, {self.head}, {query!r} at {key!r} {self.weight:.3f} "
            f"against {self.rival}: {factors}, together {factor_text(self.ratio)})"
        )


@overload
def link_factors(
    attention: Attention,
    head: HeadName,
    query: TokenName,
    key: TokenName,
    against: TokenName | None = None,
    *,
    stack: str | None = None,
) -> LinkFactors: ...


@overload
def link_factors(
    attention: Attention,
    layer: int,
    head: int,
    query: TokenName,
    key: TokenName,
    against: TokenName | None = None,
    *,
    stack: str | None = None,
) -> LinkFactors: ...


@in_plain_torch
@says_cuts
@takes_head
def link_factors(
    attention: Attention,
    layer: int | HeadName,
    head: int | None,
    query: TokenName,
    key: TokenName,
    against: TokenName | None = None,
    *,
    stack: str | None = None,
) -> LinkFactors:
    """Explain a weight by the word at the key, its place, and what earlier heads wrote there.

    The weight of the key, divided by the weight of a rival key, is a product of these factors. A
    factor is the change of the weight if this part of the rival is replaced by that of the key,
    averaged over all orders in which the parts can be replaced (Shapley values). Norms and MLPs are
    computed anew each time. The place is a row of a table of positions, a rotation, or a bias by
    distance.

    Args:
        attention: Attention of one input, made by a model outside of `disabled`.
        layer: Number of the layer, or the head itself: "L1 H3", (1, 3) or a `Head`.
        head: Number of the head within the layer; not needed if `layer` is a head.
        query: Attending token: its index, a word that occurs once, or ("he", 2) for the second
            "he".
        key: Attended token, in the same forms.
        against: Rival key; None = a typical word, the mean logarithm over all other words that the
            query sees, without the query itself, and without special tokens or, if there are none,
            the first token.
        stack: Stack of layers, if there are several.

    Raises:
        ValueError: If there is no such head or token; if the mask hides a key; if there is no other
            word; if only the weights of the layer are known; or if the keys of the model are made
            of more than words, places and heads.
        RuntimeError: If the model was closed, or its weights have changed.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.mechanisms import link_factors
        >>> model = load_model(device="cpu")
        >>> attention = model.attend("The captain told his men that he would not leave the ship.")
        >>> link_factors(attention, "L1 H3", "he", "captain", against=("the", 1)).finding
        'In L1 H3, “he” gives “captain” 59 %, 9.7 times the weight of “the”, mostly because of the \
word itself.'
    """
    named_head = head_at(attention, layer, head, stack)
    axes = attention.stacks[named_head.stack]
    query = place_of_token("query", query, axes.query)
    key = place_of_token("key", key, axes.key)
    row = attention.score_parts(named_head, [query])
    refuse_hidden(row, query, key)
    rivals = _other_words(attention, named_head, row, query, key)
    if against is not None:
        against = place_of_token("against", against, axes.key)
        if against == key:
            raise ValueError(
                f"against={against} is the key itself: pass another token, or None for a typical "
                "word"
            )
        refuse_hidden(row, query, against)
        rivals = [against]
    if not rivals:
        raise ValueError(
            f"query {query} of {named_head} sees no other word than key {key}: name the token to "
            "compare with, against=0"
        )
    reading_of(attention, "a factor of a weight")
    rotation = known_rotation(attention, named_head)
    if rotation.why_not:
        raise ValueError(f"{rotation.why_not}: the place of a key cannot be swapped for another")
    if row.bias is not None and offset_bias(attention, named_head) is None:
        raise ValueError(
            f"the bias of {named_head} in {attention.model_name} depends on more than the "
            "distance, so it is no part of the place alone: use explain_link(), which has the bias "
            "as one part"
        )
    swapped = swapped_keys(attention, named_head, key)
    score = _KeyScores.of_head(attention, named_head, row, key, rotation)
    scores, names = _scores(attention, score, swapped)
    changes = shapley_values(scores, len(names))
    tokens = [axes.query.text[query], axes.key.text[key]]
    if against is not None:
        tokens.append(axes.key.text[against])
    logs = {name: float(change[rivals].mean()) for name, change in zip(names, changes, strict=True)}
    written: tuple[WrittenPart, ...] = ()
    not_written = ""
    if abs(logs.get("heads", 0.0)) >= _LEAST_DIVIDED:
        try:
            written = written_parts(
                attention,
                named_head,
                key,
                rivals,
                has_place="place" in names,
                score=score,
                total=logs["heads"],
            )
        except ValueError as error:
            not_written = str(error)
    return LinkFactors(
        head=named_head,
        query=query,
        key=key,
        against=against,
        tokens=tuple(tokens),
        weight=float(
            attention.rows(named_head.layer, named_head.head, query, stack=axes.name)[key]
        ),
        ratio=_factor(sum(logs.values())),
        logs=logs,
        n_words=len(rivals),
        written=written,
        not_written=not_written,
        model_name=attention.model_name,
    )


def _other_words(
    attention: Attention, head: Head, row: ScoreParts, query: int, key: int
) -> list[int]:
    """Return the tokens that a typical word is the mean of."""
    axes = attention.stacks[head.stack]
    is_special = axes.key.special
    own = {key} if head.stack == "cross" else {key, query}
    return [
        index
        for index in range(len(axes.key))
        if index not in own
        and not is_special[index]
        and (row.visible is None or bool(row.visible[0, index]))
    ]


@dataclass(frozen=True, eq=False)
class _KeyScores:
    """Scores of keys, with the place of each key or with that of one key.

    Attributes:
        row: Query, keys and bias of the query.
        key: Index of the key whose place is swapped in.
        rotation: Rotation of queries and keys.
        shifts: Number of positions from each key to that key, [K]; 0 without a rotation.
    """

    row: ScoreParts
    key: int
    rotation: Rotation
    shifts: Tensor

    @classmethod
    def of_head(
        cls, attention: Attention, head: Head, row: ScoreParts, key: int, rotation: Rotation
    ) -> _KeyScores:
        shifts = torch.zeros(len(row.key), dtype=torch.float64, device="cpu")
        if len(rotation.pairs):
            token_positions = shifts.new_tensor(positions(attention, head.stack))
            shifts = token_positions[key] - token_positions
        return cls(row, key, rotation, shifts)

    @property
    def has_place(self) -> bool:
        """Whether the scores have a place that is no part of the residual stream."""
        return len(self.rotation.pairs) > 0 or self.row.bias is not None

    def placed(self, keys: Tensor, is_swapped: bool) -> Tensor:
        """Return the keys after the rotation by the swapped place."""
        if not is_swapped or not len(self.rotation.pairs):
            return keys
        angles = self.shifts[:, None] * self.rotation.frequencies
        return turned(keys, self.rotation.pairs, angles)

    def of_placed(self, keys: Tensor, is_swapped: bool) -> Tensor:
        """Return the scores of keys after the rotation."""
        scores = capped(self.row.scaling * keys @ self.row.query[0], self.row.softcap)
        if self.row.bias is None:
            return scores
        bias = self.row.bias[0]
        return scores + (bias[self.key].expand_as(bias) if is_swapped else bias)

    def __call__(self, keys: Tensor, is_swapped: bool) -> Tensor:
        return self.of_placed(self.placed(keys, is_swapped), is_swapped)


def _scores(
    attention: Attention, score: _KeyScores, swapped: SwappedKeys
) -> tuple[dict[Swapped, Tensor], list[str]]:
    """Return the scores of all tokens for each set of swapped parts, and the names of the parts."""
    row, key = score.row, score.key
    has_place = swapped.has_place or score.has_place
    exists = {"word": True, "place": has_place, "heads": swapped.has_heads}
    names = [name for name, is_part in exists.items() if is_part]
    tolerance = _ROUNDING * max(float(row.key.abs().max()), 1e-6)
    tolerance *= 1 + float(score.shifts.abs().max()) * _ANGLE / _ROUNDING
    scores: dict[Swapped, Tensor] = {}
    for choice in product((False, True), repeat=len(names)):
        is_swapped = dict.fromkeys(exists, False) | dict(zip(names, choice, strict=True))
        word, place, heads = (is_swapped[name] for name in exists)
        keys = score.placed(swapped.keys[word, place and swapped.has_place, heads], place)
        # All parts of the source token make the key itself, and no part leaves each key as it is.
        whole = row.key[key].expand_as(row.key) if all(choice) else row.key
        if all(choice) or not any(choice):
            if not float((keys - whole).abs().max()) <= tolerance:
                raise ValueError(
                    f"the keys of {attention.model_name} are made of more than words, places and "
                    "the outputs of heads: use score_sources(), which splits the score by what "
                    "wrote the query and the key"
                )
            keys = whole
        scores[choice] = score.of_placed(keys, place)
    return _with_equal_words(scores, swapped.same_word), names


def _with_equal_words(scores: dict[Swapped, Tensor], same_word: Tensor) -> dict[Swapped, Tensor]:
    """Return scores that do not change at all if a word is swapped for the same word.

    Entries of a batch may differ by rounding errors.
    """
    for choice in [choice for choice in scores if choice[0]]:
        without_word = (False, *choice[1:])
        kept, replaced = (choice, without_word) if all(choice) else (without_word, choice)
        scores[replaced] = torch.where(same_word, scores[kept], scores[replaced])
    return scores


def _factor(log: float) -> float:
    """Return the exponential of a logarithm; infinity if it is too large for a number."""
    return math.exp(log) if log < 700 else math.inf
