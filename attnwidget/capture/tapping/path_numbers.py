"""Layer numbers from the paths of attention modules in a module of any structure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torch import nn

from attnwidget.capture.tapping.layer_numbers import LayerNumbers


class _Place(NamedTuple):
    """A list of modules on a path.

    Attributes:
        prefix: Path of the list.
        modules: The list.
        position: Position of the module that the path enters.
    """

    prefix: tuple[str, ...]
    modules: nn.ModuleList | nn.Sequential
    position: int

    @property
    def is_sequence(self) -> bool:
        """Whether the parts may differ in kind, such as an embedding, layers and a head."""
        return isinstance(self.modules, nn.Sequential)

    def layers(self) -> list[int]:
        """Return the positions of members like layers: of all, or of those of the same class."""
        kind = type(self.modules[self.position])
        members = enumerate(self.modules)
        return [i for i, member in members if not self.is_sequence or type(member) is kind]


def numbers_by_path(whole: nn.Module, paths: Sequence[str]) -> list[int] | None:
    """Return the position of each attention module in the list that holds the layers of a stack.

    The list is the `nn.ModuleList` or `nn.Sequential` in which the paths part. For a single path,
    it is the outermost list with other members like layers.

    Args:
        whole: The module.
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
    place = _holding(whole, paths)
    if place is None:
        return None
    depth = len(place.prefix)
    names = list(place.modules._modules)
    positions = [names.index(path.split(".")[depth]) for path in paths]
    return positions if len(set(positions)) == len(positions) else None


def layers_at(whole: nn.Module, paths: Sequence[str], positions: Sequence[int]) -> LayerNumbers:
    """Return the numbers of the layers at some positions, in rising order, as of their list."""
    place = _holding(whole, paths)
    assert place is not None
    return LayerNumbers(tuple(sorted(positions)), len(place.modules))


def skips_layers(whole: nn.Module, paths: Sequence[str]) -> bool:
    """Return whether a list on a path has members like layers before or between those on paths.

    The list whose positions are the numbers of the layers does not count.

    Example:
        >>> from torch import nn
        >>> from attnwidget.capture.tapping.path_numbers import skips_layers
        >>> stages = nn.ModuleList(nn.ModuleList(nn.Tanh() for _ in range(2)) for _ in range(2))
        >>> skips_layers(stages, ["1.0", "1.1"]), skips_layers(stages, ["0.0", "0.1"])
        (True, False)
    """
    positions = numbers_by_path(whole, paths)
    numbered = None if positions is None else _holding(whole, paths)
    # Lists inside of a layer hold its parts.
    end = None if numbered is None else len(numbered.prefix)
    used: dict[tuple[str, ...], tuple[_Place, set[int]]] = {}
    for path in paths:
        for place in _places(whole, path, end):
            used.setdefault(place.prefix, (place, set()))[1].add(place.position)
    return any(
        not entered.issuperset(position for position in place.layers() if position < max(entered))
        for place, entered in used.values()
    )


def _holding(whole: nn.Module, paths: Sequence[str]) -> _Place | None:
    places = list(_places(whole, paths[0]))
    if len(paths) == 1:
        return next((place for place in places if len(place.layers()) > place.is_sequence), None)
    parts = [path.split(".") for path in paths]
    depth = 0
    while depth < min(map(len, parts)) and len({path[depth] for path in parts}) == 1:
        depth += 1
    return next((place for place in places if len(place.prefix) == depth), None)


def _places(whole: nn.Module, path: str, end: int | None = None) -> Iterator[_Place]:
    """Yield the lists on a path, the outermost first, up to a depth."""
    module = whole
    parts = path.split(".")[:end] if path else []
    for depth, part in enumerate(parts):
        if isinstance(module, (nn.ModuleList, nn.Sequential)):
            yield _Place(tuple(parts[:depth]), module, list(module._modules).index(part))
        module = module.get_submodule(part)
