"""Verdicts on answers and on files, sentence by sentence, of results that are made by hand."""

from types import SimpleNamespace as NS
from unittest import mock

import pandas as pd
from by_hand import expect_answers
from numpy import array, nan

from skmia.report import _evidence, _verdict


def row(attack="a", **changed):
    usual = {"scope": "overall", "group": "all", "attack": attack, "metric": "auc"}
    usual |= {"max_fpr": nan, "estimate": 0.75, "low": 0.7, "high": 0.8, "fpr": nan}
    usual |= {"fpr_high": nan, "told": nan, "pvalue_adjusted": 0.01, "pvalue_below": 0.9}
    return usual | {"status": "ok", "n_members": 1200, "n_nonmembers": 30} | changed


def rate(attack="a", max_fpr=0.01, **changed):
    return row(attack, **({"metric": "tpr", "max_fpr": max_fpr, "fpr": max_fpr} | changed))


def part(group="f", **changed):
    return row(**({"scope": "sex", "group": group} | changed))


def grounds(*rows, checks=None, asked=("a",)):
    frame = pd.DataFrame(rows, columns=[*row()])
    return NS(
        results=frame, null=frame, level=0.95, n_permutations=999, checks=checks or {}, asked=asked
    )


def leak(*rows):
    return _verdict._tell_leak(grounds(*rows))


def nothing(*rows, **more):
    return _verdict._tell_nothing(grounds(*rows, **more))


def reversal(*rows, checks=None):
    return _verdict._tell_reversal(grounds(*rows, checks=checks))


def facts(**changed):
    usual = {"reason": None, "obstacle": None, "n_records": 1500, "n_members": 700}
    usual |= {"outsiders": None, "n_rows": 800, "sources": [], "ledger": [], "expected_auc": 0.7}
    return usual | changed


def source(name="moments", auc=0.6, path="", n_equations=1234, hits=None):
    return {"name": name, "auc": auc, "path": path, "n_equations": n_equations, "hits": hits}


def read(*ledger, sources=()):
    ledger = [{"part": name, "size": size} for name, size in ledger]
    text = _verdict._describe_reading(facts(ledger=ledger, sources=sources))
    return text.partition(" was read: ")[2]


def candidates(**changed):
    return _verdict.describe_candidates(facts(**changed))


def in_file(*rows):
    return _verdict._describe_group_of_file(grounds(*rows))


def high(level, *rows):
    results = grounds(*rows).results
    return results["attack"][_verdict._find_high(results, level)].tolist()


def unknown(members=0.5, nonmembers=0.25, **changed):
    hits = {"members": members, "nonmembers": nonmembers}
    given = facts(obstacle="Odd.", sources=[source(), source(hits=hits)]) | changed
    return _verdict._tell_unknown(grounds(row(pvalue_adjusted=0.5)), given)


def fit_of_sides(status, name="sides"):
    check = NS(status=status, text="It fits them.")
    with mock.patch.object(_verdict, "find_outcome", lambda checks, role: checks.get(role)):
        return _verdict._tell_fit_of_sides({_verdict.KNOWN if name == "sides" else name: check})


def find_cause(evidence, *rows, stopped=False):
    """Return what is wrong with the two sides, which is asked of an evidence."""
    parts = {"is_stopped": lambda checks: stopped, "get_cause": lambda grounds: "swapped"}
    with mock.patch.multiple(_verdict, **parts):
        return _verdict.find_cause(grounds(*rows), evidence)


def get_cause(cause, *rows, warns=True, has_check=True):
    """Return what is wrong with the two sides, where attacks find the rows to be beyond chance."""
    check = NS(is_warning=warns) if has_check else None
    parts = {"find_outcome": lambda checks, role: check, "name_cause": lambda check: cause}
    with mock.patch.multiple(_evidence, **parts):
        return _evidence.get_cause(grounds(*rows))


def get_excess(low, *rows, differs="drift", finding=True):
    """Return what training adds to a difference of the two sides."""
    check = NS(finding=array([0.1, low, 0.3]) if finding else None)
    parts = {
        "find_outcome": lambda checks, role: None if finding is None else check,
        "get_difference": lambda checks: differs,
    }
    with mock.patch.multiple(_evidence, **parts):
        return _evidence.get_excess(grounds(*rows))


def read_texts():
    """Return the types of texts and numbers of a frame, after they are objects and before."""
    frame = pd.DataFrame({"a": pd.Series(["x", "y"], dtype="string"), "b": [1.0, 2.0]})
    found = _evidence._with_objects(frame)
    return [[str(one) for one in some.dtypes] for some in (found, frame)], found["a"].tolist()


def leaks(**pvalues):
    """Return what leaks of numbers with such p-values at the usual level."""
    rows = [row(name, pvalue_adjusted=one, pvalue_below=one) for name, one in pvalues.items()]
    found = _evidence.list_leaks(grounds(*rows)), _evidence.list_reversals(grounds(*rows))
    return [one["attack"].tolist() for one in found]


INSIDE = "(95% interval of this attack alone: [0.700, 0.800]; chance is 0.5; p = 0.02"
OF_TWO = " after correction for 2 results"
OF_THREE = " after correction for 3 results"
RANKS = f"ranks a random member above a random non-member with probability 0.750 {INSIDE}"
BEST = "the highest AUC is 0.750 [0.700, 0.800], by a"
NEEDS = "The attacker needs the file and candidate records, and makes no query."
SUMS = (
    "It stores 1,234 independent sums over the training rows, from which an attacker works out "
    "which of 1,500 candidates were among these rows."
)
WEAK = {"pvalue_adjusted": 0.5}

ROWS = [
    # How well the model fits both sides is told where that is known.
    (lambda: fit_of_sides("passed"), " It fits them."),
    (lambda: fit_of_sides("warning"), ""),
    (lambda: fit_of_sides("passed", "another"), ""),
    # What is wrong with the sides is asked where a verdict is open for it, and numbers are there.
    (lambda: [find_cause(one, row()) for one in ("unknown", "reversed")], ["swapped"] * 2),
    (lambda: [find_cause(one, row()) for one in ("leak", "none", "shift")], [None] * 3),
    (lambda: find_cause("unknown", row(), stopped=True), None),
    (lambda: find_cause("unknown", part(), rate()), None),
    # A leak stands in spite of some rows that are in the model, and of nothing else.
    (lambda: get_cause("swapped", row()), "swapped"),
    (lambda: get_cause(_evidence.IN_PART, row()), None),
    (lambda: get_cause(_evidence.IN_PART, row(**WEAK)), _evidence.IN_PART),
    (lambda: get_cause("swapped", row(), warns=False), None),
    (lambda: get_cause("swapped", row(), has_check=False), None),
    # Above 0, where all records are beyond chance.
    (lambda: get_excess(0.01, row()), (0.1, 0.01, 0.3)),
    (lambda: get_excess(0.0, row()), None),
    (lambda: get_excess(0.01, row(**WEAK)), None),
    (lambda: get_excess(0.01, row(**WEAK), part()), None),
    (lambda: get_excess(0.01, row(), differs=None), None),
    (lambda: get_excess(0.01, row(), finding=False), None),
    (lambda: get_excess(0.01, row(), finding=None), None),
    (read_texts, ([["object", "float64"], ["string", "float64"]], ["x", "y"])),
    # Each side has half of the 5%.
    (lambda: leaks(a=0.025, b=0.0251, c=0.001), [["a", "c"], ["a", "c"]]),
    # One attack, or the strongest of several; another one is told where that was chosen before.
    (lambda: leak(row()), f"a {RANKS})."),
    (
        lambda: leak(row(), row("b", estimate=0.6, pvalue_adjusted=0.01)),
        f"The strongest of 2 attacks, a, {RANKS}{OF_TWO}).",
    ),
    (
        lambda: leak(row(told=1), row("b", estimate=0.76, told=0)),
        f"a, one of 2 attacks, {RANKS}{OF_TWO}).",
    ),
    (lambda: leak(row("b", estimate=0.6), row())[:30], "The strongest of 2 attacks, a,"),
    # The attack that finds most at the lowest rate, if it is another one.
    (
        lambda: leak(row(), row("b", estimate=0.6), rate("b", 0.01), rate("b", 0.1)).rpartition(
            "). "
        )[2],
        "At a false positive rate of at most 1% b identifies 75.0% [70.0, 80.0] of the members.",
    ),
    (
        lambda: _verdict._name_strongest_at_rate(grounds(row(), rate("a", 0.01)), "a"),
        "",
    ),
    (lambda: _verdict._name_strongest_at_rate(grounds(row()), "a"), ""),
    (
        lambda: _verdict.get_best_at_lowest_rate(
            grounds(
                rate("a", 0.01, estimate=0.0), rate("b", 0.1), rate("c", 0.2, estimate=0.9)
            ).results
        )["attack"],
        "b",
    ),
    (
        lambda: _verdict.get_best_at_lowest_rate(
            grounds(rate("a"), rate("b"), row("a", estimate=0.6), row("b")).results
        )["attack"],
        "b",
    ),
    (
        lambda: _verdict.get_best_at_lowest_rate(
            grounds(
                rate("a"), rate("b", estimate=0.9, told=0), rate("c", estimate=0.5, told=1)
            ).results
        )["attack"],
        "c",
    ),
    (lambda: _verdict.get_best_at_lowest_rate(grounds(row()).results), None),
    # A group that lies above all records is named, the one with the highest AUC.
    (
        lambda: leak(
            row(), part(low=0.81, estimate=0.9, high=0.95), part("m", low=0.82, estimate=0.85)
        ).rpartition("). ")[2],
        "In sex=f (1,200 members, 30 non-members) the AUC of a is 0.900 [0.810, 0.950].",
    ),
    (lambda: leak(row(), part(low=0.8, estimate=0.9, high=0.95))[-11:], "2 results)."),
    # A leak at a low rate, or of a group alone.
    (
        lambda: leak(row(**WEAK), rate()),
        "At a false positive rate of at most 1% a identifies 75.0% [70.0, 80.0] of the members, "
        f"with 1% of the non-members flagged (p = 0.02{OF_TWO}). On average no attack is "
        f"significantly better than chance: {BEST}.",
    ),
    (
        lambda: leak(row(**WEAK), part()),
        "In sex=f (1,200 members, 30 non-members) a ranks a random member above a random "
        "non-member with probability 0.750 (95% interval of this number alone: [0.700, 0.800]; "
        f"chance is 0.5; p = 0.02{OF_TWO}). Over all records no result is significant: {BEST}.",
    ),
    (
        lambda: leak(row(**WEAK), rate(scope="sex", group="f"), part("m", pvalue_adjusted=0.02)),
        "In sex=f (1,200 members, 30 non-members) a identifies 75.0% [70.0, 80.0] of the members, "
        "with 1% of the non-members flagged (95% interval of this number alone; p = "
        f"0.02{OF_THREE}). The same holds for sex=m. Over all records no result is significant: "
        f"{BEST}.",
    ),
    (
        lambda: leak(row(**WEAK), part(estimate=0.6), part("m"))[:9],
        "In sex=m ",
    ),
    # Nothing is found.
    (
        lambda: nothing(row(low=0.5, **WEAK)),
        "No result is significant at the 5% level. The highest AUC "
        "is 0.750 [0.500, 0.800], by a (chance is 0.5). A stronger attack may still succeed.",
    ),
    (
        lambda: nothing(row(), part(), part("m", status="x"), asked=("a", "b", "c")),
        "Only 1 of 3 attacks could run: a. No result is significant at the 5% level after "
        "correction for 3 results. The highest AUC is 0.750 [0.700, 0.800], by a (chance is 0.5). "
        "Of 2 pointwise intervals of the AUC, over all records and by group, 2 lie above 0.5, "
        "where about 0.1 would by chance. A stronger attack may still succeed.",
    ),
    (
        lambda: _verdict._count_intervals(grounds(row(), part(low=0.5))).partition("group, ")[2],
        "1 lies above 0.5, where about 0.1 would by chance.",
    ),
    (lambda: _verdict._tell_best(grounds(row(), row("b", estimate=0.8)))[-4:], "by b"),
    (
        lambda: _verdict._tell_best(grounds(row(), row("b", estimate=0.8)))[:22],
        "the highest AUC is 0.8",
    ),
    (lambda: _verdict._tell_best(grounds(row(told=1), row("b", estimate=0.8)))[:11], "the AUC is "),
    # Members below the others, over all records or in a group.
    (
        lambda: reversal(row(estimate=0.25, low=0.2, high=0.3, pvalue_below=0.01), row("b")),
        "a ranks members significantly below non-members: its AUC is 0.250 [0.200, 0.300] (p = "
        f"0.02{OF_TWO}), and no result is significantly above chance. Were members and non-members "
        "swapped? Check the coding of membership.",
    ),
    (
        lambda: reversal(row(), part(pvalue_below=0.01), part("m", pvalue_below=0.005))[:11],
        "In sex=m a ",
    ),
    (
        lambda: reversal(
            row(pvalue_below=0.01),
            row("b", estimate=0.7, pvalue_below=0.01),
            part(pvalue_below=0.001),
        )[:7],
        "b ranks",
    ),
    (lambda: _verdict._format_corrected(grounds(row()), 0.01), "p = 0.02"),
    (lambda: _verdict._format_corrected(grounds(row()), 0.001), "p \u2264 0.002"),
    # Numbers of a level, by the lower end.
    (
        lambda: high(
            "clear",
            row("a", low=0.6),
            row("b", low=0.599),
            rate("c", low=0.05),
            rate("d", low=0.049),
            rate("e", fpr=0.002, fpr_high=0.005, low=0.025),
            row("f", status="x"),
        ),
        ["a", "c", "e"],
    ),
    (lambda: high("severe", row("a", low=0.8), row("b", low=0.79), rate("c", low=0.2)), ["a", "c"]),
    (lambda: _verdict.is_severe(grounds(row(low=0.8)).results), True),
    (
        lambda: _verdict.is_severe(grounds(row(low=0.79), part(low=0.9), rate(low=0.9)).results),
        False,
    ),
    (
        lambda: _verdict.list_clear(grounds(row(), part(), part("m", **WEAK)))["group"].tolist(),
        ["all", "f"],
    ),
    # The file: what leaks, where, and why.
    (
        lambda: _verdict._describe_leak_of_file(
            grounds(
                row(), rate("a", 0.1), rate("a", 0.02, estimate=0.0), rate("a", 0.05, estimate=0.5)
            )
        ),
        "From what it stores, a random member ranks above a random non-member with probability "
        "0.750 (95% interval [0.700, 0.800]; chance is 0.5). It identifies 50.0% [70.0, 80.0] of "
        "the members at a false positive rate of 5%.",
    ),
    (lambda: in_file(row()), ""),
    (lambda: in_file(row(low=0.55), part(**WEAK)), ""),
    (lambda: in_file(row(low=0.55, **WEAK), part(low=0.55)), " Only sex=f is beyond chance."),
    (
        lambda: in_file(row(low=0.55, **WEAK), part(), part("m", low=0.75)),
        " In sex=m (1,200 members, 30 non-members), the probability is 0.750 [0.750, 0.800].",
    ),
    (
        lambda: in_file(row(low=0.55, **WEAK), rate(scope="sex", group="f")),
        " In sex=f (1,200 members, 30 non-members), 75.0% [70.0, 80.0] are identified at a false "
        "positive rate of 1%.",
    ),
    (lambda: _verdict._describe_reason(facts()), NEEDS),
    (lambda: _verdict._describe_reason(facts(sources=[source("other")])), NEEDS),
    (lambda: _verdict._describe_reason(facts(sources=[source()])), f"{SUMS} {NEEDS}"),
    (
        lambda: _verdict._describe_reason(
            facts(sources=[source("stored values", 0.5), source(path="a/b", auc=0.7)])
        ),
        f"Most is found in a/b. {SUMS} {NEEDS}",
    ),
    (
        lambda: _verdict._describe_reason(facts(sources=[source(n_equations=None)]))[:12],
        "It stores 0 ",
    ),
    (lambda: candidates(), "Of 1,500 candidates, 700 were members."),
    (
        lambda: candidates(outsiders=0.125),
        "Of 1,500 candidates, 700 were members; the file states 800 training rows, 12.5% of which "
        "are not among them.",
    ),
    (lambda: candidates(outsiders=0.0)[-25:], " all of which are listed."),
    (
        lambda: candidates(outsiders=0.0, n_rows=700)[-34:],
        "rows, all of which are among them.",
    ),
    (lambda: read(("moments", 1), sources=[source(n_equations=1)]), "1 sum"),
    (lambda: read(("a", 1)), "1 other number"),
    (
        lambda: read(("moments", 5), ("a", 1000), ("a", 2), sources=[source(), source("unread")]),
        "1,234 sums and 1,002 other numbers",
    ),
    (lambda: read(("moments", 5), sources=[source(n_equations=None)]), "5 other numbers"),
    (
        lambda: unknown(),
        "Odd. Values of 50.0% of the members and 25.0% of the non-members are in the file, too "
        "few to tell members from non-members.",
    ),
    (lambda: unknown(0.25, 0.25), "Odd. Nothing was found in the rest of the file."),
    (lambda: unknown(sources=[]), "Odd. Nothing was found in the rest of the file."),
    (lambda: unknown(reason="No file."), "No file."),
    (lambda: _verdict.name_part("a", "b"), "a=b"),
]


def test_answers_by_hand():
    expect_answers(ROWS)
