"""The ROC curves of an audit as a figure."""

import numpy as np

from .._core.drawing import COLORS, LINE_STYLES
from ..metrics import MembershipRocDisplay
from ..metrics._plot_roc import draw_background, label_axes
from ._curves import list_judged
from .groups import OVERALL
from .measure import OK
from .text import column_name, format_cell


def draw_curves(report, ax, settings):
    """Draw the curve of each attack over the records that it can judge.

    Parameters
    ----------
    report : AuditReport
    ax : matplotlib Axes or None
    settings : dict
        Passed to :meth:`skmia.metrics.MembershipRocDisplay.plot`.

    Returns
    -------
    display : MembershipRocDisplay
    """
    own = {"confidence_level": report.settings["confidence_level"]}
    overall = report.results[report.results["scope"] == OVERALL]
    resolved = overall[(overall["metric"] == "tpr") & (overall["status"] == OK)]
    if len(resolved):
        own["max_fpr"] = resolved["max_fpr"].iloc[0]
    drawn = [
        name for name in report.scores if len(list_judged(report.judged, name, report.membership))
    ]
    return MembershipRocDisplay.from_predictions(
        report.membership,
        {name: report.scores[name] for name in drawn},
        groups=report.people,
        judged=report.judged,
        ax=ax,
        **(own | settings),
    )


def draw_document(document, ax):
    """Draw the curves that the document of an audit holds, with their numbers in the legend.

    Parameters
    ----------
    document : dict
    ax : matplotlib Axes
    """
    counts = [document["data"][name] for name in ("n_members", "n_nonmembers")]
    y_floor, x_floor = (0.5 / count for count in counts)
    overall = [row for row in document["results"] if row["scope"] == OVERALL]
    rates = [row["max_fpr"] for row in overall if row["metric"] == "tpr" and row["status"] == OK]
    band = f"pointwise {100 * document['settings']['confidence_level']:g}% interval of TPR"
    for position, curve in enumerate(document["curves"]):
        color = COLORS[position % len(COLORS)]
        style = {"color": color, "linestyle": LINE_STYLES[position % len(LINE_STYLES)]}
        shown = [
            row
            for row in overall
            if row["attack"] == curve["attack"] and row["max_fpr"] in (None, *rates[:1])
        ]
        numbers = [
            f"{column_name(row['metric'], row['max_fpr'])} {format_cell(row)}"
            for row in shown
            if row["metric"] != "advantage"
        ]
        style["label"] = f"{curve['attack']}: {', '.join(numbers)}"
        fpr, *rest = (np.asarray(curve[name]) for name in ("fpr", "tpr", "low", "high"))
        tpr, low, high = (np.maximum(values, y_floor) for values in rest)
        line = {"drawstyle": "steps-post", "linewidth": 1.8, "clip_on": False, "zorder": 3}
        ax.plot(fpr, tpr, **line, **style)
        for row in shown:
            if row["fpr"] is not None:
                point = max(row["fpr"], x_floor), max(row["estimate"], y_floor)
                marker = {"marker": "o", "markersize": 7, "markeredgecolor": "white"}
                ax.plot(*point, color=color, clip_on=False, zorder=4, **marker)
        area = {"alpha": 0.15, "linewidth": 0, "zorder": 2}
        area["label"] = band if curve is document["curves"][-1] else None
        ax.fill_between(fpr, low, high, color=color, **area)
    draw_background(ax, x_floor, y_floor, counts[1], chance=True)
    label_axes(ax, x_floor, y_floor, *counts)
    ax.legend(loc="lower right", fontsize="small", framealpha=0.9)
