"""Tables of refusals: calls, and the words that each is refused with."""

import pytest


def parametrize_refusals(*rows):
    """Run a test with each row ``(call, words)``, or ``(call, words, error)`` for another class.

    The test takes ``call``, ``words`` and ``error``, and hands them to :func:`check_refusal`.
    """
    params = [
        pytest.param(call, words, *(error or [ValueError]), id=words)
        for call, words, *error in rows
    ]
    return pytest.mark.parametrize(("call", "words", "error"), params)


def check_refusal(call, words, error, *given):
    """Call with what is given; the error is of the class, and its one line matches the words."""
    with pytest.raises(error, match=words) as caught:
        call(*given)
    assert "\n" not in str(caught.value)
