"""What an audit says about people with several records."""

from .._core.pvalues import format_pvalue
from .._core.visible import visible
from ._evidence import LEAK
from ._measure import OK, OVERALL

SUM, MEAN = "sum", "mean"

_MOST_NAMED = 5


def describe_people(found, results):
    """Describe how well people are found."""
    sides = f"{found['n_members']:,} people who are members, {found['n_nonmembers']:,} who are not"
    if found["n_mixed"]:
        sides += f", {found['n_mixed']:,} with records on both sides who are left out"
    if found["auc"] is None:
        return f"People: {sides}. These are too few to measure how well they are found."
    p = format_pvalue(found["pvalue"], 1 / (1 + found["n_permutations"]))
    return (
        f"People: {sides}. The {found['combine']} of the {visible(found['attack'])} scores of "
        f"each person separates them with AUC {found['auc']:.3f} [{found['low']:.3f}, "
        f"{found['high']:.3f}] ({p} by permutation of people, corrected for all attacks)"
        f"{_compare(found, results)}. The verdict rests on the numbers of records, and stays "
        "open if only people are found."
    )


def _compare(found, results):
    rows = results[(results["scope"] == OVERALL) & (results["attack"] == found["attack"])]
    aucs = rows[(rows["metric"] == "auc") & (rows["status"] == OK)]
    return f", single records with {aucs['estimate'].iloc[0]:.3f}" if len(aucs) else ""


def name_exposed(found, evidence):
    """Name the people who are exposed most, in a sentence; no sentence if nothing leaks."""
    if evidence != LEAK or not found["exposed"]:
        return []
    names = ", ".join(
        f"{visible(row['person'])} ({row['n_records']:,} record"
        f"{'' if row['n_records'] == 1 else 's'}, p = {row['pvalue']:.2g})"
        for row in found["exposed"][:_MOST_NAMED]
    )
    return [
        f"Most exposed people: {names}; p is the share of non-members whose score is as high, for "
        "each person taken alone."
    ]
