"""Layer numbers from the paths of attention modules, for modules of any structure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torch import nn

from attnwidget.capture.tapping.layer_numbers import LayerNumbers


class _Place(NamedTuple):
    """A module list on a path.

    Attributes:
        prefix: Path of the list.
        modules: Modules of the list.
        position: Position of the module that the path enters.
    """

    prefix: tuple[str, ...]
    modules: nn.ModuleList | nn.Sequential
    position: int

    @property
    def is_sequence(self) -> bool:
        """Whether the members may differ in kind, such as an embedding, layers and a head."""
        return isinstance(self.modules, nn.Sequential)

    def layers(self) -> list[int]:
        """Return the positions of members that look like layers: all, or those of one class."""
        kind = type(self.modules[self.position])
        members = enumerate(self.modules)
        return [i for i, member in members if not self.is_sequence or type(member) is kind]


def numbers_by_path(whole: nn.Module, paths: Sequence[str]) -> list[int] | None:
    """Return the position of each attention module in the list that contains a stack's layers.

    The list is the `nn.ModuleList` or `nn.Sequential` at which the paths diverge. For a single
    path, it is the outermost list with other members that look like layers.

    Args:
        whole: Module that contains the attention modules.
        paths: Paths of the attention modules.

    Returns:
        The positions; None if no list separates the paths, or if two paths share a position.

    Example:
        >>> from torch import nn
        >>> from attnwidget.capture.tapping.path_numbers import numbers_by_path
        >>> network = nn.Sequential(nn.Tanh(), nn.Linear(2, 2), nn.Linear(2, 2))
        >>> numbers_by_path(network, ["1", "2"])
        [1, 2]
    """
    layer_list = _holding(whole, paths)
    if layer_list is None:
        return None
    depth = len(layer_list.prefix)
    names = list(layer_list.modules._modules)
    positions = [names.index(path.split(".")[depth]) for path in paths]
    return positions if len(set(positions)) == len(positions) else None


def layers_at(whole: nn.Module, paths: Sequence[str], positions: Sequence[int]) -> LayerNumbers:
    """Return the numbers of the layers at some positions, in ascending order."""
    layer_list = _holding(whole, paths)
    assert layer_list is not None
    return LayerNumbers(tuple(sorted(positions)), len(layer_list.modules))


def skips_layers(whole: nn.Module, paths: Sequence[str]) -> bool:
    """Return whether a list on a path has layer-like members that come before those on the paths.

    The list whose positions are the layer numbers does not count.

    Args:
        whole: Module that contains the attention modules.
        paths: Paths of the attention modules.

    Example:
        >>> from torch import nn
        >>> from attnwidget.capture.tapping.path_numbers import skips_layers
        >>> stages = nn.ModuleList(nn.ModuleList(nn.Tanh() for _ in range(2)) for _ in range(2))
        >>> skips_layers(stages, ["1.0", "1.1"]), skips_layers(stages, ["0.0", "0.1"])
        (True, False)
    """
    positions = numbers_by_path(whole, paths)
    numbered_list = None if positions is None else _holding(whole, paths)
    # Lists inside of a layer contain its parts.
    end = None if numbered_list is None else len(numbered_list.prefix)
    lists: dict[tuple[str, ...], tuple[_Place, set[int]]] = {}
    for path in paths:
        for module_list in _places(whole, path, end):
            lists.setdefault(module_list.prefix, (module_list, set()))[1].add(module_list.position)
    return any(
        not positions_entered.issuperset(
            position for position in module_list.layers() if position < max(positions_entered)
        )
        for module_list, positions_entered in lists.values()
    )


def _holding(whole: nn.Module, paths: Sequence[str]) -> _Place | None:
    module_lists = list(_places(whole, paths[0]))
    if len(paths) == 1:
        return next(
            (
                module_list
                for module_list in module_lists
                if len(module_list.layers()) > module_list.is_sequence
            ),
            None,
        )
    parts = [path.split(".") for path in paths]
    depth = 0
    while depth < min(map(len, parts)) and len({path[depth] for path in parts}) == 1:
        depth += 1
    return next(
        (module_list for module_list in module_lists if len(module_list.prefix) == depth), None
    )


def _places(whole: nn.Module, path: str, end: int | None = None) -> Iterator[_Place]:
    """Yield the lists on a path, the outermost first, up to a depth."""
    module = whole
    parts = path.split(".")[:end] if path else []
    for depth, part in enumerate(parts):
        if isinstance(module, (nn.ModuleList, nn.Sequential)):
            yield _Place(tuple(parts[:depth]), module, list(module._modules).index(part))
        module = module.get_submodule(part)
