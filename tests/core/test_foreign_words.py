"""Messages of other packages lose what is for those who write the packages."""

import pytest

from skmia._core.foreign_words import describe_error, say_plainly


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (
            "[21:03:48] /workspace/src/data/data.cc:12: Invalid model format\nStack trace:\n"
            "  [bt] (0) /lib/libxgboost.so(+0x22dcbc) [0x7f1be27aab0d]",
            "Invalid model format",
        ),
        ("util/ysaveload.cpp:17: can not load pod type", "can not load pod type"),
        ("[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : No graph was found.", "No graph was found."),
        ("too large for dtype('float64').", "too large for type float64."),
        ("bad <function f at 0x7ff133ea4cc0>", "bad <function f >"),
        ("ufunc 'isnan' not supported for the input types, and", "text among numbers"),
        ("unhashable type: 'numpy.ndarray'", "unhashable type: 'array'"),
        ("Found array with\n  2 rows", "Found array with 2 rows"),
    ],
)
def test_what_is_left_of_a_message(text, plain):
    assert say_plainly(text) == plain


def test_sentences_of_this_package_stay_as_they_are():
    from skmia._core.query import check_victim

    with pytest.raises(TypeError) as caught:
        check_victim(lambda X: X)
    assert describe_error(caught.value) == str(caught.value)
    with pytest.raises(ValueError, match="convert") as caught:
        float("could not convert dtype('O')")
    assert "dtype" not in describe_error(caught.value)
