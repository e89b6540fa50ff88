"""Histograms of the scores that an attack gives to members and to non-members."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from .._core.drawing import COLORS, add_legend, attack_scores, get_axes, ink, thin_frame
from .._core.metric_inputs import check_membership_scores, check_pos_label
from .._core.numbers import check_number, show
from .._core.records import Records
from .._core.types import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ScoreDistributionDisplay:
    """Histograms of member and non-member scores over shared bins.

    Heights are fractions of each group, so groups of different size can be compared. The stronger
    the attack, the less the histograms overlap. With a threshold, the mass to its right is the TPR
    and the FPR, which the legend reports.

    It is recommended to use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    member_scores : ndarray of shape (n_members,)
        Scores of members, higher means more likely a member.
    nonmember_scores : ndarray of shape (n_nonmembers,)
        Scores of non-members.
    bin_edges : ndarray of shape (n_bins + 1,)
        Increasing edges of the bins of both histograms.
    threshold : float, default=None
        Records with at least this score are predicted as members. If None, no line is drawn.
    name : str, default=None
        Name of the attack.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the histograms.
    figure_ : matplotlib Figure
        Figure containing them.
    patches_ : dict of matplotlib StepPatch
        ``"member"`` and ``"non-member"``.
    threshold_line_ : matplotlib Line2D or None
        The line at `threshold`.

    See Also
    --------
    MembershipRocDisplay : The operating points that thresholds on the scores realize.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.metrics import ScoreDistributionDisplay
    >>> rng = np.random.default_rng(0)
    >>> membership = np.repeat([1, 0], 1000)
    >>> scores = rng.normal(size=2000) + membership
    >>> display = ScoreDistributionDisplay.from_predictions(membership, scores, threshold=1.5)
    >>> display.frame().groupby("group")["count"].sum().to_dict()
    {'member': 1000, 'non-member': 1000}
    """

    def __init__(
        self,
        *,
        member_scores: np.ndarray,
        nonmember_scores: np.ndarray,
        bin_edges: np.ndarray,
        threshold: float | None = None,
        name: str | None = None,
    ) -> None:
        self.member_scores = member_scores
        self.nonmember_scores = nonmember_scores
        self.bin_edges = bin_edges
        self.threshold = threshold
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        attack: BaseEstimator,
        records: Records | ArrayLike,
        membership: ArrayLike,
        *,
        pos_label: Any = None,
        bins: int | str = 50,
        threshold: Literal["auto"] | float | None = "auto",
        name: str | None = None,
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the scores of a fitted attack.

        Parameters
        ----------
        attack : estimator
            A fitted attack. Its `decision_function` is used, or `predict_proba` if it has none.
            Records that it cannot judge, see :meth:`~skmia.base.BaseAttack.can_judge`, are left
            out.
        records : Records or array-like
            Input of the attack.
        membership : array-like of shape (n_records,)
            1 or True for members, 0 or False for non-members.
        pos_label : int, float, bool or str, default=None
            Value of `membership` that members have, if it has others than 0 and 1. If it is the
            first of the two ``classes_`` of a classifier, its scores are turned round.
        bins : int or str, default=50
            As in :func:`numpy.histogram_bin_edges`, over the scores of both groups.
        threshold : float, "auto" or None, default="auto"
            Where to draw the threshold; "auto" is the threshold of the attack's `predict`, 0 for
            `decision_function` and just above 1/2 for `predict_proba`.
        name : str, default=None
            Name of the attack. If None, its class name is used.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : ScoreDistributionDisplay

        Raises
        ------
        TypeError
            If the attack has neither `decision_function` nor `predict_proba`.
        """
        scores, natural, judged = attack_scores(attack, records, pos_label)
        if not judged.all():
            membership, scores = np.asarray(membership)[judged], scores[judged]
        return cls.from_predictions(
            membership,
            scores,
            pos_label=pos_label,
            bins=bins,
            threshold=natural if isinstance(threshold, str) and threshold == "auto" else threshold,
            name=type(attack).__name__ if name is None else name,
            ax=ax,
            **kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_score: ArrayLike,
        *,
        pos_label: Any = None,
        bins: int | str = 50,
        threshold: float | None = None,
        name: str | None = None,
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Plot given scores.

        Parameters
        ----------
        y_true : array-like of shape (n_records,)
            Membership: 1 or True for members, 0 or False for non-members.
        y_score : array-like of shape (n_records,)
            Finite scores, higher means more likely a member.
        pos_label : int, float, bool or str, default=None
            Value of `y_true` that members have, if it has others than 0 and 1.
        bins : int or str, default=50
            As in :func:`numpy.histogram_bin_edges`, over the scores of both groups.
        threshold : float, default=None
            Where to draw the threshold. If None, none is drawn.
        name : str, default=None
            Name of the attack.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : ScoreDistributionDisplay

        Raises
        ------
        ValueError
            If `y_true`, `y_score` or `threshold` are not what the metrics take, or if the scores
            cannot be divided into the bins.
        """
        y_true = check_pos_label(y_true, pos_label)
        membership, scores = check_membership_scores(y_true, y_score)
        if threshold is not None:
            check_number(threshold, "threshold", "a finite number or None")
        display = cls(
            member_scores=scores[membership],
            nonmember_scores=scores[~membership],
            bin_edges=_divide_into_bins(scores, bins),
            threshold=threshold,
            name=name,
        )
        return display.plot(ax=ax, **kwargs)

    def frame(self) -> pd.DataFrame:
        """Tabulate the two histograms.

        Returns
        -------
        frame : DataFrame
            One row per group and bin: ``group`` ("member" or "non-member"), ``bin_left``,
            ``bin_right``, ``count``, ``fraction`` (of the group).
        """
        parts = []
        for group, scores in self._groups().items():
            count, _ = np.histogram(scores, self.bin_edges)
            columns = {"group": group, "bin_left": self.bin_edges[:-1]}
            columns |= {"bin_right": self.bin_edges[1:], "count": count}
            parts.append(pd.DataFrame(columns | {"fraction": count / len(scores)}))
        return pd.concat(parts, ignore_index=True)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        log: bool = False,
        curve_kwargs: Mapping[str, Any] | None = None,
        despine: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the histograms.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        log : bool, default=False
            Whether to use a logarithmic axis for heights, which shows the few records of a tail.
        curve_kwargs : mapping, default=None
            Passed to the `stairs` function of matplotlib for both groups.
        despine : bool, default=True
            Whether to leave out the upper and the right side of the frame.
        **kwargs : dict
            The same as `curve_kwargs`.

        Returns
        -------
        display : ScoreDistributionDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        kwargs |= curve_kwargs or {}
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        histograms = self.frame().groupby("group")
        self.patches_ = {}
        for group, color, linestyle in zip(self._groups(), COLORS, ("-", "--"), strict=False):
            height = histograms.get_group(group)["fraction"].to_numpy()
            outline = {"color": color, "linestyle": linestyle, "linewidth": 1.6, "zorder": 3}
            self.ax_.stairs(height, self.bin_edges, **outline)
            style = {"label": self._label(group), "color": color, "alpha": 0.35, "fill": True}
            self.patches_[group] = self.ax_.stairs(height, self.bin_edges, **(style | kwargs))
        self.threshold_line_ = None
        if self.threshold is not None:
            style = {"color": ink(self.ax_), "linestyle": ":", "linewidth": 1.6, "zorder": 4}
            style["label"] = f"threshold {self.threshold:.3g}"
            self.threshold_line_ = self.ax_.axvline(self.threshold, **style)
        if log:
            self.ax_.set_yscale("log")
        self._label_axes(despine)
        return self

    def _groups(self):
        return {"member": self.member_scores, "non-member": self.nonmember_scores}

    def _label(self, group):
        scores = self._groups()[group]
        label = f"{group}s (n = {len(scores):,})"
        if self.threshold is None:
            return label
        rate = "TPR" if group == "member" else "FPR"
        return f"{label}, {rate} {np.mean(scores >= self.threshold):.3g}"

    def _label_axes(self, despine):
        name = "" if self.name is None else f"{self.name}\n"
        self.ax_.set_title(f"{name}Member and non-member scores", fontsize="medium")
        self.ax_.set_xlabel("Score (higher = member)")
        self.ax_.set_ylabel("Fraction of the group")
        thin_frame(self.ax_, grid="y", despine=despine)
        add_legend(self.ax_)


def _divide_into_bins(scores, bins):
    """Return edges of the bins; numbers that are huge and nearly equal leave no room for them."""
    try:
        return np.histogram_bin_edges(scores, bins)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Scores from {scores.min():g} to {scores.max():g} cannot be divided into "
            f"bins={show(bins)}: {error}"
        ) from error
