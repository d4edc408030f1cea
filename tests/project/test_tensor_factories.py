"""Every tensor that the package makes has a dtype and a device that the code names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "attnwidget"
SCRIPTS = PACKAGE.parent / "docs" / "models"
REASON = (
    "without them, torch.set_default_dtype, torch.set_default_device and `with torch.device(...)` "
    "of a user's program change the tensor. Name both, usually those of the tensor that it meets "
    "(dtype=x.dtype, device=x.device), or make it with torch.zeros_like or x.new_zeros"
)
# Functions of torch whose results have the default dtype or the default device.
FACTORIES = {
    "arange",
    "as_tensor",
    "asarray",
    "empty",
    "empty_permuted",
    "empty_strided",
    "eye",
    "full",
    "linspace",
    "logspace",
    "ones",
    "rand",
    "randint",
    "randn",
    "randperm",
    "range",
    "scalar_tensor",
    "sparse_coo_tensor",
    "sparse_csr_tensor",
    "tensor",
    "tril_indices",
    "triu_indices",
    "zeros",
    *(f"{name}_window" for name in ("bartlett", "blackman", "hamming", "hann", "kaiser")),
}
# Modules of torch.nn that make parameters or buffers.
LAYERS = {
    "BatchNorm1d",
    "BatchNorm2d",
    "Bilinear",
    "Conv1d",
    "Conv2d",
    "Embedding",
    "EmbeddingBag",
    "GRU",
    "GroupNorm",
    "LSTM",
    "LayerNorm",
    "Linear",
    "MultiheadAttention",
    "RMSNorm",
}
# Constructors that take no dtype or device: they always follow the defaults.
UNNAMED = {"Tensor", "FloatTensor", "DoubleTensor", "HalfTensor", "LongTensor", "BoolTensor"}


def dotted(node: ast.expr) -> str:
    """Return the name of a called function, such as torch.zeros, or an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def torch_names(tree: ast.Module) -> dict[str, str]:
    """Return what the names of a file mean that it imports from torch."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "torch":
                    names[alias.asname or "torch"] = alias.name if alias.asname else "torch"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "torch":
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def required_keywords(name: str) -> set[str]:
    """Return the keyword arguments that a call of this function of torch must have."""
    parent, _, last = name.rpartition(".")
    if parent == "torch" and last == "Generator":
        return {"device"}
    if (parent == "torch" and last in FACTORIES) or (parent == "torch.nn" and last in LAYERS):
        return {"dtype", "device"}
    return set()


def unnamed_tensors(source: Path) -> Iterator[str]:
    """Yield one line for each call of a file whose tensor follows the defaults of torch."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    names = torch_names(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        first, dot, rest = dotted(node.func).partition(".")
        name = names.get(first, first) + dot + rest
        place = f"{source.name}:{node.lineno}: {name}"
        if name.startswith("torch.") and name.rpartition(".")[2] in UNNAMED:
            yield f"{place} takes no dtype and no device"
        keywords = {keyword.arg for keyword in node.keywords}
        if "out" not in keywords and (missing := required_keywords(name) - keywords):
            yield f"{place} lacks {' and '.join(f'{word}=' for word in sorted(missing))}"


def test_every_tensor_names_its_dtype_and_device() -> None:
    lines = [
        f"{source.parent.relative_to(PACKAGE.parent)}/{line}"
        for source in sorted([*PACKAGE.rglob("*.py"), *SCRIPTS.glob("*.py")])
        for line in unnamed_tensors(source)
    ]
    assert not lines, "\n".join([*lines, REASON])


@pytest.mark.parametrize(
    "code",
    [
        "import torch\nx = torch.zeros(2)",
        "import torch\nx = torch.zeros(2, dtype=torch.float32)",
        "import torch\nx = torch.tensor([1.0], device='cpu')",
        "import torch as t\ndef f():\n    return t.arange(3)",
        "from torch import full\nx = full((2,), 0.5)",
        "def f():\n    import torch\n    return torch.Generator()",
        "from torch import nn\nx = nn.Linear(2, 2)",
        "import torch\nx = torch.nn.Embedding(2, 2, dtype=torch.float32)",
        "import torch\nx = torch.FloatTensor([1.0])",
    ],
)
def test_a_tensor_without_dtype_or_device_is_found(tmp_path: Path, code: str) -> None:
    source = tmp_path / "made.py"
    source.write_text(code)
    assert len(list(unnamed_tensors(source))) == 1


@pytest.mark.parametrize(
    "code",
    [
        "import torch\nx = torch.zeros(2, dtype=torch.float32, device='cpu')",
        "import torch\nx = torch.Generator(device='cpu')",
        "import torch\nx = torch.zeros_like(y)",
        "x = y.new_zeros(2)",
        "import torch, numpy as np\nx = torch.from_numpy(np.zeros(2))",
        "import torch\ntorch.arange(3, out=y)",
        "import numpy as np\nx = np.zeros(2)",
    ],
)
def test_a_tensor_with_dtype_and_device_passes(tmp_path: Path, code: str) -> None:
    source = tmp_path / "made.py"
    source.write_text(code)
    assert list(unnamed_tensors(source)) == []
