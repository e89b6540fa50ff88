"""Drawing of the AUC of an attack against the number of its shadow models."""

import math

from ._axes import Scale

_WIDTH, _HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 16, 52


def draw_power(power, auc):
    """Compute the drawing of the curve.

    Parameters
    ----------
    power : list of dict
        ``n_shadows``, ``auc``, ``sd``, in order of ``n_shadows``.
    auc : float
        AUC on the victim; NaN if it could not be measured.

    Returns
    -------
    drawing : dict or None
        Sizes, ticks and paths in units of the drawing; None for fewer than two points.
    """
    if len(power) < 2:
        return None
    spread = [row["sd"] or 0.0 for row in power]
    lows = [row["auc"] - sd for row, sd in zip(power, spread)]
    highs = [row["auc"] + sd for row, sd in zip(power, spread)]
    highs = [min(high, 1.0) for high in highs]
    own = [] if math.isnan(auc) else [auc]
    y = Scale(min(own + lows), max(own + highs), _HEIGHT - _BOTTOM, _TOP)
    sizes = [math.log2(row["n_shadows"]) for row in power]
    span = max(sizes) - min(sizes)
    xs = [_LEFT + 12 + (_WIDTH - _LEFT - _RIGHT - 24) * (s - min(sizes)) / span for s in sizes]
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
        "right": _WIDTH - _RIGHT,
        "top": _TOP,
        "bottom": _HEIGHT - _BOTTOM,
        "x_ticks": [(row["n_shadows"], x) for row, x in zip(power, xs)],
        "y_ticks": y.ticks(),
        "victim": y(auc) if own else None,
        "line": _join(xs, [y(row["auc"]) for row in power]),
        "band": _join(xs + xs[::-1], [y(high) for high in highs] + [y(low) for low in lows[::-1]]),
    }


def _join(xs, ys):
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys))
