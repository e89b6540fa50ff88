"""Histograms of how far records stand out, by groups of records."""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .._core.asking import unwrap
from .._core.drawing import COLORS, GRAY, LINE_STYLES, get_axes, thin_spines
from .._core.groups import number_groups
from .._core.records import Records
from ..signals import Signal
from ._separation import record_separation


class RecordSeparationDisplay:
    """Histograms of the privacy scores of records, by groups of records.

    The privacy score of a record is how far shadow models that were trained on it are from others,
    see :func:`record_separation`. Heights are shares of each group, so groups of different size can
    be compared: for example records with wrong labels and the others, or classes.

    It is recommended to use :meth:`from_pool`.

    Parameters
    ----------
    separation : ndarray of shape (n,)
        Privacy score of each record, NaN where it is unknown.

    groups : ndarray of shape (n,), default=None
        Group of each record. If None, all records are in one group.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the histograms.

    figure_ : matplotlib Figure
        Figure containing them.

    See Also
    --------
    record_separation : Computes the scores.
    RecordSignalsDisplay : Shows the models of single records.

    References
    ----------
    Carlini, N., Chien, S., Nasr, M., Song, S., Terzis, A. and Tramer, F. (2022). Membership
    inference attacks from first principles. IEEE S&P. Figure 13.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.shadow import RecordSeparationDisplay
    >>> records, _ = make_membership_problem(200, random_state=0)
    >>> tree = DecisionTreeClassifier(max_depth=6)
    >>> pool = ShadowPool(tree, n_estimators=16, random_state=0).fit(records)
    >>> display = RecordSeparationDisplay.from_pool(pool, records, groups=records.y)
    >>> display.frame().columns.tolist()
    ['group', 'separation']
    """

    def __init__(self, *, separation: np.ndarray, groups: np.ndarray | None = None) -> None:
        self.separation = separation
        self.groups = groups

    @classmethod
    def from_pool(
        cls,
        pool: Any,
        records: Records,
        groups: ArrayLike | None = None,
        *,
        signal: str | tuple[str, float] | Signal = "auto",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the privacy scores of the records of a pool.

        Parameters
        ----------
        pool : ShadowPool
            Fitted pool, possibly frozen.

        records : Records of n records
            Records of the pool.

        groups : array-like of shape (n,), default=None
            Group of each record. If None, all records are in one group.

        signal : "auto", ("auto", temperature), str or Signal, default="auto"
            Signal that the pool stores.

        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : RecordSeparationDisplay

        Raises
        ------
        ValueError
            If there is not one group for each record.
        """
        away = record_separation(unwrap(pool), records, signal)
        if groups is not None:
            names, numbers = number_groups(groups, len(away), "groups")
            groups = names[numbers]
        return cls(separation=away, groups=groups).plot(ax=ax, **kwargs)

    def frame(self) -> pd.DataFrame:
        """Tabulate the scores.

        Returns
        -------
        frame : DataFrame
            One row for each record: ``group`` and ``separation``.
        """
        groups = "all" if self.groups is None else self.groups
        return pd.DataFrame({"group": groups, "separation": self.separation})

    def plot(self, ax: Any = None, *, bins: int | str = "auto", **kwargs: Any) -> Self:
        """Draw the histograms.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        bins : int or str, default="auto"
            As in :func:`numpy.histogram_bin_edges`, over all records.

        **kwargs : dict
            Passed to the `stairs` function of matplotlib for all groups.

        Returns
        -------
        display : RecordSeparationDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        ax = get_axes(ax)
        known = self.frame().dropna(subset="separation")
        edges = np.histogram_bin_edges(known["separation"], bins)
        for k, (group, rows) in enumerate(known.groupby("group", observed=True)):
            heights = np.histogram(rows["separation"], edges)[0] / len(rows)
            style = {
                "label": f"{group} ({len(rows)} records)",
                "color": COLORS[k % len(COLORS)],
                "linestyle": LINE_STYLES[k % len(LINE_STYLES)],
            }
            ax.stairs(heights, edges, **(style | kwargs))
        ax.set(xlabel="privacy score (separation)", ylabel="share of the records")
        ax.grid(axis="y", color=GRAY, alpha=0.2, linewidth=0.6)
        thin_spines(ax)
        if self.groups is not None:
            ax.legend(fontsize="small", framealpha=0.9)
        self.ax_, self.figure_ = ax, ax.figure
        return self
