"""The page of the documentation that says which models work: a table of the sweep's results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import torch
import transformers

from attnwidget import __version__
from sweep.comparisons import BFLOAT16, MAPS, NORMS, OUTPUTS, ClassResult
from sweep.small_configs import TOP_K, WINDOW
from sweep.small_models import N_TOKENS

if TYPE_CHECKING:
    from sweep.run import TypeResult

#: Comparisons of float32 weights, whose largest difference the table states.
_OF_WEIGHTS = (
    "maps",
    "written inputs",
    "padding on the right",
    "padding on the left",
    "long inputs",
)
# What stands for the same thing in every model: names of modules and their places.
_PROJECTION = re.compile(r"\w+'s output projection '[^']*'")
_MODULE = re.compile(r"\b[A-Z]\w*Attention\w*\b")
_PLACE = re.compile(r" \(\w+\.py:\d+\)$")


def models_page(results: Sequence[TypeResult]) -> str:
    """The whole page in Markdown."""
    counts = Counter(result.outcome for result in results)
    rows = []
    notes: dict[str, int] = {}
    for result in results:
        numbers = []
        for note in dict.fromkeys(_notes_of(result)):
            numbers.append(notes.setdefault(note, len(notes) + 1))
        cells = (
            f"`{result.model_type}`",
            ", ".join(f"`{of_class.class_name}`" for of_class in result.classes),
            result.outcome,
            _largest(result, _OF_WEIGHTS),
            _largest(result, ("bfloat16",)),
            ", ".join(map(str, numbers)),
        )
        rows.append(f"| {' | '.join(cells)} |")
    listed = [f"{number}. {note}" for note, number in notes.items()]
    return "\n".join([*_head(len(results), counts), *rows, "", "## Notes", "", *listed, ""])


def _head(total: int, counts: Counter[str]) -> list[str]:
    day = datetime.now(timezone.utc).date().isoformat()
    failed = [f"**{counts[name]} {name}**" for name in ("different", "error") if counts[name]]
    said = [
        f"**{counts['equal']} equal**",
        f"**{counts['refused']} refused**",
        f"**{counts['not built']} not built**",
        *failed,
    ]
    return [
        "# Models",
        "",
        f"{', '.join(said)}, of {total} types of models.",
        "",
        f"`make sweep` wrote this page on {day}, with attnwidget {__version__}, transformers "
        f"{transformers.__version__} and torch {torch.__version__}. The types are all that this "
        "version of transformers registers",
        "for text (causal, masked, sequence to sequence, text encoders, and base models that read "
        "token ids alone), some encoders of images and sound, and models with a tower for pictures "
        "beside the text. Texts and pictures of the latter have equally many tokens wherever "
        "that is possible.",
        "",
        "## What was compared",
        "",
        "A small model with random weights is built of each type. It reads "
        f"{N_TOKENS} tokens; windows hold {WINDOW} tokens, and sparse attention selects {TOP_K} "
        "keys. The package is compared with the model alone:",
        "",
        "- weights of every layer and head with those that the model returns under eager "
        f"attention, to {MAPS:g};",
        "- weights of inputs that are padded on the right and on the left, and weights that are "
        "read as a long input, likewise;",
        "- weights of all tensors that the tokenizer or processor of the type writes (types of "
        f"tables, boxes, pixels), to {MAPS:g}, and the names of the tokens of the text;",
        "- outputs of the model while its attention is read with its outputs otherwise, to "
        f"{OUTPUTS:g} of the largest;",
        f"- weights in bfloat16 with the model's own, to {BFLOAT16:g} of the largest of the row;",
        "- outputs without one head with those of a model in which a hook sets that head's part "
        f"of the input of the output projection to zero, to {OUTPUTS:g} of the largest;",
        "- norms with those that follow from the weights, the outputs of the heads and the output "
        f"projection, in float64, to {NORMS:g} of the largest.",
        "",
        "## What the results mean",
        "",
        "- *equal*: every comparison agrees, or the package refuses one of them with an error, "
        "which a note quotes.",
        "- *refused*: the package reads no attention of this type; a note quotes its error.",
        "- *not built*: no small model could be made and run without the package; a note says why.",
        "",
        "The differences are the largest ones: of float32 weights, and of bfloat16 weights as a "
        "share of the largest weight of the row.",
        "",
        "## Types",
        "",
        "| type | classes | result | float32 | bfloat16 | notes |",
        "|---|---|---|---|---|---|",
    ]


def _largest(result: TypeResult, names: tuple[str, ...]) -> str:
    """The largest difference of some comparisons, as the table prints it."""
    differences = [
        comparison.difference
        for of_class in result.classes
        for comparison in of_class.comparisons
        if comparison.name in names and comparison.difference is not None
    ]
    return f"{max(differences):.1g}" if differences else ""


def _notes_of(result: TypeResult) -> Iterator[str]:
    for of_class in result.classes:
        if of_class.outcome in ("refused", "not built", "error") and of_class.reason:
            alone = result.outcome == of_class.outcome
            begins = "" if alone else f"`{of_class.class_name}` is {of_class.outcome}: "
            yield f"{begins}{_general(of_class.reason, of_class)}"
            continue
        for comparison in of_class.comparisons:
            reason = _general(comparison.reason, of_class)
            if comparison.outcome == "refused":
                yield f"{comparison.name}, refused: {reason}"
            elif comparison.outcome == "not built":
                yield f"{comparison.name}, not compared: {reason}"
            elif comparison.outcome != "equal":
                yield f"{comparison.name}, {comparison.outcome}: {reason}"
            elif reason:
                yield f"{comparison.name}: {reason}"


def _general(reason: str, of_class: ClassResult) -> str:
    """A reason without the names of one model, so that models share a note."""
    reason = reason.removeprefix("this attention has no norms: ").replace("<", "&lt;")
    reason = reason.replace(of_class.class_name, "the model")
    reason = _PROJECTION.sub("the output projection", reason)
    return _PLACE.sub("", _MODULE.sub("the attention module", reason))
