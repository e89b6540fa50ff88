"""Histograms of the signals of shadow models for single records."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._core.drawing import COLORS, add_legend, get_axes, ink, next_style, thin_frame
from .._core.groups import number_groups
from .._core.moments import compute_both_moments
from .._core.optional import import_optional
from .._core.query import unwrap
from .._core.records import Records
from .._core.types import ArrayLike
from .._core.validation import check_records
from ..signals import Signal

_BLOCK = 10_000  # records that are read at once


def record_separation(
    pool: Any, records: Records, signal: str | tuple[str, float] | Signal = "auto"
) -> np.ndarray:
    r"""Distance between the signals of IN and of OUT models, in their standard deviations.

    It measures the exposure of a record by a training procedure, without a victim: if the signals
    are normal, a threshold halfway between the two means errs with the probability that a standard
    normal variable exceeds the separation. Its absolute value is the privacy score of Carlini et
    al. (2022).

    Parameters
    ----------
    pool : ShadowPool
        Fitted pool.
    records : Records of n records
        Records of the pool.
    signal : "auto", ("auto", temperature), str or Signal, default="auto"
        Signal that the pool stores.

    Returns
    -------
    separation : ndarray of shape (n,)
        :math:`(\mu_{in} - \mu_{out}) / (\sigma_{in} + \sigma_{out})`, the mean over the queries of
        a pool with augmentations; negative where models with the record have the lower signal. NaN
        for records with fewer than two models on a side.

    See Also
    --------
    RecordSeparationDisplay : Histograms of the distances of all records, by groups.
    RecordSignalsDisplay : Shows these signals for a few records.
    skmia.leakage.LeaveOneOutLeakage : Leakage of records from one fit.

    Notes
    -----
    The estimate is uncertain with few models: with 8 models, the largest values among many records
    are too large. Use it to compare records. Standard deviations are at least 1e-6.

    References
    ----------
    Carlini, N., Chien, S., Nasr, M., Song, S., Terzis, A. and Tramer, F. (2022). Membership
    inference attacks from first principles. IEEE S&P.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.shadow import record_separation
    >>> records, _ = make_membership_problem(200, random_state=0)
    >>> tree = DecisionTreeClassifier(max_depth=6)
    >>> pool = ShadowPool(tree, n_estimators=16, random_state=0).fit(records)
    >>> away = record_separation(pool, records)
    >>> away.shape, bool(away.mean() > 0)
    ((200,), True)
    """
    pool = unwrap(pool)
    check_is_fitted(pool)
    found = np.empty(len(check_records(records)))
    for rows, values, inside, _ in pool.blocks(records, _BLOCK, signal):
        into, out = compute_both_moments(values, inside, ~inside)
        with np.errstate(divide="ignore", invalid="ignore"):
            away = (into.mean - out.mean) / (np.sqrt(into.variance) + np.sqrt(out.variance))
        away[..., np.minimum(into.count, out.count) < 2] = np.nan
        found[rows] = away.mean(axis=0)
    return found


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
            Fitted pool.

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

    def plot(
        self,
        ax: Any = None,
        *,
        bins: int | str = "auto",
        curve_kwargs: Mapping[str, Any] | None = None,
        despine: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the histograms.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.

        bins : int or str, default="auto"
            As in :func:`numpy.histogram_bin_edges`, over all records.

        curve_kwargs : mapping, default=None
            Passed to the `stairs` function of matplotlib for all groups.

        despine : bool, default=True
            Whether to leave out the upper and the right side of the frame.

        **kwargs : dict
            The same as `curve_kwargs`.

        Returns
        -------
        display : RecordSeparationDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        kwargs |= curve_kwargs or {}
        ax = get_axes(ax)
        known = self.frame().dropna(subset="separation")
        edges = np.histogram_bin_edges(known["separation"], bins)
        for group, rows in known.groupby("group", observed=True):
            heights = np.histogram(rows["separation"], edges)[0] / len(rows)
            style = next_style(ax) | {"label": f"{group} ({len(rows)} records)"}
            ax.stairs(heights, edges, **(style | kwargs))
        ax.set(xlabel="privacy score (separation)", ylabel="share of the records")
        thin_frame(ax, grid="y", despine=despine)
        if self.groups is not None:
            add_legend(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


_MOST = 24  # panels


class RecordSignalsDisplay:
    """Histograms of the signals of IN and OUT models for single records, with the victim.

    There is one panel for each record. If the two histograms overlap, the signal does not show
    whether the victim was trained on the record.

    It is recommended to use :meth:`from_pool`.

    Parameters
    ----------
    signals : ndarray of shape (n_records, n_estimators)
        Signals of the models.

    inside : ndarray of shape (n_records, n_estimators), dtype bool
        Which models were trained on which records.

    victim : ndarray of shape (n_records,), default=None
        Signals of the victim.

    names : sequence of str
        Title of each panel.

    signal_name : str
        Name of the signal.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Panels, in the order of the records.

    figure_ : matplotlib Figure
        Figure containing them.

    See Also
    --------
    record_separation : Distance between the two groups, for all records.

    References
    ----------
    Carlini, N., Chien, S., Nasr, M., Song, S., Terzis, A. and Tramer, F. (2022). Membership
    inference attacks from first principles. IEEE S&P.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from skmia import ShadowPool
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.shadow import RecordSignalsDisplay
    >>> records, membership = make_membership_problem(200, random_state=0)
    >>> tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    >>> members = records[membership == 1]
    >>> pool = ShadowPool(tree, n_estimators=16, random_state=0).fit(records)
    >>> victim = tree.fit(members.X, members.y)
    >>> display = RecordSignalsDisplay.from_pool(pool, records[[3, 5]], victim)
    >>> display.frame().groupby(["record", "group"]).size().tolist()
    [8, 8, 1, 8, 8, 1]
    """

    def __init__(
        self,
        *,
        signals: np.ndarray,
        inside: np.ndarray,
        victim: np.ndarray | None = None,
        names: list[str],
        signal_name: str,
    ) -> None:
        self.signals = signals
        self.inside = inside
        self.victim = victim
        self.names = names
        self.signal_name = signal_name

    @classmethod
    def from_pool(
        cls,
        pool: Any,
        records: Records,
        victim: BaseEstimator | None = None,
        *,
        signal: str | tuple[str, float] | Signal = "auto",
        names: list[str] | None = None,
        axes: "np.ndarray | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the signals of a pool.

        Parameters
        ----------
        pool : ShadowPool
            Fitted pool.

        records : Records of 1 to 24 records
            Records of the pool. Of augmentations, the first query is shown.

        victim : fitted estimator, default=None
            Model under attack. If None, the outputs that are stored with the records are used, if
            there are any.

        signal : "auto", ("auto", temperature), str or Signal, default="auto"
            Signal that the pool stores.

        names : sequence of str, default=None
            Title of each panel. If None, the field ``record_id`` or the position.

        axes : array-like of matplotlib Axes, default=None
            One for each record. If None, a new figure is created.

        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : RecordSignalsDisplay

        Raises
        ------
        ValueError
            If there are no or too many records, or a record is not in the pool.
        """
        pool = unwrap(pool)
        check_is_fitted(pool)
        n_records = len(check_records(records))
        if not 1 <= n_records <= _MOST:
            raise ValueError(
                f"RecordSignalsDisplay shows 1 to {_MOST} records; got {n_records}. Select some, "
                "for example records[:6]."
            )
        if names is None:
            names = [str(name) for name in records.fields.get("record_id", np.arange(n_records))]
        if len(names) != n_records:
            raise ValueError(f"names must hold one title for each of {n_records} records.")
        values = None
        if victim is not None or "outputs" in records.fields:
            values = pool.victim_values(victim, records, signal)[0]
        display = cls(
            signals=pool.values(records, signal)[0].T,
            inside=pool.membership(records),
            victim=values,
            names=list(names),
            signal_name=pool.locate_signal(signal).signal.name,
        )
        return display.plot(axes=axes, **kwargs)

    def frame(self) -> pd.DataFrame:
        """Tabulate the signals.

        Returns
        -------
        frame : DataFrame
            One row for each record and model: ``record`` (the title), ``group`` ("in", "out" or
            "victim") and ``signal``.
        """
        parts = []
        for k, name in enumerate(self.names):
            group = np.where(self.inside[k], "in", "out").tolist()
            signal = self.signals[k].tolist()
            if self.victim is not None:
                group, signal = [*group, "victim"], [*signal, float(self.victim[k])]
            parts.append(pd.DataFrame({"record": name, "group": group, "signal": signal}))
        return pd.concat(parts, ignore_index=True)

    def plot(
        self,
        axes: "np.ndarray | None" = None,
        *,
        bins: int | str = "auto",
        curve_kwargs: Mapping[str, Any] | None = None,
        despine: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the histograms.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            One for each record. If None, a new figure is created.

        bins : int or str, default="auto"
            As in :func:`numpy.histogram_bin_edges`, over all signals of a record.

        curve_kwargs : mapping, default=None
            Passed to the `hist` function of matplotlib for both groups.

        despine : bool, default=True
            Whether to leave out the upper and the right side of the frame.

        **kwargs : dict
            The same as `curve_kwargs`.

        Returns
        -------
        display : RecordSignalsDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        kwargs |= curve_kwargs or {}
        n_records = len(self.names)
        axes = _make_axes(n_records) if axes is None else np.ravel(axes)
        if len(axes) < n_records:
            raise ValueError(f"axes must hold one for each of {n_records} records.")
        self.axes_, self.figure_ = axes[:n_records], axes[0].figure
        for k, ax in enumerate(self.axes_):
            self._draw(ax, k, bins, kwargs, despine)
        # Of the panels in the lowest row, the first one.
        add_legend(min(self.axes_, key=lambda ax: tuple(ax.get_position().min.round(3)[::-1])))
        return self

    def _draw(self, ax, k, bins, settings, despine):
        edges = np.histogram_bin_edges(self.signals[k], bins)
        for label, side, color in (
            ("trained on it (IN)", self.inside[k], COLORS[0]),
            ("not trained on it (OUT)", ~self.inside[k], COLORS[1]),
        ):
            style = {"label": label, "color": color, "alpha": 0.6} | settings
            ax.hist(self.signals[k, side], edges, **style)
        if self.victim is not None:
            ax.axvline(self.victim[k], color=ink(ax), linestyle=":", label="the victim")
        ax.set_title(self.names[k], loc="left", fontsize="medium")
        ax.set(xlabel=self.signal_name, ylabel="models")
        thin_frame(ax, grid="y", despine=despine)


def _make_axes(n_records) -> "np.ndarray[Any, Any]":
    plt = import_optional("matplotlib.pyplot", extra="plot")
    n_columns = min(3, n_records)
    n_rows = -(-n_records // n_columns)
    size = (3.4 * n_columns + 0.4, 2.3 * n_rows + 0.4)
    grid = {"figsize": size, "layout": "constrained", "squeeze": False}
    figure, axes = plt.subplots(n_rows, n_columns, **grid)
    for ax in axes.ravel()[n_records:]:
        figure.delaxes(ax)
    return axes.ravel()
