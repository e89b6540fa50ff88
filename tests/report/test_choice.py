"""The attack that is told of each number."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.attacks.equal_rates import EqualRateAttack
from skmia.base import connect
from skmia.report import _choice
from skmia.report._choice import mark_told, rank_attacks_on_models
from skmia.report._comparison import compare_audits
from skmia.report._evidence import ReleaseRoute, list_told
from skmia.report._release import list_measurements
from skmia.report._run import Run

pytestmark = pytest.mark.usefixtures("attacks_alone")


def make_row(attack, estimate, half=0.1, group="all", metric="auc", max_fpr=np.nan, status="ok"):
    ends = {"estimate": estimate, "low": estimate - half, "high": estimate + half}
    scope = "overall" if group == "all" else "sex"
    where = {"scope": scope, "group": group, "metric": metric, "max_fpr": max_fpr}
    return {"attack": attack, **where, **ends, "fpr": max_fpr, "status": status}


def get_told(rows, orders, **wanted):
    marked = mark_told(rows, orders)
    return [
        row["attack"]
        for row in marked
        if row["told"] and all(row[name] == value for name, value in wanted.items())
    ]


def test_the_strongest_on_models_is_told_though_another_one_has_the_highest_number():
    rows = [make_row("a", 0.61), make_row("b", 0.58), make_row("c", 0.66)]
    assert get_told(rows, {("auc", None): ["b", "c", "a"]}) == ["b"]
    assert get_told(rows, {}) == ["a"]


def test_a_number_without_a_value_is_not_told():
    rows = [make_row("a", np.nan, status="too few records"), make_row("b", 0.6)]
    assert get_told(rows, {("auc", None): ["a", "b"]}) == ["b"]
    assert get_told(rows[:1], {}) == []


def test_an_attack_that_is_above_without_doubt_is_told():
    rows = [make_row("a", 0.6), make_row("b", 0.75), make_row("mine", 0.85)]
    assert get_told(rows, {("auc", None): ["a", "b"]}) == ["mine"]
    assert get_told(rows[:2], {("auc", None): ["a", "b"]}) == ["a"]


def test_each_rate_has_its_own_choice_and_groups_have_that_of_all():
    rows = [make_row(one, 0.3, metric="tpr", max_fpr=0.1) for one in "ab"]
    rows += [make_row(one, 0.6, group=group) for one in "ab" for group in ("all", "f")]
    orders = {("auc", None): ["b", "a"], ("tpr", 0.1): ["a", "b"]}
    assert get_told(rows, orders, metric="tpr") == ["a"]
    assert get_told(rows, orders, metric="auc") == ["b", "b"]


def test_rows_of_documents_of_before_are_all_told():
    rows = [make_row("a", 0.61), make_row("b", 0.64)]
    assert list_told(rows) == rows
    assert ReleaseRoute("service", None, rows).find_best("auc")["attack"] == "b"
    rows = mark_told(rows, {})
    assert list_told(rows) == rows[:1]
    assert ReleaseRoute("service", None, rows).find_best("auc")["attack"] == "a"


def make_audit(n=200, model=None, **settings):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    inside = rng.permutation(n) % 2 == 1
    model = DecisionTreeClassifier(max_depth=4, random_state=0) if model is None else model
    attacks = {"loss": ThresholdAttack(signal="loss"), "LiRA": LiRA()}
    given = {"attacks": attacks, "shadows": 4, "fprs": (0.1,), "file": False}
    settings = given | settings
    return audit(model.fit(X[inside], y[inside]), Records(X, y), inside, random_state=0, **settings)


@pytest.fixture(scope="module")
def report():
    return make_audit()


def test_each_number_of_an_audit_is_told_of_one_attack(report):
    frame = report.results[report.results["status"] == "ok"]
    key = ["scope", "group", "metric", "max_fpr"]
    assert (frame.groupby(key, dropna=False)["told"].sum() == 1).all()
    assert not report.results.loc[report.results["status"] != "ok", "told"].any()


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    records = Records(X, (X[:, 0] + rng.normal(size=300) > 0).astype(int))
    parts = [("overall", "all", None)]
    return SimpleNamespace(records=records, subsets=parts, fprs=(0.1,), seeds={"checks": 0})


def rank(case, attacks, seed):
    """The order of attacks on one pool, for the victim of a seed."""
    inside = np.random.default_rng(seed).permutation(len(case.records)) % 2 == 1
    model = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
    pool = ShadowPool(model, n_estimators=8, random_state=0).fit(case.records)
    victim = clone(model).fit(case.records.X[inside], case.records.y[inside])
    queried = case.records.with_outputs(victim)
    fitted = {
        name: connect(clone(one), victim, pool, stored=True).fit(queried)
        for name, one in attacks.items()
    }
    scores = {name: one.score_samples(queried) for name, one in fitted.items()}
    run = Run(attacks, fitted, scores, {}, {}, {}, pool, [])
    return rank_attacks_on_models(case, run, nullcontext).orders


def test_the_choice_is_the_same_for_each_victim(case):
    attacks = {"loss": ThresholdAttack(signal="loss"), "LiRA": LiRA()}
    orders = [rank(case, attacks, seed) for seed in (0, 1)]
    assert orders[0] == orders[1]
    assert orders[0]["auc", None] == ["LiRA", "loss"]


def test_attacks_without_shadow_models_are_compared_by_what_the_pool_keeps(case):
    attacks = {"LiRA": LiRA(), "loss": ThresholdAttack(signal="loss")}
    assert set(rank(case, attacks, 0)["tpr", 0.1]) == {"loss", "LiRA"}


def test_what_reads_more_than_the_pool_keeps_comes_last():
    attacks = {"entropy": ThresholdAttack(signal="entropy"), "LiRA": LiRA()}
    report = make_audit(attacks=attacks)
    told = report.results.query("metric == 'auc' and scope == 'overall' and told")
    assert list(told["attack"]) == ["LiRA"]


def test_without_shadow_models_the_first_is_told():
    attacks = {"b": ThresholdAttack(signal="loss"), "a": ThresholdAttack(signal="entropy")}
    report = make_audit(attacks=attacks, model=LogisticRegression())
    told = report.results.query("scope == 'overall' and told")
    assert set(told["attack"]) == {"b"}


def test_policy_and_comparison_read_the_number_that_is_told(report):
    (row,) = report.results.query("scope == 'overall' and metric == 'auc' and told").to_dict(
        "records"
    )
    (number,) = (
        one for one in list_measurements(report) if (one.name, one.group) == ("auc", "all")
    )
    assert number.interval(0.95).estimate == row["estimate"]
    found = compare_audits(report, report)
    (change,) = (
        one for one in found.routes[-1].changes if (one.metric, one.scope) == ("auc", "overall")
    )
    assert change.attacks[0] == row["attack"] and change.first[0] == row["estimate"]


@pytest.mark.parametrize(
    ("stated", "order"),
    [
        (0.9, ["solved", "other", "rate"]),
        (0.68, ["other", "solved", "rate"]),
        (None, ["other", "rate"]),
    ],
)
def test_an_attack_that_has_solved_the_answers_is_compared_by_what_it_states(
    stated, order, monkeypatch
):
    # Means of 0.7 and 0.375, and of 0.65 and 0.6.
    powers = {"a": [(0.6, 0.25), (0.8, 0.5), (np.nan, 0.5)], "b": [(0.65, 0.6)]}
    monkeypatch.setattr(_choice, "_score_models", lambda attack, *given: attack)
    monkeypatch.setattr(_choice, "measure_pseudo_victims", lambda scored, fprs: powers[scored])
    monkeypatch.setattr(_choice, "replace", lambda run, orders: orders)
    case = SimpleNamespace(records=Records(np.zeros((9, 1))), subsets=[], seeds={"checks": 0})
    case.fprs, pool = [0.1], SimpleNamespace(membership_=np.zeros((4, 9)))
    fitted = {"solved": SimpleNamespace(expected_auc_=stated), "other": "a", "rate": "b"}
    run = SimpleNamespace(pool=pool, fitted=fitted, scores=fitted)
    orders = _choice.rank_attacks_on_models(case, run, lambda part: nullcontext())
    assert orders == {("auc", None): order, ("tpr", 0.1): ["rate", "other"]}
    # Of equal rates the larger AUC.
    powers["a"] = [(0.7, 0.6)]
    orders = _choice.rank_attacks_on_models(case, run, lambda part: nullcontext())
    assert orders["tpr", 0.1] == ["other", "rate"]
    powers["a"], powers["b"] = powers["b"], powers["a"]
    orders = _choice.rank_attacks_on_models(case, run, lambda part: nullcontext())
    assert orders["tpr", 0.1] == ["rate", "other"]


def test_an_attack_around_one_that_compares_with_the_pool_is_not_tried_on_models_of_the_pool():
    """Each of them would be compared with itself, and seem a victim that leaks everything."""
    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(60, 3)), rng.integers(0, 2, 60))
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(records.X[:30], records.y[:30])
    pool = ShadowPool(model, n_estimators=16, random_state=0).fit(records)
    attack = EqualRateAttack(model, shadows=pool).fit(records)
    assert _choice._score_models(attack, pool, records, np.arange(2)) is None
    loss = ThresholdAttack(model, signal="loss").fit(records)
    assert _choice._score_models(loss, pool, records, np.arange(2))[0].shape == (2, 60)
