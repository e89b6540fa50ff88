"""The first step of an audit without a verdict, tried: the next audit has one."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import RMIA, LiRA, ThresholdAttack
from skmia.cli._gate import INCONCLUSIVE, judge, list_findings
from skmia.cli._policy import as_finding
from skmia.defenses import RoundingDefense
from skmia.disclosure import load_policy
from skmia.report import recommend_release
from skmia.report._permutations import count_permutations
from skmia.report._screen import show_report
from skmia.report.checks._drift import DriftCheck
from skmia.report.checks._formats import FormatsCheck
from skmia.victims import CallableVictim

N = 300


def draw(n=N, seed=11):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(6)
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


def split(X, y, seed=0):
    rows = np.random.default_rng(seed).permutation(len(X))
    first, second = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    return (X[first], y[first]), (X[second], y[second])


def run(model, train, held_out, **settings):
    given = {"attacks": {"loss": ThresholdAttack()}, "fprs": (0.1,), "file": False}
    settings = given | settings
    return audit(model, train=train, held_out=held_out, random_state=0, **settings)


def make_tree(**settings):
    return DecisionTreeClassifier(random_state=0, **settings)


def differ_in_a_column():
    train, (X, y) = split(*draw(2 * N))
    shifted = X + [0, 3, 0, 0], y
    model = make_tree(max_depth=4).fit(*train)
    yield run(model, train, shifted)
    # A random part of the data, that of the held-out rows included, is set aside before training.
    train, held_out = split(np.concatenate([train[0], shifted[0]]), np.concatenate([train[1], y]))
    yield run(model.fit(*train), train, held_out)


def write_otherwise():
    train, (X, y) = split(*draw(2 * N))
    model = make_tree(max_depth=4).fit(*train)
    coarse = np.column_stack([X[:, :3], X[:, 3].round(3)])
    yield run(model, train, (coarse, y))
    yield run(
        model, (np.column_stack([train[0][:, :3], train[0][:, 3].round(3)]), train[1]), (coarse, y)
    )


def label_otherwise():
    train, (X, _) = split(*draw(2 * N))
    y = (X[:, 1] + np.random.default_rng(3).normal(size=N) > 0).astype(int)
    model = LogisticRegression().fit(*train)
    yield run(model, train, (X, y))
    train, held_out = split(np.concatenate([train[0], X]), np.concatenate([train[1], y]))
    yield run(model.fit(*train), train, held_out)


def swap():
    train, held_out = split(*draw(2 * N))
    model = make_tree().fit(*train)
    yield run(model, held_out, train)
    yield run(model, train, held_out)


def train_on_both():
    train, held_out = split(*draw(2 * N))
    whole = np.concatenate([train[0], held_out[0]]), np.concatenate([train[1], held_out[1]])
    model = make_tree(max_depth=6).fit(*whole)
    yield run(model, train, held_out)
    yield run(model, whole, draw(seed=14))


def turn_columns():
    train, held_out = split(*draw(2 * N))
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train[0][:, ::-1], train[1])
    settings = {"attacks": {"RMIA": RMIA()}, "shadows": 4}
    yield run(model, train, held_out, **settings)
    yield run(model, *((X[:, ::-1], y) for X, y in (train, held_out)), **settings)


def have_copies():
    rng = np.random.default_rng(106)
    X = rng.integers(0, 4, size=(800, 5)).astype(float)
    y = (X[:, 0] + rng.normal(size=800) > np.median(X[:, 0])).astype(int)
    inside = np.arange(800) < 400
    model = LogisticRegression().fit(X[inside], y[inside])

    def run_on(kept):
        train, held_out = ((X[kept & side], y[kept & side]) for side in (inside, ~inside))
        return audit(model, train=train, held_out=held_out, shadows=8, random_state=6)

    yield run_on(np.ones(800, dtype=bool))
    rows = pd.DataFrame(X).assign(y=y)
    numbers = rows.groupby(list(rows)).ngroup().to_numpy()
    yield run_on(~np.isin(numbers, np.intersect1d(numbers[inside], numbers[~inside])))


def name_the_wrong_members():
    (train, held_out), others = split(*draw(2 * N)), draw(N, seed=12)
    model = make_tree().fit(*others)
    settings = {"attacks": {"RMIA": RMIA()}, "shadows": 4}
    yield run(model, train, held_out, **settings)
    yield run(model, others, held_out, **settings)


def be_few():
    train, held_out = split(*draw(2 * N))
    model = make_tree(max_depth=2).fit(*train)
    yield run(model, *((X[:1], y[:1]) for X, y in (train, held_out)))
    yield run(model, train, held_out)


def have_small_groups():
    """Some records have a column of their own, and a coin for a label."""

    def run_on(n_outliers, n=N):
        rng = np.random.default_rng(1)
        own = np.zeros((n, n_outliers))
        own[np.arange(n_outliers), np.arange(n_outliers)] = 10
        X = np.hstack([rng.normal(size=(n, 1)), own])
        y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
        y[:n_outliers] = rng.integers(0, 2, n_outliers)
        inside = np.arange(n) % 2 == 1
        kind = np.where(np.arange(n) < n_outliers, "outlier", "rest")
        model = LogisticRegression().fit(X[inside], y[inside])
        settings = {"attacks": {"LiRA": LiRA()}, "group": "kind", "shadows": 16, "fprs": (0.1,)}
        records = Records(X, y, kind=kind)
        return audit(model, records, inside, file=False, random_state=0, **settings)

    yield run_on(6)
    yield run_on(20)


def draw_people(n_people):
    """Ten records of each person, whose labels follow from the person."""
    rng = np.random.default_rng(2)
    person = np.repeat(np.arange(n_people), 10)
    own = rng.normal(size=(n_people, 4))
    X = 0.3 * own[person] + rng.normal(size=(len(person), 4))
    y = (own[person, 0] + 1.5 * rng.normal(size=len(person)) > 0).astype(int)
    return X, y, person, (rng.permutation(n_people) % 2 == 1)[person]


def find_people():
    def run_on(X, y, person, inside, leaf):
        model = make_tree(min_samples_leaf=leaf).fit(X[inside], y[inside])
        attacks = {"RMIA": RMIA(), "loss": ThresholdAttack(), "LiRA": LiRA()}
        settings = {"attacks": attacks, "shadows": 4, "fprs": (0.1, 0.2), "file": False}
        return audit(model, Records(X, y, group_by=person), inside, random_state=0, **settings)

    few = draw_people(30)
    yield run_on(*few, 40)
    yield run_on(*draw_people(90), 40)
    yield run_on(*(one[::10] for one in few), 4)


def fit_a_part_on_both():
    train, held_out = split(*draw(2 * N))
    tree = make_tree(max_depth=3).fit(*train)
    calibrated = CalibratedClassifierCV(FrozenEstimator(tree), method="isotonic").fit(*held_out)
    yield run(calibrated, train, held_out)
    calibrated = CalibratedClassifierCV(make_tree(max_depth=3), method="isotonic", cv=5)
    yield run(calibrated.fit(*train), train, held_out)


def hold_out_one_class():
    train, (X, y) = split(*draw(2 * N))
    model = make_tree(max_depth=3).fit(*train)
    yield run(model, train, (X[y == 1], y[y == 1]))
    yield run(model, train, (X, y))


def have_too_few_to_find_anything():
    X, y = draw(12)
    train, held_out = (X[:6], y[:6]), (X[6:], y[6:])
    yield run(LogisticRegression(C=0.01).fit(*train), train, held_out)
    train, held_out = split(*draw(2 * N))
    yield run(LogisticRegression(C=0.01).fit(*train), train, held_out)


DOUBTS = {
    "shift": (differ_in_a_column, "Take both sides from one population."),
    "formats": (write_otherwise, "Export both sides in the same way."),
    "drift": (label_otherwise, "Take both sides from one"),
    "swapped": (swap, "Swap the two sides."),
    "in the model": (train_on_both, "Give held-out rows that the model has not seen."),
    "order of columns": (turn_columns, "Give model and table as they were in training."),
    "copies": (have_copies, "Remove copies that are on both sides."),
    "wrong members": (name_the_wrong_members, "Check membership and the recipe."),
    "few": (be_few, "List all training rows as members."),
    "small groups": (have_small_groups, "Audit with more records of the small groups."),
    "people": (find_people, "Treat these people as exposed."),
    "a part": (fit_a_part_on_both, "Fit that part on training rows."),
    "one class": (hold_out_one_class, "Give rows of all classes on both sides."),
    "nothing is found": (have_too_few_to_find_anything, "Use more records."),
}


LONG = ("copies", "people", "a part", "small groups")
# Their first steps are sentences that tests of their checks read as well.
READ_ELSEWHERE = ("formats", "in the model", "swapped", "order of columns", "drift")


@pytest.fixture
def all_permutations(monkeypatch):
    """Few permutations decide some of these audits."""
    place = "skmia.report.checks._permutation.count_permutations"
    monkeypatch.setattr(place, count_permutations)


def get_code(report, release="service"):
    return judge(list_findings(report, [], release))[0]


@pytest.mark.parametrize(
    "doubt",
    [
        pytest.param(one, marks=[pytest.mark.slow] * (one in (*LONG, *READ_ELSEWHERE)))
        for one in DOUBTS
    ],
)
def test_the_first_step_ends_it(doubt, request):
    if doubt in LONG:
        request.getfixturevalue("all_permutations")
    make, imperative = DOUBTS[doubt]
    before, *others = make()
    assert get_code(before) == INCONCLUSIVE
    first = show_report(before).steps[0]
    assert first.imperative.startswith(imperative), first
    for after in others:
        assert get_code(after) != INCONCLUSIVE, after.verdict


class TurnedAttack(RMIA):
    def score_samples(self, X):
        return -super().score_samples(X)


def test_an_attack_of_ones_own_with_the_wrong_sign_is_turned():
    train, held_out = split(*draw(2 * N))
    model = make_tree(min_samples_leaf=3).fit(*train)
    before = run(model, train, held_out, attacks={"mine": TurnedAttack()}, shadows=4)
    assert get_code(before) == INCONCLUSIVE
    steps = [step.imperative for step in show_report(before).steps]
    assert "Check the signs of your own attacks." in steps
    after = run(model, train, held_out, attacks={"mine": RMIA()}, shadows=4)
    assert get_code(after) != INCONCLUSIVE


# -- policies

# Without the rate of 1%, which takes 1,000 non-members, and without groups.
POLICY = replace(load_policy("cautious"), required={}, groups=("all",))


def follow(model, n, policy=POLICY, estimator=None, answers=None, **stated):
    """A report with what the policy says of a model that hardly leaks, and its exit code."""
    records, membership = Records.from_sides(*split(*draw(2 * n)))
    records = records if answers is None else records.with_outputs(answers)
    settings = {"attacks": {"RMIA": RMIA()}, "shadows": 8, "fprs": (0.01,), "file": False}
    report = audit(model, records, membership, estimator=estimator, random_state=0, **settings)
    asked = model if answers is None else answers
    found = recommend_release(report, asked, records, policy=policy, provenance=stated)
    report = replace(report, recommendation=found)
    return report, judge([*list_findings(report, [], "service"), as_finding(found)])[0]


def fit_weak(n, model=None):
    (X, y), _ = split(*draw(2 * n))
    return (LogisticRegression(C=1e-4) if model is None else model).fit(X, y)


def test_the_records_that_a_missing_number_of_a_policy_takes_are_told():
    before, code = follow(fit_weak(300), 300, "cautious")
    assert code == INCONCLUSIVE
    why = show_report(before).steps[0].why
    assert why.endswith(
        "Audit with 1,000 non-members or more, and with 0.01 among the rates (--fpr)."
    )


@pytest.mark.slow  # the sentence is read above, and that such a step ends it below
def test_as_many_records_as_were_missing_decide():
    assert follow(fit_weak(1000), 1000, "cautious")[1] != INCONCLUSIVE


def test_the_records_that_an_undecided_number_takes_decide():
    before, code = follow(fit_weak(60), 60)
    assert code == INCONCLUSIVE and before.recommendation.limits[0].status == "undecided"
    why = show_report(before).steps[0].why
    assert "Undecided: how often a member ranks higher (AUC). Audit with " in why
    n = int(why.partition("Audit with ")[2].partition(" records or more.")[0].replace(",", ""))
    assert follow(fit_weak(n // 2), n // 2)[1] != INCONCLUSIVE


class NoisyRegression(LogisticRegression):
    def predict_proba(self, X):
        p = super().predict_proba(X)
        p = np.clip(p + np.random.default_rng().laplace(scale=0.05, size=p.shape), 1e-3, None)
        return p / p.sum(axis=1, keepdims=True)


@pytest.mark.slow
def test_the_mean_of_noisy_answers_decides_if_the_recipe_is_stated():
    n = 700
    model = fit_weak(n, NoisyRegression(C=0.01))
    before, code = follow(model, n)
    assert code == INCONCLUSIVE and before.evidence == "none"
    policy, average, *_ = show_report(before).steps
    assert "audit the mean of about" in policy.why and "CallableVictim" in average.why
    repeats = int(policy.why.partition("n_repeats=")[2].partition(")")[0])
    mean = CallableVictim(model.predict_proba, model.classes_, n_repeats=repeats)
    # Shadow models of a function are of another recipe, unless it is said to be that of the model.
    recipe = LogisticRegression(C=0.01)
    before, code = follow(mean, n, estimator=recipe)
    assert code == INCONCLUSIVE
    why = show_report(before).steps[0].why
    assert "state it in provenance, as 'recipe of the model' (--recipe)." in why
    stated = {"recipe of the model": "a logistic regression with C=0.01"}
    assert follow(mean, n, estimator=recipe, **stated)[1] != INCONCLUSIVE


@pytest.mark.slow
def test_the_recipe_decides_for_a_service_that_is_worse_than_stand_ins():
    model, recipe = fit_weak(N), LogisticRegression(C=1e-4)
    service = CallableVictim(model.predict_proba, model.classes_)
    stated = {"recipe of the model": "a logistic regression with C=1e-4"}
    before, code = follow(service, N, estimator=recipe, **stated)
    assert code == INCONCLUSIVE and before.checks["model and table"].is_warning
    why = show_report(before).steps[0].why
    assert why.endswith("the recipe of the model (unfitted) with the answers of the model.")
    assert follow(recipe, N, answers=service, **stated)[1] != INCONCLUSIVE


def test_people_on_both_sides_keep_a_model_from_release_until_they_are_on_one():
    records, membership = Records.from_sides(*split(*draw(2 * N)))
    model = fit_weak(N)
    person = np.arange(2 * N) % N  # each has a record on both sides
    settings = {"attacks": {"RMIA": RMIA()}, "shadows": 8, "fprs": (0.1,), "file": False}

    def run_on(people):
        own = Records(records.X, records.y, group_by=people)
        report = audit(model, own, membership, random_state=0, **settings)
        found = recommend_release(report, model, own, policy=POLICY)
        return replace(report, recommendation=found)

    before = run_on(person)
    assert before.recommendation.result == "cannot be said"
    why = show_report(before).steps[0].why
    assert why.endswith("Check membership and, where people have several records, group_by.")
    assert run_on(np.arange(2 * N)).recommendation.result != "cannot be said"


@pytest.mark.parametrize("check", [DriftCheck, pytest.param(FormatsCheck, marks=pytest.mark.slow)])
def test_fewer_records_end_that_a_check_lacked_memory(check, monkeypatch):
    ask = check.ask

    def ask_of_few(self, case, run, findings):
        if len(case.records) > 2 * N:
            raise MemoryError("Unable to allocate 8.00 GiB for an array")
        return ask(self, case, run, findings)

    monkeypatch.setattr(check, "ask", ask_of_few)
    train, held_out = split(*draw(4 * N))
    model = make_tree(min_samples_leaf=3).fit(*train)
    before = run(model, train, held_out)
    assert get_code(before) == INCONCLUSIVE
    failed, *others = show_report(before).steps
    assert "audit fewer records of both sides" in failed.why
    # Nobody knows what it would have found, so no step says how to mend that.
    assert [step.imperative for step in others] == ["Then audit again."]
    after = run(model, *(tuple(part[:N] for part in side) for side in (train, held_out)))
    assert not any(one.is_error for one in after.checks.values())
    assert get_code(after) != INCONCLUSIVE


def test_a_model_in_its_defense_ends_that_rounded_answers_were_not_seen():
    def judge_release(model):
        records, membership = Records.from_sides(*split(*draw(2 * N)))
        settings = {"attacks": {"RMIA": RMIA()}, "shadows": 8, "fprs": (0.01,), "file": False}
        report = audit(model, records, membership, random_state=0, **settings)
        return recommend_release(report, model, records, policy=POLICY, decimals=2)

    before = judge_release(fit_weak(N))
    (why,) = before.reasons
    assert before.result == "cannot be said" and why.endswith("the model in a RoundingDefense.")
    rounded = RoundingDefense(fit_weak(N), decimals=2)
    (X, y), _ = split(*draw(2 * N))
    assert judge_release(rounded.fit(X, y)).result != "cannot be said"


# -- files


def test_a_file_that_nobody_can_judge_is_offered_as_a_service():
    train, held_out = split(*draw(N))
    model = MLPClassifier((8,), max_iter=300, tol=1e-2, random_state=0).fit(*train)
    report = run(model, train, held_out, file=True)
    assert get_code(report, "file") == INCONCLUSIVE
    step = next(one for one in show_report(report).steps if "file" in one.imperative)
    assert "--release service" in step.why
    assert get_code(report, "service") != INCONCLUSIVE


def test_a_file_that_was_not_attacked_says_how_to_ask_for_the_service():
    train, held_out = split(*draw(N))
    report = run(make_tree(max_depth=2).fit(*train), train, held_out)
    code, (why,) = judge(list_findings(report, [], "file"))
    assert code == INCONCLUSIVE and "--release service" in why
    assert get_code(report, "service") != INCONCLUSIVE
