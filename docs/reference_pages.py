"""The pages of the reference, for all public names and their return types."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import attnwidget
from attnwidget import (
    behaviors,
    charts,
    demo,
    interventions,
    mechanisms,
    metrics,
    probes,
    words,
)
from attnwidget.results import HeadResult, Result
from attnwidget.widgets.shared.option_text import (
    default_in_words,
    option_default,
    option_type,
    options_of,
)

# The sections of the reference's index, in its order: by public module, and by folder for the names
# of `attnwidget` itself.
SECTIONS = {
    "widgets": "Widgets",
    "capture": "Models and attention",
    "corpus": "Texts of a study, and what was measured",
    "metrics": "Metrics and scores of heads",
    "words": "Words, relations, coreference",
    "comparison": "Comparing models and texts",
    "interventions": "Heads off, replaced and patched",
    "probes": "Training on attention",
    "mechanisms": "Why a head attends, what it writes",
    "behaviors": "What every head does",
    "paper_report": "Report on a model",
    "text": "Texts, treebanks, documents",
    "drawing": "Pictures",
    "charts": "Charts",
    "demo": "Demo texts and models",
    "installed_versions": "Reports about errors",
}
# Folders whose modules define results.
_STUDIES = (
    "corpus",
    "metrics",
    "words",
    "comparison",
    "interventions",
    "probes",
    "mechanisms",
    "behaviors",
)
# Public modules with pages in the reference, besides `attnwidget`. Results are under "Types".
MODULES = (behaviors, charts, demo, interventions, mechanisms, metrics, probes, words)
_MODULE_OF = {name: module for module in MODULES for name in module.__all__}
# What public names return or take beside results, which are found by themselves.
TYPES = (
    "attnwidget.capture.result.Result",
    "attnwidget.corpus.results.HeadHeatMap",
    "attnwidget.corpus.results.HeadResult",
    "attnwidget.corpus.results.LayerCurves",
    "attnwidget.corpus.results.per_head",
    "attnwidget.corpus.segment_means.SegmentMeansResult",
    "attnwidget.capture.maps.word_attention.WordAttention",
    "attnwidget.capture.tapping.edits.Edits",
    "attnwidget.capture.watch_attention.WatchedAttention",
    "attnwidget.behaviors.examples.example_link.ExampleLink",
    "attnwidget.behaviors.examples.text_examples.TextExamples",
    "attnwidget.drawing.caption.Caption",
    "attnwidget.paper_report.paper_report.PaperReport",
    "attnwidget.paper_report.report_entry.ReportEntry",
    "attnwidget.drawing.picture.Picture",
    "attnwidget.drawing.static_figure.StaticFigure",
    "attnwidget.mechanisms.stream_records.Writer",
    "attnwidget.probes.structural.structural_result.PredictedTree",
    "attnwidget.probes.structural.structural_runs.StructuralRun",
    "attnwidget.probes.dependency.dependency_form.Form",
    "attnwidget.probes.dependency.dependency_answers.CodeLength",
    "attnwidget.probes.dependency.dependency_answers.ProbePredictions",
    "attnwidget.probes.parse_scores.ParseScores",
    "attnwidget.metrics.clustering.HeadEmbedding",
    "attnwidget.words.coreference_results.AntecedentChoices",
    "attnwidget.words.governors.GovernorPredictions",
    "attnwidget.text.word_links.Link",
    "attnwidget.text.word_links.LinkedSentence",
    "attnwidget.text.tokens.Tokens",
    "attnwidget.text.word_vectors.WordVectors",
)


def public_names() -> list[str]:
    """The names of the package and of its public modules, without the version and the modules."""
    top = [name for name in attnwidget.__all__ if not inspect.ismodule(getattr(attnwidget, name))]
    return [*(name for name in top if name != "__version__"), *_MODULE_OF]


def module_of(name: str) -> str:
    """The public module that a public name is imported from."""
    return _MODULE_OF.get(name, attnwidget).__name__


def type_paths() -> list[str]:
    """Full names of the types with a page of their own, by their short names."""
    for folder in _STUDIES:
        package = importlib.import_module(f"attnwidget.{folder}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"attnwidget.{folder}.{module.name}")
    results = (f"{kind.__module__}.{kind.__qualname__}" for kind in _below(Result))
    public = {_identifier(name) for name in public_names()}
    return sorted({*results, *TYPES} - public, key=lambda path: path.rpartition(".")[2])


def page_of(name: str) -> str:
    """Where the page of a public name or a type's full name is, in the site."""
    folder = "reference/types" if "." in name else "reference"
    return f"{folder}/{name.rpartition('.')[2]}.md"


def pages() -> dict[str, str]:
    """Every page of the reference: Markdown by its place in the site."""
    made = {"reference/index.md": _index()}
    for name in public_names():
        made[page_of(name)] = _page(name, _identifier(name), _value(name))
    for path in type_paths():
        module, _, name = path.rpartition(".")
        made[page_of(path)] = _page(name, path, getattr(importlib.import_module(module), name))
    return made


def trait_rows(kind: type[Any]) -> list[tuple[str, str, str, str]]:
    """Name, type, default and help of the traits that a widget has beside those of ipywidgets."""
    rows = []
    options = options_of(kind)
    for name, trait in sorted(kind.class_traits().items()):
        if name.startswith("_") or not trait.this_class.__module__.startswith("attnwidget."):
            continue
        default = option_default(kind, name) if name in options else repr(trait.default())
        if not default_in_words(kind, name):
            default = f"`{default}`"
        rows.append((name, option_type(trait), default, trait.help))
    return rows


def sections() -> dict[str, list[str]]:
    """The public names of each section of the index."""
    found: dict[str, list[str]] = {title: [] for title in SECTIONS.values()}
    for name in sorted(public_names(), key=str.casefold):
        _, _, module = module_of(name).partition(".")
        found[SECTIONS[module or _identifier(name).split(".")[1]]].append(name)
    return found


def _index() -> str:
    lines = [
        "# Reference",
        "",
        "The names of `attnwidget`, and of its public modules such as `attnwidget.metrics`. "
        f"This is version {attnwidget.__version__} (`attnwidget.__version__`). "
        "Every example on these pages is run by the project's tests.",
    ]
    for title, names in sections().items():
        lines += ["", f"## {title}", "", "| name | import it from | what it is |", "|---|---|---|"]
        for name in names:
            summary = _summary(_value(name))
            lines.append(f"| [`{name}`]({name}.md) | `{module_of(name)}` | {summary} |")
    lines += [
        "",
        "## Types",
        "",
        "The results and arguments of the functions above. Import results from "
        "`attnwidget.results`.",
        "",
        "| name | what it is |",
        "|---|---|",
    ]
    for path in type_paths():
        module, _, name = path.rpartition(".")
        kind = getattr(importlib.import_module(module), name)
        lines.append(f"| [`{name}`](types/{name}.md) | {_summary(kind)} |")
    return "\n".join(lines) + "\n"


def _page(name: str, identifier: str, value: Any) -> str:
    lines = ["---", f"title: {name}", "---", "", f"::: {identifier}", ""]
    if inspect.isclass(value) and hasattr(value, "class_traits"):
        lines += [
            "## Traits",
            "",
            "Options of the constructor as keywords, and what `observe` and `link_figures` take. "
            "Each follows the page, and the page follows it.",
            "",
            "| trait | type | default | what it is |",
            "|---|---|---|---|",
        ]
        for trait, kind, default, text in trait_rows(value):
            lines.append(f"| `{trait}` | {_cell(kind)} | {_cell(default)} | {_cell(text)} |")
    if inspect.isclass(value) and issubclass(value, HeadResult):
        lines += _declared(value)
    return "\n".join(lines) + "\n"


def _declared(kind: type[HeadResult]) -> list[str]:
    """The titles of the arrays that a result declares, and the title of its figure."""
    titles = {one.name: one.metadata["title"] for one in dataclasses.fields(kind) if one.metadata}
    if not titles:
        return []
    lines = ["## Numbers per head", "", "| array | title in `heads()` |", "|---|---|"]
    lines += [f"| `{name}` | `{_cell(title)}` |" for name, title in titles.items()]
    if kind.figure is not None:
        lines += ["", f"`chart` draws {type(kind.figure).__name__}: `{kind.figure.title}`."]
    return lines


def _identifier(name: str) -> str:
    """Return the full name of an object, or of its class if the object is an instance."""
    value = _value(name)
    kind = value if inspect.isclass(value) or inspect.isroutine(value) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _value(name: str) -> Any:
    return getattr(_MODULE_OF.get(name, attnwidget), name)


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for lower in kind.__subclasses__():
        if not lower.__module__.startswith("attnwidget."):
            continue
        without_figure = getattr(lower, "figure", True) is None and lower.chart is HeadResult.chart
        if not inspect.isabstract(lower) and not without_figure:
            yield lower
        yield from _below(lower)


def _summary(value: Any) -> str:
    text = inspect.getdoc(value) or ""
    return _cell(text.partition("\n\n")[0].replace("\n", " "))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
