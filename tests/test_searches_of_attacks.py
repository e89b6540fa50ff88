"""Attacks on fitted models in what scikit-learn clones and splits: models are trained once."""

import gc
import itertools
import os
import pickle
import weakref
from functools import partial

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    train_test_split,
)
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool, audit
from skmia.attacks import (
    RMIA,
    LabelInferenceAttack,
    LiRA,
    RenyiAttack,
    StackedAttack,
    ThresholdAttack,
)
from skmia.attacks.white_box import WhiteBoxAttack
from skmia.datasets import make_membership_problem
from skmia.exceptions import CheckpointError
from skmia.games import membership_game
from skmia.memorization import Exposure, NGramModel, SequenceVictim
from skmia.shadow import ModelBasedSynthesizer
from skmia.signals import GradientStatistics, Signals, Trajectories


class CountedTree(DecisionTreeClassifier):
    """A tree that counts how often any tree of its class was fitted."""

    n_fits = 0

    def fit(self, X, y, sample_weight=None):
        type(self).n_fits += 1
        return super().fit(X, y, sample_weight=sample_weight)


class NotingTree(DecisionTreeClassifier):
    """A tree that notes the process of each fit in a file."""

    def __init__(self, path=None, min_samples_leaf=2, random_state=0):
        super().__init__(min_samples_leaf=min_samples_leaf, random_state=random_state)
        self.path = path

    def fit(self, X, y, sample_weight=None):
        with open(self.path, "a") as file:
            file.write(f"{os.getpid()}\n")
        return super().fit(X, y, sample_weight=sample_weight)


@pytest.fixture
def problem():
    """A fitted tree and a table of its own, for which nothing was trained yet."""
    records, membership = make_membership_problem(200, random_state=0)
    members = records[membership == 1]
    tree = CountedTree(min_samples_leaf=2, random_state=0).fit(members.X, members.y)
    CountedTree.n_fits = 0
    return tree, records, membership


VARIANCES = {"variance": ["shrunk", "pooled"]}


@pytest.mark.filterwarnings("error")
def test_a_search_gives_the_scores_of_a_frozen_model_and_pool(problem):
    tree, records, membership = problem
    pool = FrozenEstimator(ShadowPool(tree, 8, random_state=0).fit(records))
    frozen = LiRA(FrozenEstimator(tree), pool)
    fitted = LiRA(tree, pool.estimator)
    unfitted = LiRA(tree, ShadowPool(tree, 8, random_state=0))
    scores, CountedTree.n_fits = [], 0
    for attack in (frozen, fitted, unfitted):
        search = GridSearchCV(attack, VARIANCES, scoring="roc_auc", cv=3)
        search.fit(records, membership)
        scores.append(search.cv_results_["mean_test_score"])
        assert np.isfinite(scores[-1]).all()
    np.testing.assert_array_equal(scores[1], scores[0])
    np.testing.assert_array_equal(scores[2], scores[0])
    assert CountedTree.n_fits == 0  # the table knows the fitted pool
    del pool, frozen, fitted, attack, search
    gc.collect()
    GridSearchCV(unfitted, VARIANCES, scoring="roc_auc", cv=3).fit(records, membership)
    assert CountedTree.n_fits == 8


def stack(*attacks):
    return StackingClassifier(
        [(f"attack{k}", attack) for k, attack in enumerate(attacks)], LogisticRegression(), cv=2
    )


def search_with(kind, grid=VARIANCES, **settings):
    def run(attack, records, membership):
        search = kind(attack, grid, scoring="roc_auc", cv=2, **settings).fit(records, membership)
        return search.cv_results_["mean_test_score"]

    return run


RUNS = {
    "GridSearchCV": search_with(GridSearchCV),
    "RandomizedSearchCV": search_with(RandomizedSearchCV, n_iter=2),
    "HalvingGridSearchCV": search_with(HalvingGridSearchCV, random_state=0, min_resources=80),
    "cross_val_predict": lambda *given: cross_val_predict(*given, cv=2),
    "cross_val_predict of scores": lambda *given: cross_val_predict(
        *given, cv=2, method="decision_function"
    ),
    "cross_validate": lambda *given: cross_validate(
        *given, cv=2, scoring=["roc_auc", "accuracy"], return_train_score=True
    )["test_roc_auc"],
    "learning_curve": lambda *given: learning_curve(*given, cv=2, train_sizes=[0.5, 1.0])[2],
    "permutation_test_score": lambda *given: permutation_test_score(
        *given, cv=2, n_permutations=2, random_state=0
    )[1],
    "CalibratedClassifierCV": lambda attack, *given: cross_val_score(
        CalibratedClassifierCV(attack, cv=2), *given, cv=2, scoring="neg_log_loss"
    ),
    "StackingClassifier": lambda attack, *given: cross_val_score(
        stack(attack, ThresholdAttack(attack.victim)), *given, cv=2, scoring="roc_auc"
    ),
    "VotingClassifier": lambda attack, *given: cross_val_score(
        VotingClassifier([("one", attack), ("two", attack)]), *given, cv=2
    ),
    "nested search": lambda attack, *given: cross_val_score(
        GridSearchCV(attack, VARIANCES, cv=2, scoring="roc_auc"), *given, cv=2, scoring="roc_auc"
    ),
    "Pipeline": lambda attack, *given: cross_val_score(
        make_pipeline(FunctionTransformer(), attack), *given, cv=2, scoring="roc_auc"
    ),
}


def pair_kinds_with_runs():
    """A pool that is not fitted in all runs; the other kinds weekly in most of them."""
    for kind, name in itertools.product(["number", "unfitted", "fitted"], RUNS):
        quick = kind == "unfitted" or name in ("GridSearchCV", "StackingClassifier")
        marks = () if quick else pytest.mark.slow
        yield pytest.param(kind, RUNS[name], id=f"{kind}-{name}", marks=marks)


@pytest.mark.parametrize("kind, run", pair_kinds_with_runs())
@pytest.mark.filterwarnings("error")
def test_as_many_models_are_trained_as_the_pool_has(problem, run, kind):
    tree, records, membership = problem
    pool = 8 if kind == "number" else ShadowPool(tree, 8, random_state=0)
    pool = pool.fit(records) if kind == "fitted" else pool
    CountedTree.n_fits = 0
    scores = run(LiRA(tree, pool), records, membership)
    assert np.isfinite(scores).all()
    assert CountedTree.n_fits == (0 if kind == "fitted" else 8)
    assert hasattr(pool, "membership_") == (kind == "fitted") and hasattr(tree, "tree_")


@pytest.mark.parametrize(
    ("grid", "n_models", "n_known"),
    [
        pytest.param({"shadows": [2, 4, 8]}, 14, 0, marks=pytest.mark.slow),
        ({"shadows": [4, 8], "variance": ["shrunk", "pooled"]}, 12, 0),
        ({"shadows__n_estimators": [2, 4, 8]}, 14, 8),
        pytest.param({"shadows__max_samples": [0.25, 0.5]}, 16, 8, marks=pytest.mark.slow),
        ({"shadows__estimator__max_depth": [2, 3]}, 16, 0),
        ({"shadows__n_jobs": [None, 1]}, 8, 8),
    ],
)
@pytest.mark.parametrize("fitted", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_grid_of_pools_trains_each_of_them_once(problem, grid, n_models, n_known, fitted):
    tree, records, membership = problem
    pool = ShadowPool(tree, 8, random_state=0)
    if fitted:
        pool.fit(records)
        CountedTree.n_fits, signals = 0, pool.signals_.copy()
    search = GridSearchCV(LiRA(tree, pool), grid, cv=2, scoring="roc_auc").fit(records, membership)
    assert CountedTree.n_fits == n_models - fitted * n_known
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert (pool.n_estimators, pool.max_samples, pool.n_jobs) == (8, 0.5, None)
    assert pool.estimator is tree and tree.max_depth is None
    if fitted:
        np.testing.assert_array_equal(pool.signals_, signals)


def test_training_and_test_side_of_a_split_have_one_pool(problem):
    tree, records, membership = problem
    one, other, of_one, of_other = train_test_split(records, membership, random_state=0)
    search = GridSearchCV(LiRA(tree, 8), VARIANCES, scoring="roc_auc").fit(one, of_one)
    assert 0.5 < search.score(other, of_other) <= 1
    assert CountedTree.n_fits == 8
    assert search.best_estimator_.pool_.n_records_ == 200


def test_equal_settings_of_several_attacks_are_one_pool(problem):
    tree, records, membership = problem
    pool = ShadowPool(tree, 8, random_state=0)
    both = stack(LiRA(tree, pool), RMIA(tree, clone(pool)))
    both.fit(records, membership)
    assert CountedTree.n_fits == 8
    # An attack of other settings has a pool of its own.
    LiRA(tree, clone(pool).set_params(random_state=1)).fit(records)
    assert CountedTree.n_fits == 16
    LiRA(tree, ShadowPool(tree, 8, random_state=np.random.RandomState(0))).fit(records)
    assert CountedTree.n_fits == 24


def test_pools_depend_on_the_fields_and_on_the_augmentation(problem):
    tree, records, membership = problem
    pool = ShadowPool(tree, 4, random_state=0)
    people = np.repeat(np.arange(100), 2)
    together = records.with_fields(group_by=people)
    for table in (records, together):
        scores = cross_val_score(
            LiRA(tree, pool), table, membership, cv=GroupKFold(2), groups=people
        )
        assert np.isfinite(scores).all()
    assert CountedTree.n_fits == 8
    inside = LiRA(tree, pool).fit(together[:50]).pool_.membership_
    np.testing.assert_array_equal(inside[:, ::2], inside[:, 1::2])
    assert CountedTree.n_fits == 8
    shift = partial(_shift, by=0.1)
    for augment in (shift, partial(_shift, by=0.1), partial(_shift, by=0.2)):
        LiRA(tree, clone(pool).set_params(augment=augment)).fit(records[:50])
    assert CountedTree.n_fits == 16
    for by in (0.3, 0.3, 0.4):
        globals()["_BY"] = by
        LiRA(tree, clone(pool).set_params(augment=_shift_by_constant)).fit(records[:50])
    assert CountedTree.n_fits == 24


_BY = 0.0


def _shift(records, by):
    return [Records(records.X + by, records.y)]


def _shift_by_constant(records):
    return _shift(records, _BY)


def test_a_pool_among_the_signals_of_a_pipeline_is_trained_once(problem):
    tree, records, membership = problem
    scores = []
    for fits in (False, True):
        pool = ShadowPool(tree, 8, random_state=0)
        pool = pool.fit(records) if fits else pool
        union = FeatureUnion([("signals", Signals(tree)), ("pool", pool)])
        attack = make_pipeline(union, StandardScaler(), LogisticRegression())
        grid = {"logisticregression__C": [0.1, 1.0]}
        search = GridSearchCV(attack, grid, cv=3, scoring="roc_auc").fit(records, membership)
        scores.append(search.cv_results_["mean_test_score"])
    assert CountedTree.n_fits == 16  # half of them by the explicit fit
    np.testing.assert_array_equal(*scores)
    assert np.isfinite(scores).all()


def test_fitted_pools_are_values_of_a_grid(problem):
    tree, records, membership = problem
    pools = [ShadowPool(tree, n, random_state=0).fit(records) for n in (4, 8)]
    search = GridSearchCV(LiRA(tree), {"shadows": pools}, cv=2, scoring="roc_auc")
    search.fit(records, membership)
    assert CountedTree.n_fits == 12
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    # A pool that was fitted again, or is gone, serves nobody.
    one = clone(pools[0])
    pools[0].set_params(n_estimators=6).fit(records)
    del search, pools[1]
    gc.collect()
    CountedTree.n_fits = 0
    LiRA(tree, one).fit(records)
    assert CountedTree.n_fits == 4


# Clones and parameters


def make_holders(tree, pool):
    """Estimators that attack a fitted model, by the name of the parameter that holds it."""
    words = NGramModel(2).fit([[0, 1, 0, 1, 0]])
    return [
        (LiRA(tree, pool), {"victim": tree, "shadows": pool}),
        (LabelInferenceAttack(tree, pool), {"victim": tree, "shadows": pool}),
        (WhiteBoxAttack(tree), {"victim": tree}),
        (Signals(tree), {"victim": tree}),
        (GradientStatistics(tree), {"victim": tree}),
        (Trajectories(tree, (tree, tree)), {"victim": tree}),
        (ModelBasedSynthesizer(tree), {"victim": tree}),
        (SequenceVictim(words), {"model": words}),
        (Exposure(words, [[0, 1]]), {"log_perplexity": words}),
    ]


def test_a_clone_keeps_a_fitted_model_and_pool(problem):
    tree, records, _ = problem
    pool = ShadowPool(tree, 4, random_state=0).fit(records)
    for holder, subjects in make_holders(tree, pool):
        for copied in (clone(holder), clone(clone(holder))):
            assert copied is not holder
            for name, value in subjects.items():
                assert getattr(copied, name) is value
    inner = clone(make_pipeline(Signals(tree), LogisticRegression()))[0]
    assert inner.victim is tree
    assert clone(Trajectories(tree, (tree,))).checkpoints[0] is tree


def test_what_is_not_fitted_is_cloned_as_ever(problem):
    tree, _, _ = problem
    plain, pool = DecisionTreeClassifier(max_depth=2), ShadowPool(tree, 4)
    attack = clone(LiRA(plain, pool))
    assert attack.victim is not plain and attack.victim.max_depth == 2
    assert attack.shadows is not pool and attack.shadows.n_estimators == 4
    assert not hasattr(clone(pool), "membership_")
    fitted = LiRA(tree, 4)
    fitted.pool_ = "something"
    assert not hasattr(clone(fitted), "pool_")


def test_parameters_of_a_fitted_model_and_pool_are_set_on_a_copy(problem):
    tree, records, _ = problem
    pool = ShadowPool(tree, 4, random_state=0).fit(records)
    attack = LiRA(tree, pool).set_params(
        shadows__n_estimators=6, shadows__estimator__max_depth=3, victim__max_depth=5
    )
    assert (pool.n_estimators, tree.max_depth) == (4, None)
    assert hasattr(pool, "membership_") and hasattr(tree, "tree_")
    assert not hasattr(attack.shadows, "membership_") and not hasattr(attack.victim, "tree_")
    assert attack.shadows.n_estimators == 6 and attack.shadows.estimator.max_depth == 3
    assert attack.victim.max_depth == 5
    unfitted = attack.shadows
    assert attack.set_params(shadows__n_estimators=8).shadows is unfitted
    # Around a fitted model, and in a frozen one, which stays what it was.
    signals = make_pipeline(Signals(tree), LogisticRegression())
    signals.set_params(signals__victim__max_depth=3)
    assert tree.max_depth is None and signals[0].victim.max_depth == 3
    frozen = FrozenEstimator(tree)
    other = DecisionTreeClassifier()
    assert LiRA(frozen).set_params(victim__estimator=other).victim.estimator is other
    assert frozen.estimator is tree


def test_parameters_that_cannot_be_set_are_named_and_change_nothing(problem):
    tree, records, _ = problem
    pool = ShadowPool(tree, 4, random_state=0).fit(records)
    with pytest.raises(ValueError, match="'shadows' of LiRA is 8, which has no parameter 'n_esti"):
        LiRA(tree, 8).set_params(shadows__n_estimators=4)
    attack = LiRA(tree, pool)
    with pytest.raises(ValueError, match="Invalid parameter 'no_such'"):
        attack.set_params(shadows__no_such=4)
    assert attack.shadows is pool
    with pytest.raises(ValueError, match="Invalid parameter 'shadows'"):
        ThresholdAttack(tree).set_params(shadows__n_estimators=4)


def test_a_changed_victim_has_to_be_fitted(problem):
    tree, records, membership = problem
    search = GridSearchCV(ThresholdAttack(tree), {"victim__max_depth": [2, 3]}, cv=2)
    with pytest.raises(ValueError, match="is not fitted: fit it first"):
        search.fit(records, membership)
    frozen = [FrozenEstimator(DecisionTreeClassifier().fit(records.X, records.y))]
    search = GridSearchCV(ThresholdAttack(), {"victim": frozen}, cv=2).fit(records, membership)
    assert np.isfinite(search.best_score_)


# Tables and their slices


def test_a_pool_lives_as_long_as_its_table_and_the_slices_of_it(problem):
    tree, records, membership = problem
    table = Records(records.X, records.y)
    part = table[:50][:20]
    cross_val_predict(LiRA(tree, 4), table, membership, cv=2)
    pool = weakref.ref(LiRA(tree, 4).fit(part).pool_)
    assert CountedTree.n_fits == 4 and pool() is not None
    table_alive = weakref.ref(table)
    del table
    gc.collect()
    assert pool() is not None and table_alive() is not None  # the slice keeps them
    part = part.detached()
    gc.collect()
    assert pool() is None and table_alive() is None
    assert LiRA(tree, 4).fit(part).pool_.n_records_ == 20


def test_a_detached_slice_is_a_table_of_its_own(problem):
    tree, records, _ = problem
    assert records.detached() is records
    alone = records[10:60].detached()
    np.testing.assert_array_equal(alone.fingerprint, records.fingerprint[10:60])
    for own in (
        alone,
        alone[:],
        pickle.loads(pickle.dumps(records[10:60])),
        Records.concat([records[10:60]]),
        Records(records[10:60].X, records[10:60].y),
        records[10:60].with_fields(group=np.arange(50)),
        records[10:60].with_outputs(tree),
    ):
        assert LiRA(tree, 4).fit(own).pool_.n_records_ == 50


def test_explicit_pools_and_whole_tables_are_fitted_as_ever(problem):
    tree, records, _ = problem
    assert ShadowPool(tree, 4).fit(records[:60]).n_records_ == 60
    pool = ShadowPool(tree, 4, random_state=0)
    attack = LiRA(tree, pool).fit(records)
    np.testing.assert_array_equal(attack.pool_.signals_, clone(pool).fit(records).signals_)


@pytest.mark.usefixtures("quick_audits")
def test_games_and_audits_train_on_the_records_that_they_are_given(problem):
    tree, records, membership = problem
    few, inside = records[:60], membership[:60]
    settings = {"n_rounds": 2, "random_state": 0}
    attack = RMIA(shadows=ShadowPool(tree, 4, store="models"), online=False)
    played, alone = (
        membership_game(tree, attack, table, **settings) for table in (few, few.detached())
    )
    np.testing.assert_array_equal(played["tpr"], alone["tpr"])
    own = {"own": LiRA(shadows=ShadowPool(tree, 4, random_state=0))}
    settings = {"attacks": own, "controls": False, "file": False, "random_state": 0}
    of_slice, of_table = (audit(tree, table, inside, **settings) for table in (few, few.detached()))
    assert of_slice.scores["own"].tolist() == of_table.scores["own"].tolist()


def test_attacks_that_learn_from_membership_learn_from_the_fold_alone(problem):
    tree, records, membership = problem
    known = []

    class Watched(RenyiAttack):
        def _fit(self, records, membership):
            known.append(len(records))
            return super()._fit(records, membership)

    cross_val_predict(Watched(tree), records, membership, cv=2)
    assert known == [100, 100]
    both = StackedAttack(tree, ShadowPool(tree, 8, random_state=0), boosted=False, random_state=0)
    scores = cross_val_score(both, records, membership, cv=2, scoring="roc_auc")
    assert np.isfinite(scores).all() and CountedTree.n_fits == 8


@pytest.fixture
def noted(tmp_path):
    """A fitted tree whose clones note the process of each fit, and a function that reads it."""
    records, membership = make_membership_problem(100, random_state=0)
    members, path = records[membership == 1], tmp_path / "fits"
    tree = NotingTree(str(path)).fit(members.X, members.y)
    path.unlink()
    return tree, records, membership, lambda: path.read_text().split()


def search_part(attack, records, membership):
    """Search on a part of a table, in workers."""
    part = records[::2]
    run = search_with(GridSearchCV, {"prior": [0.1, 0.2, 0.3, 0.5]}, n_jobs=2)
    return run(attack, part, membership[::2])


JOBS = {
    "part of a table": search_part,
    "jobs in a fold": lambda attack, *given: cross_val_score(
        stack(attack).set_params(n_jobs=2), *given, cv=2, scoring="roc_auc"
    ),
    "GridSearchCV": search_with(GridSearchCV, {"prior": [0.1, 0.2, 0.3, 0.5]}, n_jobs=2),
    "cross_val_predict": lambda *given: cross_val_predict(*given, cv=4, n_jobs=2),
    "StackingClassifier": lambda attack, *given: (
        stack(attack).set_params(n_jobs=2).fit(*given).predict_proba(given[0])
    ),
}


@pytest.mark.parametrize("run", JOBS.values(), ids=JOBS)
@pytest.mark.parametrize("kind", ["number", "pool"])
def test_workers_train_a_pool_at_most_once_each(noted, run, kind):
    tree, records, membership, read = noted
    pool = 4 if kind == "number" else ShadowPool(tree, 4, random_state=0)
    assert np.isfinite(run(LiRA(tree, pool), records, membership)).all()
    fits = read()
    assert len(fits) <= 12  # of two workers, and of this process
    assert max(map(fits.count, fits)) == 4


def test_a_checkpoint_without_a_seed_serves_all_workers(noted, tmp_path):
    tree, records, membership, _ = noted
    for k in range(4):
        pool = ShadowPool(DecisionTreeClassifier(), 4, checkpoint=tmp_path / f"pool{k}")
        run = partial(cross_val_score, LiRA(tree, pool), cv=4, scoring="roc_auc")
        sent, alone = (run(records, membership, n_jobs=n_jobs) for n_jobs in (2, None))
        np.testing.assert_array_equal(sent, alone)
    with pytest.raises(CheckpointError, match="belongs to another pool"):
        LiRA(tree, pool).fit(Records(records.X + 1, records.y))


def test_a_part_of_a_table_gets_the_same_scores_in_workers(noted):
    tree, records, membership, _ = noted
    attack = LiRA(tree, ShadowPool(tree, 8, random_state=0))
    alone, sent = (
        cross_val_score(attack, records[::2], membership[::2], scoring="roc_auc", n_jobs=n_jobs)
        for n_jobs in (None, 2)
    )
    np.testing.assert_array_equal(sent, alone)
    assert len(pickle.dumps(records[:2])) < 1000


def test_threads_train_a_pool_once(problem):
    tree, records, membership = problem
    with parallel_config(backend="threading", n_jobs=4):
        scores = cross_val_score(LiRA(tree, 8), records, membership, cv=8, scoring="roc_auc")
    assert np.isfinite(scores).all() and CountedTree.n_fits == 8


def test_a_worker_knows_a_table_by_its_content(noted):
    tree, records, membership, read = noted
    run = partial(cross_val_score, LiRA(tree, ShadowPool(tree, 4, random_state=0)), cv=2, n_jobs=2)
    one = run(records, membership)
    others = run(Records(records.X, records.y, group_by=np.arange(100) // 2), membership)
    again = run(Records(records.X.copy(), records.y.copy()), membership)
    np.testing.assert_array_equal(again, one)
    assert np.isfinite(others).all()
    assert 8 <= len(read()) <= 24
