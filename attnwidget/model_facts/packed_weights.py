"""Lossless compression for the weights of the embedded models.

The low bytes of float16 weights look like noise. The high bytes, with the sign and the exponent,
have only a few different values. Deflate cannot compress a mixture of both, but it shortens the
high bytes by a third.

A model that was fine-tuned with low-rank updates (Hu et al. 2022, "LoRA", section 4.1) is stored as
the two factors of each update and the weights of its own classifier.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.numpy import save_file
from torch import Tensor

#: File name in the folder of a model.
PACKED = "packed.safetensors"
#: Suffixes for the names of an update's two factors.
UP, DOWN = ".up", ".down"

_SHAPES = "shapes"
_LOW, _HIGH = "low bytes", "high bytes, deflated"


def pack_weights(weights: Mapping[str, Tensor], path: Path) -> None:
    """Write float16 weights to a file that `unpack_weights` reads.

    The file has the safetensors format, with two byte arrays. Its metadata has the shapes.

    Args:
        weights: Weights by name, all in float16.
        path: File to write.

    Raises:
        TypeError: A weight has another type.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import torch
        >>> from attnwidget.model_facts.packed_weights import pack_weights, unpack_weights
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pack_weights({"bias": torch.tensor([0.5, -2]).half()}, Path(folder) / "packed")
        ...     unpack_weights(Path(folder) / "packed")
        {'bias': tensor([ 0.5000, -2.0000])}
    """
    for name, weight in weights.items():
        if weight.dtype != torch.float16:
            raise TypeError(f"packed weights are float16, but {name} is {weight.dtype}")
    numbers = [
        weight.cpu().contiguous().numpy().astype("<f2").ravel() for weight in weights.values()
    ]
    pairs = np.concatenate(numbers).view(np.uint8).reshape(-1, 2)
    # Use only Huffman coding: exponent bytes have no repeated sequences, and searching for them
    # takes time and space.
    deflate = zlib.compressobj(9, strategy=zlib.Z_HUFFMAN_ONLY)
    high = deflate.compress(pairs[:, 1].tobytes()) + deflate.flush()
    arrays = {
        _LOW: np.ascontiguousarray(pairs[:, 0]),
        _HIGH: np.frombuffer(high, np.uint8),
    }
    shapes = {name: list(weight.shape) for name, weight in weights.items()}
    save_file(arrays, path, {_SHAPES: json.dumps(shapes)})


def unpack_weights(path: Path) -> dict[str, Tensor]:
    """Return the weights of a file that `pack_weights` wrote, by name, in float32.

    Args:
        path: File to read.

    Raises:
        OSError: The file does not exist or is damaged.
    """
    with safe_open(path, framework="numpy") as file:
        shapes = json.loads(file.metadata()[_SHAPES])
        low = file.get_tensor(_LOW)
        high = np.frombuffer(zlib.decompress(file.get_tensor(_HIGH).tobytes()), np.uint8)
    numbers = np.stack([low, high], axis=-1).view("<f2").ravel()
    weights = {}
    start = 0
    for name, shape in shapes.items():
        end = start + int(np.prod(shape))
        # Each weight has separate memory, as after `from_pretrained`.
        weights[name] = torch.from_numpy(numbers[start:end].astype(np.float32).reshape(shape))
        start = end
    return weights


def updated_weights(base: Mapping[str, Tensor], changes: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights of a fine-tuned model in float32.

    Args:
        base: Weights of the original model by name.
        changes: For each updated weight, the factors `name.up` [rows, rank] and `name.down` [rank,
            columns], whose product is added; and weights by name that replace or extend the
            original weights.

    Example:
        >>> import torch
        >>> from attnwidget.model_facts.packed_weights import updated_weights
        >>> base = {"dense.weight": torch.zeros(2, 3)}
        >>> changes = {"dense.weight.up": torch.ones(2, 1), "dense.weight.down": torch.ones(1, 3)}
        >>> updated_weights(base, changes)["dense.weight"]
        tensor([[1., 1., 1.],
                [1., 1., 1.]])
    """
    weights = dict(base)
    for name, change in changes.items():
        if name.endswith(UP):
            weight_name = name.removesuffix(UP)
            # Compute in float64, so that all machines round to the same float32 number.
            product = change.double() @ changes[weight_name + DOWN].double()
            weights[weight_name] = (base[weight_name].double() + product).float()
        elif not name.endswith(DOWN):
            weights[name] = change
    return weights
