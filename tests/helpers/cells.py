"""Tables of cells of which a few run each time."""

import pytest


def slow(*values):
    """Return a cell of these values that is marked slow."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_but(cells, *quick):
    """Return the cells; all but the quick ones are marked slow."""
    return [
        one if one in quick else slow(*(one if isinstance(one, tuple) else [one])) for one in cells
    ]
