"""The ROC curve of membership inference on logarithmic axes."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.metrics import auc

from .._core.drawing import add_legend, attack_scores, get_axes, gray, next_style, shade, thin_frame
from .._core.metric_inputs import (
    check_confidence_level,
    check_judged,
    check_membership_scores,
    check_pos_label,
    check_rate,
)
from .._core.numbers import show
from .._core.records import Records
from .._core.types import ArrayLike
from ._intervals import number_side_people, split_people, thinned_sizes
from ._membership import MIN_FALSE_POSITIVES, check_resolution, point_at_fpr
from ._operating_point import tpr_limits
from ._ranks import count_points, realizable_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLE = "ROC of membership inference"
_CHANCE = "chance: TPR = FPR"


def _label_axes(ax, x_floor, y_floor, n_members, n_nonmembers, despine):
    """Label the axes and make them logarithmic, down to the floors or those of earlier curves."""
    if ax.get_xscale() == "log":
        x_floor, y_floor = min(x_floor, ax.get_xlim()[0]), min(y_floor, ax.get_ylim()[0])
    title = f"{_TITLE}\n{n_members:,} members, {n_nonmembers:,} non-members"
    former = ax.get_title()
    if former.startswith(_TITLE) and former != title:
        title = _TITLE  # of other records
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(x_floor, 1),
        ylim=(y_floor, 1),
        xlabel=f"False positive rate (≥ {MIN_FALSE_POSITIVES} records)",
        ylabel="True positive rate",
    )
    ax.set_title(title, fontsize="medium")
    for axis, floor in ((ax.xaxis, x_floor), (ax.yaxis, y_floor)):
        decades = 10.0 ** np.arange(np.ceil(np.log10(3 * floor) - 1e-9), 1)
        ticks = [floor, *decades]
        axis.set_minor_formatter("")
        axis.set_ticks(ticks, labels=[f"{rate:.2g}" for rate in ticks])
    thin_frame(ax, grid="both", despine=despine)


# A curve of more points than these keeps about so many, evenly on linear and on logarithmic axes:
# neighbors then differ by less than a tenth of a percent, which no figure shows.
_MOST_POINTS = 200_000


def compute_attack_curves(y_true, named, groups, judged):
    """Compute the ROC curve of each attack."""
    curves, sizes, counts = {}, {}, {}
    for key, each in named.items():
        membership, scores = check_membership_scores(y_true, each)
        people = number_side_people(groups, len(membership))
        n_members, n_nonmembers = int(membership.sum()), int((~membership).sum())
        masks = check_judged(judged, named, len(membership))
        if masks is not None:
            rows = masks[key]
            membership, scores = check_membership_scores(membership[rows], scores[rows])
            people = None if people is None else people[rows]
        sides = split_people(people, membership)
        curves[key] = _thin_curve(realizable_points(membership, scores))
        sizes[key] = thinned_sizes(scores, membership, sides, curves[key][2])
        counts[key] = tuple(side.n_rows for side in sides)
    totals = {"n_members": n_members, "n_nonmembers": n_nonmembers}
    return {"curves": curves, "sizes": sizes, "counts": counts, **totals}


def _thin_curve(curve):
    """Keep some of the points of a very long curve, among them the first and the last."""
    n_points = len(curve[0])
    if n_points <= _MOST_POINTS:
        return curve
    n_each = _MOST_POINTS // 4
    places = [np.arange(n_each), np.linspace(0, n_points - 1, n_each).astype(np.intp)]
    for rates in curve[:2]:
        wanted = np.geomspace(rates[rates > 0][0], 1, n_each)
        places.append(np.searchsorted(rates, wanted, side="right") - 1)
    kept = np.unique(np.concatenate(places))
    return tuple(values[kept] for values in curve)


# Maximum number of rates at which limits are computed.
_MOST_RATES = 200


def _by_name(value, name):
    """Return a single value or a mapping of named values as a dict."""
    if not isinstance(value, Mapping):
        return {name: value}
    if not value:
        raise ValueError("a mapping of attacks must hold at least one; got an empty one.")
    if name is not None:
        raise ValueError(f"name must be None if the keys of a mapping are names; got {show(name)}.")
    return dict(value)


def _share_style(styles, n_curves):
    """Return the style of each curve, of one for all or one for each."""
    if styles is None or isinstance(styles, Mapping):
        return [dict(styles or {})] * n_curves
    styles = list(map(dict, styles))
    if len(styles) != n_curves:
        raise ValueError(
            f"curve_kwargs must be one dict, or one for each of {n_curves} curves; got "
            f"{len(styles)}."
        )
    return styles


class MembershipRocDisplay:
    """ROC curves of one or several membership attacks on logarithmic axes.

    At x, a curve shows the largest TPR that a threshold reaches with an FPR of at most x: a
    staircase, like :func:`~skmia.metrics.tpr_at_fpr_score` without interpolation. Curves, bands and
    axes begin at the rate of 10 false positives; lower rates cannot be resolved. If people have
    several records, these are 10 independent ones, as in
    :func:`~skmia.metrics.operating_point`.

    Several displays can be drawn on the same axes: each curve has its own color and dashes, and
    what the curves share is in the legend once. The legend is below the axes, in figures without a
    layout engine as well, unless nothing can be moved there.

    The band is pointwise: at each FPR it is the interval of
    :func:`~skmia.metrics.operating_point` for the TPR at this one rate, which takes into account
    that the threshold is estimated. It is not a band for the curve as a whole.

    If a curve has more than 200,000 points, :meth:`from_estimator` and :meth:`from_predictions`
    keep at most 200,000 of them, evenly spaced on linear and logarithmic axes.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    curves : dict
        Name (or None for a curve without name) -> ``(fpr, tpr, thresholds)`` as given by
        :func:`~skmia.metrics.membership_roc_curve`.
    n_members, n_nonmembers : int
        Numbers of records behind the rates.
    sizes : dict, default=None
        Name -> effective numbers of independent members and non-members at each threshold, as
        computed by :meth:`from_predictions` if people have several records. If None, all records
        are independent.
    counts : dict, default=None
        Name -> numbers of members and non-members behind a curve, if an attack cannot judge all of
        them. If None, all curves are computed on the same records.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the curves.
    figure_ : matplotlib Figure
        Figure containing the curves.
    lines_ : dict of matplotlib Line2D
        Name -> curve.
    bands_ : dict of matplotlib PolyCollection
        Name -> confidence band; empty without bands.

    See Also
    --------
    skmia.metrics.membership_roc_curve : The numbers behind the curve.
    ScoreDistributionDisplay : Histograms of the scores themselves.

    References
    ----------
    .. [1] Carlini, N., Chien, S., Nasr, M., Song, S., Terzis, A. and Tramer, F. (2022).
           Membership Inference Attacks From First Principles. IEEE S&P.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.metrics import MembershipRocDisplay
    >>> rng = np.random.default_rng(0)
    >>> membership = np.repeat([1, 0], 2000)
    >>> scores = {shift: rng.normal(size=4000) + shift * membership for shift in (0.5, 1.5)}
    >>> display = MembershipRocDisplay.from_predictions(
    ...     membership, {"weak": scores[0.5], "strong": scores[1.5]}
    ... )
    >>> sorted(display.lines_)
    ['strong', 'weak']
    """

    def __init__(
        self,
        *,
        curves: dict,
        n_members: int,
        n_nonmembers: int,
        sizes: dict | None = None,
        counts: dict | None = None,
    ) -> None:
        self.curves = curves
        self.n_members = n_members
        self.n_nonmembers = n_nonmembers
        self.sizes = sizes
        self.counts = counts

    @classmethod
    def from_estimator(
        cls,
        attack: BaseEstimator | Mapping[str, BaseEstimator],
        records: Records | ArrayLike,
        membership: ArrayLike,
        *,
        pos_label: Any = None,
        name: str | None = None,
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the curves of fitted attacks.

        Parameters
        ----------
        attack : estimator or mapping of str to estimator
            One fitted attack, or several with their names. Their `decision_function` is used, or
            `predict_proba` if they have none. Records that an attack cannot judge, see
            :meth:`~skmia.base.BaseAttack.can_judge`, are left out of its curve.
        records : Records or array-like
            Input of the attacks. The field ``group_by``, if present, says to whom each record
            belongs, see `groups` of :meth:`from_predictions`.
        membership : array-like of shape (n_records,)
            1 or True for members, 0 or False for non-members.
        pos_label : int, float, bool or str, default=None
            Value of `membership` that members have, if it has others than 0 and 1. If it is the
            first of the two ``classes_`` of a classifier, its scores are turned round.
        name : str, default=None
            Name of a single attack. If None, its class name is used.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : MembershipRocDisplay

        Raises
        ------
        TypeError
            If an attack has neither `decision_function` nor `predict_proba`.
        """
        if name is None and not isinstance(attack, Mapping):
            name = type(attack).__name__
        attacks = _by_name(attack, name)
        found = {key: attack_scores(each, records, pos_label) for key, each in attacks.items()}
        scores = {key: each for key, (each, _, _) in found.items()}
        judged = {key: each for key, (_, _, each) in found.items()}
        groups = getattr(records, "fields", {}).get("group_by")
        given = {"groups": groups, "judged": judged, "pos_label": pos_label}
        return cls.from_predictions(membership, scores, **given, ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike | Mapping[str, ArrayLike],
        *,
        groups: ArrayLike | None = None,
        judged: Mapping[str, ArrayLike] | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the curves of given scores.

        Parameters
        ----------
        y_true : array-like of shape (n_records,)
            Membership: 1 or True for members, 0 or False for non-members.
        y_score : array-like of shape (n_records,) or mapping of str to array-like
            Finite scores; higher means more likely a member. A mapping holds the scores of several
            attacks for the same records.
        groups : array-like of shape (n_records,), default=None
            Person of each record. If None, all records are independent.
        judged : mapping of str to array-like of shape (n_records,), default=None
            For each curve, by name, which records the attack can judge; the others are left out of
            its curve. If None, all records are drawn.
        pos_label : int, float, bool or str, default=None
            Value of `y_true` that members have, if it has others than 0 and 1.
        name : str, default=None
            Name of a single curve.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : MembershipRocDisplay

        Raises
        ------
        ValueError
            If `y_true`, scores or `groups` are not what the metrics take, a mapping is empty, or an
            attack can judge only members or only non-members.
        """
        y_true = check_pos_label(y_true, pos_label)
        display = cls(**compute_attack_curves(y_true, _by_name(y_score, name), groups, judged))
        return display.plot(ax=ax, **kwargs)

    def frame(self, *, confidence_level: float = 0.95) -> pd.DataFrame:
        """Tabulate the corners of the staircases with intervals, without any cut at zero.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Confidence level of each TPR's interval, see :func:`~skmia.metrics.operating_point`.

        Returns
        -------
        frame : DataFrame
            One row per curve and FPR: ``name``, ``fpr``, ``tpr`` (the largest at that FPR),
            ``threshold``, ``tpr_low``, ``tpr_high``; rates are fractions. Limits are interpolated
            if there are more than a few hundred rates.
        """
        parts = []
        for name in self.curves:
            corners = self._corners(name)
            rates = corners["fpr"].to_numpy()
            some = np.unique(np.linspace(0, len(rates) - 1, _MOST_RATES).astype(int))
            limits = self._limits(name, rates[some], confidence_level)
            low, high = (np.interp(rates, rates[some], limit) for limit in limits)
            low, high = np.minimum(low, corners["tpr"]), np.maximum(high, corners["tpr"])
            parts.append(corners.assign(tpr_low=low, tpr_high=high))
        return pd.concat(parts, ignore_index=True)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        max_fpr: float = 0.01,
        confidence_level: float | None = 0.95,
        curve_kwargs: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        plot_chance_level: bool = True,
        chance_level_kw: Mapping[str, Any] | None = None,
        despine: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        max_fpr : float, default=0.01
            False positive rate at which the legend reports the TPR; the realized point is marked if
            10 false positives support the rate.
        confidence_level : float or None, default=0.95
            Confidence level of the pointwise band of the TPR. If None, no band is drawn.
        curve_kwargs : mapping or sequence of mappings, default=None
            Passed to the `plot` function of matplotlib: one mapping for all curves, or one for each
            of them.
        plot_chance_level : bool, default=True
            Whether to draw the line TPR = FPR.
        chance_level_kw : mapping, default=None
            Passed to the `plot` function of matplotlib for this line.
        despine : bool, default=True
            Whether to leave out the upper and the right side of the frame.
        **kwargs : dict
            The same as `curve_kwargs` for all curves.

        Returns
        -------
        display : MembershipRocDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        check_rate(max_fpr, "max_fpr")
        if confidence_level is not None:
            check_confidence_level(confidence_level)
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        self.lines_, self.bands_ = {}, {}
        styles = _share_style(curve_kwargs, len(self.curves))
        for name, own in zip(self.curves, styles, strict=True):
            style = next_style(self.ax_) | {"drawstyle": "steps-post", "linewidth": 1.8}
            style |= {"label": self._label(name, max_fpr)}
            self._draw_curve(name, style | kwargs | own)
            if confidence_level is not None:
                self._draw_band(name, confidence_level)
        if plot_chance_level and _CHANCE not in self.ax_.get_legend_handles_labels()[1]:
            style = {"color": gray(self.ax_), "linestyle": ":", "linewidth": 1.2, "zorder": 1.5}
            style |= {"label": _CHANCE} | dict(chance_level_kw or {})
            self.ax_.plot([1e-9, 1], [1e-9, 1], **style)  # straight at any limits
        x_floor = min(0.1, *map(self._begin, self.curves))
        y_floor = max(x_floor, 0.5 / self.n_members)
        sizes = self.n_members, self.n_nonmembers
        _label_axes(self.ax_, x_floor, min(y_floor, 0.1), *sizes, despine)
        for name in self.curves:
            self._mark_point(name, max_fpr)
        if all(self._begin(name) == 1 for name in self.curves):
            most = f"{MIN_FALSE_POSITIVES} independent non-members"
            note = f"No rate can be resolved: there are at most\n{most}."
            self.ax_.text(0.05, 0.95, note, transform=self.ax_.transAxes, va="top")
        add_legend(self.ax_, last=("pointwise", _CHANCE))
        return self

    def _corners(self, name):
        fpr, tpr, thresholds = self.curves[name]
        last = np.append(np.diff(fpr) > 0, True)
        columns = {"fpr": fpr[last], "tpr": tpr[last], "threshold": thresholds[last]}
        return pd.DataFrame({"name": name, **columns})

    def _limits(self, name, rates, confidence_level):
        tail = (1 - check_confidence_level(confidence_level)) / 2
        fpr, tpr, _ = self.curves[name]
        sizes = None
        if self.sizes is not None:
            sizes = [size.take(point_at_fpr(fpr, rates)) for size in self.sizes[name]]
        counts = count_points(fpr, tpr, *self._count(name))
        return tpr_limits(counts, rates, tail, sizes=sizes)

    def _count(self, name):
        """Return the numbers of members and non-members behind a curve."""
        return (self.n_members, self.n_nonmembers) if self.counts is None else self.counts[name]

    def _worth(self, name):
        """Return how many independent non-members there are for the rate of each point.

        These are the ``n_nonmembers`` of :func:`operating_point` there, or between points at which
        ``thinned_sizes`` of ``_intervals.py`` computed them, interpolated.
        """
        fpr, n_nonmembers = self.curves[name][0], self._count(name)[1]
        if self.sizes is None:
            return np.full(len(fpr), n_nonmembers)
        return np.floor(self.sizes[name][1].values)

    def _begin(self, name):
        """Return the lowest rate that the records of a curve resolve."""
        fpr = self.curves[name][0]
        with np.errstate(divide="ignore"):
            lowest = np.maximum(MIN_FALSE_POSITIVES / self._worth(name), fpr)
        # A point is where the curve is until the FPR of the next one.
        resolved = lowest < np.append(fpr[1:], np.inf)
        return min(float(lowest[resolved].min(initial=1.0)), 1.0)

    def _is_resolvable(self, name, max_fpr):
        place = point_at_fpr(self.curves[name][0], max_fpr)
        return check_resolution(int(self._worth(name)[place]), max_fpr, "ignore")

    def _label(self, name, max_fpr):
        fpr, tpr, _ = self.curves[name]
        reached = f"TPR {tpr[point_at_fpr(fpr, max_fpr)]:.3g} at FPR ≤ {max_fpr:g}"
        if not self._is_resolvable(name, max_fpr):
            reached = f"TPR at FPR ≤ {max_fpr:g} not resolvable"
        numbers = f"AUC {auc(fpr, tpr):.3f}, {reached}"
        return numbers if name is None else f"{name}: {numbers}"

    def _draw_curve(self, name, style):
        begin, (fpr, tpr, _) = self._begin(name), self.curves[name]
        seen = self._corners(name).query("fpr > @begin")
        x, y = [begin, *seen["fpr"]], [tpr[point_at_fpr(fpr, begin)], *seen["tpr"]]
        (self.lines_[name],) = self.ax_.plot(x, y, **style)

    def _mark_point(self, name, max_fpr):
        fpr, tpr, _ = self.curves[name]
        index = point_at_fpr(fpr, max_fpr)
        if self._is_resolvable(name, max_fpr) and tpr[index] >= self.ax_.get_ylim()[0]:
            style = {"color": self.lines_[name].get_color(), "markersize": 7}
            style |= {"markeredgecolor": self.ax_.get_facecolor(), "clip_on": False, "zorder": 4}
            self.ax_.plot(max(fpr[index], self._begin(name)), tpr[index], "o", **style)

    def _draw_band(self, name, confidence_level):
        rates = np.geomspace(self._begin(name), 1, _MOST_RATES)
        low, high = self._limits(name, rates, confidence_level)
        style = {"color": self.lines_[name].get_color(), "alpha": shade(self.ax_), "linewidth": 0}
        style |= {"label": f"pointwise {100 * confidence_level:g}% interval of TPR", "zorder": 1.6}
        self.bands_[name] = self.ax_.fill_between(rates, low, high, **style)
