"""Names of the replacements for head outputs."""

from __future__ import annotations

from typing import Literal, get_args

EditMethod = Literal["uniform", "zero", "mean", "patch", "first"]
METHODS: tuple[str, ...] = get_args(EditMethod)
# Replacements that need the head outputs of another input.
REFERRING = ("mean", "patch")
STANDING_ALONE = tuple(method for method in METHODS if method not in REFERRING)
