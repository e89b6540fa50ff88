"""Parts of the report that few audits reach, with answers by hand or from other formulas."""

from collections import namedtuple
from dataclasses import make_dataclass
from types import SimpleNamespace as NS
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, inf, nan
from scipy import sparse, stats
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

from skmia import Outputs, Records
from skmia._core.progress import StageStep
from skmia.attacks import RMIA, LiRA, StationarityAttack, ThresholdAttack
from skmia.exceptions import CheckpointError
from skmia.report import (
    _audit,
    _case,
    _comparison,
    _comparison_words,
    _cost,
    _evidence,
    _examine,
    _file,
    _pace,
    _page,
    _release,
    _report,
    _row_count,
    _rows_used,
    _run,
    _surrogate,
    _validation_rows,
    _verdict,
)
from skmia.report import _sides as sides
from skmia.report.agreement import (
    _answered_rows,
    _file_questions,
    _row_question,
    _skill_questions,
)
from skmia.report.checks import _baseline, _duplicates, _formats, _sides
from skmia.report.checks._base import Check
from skmia.report.checks._sides import CAUSES
from skmia.shadow import ShadowPool
from skmia.synthetic import excess_risk
from skmia.victims import CallableVictim


def proba(*values):
    return Outputs(array([[1 - one, one] for one in values]), [0, 1])


def score_side(outputs, y):
    records = Records(np.zeros((len(y), 1)), array(y)).with_fields(outputs=outputs)
    case = NS(queried=records)
    return _validation_rows._measure_validation_side(case, np.arange(len(y)))


def bound(attack, control, level=0.95):
    row = {"estimate": 0.375, "attack": attack, "control": control, "n_attacks": 20.0}
    row |= {"n_controls": 40.0, "low": 0.25, "high": 0.625}
    return [*_release._bound_excess(0.95, row, level)]


def say_undeclared(error, victim=None):
    return _run._say_undeclared(error, LogisticRegression() if victim is None else victim)


def describe_foreign(n_missing, share, n_distinct, part):
    one = NS(n_missing=n_missing, share=share, n_distinct=n_distinct, part=part)
    return _file_questions._is_foreign_column(one, 100)


def read_stored(*rows):
    found = _formats._describe_stored(sparse.csr_array(array(rows)))
    return {one.kind: one.values for one in found}


def describe_times(values, kinds):
    column = pd.Series(pd.to_datetime(values, utc=True, format="ISO8601")).dt.as_unit("ms")
    found = dict(_formats._describe_times(column, None))
    return {kind: found[kind].ravel() for kind in kinds}


def choose_known(shape, n):
    rng = np.random.default_rng(0)
    rows = _duplicates._choose_known(NS(shape=shape), array([1, 3]), rng)
    return bool(np.isin([1, 3], rows).all() and n <= len(rows) <= n + 2)


def is_turned(what, members, others):
    return _sides._is_turned((what, array(members, dtype=float), array(others, dtype=float)))


# A fit on 100 records takes 10 seconds, and 20 answers half a second.
PACE = _pace.ModelPace(10.0, 0.5, 100, 20, 2.0, 3.0)


def audit_size(model=None, **changed):
    usual = {"model": RandomForestClassifier() if model is None else model, "n_records": 400}
    usual |= {"n_columns": 5, "n_classes": 3, "n_shadows": 8, "may_grow": False, "has_file": True}
    usual |= {"alone": {"known": NS(seconds=2.0, n_fits=0), "a": None}, "n_workers": 2}
    usual |= {"pooled": {"b": 2.0, "c": 0.0}, "table": _pace.TableSize(400, 2000, 16_000)}
    return _pace.AuditSize(**(usual | changed))


def alone(name, cost=None):
    return _pace._expect_alone(name, cost, audit_size(), PACE)


def expect_audit(**changed):
    return _pace.expect_audit(audit_size(**changed), PACE)


def expect_checks(took=None, **changed):
    return _pace._expect_checks(audit_size(**changed), PACE, 50.0, took or {})


def expect_file(model, **changed):
    return _pace._expect_file(audit_size(model, **changed), PACE)


def size_up(model=None, shape=(4, 2), **changed):
    model = RandomForestClassifier() if model is None else model
    usual = {"n_classes": 3, "shadows": "auto", "n_jobs": 1, "file": True}
    return _pace.size_up(model, Records(np.zeros(shape), [0, 1, 0, 1]), **(usual | changed))


def size_up_case(victim="victim", classes=("a", "b"), file=True, holds_file=True):
    """Return what the size of an audit is computed of."""
    plan = NS(attacks="able")
    parts = {
        "leave_out_costly": lambda case, made, pace: plan if (made, pace) == ("plan", 3) else None,
        "make_plan": lambda *given: "plan" if given == ("all", request, "records") else None,
        "size_up": lambda *given, **settings: (*given, settings),
        "is_recipe": lambda victim: victim == "recipe",
        "has_file": lambda victim: holds_file,
        "expect_alone": lambda attacks, case: f"costs of {attacks}",
    }
    outputs = NS(classes=classes) if classes else None
    request = NS(model="m", outputs=outputs, shadows=8, n_jobs=2, victim=victim)
    case = NS(request=request, attacks="all", records="records", file=file, time_budget=60)
    with mock.patch.multiple(_pace, **parts):
        return _pace._size_up_case(case, 3)


def expect_pooled(divisor):
    """Return the seconds that an attack says it takes, or cannot say."""
    attack = NS(needs=None, expect_cost=lambda records: NS(seconds=records / divisor))
    return _pace._expect_pooled(attack, 3.0)


def refuse_pool(shadows, trains_pool=True, chooses_size=False):
    request = NS(shadows=shadows, trains_pool=trains_pool, chooses_size=chooses_size)
    return tell_refusal(lambda: _case._check_pool(request, None))


def fitted(outputs, y):
    request, members = NS(outputs=outputs), array([True, True, False])
    return NS(request=request, records=NS(y=array(y)), membership=members)


def named_labels(*labels):
    return Outputs(array(labels), ["a", "b"], "label")


def light_case(n, victim=None, model=None):
    victim, model = (Ridge() if one is None else one for one in (victim, model))
    records = NS(X=np.broadcast_to(0.0, (n, 1)))
    return NS(records=records, victim=victim, request=NS(model=model))


MEMBERS = array([True, True, True, False, False, False])


def measure_exposed(leverage):
    """Measure among candidates, of which the last two are not among the records."""
    part = NS(leverage_=array(leverage + [9.0] * 2 if len(leverage) > 2 else leverage))
    case = NS(candidates=range(8), membership=MEMBERS)
    scores = array([5.0, 2.0, 9.0, 3.0, 9.0, 1.0])
    return _file._measure_exposed(case, part, scores)


def part_results():
    """Tabulate three parts, of which the first is told the values that are found."""
    scores = array([5.0, 2.0, 9.0, 3.0, 4.0, 1.0, 7.0, 7.0])
    found = NS(index=array([0, 2, 3]))
    parts = {
        "stored values": NS(score_samples=lambda records: scores, found_=found, misfit_=0.5),
        "stored values in a": NS(score_samples=lambda records: -scores, found_=found),
        "moments in b in c": NS(score_samples=lambda records: scores, n_equations_=7),
    }
    case = NS(candidates=range(8), membership=MEMBERS)
    return [
        (one["name"], one["path"], one["auc"], one["hits"], one["misfit"], one["n_equations"])
        for one in _file._list_part_results(case, NS(parts_=parts))
    ]


PART_RESULTS = [
    ("stored values", "", 7 / 9, {"members": 2 / 3, "nonmembers": 1 / 3}, 0.5, None),
    ("stored values", "a", 2 / 9, None, None, None),
    ("moments", "b in c", 7 / 9, None, None, 7),
]


def find_obstacle(part="a", expected=0.7, has_found=False, seconds=0.0, error=None):
    ledger = pd.DataFrame({"place": ["p"], "part": [part], "size": [2]})
    parts = {"a": NS(expected_auc_=expected)}
    attack = NS(ledger_=ledger, expected_auc_=expected, parts_=parts)

    def control(case):
        if error is not None:
            raise error
        return "As strong."

    given = {"_control": control, "make_budget": lambda case: NS(seconds=10.0)}
    given["enter_stage"] = lambda stage: None
    with mock.patch.multiple(_file, **given):
        return _file.find_obstacle(None, attack, has_found, seconds)


def case_of(victim, allowed=1e9):
    records = Records(np.zeros((100, 5)), np.zeros(100))
    return NS(victim=victim, records=records, max_bytes=allowed, bytes_allowed=allowed)


forest = NS(estimators_=[NS(get_depth=lambda k=k: k) for k in (2, 4, 6, 8, 10, 90)])


def expect_bytes(name, stage, allowed=1e9, **changed):
    usual = {"n_records": 100, "n_classes": 3, "n_shadows": 4, "may_grow": True, "n_workers": 2}
    return _cost._expect_bytes(name, stage, case_of(forest, allowed), NS(**(usual | changed)))


def repeated(moved, turned):
    return _answered_rows.AnswerRepetition(moved, turned)


def rows_of(kind, classes):
    outputs = NS(kind=kind, classes=classes)
    return _answered_rows.AnsweredRows(None, None, None, None, None, outputs, None)


def unlisted(excess, is_drawn, n_members):
    n_listed = n_members + 70
    count = _row_count.RowCount(n_listed + excess, n_members, n_members, is_drawn, n_listed)
    return count.n_unlisted


def features_of(X):
    records = Records(X, np.arange(len(X)) % 2)
    rows = _answered_rows.AnsweredRows(None, None, records, None, None, None, None)
    return rows.features


def repeat(first, second, predicted=None, others=None):
    given = [
        NS(values=array(values, dtype=float), predicted=None if labels is None else array(labels))
        for values, labels in ((first, predicted), (second, others))
    ]
    return tuple(_answered_rows.measure_repetition(*given))


def answered(model, inside=None):
    case = NS(seeds={"agreement": 0})
    return _answered_rows.AnsweredRows(case, None, None, inside, None, None, model)


MET = NS(features=np.random.default_rng(0).normal(size=(40, 3)), units=np.arange(40) // 2)
ANSWERED = MET.features[:, 0] + 0.5 * np.random.default_rng(1).normal(size=40)


def follow_rows():
    one = _row_question._make_set(MET, np.arange(40))
    return float(_row_question.measure_following(one, ANSWERED))


def follow_dense():
    """Compute the same with dense matrices, a loop over rows for neighbors, and scipy's ranks."""
    columns = stats.zscore(stats.rankdata(MET.features, axis=0))
    ranks = stats.rankdata(ANSWERED)
    away = np.linalg.norm(columns[:, None] - columns, axis=2) + 1e9 * np.eye(40)
    near = array([ranks[np.argsort(row)[:10]].mean() for row in away])
    hat = columns @ np.linalg.solve(columns.T @ columns + 3 * np.eye(3), columns.T) + 1 / 40
    centered = ranks - ranks.mean()
    straight = centered - (centered - hat @ centered) / (1 - np.diag(hat))
    guesses = near, straight, near - near.mean() + straight
    return float(max(stats.spearmanr(guess, ranks)[0] for guess in guesses))


def cost(may_grow, seconds=(60.0, 180.0)):
    phases = pd.DataFrame(
        {"stage": ["data", "shadow models"], "seconds": seconds, "n_bytes": [3e6, 1e6]},
        index=["reading", "shadow models"],
    )
    return _cost.AuditCost(phases, ["LiRA is left out."], 16, may_grow)


def vary_together():
    columns = array([[0.0, 0.0, 5.0], [1.0, 2.0, 5.0], [2.0, 4.0, 5.0], [3.0, 6.0, 5.0]])
    rows = NS(case=NS(records=NS(y=columns)))
    return np.abs(_answered_rows.AnsweredRows._direction.func(rows))


def read_function(X):
    return X


def is_same(first, second):
    return _audit._is_same_victim(first, second)


ridge, other_ridge = Ridge(), Ridge()
setting = namedtuple("setting", "n_models recipe")
kbest = NS(n_features_in_=4)
named = NS(n_features_in_=3, feature_names_in_=array(["a", "b", "c"]))
row = dict(attack="LiRA", scope="overall", group="all", fpr=0.02, status="ok")
row |= dict(n_members=100, n_nonmembers=80)
interval = {"estimate": 0.25, "low": 0.125, "high": 0.5}

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _audit: [
        (lambda: is_same(ridge, ridge), True),
        (lambda: is_same(ridge, other_ridge), False),
        (
            lambda: is_same(
                CallableVictim(read_function, [0, 1]), CallableVictim(read_function, [0, 1])
            ),
            True,
        ),
        (
            lambda: is_same(
                CallableVictim(read_function, [0, 1]), CallableVictim(vary_together, [0, 1])
            ),
            False,
        ),
        (lambda: is_same(CallableVictim(read_function, [0, 1]), ridge), False),
        (lambda: is_same(ridge, CallableVictim(read_function, [0, 1])), False),
    ],
    _case: [
        (lambda: _case._are_equal(proba(0.25, 0.5), proba(0.25, 0.5 + 1e-7)), True),
        (lambda: _case._are_equal(proba(0.25, 0.5), proba(0.25, 0.5001)), False),
        (lambda: _case._are_equal(proba(0.25), proba(0.25, 0.5)), False),
        (lambda: _case._are_equal(None, proba(0.25)), False),
        (lambda: _case._are_equal(named_labels("b", "a"), named_labels("b", "a")), True),
        (lambda: _case._are_equal(named_labels("b", "a"), named_labels("b", "b")), False),
        # Threads hardly make anything faster of a small table and a model of known packages.
        (lambda: _case._is_light_model(Ridge()), True),
        (lambda: [k for k in range(9) if refuse_pool(k)], [0, 1, 2, 3, 5, 7]),
        (
            lambda: refuse_pool(2),
            'shadows must be "auto", an even number of models from 4 on, or a ShadowPool; got 2.',
        ),
        (lambda: refuse_pool("auto", chooses_size=True), None),
        (lambda: refuse_pool(ShadowPool(Ridge()), trains_pool=False), None),
        (lambda: refuse_pool("a", trains_pool=False)[-8:], "got 'a'."),
        (lambda: _case._is_light_model(Ridge), False),
        (lambda: _case._is_light_model(NS()), False),
        (lambda: _case._is_light_model(CallableVictim(read_function, [0, 1])), False),
        (lambda: _case.is_light(light_case(1 << 18)), True),
        (lambda: _case.is_light(light_case((1 << 18) + 1)), False),
        (lambda: _case.is_light(light_case(4, model=NS())), False),
        (lambda: _case.is_light(light_case(4, victim=NS())), False),
        (lambda: _case._are_equal(proba(0.25).as_labels(), proba(0.25)), False),
        (lambda: _case._are_equal(proba(0.75).as_labels(), proba(0.625).as_labels()), True),
        (lambda: _case._are_equal(proba(0.75).as_labels(), proba(0.375).as_labels()), False),
    ],
    _comparison: [
        (lambda: _comparison._tell_difference(None, setting(8, "a")), "B alone"),
        (lambda: _comparison._tell_difference(setting(8, "a"), None), "A alone"),
        (
            lambda: _comparison._tell_difference(setting(0, "a"), setting(8, "b")),
            "numbers of shadow models: no in A, 8 in B",
        ),
        (
            lambda: _comparison._tell_difference(setting(8, "a"), setting(8, "b")),
            "shadow models of another recipe",
        ),
        (
            lambda: _comparison._tell_difference(setting(8, "a"), setting(8, "a")),
            "other parameters",
        ),
        # The second less the first: .75 - .5, and the distances .1 and .05, .04 and .2 are joined.
        (
            lambda: _comparison._compare_people(
                [{"LiRA": (0.5, 0.45, 0.7)}, {"RMIA": (0.75, 0.65, 0.79)}]
            ),
            (
                "people with all their records",
                "",
                "LiRA / RMIA",
                "auc",
                nan,
                (0.5, 0.45, 0.7),
                (0.75, 0.65, 0.79),
                (0.25, 0.25 - np.hypot(0.1, 0.2), 0.25 + np.hypot(0.04, 0.05)),
                "service",
            ),
        ),
        (
            lambda: _comparison._compare_people([{"a": (0.5, 0.4, 0.6)}, {"a": (0.5, 0.4, 0.6)}])[
                2
            ],
            "a",
        ),
    ],
    _comparison_words: [
        (
            lambda: _comparison_words._tell_not_compared(
                NS(left_out=[("a", "no pool"), ("b", "too few"), ("c", "no pool")], unshared=())
            ),
            ["a and c (no pool)", "b (too few)"],
        ),
    ],
    _cost: [
        # What is read of a file: as much as is allowed, and no more than a gigabyte by default.
        (lambda: _cost._allow_file(NS(max_bytes="auto", bytes_allowed=5e8)), 5e8),
        (lambda: _cost._allow_file(NS(max_bytes="auto", bytes_allowed=5e9)), 1e9),
        (lambda: _cost._allow_file(NS(max_bytes=5e9, bytes_allowed=5e9)), 5e9),
        # Six trees, of which the first five have 2, 4, 6, 8 and 10 levels, and 100 records.
        (lambda: _cost._expect_equations(case_of(forest)), 12.0 * 100 * 6 * 6),
        (lambda: _cost._expect_equations(case_of(NS(estimators_=[Ridge()]))), 12.0 * 100 * 8),
        (
            lambda: _cost._expect_equations(case_of(NS(n_iter_=5, n_trees_per_iteration_=3))),
            12.0 * 100 * 15 * 8,
        ),
        (
            lambda: _cost._expect_equations(
                case_of(NS(get_booster=lambda: NS(num_boosted_rounds=lambda: 7)))
            ),
            12.0 * 100 * 7 * 8,
        ),
        (lambda: _cost._expect_equations(case_of(Ridge())), 0.0),
        (lambda: _cost._list_unread(case_of(forest, 43_200.0), NS(has_file=True)), []),
        (lambda: _cost._list_unread(case_of(forest, 0.0), NS(has_file=False)), []),
        (
            lambda: _cost._list_unread(case_of(forest, 43_199.0), NS(has_file=True))[0][:40],
            "The attack on the file will leave out so",
        ),
        # Of 100 records with 4,000 bytes and answers of 2,400.
        (
            lambda: expect_bytes("shadow models", "shadow models", may_grow=True),
            5e6 + 2 * 4.0 * 100 * 4 + 2 * (2000 + 3 * 2400),
        ),
        (
            lambda: expect_bytes("shadow models", "shadow models", may_grow=False),
            5e6 + 4.0 * 100 * 4 + 2 * (2000 + 3 * 2400),
        ),
        (lambda: expect_bytes("a", "shadow models"), 5e6 + 8.0 * 100 * 10),
        (
            lambda: expect_bytes("a", _cost.AS_FILE),
            5e6 + 3 * 4000 + 4 * 2400 + 43_200,
        ),
        (lambda: expect_bytes("a", _cost.AS_FILE, allowed=5e6), 5e6),
        (lambda: expect_bytes("a", "attacks"), 5e6 + 8.0 * 100 * 10),
        (lambda: expect_bytes("StackedAttack", "attacks"), 5e6 + 8.0 * 100 * 60),
        (lambda: expect_bytes(_cost.REPETITIONS, "checks"), 5e6 + 8.0 * 100 * 100),
        (
            lambda: expect_bytes(_cost.REPETITIONS, "checks", n_records=10**6),
            5e6 + 8.0 * _cost.MOST_REPEATED * 100,
        ),
        (lambda: _cost._list_stage_steps(2, "a")["a"].seconds, 2.0),
        (lambda: _cost._list_stage_steps({"b": StageStep(3.0)}, "a")["b"].seconds, 3.0),
        (lambda: cost(True).seconds, 240.0),
        (lambda: cost(True, (60.0, nan)).seconds, nan),
        (lambda: cost(True).n_bytes, 3e6),
        (lambda: cost(False)._tell_most(), []),
        # 64 models in place of 16 take four times 180 seconds: 60 + 720 in all.
        (
            lambda: cost(True)._tell_most(),
            [
                "Up to 64 shadow models are trained, as long as more of them change the result; "
                "with 64 it is about 13 min."
            ],
        ),
        (lambda: repr(cost(True)), "AuditCost(at least 240 s, 3 MB, 16 shadow models)"),
        (
            lambda: cost(False).summary().splitlines(),
            [
                "phase               time   memory",
                "data: reading       60 s     3 MB",
                "shadow models      180 s     1 MB",
                "",
                "In all about 240 s, 3 MB, 16 shadow models.",
                "LiRA is left out.",
            ],
        ),
    ],
    _file: [
        # Of candidates with a leverage above .1, in sums of all candidates, one of four is below.
        (lambda: measure_exposed([0.2, 0.11, 0.05, 0.3, 0.1, 0.3]), 0.75),
        (lambda: measure_exposed([0.2, 0.11, 0.05, 0.05, 0.1, 0.1]), None),
        (lambda: measure_exposed([0.2, 0.3]), None),
        (lambda: _file._measure_exposed(NS(candidates=range(2)), NS(), None), None),
        (lambda: part_results(), PART_RESULTS),
        # What stands against a conclusion that nothing is there, in the order in which it is asked.
        (lambda: find_obstacle(part=None), "Not read: p (2 numbers)."),
        (lambda: find_obstacle(expected=None)[:42], "It is not known how much a should reveal."),
        (lambda: find_obstacle(has_found=True), _file.NO_CONTROL),
        (lambda: find_obstacle(seconds=5.0), "As strong."),
        (
            lambda: find_obstacle(seconds=5.1),
            "A model of the same recipe was not attacked, which would take as long again as the "
            "attack on the file, 5.1 s.",
        ),
        (
            lambda: find_obstacle(error=ValueError("odd")),
            "A model of the same recipe could not be attacked: odd.",
        ),
        # A part is silent if one of its places does not say what is to be expected.
        (
            lambda: _file._list_silent(
                NS(
                    parts_={
                        "a in x": NS(expected_auc_=None),
                        "b in x": NS(expected_auc_=0.5),
                        "c in x": NS(expected_auc_=0.75),
                        "c in y": NS(),
                    },
                    ledger_={"part": ["c", "b", "a", "c"]},
                )
            ),
            ["c", "a"],
        ),
    ],
    _pace: [
        # What is known of an attack: its seconds on one core, and its fits of 160 seconds each.
        (lambda: alone("a", NS(seconds=2.0, n_fits=3)).seconds, 6.0 + 3 * 160),
        (lambda: alone("AnalyticLiRA", NS(seconds=2.0, n_fits=0)).seconds, 6.0),
        (lambda: alone("AnalyticLiRA").seconds, 100.0),
        (lambda: alone("a"), None),
        (
            lambda: _pace._guess_of_records(audit_size(), PACE, 0.5, 1.0, 100, more=2.0).seconds,
            3 * (2 + 1 + 50.0),
        ),
        (
            lambda: _pace._guess_of_records(audit_size(), PACE, 0.5, 1.0),
            StageStep(3 * (1 + 200.0), _pace._ARITHMETIC),
        ),
        # A shadow model takes 50 seconds, for a fit on 200 records and 400 answers.
        (
            lambda: [*expect_audit()[_pace.OPENING].values()],
            [10.0, 10.5],
        ),
        (lambda: [*expect_audit(model=Ridge())[_pace.OPENING].values()], [10.0, 21.0]),
        (lambda: expect_audit()[_pace.SHADOWS], StageStep(200.0, n_parts=8, most_parts=0)),
        (
            lambda: expect_audit(model=MLPClassifier(), may_grow=True)[_pace.SHADOWS],
            StageStep(100.0, n_parts=8, most_parts=_pace.SIZES[-1]),
        ),
        (lambda: expect_audit(has_file=False)[_pace.AS_FILE], 0.0),
        (
            lambda: [one.seconds for one in expect_audit()[_pace.ATTACKS].values()],
            [6.0, 3 * (0.01 + 1.5e-6 * 400)],
        ),
        (
            lambda: [one.seconds for one in expect_audit()[_pace.ALONE].values()],
            [6.0, 3 * (0.01 + 1.5e-6 * 400)],
        ),
        # Checks: those that say what they take of each record, and what is done again.
        (
            lambda: expect_checks()["repetitions"].seconds,
            3 * (0.09 + 2e-5 * 400),
        ),
        (
            lambda: expect_checks(alone={"AnalyticLiRA": NS(seconds=11.0)})["repetitions"].seconds,
            3 * (11 + 0.09 + 2e-5 * 400),
        ),
        (
            lambda: expect_checks(n_records=10**6)["repetitions"].seconds,
            3 * (0.09 + 2e-5 * 200_000),
        ),
        (lambda: expect_checks()["drift"].seconds, 2 * (10.0 + 5.0)),
        (
            lambda: expect_checks(n_records=10**6)["drift"].seconds,
            2 * (PACE.fit_on(_pace.MOST_OF_DRIFT / 4) + PACE.answer_on(_pace.MOST_OF_DRIFT / 2)),
        ),
        (lambda: expect_checks(model=CallableVictim(read_function, [0, 1]))["drift"].seconds, 0.0),
        (lambda: expect_checks()["beyond the shift"], StageStep(5 * 50.0, is_certain=False)),
        (
            lambda: (
                expect_checks({"a": 7.0, "b": 9.0, "x": 99.0, "file": 4.0})[
                    "beyond the shift"
                ].seconds
            ),
            5 * (50 + 9 + 2.0),
        ),
        (
            lambda: (
                expect_checks({"known": 7.0, "file": 4.0}, has_file=False)[
                    "beyond the shift"
                ].seconds
            ),
            5 * (50 + 7.0),
        ),
        (
            lambda: [
                expect_checks()[check.part]
                == _pace._guess_seconds(PACE, _pace.expect_check(check, audit_size().table).seconds)
                for check in _pace.EACH_CHECK
                if check.record_seconds is not None
            ],
            [True] * sum(check.record_seconds is not None for check in _pace.EACH_CHECK),
        ),
        # Reading a file, by what it holds; 3 * .07 seconds are for anything.
        (lambda: expect_file(NS(tree_=1, get_n_leaves=lambda: 7)), 0.21 + 3.9e-10 * 14**3),
        (lambda: expect_file(NS(tree_=1, get_n_leaves=lambda: 300)), 0.21 + 3.9e-10 * 400**3),
        (
            lambda: expect_file(NS(tree_=1, get_n_leaves=lambda: 7), n_classes=1),
            0.21 + 3.9e-10 * 7**3,
        ),
        (lambda: expect_file(RandomForestClassifier()), 0.21 + 50 * 10.0),
        (lambda: expect_file(MLPClassifier()), 0.21 + 3e-7 * 3 * 2000),
        (lambda: expect_file(GaussianNB()), 0.21 + 3e-7 * 5 * 400 * 5),
        (
            lambda: expect_file(LogisticRegression()) - 0.21 - 3e-7 * 3 * 2000,
            3
            * StationarityAttack.expect_seconds(
                6 * 2, 400, _pace.AuditBudget(np.inf, 8 * 50 / 3).seconds
            ),
        ),
        (
            lambda: _pace._expect_file_stage(audit_size(MLPClassifier()), PACE),
            {
                "file": StageStep(0.2118, _pace._READING),
                "control of the file": StageStep(0.2118 + 40.0, _pace._READING, is_certain=True),
            },
        ),
        (
            lambda: _pace._expect_file_stage(
                audit_size(RandomForestClassifier(), n_records=40_000), PACE
            )["control of the file"],
            StageStep(
                (0.21 + 50 * 1000) / 10 + PACE.fit_on(20_000), _pace._READING, is_certain=False
            ),
        ),
        (lambda: _pace._count_of_control(audit_size(n_records=3999)), 3999),
        (lambda: _pace._count_of_control(audit_size(n_records=9999)), 4000),
        (lambda: _pace._count_of_control(audit_size(n_records=9999, n_columns=201)), 4020),
        # The size of an audit, with the default attacks or with others.
        (lambda: size_up()[3:7], (3, _pace.SIZES[1], True, True)),
        (lambda: size_up(time_budget=5.0).n_shadows, _pace.SIZES[0]),
        (lambda: size_up(shadows=6, file=False)[3:7], (3, 6, False, False)),
        (lambda: size_up(shadows=np.int64(6)).n_shadows, 6),
        (lambda: size_up(shadows=object()).n_shadows, 0),
        (lambda: (size_up()[1:3], size_up(shape=(4, 2, 3))[1:3]), ((4, 2), (4, 1))),
        (lambda: ([*size_up().alone], [*size_up().pooled]), ([], ["StackedAttack"])),
        (lambda: size_up(LogisticRegression()).alone, {"AnalyticLiRA": None}),
        (
            lambda: size_up(attacks=dict.fromkeys("tu", ThresholdAttack()), costs={"u": 3})[4:9],
            (0, False, True, {"t": None, "u": 3}, {}),
        ),
        (
            lambda: size_up(attacks={"t": ThresholdAttack(), "l": LiRA()})[7:9],
            ({"t": None}, {"l": 0.0}),
        ),
        (lambda: [size_up(shadows=k, n_jobs=2).n_workers for k in (1, 6)], [1, 2]),
        (lambda: size_up(shadows=6, n_jobs=8).n_workers, 6),
        (lambda: size_up(shadows=object(), n_jobs=8).n_workers, 1),
        (
            size_up_case,
            (
                *("m", "records"),
                {
                    **{"n_classes": 2, "shadows": 8, "n_jobs": 2, "file": True, "time_budget": 60},
                    **{"attacks": "able", "costs": "costs of able"},
                },
            ),
        ),
        (lambda: size_up_case(classes=None)[2]["n_classes"], 1),
        (lambda: size_up_case(victim="recipe")[2]["file"], False),
        (lambda: size_up_case(file=False)[2]["file"], False),
        (lambda: size_up_case(holds_file=False)[2]["file"], False),
        (lambda: expect_pooled(0.0), 0.0),
        (lambda: expect_pooled(2.0), 1.5),
        (lambda: _pace._expect_pooled(NS(needs=None), 3.0), 0.0),
        (lambda: _pace.measure_pace(NS(fit=None), Records(np.zeros((4, 1)), [0, 1, 0, 1])), None),
        (lambda: _pace.measure_pace(object(), Records(np.zeros((4, 1)), [0, 1, 0, 1])), None),
        (lambda: _pace.measure_pace(Ridge(alpha=-1.0), Records(np.eye(4), [0.5, 1, 2, 3])), None),
        # 10 seconds for 100 rows, which grow by the power 2, and .5 seconds for 20 answers.
        (lambda: _pace.ModelPace(10.0, 0.5, 100, 20, 2.0, 1.0).fit_on(200), 40.0),
        (lambda: _pace.ModelPace(10.0, 0.5, 100, 20, 2.0, 1.0).fit_on(0.5), 0.001),
        (lambda: _pace.ModelPace(10.0, 0.5, 100, 20, 2.0, 1.0).answer_on(60), 1.5),
        (lambda: _pace.ModelPace(10.0, 0.5, 100, 20, 2.0, 1.0).loop_on(400), 50.0),
    ],
    _page: [
        (lambda: _page._write_low(0.25), "0.25"),
        (lambda: _page._write_low(99.4), "99.4"),
        (lambda: _page._write_low(100.0), "100"),
        (lambda: _page._write_low(1234.4), "1,234"),
    ],
    _release: [
        # 10 of 20 attacks and 10 of 40 controls: the excess is (.5 - .25) / .75.
        (lambda: bound(0.5, 0.25)[0], 0.375),
        (lambda: bound(0.5, 0.25)[1:], [*excess_risk(10, 20, 10, 40)][1:]),
        (
            lambda: bound(0.5, 0.25, 0.99)[1:],
            [*excess_risk(10, 20, 10, 40, confidence_level=0.99)][1:],
        ),
        # Where all controls succeed, the interval has no ends but what a share can be.
        (lambda: bound(0.5, 1.0), [0.375, -inf, 1.0]),
        (lambda: bound(nan, nan), [0.375, 0.25, 0.625]),
        # An estimate outside of the interval of its rates moves the nearest end.
        (lambda: bound(1.0, 0.0)[1], 0.375),
        (lambda: bound(0.0, 0.5)[2], 0.375),
    ],
    _report: [
        (
            lambda: _report.AuditReport.__repr__(
                NS(data={"n_records": 7}, scores={"a": 1, "b": 2})
            ),
            "AuditReport(7 records; attacks: a, b)",
        ),
    ],
    _rows_used: [
        (lambda: _rows_used.UsedRows(array([2, 0])).within(None).rows, [2, 0]),
        (lambda: _rows_used.UsedRows(None).within(array([5, 7, 9])).rows, [5, 7, 9]),
        (lambda: _rows_used.UsedRows(array([2, 0])).within(array([5, 7, 9])).rows, [9, 5]),
        (lambda: _rows_used.UsedRows(array([1]), 3, 4).within(array([5, 7])), (array([7]), 3, 4)),
    ],
    _run: [
        (lambda: _run._is_open(LiRA()), True),
        (lambda: _run._is_open(LiRA(shadows=3)), False),
        (lambda: _run._is_open(ThresholdAttack()), False),
        (lambda: _run._is_open(RMIA()), True),
        (lambda: say_undeclared(ValueError("a")), None),
        (lambda: say_undeclared(AttributeError("a", name="predict", obj=3)), None),
        (lambda: say_undeclared(AttributeError("a", name="foo", obj=None)), None),
        (lambda: say_undeclared(AttributeError("a", name=None, obj=None)), None),
        (
            lambda: say_undeclared(AttributeError("a", name="predict", obj=None))[:48],
            "it calls victim.predict without declaring it. Re",
        ),
    ],
    _surrogate: [
        (
            lambda: _surrogate._as_imputable_numbers(
                pd.DataFrame(
                    {
                        "when": pd.to_datetime(["1970-01-01 00:01:30", None]),
                        "there": pd.to_datetime(["1970-01-01 00:00:02", None]).tz_localize("UTC"),
                        "long": pd.to_timedelta([1500, None], unit="ms"),
                        "count": pd.array([3, None], dtype="Int64"),
                        "rate": [0.5, -inf],
                        "text": ["7", "2.5"],
                    }
                )
            ),
            [[90.0, 2.0, 1.5, 3.0, 0.5, 7.0], [nan, nan, nan, nan, nan, 2.5]],
        ),
    ],
    _validation_rows: [
        # Errors 1, -1 and -2.
        (
            lambda: score_side(Outputs(array([2.0, 1.0, 2.0]), None, "value"), [1.0, 2.0, 4.0]),
            [2.0, 2**0.5, 4 / 3],
        ),
        (
            lambda: score_side(proba(0.25, 0.5, 0.75), [0, 1, 0]),
            [-(np.log(0.75) + np.log(0.5) + np.log(0.25)) / 3, 0.5],
        ),
        (lambda: score_side(proba(0.25, 0.5), [0, 0]), [-(np.log(0.75) + np.log(0.5)) / 2]),
        (
            lambda: score_side(
                Outputs(array([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]]), ["a", "b", "c"]), ["b", "c"]
            ),
            [(np.log(4) + np.log(2)) / 2],
        ),
        (lambda: score_side(proba(0.25, 0.5).as_labels(), [0, 1]), []),
        (
            lambda: _validation_rows._list_validation_pairs({"eval_set": [[1, 2], [3, 4, 5]]}),
            [[1, 2]],
        ),
        (
            lambda: _validation_rows._list_validation_pairs(
                {"valid_sets": (1, 2), "eval_set": [(3, 4)], "y_val": 5}
            ),
            [(3, 4), (1, 2)],
        ),
    ],
    _verdict: [
        (
            lambda: _verdict._describe_tpr(
                {}, pd.Series({**interval, "status": "ok", "fpr": 0.0123})
            ),
            "25.0% [12.5, 50.0] of the members, with 1.23% of the non-members flagged",
        ),
        (
            lambda: _verdict._describe_tpr({"max_fpr": 0.01}, {**interval, "status": "few"}),
            "more members than chance explains at a false positive rate of at most 1%, which too "
            "few independent non-members resolve for a number",
        ),
    ],
    _answered_rows: [
        # Of two columns that vary together: as much of each, in its unit; nothing of a constant.
        (
            vary_together,
            [1 / np.sqrt(2 * 1.25), 1 / np.sqrt(2 * 5.0), 0.0],
        ),
        # One answer is enough up to 1% of either; means of several, up to 5% of what counts.
        (lambda: repeated(0.01, 0.01).suffices(1), True),
        (lambda: repeated(0.0101, 0.0).suffices(1), False),
        (lambda: repeated(0.0, 0.0101).suffices(1), False),
        (lambda: repeated(0.05, 0.9).suffices(2), True),
        (lambda: repeated(0.051, 0.0).suffices(2), False),
        (lambda: repeated(0.0, 0.05).suffices(2), True),
        (lambda: repeated(0.0, 0.051).suffices(2), False),
        (lambda: repeated(0.9, 0.0).suffices(1000), True),
        (lambda: repeated(0.9, 0.0).suffices(999), False),
        (lambda: repeated(0.05, 0.9).count_missing(2), 2),
        # Twice the square of how many times too large the noise is, in hundreds.
        (lambda: repeated(0.05, 0.9).count_missing(1), 100),
        (lambda: repeated(0.5, 0.0).count_missing(1), 200),
        (lambda: repeated(0.0, 0.5).count_missing(1), 200),
        (lambda: repeated(0.1, 0.9).count_missing(100), 800),
        (lambda: repeated(0.5, 0.0).count_missing(6), 1000),
        (lambda: rows_of("value", None).is_told, True),
        # How well a model fits members, the first two, and others.
        (
            lambda: _sides.measure_fit(fitted(proba(0.75, 0.75, 0.25), [1, 0, 0])),
            ("share", [1.0, 0.0], [1.0]),
        ),
        (
            lambda: _sides.measure_fit(
                fitted(Outputs(array([2.0, 1.0, 7.0]), None, "value"), [1.0, 1.0, 4.0])
            ),
            ("error", [1.0, 0.0], [9.0]),
        ),
        (
            lambda: _sides.measure_fit(
                fitted(Outputs(array([2.0, 1.0, 7.0]), None, "log_odds"), [0, 0, 1])
            ),
            None,
        ),
        # Columns without those of the labels, unless there are none or too many.
        (lambda: features_of(np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])).shape, (3, 2)),
        (lambda: features_of(np.zeros((3, 1))).shape, (3, 1)),
        (lambda: features_of(np.zeros((3, 1000))).shape, (3, 1000)),
        (lambda: features_of(np.zeros((3, 1001))), None),
        # The median of what moves beyond rounding, as a share of the spread.
        (lambda: repeat([1.0, 2.0, 4.0], [1.0, 2.0, 4.0]), (0.0, 0.0)),
        (lambda: repeat([1.0, 2.0, 4.0], [1.5, 2.0, 3.0]), (0.5 / np.std([1.0, 2.0, 4.0]), 0.0)),
        (lambda: repeat([1.0, 2.0, 4.0], [1.5, 2.0, 4.0]), (0.0, 0.0)),
        (lambda: repeat([0.0, 1.0, 1.0], [4e-6, 1.0 + 5e-7, 1.0 + 5e-7]), (0.0, 0.0)),
        (lambda: repeat([1.0, 1.0], [2.0, 2.0]), (inf, 0.0)),
        (lambda: repeat([0.2, 0.6, 0.9], [0.2, 0.4, 0.1], [0, 1, 1], [0, 0, 0])[1], 2 / 3),
        (lambda: repeat([0.2, 0.6], [0.2, 0.6], [0, 1], [1, 0])[1], 0.0),
        (lambda: answered(CallableVictim(read_function, [0, 1], n_repeats=7)).n_repeats, 7),
        (lambda: answered(Ridge()).n_repeats, 1),
        (lambda: answered(None).n_repeats, 1),
        (
            lambda: [answered(one).is_counted for one in (Ridge(), NS(n_queries_=3), None)],
            [False, True, False],
        ),
        (lambda: len(answered(None, inside=np.arange(5000) < 2500).some), 4000),
        (lambda: answered(None, inside=array([True, False, True])).some, [0, 1, 2]),
    ],
    _row_question: [
        # The largest correlation of ranks with the means of neighbors, a regression, or both.
        (lambda: follow_rows(), follow_dense()),
        (lambda: _row_question.measure_following(None, np.ones(4)), 0.0),
        (lambda: _row_question._rank_columns(array([3.0, nan, 1.0, 9.0])), [2.5, 2.5, 1.0, 4.0]),
        (
            lambda: _row_question._make_set(
                NS(features=np.ones((5, 2)), units=np.arange(5)), np.arange(5)
            ),
            None,
        ),
        (lambda: _row_question._make_set(MET, np.arange(3)).neighbors.shape, (3, 2)),
        (lambda: _row_question._make_set(MET, np.arange(20)).neighbors.shape, (20, 10)),
        (lambda: _row_question._make_set(MET, np.arange(20)).n_units, 10),
        (lambda: rows_of("proba", [0, 1]).is_told, True),
        (lambda: rows_of("logit", None).is_told, False),
    ],
    _row_count: [
        # 300 of 90 are said of 100 members: about 333 rows, 330 of which are listed.
        (lambda: _row_count.RowCount(300, 100, 90, False, 330).n_rows, 333),
        (lambda: _row_count.RowCount(300, 100, 90, False, 330).n_unlisted, 3),
        # Up to one in 200 members may be counted in another way; of rows that are drawn, one in 50
        # and four standard deviations.
        (lambda: unlisted(5, False, 1000), 0),
        (lambda: unlisted(6, False, 1000), 6),
        (lambda: unlisted(600, True, 10_000), 0),
        (lambda: unlisted(601, True, 10_000), 601),
        (lambda: unlisted(-9, False, 1000), 0),
    ],
    _file_questions: [
        # Above 200 characters of a name, numbers and texts have limits of their own.
        (lambda: describe_foreign(51, 1.0, 1, "OneHotEncoder"), False),
        (lambda: describe_foreign(50, 1.0, 1, "OneHotEncoder"), True),
        (lambda: describe_foreign(0, 1.0, 20, "OneHotEncoder"), True),
        (lambda: describe_foreign(0, 1.0, 21, "OneHotEncoder"), False),
        (lambda: describe_foreign(0, _file_questions._MOST_UNKNOWN, 1, "OneHotEncoder"), False),
        (lambda: describe_foreign(0, 1.0, 100, "TfidfVectorizer"), True),
        (lambda: describe_foreign(0, _file_questions._MOST_UNKNOWN_TEXTS, 1, "Vectorizer"), False),
        (
            lambda: _file_questions._describe_scale(
                NS(column="age", source="scaler", center=10.0, spread=2.5, values=np.arange(101.0))
            ),
            "in column age, the scaler of the model has seen values from about 5 to 15, and most "
            "members have values from 5 to 95",
        ),
        (
            lambda: _file_questions._describe_splits(
                NS(column="age", thresholds=array([3.0, 1.5]), values=array([40.0, 20.0, 30.0]))
            ),
            "in column age, the trees of the model split at values from 1.5 to 3, and the members "
            "have values from 20 to 40",
        ),
        (
            lambda: _file_questions._describe_unknown_values(
                NS(column="c", part="A", share=0.25, unknown=["u", "v", "w", "x"], known=[1, 2])
            ),
            "in column 'c', 25% of the members' values are unknown to the model, such as 'u', 'v' "
            "and 'w'; it knows 1 and 2",
        ),
        (
            lambda: _file_questions._describe_unknown_values(
                NS(column=3, part="CountVectorizer", share=0.5, unknown=["u"], known=["a", "b"])
            ),
            "in column 3, 50% of the members' texts have no word that the model knows, such as "
            "'u'; it knows 'a' and 'b'",
        ),
    ],
    _skill_questions: [
        (lambda: _skill_questions._list_chosen(kbest, slice(1, 3)), [1, 2]),
        (lambda: _skill_questions._list_chosen(kbest, 2), [2]),
        (lambda: _skill_questions._list_chosen(kbest, [True, False, False, True]), [0, 3]),
        (lambda: _skill_questions._list_chosen(kbest, []), []),
        (lambda: _skill_questions._list_chosen(named, [0, 2]), ["a", "c"]),
        (lambda: _skill_questions._list_chosen(named, "b"), ["b"]),
        (lambda: _skill_questions._list_chosen(named, ("c", "b")), ["c", "b"]),
        (lambda: _skill_questions._join_shown_names(["a", 3]), "'a' and 3"),
    ],
    _baseline: [
        # Means .7, .55 and .8, whose distances shrink by the root of (1 + .5) / 2.
        (
            lambda: _baseline._pool([[0.6, 0.5, 0.7], [0.8, 0.6, 0.9]]),
            (0.7, 0.7 - 0.15 * 0.75**0.5, 0.7 + 0.1 * 0.75**0.5),
        ),
        (lambda: _baseline._pool([[0.6, 0.5, 0.75]]), (0.6, 0.5, 0.75)),
    ],
    _duplicates: [
        (lambda: choose_known((1_000_000, 2), 100_000), True),
        (lambda: choose_known((200_000, 2, 1024), 8192), True),
        (lambda: choose_known((200_000, 1 << 20), 5000), True),
    ],
    _formats: [
        # Means over the stored values of a record; one without any has zero.
        (
            lambda: {
                kind: read_stored([5.0, 0.0, 10.0], [0, 0, 0], [0, 0, -1.0])[kind]
                for kind in ("multiple of 5", "multiple of 10", "equal to -1", "missing")
            },
            {
                "multiple of 5": [1.0, 0.0, 0.0],
                "multiple of 10": [0.5, 0.0, 0.0],
                "equal to -1": [0.0, 0.0, 1.0],
                "missing": [0.0, 0.0, 0.0],
            },
        ),
        (lambda: read_stored([0.0, 0.0]), {}),
        (
            lambda: describe_times(
                ["2020-01-01 00:00:00", None, "2020-01-01 00:00:30", "2020-01-01 00:00:00.5"],
                ["missing", "whole minute", "whole second"],
            ),
            {
                "missing": [False, True, False, False],
                "whole minute": [True, False, False, False],
                "whole second": [True, False, True, False],
            },
        ),
    ],
    _sides: [
        (lambda: _sides._is_turned(None), False),
        # The gap is above three standard errors, or in the other direction, or of a loss.
        (lambda: is_turned("share", [0, 0, 0, 1], [1, 1, 1, 1]), True),
        (lambda: is_turned("share", [0, 1, 0, 1], [0, 1, 1, 1]), False),
        (lambda: is_turned("share", [1, 1, 1, 1], [0, 0, 0, 1]), False),
        (lambda: is_turned("loss", [1, 1, 1, 1], [0, 0, 0, 1]), True),
        (lambda: is_turned("loss", [0, 0, 0, 1], [1, 1, 1, 1]), False),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_some_records_of_a_case_are_those_in_each_of_its_parts():
    case = make_dataclass("C", "records queried membership subsets".split())
    run = make_dataclass("R", "scores guesses judged tested file_scores".split())
    numbers = np.arange(4)
    case = case(numbers, numbers + 10, numbers + 20, [("all", "", numbers + 30)])
    run = run(*({"a": numbers + base} for base in (40, 50, 60, 70)), numbers + 80)
    rows = array([3, 1])
    some, ran = _examine._take_rows(case, run, rows)
    expect_answers(
        [
            (lambda: (some.records, some.queried, some.membership), ([3, 1], [13, 11], [23, 21])),
            (lambda: some.subsets, [("all", "", [33, 31])]),
            (lambda: (ran.scores, ran.guesses), ({"a": [43, 41]}, {"a": [53, 51]})),
            (lambda: (ran.judged, ran.tested), ({"a": [63, 61]}, {"a": [73, 71]})),
            (lambda: ran.file_scores, [83, 81]),
        ]
    )


def test_controls_that_ran_are_listed_by_their_kind():
    found = {"positive control": 3, "negative control": 5}
    controls = _examine.Findings.controls.fget
    assert controls(NS(of=found.get)) == {"positive": 3, "negative": 5}
    assert controls(NS(of={"negative control": 5}.get)) == {"negative": 5}


class Laps:
    """A watch that shows what was decided before."""

    load = 3.0

    def __init__(self, laps):
        self.laps = iter(laps)

    def lap(self):
        return next(self.laps)


@pytest.mark.parametrize(
    ("second", "power"), [(2**1.5, 1.5), (1.0, 0.5), (64.0, 2.0)], ids=["between", "low", "high"]
)
def test_pace_is_that_of_the_larger_fit_and_grows_as_both_show(monkeypatch, second, power):
    monkeypatch.setattr(_pace, "LapWatch", lambda: Laps([9.0, 1.0, 7.0, second, 0.25]))
    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(30, 2)), rng.normal(size=30))
    pace = _pace.measure_pace(Ridge(), records)
    assert pace == (pytest.approx(second), 0.25, 30, 30, pytest.approx(power), 3.0)


Request = namedtuple("Request", "shadows n_jobs checkpoint batched")


class Pool:
    """A pool whose training ends in an error, or not."""

    def __init__(self, error):
        self.error = error

    def fit(self, records):
        if self.error is not None:
            raise self.error
        return self

    def set_params(self, **params):
        self.params = params
        return self


@pytest.mark.parametrize(("checkpoint", "batched"), [(None, False), ("folder", "auto")])
def test_fewer_models_are_trained_alone_where_memory_was_short(monkeypatch, checkpoint, batched):
    requests = []

    def make_pool(request, keeps):
        requests.append((request, keeps))
        return Pool(None)

    monkeypatch.setattr(_run, "make_pool", make_pool)
    case = NS(request=Request("auto", 2, checkpoint, "auto"), records=None)
    shared = _run._train_fewer(case, NS(keeps="logits"), MemoryError("of 2 GB"))
    assert requests == [(Request(_run.SIZES[0], 1, checkpoint, batched), "logits")]
    assert shared.lack is None
    assert shared.notes[0].startswith(f"{_run.SIZES[0]} shadow models were trained, one after")


def test_other_errors_of_fewer_models_are_not_held_for_a_lack_of_memory(monkeypatch):
    case = NS(request=Request("auto", 2, None, "auto"), records=None)
    errors = iter([MemoryError(), ValueError("another")])
    monkeypatch.setattr(_run, "make_pool", lambda *_: Pool(next(errors)))
    shared = _run._train_fewer(case, NS(keeps=None), MemoryError())
    assert shared.lack.startswith("No shadow models could be trained: ")
    with pytest.raises(ValueError, match="another"):
        _run._train_fewer(case, NS(keeps=None), MemoryError())


@pytest.mark.parametrize(("folder", "n_notes"), [(None, 0), ("kept", 1)])
def test_a_note_of_what_a_folder_keeps_needs_a_folder(folder, n_notes):
    error = KeyboardInterrupt()
    error.add_note("What is trained is kept.")
    growing = NS(pool=Pool(error), _records=None, _folder=folder)
    with pytest.raises(KeyboardInterrupt) as caught:
        _run.GrowingPool._fit(growing, 8)
    assert len(getattr(caught.value, "__notes__", [])) == n_notes
    assert growing.pool.params == {"n_estimators": 8}


class WarmPool:
    """A pool that keeps its models while it grows, unless they cannot be identified."""

    checkpoint, warm_start = None, True

    def __init__(self, clock, fails_at=()):
        self.clock, self.fails_at, self.n_trained, self.n_kept = clock, fails_at, [], 0

    def set_params(self, **params):
        vars(self).update(params)
        return self

    def fit(self, records):
        kept = self.n_kept if self.warm_start else 0
        if self.n_estimators in self.fails_at and self.warm_start:
            raise CheckpointError("Models cannot be identified.")
        self.n_trained.append(self.n_estimators - kept)
        self.clock[0] += 2.0 * max(self.n_estimators - kept, 0)
        self.n_kept = self.n_estimators
        return self


def make_growing(monkeypatch, fails_at=(), kept=None):
    clock = [100.0]
    monkeypatch.setattr(_run, "perf_counter", lambda: clock[0])
    growing = _run.GrowingPool(WarmPool(clock, fails_at), None)
    if kept is not None:  # of a folder with so many models
        growing._folder = NS(count_kept=lambda size: min(max(kept, growing.pool.n_kept), size))
    return growing


def test_a_pool_that_grows_keeps_its_models_and_counts_their_seconds(monkeypatch):
    growing = make_growing(monkeypatch)
    assert growing.seconds_per_model is None
    growing.grow(4)
    growing.grow(10)
    assert (growing.pool.n_trained, growing.size, growing.seconds_per_model) == ([4, 6], 10, 2.0)
    # Six more take twelve seconds.
    assert growing.fits(16, 12.0) and not growing.fits(16, 11.9)
    assert growing.fits(10, 0.0)


def test_models_that_cannot_be_identified_are_all_trained_again(monkeypatch):
    growing = make_growing(monkeypatch, fails_at=(10,))
    growing.grow(4)
    growing.grow(10)
    assert growing.pool.n_trained == [4, 10]
    assert growing.seconds_per_model == 2.0
    # From then on, each size takes all of its models.
    assert not growing.fits(16, 31.9) and growing.fits(16, 32.0)


@pytest.mark.parametrize(("kept", "sizes"), [(None, (10,)), (4, (4, 10))])
def test_a_first_fit_and_a_folder_raise_what_is_wrong(monkeypatch, kept, sizes):
    growing = make_growing(monkeypatch, fails_at=(10,), kept=kept)
    with pytest.raises(CheckpointError):
        for size in sizes:
            growing.grow(size)


def test_of_models_from_a_folder_the_next_ones_show_how_long_one_takes(monkeypatch):
    growing = make_growing(monkeypatch, kept=8)
    growing.grow(4)
    assert growing.seconds_per_model is None
    growing.pool.n_kept = 8
    # Ten is the first even number with models that are missing; the pool shrinks again.
    assert not growing.fits(16, 15.9)
    assert (growing.pool.n_trained[1:], growing.size) == ([2, -6], 4)
    assert growing.seconds_per_model == 2.0


@pytest.mark.parametrize("evidence", ["reversed", "unknown"])
@pytest.mark.parametrize("cause", CAUSES)
def test_sides_that_are_not_what_they_are_called_are_the_verdict(evidence, cause):
    one = dict(row, metric="auc", max_fpr=nan, estimate=0.5, low=0.4, high=0.6)
    checks = {"sides": Check("sides", "warning", "What was found.", cause)}
    null = pd.DataFrame([{"attack": "LiRA", "metric": "auc", "pvalue_adjusted": 0.4}])
    null = null.assign(max_fpr=nan, pvalue_below=0.6, scope="overall", group="all")
    grounds = _evidence.Grounds(pd.DataFrame([one]), null, 999, checks, 0.95, ["LiRA"])
    verdict = _verdict.write_audit_verdict(grounds, evidence)
    told = CAUSES[cause]
    assert verdict == f"Inconclusive: {told.clause}. What was found. {told.cure}"
    # A release that is not refused for the sides has another headline.
    assert not _verdict.write_audit_verdict(grounds, "none").startswith("Inconclusive")


def read_side(given, answered, labels=(0, 1, 1), n_columns=2, trains=True):
    """Return what is read of a model that answers so, beside given answers of the victim."""
    records = Records(np.zeros((3, 1)), array(labels)).with_fields(outputs=answered)
    case = NS(
        records=NS(y=records.y, with_outputs=lambda model: {"outputs": answered}),
        membership=array([True, False, True]),
        request=NS(outputs=given),
    )
    reader = sides.SidesReader(case)
    reader._own = NS(answers=np.zeros((3, n_columns)))
    seen = []

    def train(mask):
        seen.append(mask.tolist())
        return 1 if trains else 1 / 0

    found = {rows: reader._answer(train, rows) for rows in ("members", "held-out rows", "both")}
    assert seen == [[True, False, True], [False, True, False], [True, True, True]]
    return found["both"]


def test_a_model_that_is_trained_on_a_side_answers_as_the_victim_does():
    shares = proba(0.25, 0.75, 0.5)
    found = read_side(shares, shares)
    assert found.answers.tolist() == [[0.75, 0.25], [0.25, 0.75], [0.5, 0.5]]
    # Of a victim that gives labels alone, those of the model are compared.
    words = read_side(shares.as_labels(), shares)
    assert words.answers.tolist() == [[1, 0], [0, 1], [1, 0]] and words.fits.tolist() == [1, 1, 0]
    labels = read_side(shares.as_labels(), shares.as_labels())
    assert labels.answers.tolist() == words.answers.tolist()
    # What cannot be trained, has no classes, or answers in another form says nothing.
    assert read_side(shares, shares, trains=False) is None
    assert read_side(shares, shares, n_columns=3) is None
    assert read_side(shares, Outputs(array([1.0, 2.0, 3.0]), kind="log_odds")) is None
    values = Outputs(array([1.0, 2.0, 5.0]), None, "value")
    errors = read_side(values, values, labels=(1.0, 4.0, 4.0), n_columns=1)
    assert errors.answers.ravel().tolist() == [1, 2, 5] and errors.fits.argsort()[0] == 1
