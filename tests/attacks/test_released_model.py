"""Everything that a file offers at once."""

import warnings

import numpy as np
import pandas as pd
import pytest
from cells import slow
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Records
from skmia._core.probabilities import posterior_of
from skmia.attacks import (
    MomentsAttack,
    NodeEquationsAttack,
    ReleasedModelAttack,
    SplitThresholdAttack,
    StationarityAttack,
    StoredValuesAttack,
)
from skmia.attacks._file_attack import expect_auc
from skmia.datasets import make_membership_problem
from skmia.victims import CallableVictim, OneOutput, read_booster_file

pytestmark = pytest.mark.contract

X, Y = load_breast_cancer(return_X_y=True)
N = len(Y)
MEMBER = np.random.default_rng(0).permutation(N) < N // 2
# Standard error of the AUC of scores that say nothing, of as many records.
ERROR = np.sqrt((N + 1) / (12 * (N // 2) * (N - N // 2)))
LEAVES = {"min_samples_leaf": 10, "random_state": 0}
SMALL = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=60, random_state=0)


def fit(model, member=MEMBER):
    return FrozenEstimator(model.fit(X[member], Y[member]))


def attack(victim, records=None, **settings):
    return ReleasedModelAttack(victim, **settings, random_state=0).fit(records or Records(X, Y))


@pytest.mark.parametrize("seed", [0, slow(1), slow(2)])
def test_the_parts_together_find_more_than_each(seed):
    member, records = np.random.default_rng(seed).permutation(N) < N // 2, Records(X, Y)
    forest = RandomForestClassifier(10, min_samples_leaf=20, random_state=0)
    victim = fit(make_pipeline(QuantileTransformer(n_quantiles=30), forest), member)
    both = attack(victim)
    assert list(both.parts_) == ["node equations", "split thresholds", "stored values"]
    apart = [roc_auc_score(member, one.score_samples(records)) for one in both.parts_.values()]
    assert roc_auc_score(member, both.score_samples(records)) > max(apart) > min(apart) > 0.55


def draw_planted(seed, n=240):
    """Records of which the labels are known to follow two columns, and a random half of them."""
    rng = np.random.default_rng([seed, 5])
    table = rng.normal(size=(n, 6))
    labels = (table[:, 0] + table[:, 1] * table[:, 2] + rng.normal(size=n) > 0).astype(int)
    return Records(table, labels), rng.permutation(n) < n // 2


# By name: the model, and whether it stores many equations.
OF_STRENGTHS = {
    "one tree": (DecisionTreeClassifier(min_samples_leaf=20, random_state=0), False),
    "large tree": (DecisionTreeClassifier(random_state=0), False),
    "few rounds": (GradientBoostingClassifier(n_estimators=10, max_depth=2, random_state=0), False),
    "boosting": (HistGradientBoostingClassifier(max_iter=50, random_state=0), True),
    "weights of rows": (AdaBoostClassifier(n_estimators=10, random_state=0), False),
    "optimum": (make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), False),
    "sums": (GaussianNB(), False),
    "vote": (VotingClassifier([("h", SMALL), ("l", LogisticRegression())]), True),
    "forest": (RandomForestClassifier(10, min_samples_leaf=10, random_state=0), False),
}


@pytest.mark.parametrize("name", OF_STRENGTHS)
def test_what_is_expected_and_flagged_is_so_in_planted_worlds(name):
    model, is_sure = OF_STRENGTHS[name]
    found, expected, flagged = [], [], []
    for seed in range(n_worlds := 2):
        records, member = draw_planted(seed)
        inside = records[member]
        one = attack(FrozenEstimator(clone(model).fit(inside.X, inside.y)), records)
        scores = one.score_samples(records)
        found.append(roc_auc_score(member, scores))
        expected.append(expect_auc(posterior_of(scores)))
        if one.expected_auc_ is not None:
            assert 0 <= one.expected_auc_ - expected[-1] < 0.05
            expected[-1] = one.expected_auc_
        flagged.append(one.predict(records)[~member].mean())
    # Standard errors of an AUC, and of a share of 5%, of as many records in all worlds.
    error, rate_error = np.sqrt(241 / 12 / 120**2 / n_worlds), np.sqrt(0.05 * 0.95 / 120 / n_worlds)
    too_much = np.mean(expected) - np.mean(found)
    assert too_much < 3 * error
    assert too_much > -3 * error or name == "forest"  # a lower bound
    assert np.mean(flagged) < 0.05 + 3 * rate_error
    assert not is_sure or np.mean(flagged) < 0.01 < 0.99 < np.mean(found)


def test_a_file_of_one_kind_is_attacked_by_one_part():
    found = attack(fit(KNeighborsClassifier()))
    assert list(found.parts_) == ["stored values"]
    assert found.left_out_ == {}
    assert roc_auc_score(MEMBER, found.score_samples(Records(X, Y))) == 1.0


def test_settings_that_no_equation_covers_leave_their_part_out():
    boosting = GradientBoostingClassifier(loss="exponential", n_estimators=5, random_state=0)
    found = attack(fit(boosting))
    assert "loss='exponential'" in found.left_out_["node equations"]
    assert list(found.parts_) == ["split thresholds", "stored values"]


def draw_table(n=450):
    """A table with two columns of categories, which its labels depend on."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(n, 3)), rng.integers([12, 30], size=(n, 2))])
    effects = rng.normal(size=30)[X[:, 3:].astype(int)].sum(axis=1)
    return X, (X[:, 0] + effects + rng.normal(size=n) > 0).astype(int)


def as_frame(X):
    frame = pd.DataFrame(X, columns=list("abcde"))
    for name in "de":
        values = [f"v{int(value)}" for value in frame[name]]
        frame[name] = pd.Categorical(values, categories=[f"v{k}" for k in range(30)])
    return frame


def make_xgboost(**settings):
    return pytest.importorskip("xgboost").XGBClassifier(n_jobs=1, random_state=0, **settings)


def make_lightgbm(**settings):
    settings = {"verbose": -1, "n_jobs": 1, "random_state": 0, **settings}
    return pytest.importorskip("lightgbm").LGBMClassifier(**settings)


PLANTED = {
    "categories": (lambda: HistGradientBoostingClassifier(max_iter=30, random_state=0), 0.99),
    "categories of XGBoost": (lambda: make_xgboost(n_estimators=30, enable_categorical=True), 0.99),
    "categories of LightGBM": (lambda: make_lightgbm(n_estimators=60), 0.99),
    "weights": (
        lambda: ExtraTreesClassifier(class_weight="balanced", n_estimators=30, **LEAVES),
        0.99,
    ),
    "weights of samples": (
        lambda: RandomForestClassifier(class_weight="balanced", n_estimators=30, **LEAVES),
        0.8,
    ),
    "weights of boosting": (
        lambda: HistGradientBoostingClassifier(
            max_iter=30, class_weight="balanced", random_state=0
        ),
        0.99,
    ),
    "weights of LightGBM": (lambda: make_lightgbm(n_estimators=30, class_weight="balanced"), 0.99),
    "weight of XGBoost": (lambda: make_xgboost(n_estimators=30, scale_pos_weight=2.0), 0.99),
    "weights of rows": (lambda: ExtraTreesClassifier(n_estimators=30, **LEAVES), 0.99),
    "weights of rows of boosting": (
        lambda: GradientBoostingClassifier(n_estimators=50, random_state=0),
        0.9,
    ),
    "subsample": (
        lambda: GradientBoostingClassifier(n_estimators=30, subsample=0.5, random_state=0),
        0.8,
    ),
    "subsample of XGBoost": (lambda: make_xgboost(n_estimators=30, subsample=0.5), 0.8),
    "subsample of LightGBM": (
        lambda: make_lightgbm(n_estimators=30, subsample=0.5, subsample_freq=1),
        0.8,
    ),
    "isolation": (lambda: IsolationForest(n_estimators=30, random_state=0), 0.95),
    "AdaBoost": (
        lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), random_state=0),
        0.95,
    ),
}


# The equations of others are those of a file in the tests of victims.
OFTEN_PLANTED = {
    *("categories", "weights", "weights of rows", "isolation"),
}


@pytest.mark.parametrize(
    "name", [name if name in OFTEN_PLANTED else slow(name) for name in PLANTED]
)
def test_members_are_found_in_settings_of_many_kinds_and_strangers_are_not(name):
    X, y = draw_table()
    X = as_frame(X) if name.startswith("categories") else X
    make, least = PLANTED[name]
    take = X.iloc if hasattr(X, "iloc") else X
    candidates, member = Records(take[:300], y[:300]), np.arange(300) < 150
    found = {}
    # The model of a sham was trained on rows that are not among the candidates.
    for kind, rows in (("planted", slice(0, 150)), ("sham", slice(300, 450))):
        weights = np.random.default_rng(1).uniform(0.5, 2, 150)
        options = {"sample_weight": weights} if "of rows" in name else {}
        model = make().fit(take[rows], y[rows], **options)
        with warnings.catch_warnings():
            if kind == "sham":
                warnings.simplefilter("ignore", UserWarning)  # the equations contradict each other
            one = attack(FrozenEstimator(model), candidates)
        assert "node equations" in one.parts_
        found[kind] = roc_auc_score(member, one.score_samples(candidates))
    assert found["planted"] > least
    assert abs(found["sham"] - 0.5) < 4 * np.sqrt(301 / (12 * 150 * 150))


def test_exact_equations_overrule_evidence_that_contradicts_them(monkeypatch):
    records = Records(X, Y)
    equations = NodeEquationsAttack(
        fit(ExtraTreesClassifier(min_samples_leaf=10, random_state=0)), random_state=0
    ).fit(records)
    for evidence in (np.where(MEMBER, -50.0, 50.0), np.where(MEMBER, 1.0, -1.0)):
        assert equations.solve_again(records, evidence)
        assert roc_auc_score(MEMBER, equations.score_samples(records)) == 1.0
    before = equations.score_samples(records)
    worse = equations._solution._replace(residuals=np.full(equations.n_equations_, 2.0))
    monkeypatch.setattr(equations, "_solve_around", lambda *_: worse)
    assert not equations.solve_again(records, np.where(MEMBER, -50.0, 50.0))
    np.testing.assert_array_equal(equations.score_samples(records), before)


def test_what_says_nothing_is_at_chance():
    # The model was trained on other labels of the same rows: what matches is not in the file.
    found = attack(fit(SMALL))
    other = np.random.default_rng(100).permutation(MEMBER)
    assert abs(roc_auc_score(other, found.score_samples(Records(X, Y))) - 0.5) < 4 * ERROR


def test_records_that_were_not_candidates_are_judged():
    X, y = load_diabetes(return_X_y=True)
    member = np.random.default_rng(1).permutation(len(y)) < 221
    tree = DecisionTreeRegressor(random_state=0).fit(X[member], y[member])
    some = np.arange(len(y)) % 5 > 0
    found = attack(FrozenEstimator(tree), Records(X[some], y[some]), outsiders=0.2)
    scores = found.score_samples(Records(X[~some], y[~some]))
    assert roc_auc_score(member[~some], scores) > 0.6


@pytest.mark.parametrize(
    "attack, model",
    [
        (ReleasedModelAttack, RandomForestClassifier(3, random_state=0)),
        (NodeEquationsAttack, RandomForestClassifier(3, random_state=0)),
        (SplitThresholdAttack, RandomForestClassifier(3, random_state=0)),
        (StoredValuesAttack, KNeighborsClassifier()),
        (MomentsAttack, GaussianNB()),
        (StationarityAttack, LogisticRegression()),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_the_columns_of_a_table_are_known_by_their_names(attack, model):
    table, y = pd.DataFrame(X[:60, [0, 4, 20]], columns=["c", "a", "b"]), Y[:60]
    victim = FrozenEstimator(model.fit(table[:30], y[:30]))
    found = attack(victim).fit(Records(table, y))
    scores = found.score_samples(Records(table, y))
    assert len(np.unique(scores)) > 1
    other = attack(victim).fit(Records(table[["a", "b", "c"]], y)[:])
    for order in (["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]):
        again = other.score_samples(Records(table[order], y))
        np.testing.assert_allclose(again, scores, rtol=1e-9)
    with pytest.raises(ValueError, match="X lacks 'c' and the model was fitted without 'd'"):
        attack(victim).fit(Records(table.rename(columns={"c": "d"}), y))


def test_what_has_no_file_is_refused():
    with pytest.raises(ValueError, match="needs the fitted model itself"):
        ReleasedModelAttack().fit(Records(X, Y))
    service = CallableVictim(lambda X: np.full((len(X), 2), 0.5), classes=[0, 1]).fit(X, Y)
    with pytest.raises(ValueError, match="No attack can read the file of CallableVictim"):
        attack(FrozenEstimator(service))


def test_a_model_that_stores_nothing_of_its_records_scores_them_alike():
    net = MLPClassifier((2,), solver="lbfgs", tol=1, random_state=0)
    scores = attack(fit(net)).score_samples(Records(X, Y))
    assert np.unique(scores).tolist() == [0.0]


def test_the_optimum_of_a_linear_model_is_read():
    model = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8, max_iter=1000))
    aucs = []
    for seed in range(2):
        member = np.random.default_rng(seed).permutation(N) < N // 2
        found = attack(fit(model, member))
        assert list(found.parts_) == ["conditions at the optimum", "moments", "stored values"]
        aucs.append(roc_auc_score(member, found.score_samples(Records(X, Y))))
    assert np.mean(aucs) > 0.5 + 4 * ERROR / np.sqrt(len(aucs))


def test_evidence_of_edges_does_not_mislead_equations_with_missing_rows():
    """Ridge regression would otherwise take evidence that is a little wrong for certain."""
    records, membership = make_membership_problem(500, random_state=0)
    X = np.where(np.arange(records.X.shape[1]) < 2, records.X, np.round(2 * records.X))
    records = Records(X, records.y)
    members = records[membership == 1]
    model = HistGradientBoostingClassifier(max_iter=25, random_state=0).fit(members.X, members.y)
    kept = np.random.default_rng(0).random(len(records)) >= 0.1 * membership
    attack = ReleasedModelAttack(FrozenEstimator(model), outsiders=0.1, random_state=0)
    together = roc_auc_score(
        membership[kept], attack.fit(records[kept]).score_samples(records[kept])
    )
    scores = attack.parts_["node equations"].score_samples(records[kept])
    assert attack.is_combined_
    assert together > roc_auc_score(membership[kept], scores)


# 300 candidates of three classes, half of them members.
GIVEN, MEMBERSHIP = make_membership_problem(210, n_classes=3, random_state=0)
PAIR = Records(GIVEN.X, (GIVEN.y == 0).astype(int))
INSIDE = MEMBERSHIP == 1
FOREST = RandomForestClassifier(4, min_samples_leaf=5, random_state=0)
TREES = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=15, random_state=0)
TREE = DecisionTreeRegressor(min_samples_leaf=3, random_state=0)
LINEAR = LogisticRegression(tol=1e-8, max_iter=2000)


def open_by_hand(model, records, prior=0.5):
    """Scores of the attack on one inner model, with the records that it was given."""
    attack = ReleasedModelAttack(FrozenEstimator(model), prior=prior, random_state=0)
    return attack.fit(records).score_samples(records)


def from_share(ratios, kept):
    return np.logaddexp(ratios + np.log(kept), np.log(1 - kept))


def open_calibration(model, records):
    prior = 0.5 * (1 - 1 / len(model.calibrated_classifiers_))
    ratios = [open_by_hand(one.estimator, records, prior) for one in model.calibrated_classifiers_]
    return sum(from_share(one, 2 * prior) for one in ratios)


def open_members(model, records):
    return sum(open_by_hand(one, records) for one in model.estimators_)


def open_rests(model, records):
    targets = model.label_binarizer_.transform(records.y).toarray().T
    pairs = zip(model.estimators_, targets, strict=True)
    return sum(open_by_hand(one, Records(records.X, y)) for one, y in pairs)


def open_targets(model, records):
    y = model.transformer_.transform(records.y[:, None])[:, 0]
    return open_by_hand(model.regressor_, Records(records.X, y))


COMPOSITES = {
    "calibration": (CalibratedClassifierCV(FOREST, cv=3), open_calibration),
    "calibration of boosting": (CalibratedClassifierCV(TREES, cv=3), open_calibration),
    "calibration of machines": (CalibratedClassifierCV(SVC(), cv=3), open_calibration),
    "one calibration": (
        CalibratedClassifierCV(FOREST, cv=3, ensemble=False),
        lambda model, records: open_by_hand(model.calibrated_classifiers_[0].estimator, records),
    ),
    "vote": (VotingClassifier([("a", LINEAR), ("b", FOREST)]), open_members),
    "stack": (StackingClassifier([("a", FOREST), ("b", TREES)], LINEAR, cv=2), open_members),
    "rests": (OneVsRestClassifier(FOREST), open_rests),
    "search": (
        GridSearchCV(VotingClassifier([("a", FOREST)]), {"voting": ["soft"]}, cv=2),
        lambda model, records: open_members(model.best_estimator_, records),
    ),
    "targets": (TransformedTargetRegressor(TREE, func=np.exp, inverse_func=np.log), open_targets),
}


SELDOM = {"calibration", "calibration of boosting", "search", "vote"}


@pytest.mark.parametrize("name", [slow(name) if name in SELDOM else name for name in COMPOSITES])
def test_models_inside_a_model_are_read_as_if_opened_by_hand(name):
    model, open_it = COMPOSITES[name]
    records = GIVEN if name == "rests" else PAIR
    if name == "targets":
        noise = np.random.default_rng(0).normal(size=len(GIVEN))
        records = Records(GIVEN.X, GIVEN.X[:, 0] + noise)
    model = clone(model).fit(records.X[INSIDE], records.y[INSIDE])
    found = attack(FrozenEstimator(model), records)
    auc = roc_auc_score(INSIDE, found.score_samples(records))
    assert auc > roc_auc_score(INSIDE, open_it(model, records)) - 0.01
    assert auc > 0.7
    if name in ("one calibration", "vote", "stack", "rests", "search"):
        # What an attack on an inner model reads is listed under its name without the place.
        inner = {part.partition(" in ")[0] for part in found.parts_ if " in " in part}
        assert "node equations" in inner <= set(found.ledger_["part"])
    # Trained on the other half, the same scores say the opposite: nothing else is read.
    other = clone(model).fit(records.X[~INSIDE], records.y[~INSIDE])
    scores = attack(FrozenEstimator(other), records).score_samples(records)
    assert roc_auc_score(INSIDE, scores) < 0.3


@pytest.mark.parametrize("name", ["calibration", "vote", slow("rests")])
def test_composites_of_other_rows_tell_nothing(name):
    """Neither members nor non-members were among the training rows."""
    fresh, _ = make_membership_problem(300, n_classes=3, random_state=1)
    y = fresh.y if name == "rests" else (fresh.y == 0).astype(int)
    model = clone(COMPOSITES[name][0]).fit(fresh.X[:150], y[:150])
    records = GIVEN if name == "rests" else PAIR
    with pytest.warns(UserWarning, match="not among the candidates"):
        found = attack(FrozenEstimator(model), records)
    error = np.sqrt(301 / (12 * 150 * 150))
    auc = roc_auc_score(INSIDE, found.score_samples(records))
    assert abs(auc - 0.5) < 3 * error
    assert found.parts_["stored values"].found_.empty


def test_a_fold_knows_who_it_was_not_fitted_on():
    """A row was left out by exactly one fold, which says more than three independent samples."""
    model = CalibratedClassifierCV(TREES, cv=3).fit(PAIR.X[INSIDE], PAIR.y[INSIDE])
    found = attack(FrozenEstimator(model), PAIR)
    path = "calibrated_classifiers_[0].estimator"
    assert found.n_rows_ == INSIDE.sum()
    part = found.parts_[f"node equations in {path}"]
    assert part.path == path
    assert part.n_rows_ == 70
    apart = [
        roc_auc_score(INSIDE, one.score_samples(PAIR))
        for name, one in found.parts_.items()
        if name != "stored values"
    ]
    assert roc_auc_score(INSIDE, found.score_samples(PAIR)) > max(apart) > 0.6


def test_rows_that_are_missing_among_the_candidates_are_missing_in_each_part():
    model = CalibratedClassifierCV(TREES, cv=3).fit(PAIR.X[INSIDE], PAIR.y[INSIDE])
    known = np.flatnonzero(~INSIDE | (np.arange(len(INSIDE)) % 5 > 0))
    told = attack(FrozenEstimator(model), PAIR[known], outsiders=0.2)
    assert told.outsiders_ == pytest.approx(0.2)
    scores = told.score_samples(PAIR[known])
    assert roc_auc_score(INSIDE[known], scores) > 0.6
    # Records that were not candidates are judged beside them.
    missing = np.setdiff1d(np.arange(len(INSIDE)), known)
    assert told.score_samples(PAIR[missing]).mean() > scores[~INSIDE[known]].mean()


def test_what_cannot_be_computed_of_a_model_inside_is_named():
    stack = StackingClassifier([("a", FOREST)], LINEAR, cv=2)
    found = attack(FrozenEstimator(stack.fit(PAIR.X[INSIDE], PAIR.y[INSIDE])), PAIR)
    why = found.left_out_["conditions at the optimum in final_estimator_"]
    assert "predictions of a cross-validation" in why
    single = CalibratedClassifierCV(FOREST, cv=3, ensemble=False, method="isotonic")
    found = attack(FrozenEstimator(single.fit(PAIR.X[INSIDE], PAIR.y[INSIDE])), PAIR)
    assert list(found.left_out_) == ["stored values in calibrated_classifiers_[0].calibrators[0]"]
    bag = BaggingClassifier(LINEAR, n_estimators=2, random_state=0)
    found = attack(FrozenEstimator(bag.fit(PAIR.X[INSIDE], PAIR.y[INSIDE])), PAIR)
    assert "drawn at random" in found.left_out_["conditions at the optimum in estimators_[1]"]


def test_a_stack_of_models_that_were_given_computes_what_its_last_one_saw():
    inner = LogisticRegression().fit(PAIR.X[~INSIDE], PAIR.y[~INSIDE])
    stack = StackingClassifier([("a", inner)], LINEAR, cv="prefit", passthrough=True)
    found = attack(FrozenEstimator(stack.fit(PAIR.X[INSIDE], PAIR.y[INSIDE])), PAIR)
    part = found.parts_["conditions at the optimum in final_estimator_"]
    expected = open_by_hand(stack.final_estimator_, Records(stack.transform(PAIR.X), PAIR.y))
    auc = roc_auc_score(INSIDE, part.score_samples(PAIR))
    assert abs(auc - roc_auc_score(INSIDE, expected)) < 0.01


MORE = {
    "pairs": OneVsOneClassifier(TREES),
    "codes": OutputCodeClassifier(TREES, random_state=0),
    "bag": BaggingClassifier(TREES, n_estimators=5, bootstrap=False, max_features=0.5),
    "boosted": AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=3), n_estimators=20, random_state=0
    ),
    "neighbors": VotingClassifier(
        [("a", make_pipeline(StandardScaler(), KNeighborsClassifier())), ("b", LINEAR)]
    ),
    "columns": make_pipeline(
        ColumnTransformer([("a", SelectFromModel(FOREST), slice(0, 5))]), LINEAR
    ),
    "isolation": IsolationForest(n_estimators=40, random_state=0),
    "selection": RFE(FOREST, n_features_to_select=5, step=5),
}


@pytest.mark.parametrize("name", [slow(name) if name == "isolation" else name for name in MORE])
def test_further_composites_are_read(name):
    model = clone(MORE[name]).fit(GIVEN.X[INSIDE], GIVEN.y[INSIDE])
    scores = attack(FrozenEstimator(model), GIVEN).score_samples(GIVEN)
    assert roc_auc_score(INSIDE, scores) > 0.8


def test_one_of_several_outputs_reads_the_model_of_this_output():
    Y = np.column_stack([GIVEN.y == 0, GIVEN.y == 1]).astype(int)
    model = MultiOutputClassifier(TREES).fit(GIVEN.X[INSIDE], Y[INSIDE])
    records = Records(GIVEN.X, Y[:, 1])
    found = attack(FrozenEstimator(OneOutput(model, 1)), records)
    assert "node equations in estimator.estimators_[1]" in found.parts_
    assert "several columns" in found.left_out_["node equations in estimator.estimators_[0]"]
    assert "split thresholds in estimator.estimators_[0]" in found.parts_
    assert roc_auc_score(INSIDE, found.score_samples(records)) > 0.7


def test_which_columns_go_to_which_step_is_no_number_of_the_data():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    labels = np.arange(60) % 2
    steps = ColumnTransformer(
        [("numbers", StandardScaler(), ["a", "b"]), ("rest", "passthrough", ["c"])]
    )
    model = make_pipeline(steps, GaussianNB()).fit(table[:30], labels[:30])
    attack = ReleasedModelAttack(FrozenEstimator(model)).fit(Records(table, labels))
    assert not attack.ledger_["place"].str.contains("ColumnTransformer").any()
    assert attack.ledger_["part"].notna().all()


def test_a_booster_without_a_split_has_an_empty_ledger(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(20, 3)), np.arange(20) % 2)
    model = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1, random_state=0)
    model.fit(records.X[:10], records.y[:10]).booster_.save_model(str(tmp_path / "model.txt"))
    victim = FrozenEstimator(read_booster_file(tmp_path / "model.txt"))
    attack = ReleasedModelAttack(victim, random_state=0).fit(records)
    assert list(attack.ledger_) == ["place", "size", "part"] and attack.ledger_.empty
    assert attack.expected_auc_ is None
    assert len(set(attack.score_samples(records))) == 1


class Squares(BaseEstimator, TransformerMixin):
    """Adds a column, to a table of its own or in place; it has no fitted attributes."""

    def __init__(self, in_place=False):
        self.in_place = in_place

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        X = X if self.in_place else X.copy()
        X["square"] = X["a"] ** 2
        X["a"] -= 1.0
        return X


@pytest.mark.parametrize("in_place", [False, True])
def test_a_transformer_without_fitted_attributes_is_no_obstacle(in_place):
    drawn, member = draw_planted(0, 60)
    table = pd.DataFrame(drawn.X[:, :3], columns=["a", "b", "c"])
    tree, step, before = DecisionTreeClassifier(random_state=0), Squares(in_place), table.copy()
    changed = Squares().transform(table)
    whole = make_pipeline(step, tree).fit(table[member].copy(), drawn.y[member])
    alone = clone(tree).fit(changed[member], drawn.y[member])
    scores = attack(FrozenEstimator(whole), given := Records(table, drawn.y)).score_samples(given)
    others = attack(FrozenEstimator(alone), given := Records(changed, drawn.y)).score_samples(given)
    np.testing.assert_allclose(scores, others, rtol=1e-5)
    assert len(set(scores.tolist())) > 10
    pd.testing.assert_frame_equal(table, before)
