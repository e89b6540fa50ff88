"""One sentence for each private part of another library that skmia uses."""

from contextlib import contextmanager

import pytest


@contextmanager
def moved(sentence):
    """Fail with a sentence, and nothing else, where the part is not what it was."""
    try:
        yield
    except (AssertionError, AttributeError, ImportError, TypeError, ValueError):
        pytest.fail(sentence, pytrace=False)
