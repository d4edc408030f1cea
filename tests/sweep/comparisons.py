"""Comparisons of the package with a small model's own maps, outputs and projections."""

from __future__ import annotations

import dis
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

import attnwidget
from attnwidget import Attention, AttentionModel, load_model
from attnwidget.capture.tapping.tap import LayerAttention, tap
from sweep.plain_references import (
    Maps,
    computed_weights,
    hooked,
    layers_of,
    output_of,
    projection_of,
    recorded_maps,
    returned_maps,
    weight_of,
)
from sweep.small_models import N_PADDED, Side, build, inputs_of
from sweep.tower_models import READ_THE_TEXT
from sweep.window_maps import in_token_order
from sweep.written_inputs import NotWritten, tokenizer_of, vocabulary_of, written_inputs

Outcome = Literal["equal", "refused", "not built", "different", "error"]
#: The outcomes that fail the sweep.
FAILURES: tuple[Outcome, ...] = ("different", "error")
_PACKAGE = str(Path(attnwidget.__file__).parent)
#: Largest differences that rounding explains: of weights, and of others as a share of the largest.
MAPS = 1e-5
OUTPUTS = 1e-4
NORMS = 1e-4
#: Of bfloat16 weights, as a share of the row's largest one: scores are rounded to 8 bits too.
BFLOAT16 = 5e-2
_Sizes = Mapping[str, tuple[int, int, int]]
#: Condition number from which values no longer follow from outputs.
_ILL_CONDITIONED = 1e9


class RefusedError(Exception):
    """The package refused, in its own words."""


class NotComparedError(Exception):
    """There is nothing to compare with: the model itself fails, or shows nothing."""


@dataclass
class Comparison:
    """One comparison of one class.

    Attributes:
        name: what was compared.
        outcome: "equal" or a failure; "refused"; "not built" where there was nothing to compare.
        difference: the largest one, as a share of the largest value where `name` is not of maps.
        reason: why not, in the words of the package or of the model.
    """

    name: str
    outcome: Outcome
    difference: float | None = None
    reason: str = ""


@dataclass
class ClassResult:
    """All comparisons of one class of a type."""

    class_name: str
    outcome: Outcome
    reason: str = ""
    comparisons: list[Comparison] = field(default_factory=list)


def compare_class(model_type: str, class_name: str) -> ClassResult:
    """Build the small model of a class, and compare what the package says with the model."""
    try:
        subject = _Subject(model_type, class_name)
    except Exception as error:
        return ClassResult(class_name, "not built", _said(error))
    result = ClassResult(class_name, "equal")
    for name, compare in _COMPARISONS.items():
        comparison = _compared(name, lambda compare=compare: compare(subject))
        result.comparisons.append(comparison)
        if name == "maps" and comparison.outcome in ("refused", "error", "not built"):
            result.outcome = comparison.outcome
            result.reason = comparison.reason
            break
        if comparison.outcome in FAILURES:
            result.outcome = comparison.outcome
    return result


def _compared(name: str, compare: Callable[[], tuple[float, float, str]]) -> Comparison:
    try:
        difference, allowed, note = compare()
    except RefusedError as error:
        return Comparison(name, "refused", reason=str(error))
    except NotComparedError as error:
        return Comparison(name, "not built", reason=str(error))
    except Exception as error:
        return Comparison(name, "error", reason=_said(error))
    if difference <= allowed:
        return Comparison(name, "equal", difference, note)
    return Comparison(name, "different", difference, f"{note} allowed {allowed:g}".strip())


class _Subject:
    """The models of one class: the one that the package reads, and the eager one."""

    def __init__(self, model_type: str, class_name: str) -> None:
        self.model_type = model_type
        self.class_name = class_name
        self.eager = build(model_type, class_name)
        self.inputs = inputs_of(self.eager)
        output = output_of(self.eager, self.inputs)
        if not bool(output.isfinite().all()):
            raise ValueError("the small model computes NaN or infinity by itself")

    @property
    def takes_padding(self) -> bool:
        return "attention_mask" in inputs_of(self.eager, padded="right")

    @cached_property
    def loaded(self) -> Any:
        """The model under sdpa where it allows that, else under eager attention."""
        try:
            model = build(self.model_type, self.class_name, "sdpa")
            output_of(model, self.inputs)
        except Exception:
            return build(self.model_type, self.class_name)
        return model

    @cached_property
    def reader(self) -> AttentionModel:
        return _ask(lambda: load_model(self.loaded, tokenizer=None))

    @cached_property
    def attention(self) -> Attention:
        return _ask(lambda: self.reader.attend(self.inputs, long=False))

    @cached_property
    def expected(self) -> tuple[Maps, str]:
        return _expected(self.eager, self.inputs, _sizes(self.attention))


def _maps(subject: _Subject) -> tuple[float, float, str]:
    attention = subject.attention
    expected, note = subject.expected
    hidden = note.removesuffix(" not shown")
    if hidden != note and f"the {hidden} is not shown" not in attention.note:
        raise AssertionError(f"the {hidden} is not shown, and the note is {attention.note!r}")
    differences = [_furthest(attention, expected)]
    again = _ask(lambda: load_model(subject.eager, tokenizer=None).attend(subject.inputs))
    differences.append(_furthest(again, expected))
    return max(differences), MAPS, note


def _written(subject: _Subject) -> tuple[float, float, str]:
    """Compare maps and names on all tensors that the tokenizer or the processor writes."""
    try:
        tokenizer = tokenizer_of(subject.model_type)
        names = subject.model_type, subject.class_name
        model = _own(lambda: build(*names, vocabulary=vocabulary_of(tokenizer)))
        inputs = written_inputs(model, tokenizer)
    except NotWritten as reason:
        raise NotComparedError(str(reason)) from reason
    _own(lambda: output_of(model, inputs))
    attention = _ask(lambda: load_model(model, tokenizer).attend(inputs, long=False))
    expected, _ = _own(lambda: _expected(model, inputs, _sizes(attention)))
    entries = tuple(map(str, tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist())))
    unnamed = []
    for name, stack in attention.stacks.items():
        if name not in ("self", "encoder"):
            continue
        shown = stack.query.raw
        runs = (shown[i : i + len(entries)] for i in range(len(shown) - len(entries) + 1))
        if not any(run == entries for run in runs):
            if len(shown) == len(entries):
                raise AssertionError(f"tokens of {name!r} are named {shown}, not {entries}")
            unnamed.append(f"tokens of {name!r} have no names")
    beside = sorted(set(inputs) - {"input_ids", "attention_mask", "decoder_input_ids"})
    said = f"with {', '.join(beside)}" if beside else ""
    return _furthest(attention, expected), MAPS, "; ".join(filter(None, [said, *unnamed]))


def _outputs(subject: _Subject) -> tuple[float, float, str]:
    differences = []
    for model in (subject.eager, subject.loaded):
        for padded in (None, "right", "left"):
            if padded is not None and not subject.takes_padding:
                continue
            inputs = inputs_of(model, batch=2, padded=padded)  # type: ignore[arg-type]
            untapped = _own(lambda model=model, inputs=inputs: output_of(model, inputs))
            tapped = _ask(lambda model=model, inputs=inputs: _tapped(model, inputs)[1])
            differences.append(_share(tapped, untapped, inputs))
    return max(differences), OUTPUTS, ""


def _padding(side: Side) -> Callable[[_Subject], tuple[float, float, str]]:
    def compare(subject: _Subject) -> tuple[float, float, str]:
        if not subject.takes_padding:
            raise NotComparedError("no padding of this input")
        inputs = inputs_of(subject.eager, batch=2, padded=side)
        seen, output = _ask(lambda: _tapped(subject.loaded, inputs))
        eager = _own(lambda: output_of(subject.eager, inputs))
        if _share(output, eager, inputs) > OUTPUTS:
            raise NotComparedError(
                "the model itself computes something else under sdpa and padding"
            )
        expected, _ = _own(lambda: _expected(subject.eager, inputs, _sizes_of(seen)))
        real = inputs["attention_mask"].bool()
        own_tokens = [s for s in subject.attention.stacks.values() if s.name in ("self", "encoder")]
        if any(len(stack.query) != real.shape[1] for stack in own_tokens):
            raise NotComparedError("the model reads tokens of its own beside those of the input")
        differences = []
        for stack, maps in expected.items():
            for own, wanted in zip(seen[stack], maps, strict=True):
                for item in range(2):
                    a, b = (
                        _real_part(m[item], stack, real[item], inputs).float()
                        for m in (own, wanted)
                    )
                    differences.append(_largest(a, b))
        alone = inputs_of(subject.eager, padded=side)
        read = _ask(lambda: subject.reader.attend(alone, long=False))
        text = slice(N_PADDED, None) if side == "left" else slice(-N_PADDED)
        cut = {
            name: value[:, text] if name in ("input_ids", "attention_mask") else value
            for name, value in alone.items()
        }
        expected, _ = _own(lambda: _expected(subject.eager, cut, _sizes(read)))
        differences.append(_furthest(read, expected))
        return max(differences), MAPS, ""

    return compare


def _real_part(maps: Tensor, stack: str, real: Tensor, inputs: Mapping[str, Tensor]) -> Tensor:
    """The part of maps whose queries and keys are no padding of the text."""
    decodes = "decoder_input_ids" in inputs
    of_text = stack in READ_THE_TEXT or (stack == "decoder" and not decodes)
    queries = of_text or (stack == "cross" and not decodes)
    keys = (stack == "cross" and decodes) or (of_text and not stack.endswith("cross"))
    maps = maps[..., real, :] if queries and maps.shape[-2] == len(real) else maps
    return maps[..., real] if keys and maps.shape[-1] == len(real) else maps


def _long(subject: _Subject) -> tuple[float, float, str]:
    difference = _long_from_short(subject.reader, subject.inputs)
    if difference <= MAPS:
        return difference, MAPS, ""
    # Rounding adds up over layers; in float64 it is gone, and another fault is not.
    model = _own(lambda: build(subject.model_type, subject.class_name, dtype=torch.float64))
    precise = _long_from_short(load_model(model, tokenizer=None), inputs_of(model))
    return precise, MAPS, f"compared in float64; float32 rounding makes {difference:.1g}"


def _long_from_short(reader: AttentionModel, inputs: Mapping[str, Tensor]) -> float:
    """The largest difference between the weights of an input that is read long and read whole."""
    whole = _ask(lambda: reader.attend(inputs, long=False))
    long = _ask(lambda: reader.attend(inputs, long=True))
    differences = []
    for name, stack in whole.stacks.items():
        for layer in _numbers(stack):
            weights = _ask(lambda: long.weights(layer, stack=name))  # noqa: B023
            differences.append(_largest(weights, whole.weights(layer, stack=name)))
    return max(differences)


def _bfloat16(subject: _Subject) -> tuple[float, float, str]:
    names = subject.model_type, subject.class_name
    model = _own(lambda: build(*names, dtype=torch.bfloat16))
    inputs = inputs_of(model)
    untapped = _own(lambda: output_of(model, inputs))
    _, tapped = _ask(lambda: _tapped(model, inputs))
    if (outputs := _share(tapped, untapped, inputs)) > BFLOAT16:
        return outputs, BFLOAT16, "outputs inside the tap;"
    read = _ask(lambda: load_model(model, tokenizer=None).attend(inputs, long=False))
    expected, _ = _own(lambda: _expected(model, inputs, _sizes(read)))
    return _furthest(read, expected, of_row=True), BFLOAT16, ""


def _head_off(subject: _Subject) -> tuple[float, float, str]:
    differences = []
    notes = []
    order = layers_of(subject.eager, subject.inputs)
    for name, stack in subject.attention.stacks.items():
        ordinal = len(_numbers(stack)) // 2
        layer = _numbers(stack)[ordinal]
        head = stack.n_heads - 1
        module, occurrence = order[name][ordinal]
        projection = projection_of(subject.eager, module)

        def zeroed(given: Tensor, heads: int = stack.n_heads, head: int = head) -> Tensor:
            apart = given.unflatten(-1, (heads, -1)).clone()
            apart[..., head, :] = 0
            return apart.flatten(-2)

        def without(layer: int = layer, head: int = head, name: str = name) -> Tensor:
            with subject.reader.disabled([(layer, head, name)], method="zero"):
                return output_of(subject.loaded, subject.inputs)

        own = _ask(without)
        share = float("inf")
        if projection is not None:
            with hooked(projection, occurrence, zeroed):
                expected = _own(lambda: output_of(subject.eager, subject.inputs))
            share = _share(own, expected, subject.inputs)
        if share > OUTPUTS:
            # A norm or a convolution may stand between the heads and the projection.
            inside = _own(lambda: _zeroed_inside(subject, module, occurrence, head))  # noqa: B023
            share = _share(own, inside, subject.inputs)
            notes.append("a head off is compared inside the attention, not at its projection")
        differences.append(share)
    return max(differences), OUTPUTS, "; ".join(dict.fromkeys(notes))


def _zeroed_inside(subject: _Subject, module: Any, occurrence: int, head: int) -> Tensor:
    """The output of the model whose head is zero where its weights are computed."""
    runs = 0

    def count(*_: Any) -> None:
        nonlocal runs
        runs += 1

    def zero(inside: Any, weights: Tensor) -> Tensor | None:
        if inside is not module or runs - 1 != occurrence or weights.ndim != 4:
            return None
        off = weights.clone()
        off[:, head] = 0
        return off

    hook = module.register_forward_pre_hook(count)
    try:
        with computed_weights(subject.eager, zero):
            return output_of(subject.eager, subject.inputs)
    finally:
        hook.remove()


def _norms(subject: _Subject) -> tuple[float, float, str]:
    # In float64 the values follow from the maps and from what the projection takes.
    names = subject.model_type, subject.class_name
    model = _own(lambda: build(*names, dtype=torch.float64))
    inputs = inputs_of(model)
    expected, _ = _own(lambda: _expected(model, inputs, _sizes(subject.attention)))
    order = _own(lambda: layers_of(model, inputs))
    read = _ask(lambda: load_model(model, tokenizer=None).attend(inputs, long=False))
    differences = []
    for name, stack in read.stacks.items():
        for ordinal, layer in enumerate(_numbers(stack)):
            norms = _ask(lambda: read.norms(layer, stack=name))  # noqa: B023
            module, occurrence = order[name][ordinal]
            projection = projection_of(model, module)
            if projection is None:
                continue
            taken: list[Tensor] = []
            with hooked(projection, occurrence, lambda given: taken.append(given)):  # noqa: B023
                output_of(model, inputs)
            maps = expected[name][ordinal][0].double()  # [H, Q, K]
            rows = in_token_order(model, module, taken[0].reshape(maps.shape[1], -1))
            summed = rows.reshape(maps.shape[1], len(maps), -1).transpose(0, 1).double()
            if maps.shape[2] > maps.shape[1]:  # fewer queries than keys determine no values
                continue
            if float(torch.linalg.cond(maps).max()) > _ILL_CONDITIONED:
                continue
            values = torch.linalg.lstsq(maps, summed).solution  # [H, K, Dv]
            weight = weight_of(projection).unflatten(1, (len(maps), -1)).permute(1, 2, 0)
            lengths = (values @ weight.double()).norm(dim=-1)  # [H, K]
            wanted = maps * lengths[:, None]
            largest = max(float(wanted.max()), 1e-12)
            differences.append(_largest(torch.from_numpy(norms), wanted) / largest)
    if not differences:
        raise NotComparedError("the values do not follow from the maps of this input")
    return max(differences), NORMS, ""


_COMPARISONS: dict[str, Callable[[_Subject], tuple[float, float, str]]] = {
    "maps": _maps,
    "written inputs": _written,
    "outputs": _outputs,
    "padding on the right": _padding("right"),
    "padding on the left": _padding("left"),
    "long inputs": _long,
    "bfloat16": _bfloat16,
    "heads off": _head_off,
    "norms": _norms,
}


def _expected(model: Any, inputs: Mapping[str, Tensor], read: _Sizes) -> tuple[Maps, str]:
    """The model's own maps of every stack that was read, and how they were found.

    Some models return no maps, or scores in their place: then the weights that their eager
    functions and softmaxes compute.
    """
    returned, elsewhere = returned_maps(model, inputs)
    if _sizes_of(returned) == dict(read) and all(map(_are_weights, returned.values())):
        return returned, f"{', '.join(elsewhere)} not shown" if elsewhere else ""
    recorded = recorded_maps(model, inputs, {stack: size[1:] for stack, size in read.items()})
    missing = [stack for stack in [*returned, *elsewhere] if stack not in read]
    if _sizes_of(recorded) == dict(read) and not missing:
        return recorded, "compared with weights recorded inside the model"
    if returned:
        return returned, ""
    raise NotComparedError("the model returns no attention maps")


def _are_weights(maps: list[Tensor]) -> bool:
    """Whether maps hold weights of queries: none is negative, and no row sums to more than 1."""
    return all(bool((m >= 0).all()) and float(m.float().sum(-1).max()) < 1.1 for m in maps)


def _sizes_of(maps: Maps) -> dict[str, tuple[int, int, int]]:
    return {stack: (len(m), m[0].shape[-2], m[0].shape[-1]) for stack, m in maps.items()}


def _sizes(attention: Attention) -> _Sizes:
    """Layers, queries and keys of each stack that was read."""
    return {
        name: (len(stack.layers.numbers), len(stack.query), len(stack.key))
        for name, stack in attention.stacks.items()
    }


def _numbers(stack: Any) -> list[int]:
    """The numbers by which the package calls the layers of a stack."""
    return list(stack.layers.numbers)


def _tapped(model: Any, inputs: Mapping[str, Tensor]) -> tuple[Maps, Tensor]:
    """The maps that the tap hands over, and the output of the model meanwhile."""
    seen: Maps = {}

    def keep(layer: LayerAttention) -> None:
        seen.setdefault(layer.stack, []).append(layer.weights)

    with torch.no_grad(), tap(model, keep):
        output = output_of(model, inputs)
    return seen, output


def _furthest(attention: Attention, expected: Maps, *, of_row: bool = False) -> float:
    """The largest difference of an attention's weights from the expected maps of one input.

    With `of_row`, as a share of the largest weight of the row. A model that returns the mean over
    the heads in the place of every head (WavLM) is compared with the mean.
    """
    if expected.keys() != attention.stacks.keys():
        raise AssertionError(f"stacks {list(attention.stacks)}, the model has {list(expected)}")
    differences = []
    for name, maps in expected.items():
        numbers = _numbers(attention.stacks[name])
        if len(numbers) != len(maps):
            raise AssertionError(f"{len(numbers)} layers of {name!r}, the model has {len(maps)}")
        for number, wanted in zip(numbers, maps, strict=True):
            own = torch.from_numpy(attention.weights(number, stack=name))
            wanted = wanted[0].float()
            if own.shape != wanted.shape:
                raise AssertionError(
                    f"maps of {name!r} are {list(own.shape)}, those of the model are "
                    f"{list(wanted.shape)}"
                )
            if len(wanted) > 1 and bool((wanted == wanted[:1]).all()):
                own = own.mean(0, keepdim=True).expand_as(wanted)
            top = wanted.amax(-1, keepdim=True).clamp(min=1e-6) if of_row else torch.ones(1)
            differences.append(_largest(own / top, wanted / top))
    return max(differences)


def _share(own: Tensor, wanted: Tensor, inputs: Mapping[str, Tensor]) -> float:
    """The largest difference at positions that are no padding, as a share of the largest value."""
    own, wanted = own.float(), wanted.float()
    mask = inputs.get("attention_mask")
    if mask is not None and wanted.shape[:2] == mask.shape:
        own, wanted = own[mask.bool()], wanted[mask.bool()]
    return _largest(own, wanted) / max(float(wanted.abs().max()), 1e-6)


def _largest(own: Any, wanted: Any) -> float:
    """The largest difference; infinite where one of the two is no number."""
    own, wanted = (torch.as_tensor(np.asarray(part)).double() for part in (own, wanted))
    difference = (own - wanted).abs().max().item()
    return float("inf") if difference != difference else float(difference)


def _ask(call: Callable[[], Any]) -> Any:
    """What the package answers.

    Raises:
        RefusedError: it raised an error of its own.
    """
    try:
        return call()
    except Exception as error:
        if _is_own(error):
            raise RefusedError(str(error)) from error
        raise


def _own(call: Callable[[], Any]) -> Any:
    """What the model answers without the package.

    Raises:
        NotComparedError: it fails.
    """
    try:
        return call()
    except Exception as error:
        raise NotComparedError(_said(error)) from error


def _is_own(error: BaseException) -> bool:
    """Whether a `raise` of the package made the error, not a fault in a line of code."""
    last: TracebackType | None = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or not last.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        return False
    return last.tb_frame.f_code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _said(error: BaseException) -> str:
    """An error in one line, with the place that raised it."""
    text = " ".join(str(error).split())[:300]
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    place = ""
    if last is not None:
        place = f" ({Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno})"
    return f"{type(error).__name__}: {text}{place}"
