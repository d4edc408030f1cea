"""The words of every tokenizer class that can be built here, by all ways in."""

from __future__ import annotations

import pytest
import transformers

from fixtures.vocabularies import MAKERS
from sweep.run import quiet

if int(transformers.__version__.partition(".")[0]) < 5:
    pytest.skip("the sweep covers the classes of transformers 5", allow_module_level=True)

# So that processes share the work. To list the classes takes seconds: the tests do it.
PARTS = 8


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_words_are_right_or_refused_by_all_ways_in(part: int) -> None:
    from sweep.small_tokenizers import tokenizer_classes
    from sweep.words import compare_words

    quiet()
    results = [compare_words(name) for name in [*MAKERS, *tokenizer_classes()][part::PARTS]]
    assert [result for result in results if result.outcome == "different"] == []
    assert all(result.reason for result in results if result.outcome != "equal")
    assert sum(result.outcome == "equal" for result in results) >= 6
