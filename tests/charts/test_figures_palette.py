"""The colors of figures: legible on their ground, apart for every eye, the widgets' own."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from attnwidget.charts.theme import DARK, LIGHT, Theme

JS = Path(__file__).parents[2] / "js" / "src"

# Machado et al. 2009, severity 1; rows act on linear RGB.
VISION = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                   [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                     [-0.011820, 0.042940, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                   [0.004733, 0.691367, 0.303900]],
}  # fmt: skip
TO_LMS = [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
          [0.0883024619, 0.2817188376, 0.6299787005]]  # fmt: skip
TO_LAB = [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
          [0.0259040371, 0.7827717662, -0.8086757660]]  # fmt: skip


def linear(color: str) -> np.ndarray:
    channels = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    weights = [0.2126, 0.7152, 0.0722]
    low, high = sorted(float(linear(color) @ weights) for color in (a, b))
    return (high + 0.05) / (low + 0.05)


def oklab(light: np.ndarray) -> np.ndarray:
    return np.array(TO_LAB) @ np.cbrt(np.array(TO_LMS) @ light.clip(0, 1))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_and_series_stand_out(theme: Theme) -> None:
    for color in (theme.text, theme.muted, theme.rest, *theme.series, *theme.layers):
        assert contrast(color, theme.ground) >= 4.5, color


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("vision", VISION)
def test_series_stay_apart_for_every_eye(theme: Theme, vision: str) -> None:
    seen = [oklab(np.array(VISION[vision]) @ linear(c)) for c in (*theme.series, theme.rest)]
    nearest = min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2))
    assert nearest >= 0.08


@pytest.mark.parametrize(("name", "theme"), [("light", LIGHT), ("dark", DARK)])
def test_figures_and_widgets_share_their_colors(name: str, theme: Theme) -> None:
    anchors = json.loads((JS / "shared" / "scale.json").read_text(encoding="utf-8"))[name]
    assert theme.ramp == tuple("#{:02x}{:02x}{:02x}".format(*anchor) for anchor in anchors)
    tokens = (JS / "shared" / "theme.ts").read_text(encoding="utf-8")
    block = re.search(rf"const {name.upper()}: Theme = {{(.*?)}};", tokens, re.DOTALL)
    assert block
    widget = dict(re.findall(r'(\w+): "(#[0-9a-f]{6})"', block[1]))
    marks = json.loads((JS / "shared" / "palette.json").read_text(encoding="utf-8"))[name]
    assert (theme.series, theme.rest, theme.layers) == (
        tuple(marks["series"]), marks["rest"], tuple(marks["layers"]),
    )  # fmt: skip
    assert (theme.ground, theme.text, theme.muted, theme.hairline) == (
        widget["background"], widget["text"], widget["muted"], widget["hairline"],
    )  # fmt: skip
    assert (theme.right, theme.wrong) == (widget["right"], widget["wrong"])
