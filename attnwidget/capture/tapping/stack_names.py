"""Stacks of attention modules that read the same sequence, and their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from attnwidget.capture.tapping.stages import tower_of

#: Modality that the layers of a stack read; "" if the module paths do not show it.
Modality = Literal["text", "picture", "sound", ""]

_READS: dict[Modality, re.Pattern[str]] = {
    "text": re.compile(r"text|lang|llm", re.IGNORECASE),
    "picture": re.compile(r"visi|visu|visn|image|pixel|video|picture", re.IGNORECASE),
    "sound": re.compile(r"audio|speech|sound|acoustic", re.IGNORECASE),
}
_TOWERS: dict[Modality, str] = {"picture": "vision", "sound": "audio"}
# Names with a fixed meaning, which other stacks cannot have.
_RESERVED = ("self", "encoder", "decoder", "cross")


@dataclass(frozen=True)
class StackRole:
    """Stack of an attention module.

    Attributes:
        stack: Name of the stack.
        reads: Modality of the queries, if the module paths show it.
        queries: Stack whose tokens are the queries: the stack itself, or for cross-attention the
            stack that contains the module; "" if the module is outside of other stacks.
    """

    stack: str
    reads: Modality
    queries: str


@dataclass(eq=False)
class _Unit:
    """Modules that read the same sequence: their paths differ only in numbers."""

    prefix: tuple[str, ...]
    roles: list[tuple[str, ...]]
    layers: set[tuple[str, ...]]
    modules: list[int]

    def reads(self, first: int) -> Modality:
        """Return the modality that the path shows, from its component `first` on."""
        return _reads_of((*self.prefix[first:], *self.roles[0]))


def _reads_of(parts: Sequence[str]) -> Modality:
    """Return the modality that the components of a path show; the innermost one counts."""
    for part in reversed(parts):
        kinds = [kind for kind, words in _READS.items() if words.search(part)]
        if len(kinds) == 1:
            return kinds[0]
    return ""


def is_tower(stack: str) -> bool:
    """Return whether a stack is a tower; the rest of the model can be read without it."""
    return tower_of(stack) not in _RESERVED


def is_cross(stack: str) -> bool:
    """Return whether a stack's keys and queries belong to different sequences.

    Example:
        >>> from attnwidget.capture.tapping.stack_names import is_cross
        >>> is_cross("cross"), is_cross("qformer cross"), is_cross("vision")
        (True, True, False)
    """
    return stack == "cross" or stack.endswith(" cross")


def default_stack(stacks: Iterable[str]) -> str | None:
    """Return the default stack, or None if the caller must name a stack.

    The default is the only stack, or the language model of a model with towers.

    Example:
        >>> from attnwidget.capture.tapping.stack_names import default_stack
        >>> default_stack(["self", "vision"]), default_stack(["encoder", "decoder", "cross"])
        ('self', None)
    """
    names = list(stacks)
    return names[0] if len(names) == 1 else "self" if "self" in names else None


class StackModule(Protocol):
    """An attention module with a path and a stack."""

    @property
    def path(self) -> str:
        """Dotted path of the module."""

    @property
    def stack(self) -> str:
        """Name of the module's stack."""


def nearest_stacks(path: str, sites: Iterable[StackModule]) -> set[str]:
    """Return the stacks whose layers are nearest to a module or parameter of the same model.

    The paths of these stacks share the longest prefix with `path`. A part that belongs to the whole
    model is equally near to all stacks.

    Args:
        path: Dotted path of the module or parameter.
        sites: Attention modules of the model.

    Example:
        >>> from types import SimpleNamespace
        >>> from attnwidget.capture.tapping.stack_names import nearest_stacks
        >>> sites = [
        ...     SimpleNamespace(path="vision.layers.0.attn", stack="vision"),
        ...     SimpleNamespace(path="text.layers.0.attn", stack="self"),
        ... ]
        >>> nearest_stacks("vision.embeddings.position_embedding", sites)
        {'vision'}
    """
    parts = path.split(".")
    shared_counts: dict[str, int] = {}
    for site in sites:
        count = 0
        for part, site_part in zip(parts, site.path.split("."), strict=False):
            if part != site_part:
                break
            count += 1
        shared_counts[site.stack] = max(count, shared_counts.get(site.stack, 0))
    longest = max(shared_counts.values(), default=0)
    return {stack for stack, count in shared_counts.items() if count == longest}


def stack_roles(paths: Sequence[str], crosses: Sequence[bool]) -> list[StackRole]:
    """Return the stack of each attention module of a model.

    Modules share a stack if their paths agree before the layer number, except for several modules
    in the same layer. "self" is the only stack, or the language model in a model with towers;
    "encoder" and "decoder" are a pair. Other towers are "vision" and "audio", or are named by their
    path.

    Args:
        paths: Dotted path of each module, in registration order.
        crosses: Whether the keys of each module belong to another sequence.

    Example:
        >>> from attnwidget.capture.tapping.stack_names import stack_roles
        >>> paths = ["vision_tower.layers.0.attn", "language_model.layers.0.attn"]
        >>> [role.stack for role in stack_roles(paths, [False, False])]
        ['vision', 'self']
    """
    self_units = _units(paths, [i for i, cross_units in enumerate(crosses) if not cross_units])
    cross_units = _units(paths, [i for i, cross_units in enumerate(crosses) if cross_units])
    roles = [StackRole("self", "", "self")] * len(paths)
    names = _names_of_units(self_units)
    for unit in self_units:
        for module in unit.modules:
            roles[module] = names[unit]
    for unit, role in _names_of_cross(cross_units, names).items():
        for module in unit.modules:
            roles[module] = role
    return roles


def _units(paths: Sequence[str], modules: Sequence[int]) -> list[_Unit]:
    units: list[_Unit] = []
    for module in modules:
        prefix, layer, role = _split(paths[module])
        unit = next((unit for unit in units if _belongs(unit, prefix, layer, role)), None)
        if unit is None:
            unit = _Unit(prefix, [], set(), [])
            units.append(unit)
        if role not in unit.roles:
            unit.roles.append(role)
        unit.layers.add(layer)
        unit.modules.append(module)
    return units


def _split(path: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the path before the first number, all numbers, and the rest without numbers."""
    parts = path.split(".")
    if not any(part.isdigit() for part in parts):
        # Layers outside of a list have their number in their names: layer_0, block1.
        split = (re.split(r"(\d+)$", part) for part in parts)
        parts = [piece for pieces in split for piece in pieces if piece]
    numbers = tuple(part for part in parts if part.isdigit())
    first = next((i for i, part in enumerate(parts) if part.isdigit()), len(parts))
    role = tuple("*" if part.isdigit() else part for part in parts[first + 1 :])
    return tuple(parts[:first]), numbers, role


def _belongs(
    unit: _Unit, prefix: tuple[str, ...], layer: tuple[str, ...], role: tuple[str, ...]
) -> bool:
    if unit.prefix != prefix:
        return False
    if role in unit.roles:
        return True
    # The layers of hybrid models differ in their kind of attention. Two modules in the same layer,
    # such as for text and for pictures, read different sequences.
    has_same_modality = _Unit(prefix, [role], set(), []).reads(len(prefix)) == unit.reads(
        len(prefix)
    )
    return has_same_modality and layer[:1] not in {other[:1] for other in unit.layers}


def _names_of_units(units: Sequence[_Unit]) -> dict[_Unit, StackRole]:
    if len(units) == 1:
        return {units[0]: StackRole("self", "", "self")}
    first = _common(units)
    reads = {unit: unit.reads(first) for unit in units}
    # The language model has its own layers. In LXMERT, layers that read text and pictures follow.
    layer_modalities = {unit: _reads_of(unit.prefix[first:]) for unit in units}
    texts = [unit for unit in units if layer_modalities[unit] == "text"]
    unlabeled_units = [unit for unit in units if not layer_modalities[unit]]
    main: dict[_Unit, str] = {}
    for group in (units, texts, unlabeled_units):
        pair = _pair(group, reads)
        if pair is not None:
            main = dict(zip(pair, ("encoder", "decoder"), strict=True))
            break
    if not main and (texts or unlabeled_units):
        # The model's own layers are nearer to its root than the layers of its parts.
        main = {min(texts or unlabeled_units, key=lambda unit: len(unit.prefix)): "self"}
    roles = {}
    for unit in units:
        if unit in main:
            # In an encoder-decoder without towers, the inputs determine what the encoder reads.
            main_reads: Modality = "text" if len(units) > len(main) else ""
            roles[unit] = StackRole(main[unit], main_reads, main[unit])
            continue
        same_modality = [
            other for other in units if reads[other] == reads[unit] and other not in main
        ]
        tower = _TOWERS.get(reads[unit])
        name = (
            tower if tower is not None and len(same_modality) == 1 else _by_path(unit, units, first)
        )
        roles[unit] = StackRole(name, reads[unit], name)
    return roles


def _pair(units: Sequence[_Unit], reads: dict[_Unit, Modality]) -> tuple[_Unit, _Unit] | None:
    """Return the encoder and the decoder if two neighboring modules have these names."""
    if len(units) < 2:
        return None
    first = _common(units)
    sides: dict[str, list[_Unit]] = {"encoder": [], "decoder": []}
    for unit in units:
        head = unit.prefix[first] if len(unit.prefix) > first else ""
        for side, members in sides.items():
            if head == side or head.endswith(f"_{side}"):
                members.append(unit)
    if not sides["encoder"] or not sides["decoder"]:
        return None
    # A tower inside the encoder is not the encoder.
    encoder, decoder = (
        min(members, key=lambda unit: reads[unit] in _TOWERS) for members in sides.values()
    )
    return encoder, decoder


def _names_of_cross(units: Sequence[_Unit], own: dict[_Unit, StackRole]) -> dict[_Unit, StackRole]:
    roles: dict[_Unit, StackRole] = {}
    used_names: set[str] = set()
    for unit in units:
        owner = max(own, key=lambda other: _shared(unit, other), default=None)
        role = StackRole("self", "", "") if owner is None else own[owner]
        in_layers = owner is not None and owner.prefix == unit.prefix
        main = role.stack in ("self", "decoder") or len(own) < 2
        name = "cross" if main else f"{role.stack} cross"
        if name in used_names:
            name = f"{'.'.join((*unit.prefix, *unit.roles[0]))} cross"
        used_names.add(name)
        roles[unit] = StackRole(name, role.reads, role.stack if in_layers else "")
    return roles


def _common(units: Sequence[_Unit]) -> int:
    """Return the number of leading path components that all units share."""
    count = 0
    for parts in zip(*(unit.prefix for unit in units), strict=False):
        if len(set(parts)) > 1:
            break
        count += 1
    return count


def _shared(unit: _Unit, other: _Unit) -> int:
    return _common([unit, other])


def _by_path(unit: _Unit, units: Sequence[_Unit], first: int) -> str:
    """Return the shortest path prefix that no other unit has, without the common part."""
    parts = (*unit.prefix[first:], *unit.roles[0])
    other_parts = [(*other.prefix[first:], *other.roles[0]) for other in units if other is not unit]
    for end in range(1, len(parts) + 1):
        name = ".".join(parts[:end])
        is_unique = not any(other[:end] == parts[:end] for other in other_parts)
        if is_unique and name not in (*_RESERVED, *_TOWERS.values()):
            return name
    return ".".join((*unit.prefix, *unit.roles[0]))
