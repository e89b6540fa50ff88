"""Logarithmic axes of rates, on which a rate of zero has a place, too."""

import numpy as np


def scale_axes(ax, x_floor, y_floor):
    """Make both axes logarithmic, from a floor that stands for zero up to 1.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to change.
    x_floor, y_floor : float
        Position of the rate 0 on each axis, below the smallest positive rate.
    """
    ax.set(xscale="log", yscale="log", xlim=(x_floor, 1), ylim=(y_floor, 1))
    for axis, floor in ((ax.xaxis, x_floor), (ax.yaxis, y_floor)):
        decades = 10.0 ** np.arange(np.ceil(np.log10(2 * floor) - 1e-9), 1)
        axis.set_minor_formatter("")
        axis.set_ticks([floor, *decades], labels=["0", *(f"{rate:g}" for rate in decades)])
