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


@pytest.mark.slow
@pytest.mark.parametrize("model_type", a_twelfth(TODAY))
def test_maps_are_right_or_refused(model_type: str) -> None:
    quiet()
    result = sweep_apart(model_type)
    assert failures_of(result) == []
    assert result.outcome in ("equal", "refused", "not built")
