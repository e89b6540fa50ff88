"""Plot of the vulnerability of each group as boxes or violins."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from .._core.drawing import COLORS, add_legend, get_axes, gray, ink, thin_frame
from .._core.escaping import visible
from .._core.metric_inputs import check_confidence_level, check_option
from .._core.types import ArrayLike
from ._test import DisparityTest, check_table, describe_groups, drop_incomplete

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = ("box", "violin")
# Longer names would run into each other.
_LONGEST_LEVEL_NAME = 10


class DisparityDisplay:
    """Boxes or violins of the vulnerability of each group over the rounds of a game.

    A diamond marks the mean of a group, with Student's interval over rounds, which is optimistic
    because all rounds split the same records. The dotted line at 0 is chance.

    It is recommended to use :meth:`from_estimator` or :meth:`from_table`.

    Parameters
    ----------
    vulnerabilities : DataFrame of shape (n_rounds, n_groups)
        Finite values, a column for each group.
    pvalue : float, default=None
        P-value of the hypothesis that all groups are equally vulnerable, for the title. If None or
        NaN, it is left out.
    name : str, default=None
        Name of the attack, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes with the groups.
    figure_ : matplotlib Figure
        Figure containing them.
    bodies_ : dict of matplotlib artists
        Group -> box or violin.
    means_ : matplotlib ErrorbarContainer
        Means and intervals.

    See Also
    --------
    DisparityTest : Test that computes the table.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skmia.disparity import DisparityDisplay
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal(0.1, 0.02, (30, 2)), columns=["young", "old"])
    >>> display = DisparityDisplay.from_table(table)
    >>> sorted(display.bodies_)
    ['old', 'young']
    """

    def __init__(
        self, *, vulnerabilities: pd.DataFrame, pvalue: float | None = None, name: str | None = None
    ) -> None:
        self.vulnerabilities = vulnerabilities
        self.pvalue = pvalue
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        test: DisparityTest,
        *,
        name: str | None = None,
        ax: "Axes | None" = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the results of a fitted test.

        Parameters
        ----------
        test : DisparityTest
            A fitted test.
        name : str, default=None
            Name of the attack. If None, the class name of the test's ``attack``, if it has one.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : DisparityDisplay

        Raises
        ------
        ValueError
            If the test has fewer than two complete rounds.
        """
        check_is_fitted(test)
        if name is None and test.attack is not None:
            name = type(test.attack).__name__
        table = drop_incomplete(test.vulnerabilities_)
        display = cls(vulnerabilities=table, pvalue=test.pvalue_, name=name)
        return display.plot(ax=ax, **kwargs)

    @classmethod
    def from_table(
        cls, table: ArrayLike, *, name: str | None = None, ax: "Axes | None" = None, **kwargs: Any
    ) -> Self:
        """Plot a table of vulnerabilities.

        Parameters
        ----------
        table : DataFrame or array-like of shape (n_rounds, n_groups)
            A column for each group; rounds with NaN are left out.
        name : str, default=None
            Name of the attack.
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        **kwargs : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : DisparityDisplay

        Raises
        ------
        ValueError
            If the table is not what :class:`DisparityTest` takes.
        """
        display = cls(vulnerabilities=drop_incomplete(check_table(table)), name=name)
        return display.plot(ax=ax, **kwargs)

    def frame(self, *, confidence_level: float = 0.95) -> pd.DataFrame:
        """Return the data of the figure as a table.

        Parameters
        ----------
        confidence_level : float, default=0.95
            Confidence level of the interval of each mean.

        Returns
        -------
        frame : DataFrame
            By group: ``n_rounds``, ``mean`` with its interval ``low``, ``high``, and ``minimum``,
            ``lower_quartile``, ``median``, ``upper_quartile``, ``maximum`` over the rounds.
        """
        table = self.vulnerabilities
        means = describe_groups(table, check_confidence_level(confidence_level))
        quartiles = table.quantile([0, 0.25, 0.5, 0.75, 1]).T
        quartiles.columns = ["minimum", "lower_quartile", "median", "upper_quartile", "maximum"]
        parts = [means[["mean", "low", "high"]], quartiles]
        frame = pd.concat(parts, axis=1)
        frame.insert(0, "n_rounds", len(table))
        return frame

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        kind: Literal["box", "violin"] = "box",
        confidence_level: float = 0.95,
        plot_chance_level: bool = True,
        chance_level_kw: Mapping[str, Any] | None = None,
        despine: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw the groups.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. If None, a new figure is created.
        kind : {"box", "violin"}, default="box"
            Box with whiskers to 1.5 interquartile ranges and outliers, or mirrored density.
        confidence_level : float, default=0.95
            Confidence level of the interval of each mean.
        plot_chance_level : bool, default=True
            Whether to draw the line of guessing.
        chance_level_kw : mapping, default=None
            Passed to the `axhline` function of matplotlib for this line.
        despine : bool, default=True
            Whether to leave out the upper and the right side of the frame.
        **kwargs : dict
            Passed to the `boxplot` or `violinplot` function of matplotlib.

        Returns
        -------
        display : DisparityDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        check_option(kind, "kind", _KINDS)
        frame = self.frame(confidence_level=confidence_level)
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        places = np.arange(len(frame))
        values = [self.vulnerabilities[group].to_numpy() for group in frame.index]
        bodies = self._draw_bodies(kind, values, places, kwargs)
        self.bodies_ = dict(zip(frame.index, bodies, strict=True))
        for place, body in enumerate(bodies):
            color = COLORS[place % len(COLORS)]
            body.set(facecolor=color, edgecolor=color, alpha=0.45)
        mean, low, high = frame[["mean", "low", "high"]].to_numpy().T
        style = {"color": ink(self.ax_), "markersize": 4, "capsize": 4, "linewidth": 1.4}
        style["label"] = f"mean and its {100 * confidence_level:g}% interval over rounds"
        away = [mean - low, high - mean]
        self.means_ = self.ax_.errorbar(places, mean, yerr=away, fmt="D", zorder=5, **style)
        if plot_chance_level:
            style = {"color": gray(self.ax_), "linestyle": ":", "linewidth": 1.2, "zorder": 0}
            style |= {"label": "no better than a coin"} | dict(chance_level_kw or {})
            self.ax_.axhline(0, **style)
        self._label_axes(frame, despine)
        return self

    def _draw_bodies(self, kind, values, places, kwargs):
        if kind == "violin":
            style = {"widths": 0.75, "showextrema": False, **kwargs, "positions": places}
            return self.ax_.violinplot(values, **style)["bodies"]
        style = {
            "widths": 0.55,
            "medianprops": {"color": ink(self.ax_), "linewidth": 1.0},
            "whiskerprops": {"color": gray(self.ax_)},
            "capprops": {"color": gray(self.ax_)},
            "flierprops": {"marker": ".", "markersize": 4, "markeredgecolor": gray(self.ax_)},
        }
        style |= kwargs | {"positions": places, "patch_artist": True}
        return self.ax_.boxplot(values, **style)["boxes"]

    def _label_axes(self, frame, despine):
        # A dollar sign would begin a formula.
        names = [visible(group).replace("$", r"\$") for group in frame.index]
        rotation = 30 if max(map(len, names)) > _LONGEST_LEVEL_NAME else 0
        side = "right" if rotation else "center"
        self.ax_.set_xticks(range(len(names)), labels=names, rotation=rotation, ha=side)
        rounds = f"{frame['n_rounds'].iloc[0]} rounds"
        name = "Vulnerability of each group" if self.name is None else self.name
        title = f"{name}, {rounds}"
        if self.pvalue is not None and np.isfinite(self.pvalue):
            title += f"\nall groups equally vulnerable: p = {self.pvalue:.2g}"
        self.ax_.set(xlim=(-0.6, len(names) - 0.4), ylabel="Vulnerability, TPR - FPR")
        self.ax_.set_title(title, fontsize="medium")
        thin_frame(self.ax_, grid="y", despine=despine)
        add_legend(self.ax_)
