"""What can be done about what an audit found."""

from .._evidence import LEAK, NONE, SHIFT, UNKNOWN

_REPEAT = (
    "Audit the changed model on the same records and set the two side by side: "
    "skmia compare before/audit.json after/audit.json."
)

_ADVICE = {
    LEAK: [
        "Ask whether membership is a secret here: where it is public who is in the data, or being "
        "in them says nothing about a person, this leak may do no harm.",
        "Fit the training records less closely: stronger regularisation, fewer epochs, larger "
        "leaves, more data. It is the cheapest remedy, and a search can weigh accuracy against "
        "leakage (make_leakage_scorer).",
        "Look at the most exposed records. Errors, copies and outliers can be mended or left out; "
        "then audit again, since other records take their place.",
        "Train with a defense (SoftLabelDefense, SELENADefense), and audit it with shadow models "
        "that are trained with it too.",
        "Rounding answers or hiding them but for the label makes an attack weaker, as a rule "
        "not by much.",
        "A bound that no attack can break comes from differentially private training alone "
        "(DPSGDClassifier).",
        _REPEAT,
    ],
    NONE: [
        "Keep this page with the model: it holds for these attacks, these records and this "
        "training run.",
        "Audit again when the model is trained anew, or trained on other data.",
        "More shadow models, more records, or attacks that read gradients and layers may find what "
        "these did not.",
    ],
    SHIFT: [
        "Draw members and non-members from one population, at one time and by one rule, best of "
        "all by splitting one set at random before training. Then audit again.",
        "Leave out columns that give the split away: dates, running numbers, sources.",
    ],
    UNKNOWN: [
        "Audit with more records; some hundreds on each side are a beginning, and a true positive "
        "rate at a false positive rate of 0.1% takes 10,000 non-members.",
    ],
}


def advise(document):
    """Sentences on what to do, by what the audit found.

    Parameters
    ----------
    document : dict

    Returns
    -------
    advice : list of str
    """
    advice = list(_ADVICE[document["evidence"]])
    performance = document["performance"]
    gap = performance["gap"]
    if document["evidence"] == LEAK and performance["metric"] == "accuracy" and (gap or 0) < 0.02:
        advice[1] = (
            "The model is hardly better on its members than on others, so that what leaks is how "
            "sure it is. " + advice[1]
        )
    return advice
