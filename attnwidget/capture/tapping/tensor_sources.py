"""Arguments of running modules from which tensors, such as queries and keys, are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.weak import WeakTensorKeyDictionary

# Functions that project states by a weight. Products with a parameter are projections too.
_PROJECTIONS = {"linear", "addmm", "conv1d", "conv2d", "conv3d"}
_PRODUCTS = {"matmul", "__matmul__", "__rmatmul__", "bmm", "einsum"}


class Origin(NamedTuple):
    """Arguments of a module that a tensor was made from, by index.

    Attributes:
        read: All arguments that the tensor depends on.
        projected: Arguments that a projection has read. A position encoding has none.
    """

    read: frozenset[int] = frozenset()
    projected: frozenset[int] = frozenset()


@dataclass(frozen=True)
class KeySource:
    """Source of attention keys.

    Attributes:
        is_cross: Whether queries and keys come from different sequences; None if unknown.
        memory: Indices of the outermost module's arguments that the keys were made from; None if
            unknown.
    """

    is_cross: bool | None
    memory: frozenset[int] | None


class TensorSources:
    """Recorder of the module arguments from which all tensors in one module call are made.

    Args:
        arguments: Tensors among the arguments of the module.

    Attributes:
        arguments: Tensor arguments, each once.
        projects: Whether the module has projected a tensor.

    Example:
        >>> import torch
        >>> from attnwidget.capture.tapping.tensor_sources import TensorSources
        >>> states, memory = torch.ones(2, 4), torch.ones(3, 4)
        >>> sources = TensorSources([states, memory])
        >>> keys = memory * 2
        >>> sources.note(torch.mul, (memory, 2), {}, keys)
        >>> sources.origin([keys]).read
        frozenset({1})
    """

    def __init__(self, arguments: Iterable[Tensor]) -> None:
        self.arguments: list[Tensor] = []
        self.projects = False
        # Use weak keys, because the module may free a tensor before its forward ends.
        self._origins: Any = WeakTensorKeyDictionary()
        for tensor in arguments:
            if tensor not in self._origins:
                self._origins[tensor] = Origin(frozenset({len(self.arguments)}))
                self.arguments.append(tensor)

    def origin(self, tensors: Iterable[Tensor]) -> Origin:
        """Return the arguments that some tensors were made from."""
        arguments: frozenset[int] = frozenset()
        projected_arguments: frozenset[int] = frozenset()
        for tensor in tensors:
            if tensor in self._origins:
                origin = self._origins[tensor]
                arguments |= origin.read
                projected_arguments |= origin.projected
        return Origin(arguments, projected_arguments)

    def note(
        self,
        func: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        result: object,
    ) -> None:
        """Record a call of a torch function in the module."""
        name = getattr(func, "__name__", "")
        tensors = list(tensors_in((args, kwargs)))
        is_projection = name in _PROJECTIONS or (
            name in _PRODUCTS and any(isinstance(tensor, nn.Parameter) for tensor in tensors)
        )
        self.projects = self.projects or is_projection
        origin = self.origin(tensors)
        if not origin.read:
            return
        if is_projection:
            origin = Origin(origin.read, origin.read)
        # An assignment to a part of a tensor returns nothing, but changes the tensor.
        changed_tensors = args[0] if name == "__setitem__" else result
        for tensor in tensors_in(changed_tensors):
            self._origins[tensor] = origin

    def note_part(self, part: TensorSources, output: object) -> None:
        """Record a call to a part of the module.

        Args:
            part: Sources inside of the part.
            output: Output of the part.
        """
        self.projects = self.projects or part.projects
        for tensor in tensors_in(output):
            part_origin = part.origin([tensor])
            if not part_origin.read:
                # The part may have left torch, so its output may depend on any argument.
                part_origin = Origin(frozenset(range(len(part.arguments))))
            origin = self.origin(part.arguments[number] for number in part_origin.read)
            projected_origin = self.origin(
                part.arguments[number] for number in part_origin.projected
            )
            if origin.read:
                self._origins[tensor] = Origin(
                    origin.read, origin.projected | projected_origin.read
                )


def tensors_in(value: object) -> Iterator[Tensor]:
    """Yield the tensors in nested lists, tuples, mappings and data classes.

    Example:
        >>> import torch
        >>> from attnwidget.capture.tapping.tensor_sources import tensors_in
        >>> [tensor.item() for tensor in tensors_in({"a": [torch.tensor(1)], "b": torch.tensor(2)})]
        [1, 2]
    """
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from tensors_in(part)
    elif isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        for part in value:
            yield from tensors_in(part)
    elif is_dataclass(value):
        yield from tensors_in(vars(value))


def key_source(modules: Sequence[TensorSources], query: Tensor, key: Tensor) -> KeySource:
    """Return the source of keys, found in the innermost module that projected queries or keys.

    Without a projection in any module, the arguments of the outermost module are compared.

    Args:
        modules: Sources of the running modules, the outermost first.
        query: Queries of the attention.
        key: Keys of the attention.
    """
    is_cross: bool | None = None
    is_found = False
    queries = [query]
    keys = [key]
    for module in reversed(modules):
        query_origin = module.origin(queries)
        key_origin = module.origin(keys)
        is_last = module is modules[0]
        if not is_found and (query_origin.projected or key_origin.projected or is_last):
            is_found = True
            first = query_origin.projected or query_origin.read
            second = key_origin.projected or key_origin.read
            is_cross = _is_cross(module, first, second)
            if is_cross and second - first:
                key_origin = Origin(second - first)
            elif second:
                key_origin = Origin(second)
        if is_last:
            return KeySource(is_cross, key_origin.read or None)
        queries = [module.arguments[number] for number in query_origin.read]
        keys = [module.arguments[number] for number in key_origin.read]
    return KeySource(None, None)


def _is_cross(module: TensorSources, queries: frozenset[int], keys: frozenset[int]) -> bool | None:
    """Return whether queries and keys were made from different arguments; None if unknown."""
    if queries == keys:
        return False if queries else None
    if not queries & keys:
        # Learned queries or keys are made from no argument.
        return not _equal(module, queries, keys)
    if queries - keys and keys - queries:
        return not _equal(module, queries - keys, keys - queries)
    return None


def _equal(module: TensorSources, first: frozenset[int], second: frozenset[int]) -> bool:
    """Return whether two sets of arguments have equal values: one sequence, passed twice."""
    other_tensors = [module.arguments[number] for number in second]
    return bool(first and second) and all(
        any(
            is_same_sequence(module.arguments[number], other_tensor)
            for other_tensor in other_tensors
        )
        for number in first
    )


def is_same_sequence(first: Tensor, second: Tensor) -> bool:
    """Return whether two tensors are the same sequence: one tensor, or equal values.

    Args:
        first: First tensor.
        second: Second tensor.

    Example:
        >>> import torch
        >>> from attnwidget.capture.tapping.tensor_sources import is_same_sequence
        >>> is_same_sequence(torch.ones(2), torch.ones(2))
        True
    """
    if first is second:
        return True
    try:
        return first.shape == second.shape and bool(torch.equal(first, second))
    except RuntimeError:
        return False  # The tensors have no values, or differ in device or type.
