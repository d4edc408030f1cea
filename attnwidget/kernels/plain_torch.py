"""Numbers that do not depend on the modes of torch in the caller's program."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from attnwidget.hidden_frames import hide_frames

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

_DEVICES = ("cpu", "cuda", "mps", "xpu")
# What torch says about operands of different dtypes.
_SEVERAL_DTYPES = re.compile(r"dtype|scalar type|[Ii]nput type \(")


@contextmanager
def plain_torch() -> Iterator[None]:
    """Compute the block as a new process would: with gradients on, and without autocast.

    Inside of torch.inference_mode() and torch.no_grad() of the caller, the block can still take
    gradients, and its tensors can be used after the caller's block. Inside of torch.autocast, the
    block computes in the dtype of the weights. The modes of the caller are back after the block.
    Other threads never notice.

    Raises:
        RuntimeError: Inside of torch.autocast, a model has weights of several dtypes.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.plain_torch import plain_torch
        >>> with torch.inference_mode(), plain_torch():
        ...     torch.ones(2).is_inference(), torch.is_grad_enabled()
        (False, True)
    """
    # Without torch in memory, as in a browser, no mode of torch is on.
    torch: Any = sys.modules.get("torch")
    if torch is None:
        yield
        return
    casts = [device for device in _DEVICES if torch.is_autocast_enabled(device)]
    with ExitStack() as undo:
        undo.enter_context(torch.inference_mode(False))
        for device in casts:
            undo.enter_context(torch.autocast(device, enabled=False))
        try:
            yield
        except RuntimeError as error:
            if casts and _SEVERAL_DTYPES.search(str(error)):
                raise RuntimeError(
                    f"{error}: attnwidget reads a model in the dtype of its weights, without the "
                    "torch.autocast of your block, and this model has weights of several dtypes. "
                    "Convert them: load_model(model, tokenizer, dtype=torch.float32)"
                ) from error
            raise


def in_plain_torch(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Run a function in a block of `plain_torch`.

    Every public function that reads a model or an attention has this decorator. IPython hides the
    frames of the package in its errors (`hide_frames`).

    Example:
        >>> import torch
        >>> from attnwidget.kernels.plain_torch import in_plain_torch
        >>> @in_plain_torch
        ... def product(matrix):
        ...     return matrix @ matrix
        >>> with torch.autocast("cpu"):
        ...     product(torch.eye(2)).dtype
        torch.float32
    """

    @wraps(function)
    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        try:
            with plain_torch():
                return function(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    return called
