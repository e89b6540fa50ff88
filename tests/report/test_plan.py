"""What an audit looks at before it trains a shadow model, and an attack that fails."""

import inspect
from functools import partial

import numpy as np
import pytest
from public import PUBLIC
from scipy.special import logit
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import skmia
from skmia import Records, ShadowPool
from skmia.attacks import (
    RMIA,
    AnalyticLiRA,
    AttributeInferenceAttack,
    CalibratedAttack,
    DiversityAttack,
    LiRA,
    MomentsAttack,
    MorganAttack,
    NodeEquationsAttack,
    OneQueryAttack,
    QuantileAttack,
    QueriedThresholdAttack,
    RangeAttack,
    ReleasedModelAttack,
    RenyiAttack,
    ShadowAttack,
    SplitThresholdAttack,
    StackedAttack,
    StationarityAttack,
    StoredValuesAttack,
    ThresholdAttack,
    TransferredQueryAttack,
    VulnerableRecordsAttack,
)
from skmia.attacks.equal_rates import EqualRateAttack
from skmia.attacks.recovered import JointAnswersAttack, RecoveredModelAttack
from skmia.attacks.white_box import (
    EnsembleAttack,
    FisherRaoAttack,
    GradientAttack,
    LayerOutputsAttack,
    MahalanobisAttack,
    WhiteBoxAttack,
)
from skmia.base import BaseAttack
from skmia.games import DensityAttack
from skmia.metrics import auc_interval
from skmia.report import negative_control
from skmia.report._measure import widen
from skmia.report.checks import _control
from skmia.signals import Signals

pytestmark = pytest.mark.usefixtures("attacks_alone")

# What audits say of a released file is in test_file.py.
audit = partial(skmia.audit, file=False)

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
TREE_OF_VALUES = DecisionTreeRegressor(max_depth=3, random_state=0)
SETTINGS = {"shadows": 8, "fprs": (0.1,), "random_state": 0}


@pytest.fixture
def trained(monkeypatch):
    """Settings of every pool that is fitted."""
    settings, fit = [], ShadowPool.fit

    def note(pool, *args):
        settings.append(pool.get_params(deep=False))
        return fit(pool, *args)

    monkeypatch.setattr(ShadowPool, "fit", note)
    return settings


def make_attacks():
    quick = {"attack_estimator": TREE, "cv": 2}
    return {
        "AnalyticLiRA": AnalyticLiRA(),
        "CalibratedAttack": CalibratedAttack(),
        "DensityAttack": DensityAttack(),
        "DiversityAttack": DiversityAttack(),
        "EnsembleAttack": EnsembleAttack(signals=["loss", "gradient_norm_w"], **quick),
        "FisherRaoAttack": FisherRaoAttack(cv=2, max_iter=5),
        "GradientAttack": GradientAttack(**quick),
        "LayerOutputsAttack": LayerOutputsAttack(**quick),
        "LiRA": LiRA(),
        "MahalanobisAttack": MahalanobisAttack(cv=2),
        "MomentsAttack": MomentsAttack(),
        "MorganAttack": MorganAttack(n_changes=5, cv=2),
        "NodeEquationsAttack": NodeEquationsAttack(),
        "OneQueryAttack": OneQueryAttack(n_steps=2),
        "QuantileAttack": QuantileAttack(target_fpr=0.1, cv=3, estimator=TREE_OF_VALUES),
        "QueriedThresholdAttack": QueriedThresholdAttack(max_queries=200, random_state=0),
        "RMIA": RMIA(temperature=3.0),
        "EqualRateAttack": EqualRateAttack(attack=LiRA()),
        "RangeAttack": RangeAttack(attack=ThresholdAttack(signal="hinge"), n_samples=2),
        "JointAnswersAttack": JointAnswersAttack(),
        "RecoveredModelAttack": RecoveredModelAttack(),
        "ReleasedModelAttack": ReleasedModelAttack(),
        "RenyiAttack": RenyiAttack(cv=2),
        "ShadowAttack": ShadowAttack(attack_estimator=TREE),
        "SplitThresholdAttack": SplitThresholdAttack(),
        "StackedAttack": StackedAttack(boosted=False),
        "StationarityAttack": StationarityAttack(),
        "StoredValuesAttack": StoredValuesAttack(),
        "ThresholdAttack": ThresholdAttack(),
        "TransferredQueryAttack": TransferredQueryAttack(n_steps=2, n_partners=1),
        "VulnerableRecordsAttack": VulnerableRecordsAttack(level=0.5),
        "WhiteBoxAttack": WhiteBoxAttack(max_iter=1, cv=2),
        "population": CalibratedAttack(reference="population"),
        "pipeline": make_pipeline(Signals(signals=["hinge"]), LogisticRegression()),
        "stack": StackingClassifier([("loss", ThresholdAttack()), ("lira", LiRA())], TREE, cv=2),
        "search": GridSearchCV(LiRA(), {"variance": ["shrunk", "pooled"]}, scoring="roc_auc", cv=2),
    }


NO_GRADIENTS = {
    "EnsembleAttack",
    "FisherRaoAttack",
    "GradientAttack",
    "LayerOutputsAttack",
    "MahalanobisAttack",
    "OneQueryAttack",
    "WhiteBoxAttack",
}
NO_NODES = {"NodeEquationsAttack", "SplitThresholdAttack"}
NO_SUMS = {"JointAnswersAttack", "MomentsAttack"}
NO_OPTIMUM = {"AnalyticLiRA", "RecoveredModelAttack", "StationarityAttack"} | NO_SUMS
NO_PROBABILITIES = {
    "AnalyticLiRA",
    "DensityAttack",
    "DiversityAttack",
    "MorganAttack",
    "RenyiAttack",
}


PERCEPTRON = MLPClassifier((4,), solver="lbfgs", max_iter=100, random_state=0)
VICTIMS = {
    "forest": (RandomForestClassifier(10, random_state=0), NO_GRADIENTS | NO_OPTIMUM),
    "perceptron": (PERCEPTRON, NO_NODES | NO_OPTIMUM),
    "margins": (LinearSVC(random_state=0), NO_GRADIENTS | NO_NODES | NO_SUMS | NO_PROBABILITIES),
}


def run_all_attacks(name, problem):
    records, membership = problem[1][:160], problem[2][:160]
    members = records[membership == 1]
    victim = clone(VICTIMS[name][0]).fit(members.X, members.y)
    attacks = make_attacks()
    assert {type(one) for one in attacks.values()} >= find_attacks()
    return audit(victim, records, membership, attacks=attacks, **SETTINGS)


def list_possible(name):
    return [attack for attack in make_attacks() if attack not in VICTIMS[name][1]]


def list_refused(notes):
    return {note.split(" was left out: it ")[0] for note in notes}


class Planned(Exception):
    """Ends an audit before its attacks."""


@pytest.mark.parametrize("name", VICTIMS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_attacks_that_cannot_run_are_known_before_shadow_models(name, problem, monkeypatch):
    pytest.importorskip("torch")

    def stop(case, plan, clock):
        raise Planned(plan)

    monkeypatch.setattr("skmia.report._audit.run_attacks", stop)
    with pytest.raises(Planned) as planned:
        run_all_attacks(name, problem)
    (plan,) = planned.value.args
    assert list(plan.attacks) == list_possible(name)
    assert list_refused(plan.notes) == VICTIMS[name][1]


@pytest.mark.slow  # which of them run is known from the plan above, and each runs in its own tests
@pytest.mark.parametrize("name", VICTIMS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_all_attacks_at_once(name, problem, trained):
    pytest.importorskip("torch")
    result = run_all_attacks(name, problem)
    assert list(result.scores) == list_possible(name)
    assert list_refused(result.notes) == VICTIMS[name][1]
    for settings in trained[:1]:
        assert settings["store"] == "models"
        assert settings["temperatures"] == (1.0, 2.0, 3.0)
    found = result.to_frame().query("scope == 'overall' and metric == 'auc'")
    assert (found.set_index("attack")["estimate"].drop("VulnerableRecordsAttack") > 0.45).all()


def find_attacks():
    public = [one for name, one in PUBLIC.items() if name.startswith("skmia.attacks.")]
    attacks = {one for one in public if isinstance(one, type) and issubclass(one, BaseAttack)}
    return {one for one in attacks if not inspect.isabstract(one)}


class FailingAttack(BaseAttack):
    """Fails when it is asked for scores."""

    def __init__(self, victim=None, error=RuntimeError):
        self.victim = victim
        self.error = error

    def _fit(self, records, membership):
        pass

    def _score_samples(self, records):
        raise self.error("no scores\ntoday")

    def _natural_offset(self, records):
        return 0.0


def test_attack_that_fails_becomes_a_note(problem):
    attacks = {"bad": FailingAttack(), "worse": FailingAttack(error=ValueError), "l": LiRA()}
    result = audit(*problem, attacks=attacks, **SETTINGS)
    assert list(result.scores) == ["l"]
    assert result.notes == [
        "bad was left out: RuntimeError: no scores today.",
        "worse was left out: no scores today.",
    ]


def test_audit_in_which_every_attack_fails_says_why(problem):
    with pytest.raises(ValueError, match="No attack could run.*bad was left out: RuntimeError"):
        audit(*problem, attacks={"bad": FailingAttack()}, **SETTINGS)


def test_nothing_is_trained_where_no_attack_can_run(problem, trained):
    with pytest.raises(ValueError, match="No attack can run.*it needs gradients.*which skmia"):
        audit(*problem, attacks={"g": GradientAttack()}, **SETTINGS)
    assert trained == []


def test_bad_parameter_is_found_before_the_shadow_models(problem, trained):
    pipeline = make_pipeline(Signals(signals=3), LogisticRegression())
    for attack in (LiRA(variance="large"), pipeline):
        with pytest.raises(ValueError, match="parameter of"):
            audit(*problem, attacks={"l": LiRA(), "x": attack}, **SETTINGS)
    assert trained == []


def test_label_that_the_victim_does_not_know_is_found_before_the_shadow_models(problem, trained):
    victim, records, membership = problem
    y = np.where(np.arange(400) == np.flatnonzero(membership == 0)[0], 7, records.y)
    y = np.where((np.arange(400) % 4 == 0) & (membership == 0), 7, y)  # too many to be left out
    with pytest.raises(ValueError, match="of 400 records have a label.*7 is none of"):
        audit(victim, Records(records.X, y), membership, **SETTINGS)
    assert trained == []


def test_estimator_that_answers_in_another_kind(problem, trained):
    attacks = {"t": ThresholdAttack(), "l": LiRA()}
    result = audit(*problem, attacks=attacks, estimator=LinearSVC(), **SETTINGS)
    reason = "which return decision values, and the victim returns class probabilities"
    assert result.notes == [f"l was left out: it needs shadow models, {reason}."]
    assert all(settings["n_estimators"] == 16 for settings in trained)  # of the positive control


def test_pool_of_the_user_says_what_it_does_not_keep(problem):
    victim, records, membership = problem
    pool = ShadowPool(TREE, 4, random_state=0)
    attacks = {
        "l": LiRA(),
        "s": ShadowAttack(),
        "v": VulnerableRecordsAttack(),
        "r": RMIA(temperature=5.0),
    }
    for shadows in (pool, FrozenEstimator(clone(pool).fit(records))):
        result = audit(victim, records, membership, attacks=attacks, shadows=shadows)
        assert list(result.scores) == ["l"]
        stores, temperatures = result.notes[:2], result.notes[2]
        assert all('fit the pool with store="outputs"' in note for note in stores)
        assert "temperatures=(5,)" in temperatures


def test_pool_of_other_records_is_refused(problem):
    victim, records, membership = problem
    pool = ShadowPool(TREE, 4, random_state=0).fit(records[:100])
    with pytest.raises(ValueError, match="300 of 400 records are not in the shadow pool"):
        audit(victim, records, membership, shadows=pool)


def test_population_of_new_records_keeps_the_models(problem, trained):
    victim, records, membership = problem
    new = Records(records.X[:50] + 0.1, records.y[:50])
    attacks = {"r": RMIA(population=new, online=False)}
    result = audit(victim, records, membership, attacks=attacks, **SETTINGS)
    assert list(result.scores) == ["r"]
    assert trained[0]["store"] == "models"


def test_what_is_no_attack_on_membership_is_refused(problem):
    for other in (TREE, Signals(), AttributeInferenceAttack(sensitive=0)):
        with pytest.raises(TypeError, match="attacks on membership.*under the name 'x'"):
            audit(*problem, attacks={"x": other}, **SETTINGS)


def test_attack_with_a_victim_of_its_own_is_judged_by_it(problem):
    _, records, membership = problem
    members = records[membership == 1]
    margins = LinearSVC(random_state=0).fit(members.X, members.y)
    own = FrozenEstimator(LogisticRegression().fit(members.X, members.y))
    attacks = {"own": ThresholdAttack(own), "open": ThresholdAttack(signal="loss")}
    result = audit(margins, records, membership, attacks=attacks, **SETTINGS)
    assert list(result.scores) == ["own"]


def test_intervals_of_attacks_that_learn_are_those_of_half_as_many_records(problem):
    membership = problem[2]
    pipeline = make_pipeline(Signals(signals=["loss"]), LogisticRegression())
    attacks = {"learned": pipeline, "plain": ThresholdAttack()}
    result = audit(*problem, attacks=attacks, **SETTINGS)
    frame = result.to_frame().query("scope == 'overall' and metric == 'auc'").set_index("attack")
    limits = frame[["estimate", "low", "high"]]
    assert tuple(limits.loc["plain"]) == auc_interval(membership, result.scores["plain"])
    estimate, low, high = auc_interval(membership, result.scores["learned"])
    assert limits.loc["learned", "estimate"] == estimate
    wider = np.diff(logit(limits.loc["learned", ["low", "high"]].to_numpy(float)))
    assert wider == pytest.approx(np.sqrt(2) * np.diff(logit([low, high])))


def test_intervals_of_a_control_are_those_of_an_audit(problem, monkeypatch):
    _, records, membership = problem
    scores, test = {}, _control.permutation_test

    def note(membership, scored, **settings):
        scores.update(scored)
        return test(membership, scored, **settings)

    monkeypatch.setattr(_control, "permutation_test", note)
    pipeline = make_pipeline(Signals(signals=["loss"]), LogisticRegression())
    attacks = {"learned": pipeline, "plain": ThresholdAttack()}
    control = negative_control(TREE, records, membership, attacks=attacks, random_state=0)
    limits = control.frame.set_index("attack")[["auc", "low", "high"]]
    assert tuple(limits.loc["plain"]) == auc_interval(membership, scores["plain"])
    low, high = auc_interval(membership, scores["learned"])[1:]
    wider = np.diff(logit(limits.loc["learned", ["low", "high"]].to_numpy(float)))
    assert wider == pytest.approx(np.sqrt(2) * np.diff(logit([low, high])))


@pytest.mark.parametrize("metric, start", [("auc", 0), ("advantage", -1), ("tpr", 0)])
def test_intervals_next_to_an_end_are_widened(metric, start):
    """Without a success in n trials the limit is 1 - tail^(1/n), and with n / 2 its square."""
    span = 1 - start
    limit = 1 - 0.025 ** (1 / 50)
    none = {"metric": metric, "estimate": start, "low": start, "high": start + span * limit}
    assert widen(none)["high"] == pytest.approx(start + span * (1 - 0.025 ** (1 / 25)))
    every = {"metric": metric, "estimate": 1, "low": 1 - span * limit, "high": 1}
    assert widen(every)["low"] == pytest.approx(1 - span * (1 - 0.025 ** (1 / 25)))
    unknown = {"metric": metric, "estimate": np.nan, "low": np.nan, "high": np.nan}
    assert np.isnan(widen(unknown)["low"])


def test_stack_over_attacks_with_a_pool_of_their_own(problem, trained):
    lira = LiRA(shadows=ShadowPool(TREE, 4, random_state=0))
    stack = StackingClassifier([("lira", lira), ("loss", ThresholdAttack())], TREE, cv=2)
    result = audit(*problem, attacks={"stack": stack}, **SETTINGS)
    assert list(result.scores) == ["stack"]
    assert [one["n_estimators"] for one in trained].count(4) == 1


def test_attacks_that_learn_are_tested_by_one_fold(problem, monkeypatch):
    _, records, membership = problem
    seen, test = [], _control.permutation_test

    def note(*args, **settings):
        seen.append(settings["judged"])
        return test(*args, **settings)

    monkeypatch.setattr(_control, "permutation_test", note)
    pipeline = make_pipeline(Signals(signals=["loss"]), LogisticRegression())
    attacks = {"learned": pipeline, "plain": ThresholdAttack()}
    negative_control(TREE, records, membership, attacks=attacks, random_state=0)
    counts = {name: mask.sum() for name, mask in seen[0].items()}
    assert counts == {"learned": 80, "plain": 400}
