"""Comparison of an attention call with the inputs of the modules in which it ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from attnwidget.capture.tapping.unread_attention import python_path
from attnwidget.text.counted import counted

# Maximum number of shapes that a message lists.
_LISTED = 4


@dataclass(frozen=True)
class ModuleInputs:
    """Input sizes of a running module.

    Attributes:
        path: Path of the module; "" for the watched module.
        shapes: Shapes of the tensor arguments.
        lengths: Lengths of the list arguments.
    """

    path: str
    shapes: tuple[tuple[int, ...], ...]
    lengths: tuple[int, ...] = ()


@dataclass(frozen=True)
class CallSizes:
    """State sizes of an attention call.

    Attributes:
        n_rows: Size of the batch.
        n_heads: Number of heads.
        n_query: Number of queries.
        n_key: Number of keys.
        width: Size of a query.
        n_runs: Number of calls to the same module in the pass.
        tokens_first: Whether the module reads [tokens, batch, width]; None if unknown.
    """

    n_rows: int
    n_heads: int
    n_query: int
    n_key: int
    width: int
    n_runs: int
    tokens_first: bool | None


def row_problem(name: str, path: str, sizes: CallSizes, modules: Sequence[ModuleInputs]) -> str:
    """Return why a call's rows are not the watched module's inputs; "" if they are.

    Args:
        name: Name of the watched module.
        path: Path of the module that made the call.
        sizes: Sizes of the call.
        modules: Modules in which the call ran, the outermost first.
    """
    outermost = modules[0]
    if _reads_rows(outermost, sizes):
        return ""
    shapes = [list(shape) for shape in outermost.shapes if len(shape) > 1][:_LISTED]
    inputs = " and ".join(map(str, shapes)) or f"{outermost.lengths[0]} inputs"
    root = repr(outermost.path) if outermost.path else name
    call = repr(path) if path else "it"
    part = next((module.path for module in modules[1:] if _reads_rows(module, sizes)), None)
    step = "record its queries and keys for Attention.from_queries_keys"
    if part is not None:
        step = (
            f"watch the part that reads the rows, watch_attention({python_path(part)}), where item "
            "is the number of a row"
        )
    rows = counted(sizes.n_rows, "row") + _axis_of_rows(outermost, sizes.n_rows)
    return (
        f"{root} reads {inputs}, and {call} has a batch of {rows}, so item would not be the number "
        f"of an input: {step}"
    )


def are_channels(n_heads: int, n_query: int, inner: ModuleInputs, width: int | None = None) -> bool:
    """Return whether queries are the channels of a head, not tokens.

    Args:
        n_heads: Number of heads.
        n_query: Number of queries.
        inner: Inputs of the module that computes the attention.
        width: Size of a query, which is the number of tokens if queries are channels; None if
            unknown.

    Example:
        >>> from attnwidget.capture.tapping.call_inputs import ModuleInputs, are_channels
        >>> inputs = ModuleInputs("attn", ((1, 49, 32),))  # batch, tokens, channels
        >>> are_channels(4, 8, inputs), are_channels(4, 49, inputs)
        (True, False)
    """
    sizes = list(_tokens_and_channels(inner))
    if any(n_tokens == n_query for n_tokens, _ in sizes):
        return False
    return any(
        n_heads * n_query == n_channels and width in (None, n_tokens)
        for n_tokens, n_channels in sizes
    )


def _tokens_and_channels(module: ModuleInputs) -> Iterator[tuple[int, int]]:
    for shape in module.shapes:
        if len(shape) > 2:
            _, first, *middle, last = shape
            yield prod((first, *middle)), last  # [batch, tokens, channels]
            if middle:
                yield prod((*middle, last)), first  # [batch, channels, height, width]


def _reads_rows(module: ModuleInputs, sizes: CallSizes) -> bool:
    """Return whether a module's inputs may be the rows of a call."""
    n_rows = sizes.n_rows
    # A mask of tokens by tokens has no input axis.
    mask = (sizes.n_query, sizes.n_key)
    shapes = [shape for shape in module.shapes if shape and shape != mask] or list(module.shapes)
    firsts = {shape[0] for shape in shapes if shape}
    if not firsts and not module.lengths:
        return True  # There is nothing to compare with.
    if n_rows in firsts or n_rows in module.lengths:
        return True
    n_tokens = (sizes.n_query, sizes.n_key)
    for shape in shapes:
        if len(shape) > 2 and shape[1] == n_rows and shape[0] in n_tokens:
            # The shape is [tokens, batch, width], unless it looks like this by chance because
            # inputs were folded into the batch.
            is_folded = n_rows % shape[0] == 0 and sizes.tokens_first is not True
            if not is_folded:
                return True
    # The input may have no batch axis. A part that reads one input at a time runs several times.
    return n_rows == 1 and (sizes.n_runs == 1 or not firsts.isdisjoint(n_tokens))


def _axis_of_rows(module: ModuleInputs, n_rows: int) -> str:
    """Return a phrase that names the input axis that was folded into the batch, if there is one."""
    for shape in module.shapes:
        if len(shape) < 3 or n_rows <= shape[0] or n_rows % shape[0]:
            continue
        times = n_rows // shape[0]
        axes = [axis for axis, size in enumerate(shape) if axis and size == times]
        phrase = f", {times} for each input"
        if len(axes) == 1:
            return f"{phrase} (axis {axes[0]} of the input has this size: channels or frames)"
        return f"{phrase} (such as channels, frames or windows)"
    return ""
