"""Helpers of the displays: colors, axes, and the scores of an attack."""

from .optional import import_optional

# Okabe and Ito's palette, which readers with any color vision can tell apart, in an order that
# keeps neighbors apart in brightness too; line styles repeat the distinction for gray print.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LINE_STYLES = ("-", "--", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
GRAY = "#666666"


def get_axes(ax):
    """Return the given axes, or new ones in a new figure."""
    if ax is not None:
        return ax
    plt = import_optional("matplotlib.pyplot", extra="plot")
    _, ax = plt.subplots(figsize=(6.8, 5.0), layout="constrained")
    return ax


def thin_spines(ax):
    """Remove the two sides of the frame that carry no axis."""
    ax.spines[["top", "right"]].set_visible(False)


def attack_scores(attack, records):
    """Scores of a fitted attack and the natural threshold on them."""
    if hasattr(attack, "decision_function"):
        return attack.decision_function(records), 0.0
    if hasattr(attack, "predict_proba"):
        return attack.predict_proba(records)[:, 1], 0.5
    raise TypeError(
        f"{type(attack).__name__} has neither decision_function nor predict_proba; "
        "an attack must have one of them."
    )
