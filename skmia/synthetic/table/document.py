"""The audit of a synthetic table as a JSON document."""

from ..._core.plain import as_plain
from .evidence import list_reversals

SCHEMA = "skmia.table"

# Raised if a field changes its meaning or is removed; fields may be added without a new version.
SCHEMA_VERSION = 1


def as_document(report):
    """The document of an audit of a table.

    Parameters
    ----------
    report : TableReport

    Returns
    -------
    document : dict
        Plain Python values, see :meth:`TableReport.to_json`.
    """
    grounds = report.grounds
    names = ("created", "versions", "data", "settings", "seeds", "seconds", "notes")
    return as_plain(
        {
            "schema": SCHEMA,
            "schema_version": SCHEMA_VERSION,
            **{name: getattr(report, name) for name in names},
            "evidence": report.evidence,
            "verdict": report.verdict,
            "recommendation": report.recommendation and report.recommendation.to_dict(),
            "checks": [{"name": name, **check} for name, check in report.checks.items()],
            "results": _list_rows(grounds.results),
            "reversed": list_reversals(grounds.results),
            "copies": None if report.copies is None else _list_rows(report.copies),
            "utility": _list_rows(report.utility),
            "trained": report.trained,
            "spread": None if report.spread is None else _list_rows(report.spread),
            "columns": _list_rows(report.columns),
            "pairs": _list_rows(report.pairs),
        }
    )


def _list_rows(frame):
    return [{"name": name, **row} for name, row in zip(frame.index, frame.to_dict("records"))]
