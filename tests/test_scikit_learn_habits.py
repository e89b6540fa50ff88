"""Compositions that users of scikit-learn write without a guide.

Each ends in a finite number or in a sentence that says what to do; none ends in NaN.
"""

import io
import re
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import OneHotEncoder, StandardScaler, TargetEncoder
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.attacks import RMIA, CalibratedAttack, LiRA, ShadowAttack, StackedAttack, ThresholdAttack
from skmia.attacks._stacked import _NormalizedFeatures
from skmia.attacks.white_box import EnsembleAttack, GradientAttack
from skmia.datasets import make_membership_problem
from skmia.defenses import SoftLabelDefense, TemperatureDefense
from skmia.defenses._evaluation import _estimate_exposure
from skmia.disparity import DisparityTest
from skmia.leakage import MahalanobisLeakage, WorstCaseVulnerability
from skmia.model_selection import make_leakage_scorer
from skmia.signals import GradientStatistics, Signals
from skmia.synthetic._neighbors import GowerEncoder

RECORDS, MEMBERSHIP = make_membership_problem(240, random_state=0)
X, Y = RECORDS.X, RECORDS.y
MEMBERS = RECORDS[MEMBERSHIP == 1]
MODEL = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0).fit(MEMBERS.X, MEMBERS.y)


def make_lira(**settings):
    return LiRA(MODEL, **{"shadows": 4, **settings})


def is_a_number(values):
    values = np.asarray(values, dtype=float)
    return bool(values.size and np.isfinite(values).all())


def searched(search):
    """All scores of a search are numbers, and it has chosen the best of them."""
    scores = search.cv_results_["mean_test_score"]
    return is_a_number(scores) and search.best_score_ == pytest.approx(np.max(scores))


HELPS = re.compile(
    r"\b(use|give|pass|wrap|put|set|take|fit|convert|call|name|with|needs?|must)\b", re.I
)


def helps(words):
    """A sentence of one or two lines that says what to do, in no words of other packages."""
    lines = [line for line in str(words).splitlines() if line.strip()]
    # Where all fits failed, scikit-learn puts its own words and a traceback before the sentence.
    first = lines[-1 if "fits failed" in lines[0] else 0]
    foreign = re.compile(r"numpy\.|ndarray is not|could not convert|truth value|Expected 2D")
    return bool(HELPS.search(first)) and not foreign.search(first) and len(first) < 400


# Searches over attacks


def test_1_a_grid_over_the_variance_of_an_attack_on_a_fitted_model():
    grid = {"variance": ["shrunk", "pooled"]}
    search = GridSearchCV(make_lira(), grid, scoring="roc_auc", cv=3).fit(RECORDS, MEMBERSHIP)
    assert searched(search)
    assert search.best_estimator_.victim is MODEL


def test_2_a_grid_with_the_default_score():
    search = GridSearchCV(make_lira(), {"variance": ["shrunk", "pooled"]}, cv=3)
    assert searched(search.fit(RECORDS, MEMBERSHIP))


def test_3_a_grid_over_the_number_of_shadow_models():
    search = GridSearchCV(make_lira(), {"shadows": [2, 4]}, scoring="roc_auc", cv=2)
    assert searched(search.fit(RECORDS, MEMBERSHIP))


def test_4_a_grid_over_a_parameter_of_a_pool_leaves_the_pool_as_it_is():
    pool = ShadowPool(MODEL, 4, random_state=0).fit(RECORDS)
    grid = {"shadows__n_estimators": [2, 4]}
    search = GridSearchCV(LiRA(MODEL, pool), grid, scoring="roc_auc", cv=2)
    assert searched(search.fit(RECORDS, MEMBERSHIP))
    assert pool.n_estimators == 4 and pool.transform(RECORDS).shape == (240, 4)


def test_5_an_unfitted_pool_in_a_grid():
    attack = RMIA(MODEL, ShadowPool(MODEL, 4, random_state=0))
    search = GridSearchCV(attack, {"gamma": [1.0, 2.0]}, scoring="roc_auc", cv=2)
    assert searched(search.fit(RECORDS, MEMBERSHIP))


def test_6_random_settings():
    grid = {"signal": ["loss", "confidence", "entropy"]}
    search = RandomizedSearchCV(ThresholdAttack(MODEL), grid, n_iter=2, cv=3, random_state=0)
    assert searched(search.fit(RECORDS, MEMBERSHIP))


def test_7_halving_over_an_attack():
    grid = {"signal": ["loss", "confidence", "entropy", "correctness"]}
    search = HalvingGridSearchCV(ThresholdAttack(MODEL), grid, cv=2, random_state=0)
    search.fit(RECORDS, MEMBERSHIP)
    last = search.cv_results_["iter"] == search.n_iterations_ - 1
    assert is_a_number(search.cv_results_["mean_test_score"][last])
    assert is_a_number(search.cv_results_["mean_test_score"])


def test_8_several_scores_and_one_that_decides():
    attack = ThresholdAttack(MODEL)
    grid = {"signal": ["loss", "entropy"]}
    scoring = ["roc_auc", "balanced_accuracy", "average_precision"]
    search = GridSearchCV(attack, grid, scoring=scoring, refit="roc_auc", cv=3)
    search.fit(RECORDS, MEMBERSHIP)
    assert all(is_a_number(search.cv_results_[f"mean_test_{name}"]) for name in scoring)


def test_9_a_grid_over_kinds_of_attack():
    pipeline = Pipeline([("attack", ThresholdAttack(MODEL))])
    grid = {"attack": [ThresholdAttack(MODEL), make_lira(), ShadowAttack(MODEL, 4)]}
    search = GridSearchCV(pipeline, grid, scoring="roc_auc", cv=2).fit(RECORDS, MEMBERSHIP)
    assert searched(search)


# Validation of attacks


def test_10_cross_validation_with_several_scores_and_training_scores():
    scores = cross_validate(
        make_lira(),
        RECORDS,
        MEMBERSHIP,
        cv=StratifiedKFold(3),
        scoring={"auc": "roc_auc", "own": make_scorer(roc_auc_score)},
        return_train_score=True,
    )
    assert all(
        is_a_number(scores[f"{kind}_{name}"])
        for kind in ("test", "train")
        for name in ("auc", "own")
    )


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_11_predictions_out_of_folds(method):
    predicted = cross_val_predict(make_lira(), RECORDS, MEMBERSHIP, cv=3, method=method)
    assert predicted.shape == (240,) and is_a_number(predicted)


def test_12_a_learning_curve():
    *_, train, test = learning_curve(
        make_lira(), RECORDS, MEMBERSHIP, cv=3, train_sizes=[0.5, 1.0], scoring="roc_auc"
    )
    assert is_a_number(train) and is_a_number(test)


def test_13_a_validation_curve():
    train, test = validation_curve(
        make_lira(),
        RECORDS,
        MEMBERSHIP,
        param_name="variance",
        param_range=["shrunk", "pooled"],
        cv=3,
        scoring="roc_auc",
    )
    assert is_a_number(train) and is_a_number(test)


def test_14_the_score_with_permuted_membership():
    score, null, pvalue = permutation_test_score(
        make_lira(), RECORDS, MEMBERSHIP, cv=3, n_permutations=4, scoring="roc_auc", random_state=0
    )
    assert is_a_number([score, *null, pvalue]) and score > np.mean(null)


def test_15_folds_that_keep_groups_apart():
    grouped = Records(X, Y, person=np.arange(240) // 2)
    scores = cross_val_score(
        make_lira(), grouped, MEMBERSHIP, cv=KFold(3, shuffle=True, random_state=0)
    )
    assert is_a_number(scores)


def test_16_two_processes_give_what_one_gives():
    attack = LiRA(MODEL, ShadowPool(MODEL, 4, random_state=0))
    one, two = (
        cross_val_score(attack, RECORDS, MEMBERSHIP, cv=2, scoring="roc_auc", n_jobs=n_jobs)
        for n_jobs in (1, 2)
    )
    np.testing.assert_allclose(one, two)


# Attacks inside of other estimators


def test_17_stacked_attacks():
    stack = StackingClassifier(
        [("loss", ThresholdAttack(MODEL)), ("lira", make_lira())], LogisticRegression(), cv=3
    )
    scores = cross_val_score(stack, RECORDS, MEMBERSHIP, cv=2, scoring="roc_auc")
    assert is_a_number(scores)


def test_18_attacks_that_vote():
    vote = VotingClassifier([("loss", ThresholdAttack(MODEL)), ("lira", make_lira())])
    assert is_a_number(cross_val_score(vote, RECORDS, MEMBERSHIP, cv=2))


def test_19_a_calibrated_attack():
    calibrated = CalibratedClassifierCV(make_lira(), cv=3).fit(RECORDS, MEMBERSHIP)
    proba = calibrated.predict_proba(RECORDS)
    assert is_a_number(proba) and np.allclose(proba.sum(axis=1), 1)


def test_20_a_tuned_threshold():
    tuned = TunedThresholdClassifierCV(make_lira(), scoring="balanced_accuracy", cv=2)
    tuned.fit(RECORDS, MEMBERSHIP)
    assert is_a_number(tuned.best_score_) and set(tuned.predict(RECORDS)) <= {0, 1}


def test_21_bags_of_an_attack():
    bag = BaggingClassifier(ThresholdAttack(MODEL), n_estimators=3, random_state=0)
    try:
        score = bag.fit(RECORDS, MEMBERSHIP).score(RECORDS, MEMBERSHIP)
    except (TypeError, ValueError) as error:
        assert helps(error), error
    else:
        assert is_a_number(score)


def test_22_one_class_against_the_rest():
    many = OneVsRestClassifier(ThresholdAttack(MODEL))
    try:
        score = many.fit(RECORDS, MEMBERSHIP).score(RECORDS, MEMBERSHIP)
    except (TypeError, ValueError) as error:
        assert helps(error), error
    else:
        assert is_a_number(score)


# Signals as features


def test_23_signals_and_a_classifier():
    attack = make_pipeline(
        Signals(MODEL, ["loss", "entropy"]), StandardScaler(), LogisticRegression()
    )
    assert is_a_number(cross_val_score(attack, RECORDS, MEMBERSHIP, cv=3, scoring="roc_auc"))


def test_24_signals_in_a_union_and_a_grid_over_one_of_them():
    union = FeatureUnion(
        [("loss", Signals(MODEL, ["loss"])), ("more", Signals(MODEL, ["entropy"]))]
    )
    attack = make_pipeline(union, RandomForestClassifier(10, random_state=0))
    grid = {"featureunion__more__signals": [["entropy"], ["max_softmax"]]}
    search = GridSearchCV(attack, grid, scoring="roc_auc", cv=2).fit(RECORDS, MEMBERSHIP)
    assert searched(search)


def test_25_a_union_with_a_pool_trains_it():
    union = make_union(Signals(MODEL, ["loss"]), ShadowPool(MODEL, 4, random_state=0))
    attack = make_pipeline(union, LogisticRegression(max_iter=2000))
    search = GridSearchCV(attack, {"logisticregression__C": [0.1, 1.0]}, cv=2, scoring="roc_auc")
    assert searched(search.fit(RECORDS, MEMBERSHIP))


def test_26_columns_of_records_are_no_table():
    columns = ColumnTransformer([("signals", Signals(MODEL, ["loss"]), [0, 1])])
    with pytest.raises((TypeError, ValueError)) as caught:
        columns.fit(RECORDS, MEMBERSHIP)
    assert helps(caught.value), caught.value


def test_27_a_pipeline_with_memory(tmp_path):
    attack = Pipeline(
        [("signals", Signals(MODEL, ["loss"])), ("learn", LogisticRegression())],
        memory=str(tmp_path),
    )
    grid = {"learn__C": [0.1, 1.0]}
    search = GridSearchCV(attack, grid, scoring="roc_auc", cv=2).fit(RECORDS, MEMBERSHIP)
    assert searched(search)


def test_28_names_of_columns_in_a_frame():
    signals = Signals(MODEL, ["loss", "entropy"]).set_output(transform="pandas")
    frame = signals.fit_transform(RECORDS)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == signals.get_feature_names_out().tolist()
    assert is_a_number(frame)


def test_28_row_labels_of_the_features_in_a_frame():
    X = pd.DataFrame(np.asarray(RECORDS.X), index=np.arange(240)[::-1] + 7)
    records, model = Records(X, Y), LogisticRegression().fit(MEMBERS.X, MEMBERS.y)
    pool = ShadowPool.from_scores(np.zeros((2, 240)), np.eye(2)[:, np.arange(240) % 2], records)
    for columns in (
        Signals(model, ["loss"]).fit(records),
        GradientStatistics(model).fit(records),
        pool,
    ):
        frame = columns.set_output(transform="pandas").transform(records[5:8])
        assert frame.index.tolist() == X.index[5:8].tolist()
        assert frame.columns.tolist() == columns.get_feature_names_out().tolist()


POOL = ShadowPool(MODEL, 4, random_state=0).fit(RECORDS)
WIDE = np.asarray(X, dtype=np.float64)
LINEAR = LogisticRegression().fit(MEMBERS.X, MEMBERS.y)
INSIDE = {  # work of the package with transformers of its own
    "similar records": lambda: np.column_stack(_NormalizedFeatures(RECORDS)(RECORDS)),
    "signals": lambda: (
        EnsembleAttack(
            LINEAR, signals=["loss"], attack_estimator=LogisticRegression(), random_state=0
        )
        .fit(RECORDS, MEMBERSHIP)
        .score_samples(RECORDS)
    ),
    "gradients": lambda: (
        GradientAttack(LINEAR, attack_estimator=LogisticRegression(), random_state=0)
        .fit(RECORDS, MEMBERSHIP)
        .score_samples(RECORDS)
    ),
    "distances": lambda: GowerEncoder().fit(WIDE).transform(WIDE),
    "exposure": lambda: _estimate_exposure(POOL, RECORDS),
}


@pytest.mark.parametrize("container", ["pandas", "polars"])
@pytest.mark.parametrize("work", INSIDE.values(), ids=INSIDE)
def test_28_frames_as_the_global_output_change_no_result(work, container):
    pytest.importorskip(container)
    with sklearn.config_context(transform_output=container):
        found = work()
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, work())


@pytest.mark.parametrize("select", [SelectFromModel, RFE])
def test_29_selected_signals(select):
    attack = make_pipeline(
        Signals(MODEL, ["loss", "entropy", "correctness"]),
        select(RandomForestClassifier(10, random_state=0)),
        LogisticRegression(),
    )
    assert is_a_number(cross_val_score(attack, RECORDS, MEMBERSHIP, cv=2, scoring="roc_auc"))


def test_30_which_signal_matters():
    attack = make_pipeline(
        Signals(MODEL, ["loss", "entropy"]), RandomForestClassifier(10, random_state=0)
    ).fit(RECORDS, MEMBERSHIP)
    features = attack[0].transform(RECORDS)
    found = permutation_importance(attack[-1], features, MEMBERSHIP, n_repeats=2, random_state=0)
    assert is_a_number(found.importances_mean)
    with pytest.raises((TypeError, ValueError)) as caught:
        permutation_importance(attack, RECORDS, MEMBERSHIP, n_repeats=2)
    assert helps(caught.value), caught.value


# Victims and defenses


def test_31_a_leakage_scorer_in_a_search_over_models():
    scorer = make_leakage_scorer(Records(X, Y), attack=ThresholdAttack())
    grid = {"max_leaf_nodes": [4, 40]}
    model = DecisionTreeClassifier(random_state=0)
    scoring = {"accuracy": "accuracy", "leakage": scorer}
    try:
        search = GridSearchCV(model, grid, scoring=scoring, refit="accuracy", cv=2).fit(X, Y)
    except (TypeError, ValueError) as error:
        assert helps(error), error
    else:
        assert is_a_number(search.cv_results_["mean_test_leakage"])


@pytest.mark.parametrize("tool", ["cross_validate", "learning_curve", "halving"])
def test_32_a_leakage_scorer_elsewhere(tool):
    scorer = make_leakage_scorer(Records(X, Y), attack=ThresholdAttack())
    model = DecisionTreeClassifier(random_state=0)

    def measure():
        if tool == "cross_validate":
            return cross_validate(model, X, Y, cv=2, scoring=scorer)["test_score"]
        if tool == "learning_curve":
            return learning_curve(model, X, Y, cv=2, train_sizes=[1.0], scoring=scorer)[2]
        grid = {"max_leaf_nodes": [4, 40]}
        search = HalvingGridSearchCV(model, grid, cv=2, scoring=scorer, random_state=0)
        return search.fit(X, Y).cv_results_["mean_test_score"]

    try:
        found = measure()
    except (TypeError, ValueError) as error:
        assert helps(error), error
    else:
        assert is_a_number(found)


def test_33_a_grid_over_a_defense_in_a_pipeline():
    pipeline = make_pipeline(
        StandardScaler(), SoftLabelDefense(LogisticRegression(), n_estimators=6)
    )
    grid = {"softlabeldefense__alpha": [0.5, 2.0], "softlabeldefense__estimator__C": [1.0]}
    assert searched(GridSearchCV(pipeline, grid, cv=2).fit(X, Y))


def test_34_sample_weights_are_routed_through_a_defense():
    weights = np.random.default_rng(0).random(len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, TemperatureDefense(inner, temperature=2.0))
        weighted = pipeline.fit(X, Y, sample_weight=weights).predict_proba(X)
        plain = pipeline.fit(X, Y).predict_proba(X)
    assert is_a_number(weighted) and not np.allclose(weighted, plain)


def make_frame():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return frame.assign(town=rng.choice(["a", "b", "c"], len(frame)))


@pytest.mark.parametrize(
    "encoder", [TargetEncoder(), pytest.param(OneHotEncoder(), marks=pytest.mark.slow)]
)
def test_35_a_victim_with_encoders_on_a_frame(encoder):
    frame = make_frame()
    numbers = [name for name in frame if name != "town"]
    columns = make_column_transformer((encoder, ["town"]), (StandardScaler(), numbers))
    victim = make_pipeline(columns, LogisticRegression())
    victim.fit(frame[MEMBERSHIP == 1], Y[MEMBERSHIP == 1])
    grid = {"variance": ["shrunk", "pooled"]}
    search = GridSearchCV(LiRA(victim, shadows=4), grid, scoring="roc_auc", cv=2)
    assert searched(search.fit(Records(frame, Y), MEMBERSHIP))


def test_36_a_frame_of_polars():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])})
    victim = LogisticRegression().fit(MEMBERS.X, MEMBERS.y)
    records = Records(frame, Y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*feature names.*")
        scores = cross_val_score(ThresholdAttack(victim), records, MEMBERSHIP, cv=2)
    assert is_a_number(scores)


def test_37_a_regressor_with_a_transformed_target():
    records, membership = make_membership_problem(160, kind="regression", random_state=0)
    y = records.y.astype(float)
    records = Records(records.X, y - y.min() + 1)
    members = records[membership == 1]
    victim = TransformedTargetRegressor(Ridge(1e-3), func=np.log, inverse_func=np.exp)
    victim.fit(members.X, members.y)
    attack = LiRA(victim, shadows=4)
    assert is_a_number(cross_val_score(attack, records, membership, cv=2, scoring="roc_auc"))


def test_38_several_targets():
    records, membership = make_membership_problem(160, kind="regression", random_state=0)
    both = np.column_stack([records.y, records.y[::-1]])
    members = membership == 1
    victim = LinearRegression().fit(records.X[members], both[members])
    attack = LiRA(victim, shadows=4)
    scores = cross_val_score(attack, Records(records.X, both), membership, cv=2, scoring="roc_auc")
    assert is_a_number(scores)


# Estimators of leakage


def test_39_a_grid_over_a_leakage_of_means():
    search = GridSearchCV(MahalanobisLeakage(), {"covariance": ["diagonal", "full"]}, cv=2)
    try:
        search.fit(X)
    except (TypeError, ValueError) as error:
        assert helps(error), error
    else:
        assert searched(search)


def test_40_a_worst_case_in_a_pipeline_and_a_grid():
    pipeline = make_pipeline(Signals(MODEL, ["loss"]), WorstCaseVulnerability(n_permutations=0))
    grid = {"worstcasevulnerability__method": ["kde", "neighbors"]}
    assert searched(GridSearchCV(pipeline, grid, cv=2).fit(RECORDS, MEMBERSHIP))


def test_41_a_test_of_groups_on_a_frame_and_labels():
    frame = make_frame().rename(columns={"town": "race"})
    numbers = [name for name in frame if name != "race"]
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["race"]), (StandardScaler(), numbers)),
        LogisticRegression(),
    )
    test = DisparityTest(
        model, ThresholdAttack(), group="race", n_rounds=3, n_permutations=9, random_state=0
    )
    test.fit(frame, Y)
    assert set(test.vulnerabilities_.columns) == {"a", "b", "c"}
    assert is_a_number(test.disparity_)


def test_42_a_grid_over_a_test_of_groups():
    records = Records(X, Y, group=np.arange(240) % 2)
    test = DisparityTest(
        DecisionTreeClassifier(random_state=0),
        ThresholdAttack(),
        n_rounds=2,
        n_permutations=9,
        random_state=0,
    )
    grid = {"estimator__max_leaf_nodes": [4, 40]}
    try:
        search = GridSearchCV(test, grid, cv=2).fit(records)
    except (TypeError, ValueError) as error:
        assert helps(error), error
    else:
        assert searched(search)


# Habits around all of them


@pytest.mark.parametrize(
    "kind",
    [LiRA, RMIA, CalibratedAttack]
    + [pytest.param(kind, marks=pytest.mark.slow) for kind in (ShadowAttack, StackedAttack)],
)
def test_43_clones_are_fitted_like_what_they_were_cloned_from(kind):
    attack = kind(MODEL, ShadowPool(MODEL, 8, store="outputs", random_state=0))
    if "random_state" in attack.get_params(deep=False):
        attack.set_params(random_state=0)
    copy = clone(attack)
    assert is_classifier(copy) and copy is not attack and copy.victim is MODEL
    assert set(copy.get_params(deep=False)) == set(attack.get_params(deep=False))
    first, second = (one.fit(RECORDS).score_samples(RECORDS) for one in (attack, copy))
    np.testing.assert_allclose(first, second)


def test_44_parameters_of_parts_are_read_and_set():
    attack = LiRA(MODEL, ShadowPool(MODEL, 4, random_state=0))
    assert attack.get_params()["shadows__n_estimators"] == 4
    attack.set_params(shadows__n_estimators=2, variance="pooled")
    assert attack.fit(RECORDS).get_params()["variance"] == "pooled"
    with pytest.raises(ValueError, match="Invalid parameter 'sigma'"):
        attack.set_params(sigma=1)


def test_45_a_search_survives_being_stored():
    search = GridSearchCV(make_lira(), {"variance": ["shrunk", "pooled"]}, scoring="roc_auc", cv=2)
    search.fit(RECORDS, MEMBERSHIP)
    file = io.BytesIO()
    joblib.dump(search, file)
    file.seek(0)
    again = joblib.load(file)
    np.testing.assert_array_equal(again.predict(RECORDS), search.predict(RECORDS))


@pytest.mark.parametrize("data", [X, make_frame()], ids=["array", "frame"])
def test_46_a_table_in_place_of_records_gets_a_sentence(data):
    with pytest.raises((TypeError, ValueError)) as caught:
        make_lira().fit(data, MEMBERSHIP)
    assert "Records" in str(caught.value) and helps(caught.value), caught.value


def test_47_weights_of_records_in_the_score():
    attack = ThresholdAttack(MODEL).fit(RECORDS)
    weights = np.r_[np.zeros(120), np.ones(120)]
    keep = weights > 0
    score = attack.score(RECORDS, MEMBERSHIP, sample_weight=weights)
    assert score == pytest.approx(attack.score(RECORDS[keep], MEMBERSHIP[keep]))


def test_48_labels_of_membership_of_any_kind():
    words = np.where(MEMBERSHIP == 1, "in", "out")
    for membership in (MEMBERSHIP.astype(bool), MEMBERSHIP.tolist(), pd.Series(MEMBERSHIP), words):
        try:
            score = cross_val_score(ThresholdAttack(MODEL), RECORDS, membership, cv=2)
        except (TypeError, ValueError) as error:
            assert helps(error), error
        else:
            assert is_a_number(score)
