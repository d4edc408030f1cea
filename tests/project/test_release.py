"""A release: its workflow names files that exist, and every version is stated alike."""

from __future__ import annotations

import importlib.util
import json
import re
import runpy
import sys
import zipfile
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
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")


def jobs(workflow: Path = RELEASE) -> dict[str, Any]:
    """Return the jobs of a workflow."""
    found: dict[str, Any] = yaml.safe_load(workflow.read_text("utf-8"))["jobs"]
    return found


def script(name: str) -> ModuleType:
    """Return a script of the docs folder as a module."""
    path = ROOT / "docs" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def released() -> ModuleType:
    return script("packaging/released_files")


@pytest.fixture(scope="module")
def stated() -> ModuleType:
    return script("stated_metadata")


def test_the_release_compares_the_archives_with_the_repository() -> None:
    runs = [step.get("run", "") for step in jobs()["build"]["steps"]]
    assert "python docs/packaging/released_files.py dist/*" in runs


def test_a_release_has_all_models_and_texts(released: ModuleType) -> None:
    files = released.wheel_files()
    demo = ROOT / "attnwidget" / "demo"
    needed = {path.relative_to(ROOT).as_posix() for path in demo.rglob("*.safetensors")}
    assert len(needed) > 12
    assert needed | {"attnwidget/py.typed", "attnwidget/__init__.pyi"} <= files
    assert files <= released.archive_files()


def test_missing_and_unexpected_files_of_a_wheel_are_named(
    released: ModuleType, tmp_path: Path
) -> None:
    path = tmp_path / "attnwidget-0-py3-none-any.whl"
    names = sorted(released.wheel_files())
    with zipfile.ZipFile(path, "w") as wheel:
        for name in [*names[1:], "attnwidget/notes.txt", "attnwidget-0.dist-info/METADATA"]:
            wheel.writestr(name, "")
    found = released.faults(path)
    assert f"{names[0]}: missing" in found and "attnwidget/notes.txt: not expected" in found
    assert len(found) == 2 + len(released.licence_files())


def test_the_wheel_has_every_licence(released: ModuleType) -> None:
    licences = released.licence_files()
    folder = ROOT / "docs" / "packaging" / "licences"
    assert licences == [
        "LICENSE",
        *sorted(f"docs/packaging/licences/{p.name}" for p in folder.iterdir()),
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
    assert {"docs/stated_metadata.py", "docs/packaging/released_files.py"} <= set(run)
    assert [name for name in run if not (ROOT / name).is_file()] == []


def test_nothing_is_published_without_tests_and_installations() -> None:
    publish = jobs()["publish"]
    assert publish["if"] == "github.ref_type == 'tag'"
    assert {"test", "docs", "install"} <= {*publish["needs"]}
    assert jobs()["install"]["needs"] == "build"
    assert jobs()["pages"]["needs"] == "publish"
    systems = jobs()["install"]["strategy"]["matrix"]["system"]
    assert [name.partition("-")[0] for name in systems] == ["ubuntu", "macos", "windows"]


def test_every_version_is_the_version_of_the_package(stated: ModuleType) -> None:
    version = attnwidget.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    date = citation["date-released"]
    page_code = json.loads((ROOT / "js" / "package.json").read_text("utf-8"))
    assert citation["version"] == RECIPE["context"]["version"] == page_code["version"] == version
    assert f"\n## {version} ({date})\n" in CHANGELOG
    assert citation["license"] == PROJECT["license"].partition(" AND ")[0]
    for path, text in stated.current_texts().items():
        assert (ROOT / path).read_text("utf-8") == text, "run docs/stated_metadata.py"


def test_the_changelog_begins_with_what_is_not_released() -> None:
    headings = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)
    assert headings[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", text) for text in headings[1:])


def test_addresses_go_to_all_files_that_state_them(
    stated: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = {
        "Repository": "https://code.example/attnwidget",
        "Documentation": "https://docs.example/attnwidget",
    }
    monkeypatch.setattr(stated, "stated_addresses", lambda: addresses)
    texts = stated.current_texts()
    citation = yaml.safe_load(texts["CITATION.cff"])
    about = yaml.safe_load(texts["docs/packaging/conda/recipe.yaml"])["about"]
    assert citation["repository-code"] == about["repository"] == addresses["Repository"]
    assert citation["url"] == about["documentation"] == addresses["Documentation"]
    monkeypatch.setattr(stated, "_read", texts.__getitem__)
    assert stated.current_texts() == texts
    monkeypatch.setattr(stated, "stated_addresses", dict)
    assert stated.current_texts()["CITATION.cff"] == (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_package_has_the_addresses_that_are_filled_in(stated: ModuleType) -> None:
    hook = runpy.run_path(str(ROOT / "docs" / "package_metadata.py"))
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    custom = tomllib.loads(text)["tool"]["hatch"]["metadata"]["hooks"]["custom"]
    assert list(custom["urls"]) == ["Repository", "Documentation", "Issues", "Changelog"]
    assert hook["stated_addresses"](custom["urls"]) == stated.stated_addresses()
    filled = {"Repository": "https://code.example/attnwidget", "Issues": ""}
    assert hook["stated_addresses"](filled) == {"Repository": filled["Repository"]}
    with pytest.raises(ValueError, match=naming("'Issues'", "https://", "'code.example'")):
        hook["stated_addresses"]({"Issues": "code.example"})


def test_no_other_file_states_an_address_of_the_project() -> None:
    files = [".github", "docs", "js/package.json", "README.md", "CHANGELOG.md", "CITATION.cff"]
    paths = [path for name in files for path in [ROOT / name, *(ROOT / name).rglob("*")]]
    texts = [
        p for p in paths if p.is_file() and p.suffix in {".md", ".yml", ".yaml", ".cff", ".json"}
    ]
    assert len(texts) > 60
    # The index has the package under its name, wherever the project is.
    own = re.compile(r"https?://(?!pypi\.org/)[^\s\"')]*attnwidget")
    assert [p.name for p in texts if own.search(p.read_text("utf-8"))] == []


def test_each_job_of_the_tests_runs_one_target_below_its_limit() -> None:
    (job,) = jobs(GITHUB / "workflows" / "test.yml").values()
    runs = job["strategy"]["matrix"]["include"]
    targets = {run["target"] for run in runs}
    assert targets == {"test", "test-slow", "test-compat", "test-python"}
    assert all(re.search(rf"^{target}\b.*:", MAKEFILE, re.MULTILINE) for target in targets)
    assert all(0 < run["minutes"] <= 80 for run in runs)
    pythons = {run["python"] for run in runs}
    assert f">={min(pythons, key=lambda python: int(python[2:]))}" == PROJECT["requires-python"]


def test_continuous_integration_runs_the_command_of_the_readme() -> None:
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    assert "\nmake test " in (ROOT / "README.md").read_text("utf-8")
    assert "make test" in lines


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
    return script("keep_version")


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
