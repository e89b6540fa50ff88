"""Recommendations of the page."""

from ..checks.base import ERROR, WARNING
from ..evidence import LEAK, NONE, REVERSED, SHIFT

_REPEAT = (
    "After a change, audit the model again and run "
    "skmia compare before/audit.json after/audit.json."
)

_ADVICE = {
    LEAK: [
        "Decide whether membership is confidential. If it is public, or reveals nothing about a "
        "person, this leakage may be acceptable.",
        "Reduce overfitting: stronger regularization, fewer epochs, larger leaves, or more data. "
        "make_leakage_scorer lets a search trade accuracy against leakage.",
        "Inspect the most exposed records. Correct or remove errors, duplicates and outliers, and "
        "audit again: other records may then become the most exposed.",
        "Train with a defense (SoftLabelDefense, SELENADefense) and audit it with shadow models "
        "that use the same defense.",
        "Rounding probabilities does not help. Returning only labels restricts attacks to what "
        "labels reveal, at least the accuracy gap.",
        "Only differential privacy bounds every attack: train with DPSGDClassifier.",
        _REPEAT,
    ],
    NONE: [
        "Archive this report with the model. It applies to these attacks, records and training "
        "run.",
        "Audit again when the model is retrained, or trained on other data.",
        "More shadow models, more records, or attacks that read gradients and layers may find what "
        "these did not.",
    ],
    SHIFT: [
        "Use members and non-members from the same population, ideally a random split made before "
        "training, and audit again.",
        "Remove columns that reveal the split, such as dates, row numbers or sources, if the model "
        "does not use them.",
    ],
    REVERSED: [
        "Check the coding of membership: 1 is for the records that the model was trained on.",
        "If the coding is right, check the sign of the scores of your own attacks: higher has to "
        "mean more likely a member.",
    ],
}

_REWRITE = (
    "Export members and non-members in one way, with the same decimals, spelling and missing "
    "values, and audit again."
)

_FAILED_CHECK = (
    "The message of the failed check says what went wrong. Remove the cause and audit again: the "
    "verdict depends on this check."
)

# By the check that kept the attacks from finding anything, the first one first.
_BLINDNESS = {
    "labels": "Check the coding of the labels: the labels of the records have to mean what those "
    "of the training set meant.",
    "duplicates": "Remove duplicates across members and non-members, or give them a common "
    "group_by, and audit again.",
    "positive control": "Use more records: at least several hundred members and non-members, and "
    "10,000 non-members to measure the TPR at 0.1% FPR.",
    "person level": "Treat it as a leak of people: keep fewer records of each person in the "
    "training set, or train with a guarantee for people instead of records.",
    "small groups": "Merge the small groups with others, or audit with more of their records.",
    "shadow models": "Check that membership matches the records the model was trained on, and that "
    "the shadow models are trained the same way.",
}


def advise(document):
    """Recommend what to do next, given the result of an audit.

    Parameters
    ----------
    document : dict

    Returns
    -------
    advice : list of str
        Sentences.
    """
    warned = [check["name"] for check in document["checks"] if check["status"] == WARNING]
    causes = [text for name, text in _BLINDNESS.items() if name in warned]
    if any(check["status"] == ERROR for check in document["checks"]):
        causes.insert(0, _FAILED_CHECK)
    advice = list(_ADVICE.get(document["evidence"], causes or [_BLINDNESS["positive control"]]))
    if document["evidence"] == SHIFT and "formats" in warned:
        advice.insert(0, _REWRITE)
    performance = document["performance"]
    gap = performance["gap"]
    if document["evidence"] == LEAK and performance["metric"] == "accuracy" and (gap or 0) < 0.02:
        advice[1] = (
            "Accuracy is similar on members and non-members; the leakage is in the model's "
            "confidence. " + advice[1]
        )
    return advice
