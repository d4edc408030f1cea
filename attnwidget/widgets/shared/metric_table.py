"""Head metrics with one number per head and title: user input, checks and page data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attnwidget.capture.tapping.stack_names import default_stack
from attnwidget.widgets.shared.head_widget import StackShapes
from attnwidget.widgets.wire.values import to_wire

#: Metrics by title, float64 [L, H].
Metrics = dict[str, NDArray[np.float64]]

#: Number of heads in the list "heads like this one" of the page.
N_SIMILAR = 5


@runtime_checkable
class Measured(Protocol):
    """Object with numbers per head, such as a Result or Measurements."""

    def heads(self) -> Mapping[str, ArrayLike]:
        """Return arrays [L, H] by title."""
        ...


def read_metrics(metrics: object, shapes: StackShapes | None = None) -> dict[str, Metrics]:
    """Return metrics by stack and title.

    A metric from `heads()` that is NaN for every head could not be measured, for example because
    the model has no [CLS], and is left out.

    Args:
        metrics: Mapping from titles to arrays [L, H], object with a `heads()` method, or mapping
            from stack names to either of these.
        shapes: Required shapes of the stacks; None = all metrics of a stack must have one shape.

    Raises:
        TypeError: If `metrics` has another type, or if an array does not contain numbers.
        ValueError: If there is no such stack, a shape is different, or a head has no finite number.

    Example:
        >>> import numpy as np
        >>> from attnwidget.widgets.shared.metric_table import read_metrics
        >>> metrics = read_metrics({"entropy": np.ones((2, 3))})
        >>> {stack: list(titles) for stack, titles in metrics.items()}
        {'self': ['entropy']}
    """
    all_metrics = {
        stack: _of_stack(metrics_of_stack)
        for stack, metrics_of_stack in _by_stack(metrics, shapes).items()
    }
    non_empty = {stack: titles for stack, titles in all_metrics.items() if titles}
    for stack, titles in non_empty.items():
        expected = shapes[stack] if shapes else next(iter(titles.values())).shape
        for title, values in titles.items():
            if values.shape != tuple(expected):
                raise ValueError(
                    f"the metric {title!r} has the shape {list(values.shape)}; expected one number "
                    f"per head, {list(expected)} = [layers, heads] of {stack!r}"
                )
    return non_empty


def _by_stack(metrics: object, shapes: StackShapes | None) -> Mapping[str, object]:
    names = list(shapes) if shapes else ["self"]
    if isinstance(metrics, Measured):
        stack = getattr(metrics, "stack", None)
        return {str(stack) if stack and (not shapes or stack in shapes) else _only(names): metrics}
    if not isinstance(metrics, Mapping):
        raise TypeError(
            "metrics must be a mapping of titles to arrays [layers, heads], or the result of a "
            f"measurement with a heads() method, got {type(metrics).__name__}"
        )
    if not any(isinstance(value, (Mapping, Measured)) for value in metrics.values()):
        return {_only(names): metrics} if metrics else {}
    if shapes and (unknown := [name for name in metrics if name not in shapes]):
        raise ValueError(
            f"metrics of the stacks {', '.join(map(repr, names))} were expected, got some of "
            f"{', '.join(map(repr, unknown))}"
        )
    return {str(name): metrics_of_stack for name, metrics_of_stack in metrics.items()}


def _only(names: list[str]) -> str:
    stack = default_stack(names)
    if stack is None:
        raise ValueError(
            f"this model has the stacks {', '.join(map(repr, names))}: say which one the metrics "
            f"belong to, {{{names[0]!r}: metrics}}"
        )
    return stack


def _of_stack(metrics: object) -> Metrics:
    is_result = isinstance(metrics, Measured)
    arrays = metrics.heads() if isinstance(metrics, Measured) else metrics
    if not isinstance(arrays, Mapping):
        raise TypeError(
            "the metrics of a stack must be a mapping of titles to arrays [layers, heads], got "
            f"{type(arrays).__name__}"
        )
    arrays_by_title = {str(title): _array(title, values) for title, values in arrays.items()}
    if is_result:
        arrays_by_title = {
            title: v for title, v in arrays_by_title.items() if not np.isnan(v).all()
        }
    for title, values in arrays_by_title.items():
        _refuse_missing(title, values)
    return arrays_by_title


def _array(title: object, values: ArrayLike) -> NDArray[np.float64]:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"the metric {title!r} is not an array of numbers: {error}") from None
    if array.ndim != 2 or not array.size:
        raise ValueError(
            f"the metric {title!r} has the shape {list(array.shape)}; "
            "expected one number per head, [layers, heads]"
        )
    return array


def _refuse_missing(title: str, values: NDArray[np.float64]) -> None:
    # Layers without attention have no numbers. In all other layers, every head needs a number.
    layers_without_attention = np.isnan(values).all(1, keepdims=True)
    if layers_without_attention.all():
        layers_without_attention = np.zeros_like(layers_without_attention)
    missing = np.argwhere(~np.isfinite(values) & ~layers_without_attention)
    if len(missing):
        layer, head = missing[0]
        others = f" and {len(missing) - 1} more heads" if len(missing) > 1 else ""
        raise ValueError(
            f"the metric {title!r} is {values[layer, head]} at L{layer} H{head}{others}: every "
            "head needs a finite number. Leave the metric out, or replace missing numbers, "
            f"metrics={{{title!r}: np.nan_to_num(values)}}"
        )


def nearest_heads(metrics: Metrics, n: int) -> NDArray[np.int64]:
    """Return the `n` most similar heads of each head.

    The distance is Euclidean over the metrics. Metrics are standardized over the heads (mean 0,
    standard deviation 1), so that units do not matter. With ties, the first head comes first. Heads
    of layers without attention (NaN) are never in a result, and their own rows are 0.

    Args:
        metrics: Metrics by title, [L, H].
        n: Number of heads.

    Returns:
        Layer-major indices of heads, int64 [L * H, n], nearest first.
    """
    columns = [values.ravel() for values in metrics.values()]
    values_by_head = np.stack(columns, axis=1)
    measured_heads = np.flatnonzero(~np.isnan(values_by_head).any(1))
    table = values_by_head[measured_heads]
    deviation = table.std(axis=0)
    # Ignore constant metrics: they cannot distinguish heads, and their deviation is rounding error.
    is_constant = deviation <= 1e-12 * np.abs(table).max(axis=0)
    scores = (table - table.mean(axis=0)) / np.where(is_constant, 1, deviation) * ~is_constant
    # Do not use scipy, because Python in a browser may have only numpy.
    distances = np.zeros((len(scores), len(scores)))
    for column in scores.T:
        distances += np.subtract.outer(column, column) ** 2
    np.fill_diagonal(distances, np.inf)
    nearest = measured_heads[
        np.argsort(distances, axis=1, kind="stable")[:, : min(n, len(table) - 1)]
    ]
    result = np.zeros((len(values_by_head), nearest.shape[1]), np.int64)
    result[measured_heads] = nearest
    return result


def metrics_to_wire(metrics: Mapping[str, Metrics], stack: str) -> dict[str, Any] | None:
    """Return the metrics of a stack for the page; None if the stack has no metrics.

    Values are float32 [metrics, layers, heads]. `similar` is int32 [layers * heads, N_SIMILAR].
    """
    titles = metrics.get(stack)
    if titles is None:
        return None
    return {
        "stack": stack,
        "titles": list(titles),
        "values": to_wire(np.stack(list(titles.values())).astype(np.float32)),
        "similar": to_wire(nearest_heads(titles, N_SIMILAR).astype(np.int32)),
    }
