"""Helpers of the displays: colors, dashes, legends, axes, and the scores of an attack."""

from collections import Counter
from math import dist
from textwrap import fill

import numpy as np

from .metric_inputs import get_judged
from .optional import import_optional

# After Okabe and Ito: readers with any color vision can tell them apart, and each has a contrast of
# three to white and to the dark paper of the pages. Dashes repeat the distinction for gray print.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#8C7038", "#B230F2")
LINE_STYLES = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
# Inches below which a figure is a column of a paper, and has smaller letters in its legend; letters
# that are as wide as a symbol in it; share of a figure that it may take.
_COLUMN, _SYMBOL, _MOST_LEGEND = 4.5, 8, 0.6


def get_axes(ax):
    """Return the given axes, or new ones in a new figure."""
    if ax is not None:
        return ax
    plt = import_optional("matplotlib.pyplot", extra="plot")
    _, ax = plt.subplots(figsize=(6.8, 5.0), layout="constrained")
    return ax


def thin_frame(ax, grid=None, despine=True):
    """Remove the two sides of the frame that carry no axis, and draw thin lines from the others."""
    if despine:
        ax.spines[["top", "right"]].set_visible(False)
    if grid is not None:
        ax.grid(which="major", axis=grid, color=gray(ax), alpha=0.2, linewidth=0.6)
        ax.set_axisbelow(True)


def on_paper(ax, light, dark):
    """Return the first of two for axes on light paper, the second for those on dark paper."""
    *color, opacity = ax.get_facecolor()
    is_dark = sum(color if opacity else ax.figure.get_facecolor()[:3]) < 1.5
    return dark if is_dark else light


def ink(ax):
    """Return the color of marks that are read like text, as on the pages."""
    return on_paper(ax, "#14181f", "#e9edf2")


def gray(ax):
    """Return the color of lines that others are compared with, as on the pages."""
    return on_paper(ax, "#55606d", "#a3afbc")


def shade(ax):
    return on_paper(ax, 0.14, 0.35)


def next_style(ax):
    """Return the color that the fewest lines of the axes have, and the dashes of the next line."""
    from matplotlib.colors import to_rgb

    lines = [(line.get_color(), line.get_linestyle() != "None") for line in ax.lines]
    lines += [(patch.get_edgecolor(), True) for patch in ax.patches if hasattr(patch, "get_data")]
    lines = [(to_rgb(color), is_drawn) for color, is_drawn in lines]
    # Gray and black are of what curves are compared with.
    lines = [(rgb, is_drawn) for rgb, is_drawn in lines if max(rgb) - min(rgb) > 0.15]
    near = [min(COLORS, key=lambda color: dist(rgb, to_rgb(color))) for rgb, _ in lines]
    n_curves = sum(is_drawn for _, is_drawn in lines)
    # Once each color has had its dashes, the pairs are others.
    dashes = LINE_STYLES[(n_curves + n_curves // len(COLORS)) % len(LINE_STYLES)]
    return {"color": min(COLORS, key=Counter(near).__getitem__), "linestyle": dashes}


def add_legend(ax, last=()):
    """Name each meaning once, below the axes or where few lines run; `last` are beginnings."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.transforms import ScaledTranslation

    entries = {}
    for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
        entries.setdefault(label, handle)
    if not entries:
        return
    names = sorted(entries, key=lambda name: name.startswith(tuple(last)))
    figure, inch = ax.figure, ax.figure.dpi
    size = "x-small" if figure.bbox.width < _COLUMN * inch else "small"
    letter = 0.5 * FontProperties(size=size).get_size_in_points() / 72
    n_letters = int(1.1 * ax.bbox.width / inch / letter)
    labels = [fill(name, max(n_letters - _SYMBOL, 20)) for name in names]
    longest = max(len(line) for label in labels for line in label.splitlines())
    style = {"fontsize": size, "handles": [entries[name] for name in names], "labels": labels}
    x_axis, y_axis = ax.xaxis.get_tightbbox(), ax.yaxis.get_tightbbox()
    left = (ax.bbox.x0 - max(y_axis.x0, figure.bbox.x0)) / inch if y_axis else 0
    down = (ax.bbox.y0 - x_axis.y0) / inch if x_axis else 0
    legend = ax.legend(
        **style,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        bbox_transform=ax.transAxes + ScaledTranslation(-left / 2, -down, figure.dpi_scale_trans),
        ncols=max(1, n_letters // (longest + _SYMBOL)),
        frameon=False,
    )
    if figure.get_layout_engine() is None and not _make_room_for_legend(ax, legend):
        ax.legend(**style, loc="best", framealpha=0.9)


def _make_room_for_legend(ax, legend):
    """Return whether a legend fits below the axes, which are made shorter for it."""
    figure, place = ax.figure, ax.get_subplotspec()
    if place is None or not place.is_last_row():
        return False
    share = (ax.bbox.y0 - legend.get_window_extent().y0) / figure.bbox.height
    if share > _MOST_LEGEND:
        return False
    figure.subplots_adjust(bottom=max(share + 0.01, figure.subplotpars.bottom))
    return legend.get_window_extent().y0 >= figure.bbox.y0  # others have a place of their own


def attack_scores(attack, records, pos_label=None):
    """Return the scores of a fitted attack, their natural threshold, and which are judged.

    pos_label: value that members have, of which the scores of a classifier may be the other way
    round.
    """
    is_first = _is_first_class(attack, pos_label)
    if hasattr(attack, "decision_function"):
        scores = attack.decision_function(records)
        return -scores if is_first else scores, 0.0, get_judged(attack, records)
    if hasattr(attack, "predict_proba"):
        # At exactly 1/2, predict returns the first class.
        threshold = 0.5 if is_first else float(np.nextafter(0.5, 1))
        column = 0 if is_first else 1
        return attack.predict_proba(records)[:, column], threshold, get_judged(attack, records)
    raise TypeError(
        f"{type(attack).__name__} has neither decision_function nor predict_proba; "
        "an attack must have one of them."
    )


def _is_first_class(attack, label):
    """Return whether members are the first class of a classifier, whose scores are of the second.

    Scores of an attack of skmia are higher for members, whatever value these have.
    """
    classes = getattr(attack, "classes_", None)
    if label is None or classes is None or hasattr(attack, "can_judge"):
        return False
    return len(classes) == 2 and bool(classes[0] == label)
