"""All modules and parameters of a model, in torch's order."""

from __future__ import annotations

from torch import nn


def all_modules(model: nn.Module) -> list[nn.Module]:
    """Return a module and all modules inside it, each once, in the order of `model.modules()`.

    The modules are needed several times in a forward pass with a tap. `model.modules()` takes five
    times as long, because it constructs the path of every module.

    Args:
        model: Module.

    Example:
        >>> from torch import nn
        >>> from attnwidget.model_facts.all_modules import all_modules
        >>> model = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.GELU())
        >>> all_modules(model) == list(model.modules())
        True
    """
    # A dict preserves the order and looks up a module by its identity.
    modules: dict[nn.Module, None] = {}
    stack: list[nn.Module] = [model]
    while stack:
        module = stack.pop()
        if module in modules:
            continue
        modules[module] = None
        children = [child for child in module._modules.values() if child is not None]
        stack += reversed(children)
    return list(modules)


def all_parameters(model: nn.Module) -> list[nn.Parameter]:
    """Return the parameters of a model, each once, in the order of `model.parameters()`.

    Args:
        model: Module.

    Example:
        >>> from torch import nn
        >>> from attnwidget.model_facts.all_modules import all_parameters
        >>> model = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.Linear(2, 1))
        >>> [p.shape for p in all_parameters(model)] == [p.shape for p in model.parameters()]
        True
    """
    parameters = {
        id(parameter): parameter
        for module in all_modules(model)
        for parameter in module._parameters.values()
        if parameter is not None
    }
    return list(parameters.values())
