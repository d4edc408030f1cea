"""A release: its workflow names files that exist, and every version is stated alike."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import attnwidget
from refusals import naming

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # of pytest

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
RELEASE = GITHUB / "workflows" / "release.yml"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
RECIPE = yaml.safe_load((ROOT / "docs/packaging/conda/recipe.yaml").read_text("utf-8"))
# test_wheel.py compares modules, and model cards are for readers alone.
NOT_REQUIRED = {".py", ".md"}


def jobs() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(RELEASE.read_text("utf-8"))["jobs"]
    return found


def listed(name: str) -> list[str]:
    """The files that a step of the workflow looks for in the wheel."""
    (step,) = (step for step in jobs()["build"]["steps"] if name in step.get("env", {}))
    return step["env"][name].split()


def test_the_workflow_lists_every_model_and_text() -> None:
    files = listed("FILES")
    assert [name for name in files if not (ROOT / name).is_file()] == []
    assert len(set(files)) == len(files)
    needed = [
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "attnwidget" / "demo").rglob("*")
        if path.is_file() and path.suffix not in NOT_REQUIRED and "__pycache__" not in path.parts
    ]
    assert sorted(set(needed) - set(files)) == []


def test_the_wheel_has_every_licence() -> None:
    licences = listed("LICENCES")
    assert licences == [
        "LICENSE",
        *sorted(
            f"docs/packaging/licences/{p.name}"
            for p in (ROOT / "docs/packaging/licences").iterdir()
        ),
    ]
    assert PROJECT["license-files"] == ["LICENSE", "docs/packaging/licences/*.txt"]
    text = (ROOT / "LICENSE").read_text("utf-8")
    assert all(name in text for name in licences[1:])
    named = re.findall(r"attnwidget/demo/[\w./-]+\.\w+", text)
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []
    assert RECIPE["about"]["license_file"] == licences
    assert RECIPE["about"]["license"] == PROJECT["license"]


def test_called_workflows_and_run_files_exist() -> None:
    text = RELEASE.read_text("utf-8")
    called = [job["uses"] for job in jobs().values() if "uses" in job]
    assert called == ["./.github/workflows/test.yml", "./.github/workflows/docs.yml"]
    for path in called:
        other = (ROOT / path).read_text("utf-8")
        assert "workflow_call:" in other
        # In a called workflow the name is the caller's, so both would share one group.
        assert "github.workflow" not in other
    run = re.findall(r"\b(?:docs|notebooks)/[\w/]+\.\w+", text)
    assert {"docs/keep_version.py", "notebooks/execute.py"} <= set(run)
    assert [name for name in run if not (ROOT / name).is_file()] == []


def test_nothing_is_published_without_tests_and_installations() -> None:
    publish = jobs()["publish"]
    assert publish["if"] == "github.ref_type == 'tag'"
    assert {"test", "docs", "install"} <= {*publish["needs"]}
    assert jobs()["install"]["needs"] == "build"
    assert jobs()["pages"]["needs"] == "publish"
    systems = jobs()["install"]["strategy"]["matrix"]["system"]
    assert [name.partition("-")[0] for name in systems] == ["ubuntu", "macos", "windows"]


def test_every_version_is_the_version_of_the_package() -> None:
    version = attnwidget.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    date = citation["date-released"]
    assert citation["version"] == RECIPE["context"]["version"] == version
    assert f"\n## {version} ({date})\n" in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert citation["license"] == PROJECT["license"].partition(" AND ")[0]


def test_the_recipe_has_the_dependencies_of_the_package() -> None:
    _, *run = RECIPE["requirements"]["run"]
    names = {"torch": "pytorch"}
    expected = []
    for requirement in PROJECT["dependencies"]:
        name, limits = re.fullmatch(r"([\w-]+)(.*)", requirement).groups()  # type: ignore[union-attr]
        expected.append(f"{names.get(name, name)} {limits}")
    assert sorted(run) == sorted(expected)
    assert f">={RECIPE['context']['python_min']}" == PROJECT["requires-python"]


@pytest.mark.parametrize("template", ["error", "wrong_number", "idea"])
def test_issues_ask_for_versions(template: str) -> None:
    form = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / f"{template}.yml").read_text("utf-8"))
    (field,) = (field for field in form["body"] if field["id"] == "versions")
    assert "attnwidget.versions()" in field["attributes"]["description"]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md"])
def test_links_of_guides_lead_to_files(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (GITHUB / page).read_text("utf-8"))
    assert links
    assert [link for link in links if not (GITHUB / link).is_file()] == []


def test_versions_name_the_package_and_its_libraries() -> None:
    found = attnwidget.versions()
    assert list(found)[:3] == ["attnwidget", "python", "system"]
    assert found["attnwidget"] == attnwidget.__version__
    assert found["python"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    assert {"torch", "transformers", "anywidget", "ipywidgets", "altair"} <= found.keys()
    assert all(isinstance(text, str) and text for text in found.values())


@pytest.fixture(scope="module")
def keeping() -> ModuleType:
    spec = importlib.util.spec_from_file_location("keep_version", ROOT / "docs/keep_version.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_documentation_of_every_version_is_kept(keeping: ModuleType, tmp_path: Path) -> None:
    site = tmp_path / "site"
    pages = tmp_path / "pages"
    site.mkdir()
    pages.mkdir()
    (pages / ".git").mkdir()
    for version in ("0.2.0", "0.10.0", "0.11.0rc1", "0.9.0"):
        (site / "index.html").write_text(f"this is {version}")
        versions = keeping.keep_version(site, pages, version)
    assert versions == ["0.11.0rc1", "0.10.0", "0.9.0", "0.2.0"]
    assert "url=0.10.0/index.html" in (pages / "index.html").read_text("utf-8")
    every = (pages / "versions.html").read_text("utf-8")
    assert re.findall(r"<li>.*?>([\w.]+)</a>", every) == versions
    assert (pages / "0.9.0" / "index.html").read_text("utf-8") == "this is 0.9.0"
    (site / "index.html").write_text("corrected")
    keeping.keep_version(site, pages, "0.9.0")
    assert (pages / "0.9.0" / "index.html").read_text("utf-8") == "corrected"
    assert (pages / "0.2.0" / "index.html").is_file()


def test_what_is_no_site_is_not_kept(keeping: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=naming("version", "'../0.1'")):
        keeping.keep_version(tmp_path, tmp_path, "../0.1")
    with pytest.raises(ValueError, match=naming("index.html", "make docs")):
        keeping.keep_version(tmp_path, tmp_path, "0.1.0")
