"""Steps of an audit that no quick audit fixes exactly, with answers by hand."""

import warnings
from functools import partial
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records
from skmia._core.progress import StageStep
from skmia.attacks import LiRA, ThresholdAttack
from skmia.defenses import PrivacyLedger
from skmia.report import (
    _audit,
    _budget,
    _case,
    _cost,
    _file,
    _file_attack,
    _left_out,
    _page,
    _report,
    _run,
    _unknown_labels,
)
from skmia.report._case import AttackPlan, StoredAnswers
from skmia.report._pace import ModelPace
from skmia.report._pool_size import SIZES

# -- the control of an attack on a file


class Attack:
    """An attack that keeps what it is given."""

    def __init__(self, model, **settings):
        Attack.made, self.expected_auc_ = (type(model).__name__, settings), Attack.expected

    def fit(self, records):
        Attack.fitted_on = records
        return self

    def score_samples(self, records):
        assert records is Attack.fitted_on
        return records.X[:, 0]


class Model:
    def fit(self, *given):
        self.given = given
        return self


def control(n=9, expected=0.6, limits=(0.5, 0.75), victim=None, y=None, has_targets=True):
    """Return what is said, and what the attack and the model are given."""
    X = np.arange(2.0 * n).reshape(n, 2)
    y = np.arange(n) // 2 % 2 if y is None else y
    case = NS(seeds={"checks": 4, "attacks": 5}, queried=Records(X, y), max_bytes=7)
    case.victim = LogisticRegression() if victim is None else victim
    Attack.expected, model = expected, Model()
    parts = {
        "ReleasedModelAttack": Attack,
        "MOST_OF_CONTROL": 5,
        "MOST_OF_COLUMN": 4,
        "clone_to_train": lambda given: model if given is case.victim else None,
        "shape_targets": lambda model, X, y, is_column: y if has_targets else None,
        "make_budget": lambda case: NS(max_seconds=8),
        "auc_interval": mock.Mock(return_value=NS(estimate=0.625, low=limits[0], high=limits[1])),
    }
    with mock.patch.multiple(_file, **parts):
        told = _file._control(case)
    (inside, scores), kwargs = parts["auc_interval"].call_args
    assert kwargs == {"confidence_level": 0.99} and inside.dtype.kind == "i"
    assert scores.tolist() == Attack.fitted_on.X[:, 0].tolist()
    settings = {"outsiders": 0.0, "max_bytes": 7, "max_seconds": 8, "random_state": 5}
    assert Attack.made == ("Model", settings)
    own = model.given[0]
    assert own[:, 0].tolist() == scores[inside == 1].tolist() == sorted(own[:, 0])
    if has_targets:
        assert np.array_equal(model.given[1], y[(own[:, 0] // 2).astype(int)])
    return told, len(scores), int(inside.sum()), len(model.given)


def weak(expected):
    return (
        "The attack is not as strong as it should be: on a model of the same recipe it has an AUC "
        f"of 0.625 (99% interval [0.500, 0.750]); expected is {expected}."
    )


COLUMNS_OF_LABELS = np.eye(9)[:, :3].astype(int)
FILE = [
    # Nine records of two columns: eight are kept, and a model is trained on four.
    (lambda: control(), (None, 8, 4, 2)),
    (lambda: control(7), (None, 7, 3, 2)),
    (lambda: control(has_targets=False)[3], 1),
    (lambda: control(expected=0.5)[0], None),
    (lambda: control(expected=0.75)[0], None),
    (lambda: control(expected=0.499)[0], weak("0.499")),
    (lambda: control(expected=0.751)[0], weak("0.751")),
    (lambda: control(expected=None)[0], weak("unknown")),
    # Classes that the half of the model lacks are not attacked.
    (lambda: control(y=np.arange(9))[1:3], (4, 4)),
    (lambda: control(y=np.arange(9), victim=Ridge())[1:3], (8, 4)),
    (lambda: control(y=COLUMNS_OF_LABELS)[1:3], (8, 4)),
]

# -- budgets


def pace_of(fit=10.0, answer=0.5, load=2.0):
    """Return what a fit on 100 rows takes, and 20 answers; a loop of 200 is 20 seconds."""
    return ModelPace(fit, answer, 100, 20, 1.0, load)


def budget(agreement=None, pace=None):
    case = NS(agreement=agreement, bytes_allowed=7, records=range(200))
    case.request = NS(size_of_pool=8)
    return tuple(_budget.make_budget(case, pace))


class Costly(ThresholdAttack):
    """An attack that knows what it takes, beside one that does not."""

    def expect_cost(self, records):
        return _budget.Cost(*records)


def expect_attack(attack, records=(5.0, 3.0)):
    case = NS(records=records, request=NS(victim="victim"))
    with mock.patch.object(_budget, "connect", side_effect=lambda one, *given, **more: one) as join:
        found = _budget.expect_attack(attack, case)
    assert not join.called or join.call_args[0][1:] == ("victim", None)
    assert not join.called or join.call_args[1] == {"stored": True}
    return found and found[:2], join.called


def leave_out(costs, are_default=True):
    attacks = {name: ThresholdAttack() if name < "c" else LiRA() for name in costs}
    plan = AttackPlan(attacks, frozenset(), ["before"])
    case = NS(are_default=are_default)
    parts = {
        "make_budget": lambda case, pace: ("budget", pace),
        "expect_attack": lambda attack, case: costs[
            next(k for k in attacks if attacks[k] is attack)
        ],
        "why_long": lambda name, cost, given: (
            (cost == 1 and given == ("budget", 9) and "long") or None
        ),
        "why_costly": lambda name, cost, given: "costly" if cost == 1 else None,
    }
    with mock.patch.multiple(_budget, **parts):
        found = _budget.leave_out_costly(case, plan, 9)
    return [*found.attacks], found.notes, [*plan.attacks]


def expect_alone(**costs):
    attacks = {name: LiRA() if name == "lira" else ThresholdAttack() for name in costs}
    names = {id(one): name for name, one in attacks.items()}
    with mock.patch.object(_budget, "expect_attack", lambda one, case: costs[names[id(one)]]):
        return _budget.expect_alone(attacks, None)


def remember(attack, given=5):
    found = _budget.with_memory(attack, NS(max_bytes=given))
    return found is attack and attack.max_bytes


class Held(ThresholdAttack):
    def __init__(self, max_bytes="auto"):
        super().__init__()
        self.max_bytes = max_bytes


def why(judge, n_bytes=7e6, seconds=5.0, loop=3.0):
    cost = NS(n_bytes=n_bytes, seconds=seconds, what="sums")
    found = judge("LiRA", cost, _budget.AuditBudget(7e6, loop))
    return found and found.partition("; ")[0]


def expect_check(n_records=100, n_cells=400, is_sparse=False, **changed):
    """Return bytes and seconds of a check of 100 records in a table of 800 bytes."""
    usual = {"most_read": None, "most_held": None, "record_numbers": 2, "copies_table": 3}
    usual |= {"stored_seconds": None, "cell_seconds": 0.25, "record_seconds": 0.5}
    check = NS(**(usual | {"least_seconds": 7.0} | changed))
    found = _budget.expect_check(check, _budget.TableSize(n_records, n_cells, 800, is_sparse))
    return found.n_bytes, found.seconds


def count_asked(n=50_000, takes_sample=True, held=1.0, took=1.0, most_held=None):
    """Count the records of a check that holds and takes so many times what it may."""
    check, case = NS(takes_sample=takes_sample, most_held=most_held), NS(records=range(n))
    parts = {
        "make_budget": lambda case: NS(n_bytes=10.0, seconds=20.0),
        "measure_table_size": lambda records: len(records),
        "expect_check": lambda check, size: NS(n_bytes=10.0 * held, seconds=20.0 * took, n=size),
    }
    with mock.patch.multiple(_budget, **parts):
        return _budget.count_asked_records(check, case)


HELD = "it would hold 8 MB for sums, and 7 MB are allowed"
BUDGETS = [
    # Eight models take 20 + 10 * 200 / 20 * .05 seconds each on half a machine.
    (lambda: budget(), (7, None)),
    (lambda: budget(NS(pace=pace_of())), (7, 8 * pace_of().loop_on(200) / 2.0)),
    (lambda: budget(NS(pace=pace_of()), pace_of(load=4.0))[1], 8 * pace_of().loop_on(200) / 4.0),
    (lambda: budget(NS()), (7, None)),
    (lambda: _budget.AuditBudget(7, None).seconds, inf),
    (lambda: _budget.AuditBudget(7, None).max_seconds, None),
    (lambda: _budget.AuditBudget(7, 2.0).seconds, 36.0),
    (lambda: _budget.AuditBudget(7, 2.0).max_seconds, 36.0),
    (lambda: expect_alone(t=1, u=None, lira=2), {"t": 1}),
    (lambda: expect_attack(ThresholdAttack()), (None, False)),
    (lambda: expect_attack(Costly()), ((5.0, 3.0), True)),
    (lambda: expect_attack(Costly(), 3), (None, True)),
    (
        lambda: leave_out({"a": 1, "b": 2, "c": 1, "d": None}),
        (
            ["b", "d"],
            ["before", "a was left out: costly.", "c was left out: long."],
            ["a", "b", "c", "d"],
        ),
    ),
    (lambda: leave_out({"a": 1}, are_default=False), (["a"], ["before"], ["a"])),
    (lambda: remember(Held()), 5),
    (lambda: remember(Held(3)), 3),
    (lambda: why(_budget.why_costly), None),
    (lambda: why(_budget.why_costly, 8e6), HELD),
    (lambda: why(_budget.why_costly, seconds=5.1)[:28], "it would take about 5 s, lon"),
    (lambda: why(_budget.why_costly, seconds=2.0, loop=None), None),
    (lambda: why(_budget.why_costly, seconds=2.1, loop=None)[:21], "it would take about 2"),
    (lambda: why(_budget.why_long, seconds=39.0), None),
    (
        lambda: why(_budget.why_long, seconds=39.9),
        "it would take about 40 s for sums, and 39 s are allowed, three times the training of all "
        "shadow models and 30 s",
    ),
    # Two numbers for each record, and the table three times; half a second and four cells each.
    (lambda: expect_check(), (8 * 2 * 100 + 3 * 800.0, 7 + 100 * (0.5 + 4 * 0.25))),
    (lambda: expect_check(most_read=20), (8 * 2 * 100 + 3 * 800.0, 7 + 20 * 1.5)),
    (lambda: expect_check(most_held=25), (8 * 2 * 25 + 3 * 200.0, 7 + 100 * 1.5)),
    (lambda: expect_check(most_held=101, most_read=101), (4000.0, 157.0)),
    (lambda: expect_check(record_seconds=None)[1], 7 + 100 * 1.0),
    (lambda: expect_check(stored_seconds=0.125)[1], 7 + 100 * 1.5),
    (lambda: expect_check(is_sparse=True)[1], 7 + 100 * 1.5),
    (lambda: expect_check(is_sparse=True, stored_seconds=0.125)[1], 7 + 100 * 1.0),
    (lambda: expect_check(0, 0), (0.0, 7.0)),
    (lambda: expect_check(1, 4, most_held=1)[0], 16 + 3 * 800.0),
    (
        lambda: tuple(_budget.measure_table_size(Records(np.eye(3)[:, :2], np.arange(3)))),
        (3, 6, 48, False),
    ),
    (
        lambda: _budget.measure_table_size(Records(sparse.csr_array(np.eye(3)), np.arange(3)))[
            1::2
        ],
        (3, True),
    ),
    # A check that takes a sample is asked of at least 20,000 records.
    (lambda: count_asked(), 50_000),
    (lambda: count_asked(held=0.5, took=0.25), 50_000),
    (lambda: count_asked(held=2.0), 25_000),
    (lambda: count_asked(took=2.0), 25_000),
    (lambda: count_asked(held=2.0, took=2.0, takes_sample=False), 50_000),
    (lambda: count_asked(held=4.0), 20_000),
    (lambda: count_asked(20_000, held=4.0), 20_000),
    (lambda: count_asked(20_001, held=4.0), 20_000),
    (lambda: count_asked(held=2.0, most_held=44_000), 22_000),
    (lambda: count_asked(held=2.0, most_held=60_000), 25_000),
]

# -- what a page and a folder are given


def save(recommendation, folder="some/folder"):
    document, saved = {"recommendation": recommendation}, {}
    parts = {
        "save_documents": lambda *given: saved.update(given=given) or "saved",
        "render_audit": lambda noted, values: f"{noted} with {values}",
        "write_text": lambda text, path: saved.update(text=text, path=path),
        "write_sheet": lambda document, path, report: saved.update(report=report),
    }
    with mock.patch.multiple(_report, **parts):
        found = _report.save_report(document, folder, {"a": 1})
        given, folder, name, others = saved.pop("given")
        others[_report.PAGE]("noted", "there")
        for name_of_sheet in [*others][2:]:
            others[name_of_sheet](document, "sheet")
    assert found == "saved" and given is document and others["roc.png"] is _report._draw_report
    return folder, name, [*others], saved


PAGE_SAVED = {"text": "noted with {'a': 1}", "path": "there"}
SAVED = [
    (lambda: _page.cut_name("abcdefghi", 9), "abcdefghi"),
    (lambda: _page.cut_name("abcd efghij", 8), "abcd efg\u2026"),
    (lambda: _page.cut_name("abcde fghij", 8), "abcde\u2026"),
    (lambda: _page.cut_name("a" * 60) + _page.cut_name("b" * 61), "a" * 60 + "b" * 60 + "\u2026"),
    (lambda: _page.cut_name("a\nb"), "a\\nb"),
    (lambda: save(None), ("some/folder", "audit.json", ["roc.png", "report.html"], PAGE_SAVED)),
    (
        lambda: save("yes", "some/a.html")[2:],
        (["roc.png", "report.html", "decision.html"], PAGE_SAVED | {"report": "a.html"}),
    ),
]

# -- labels that the model does not know


def find_unknown(members, others, classes="abcd"):
    """Find unknown labels of members, who come first, and of others."""
    y, inside = array([*members, *others]), np.arange(len(members + others)) < len(members)
    values = np.full((len(y), len(classes)), 1 / len(classes))
    outputs = Outputs(values, [*classes])
    found = _unknown_labels.find_unknown_labels(outputs, y, inside)
    return found and (*found, found.count())


def explain(n_members, n_others, sizes, y=(0,)):
    """Explain why so many unknown records of each side are refused, or not."""
    inside = np.arange(sum(sizes)) < sizes[0]
    known = np.r_[np.arange(sizes[0]) >= n_members, np.arange(sizes[1]) >= n_others]
    return _unknown_labels.explain_refusal(known, np.resize(y, sum(sizes)), inside)


def describe_unknown(n_members=0, n_others=0, n_unmatched=0):
    found = _unknown_labels.UnknownLabels(
        [], [7] * n_unmatched, n_members, n_others, (1000, 2000), ("of one", "of others")
    )
    return found.describe()


def take_audited(n=4, n_audited=2, n_left_out=2, **fields):
    data = {"unknown_classes": {"a": n_left_out - 1}, "weightless": {"b": 1}} if n_left_out else {}
    report = NS(membership=range(n_audited), data=data, positions=array([1, 3]))
    return _left_out.take_audited(report, Records(np.eye(n), np.arange(n), **fields)).y


KNOWN, LEFT = [*range(8)], "No class is left that both members and non-members have."
NOT_KNOWN = "label that the model does not know (of"
UNKNOWN = [
    (lambda: find_unknown("aab", "abb"), None),
    # A class of members alone leaves where others lose one that no member has.
    (
        lambda: find_unknown("aaaabbbbcx", "aaaabbbbbbbbbbbbbbyz"),
        (
            [*KNOWN, *range(10, 28)],
            [8],
            1,
            2,
            (10, 20),
            ("first 'x' at position 9", "first 'y' at position 28"),
            {"unknown_members": 1, "unknown_nonmembers": 2, "unmatched_members": 1},
        ),
    ),
    (lambda: find_unknown("aaaabbbbcx", "aaaabbbbbx")[:2], ([*range(9), *range(10, 19)], [])),
    (lambda: find_unknown("aaaabbbbcx", "aaaabbbbbd")[:2], ([*range(9), *range(10, 20)], [])),
    (lambda: find_unknown("aaaabbbbbc", "aaaabbbbby")[1], [9]),
    (
        lambda: tell_refusal(lambda: find_unknown("cccccccccc", "aaaaaaaaay")).partition(" Give")[
            0
        ][-56:],
        LEFT,
    ),
    (
        lambda: tell_refusal(lambda: find_unknown("abcdefghijx", "x", "abcdefghij")).partition(
            " Give"
        )[0][-56:],
        LEFT,
    ),
    (
        lambda: tell_refusal(lambda: find_unknown("aaaabbbxx", "aaaabbbbb")).partition("]. ")[2],
        "They are 2 of 9 members, and no more than a tenth of a side is left out. Give the labels "
        "as they were in training, and non-members of its classes.",
    ),
    # A tenth of a side, or what chance explains among others, of whom each class may be.
    (lambda: explain(1, 1, (10, 10)), None),
    (
        lambda: explain(1, 0, (9, 20)),
        "They are 1 of 9 members, and no more than a tenth of a side is left out.",
    ),
    (
        lambda: explain(0, 2, (20, 10)),
        "They are 2 of 10 non-members, and no more than a tenth of a side is left out, unless "
        "chance explains it.",
    ),
    (lambda: explain(0, 2, (20, 10), np.arange(30)), None),
    (lambda: explain(2, 0, (10, 20), np.arange(30))[:27], "They are 2 of 10 members, a"),
    (lambda: explain(5, 5, (5, 5)), "All records have such a label."),
    (lambda: explain(5, 0, (5, 20)), "All members have such a label."),
    (lambda: explain(0, 5, (20, 5)), "All non-members have such a label."),
    (lambda: describe_unknown(), []),
    (
        lambda: describe_unknown(1, 2),
        [
            f"1 of 1,000 members has a {NOT_KNOWN} one) and was left out. A model knows the labels "
            "of its training records: look whether it was trained on these.",
            f"2 of 2,000 non-members have a {NOT_KNOWN} others) and were left out.",
        ],
    ),
    (
        lambda: describe_unknown(0, 1, 1)[0].partition("left out")[2],
        ", and so was 1 member of classes that no non-member has: the label alone would tell the "
        "sides apart.",
    ),
    (
        lambda: describe_unknown(0, 1, 1200)[0].partition("left out")[2][:31],
        ", and so were 1,200 members of ",
    ),
    # The records of a report are those that it names, where some were left out.
    (lambda: take_audited(), [1, 3]),
    (lambda: take_audited(record_id=[7, 7, 8, 7]), [1, 3]),
    (lambda: take_audited(n_left_out=0), [0, 1, 2, 3]),
    (lambda: take_audited(n_left_out=3), [0, 1, 2, 3]),
    (lambda: take_audited(n=2), [0, 1]),
    (lambda: take_audited(n_audited=4), [0, 1, 2, 3]),
]

# -- what an audit is expected to cost


def step(seconds, is_certain=True):
    return StageStep(float(seconds), is_certain=is_certain)


def make_cost(*, classes="abc", is_recipe=False, has_file=True, is_sequence=False, pace="pace"):
    """Return the phases, what is left out, and what the size is made of."""
    seen = {}

    def size_up(model, records, **given):
        seen.update(given, model=model, records=records)
        return NS(alone={"known": NS(n_bytes=5.0)}, n_shadows=6, may_grow=True)

    def expect(size, timed):
        seen["timed"] = timed
        named = {"a": step(0), "b": step(3), "c": step(4, False), "known": step(5)}
        return {"first": 2, "second": named}

    parts = {
        "make_plan": lambda *given: ("plan", given),
        "leave_out_costly": lambda case, plan: NS(attacks=[case, plan], notes=["Left out."]),
        "expect_alone": lambda attacks, case: (attacks, case),
        "is_recipe": lambda victim: is_recipe,
        "has_file": lambda victim: has_file,
        "is_sequence_victim": lambda victim: is_sequence,
        "size_up": size_up,
        "expect_audit": expect,
        "_expect_bytes": lambda name, stage, case, size: {"first": 1.0, "b": 7.0}[name],
        "_list_unread": lambda case, size: ["Not read."],
        "replace": lambda case, agreement: NS(**vars(case) | {"agreement": agreement}),
    }
    outputs = NS(classes=classes) if classes != "none" else NS()
    request = NS(victim="v", model="m", shadows="s", n_jobs=3, outputs=outputs)
    case = NS(attacks="attacks", records="r", request=request, file=True, time_budget=9)
    with mock.patch.multiple(_cost, **parts):
        found = _cost._make_cost(case, pace)
    own, plan = seen["attacks"]
    assert seen["costs"] == ([own, plan], own) and own.agreement.pace == pace
    assert plan == ("plan", ("attacks", request, "r"))
    names = ("model", "records", "shadows", "n_jobs", "time_budget")
    assert [seen[name] for name in names] == ["m", "r", "s", 3, 9]
    assert found.left_out == ["Left out.", "Not read."]
    assert (found.n_shadows, found.may_grow) == (6, True)
    return found.phases.reset_index(), seen["n_classes"], seen["file"], seen["timed"]


def estimate(victim, *, stored=False, membership=None, is_trainable=True):
    """Return what is timed, and what the case is opened with."""
    fields = {"outputs": Outputs(array([[0.5, 0.5]] * 4), [0, 1])} if stored else {}
    records = Records(np.arange(4.0).reshape(-1, 1), array([0, 1, 0, 1]), **fields)
    timed, opened = [], []

    def time(model, given, inside, random_state, fit_params):
        timed.append((type(model).__name__, np.asarray(inside).tolist(), random_state, fit_params))
        return "fitted", "pace"

    def open_case(victim, records, membership, clock, **given):
        opened.append((victim, membership, given))
        return NS(request=NS(model=Ridge()), records=records)

    parts = {
        "_time_training": time,
        "open_case": open_case,
        "_draw_half_of_records": lambda records, seed: [records.y[1], seed],
        "is_trainable": lambda model: is_trainable,
        "with_stand_in": lambda case, clock: case,
        "_make_cost": lambda case, pace, of_stand_in: pace,
    }
    with mock.patch.multiple(_cost, **parts):
        found = _cost.estimate_cost(
            victim, records, membership, fit_params="given", random_state=7, shadows=8, max_bytes=6
        )
    victim, membership, given = opened[0]
    assert given["shadows"] == 8 and given["max_bytes"] == 6 and given["controls"] is False
    return timed, found, victim if isinstance(victim, str | None) else type(victim), membership


def time_training(seed):
    rows = Records(np.arange(4.0).reshape(-1, 1), array([0, 1, 0, 1]))
    laps = iter([3.0, 0.5])
    parts = {
        "LapWatch": lambda: NS(lap=lambda: next(laps), load=2.0),
        "train_victim": mock.Mock(return_value=Ridge().fit(rows.X, rows.y)),
        "query_victim": mock.Mock(),
    }
    with mock.patch.multiple(_cost, **parts):
        _, pace = _cost._time_training("m", rows, [1, 0, 1, 1], seed, "given")
    model, _, mask, used, given = parts["train_victim"].call_args.args
    assert (model, given, mask.tolist()) == ("m", "given", [True, False, True, True])
    # The second lap is that of the answers for all rows.
    asked, X = parts["query_victim"].call_args.args
    assert isinstance(asked, Ridge) and X is rows.X
    return used, tuple(pace)


TREE = DecisionTreeClassifier()
FITTED = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
COSTS = [
    (
        lambda: make_cost()[0],
        {
            "phase": ["first", "b", "known"],
            "stage": ["first", "second", "second"],
            "seconds": [2.0, 3.0, 5.0],
            "n_bytes": [1.0, 7.0, 5.0],
        },
    ),
    (lambda: make_cost()[1:], (3, True, "pace")),
    (lambda: make_cost(classes=None)[1], 1),
    (lambda: make_cost(classes="none")[1], 1),
    (lambda: make_cost(is_recipe=True)[2], False),
    (lambda: make_cost(has_file=False)[2], False),
    (lambda: make_cost(is_sequence=True)[2], False),
    (lambda: tuple(make_cost(pace=None)[3])[:4], (nan, nan, 1, 1)),
    # An unfitted victim takes the place of the clone, on the members or on a half.
    (
        lambda: estimate(TREE),
        ([("DecisionTreeClassifier", [1, 7], 7, "given")], "pace", "fitted", [1, 7]),
    ),
    (
        lambda: estimate(TREE, membership=[1, 0, 0, 1]),
        ([("DecisionTreeClassifier", [1, 0, 0, 1], 7, "given")], "pace", "fitted", [1, 0, 0, 1]),
    ),
    (
        lambda: estimate(TREE, membership=[1, 0, 0, 1], stored=True),
        ([("Ridge", [1, 7], 7, "given")], "pace", DecisionTreeClassifier, [1, 0, 0, 1]),
    ),
    (
        lambda: estimate(FITTED, membership=[1, 0, 0, 1])[0],
        [("Ridge", [1, 7], 7, "given")],
    ),
    (
        lambda: estimate(None, membership=[1, 0, 0, 1], stored=True)[2],
        None,
    ),
    (lambda: estimate(FITTED, membership=[1, 0, 0, 1], is_trainable=False)[:2], ([], None)),
    (lambda: time_training(8), (8, tuple(ModelPace(3.0, 0.5, 3, 4, load=2.0)))),
    (lambda: time_training(None)[0], 0),
    (
        lambda: [
            _cost._draw_half_of_records(Records(np.eye(6), np.arange(6)), seed).sum()
            for seed in (1, None)
        ],
        [3, 3],
    ),
    (
        lambda: tell_refusal(lambda: _cost._draw_half_of_records(Records(np.ones((3, 1))), 1))[:27],
        "All records belong together",
    ),
]


# -- what is told of an audit beside its numbers


class Ledger(PrivacyLedger):
    def __init__(self, error=None):
        self.error = error

    def epsilon(self, delta):
        if self.error is not None:
            raise self.error
        return 100 * delta

    def read(self):
        return range(1234)


def model_with(**params):
    return NS(get_params=lambda deep=True: params)


def add_up(estimator=None, victim=None, n_members=4, **more):
    victim = NS(**vars(victim or NS()), **more)
    case = NS(request=NS(estimator=estimator), victim=victim, membership=np.arange(9) < n_members)
    return [one[-111:] for one in _audit._add_up_private_fits(case)]


def declare(estimator, victim):
    case = NS(request=NS(estimator=estimator), victim=victim)
    return len(_audit._name_declared_weights(case))


def perform(outputs, y, n_members=2):
    membership = np.arange(len(y)) < n_members
    case = NS(request=NS(outputs=outputs), records=NS(y=array(y)), membership=membership)
    found = _audit._measure_performance(case)
    return tuple(found[name] for name in ("metric", "members", "nonmembers", "gap"))


class Counted(LogisticRegression):
    n_queries_ = 9


def describe_audit(notes=(), pool=None, n_before=None, left_out=None, victim=None):
    victim = Counted() if victim is None else victim
    request = NS(estimator=None, victim=victim, outputs=Outputs(array([1.0, 2, 3]), None, "value"))
    case = NS(notes=["a\n  b"], victim=victim, membership=array([True, True, False]), level=0.9)
    case.request, case.records, case.seeds = request, NS(y=array([1.0, 2, 3])), {"s": 1}
    case.attacks, case.group, case.fprs, case.file = {"x": Ridge()}, "g", [0.1], False
    case.left_out = left_out and NS(counts={"weightless": {"weightless_members": left_out}})
    run = NS(notes=["c"], attacks={}, pool=pool)
    return _audit.describe_circumstances(case, run, NS(read=lambda: {"total": 2.0}), n_before)


def pool_of(n):
    return NS(membership_=range(n), estimator=Ridge(alpha=2.0), notes_=["of the pool"])


class Address:
    def __repr__(self):
        return "Address('/home/me/data.csv', \"C:\\\\x\\\\y\") at 0x7f01> at 0x7f01\n  end"


class XGBoosting(BaseEstimator):
    def __init__(self, a=None, b=3, c=None, d=None):
        self.a, self.b, self.c, self.d = a, b, c, d

    def __repr__(self, N_CHAR_MAX=700):
        return f"XGB({N_CHAR_MAX}, a=None, b=3, c=nan, d=None, ...)"


def hold(**victims):
    """Name the attacks whose victim is another one than the audited one."""
    audited = Ridge()
    attacks = {
        name: NS(get_params=lambda one=one: {"a__victim": audited if one == "own" else one})
        for name, one in victims.items()
    }
    return [one.partition(" attacks ")[0] for one in _audit._name_other_victims(attacks, audited)]


def take_arguments(*args):
    function = _audit._names_the_forms(lambda *numbers: sum(numbers))
    return tell_refusal(lambda: function(*args)) or function(*args)


SPENT = (
    "The ledger holds 1,234 private fits, those of shadow models included. What all of them "
    "release together has epsilon {} at delta {}; the model alone has its own epsilon."
)
LEDGER = model_with(ledger=Ledger())
OF_AUDITS = [
    # A tenth of one over the members, unless the model says another delta.
    (lambda: add_up(LEDGER), [SPENT.format("2.5", "0.025")[-111:]]),
    (lambda: add_up(LEDGER, n_members=0), [SPENT.format("10", "0.1")[-111:]]),
    (lambda: add_up(None, LEDGER, delta_=0.5), [SPENT.format("50", "0.5")[-111:]]),
    (lambda: add_up(model_with(a=3), LEDGER), [SPENT.format("2.5", "0.025")[-111:]]),
    (lambda: add_up(model_with(a=3)), []),
    (
        lambda: add_up(model_with(a=Ledger(OSError("Gone.")))),
        ["What all private fits cost together is not known. Gone."],
    ),
    (lambda: declare(model_with(net__public_weights=True), None), 1),
    (lambda: declare(None, model_with(public_weights=True)), 1),
    (lambda: declare(model_with(public_weights="folder"), model_with(public_weights_of=True)), 0),
    (lambda: declare(model_with(public_weights=False, net__public_weights=True), None), 1),
    (lambda: declare(model_with(public_weights=False), None), 0),
    (lambda: take_arguments(1, 2, 3), 6),
    (lambda: take_arguments(1, 2, 3, 4)[:44], "audit got 4 arguments by position. Write aud"),
    (
        lambda: [_audit._count_service_queries(one) for one in (NS(n_queries_=7), Ridge())],
        [7, None],
    ),
    # Of classes the share that is right, of log odds the mean probability of the label.
    (
        lambda: perform(Outputs(array([[0.75, 0.25]] * 4), [0, 1]), [0, 1, 1, 1]),
        ("accuracy", 0.5, 0.0, 0.5),
    ),
    (
        lambda: perform(Outputs(array([0.0, np.log(3), 0.0]), kind="log_odds"), [0, 1, 1]),
        ("confidence", 0.625, 0.5, 0.125),
    ),
    (
        lambda: perform(Outputs(array([1.0, 2.0, 4.0, 8.0]), None, "value"), [1.0, 3.0, 4.0, 6.0]),
        ("r2", 0.5, -1.0, 1.5),
    ),
    (
        lambda: perform(Outputs(array([1.0, 2.0, 4.0]), None, "value"), [1.0, 3.0, 4.0])[1:],
        (0.5, nan, nan),
    ),
    (
        lambda: {
            name: describe_audit()[name] for name in ("task", "data", "seeds", "seconds", "notes")
        },
        {
            "task": "classification",
            "data": {"n_records": 3, "n_members": 2, "n_nonmembers": 1},
            "seeds": {"s": 1},
            "seconds": {"total": 2.0},
            "notes": ["a b", "c"],
        },
    ),
    (lambda: describe_audit(victim=Ridge())["task"], "regression"),
    (lambda: describe_audit(n_before=4)["data"]["n_queries"], 5),
    (lambda: describe_audit(left_out=6)["data"]["weightless"], {"weightless_members": 6}),
    (lambda: describe_audit(pool=pool_of(7))["notes"], ["a b", "c", "of the pool"]),
    (
        lambda: describe_audit(pool=pool_of(7))["settings"],
        {
            "attacks": {"x": "Ridge()"},
            "n_shadows": 7,
            "shadow_estimator": "Ridge(alpha=2.0)",
            "group": "g",
            "fprs": [0.1],
            "confidence_level": 0.9,
        },
    ),
    (
        lambda: [describe_audit()["settings"][name] for name in ("n_shadows", "shadow_estimator")],
        [0, None],
    ),
    (lambda: _audit._show_on_one_line(Address()), "Address('data.csv', \"y\")> at 0x7f01 end"),
    (lambda: _audit._show_on_one_line(XGBoosting()), "XGB(10000, b=3, ...)"),
    (lambda: hold(a="own", b=Ridge(), c=None, d=Ridge()), ["b", "d"]),
]


# -- requests and cases


def request(shadows="auto", **given):
    usual = dict.fromkeys(_case.VictimRequest._fields) | {"shadows": shadows, "victim": FITTED}
    return _case.VictimRequest(**usual | given)


def comparable(kind, of_models=None, shadows=8, is_trainable=True, signal=None):
    """Return why models with answers of one kind cannot be compared with a victim of another."""
    parts = {"is_trainable": lambda model: is_trainable, "get_kind": lambda model: of_models}
    if signal is not None:
        shadows = NS(signal_=signal)
    with mock.patch.multiple(_case, **parts):
        return _case._why_not_comparable(request(shadows, outputs=NS(kind=kind)))


def count_listed(n_unmatched=None):
    unmatched = None if n_unmatched is None else range(n_unmatched)
    case = NS(membership=np.arange(9) < 4, unmatched=unmatched)
    return _case.Case.n_listed.fget(case)


def list_candidates(unmatched=None):
    queried = Records(np.zeros((2, 1)), array([0, 1]))
    found = _case.Case.candidates.fget(NS(queried=queried, unmatched=unmatched))
    return found is queried, found.y.tolist()


def allow_bytes(max_bytes):
    with mock.patch.object(_case, "allow_bytes", lambda X: 7.0):
        return _case.Case.bytes_allowed.fget(NS(max_bytes=max_bytes, records=NS(X=None)))


class FileAttack(BaseEstimator):
    """An attack on a file that says how many rows it was trained on, and what it was given."""

    def __init__(self, model, outsiders=0.0, prior=0.5, max_bytes=0, max_seconds=0, random_state=0):
        self.model, self.outsiders, self.prior, self.max_bytes = model, outsiders, prior, max_bytes
        self.max_seconds, self.random_state = max_seconds, random_state

    def fit(self, records):
        self.n_rows_ = FileAttack.n_rows
        warnings.warn(f"with {self.outsiders:g}", UserWarning, stacklevel=2)
        return self

    def score_samples(self, records):
        return np.arange(len(records)) + self.outsiders


def attack_file(n_rows=None, stated=None, n_listed=6, score=False):
    """Attack a file of ten candidates, of which eight are records, and return what comes of it."""
    FileAttack.n_rows = n_rows
    request = NS(victim=FITTED)
    case = NS(
        request=request, n_listed=n_listed, candidates=range(10), max_bytes=3, records=range(8)
    )
    case.seeds, case.inspection = {"attacks": 5}, NS(n_rows=stated)
    parts = {
        "ReleasedModelAttack": FileAttack,
        "make_budget": lambda case: NS(max_seconds=7),
    }
    with mock.patch.multiple(_file_attack, **parts), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if score:
            return _file_attack.score_as_file(case)
        fitted, scores, facts = _file_attack.fit_file_attack(case)
    own = fitted.max_bytes, fitted.max_seconds, fitted.random_state
    assert own == (3, 7, 5) and len(scores) == 8
    return fitted.prior, tuple(facts.values()), [str(one.message) for one in told], scores[0]


def choose_figure(*powers, rate=0.01):
    """Choose of powers: rows of AUC and TPR for each model."""
    found = {k: {"a": array(one, dtype=float)} for k, one in enumerate(powers)}
    figure = _run._PowerMeter.choose_figure(NS(_rate=rate), found)
    return figure["metric"], figure["max_fpr"]


OF_REGRESSOR = "which return the predictions of a regressor, and the victim returns labels"
OF_CASES = [
    (lambda: [request(one).size_of_pool for one in ("auto", 6, np.int64(4))], [8, 6, 4]),
    (lambda: request(NS(membership_=range(5), n_estimators=7)).size_of_pool, 5),
    (lambda: request(NS(n_estimators=7)).size_of_pool, 7),
    (lambda: request(NS()).size_of_pool, 0),
    (lambda: comparable("proba", "proba"), None),
    (lambda: comparable("label", "proba"), None),
    (lambda: comparable("label", "value"), OF_REGRESSOR),
    (
        lambda: comparable("proba", "value"),
        "which return the predictions of a regressor, and the victim returns class probabilities",
    ),
    (
        lambda: comparable("value", "decision"),
        "which return decision values, and the victim returns the predictions of a regressor",
    ),
    (
        lambda: comparable("proba", "proba", is_trainable=False),
        "which need the parameter estimator, because the victim cannot be trained",
    ),
    (lambda: comparable("proba", signal="scaled_logit"), None),
    (
        lambda: comparable("label", signal="hinge"),
        "which return decision values, and the victim returns labels",
    ),
    (lambda: comparable("proba", shadows=NS()), None),
    (lambda: [*_case.list_shares()].index(_case.AS_FILE), 1),
    (lambda: _case.AS_FILE in _case.list_shares(False) or len(_case.list_shares(False)), 5),
    (lambda: [count_listed(), count_listed(3)], [4, 7]),
    (lambda: list_candidates(), (True, [0, 1])),
    (lambda: list_candidates(Records(np.ones((1, 1)), array([1]))), (False, [0, 1, 1])),
    (lambda: [allow_bytes("auto"), allow_bytes(5)], [7.0, 5.0]),
    # Six of ten candidates are members; of more rows than 0.5% beyond them it is fitted again.
    (lambda: attack_file(6), (0.6, (6, 0.0), ["with 0"], 0.0)),
    (lambda: attack_file(5)[1], (5, 0.0)),
    (lambda: attack_file(8), (0.6, (8, 0.25), ["with 0.25"], 0.25)),
    (lambda: attack_file(None, 8)[1], (8, 0.25)),
    (lambda: attack_file(8, 7)[1], (8, 0.25)),
    (lambda: attack_file()[1:3], ((None, None), ["with 0"])),
    (lambda: attack_file(1000, n_listed=996)[2:], (["with 0"], 0.0)),
    (lambda: attack_file(1000, n_listed=994)[3], 0.006),
    (lambda: attack_file(n_listed=0)[0], 0.01),
    (lambda: attack_file(n_listed=10)[0], 0.99),
    (lambda: attack_file(8, score=True), [0.25 + k for k in range(8)]),
    (lambda: choose_figure([[0.5, 0.0], [0.5, 0.25]]), ("tpr", 0.01)),
    (lambda: choose_figure([[0.5, 0.0], [0.5, 0.0]])[0], "auc"),
    (lambda: choose_figure([[0.5, 0.0]], [[0.0, 0.5]]), ("tpr", 0.01)),
    (lambda: choose_figure([[0.5, 0.5]], rate=None)[0], "auc"),
]


# -- plans of attacks


def make_plan(reasons, *, trains=True, own=True, kind="proba", keeps=("x",)):
    """Plan attacks of which some cannot run, for a pool of what their parts keep."""
    checked = []
    request = NS(trains_pool=trains, has_own_recipe=own, outputs=NS(kind=kind))
    parts = {
        "_make_offer": lambda request: "offer",
        "why_not": lambda attack, offer: reasons[attack] if offer == "offer" else None,
        "parts_of": lambda attack: [attack, f"part of {attack}"],
        "list_keeps": lambda part, records: frozenset(keeps if part[:4] == "part" else ["own"]),
        "is_open": lambda part, name: name == "shadows" and part[:4] == "part",
        "_check_pool": lambda request, records: checked.append(records),
    }
    with mock.patch.multiple(_case, **parts):
        found = _case.make_plan({name: name for name in reasons}, request, "records")
    kept = sorted(one if isinstance(one, str) else type(one).__name__ for one in found.keeps)
    return [*found.attacks], kept, found.notes, checked


def count_coefficients(
    *, linear=True, sums=False, kind="proba", n_answers=4, n=9, classes=(0, 1, 2), width=5
):
    """Count the coefficients that follow from answers about records of five columns."""
    seen = []
    parts = {
        "why_not_recovered": lambda model: None if linear else "why",
        "why_no_densities": lambda model: None if sums else "why",
        "find_model": lambda model: (NS() if width is None else NS(n_features_in_=7), ""),
        "count_density_coefficients": lambda model, n: seen.append(("sums", n)) or n_answers,
        "count_coefficients_of_answers": lambda *given: seen.append(given[1:]) or n_answers,
    }
    outputs = NS(kind=kind) if classes == "none" else NS(kind=kind, classes=classes)
    records = Records(np.eye(n)[:, :5], np.arange(n))
    with mock.patch.multiple(_case, **parts):
        found = _case.count_coefficients(NS(model="model", outputs=outputs), records)
    return found, seen


def add_recovered(
    n_coefficients=2.0, *, sums=False, own=True, why=None, membership=(1,) * 8 + (0,) * 2
):
    parts = {
        "why_no_densities": lambda model: None if sums else "why",
        "count_coefficients": lambda request, records: (0, n_coefficients),
        "_make_offer": lambda request: "offer",
        "why_not": lambda attack, offer: why,
    }
    request = NS(model=FITTED, has_own_recipe=own)
    with mock.patch.multiple(_case, **parts):
        found = _case.add_recovered({"a": 1}, request, None, array(membership))
    (name, attack) = [*found.items()][-1]
    if name == "a":
        return None
    return name, attack.prior, attack.estimator is FITTED


def default_attacks(kind="proba", n_models=8, linear=True, why=None, own=False):
    parts = {
        "is_linear_model": lambda model: linear,
        "_make_offer": lambda request: "offer",
        "why_not": lambda attack, offer: why,
    }
    request = NS(outputs=NS(kind=kind), model=FITTED, has_own_recipe=own, size_of_pool=n_models)
    with mock.patch.multiple(_case, **parts):
        found = _case.default_attacks(request)
    analytic = found.get("AnalyticLiRA")
    return [*found], analytic and analytic.estimator is FITTED


def offer(shadows=8, kind="proba", n=1000, is_recipe=False, why=None, outputs=None):
    """Return what is offered to attacks: what is withheld and why, and what a pool keeps."""
    parts = {
        "is_recipe": lambda victim: is_recipe,
        "_why_not_comparable": lambda request: why,
        "offer_of": lambda victim, **given: given,
    }
    outputs = NS(kind=kind, values=np.broadcast_to(0.0, (n, 10))) if outputs is None else outputs
    with mock.patch.multiple(_case, **parts):
        found = _case._make_offer(request(shadows, outputs=outputs))
    assert found["kind"] == outputs.kind
    return found["withheld"], found["keeps"], found["trainable"], found.get("access")


def describe_held_back(**given):
    model = NS(**given)
    told = [_case.describe_held_back(one) for one in (model, NS(best_estimator_=model))]
    assert told[0] == told[1]
    return [one.partition("validation (")[2].partition(")")[0] for one in told[0]]


PLANS = [
    (
        lambda: make_plan({"a": None, "b": "it lacks all"}, keeps=["x"]),
        (["a"], ["Correctness", "x"], ["b was left out: it lacks all."], ["records"]),
    ),
    (
        lambda: tell_refusal(lambda: make_plan({"a": "it lacks all"})),
        "No attack can run on this victim. a was left out: it lacks all.",
    ),
    (lambda: make_plan({"a": None}, keeps=[])[1::2], ([], [])),
    (lambda: make_plan({"a": None}, trains=False)[1], ["x"]),
    (lambda: make_plan({"a": None}, own=False)[1], ["x"]),
    (lambda: make_plan({"a": None}, kind="label")[1], ["x"]),
    (lambda: make_plan({"a": None}, kind="decision")[1], ["Correctness", "x"]),
    (lambda: count_coefficients(), ((4, 8), [(7, 2)])),
    (lambda: count_coefficients(width=None)[1], [(5, 2)]),
    (lambda: count_coefficients(sums=True)[1], [("sums", 7)]),
    (lambda: count_coefficients(linear=False, sums=True)[0], (4, 8)),
    (lambda: count_coefficients(linear=False), ((0, 0), [])),
    (lambda: count_coefficients(kind="label"), ((0, 0), [])),
    (lambda: count_coefficients(n_answers=9)[0], (0, 0)),
    (lambda: count_coefficients(n_answers=8)[0], (8, 16)),
    (
        lambda: [count_coefficients(classes=one)[0][1] for one in ((0,), (0, 1), None, "none")],
        [4] * 4,
    ),
    # A fifth as many coefficients as members, and at least one.
    (lambda: add_recovered(), ("RecoveredModelAttack", 0.8, True)),
    (lambda: add_recovered(1.6, sums=True, own=False), ("JointAnswersAttack", 0.8, False)),
    (lambda: add_recovered(1.5), None),
    (lambda: add_recovered(0.9, membership=[1, 0]), None),
    (lambda: add_recovered(1.0, membership=[1, 0])[1], 0.5),
    (lambda: add_recovered(why="It cannot."), None),
    (lambda: add_recovered(membership=[1, 1])[1], 0.99),
    (lambda: add_recovered(membership=[0, 0])[1], 0.01),
    (
        lambda: default_attacks(),
        (["threshold (loss)", "AnalyticLiRA", "LiRA", "RMIA", "StackedAttack"], False),
    ),
    (lambda: default_attacks(own=True)[1], True),
    (lambda: default_attacks(n_models=3)[0][2:], ["LiRA", "RMIA"]),
    (lambda: default_attacks(n_models=4)[0][-1], "StackedAttack"),
    (lambda: default_attacks(linear=False)[0][:2], ["threshold (loss)", "LiRA"]),
    (lambda: default_attacks(why="It cannot.")[1], None),
    (lambda: default_attacks("label", linear=False)[0], ["threshold (correctness)", "LiRA"]),
    (lambda: default_attacks("decision")[0][0], "threshold (hinge)"),
    (lambda: offer(), ({}, None, True, None)),
    (lambda: offer(why="missing")[::2], ({"shadows": "missing"}, False)),
    (lambda: offer(NS(keeps="kept"))[1], "kept"),
    (
        lambda: offer(4, n=6_250_001)[0],
        {"outputs": "which would take 1.0 GB for 4 models"},
    ),
    (lambda: offer(4, n=6_250_000)[0], {}),
    (lambda: offer("auto", n=500_000)[0], {"outputs": "which would take 1.3 GB for 64 models"}),
    (lambda: (len(offer(is_recipe=True)[0]), offer(is_recipe=True)[3]), (len(_case.ACCESS), set())),
    # Rows that are held back for validation, by the parameter that says so.
    (lambda: describe_held_back(train_split=len), ["train_split"]),
    (lambda: describe_held_back(train_split=NS(keywords={})), []),
    (lambda: describe_held_back(train_split=partial(len, valid_ds=3)), []),
    (
        lambda: describe_held_back(get_params=lambda deep: {"eval_fraction": 0.1}),
        ["eval_fraction"],
    ),
    (lambda: describe_held_back(get_params=lambda deep: {"eval_fraction": None}), []),
    (lambda: describe_held_back(validation_fraction=0.1, early_stopping=True), ["early_stopping"]),
    (lambda: describe_held_back(validation_fraction=0.1, early_stopping="auto"), []),
    (
        lambda: describe_held_back(
            validation_fraction=0.1, early_stopping="auto", do_early_stopping_=True
        ),
        ["early_stopping"],
    ),
    (lambda: describe_held_back(validation_fraction=None, early_stopping=True), []),
    (
        lambda: describe_held_back(validation_fraction=0.1, n_iter_no_change=3),
        ["n_iter_no_change"],
    ),
    (lambda: describe_held_back(validation_fraction=0.1, n_iter_no_change=None), []),
]


# -- what an audit is given


def prepare(victim=None, stored=False, membership=None, y=(0, 1, 0, 1)):
    """Return the victim, its members and the notes, of a victim that is trained on members."""
    fields = {"outputs": Outputs(array([[0.5, 0.5]] * 4), [0, 1])} if stored else {}
    records = Records(np.arange(4.0).reshape(-1, 1), array(y), **fields)
    drawn = []
    parts = {
        "draw_members": lambda records, strata, rng: drawn.append(strata) or array([1, 0, 0, 1]),
        "train_victim": lambda victim, records, members, seed, params: (seed, params),
        "check_membership": lambda membership, n: [*membership, n],
    }
    with mock.patch.multiple(_case, **parts):
        call = lambda: _case.prepare_victim(victim, records, membership, 5, "params")  # noqa: E731
        refusal = tell_refusal(call)
        if refusal is not None:
            return refusal[:55]
        found, members, notes = call()
    told = found if isinstance(found, tuple) else type(found).__name__
    return told, members, [one.partition(". ")[0][-44:] for one in notes], bool(drawn)


def query_again(stored, *, is_recipe=False, error=None):
    """Return the outputs that are attacked, beside stored ones, and the number of notes."""
    records = Records(np.zeros((2, 1)), array([0, 1]))
    records = records if stored is None else records.with_fields(outputs=stored)

    def ask(given, model):
        if error is not None:
            raise error
        return given.with_fields(outputs=Outputs(array([[0.25, 0.75]] * 2), [0, 1]))

    with (
        mock.patch.object(Records, "with_outputs", ask),
        mock.patch.object(_case, "is_recipe", lambda victim: is_recipe),
    ):
        call = lambda: _case.query_prepared("victim", records)  # noqa: E731
        refusal = tell_refusal(call)
        if refusal is not None:
            return refusal.partition(":")[0]
        queried, notes = call()
    return queried["outputs"].values[0].tolist(), len(notes)


def choose_records(**given):
    usual = dict.fromkeys(("records", "membership", "train", "held_out"))
    call = lambda: _case.choose_records(**usual | given)  # noqa: E731
    refusal = tell_refusal(call)
    if refusal is not None:
        return refusal[:48]
    records, membership = call()
    return len(records), None if membership is None else membership.astype(int).tolist()


def check_pooling(**given):
    usual = {"shadows": "auto", "checkpoint": None, "time_budget": None}
    with mock.patch.object(_case, "check_pool_settings") as checked:
        found = tell_refusal(lambda: _case._check_pooling(**usual | given, n_jobs=3))
    checked.assert_called_once_with("audit", n_jobs=3)
    return found and found[:30]


def draw_seeds(random_state):
    found = _case._draw_seeds(random_state)
    drawn = np.random.RandomState(4).randint(2**31 - 1, size=6).tolist()
    return [*found], found["random_state"], [*found.values()][1:] == drawn


def find_unknown_of(**given):
    outputs = NS(**given, label_index=mock.Mock())
    with mock.patch.object(_left_out, "find_unknown_labels", lambda *given: "unknown"):
        found = _left_out._find_unknown(FakeRecords(outputs), "members")
    return found, outputs.label_index.called


class FakeRecords(dict):
    def __init__(self, outputs):
        super().__init__(outputs=outputs)
        self.y = "y"


PLAIN = Records(np.zeros((2, 1)), array([0, 1]))
SHARES = Outputs(array([[0.25, 0.75]] * 2), [0, 1])
SIDE = (array([[1.0]]), array([0]))


def describe_state(stores=(), changes=(), error=None, strengths=None):
    """Return what a file stores and what would change it, of an inspection that may fail."""
    attacks = ["x"], ["y", "z"], []

    class Case:
        @property
        def inspection(self):
            if error is not None:
                raise error
            triples = zip(stores, changes, attacks, strict=False)
            return NS(findings=[NS(stores=a, changes=b, attacks=c) for a, b, c in triples])

    with mock.patch.object(_file, "_describe_service", lambda case: "service"):
        return [*_file._describe_state(Case(), strengths).values()]


def describe_service(n_answers, why=None):
    parts = {
        "count_coefficients": lambda request, queried: (n_answers, None),
        "why_no_densities": lambda model: why,
    }
    with mock.patch.multiple(_file, **parts):
        return _file._describe_service(NS(request=NS(model="m"), queried="q")).partition(", ")[2]


def find_left_out(unknown=None, weightless=None):
    """Find the records that are left out of three members and three others."""
    seen = []

    def find(victim, queried, membership, lost):
        seen.append(lost if isinstance(lost, slice) else lost.tolist())
        return weightless

    membership = np.arange(6) < 3
    parts = {"_find_unknown": lambda queried, membership: unknown, "find_weightless": find}
    with mock.patch.multiple(_left_out, **parts):
        call = lambda: _left_out.find_left_out("victim", "queried", membership)  # noqa: E731
        refusal = tell_refusal(call)
        found = refusal or call()
    return (tuple(found) if found and found is not refusal else found), seen[-1]


def left(*kept, fitted=(), name="a"):
    found = NS(kept=array(kept), fitted=array(fitted, dtype=int))
    found.describe, found.count = (lambda: [f"note {name}"]), (lambda: {name: 6 - len(kept)})
    return found


def leave_out_columns():
    """Leave out the column that a model was not trained on, and say so."""
    X = pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, 0.0], "c": [1.0, 2.0]})
    kept, told = _case.leave_out_columns(Ridge().fit(X[["c", "a"]], [0, 1]), Records(X, [0, 1]))
    return sorted(kept.X.columns), told


def ask_victim(error=None):
    """Query a victim for all records, for which memory may not suffice."""

    class Some(Records):
        def with_outputs(self, victim):
            if error is not None:
                raise error
            return f"answers of {victim}"

    return _case._query_victim("victim", Some(np.zeros((1200, 1))))


def replace_idle(*idle):
    """Return the attacks of another case, in place of which its own run where some cannot."""
    parts = {"_make_offer": lambda request: "offer"}
    parts["why_not"] = lambda attack, offer: f"{offer} lacks it" if attack in idle else None
    with mock.patch.multiple(_case, **parts):
        case = NS(request="request", attacks={"own": 9, "a": 8})
        return _case.replace_idle_attacks({"a": 1, "b": 2}, case)


def refuse_own_pool(found, n_signals=1):
    """Return the refusal of a pool in which the victim is the model of this number."""
    answers = NS(signals=np.zeros((4, n_signals, 3)))
    answers.victim_values = lambda victim, queried: f"values of {queried}"
    answers.find_victim = lambda values, queried: found if values == "values of q" else None
    refusal = tell_refusal(lambda: _run._refuse_own_pool(NS(queried="q"), answers))
    return refusal and refusal[:56]


def run_file_attack(error=None, ledger=("a", "b"), access="proba"):
    """Attack a file; return the facts, notes and scores that are found."""

    def fit(case):
        warnings.warn("It  is\nslow.", stacklevel=1)
        warnings.warn("It is slow.", stacklevel=1)
        if error is not None:
            raise error
        return attack, "scores", {"n_rows": 7, "outsiders": 0.5}

    frame = pd.DataFrame({"part": ledger})
    attack = NS(ledger_=frame, expected_auc_=0.7, left_out_="left")
    parts = {
        "needs_of": lambda attack: NS(access={access}),
        "_describe_state": lambda case, found="": {"stores": ["rows"], "changes": [*found]},
        "_list_strengths": lambda attack, sources: sources,
        "fit_file_attack": fit,
        "_measure_file_attack": lambda *given: NS(numbers=given[2], permutation="permutation"),
        "_list_part_results": lambda case, attack: ["source"],
        "find_obstacle": lambda case, attack, severe, seconds: f"severe: {severe}",
        "is_severe": lambda numbers: numbers == "scores",
        "_list_unread_parts": lambda left: [f"note on {left}"],
        "_OF_A_SERVICE": {"proba"},
    }
    case = NS(records=range(9), membership=np.arange(9) < 4, attacks={"x": 1, "y": 2})
    with mock.patch.multiple(_file, **parts):
        found = _file._run_file_attack(case)
    return found.facts, found.notes, found.scores, found.attack is attack, len(found.results)


def make_pool(shadows="auto", kind="proba", checkpoint=None):
    """Return with which parameters a pool is trained for an audit."""
    names = "model", "batched", "n_jobs", "shadow_seed", "verbose", "fit_params"
    request = NS(**dict(zip(names, names, strict=True)), shadows=shadows, checkpoint=checkpoint)
    request.chooses_size, request.outputs = shadows == "auto", NS(kind=kind)
    parts = {
        "ShadowPool": lambda model, **settings: (model, settings),
        "settings_of_pool": lambda keeps: {"store": keeps},
    }
    with mock.patch.multiple(_case, **parts):
        model, settings = _case.make_pool(request, "keeps")
    same = [settings.pop(name) for name in ("batched", "n_jobs", "verbose", "fit_params")]
    assert (model, same) == ("model", ["batched", "n_jobs", "verbose", "fit_params"])
    assert (settings.pop("random_state"), settings.pop("store")) == ("shadow_seed", "keeps")
    return [*settings.values()]


def refuse_attacks(attacks):
    return tell_refusal(lambda: _case.choose_attacks(attacks, None))


CLASS_OF_ATTACKS = "The attack LiRA is a class, not an instance: write LiRA(...)."
FACTS = {"n_records": 9, "n_members": 4, "answers_only": True, "n_rows": 7, "outsiders": 0.5}
FACTS |= {"reason": None, "expected_auc": 0.7, "sources": ["source"], "stores": ["rows"]}
FACTS |= {"ledger": [{"part": "a"}, {"part": "b"}], "changes": ["source"]}
FACTS |= {"obstacle": "severe: True"}
NO_FACTS = {"n_rows": None, "outsiders": None, "expected_auc": None, "sources": [], "ledger": []}
NO_FACTS |= {"changes": []}
FIRST_REASON, SECOND_REASON = _left_out._REASONS
STORED = StoredAnswers("proba")
GIVEN = [
    # A pool that grows keeps its models, unless they are kept in a folder.
    (make_pool, [SIZES[0], "auto", None, True]),
    (lambda: make_pool(16), [16, "auto", None, False]),
    (lambda: make_pool(checkpoint="f"), [SIZES[0], "auto", "f", False]),
    (lambda: make_pool(kind="label")[1], "label"),
    (lambda: refuse_attacks(LiRA), CLASS_OF_ATTACKS),
    (
        lambda: refuse_attacks(3)[-60:],
        'must be "default" or map names to unfitted attacks; got int.',
    ),
    (lambda: refuse_attacks({"a": LiRA}), CLASS_OF_ATTACKS),
    (lambda: refuse_attacks({"a": Ridge()})[-31:], "; got Ridge under the name 'a'."),
    (lambda: refuse_attacks({"a": LiRA(variance="odd")})[:24], "The 'variance' parameter"),
    (lambda: sorted(_case.choose_attacks({"a": LiRA(), 3: ThresholdAttack()}, None)), ["3", "a"]),
    (ask_victim, "answers of victim"),
    (
        lambda: tell_refusal(lambda: ask_victim(MemoryError())),
        "The model could not answer for all 1,200 records: memory did not suffice. Audit a random "
        "sample of the records of both sides.",
    ),
    (lambda: tell_refusal(lambda: ask_victim(KeyError("odd"))), "'odd'"),
    (replace_idle, {"a": 1, "b": 2}),
    (lambda: replace_idle(2), {"own": 9, "a": 1}),
    (lambda: replace_idle(1, 2), {"own": 9, "a": 8}),
    (lambda: refuse_own_pool(None), None),
    (lambda: refuse_own_pool(0), "shadows: shadow model 0 of the pool is the model to audit"[:56]),
    (lambda: refuse_own_pool(3, n_signals=2), None),
    (
        run_file_attack,
        (FACTS, ["It is slow.", "note on left"], "scores", True, len("scores")),
    ),
    (lambda: run_file_attack(access="file")[0]["answers_only"], False),
    (
        lambda: run_file_attack(ValueError("It is odd.")),
        (
            FACTS | NO_FACTS | dict.fromkeys(("reason", "obstacle"), "It is odd."),
            *([], None, False, 0),
        ),
    ),
    (
        leave_out_columns,
        (["a", "c"], ["Columns on which the model was not trained are left out: 'b'."]),
    ),
    (lambda: tell_refusal(lambda: STORED.fit(1))[:33], "Stored answers cannot be trained;"),
    (lambda: tell_refusal(lambda: STORED.predict(1))[:28], "Stored answers cannot answer"),
    (
        lambda: describe_state(["rows", "sums", "rows"], [["a", "b"], [], ["b", "c"]]),
        [["rows", "sums"], ["a", "b", "c", "service", *_file._ALWAYS]],
    ),
    # What the strongest attack reads is changed first.
    (
        lambda: describe_state(["a", "b", "c"], [["1"], ["2"], ["3"]], None, {"z": 0.9, "x": 0.4}),
        [["a", "b", "c"], ["2", "1", "3", "service", *_file._ALWAYS]],
    ),
    (lambda: describe_state(error=OSError()), [[], ["service", *_file._ALWAYS]]),
    (lambda: describe_service(0), "the model only reveals its answers."),
    (lambda: describe_service(1200, "odd")[:46], "1,200 exact answers give the coefficients of t"),
    (lambda: describe_service(1, "odd")[:42], "1 exact answer gives the coefficients of t"),
    (lambda: describe_service(1200)[:44], "all answers together give the coefficients o"),
    # Records of unknown classes are left out, and those of weight 0, which are not counted twice.
    (find_left_out, (None, slice(0))),
    (
        lambda: find_left_out(left(0, 1, 2, 3, fitted=[4])),
        (([0, 1, 2, 3], [4], ["note a"], {FIRST_REASON: {"a": 2}}), [4, 5]),
    ),
    (
        lambda: find_left_out(None, left(1, 2, 3, 4, 5, fitted=[0])),
        (([1, 2, 3, 4, 5], [0], ["note a"], {SECOND_REASON: {"a": 1}}), slice(0)),
    ),
    (
        lambda: find_left_out(
            left(0, 1, 2, 3, 4, fitted=[1]), left(1, 2, 3, 4, 5, fitted=[0], name="b")
        )[0],
        (
            *([1, 2, 3, 4], [0], ["note a", "note b"]),
            {FIRST_REASON: {"a": 1}, SECOND_REASON: {"b": 1}},
        ),
    ),
    *(
        (
            lambda one=one, other=other: find_left_out(left(*one), left(*other))[0],
            "Of the classes that the model knows, no members or no non-members have a sample "
            "weight above 0.",
        )
        for one, other in (((0, 3, 4), (1, 2, 3, 4)), ((0, 1, 3), (0, 4, 5)))
    ),
    (lambda: [request().has_own_recipe, request(victim=Ridge()).has_own_recipe], [False, True]),
    (lambda: request(estimator=Ridge()).has_own_recipe, True),
    (lambda: request(victim=Ridge(), estimator=Ridge()).has_own_recipe, True),
    (lambda: request().model is FITTED, True),
    (lambda: type(request(estimator=Ridge()).model).__name__, "Ridge"),
    (
        lambda: prepare(FITTED, membership=[1, 0, 1, 0]),
        ("DecisionTreeClassifier", [1, 0, 1, 0, 4], [], False),
    ),
    (lambda: prepare(FITTED), "membership is required if the victim is fitted: it says"),
    (
        lambda: prepare(Ridge()),
        (
            (5, "params"),
            [1, 0, 0, 1],
            ["this audit, on a random half of the records."],
            True,
        ),
    ),
    (
        lambda: prepare(Ridge(), membership=[1, 0, 1, 0]),
        (
            (5, "params"),
            [1, 0, 1, 0, 4],
            [" was trained for this audit, on the members."],
            False,
        ),
    ),
    (
        lambda: prepare(Ridge(), True, [1, 0, 1, 0])[:2],
        ("Ridge", [1, 0, 1, 0, 4]),
    ),
    (lambda: len(prepare(Ridge(), True, [1, 0, 1, 0])[2]), 1),
    (lambda: prepare(Ridge(), True), "The records hold stored predictions (field 'outputs') a"),
    (lambda: prepare(None, True, [1, 0, 1, 0])[:2], ("StoredAnswers", [1, 0, 1, 0, 4])),
    (lambda: query_again(None), ([0.25, 0.75], 0)),
    (lambda: query_again(SHARES), ([0.25, 0.75], 0)),
    (lambda: query_again(Outputs(array([[0.5, 0.5]] * 2), [0, 1])), ([0.25, 0.75], 1)),
    (
        lambda: query_again(Outputs(array([[0.5, 0.5]] * 2), [0, 1]), is_recipe=True),
        ([0.5, 0.5], 0),
    ),
    (lambda: query_again(None, error=KeyError("odd")), "'odd'"),
    (
        lambda: query_again(None, error=MemoryError()),
        "The model could not answer for all 2 records",
    ),
    (lambda: choose_records(records=PLAIN, membership=array([1, 0])), (2, [1, 0])),
    (lambda: choose_records(records=PLAIN), (2, None)),
    (lambda: choose_records(train=SIDE, held_out=SIDE), (2, [1, 0])),
    (lambda: choose_records(), "audit needs the data that is audited: write audi"),
    (lambda: choose_records(records=3), "records must be skmia.Records; got int. Write au"),
    (
        lambda: choose_records(records=PLAIN, train=SIDE),
        "The data were given twice, as records and as sid",
    ),
    (
        lambda: choose_records(membership=1, train=SIDE),
        "The data were given twice, as records and as sid",
    ),
    (lambda: choose_records(held_out=SIDE), "train is missing: the records that the model was"),
    (lambda: choose_records(train=SIDE), "held_out is missing: the records that the model "),
    (lambda: check_pooling(), None),
    (lambda: check_pooling(time_budget=0.5), None),
    (lambda: check_pooling(time_budget=0), "time_budget must be None or a "),
    (lambda: check_pooling(time_budget=5, shadows=8), "time_budget limits the number "),
    (lambda: check_pooling(checkpoint="a", shadows=8), None),
    (lambda: check_pooling(checkpoint="a", shadows=NS()), "checkpoint is the folder of sh"),
    (
        lambda: draw_seeds(4),
        (
            ["random_state", "shadows", "attacks", "baseline", "victim", "checks", "agreement"],
            4,
            True,
        ),
    ),
    (lambda: draw_seeds(np.random.RandomState(4))[1:], (None, True)),
    (lambda: find_unknown_of(), (None, False)),
    (lambda: find_unknown_of(classes=None), (None, False)),
    (lambda: find_unknown_of(classes=[0, 1]), (None, True)),
    (
        lambda: tell_refusal(lambda: _case.choose_attacks("all", None)),
        "attacks must be \"default\" or map names to unfitted attacks; got 'all'.",
    ),
    (lambda: tell_refusal(lambda: _case.choose_attacks(3, None))[-8:], "got int."),
    (
        lambda: tell_refusal(lambda: _case.choose_attacks({}, None)),
        "attacks must name at least one attack; got none.",
    ),
    (lambda: [*_case.choose_attacks({7: LiRA()}, None)], ["7"]),
    (
        lambda: tell_refusal(lambda: _case.choose_attacks({"a": LiRA(), "b": Ridge()}, None))[-29:],
        "got Ridge under the name 'b'.",
    ),
]


def test_controls_of_a_file_by_hand():
    expect_answers(FILE)


def test_budgets_by_hand():
    expect_answers(BUDGETS)


def test_pages_and_folders_by_hand():
    expect_answers(SAVED)


def test_unknown_labels_by_hand():
    expect_answers(UNKNOWN)


def test_costs_by_hand():
    expect_answers(COSTS)


def test_circumstances_of_audits_by_hand():
    expect_answers(OF_AUDITS)


def test_cases_by_hand():
    expect_answers(OF_CASES)


def test_plans_by_hand():
    expect_answers(PLANS)


def test_what_an_audit_is_given_by_hand():
    expect_answers(GIVEN)
