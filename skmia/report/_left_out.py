"""Records that an audit leaves out: of classes that the model does not know, and of weight 0."""

from hashlib import sha256
from typing import NamedTuple

import numpy as np

from .._core.outputs import Outputs
from ._rows_used import find_weightless
from ._unknown_labels import find_unknown_labels

# Fields of ``data`` with the numbers of records that were left out, by the reason.
_REASONS = "unknown_classes", "weightless"


class LeftOut(NamedTuple):
    """Which records are left out, and what is said of them."""

    kept: np.ndarray  # (n_kept,): places of the others in the table of the user
    fitted: np.ndarray  # (n_fitted,): places of members of known classes, which fit was given
    notes: list
    counts: dict  # for the document, by the reason


def find_left_out(victim, queried, membership):
    """Find the records that an audit leaves out, or None if there are none."""
    unknown = _find_unknown(queried, membership)
    lost = slice(0) if unknown is None else np.setdiff1d(np.arange(len(membership)), unknown.kept)
    weightless = find_weightless(victim, queried, membership, lost)
    found = dict(zip(_REASONS, (unknown, weightless), strict=True))
    found = {name: one for name, one in found.items() if one is not None}
    if not found:
        return None
    kept, fitted = np.ones(len(membership), bool), np.zeros(len(membership), bool)
    for one in found.values():
        kept &= np.isin(np.arange(len(kept)), one.kept)
        fitted[one.fitted] = True
    if not (kept & membership).any() or not (kept & ~membership).any():
        raise ValueError(
            "Of the classes that the model knows, no members or no non-members have a sample "
            "weight above 0."
        )
    notes = [note for one in found.values() for note in one.describe()]
    counts = {name: one.count() for name, one in found.items()}
    return LeftOut(np.flatnonzero(kept), np.flatnonzero(fitted & ~kept), notes, counts)


def _find_unknown(queried, membership):
    """Return records whose labels the victim does not know, None if it knows all."""
    outputs = queried["outputs"]
    if getattr(outputs, "classes", None) is None:
        return None
    if not isinstance(outputs, Outputs):
        outputs.label_index(queried.y)  # which refuses them
        return None
    return find_unknown_labels(outputs, queried.y, membership)


def count_left_out(data):
    """Return how many of the records that were given an audit has left out, by its ``data``."""
    return sum(sum(data.get(name, {}).values()) for name in _REASONS)


def take_audited(report, records):
    """Return the records that a report is about, of those that the audit was given."""
    n_left_out = count_left_out(report.data)
    if not n_left_out or len(records) != len(report.membership) + n_left_out:
        return records
    return records[report.positions]


def digest_audited(records):
    """Return a digest of the rows and labels of an audit, in their order."""
    return sha256(np.ascontiguousarray(records.fingerprint).view(np.uint8)).hexdigest()


def refuse_other_records(report, records):
    """Refuse records of which a report is not, or in another order than it has them."""
    known = getattr(report, "records_digest", None)
    if known is not None and digest_audited(records) != known:
        raise ValueError(
            "records must be those of the audit: the same rows and labels, in their order, of the "
            "same types; got others."
        )
