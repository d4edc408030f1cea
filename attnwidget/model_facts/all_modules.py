"""All modules and weights of a model, in the order of torch."""

from __future__ import annotations

from torch import nn


def all_modules(model: nn.Module) -> list[nn.Module]:
    """Return a module and all modules inside it, each once, in the order of `model.modules()`.

    A pass of a tapped model asks for its modules several times. `model.modules()` makes the path of
    every module, which takes five times as long.

    Example:
        >>> from torch import nn
        >>> from attnwidget.model_facts.all_modules import all_modules
        >>> model = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.GELU())
        >>> all_modules(model) == list(model.modules())
        True
    """
    # A dict keeps the order and finds a module by its identity.
    found: dict[nn.Module, None] = {}
    waiting: list[nn.Module] = [model]
    while waiting:
        module = waiting.pop()
        if module in found:
            continue
        found[module] = None
        inside = [child for child in module._modules.values() if child is not None]
        waiting += reversed(inside)
    return list(found)


def all_parameters(model: nn.Module) -> list[nn.Parameter]:
    """Return the parameters of a model, each once, in the order of `model.parameters()`.

    Example:
        >>> from torch import nn
        >>> from attnwidget.model_facts.all_modules import all_parameters
        >>> model = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.Linear(2, 1))
        >>> [p.shape for p in all_parameters(model)] == [p.shape for p in model.parameters()]
        True
    """
    found = {
        id(parameter): parameter
        for module in all_modules(model)
        for parameter in module._parameters.values()
        if parameter is not None
    }
    return list(found.values())
