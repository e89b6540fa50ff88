"""The ROC curves of an audit as a figure."""

from ..metrics import MembershipRocDisplay
from ._curves import list_judged
from .groups import OVERALL
from .measure import OK


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
