"""The schema of what an audit says about people."""

from .._core.kinds import count, either, fields, many, maybe, number, text, word
from ._curves import MOST_EXPOSED
from .person_level import MEAN, SUM

_RATE = number(0, 1)

_PERSON = fields(
    person=either(text, number()),
    n_records=count(1),
    score=number(),
    n_above=count(),
    pvalue=_RATE,
)

PEOPLE = fields(
    attack=text,
    combine=word(SUM, MEAN),
    n_members=count(),
    n_nonmembers=count(),
    n_mixed=count(),
    **dict.fromkeys(("auc", "low", "high", "pvalue"), maybe(_RATE)),
    n_permutations=count(1),
    exposed=many(_PERSON, 0, MOST_EXPOSED),
)


def check_people(document):
    """Check that what a document says about people is consistent.

    Raises
    ------
    ValueError
        If numbers contradict each other.
    """
    found = document["person_level"]
    if found is None:
        return
    n_people = found["n_members"] + found["n_nonmembers"] + found["n_mixed"]
    given = [found[name] is not None for name in ("auc", "low", "high", "pvalue")]
    wrong = {
        "more people than there are records": n_people > document["data"]["n_records"],
        "some but not all of auc, low, high and pvalue": any(given) != all(given),
        "exposed people without an AUC": bool(found["exposed"]) and not any(given),
        "more exposed people than members": len(found["exposed"]) > found["n_members"],
        "more non-members above a person than there are": any(
            row["n_above"] > found["n_nonmembers"] for row in found["exposed"]
        ),
    }
    if all(given):
        wrong["a lower limit above the upper one"] = found["low"] > found["high"]
    for what, holds in wrong.items():
        if holds:
            raise ValueError(f"person_level has {what}")
