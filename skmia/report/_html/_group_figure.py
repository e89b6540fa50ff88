"""Drawing of the AUCs of groups as dots with intervals."""

from ..._core.visible import visible
from ._axes import Scale

_WIDTH, _LEFT, _RIGHT = 640, 190, 16
_ROW, _TOP, _BOTTOM = 26, 8, 44
_LONGEST_NAME = 24


def draw_groups(rows):
    """Compute the drawing of a dot and an interval for each group.

    Parameters
    ----------
    rows : list of dict
        ``group`` and the AUC ``estimate`` with its limits ``low`` and ``high``.

    Returns
    -------
    drawing : dict or None
        Sizes, ticks and positions in units of the drawing; None for fewer than two groups.
    """
    if len(rows) < 2:
        return None
    low = min(0.5, *(row["low"] for row in rows))
    high = max(0.5, *(row["high"] for row in rows))
    scale = Scale(low, high, _LEFT, _WIDTH - _RIGHT)
    bottom = _TOP + _ROW * len(rows)
    return {
        "width": _WIDTH,
        "height": bottom + _BOTTOM,
        "left": _LEFT,
        "right": _WIDTH - _RIGHT,
        "top": _TOP,
        "bottom": bottom,
        "ticks": scale.ticks(),
        "chance": scale(0.5),
        "dots": [
            {
                "name": _shorten(visible(row["group"])),
                "y": _TOP + _ROW * (place + 0.5),
                "x": scale(row["estimate"]),
                "low": scale(row["low"]),
                "high": scale(row["high"]),
            }
            for place, row in enumerate(rows)
        ],
    }


def _shorten(name):
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
