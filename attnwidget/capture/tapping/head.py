"""Names of attention heads, in every form that a caller can use."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from attnwidget.capture.tapping.stack_names import default_stack
from attnwidget.text.index_among import index_among
from attnwidget.text.near_names import among
from attnwidget.text.whole_number import is_whole_number

if TYPE_CHECKING:
    from attnwidget.capture.tapping.layer_numbers import LayerNumbers


#: Name of a head in one argument: `Head(1, 3)`, (1, 3), (1, 3, "encoder"), "L1 H3" or
#: "encoder L1 H3".
HeadName: TypeAlias = str | Sequence[Any]

R = TypeVar("R")

_SPELLING = re.compile(r"(?:(?P<stack>\S.*?)[\s,]+)?L(?P<layer>\d+)[\s,]*H(?P<head>\d+)", re.I)
_LAYER = re.compile(r"\s*L(\d+)\s*", re.I)
_FORMS = "(1, 3) or 'L1 H3', with its stack (1, 3, 'encoder') or 'encoder L1 H3'"


class Head(NamedTuple):
    """One attention head: layer and head, counted from 0, and the stack of its layer.

    `stack` is "self" in models with one stack, and for the language model of models with towers
    ("vision", "audio"); "encoder", "decoder" or "cross" in encoder-decoders.

    Example:
        >>> from attnwidget import Head
        >>> head = Head(7, 9)
        >>> str(head), head.paper_name
        ('L7 H9', '8-10')
    """

    layer: int
    head: int
    stack: str = "self"

    @property
    def paper_name(self) -> str:
        """The name in papers, "layer-head", counted from 1."""
        return f"{self.layer + 1}-{self.head + 1}"

    def __str__(self) -> str:
        name = f"L{self.layer} H{self.head}"
        return name if self.stack == "self" else f"{self.stack} {name}"


def names_head(value: object) -> bool:
    """Return whether a value may name a head in one argument, rather than a layer.

    Example:
        >>> from attnwidget.capture.tapping.head import names_head
        >>> [names_head(value) for value in ("L1 H3", (1, 3), 1, "L1", None)]
        [True, True, False, False, False]
    """
    # A 0-dimensional array is a number, although it has `__len__`.
    is_list = hasattr(value, "__len__") and getattr(value, "ndim", 1) > 0
    return is_list and not isinstance(value, Mapping) and not names_layer(value)


def names_layer(value: object) -> bool:
    """Return whether a value is the name of a layer, such as "L3".

    Example:
        >>> from attnwidget.capture.tapping.head import names_layer
        >>> [names_layer(value) for value in ("L3", "L1 H3", 3)]
        [True, False, False]
    """
    return isinstance(value, str) and _LAYER.fullmatch(value) is not None


def layer_of_name(layer: Any) -> Any:
    """Return the number of a layer with a name; other values are returned unchanged.

    Example:
        >>> from attnwidget.capture.tapping.head import layer_of_name
        >>> layer_of_name("L3"), layer_of_name(3)
        (3, 3)
    """
    match = _LAYER.fullmatch(layer) if isinstance(layer, str) else None
    return int(match[1]) if match else layer


def head_parts(
    layer: int | HeadName | None, head: int | HeadName | None, stack: str | None = None
) -> tuple[Any, ...]:
    """Return the layer, the head and, if named, the stack of a head in any form.

    Args:
        layer: Layer, or the full name of a head.
        head: Head, or the full name of a head; None if `layer` is a full name.
        stack: Stack, if it was passed in addition to the name.

    Raises:
        ValueError: The layer or the head is missing or passed twice, or `stack` differs from the
            stack in the name.

    Example:
        >>> from attnwidget.capture.tapping.head import head_parts
        >>> head_parts(1, 3), head_parts("L1 H3", None), head_parts("L1 H3", None, "encoder")
        ((1, 3), (1, 3), (1, 3, 'encoder'))
    """
    layer = layer_of_name(layer)
    names = [value for value in (layer, head) if names_head(value)]
    if names:
        if layer is not None and head is not None:
            raise ValueError(
                f"a head is named once, by two numbers such as 1, 3, or by one name, {_FORMS}; got "
                f"layer={layer!r} and head={head!r}"
            )
        parts = _parts_of(names[0])
    elif layer is None or head is None:
        argument = f"head={head}" if layer is None else f"layer={layer}"
        absent = "layer" if layer is None else "head"
        raise ValueError(f"{argument} is named without its {absent}: pass {absent}= or {_FORMS}")
    else:
        parts = (layer, head)
    if stack is None:
        return parts
    # "self" is the stack of a `Head` that was made without one.
    if len(parts) == 3 and parts[2] not in (stack, "self"):
        raise ValueError(f"the head is in {parts[2]!r}, and stack={stack!r} was given: pass one")
    return (*parts[:2], stack)


def takes_head(function: Callable[..., R]) -> Callable[..., R]:
    """Let a function with the parameters `layer` and `head` accept one head name for both.

    Further positional arguments follow the name. The function receives the name as `layer`, and
    None as `head`.

    Example:
        >>> from attnwidget.capture.tapping.head import takes_head
        >>> @takes_head
        ... def listed(layer, head, query):
        ...     return [layer, head, query]
        >>> listed(1, 3, 7), listed("L1 H3", 7)
        ([1, 3, 7], ['L1 H3', None, 7])
    """
    names = list(signature(function).parameters)
    index = names.index("layer")

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> R:
        if len(args) > index:
            if names_head(args[index]) and "head" not in kwargs:
                args = (*args[: index + 1], None, *args[index + 1 :])
        elif names_head(kwargs.get("layer")) or names_head(kwargs.get("head")):
            kwargs = {"layer": None, "head": None, **kwargs}
        return function(*args, **kwargs)

    return call


def spells_head(text: str) -> bool:
    """Return whether a text has the form of a head name; the head need not exist.

    Example:
        >>> from attnwidget.capture.tapping.head import spells_head
        >>> [spells_head(text) for text in ("L1 H3", "encoder L1 H3", "layers")]
        [True, True, False]
    """
    return _SPELLING.fullmatch(text.strip()) is not None


def is_one_head(value: Any) -> bool:
    """Return whether a value names one head, rather than several: "L1 H3", or a tuple of numbers.

    Example:
        >>> from attnwidget.capture.tapping.head import Head, is_one_head
        >>> [is_one_head(value) for value in ("L1 H3", (1, 3), Head(1, 3), [(1, 3)], [1, 3])]
        [True, True, True, False, False]
    """
    if isinstance(value, str):
        return True
    is_pair = isinstance(value, tuple) and all(map(is_whole_number, value[:2]))
    return is_pair and (len(value) == 2 or (len(value) == 3 and isinstance(value[2], str)))


def listed_heads(heads: HeadName | Iterable[HeadName]) -> list[Any]:
    """Return the names of one or several heads as a list.

    Raises:
        TypeError: The value is neither a name nor a list, or is a list of numbers.

    Example:
        >>> from attnwidget.capture.tapping.head import listed_heads
        >>> listed_heads("L1 H3"), listed_heads((1, 3)), listed_heads([(1, 3), "L2 H0"])
        (['L1 H3'], [(1, 3)], [(1, 3), 'L2 H0'])
    """
    if is_one_head(heads):
        return [heads]
    if isinstance(heads, Mapping) or not isinstance(heads, Iterable):
        raise TypeError(f"heads must be {_FORMS}, or a list of these, got {heads!r}")
    names = list(heads)
    if any(map(is_whole_number, names)):
        raise TypeError(
            f"heads must be {_FORMS}, or a list of these, got the numbers {names}: name the "
            "layer of each head"
        )
    return names


def head_of_result(
    layer: int | HeadName, head: int | HeadName | None, shape: Sequence[int]
) -> Head:
    """Return a head of a result with numbers for every head, [L, H].

    Args:
        layer: Layer, or the full name of a head.
        head: Head; None if `layer` is a full name.
        shape: Numbers of layers and heads.

    Raises:
        ValueError: The head does not exist.
        TypeError: The layer or the head is not an integer.

    Example:
        >>> from attnwidget.capture.tapping.head import head_of_result
        >>> head_of_result("L1 H3", None, (6, 12))
        Head(layer=1, head=3, stack='self')
    """
    parts = head_parts(layer, head)
    # A result has a single stack, so its name does not matter.
    return named_head((*parts[:2], "self"), {"self": (shape[0], shape[1])})


def _parts_of(name: Any) -> tuple[Any, ...]:
    """Return the layer, the head and, if named, the stack from the full name of a head."""
    if isinstance(name, str):
        spelling = _SPELLING.fullmatch(name.strip())
        if spelling is None:
            raise ValueError(f"a head must be {_FORMS}, got {name!r}{_other_meaning(name.strip())}")
        parts = int(spelling["layer"]), int(spelling["head"])
        return parts if spelling["stack"] is None else (*parts, spelling["stack"])
    if not names_head(name) or not 2 <= len(name) <= 3:
        raise ValueError(f"a head must be {_FORMS}, got {name!r}")
    if any(isinstance(part, str) or names_head(part) for part in name[:2]):
        raise TypeError(
            f"this call takes one head, {_FORMS}, got {name!r}: call it for each head. Calls that "
            "read a layer take 'L1'"
        )
    return tuple(name)


def _other_meaning(name: str) -> str:
    """Return the call for a name that is no head name but has another meaning; otherwise ""."""
    if paper_name := re.fullmatch(r"([1-9]\d*)-([1-9]\d*)", name):
        head = Head(int(paper_name[1]) - 1, int(paper_name[2]) - 1)
        return f": if it is the name of a paper, which counts from 1, pass '{head}'"
    if names_layer(name):
        return f": for the heads of a layer, HeadView(attention, {name!r}) or weights({name!r})"
    if name.isalpha():
        return f": the weights from a word in all heads are token_values('query', {name!r})"
    return ""


def named_head(
    value: HeadName,
    shapes: Mapping[str, tuple[int, int]],
    layers: Mapping[str, LayerNumbers] | None = None,
) -> Head:
    """Return the head of a model with a name.

    Args:
        value: Name of the head in any form, with the stack if there are several. Without a stack,
            the head belongs to the only stack, or to the language model if there are towers.
        shapes: Numbers of layers and heads per layer, for each stack.
        layers: Layers with attention, for stacks in which some layers have none.

    Raises:
        ValueError: The head does not exist, its stack is not named, or its layer has no attention.
        TypeError: The layer or the head is not an integer.

    Example:
        >>> from attnwidget.capture.tapping.head import named_head
        >>> named_head("L3 H5", {"encoder": (6, 12)})
        Head(layer=3, head=5, stack='encoder')
    """
    parts = _parts_of(value)
    names = ", ".join(map(repr, shapes))
    stack = str(parts[2]) if len(parts) == 3 else default_stack(shapes)
    if stack is None:
        raise ValueError(f"say which stack, (layer, head, stack): one of {names}")
    if stack not in shapes:
        raise ValueError(f"there is no stack {stack!r}: {among(stack, shapes)}")
    numbers = parts[:2]
    if not all(map(is_whole_number, numbers)):
        raise TypeError(f"layer and head must be integers, counted from 0, got {numbers!r}")
    n_layers, n_heads = shapes[stack]
    layer = index_among("layer", numbers[0], n_layers, repr(stack))
    head = index_among("head", numbers[1], n_heads, repr(stack))
    if layers and stack in layers:
        layers[stack].check(layer)
    return Head(layer, head, stack)
