"""Names of the replacements for head outputs."""

from __future__ import annotations

from typing import Literal, get_args

EditMethod = Literal["uniform", "zero", "mean", "patch", "first", "rule"]
METHODS: tuple[str, ...] = get_args(EditMethod)
# Replacements that need the head outputs of another input.
REFERRING = ("mean", "patch")
# Replacement by the weights of a rule, which needs the links of one text.
RULED: EditMethod = "rule"
STANDING_ALONE = tuple(method for method in METHODS if method not in (*REFERRING, RULED))
