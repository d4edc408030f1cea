"""Layout of patches in input pixels, and pictures that show only some patches."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Patch(NamedTuple):
    """A patch of a picture: frame index, row and column in the frame."""

    frame: int
    row: int
    column: int


@dataclass(frozen=True, eq=False)
class PatchLayout:
    """Layout of the patches in one input's pixels.

    Attributes:
        pixels: Pixels of the input, in any shape that models read.
        patches: Frame, row and column of each patch, int64 [n, 3].
        shapes: Numbers of patch rows and patch columns in each frame.
        side: Height and width of a patch in pixels, or None for flat patches.
        tubelet: Number of video frames in a patch, or 1.
        flat: Index in `patches` of each flat patch, int64, or -1 for padding; None for pictures.
    """

    pixels: Tensor
    patches: Tensor
    shapes: tuple[tuple[int, int], ...]
    side: tuple[int, int] | None = None
    tubelet: int = 1
    flat: Tensor | None = None

    @classmethod
    def of_pictures(cls, pixels: Tensor, config: Any) -> PatchLayout | None:
        """Return the layout of pictures, tiles or a video; None if the patch size is unknown.

        Args:
            pixels: Pixels [..., channels, height, width].
            config: Configuration of the model part that reads pictures.
        """
        size = getattr(config, "patch_size", None)
        tubelet: Any = getattr(config, "tubelet_size", None)
        if isinstance(tubelet, (list, tuple)) and len(tubelet) == 3:
            tubelet, *sides = tubelet
        else:
            sides = list(size) if isinstance(size, (list, tuple)) else [size, size]
        if len(sides) != 2 or not all(isinstance(side, int) and side > 0 for side in sides):
            return None
        if pixels.ndim < 4:
            return None
        depth: int = tubelet if isinstance(tubelet, int) and pixels.ndim == 5 else 1
        frames = prod(pixels.shape[:-3]) // depth
        rows, columns = pixels.shape[-2] // sides[0], pixels.shape[-1] // sides[1]
        if not frames or not rows or not columns:
            return None
        axes = [torch.arange(n, dtype=torch.int64, device="cpu") for n in (frames, rows, columns)]
        patches = torch.cartesian_prod(*axes).reshape(-1, 3)
        return cls(pixels, patches, ((rows, columns),) * frames, (sides[0], sides[1]), depth)

    @classmethod
    def of_flat_patches(
        cls, pixels: Tensor, order: NDArray[np.int64], shapes: tuple[tuple[int, int], ...]
    ) -> PatchLayout:
        """Return the layout of patches that the processor has cut out.

        Args:
            pixels: Patches, [n, values] or [pictures, n, values].
            order: Frame, row and column of each patch, int [n, 3], or -1 for padding.
            shapes: Numbers of patch rows and patch columns in each frame.
        """
        is_patch = torch.from_numpy(order[:, 0] >= 0)
        numbers = torch.where(is_patch, is_patch.cumsum(0) - 1, -1)
        return cls(pixels, torch.from_numpy(order)[is_patch], shapes, flat=numbers)

    def merges(self) -> list[int]:
        """Return numbers k for which k × k blocks of patches may tile the frames.

        The numbers that divide every frame into complete blocks come first, followed by the powers
        of 2, for models that pad frames with an odd number of rows or columns.
        """
        sides = [n for shape in self.shapes for n in shape]
        common = gcd(*sides)
        divisors = [side for side in range(1, common + 1) if common % side == 0]
        powers = [2**n for n in range(1, max(sides).bit_length())]
        return divisors + [side for side in powers if side not in divisors]

    def merged(self, side: int) -> tuple[Tensor, list[Patch]]:
        """Return each patch's index among blocks of `side` × `side` patches, and the blocks."""
        blocks: dict[Patch, int] = {}
        numbers = [
            blocks.setdefault(Patch(frame, row // side, column // side), len(blocks))
            for frame, row, column in self.patches.tolist()
        ]
        return torch.tensor(numbers, dtype=torch.int64, device="cpu"), list(blocks)

    def show(self, visible: Tensor) -> Tensor:
        """Return pixels in which only some patches are visible.

        Visible patches show noise, and the others a dark gray, because some models leave out
        pictures whose pixels are all 0. Padding frames keep their zeros for the same reason.

        Args:
            visible: Whether each patch is visible, bool [n].

        Returns:
            Pixels in the shape of `pixels`, float32 on the CPU.
        """
        generator = torch.Generator(device="cpu").manual_seed(0)
        shape = self.pixels.shape
        noise = torch.randn(shape, generator=generator, dtype=torch.float32, device="cpu")
        shown_pixels = torch.where(self._spread(visible), noise, torch.full_like(noise, 0.1))
        if self.flat is not None or self.tubelet > 1 or len(self.shapes) == 1:
            return shown_pixels
        is_padding = (self.pixels == 0).flatten(-3).all(-1)[..., None, None, None].cpu()
        return torch.where(is_padding, torch.zeros_like(shown_pixels), shown_pixels)

    def _spread(self, visible: Tensor) -> Tensor:
        """Return whether each pixel value belongs to a visible patch."""
        shape = self.pixels.shape
        if self.flat is not None:
            padded = torch.cat([visible, torch.zeros_like(visible[:1])])  # Index -1 is padding.
            return padded[self.flat].reshape(*shape[:-1], 1)
        assert self.side is not None
        cells = visible.reshape(len(self.shapes), *self.shapes[0])
        frames = shape[1] if self.tubelet > 1 else len(self.shapes)
        patch_shape = (self.tubelet, *self.side)
        for axis, (count, size) in enumerate(zip((frames, *shape[-2:]), patch_shape, strict=True)):
            cells = cells.repeat_interleave(size, axis)
            edge_shape = list(cells.shape)
            # Pixels at the edge may belong to no patch.
            edge_shape[axis] = count - edge_shape[axis]
            cells = torch.cat([cells, cells.new_zeros(edge_shape)], axis)
        return cells.reshape(*shape[:-3], 1, *shape[-2:])
