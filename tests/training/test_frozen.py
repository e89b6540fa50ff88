"""Parts of a victim that were fitted before and frozen are fitted again in every shadow model."""

import warnings
from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool, audit
from skmia._training import frozen
from skmia._training.frozen import thaw
from skmia.attacks import LiRA, ThresholdAttack
from skmia.exceptions import CheckpointError, TrainingError
from skmia.games import membership_game

RNG = np.random.default_rng(0)
N = 300
X = RNG.normal(size=(N, 5))
Y = np.where(X[:, 0] + RNG.normal(size=N) > 0, "yes", "no")
RECORDS = Records(X, Y)
MEMBERSHIP = RNG.permutation(N) < N // 2
MEMBERS = RECORDS[MEMBERSHIP]
TREE = DecisionTreeClassifier(random_state=0).fit(MEMBERS.X, MEMBERS.y)
FROZEN = FrozenEstimator(TREE)


def fit_pool(estimator, **settings):
    settings = {"store": "models", "random_state": 0, **settings}
    return ShadowPool(estimator, 4, **settings).fit(RECORDS)


@pytest.mark.slow  # what is frozen is trained anew in the pools of the other tests
@pytest.mark.usefixtures("quick_audits")
def test_calibration_of_a_forest_that_knows_the_members_is_a_leak():
    forest = RandomForestClassifier(10, random_state=0).fit(MEMBERS.X, MEMBERS.y)
    victim = CalibratedClassifierCV(FrozenEstimator(forest)).fit(MEMBERS.X, MEMBERS.y)
    attacks = {"LiRA": LiRA(), "threshold (loss)": ThresholdAttack()}
    report = audit(
        victim, RECORDS, MEMBERSHIP, shadows=8, attacks=attacks, file=False, random_state=0
    )
    assert report.evidence == "leak"
    overall = report.to_frame().query("metric == 'auc' and scope == 'overall'")
    auc = overall.set_index("attack")["estimate"]
    # The shadow models know which records are easy: more is found than by the loss alone.
    assert auc["LiRA"] > auc["threshold (loss)"] > 0.75
    assert any(
        note.startswith("Frozen parts of the estimator (estimator)") for note in report.notes
    )


# Each with the name of the parameter that holds the tree.
VICTIMS = {
    "calibration": (CalibratedClassifierCV(FROZEN), "estimator"),
    "behind a scaler": (
        make_pipeline(StandardScaler(), CalibratedClassifierCV(FROZEN)),
        "calibratedclassifiercv__estimator",
    ),
    "last step": (make_pipeline(StandardScaler(), FROZEN), "frozenestimator"),
    "stacking": (StackingClassifier([("tree", FROZEN)], LogisticRegression()), "tree"),
    "prefit stacking": (
        StackingClassifier([("tree", TREE)], LogisticRegression(), cv="prefit"),
        "tree",
    ),
    "voting": (
        VotingClassifier([("tree", FROZEN), ("line", LogisticRegression())], voting="soft"),
        "tree",
    ),
    "prefit selection": (
        make_pipeline(SelectFromModel(TREE, prefit=True), DecisionTreeClassifier()),
        "selectfrommodel__estimator",
    ),
    "frozen twice": (CalibratedClassifierCV(FrozenEstimator(FROZEN)), "estimator"),
    "calibration in a vote": (
        VotingClassifier([("calibrated", CalibratedClassifierCV(FROZEN))], voting="soft"),
        "calibrated__estimator",
    ),
}


def find_trees(model):
    """All fitted trees in a model, found through its attributes."""
    found, waiting, seen = [], [model], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, DecisionTreeClassifier) and hasattr(one, "tree_"):
            found.append(one)
        if isinstance(one, dict):
            waiting += list(one.values())
        elif isinstance(one, list | tuple):
            waiting += list(one)
        elif isinstance(one, BaseEstimator) or type(one).__name__ == "_CalibratedClassifier":
            waiting += list(vars(one).values())
    return found


@pytest.mark.parametrize("name", VICTIMS)
def test_every_shadow_model_has_parts_of_its_own(name):
    estimator, parameter = VICTIMS[name]
    pool = fit_pool(estimator)
    assert pool.notes_[0].startswith(f"Frozen parts of the estimator ({parameter}) were fitted")
    for model, inside in zip(pool.estimators_, pool.membership_, strict=True):
        trees = find_trees(model)
        assert TREE not in trees
        # Grown to the end on that half: every record of it is in a leaf of its own label.
        assert trees[0].tree_.n_node_samples[0] == inside.sum()
    np.testing.assert_array_equal(pool.classes_, ["no", "yes"])
    gap = [
        s[inside].mean() - s[~inside].mean()
        for s, inside in zip(pool.signals_[0, 0], pool.membership_)
    ]
    assert min(gap) > 0


def test_a_frozen_transformer_in_columns_is_fitted_again():
    scaler = StandardScaler().fit(MEMBERS.X[:, :2])
    columns = make_column_transformer((FrozenEstimator(scaler), [0, 1]), remainder="passthrough")
    pool = fit_pool(make_pipeline(columns, DecisionTreeClassifier()))
    for model, inside in zip(pool.estimators_, pool.membership_, strict=True):
        part = model[0].named_transformers_["frozenestimator"]
        np.testing.assert_allclose(part.mean_, X[inside, :2].mean(axis=0))


@pytest.mark.slow  # workers get the estimator that the others train, as in any pool
@pytest.mark.usefixtures("copied_workers")
def test_numbers_do_not_depend_on_the_number_of_jobs():
    estimator = VICTIMS["last step"][0]
    one = fit_pool(estimator)
    two = fit_pool(estimator, n_jobs=2)
    np.testing.assert_array_equal(one.signals_, two.signals_)


def test_parts_have_seeds_of_their_own():
    forest = FrozenEstimator(RandomForestClassifier(2, random_state=0).fit(MEMBERS.X, MEMBERS.y))
    pool = fit_pool(CalibratedClassifierCV(forest))
    seeds = {model.estimator.estimator.random_state for model in pool.estimators_}
    assert len(seeds) == 4


class VotesOfOne(ClassifierMixin, BaseEstimator):
    """An estimator around another one that takes no weights."""

    def __init__(self, estimator):
        self.estimator = estimator

    def fit(self, X, y):
        self.estimator_ = clone(self.estimator).fit(X, y)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X):
        return self.estimator_.predict(X)


def train_with(weights, rows):
    """Train a tree and its calibration on some records, with their weights."""
    given = {"sample_weight": weights[rows]}
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[rows], Y[rows], **given)
    return CalibratedClassifierCV(FrozenEstimator(tree), cv=2).fit(X[rows], Y[rows], **given)


def give_weights(X, y):
    return {"sample_weight": weigh(X)}


def weigh(X):
    return np.exp(X[:, 1])


@pytest.mark.filterwarnings("ignore:.*FrozenEstimator does not appear to accept sample_weight")
@pytest.mark.parametrize("fit_params", [None, give_weights])
@pytest.mark.parametrize("outer", [lambda model: model, make_pipeline])
def test_parts_and_the_estimator_around_them_are_trained_with_weights(fit_params, outer):
    frozen = FrozenEstimator(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, Y))
    estimator = outer(CalibratedClassifierCV(frozen, cv=2))
    if fit_params is None:
        records = RECORDS.with_fields(sample_weight=weigh(X))
    elif outer is make_pipeline:
        records, fit_params = (
            RECORDS,
            lambda X, y: {"calibratedclassifiercv__sample_weight": weigh(X)},
        )
    else:
        records = RECORDS
    pool = ShadowPool(estimator, 4, fit_params=fit_params, store="models", random_state=0)
    pool.fit(records)
    plain = fit_pool(estimator)
    for model, other, rows in zip(
        pool.estimators_, plain.estimators_, pool.membership_, strict=True
    ):
        expected = train_with(weigh(X), rows).predict_proba(X)
        np.testing.assert_allclose(model.predict_proba(X), expected)
        assert not np.allclose(other.predict_proba(X), expected, atol=1e-3)


def test_an_estimator_whose_parts_are_fitted_first_stands_for_the_estimator():
    made = frozen.FitPartsFirst(LogisticRegression(C=3.0), ())
    assert made.C == 3.0 and made._trained_as.C == 3.0
    assert not any(hasattr(made, name) for name in ("fit_predict", "fit_transform", "coef_"))
    assert not made.__sklearn_is_fitted__()
    weights = np.arange(len(Y))
    expected = LogisticRegression(C=3.0).fit(X, Y, sample_weight=weights)
    found = made.fit(X, Y, weights)
    assert found is made and made.__sklearn_is_fitted__()
    np.testing.assert_array_equal(made.coef_, expected.coef_)
    assert not hasattr(made.estimator, "coef_")
    with pytest.raises(AttributeError, match="FitPartsFirst has no attribute 'fit_predict'"):
        made.fit_predict(X)


def test_messages_name_the_estimator_around_frozen_parts():
    with pytest.warns(UserWarning, match="because fit of VotesOfOne takes none"):
        ShadowPool(VotesOfOne(FROZEN), 2).fit(RECORDS.with_fields(sample_weight=weigh(X)))
    with pytest.raises(TrainingError, match=r"\(VotesOfOne\) .* VotesOfOne.fit\(\) got an un"):
        fit_pool(VotesOfOne(FROZEN), fit_params=give_weights)


def test_the_estimator_stays_as_it_was():
    estimator = VICTIMS["stacking"][0]
    fit_pool(estimator)
    assert estimator.estimators[0][1] is FROZEN
    assert FROZEN.estimator is TREE


@pytest.mark.parametrize("name", ["calibration", "last step"])
def test_parts_of_public_data_can_be_kept(name, tmp_path):
    estimator, parameter = VICTIMS[name]
    pool = fit_pool(estimator, refit_frozen=False, checkpoint=tmp_path / "pool")
    assert all(TREE in find_trees(model) for model in pool.estimators_) or name == "calibration"
    (note,) = pool.notes_
    assert note.startswith(f"Frozen parts of the estimator ({parameter}) are the same in all")
    with pytest.raises(CheckpointError, match="differs in the (class of the est|param)"):
        fit_pool(estimator, checkpoint=tmp_path / "pool")


class Selecting(ClassifierMixin, BaseEstimator):
    """Holds its parts where no ``set_params`` finds them."""

    def __init__(self, models=None):
        self.models = models

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.models["tree"].predict(X)

    def predict_proba(self, X):
        return self.models["tree"].predict_proba(X)


def call(X, model):
    return model.predict_proba(X)


def call_global(X):
    return TREE.predict_proba(X)


HIDDEN = {
    "method": FunctionTransformer(TREE.predict_proba),
    "partial": FunctionTransformer(partial(call, model=TREE)),
    "closure": FunctionTransformer((lambda tree: lambda X: tree.predict_proba(X))(TREE)),
    "global": FunctionTransformer(call_global),
}


@pytest.mark.parametrize("kind", HIDDEN)
def test_parts_in_functions_are_refused(kind):
    estimator = make_pipeline(HIDDEN[kind], LogisticRegression())
    message = "'functiontransformer__.*' of Pipeline holds a fitted DecisionTreeClassifier"
    with pytest.raises(ValueError, match=message):
        fit_pool(estimator)
    (note,) = fit_pool(estimator, refit_frozen=False).notes_
    assert "are the same in all shadow models" in note


def test_parts_that_cannot_be_replaced_are_refused():
    with pytest.raises(ValueError, match="'models' of Selecting holds a fitted DecisionTree"):
        fit_pool(Selecting({"tree": FROZEN}))


@pytest.mark.parametrize(
    "estimator",
    [
        TREE,
        make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()).fit(abs(X), Y),
        StackingClassifier([("tree", DecisionTreeClassifier())], LogisticRegression()).fit(X, Y),
        CalibratedClassifierCV(DecisionTreeClassifier()).fit(X, Y),
    ],
    ids=["tree", "function", "stacking", "calibration"],
)
def test_estimators_without_frozen_parts_are_cloned(estimator):
    thawed, names = thaw(estimator)
    assert names == []
    assert repr(thawed) == repr(clone(estimator))
    assert fit_pool(make_pipeline(FunctionTransformer(abs), estimator)).notes_ == []


def test_weights_of_a_net_that_are_not_trained_are_noted():
    torch = pytest.importorskip("torch")
    skorch = pytest.importorskip("skorch")

    class Head(torch.nn.Module):
        def __init__(self, backbone):
            super().__init__()
            self.backbone, self.head = backbone, torch.nn.Linear(3, 2)

        def forward(self, x):
            return self.head(self.backbone(x))

    backbone = torch.nn.Linear(5, 3).requires_grad_(False)
    settings = {"max_epochs": 1, "verbose": 0, "train_split": None, "module__backbone": backbone}
    net = skorch.NeuralNetClassifier(Head, criterion=torch.nn.CrossEntropyLoss, **settings)
    records = Records(X.astype(np.float32), (Y == "yes").astype(np.int64))
    pool = ShadowPool(net, 4, random_state=0).fit(records)
    (note,) = pool.notes_
    assert note.startswith("Frozen parts of the estimator (module__backbone) are the same in all")
    without_weights = net.set_params(module__backbone=torch.nn.ReLU())
    assert frozen.name_frozen_modules(without_weights) == []
    half = torch.nn.Linear(5, 3)
    half.bias.requires_grad_(False)
    assert frozen.name_frozen_modules(net.set_params(module__backbone=half)) == []


@pytest.mark.usefixtures("quick_audits")
def test_a_victim_that_an_audit_trains_is_trained_as_its_shadow_models_are():
    settings = {"shadows": 4, "attacks": {"LiRA": LiRA()}, "file": False, "random_state": 0}
    report = audit(VICTIMS["calibration"][0], RECORDS, **settings)
    assert report.evidence == "leak"


def test_games_warn_of_parts_that_all_victims_share():
    attack = ThresholdAttack(signal="correctness")
    with pytest.warns(UserWarning, match=r"Fitted parts of the estimator \(estimator\)"):
        membership_game(VICTIMS["calibration"][0], attack, RECORDS, n_rounds=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        membership_game(TREE, attack, RECORDS, n_rounds=2, random_state=0)
