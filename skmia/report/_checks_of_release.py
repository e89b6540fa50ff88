"""Which checks of an audit keep a model from being released while they warn, and what ends that."""

from ._evidence import ALIKE, FIRST, get_difference
from ._stand_in import why_gap_too_large
from ._training_rows import why_unlisted

_ONE_POPULATION = "Use members and non-members from one population."

# What to do about a check that warns. A low number beside such a warning may be low for another
# reason than the model, so it releases nothing; a number above its limit counts nevertheless.
REMEDIES = {
    FIRST: "Give model and table as they were in training, and audit again.",
    "sides": "Give held-out rows that no part of the model has seen.",
    "training rows": "List these rows as members.",
    **dict.fromkeys(ALIKE, _ONE_POPULATION),
    "people": "Give all records of a person to one side, and audit again.",
    "duplicates": "Remove copies that are on both sides, or give copies one group_by.",
    "person level": "Train with fewer records of each person, or with a guarantee for people.",
    "score sign": "Look for a membership column that is coded the other way round.",
    "shadow models": "Train the shadow models as the model was: pass its recipe as estimator=, "
    "with the fit_params and the number of rows that it was trained with.",
    "positive control": "Audit with more records, or with other attacks.",
    "small groups": "Merge the small groups, or audit with more of their records.",
}
# These state a fact, which never warns; it says nothing against low numbers.
WITHOUT_BEARING = (
    "resolution",
    "permuted membership",
    "beyond the shift",
    "beyond the shift, of the file",
)
_SHIFTED = (
    "Members and non-members differ without the model, so low numbers of attacks say nothing. "
    f"{_ONE_POPULATION}"
)


def list_warnings(checks, reference, provenance):
    """Sentences on each check that keeps low numbers from leading to a release."""
    found = [_SHIFTED] if get_difference(checks) is not None else []
    for name, remedy in REMEDIES.items():
        check = checks.get(name)
        if check is None or (name in ALIKE and check.is_warning):
            continue
        if check.is_error:
            found.append(f'The check "{name}" failed. {check.text} Remove its cause, audit again.')
        elif check.is_warning:
            # A statement can say where rows are that are not listed.
            is_stated = name == "training rows" and why_unlisted(checks, provenance) is None
            found += [] if is_stated else [f"{check.text} {remedy}"]
    gap = why_gap_too_large(reference)
    return tuple(found if gap is None else [*found, f"{gap} {REMEDIES['shadow models']}"])
