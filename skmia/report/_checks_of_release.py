"""Which checks of an audit keep a model from being released while they warn, and what ends that."""

from ._evidence import has_noise, why_unlisted
from ._surrogate import why_gap_too_large
from .checks import get_check
from .checks._base import (
    BEYOND,
    BEYOND_OF_FILE,
    BLIND,
    CHANCE,
    DIFFERENCE,
    KNOWN,
    NOTE,
    PERSONS,
    RATES,
    RECIPE,
    SIDES,
    SMALL,
    UNLISTED,
)

# What to do about a check that warns, by what it is about. A low number beside such a warning may
# be low for another reason than the model, so it releases nothing; a number above its limit counts
# nevertheless.
REMEDIES = {
    KNOWN: "Give model and table as they were in training, or, if they are, the recipe of the "
    "model (unfitted) with the answers of the model.",
    SIDES: "Give held-out rows that no part of the model has seen.",
    UNLISTED: "List these rows as members.",
    DIFFERENCE: "Use members and non-members from one population.",
    BLIND: "Audit with more records, none of which has a copy on the other side.",
    RECIPE: "Train the shadow models as the model was: pass its recipe as estimator=, with the "
    "fit_params and the number of rows that it was trained with.",
    SMALL: "Audit with more records of the small groups, or merge them.",
    PERSONS: "Audit with more people, or train on one record of each person.",
    NOTE: "Check membership and, where people have several records, group_by.",
}
# These state a fact, which never warns and says nothing against low numbers.
WITHOUT_BEARING = (CHANCE, RATES, BEYOND, BEYOND_OF_FILE)
_SHIFTED = (
    "Members and non-members differ without the model, so low numbers of attacks are not evidence."
)


def list_warnings(checks, reference, provenance):
    """Return sentences on each check that keeps low numbers from leading to a release."""
    found = {}
    for name, check in checks.items():
        role = get_check(name).role
        if check.is_error:
            told = f'The check "{name}" failed. {check.text} Remove its cause.'
        elif not check.is_warning or role in WITHOUT_BEARING:
            continue
        elif role == UNLISTED and why_unlisted(checks, provenance) is None:
            continue  # because a statement says where these rows are
        elif role == KNOWN and has_noise(checks):
            told = check.text  # which ends in its cure
        else:
            told = f"{_SHIFTED if role == DIFFERENCE else check.text} {REMEDIES[role]}"
        found[f"{told} Then audit again."] = name
    gap = why_gap_too_large(reference)
    if gap is not None and RECIPE not in (get_check(name).role for name in found.values()):
        found[f"{gap} {REMEDIES[RECIPE]} Then audit again."] = None
    return tuple(found)
