"""Modules of a model along its residual stream: norms, and the modules that write."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from torch import nn

from attnwidget.capture.tapping.attention_sites import Site, find_sites
from attnwidget.capture.tapping.projection import projection_of
from attnwidget.capture.tapping.stack_names import is_tower
from attnwidget.mechanisms.norm_modules import norms_of
from attnwidget.model_facts.plain_forward import uncompiled

WriterKind = Literal["embeddings", "positions", "token types", "head", "mlp", "biases"]

_POSITIONS = re.compile(r"position|wpe|pos_emb", re.IGNORECASE)
_TOKEN_TYPES = re.compile(r"token_type|segment", re.IGNORECASE)
_SCALES = re.compile(r"scale", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class StreamModules:
    """Modules of a model by their role in the residual stream.

    Attributes:
        sites: Every attention module with its site in the model.
        projections: Output projection of each attention module.
        norms: Every norm, including the norms of queries and keys.
        embeddings: Modules before the layers that write to the stream, with the kind of each.
        mlps: Modules in the layers that write to the stream, with the last name of their path.
        opened: Modules in the layers that add the stream to the output of their inner modules.

    Example:
        >>> from attnwidget import load_model
        >>> modules = StreamModules.from_model(load_model(device="cpu").hf_model)
        >>> len(modules.sites), sorted(modules.embeddings.values())
        (6, ['embeddings', 'positions', 'token types'])
    """

    sites: dict[nn.Module, Site]
    projections: dict[nn.Module, nn.Module]
    norms: tuple[nn.Module, ...]
    embeddings: dict[nn.Module, WriterKind]
    mlps: dict[nn.Module, str]
    opened: frozenset[nn.Module] = frozenset()

    @classmethod
    def from_model(cls, hf_model: nn.Module, opened: Collection[nn.Module] = ()) -> StreamModules:
        """Find the modules of a model.

        Args:
            hf_model: Transformers model.
            opened: Modules in the layers that add the stream to their output. Their inner modules
                count as writers instead of them.

        Raises:
            ValueError: If the output projection of an attention module is unknown or quantized.
        """
        model = uncompiled(hf_model)
        all_sites = find_sites(model)
        # Towers for pictures or sound run before the text stream, and do not write to it.
        towers = {site.module for site in all_sites if is_tower(site.stack)}
        towers = set() if len(towers) == len(all_sites) else towers
        sites = {site.module: site for site in all_sites if site.module not in towers}
        projections = {}
        for module, site in sites.items():
            projection = projection_of(model, site)
            if projection is None:
                raise ValueError(
                    f"the output projection of {site.path} in {type(model).__name__} is unknown or "
                    "quantized, so its heads have no known outputs: load the model without "
                    "quantization"
                )
            projections[module] = projection
        outside = _tower_modules(model, sites, towers)
        norms = tuple(norm for norm in norms_of(model) if norm not in outside)
        stream_modules = cls(sites, projections, norms, {}, {}, frozenset(opened))
        inner = {*sites, *projections.values(), *norms, *opened}
        stream_modules._sort(model, "", inner, outside, in_layer=False)
        return stream_modules

    def _sort(
        self,
        module: nn.Module,
        path: str,
        inner: set[nn.Module],
        apart: set[nn.Module],
        *,
        in_layer: bool,
    ) -> None:
        """Sort the modules below `module`, except those in `apart`, into their kinds.

        Modules that contain modules of `inner` are searched further.
        """
        for name, child in module.named_children():
            if child in apart:
                continue
            child_path = f"{path}.{name}" if path else name
            below = set(child.modules())
            if child in inner and child not in self.opened:
                continue
            if not inner.isdisjoint(below):
                layers = isinstance(module, nn.ModuleList) and not below.isdisjoint(self.sites)
                self._sort(child, child_path, inner, apart, in_layer=in_layer or layers)
            elif in_layer:
                if _has_parameters(child) and not _only_scales(child):
                    self.mlps[child] = name
            elif kind := _embedding_kind(child, child_path):
                self.embeddings[child] = kind


def _tower_modules(
    model: nn.Module, sites: Mapping[nn.Module, Site], towers: set[nn.Module]
) -> set[nn.Module]:
    """Return the largest modules around the attention modules of towers, with submodules."""
    tower_modules: set[nn.Module] = set()
    if towers:
        for module in model.modules():
            submodules = set(module.modules())
            if not submodules.isdisjoint(towers) and submodules.isdisjoint(sites):
                tower_modules |= submodules
    return tower_modules


def _embedding_kind(module: nn.Module, path: str) -> WriterKind | None:
    """Return the kind of a module before the layers; None if it does not begin the stream."""
    is_position_table = _POSITIONS.search(type(module).__name__) is not None
    if "rotary" in path.lower() or not (_has_parameters(module) or is_position_table):
        return None
    if isinstance(module, nn.Linear):  # It projects to another width or to the vocabulary.
        return None
    name = path.rpartition(".")[2]
    if _POSITIONS.search(name) or is_position_table:
        return "positions"
    return "token types" if _TOKEN_TYPES.search(name) else "embeddings"


def _has_parameters(module: nn.Module) -> bool:
    return next(module.parameters(), None) is not None


def _only_scales(module: nn.Module) -> bool:
    """Return whether a module only multiplies each dimension by a number, as layer scales do."""
    parameters = list(module.parameters())
    return (
        _SCALES.search(type(module).__name__) is not None
        and len(parameters) == 1
        and parameters[0].ndim == 1
    )
