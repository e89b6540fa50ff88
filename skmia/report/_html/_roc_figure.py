"""Drawing of the ROC curves."""

import math

# Colors are set by the style of the page, which has a light and a dark form; dashes distinguish the
# curves in print.
_DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4", "1 4")
_WIDTH, _HEIGHT = 640, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 52


class _Axes:
    """Two logarithmic axes from the same power of ten to 1."""

    def __init__(self, smallest):
        self.decades = max(1, math.ceil(-math.log10(smallest) - 1e-9))

    def _scale(self, rate):
        return 1 + max(math.log10(max(rate, 1e-300)), -self.decades) / self.decades

    def x(self, rate):
        return _LEFT + self._scale(rate) * (_WIDTH - _LEFT - _RIGHT)

    def y(self, rate):
        return _HEIGHT - _BOTTOM - self._scale(rate) * (_HEIGHT - _TOP - _BOTTOM)

    def points(self, fprs, tprs):
        return " ".join(f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(fprs, tprs))


def draw_roc(curves, resolvable):
    """Compute the drawing of the curves.

    Parameters
    ----------
    curves : list of dict
        ``attack``, ``fpr``, ``tpr``, ``low``, ``high``, as in the JSON document.
    resolvable : float
        Smallest false positive rate that the non-members resolve.

    Returns
    -------
    drawing : dict or None
        Sizes, ticks and paths in units of the drawing; None without curves.
    """
    if not curves:
        return None
    smallest = min(rate for curve in curves for rate in curve["fpr"] if rate > 0)
    axes = _Axes(smallest)
    rates = [10.0**-power for power in range(axes.decades + 1)]
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
        "right": _WIDTH - _RIGHT,
        "top": _TOP,
        "bottom": _HEIGHT - _BOTTOM,
        "ticks": [(f"{100 * rate:g}%", axes.x(rate), axes.y(rate)) for rate in rates],
        "unresolved": axes.x(min(1.0, resolvable)),
        "chance": axes.points([rates[-1], 1], [rates[-1], 1]),
        "lines": [
            {
                "name": curve["attack"],
                "number": number % 6,
                "dash": _DASHES[number % len(_DASHES)],
                "points": axes.points(curve["fpr"], curve["tpr"]),
                "band": axes.points(curve["fpr"], curve["high"])
                + " "
                + axes.points(curve["fpr"][::-1], curve["low"][::-1]),
            }
            for number, curve in enumerate(curves)
        ],
    }
