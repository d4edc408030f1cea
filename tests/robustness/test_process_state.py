"""The state of the user's process (modes of torch, options of libraries) changes no number."""

from __future__ import annotations

import copy
import locale
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attnwidget import AttentionModel, HeadView, load_model
from fixtures import zoo
from fixtures.main_calls import CALLS, MAIN, MASKED, check_same
from refusals import naming

PACKAGE = f"{os.sep}attnwidget{os.sep}"


@contextmanager
def setting(change: Callable[[Any], Any], value: Any, before: Any) -> Iterator[None]:
    """Call a setter, and call it again with the value from before at the end."""
    change(value)
    try:
        yield
    finally:
        change(before)


def default_dtype(dtype: torch.dtype) -> AbstractContextManager[None]:
    return setting(torch.set_default_dtype, dtype, torch.get_default_dtype())


@contextmanager
def grad_disabled() -> Iterator[None]:
    with setting(torch.set_grad_enabled, False, torch.is_grad_enabled()):
        yield


@contextmanager
def decimal_comma() -> Iterator[None]:
    before = locale.setlocale(locale.LC_ALL)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8"):
        try:
            locale.setlocale(locale.LC_ALL, name)
        except locale.Error:
            continue
        break
    else:
        pytest.skip("no locale with a decimal comma is installed")
    try:
        yield
    finally:
        locale.setlocale(locale.LC_ALL, before)


@contextmanager
def warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@contextmanager
def pandas_options(*options: Any) -> Iterator[None]:
    with warnings.catch_warnings():
        # Newer versions of pandas announce the end of some options.
        warnings.simplefilter("ignore")
        with pd.option_context(*options):
            yield


def together(*states: Callable[[], AbstractContextManager[Any]]) -> Callable[[], ExitStack]:
    """States that change different things, at once."""

    def entered() -> ExitStack:
        with ExitStack() as stack:
            for state in states:
                stack.enter_context(state())
            return stack.pop_all()

    return entered


STATES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "default dtype float64": lambda: default_dtype(torch.float64),
    "default dtype bfloat16": lambda: default_dtype(torch.bfloat16),
    "default dtype float16": lambda: default_dtype(torch.float16),
    "device block": lambda: torch.device("meta"),
    "default device": lambda: setting(torch.set_default_device, "meta", None),
    "inference mode": torch.inference_mode,
    "no grad": together(torch.no_grad, grad_disabled),
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "checks of torch": together(
        lambda: setting(torch.autograd.set_detect_anomaly, True, False),
        lambda: setting(torch.use_deterministic_algorithms, True, False),
    ),
    "two threads": lambda: setting(torch.set_num_threads, 2, torch.get_num_threads()),
    "errors of numpy, and warnings": together(
        lambda: np.errstate(all="raise"), warnings_are_errors
    ),
    "prints of numpy and pandas": together(
        lambda: np.printoptions(precision=1, threshold=2),
        lambda: pandas_options(
            *("display.max_rows", 2, "display.max_columns", 2, "display.precision", 1)
        ),
        lambda: pandas_options("mode.copy_on_write", True),
    ),
    "pandas strings": lambda: pandas_options(
        "future.infer_string", not pd.get_option("future.infer_string")
    ),
    "decimal comma": decimal_comma,
}
TOLERANCE = 1e-6
#: Two threads add other groups of numbers, so results round differently. How far depends on the
#: processor. With AVX2, only logits exceed 1e-6: they reach 21 here, where float32 has steps of
#: 1.9e-6. With AVX-512, weights (1.2e-6), norms, gradients and what follows from them (1.1e-5) do.
ROUNDING_OF_THREADS = 1e-6 * 21


class Answers:
    """The answers of the main calls in a process whose state nobody changed."""

    def __init__(self, model: AttentionModel) -> None:
        self.model = model
        self.causal = load_model("attnwidget/induction", device="cpu")
        self._usual: dict[str, Any] = {}

    def usual(self, name: str) -> Any:
        if name not in self._usual:
            self._usual[name] = self.now(name)
        return self._usual[name]

    def now(self, name: str) -> Any:
        return CALLS[name](self.model, self.causal)


@pytest.fixture(scope="module")
def answers(model: AttentionModel) -> Answers:
    return Answers(model)


MASKS = "Transformers 4 makes the masks of batches on the default device of torch"


def check_in(state: str, names: list[str], answers: Answers) -> None:
    """Assert that calls answer the same in a state, and after it."""
    if state == "pandas strings":
        pytest.importorskip("pyarrow")
    if state in ("device block", "default device") and zoo.TRANSFORMERS_4:
        pytest.skip(MASKS)
    wrong = []
    for name in names:
        usual = answers.usual(name)
        tolerance = ROUNDING_OF_THREADS if state == "two threads" else TOLERANCE
        with STATES[state]():
            try:
                check_same(answers.now(name), usual, tolerance)
            except Exception as error:
                wrong.append(f"{name}: {type(error).__name__}: {error}")
    for name in names[:2]:
        check_same(answers.now(name), answers.usual(name))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("state", [state for state in STATES if state != "two threads"])
def test_main_calls_answer_the_same_in(state: str, answers: Answers) -> None:
    check_in(state, list(MAIN), answers)


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_further_calls_answer_the_same_in(state: str, answers: Answers) -> None:
    further = [name for name in CALLS if state == "two threads" or name not in MAIN]
    check_in(state, further, answers)


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_maps_have_the_precision_of_products_that_the_model_has(
    precision: str, model: AttentionModel
) -> None:
    """What a lower precision changes depends on the processor: nothing, or from 1e-6 to 1e-2."""
    text = "The captain told his men. " * 8
    eager = copy.deepcopy(model.hf_model)
    eager.set_attn_implementation("eager")
    inputs = model.tokenizer(text, return_tensors="pt")

    def own_maps() -> np.ndarray:
        with torch.no_grad():
            return torch.cat(eager(**inputs, output_attentions=True).attentions).numpy()

    usual = own_maps()
    before = torch.get_float32_matmul_precision()
    with setting(torch.set_float32_matmul_precision, precision, before):
        own = own_maps()
        maps = model.attend(text).weights()
    # Two passes may round to two sides of the numbers of a higher precision.
    rounding = 2 * np.abs(own - usual).max()
    np.testing.assert_allclose(maps, own, rtol=0, atol=3e-6 + rounding)


class _FollowsDefaults(TorchDispatchMode):
    """Notes the lines of this package that make tensors of a default dtype or on meta."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.lines: set[str] = set()
        self._dtype = dtype

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        for value in output if isinstance(output, (tuple, list)) else [output]:
            if isinstance(value, Tensor) and (value.dtype == self._dtype or value.is_meta):
                self._note(sys._getframe(1))
        return output

    def _note(self, frame: Any) -> None:
        while frame is not None:
            path = frame.f_code.co_filename
            if "transformers" in path:
                return  # transformers makes models on meta, and then reads their weights
            if PACKAGE in path and f"{os.sep}tests{os.sep}" not in path:
                self.lines.add(f"{path.rpartition(PACKAGE)[2]}:{frame.f_lineno}")
                return
            frame = frame.f_back


@pytest.mark.skipif(zoo.TRANSFORMERS_4, reason=MASKS)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in MAIN else pytest.mark.slow) for n in CALLS]
)
def test_no_tensor_follows_the_defaults_of_torch(name: str, answers: Answers) -> None:
    answers.usual(name)
    watch = _FollowsDefaults(torch.bfloat16)
    with default_dtype(torch.bfloat16), torch.device("meta"), watch:
        answers.now(name)
    assert not watch.lines


@pytest.mark.parametrize(
    "state",
    ["default dtype bfloat16", "device block", "default device", "inference mode", "autocast"],
)
def test_a_model_loaded_in_a_state_is_the_same_model(
    state: str, model: AttentionModel, tmp_path: Path
) -> None:
    model.hf_model.save_pretrained(tmp_path)
    model.tokenizer.save_pretrained(tmp_path)
    usual = model.attend(MASKED, loss="masked").gradients(1, 2)
    for source in (None, tmp_path):
        with STATES[state]():
            loaded = load_model(source, device="cpu")
        for weight in loaded.hf_model.parameters():
            assert weight.dtype == torch.float32 and not weight.is_inference()
        check_same(loaded.attend(MASKED, loss="masked").gradients(1, 2), usual)


def test_an_attention_made_in_inference_mode_can_be_used_after_it(model: AttentionModel) -> None:
    usual = model.attend(MASKED, loss="masked")
    with torch.inference_mode():
        attention = model.attend(MASKED, loss="masked")
        inside = attention.weights(3, 1)
    check_same(inside, usual.weights(3, 1))
    check_same(attention.norms(2, 8), usual.norms(2, 8))
    check_same(attention.gradients(2, 8), usual.gradients(2, 8))
    without = [one.disabled([(1, 3)]).weights(4, 0) for one in (attention, usual)]
    check_same(*without)


def test_inputs_made_in_inference_mode_are_differentiated(model: AttentionModel) -> None:
    ids = model.tokenizer(MASKED, return_tensors="pt").input_ids
    with torch.inference_mode():
        inputs = {"input_ids": ids.clone()}
    assert inputs["input_ids"].is_inference()
    usual = model.attend({"input_ids": ids}, loss="masked")
    check_same(model.attend(inputs, loss="masked").gradients(2, 8), usual.gradients(2, 8))


def test_lists_of_floats_are_not_rounded_to_the_default_dtype(model: AttentionModel) -> None:
    vectors = np.random.default_rng(0).normal(size=(5, model.hf_model.config.hidden_size))
    usual = model.attend({"inputs_embeds": torch.tensor(vectors[None])}).weights()
    with default_dtype(torch.float16), torch.device("meta"):
        now = model.attend({"inputs_embeds": vectors[None].tolist()}).weights()
    check_same(now, usual)


def test_modes_of_the_caller_are_back_after_a_call(model: AttentionModel) -> None:
    attention = model.attend(MASKED)
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        for _, rows in attention.row_blocks(2):
            assert rows.dtype == torch.float32
            assert torch.is_autocast_enabled("cpu") and not torch.is_grad_enabled()
        HeadView(attention, 2, 8).close()
        with pytest.raises(ValueError, match=naming("head 99", "'self'")):
            attention.disabled([(0, 99)])
        with model.disabled([(1, 2)], method="mean", reference=MASKED):
            assert torch.is_autocast_enabled("cpu") and not torch.is_grad_enabled()
        assert torch.is_autocast_enabled("cpu") and not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_a_model_that_needs_autocast_is_refused_with_advice_that_works() -> None:
    config = transformers.GPT2Config(n_layer=1, n_head=2, n_embd=16, vocab_size=30)
    hf_model = transformers.GPT2LMHeadModel(config)
    hf_model.transformer.h[0].mlp.to(torch.bfloat16)
    inputs = {"input_ids": torch.tensor([[1, 2, 3]])}
    model = load_model(hf_model)
    with torch.autocast("cpu", torch.bfloat16):
        hf_model(**inputs)
        with pytest.raises(
            RuntimeError, match=naming("torch.autocast", "load_model(model, tokenizer, dtype=")
        ):
            model.attend(inputs)
        model = load_model(hf_model, dtype=torch.float32)
        assert model.attend(inputs).weights().shape == (1, 2, 3, 3)


def test_calls_leave_the_state_of_the_process_as_it_was(answers: Answers) -> None:
    def state() -> dict[str, Any]:
        return {
            "default dtype": torch.get_default_dtype(),
            "gradients": torch.is_grad_enabled(),
            "threads": torch.get_num_threads(),
            "random numbers of torch": torch.get_rng_state().tolist(),
            "random numbers of numpy": str(np.random.get_state()),
            "random numbers of Python": random.getstate(),
            "errors of numpy": np.geterr(),
            "filters of warnings": list(warnings.filters),
            "folder": Path.cwd(),
            "environment": dict(os.environ),
            "locale": locale.setlocale(locale.LC_ALL),
        }

    for name in MAIN:
        before = state()
        answers.now(name)
        after = state()
        assert {n for n in before if after[n] != before[n]} == set(), name


def test_a_model_from_a_relative_folder_outlives_a_change_of_folder(
    model: AttentionModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.hf_model.save_pretrained(tmp_path / "mine")
    model.tokenizer.save_pretrained(tmp_path / "mine")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    loaded = load_model("mine", device="cpu")
    attention = loaded.attend(MASKED)
    monkeypatch.chdir(tmp_path / "elsewhere")
    check_same(loaded.attend(MASKED).weights(), attention.weights())
    usual = model.attend(MASKED).disabled([(1, 2)])
    check_same(attention.disabled([(1, 2)]).weights(5), usual.weights(5))
    assert loaded._load_again is not None
    check_same(loaded._load_again().attend(MASKED).weights(), attention.weights())
