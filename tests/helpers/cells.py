"""Tables of cells of which a few run each time."""

import pytest


def slow_but(cells, *quick):
    """The cells; all but the quick ones are marked slow."""
    return [
        pytest.param(
            *(one if isinstance(one, tuple) else [one]),
            marks=[] if one in quick else pytest.mark.slow,
        )
        for one in cells
    ]
