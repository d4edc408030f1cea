"""Public names: stubs and public modules list them, and nothing is loaded before it is used."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import pytest

import attnwidget
from attnwidget import metrics, results
from attnwidget.corpus.accumulator import Accumulator
from attnwidget.metrics.measure_heads import metrics_by_name
from attnwidget.public_names import attach_names, public_homes
from refusals import naming

MODULES = (
    "behaviors",
    "charts",
    "demo",
    "interventions",
    "mechanisms",
    "metrics",
    "probes",
    "results",
    "words",
)
STUBS = ("behaviors", "interventions", "mechanisms", "probes", "words")


def run(code: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | environment,
    )


def test_the_top_level_has_what_a_first_notebook_needs() -> None:
    assert dir(attnwidget) == attnwidget.__all__ == sorted(attnwidget.__all__)
    assert {"HeadGrid", "load_model", "measure", "explore", "__version__"} <= {*attnwidget.__all__}
    assert len(attnwidget.__all__) <= 61
    modules = [
        name for name in attnwidget.__all__ if isinstance(getattr(attnwidget, name), ModuleType)
    ]
    assert modules == list(MODULES)
    assert all(import_module(f"attnwidget.{name}") is getattr(attnwidget, name) for name in modules)


def test_every_public_name_has_one_place_which_the_table_names() -> None:
    listed = [(name, "attnwidget") for name in attnwidget.__all__ if name not in MODULES]
    for module in MODULES:
        names = getattr(attnwidget, module).__all__
        assert names == sorted(names) or module not in STUBS
        listed += [(name, f"attnwidget.{module}") for name in names]
    listed.remove(("__version__", "attnwidget"))
    assert len({name for name, _ in listed}) == len(listed)
    assert dict(listed) == public_homes()


def test_no_public_module_has_a_submodule_with_the_name_of_another_public_name() -> None:
    homes = public_homes()
    for module in map(import_module, (f"attnwidget.{name}" for name in MODULES)):
        # Python binds a submodule in its package, where it would hide the error about the name.
        for submodule in iter_modules(getattr(module, "__path__", ())):
            assert homes.get(submodule.name, module.__name__) == module.__name__


def test_every_name_of_a_stub_is_what_its_module_defines() -> None:
    for home in ("attnwidget", *(f"attnwidget.{name}" for name in STUBS)):
        package = import_module(home)
        for name in package.__all__:
            value = getattr(package, name)
            if isinstance(value, type) or callable(value):
                assert value.__module__.startswith(f"{home}.") and value.__name__ == name
                assert getattr(import_module(value.__module__), name) is value


@pytest.mark.parametrize(
    ("package", "name", "home"),
    [
        ("attnwidget", "patch_heads", "attnwidget.interventions"),
        ("attnwidget.metrics", "measure", "attnwidget"),
        ("attnwidget.behaviors", "atlas", "attnwidget"),
        ("attnwidget.probes", "demo_probe", "attnwidget.demo"),
        ("attnwidget", "Norms", "attnwidget.metrics"),
        ("attnwidget", "Link", "attnwidget.results"),
        ("attnwidget", "explain_link", "attnwidget.mechanisms"),
        ("attnwidget.interventions", "ablate", "attnwidget"),
        ("attnwidget.words", "explain_link", "attnwidget.mechanisms"),
        ("attnwidget.metrics", "probe_relations", "attnwidget.words"),
        ("attnwidget.results", "atlas", "attnwidget"),
        ("attnwidget.demo", "load_treebank", "attnwidget"),
        ("attnwidget.charts", "Norms", "attnwidget.metrics"),
    ],
)
def test_a_name_of_another_public_module_is_an_error_that_names_it(
    package: str, name: str, home: str
) -> None:
    message = f"{package} has no '{name}': import it from '{home}'"
    with pytest.raises(ImportError) as raised:
        exec(f"from {package} import {name}")
    assert str(raised.value) == message
    with pytest.raises(ImportError, match=naming(package, f"'{name}'", f"'{home}'")):
        getattr(import_module(package), name)
    exec(f"from {home} import {name}")


@pytest.mark.parametrize(
    ("name", "replacement"),
    [
        ("CompareView", "HeadView"),
        ("LinkedText", "explore"),
        ("MetricStrip", "HeadGrid"),
        ("TokenLens", "HeadGrid"),
    ],
)
def test_a_former_name_is_an_error_that_says_what_to_use(name: str, replacement: str) -> None:
    with pytest.raises(ImportError, match=naming(f"'{name}'", replacement)):
        exec(f"from attnwidget import {name}")
    exec(f"from attnwidget import {replacement}")


@pytest.mark.parametrize(
    ("package", "name", "present"),
    [
        ("attnwidget", "HeadMap", "HeadScatter"),
        ("attnwidget", "link", "link_figures"),
        ("attnwidget", "behaviours", "behaviors"),
        ("attnwidget", "load_pairs", "load_minimal_pairs"),
        ("attnwidget.behaviors", "score_behaviours", "measure_behaviors"),
        ("attnwidget.metrics", "PictureOffsets", "ImageOffsets"),
        ("attnwidget.results", "LookingAway", "NoOpWeights"),
        ("attnwidget.words", "probe_looking_away", "probe_no_op"),
    ],
)
def test_an_old_name_is_an_error_that_says_the_new_one(
    package: str, name: str, present: str
) -> None:
    with pytest.raises(ImportError, match=naming(f"'{name}'", f"'{present}'")):
        exec(f"from {package} import {name}")
    exec(f"from {package} import {present}")


@pytest.mark.parametrize("package", ["attnwidget", "attnwidget.words", "attnwidget.metrics"])
def test_a_name_that_nothing_has_is_an_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match=naming(f"'{package}'", "'Nothing'")):
        _ = import_module(package).Nothing
    assert not hasattr(import_module(package), "Nothing")


def test_a_function_is_not_hidden_by_the_module_that_is_called_as_it() -> None:
    code = (
        "import attnwidget.mechanisms.explain_link, attnwidget.interventions.patch_heads;"
        "from attnwidget.interventions import patch_heads;"
        "print(patch_heads.__name__, attnwidget.mechanisms.explain_link.__name__)"
    )
    assert run(code).stdout.split() == ["patch_heads", "explain_link"]


def test_everything_that_measure_knows_by_name_is_a_public_metric() -> None:
    public = [getattr(metrics, name) for name in metrics.__all__]
    kinds = [one for one in public if isinstance(one, type) and issubclass(one, Accumulator)]
    known = {one.name: one for one in kinds if "name" in vars(one)}
    for one in filter(inspect.isfunction, public):
        if one.__annotations__["return"].startswith("SegmentMeans"):
            known[one().name] = one
    assert known == metrics_by_name()
    assert results.HeadResult.__name__ not in metrics.__all__


def test_a_name_loads_its_module_and_no_other() -> None:
    code = (
        "import sys, attnwidget; attnwidget.Segment; dir(attnwidget); dir(attnwidget.words);"
        "print([m for m in sys.modules if m.startswith('attnwidget.')])"
    )
    # `import attnwidget` says which figure an atlas has; this file imports nothing.
    figure = [
        "attnwidget.public_names",
        "attnwidget.behaviors",
        "attnwidget.behaviors.head_atlas",
        "attnwidget.behaviors.head_atlas.atlas_figure",
    ]
    loaded = [*figure, "attnwidget.text", "attnwidget.text.segments", "attnwidget.words"]
    assert run(code).stdout.strip() == str(loaded)


def test_an_error_about_a_name_loads_nothing() -> None:
    code = (
        "import sys, attnwidget\n"
        "try: attnwidget.Norms\n"
        "except ImportError as error: print(error)\n"
        "print('torch' in sys.modules, 'attnwidget.metrics' in sys.modules)"
    )
    message = "attnwidget has no 'Norms': import it from 'attnwidget.metrics'"
    assert run(code).stdout.splitlines() == [message, "False False"]


def test_a_package_without_a_stub_is_refused(tmp_path: os.PathLike[str]) -> None:
    with pytest.raises(ValueError, match=naming("__init__.pyi", "stub")):
        attach_names("attnwidget.text", os.fspath(tmp_path) + "/__init__.py")


@pytest.mark.slow
def test_all_names_load_at_once_on_request() -> None:
    code = (
        "import sys, attnwidget; names = vars(attnwidget);"
        "print({*attnwidget.__all__} - names.keys(), 'torch' in sys.modules)"
    )
    done = run(code, EAGER_IMPORT="1")
    assert done.stdout.strip() == "set() True", done.stderr


def test_a_module_that_fails_to_load_is_named(tmp_path: os.PathLike[str]) -> None:
    folder = Path(tmp_path)
    (folder / "__init__.py").write_text("")
    (folder / "__init__.pyi").write_text("from .broken import answer\n")
    (folder / "broken.py").write_text("import sys\nsys.no_such_name\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder.parent)
        load, _, _ = attach_names(folder.name, str(folder / "__init__.py"))
        with pytest.raises(ImportError, match=naming("'no_such_name'", "loaded")):
            load("answer")


@pytest.mark.slow
def test_without_docstrings_figures_work_and_charts_say_what_to_do() -> None:
    # Altair needs the docstrings that -OO removes.
    done = run("from attnwidget import explore\nimport attnwidget.charts", "-OO")
    assert done.returncode == 1
    said = done.stderr.strip().splitlines()[-1]
    assert said.startswith(
        "ImportError: Altair, which draws charts, cannot be loaded: Found no doc"
    )
    assert "run Python without -OO" in said
