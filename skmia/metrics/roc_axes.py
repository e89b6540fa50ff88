"""The axes of an ROC curve: logarithmic, with a place for a rate of zero."""

import numpy as np

from .._core.drawing import GRAY, thin_spines
from .resolution import MIN_FALSE_POSITIVES


def draw_background(ax, x_floor, y_floor, n_nonmembers, chance):
    """Draw the line of chance if it is wanted, and shade rates that cannot be resolved.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to draw on.
    x_floor, y_floor : float
        Position of the rate 0 on each axis.
    n_nonmembers : int
        Number of non-members.
    chance : bool
        Whether to draw the line TPR = FPR.
    """
    if chance:
        rates = np.geomspace(min(x_floor, y_floor), 1, 200)
        ax.plot(rates, rates, color=GRAY, linestyle=":", linewidth=1.2, label="chance: TPR = FPR")
    ax.axvspan(
        x_floor,
        min(MIN_FALSE_POSITIVES / n_nonmembers, 1.0),
        color=GRAY,
        alpha=0.12,
        linewidth=0,
        zorder=0,
        label=f"not resolvable: < {MIN_FALSE_POSITIVES} false positives",
    )


def label_axes(ax, x_floor, y_floor, n_members, n_nonmembers):
    """Label the axes and make them logarithmic, from a floor that stands for zero up to 1.

    Parameters
    ----------
    ax : matplotlib Axes
        Axes to change.
    x_floor, y_floor : float
        Position of the rate 0 on each axis, below the smallest positive rate.
    n_members, n_nonmembers : int
        Numbers of records behind the rates.
    """
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(x_floor, 1),
        ylim=(y_floor, 1),
        xlabel="False positive rate (fraction of non-members)",
        ylabel="True positive rate (fraction of members)",
        title=(
            "Membership inference: ROC on logarithmic axes\n"
            f"{n_members:,} members, {n_nonmembers:,} non-members"
        ),
    )
    for axis, floor in ((ax.xaxis, x_floor), (ax.yaxis, y_floor)):
        decades = 10.0 ** np.arange(np.ceil(np.log10(2 * floor) - 1e-9), 1)
        axis.set_minor_formatter("")
        axis.set_ticks([floor, *decades], labels=["0", *(f"{rate:g}" for rate in decades)])
    ax.grid(which="major", color=GRAY, alpha=0.2, linewidth=0.6)
    thin_spines(ax)
