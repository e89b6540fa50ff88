"""What is told first of an audit: sentences, levels and steps, of routes that are made by hand."""

from types import SimpleNamespace as NS
from unittest import mock

import pandas as pd
from by_hand import expect_answers
from numpy import nan
from scipy.stats import norm

from skmia._core.levels import Level
from skmia.report import _evidence, _measure, _screen
from skmia.report._evidence import FILE, SERVICE, ReleaseRoute
from skmia.report.checks._base import KNOWN


def row(attack="a", **changed):
    usual = {"scope": "overall", "group": "all", "attack": attack, "metric": "auc"}
    usual |= {"max_fpr": nan, "estimate": 0.75, "low": 0.7, "high": 0.8, "status": "ok"}
    return usual | {"n_members": 9, "n_nonmembers": 9} | changed


def rate(attack="a", max_fpr=0.01, **changed):
    return row(attack, metric="tpr", max_fpr=max_fpr, **changed)


def route(*rows, way=SERVICE, level="clear", groups=(), overall=True, leaks=None, **numbers):
    found = Level(level, numbers=numbers, groups=groups, overall=overall)
    return ReleaseRoute(way, found, list(rows), leaks)


def group(name="f", level="severe", scope="sex", **more):
    return {"scope": scope, "group": name, "name": level} | more


def of_group(**changed):
    return row(scope="sex", group="f", **changed)


def leak(*routes):
    return _screen._write_leak(_evidence.get_highest(routes), routes)


def nothing(*routes):
    return _screen._write_nothing(routes[0], routes)


def slight(*rows, best=None, leaks=None, base=100):
    return _screen._write_slight_audit(route(*rows, level="slight", leaks=leaks), best, base)


def sentence(*routes, evidence="leak", checks=None, baseline=None, files=None):
    return _screen.write_sentence(routes, evidence, checks or {}, baseline, "Why.", files)


def check(status="warning", name="blind baseline", **more):
    found = NS(name=name, status=status, is_warning=status == "warning", finding=None, text="x")
    found.is_error = status == "error"
    vars(found).update(more)
    return found


def noisy(finding="noise", status="warning"):
    name = _evidence.list_checks(KNOWN)[0].name
    return {name: check(status, name, finding=finding)}


FILE_OF_MORE = [
    route(row(high=0.655), way=FILE, level="none"),
    route(row(high=0.612), level="none"),
]


def document(victim="LogisticRegression", changes=("Prune.",), **settings):
    settings = {"n_shadows": 8} | settings
    return {"victim_name": victim, "file": {"changes": changes}, "settings": settings}


def against(*routes, has_policy=False, **more):
    steps = _screen._advise_against_leaks(document(**more), routes, has_policy)
    return [one.imperative for one in steps]


def tell_defense(*routes):
    steps = _screen._advise_against_leaks(document(), routes, False)
    return next(one.why for one in steps if one.imperative == DEFEND)


def tell_cure(file, service):
    routes = route(way=FILE, level=file), route(level=service)
    return next(_screen._advise_against_leaks(document(), routes, False)).why


def tell_open(release, *routes):
    with mock.patch.object(_screen, "tell_what_decides", lambda found: "Do it."):
        return _screen._tell_open({"release": release}, routes)


def trust(*statuses, is_conclusive=True):
    names = ["blind baseline", "drift", "duplicates", "difficulty"]
    checks = {
        name: check(status, name, text=f"{status}.")
        for name, status in zip(names, statuses, strict=False)
    }
    return _screen.list_trust(checks, is_conclusive)


def largest(*rows, n_parts=1, level=0.95):
    return _evidence._find_largest(rows, level, n_parts)


def choose_rate(*rows, level="slight", leaks=(), **more):
    """Return the rate that is told of rows, of which some are beyond chance."""
    keys = frozenset(map(_evidence.get_key, (rows[k] for k in leaks)))
    return _evidence.choose_rate([route(*rows, level=level, leaks=keys, **more)])


def number(low, max_fpr=None):
    return {"low": low, "estimate": 0.9, "attack": "a", "max_fpr": max_fpr}


def worst(*routes):
    found = _evidence.find_worst_group(routes)
    return found and (found[0]["group"], found[1].way)


def measure(rows, leaks, evidence="leak"):
    frame = pd.DataFrame(rows)
    null = pd.DataFrame(
        [{"scope": scope, "group": name, "pvalue_adjusted": 0.01} for scope, name in leaks],
        columns=["scope", "group", "pvalue_adjusted"],
    )
    grounds = NS(results=frame, null=null, level=0.95, checks={})
    found = _evidence.measure_audit_level(grounds, evidence)
    parts = [(one["group"], one["name"]) for one in found.groups]
    return found.name, found.overall, parts


def lower(estimate, low, n):
    """Lower end that is corrected for so many numbers."""
    wider = norm.ppf(1 - 0.05 / n / 2) / norm.ppf(0.975)
    return estimate - wider * (estimate - low)


RANKS = "A random member ranks above a random non-member 75 of 100 times."
OF_FILE = (
    "With the **model file**, a random member ranks above a random non-member 75 of 100 times."
)
FEW = "too few others to say how many can be recognized with certainty."
NEAR = rate(estimate=0.0149, low=0.0101)
WHEN = "when 1 of 100 others is mistaken for one"
LITTLE = "This is more than chance, but too little to identify anyone with certainty."
WITH = "An attacker who gets the model's **answers** can recognize"
AUDIT, HARDER = "Audit the file before you release it.", "Run a stronger audit before a release."
COMPARE, LESS = "Compare after each change.", "Train a model that stores less."
DEFEND, MEMORIZE = "Defend the service, then compare.", "Train a model that memorizes less."
STOP = "Do not release the file."
ONE_CLASS = [
    row(scope="class", group=name, n_members=a, n_nonmembers=b)
    for name, (a, b) in {"1": (3, 0), "2": (4, 5), "3": (1, 0)}.items()
]

BOTH_LEAK = route(way=FILE), route()

ROWS = [
    # A leak of all records, by members that are recognized, or by ranks.
    (lambda: leak(route(row())), f"{RANKS} There are {FEW}"),
    # Of people nobody, some, and all but a few.
    *(
        (
            lambda estimate=estimate, fpr=fpr, base=base: _screen._count_both(
                rate(estimate=estimate, fpr=fpr), base
            ),
            f"{n} of {base:,} members, and {m} of {base:,} others are taken for one",
        )
        for estimate, fpr, base, n, m in (
            (0.0, 0.01, 100, "0", "1"),
            (0.004, 0.0, 100, "fewer than 1", "0"),
            (0.999, 0.5, 100, "more than 99", "50"),
            (1.0, 0.002, 1000, "1,000", "2"),
        )
    ),
    (lambda: _screen._write_ranks(route(), row(estimate=1.0))[-17:], "100 of 100 times."),
    (lambda: _screen._write_ranks(route(), None)[-24:], "non-member of 100 times."),
    (lambda: leak(route(row(), way=FILE), route(level="none")), f"{OF_FILE} There are {FEW}"),
    (
        lambda: leak(route(row(), rate(estimate=0.5, fpr=0.01))),
        f"{WITH} 50 of 100 training records, and mistakes 1 of 100 others for one.",
    ),
    (
        lambda: leak(route(row(), rate(estimate=0.5, fpr=0.0))),
        f"{WITH} **50 of 100** training records **without mistaking anyone else for one** (0 of "
        "100 others).",
    ),
    (
        lambda: leak(route(row(), rate(estimate=0.5, fpr=0.0, fpr_high=0.021)))[-28:],
        "0 of 100 others; at most 3).",
    ),
    (
        lambda: leak(route(row(), rate(estimate=0.01))),
        f"{RANKS} None can be recognized with certainty: 1 of 100 members, and 1 of 100 others are "
        "taken for one.",
    ),
    (
        lambda: leak(route(row(), rate(estimate=0.049))),
        f"{RANKS} Few can be recognized with certainty: 5 of 100 members, and 1 of 100 others are "
        "taken for one.",
    ),
    (lambda: leak(route(row(), rate(estimate=0.05)))[:11], "An attacker"),
    # The other route is told beside it.
    (
        lambda: leak(
            route(row(), rate(estimate=0.5), way=FILE, level="severe"), route(rate(estimate=0.25))
        ),
        "An attacker with the **model file** can recognize 50 of 100 training records, and "
        "mistakes 1 of 100 others for one. From the **answers** alone, it is 25 of 100.",
    ),
    (
        lambda: _screen._tell_other(route(rate(fpr=0.02), way=FILE), rate(), 100),
        " From the **model file**, it is 75 of 100, when 2 of 100 others are mistaken for one.",
    ),
    (
        lambda: _screen._tell_other(route(rate(fpr=0.004)), rate(fpr=0.0), 100).partition(",")[2],
        " it is 75 of 100, when fewer than 1 of 100 others are mistaken for one.",
    ),
    (
        lambda: [
            _screen._tell_other(one, rate(), 100)
            for one in (
                route(rate(), level="unknown"),
                route(row()),
                route(rate(), level="none"),
                route(rate(), groups=[group()], overall=False),
                route(rate(), level="unknown", way=FILE),
            )
        ],
        [
            " From the **answers** alone, nothing can be said.",
            " From the **answers** alone, nothing can be said.",
            " From the **answers** alone, it is no more than by guessing.",
            " From the **answers** alone, only **sex: f** is beyond chance.",
            " What the **model file** reveals beyond this cannot be said.",
        ],
    ),
    # A slight leak: the rate of the picture if it is beyond chance, or ranks.
    (lambda: slight(row()), f"{RANKS} {LITTLE}"),
    (
        lambda: slight(row(), rate(), best=rate()),
        f"An attacker recognizes **75** of 100 training records, {WHEN}. {LITTLE}",
    ),
    (lambda: slight(row(), rate(low=0.01), best=rate(low=0.01)), f"{RANKS} {LITTLE}"),
    (
        lambda: slight(
            row(), rate(estimate=0.0149, low=0.0101), best=rate(estimate=0.0149, low=0.0101)
        ),
        f"{RANKS} {LITTLE}",
    ),
    (lambda: slight(row("a", estimate=0.6), row("b")), f"{RANKS} {LITTLE}"),
    (  # the attack that is told of the AUC, in the table, found nothing
        lambda: slight(row("a", told=False), row("b", estimate=0.53, low=0.44, told=True)),
        f"{RANKS[:-1]} by the attack a, and 53 by b, the reported attack. The former is more than "
        "chance, but too little to identify anyone with certainty.",
    ),
    (
        lambda: slight(row(low=0.5), rate(low=0.02)),
        f"{RANKS} One number of an attack is beyond chance, but too little to identify anyone "
        "with certainty.",
    ),
    (lambda: leak(route(row(), level="slight")), f"{RANKS} {LITTLE}"),
    (lambda: leak(route(row(), rate(), level="slight"))[:22], "An attacker recognizes"),
    # Only a group is beyond chance.
    (
        lambda: leak(route(of_group(), groups=[group()], overall=False)),
        "Over all records, attacks recognize no more than chance explains. In **sex: f**, a random "
        "member ranks above a random non-member 75 of 100 times: the leakage is severe.",
    ),
    # A rate, where it is beyond chance and ranks are not.
    (
        lambda: leak(
            route(
                *(of_group(low=0.4), rate("z", scope="sex", group="f", estimate=0.07, low=0.03)),
                groups=[group(level="slight")],
                overall=False,
            )
        ),
        "Over all records, attacks recognize no more than chance explains. In **sex: f**, the "
        "attack z recognizes 7 of 100 members, when 1 of 100 others is mistaken for one: the "
        "leakage is slight.",
    ),
    (
        lambda: leak(route(groups=[group()], overall=False)),
        "Over all records, attacks recognize no more than chance explains. In **sex: f**, the "
        "leakage is severe.",
    ),
    (
        lambda: leak(route(groups=[group(level="none")], overall=False)),
        "Over all records, attacks recognize no more than chance explains.",
    ),
    # Nothing is shown.
    (
        lambda: nothing(route(rate(estimate=0.02, high=0.034), level="none")),
        f"One attack recognizes no more than chance explains: **2** of 100 training records, and "
        f"at most 3, {WHEN}. A stronger attack may still succeed.",
    ),
    (
        lambda: nothing(
            route(rate("a", high=0.001), rate("b", estimate=0.0, high=0.004), level="none"),
            route(level="unknown", way=FILE),
        ),
        f"Two attacks recognize no more than chance explains: **0** of 100 training records, and "
        f"at most 1, {WHEN}. A stronger attack may still succeed. The **model file** could not "
        "be judged.",
    ),
    (
        lambda: nothing(route(row(high=0.9), row("b", estimate=0.8), level="none")),
        "Two attacks rank members no better than chance explains: at most **90** of 100 times "
        "above a non-member. A stronger attack may still succeed.",
    ),
    (lambda: nothing(route(row(), level="none"))[:24], "One attack ranks members"),
    (
        lambda: nothing(route(row(), level="none"), route(level="unknown", way=FILE))[-40:],
        " The **model file** could not be judged.",
    ),
    # The sentence, by what there is.
    (lambda: sentence(route(row(), level="none"))[:10], "One attack"),
    (lambda: sentence(route(row())), f"{RANKS} There are {FEW}"),
    (
        lambda: sentence(route(row(), groups=[group()])),
        f"{RANKS} There are {FEW} It is severe for **sex: f**.",
    ),
    (lambda: sentence(route(row(), groups=[group(level="clear")])), f"{RANKS} There are {FEW}"),
    (
        lambda: sentence(route(of_group(), groups=[group()], overall=False))[-22:],
        "the leakage is severe.",
    ),
    (
        lambda: sentence(route(level="unknown"), evidence="reversed")[:41],
        "**The scores are the wrong way round.** A",
    ),
    (
        lambda: sentence(route(level="unknown"), evidence="unknown"),
        "**Nothing could have been found.** Why.",
    ),
    (
        lambda: sentence(
            route(level="unknown"),
            evidence="shift",
            checks={"blind baseline": check()},
            baseline={"auc": 0.8},
        ).partition(" An attack")[0],
        "**Members and non-members differ even without the model.** They can be distinguished 80 "
        "of 100 times without it.",
    ),
    (
        lambda: sentence(route(*ONE_CLASS, level="unknown"), evidence="shift").partition(" An ")[0],
        "**Members and non-members differ even without the model:** all non-members are of the "
        "class 2.",
    ),
    (lambda: _screen.find_lone_class([route(*ONE_CLASS)]), "all non-members are of the class 2"),
    (
        lambda: _screen.find_lone_class(
            [
                route(
                    *(
                        one | {"n_members": one["n_nonmembers"], "n_nonmembers": one["n_members"]}
                        for one in ONE_CLASS
                    )
                )
            ]
        ),
        "all members are of the class 2",
    ),
    (lambda: _screen.find_lone_class([route(*ONE_CLASS[1:2])]), None),
    (lambda: _screen.find_lone_class([route(row(n_members=0))]), None),
    # Heading and headlines.
    (
        lambda: [
            _screen._write_heading(one, checks)
            for one, checks in (
                (route(), {}),
                (route(overall=False), {}),
                (route(level="slight", overall=False), {}),
                (route(level="none", overall=False), {}),
                (route(), noisy()),
                (route(), noisy("stop")),
                (route(), noisy(status="passed")),
                (route(way=FILE), noisy()),
                (route(level="unknown"), noisy()),
            )
        ],
        [
            "Clear leakage",
            "Clear leakage in a group",
            "Slight leakage in a group",
            "No leakage detected",
            "Clear leakage in noisy answers",
            "Clear leakage",
            "Clear leakage",
            "Clear leakage",
            "No verdict",
        ],
    ),
    (
        lambda: [
            _screen._make_headline(one, route(level="severe"), {})[1::2]
            for one in (
                route(),
                route(level="severe", way=FILE),
                route(groups=[group()]),
                route(groups=[group("a name that is long")], overall=False),
            )
        ],
        [
            ("as a service", False),
            ("as a file", True),
            ("as a service; severe for sex: f", False),
            ("as a service; only for sex: a name that ...", False),
        ],
    ),
    (
        lambda: _screen._make_headline(route(), route(), noisy())[1],
        "as a service, in noisy answers",
    ),
    (lambda: _screen._tell_noise([route(way=FILE)], noisy()), ""),
    (
        lambda: _screen._tell_noise([route(way=FILE), route()], noisy())[:22],
        " **The model answers e",
    ),
    (lambda: _screen._list_untold(["a b", "c"], "so a b is"), ["c"]),
    (
        lambda: [
            _screen._name_files({"settings": {"command": command}})
            for command in (
                None,
                {"train": "x/a.csv", "held_out": "b.csv"},
                {"train": "a.csv", "heldout": "b.csv"},
                {"train": "a.csv", "held_out": None},
            )
        ],
        [None, ["a.csv", "b.csv"], ["a.csv", "b.csv"], None],
    ),
    # Intervals above chance where nothing is shown.
    (lambda: _screen._tell_intervals([route(row())]), ""),
    (lambda: _screen._tell_intervals([route(row(low=0.5), level="none")]), ""),
    (
        lambda: _screen._tell_intervals(
            [route(row(low=0.51), of_group(), level="none", groups=[group(level="none")])]
        )[:74],
        "Each interval holds for one number alone. In all records and sex: f one li",
    ),
    (
        lambda: _screen._tell_intervals([route(row(), way=FILE), route(row(), level="none")])[:69],
        "Each interval holds for one number alone. In all records (service) on",
    ),
    (
        lambda: _screen._tell_intervals([route(of_group(), groups=[group(), group("m", "none")])]),
        "",
    ),
    # Steps against leaks.
    (lambda: against(route()), [DEFEND, AUDIT, HARDER, COMPARE]),
    (lambda: against(route(level="slight")), [AUDIT, MEMORIZE, HARDER, COMPARE]),
    (
        lambda: against(route(way=FILE), route(level="none")),
        [STOP, LESS, HARDER, COMPARE],
    ),
    (
        lambda: against(route(way=FILE), route(level="none"), has_policy=True),
        [LESS, HARDER, COMPARE],
    ),
    (
        lambda: against(route(way=FILE, level="slight"), route(level="none")),
        [LESS, HARDER, COMPARE],
    ),
    (lambda: against(route(way=FILE, level="none"), route()), [DEFEND, HARDER, COMPARE]),
    (
        lambda: against(route(level="slight", groups=[group()]), group="sex")[:2],
        ["Look at the worst group.", AUDIT],
    ),
    (lambda: against(route(level="slight", groups=[group()]))[0], AUDIT),
    (lambda: against(route(level="slight"), group="sex")[0], AUDIT),
    (
        lambda: [
            tell_defense(route(way=FILE), route(level="severe")),
            tell_defense(route(way=FILE), route(groups=[group()])),
            tell_defense(route(way=FILE, level="none"), route(groups=[group()]))[-28:],
        ],
        [
            "It also leaks severely.",
            "It also leaks clearly. Most in sex: f.",
            "r a defense. Most in sex: f.",
        ],
    ),
    (lambda: against(route(way=FILE), route())[:3], [STOP, LESS, DEFEND]),
    # A service that leaks as much is no cure.
    (lambda: tell_cure("severe", "clear"), "Offer its predictions as a service instead."),
    (lambda: tell_cure("severe", "none"), "Offer its predictions as a service instead."),
    (
        lambda: tell_cure("clear", "unknown"),
        "What its predictions reveal is not known, so do not offer these yet either.",
    ),
    (lambda: tell_cure("clear", "clear"), "Offer its predictions alone, and only with a defense."),
    (
        lambda: tell_cure("clear", "severe"),
        "Offer its predictions alone, and only with a defense.",
    ),
    (
        lambda: [
            list(
                _screen._advise_against_leaks(
                    document(changes=changes), [route(way=FILE), route()], 0
                )
            )[1].why
            for changes in (("a" * 80, "b" * 79, "c"), ("a" * 80, "b" * 80))
        ],
        ["a" * 80 + " " + "b" * 79, "a" * 80],
    ),
    (lambda: _screen._look_harder(document(n_shadows=0)).why, "Use shadow models."),
    (lambda: _screen._look_harder(document()).why[:30], "8 shadow models were trained; "),
    (
        lambda: [
            [one.why[:30] for one in _screen._advise_to_look(document(), routes)][-1]
            for routes in ([route(level="none")], [route(rate(max_fpr=0.02), level="none")])
        ],
        ["`--fail-above auc.high=0.6`", "`--fail-above tpr@0.02.high=0."],
    ),
    # What is proposed as a test is kept by the audit that proposes it.
    *(
        (lambda found=found: _screen._propose_limit([route(found, level="none")]), limit)
        for found, limit in (
            (rate(max_fpr=0.02, high=0.03), "tpr@0.02.high=0.04"),
            (rate(max_fpr=0.02, high=0.07), "tpr@0.02.high=0.07"),
            (rate(max_fpr=0.02, high=0.0701), "tpr@0.02.high=0.08"),
            (rate(max_fpr=0.001, high=0.0043), "tpr@0.001.high=0.005"),
            (rate(max_fpr=0.9, high=1.0), "tpr@0.9.high=1"),
            (row(high=0.55), "auc.high=0.6"),
            (row(high=0.612), "auc.high=0.62"),
        )
    ),
    # A limit of the command holds for the file as well, where the file is released.
    (
        lambda: [
            [*_screen._advise_to_look(document(command=command), FILE_OF_MORE)][-1].why
            for command in (None, "audit", {"release": "service"}, {"release": "file"})
        ],
        [*["`--fail-above auc.high=0.62`"] * 3, "`--fail-above auc.high=0.66`"],
    ),
    (
        lambda: [
            len([*_screen._advise_to_look(document(), routes)])
            for routes in ([route(level="none")], [route(way=FILE), route(level="none")])
        ],
        [3, 2],
    ),
    (
        lambda: [
            _screen.is_open_file(routes)
            for routes in (
                [route()],
                [route(way=FILE, level="unknown"), route()],
                [route(way=FILE, level="unknown"), route(level="unknown")],
                [route(way=FILE), route()],
            )
        ],
        [False, True, False, False],
    ),
    # What would end that a policy cannot say: an audit of what is released that has a verdict.
    (
        lambda: [
            tell_open(release, *routes)
            for release, routes in (
                ("service", [route()]),
                ("service", [route(level="unknown")]),
                ("service", [route(way=FILE, level="unknown"), route()]),
                ("file", [route(way=FILE, level="unknown"), route()]),
                ("file", [route(way=FILE), route()]),
            )
        ],
        [
            " Do it.",
            " The audit has no verdict.",
            " Do it.",
            " The audit has no verdict.",
            " Do it.",
        ],
    ),
    # Whether the numbers can be trusted.
    (
        lambda: trust("passed", "warning", "stated", "not run"),
        {
            "line": "With care: one check passed and one failed or warned.",
            "short": "one check passed, one failed or warned",
            "rows": trust("passed", "warning", "stated", "not run")["rows"],
            "bad": [trust("passed", "warning")["rows"][0]["words"]],
            "not_run": ["difficulty (not run)"],
        },
    ),
    (
        lambda: [one["status"] for one in trust("stated", "passed", "warning", "error")["rows"]],
        ["error", "warning", "passed", "stated"],
    ),
    (lambda: trust("passed", "passed")["line"], "Yes: two checks passed and none failed."),
    (lambda: trust("passed", is_conclusive=False)["line"], "No: one check passed and none failed."),
    (
        lambda: trust("error", "error")["line"],
        "With care: no checks passed and two failed or warned.",
    ),
    (
        lambda: trust("not run", "not run")["not_run"],
        ["blind baseline, drift (not run)"],
    ),
    # Which rows are told, and which rate.
    (
        lambda: [
            one["attack"]
            for one in _evidence.list_told(
                [row("a"), row("b", told=1), rate("c"), rate("d", told=0), of_group(attack="e")]
            )
        ],
        ["b", "c", "d", "e"],
    ),
    (lambda: route(row("a"), row("b", estimate=0.8)).find_best("auc")["attack"], "b"),
    (lambda: route(row("a", high=0.9), row("b")).find_best("auc", end="high")["attack"], "a"),
    (lambda: route(rate("a", fpr=0.01), rate("b", fpr=0.0)).find_best("tpr", 0.01)["attack"], "b"),
    (lambda: route(rate("a"), rate("b", 0.1, estimate=0.9)).find_best("tpr", 0.01)["attack"], "a"),
    (lambda: route(rate("a", status="x"), of_group()).find_best("tpr", 0.01), None),
    (lambda: _measure.choose_usual({0.001, 0.02, 0.1}), 0.02),
    (lambda: _measure.choose_usual({0.001, 0.01}), 0.01),
    (lambda: _measure.choose_usual({0.001, 0.0001}), 0.001),
    (lambda: _measure.choose_usual(set()), None),
    (lambda: _evidence.choose_rate([route(row())]), None),
    (
        lambda: _evidence.choose_rate(
            [
                route(
                    rate(max_fpr=0.02, status="x"),
                    rate(max_fpr=0.05),
                    rate(max_fpr=0.03, scope="s"),
                )
            ]
        ),
        0.05,
    ),
    # Of a slight leak, a rate at which something is beyond chance.
    (
        lambda: [
            _evidence.choose_rate([route(*rows, level="slight")])
            for rows in (
                [row(), rate(low=0.01), rate(max_fpr=0.1)],
                [row(low=0.5), rate(low=0.01), rate(max_fpr=0.1)],
                [row(low=0.5), rate(), rate(max_fpr=0.1)],
                [row(low=0.5), rate(low=0.01), rate(max_fpr=0.1, low=0.1)],
            )
        ],
        [0.01, 0.1, 0.01, 0.01],
    ),
    # Of a larger one, the rate that its level follows from.
    (
        lambda: [
            _evidence.choose_rate(
                [route(row(), rate(low=0.01 * ratio), rate(max_fpr=0.1), **numbers)]
            )
            for ratio, numbers in (
                (4.9, {}),
                (4.9, {"ratio": {"max_fpr": 0.1}}),
                (5.0, {"ratio": {"max_fpr": 0.1}}),
                (4.9, {"ratio": {"max_fpr": 0.1}, "auc": {"low": 0.6}}),
                (4.9, {"ratio": {"max_fpr": 0.1}, "auc": {"low": 0.59}}),
            )
        ],
        [0.01, 0.1, 0.01, 0.01, 0.1],
    ),
    (lambda: _evidence.find_unit(rate()), 0.01),
    (lambda: _evidence.find_unit(rate(fpr=0.002, fpr_high=nan)), 0.01),
    (lambda: _evidence.find_unit(rate(fpr=0.002, fpr_high=0.004)), 0.004),
    (lambda: _evidence.find_unit(rate(fpr=0.002, fpr_high=0.004), 2.0), 0.006),
    (lambda: _evidence.find_unit(rate(fpr=0.002, fpr_high=0.004), 9.0), 0.01),
    # Lower ends are corrected for the attacks among which one was chosen, and for the groups.
    (
        lambda: largest(row()),
        {"auc": {"low": 0.7, "estimate": 0.75, "attack": "a", "max_fpr": None}},
    ),
    (
        lambda: largest(row("a"), row("b", estimate=0.74, low=0.6))["auc"]["low"],
        lower(0.75, 0.7, 2),
    ),
    (lambda: largest(row("a", told=1), row("b", told=1))["auc"]["low"], 0.7),
    (lambda: largest(row(), n_parts=3)["auc"]["low"], lower(0.75, 0.7, 3)),
    (
        lambda: largest(rate(max_fpr=0.1), rate(estimate=0.5, low=0.4))["ratio"],
        {"low": 40.0, "estimate": 50.0, "attack": "a", "max_fpr": 0.01},
    ),
    (lambda: largest(row("a", low=0.5), row("b", estimate=0.7))["auc"]["attack"], "b"),
    (lambda: largest(row("a", low=0.5), row("b", estimate=0.7))["auc"]["estimate"], 0.75),
    (lambda: largest(rate(low=-0.5))["ratio"]["low"], 0.0),
    # The level of all records, or of the group with the most where only groups leak.
    (
        lambda: measure([row(), of_group(estimate=0.9, low=0.89)], [("overall", "all")]),
        ("clear", True, [("f", "none")]),
    ),
    (
        lambda: measure(
            [row(), of_group(estimate=0.9, low=0.89)], [("overall", "all"), ("sex", "f")]
        ),
        ("clear", True, [("f", "severe")]),
    ),
    (
        lambda: measure([row(), of_group(estimate=0.9, low=0.89)], [("sex", "f")]),
        ("severe", False, [("f", "severe")]),
    ),
    (
        lambda: measure([row(), of_group(status="x"), row(metric="advantage")], [], "none"),
        ("none", True, []),
    ),
    (lambda: measure([row()], [], "unknown"), ("unknown", True, [])),
    (
        lambda: [
            _evidence.get_highest(routes).way
            for routes in (
                [route(way=FILE), route()],
                [route(way=FILE), route(level="severe")],
                [route(way=FILE, level="unknown"), route(level="none")],
                [route(way=FILE, level="slight"), route(level="none")],
            )
        ],
        [FILE, SERVICE, SERVICE, FILE],
    ),
    (
        lambda: _evidence.list_shown_of_document(
            {"permutation": {"numbers": [row(pvalue_adjusted=p) for p in (0.025, 0.026)]}}, 0.95
        ),
        frozenset({("a", "overall", "all", "auc", None)}),
    ),
    (lambda: _evidence.list_shown_of_document({"permutation": None}, 0.95), frozenset()),
]


def test_answers_by_hand():
    expect_answers(ROWS)


# -- what to do next, and why there is no verdict


class Doubted:
    """Checks by role, with what a step of each would be."""

    def __init__(self, **outcomes):
        self.outcomes = outcomes

    def patch(self, blindness=None, leads=False, difference=None, step=None, role="other"):
        found = NS(leads=leads, difference=difference, step=step, role=role)
        return mock.patch.multiple(
            _screen,
            find_outcome=lambda checks, asked: self.outcomes.get(asked),
            get_difference=lambda checks: "difference",
            get_blindness=lambda checks: blindness,
            get_check=lambda name: found,
            is_stopped=lambda checks: "stopped" in self.outcomes,
            name_cause=lambda check: self.outcomes.get("cause", _screen.SWAPPED),
            tell_cause=lambda check, files: f"cause of {files}",
        )


def write_doubt(evidence, *, sides=None, baseline=None, lone=None, stopped=False, **check):
    given = {} if sides is None else {_screen.SIDES: NS(is_warning=sides)}
    given |= {"stopped": True} if stopped else {}
    with Doubted(**given).patch(**check):
        return _screen._write_doubt(evidence, {}, baseline, "verdict", "files", lone)


def advise_in_doubt(
    evidence,
    *,
    sides=None,
    lone=None,
    error=False,
    command=None,
    cause=None,
    stopped=False,
    **check,
):
    given = {} if sides is None else {_screen.SIDES: NS(is_warning=sides)}
    given |= {"stopped": True} if stopped else {}
    given["cause"] = cause or _screen.SWAPPED
    document = {"evidence": evidence, "settings": {} if command is None else {"command": command}}
    with Doubted(**given).patch(**check):
        steps = [*_screen._advise_in_doubt(document, {"a": NS(is_error=error)}, lone)]
    return [one if isinstance(one, str) else one.imperative for one in steps], steps


def advise(
    level="clear",
    *,
    found=None,
    unlisted=None,
    sides=None,
    noise=False,
    open_file=False,
    service=None,
):
    """Return the first steps of an audit whose highest level is this one."""
    outcomes = {} if unlisted is None else {_screen.UNLISTED: NS(is_warning=unlisted, name="u")}
    outcomes |= {} if sides is None else {_screen.SIDES: NS(is_warning=sides)}
    routes = [NS(way="service", level=Level(service or level))]
    parts = {
        "has_noise": lambda checks: noise,
        "is_open_file": lambda routes: open_file,
        "get_highest": lambda routes: NS(level=NS(name=level)),
        "find_lone_class": lambda routes: "lone",
        "_advise_in_doubt": lambda document, checks, lone: [f"doubt {lone}", "doubt again"],
        "_advise_to_look": lambda document, routes: ["look", "look again"],
        "_advise_against_leaks": lambda document, routes, has_policy: [
            f"leak {has_policy}",
            "b",
            "c",
        ],
        "_tell_open": lambda found, routes: " It is open.",
    }
    with Doubted(**outcomes).patch(step="unlisted"), mock.patch.multiple(_screen, **parts):
        steps = _screen.advise_on_audit({"recommendation": found}, routes, {})
    names = {_screen.AVERAGE: "average", _screen._OPEN_FILE: "open file"}
    names[_screen._OPEN_FILE_OF_LEAK] = "open file of a leak"
    return [one if isinstance(one, str) else names.get(one) or (one[0], one[1]) for one in steps]


def recommend(result, release="file", n_reviews=0):
    found = {"policy": {"name": "house"}, "result": result, "release": release}
    return found | {"reviews": [{}] * n_reviews}


SHIFT, REVERSED, UNKNOWN = _screen.SHIFT, _screen.REVERSED, _screen.UNKNOWN
TWO, SEE = "**Members and non-members differ even without the model", _screen._NOT_OF_MODEL
AGAIN = "Then audit again."
ADVICE = [
    (lambda: [write_doubt(one, sides=True) for one in (REVERSED, UNKNOWN)], ["cause of files"] * 2),
    (lambda: write_doubt(SHIFT, sides=True, difference="they do"), f"{TWO}:** they do. {SEE}"),
    (
        lambda: write_doubt(SHIFT),
        f"{TWO}:** a check distinguishes them without the model. {SEE}",
    ),
    (
        lambda: write_doubt(SHIFT, lone="all are of one class"),
        f"{TWO}:** all are of one class. {SEE}",
    ),
    (
        lambda: write_doubt(SHIFT, baseline={"auc": 0.75}, leads=True),
        f"{TWO}.** They can be distinguished 75 of 100 times without it. {SEE}",
    ),
    (lambda: write_doubt(SHIFT, baseline={"auc": 0.75}, difference="x"), f"{TWO}:** x. {SEE}"),
    (lambda: write_doubt(SHIFT, leads=True, difference="x"), f"{TWO}:** x. {SEE}"),
    (lambda: write_doubt(REVERSED)[:38], "**The scores are the wrong way round.*"),
    (lambda: write_doubt(REVERSED, sides=False)[:38], "**The scores are the wrong way round.*"),
    (lambda: write_doubt(UNKNOWN, stopped=True), "**Model and table do not agree.** verdict"),
    (lambda: write_doubt(UNKNOWN), "**Nothing could have been found.** verdict"),
    (
        lambda: write_doubt(UNKNOWN, blindness="b", role=_screen.BLIND),
        "**Nothing could have been found.** verdict",
    ),
    (
        lambda: write_doubt(UNKNOWN, blindness="b"),
        "**Leakage can be neither shown nor ruled out.** verdict",
    ),
    # Sides that are not what they are called come before all else.
    (
        lambda: advise_in_doubt(UNKNOWN, sides=True)[1],
        [_screen.CAUSES[_screen.SWAPPED].step, _screen._AGAIN],
    ),
    (
        lambda: advise_in_doubt(REVERSED, sides=True, command={"swapped": "skmia audit"})[1][0].why,
        "`skmia audit`",
    ),
    (
        lambda: advise_in_doubt(
            REVERSED, sides=True, command={"swapped": "x"}, cause=[*_screen.CAUSES][-1]
        )[1][0],
        _screen.CAUSES[[*_screen.CAUSES][-1]].step,
    ),
    (
        lambda: advise_in_doubt(REVERSED, sides=False)[0],
        ["Check the membership column.", "Check the signs of your own attacks.", AGAIN],
    ),
    (
        lambda: advise_in_doubt(SHIFT, sides=True, step="own")[0],
        ["own", "Find out how they differ.", "Or let skmia choose.", AGAIN],
    ),
    (
        lambda: advise_in_doubt(SHIFT, lone="one", error=True)[0],
        [
            "Remove what made a check fail.",
            "Give rows of all classes on both sides.",
            "Take both sides from one population.",
            "Find out how they differ.",
            "Or let skmia choose.",
            AGAIN,
        ],
    ),
    (lambda: advise_in_doubt(UNKNOWN, step="own")[0], ["own", AGAIN]),
    (lambda: advise_in_doubt(UNKNOWN)[1][0], _screen.PositiveControlCheck.step),
    (lambda: advise_in_doubt(UNKNOWN, error=True)[0], ["Remove what made a check fail.", AGAIN]),
    (lambda: advise_in_doubt(UNKNOWN, step="own", stopped=True)[1][-1], _screen._ASK_AGAIN),
    (lambda: advise(), ["leak False", "b", "c"]),
    (lambda: advise("none"), ["look", "look again"]),
    (lambda: advise("unknown"), ["doubt lone", "doubt again"]),
    (lambda: advise(service="unknown"), ["doubt lone", "leak False", "b"]),
    (lambda: advise("none", noise=True, open_file=True), ["average", "open file", "look"]),
    # A service that leaks is no way out, as whoever has the file can query it.
    *(
        (lambda level=level: advise(level, open_file=True)[0], told)
        for level, told in (("slight", "open file"), ("clear", "open file of a leak"))
    ),
    (lambda: advise("none", unlisted=True)[0], "unlisted"),
    (lambda: advise("none", unlisted=False)[0], "look"),
    (lambda: advise("none", unlisted=True, sides=True)[0], "look"),
    (lambda: advise("none", unlisted=True, sides=False)[0], "unlisted"),
    (
        lambda: advise(found=recommend("do not release"))[:2],
        [("Do not release the file.", "By the policy house: do not release."), "leak True"],
    ),
    (
        lambda: advise(found=recommend("cannot be said", "service"))[0],
        ("Do not offer the service yet.", "By the policy house: cannot be said. It is open."),
    ),
    # What may be released needs the reasons first.
    (
        lambda: [advise(found=recommend("release", n_reviews=n))[0] for n in (0, 1, 3)],
        [
            ("The file may be released.", f"By the policy house: release.{more}")
            for more in (
                *("", " Before a release, 1 check needs a reason."),
                " Before a release, 3 checks need a reason.",
            )
        ],
    ),
    (
        lambda: advise(found=recommend("do not release", n_reviews=3))[0][1][-16:],
        ": do not release."[-16:],
    ),
]


def test_advice_and_doubts_by_hand():
    expect_answers(ADVICE)


ONE, TEN, RARE = rate(max_fpr=0.01), rate(max_fpr=0.1), rate(max_fpr=0.001)
# The lower end at a rate of one in a hundred reaches five times as much, or just not.
FIVE, LESS = rate(low=0.05), rate(low=0.0499)
RATES = [
    # The smallest rate from 1% on, else the largest.
    (lambda: choose_rate(row(), TEN, ONE, RARE, leaks=[0]), 0.01),
    (lambda: choose_rate(RARE, rate(max_fpr=0.002)), 0.002),
    (lambda: choose_rate(row()), None),
    (lambda: choose_rate(TEN, rate(status="x"), rate(scope="sex", group="f")), 0.1),
    # Where neither ranks nor that rate are beyond chance, one that is.
    (lambda: choose_rate(row(), TEN, ONE, RARE, leaks=[1]), 0.1),
    (lambda: choose_rate(row(), TEN, ONE, RARE, leaks=[3]), 0.001),
    (lambda: choose_rate(row(), TEN, ONE, RARE, leaks=[1, 2, 3]), 0.01),
    (lambda: choose_rate(row(), TEN, ONE, RARE), 0.01),
    (lambda: choose_rate(row(), TEN, ONE, leaks=[0, 1]), 0.01),
    (lambda: choose_rate(row(status="x"), TEN, ONE, leaks=[0, 1]), 0.1),
    (lambda: choose_rate(row(scope="sex", group="f"), TEN, ONE, leaks=[0, 1]), 0.1),
    (lambda: choose_rate(row(), TEN, ONE, leaks=[1], level="none"), 0.01),
    (lambda: choose_rate(row(), TEN, ONE, leaks=[1], overall=False), 0.01),
    # A higher level is told at the rate that it follows from.
    (lambda: choose_rate(row(), LESS, TEN, level="clear", ratio=number(5.0, 0.1)), 0.1),
    (lambda: choose_rate(row(), FIVE, TEN, level="clear", ratio=number(5.0, 0.1)), 0.01),
    (
        lambda: choose_rate(
            row(), LESS, TEN, level="clear", ratio=number(5.0, 0.1), auc=number(0.6)
        ),
        0.01,
    ),
    (
        lambda: choose_rate(
            row(), LESS, TEN, level="clear", ratio=number(5.0, 0.1), auc=number(0.59)
        ),
        0.1,
    ),
    (lambda: choose_rate(row(), LESS, TEN, level="severe", auc=number(0.5)), 0.01),
    # The group with the highest level, of any route, if it is above that of all its records.
    (lambda: worst(route(level="clear", groups=[group("f", "clear")])), None),
    (
        lambda: worst(route(level="clear", groups=[group("f", "clear", at_least=True)])),
        ("f", SERVICE),
    ),
    (
        lambda: worst(
            route(level="slight", groups=[group("f", "clear"), group("m", "severe")]),
            route(way=FILE, level="severe", groups=[group("x", "severe")]),
        ),
        ("m", SERVICE),
    ),
    (
        lambda: worst(
            route(level="slight", groups=[group("f", "clear")]),
            route(way=FILE, level="slight", groups=[group("x", "severe"), group("y", "none")]),
        ),
        ("x", FILE),
    ),
    # Where only a group leaks, all records show nothing.
    (lambda: worst(route(level="slight", groups=[group("f", "slight")], overall=False))[0], "f"),
    (lambda: worst(), None),
]


def test_rates_and_groups_that_are_told_by_hand():
    expect_answers(RATES)


def show_way(way, evidence="none", blindness=None, noise=False):
    """Return the first screen of one way, as its parts are written of the way alone."""
    part = NS(evidence=evidence, verdict="Head. It is. So it is.", grounds=NS(checks="checks"))
    routes = [route(way=FILE, level="clear"), route(level="slight")]

    def write(routes, *given):
        return f"{routes[0].way} {given}."

    parts = {
        "list_routes": lambda report: routes,
        "get_blindness": lambda checks: blindness,
        "has_noise": lambda checks: noise and checks == "checks",
        "_describe_report": lambda report: {"baseline": "base", "settings": {"command": FILES}},
        "write_sentence": write,
    }
    with mock.patch.multiple(_screen, **parts):
        found = _screen.show_way(NS(file=part, service=part), way)
    (line,) = found.headlines
    return found.heading, found.sentence, (line.words, line.where, line.leads), found.level


FILES = {"train": "some/a.csv", "held_out": "b.csv"}
ALL_OF_IT = "'checks', 'base', 'It is. So it is.', ['a.csv', 'b.csv'])."
NOISY = (
    " **The model answers equal queries differently:** an attacker who queries it again and "
    "averages the answers may find more."
)


def make_screen(*routes, bad=("a", "told"), noise=False):
    """Return the screen of a document, whose parts are named by what they are made of."""
    document = {"verdict": "Head. Why.", "evidence": "none", "baseline": "base"}
    document |= {"person_level": "people", "settings": {}}
    parts = {
        "write_sentence": lambda *given: f"{[one.way for one in given[0]]} {given[1:]} told.",
        "list_trust": lambda checks, conclusive: {"bad": [*bad], "conclusive": conclusive},
        "advise_on_audit": lambda *given: iter(["step"]),
        "choose_rate": lambda routes: len(routes) / 100,
        "_tell_intervals": lambda routes: f"caution {len(routes)}",
        "find_people": lambda *given: given,
        "has_noise": lambda checks: noise,
    }
    with mock.patch.multiple(_screen, **parts):
        return _screen.make_screen(document, routes, "checks")


def show_parts(*names, **given):
    screen = make_screen(route(*RANKED, way=FILE, level="clear"), route(level="slight"), **given)
    return [getattr(screen, name) for name in names]


def headline(own, highest="clear", **given):
    found = _screen._make_headline(route(level=own, **given), route(level=highest), {})
    return found.words, found.where, found.leads


RANKED = [row()]
SLIGHT_SERVICE = "Slight leakage", "as a service", True
SCREENS = [
    (
        lambda: show_way(FILE),
        (
            "Clear leakage",
            f"file ('none', {ALL_OF_IT}",
            ("Clear leakage", "as a file", True),
            "clear",
        ),
    ),
    (lambda: show_way(SERVICE)[1:3], (f"service ('none', {ALL_OF_IT}", SLIGHT_SERVICE)),
    (lambda: show_way(FILE, "unknown")[1], "**The file could not be judged.** It is. So it is."),
    (lambda: show_way(FILE, "unknown", "drift")[1][:16], "file ('unknown',"),
    (lambda: show_way(SERVICE, "unknown")[1][:19], "service ('unknown',"),
    (lambda: show_way(FILE, noise=True)[:2], show_way(FILE)[:2]),
    (
        lambda: show_way(SERVICE, noise=True)[:2],
        ("Slight leakage in noisy answers", f"service ('none', {ALL_OF_IT}{NOISY}"),
    ),
    # The highest route gives level, heading and way.
    (
        lambda: show_parts("level", "heading", "way", "rate", "caution", "steps"),
        ["clear", "Clear leakage", FILE, 0.02, "caution 2", ("step",)],
    ),
    (
        lambda: show_parts("sentence"),
        ["['file', 'service'] ('none', 'checks', 'base', 'Why.', None) told."],
    ),
    (lambda: show_parts("people")[0], ("people", [], "none")),
    (lambda: show_parts("warnings", bad=("all", "told"))[0], ["all"]),
    (lambda: show_parts("trust")[0]["conclusive"], True),
    (lambda: [one.leads for one in show_parts("headlines")[0]], [True, False]),
    (lambda: show_parts("sentence", noise=True)[0].endswith(NOISY), True),
    (lambda: make_screen(route(level="unknown"), bad=["all"]).warnings, []),
    (lambda: make_screen(route(level="unknown")).trust["conclusive"], False),
    # Where a group has another level than the whole, or only a group leaks.
    (lambda: headline("clear"), ("Clear leakage", "as a service", True)),
    (lambda: headline("slight")[2], False),
    (
        lambda: headline("slight", groups=[group("f", "clear")])[1],
        "as a service; clear for sex: f",
    ),
    (
        lambda: headline("clear", groups=[group("a" * 30, "clear")], overall=False)[1],
        f"as a service; only for sex: {'a' * 12}...",
    ),
    (lambda: headline("clear", groups=[group("f", "clear")])[1], "as a service"),
    (
        lambda: [
            _screen._write_heading(route(level=level, overall=overall), {})
            for level, overall in (("clear", True), ("clear", False), ("none", False))
        ],
        ["Clear leakage", "Clear leakage in a group", "No leakage detected"],
    ),
]


def test_screens_and_their_headlines_by_hand():
    expect_answers(SCREENS)
