"""What is said of a release, and what changes of answers cost, with answers by hand."""

from collections import namedtuple
from dataclasses import make_dataclass
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
from by_hand import expect_answers, tell_refusal
from numpy import array, nan
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from skmia import Outputs, Records
from skmia.metrics import Interval
from skmia.report import _release
from skmia.report.checks._base import Check
from skmia.report.checks._results import MeasurableRates

MODEL = LogisticRegression()


def outputs(values, kind="proba"):
    values = array(values)
    return Outputs(values, [*"abc"][: values.shape[-1]] if kind != "label" else [*"abc"], kind)


def list_changes(given, decimals=None):
    return [(name, n) for name, _, n in _release._list_changes(given, MODEL, decimals)]


def apply_changes(given):
    return [apply(given).values for _, apply, _ in _release._list_changes(given, MODEL, None)]


def way(evidence, verdict="?", **more):
    return NS(evidence=evidence, verdict=verdict, **more)


def connect(result, evidence="leak", file=None, release="service", under=()):
    report = way(evidence, file=file)
    found = NS(result=result, release=release, under_conditions=under)
    return _release._connect(report, found)


def people(*missing, n_people=30, group="all", status="missing"):
    """What is said of people where numbers of 150 non-members are missing."""
    limits = [NS(name=name, group=group, status=status) for name in missing]
    rates = MeasurableRates(1 / 15, 1 / 3, n_people)
    checks = {"resolution": Check("resolution", "stated", "", rates)}
    report = NS(checks=checks, data={"n_nonmembers": 150})
    return _release._tell_people(report, NS(limits=limits))


def doubts(evidence, file=None, release="service"):
    return _release._list_release_doubts(way(evidence, "a", file=file), release)


def spoken(file=None):
    """Return what could have found something, of an audit of one file or of none."""
    parts = {
        "why_no_reference": lambda *given: given,
        "why_unlisted": lambda *given: given,
    }
    report = NS(file=file, reference="reference", checks="checks")
    with mock.patch.multiple(_release, **parts):
        return [*_release.tell_spoken(report, True, "given").values()]


def check_request(*, n=3, model=MODEL, records="records", release="file", **fields):
    """Ask about a release of three audited records; return the policy that is asked."""
    if records == "records":
        records = Records(np.zeros((n, 1)), np.zeros(n, dtype=int), **fields)
    report, asked = NS(membership=np.ones(3), data={}), []
    parts = {
        "_check_report": lambda report: None,
        "check_predictor": asked.append,
        "load_policy": lambda name: f"policy {name}",
    }
    given = report, model, records, fields.pop("policy", "own"), release, 2
    with mock.patch.multiple(_release, **parts):
        refusal = tell_refusal(lambda: _release.check_request(*given))
        found = refusal or _release.check_request(*given)
    assert all(one is model for one in asked)
    return found, bool(asked)


def strip(*, model=MODEL, file="file", has_file=True, error=None, evidence="none"):
    """Return the condition of a file without unused state, and what is attacked."""
    asked = []

    class Case(namedtuple("Case", "report model")):
        def describe(self, *given):
            return self.report.file, self.model, given

    def attack(case, stripped):
        asked.append(stripped)
        return evidence and NS(evidence=evidence)

    def strip_state(model):
        if error is not None:
            raise error
        return "stripped"

    parts = {"has_file": lambda model: has_file, "strip_state": strip_state, "_attack_file": attack}
    parts["replace"] = lambda report, file: NS(file=file.evidence)
    with mock.patch.multiple(_release, **parts):
        return _release._measure_stripped(Case(NS(file=file), model)), asked


def choose_again(attacks, ran=("a",)):
    """Return the attacks of an audit that can be made again."""
    parts = {
        "_open_again": lambda *given, **settings: (given[1:3], settings),
        "replace_idle_attacks": lambda attacks, case: (sorted(attacks), case),
    }
    report = NS(attacks=attacks, scores=dict.fromkeys(ran))
    with mock.patch.multiple(_release, **parts):
        return _release._choose_attacks_again(report, "recipe", "records", shadows=3)


def left_out(release="service", reference=None, file=None):
    report = NS(reference=reference, file=file)
    return _release._list_attacks_left_out(report, release)


def row(attack="a", **changed):
    usual = {"scope": "overall", "group": "all", "attack": attack, "metric": "auc"}
    usual |= {"max_fpr": nan, "estimate": 0.75, "low": 0.7, "high": 0.85, "status": "ok"}
    return usual | {"n_members": 9, "n_nonmembers": 7} | changed


def measure(*frames, level=0.95):
    report = NS(settings={"confidence_level": 0.95})
    found = _release._measure_largest(report, [pd.DataFrame(rows) for rows in frames])
    return [(one.name, one.group, one.n_records, [*one.interval(level)]) for one in found]


def wider(level):
    return norm.ppf((1 + level) / 2) / norm.ppf(0.975)


Passed = make_dataclass("Passed", ["name", "status", "text"], frozen=True)
Found = make_dataclass(
    "Found", ["result", "reasons", "limits", "checks", "conditions", "under_conditions"]
)


def withhold(result="release", doubts=(), failed=(), warnings=(), failures=()):
    """Return result, reasons and conditions of a recommendation that is looked at again."""
    parts = {
        "_list_release_doubts": lambda *given: doubts,
        "_list_failed": lambda *given: failed,
        "list_warnings": lambda *given: warnings,
        "list_failures": lambda *given: iter(failures),
    }
    found = Found(result, ("first",), (), (), ("one",), ("two",))
    with mock.patch.multiple(_release, **parts):
        found = _release._withhold(found, NS(checks=0, reference=0), None, "service", {})
    return found.result, found.reasons, found.conditions


Named = namedtuple("Named", "result limits under_conditions remarks not_run")


def recommend(*results, why=None, stopped=False, limits=("gap",), gap=("gap",)):
    """Recommend by a policy that answers in turn; return what is asked of it, and what comes out.

    Each result is a word with the statuses of numbers, and of those under conditions.
    """
    asked, answers = [], iter(results)

    def answer(policy, release, numbers, checks, *, conditions, provenance, spoken):
        asked.append((numbers, checks, spoken))
        assert (release, conditions, provenance) == ("file", "few", {"origin": 1, "who": "me"})
        word, own, under = next(answers)
        own, under = (tuple(NS(status=one) for one in some) for some in (own, under))
        return Named(word, own, under, ("r0",), None)

    policy = NS(limits={"file": dict.fromkeys(limits, 0.1)}, stand_in=True)
    parts = {
        "check_request": lambda *given: policy,
        "take_audited": lambda report, records: f"audited {records}",
        "check_structure": lambda *given: NS(checks=f"checks of {given[2]}"),
        "is_stopped": lambda checks: stopped,
        "withdraw_passes": lambda checks: f"withdrawn {checks}",
        "measure_gap": lambda structure: list(gap),
        "list_measurements": lambda report, release: [f"numbers of {release}"],
        "describe_audit_origin": lambda report, name: {"origin": 1, "who": name},
        "recommend": answer,
        "tell_spoken": lambda report, stand_in, provenance: {"reference models": None},
        "why_not_undecided": lambda reference, provenance: why,
        "_withhold": lambda found, *given: found,
        "describe_stand_in": lambda reference, provenance: ("r1",),
        "_tell_people": lambda report, found: ("r2",),
        "_connect": lambda report, found: ("r3",),
        "_list_attacks_left_out": lambda report, release: ("left",),
        "replace": lambda found, **changed: found._replace(**changed),
    }
    given = {"conditions": "few", "provenance": {"who": "me"}, "policy": "p", "release": "file"}
    with mock.patch.multiple(_release, **parts):
        report = NS(checks=0, reference=0)
        found = _release.recommend_release(report, "model", "records", **given)
    assert (found.remarks, found.not_run) == (("r0", "r1", "r2", "r3"), ("left",))
    return [one.status for one in found.limits], asked


IS_OPEN, WITH = ["undecided"], "release with conditions"
ASKED = ["numbers of file", "gap"], "checks of audited records"
ABLE, UNABLE = {"reference models": None}, {"reference models": "Too weak."}
LEFT = {"left_out": ["LiRA was left out: slow."]}
FILE = NS(facts={"reason": None}, notes=["b were not read: x", "c"])
THREE = outputs([[0.126, 0.25, 0.624], [0.5, 0.25, 0.25]])
TO_MEASURE = _release.TO_MEASURE

ROWS = [
    # A release with open numbers needs an attack that could have found something.
    (lambda: recommend((WITH, IS_OPEN, [])), (IS_OPEN, [(*ASKED, ABLE)])),
    (
        lambda: [
            one[2] for one in recommend((WITH, IS_OPEN, []), ("x", [], []), why="Too weak.")[1]
        ],
        [ABLE, UNABLE],
    ),
    (lambda: len(recommend((WITH, ["pass"], []), why="Too weak.")[1]), 1),
    (lambda: len(recommend(("release", IS_OPEN, []), why="Too weak.")[1]), 1),
    # Under conditions, the numbers that are measured under these are open or not.
    (lambda: len(recommend((WITH, IS_OPEN, ["pass"]), why="Too weak.")[1]), 1),
    (
        lambda: len(recommend((WITH, ["fail"], IS_OPEN), ("x", [], []), why="Too weak.")[1]),
        2,
    ),
    # An audit that was stopped measures no gap, and no check of its records passes.
    (
        lambda: recommend(("x", ["pass"], []), stopped=True),
        (["pass", "missing"], [(ASKED[0][:1], f"withdrawn {ASKED[1]}", ABLE)]),
    ),
    (lambda: recommend(("x", [], []), stopped=True, limits=["auc"])[0], []),
    (lambda: recommend(("x", [], []), stopped=True, gap=())[0], []),
    # From the smallest change to the largest, of answers that say more.
    (
        lambda: list_changes(THREE),
        [
            ("answers rounded to 2 decimals", 2),
            ("answers rounded to 1 decimal", 1),
            ("the largest probability alone", None),
            ("labels alone", None),
        ],
    ),
    (
        lambda: [name for name, _ in list_changes(outputs([[0.25, 0.75]]), 2)],
        ["answers rounded to 1 decimal", "labels alone"],
    ),
    (lambda: list_changes(outputs([[0.25, 0.75]]), 1), [("labels alone", None)]),
    (lambda: list_changes(outputs([[-0.5, 0.75]], "decision")), [("labels alone", None)]),
    (lambda: list_changes(outputs(["a"], "label")), []),
    (lambda: list_changes(Outputs(array([0.5]), None, "value")), []),
    (
        lambda: apply_changes(THREE),
        [
            [[0.13, 0.25, 0.62], [0.5, 0.25, 0.25]],
            [[0.1, 0.2, 0.6], [0.5, 0.2, 0.2]],
            [[0.0, 0.0, 0.624], [0.5, 0.0, 0.0]],
            ["c", "a"],
        ],
    ),
    # The share of the probability that moves.
    (lambda: _release._measure_cost(THREE, THREE), 0.0),
    (lambda: _release._measure_cost(THREE, THREE.as_labels()), (0.376 + 0.5) / 2),
    (
        lambda: _release._measure_cost(outputs([[0.25, 0.75]]), outputs([[0.3, 0.7]])),
        0.05,
    ),
    (
        lambda: _release._measure_cost(
            outputs(np.log([[0.25, 0.75]]), "logits"), outputs(["a"], "label")
        ),
        0.75,
    ),
    (
        lambda: _release._measure_cost(
            outputs([[-0.5, 0.75]], "decision"), outputs(["a"], "label")
        ),
        1.0,
    ),
    # A rate takes people, and not records of the same people.
    (
        lambda: people("tpr_at_fpr_01"),
        [
            "The 150 non-members are records of 30 people. If the records of a person are alike, "
            "a rate takes as many people as it takes non-members."
        ],
    ),
    (lambda: people("auc"), []),
    (lambda: people("tpr_at_fpr_01", n_people=None), []),
    (lambda: people("tpr_at_fpr_01", group="sex=f"), []),
    (lambda: people("tpr_at_fpr_01", status="pass"), []),
    (lambda: _release._tell_people(NS(checks={}), NS(limits=[])), []),
    # Leakage that was found and is no reason.
    (
        lambda: connect("release"),
        ["The audit found leakage; it lies within every limit of this policy."],
    ),
    (lambda: connect("release", "none"), []),
    (lambda: connect("do not release"), []),
    (
        lambda: connect("release with conditions", under=["a"]),
        [
            "The audit found leakage; under the conditions it lies within every limit of this "
            "policy."
        ],
    ),
    (
        lambda: connect("release with conditions"),
        ["The audit found leakage; it is not shown to lie above a limit of this policy."],
    ),
    (
        lambda: connect("release", "none", way("leak"), "file"),
        ["The attack on the file found leakage; it lies within every limit of this policy."],
    ),
    (lambda: connect("release", "none", way("leak"), "service"), []),
    (
        lambda: connect("release", "leak", way("leak"), "file")[0][:40],
        "The audit and the attack on the file fou",
    ),
    (lambda: connect("release", "leak", None, "file")[0][:14], "The audit foun"),
    # What cannot be said, of each way.
    (lambda: doubts("leak"), ()),
    (lambda: doubts("shift"), ("a",)),
    (lambda: doubts("leak", way("shift", "b")), ()),
    (lambda: doubts("leak", way("shift", "b"), "file"), ("b",)),
    (lambda: doubts("shift", way("none", "b"), "file"), ("a",)),
    (lambda: doubts("shift", None, "file"), ("a", _release._NO_FILE)),
    # What could have found something; the numbers of no file were not read.
    (spoken, [("reference", "checks", True, "given"), _release._NO_FILE, ("checks", "given")]),
    (lambda: spoken(NS(facts={"obstacle": "Odd."}))[1], "Odd."),
    (lambda: spoken(NS(facts={"obstacle": None}))[1], None),
    (check_request, ("policy own", True)),
    (lambda: check_request(n=2)[0], "records must be the 3 of the audit; got 2."),
    (lambda: check_request(n=4)[0], "records must be the 3 of the audit; got 4."),
    (lambda: check_request(records=None)[0], "records must be the records of the audit; got None."),
    (lambda: check_request(release="table")[0][:29], "release must be one of 'servi"),
    (
        lambda: check_request(model=None)[0][:68],
        "model is None and the records hold no outputs; pass the model that w",
    ),
    (lambda: check_request(model=None, outputs=outputs([[0.25, 0.75]] * 3)), ("policy own", False)),
    # The file is attacked without what answers do not use, if there is one and it can be stripped.
    (
        strip,
        (
            (
                *("none", "stripped"),
                ("a file without the state that predictions do not use", "file"),
            ),
            ["stripped"],
        ),
    ),
    (lambda: strip(evidence="leak")[0][0], "leak"),
    (lambda: strip(evidence="unknown"), (None, ["stripped"])),
    (lambda: strip(evidence=None), (None, ["stripped"])),
    (lambda: strip(model=None), (None, [])),
    (lambda: strip(file=None), (None, [])),
    (lambda: strip(has_file=False), (None, [])),
    (lambda: strip(error=TypeError()), (None, [])),
    (lambda: choose_again("default"), "default"),
    (
        lambda: choose_again({"a": 1, "b": 2}, ran="b"),
        (["b"], (("recipe", "records"), {"shadows": 3})),
    ),
    (lambda: choose_again({"a": 1}, ran=""), "default"),
    (lambda: left_out(), ()),
    (lambda: left_out("file", LEFT), ("LiRA was left out: slow.",)),
    (lambda: left_out("service", None, FILE), ()),
    (lambda: left_out("file", None, FILE), ("b were not read: x",)),
    (
        lambda: left_out("file", LEFT, NS(facts={"reason": "no file"}, notes=[])),
        ("LiRA was left out: slow.", "The file was not attacked: no file"),
    ),
    # The largest of several attacks, with lower ends that are corrected for their number.
    (lambda: measure([row()]), [("auc", "all", 16, [0.75, 0.7, 0.85])]),
    (
        lambda: measure(
            [
                row(metric="tpr", max_fpr=0.001),
                row(scope="sex", group="f", metric="tpr", max_fpr=0.1, n_members=2),
                row(metric="tpr", max_fpr=1.0),
                row(metric="advantage"),
                row(status="x"),
            ]
        ),
        [
            ("tpr_at_fpr_001", "all", 16, [0.75, 0.7, 0.85]),
            ("tpr_at_fpr_1", "sex=f", 9, [0.75, 0.7, 0.85]),
        ],
    ),
    (
        lambda: measure([row()], [row("b", estimate=0.7, low=0.69, high=0.9)])[0][3],
        [0.75, max(0.75 - 0.05 * wider(0.975), 0.7 - 0.01 * wider(0.975)), 0.9],
    ),
    (
        lambda: measure([row()], level=0.99)[0][3],
        [0.75, 0.75 - 0.05 * wider(0.99), 0.75 + 0.1 * wider(0.99)],
    ),
    (lambda: measure([row(told=1), row("b", estimate=0.9, told=0)])[0][3][0], 0.75),
    (lambda: [*_release._bound(0.95, Interval(0.5, 0.4, 0.7), 0.95)], [0.5, 0.4, 0.7]),
    # Of an audit without a verdict, what is above its limit decides.
    (lambda: withhold(), ("release", ("first",), ("one",))),
    (lambda: withhold("do not release", warnings=("w",)), ("do not release", ("first",), ("one",))),
    (lambda: withhold(doubts=("d",)), ("cannot be said", ("d",), ("one",))),
    (
        lambda: withhold(doubts=("d",), failed=("f",)),
        ("do not release", ("f", f"{TO_MEASURE}d"), ("one",)),
    ),
    (lambda: withhold(warnings=("w",)), ("cannot be said", ("w",), ())),
    (lambda: withhold(warnings=("w",), failures=("f",)), ("do not release", ("f", "w"), ())),
    (
        lambda: [
            one.status
            for one in _release.withdraw_passes(
                (
                    Passed("k", "passed", ""),
                    Passed("k", "failed", ""),
                    Passed("parameters", "passed", ""),
                )
            )
        ],
        ["cannot be said", "failed", "passed"],
    ),
    (
        lambda: _release.measure_gap(NS(membership=None)),
        [],
    ),
    (lambda: _release.measure_gap(NS(membership=NS(gap=None))), []),
    (
        lambda: [
            (one.name, one.n_records, [*one.interval(0.95)])
            for one in _release.measure_gap(
                NS(membership=NS(gap=Interval(0.25, 0.125, 0.5), n_members=3, n_nonmembers=4))
            )
        ],
        [("gap", 7, [0.25, 0.125, 0.5])],
    ),
]


def test_answers_by_hand():
    expect_answers(ROWS)
