"""Parts of the page of an audit, of routes and documents that are made by hand."""

from types import SimpleNamespace as NS
from unittest import mock

import pandas as pd
from by_hand import expect_answers, tell_refusal
from numpy import nan

from skmia.report import _page


def row(attack="a", metric="auc", max_fpr=None, estimate=0.75, low=0.5, high=0.875, **given):
    usual = {"attack": attack, "metric": metric, "max_fpr": max_fpr, "estimate": estimate}
    usual |= {"low": low, "high": high, "scope": "overall", "group": "all", "status": "ok"}
    usual |= {"fpr": nan, "n_members": 1200, "n_nonmembers": 30}
    return usual | given


def rate(estimate=0.25, low=0.0312, high=0.5, fpr=0.02, max_fpr=0.01, **given):
    return row(
        metric="tpr", max_fpr=max_fpr, estimate=estimate, low=low, high=high, fpr=fpr, **given
    )


class Route(NS):
    """A way of an attack, with its rows, of which the first that fits is the best."""

    def __init__(self, *rows, way="service", level="clear", rank=2, numbers=None, groups=()):
        found = NS(name=level, rank=rank, numbers=numbers or {}, groups=groups)
        super().__init__(rows=rows, way=way, level=found, own_level=NS(rank=rank, name=level))

    def find_best(self, metric, max_fpr=None, scope="overall", group="all", end=None):
        wanted = metric, max_fpr, scope, group
        names = "metric", "max_fpr", "scope", "group"
        rows = [one for one in self.rows if tuple(one[name] for name in names) == wanted]
        return next(iter(rows), None) if end is None else rows[-1]


def document(**given):
    usual = {"data": {"n_records": 1230, "n_members": 1200, "n_nonmembers": 30}, "power": None}
    usual |= {"settings": {"confidence_level": 0.95}, "file": None, "permutation": None}
    usual |= {"curves": [{"attack": "b"}, {"attack": "a"}], "evidence": "leak", "checks": []}
    usual |= {"baseline": None, "difficulty": None, "verdict": "Head. And more. So.", "exposed": []}
    return usual | given


# -- the panel


def others(*fprs, ways=("service", "file"), at=0.01):
    """Return the grids of non-members that are mistaken by each route."""
    routes = [
        Route(*([] if fpr is None else [rate(fpr=fpr, max_fpr=at)]), way=way)
        for way, fpr in zip(ways, fprs)
    ]
    return [tuple(one.values()) for one in _page._describe_others(routes, at)]


def grid(*rows, at=0.01):
    found = _page._describe_grid(Route(*rows, way="file"), at)
    assert found.pop("level").name == "clear"
    return tuple(found.values())


def curve(*rows, at=0.01, way="service", n=100, **given):
    given = document(data={"n_nonmembers": n}, **given)
    found = _page._find_curve(given, Route(*rows, way=way), at)
    return found and tuple(
        found[name] for name in ("attack", "name", "level", "dashed", "from", "at")
    )


def notes(*routes, shown=None, at=0.01, **given):
    """Return the notes behind the first one, of routes that are all shown or not."""
    shown = list(routes) if shown is None else shown
    with mock.patch.object(_page, "get_highest", lambda routes: routes[0]):
        found = _page._note_numbers(document(**given), routes, shown, at)
    assert found[0].startswith("The attacker holds candidate records")
    return found[1:]


def opposing(evidence, *rows, difference=None, **given):
    """Return which numbers stand beside each other, and what they are."""
    check = NS(interval=difference and (difference, "words"))
    parts = {
        "get_difference": lambda checks: "name",
        "get_check": lambda name: name == "name" and check,
    }
    given = document(evidence=evidence, **given)
    with mock.patch.multiple(_page, **parts):
        return _page._list_opposing_numbers(given, [Route(row(estimate=0.1)), Route(*rows)])


def panel(**given):
    """Return the panel of a document whose picture is made elsewhere."""
    level = given.pop("level", "clear")
    curves, at = given.pop("curves", []), given.pop("at", 0.01)
    routes = [Route(row()), Route(row(estimate=0.625), way="file", level="unknown")]
    drawn = []
    checks = {
        name: NS(is_warning=name == "warns", is_error=name == "fails")
        for name in ("passes", "warns", "fails")
    }
    parts = {
        "get_highest": lambda routes: NS(level=NS(name=level)),
        "_list_opposing_numbers": lambda document, routes: "numbers",
        "describe_picture": lambda document, routes: ("grids", curves, at),
        "draw_roc": lambda curves, mark: drawn.append(mark) or {"lines": [1] * bool(curves)},
        "_note_numbers": lambda document, routes, shown, rate: [len(routes), len(shown), rate],
    }
    with mock.patch.multiple(_page, **parts):
        screen = NS(routes=routes, caution="caution")
        return _page._describe_panel("document", screen, given.get("checks", checks)), drawn


INTERVALS = "95% intervals: service "
NO_FILE = "The model was not attacked as a file."
MEMBERS = "members recognized with the file"
FIRST_OF = (
    "Of 100 recognized records, {} are members if half of all candidates are; if one in ten is, {}."
)
BASELINE = {"auc": 0.625, "low": 0.5, "high": 0.75}
HARDER = {"auc": 0.5625, "low": 0.5, "high": 0.625}
POWER = {"numbers": [{"auc": 0.1, "sd": 0.0}, {"auc": 0.875, "sd": 0.125}]}
ON_MODEL = ("best attack on the model", 0.75, 0.5, 0.875)
ON_SHADOWS = ("same attack on shadow models", 0.875, 0.625, 1)
BLIND = ("without the model", 0.625, 0.5, 0.75)
NEITHER = ("models trained on neither side", 0.5625, 0.5, 0.625)
ALL = {"baseline": BASELINE, "difficulty": HARDER, "power": POWER}
PANEL = [
    (lambda: describe_page(), (None, None, "three", 9, 10)),
    (lambda: describe_page({"a": 1})[0], ["describe_growth"]),
    (lambda: describe_page(file={"a": 1})[1], ["_describe_file_box"]),
    # Others that are mistaken as often by both routes are shown once, in the unit of the rate.
    (
        lambda: others(0.02, 0.021),
        [("2", 2, 100, "others mistaken for members, in both", None)],
    ),
    (lambda: others(0.02, None), [("2", 2, 100, "others mistaken for members", None)]),
    (
        lambda: others(0.02, 0.03),
        [
            ("2", 2, 100, "others mistaken for members as a service", None),
            ("3", 3, 100, "others mistaken for members with the file", None),
        ],
    ),
    (lambda: [one[0] for one in others(0.0, 0.004)], ["0", "< 1"]),
    (lambda: [one[0] for one in others(0.003, 0.005)], ["< 1"]),
    (lambda: others(0.0021, 0.003, at=0.001)[0][:3], ("2", 0, 1000)),
    (lambda: others(None, None), []),
    (lambda: grid(row()), ("-", 0, None, f"{MEMBERS}: too few others")),
    (lambda: grid(rate(), at=None), ("-", 0, None, f"{MEMBERS}: too few others")),
    (lambda: grid(rate()), ("25", 25, 100, MEMBERS)),
    (lambda: grid(rate(0.0004, max_fpr=0.001), at=0.001)[:3], ("< 1", 0, 1000)),
    (lambda: grid(rate(0.0149, max_fpr=0.001), at=0.001)[:3], ("15", 1, 1000)),
    (lambda: grid(rate(0.005))[1:3], (0, 100)),
    (lambda: grid(rate(0.0049))[1:3], (0, 100)),
    (lambda: grid(rate(0.008))[1], 1),
    (
        lambda: curve(rate()),
        ("a", "service", "clear", False, 0.1, (0.02, 0.25)),
    ),
    (lambda: curve(rate(fpr=nan))[-1], (0.01, 0.25)),
    (lambda: curve(row(), n=9), ("b", "service", "clear", False, 1.0, None)),
    (lambda: curve(rate(), at=None)[0], "b"),
    (lambda: curve(rate(), file={"curves": []})[3], True),
    (
        lambda: curve(rate(), way="file", file={"curves": [{"attack": "c"}]})[:4],
        ("c", "file", "clear", False),
    ),
    (lambda: curve(rate(), curves=[]), None),
    # Ends of intervals in tenths below five of a hundred.
    (
        lambda: notes(Route(rate(fpr=0.0))),
        [f"{INTERVALS}3 to 50 of 100.", NO_FILE],
    ),
    (lambda: notes(Route(rate(fpr=0.0, high=0.05)))[0], f"{INTERVALS}3 to 5 of 100."),
    (lambda: notes(Route(rate(fpr=0.0, high=0.049)))[0], f"{INTERVALS}3.1 to 4.9 of 100."),
    (
        lambda: notes(Route(rate(fpr=0.0, high=0.999)))[0],
        f"{INTERVALS}3 to more than 99 of 100.",
    ),
    (
        lambda: notes(Route(row()), settings={"confidence_level": 0.9})[0],
        "90% intervals: service AUC 0.750 [0.500, 0.875].",
    ),
    (lambda: notes(Route(row(), rate()), at=None)[0][14:27], " service AUC "),
    # A quarter of the members and 3% of the others: 25 of 28, and 25 of 52 of one in ten.
    (lambda: notes(Route(rate(fpr=0.03)))[1], FIRST_OF.format("89", "48")),
    (
        lambda: notes(Route(rate(fpr=0.03)), Route(rate(0.75, fpr=0.25), way="file"), file={})[1],
        FIRST_OF.format(
            "89 as a service and 75 with the file", "48 as a service and 25 with the file"
        ),
    ),
    (lambda: len(notes(Route(rate(fpr=0.03), rank=-1))), 2),
    (lambda: len(notes(Route(rate(fpr=0.03), rank=0))), 3),
    (lambda: notes(Route(row()), shown=[]), [NO_FILE]),
    (
        lambda: notes(Route(row(), row("z", estimate=0.25), level="none"), shown=[]),
        [
            "The AUC is 0.250 [0.500, 0.875]; 0.5 is guessing. No result of 0 is significant after "
            "correction.",
            NO_FILE,
        ],
    ),
    (
        lambda: notes(
            Route(row(estimate=0.625), level="none"), shown=[], permutation={"numbers": [1]}
        )[0],
        "The highest AUC is 0.625 [0.500, 0.875]; 0.5 is guessing. It is not significant.",
    ),
    (
        lambda: notes(Route(row(), level="none"), shown=[], permutation={"numbers": [1, 2]})[
            0
        ].partition("guessing. ")[2],
        "No result of 2 is significant after correction.",
    ),
    (
        lambda: unshown("service", {"verdict": "Head. In the file. So."}),
        "No verdict with the file: In the file. So.",
    ),
    (lambda: unshown("file", {"verdict": "x"}), "No verdict as a service: And more. So."),
    (
        lambda: unshown("service", {"verdict": "Head. Not read: forest_."}),
        "No verdict with the file: no attack reads all of it.",
    ),
    (
        lambda: notes(
            *(Route(row(), way=way) for way in ("service", "file")), file={"verdict": "x"}
        )[1:],
        [],
    ),
    # What forbids a verdict comes first, then what is beside it.
    (lambda: opposing("shift", row(), **ALL), [BLIND, ON_MODEL, NEITHER]),
    (
        lambda: opposing("shift", row(), difference="difficulty", **ALL),
        [NEITHER, BLIND, ON_MODEL],
    ),
    (
        lambda: opposing("unknown", row(), difference="difficulty", **ALL),
        [ON_MODEL, ON_SHADOWS, BLIND, NEITHER],
    ),
    (lambda: opposing("reversed", row(), **ALL), [ON_MODEL, ON_SHADOWS, BLIND, NEITHER]),
    (lambda: opposing("shift", **ALL), [BLIND, NEITHER]),
    (lambda: opposing("unknown", row()), [ON_MODEL]),
    (
        lambda: opposing("unknown", power={"numbers": [{"auc": 0.125, "sd": 0.25}]})[0][1:],
        (0.125, 0, 0.625),
    ),
    (
        lambda: opposing("unknown", power={"numbers": [{"auc": 0.125, "sd": None}]})[0][1:],
        (0.125, 0.125, 0.125),
    ),
    (
        lambda: panel(level="unknown"),
        (
            {
                "rows": "numbers",
                "note": "How often a random member ranks above a random non-member; the lines are "
                "intervals. Checks that warn: warns and fails.",
            },
            [],
        ),
    ),
    (lambda: panel(level="unknown", checks={})[0]["note"][-10:], "intervals."),
    (
        lambda: panel(curves=[{"at": (0.01, 1)}]),
        (
            {
                "grids": "grids",
                "roc": {
                    "lines": [1],
                    "up": "members recognized",
                    "across": "others mistaken for members",
                },
                "alt": "ROC curves on logarithmic axes. service: AUC 0.750.",
                "notes": [2, 1, 0.01, "caution"],
            },
            [0.01],
        ),
    ),
    (lambda: panel()[0]["roc"], None),
    # The rate is marked where it is the one that was asked for.
    (lambda: panel(curves=[{"at": (0.01, 1)}, {"at": (0.012, 1)}])[1], [0.01]),
    (lambda: panel(curves=[{"at": (0.01, 1)}, {"at": (0.02, 1)}])[1], [None]),
    (lambda: panel(curves=[{"at": None}])[1], [0.01]),
    (lambda: panel(curves=[{"at": None}], at=None)[1], [None]),
]


def describe_page(growth=None, file=None):
    """Return what of a page is from its screen, and what is told of a growth and of a file."""
    given = document(growth=growth, person_level="people", seeds=7, performance=8)
    given |= {"file": file}
    screen = NS(sentence=1, steps=2, people=3, trust=4, warnings=5)
    screen.routes = [Route(row(), rate(), row("b")), Route(row("c"), way="file")]
    names = "_describe_panel _describe_groups _list_attack_rows _list_other_groups _list_levels "
    names += "_describe_file_box _describe_knowledge describe_performance caption_intervals "
    names += "_write_repeating_call describe_growth"
    parts = {name: lambda *given, name=name: [name] for name in names.split()}
    with mock.patch.multiple(_page, **parts, read_checks=lambda checks: checks):
        found = _page._describe_page(given, screen)
    told = [found[name] for name in ("sentence", "steps", "persons", "trust", "warnings")]
    assert told == [1, 2, 3, 4, 5] and found["person_level"] == "people"
    made = [one[0] for one in found.values() if isinstance(one, list)]
    return found["growth"], found["file"], found["n_attacks"], len(made), found["fewest_false"]


def unshown(way, file):
    """Return why one of two routes is not shown."""
    routes = {name: Route(row(), way=name) for name in ("service", "file")}
    return notes(*routes.values(), shown=[routes[way]], file=file)[-1]


# -- groups


def part(group="f", **given):
    return row(scope="sex", group=group, n_members=20, n_nonmembers=10, **given)


def describe_groups(*rows, tests=(), at=0.01, ways=("service",)):
    routes = [Route(*rows, way=way) for way in ways]
    given = document(disparity={"scopes": tests} if tests else None)
    parts = {
        "choose_rate": lambda routes: at,
        "describe_disparity": lambda found: ["told"],
        "caption_counts": lambda shown, rate, parts: (len(shown), rate, [*parts]),
        "_describe_part": lambda document, part, row, shown, metric, base: (part, metric, base),
        "_name_worst_groups": lambda rows, base: {"sex = f": ["1 of 2", "3 of 4"]},
    }
    with mock.patch.multiple(_page, **parts):
        return _page._describe_groups(given, routes)


def describe_part(found, own, *, levels=("f",), metric=("auc", None), base=None, group="f"):
    groups = [{"scope": "sex", "group": name, "level": {}} for name in levels]
    route = Route(*found, groups=groups)
    with mock.patch.object(_page, "read_level", lambda one: one["group"]):
        name = ("overall", "all") if own is None else ("sex", group)
        told = _page._describe_part(document(), name, own, [route], metric, base)
    (cell,) = told["cells"]
    return (
        told["name"],
        told["counts"],
        cell and (getattr(cell["level"], "name", cell["level"]), cell["number"]),
    )


def name_worst(*rows, base=100):
    """Name the worst group of cells by their share, its text, their rank and their AUC."""

    def make(share, number, rank, auc):
        level = NS(rank=rank, order=(rank, False))
        return {"share": share, "number": number, "level": level, "way": "w", "auc": auc}

    made = [{"name": name, "cells": [one and make(*one) for one in cells]} for name, *cells in rows]
    return _page._name_worst_groups(made, base)


def other_groups(*routes):
    return _page._list_other_groups(document(), [Route(*rows) for rows in routes])


TOTAL = ("all", (0.2, "20", 1, 0.625))
BOTH = ("overall", "all"), ("sex", "f")
GROUPS = [
    (lambda: describe_groups(row(), rate()), None),
    (
        lambda: describe_groups(row(), rate(), part(), part("m", status="too few records")),
        {
            "caption": "How often a random member ranks above a random non-member (AUC); guessing "
            "is 0.5",
            "ways": ["As a service"],
            "rows": [(one, ("auc", None), None) for one in BOTH],
            "leveled": True,
            "small": "sex: m",
            "lead": "Members of sex = f are exposed most: 1 of 2 and 3 of 4.",
            "worst": "sex = f",
            "tests": [],
            "disparity": ["told"],
        },
    ),
    (
        lambda: {
            name: describe_groups(row(), rate(), part(), rate(scope="sex", group="f"))[name]
            for name in ("caption", "rows", "small")
        },
        {
            "caption": (1, 0.01, [*BOTH]),
            "rows": [(one, ("tpr", 0.01), 100) for one in BOTH],
            "small": None,
        },
    ),
    (
        lambda: describe_groups(row(), rate(), part(), rate(scope="sex", group="f"), at=None)[
            "rows"
        ][0][1][0],
        "auc",
    ),
    (lambda: describe_groups(rate(), part())["ways"], []),
    (
        lambda: describe_part([part()], part()),
        ("sex: f", "20 members, 10 others", ("f", "0.750")),
    ),
    (
        lambda: describe_part([row()], None),
        ("All records", "1,200 members, 30 others", ("clear", "0.750")),
    ),
    (lambda: describe_part([part()], part(), levels=["m"])[2], None),
    (lambda: describe_part([], part())[2], ("f", None)),
    (
        lambda: describe_part(
            [rate(scope="sex", group="f")], part(), metric=("tpr", 0.01), base=100
        )[2],
        ("f", "25"),
    ),
    # The highest number of each route in a group in which something is shown.
    (
        lambda: name_worst(TOTAL, ("f", (0.25, "25", 0, 0.75)), ("m", (0.5, "50", 0, 0.5))),
        {"m": ["50 of 100 w"]},
    ),
    (
        lambda: name_worst(
            TOTAL, ("f", (0.75, "0.750", 1, 0.75)), ("m", (0.875, "0.875", -1, 0.875)), base=None
        ),
        {"f": ["AUC 0.750 w"]},
    ),
    # A higher level comes before a higher number, as in the first sentence of the page.
    (
        lambda: name_worst(TOTAL, ("f", (0.25, "25", 1, 0.75)), ("m", (0.5, "50", 0, 0.875))),
        {"f": ["25 of 100 w"]},
    ),
    # A group that is too small to count members is exposed most nevertheless.
    *(
        (
            lambda auc=auc, rank=rank: name_worst(
                TOTAL, ("f", (0.25, "25", 0, 0.75)), ("m", (0.5, None, rank, auc)), ("n", None)
            ),
            {name: [f"AUC {most} w"]},
        )
        for rank, auc, name, most in (
            (0, 0.875, "m", "0.875"),
            (0, 0.6875, "f", "0.750"),
            (1, 0.6875, "m", "0.688"),
        )
    ),
    # Nobody is exposed most who is exposed less than all.
    (lambda: name_worst(TOTAL, ("f", (0.2, "20", 1, 0.75))), {}),
    (lambda: name_worst(TOTAL, ("f", (0.5, None, 1, 0.625))), {}),
    (lambda: name_worst(("all", None), ("f", (0.25, "25", 1, 0.75))), {}),
    (lambda: name_worst(TOTAL), {}),
    (
        lambda: name_worst(
            (*TOTAL, TOTAL[1]),
            ("f", (0.25, "250", 1, 0.75), (0.3, "300", 1, 0.75)),
            base=1000,
        ),
        {"f": ["250 of 1,000 w", "300 of 1,000 w"]},
    ),
    (
        lambda: other_groups([row(), part(), part("m", estimate=0.5)], [part(attack="b")]),
        {
            "names": ["a", "b"],
            "rows": [("sex: f", ["0.750", "0.750"]), ("sex: m", ["0.500", "-"])],
        },
    ),
    (lambda: other_groups([row(), part("m", status="too few records"), part(metric="tpr")]), None),
    (lambda: other_groups([part(), part(attack="b")])["names"], ["a", "b"]),
    (lambda: len(other_groups([part(), part("m")])["rows"]), 2),
]

# -- records and what the attacker knows


def exposed(*found, values=None, n=1230, **of_service):
    """List the records of both routes, by positions and numbers of others above them."""
    usual = {"evidence": "leak", "exposed": records((3, 0), (5, 2))}
    data = {"n_records": n, "n_nonmembers": 30}
    given = document(data=data, file=found[0] if found else None, **(usual | of_service))
    return _page._list_exposed_records(given, values)


def records(*pairs):
    return [{"position": position, "n_above": above} for position, above in pairs]


def know(power=None, **given):
    settings = {"n_shadows": 16, "shadow_estimator": "Ridge()"} | given.pop("settings", {})
    usual = {"settings": settings, "reference": None, "victim": "SVC()", "power": power}
    return _page._describe_knowledge(document(**usual | given))


TRAINS = "queries the model; trains 16 shadow models on random halves of the records"
STANDS_IN = {"recipe": _page.CHOSEN, "estimator": "Tree()"}
GROWN = [{"n_shadows": 4, "auc": 0.5}, {"n_shadows": 8, "auc": 0.75}]
REACHED = {"auc": {"low": 0.5, "attack": "a"}, "ratio": {"low": 120.4, "attack": "b"}}
TABLE = pd.DataFrame({"x": range(6), 7: list("abcdef")})
RECORDS = [
    (
        lambda: exposed(values=TABLE, n=6),
        {
            "exposed": [
                {
                    "way": "As a service",
                    "rows": records((3, 0), (5, 2)),
                    "n_others": 30,
                    "more": "",
                    "sure": 1,
                    "cells": [["3", "d"], ["5", "f"]],
                }
            ],
            "n_exposed": "",
            "n_both": 0,
            "columns": ["x", "7"],
        },
    ),
    (lambda: exposed()["columns"], []),
    *(
        (
            lambda rows=rows: exposed({"evidence": "leak", "exposed": records(*rows)})["n_exposed"],
            told,
        )
        for rows, told in (
            ([(3, 0), (4, 1)], "2 for each route"),
            ([(3, 0), (4, 1), (5, 1)], "3 and 2"),
        )
    ),
    (lambda: exposed()["exposed"][0]["cells"], [[], []]),
    (
        lambda: tell_refusal(lambda: exposed(values=TABLE, n=7)),
        "values needs a row for each of 7 records; got 6.",
    ),
    (lambda: exposed(evidence="none")["exposed"], []),
    (lambda: exposed(exposed=[])["exposed"], []),
    (
        lambda: [
            one["way"]
            for one in exposed({"evidence": "leak", "exposed": records((5, 0))})["exposed"]
        ],
        ["With the file", "As a service"],
    ),
    (lambda: exposed({"evidence": "leak", "exposed": records((5, 0), (9, 0))})["n_both"], 1),
    (
        lambda: know(),
        {
            "knows": "every candidate record with its label, and how the model was trained",
            "does not know": "which candidates are members",
            "as a service": f"{TRAINS}: Ridge()",
        },
    ),
    (lambda: know(victim="Ridge()")["as a service"], f"{TRAINS}, like the model"),
    (lambda: know(reference=STANDS_IN)["as a service"], f"{TRAINS}, of a stand-in: Tree()"),
    (lambda: know(reference=STANDS_IN)["knows"], "every candidate record with its label"),
    (lambda: know(reference=STANDS_IN | {"recipe": "own"})["as a service"], f"{TRAINS}: Ridge()"),
    (lambda: know(settings={"n_shadows": 0})["knows"], "every candidate record with its label"),
    (lambda: know(settings={"n_shadows": 0})["as a service"], "queries the model"),
    (
        lambda: know(data={"n_queries": 1234})["as a service"][:29],
        "queries the model 1,234 times",
    ),
    (lambda: know(file={"a": 1})["with the file"], "reads the file; makes no query"),
    (
        lambda: know(
            {
                "attack": "a",
                "numbers": [{"n_shadows": 4, "auc": 0.5}, {"n_shadows": 8, "auc": 0.75}],
            }
        )["number of models"],
        "4: AUC 0.500; 8: AUC 0.750 (a on shadow models treated as the victim)",
    ),
    (
        lambda: [*_page._list_attack_rows([Route(row(), part(), rate(), row("b"), way="file")])],
        [
            {
                "attack": "a",
                "way": "with the file",
                "cells": [("AUC", "0.750 [0.500, 0.875]"), ("TPR @ 1% FPR", "25.0% [3.1, 50.0]")],
            },
            {"attack": "b", "way": "with the file", "cells": [("AUC", "0.750 [0.500, 0.875]")]},
        ],
    ),
    (
        lambda: _page._list_levels(
            [
                Route(
                    numbers={
                        "auc": {"low": 0.5, "attack": "a"},
                        "ratio": {"low": 120.4, "attack": "b"},
                    }
                ),
                Route(way="file"),
                Route(numbers={"auc": {"low": 0.5, "attack": "c"}}, level="unknown"),
            ]
        )["found"],
        "Service: AUC 0.5 by a, ratio 120 by b.",
    ),
    # Where an attack was chosen, its numbers are compared with those of groups alone.
    (
        lambda: [
            _page._list_levels([Route(*rows)])["corrected"][43:-10]
            for rows in (
                [row(told=1), row("b", told=0)],
                [row(), row("b")],
                [row(told=0), part(told=1)],
            )
        ],
        ["groups", "attacks and groups", "attacks and groups"],
    ),
    (
        lambda: file_box(evidence="leak"),
        ("candidates", 7, ["reading", "stores", "changes", "notes"]),
    ),
    (lambda: file_box(evidence="none")[0], "verdict"),
]


def file_box(evidence):
    file = {"evidence": evidence, "sources": [{"n_equations": 7}, {"n_equations": None}]}
    file |= {name: name for name in ("stores", "changes", "notes", "verdict")}
    parts = {
        "describe_candidates": lambda file: "candidates",
        "describe_sources": lambda file: "sources",
        "describe_reading": lambda file: "reading",
    }
    with mock.patch.multiple(_page, **parts):
        found = _page._describe_file_box(file)
    assert found["sources"] == "sources"
    return found["text"], found["n_equations"], [*found["lists"].values()]


def test_panels_by_hand():
    expect_answers(PANEL)


def test_groups_by_hand():
    expect_answers(GROUPS)


def test_records_and_knowledge_by_hand():
    expect_answers(RECORDS)
