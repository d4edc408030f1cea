"""JupyterLite with a notebook of figures and the first lesson: `make lite` writes it to build/lite.

The page needs no server that runs Python, no installation and, once it is loaded, no network.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
from pyodide_parts import Package, download_pure, wheel_name, write_parts

from attnwidget import __version__, load_model

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build" / "lite"
NOTEBOOK = Path(__file__).parent / "heads.ipynb"
LESSONS = ROOT / "notebooks" / "lessons"
#: The lesson that needs no model, and the code that checks its answers.
LESSON = "01_what_attention_is.ipynb"
EXERCISES = ("__init__.py", "checking.py", "lesson_1.py")
#: Model and text of each file of maps.
MAPS = {
    "bert": (None, "The captain told his men that he would not leave the ship."),
    "llama": ("attnwidget/induction", "The cat sat on the mat. The cat sat on the mat."),
}
#: Packages that the figures import, and that Pyodide does not list.
FURTHER = {
    "attnwidget": Package(__version__, ("numpy", "anywidget", "lazy-loader")),
    "anywidget": Package("0.11.0", ("ipywidgets", "psygnal", "typing-extensions")),
    "ipywidgets": Package("8.1.9", ("comm", "ipython", "traitlets")),
    "comm": Package("0.2.3", ("traitlets",)),
    "lazy-loader": Package("0.6", ()),
    "psygnal": Package("0.16.1", ()),
}
#: What Pyodide's kernel imports beside them.
OF_KERNEL = ("ipython", "jedi", "micropip")
MANAGER = ("jupyterlab-widgets", "3.0.17")
#: Models and texts, which need torch.
LEFT_OUT = ("attnwidget/demo/", (".conllu", ".json", ".jsonl", ".npz", ".safetensors", ".txt"))


def write_wheel(folder: Path) -> None:
    """Write the wheel of this package without the models: about 13 MB less to load."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir"]
    subprocess.run([*build, str(folder / "whole"), str(ROOT)], check=True, stdout=subprocess.PIPE)
    name = wheel_name("attnwidget", __version__)
    place, endings = LEFT_OUT
    with (
        zipfile.ZipFile(folder / "whole" / name) as whole,
        zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as part,
    ):
        for file in whole.namelist():
            if not (file.startswith(place) and file.endswith(endings)):
                part.writestr(whole.getinfo(file), whole.read(file))
    shutil.rmtree(folder / "whole")


def write_maps(folder: Path) -> None:
    """Write the attention that the notebook shows."""
    for name, (model_name, text) in MAPS.items():
        attention = load_model(model_name).attend(text)
        np.savez_compressed(
            folder / f"{name}.npz", weights=attention.weights(), tokens=attention.tokens
        )


def main() -> None:
    source = ROOT / "build" / "lite-source"
    shutil.rmtree(source, ignore_errors=True)
    contents, pyodide, extensions = (
        source / name for name in ("contents", "static/pyodide", "extensions")
    )
    for folder in (contents, pyodide, extensions):
        folder.mkdir(parents=True)
    write_wheel(pyodide)
    packages = write_parts(pyodide, ["attnwidget", *OF_KERNEL], FURTHER)
    download_pure(["==".join(MANAGER)], extensions)
    write_maps(contents)
    shutil.copy(NOTEBOOK, contents)
    shutil.copy(LESSONS / LESSON, contents)
    (contents / "exercises").mkdir()
    for name in EXERCISES:
        shutil.copy(LESSONS / "exercises" / name, contents / "exercises")
    widgets = [pyodide / wheel_name("anywidget", FURTHER["anywidget"].version)]
    widgets += [extensions / wheel_name(*MANAGER)]
    build = {
        "apps": ["notebooks", "tree"],
        "contents": [str(contents)],
        "federated_extensions": [str(wheel) for wheel in widgets],
        "no_sourcemaps": True,
        "output_dir": str(SITE),
    }
    (source / "jupyter_lite_config.json").write_text(json.dumps({"LiteBuildConfig": build}))
    kernel = {"@jupyterlite/pyodide-kernel-extension:kernel": {"disablePyPIFallback": True}}
    page = {"appName": "attnwidget in the browser", "litePluginSettings": kernel}
    settings = {"jupyter-lite-schema-version": 0, "jupyter-config-data": page}
    (source / "jupyter-lite.json").write_text(json.dumps(settings))
    # Not before: without a network, the page of the last build stays.
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "jupyterlite_core", "build", "--lite-dir", str(source)]
    subprocess.run(command, check=True, cwd=source, stdout=subprocess.PIPE)
    size = sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file())
    print(f"build/lite: {size / 1e6:.0f} MB, with {', '.join(packages)}")


if __name__ == "__main__":
    main()
