"""Choice of the head and the word on which an explorer opens, for texts that are not examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from attnwidget.behaviors.behavior import Family
from attnwidget.behaviors.registry import family_of
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.maps.resting_places import resting_places
from attnwidget.capture.maps.stack_axes import Stack
from attnwidget.capture.tapping.head import Head
from attnwidget.inputs.chat_text import ASSISTANT
from attnwidget.kernels.array_library import as_numpy
from attnwidget.kernels.arrays import BoolArray, Float32Array
from attnwidget.kernels.word_weights import word_weights
from attnwidget.text.tokens import TEMPLATE, Tokens
from attnwidget.text.word_classes import WordClass, plain_word, word_classes
from attnwidget.words.speech import aligning_head

#: Minimum weight of an outstanding link, and its minimum ratio to the even share of the key.
STANDS_OUT = 0.1
TIMES_EVEN = 2
#: Minimum score of an outstanding link.
LEAST_SCORE = 0.02
#: Minimum change of an answer's probability for a head that carries the answer.
LEAST_EFFECT = 0.02
#: Number of last queries whose links are compared for a long input.
LONG_QUERIES = 128

#: Functions that return, for each head, the change of an answer's probability without the head.
EffectsOf = Callable[[Sequence[Head]], Mapping[Head, float]]

_OF_CLASS: dict[WordClass, float] = {"pronoun": 1, "content": 0.5, "function": 0.25, "": 0}
_OF_LATER_PERSON = 0.25
_OF_SECOND_KEY = 0.5


@dataclass(frozen=True)
class Opening:
    """Link on which an explorer opens: a head, an attending word and an attended word.

    Attributes:
        head: Attention head.
        query: Tokens of the attending word; () if the text has no two words to compare.
        key: Tokens of the attended word.
        weight: Attention from the first to the second word: the mean over the tokens of the first,
            and the sum over the tokens of the second.
        even: Weight of the link in even attention.
        score: Score of the link; 0 without a link.
        stands_out: Whether the link is outstanding. If not, it is the strongest link between two
            words.
        rule: Quantity that was compared: "answer" (the effect of the head on the model's answer),
            "link" (the weight above the usual weight of the attended word), or "change" (the
            difference of two attentions).
        effect: Change of the answer's probability without the head, for the rule "answer".
    """

    head: Head
    query: tuple[int, ...] = ()
    key: tuple[int, ...] = ()
    weight: float = 0.0
    even: float = 0.0
    score: float = 0.0
    stands_out: bool = False
    rule: Literal["answer", "link", "change"] = "link"
    effect: float | None = None

    @property
    def tokens(self) -> tuple[tuple[str, int], ...]:
        """Tokens of the active word, as (side, index); () if the link is not outstanding."""
        return tuple(("query", token) for token in self.query) if self.stands_out else ()

    def in_unit(self, unit: str, axis: Tokens) -> tuple[tuple[str, int], ...]:
        """Return the active word as positions on the axis of a figure.

        Args:
            unit: "tokens" or "words".
            axis: Axis with the attending tokens of the stack.
        """
        if unit == "tokens" or not self.tokens:
            return self.tokens
        active = set(self.query)
        groups = enumerate(axis.word_groups())
        return tuple(("query", word) for word, group in groups if not active.isdisjoint(group))


def opening_of(
    attention: Attention,
    names: Mapping[Head, str] | None = None,
    *,
    mask: str | None = None,
    unknown: str | None = None,
    effects: EffectsOf | None = None,
) -> Opening:
    """Return the head and the word on which an explorer opens.

    Every link from a word to a content word at a distance of two or more words has a score. The
    score is the weight minus the mean weight of the attended word over all words, times three
    factors:

    - the class of the attending word: 1 for pronouns, 0.5 for content words and for the last word
      of a causal map, and 0.25 for function words (`word_classes`);
    - the name of the head: 4 from a pronoun in a pronoun head, which has 0.25 for other words; 1.5
      in a grammar head, which has 0.25 for pronouns; 0.75 in a head that rests on special tokens;
      0.25 in a head for neighbors or copies; 1 without a name;
    - 0.5 if the word attends more to another visible word, and 0.25 if a pronoun attends to a later
      word.

    The words are words of the text, with merged wordpieces. Special tokens, unknown words, hidden
    resting places and words of a chat template are ignored. The best link is outstanding if its
    weight is at least 10 % and twice its even share, and its score is at least 0.02. In a masked
    text, the active word is the mask token. In a chat without an answer, the last word is the token
    before the answer. An encoder-decoder opens on its cross-attention, where any two words are
    compared. With a picture, the attended words are its patches, and the active word is [CLS] or a
    word of the text.

    A speech model opens on the head that follows the words of its transcript (`aligning_head`), and
    no word is active: the view shows all words over time.

    A long input has no active word.

    With `effects`, a causal map opens on the last word, and on the head that changes the answer's
    probability by at least 2 percentage points when it is disabled. Only heads in which the last
    word attends most to another content word are tried.

    Args:
        attention: Attention of the text.
        names: Names of heads, as in an atlas (`names_in`).
        mask: Mask token in the spelling of the vocabulary; None = no mask token.
        unknown: Token for unknown words in the spelling of the vocabulary; None = no such token.
        effects: Function for the changes of the answer's probability without heads; None = compare
            only links.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.demo import demo_atlas
        >>> from attnwidget.widgets.explorer.atlas_names import names_in
        >>> from attnwidget.widgets.explorer.opening import opening_of
        >>> text = "My brother sold the boat because it leaked."
        >>> attention = load_model().attend(text)
        >>> opening = opening_of(attention, names_in(demo_atlas()))
        >>> str(opening.head), opening.tokens, attention.tokens[opening.key[0]]
        ('L1 H3', (('query', 7),), 'boat')
    """
    aligning = aligning_head(attention)
    if aligning is not None:
        return Opening(aligning)
    words = _Words(attention, _stack_of(attention), mask, unknown)
    if effects is not None and words.last is not None:
        answering = _answering(words, effects)
        if answering is not None:
            return answering if words.are_merged else replace(answering, stands_out=False)
    best = _most_outstanding(words, names or {})
    return best if words.are_merged else replace(best, stands_out=False)


def active_word(
    attention: Attention,
    head: Head,
    unit: str = "tokens",
    *,
    names: Mapping[Head, str] | None = None,
    mask: str | None = None,
    unknown: str | None = None,
) -> tuple[tuple[str, int], ...]:
    """Return the active word for a head, as positions (side, index) in the figure.

    It is the attending word of the head's most outstanding link, including links between neighbors.
    In a causal map, it is the last word, on which the next word depends. In a masked text, it is
    the mask token. There is no active word in a long input, or if the head has no outstanding link.

    Args:
        attention: Attention of the text.
        head: Attention head.
        unit: "tokens" or "words".
        names: Names of heads, as in `opening_of`.
        mask: Mask token, as in `opening_of`.
        unknown: Token for unknown words, as in `opening_of`.

    Example:
        >>> from attnwidget import Head, load_model
        >>> from attnwidget.widgets.explorer.opening import active_word
        >>> attention = load_model().attend("The captain told his men that he would not leave.")
        >>> active_word(attention, Head(1, 3))
        (('query', 7),)
    """
    if attention.is_long:
        return ()
    words = _Words(attention, head.stack, mask, unknown, nearest=1)
    axis = attention.stacks[head.stack].query
    row = words.masks[0] if words.masks else words.last
    if row is not None:
        return Opening(head, tuple(words.query[row]), stands_out=True).in_unit(unit, axis)
    return _most_outstanding(words, names or {}, head).in_unit(unit, axis)


def opening_of_change(
    attention: Attention,
    other: Attention,
    changes: Float32Array,
    stack: str,
    unknown: str | None = None,
) -> Opening:
    """Return the head and the word on which a comparison opens: the most different link.

    The score of a link is the difference of its two weights, times the factor of its attending word
    as in `opening_of`. If the two inputs differ, there are no common links, and the result is the
    head with the largest change.

    Args:
        attention: First attention.
        other: Second attention.
        changes: Change of each head (`Attention.changes`), [L, H].
        stack: Name of the compared stack.
        unknown: Token for unknown words, as in `opening_of`.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.widgets.explorer.opening import opening_of_change
        >>> text = "The old woman opened the door and saw her brother."
        >>> attention = load_model().attend(text)
        >>> other = load_model("attnwidget/genre").attend(text)
        >>> opening_of_change(attention, other, attention.changes(other), "self").rule
        'change'
    """
    row, column = divmod(int(np.argmax(changes)), changes.shape[1])
    best = Opening(Head(row, column, stack), rule="change")
    axes = attention.stacks[stack], other.stacks[stack]
    if any(getattr(axes[0], side) != getattr(axes[1], side) for side in ("query", "key")):
        return best
    words, others = (_Words(each, stack, None, unknown) for each in (attention, other))
    best_link = replace(best, score=0.0)
    for (layer, weights), (_, second) in zip(words.layers(), others.layers(), strict=True):
        strong = words.allowed & (words.strong(weights) | others.strong(second))
        scores = np.where(strong, np.abs(weights - second) * words.classes[:, None], 0)
        best_link = _better(best_link, words, layer, weights, scores)
    if best_link.score < LEAST_SCORE:
        return best
    return replace(best_link, stands_out=True, rule="change")


class _Words:
    """Words of a stack, and the quantities that are compared for each link.

    Args:
        attention: Attention of the text.
        name: Stack name.
        mask: Mask token, or None.
        unknown: Token for unknown words, or None.
        nearest: Minimum distance of two words whose link is compared.

    Attributes:
        name: Stack name.
        are_merged: Whether wordpieces are merged. For a long input, only the tokens of the last
            queries are compared, because whole maps of all heads would be too slow.
        query: Tokens of each attending word; for a long input, of the last words.
        key: Tokens of each attended word.
        classes: Factor for the class of each attending word, [q].
        is_pronoun: Whether an attending word is a pronoun, [q].
        allowed: Whether a link from a word to another word is compared, [q, k].
        later: Whether the attended word is after the attending word, [q, k].
        even: Even share of the attended word, [q, k]; 0 where masked.
        last: Attending word on which the next word depends; None if the map is not causal.
        masks: Attending words that are mask tokens.
    """

    def __init__(
        self,
        attention: Attention,
        name: str,
        mask: str | None,
        unknown: str | None,
        *,
        nearest: int = 2,
    ) -> None:
        self.name = name
        self._attention = attention
        axes = attention.stacks[name]
        hidden = resting_places(attention).kinds
        self.are_merged = not attention.is_long
        self._maps = (attention.words if self.are_merged else attention).stack_maps(name)
        query, key = (
            axis.word_groups() if self.are_merged else [[i] for i in range(len(axis))]
            for axis in (axes.query, axes.key)
        )
        first = 0 if self.are_merged else max(0, len(query) - LONG_QUERIES)
        self._rows = list(range(first, len(query)))
        self.query = [query[row] for row in self._rows]
        self.key = key
        self.even = self._even_shares(axes)
        self._is_causal = name != "cross" and self._sees_nothing_later()
        query_classes, is_visible_query = _classes_of(axes.query, query, hidden, unknown)
        key_classes, is_visible_key = _classes_of(axes.key, key, hidden, unknown)
        self._answering = is_visible_key
        rows = np.array(self._rows)
        self._asking = is_visible_query[rows]
        self.is_content = (
            np.array([word_class == "content" for word_class in key_classes]) & is_visible_key
        )
        self.is_pronoun = np.array([query_classes[row] == "pronoun" for row in self._rows])
        self.last = self._last(attention, axes)
        if self.last is not None and axes.query.roles:
            # The token before the answer belongs to the template, which is otherwise ignored.
            self._asking[self.last] = True
        classes = np.array([_OF_CLASS[query_classes[row]] for row in self._rows])
        is_in_medium = [any(axes.key.places[i] for i in group) for group in key if axes.key.places]
        if name != "cross" and any(is_in_medium):
            # The keys are the parts of the picture or the sound.
            self.is_content = np.array(is_in_medium) & is_visible_key
            if "cls" in axes.query.special:
                is_cls = [axes.query.special[group[0]] == "cls" for group in self.query]
                classes = np.where(is_cls, _OF_CLASS["content"], 0)
                self._asking = self._asking | is_cls
            elif axes.query.places:
                # The queries are the words of the text, or the parts if there are no words.
                is_part = [any(axes.query.places[i] for i in group) for group in self.query]
                asks = self._asking & ~np.array(is_part)
                self._asking = asks if asks.any() else self._asking
        if self.last is not None:
            classes[self.last] = max(classes[self.last], _OF_CLASS["content"])
        raw = axes.query.raw if mask is not None else ()
        self.masks = [row for row, group in enumerate(self.query) if raw and raw[group[0]] == mask]
        if self.masks:
            classes = np.zeros(len(classes))
            classes[self.masks] = _OF_CLASS["content"]
            self._asking[self.masks] = True
        self.classes = classes
        self.allowed = self._asking[:, None] & self.is_content & (self.even > 0)
        self.later = np.zeros(self.allowed.shape, bool)
        if name != "cross" and axes.query == axes.key:
            columns = np.arange(len(key))
            self.later = columns > rows[:, None]
            texts = [_text(axes.key, group) for group in key]
            same = np.array([[texts[row] == text for text in texts] for row in self._rows], bool)
            near = np.abs(rows[:, None] - columns) < (nearest if axes.query.is_line else 1)
            self.allowed &= ~same & ~near if axes.query.is_line else ~near

    def layers(self, of: Head | None = None) -> list[tuple[int, Float32Array]]:
        """Return the number of each layer with attention, and its maps between words, [H, q, k].

        Args:
            of: Head whose layer is returned; None = all layers.
        """
        numbers = self._attention.stacks[self.name].layers.numbers
        return [
            (number, self._weights(position))
            for position, number in enumerate(numbers)
            if of is None or number == of.layer
        ]

    @property
    def first_head(self) -> Head:
        """First head of the stack."""
        return Head(self._attention.stacks[self.name].layers.numbers[0], 0, self.name)

    def usual(self, weights: Float32Array) -> Float32Array:
        """Return the mean weight of each key over the words that see the key, [H, 1, k]."""
        is_visible = self._asking[:, None] & (self.even > 0)
        sums = np.where(is_visible, weights, 0).sum(-2, keepdims=True)
        usual: Float32Array = sums / np.maximum(is_visible.sum(-2), 1)
        return usual

    def strong(self, weights: Float32Array) -> BoolArray:
        """Return True for weights that are large enough for an outstanding link, [H, q, k]."""
        strong: BoolArray = weights >= np.maximum(STANDS_OUT, TIMES_EVEN * self.even)
        return strong

    def is_top(self, weights: Float32Array) -> BoolArray:
        """Return True for the strongest link of each query to a visible key, [H, q, k]."""
        visible = np.where(self._answering, weights, -1)
        top: BoolArray = weights >= visible.max(-1, keepdims=True)
        return top

    def _weights(self, place: int) -> Float32Array:
        part = self._maps.part(self._rows, range(len(self.key)))
        n_heads = self._maps.layers[place].n_heads
        values = as_numpy(part(place, slice(0, n_heads), "weights"))
        weights: Float32Array = np.nan_to_num(values.astype(np.float32))
        return weights

    def _even_shares(self, axes: Stack) -> Float32Array:
        """Return the even share of each attended word in the first layer, [q, k]."""
        first = self._maps.layers[0]
        visible_keys = first.seen_by(slice(0, first.n_heads))
        visible = np.ones((len(axes.query), len(axes.key)), np.float32)
        if visible_keys is not None:
            visible *= as_numpy(visible_keys).reshape(-1, *np.shape(visible_keys)[-2:]).any(0)
        shares = visible / np.maximum(visible.sum(-1, keepdims=True), 1)
        if self._maps.words is not None:
            shares = as_numpy(word_weights(shares, *self._maps.words))
        even: Float32Array = shares[self._rows]
        return even

    def _sees_nothing_later(self) -> bool:
        later = np.arange(len(self.key)) > np.array(self._rows)[:, None]
        return bool(later.any() and not self.even[later].any())

    def _last(self, attention: Attention, axes: Stack) -> int | None:
        """Return the row of a causal map's last word, or of the last generation step."""
        if not self._is_causal or not self._asking.any():
            return None
        if attention.n_prompt is not None:
            # The last token of a generated text is predicted at the token before it.
            step = len(axes.query) - 2
            return self._row_of(step)
        if _has_begun_answer(axes.query):
            return self._row_of(len(axes.query) - 1)
        return int(np.flatnonzero(self._asking)[-1])

    def _row_of(self, token: int) -> int | None:
        return next((row for row, group in enumerate(self.query) if token in group), None)


def _most_outstanding(
    words: _Words, names: Mapping[Head, str], chosen: Head | None = None
) -> Opening:
    """Return the link with the best score, or the strongest link if no link is outstanding.

    Args:
        words: Words of the stack.
        names: Names of heads.
        chosen: Head whose links are compared; None = all heads.
    """
    families = {head: family_of(name) for head, name in names.items()}
    best = Opening(chosen or words.first_head)
    strongest = best
    for layer, weights in words.layers(chosen):
        allowed = words.allowed
        if chosen is not None:
            allowed = allowed & (np.arange(len(weights)) == chosen.head)[:, None, None]
        factors = words.classes[:, None] * _fit(words, layer, len(weights), families)
        factors = factors * np.where(words.is_top(weights), 1, _OF_SECOND_KEY)
        scores = np.where(
            allowed & words.strong(weights), (weights - words.usual(weights)) * factors, 0
        )
        best = _better(best, words, layer, weights, scores)
        above = np.where(allowed, weights - words.even, 0)
        strongest = _better(strongest, words, layer, weights, above)
    if best.score >= LEAST_SCORE:
        return replace(best, stands_out=True)
    return replace(strongest, score=best.score)


def _stack_of(attention: Attention) -> str:
    """Return the stack on which an explorer opens: the cross-attention or the first stack.

    If text and picture are read by separate stacks, as in CLIP, it is the stack of the picture.
    """
    stacks = attention.stacks
    if "cross" in stacks:
        return "cross"
    media_stacks = [name for name, stack in stacks.items() if any(stack.key.places)]
    first = next(iter(stacks))
    return media_stacks[0] if media_stacks and attention.n_prompt is None else first


def _fit(words: _Words, layer: int, n_heads: int, families: Mapping[Head, Family]) -> Float32Array:
    """Return a factor for how well the name of each head suits each link, [H, q, k]."""
    pronoun = words.is_pronoun[:, None]
    later_factor = np.where(pronoun & words.later, _OF_LATER_PERSON, 1).astype(np.float32)
    fits = []
    for head in range(n_heads):
        family = families.get(Head(layer, head, words.name), "")
        pronoun_factor, other_factor = {
            "pronoun": (4, 0.25),
            "grammar": (0.25, 1.5),
            "rests": (0.75, 0.75),
            "neighbor": (0.25, 0.25),
            "same word": (0.25, 0.25),
            "": (1, 1),
        }[family]
        fits.append(np.where(pronoun, pronoun_factor, other_factor) * later_factor)
    return np.stack(fits).astype(np.float32)


def _better(
    best: Opening, words: _Words, layer: int, weights: Float32Array, scores: Float32Array
) -> Opening:
    """Return the link with the best score of a layer if it is better than the best so far."""
    head, row, column = np.unravel_index(int(scores.argmax()), scores.shape)
    score = float(scores[head, row, column])
    if score <= best.score:
        return best
    return _link(words, layer, weights, (int(head), int(row), int(column)), score)


def _link(
    words: _Words, layer: int, weights: Float32Array, at: tuple[int, int, int], score: float
) -> Opening:
    head, row, column = at
    return Opening(
        head=Head(layer, head, words.name),
        query=tuple(words.query[row]),
        key=tuple(words.key[column]),
        weight=float(weights[head, row, column]),
        even=float(words.even[row, column]),
        score=score,
    )


def _answering(words: _Words, effects: EffectsOf) -> Opening | None:
    """Return the opening with the head that carries the answer; None if there is no such head."""
    last = words.last
    assert last is not None
    links: dict[Head, Opening] = {}
    for layer, weights in words.layers():
        rows = np.where(words._answering, weights[:, last], -1)
        strong = words.strong(weights)[:, last]
        for head, column in enumerate(rows.argmax(-1).tolist()):
            is_other = words.key[column] != words.query[last]
            if words.is_content[column] and is_other and strong[head, column]:
                link = _link(words, layer, weights, (head, last, column), 0.0)
                links[link.head] = link
    changes = effects(list(links)) if links else {}
    if not changes:
        return None
    best = max(changes, key=lambda head: abs(changes[head]))
    effect = float(changes[best])
    if abs(effect) < LEAST_EFFECT:
        return None
    return replace(links[best], score=abs(effect), stands_out=True, rule="answer", effect=effect)


def _classes_of(
    axis: Tokens, groups: Sequence[Sequence[int]], hidden: Sequence[str], unknown: str | None
) -> tuple[list[WordClass], BoolArray]:
    """Return the class of each word, and whether the word is visible.

    Picture patches have no letters and count as content words.
    """
    texts = [_text(axis, group) for group in groups]
    # The first token of a causal model may be a word of the text or a start token.
    special = [
        "other" if axis.is_line and axis.words[group[0]] is None else axis.special[group[0]]
        for group in groups
    ]
    is_visible = np.array([kind in ("", "first") and kind not in hidden for kind in special])
    if unknown is not None:
        # Ignore unknown words, because the model cannot tell them apart.
        is_visible &= np.array([axis.raw[group[0]] != unknown for group in groups])
    if axis.roles:
        # Ignore words of the chat template, such as role names.
        is_visible &= np.array([axis.roles[group[0]] != TEMPLATE for group in groups])
    if not axis.is_line:
        return ["content"] * len(groups), is_visible
    classes = word_classes(
        [text if kind in ("", "first") else "" for text, kind in zip(texts, special, strict=True)]
    )
    return classes, is_visible & np.array([bool(word_class) for word_class in classes])


def _has_begun_answer(axis: Tokens) -> bool:
    """Return True if a chat ends with the template tokens that begin an answer."""
    roles = axis.roles
    if not roles or roles[-1] != TEMPLATE:
        return False
    last = next((role for role in reversed(roles) if role != TEMPLATE), TEMPLATE)
    return last != ASSISTANT


def _text(axis: Tokens, group: Sequence[int]) -> str:
    return plain_word("".join(axis.added[token] for token in group))
