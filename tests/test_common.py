"""What all public estimators keep: our checks where they take records, else scikit-learn's."""

import inspect
import pickle
from contextlib import nullcontext
from functools import partial
from importlib.util import find_spec
from numbers import Integral

import numpy as np
import pandas as pd
import pytest
from public import PUBLIC
from quick_audits import shrink_models
from sklearn.base import BaseEstimator, clone
from sklearn.covariance import LedoitWolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity, KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator

import skmia
import skmia.defenses
from skmia import Outputs, Records, ShadowPool
from skmia.attacks import (
    RMIA,
    AnalyticLiRA,
    AttributeInferenceAttack,
    CalibratedAttack,
    DiversityAttack,
    LabelInferenceAttack,
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
from skmia.attacks.ranges import UnknownValues
from skmia.attacks.recovered import JointAnswersAttack, RecoveredModelAttack
from skmia.attacks.white_box import (
    EnsembleAttack,
    FisherRaoAttack,
    GradientAttack,
    LayerOutputsAttack,
    MahalanobisAttack,
    WhiteBoxAttack,
)
from skmia.base import BaseAttack, SupervisedAttack
from skmia.defenses import (
    LabelOnlyDefense,
    PATEDefense,
    SoftRegressionDefense,
    StudentDefense,
    TopKDefense,
)
from skmia.defenses.mechanisms import GaussianMechanism, NonSphericalGaussianMechanism
from skmia.disparity import DisparityTest
from skmia.epsilon import EpsilonAudit, LabelAudit, OneRunAudit
from skmia.leakage import (
    GeneralizationGapBound,
    LeaveOneOutLeakage,
    MahalanobisLeakage,
    MeanGLiRAttack,
    MeanLikelihoodRatioAttack,
    MeanScalarProductAttack,
    NoisyMean,
    SubsampledMean,
    WorstCaseVulnerability,
)
from skmia.model_selection import RememberTraining
from skmia.signals import (
    AdversarialDistance,
    BoundaryDistance,
    GradientStatistics,
    LabelRobustness,
    Signals,
    Trajectories,
)
from skmia.synthetic import SyntheticDistance
from skmia.testing import make_attack_problem, parametrize_with_attack_checks
from skmia.victims import JointOutputs, OneOutput


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """What estimators keep does not depend on the number of trees and of trials in them."""
    shrink_models(monkeypatch)
    queries = "skmia.attacks._transferred_query"
    monkeypatch.setattr(f"{queries}._CONFIDENCES", np.array([0.4, 0.6]))
    monkeypatch.setattr(f"{queries}._N_VICTIMS", 1)
    monkeypatch.setattr(f"{queries}._N_RECORDS", 20)


pytestmark = pytest.mark.contract

make_problem = partial(make_attack_problem, n_records=40)
CLASSIFIER = make_problem(n_estimators=4)
# Of the same records, as many models as a false positive rate can be promised with.
EIGHT_MODELS = make_problem().shadows
NET = make_problem(
    MLPClassifier((8,), solver="lbfgs", max_iter=2000, random_state=0), n_estimators=2
)
MARGINS = make_problem(LinearSVC(random_state=0), n_estimators=4)
REGRESSOR = make_problem(DecisionTreeRegressor(max_depth=4, random_state=0), n_estimators=4)
STORED = CLASSIFIER.records.with_outputs(CLASSIFIER.victim)
STORED_VALUES = REGRESSOR.records.with_outputs(REGRESSOR.victim)

# Settings that only make test-slow meets, as their way through the code is nearly that of others.
SELDOM = []


def seldom(*attacks):
    SELDOM.extend(attacks)
    return attacks


# An attack model that is quick to fit.
TREE = DecisionTreeClassifier(max_depth=3)


def make_threshold_attacks(problem):
    signals = (
        *("loss", "correctness", "entropy", "scaled_logit", LabelRobustness(n_changes=3)),
        LabelRobustness("swap", n_changes=3, population=problem.records),
    )
    attacks = [ThresholdAttack(problem.victim, signal=signal) for signal in signals]
    seldom(*attacks[2:])
    return [*attacks, ThresholdAttack(problem.victim, mean_train_loss=0.2)]


def make_lira_attacks(problem):
    unfitted = ShadowPool(TREE, 4, store="models", random_state=0)
    settings = [
        {"variance": "shrunk"},
        {"variance": "pooled", "prior": 0.2},
        {"variance": "joint"},
        {"online": False, "variance": "example", "target_fpr": 0.1, "shadows": EIGHT_MODELS},
        {"online": False, "shadows": unfitted},
        {"variance": "trend", "likelihood": "normal"},
        {"variance": "conjugate"},
        {"online": False},
        {"online": False, "variance": "pooled"},
        {"variance": "example"},
    ]
    given = {"victim": problem.victim, "shadows": problem.shadows}
    attacks = [LiRA(**{**given, **one}) for one in settings]
    seldom(*attacks[-5:])
    return attacks


def make_rmia_attacks(problem):
    population = problem.records[problem.membership == 0]
    settings = [
        {},
        {"population": population, "gamma": 1.5, "online": False},
        {"temperature": "auto", "a": "auto", "online": False},
        {"online": False, "temperature": 1.0},
        {"population": population},
        {"target_fpr": 0.1},
    ]
    attacks = [RMIA(problem.victim, problem.shadows, **kwargs) for kwargs in settings]
    seldom(*attacks[-4:])
    return attacks


def make_calibrated_attacks(problem):
    settings = [
        {},
        {"reference": "midpoint", "signal": "loss"},
        {"reference": "rank", "target_fpr": 0.1},
        {"reference": "population", "population": problem.records[::2]},
    ]
    return [CalibratedAttack(problem.victim, problem.shadows, **kwargs) for kwargs in settings]


def make_shadow_attacks(problem):
    given = {"attack_estimator": TREE, "shadows": problem.shadows}
    several = ["sorted_probabilities", "loss", "group"]
    return [
        ShadowAttack(problem.victim, **given),
        *seldom(ShadowAttack(problem.victim, **given, features=several)),
    ]


def make_quantile_attacks(problem, *settings):
    """Small folds need a quick regressor and a target that they can resolve."""
    given = {
        "victim": problem.victim,
        "population": problem.records[problem.membership == 0],
        "estimator": DecisionTreeRegressor(max_depth=3),
        "target_fpr": 0.2,
        "cv": 3,
    }
    return [QuantileAttack(**{**given, **one}) for one in settings or ({},)]


def make_stored_values_attacks(problem):
    """Neighbors store the records; a tree of classes has no value of theirs."""
    members = problem.records[problem.membership == 1]
    neighbors = KNeighborsClassifier().fit(members.X, members.y)
    return [StoredValuesAttack(one) for one in (FrozenEstimator(neighbors), problem.victim)]


def make_analytic_attacks(problem):
    """A victim of another kind, as answers do not say how it was trained."""
    recipe = LogisticRegression(max_iter=1000)
    return [
        AnalyticLiRA(problem.victim, recipe),
        *seldom(AnalyticLiRA(problem.victim, recipe, prior=0.2)),
    ]


def make_range_attacks(problem):
    given = {"victim": problem.victim, "n_samples": 2, "random_state": 0}
    sampler = UnknownValues([1, 4], problem.records)
    return [
        RangeAttack(attack=ThresholdAttack(), sampler=sampler, trim=(0, 1), **given),
        *seldom(RangeAttack(shadows=problem.shadows, **given)),
    ]


def make_stationarity_attacks(problem):
    """Linear models have equations, support vector machines decide by margins."""
    members = problem.records[problem.membership == 1]
    models = LogisticRegression(max_iter=1000), RidgeClassifier(), SVC()
    fitted = [FrozenEstimator(one.fit(members.X, members.y)) for one in models]
    # Checks that fit on some of the records leave out training rows.
    attacks = [StationarityAttack(one, outsiders=0.5, random_state=0) for one in fitted]
    seldom(attacks[1])
    return attacks


def make_recovered_attacks(problem):
    """Answers of a linear model of a recipe that is given, as answers do not say it."""
    victim = make_stationarity_attacks(problem)[0].victim
    recipe = clone(victim.estimator)
    return [RecoveredModelAttack(victim, recipe, outsiders=0.5, random_state=0)]


def make_joint_attacks(problem):
    """Answers of naive Bayes of a recipe that is given, as answers do not say it."""
    members = problem.records[problem.membership == 1]
    victim = FrozenEstimator(GaussianNB().fit(members.X, members.y))
    return [JointAnswersAttack(victim, GaussianNB(), outsiders=0.5, random_state=0)]


def make_moments_attacks(problem):
    """Sums of one model, and of several that were fitted on the same rows."""
    members = problem.records[problem.membership == 1]
    models = GaussianNB(), make_pipeline(StandardScaler(), LinearDiscriminantAnalysis())
    fitted = [FrozenEstimator(one.fit(members.X, members.y)) for one in models]
    # Checks that fit on some of the records leave out training rows.
    attacks = [MomentsAttack(one, outsiders=0.5, random_state=0) for one in fitted]
    seldom(attacks[1])
    return attacks


def make_transferred_attacks(problem):
    given = {"victim": problem.victim, "shadows": problem.shadows, "random_state": 0}
    return [
        TransferredQueryAttack(**given, n_steps=1, n_partners=1),
        *seldom(TransferredQueryAttack(**given, n_steps=1, confidence=0.5)),
    ]


def make_vulnerable_attacks(problem):
    models = problem.victim, problem.shadows
    return [
        VulnerableRecordsAttack(*models, max_neighbors=10, level=0.5),
        *seldom(VulnerableRecordsAttack(*models, max_neighbors=10, target_fpr=0.1)),
    ]


def make_supervised(attack, *settings):
    """A recipe for attacks that need nothing but the victim and known members."""
    return lambda problem: [attack(problem.victim, **one) for one in settings or ({},)]


def make_distance_attacks(*norms):
    distances = [AdversarialDistance(norm, n_rounds=2, n_steps=2) for norm in norms]
    return [ThresholdAttack(NET.victim, signal=distance) for distance in distances]


def make_white_box_attacks():
    """Attacks that need a victim with gradients or layers."""
    attacks = [
        ThresholdAttack(NET.victim, signal="gradient_norm_w"),
        *seldom(ThresholdAttack(NET.victim, signal="gradient_norm_x")),
        *make_distance_attacks("l2"),
        *seldom(*make_distance_attacks("l1", "linf")),
        GradientAttack(NET.victim),
        *seldom(GradientAttack(NET.victim, wrt="inputs", attack_estimator=TREE)),
        LayerOutputsAttack(NET.victim, attack_estimator=TREE),
        *seldom(EnsembleAttack(NET.victim, attack_estimator=TREE, cv=2)),
        MahalanobisAttack(NET.victim, cv=2),
        FisherRaoAttack(NET.victim, cv=2, layers=[], max_iter=5),
        OneQueryAttack(NET.victim, NET.shadows, n_steps=2),
    ]
    if find_spec("torch") is not None:
        attacks.append(WhiteBoxAttack(NET.victim, max_iter=1, cv=2))
    return attacks


# Their recipes hold a victim, or shadow models, with gradients, see make_white_box_attacks.
WHITE_BOX = {
    FisherRaoAttack,
    GradientAttack,
    LayerOutputsAttack,
    MahalanobisAttack,
    OneQueryAttack,
    WhiteBoxAttack,
}

# How each public attack is made; a new attack needs an entry here.
RECIPES = {
    AnalyticLiRA: make_analytic_attacks,
    CalibratedAttack: make_calibrated_attacks,
    DiversityAttack: make_supervised(
        DiversityAttack, {}, {"method": "learned", "max_iter": 2, "learning_rate": 0.5}
    ),
    EnsembleAttack: make_supervised(
        EnsembleAttack, {"signals": ["loss", "entropy"], "attack_estimator": TREE}
    ),
    EqualRateAttack: lambda problem: [
        EqualRateAttack(problem.victim, shadows=EIGHT_MODELS, target_fpr=0.1),
        *seldom(EqualRateAttack(problem.victim, LiRA(), EIGHT_MODELS)),
    ],
    LiRA: make_lira_attacks,
    MomentsAttack: make_moments_attacks,
    MorganAttack: make_supervised(MorganAttack, {"n_changes": 5}),
    NodeEquationsAttack: lambda problem: [
        # Checks that fit on some of the records leave out training rows.
        NodeEquationsAttack(problem.victim, outsiders=0.5, solver="propagation"),
        NodeEquationsAttack(problem.victim, outsiders=0.5, random_state=0),
    ],
    QuantileAttack: lambda problem: make_quantile_attacks(
        problem, {"signal": "loss", "population": problem.records[::2]}
    ),
    QueriedThresholdAttack: lambda problem: [
        QueriedThresholdAttack(problem.victim, max_queries=50, columns=[0, 1], random_state=0)
    ],
    RMIA: make_rmia_attacks,
    RangeAttack: make_range_attacks,
    ReleasedModelAttack: lambda problem: [
        ReleasedModelAttack(problem.victim, outsiders=0.5, random_state=0)
    ],
    JointAnswersAttack: make_joint_attacks,
    RecoveredModelAttack: make_recovered_attacks,
    RenyiAttack: make_supervised(RenyiAttack),
    ShadowAttack: make_shadow_attacks,
    SplitThresholdAttack: lambda problem: [SplitThresholdAttack(problem.victim, outsiders=0.5)],
    StackedAttack: lambda problem: [
        # Without the trees of the other setting, which few_trees leaves out.
        StackedAttack(problem.victim, problem.shadows, boosted=False, prior=0.2),
        *seldom(StackedAttack(problem.victim, EIGHT_MODELS, boosted=False, target_fpr=0.1)),
    ],
    StationarityAttack: make_stationarity_attacks,
    StoredValuesAttack: make_stored_values_attacks,
    ThresholdAttack: make_threshold_attacks,
    TransferredQueryAttack: make_transferred_attacks,
    VulnerableRecordsAttack: make_vulnerable_attacks,
}


# What hangs on the class alone, or on what all classes inherit. The first attack of each class and
# the first of each kind of victim meet these checks too, which take most of the time.
CHECKS_OF_A_CLASS = {
    f"check_attack_{name}"
    for name in (
        *("init_only_assigns", "get_set_params", "validates_parameters", "tags", "needs_fit"),
        *("fitted_attributes", "classes", "decision_function", "score_is_advantage", "n_jobs"),
        *("refuses_a_matrix", "refuses_no_labels", "refuses_no_records"),
        *("refuses_bad_membership", "refuses_no_membership"),
        *("clones", "spares_fitted_models", "fit_returns_self", "fit_keeps_parameters"),
        *("leaves_its_input_alone", "pickles", "scoring_keeps_its_state"),
        "fit_is_idempotent",  # for all settings a part of forgets_earlier_fits
    )
}
# What hangs on fit and get_params, which all classes inherit, is quick for the first of each kind
# of victim, and slow for the other classes.
CHECKS_IN_TOOLS = {
    f"check_attack_{name}"
    for name in (
        *("in_pipeline", "in_grid_search", "in_cross_val_predict", "in_stacking"),
        *("in_calibration", "membership_forms"),
    )
}


def parametrize_checks(attacks, records, membership, **settings):
    """All checks of the first attack of each class that was not met before, or else of a kind.

    A check that is expected to fail comes with True, and has to fail.
    """
    mark = parametrize_with_attack_checks(attacks, records, membership, **settings)
    whole = [one for kind, one in {type(a): a for a in attacks[::-1]}.items() if kind not in MET]
    whole.append(attacks[0])
    MET.update(map(type, attacks))
    cases = {}
    for case in mark.args[1]:
        attack, check = case.values
        of_class, in_tools = check.name in CHECKS_OF_A_CLASS, check.name in CHECKS_IN_TOOLS
        if attack in whole or not (of_class or in_tools):
            is_slow = attack in SELDOM or (in_tools and attack is not attacks[0])
            name = case.id.rpartition("-")[0] + " in tools" * (in_tools and is_slow)
            case_of_name = cases.setdefault((id(attack), name), (attack, [], is_slow))
            case_of_name[1].append((check, bool(case.marks)))
    return pytest.mark.parametrize(
        "attack, checks",
        [
            pytest.param(attack, checks, id=name, marks=[pytest.mark.slow] * is_slow)
            for (_, name), (attack, checks, is_slow) in cases.items()
        ],
    )


MET = set()


def run_checks(attack, checks):
    for check, fails in checks:
        with pytest.raises(AssertionError) if fails else nullcontext():
            check(attack)


def test_every_class_meets_the_checks_that_its_further_settings_do_not():
    _, checks = test_attacks_on_a_classifier.pytestmark[0].args[1][0].values
    assert {check.name for check, _ in checks} > CHECKS_OF_A_CLASS
    assert find_attacks() - WHITE_BOX <= MET  # of which one needs torch


def find_attacks():
    public = (one for name, one in PUBLIC.items() if name.startswith("skmia.attacks."))
    classes = {one for one in public if inspect.isclass(one) and issubclass(one, BaseAttack)}
    return {one for one in classes if not inspect.isabstract(one)}


def test_every_public_attack_is_checked():
    assert len(find_attacks()) > 0
    missing = {attack.__name__ for attack in find_attacks() - set(RECIPES) - WHITE_BOX}
    assert not missing, f"RECIPES says not how to make {missing}, so that no check runs on them."


# Methods that every estimator has, and those that make plans for fit.
BEFORE_FIT = {"fit", "fit_predict", "get_params", "set_params", "get_metadata_routing"}
BEFORE_FIT |= {"needs", "expect_cost", "fit_pool", "set_score_request"}


def test_each_method_of_an_attack_needs_fit():
    records, n_tried = Records(np.arange(12.0).reshape(6, 2), [0, 1] * 3), 0
    others = {AttributeInferenceAttack, LabelInferenceAttack}
    for kind in sorted(find_attacks() | others, key=lambda kind: kind.__name__):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if name.startswith("_") or name in BEFORE_FIT:
                continue
            taken = [*inspect.signature(method).parameters.values()][1:]
            needed = [records for one in taken if one.default is one.empty]
            with pytest.raises(NotFittedError, match=f"This {kind.__name__} instance is not"):
                next(iter(getattr(kind(), name)(*needed)))  # also of a generator
            n_tried += 1
    assert n_tried > 150


def find_failures_of_file_attacks(attack):
    if isinstance(attack, JointAnswersAttack):
        return {"check_attack_certain_victim": "answers of 0 and 1 have no log odds"}
    if isinstance(attack, RecoveredModelAttack):
        return dict.fromkeys(
            ("check_attack_reads", "check_attack_certain_victim"),
            "the answers of this check are not those of a linear model",
        )
    missing = attack.needs().access & {"nodes", "thresholds", "optimum", "sums"}
    if not missing or not hasattr(attack.victim, "predict_proba"):
        return {}
    return {"check_attack_certain_victim": f"the victim of this check has no {min(missing)}"}


@parametrize_checks(
    [attack for recipe in RECIPES.values() for attack in recipe(CLASSIFIER)],
    CLASSIFIER.records,
    CLASSIFIER.membership,
    expected_failed_checks=find_failures_of_file_attacks,
)
def test_attacks_on_a_classifier(attack, checks):
    run_checks(attack, checks)


def find_failures_of_white_box_attacks(attack):
    if "gradients" in attack.needs().keeps:
        return {}  # it reads those of the shadow models
    return {"check_attack_certain_victim": "the victim of this check has no gradients"}


@parametrize_checks(
    make_white_box_attacks(),
    NET.records,
    NET.membership,
    expected_failed_checks=find_failures_of_white_box_attacks,
)
def test_attacks_on_a_victim_with_gradients(attack, checks):
    run_checks(attack, checks)


@parametrize_checks(
    [
        ThresholdAttack(MARGINS.victim, signal="hinge"),
        LiRA(MARGINS.victim, MARGINS.shadows),
        RMIA(MARGINS.victim, MARGINS.shadows, online=False),
        CalibratedAttack(MARGINS.victim, MARGINS.shadows),
        *seldom(StackedAttack(MARGINS.victim, MARGINS.shadows, boosted=False)),
        *seldom(*make_quantile_attacks(MARGINS)),
        ShadowAttack(MARGINS.victim, MARGINS.shadows, attack_estimator=TREE),
    ],
    MARGINS.records,
    MARGINS.membership,
)
def test_attacks_on_a_classifier_without_probabilities(attack, checks):
    run_checks(attack, checks)


@parametrize_checks(
    [
        ThresholdAttack(REGRESSOR.victim),
        ThresholdAttack(REGRESSOR.victim, signal="squared_error"),
        LiRA(REGRESSOR.victim, REGRESSOR.shadows),
        *seldom(LiRA(REGRESSOR.victim, REGRESSOR.shadows, online=False)),
        RMIA(REGRESSOR.victim, REGRESSOR.shadows),
        CalibratedAttack(REGRESSOR.victim, REGRESSOR.shadows, signal="loss"),
        *seldom(StackedAttack(REGRESSOR.victim, REGRESSOR.shadows, boosted=False)),
        *seldom(*make_quantile_attacks(REGRESSOR)),
    ],
    REGRESSOR.records,
    REGRESSOR.membership,
)
def test_attacks_on_a_regressor(attack, checks):
    run_checks(attack, checks)


@parametrize_checks(
    [
        ThresholdAttack(),
        LiRA(shadows=CLASSIFIER.shadows),
        RMIA(shadows=CLASSIFIER.shadows, population=STORED[::2]),
        CalibratedAttack(shadows=CLASSIFIER.shadows),
        ShadowAttack(shadows=CLASSIFIER.shadows, attack_estimator=TREE),
        *seldom(*make_quantile_attacks(CLASSIFIER, {"victim": None, "population": STORED[::2]})),
    ],
    STORED,
    CLASSIFIER.membership,
)
def test_attacks_on_stored_answers(attack, checks):
    run_checks(attack, checks)


@parametrize_checks(
    [ThresholdAttack(), LiRA(shadows=REGRESSOR.shadows, online=False)],
    STORED_VALUES,
    REGRESSOR.membership,
)
def test_attacks_on_stored_values_of_a_regressor(attack, checks):
    run_checks(attack, checks)


def test_the_threshold_between_neighboring_floats_parts_them():
    values = np.array([[0.0, 1.0], [0.0, np.nextafter(1.0, 2.0)]])
    outputs = Outputs(values, classes=[0, 1], kind="decision")
    records = Records(np.eye(2), [1, 1], outputs=outputs)
    for membership in ([0, 1], [1, 0]):
        attack = ThresholdAttack(signal="hinge").fit(records, membership)
        assert attack.score(records, membership) == (1.0 if membership == [0, 1] else 0.0)


# A distance to the boundary takes many queries of each record.
FEW = make_problem(n_records=20, n_estimators=2)
LABELS = FrozenEstimator(LabelOnlyDefense(FEW.victim).fit(FEW.records.X, FEW.records.y))

LABEL_SHADOWS = FrozenEstimator(
    ShadowPool(TREE, 6, output_kind="label", random_state=0).fit(FEW.records)
)


@parametrize_checks(
    [
        ThresholdAttack(LABELS, signal="correctness"),
        ThresholdAttack(LABELS, signal=LabelRobustness(n_changes=3)),
        *seldom(ThresholdAttack(LABELS, signal=BoundaryDistance(max_queries=150))),
        LiRA(LABELS, LABEL_SHADOWS),
        *seldom(LiRA(LABELS, LABEL_SHADOWS, online=False, target_fpr=0.2)),
        *seldom(CalibratedAttack(LABELS, LABEL_SHADOWS, reference="midpoint")),
    ],
    FEW.records,
    FEW.membership,
)
def test_attacks_on_predicted_labels(attack, checks):
    run_checks(attack, checks)


# Why scikit-learn's own checks say nothing of an estimator that is no attack.
EXCLUDED = {
    "ShadowPool": "takes Records, see the tests of transformers below",
    "AttributeInferenceAttack": "takes Records, see tests/attacks/test_attribute.py",
    "DPWassersteinGAN": "needs torch, see tests/synthetic/test_dp_wgan.py",
    "SDVGenerator": "needs sdv, see tests/synthetic/test_generators.py",
    "SmoteGenerator": "needs imbalanced-learn, see tests/synthetic/test_generators.py",
    "DPSGDClassifier": "needs torch and opacus, see tests/defenses/test_dp_sgd.py",
    "PrivateSearchCV": "needs a private estimator, see tests/defenses/test_private_search.py",
    "DisparityTest": "needs a column of groups, see tests/disparity",
    "Exposure": "takes sequences of tokens, see tests/memorization/test_exposure.py",
    "GradientStatistics": "takes Records, see the tests of transformers below",
    "LabelInferenceAttack": "takes Records, see tests/attacks/test_label_inference.py",
    "MarginalSynthesizer": "takes Records, see tests/shadow/test_synthesis.py",
    "ModelBasedSynthesizer": "takes Records, see tests/shadow/test_synthesis.py",
    "NGramModel": "takes sequences of tokens, see tests/memorization/test_sequences.py",
    "NoisyRecords": "takes Records, see tests/shadow/test_synthesis.py",
    "CopyTest": "takes three tables, see tests/synthetic/test_copy_test.py",
    "InferenceRisk": "takes three tables, see tests/synthetic/test_risks.py",
    "LinkabilityRisk": "takes three tables, see tests/synthetic/test_risks.py",
    "SinglingOutRisk": "takes three tables, see tests/synthetic/test_risks.py",
    "PrivacyLoss": "takes three tables, see tests/synthetic/test_privacy_loss.py",
    "Signals": "takes Records, see the tests of transformers below",
    "Trajectories": "takes Records, see the tests of transformers below",
    "FunctionClassifier": "a function given by the user trains, see "
    "tests/victims/test_training_function.py",
    "FunctionSequenceVictim": "takes tokens, see tests/memorization/test_sequence_victims.py",
    "SequenceVictim": "takes tokens, see tests/memorization/test_sequence_victims.py",
    "OnnxClassifier": "reads the file of a fitted model, see tests/victims/test_onnx.py",
    "OnnxRegressor": "reads the file of a fitted model, see tests/victims/test_onnx.py",
    "CallableVictim": "a function given by the user makes its answers: it does not learn in fit",
    "WeightAverage": "a callback of skorch, see tests/training/test_batched_recipes.py",
}

# Examples of estimators that cannot be made without arguments.
EXAMPLES = {
    name: getattr(skmia.defenses, name)(DecisionTreeClassifier(max_depth=3, random_state=0))
    for name in skmia.defenses.__all__
    if name.endswith("Defense") and name not in ("PATEDefense", "StudentDefense")
}
EXAMPLES["StudentDefense"] = StudentDefense(LogisticRegression(), KernelDensity())
EXAMPLES["PATEDefense"] = PATEDefense(
    GaussianNB(), KernelDensity(), n_teachers=2, noise_multiplier=0, noise_seed=0
)
EXAMPLES["RememberTraining"] = RememberTraining(LogisticRegression(max_iter=1000))
EXAMPLES["OneOutput"] = OneOutput(LogisticRegression())
EXAMPLES["JointOutputs"] = JointOutputs(LogisticRegression())
EXAMPLES["LeaveOneOutLeakage"] = LeaveOneOutLeakage(LogisticRegression())
EXAMPLES["NonSphericalGaussianMechanism"] = NonSphericalGaussianMechanism(widths=1.0)
EXAMPLES["SyntheticDistance"] = SyntheticDistance(KernelDensity())
# The number of sub-models is no part of the contract, and the default takes many times as long.
EXAMPLES["LabelAudit"] = LabelAudit(GaussianNB())
EXAMPLES["WorstCaseVulnerability"] = WorstCaseVulnerability(n_permutations=5)
EXAMPLES["EpsilonAudit"] = EpsilonAudit(GaussianNB(), n_trials=4)
EXAMPLES["SELENADefense"].set_params(estimator=GaussianNB(), n_estimators=2, n_left_out=1)
EXAMPLES["SoftLabelDefense"].set_params(estimator=GaussianNB(), n_estimators=4, n_left_out=2)
EXAMPLES["SoftRegressionDefense"] = SoftRegressionDefense(
    DecisionTreeRegressor(max_depth=3), n_estimators=4, n_left_out=2
)


# Further settings, with which other parts of an estimator meet the checks.
FURTHER = [
    MahalanobisLeakage(covariance="full", noise_scale=0.1),
    MahalanobisLeakage(covariance=LedoitWolf(), sampling_ratio=0.3, n_samples=50),
    MahalanobisLeakage(sampling_ratio=0.3, subsampling="published"),
    MeanLikelihoodRatioAttack(sampling_ratio=0.5, covariance=LedoitWolf(), target_fpr=0.1),
    MeanScalarProductAttack(reference="mean", noise_scale=0.1),
    MeanGLiRAttack(factor="n", target_fpr=0.1),
    NoisyMean(0.5),
    SubsampledMean(0.3, noise_scale=0.1),
    LeaveOneOutLeakage(Ridge()),
    LeaveOneOutLeakage(KNeighborsClassifier(2)),
    EpsilonAudit(
        TREE, 0, n_trials=4, neighbors="replace", method="gaussian", threshold="bonferroni"
    ),
    GaussianMechanism(0.5, calibration="classic"),
    GeneralizationGapBound(assumption="subgaussian", proxy_variance=1e4, baseline=0.7),
    LabelAudit(TREE, reference=False, bound="gdp", n_canaries=0.3),
    NonSphericalGaussianMechanism(lower=0, upper=1),
    NonSphericalGaussianMechanism(widths=2, allocation="minimum_trace"),
    OneRunAudit(TREE, "natural", bound="gdp", n_canaries=0.3),
    TopKDefense(LogisticRegression(), k=1, renormalize=True),
    WorstCaseVulnerability("plugin", n_permutations=5),
    WorstCaseVulnerability("kde", n_permutations=2),
    WorstCaseVulnerability("neighbors", n_permutations=5),
]


def find_public_estimators():
    """Every estimator class in the __all__ of a public module of skmia, by name."""
    return {
        one.__name__: one
        for one in PUBLIC.values()
        if inspect.isclass(one) and issubclass(one, BaseEstimator) and not inspect.isabstract(one)
    }


def find_estimators_of_matrices():
    """One instance of each public estimator that takes an ordinary two-dimensional X."""
    return [
        EXAMPLES[name] if name in EXAMPLES else one()
        for name, one in sorted(find_public_estimators().items())
        if name not in EXCLUDED and not issubclass(one, BaseAttack)
    ]


def test_public_estimators_are_found():
    found = find_public_estimators()
    assert {"LiRA", "ShadowPool", "Signals", "CallableVictim"} <= set(found)
    assert set(EXCLUDED) <= set(found)


def test_counts_that_numpy_cannot_hold_are_out_of_range():
    unbounded = [
        (name, parameter)
        for name, estimator in find_public_estimators().items()
        for parameter, allowed in getattr(estimator, "_parameter_constraints", {}).items()
        if parameter != "noise_seed" and not isinstance(allowed, str)
        for one in allowed
        if getattr(one, "type", None) is Integral and one.is_satisfied_by(10**40)
    ]
    assert not unbounded


def find_all_that_fit():
    """Every public class with a method ``fit``, by name."""
    found = {name.rpartition(".")[2]: one for name, one in PUBLIC.items() if inspect.isclass(one)}
    return {
        name: one
        for name, one in found.items()
        if hasattr(one, "fit") and not inspect.isabstract(one)
    }


@pytest.mark.parametrize("name", sorted(find_all_that_fit()))
def test_each_is_a_transformer_or_a_sampler_or_predicts_and_scores(name):
    # A wrapper has the methods of what it wraps, so that an example of it is asked.
    estimator = EXAMPLES.get(name, find_all_that_fit()[name])
    if not (hasattr(estimator, "transform") or hasattr(estimator, "sample")):
        assert hasattr(estimator, "predict")
        assert hasattr(estimator, "score")


METHODS = ("fit", "fit_predict", "predict", "predict_proba", "decision_function")
METHODS += ("score_samples", "score", "transform")


def test_samples_and_targets_are_called_as_in_scikit_learn():
    # Tools that wrap estimators call their methods by keyword.
    for name in sorted(find_public_estimators()):
        for method in METHODS:
            function = inspect.getattr_static(find_public_estimators()[name], method, None)
            function = getattr(function, "fn", function)  # of scikit-learn's available_if
            if not inspect.isfunction(function):
                continue
            names = list(inspect.signature(function).parameters)[1:]
            assert names[0] == "X", (name, method)
            assert method not in ("fit", "score") or names[1:2] in ([], ["y"]), (name, method)


def test_the_tags_say_who_takes_a_matrix():
    for estimator in find_estimators_of_matrices():
        assert estimator.__sklearn_tags__().input_tags.two_d_array
    found = find_public_estimators()
    tables = [found[name] for name, why in EXCLUDED.items() if "three tables" in why]
    for one in (*find_attacks(), Signals, ShadowPool, *tables):
        assert not one().__sklearn_tags__().input_tags.two_d_array


def test_the_tags_say_who_needs_a_target_and_which_targets():
    for one in sorted(find_attacks(), key=lambda kind: kind.__name__):
        tags = one().__sklearn_tags__()
        assert not tags.classifier_tags.multi_class
        assert not tags.classifier_tags.multi_label
        assert tags.target_tags.required == issubclass(one, SupervisedAttack), one
    needing = (
        EpsilonAudit(),
        OneRunAudit(),
        GeneralizationGapBound(),
        EXAMPLES["LeaveOneOutLeakage"],
    )
    assert all(one.__sklearn_tags__().target_tags.required for one in needing)
    of_two_classes = GeneralizationGapBound(), WorstCaseVulnerability(), MeanScalarProductAttack()
    assert not any(one.__sklearn_tags__().classifier_tags.multi_class for one in of_two_classes)
    assert GeneralizationGapBound().__sklearn_tags__().classifier_tags.poor_score
    tags = DisparityTest().__sklearn_tags__()
    assert tags.input_tags.allow_nan and not tags.input_tags.two_d_array


# Beside others of the same base class.
SELDOM_ESTIMATORS = {
    *("CrossFitDefense", "EpsilonAudit", "GaussianMechanism", "JointOutputs", "MeanGLiRAttack"),
    *("OneRunAudit", "RoundingDefense", "SELENADefense", "SoftLabelDefense"),
    *("SoftRegressionDefense", "StudentDefense", "TemperatureDefense", "TopKDefense"),
}


def mark_estimators():
    for estimator in (*find_estimators_of_matrices(), *FURTHER):
        is_slow = estimator in FURTHER or type(estimator).__name__ in SELDOM_ESTIMATORS
        yield pytest.param(
            estimator, id=type(estimator).__name__, marks=[pytest.mark.slow] * is_slow
        )


# A private estimator says what its guarantee does not cover.
@pytest.mark.filterwarnings("ignore::skmia.exceptions.PrivacyWarning")
@pytest.mark.parametrize("estimator", mark_estimators())
def test_scikit_learn_checks(estimator):
    check_estimator(estimator, on_skip=None)


RECORDS = CLASSIFIER.records


def make_transformers():
    return {
        "Signals": Signals(CLASSIFIER.victim, ["loss", "entropy", "correctness"]),
        "GradientStatistics": GradientStatistics(NET.victim),
        "Signals of stored answers": Signals(signals=("loss",)),
        "Trajectories": Trajectories(CLASSIFIER.victim, ("outputs", CLASSIFIER.victim)),
        "ShadowPool": ShadowPool(TREE, 4, random_state=0),
        "ShadowPool of models": ShadowPool(TREE, 2, store="models", random_state=0),
    }


@pytest.fixture(params=make_transformers())
def transformer(request):
    return make_transformers()[request.param]


def test_transformers_only_assign_in_init(transformer):
    params = transformer.get_params(deep=False)
    made = type(transformer)(**params)
    assert vars(made).keys() == params.keys()
    assert all(getattr(made, name) is value for name, value in params.items())
    assert made.set_params(**params) is made
    with pytest.raises(ValueError, match="no_such_parameter"):
        made.set_params(no_such_parameter=1)


def test_transformers_keep_what_they_learned(transformer):
    expected = transformer.fit(STORED).transform(STORED)
    np.testing.assert_array_equal(transformer.fit(STORED).transform(STORED), expected)
    np.testing.assert_array_equal(clone(transformer).fit(STORED).transform(STORED), expected)
    np.testing.assert_array_equal(transformer.fit_transform(STORED, None), expected)
    again = pickle.loads(pickle.dumps(transformer))
    np.testing.assert_array_equal(again.transform(STORED), expected)
    assert np.isfinite(expected).all()


def test_transformers_answer_record_by_record(transformer):
    evidence = transformer.fit(STORED).transform(STORED)
    order = np.random.default_rng(0).permutation(len(STORED))
    np.testing.assert_allclose(transformer.transform(STORED[order]), evidence[order], rtol=1e-5)
    np.testing.assert_allclose(transformer.transform(STORED[7]), evidence[[7]], rtol=1e-5)


def test_transformers_name_their_columns(transformer):
    evidence = transformer.fit(STORED).transform(STORED)
    names = transformer.get_feature_names_out()
    assert len(set(names)) == len(names) == evidence.shape[1]
    table = transformer.set_output(transform="pandas").transform(STORED)
    expected = pd.DataFrame(evidence, columns=names)
    pd.testing.assert_frame_equal(table, expected, check_column_type=False)


def test_transformers_need_fit(transformer):
    with pytest.raises(NotFittedError):
        transformer.transform(STORED)
    with pytest.raises(NotFittedError):
        transformer.get_feature_names_out()


def test_the_membership_in_a_pool_needs_fit():
    with pytest.raises(NotFittedError):
        ShadowPool(TREE).membership(STORED)


# What an estimator that is not fitted can do as well, and models that are given as they are.
KNOWN_BEFORE = {"needs", "expect_cost", "plan_steps", "change_proba", "with_answers"}
GIVEN = {"CallableVictim", "OnnxClassifier", "OnnxRegressor", "SequenceVictim", "WeightAverage"}


def find_required(function):
    """Return the parameters of a class or a function that have no default."""
    starred = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    taken = inspect.signature(function).parameters.values()
    return [one.name for one in taken if one.default is one.empty and one.kind not in starred]


def test_methods_of_all_estimators_need_fit():
    asked = set()
    for name, kind in find_public_estimators().items():
        one = kind(**{parameter: LogisticRegression() for parameter in find_required(kind)})
        for method, function in inspect.getmembers(kind, inspect.isfunction):
            learns = method.startswith(("_", "fit", "partial_fit", "set_"))
            if learns or hasattr(BaseEstimator, method) or method in KNOWN_BEFORE or name in GIVEN:
                continue
            if not hasattr(one, method):  # of another estimator in it
                continue
            is_attack = issubclass(kind, BaseAttack) or "skmia.attacks" in kind.__module__
            given = STORED if is_attack else np.full((6, 2), 0.5)
            with pytest.raises(NotFittedError):
                # A generator says so only when it is asked for its first block.
                list(getattr(one, method)(*(given for _ in find_required(function)[1:])))
            asked.add(method)
    assert {"score_left_out", "is_vulnerable", "solve_again", "drop_inverter", "power"} <= asked


@pytest.mark.parametrize(
    "given, error, message",
    [
        (np.zeros((5, 3)), TypeError, "Expected skmia.Records, got ndarray"),
        (RECORDS[:0], ValueError, "Expected at least 1 record"),
        (Records(RECORDS.X), ValueError, "no task labels"),
    ],
)
def test_transformers_refuse_bad_input(transformer, given, error, message):
    with pytest.raises(error, match=message):
        transformer.fit(given)
    transformer.fit(STORED)
    with pytest.raises(error, match=message):
        transformer.transform(given)


def test_a_pool_is_the_same_for_every_number_of_jobs():
    one, two = (
        ShadowPool(TREE, 4, random_state=0, n_jobs=n_jobs).fit(RECORDS) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.signals_, two.signals_)
    np.testing.assert_array_equal(one.membership_, two.membership_)


def test_an_unfitted_victim_of_signals_is_refused():
    with pytest.raises(NotFittedError, match="fit it first"):
        Signals(LogisticRegression()).fit(RECORDS)
