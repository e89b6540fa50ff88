"""Privacy-utility trade-off of the candidates of a search."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from ..._core.drawing import COLORS, GRAY, get_axes, thin_spines

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _is_efficient(utility, leakage):
    """Return whether no other candidate is at least as good in both and better in one."""
    at_least = (utility >= utility[:, None]) & (leakage <= leakage[:, None])
    better = (utility > utility[:, None]) | (leakage < leakage[:, None])
    return ~(at_least & better).any(axis=1)


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
        """
        results = search.cv_results_
        for name in (utility, leakage):
            if f"mean_test_{name}" not in results:
                raise ValueError(f"The search has no score {name!r} in its scoring.")
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
        return pd.DataFrame(
            {
                "candidate": self.labels,
                "utility": self.utility,
                "utility_std": self.utility_std,
                "leakage": self.leakage,
                "leakage_std": self.leakage_std,
                "on_frontier": _is_efficient(self.utility, self.leakage),
            }
        )

    def plot(self, ax: "Axes | None" = None, *, annotate: bool = True) -> Self:
        """Draw the figure.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        annotate : bool, default=True
            Whether to name the candidates of the frontier.

        Returns
        -------
        display : PrivacyUtilityDisplay
        """
        ax = get_axes(ax)
        frame = self.frame()
        best = frame[frame["on_frontier"]].sort_values("leakage")
        bars = {"elinewidth": 0.8, "capsize": 2, "linestyle": "none"}
        for part, color in ((frame[~frame["on_frontier"]], GRAY), (best, COLORS[0])):
            ax.errorbar(
                part["leakage"],
                part["utility"],
                xerr=part["leakage_std"],
                yerr=part["utility_std"],
                marker="o",
                ms=5,
                color=color,
                **bars,
            )
        ax.plot(best["leakage"], best["utility"], drawstyle="steps-post", color=COLORS[0], lw=1)
        if self.chosen is not None:
            at = self.leakage[self.chosen], self.utility[self.chosen]
            ax.plot(*at, "o", ms=12, mfc="none", mec=COLORS[1], mew=1.5, label="chosen")
            ax.legend(loc="lower right", frameon=False)
        if annotate:
            for _, row in best.iterrows():
                ax.annotate(
                    row["candidate"],
                    (row["leakage"], row["utility"]),
                    xytext=(6, -11),
                    textcoords="offset points",
                    fontsize="small",
                )
        ax.set_xlabel(f"{self.leakage_name} (left = better)")
        ax.set_ylabel(f"{self.utility_name} (up = better)")
        thin_spines(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
