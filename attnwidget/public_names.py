"""Public names that are loaded on first use; the stub `__init__.pyi` of a package lists them.

`import attnwidget` must not take the seconds that importing torch takes, and importing one module
of `attnwidget.probes` must not load all others.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from pathlib import Path

import lazy_loader

_ROOT = Path(__file__).parent
_TOOLS = ("typing", __name__)

#: Removed public names, with the replacement of each.
_REPLACED = {
    "CompareView": "HeadView(attention, versus=other)",
    "LinkedText": "explore(model, text), whose sentence locks words in all figures",
    "MetricStrip": "HeadGrid(attention, metrics=result), which prints value and rank of a head",
    "TokenLens": "HeadGrid(attention, tokens=[('query', 7)]), or Attention.token_values",
}

#: Renamed public names, with their present names.
_RENAMED = {
    "AlignmentScores": "MonotonicityScores",
    "BehaviourScore": "BehaviorScore",
    "BehaviourTable": "BehaviorTable",
    "HeadMap": "HeadScatter",
    "LinkBehaviour": "LinkBehavior",
    "LookingAway": "NoOpWeights",
    "PairScores": "MinimalPairScores",
    "PictureOffsets": "ImageOffsets",
    "PictureOffsetsResult": "ImageOffsetsResult",
    "alignment_scores": "monotonicity_scores",
    "behaviours": "behaviors",
    "demo_pairs": "demo_minimal_pairs",
    "link": "link_figures",
    "load_framenet": "load_framenet_links",
    "load_pairs": "load_minimal_pairs",
    "probe_looking_away": "probe_no_op",
    "score_behaviours": "measure_behaviors",
    "score_pairs": "measure_minimal_pairs",
}


def attach_names(
    package: str, file: str, *defined: str
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package with a stub.

    They behave like the results of `lazy_loader.attach_stub`, with clearer errors in two cases:
    another public module has the name, or a module cannot be loaded.

    Args:
        package: `__name__` of the package.
        file: `__file__` of the package. The stub is in the same folder.
        defined: Additional public names, which the package itself defines.

    Raises:
        ValueError: There is no stub, or it imports from outside the package.
    """
    load, _, names = lazy_loader.attach_stub(package, file)
    all_names = sorted([*names, *defined])
    refuse_name = refuse_names(package)

    def load_name(name: str) -> object:
        if name not in names:
            return refuse_name(name)
        try:
            return load(name)
        except AttributeError as error:
            # Python would treat an AttributeError as a missing name and hide the cause.
            raise ImportError(f"{package}.{name} cannot be loaded: {error}") from error

    return load_name, all_names.copy, all_names


def refuse_names(package: str) -> Callable[[str], object]:
    """Return `__getattr__` of a public module whose names are all loaded.

    Its error states which public module has the name, or which name replaced a former one.

    Args:
        package: `__name__` of the module.
    """

    def refuse_name(name: str) -> object:
        if name in (homes := public_homes()):
            # `from package import name` would replace the message of an AttributeError.
            raise ImportError(f"{package} has no {name!r}: import it from {homes[name]!r}")
        if name in _REPLACED:
            raise ImportError(f"{name!r} was removed: use {_REPLACED[name]}")
        if name in _RENAMED:
            raise ImportError(f"{name!r} was renamed: use {_RENAMED[name]!r}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return refuse_name


@cache
def public_homes() -> dict[str, str]:
    """Return the public module of each public name, according to the source of the modules.

    Reading the source loads none of the modules.
    """
    modules, names = _imported_names(_ROOT)
    homes = dict.fromkeys(names, _ROOT.name)
    for module in modules:
        homes |= dict.fromkeys(_imported_names(_ROOT / module)[1], f"{_ROOT.name}.{module}")
    return homes


def _imported_names(module: Path) -> tuple[list[str], list[str]]:
    """Return the submodules and other names that a module, or its stub if any, imports."""
    sources = (module / "__init__.pyi", module / "__init__.py", module.with_suffix(".py"))
    source = next(path for path in sources if path.is_file())
    submodules: list[str] = []
    names: list[str] = []
    for statement in ast.parse(source.read_text("utf-8")).body:
        # Tools of the module itself, such as `refuse_names`, are not its public names.
        if isinstance(statement, ast.ImportFrom) and statement.module not in _TOOLS:
            (names if statement.module else submodules).extend(
                alias.name for alias in statement.names
            )
    return submodules, names
