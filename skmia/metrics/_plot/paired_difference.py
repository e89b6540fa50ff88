"""Differences between attacks on the same victims."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import pandas as pd
from numpy.typing import ArrayLike

from ..._core.checks import check_option
from ..._core.drawing import COLORS, GRAY, get_axes, thin_spines
from .._paired import PairedDifference, paired_difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PairedDifferenceDisplay:
    """Differences of several attacks to one of them, with confidence intervals.

    It is recommended to use :meth:`from_predictions`.

    Parameters
    ----------
    differences : dict of str to PairedDifference
        Differences to the reference by attack.
    reference : str
        Name of the attack that they are compared with.
    metric : str, default="AUC"
        Name of the number that is compared.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the figure.
    figure_ : matplotlib Figure
        Figure containing it.

    See Also
    --------
    paired_difference : Compute a single difference.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.metrics import PairedDifferenceDisplay
    >>> rng = np.random.default_rng(0)
    >>> membership = np.arange(1000) % 2
    >>> scores = {name: membership + rng.normal(size=1000) for name in ("loss", "RMIA")}
    >>> display = PairedDifferenceDisplay.from_predictions(membership, scores, reference="loss")
    >>> display.frame()["attack"].tolist()
    ['RMIA']
    """

    def __init__(
        self,
        differences: Mapping[str, PairedDifference],
        reference: str,
        *,
        metric: str = "AUC",
    ) -> None:
        self.differences = differences
        self.reference = reference
        self.metric = metric

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike | Sequence[ArrayLike],
        y_scores: Mapping[str, ArrayLike | Sequence[ArrayLike]],
        reference: str,
        *,
        max_fpr: float | None = None,
        groups: ArrayLike | None = None,
        confidence_level: float = 0.95,
        ax: "Axes | None" = None,
    ) -> Self:
        """Compare the scores of several attacks and draw the differences.

        Parameters
        ----------
        y_true : array-like of shape (n,), or sequence of such arrays
            Membership, as for :func:`paired_difference`.
        y_scores : dict of str to array-like
            Scores by attack, each as for :func:`paired_difference`.
        reference : str
            The attack that the others are compared with.
        max_fpr : float, default=None
            As for :func:`paired_difference`.
        groups : array-like of shape (n,), default=None
            Person of each record of a single victim, as for :func:`paired_difference`.
        confidence_level : float, default=0.95
            Confidence level of each interval.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        Returns
        -------
        display : PairedDifferenceDisplay
        """
        check_option(reference, "reference", list(y_scores))
        settings = {"max_fpr": max_fpr, "groups": groups, "confidence_level": confidence_level}
        differences = {
            name: paired_difference(y_true, scores, y_scores[reference], **settings)
            for name, scores in y_scores.items()
            if name != reference
        }
        metric = "AUC" if max_fpr is None else f"TPR at {100 * max_fpr:g}% FPR"
        return cls(differences, reference, metric=metric).plot(ax=ax)

    def frame(self) -> pd.DataFrame:
        """Return the data of the figure.

        Returns
        -------
        frame : DataFrame of shape (n_attacks, 6)
            ``attack``, ``estimate``, ``low``, ``high``, ``standard_error`` and ``pvalue``.
        """
        names = ["estimate", "low", "high", "standard_error", "pvalue"]
        rows = [
            [attack, *(getattr(difference, name) for name in names)]
            for attack, difference in self.differences.items()
        ]
        return pd.DataFrame(rows, columns=["attack", *names])

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        Returns
        -------
        display : PairedDifferenceDisplay
        """
        ax, frame = get_axes(ax), self.frame()
        places = range(len(frame))[::-1]
        away = [frame["estimate"] - frame["low"], frame["high"] - frame["estimate"]]
        ax.axvline(0, color=GRAY, lw=0.8)
        ax.errorbar(frame["estimate"], places, xerr=away, fmt="o", ms=5, capsize=2, color=COLORS[0])
        ax.set_yticks(places, frame["attack"])
        ax.set_ylim(-0.5, len(frame) - 0.5)
        ax.set_xlabel(f"{self.metric} minus that of {self.reference}")
        thin_spines(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
