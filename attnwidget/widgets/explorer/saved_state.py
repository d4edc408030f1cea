"""An explorer as JSON, and the explorer that was described so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from attnwidget.behaviours.head_atlas.atlas_result import Atlas
from attnwidget.capture.load import EMBEDDED, load_model
from attnwidget.capture.maps.attention import Attention
from attnwidget.capture.model import AttentionModel
from attnwidget.probes.dependency.dependency_results import DependencyProbe
from attnwidget.probes.structural.structural_result import StructuralProbe
from attnwidget.widgets.explorer.arguments import Arguments
from attnwidget.widgets.explorer.explorer_figure import ExplorerFigure
from attnwidget.widgets.explorer.given_text import WithMedia, given
from attnwidget.widgets.explorer.treebank import DEMO, given_treebank
from attnwidget.widgets.shared.head_labels import HeadLabels
from attnwidget.widgets.shared.head_widget import HeadWidget

AnyExplorer = TypeVar("AnyExplorer", bound=ExplorerFigure)
FORMAT = "attnwidget explorer"
VERSION = 3
_OF_MODEL = {
    "name": (str, type(None)),
    "source": (str, type(None)),
    "layers": int,
    "heads": int,
}
#: What parts of a state hold, and of what type each is.
_WHOLE: dict[str, dict[str, Any]] = {
    "model": {name: kind for name, kind in _OF_MODEL.items() if name != "source"},
    "versus": _OF_MODEL,
    "treebank": {"source": (str, type(None)), "sentences": int, "digest": str},
    "probe": {"n_train": int},
    "figures": {},
    "metrics": {},
}


def explorer_state(explorer: ExplorerFigure, made: Arguments) -> dict[str, Any]:
    """All that is chosen, and the input shown, as JSON; `Explorer.to_state` says the rest."""
    if isinstance(given(made.shown["text"]), WithMedia):
        raise ValueError(
            "the explorer shows a picture or a sound, and states contain only texts: save the "
            "figure as a picture or a page, or assign a text before saving the state"
        )
    if not made.shown["text"]:
        raise ValueError(
            "the explorer shows an assigned attention, and states contain only texts: assign a "
            "text before saving the state"
        )
    model = explorer.model
    treebank = made.treebank
    figures = {name: dict(waiting) for name, waiting in made.pending.items()}
    for name, child in explorer.children.items():
        figures[name] = _options(child) | figures.get(name, {})
    if made.shows_effect:
        # It is found anew, after all that a state can wait for.
        of_metric = explorer.grid.trait_names(needs_metrics=True)
        figures["grid"] = {n: v for n, v in figures["grid"].items() if n not in of_metric}
    shared = {name: getattr(explorer, name) for name in explorer.shared_traits()}
    return {
        "format": FORMAT,
        "version": VERSION,
        "model": _described(model),
        "versus": _described(made.versus) if made.versus else None,
        "treebank": treebank.described() if treebank is not None else made.offers_treebank,
        "probe": None if made.probe is None else _plain(made.probe.options),
        "metrics": made.metrics,
        "atlas": _described_atlas(made),
        "explorer": _plain(shared | _options(explorer) | dict(made.shown)),
        "figures": _plain(figures),
    }


def restored(
    make: Callable[..., AnyExplorer],
    state: Mapping[str, Any],
    model: Any,
    versus: Any,
    treebank: Any,
    probe: DependencyProbe | StructuralProbe | None,
    metrics: Any,
    atlas: Atlas | None,
) -> AnyExplorer:
    """The explorer of a state; `Explorer.from_state` says the rest."""
    _check_format(state)
    _check_parts(state)
    loaded = _model(state["model"], model)
    bank = _treebank(state["treebank"], treebank, loaded)
    if state["metrics"] is not None and metrics is None:
        raise ValueError(
            f"the state has metrics ({', '.join(state['metrics'])}), which are not part of it: "
            "pass them again, metrics="
        )
    other = state.get("versus")
    if state.get("probe") is not None and (
        probe is None or _plain(probe.options) != state["probe"]
    ):
        raise ValueError(
            f"the state has a probe trained on {state['probe']['n_train']:,} sentences, which is "
            "not part of it: pass the same, probe="
        )
    return make(
        loaded,
        probe=probe,
        versus=_model(other, versus, "versus") if other else None,
        treebank=bank,
        metrics=metrics,
        atlas=_atlas(state.get("atlas"), atlas),
        _figures=state["figures"],
        **state["explorer"],
    )


def refuse_other_metrics(state: Mapping[str, Any], restored: Mapping[str, Any]) -> None:
    """Check that the metrics passed for a state are the metrics of the state.

    Raises:
        ValueError: The titles of the metrics differ.
    """
    expected = state["metrics"]
    found = restored["metrics"] or []
    if expected is not None and expected != found:
        raise ValueError(f"the state has the metrics {', '.join(expected)}, got {', '.join(found)}")


def _described_atlas(made: Arguments) -> str | bool:
    """Return the model of the atlas; True = the atlas that comes with the model, False = none."""
    if made.atlas is None:
        return False
    return made.has_own_atlas or made.atlas.model_name


def _atlas(described: str | bool | None, atlas: Atlas | None) -> Atlas | Literal[False] | None:
    """Return the argument `atlas` of the explorer; None = no atlas.

    Raises:
        ValueError: The state has an atlas that the user passed, and the caller passed none.
    """
    if isinstance(described, str) and atlas is None:
        raise ValueError(
            f"the state has an atlas of {described!r}, which is not part of it: pass the atlas "
            "again, atlas="
        )
    return atlas if described or atlas is not None else False


def _described(model: AttentionModel) -> dict[str, Any]:
    return {
        "name": model.own_name,
        "source": model.source,
        "layers": model.n_layers,
        "heads": model.n_heads,
    }


def _options(widget: HeadWidget) -> dict[str, Any]:
    """Return the choices that a widget does not share with linked figures."""
    traits = {
        name: trait.metadata
        for name, trait in widget.traits().items()
        if trait.metadata.get("saved", trait.metadata.get("option"))
        and not trait.metadata.get("shared")
    }
    return {
        name: getattr(widget, name)
        # Options that the page does not need to know come last.
        for name in sorted(traits, key=lambda name: not traits[name].get("sync"))
        # An attention that heads are compared with is read again, from its model and text.
        if not isinstance(getattr(widget, name), Attention)
    }


def _plain(value: Any) -> Any:
    """A value with lists for tuples, as it comes back from JSON."""
    if isinstance(value, HeadLabels):
        return _plain(value.pairs())
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(inner) for inner in value]
    return value


def _check_format(state: Mapping[str, Any]) -> None:
    if not isinstance(state, Mapping) or state.get("format") != FORMAT:
        raise ValueError(
            "this is not the state of an explorer: pass what explorer.to_state() gave (after "
            f"json.loads, where it was stored), got {type(state).__name__}"
        )
    if state.get("version") != VERSION:
        raise ValueError(
            f"the state has the version {state.get('version')!r}, this attnwidget reads {VERSION}: "
            "restore the state with the version of attnwidget that saved it"
        )


def _is_whole(state: Mapping[str, Any], name: str) -> bool:
    """Whether a part of a state has the types that `explorer_state` writes."""
    part = state.get(name)
    if name == "figures":
        return isinstance(part, Mapping) and all(
            isinstance(member, Mapping) for member in part.values()
        )
    if name == "metrics":
        return part is None or (
            isinstance(part, list) and all(isinstance(title, str) for title in part)
        )
    kinds = _WHOLE[name]
    if isinstance(part, Mapping):
        return all(isinstance(part.get(entry), kind) for entry, kind in kinds.items())
    return name == "treebank" or (part is None and name != "model")


def _check_parts(state: Mapping[str, Any]) -> None:
    parts = {"model": ("name", "layers", "heads"), "explorer": ("text",), "figures": ()}
    lacks = [name for name in (*parts, "treebank", "metrics") if name not in state]
    for name, inner in parts.items():
        part = state.get(name)
        if isinstance(part, Mapping):
            lacks += [f"{name}.{entry}" for entry in inner if entry not in part]
        elif name not in lacks:
            lacks.append(name)
    if not isinstance(state.get("treebank"), (Mapping, bool)):
        lacks.append("treebank")
    lacks += [name for name in _WHOLE if name not in lacks and not _is_whole(state, name)]
    if lacks:
        raise ValueError(
            f"the state is damaged: it lacks {', '.join(lacks)}; store what to_state() gave whole"
        )


def _model(described: Mapping[str, Any], model: Any, argument: str = "model") -> AttentionModel:
    """Return the model that the caller passed, or the model of the package that the state names.

    A state may come from a stranger, and must not decide which folder is read or fetched. So the
    caller passes any other model. Figures show the name of the loaded model.
    """
    name = described["name"]
    source = described.get("source", name)
    if isinstance(model, AttentionModel):
        loaded = model
    elif model is not None:
        loaded = load_model(model)
    elif source in EMBEDDED:
        loaded = load_model(source)
    else:
        passed = f"{argument}={source!r}" if source else f"{argument}=..., loaded before"
        raise ValueError(
            f"the state is of the model {name!r}, and a state loads no model but those of the "
            f"package: pass the model, from_state(state, {passed})"
        )
    size = [described["layers"], described["heads"]]
    if size != [loaded.n_layers, loaded.n_heads]:
        raise ValueError(
            f"the state is of {name!r} with {size[0]}×{size[1]} heads, the model given has "
            f"{loaded.n_layers}×{loaded.n_heads}"
        )
    return loaded


def _treebank(described: Mapping[str, Any] | bool, treebank: Any, model: AttentionModel) -> Any:
    """Return the argument `treebank` of the explorer, checked against the state."""
    if isinstance(described, bool):
        # The explorer of the state offered to measure a treebank; this one does too.
        return False if treebank is None and not described else treebank
    source = described["source"]
    if treebank is None and source == DEMO:
        treebank = True
    if treebank is None or treebank is False:
        file = f"={source!r}" if source else "="
        raise ValueError(
            f"the state has a treebank of {described['sentences']:,} sentences, which is not part "
            f"of it: pass the treebank again, treebank{file}"
        )
    checked = given_treebank(treebank, model)
    if checked is None or checked.described()["digest"] != described["digest"]:
        raise ValueError(
            f"the state has a treebank of {described['sentences']:,} sentences, the given treebank "
            f"has {len(checked.sentences) if checked else 0:,} or differs: pass the same treebank"
        )
    return treebank
