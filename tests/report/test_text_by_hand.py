"""An audit as text for a terminal, line by line, of poor and of crowded results."""

from types import SimpleNamespace as NS
from unittest import mock

import pandas as pd
from by_hand import expect_answers
from numpy import nan

from skmia._core.levels import Level
from skmia.report import _captions, _pool_size, _report, _text
from skmia.report._evidence import FILE, SERVICE, ReleaseRoute
from skmia.report.checks._results import MeasurableRates


def row(attack="a", **changed):
    usual = {"scope": "overall", "group": "all", "attack": attack, "metric": "auc"}
    usual |= {"max_fpr": nan, "estimate": 0.75, "low": 0.7, "high": 0.8, "status": "ok"}
    return usual | {"n_members": 1200, "n_nonmembers": 30} | changed


def rate(attack="a", max_fpr=0.01, **changed):
    return row(attack, metric="tpr", max_fpr=max_fpr, **changed)


def table(*rows):
    return _text.format_table(pd.DataFrame(rows))


def lay_out(*widths):
    names = [f"c{k}" for k in range(len(widths))]
    return _text._layout(names, dict(zip(names, widths, strict=True)))


def route(*rows, way=SERVICE, level="clear", groups=(), overall=True):
    return ReleaseRoute(way, Level(level, groups=groups, overall=overall), list(rows))


def group(name, level="slight", scope="sex"):
    return {"scope": scope, "group": name, "name": level}


def tabulate(*routes, rate=0.01):
    return _text._tabulate_routes(routes, rate, 0.95)


def trust(n=30, results=({"a": 1},), bad=(), checks=None, rates=None):
    checks = {name: NS(status=status) for name, status in (checks or {}).items()}
    if rates is not None:
        checks["resolution"] = NS(status="stated", finding=MeasurableRates(*rates))
    result = NS(data={"n_nonmembers": n}, results=pd.DataFrame(results), checks=checks)
    return _text._list_trust(result, {"line": "Yes.", "bad": bad})


def check(text, error=False, warning=False):
    return NS(text=text, is_error=error, is_warning=warning)


def caveats(rows=(), checks=None, notes=(), growth=None):
    settings, frame = {"confidence_level": 0.9}, pd.DataFrame(rows, columns=[*row()])
    result = NS(settings=settings, checks=checks or {}, notes=notes, growth=growth)
    return _text._list_caveats(result, frame)


def source(auc, name="leaves", path="", n_equations=None, expected=None, n_exposed=0):
    found = {"auc": auc, "name": name, "path": path, "n_equations": n_equations}
    return found | {"expected_auc": expected, "n_exposed": n_exposed, "exposed_auc": None}


def sources(*found):
    return _text.describe_sources({"sources": found, "n_records": 1500})


def read(*ledger, obstacle=None):
    ledger = [dict(zip(("place", "part", "size"), one, strict=True)) for one in ledger]
    return _text.describe_reading({"ledger": ledger, "obstacle": obstacle})


def ways(file=None):
    return _text._describe_ways(NS(file=file, verdict="a leak"))


def exposed(disparity=0.1, reject=True, pairs=(), left_out=()):
    names = ("group", "mean", "low", "high")
    groups = [
        dict(zip(names, one, strict=True))
        for one in (("m", 0.25, 0.2, 0.3), ("f", 0.125, 0.1, 0.2), ("x", 0.2, 0.1, 0.3))
    ]
    test = {"scope": "sex", "n_rounds": 7, "disparity": disparity, "reject": reject}
    test |= {"pvalue": 0.02, "n_permutations": 99, "left_out": left_out, "groups": groups}
    return {"attack": "LiRA", "scopes": [test | {"pairs": [{"reject": one} for one in pairs]}]}


def growth(reason="time", *steps, metric="auc", seconds=720):
    usual = {"n_shadows": 10, "steps": steps, "reason": reason, "metric": metric}
    return usual | {"max_fpr": 0.01, "seconds_per_model": seconds, "time_budget": 90.5}


def step(n=8, gain=0.16, sd=0.01, **more):
    found = {"n_shadows": n, "gain": gain, "sd": sd, "power": 0.875, "attack": "LiRA"}
    return found | {"gain_standard_error": 0.02} | more


def wrong(n=8, steps=(), reason="time", settings=None, **changed):
    found = growth(reason, *steps) | {"n_shadows": n, "max_fpr": None} | changed
    settings = {"n_shadows": n, "attacks": {"LiRA": ""}} | (settings or {})
    return [*_pool_size.list_wrong_growth({"growth": found, "settings": settings})]


LINE = "  {:9s}{:16s}{:15s}{:22s}{}".format
HEAD = [
    LINE("", "", "recognized", "how often a member", "").rstrip(),
    LINE("", "", "of 100", "ranks higher (AUC)", "level"),
]
AUC = "0.750 [0.700, 0.800]"
SAME = "Over 7 shadow models treated as the victim, all groups of sex have the same mean advantage."
DIFFER = (
    "Over 7 shadow models treated as the victim, the mean advantage of LiRA differs between the "
    "groups of sex: from 12.5% [10.0, 20.0] for f to 25.0% [20.0, 30.0] for m (p = 0.02 by "
    "permutation of the groups)"
)
TITLE = "all records (1,200 members, 30 non-members)"
FACTS = {"answers_only": True, "sources": [], "n_records": 4, "ledger": [], "changes": ["b"]}
READ_ALL = "Everything that depends on the data was read, and the same attack"
GROWN = "the AUC of LiRA on shadow models treated as the victim"
MORE = "10 more models would take about 2 hours"

ROWS = [
    # One row for each attack, and one column for each number.
    (lambda: _text.format_table(pd.DataFrame()), []),
    (
        lambda: table(row("a"), rate("a"), rate("a", 0.1), row("bb"), rate("bb"), rate("bb", 0.1)),
        [
            "",
            TITLE,
            "attack  AUC                   TPR @ 1% FPR        TPR @ 10% FPR",
            f"a       {AUC}  75.0% [70.0, 80.0]  75.0% [70.0, 80.0]",
            f"bb      {AUC}  75.0% [70.0, 80.0]  75.0% [70.0, 80.0]",
        ],
    ),
    (
        lambda: table(row("a"), row("a", scope="sex", group="f", status="too few records"))[4:],
        [
            "",
            "sex = f (1,200 members, 30 non-members)",
            "  too few records: at least 2 members and 2 non-members are needed",
        ],
    ),
    (
        lambda: table(row("a", status="too few records"), row("a", scope="sex", group="f"))[3:],
        [
            "",
            "sex = f (1,200 members, 30 non-members)",
            "attack  AUC",
            f"a       {AUC}",
        ],
    ),
    # Columns that do not fit beside each other go below, with the attack in front of them.
    (lambda: lay_out(10, 43, 43), [["c0", "c1", "c2"]]),
    (lambda: lay_out(10, 43, 44), [["c0", "c1"], ["c0", "c2"]]),
    (lambda: lay_out(10, 43, 44, 42), [["c0", "c1"], ["c0", "c2", "c3"]]),
    (lambda: lay_out(10, 99, 5), [["c0", "c1"], ["c0", "c2"]]),
    # The strongest attack of each route, and the groups with the most.
    (
        lambda: tabulate(route(row(), rate())),
        [
            *HEAD,
            LINE("service", "all", " 75 [70, 80]", AUC, "clear"),
            LINE("guessing", "", "  1", "0.5", "none shown"),
            "  Members recognized of 100, when 1 of 100 others is mistaken for one;",
            "  brackets: 95% intervals of each number alone.",
        ],
    ),
    (
        lambda: tabulate(route(row()), rate=None),
        [
            *HEAD,
            LINE("service", "all", "  -", AUC, "clear"),
            LINE("guessing", "", "  -", "0.5", "none shown"),
            "  Brackets: 95% intervals of each number alone.",
        ],
    ),
    (
        lambda: tabulate(route(way=FILE), route(row(), rate()))[2:4],
        [
            LINE("file", "all", "  -", "-", "clear"),
            LINE("service", "all", " 75 [70, 80]", AUC, "clear"),
        ],
    ),
    (
        lambda: tabulate(
            route(
                *(row(scope="sex", group=name) for name in ("f", "m", "with long name")),
                groups=[group("f"), group("with long name", "severe"), group("m", "none")],
                overall=False,
            ),
            rate=None,
        )[2:6],
        [
            LINE("service", "all", "  -", "-", "none shown"),
            LINE("", "sex with long \u2026", "  -", AUC, "severe"),
            LINE("", "sex f", "  -", AUC, "slight"),
            LINE("", "sex m", "  -", AUC, "none shown"),
        ],
    ),
    (
        lambda: [
            len(tabulate(route(row(), groups=[group(f"{k}") for k in range(n)]), rate=None))
            for n in (8, 9)
        ],
        [13, 14],
    ),
    (
        lambda: tabulate(route(row(), groups=[group(f"{k}") for k in range(11)]), rate=None)[11],
        "           3 more groups: --verbose",
    ),
    (
        lambda: tabulate(route(row(), groups=[group(f"{k}") for k in range(9)]), rate=None)[11],
        "           1 more group: --verbose",
    ),
    # Classes are shown if one is at another level than all records.
    (
        lambda: [
            len(tabulate(route(row(), groups=[group("1", level, "class")]), rate=None))
            for level in ("none", "clear", "severe")
        ],
        [5, 5, 6],
    ),
    (
        lambda: [
            tabulate(route(rate(fpr=fpr)), route(rate(fpr=0.02), way=FILE))[4][:34].split()[1:]
            for fpr in (0.02, 0.03)
        ],
        [["2"], ["-"]],
    ),
    (
        lambda: trust(),
        ["  Trust   Yes.", "          Rates below 33% cannot be measured with 30 non-members."],
    ),
    (lambda: trust(10)[1], "          Rates cannot be measured with 10 non-members."),
    # Of people, who can have fewer independent records than they have records.
    (
        lambda: " ".join(" ".join(trust(rates=(1 / 3, 0.5, 20))[1:]).split()),
        "Rates below 33% cannot be measured with 30 non-members of 20 people; those below 50% can "
        "be only if the records of a person are not alike.",
    ),
    (lambda: trust(rates=(1 / 3, 1 / 3, None)), trust()),
    # All are recognized only if it is all of them, as the sentence says.
    *(
        (
            lambda ends=ends: tabulate(
                route(row(), rate(**dict(zip(("low", "estimate", "high"), ends, strict=True))))
            )[2][27:42].strip(),
            told,
        )
        for ends, told in (
            ((0.97, 0.998, 0.999), ">99 [97, >99]"),
            ((0.97, 1.0, 1.0), "100 [97, 100]"),
            ((0.0, 0.003, 0.004), "<1 [ 0, <1]"),
            ((0.0, 0.0, 0.02), "0 [ 0,  2]"),
        )
    ),
    (lambda: trust(results=()), ["  Trust   Yes."]),
    (
        lambda: trust(
            bad=["A", "B"], checks={"c": "not run", "d": "passed", "e": "not run"}, results=()
        ),
        ["  Trust   Yes. A. B.", "          Not run: c, e."],
    ),
    # What to know of the numbers: poor results say little.
    (lambda: caveats(), []),
    (
        lambda: caveats(
            [row(), rate(status="not resolvable")],
            {
                "other": check("x", warning=True),
                "blind baseline": check("y", warning=True),
                "drift": check("z", error=True, warning=True),
                "fine": check("w"),
            },
            ["n"],
            growth("unmeasured"),
        ),
        [
            "Brackets: 90% intervals of each number alone.",
            "not resolvable: fewer than 10 false positives are allowed at this rate, so it cannot "
            "be measured.",
            "10 shadow models were trained. No attack can be repeated on them, so their number "
            "does not depend on its power.",
            "Warning (other): x",
            "Error (drift): z",
            "Note: n",
        ],
    ),
    (
        lambda: caveats(checks={"blind baseline": check("y", error=True)}),
        ["Error (blind baseline): y"],
    ),
    (
        lambda: [
            one.text
            for one in _text.list_leading({"drift": check("z"), "blind baseline": check("y")})
        ],
        ["y"],
    ),
    (lambda: ways(), ["a leak"]),
    (
        lambda: ways(NS(facts=FACTS | {"obstacle": None}, verdict="a file", notes=["c", "d"])),
        [
            "As a service: a leak",
            "As a file: a file",
            "What would change it: b",
            "Note on the file: c",
            "Note on the file: d",
        ],
    ),
    # Parts of an attack on a file: the eight strongest, in their own order.
    (lambda: sources(source(0.5)), ["Leaves: AUC 0.500."]),
    (
        lambda: sources(source(0.75, "node equations", "a/b", 1234, 0.8, 7)),
        [
            "Node equations in a/b (1,234 for 1,500 candidates): AUC 0.750; expected at least "
            "0.800. 7 candidates have a leverage above 0.1."
        ],
    ),
    (lambda: sources(source(0.75, expected=0.8)), ["Leaves: AUC 0.750; expected 0.800."]),
    (
        lambda: sources(*(source(k / 10, f"s{k}") for k in (3, 9, 1, 2, 4, 5, 6, 7, 8, 0))),
        [
            *(f"S{k}: AUC 0.{k}00." for k in (3, 9, 2, 4, 5, 6, 7, 8)),
            "2 more parts found less.",
        ],
    ),
    (lambda: len(sources(*(source(k / 10, f"s{k}") for k in range(8)))), 8),
    # What was read, part by part, and what was not.
    (lambda: read(), []),
    (
        lambda: read(("a", "p", 1), ("b", "q", 2), ("c", "p", 1000))[:2],
        ["Read by p: 1,001 numbers.", "Read by q: 2 numbers."],
    ),
    (lambda: [text[:65] for text in read(("a", "p", 1))], ["Read by p: 1 number.", READ_ALL]),
    (
        lambda: read(("a", None, 1), ("b", None, 0), obstacle="Not read: a (1 number), b."),
        ["Not read: a (1 number), b."],
    ),
    (lambda: read(("a", "p", 2), obstacle="Odd."), ["Read by p: 2 numbers.", "Odd."]),
    (
        lambda: read(*((f"{k}", None, 2) for k in range(3)), obstacle="Odd."),
        ["Not read: 0 (2 numbers), 1 (2 numbers), 2 (2 numbers).", "Odd."],
    ),
    (
        lambda: read(*((f"{k}", None, 0) for k in range(5)), obstacle="Odd.")[0],
        "Not read: 0, 1, 2, 2 more.",
    ),
    (lambda: _text.describe_disparity(None), []),
    (lambda: _text.describe_disparity(exposed(), {"age"}), []),
    (lambda: _text.describe_disparity(exposed(0), {"sex"}), [SAME]),
    (lambda: _text.describe_disparity(exposed(pairs=[True])), [f"{DIFFER}."]),
    (
        lambda: _text.describe_disparity(exposed(pairs=[True, False, True], left_out=["y", "z"])),
        [f"{DIFFER}; of 3 pairs 2 differ after Holm's correction. Too small to take part: y, z."],
    ),
    (
        lambda: _text.describe_disparity(exposed(pairs=[False, True, False])),
        [f"{DIFFER}; of 3 pairs 1 differs after Holm's correction."],
    ),
    (
        lambda: _text.describe_disparity(exposed(reject=False, pairs=[False, False])),
        [f"{DIFFER.replace('differs', 'does not differ significantly')}."],
    ),
    (
        lambda: _text.describe_performance(
            {"metric": "accuracy", "members": 0.95, "nonmembers": 0.75, "gap": 0.2}
        ),
        "Accuracy 95.0% on members, 75.0% on non-members, generalization gap 20.0 percentage "
        "points.",
    ),
    (
        lambda: _text.describe_performance(
            {"metric": "r2", "members": 0.95, "nonmembers": None, "gap": None}
        ),
        "R2 0.950 on members, nan on non-members, generalization gap nan.",
    ),
    # Not all of them, nor none, and no zero below zero.
    (
        lambda: _text.describe_performance(
            {"metric": "accuracy", "members": 0.9996, "nonmembers": 0.0004, "gap": -0.0004}
        ),
        "Accuracy more than 99.9% on members, less than 0.1% on non-members, generalization gap "
        "0.0 percentage points.",
    ),
    (
        lambda: _text.describe_performance(
            {"metric": "r2", "members": -0.0001, "nonmembers": 0.0, "gap": -0.0001}
        ),
        "R2 0.000 on members, 0.000 on non-members, generalization gap 0.000.",
    ),
    # How many others are mistaken: as measured if all rows agree, or as allowed.
    (
        lambda: _captions.caption_counts([route(rate(fpr=0.02))], 0.03),
        "Members recognized of 100, when at most 3 of 100 others are mistaken for one",
    ),
    (
        lambda: _captions.caption_counts([route(rate(fpr=0.02, max_fpr=0.03))], 0.03),
        "Members recognized of 100, when 2 of 100 others are mistaken for one",
    ),
    (
        lambda: _captions.caption_counts(
            [route(rate(fpr=0.02)), route(rate(fpr=0.01), way=FILE)], 0.01
        ),
        "Members recognized of 100, when at most 1 of 100 others is mistaken for one (2 as a "
        "service and 1 as a file)",
    ),
    (
        lambda: _captions.caption_counts(
            [route(rate(fpr=0.004)), route(rate(fpr=0.005), way=FILE)], 0.01
        ),
        "Members recognized of 100, when fewer than 1 of 100 others are mistaken for one",
    ),
    (
        lambda: _captions.caption_counts(
            [route(rate(fpr=0.004)), route(rate(fpr=0.0), way=FILE)], 0.01
        )[-43:],
        "(fewer than 1 as a service and 0 as a file)",
    ),
    # What another doubling brings: at 8 models 3/16 of the last gain, at 16 .328 of it.
    (lambda: _pool_size.expect_gain(step(8, 0.16)), 0.03),
    (lambda: _pool_size.expect_gain(step(16, 0.32)), 0.105),
    (lambda: _pool_size.expect_gain(step(8, -0.16)), 0.0),
    (lambda: _pool_size.expect_gain(step(4, 0.16)), None),
    (lambda: _pool_size.expect_gain(step(8, None)), None),
    (
        lambda: [_pool_size.is_enough([step(2), step(8, sd=sd)]) for sd in (0.029, 0.031)],
        [False, True],
    ),
    (lambda: _pool_size.is_enough([step(8), step(4)]), False),
    (lambda: _pool_size.foresee_size([], 8), 16),
    (lambda: _pool_size.foresee_size([], 8, 12), 12),
    (lambda: _pool_size.foresee_size([step(8)], 16), 32),
    (lambda: _pool_size.foresee_size([step(16, 0.32, 0.06)], 16), 32),
    (lambda: _pool_size.foresee_size([step(16, 0.32, 0.02)], 16), 64),
    (lambda: _pool_size.foresee_size([step(16, 0.32, 0.0)], 16), 64),
    (lambda: _pool_size.foresee_size([step(16, 0.32, 0.02)], 16, 48), 48),
    (lambda: _pool_size.foresee_size([step(4, 0.32, 0.02)], 4), 8),
    (lambda: _pool_size._describe_power(growth()), []),
    (
        lambda: _pool_size._describe_power(growth("time", step(gain=None))),
        [f"With 8, {GROWN} is 0.875."],
    ),
    (
        lambda: _pool_size._describe_power(growth("time", step(4), step())),
        [f"The last doubling changed {GROWN} by +0.160 \u00b1 0.020 to 0.875."],
    ),
    (
        lambda: _pool_size._describe_power(growth("time", step(gain=-0.16), metric="tpr")),
        [
            "The last doubling changed the TPR at 1% FPR of LiRA on shadow models treated as the "
            "victim by -16.0 \u00b1 2.0 percentage points to 87.5%."
        ],
    ),
    (
        lambda: _pool_size._describe_power(growth("time", step(gain=0.0))),
        [f"The last doubling changed {GROWN} by +0.000 \u00b1 0.020 to 0.875."],
    ),
    (
        lambda: _pool_size._describe_next(growth()),
        f"{MORE}, beyond the time budget of 90.5 seconds.",
    ),
    (
        lambda: _pool_size._describe_next(growth("memory")),
        f"{MORE}; memory did not suffice for them.",
    ),
    (
        lambda: _pool_size._describe_next(growth("most", step())),
        f"{MORE}, for an expected gain of 0.030; 64 is the most that are trained.",
    ),
    (
        lambda: _pool_size._describe_next(growth("enough", step(), metric="tpr")),
        f"{MORE}, for an expected gain of 3.0 points, within the standard deviation between "
        "models, 1.0.",
    ),
    # What contradicts itself, each alone.
    (lambda: [*_pool_size.list_wrong_growth({"growth": None})], []),
    (lambda: wrong(), []),
    (lambda: wrong(steps=[step(4, None, gain_standard_error=None), step(8, sd=0.01)]), []),
    (lambda: wrong(settings={"n_shadows": 9}), ["growth.n_shadows is not settings.n_shadows"]),
    (
        lambda: wrong(steps=[step(8, None, gain_standard_error=None), step(4)]),
        ["growth.steps must be in the order of n_shadows"],
    ),
    (
        lambda: wrong(steps=[step(16, None, gain_standard_error=None)]),
        ["growth.steps has a number beyond growth.n_shadows"],
    ),
    (lambda: wrong(steps=[step(4)]), ["growth.steps must have a gain except for the first"]),
    (
        lambda: wrong(steps=[step(4, None)]),
        ["growth.steps must have an error for each gain, and only then"],
    ),
    (
        lambda: wrong(
            steps=[step(4, None, gain_standard_error=None)], settings={"attacks": {"RMIA": ""}}
        ),
        ["growth.steps names an attack that settings lacks"],
    ),
    (
        lambda: [wrong(max_fpr=0.1), wrong(metric="tpr")],
        [["growth.max_fpr must be there for a TPR, and only then"]] * 2,
    ),
    (
        lambda: [
            wrong(steps=[step(4, None, gain_standard_error=None), step(8, sd=0.1)]),
            wrong(reason="enough"),
        ],
        [["growth.reason is another than its steps say"]] * 2,
    ),
    (
        lambda: [wrong(n=64), wrong(reason="most")],
        [["growth.reason is not that of its number"]] * 2,
    ),
    (
        lambda: wrong(time_budget=None),
        ["growth.time_budget must be there if it ended the training"],
    ),
    (lambda: wrong(reason="memory", time_budget=None), []),
]


def test_answers_by_hand():
    expect_answers(ROWS)


def summarize(group=None, *, empty=False, people=None, found=None, checks=(), disparity=None):
    """Return the lines of a summary, whose tables and paragraphs are named by what they hold."""
    scopes = [] if empty else ["overall", "class", "sex"]
    frame = pd.DataFrame({"scope": scopes, "status": ["ok"] * len(scopes)})
    result = NS(results=frame, settings={"group": group}, victim_name="SVC", performance="fit")
    result.data, result.recommendation, result.disparity = {"n_records": 1234}, found, disparity
    result.checks = "checks"
    listed = [NS(text=text, is_error=error) for text, error in checks]
    parts = {
        "_describe_sizes": lambda result: "sizes",
        "describe_performance": lambda performance: performance,
        "list_leading": lambda checks: listed if checks == "checks" else None,
        "format_table": lambda frame: [f"table of {'+'.join(frame['scope'])}"],
        "describe_disparity": lambda disparity, scopes: disparity and [f"of {sorted(scopes)}"],
        "_list_caveats": lambda result, frame: [f"caveats {len(frame)}"],
        "_describe_ways": lambda result: ["ways"],
        "wrap_lines": list,
    }
    people = None if people is None else NS(text="people", named="named")
    with mock.patch.multiple(_text, **parts):
        return _text.format_audit_summary(result, NS(people=people)).split("\n")


HEAD = ["Membership-inference audit of SVC", "1,234 records: sizes", "fit"]
SUMMARIES = [
    (
        lambda: summarize(),
        [*HEAD, "table of overall+sex", "", "caveats 2", "", "ways"],
    ),
    (lambda: summarize("class")[3], "table of overall+class+sex"),
    (lambda: summarize(["sex", "class"])[3], "table of overall+class+sex"),
    (lambda: summarize(["sex"])[3], "table of overall+sex"),
    (
        lambda: summarize(checks=[("a", False), ("b", True)])[:5],
        [*HEAD, "a", "table of overall+sex"],
    ),
    (lambda: summarize(empty=True, checks=[("a", False)])[3], "table of "),
    (lambda: summarize(disparity=1)[4:6], ["", "of ['overall', 'sex']"]),
    (lambda: summarize(people=1)[4:7], ["", "People: people", "named"]),
    (lambda: summarize(found="policy\nlines")[-3:], ["", "policy", "lines"]),
]


def test_summaries_by_hand():
    expect_answers(SUMMARIES)


def shorten(n_notes=0, *, level="clear", people=None, policy=None, caution="Caution."):
    """Return the lines of the first page, whose parts are named by what they hold."""
    result = NS(settings={"confidence_level": 0.9}, recommendation=policy, victim_name="S" * 60)
    result.notes = [f"note {k}" for k in range(n_notes)]
    screen = NS(plain="Plain.", level=level, routes="routes", rate=0.01, caution=caution)
    screen.people, screen.trust = people and NS(line=people), "trust"
    parts = {
        "write_headlines": lambda screen: ["head"],
        "write_steps": lambda screen: ["steps"],
        "_tabulate_routes": lambda *given: [f"table of {given}"],
        "_list_trust": lambda result, trust: [trust],
        "_list_policy": lambda found: [found],
        "_describe_sizes": lambda result: "sizes",
    }
    with mock.patch.multiple(_text, **parts):
        return _text.format_short(result, screen)


def list_policy(*tried, conditions=()):
    """Return the lines on what a policy recommends, of the width of a terminal."""
    found = NS(release="file", result="release", policy=NS(name="house"), conditions=conditions)
    found.tried = [NS(name=name, helps=helps) for name, helps in tried]
    found.to_dict = lambda: "found"
    told = lambda found: [f"Told of {found} {'long ' * 15}end."]  # noqa: E731
    with mock.patch.object(_text, "summarize_policy", told):
        return _text._list_policy(found)


LONG = "x" * 70
POLICY = [
    "  Policy  As a file, by the policy house: release.",
    f"{'':10s}Told of found {'long ' * 10}long",
    f"{'':10s}long long long long end.",
]
MODEL = ["", f"  Model   {'S' * 37}...: sizes"]
TABLE = ["table of ('routes', 0.01, 0.9)", "  Caution."]
PAGES = [
    (shorten, ["head", "", "Plain.", "", *TABLE, "", "trust", "", "steps", *MODEL]),
    (lambda: shorten(caution="")[4:6], [TABLE[0], ""]),
    (lambda: shorten(level="unknown"), ["head", "", "Plain.", "", "trust", "", "steps", *MODEL]),
    (lambda: shorten(level="none")[4], TABLE[0]),
    (lambda: shorten(people="Ten.")[6:9], ["", "  People  Ten.", "trust"]),
    (list_policy, POLICY),
    (
        lambda: list_policy(("a", True), (LONG, False), conditions=["b"]),
        [
            *POLICY,
            f"{'':10s}Condition: b.",
            f"{'':10s}a: suffices.",
            f"{'':10s}{LONG[:68]}",
            f"{'':12s}xx: does not suffice.",
        ],
    ),
    (lambda: shorten(policy="policy")[-5:], ["steps", "", "policy", *MODEL]),
    # Of more than four notes three are told, and the others counted.
    (
        lambda: shorten(4)[-4:],
        ["  Note    note 0", *(f"{'':10s}note {k}" for k in (1, 2, 3))],
    ),
    (
        lambda: shorten(5)[-4:],
        [
            "  Note    note 0",
            *(f"{'':10s}note {k}" for k in (1, 2)),
            f"{'':10s}2 more notes are among the details.",
        ],
    ),
    # Three places that no attack reads are named.
    (lambda: _text.name_unread([{"part": "p", "place": "a", "size": 1}]), None),
    (
        lambda: _text.name_unread(
            [
                {"part": None, "place": "a", "size": 1},
                {"part": "p", "place": "b", "size": 7},
                {"part": None, "place": "c", "size": 1200},
                {"part": None, "place": "d", "size": 0},
            ]
        ),
        "Not read: a (1 number), c (1,200 numbers), d.",
    ),
    (
        lambda: _text.name_unread([{"part": None, "place": k, "size": 0} for k in "abcde"]),
        "Not read: a, b, c, 2 more.",
    ),
]


def test_first_pages_by_hand():
    expect_answers(PAGES)


def write_markdown(*, found=None, people=None, sections=()):
    """Return the lines of an audit in Markdown, whose parts are named by what they hold."""
    report = NS(settings={"n_shadows": 8, "confidence_level": 0.9}, victim_name="a*b", results="r")
    report.data = {"n_records": 2500, "n_members": 1200, "n_nonmembers": 1300}
    report.versions, report.created, report.performance = {"skmia": "1"}, "today", "fit"
    report.recommendation = found and NS(to_dict=lambda: found)
    parts = {
        "show_report": lambda report: NS(people=people),
        "format_decision": lambda found: [f"decision {found}"],
        "write_as_markdown": lambda screen: ["screen"],
        "write_steps_as_markdown": lambda screen: ["steps"],
        "_list_verdicts": lambda report: ["verdict"],
        "describe_performance": lambda performance: performance,
        "_list_report_tables": lambda results: [["table 1", "row"], ["table 2"]],
        "_list_people_sections": lambda people: [f"people {people}"],
        "_list_sections": lambda report: dict(sections),
    }
    with mock.patch.multiple(_report, **parts):
        return _report.format_audit_markdown(report, "A <b>").split("\n")


def list_verdicts(file=None):
    report = NS(evidence="leak", verdict="a*b", file=file)
    return _report._list_verdicts(report)


def list_people_sections(*exposed, more=""):
    return _report._list_people_sections(NS(text="Ten.", exposed=exposed, more=more))


def list_sections(file=None, growth=None):
    checks = {"drift": NS(status="warning", text="a*b"), "other": NS(status="odd", text="c")}
    report = NS(checks=checks, growth=growth, notes=["n*"], disparity="d", file=file)
    parts = {
        "describe_growth": lambda growth: f"grown {growth}",
        "describe_disparity": lambda disparity: [f"{disparity}*"],
        "describe_sources": lambda facts: ["source"],
        "describe_reading": lambda facts: ["read"],
    }
    with mock.patch.multiple(_report, **parts):
        return _report._list_sections(report)


HEADING = r"# A \<b\>"
AUDITED = [
    r"* Model: a\*b",
    "* Records: 2,500, 1,200 of them members",
    "* Shadow models: 8",
    "* fit",
    "* Made by skmia 1, today",
]
TABLES = ["", "table 1", "row", "", "table 2", "", "Brackets: 90% intervals, pointwise."]
A_FILE = NS(evidence="none", verdict="none.", facts={"answers_only": True, "changes": ["c*"]})
A_FILE.notes = ["note"]
ANN = {"person": "ann", "n_records": 1200, "score": 0.123456, "n_above": 1500, "pvalue": 0.0123}
ROW_OF_ANN = "| ann | 1,200 | 0.1235 | 1,500 | 0.012 |"
MARKDOWN = [
    (
        write_markdown,
        [HEADING, "", "screen", "steps", "verdict", "", *AUDITED, *TABLES, ""],
    ),
    (lambda: write_markdown(found="f")[:4], [HEADING, "", "decision f", "screen"]),
    (lambda: write_markdown(people="p")[-3:], [TABLES[-1], "people p", ""]),
    (
        lambda: write_markdown(sections=[("A", ["x", "y"]), ("B", [])])[-6:],
        ["", "## A", "", "* x", "* y", ""],
    ),
    (list_verdicts, [r"**leak**: a\*b"]),
    (
        lambda: list_verdicts(A_FILE),
        [r"**As a service: leak**. a\*b", "", "**As a file: none**. none."],
    ),
    (list_people_sections, ["", "## People", "", "Ten."]),
    (lambda: list_people_sections(ANN)[-1], ROW_OF_ANN),
    (lambda: list_people_sections(ANN, more="More.")[-3:], [ROW_OF_ANN, "", "More."]),
    (
        list_sections,
        {
            "Groups": [r"d\*"],
            "The file": [],
            "Checks": [
                rf"drift ({_report._STATUS.get('warning', 'warning')}): a\*b",
                "other (odd): c",
            ],
            "Notes": [r"n\*"],
        },
    ),
    (
        lambda: list(list_sections(A_FILE, growth="g").values())[1::2],
        [["source", "read", r"c\*", "note"], ["grown g", r"n\*"]],
    ),
]


def test_markdown_by_hand():
    expect_answers(MARKDOWN)
