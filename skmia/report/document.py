"""An audit as a JSON document."""

from dataclasses import asdict

from .._core.plain import as_plain
from ._curves import compute_curves, list_exposed, rank_attacks
from .measure import COLUMNS

SCHEMA = "skmia.audit"

# Raised if a field changes its meaning or is removed; fields may be added without a new version.
SCHEMA_VERSION = 1

PERMUTATION_COLUMNS = ["attack", "scope", "group", "metric", "max_fpr"]
PERMUTATION_COLUMNS += ["pvalue", "pvalue_adjusted", "pvalue_below"]


def as_document(report):
    """The document of an audit.

    Parameters
    ----------
    report : AuditReport

    Returns
    -------
    document : dict
        Plain Python values, see :meth:`AuditReport.to_json`.
    """
    names = ("created", "versions", "victim", "victim_name", "task", "data", "performance")
    rest = ("settings", "seeds", "seconds", "notes", "evidence", "verdict", "power", "growth")
    rest += ("disparity", "person_level", "reference")
    ranked = rank_attacks(report.scores, report.membership, report.judged)
    level = report.settings["confidence_level"]
    return as_plain(
        {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            **{name: getattr(report, name) for name in names},
            "baseline": _as_limits(report.baseline),
            "difficulty": _as_limits(report.difficulty),
            "drift": report.drift and asdict(report.drift),
            "recommendation": report.recommendation and report.recommendation.to_dict(),
            "permutation": _describe_permutation(report.permutation),
            "checks": [_describe_check(check) for check in report.checks.values()],
            **{name: getattr(report, name) for name in rest},
            "results": _list_rows(report.results),
            "curves": compute_curves(
                ranked, report.membership, level, report.people, report.judged
            ),
            "exposed": list_exposed(ranked, report.membership, report.record_ids, report.judged),
            "file": _describe_file(report),
        }
    )


def _describe_file(report):
    """What the file reveals, or None if it was not attacked."""
    file = report.file
    if file is None:
        return None
    scores = {} if file.scores is None else {file.grounds.asked[0]: file.scores}
    level = report.settings["confidence_level"]
    return {
        **file.facts,
        "notes": file.notes,
        "evidence": file.evidence,
        "verdict": file.verdict,
        "permutation": _describe_permutation(file.permutation),
        "results": _list_rows(file.results),
        "curves": compute_curves(scores, report.membership, level, report.people),
        "exposed": list_exposed(scores, report.membership, report.record_ids),
    }


def _list_rows(frame):
    return [dict(zip(COLUMNS, row)) for row in frame[list(COLUMNS)].to_numpy(object)]


def _describe_permutation(result):
    """The test of permuted membership, or None if it failed."""
    if result is None:
        return None
    counts = {name: getattr(result, name) for name in ("n_permutations", "n_units", "n_mixed")}
    return counts | {"numbers": result.frame[PERMUTATION_COLUMNS].to_dict("records")}


def _describe_check(check):
    """A check, with its finding only if that is a string; others have their own field."""
    finding = check.finding if isinstance(check.finding, str) else None
    return {"name": check.name, "status": check.status, "text": check.text, "finding": finding}


def _as_limits(interval):
    return None if interval is None else dict(zip(("auc", "low", "high"), interval))
