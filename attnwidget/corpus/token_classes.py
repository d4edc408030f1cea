"""Token classes, such as separators, over which attention is summed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnwidget.inputs.vocabulary import Vocabulary
from attnwidget.text.tokens import Tokens

TokenClass = Collection[str] | Callable[[Tokens], Sequence[bool]]
STANDARD_CLASSES = ("[CLS]", "[SEP]", ". ,", "first token")
_ROLE = "role="


class TokenClasses:
    """Assignment of the tokens in a segment to token classes.

    The classes are "[CLS]" (the tokenizer's [CLS] or beginning-of-text token), "[SEP]" (its [SEP]
    or end-of-text token), ". ," and "first token", in this order, then the additional `classes`. A
    class is empty if the tokenizer does not add its token: GPT-2's tokenizer adds no end-of-text
    token.

    Args:
        vocabulary: Vocabulary of the model's tokenizer.
        classes: Additional classes by name, each a set of tokens ("the", "##ing"), a function from
            the tokens of a segment to one bool per token, or for chats "role=system", with "|"
            between several roles.

    Raises:
        ValueError: A class has the name of a standard class, or is empty.

    Example:
        >>> from attnwidget import load_model
        >>> from attnwidget.corpus.token_classes import TokenClasses
        >>> model = load_model()
        >>> classes = TokenClasses(model.vocabulary, {"articles": {"a", "the"}})
        >>> ids = model.tokenizer("The cat sat.")["input_ids"]
        >>> classes.members(ids, None)["articles"]
        [False, True, False, False, False, False]
    """

    def __init__(self, vocabulary: Vocabulary, classes: Mapping[str, TokenClass]) -> None:
        classes = _checked(classes)
        self._vocabulary = vocabulary
        token_sets = {name: frozenset(c) for name, c in classes.items() if not callable(c)}
        self._spelt = {". ,": frozenset(".,")} | token_sets
        self._functions = {name: c for name, c in classes.items() if callable(c)}
        self._order = (*STANDARD_CLASSES, *classes)
        self._begins = _first_known(vocabulary.tokenizer, "cls_token_id", "bos_token_id")
        self._ends = _first_known(vocabulary.tokenizer, "sep_token_id", "eos_token_id")
        cache_key = frozenset(self._spelt.items()), self._begins, self._ends
        self._classes_of = vocabulary.classes.setdefault(cache_key, {})

    def members(self, ids: Sequence[int], tokens: Callable[[], Tokens]) -> dict[str, list[bool]]:
        """Return one bool per token for each class.

        Args:
            ids: Vocabulary ids of the tokens.
            tokens: Function that returns the token axis, which is called only for classes that are
                functions.
        """
        flags = {name: [False] * len(ids) for name in self._order}
        cache = self._classes_of
        for position, token_id in enumerate(ids):
            # A set difference would take time proportional to the number of all cached ids.
            if token_id not in cache:
                cache[token_id] = self._of(token_id)
            for name in cache[token_id]:
                flags[name][position] = True
        flags["first token"][0] = True
        for name, function in self._functions.items():
            flags[name] = _members_of(name, function, tokens())
        return flags

    def _of(self, token_id: int) -> frozenset[str]:
        """Return the classes of a vocabulary entry."""
        text = self._vocabulary.readable(token_id)
        names = {name for name, tokens in self._spelt.items() if text in tokens}
        names |= {"[CLS]"} if token_id == self._begins else set()
        names |= {"[SEP]"} if token_id == self._ends else set()
        return frozenset(names)


def axis_classes(axis: Tokens, classes: Mapping[str, TokenClass]) -> dict[str, list[bool]]:
    """Return one bool per token for each class, from the texts and special tokens of an axis.

    Classes and errors are the same as in `TokenClasses`. A special token at the beginning of a text
    without [CLS] counts as [CLS].

    Args:
        axis: Tokens of an axis.
        classes: Additional classes by name.

    Example:
        >>> from attnwidget.corpus.token_classes import axis_classes
        >>> from attnwidget.text.tokens import Tokens
        >>> axis_classes(Tokens.plain(["[CLS]", "it", ".", "[SEP]"]), {})[". ,"]
        [False, False, True, False]
    """
    classes = _checked(classes)
    first_kind = "cls" if "cls" in axis.special else "first"
    masks = {
        "[CLS]": [
            kind == first_kind and word is None
            for kind, word in zip(axis.special, axis.words, strict=True)
        ],
        "[SEP]": [kind == "sep" for kind in axis.special],
        ". ,": [text in (".", ",") for text in axis.text],
        "first token": [not position for position in range(len(axis))],
    }
    for name, members in classes.items():
        if callable(members):
            masks[name] = _members_of(name, members, axis)
        else:
            masks[name] = [text in members for text in axis.text]
    return masks


@dataclass(frozen=True)
class _OfRoles:
    """Token class for the tokens in a chat that have one of several roles."""

    roles: frozenset[str]

    def __call__(self, tokens: Tokens) -> Sequence[bool]:
        if not tokens.roles:
            raise ValueError(
                "roles are known in chats: pass lists of messages, make_segments(chats, model)"
            )
        return [role in self.roles for role in tokens.roles]


def _checked(classes: Mapping[str, TokenClass]) -> dict[str, TokenClass]:
    """Check classes, and replace role classes by functions."""
    valid_classes: dict[str, TokenClass] = {}
    for name, members in classes.items():
        if name in STANDARD_CLASSES:
            raise ValueError(f"{name!r} is a standard class: choose another name")
        if isinstance(members, str) and members.startswith(_ROLE) and members != _ROLE:
            valid_classes[name] = _OfRoles(frozenset(members.removeprefix(_ROLE).split("|")))
            continue
        if isinstance(members, str) or (not callable(members) and not members):
            raise ValueError(
                f"token class {name!r} is a non-empty collection of tokens, a function or "
                f"'role=…', got {members!r}"
            )
        valid_classes[name] = members
    return valid_classes


def _members_of(
    name: str, function: Callable[[Tokens], Sequence[bool]], tokens: Tokens
) -> list[bool]:
    """Return the result of a class function for each token."""
    members = [bool(member) for member in function(tokens)]
    if len(members) != len(tokens):
        raise ValueError(
            f"the function of token class {name!r} gave {len(members)} values for {len(tokens)} "
            "tokens; it returns one bool a token"
        )
    return members


def described(classes: Mapping[str, TokenClass]) -> dict[str, list[str]]:
    """Return a description of classes as JSON: their tokens, or the name of their function.

    Args:
        classes: Classes by name.
    """
    return {
        name: [getattr(members, "__qualname__", "function")]
        if callable(members)
        else sorted([members] if isinstance(members, str) else members)
        for name, members in classes.items()
    }


def _first_known(tokenizer: Any, *names: str) -> int | None:
    """Return the first token id that the tokenizer defines, or None."""
    candidates = (getattr(tokenizer, name, None) for name in names)
    return next((token_id for token_id in candidates if token_id is not None), None)
