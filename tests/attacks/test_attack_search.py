"""A search over attack settings works on one pool: nothing is trained again, nothing copied."""

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from skmia import ShadowPool
from skmia.attacks import LiRA
from skmia.datasets import make_membership_problem

SETTINGS = {
    "variance": ["shrunk", "example", "pooled"],
    "online": [True, False],
    "prior_strength": [1.0, 2.0, 4.0, 8.0],
    "prior": [0.1, 0.5],
}


class CountedTree(DecisionTreeClassifier):
    """A tree that counts how often any tree of its class was fitted."""

    n_fits = 0

    def fit(self, X, y):
        type(self).n_fits += 1
        return super().fit(X, y)


@pytest.mark.filterwarnings("error")
def test_48_settings_in_5_folds_fit_no_model_and_copy_no_pool():
    records, membership = make_membership_problem(200, random_state=0)
    members = records[membership == 1]
    tree = CountedTree(min_samples_leaf=2, random_state=0)
    victim = FrozenEstimator(tree.fit(members.X, members.y))
    pool = ShadowPool(tree, 16, random_state=0).fit(records)
    n_fits, signals = CountedTree.n_fits, pool.signals_.copy()
    search = GridSearchCV(LiRA(victim, FrozenEstimator(pool)), SETTINGS, cv=5, scoring="roc_auc")
    search.fit(records, membership)
    assert len(search.cv_results_["params"]) == 48
    assert CountedTree.n_fits == n_fits == 17
    assert search.best_estimator_.pool_ is pool
    np.testing.assert_array_equal(pool.signals_, signals)
    assert search.best_score_ > 0.7


def test_unfrozen_pool_is_said_to_be_the_cause():
    records, membership = make_membership_problem(100, random_state=0)
    members = records[membership == 1]
    victim = FrozenEstimator(DecisionTreeClassifier().fit(members.X, members.y))
    pool = ShadowPool(DecisionTreeClassifier(), 4, random_state=0).fit(records)
    search = GridSearchCV(LiRA(victim, pool), {"prior": [0.5]}, cv=2, error_score="raise")
    with pytest.raises(ValueError, match="freeze it with FrozenEstimator"):
        search.fit(records, membership)


@pytest.mark.parametrize("store", ["signals", "models"])
def test_search_over_the_size_of_a_pool_is_told_what_works(store):
    records, membership = make_membership_problem(100, random_state=0)
    members = records[membership == 1]
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    victim = FrozenEstimator(tree.fit(members.X, members.y))
    pool = ShadowPool(tree, 4, store=store, random_state=0)
    settings = {"cv": 2, "scoring": "roc_auc", "error_score": "raise"}
    sizes = {"shadows__n_estimators": [4, 8]}
    search = GridSearchCV(LiRA(victim, pool), sizes, **settings)
    with pytest.raises(ValueError) as caught:
        search.fit(records, membership)
    first = str(caught.value).split(". ")[0]
    assert "shadows=[FrozenEstimator(pool.first(n)) for n in sizes]" in first
    whole = pool.set_params(n_estimators=16).fit(records)  # as it says
    pools = {"shadows": [FrozenEstimator(whole.first(n)) for n in (8, 16)]}
    GridSearchCV(LiRA(victim), pools, **settings).fit(records, membership)
    if store == "models":  # as the rest says
        search.set_params(estimator__online=False).fit(records, membership)
