"""A twelfth of all architectures, another one each day; `make sweep` compares all of them."""

from __future__ import annotations

import time

import pytest
import transformers

from sweep.architectures import a_twelfth
from sweep.run import failures_of, quiet, sweep_apart

if int(transformers.__version__.partition(".")[0]) < 5:
    pytest.skip("the sweep covers what transformers 5 registers", allow_module_level=True)

TODAY = int(time.strftime("%Y%m%d", time.gmtime()))


# So that processes share the work. To list the architectures takes seconds: the tests do it.
PARTS = 8


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_maps_are_right_or_refused(part: int) -> None:
    quiet()
    results = [sweep_apart(model_type) for model_type in a_twelfth(TODAY)[part::PARTS]]
    assert [failure for result in results for failure in failures_of(result)] == []
    assert {result.outcome for result in results} <= {"equal", "refused", "not built"}
