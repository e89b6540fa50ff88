"""Average ranks on a line, with bars over methods without a significant difference."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from ..._core.drawing import COLORS, GRAY, get_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .._ranking import RankingTest

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

    def plot(self, ax: "Axes | None" = None, *, color: str = COLORS[0]) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        color : color, default="#0072B2"
            Color of the bars.

        Returns
        -------
        display : CriticalDifferenceDisplay
        """
        ax = get_axes(ax)
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
            is_left = k < n_left
            row = depth + (k if is_left else len(names) - 1 - k)
            side = left if is_left else right
            ax.plot([rank, rank, side], [0, row, row], color=GRAY, lw=0.8)
            label = f"{name}  {rank:.2f}" if is_left else f"{rank:.2f}  {name}"
            ax.annotate(
                label,
                (side, row),
                xytext=(-4 if is_left else 4, 0),
                textcoords="offset points",
                ha="right" if is_left else "left",
                va="center",
                fontsize="small",
            )
        ax.plot(ranks, np.zeros(len(ranks)), "o", color="black", ms=4, clip_on=False, zorder=3)

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
