"""What is said of two audits, part by part, with answers by hand or from other formulas."""

import numpy as np
import pytest
from by_hand import expect_answers
from numpy import nan
from scipy.stats import norm

from skmia._core.levels import Level
from skmia.report import _comparison, _comparison_words
from skmia.report._comparison import PEOPLE, AuditComparison, NumberChange, RouteChange
from skmia.report._evidence import FILE, SERVICE, ReleaseRoute
from skmia.report._measure import COLUMNS

words = _comparison_words
BEFORE, AFTER, GAP = (0.75, 0.7, 0.8), (0.51, 0.5, 0.625), (-0.24, -0.3, -0.125)
CLEAR, NOTHING = Level("clear"), Level("none")


def number(sign=0, **changed):
    """A number of all records, which fell from .75 to .51."""
    usual = {"way": SERVICE, "scope": "overall", "group": "all", "metric": "auc", "max_fpr": None}
    usual |= {"attacks": ("LiRA", "RMIA"), "first": BEFORE, "second": AFTER, "difference": GAP}
    return NumberChange(**(usual | {"sign": sign} | changed))


def rate(sign=0, max_fpr=0.01, **changed):
    return number(sign, metric="tpr", max_fpr=max_fpr, **changed)


def group(sign=0, group="F", **changed):
    return number(sign, scope="sex", group=group, **changed)


def route(outcome, *changes, way=SERVICE, levels=(CLEAR, NOTHING), why=""):
    return RouteChange(way, levels, outcome, why, changes)


def compare(*routes, numbers=(), attacks=("LiRA",), left_out=(), n_compared=3, unshared=()):
    return AuditComparison(routes, numbers, attacks, left_out, n_compared, 0.95, unshared)


def list_unshared(*audits):
    """What only one of two audits measured, by the rows of the answers and of the file."""
    names = ("scope", "group", "metric", "max_fpr", "status")
    rows = [
        [[dict(zip(names, row, strict=True)) for row in part] for part in one] for one in audits
    ]
    documents = [
        {"results": answers, "file": {"results": file[0]} if file else None}
        for answers, *file in rows
    ]
    return [*_comparison._list_unshared(documents)]


def head(*routes):
    return words._write_comparison_heading(compare(*routes))


def tell(*changes):
    return words._write_route(route("less", *changes))


def show(*routes, **more):
    screen = words.show_comparison(compare(*routes, **more), [])
    return screen.level.name, screen.heading, screen.sentences


def lead(*given, place=0, **more):
    found = words._make_route_headline(route(*given, **more), place)
    return found.words, found.where, found.levels, found.leads


def step(*routes, left_out=()):
    return [one[:2] for one in words._list_steps(compare(*routes, left_out=left_out))]


def document(**changed):
    usual = {"data": {"n_members": 1200, "n_nonmembers": 30}, "settings": {"n_shadows": 8}}
    usual |= {"victim_name": "Ridge", "recommendation": None, "created": "today", "file": None}
    return usual | {"verdict": "a leak"} | changed


RANKS = "a random member ranks above a random non-member {} of 100 times"
BETTER = RANKS.format("**51**") + "; it was 75"
RECOGNIZED = "**51** of 100 members are recognized when at most 1 of 100 others is mistaken for one"
unsaid, file_less = route("unsaid", why="no verdict in A"), route("less", number(-1), way=FILE)
missing = route("unsaid", way=FILE, why="not attacked in B", levels=(CLEAR, None))
same = route("same", number())
ROW = "  {:20s}{:19s}{:19s}{}".format
CELLS = ".750 [.700, .800]", ".510 [.500, .625]", "-.240 [-.300, -.125]"
COUNTS = " 75 [70, 80]", " 51 [50, 62]", "-24 [-30, -12]"
FALL = [75.0, 51.0]

WHOLE = ("overall", "all", "auc", None, "ok")


def in_group(scope, group, status="ok"):
    return scope, group, "auc", None, status


def at(rate, status="ok"):
    return "overall", "all", "tpr", rate, status


WORDS = [
    (lambda: head(file_less, route("less", number(-1))), "Less leakage"),
    (lambda: head(file_less), "Less leakage"),
    (lambda: head(file_less, same), "Less leakage with the file"),
    (lambda: head(file_less, unsaid), "Less leakage with the file"),
    (
        lambda: head(file_less, route("more", number(1))),
        "Less leakage with the file and more leakage as a service",
    ),
    (lambda: head(route("same", number(), way=FILE), unsaid), "No change shown"),
    (lambda: head(unsaid), "No verdict"),
    (lambda: head(route("mixed", number())), "Better and worse"),
    (lambda: words._write_route(unsaid), "As a service, nothing can be said: no verdict in A."),
    (lambda: tell(number(-1)), f"As a service, {BETTER}."),
    (lambda: tell(number(-1), number(-1, scope=PEOPLE)), f"As a service, {BETTER}."),
    (lambda: tell(number(-1, scope=PEOPLE), number(-1)), f"As a service, {BETTER}."),
    (lambda: tell(number(-1), rate(-1)), f"As a service, {RECOGNIZED}; it was 75."),
    (lambda: tell(number(-1), group(-1)), f"As a service, {BETTER}."),
    (
        lambda: tell(number(), group(-1), group(-1, "M")),
        f"As a service, in **sex: F**, {BETTER}.",
    ),
    (
        lambda: tell(number(1), group(1), group(1, "M")),
        f"As a service, {BETTER}. In **sex: F**, {BETTER}.",
    ),
    (
        lambda: tell(number(-1), rate(1)),
        f"As a service, {RECOGNIZED}; it was 75. A{BETTER[1:]}.",
    ),
    (
        lambda: tell(number(), rate()),
        f"As a service, {RANKS.format(51)}, and it was 75: a difference that may be chance.",
    ),
    (
        lambda: tell(number(second=(0.754, 0.7, 0.8))),
        f"As a service, {RANKS.format(75)} in both audits.",
    ),
    # Digits in which a change is seen, and the noun of the others.
    (lambda: words._tell_shares(number(-1, second=(0.746, 0.7, 0.8)))[1:], ("75.0", "74.6")),
    (lambda: words._tell_shares(number(second=(0.746, 0.7, 0.8)))[1:], ("75", "75")),
    (lambda: words._tell_shares(rate(max_fpr=0.001))[1:], ("750", "510")),
    (
        lambda: words._tell_shares(rate(max_fpr=0.001))[0],
        "{} of 1,000 members are recognized when at most 1 of 1,000 others is mistaken for one",
    ),
    (
        lambda: words._tell_shares(rate(max_fpr=0.02))[0],
        "{} of 100 members are recognized when at most 2 of 100 others are mistaken for one",
    ),
    (
        lambda: words._tell_shares(number(scope=PEOPLE))[0],
        "a random member with all records ranks above a random non-member {} of 100 times",
    ),
    (lambda: words._tell_shares(number(first=(0.0, 0.0, 0.1)))[1], "0"),
    (lambda: words._tell_shares(number(first=(0.001, 0.0, 0.1)))[1], "fewer than 1"),
    (lambda: words._tell_shares(number(first=(0.999, 0.9, 1.0)))[1], "more than 99"),
    # What is still a leak is said, of the routes of which something is said.
    (
        lambda: show(route("less", number(-1), levels=(CLEAR, Level("slight"))))[:2],
        ("slight", "Less leakage, still slight"),
    ),
    (lambda: show(route("less", number(-1)))[:2], ("none", "Less leakage")),
    (
        lambda: show(route("more", number(1), levels=(NOTHING, CLEAR)))[:2],
        ("clear", "More leakage"),
    ),
    (
        lambda: show(file_less, route("unsaid", levels=(CLEAR, Level("severe")), why="a"))[:2],
        ("none", "Less leakage with the file"),
    ),
    (lambda: show(unsaid)[:2], ("unknown", "No verdict")),
    (
        lambda: show(file_less, route("less", number(-1), levels=(CLEAR, Level("slight"))))[:2],
        ("slight", "Less leakage, still slight"),
    ),
    # The first route speaks for all where nothing changed.
    (lambda: len(show(same, route("same", number(), way=FILE))[2]), 1),
    (lambda: len(show(same, unsaid)[2]), 2),
    (
        lambda: [one.leads for one in words.show_comparison(compare(same, unsaid), []).headlines],
        [True, False],
    ),
    (
        lambda: words._describe_model(document()),
        "Ridge; 1,200 members, 30 others; 8 shadow models",
    ),
    (
        lambda: words._describe_model(document(settings={"n_shadows": 0})),
        "Ridge; 1,200 members, 30 others; no shadow models",
    ),
    (
        lambda: lead("less", number(-1)),
        ("Less leakage", "as a service: clear -> none shown", (CLEAR, NOTHING), True),
    ),
    (
        lambda: lead("same", number(), levels=(CLEAR, CLEAR), place=1),
        ("No change shown", "as a service: clear", (CLEAR, CLEAR), False),
    ),
    (
        lambda: lead("less", number(-1), levels=(CLEAR, CLEAR))[1],
        "as a service: still clear",
    ),
    (
        lambda: lead("unsaid", why="not attacked in B", levels=(CLEAR, None)),
        ("No verdict", "as a service: not attacked in B", (CLEAR,), True),
    ),
    # Where a group alone changed, the headline is of the first one.
    (
        lambda: lead("less", number(), group(-1, levels=(CLEAR, NOTHING)), levels=(CLEAR, CLEAR)),
        ("Less leakage", "as a service, sex: F: clear -> none shown", (CLEAR, NOTHING), True),
    ),
    (
        lambda: lead("less", number(-1), group(-1, levels=(CLEAR, NOTHING)), levels=(CLEAR, CLEAR))[
            1
        ],
        "as a service: still clear",
    ),
    (
        lambda: lead("less", number(), group(-1), levels=(CLEAR, CLEAR))[1],
        "as a service: still clear",
    ),
    (
        lambda: lead("less", group(-1, "with a long name", levels=(CLEAR, NOTHING)))[1],
        "as a service, sex: with a long ...: clear -> none shown",
    ),
    # A row for each number of all records, and for each group that changed.
    (
        lambda: words._tabulate_changes(compare(route("less", number(-1), group()))),
        [
            ROW("", "A", "B", "change"),
            ROW("ranks higher (AUC)", *CELLS),
            ROW("each of the groups", "", "", "not shown to change"),
        ],
    ),
    (
        lambda: words._tabulate_changes(compare(file_less, unsaid, same)),
        [
            ROW("", "A", "B", "change"),
            "  with the file",
            ROW("ranks higher (AUC)", *CELLS),
            "  as a service",
            ROW("ranks higher (AUC)", *CELLS[:2], "not shown to change"),
        ],
    ),
    (
        lambda: words._tabulate_changes(
            compare(route("less", *(group(-1, f"{k}") for k in range(8)), group(0, "x")))
        )[1:],
        [ROW(f"sex: {k} (AUC)", *CELLS) for k in range(8)],
    ),
    (
        lambda: words._tabulate_changes(
            compare(route("less", *(group(-1, f"{k}") for k in range(10))))
        )[8:],
        [ROW("sex: 7 (AUC)", *CELLS), "  2 more groups changed: --out"],
    ),
    (lambda: words._write_row(rate(-1)), ROW("recognized of 100", *COUNTS)),
    (
        lambda: words._write_row(rate(-1, max_fpr=0.001))[:36],
        "  recognized of 1,000 750 [700, 800]",
    ),
    (lambda: words._write_row(number(-1, scope=PEOPLE)), ROW("people (AUC)", *CELLS)),
    (
        lambda: words._write_row(rate(-1, scope="sex", group="first and second")),
        ROW("sex: fi... (of 100)", *COUNTS),
    ),
    (
        lambda: words._write_row(group(1, "first and second")),
        ROW("sex: first... (AUC)", *CELLS),
    ),
    (lambda: words._short(1.0, 0.25, 1.0), "1.00 [.250, 1.00]"),
    (lambda: words._short(0.25, -0.5, 0.75, sign="+"), "+.250 [-.500, +.750]"),
    (lambda: words._format_change(1000, 0.002, 0.0, 0.01), " +2 [+0, +10]"),
    (lambda: words._format_change(100, -1e-17, -0.02, 0.02), " +0 [-2, +2]"),
    # A change that is shown is not written as 0, and all are all.
    (lambda: words._format_change(100, -0.006, -0.012, -0.0004), "-0.60 [-1.20, -0.04]"),
    (lambda: words._format_count(100, 0.998, 0.99, 0.9999), ">99 [99, >99]"),
    (lambda: words._format_count(100, 1.0, 0.99, 1.0), "100 [99, 100]"),
    (lambda: words._format_count(1000, 1.0, 0.0, 1.0), "1,000 [0, 1,000]"),
    (lambda: words._count_numbers(compare(n_compared=1)), "this number"),
    (lambda: words._count_numbers(compare(n_compared=2)), "all 2 numbers"),
    (lambda: words.caption_changes(compare())[:13], "95% intervals"),
    (
        lambda: words._tell_scope(compare(attacks=(), left_out=[("a", "B alone")])),
        "Attacks that both audits ran alike: none. Not compared: a (B alone).",
    ),
    # Groups and rates that only one audit measured; a column that the other lacks is named once.
    (
        lambda: words._tell_scope(
            compare(left_out=[("a", "B alone")], unshared=[("x", "A alone"), ("y", "B alone")])
        ),
        "Attacks that both audits ran alike: LiRA. Not compared: a and y (B alone); x (A alone).",
    ),
    (
        lambda: list_unshared(
            [
                [WHOLE, in_group("sex", "f"), in_group("sex", "m"), at(0.01), at(0.1)],
                [WHOLE, in_group("sex", "f"), at(0.05)],
            ],
            [
                [WHOLE, in_group("class", "0"), in_group("class", "1"), at(0.01)],
                [at(0.1), at(0.05, "not resolvable"), in_group("sex", "x", "too few records")],
            ],
        ),
        [("groups of sex", "A alone"), ("a rate of 5%", "A alone"), ("groups of class", "B alone")],
    ),
    (
        lambda: list_unshared(
            [[in_group("sex", "f"), in_group("sex", "m")]],
            [[in_group("sex", "f"), in_group("sex", "x")]],
        ),
        [("sex: m", "A alone"), ("sex: x", "B alone")],
    ),
    *(
        (
            lambda aucs=aucs, compared=compared: _comparison._list_unshared_people(
                [{"person_level": auc if auc is None else {"auc": auc[0]}} for auc in aucs],
                compared,
            ),
            [(PEOPLE, why)] if why else [],
        )
        for aucs, compared, why in (
            ([[0.5], [0.75]], None, "other attacks"),
            ([[0.5], None], None, "A alone"),
            ([[None], [0.75]], None, "B alone"),
            ([[None], None], None, None),
            ([[0.5], [0.75]], ("first", "second"), None),
        )
    ),
    (
        lambda: words._tell_scope(compare(attacks=("b", "c"))),
        "Attacks that both audits ran alike: b and c.",
    ),
    (
        lambda: words._tell_scope(compare(attacks="abcdef")),
        "Attacks that both audits ran alike: a, b, c, d, e and f.",
    ),
    (
        lambda: words._tell_scope(compare(attacks="abcdefghi")),
        "Attacks that both audits ran alike: a, b, c, d, e, f and 3 more.",
    ),
    (lambda: step(same), []),
    (
        lambda: step(same, left_out=[("a", "numbers of shadow models: 4 in A"), ("b", "A alone")]),
        [
            ("Audit both with one number of shadow models.", "`--shadows`, for a."),
            ("Audit both with the same attacks.", "Only these can be compared."),
        ],
    ),
    (
        lambda: step(left_out=[("a", "numbers of shadow models: 4 in A")]),
        [("Audit both with one number of shadow models.", "`--shadows`, for a.")],
    ),
    (
        lambda: step(missing, unsaid, same),
        [
            ("Audit B again.", "Its file was not attacked (leave out `--quick`)."),
            ("Ask for a verdict first.", "No verdict in a."),
        ],
    ),
    (
        lambda: step(missing, same, left_out=[("file attack", "A alone")]),
        [("Audit B again.", "Its file was not attacked (leave out `--quick`).")],
    ),
    (lambda: words._tell_unchanged([number(-1)]), ""),
    (
        lambda: words._tell_unchanged([group(), group(metric="tpr"), group(0, "M")]),
        "None of 2 groups is shown to change, after Holm's correction for all of them.",
    ),
    (
        lambda: words._tell_unchanged([group(1), group(), group(0, "M"), group(1, way=FILE)]),
        "1 of 2 groups changed, after Holm's correction for all of them.",
    ),
    (
        lambda: words._tell_unchanged([group(0), group(0, way=FILE)]),
        "None of 1 group is shown to change, after Holm's correction for all of them.",
    ),
    # The page.
    (
        lambda: words._make_change_row(rate(-1, attacks=("a", "a"))),
        {
            "where": "all records",
            "way": "as a service",
            "metric": "TPR @ 1% FPR",
            "attacks": "a",
            "cells": ["75.0% [70.0, 80.0]", "51.0% [50.0, 62.5]", "-24.0% [-30.0, -12.5]"],
            "sign": -1,
            "told": "less",
        },
    ),
    (
        lambda: [
            (found["where"], found["attacks"], found["cells"][0], found["told"])
            for found in map(words._make_change_row, (number(0, scope=PEOPLE), group(1)))
        ],
        [
            (PEOPLE, "LiRA and RMIA", "0.750 [0.700, 0.800]", "not shown to change"),
            ("sex: F", "LiRA and RMIA", "0.750 [0.700, 0.800]", "more"),
        ],
    ),
    (
        lambda: words._describe_route(route("less", way=FILE)),
        {
            "way": "with the file",
            "levels": (CLEAR, NOTHING),
            "outcome": "Better: less leakage",
            "why": "",
        },
    ),
    (
        lambda: words._describe_audit("a", document()),
        {
            "name": "a",
            "model": "Ridge",
            "counts": "1,200 members, 30 others",
            "facts": {"Shadow models": "8", "Policy": "none", "Audited": "today"},
            "verdict": "a leak",
            "file": None,
        },
    ),
    (
        lambda: words._describe_audit(
            "a",
            document(
                file={"verdict": "a file"},
                recommendation={"policy": {"name": "strict"}, "result": "release"},
            ),
        )["facts"]["Policy"],
        "strict: release",
    ),
    (lambda: words._describe_audit("a", document(file={"verdict": "b"}))["file"], "b"),
    (
        lambda: words._make_row(
            _comparison.AttackDifference(
                "overall", "all", "a", "tpr", 0.01, BEFORE, AFTER, GAP, FILE
            )
        ),
        {
            "attack": "a",
            "way": "with the file",
            "metric": "TPR @ 1% FPR",
            "cells": ["75.0% [70.0, 80.0]", "51.0% [50.0, 62.5]", "-24.0% [-30.0, -12.5]"],
        },
    ),
    (
        lambda: words._make_row(
            _comparison.AttackDifference(PEOPLE, "", "a", "auc", nan, BEFORE, AFTER, GAP)
        )["way"],
        PEOPLE,
    ),
    (
        lambda: words._describe_group_change(
            "sex",
            "F",
            [],
            [
                number(1, levels=(NOTHING, CLEAR)),
                group(1, "M", levels=(NOTHING, CLEAR)),
                group(1, levels=(CLEAR, NOTHING)),
                group(1, way=FILE),
            ],
        ),
        {"name": "sex: F", "levels": [("as a service", (CLEAR, NOTHING))], "rows": []},
    ),
]


def result(attack="a", **changed):
    """A number of a document, an AUC of .75."""
    row = dict.fromkeys(COLUMNS, nan) | {"scope": "overall", "group": "all", "metric": "auc"}
    row |= {"attack": attack, "status": "ok", "estimate": 0.75, "low": 0.7, "high": 0.8}
    return row | changed


def side(*rows, level=CLEAR):
    return ReleaseRoute(SERVICE, level, list(rows))


def tpr(attack="a", max_fpr=0.01, **changed):
    return result(attack, metric="tpr", max_fpr=max_fpr, **changed)


def ran(*names, n_shadows=8, reference=None, parameters=None, file=None):
    settings = {"n_shadows": n_shadows, "attacks": parameters or {}}
    results = [result(name) for name in names]
    return {"settings": settings, "reference": reference, "results": results, "file": file}


def keep(rows, shared, way=SERVICE, evidence="leak"):
    part = {"level": {"name": "clear"}, "evidence": evidence, "results": rows}
    found = _comparison._keep_shared(way, part, None, shared)
    return found.way, found.level.name, [row["attack"] for row in found.rows]


def pair(*routes):
    return [
        (one.scope, one.metric, one.max_fpr, one.sides, one.levels, one.n_attacks)
        for one in _comparison._pair_numbers(SERVICE, *routes)
    ]


RATES = result(), tpr(low=0.0), tpr(max_fpr=0.1)
# A level that follows from the members who are recognized at a rate of 10%.
TENTH = Level("clear", numbers={"ratio": {"low": 5.0, "estimate": 6.0, "max_fpr": 0.1}})


def people(attack="a", auc=0.75):
    return {"person_level": {"attack": attack, "auc": auc, "low": 0.5, "high": 0.875}}


def shared(first, second, scope="overall", n_attacks=1):
    sides = {"a": first}, {"b": second}
    return _comparison._SharedNumbers(SERVICE, scope, "all", "auc", None, sides, None, n_attacks)


def widen(first, second, level, n_attacks=1, stated=0.95):
    """Ends of the interval of the difference of two numbers, by the normal law."""
    usual = norm.ppf((1 + stated) / 2)
    up = norm.ppf((1 + level) / 2) / usual
    down = norm.ppf(1 - (1 - level) / n_attacks / 2) / usual
    (a, a_low, a_high), (b, b_low, b_high) = first, second
    gap = b - a
    low = gap - np.hypot(down * (b - b_low), up * (a_high - a))
    high = gap + np.hypot(up * (b_high - b), down * (a - a_low))
    return [gap, max(low, -1.0), min(high, 1.0)]


def change(*numbers, level=0.95):
    found = _comparison._find_changes([*numbers], level)
    return [[*one.difference] for one in found]


def audited(ranks, level="clear", file=BEFORE, has_people=True):
    """A document with an attack on answers, on all records and a group, and one on the file."""
    names = dict(zip(("estimate", "low", "high"), ranks, strict=True))
    rows = [result("a", **names), result("a", scope="sex", group="F", **names)]
    part = {"level": {"name": level}, "evidence": "leak"}
    if file is not None:
        names = dict(zip(("estimate", "low", "high"), file, strict=True))
        file = part | {"level": {"name": "clear"}, "results": [result("f", **names)]}
    who = people() if has_people else {"person_level": None}
    made = ran("a", file=file) | part | who | {"results": rows}
    return made | {"settings": made["settings"] | {"confidence_level": 0.9}}


def compare_all(first, second):
    found = _comparison.compare_audits(first, second)
    told = [
        (one.way, one.outcome, one.why, [number.scope for number in one.changes])
        for one in found.routes
    ]
    numbers = [(one.way, one.attack, one.scope) for one in found.numbers]
    return told, numbers, found.n_compared


FIRST, SECOND, FAR = (0.5, 0.45, 0.56), (0.6, 0.52, 0.66), (0.9, 0.88, 0.91)
reference = {"attacks": [{"attack": "a", "n_models": 4}], "recipe": "clones"}
IN = {"a": BEFORE}

PARTS = [
    # What changed comes first, and nothing is said of what only one audit attacked.
    (
        lambda: compare_all(audited(BEFORE), audited((0.51, 0.5, 0.52))),
        (
            [
                (SERVICE, "less", "", ["overall", PEOPLE, "sex"]),
                (FILE, "same", "", ["overall"]),
            ],
            [
                (FILE, "f", "overall"),
                (SERVICE, "a", "overall"),
                (SERVICE, "a", PEOPLE),
                (SERVICE, "a", "sex"),
            ],
            4,
        ),
    ),
    (
        lambda: compare_all(audited(BEFORE), audited(BEFORE, file=None, has_people=False)),
        (
            [
                (SERVICE, "same", "", ["overall", "sex"]),
                (FILE, "unsaid", "not attacked in B", []),
            ],
            [(SERVICE, "a", "overall"), (SERVICE, "a", "sex")],
            2,
        ),
    ),
    (
        lambda: compare_all(
            audited(BEFORE, level="unknown", file=FAR), audited(BEFORE, has_people=False)
        )[0],
        [(FILE, "less", "", ["overall"]), (SERVICE, "unsaid", "no verdict in A", [])],
    ),
    (
        lambda: [
            one.way
            for one in _comparison.compare_audits(
                audited(BEFORE, file=None), audited(BEFORE, file=None)
            ).routes
        ],
        [SERVICE],
    ),
    # The intervals of the second audit are taken as those of the first.
    (
        lambda: (
            _comparison.compare_audits(
                audited(BEFORE),
                audited(BEFORE)
                | {"settings": audited(BEFORE)["settings"] | {"confidence_level": 0.99}},
            ).level
        ),
        0.9,
    ),
    (lambda: _comparison.compare_audits(audited(BEFORE), audited(BEFORE)).attacks, ("a", "f")),
    (lambda: compare(same, unsaid).outcome, "same"),
    (lambda: compare(file_less, same).outcome, "less"),
    (lambda: compare(file_less, route("more")).outcome, "mixed"),
    (lambda: compare(unsaid).outcome, "unsaid"),
    (lambda: compare().outcome, "unsaid"),
    (lambda: number(scope="overall").is_overall, True),
    (lambda: number(scope=PEOPLE).is_overall, True),
    (lambda: group().is_overall, False),
    # What an attack used: as many models as the reference says, or all without one.
    (
        lambda: _comparison._describe_attacks(
            ran("a", "b", reference=reference, parameters={"b": "b(c=2)"}) | {"file": None}
        ),
        {"a": (4, "clones", None), "b": (None, None, "b(c=2)")},
    ),
    (lambda: _comparison._describe_attacks(ran("a")), {"a": (8, None, None)}),
    (
        lambda: _comparison._describe_attacks(
            ran("a", file={"results": [result("f"), result("g", status="too few records")]})
        ),
        {"a": (8, None, None), "f": (None, None, None)},
    ),
    (
        lambda: _comparison._list_shared([ran("a", "b"), ran("c", "a")]),
        (["a"], [("b", "A alone"), ("c", "B alone")]),
    ),
    (
        lambda: _comparison._list_shared([ran("a"), ran("a", n_shadows=3)]),
        ([], [("a", "numbers of shadow models: 8 in A, 3 in B")]),
    ),
    # The level is that of the document if nothing is left out, or if no verdict follows.
    (lambda: keep([result("a"), result("b")], ["a", "b"]), (SERVICE, "clear", ["a", "b"])),
    (lambda: keep([result("a"), result("b")], ["c"]), (SERVICE, "clear", [])),
    (lambda: keep([result("a"), result("b")], ["b"], way=FILE), (FILE, "clear", ["b"])),
    (
        lambda: keep([result("a"), result("b")], ["a"], evidence="shift"),
        (SERVICE, "clear", ["a"]),
    ),
    (
        lambda: _comparison._list_shared_routes(
            {"results": [result("a")], "evidence": "leak", "level": {"name": "none"}, "file": None},
            ["a"],
        )[FILE],
        None,
    ),
    (lambda: _comparison._find_obstacle(None, side(result())), "not attacked in A"),
    (lambda: _comparison._find_obstacle(side(result()), None), "not attacked in B"),
    (
        lambda: _comparison._find_obstacle(side(level=Level("unknown")), side(result())),
        "no verdict in A",
    ),
    (
        lambda: _comparison._find_obstacle(
            side(result(), level=Level("unknown")), side(result(), level=Level("unknown"))
        ),
        "no verdict in A and B",
    ),
    (lambda: _comparison._find_obstacle(side(result()), side(tpr())), "no number in common"),
    (lambda: _comparison._find_obstacle(side(tpr()), side(result())), "no number in common"),
    (lambda: _comparison._find_obstacle(side(result()), side(result())), None),
    # The rate is one that both measured; a group has levels only if both audits give it one.
    (
        lambda: pair(
            side(result(), tpr(), tpr(max_fpr=0.1)),
            side(result(), tpr(max_fpr=0.1, estimate=0.71), tpr(max_fpr=0.2)),
        ),
        [
            ("overall", "auc", None, (IN, IN), None, 1),
            ("overall", "tpr", 0.1, (IN, {"a": (0.71, 0.7, 0.8)}), None, 1),
        ],
    ),
    # It is the same one whichever audit comes first, and not the one that the first audit tells.
    *(
        (
            lambda turned=turned: [
                rate
                for _, _, rate, *_ in pair(*[side(*RATES, level=TENTH), side(*RATES)][::turned])
            ],
            [None, 0.01],
        )
        for turned in (1, -1)
    ),
    (
        lambda: pair(side(result(), result("b"), tpr()), side(result(), result("b"))),
        [("overall", "auc", None, (IN | {"b": BEFORE}, IN | {"b": BEFORE}), None, 2)],
    ),
    (
        lambda: [
            (one[0], one[4])
            for one in pair(
                side(
                    *(result(scope="sex", group=name) for name in "FM"),
                    level=Level(
                        "clear",
                        groups=[{"scope": "sex", "group": k, "name": "slight"} for k in "FM"],
                    ),
                ),
                side(
                    *(result(scope="sex", group=name) for name in "FM"),
                    level=Level("clear", groups=[{"scope": "sex", "group": "M", "name": "none"}]),
                ),
            )
        ],
        [("sex", None), ("sex", (Level("slight"), NOTHING))],
    ),
    (lambda: pair(side(result("a")), side(result("b"))), []),
    (
        lambda: pair(
            side(result(told=1), result("b", estimate=0.79)), side(result(told=1), result("b"))
        ),
        [("overall", "auc", None, (IN, IN), None, 1)],
    ),
    # What is told counts if both ran both of it.
    (
        lambda: _comparison._choose_told(
            [[result("a", told=1), result("b")], [result("b", told=1), result("a")]]
        ),
        (IN, {"b": BEFORE}),
    ),
    (
        lambda: _comparison._choose_told(
            [[result("a", told=1)], [result("b", told=1), result("a")]]
        ),
        None,
    ),
    (
        lambda: _comparison._choose_told(
            [[result("a", told=1), result("b")], [result("b", told=1)]]
        ),
        None,
    ),
    (lambda: _comparison._choose_told([[result("a", told=1)], [result("a")]]), None),
    (
        lambda: _comparison._choose_common(
            [[result("a"), result("b", estimate=0.5)], [result("c"), result("b")]]
        ),
        ({"b": (0.5, 0.7, 0.8)}, {"b": BEFORE}),
    ),
    (lambda: _comparison._choose_common([[result("a")], [result("b")]]), None),
    (
        lambda: _comparison._list_rates(
            side(
                tpr(max_fpr=0.1),
                tpr(max_fpr=0.2, status="not resolvable"),
                tpr(max_fpr=0.3, scope="sex"),
                result(max_fpr=0.4),
            )
        ),
        {0.1},
    ),
    (
        lambda: [
            row["attack"]
            for row in _comparison._list_rows(
                side(
                    tpr("a"),
                    tpr("b", max_fpr=0.1),
                    tpr("c", status="not resolvable"),
                    tpr("d", group="x"),
                    result("e"),
                ),
                ("overall", "all"),
                ("tpr", 0.01),
            )
        ],
        ["a"],
    ),
    (
        lambda: _comparison._compare_people_aucs([people(), people("b")], ["a", "b"]),
        ({"a": (0.75, 0.5, 0.875)}, {"b": (0.75, 0.5, 0.875)}),
    ),
    (lambda: _comparison._compare_people_aucs([people(), people("b")], ["a"]), None),
    (lambda: _comparison._compare_people_aucs([people(), people(auc=None)], ["a"]), None),
    (lambda: _comparison._compare_people_aucs([people(), {"person_level": None}], ["a"]), None),
    # Of an interval at 95%, an end errs in 2.5%: two numbers of all records share it.
    (
        lambda: change(shared(FIRST, SECOND), shared(FIRST, FAR, scope=PEOPLE)),
        [widen(FIRST, SECOND, 1 - 0.025 / 2), widen(FIRST, FAR, 1 - 0.025 / 2)],
    ),
    # With groups they have half of it, and groups the other half by Holm's procedure: the second
    # is shown to change, so that the first has the rest by itself.
    (
        lambda: change(
            shared(FIRST, SECOND, "sex"), shared(SECOND, FIRST), shared(FIRST, FAR, "sex")
        ),
        [
            widen(SECOND, FIRST, 1 - 0.0125),
            widen(FIRST, SECOND, 1 - 0.0125),
            widen(FIRST, FAR, 1 - 0.0125 / 2),
        ],
    ),
    (
        lambda: [
            one.sign
            for one in _comparison._apply_holm(
                [shared(FAR, FIRST), shared(FIRST, FAR), shared(FIRST, FIRST)], 0.95, 0.0125
            )
        ],
        [-1, 1, 0],
    ),
    (
        lambda: change(shared(FIRST, SECOND, n_attacks=4), level=0.9),
        [widen(FIRST, SECOND, 0.95, n_attacks=4, stated=0.9)],
    ),
    (lambda: change(shared((1.0, 0.0, 1.0), (1.0, 0.0, 1.0))), [[0.0, -1.0, 1.0]]),
    # The largest of each end, of one attack or another.
    (
        lambda: [
            *_comparison._bound_strongest(
                {"a": (0.5, 0.45, 0.7), "b": (0.6, 0.3, 0.65)}, 0.95, 0.95, 1
            )
        ],
        [0.6, 0.45, 0.7],
    ),
    (
        lambda: (
            _comparison._make_change(
                shared(FIRST, FIRST)._replace(
                    sides=({"a": FIRST, "b": SECOND}, {"a": FAR, "b": SECOND}),
                    levels=(CLEAR, NOTHING),
                ),
                0.95,
                0.95,
            )[:7]
            + (CLEAR,)
        ),
        (SERVICE, "overall", "all", "auc", None, ("b", "a"), SECOND, CLEAR),
    ),
    (
        lambda: _comparison._make_route(SERVICE, (side(), None), "not attacked in B", []),
        (SERVICE, (CLEAR, None), "unsaid", "not attacked in B", ()),
    ),
    # Groups that changed come first, the largest increase before the others.
    (
        lambda: [
            one.group
            for one in _comparison._make_route(
                SERVICE,
                (side(), side()),
                None,
                [
                    group(0, "a", difference=(0.5, 0.0, 0.9)),
                    group(1, "b", difference=(0.2, 0.1, 0.3)),
                    number(1),
                    group(1, "c", difference=(0.3, 0.1, 0.4)),
                    group(-1, "d"),
                ],
            ).changes
        ],
        ["all", "c", "b", "d", "a"],
    ),
    (
        lambda: [
            _comparison._make_route(SERVICE, (side(), side()), None, changes).outcome
            for changes in (
                [number()],
                [number(1), group()],
                [group(-1)],
                [number(1), group(-1)],
            )
        ],
        ["same", "more", "less", "mixed"],
    ),
    # Second minus first, of what both have.
    (
        lambda: [
            (one.attack, one.metric, one.max_fpr, one.first, one.second, one.way)
            for one in _comparison._list_attack_differences(
                FILE,
                side(result(), tpr("b"), tpr("c"), result("d", status="too few records")),
                side(tpr("b", estimate=0.71), tpr("c", max_fpr=0.1), result("d"), result("a")),
            )
        ],
        [
            ("a", "auc", 0.0, BEFORE, BEFORE, FILE),
            ("b", "tpr", 0.01, BEFORE, (0.71, 0.7, 0.8), FILE),
        ],
    ),
    (
        lambda: [
            [*one.difference]
            for one in _comparison._list_attack_differences(
                FILE, side(result()), side(result(estimate=0.71))
            )
        ],
        [[-0.04, -0.04 - np.hypot(0.01, 0.05), -0.04 + np.hypot(0.09, 0.05)]],
    ),
]


@pytest.mark.parametrize("rows", [WORDS, PARTS], ids=["words", "parts"])
def test_answers_by_hand(rows):
    expect_answers(rows)


TEXT = """
  \u2582\u2585\u00b7 -> \u00b7\u00b7\u00b7  LESS LEAKAGE   as a service: clear -> none shown

  As a service, a random member ranks above a random non-member 51 of 100
  times; it was 75.

                      A                  B                  change
  ranks higher (AUC)  .750 [.700, .800]  .510 [.500, .625]  -.240 [-.300, -.125]

  Compared  Attacks that both audits ran alike: LiRA. Not compared: RMIA and a
            (A alone); b (B alone).
  Brackets  95% intervals of the attack that counts in each audit; those of a
            change are wider, because they hold for all 3 numbers and the
            choice of the attack. The intervals assume that the two audits are
            independent. If the audits share records, the intervals are
            usually too wide.
  A         first.json: Ridge; 1,200 members, 30 others; 8 shadow models.
  B         second.json: Lasso; 1,200 members, 30 others; 8 shadow models.
  Next      1  Audit both with the same attacks. Only these can be compared.
"""


def test_the_text_begins_with_what_became_of_it(monkeypatch):
    left_out = [("RMIA", "A alone"), ("a", "A alone"), ("b", "B alone")]
    found = compare(route("less", number(-1)), left_out=left_out)
    monkeypatch.setattr(words, "list_document_routes", lambda document: [])
    documents = document(), document(victim_name="Lasso")
    text = words.format_comparison(found, documents, ("first.json", "second.json"))
    assert text == TEXT.strip("\n")


def test_the_page_has_the_numbers_of_all_records_and_those_of_groups_that_changed(monkeypatch):
    changes = number(), group(), group(-1, "M", levels=(CLEAR, NOTHING))
    differences = [
        _comparison.AttackDifference(scope, name, "LiRA", "auc", nan, BEFORE, AFTER, GAP)
        for scope, name in (("overall", "all"), (PEOPLE, ""), ("sex", "F"), ("sex", "M"))
    ]
    found = compare(route("less", *changes), numbers=[*differences, differences[-1]])
    audits = document(), document(victim_name="Lasso")
    monkeypatch.setattr(words, "compare_audits", lambda *given: found if given == audits else None)
    monkeypatch.setattr(words, "list_document_routes", lambda document: [])
    given = {}
    monkeypatch.setattr(words, "render_page", lambda *names, **page: given.update(page))
    words.render_comparison(*audits, ("a", "b"))
    assert given["title"] == "Less leakage: Two audits of membership inference"
    assert [(one["name"], one["model"]) for one in given["audits"]] == [
        ("a", "Ridge"),
        ("b", "Lasso"),
    ]
    assert [one["way"] for one in given["routes"]] == ["as a service"]
    assert [one["where"] for one in given["changes"]] == ["all records", "sex: M"]
    assert [one["way"] for one in given["rows"]] == ["as a service", PEOPLE]
    assert [(one["name"], one["levels"], len(one["rows"])) for one in given["groups"]] == [
        ("sex: F", [], 1),
        ("sex: M", [("as a service", (CLEAR, NOTHING))], 2),
    ]
