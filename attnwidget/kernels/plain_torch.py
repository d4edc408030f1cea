"""Computation that does not depend on the torch modes in the caller's program."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from attnwidget.hidden_frames import hides_frames

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")

_DEVICES = ("cpu", "cuda", "mps", "xpu")
# Matches torch's error messages about operands with different dtypes.
_SEVERAL_DTYPES = re.compile(r"dtype|scalar type|[Ii]nput type \(")


@contextmanager
def plain_torch() -> Iterator[None]:
    """Run the block as in a new process: with gradients enabled, and without autocast.

    Inside the caller's torch.inference_mode() or torch.no_grad(), the block can still compute
    gradients, and its tensors can be used after the caller's block. Inside torch.autocast, the
    block computes in the dtype of the weights. The caller's modes are restored after the block.
    Other threads are not affected.

    Raises:
        RuntimeError: Inside torch.autocast, a model has weights of several dtypes.

    Example:
        >>> import torch
        >>> from attnwidget.kernels.plain_torch import plain_torch
        >>> with torch.inference_mode(), plain_torch():
        ...     torch.ones(2).is_inference(), torch.is_grad_enabled()
        (False, True)
    """
    # If torch is not loaded, for example in a browser, no torch mode can be active.
    torch: Any = sys.modules.get("torch")
    if torch is None:
        yield
        return
    autocast_devices = [device for device in _DEVICES if torch.is_autocast_enabled(device)]
    with ExitStack() as undo:
        undo.enter_context(torch.inference_mode(False))
        for device in autocast_devices:
            undo.enter_context(torch.autocast(device, enabled=False))
        try:
            yield
        except RuntimeError as error:
            if autocast_devices and _SEVERAL_DTYPES.search(str(error)):
                raise RuntimeError(
                    f"{error}: attnwidget reads a model in the dtype of its weights, without the "
                    "torch.autocast of your block, and this model has weights of several dtypes. "
                    "Convert them: load_model(model, tokenizer, dtype=torch.float32)"
                ) from error
            raise


def in_plain_torch(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Decorate a function so that it runs in a `plain_torch` block.

    Every public function that reads a model or an attention has this decorator. It includes
    `hides_frames`: IPython hides the frames of the package in errors, and the error for an unknown
    option names the option that exists.

    Args:
        function: Public function.

    Returns:
        A function with the same parameters and result.

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

    @hides_frames
    @wraps(function)
    def wrapper(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        with plain_torch():
            return function(*args, **kwargs)

    return wrapper
