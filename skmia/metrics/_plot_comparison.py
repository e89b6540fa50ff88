"""Displays that compare: ranks of methods, attacks with one of them, candidates of a search."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from .._core.drawing import add_legend, get_axes, gray, ink, next_style, thin_frame
from .._core.metric_inputs import check_option
from .._core.searches import mark_scored
from .._core.types import ArrayLike
from ._comparison import PairedDifference, paired_difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._comparison import RankingTest

# Sizes in rows of text.
_FIRST_LABEL, _CLIQUE_STEP = 1.0, 0.35


class CriticalDifferenceDisplay:
    """Average ranks of methods, best at the left, and the groups that the data do not separate.

    It is recommended to use :meth:`from_estimator`.

    Parameters
    ----------
    average_ranks : Series of length n_methods
        Mean rank of each method, 1 = best.
    cliques : list of list of str
        Groups of methods without a significant difference; each becomes a bar.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the diagram.
    figure_ : matplotlib Figure
        Figure containing it.

    See Also
    --------
    RankingTest : Computes ranks and groups.

    References
    ----------
    Demsar, J. (2006). Statistical comparisons of classifiers over multiple data sets. JMLR.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.metrics import CriticalDifferenceDisplay, RankingTest
    >>> test = RankingTest().fit(np.random.default_rng(0).uniform(size=(12, 3)))
    >>> display = CriticalDifferenceDisplay.from_estimator(test)
    >>> display.frame()["average_rank"].is_monotonic_increasing
    True
    """

    def __init__(self, *, average_ranks: pd.Series, cliques: list[list[str]]) -> None:
        self.average_ranks = average_ranks
        self.cliques = cliques

    @classmethod
    def from_estimator(
        cls, test: "RankingTest", *, ax: "Axes | None" = None, **kwargs: Any
    ) -> Self:
        """Draw the ranks of a fitted test.

        Parameters
        ----------
        test : RankingTest
            A fitted test.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : CriticalDifferenceDisplay
        """
        display = cls(average_ranks=test.average_ranks_, cliques=test.cliques_)
        return display.plot(ax=ax, **kwargs)

    def frame(self) -> pd.DataFrame:
        """Return the data of the diagram.

        Returns
        -------
        frame : DataFrame of shape (n_methods, 2)
            ``method`` and ``average_rank``, best first.
        """
        ranks = self.average_ranks.sort_values(kind="stable")
        return ranks.rename_axis("method").rename("average_rank").reset_index()

    def plot(self, ax: "Axes | None" = None, *, color: str | None = None) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        color : color, default=None
            Color of the bars. If None, the one that the fewest lines of the axes have.

        Returns
        -------
        display : CriticalDifferenceDisplay
        """
        ax = get_axes(ax)
        color = next_style(ax)["color"] if color is None else color
        frame = self.frame()
        names, ranks = frame["method"].tolist(), frame["average_rank"].to_numpy()
        depth = _FIRST_LABEL + _CLIQUE_STEP * len(self.cliques)
        self._draw_labels(ax, names, ranks, depth)
        for level, clique in enumerate(self.cliques, start=1):
            where = [ranks[names.index(name)] for name in clique]
            height = _CLIQUE_STEP * level
            ax.plot([min(where), max(where)], [height, height], color=color, lw=4)
        self._draw_axis(ax, len(names), depth + -(-len(names) // 2))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @staticmethod
    def _draw_labels(ax, names, ranks, depth):
        """Draw names in two columns, each connected to its rank by an elbow."""
        n_left = -(-len(names) // 2)
        left, right = 0.6, len(names) + 0.4
        for k, (name, rank) in enumerate(zip(names, ranks, strict=True)):
            if k < n_left:
                side, row, away, align, label = left, k, -4, "right", f"{name}  {rank:.2f}"
            else:
                row, away, align = len(names) - 1 - k, 4, "left"
                side, label = right, f"{rank:.2f}  {name}"
            ax.plot([rank, rank, side], [0, depth + row, depth + row], color=gray(ax), lw=0.8)
            where = {"xytext": (away, 0), "textcoords": "offset points", "ha": align}
            ax.annotate(label, (side, depth + row), **where, va="center", fontsize="small")
        ax.plot(ranks, np.zeros(len(ranks)), "o", color=ink(ax), ms=4, clip_on=False, zorder=3)

    @staticmethod
    def _draw_axis(ax, n_methods, depth):
        """Draw the axis of the ranks along the upper edge, without the rest of the frame."""
        ax.set_xlim(0.6, n_methods + 0.4)
        ax.set_ylim(depth, 0)
        ax.set_yticks([])
        ax.xaxis.tick_top()
        ax.xaxis.set_label_position("top")
        step = max(1, round(n_methods / 10))
        ax.set_xticks(range(1, n_methods + 1, step))
        ax.set_xlabel("average rank (1 = best)")
        ax.spines[["left", "right", "bottom"]].set_visible(False)


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
        **kwargs: Any,
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
        **kwargs : dict
            Passed to :meth:`plot`.

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
        return cls(differences, reference, metric=metric).plot(ax=ax, **kwargs)

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

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        curve_kwargs: Mapping[str, Any] | None = None,
        plot_chance_level: bool = True,
        despine: bool = True,
    ) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        curve_kwargs : mapping, default=None
            Passed to the `errorbar` function of matplotlib.
        plot_chance_level : bool, default=True
            Whether to draw the line of no difference.
        despine : bool, default=True
            Whether to leave out the upper and the right side of the frame.

        Returns
        -------
        display : PairedDifferenceDisplay
        """
        ax, frame = get_axes(ax), self.frame()
        places = range(len(frame))[::-1]
        away = [frame["estimate"] - frame["low"], frame["high"] - frame["estimate"]]
        color = next_style(ax)["color"]
        if plot_chance_level:
            ax.axvline(0, color=gray(ax), lw=0.8)
        style = {"fmt": "o", "ms": 5, "capsize": 2, "color": color} | dict(curve_kwargs or {})
        ax.errorbar(frame["estimate"], places, xerr=away, **style)
        ax.set_yticks(places, frame["attack"])
        ax.set_ylim(-0.5, len(frame) - 0.5)
        ax.set_xlabel(f"{self.metric} minus that of {self.reference}")
        thin_frame(ax, despine=despine)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _is_efficient(utility, leakage):
    """Return whether no other candidate is at least as good in both and better in one."""
    at_least = (utility >= utility[:, None]) & (leakage <= leakage[:, None])
    better = (utility > utility[:, None]) | (leakage < leakage[:, None])
    return ~(at_least & better).any(axis=1) & ~np.isnan(utility + leakage)


class PrivacyUtilityDisplay:
    """Utility and leakage of the candidates of a search, with the frontier of the best ones.

    A candidate is on the frontier if no other one is as good in both and better in one.

    It is recommended to use :meth:`from_search`.

    Parameters
    ----------
    utility, leakage : ndarray of shape (n_candidates,)
        Means over the test folds.
    utility_std, leakage_std : ndarray of shape (n_candidates,)
        Standard deviations over the test folds.
    labels : list of str
        Name of each candidate.
    chosen : int, default=None
        Index of the candidate to mark.
    utility_name, leakage_name : str, default="accuracy" and "leakage"
        Labels of the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the figure.
    figure_ : matplotlib Figure
        Figure containing it.

    See Also
    --------
    skmia.model_selection.make_leakage_scorer : Scorer that measures leakage in a search.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.metrics import PrivacyUtilityDisplay
    >>> display = PrivacyUtilityDisplay(
    ...     utility=np.array([0.9, 0.8, 0.7]),
    ...     leakage=np.array([0.4, 0.1, 0.2]),
    ...     utility_std=np.zeros(3),
    ...     leakage_std=np.zeros(3),
    ...     labels=["large", "small", "odd"],
    ... )
    >>> display.frame()["on_frontier"].tolist()
    [True, True, False]
    """

    def __init__(
        self,
        *,
        utility: np.ndarray,
        leakage: np.ndarray,
        utility_std: np.ndarray,
        leakage_std: np.ndarray,
        labels: list[str],
        chosen: int | None = None,
        utility_name: str = "accuracy",
        leakage_name: str = "leakage",
    ) -> None:
        self.utility = utility
        self.leakage = leakage
        self.utility_std = utility_std
        self.leakage_std = leakage_std
        self.labels = labels
        self.chosen = chosen
        self.utility_name = utility_name
        self.leakage_name = leakage_name

    @classmethod
    def from_search(
        cls,
        search: BaseEstimator,
        *,
        utility: str = "accuracy",
        leakage: str = "leakage",
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a finished search with several scores.

        Parameters
        ----------
        search : fitted GridSearchCV, RandomizedSearchCV or the like
            With `utility` and `leakage` in its ``scoring``.
        utility : str, default="accuracy"
            Name of the score to maximize.
        leakage : str, default="leakage"
            Name of a score of :func:`skmia.model_selection.make_leakage_scorer`.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : PrivacyUtilityDisplay

        Raises
        ------
        ValueError
            If the search lacks one of the scores, or no candidate has both in all folds. A
            candidate without one of them is not drawn, with a warning.
        """
        results = search.cv_results_
        for name in (utility, leakage):
            if f"mean_test_{name}" not in results:
                raise ValueError(f"The search has no score {name!r} in its scoring.")
        mark_scored({name: results[f"mean_test_{name}"] for name in (utility, leakage)})
        names = {name for params in results["params"] for name in params}
        # Those of RememberTraining, which each candidate is wrapped in, say nothing about it.
        wrapper = "estimator__" if all(name.startswith("estimator__") for name in names) else ""
        labels = [
            ", ".join(f"{name.removeprefix(wrapper)}={value}" for name, value in params.items())
            for params in results["params"]
        ]
        display = cls(
            utility=np.asarray(results[f"mean_test_{utility}"]),
            leakage=-np.asarray(results[f"mean_test_{leakage}"]),
            utility_std=np.asarray(results[f"std_test_{utility}"]),
            leakage_std=np.asarray(results[f"std_test_{leakage}"]),
            labels=labels,
            chosen=getattr(search, "best_index_", None),
            utility_name=utility,
            leakage_name=leakage,
        )
        return display.plot(ax=ax, **kwargs)

    def frame(self) -> pd.DataFrame:
        """Return the data of the figure.

        Returns
        -------
        frame : DataFrame of shape (n_candidates, 6)
            ``candidate``, the two means and standard deviations, and ``on_frontier``.
        """
        names = "utility", "utility_std", "leakage", "leakage_std"
        columns = {"candidate": self.labels} | {name: getattr(self, name) for name in names}
        return pd.DataFrame(columns | {"on_frontier": _is_efficient(self.utility, self.leakage)})

    def plot(
        self, ax: "Axes | None" = None, *, annotate: bool = True, despine: bool = True
    ) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        annotate : bool, default=True
            Whether to name the candidates of the frontier.
        despine : bool, default=True
            Whether to leave out the upper and the right side of the frame.

        Returns
        -------
        display : PrivacyUtilityDisplay
        """
        ax = get_axes(ax)
        frame = self.frame()
        best = frame[frame["on_frontier"]].sort_values("leakage")
        rest = frame[~frame["on_frontier"]]
        style = next_style(ax)
        color = style["color"]
        bars = {"fmt": "o", "ms": 5, "elinewidth": 0.8, "capsize": 2}
        for part, its_color, label in (
            (best, color, "on the frontier"),
            (rest, gray(ax), "below the frontier"),
        ):
            if len(part):
                numbers = part[["leakage", "utility", "utility_std", "leakage_std"]].to_numpy()
                ax.errorbar(*numbers.T, **bars, color=its_color, label=label)
        ax.plot(best["leakage"], best["utility"], drawstyle="steps-post", lw=1, **style)
        if self.chosen is not None:
            at = self.leakage[self.chosen], self.utility[self.chosen]
            ring = {"ms": 12, "mfc": "none", "mew": 1.5, "color": color, "linestyle": "none"}
            ax.plot(*at, "o", **ring, label="chosen by the search")
        if annotate:
            for _, row in best.iterrows():
                at = row["leakage"], row["utility"]
                where = {"xytext": (6, -11), "textcoords": "offset points"}
                ax.annotate(row["candidate"], at, **where, fontsize="small")
        ax.set_xlabel(f"{self.leakage_name} (left = better)")
        ax.set_ylabel(f"{self.utility_name} (up = better)")
        thin_frame(ax, despine=despine)
        add_legend(ax, last=("below", "chosen"))
        self.ax_, self.figure_ = ax, ax.figure
        return self
