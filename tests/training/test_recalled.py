"""What fit of a fitted booster was given is given to its clones."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skmia import Records, ShadowPool, audit
from skmia._training.recalled import RecalledSettings, recall_fit
from skmia.report._case import describe_held_back

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"age": RNG.normal(size=160), "town": RNG.choice(list("abcd"), 160)})
Y = (TABLE["age"] + (TABLE["town"] == "a") + RNG.normal(size=160) > 0).astype(int).to_numpy()
CATBOOST = {"iterations": 40, "verbose": 0, "thread_count": 1, "allow_writing_files": False}


def test_other_models_recall_nothing():
    assert recall_fit(LogisticRegression()) == RecalledSettings()
    assert recall_fit(make_pipeline(LogisticRegression())).fit_params is None


def make_catboost(fit_params, **settings):
    catboost = pytest.importorskip("catboost")
    return catboost.CatBoostClassifier(**CATBOOST, **settings).fit(TABLE, Y, **fit_params)


def test_categories_that_fit_of_catboost_was_given():
    model = make_catboost({"cat_features": ["town"]})
    records = Records(TABLE, Y)
    pool = ShadowPool(model, n_estimators=2, random_state=0).fit(records)
    assert "fit_params={'cat_features': ['town']}" in pool.notes_[0]
    in_constructor = make_catboost({}, cat_features=["town"])
    again = ShadowPool(in_constructor, n_estimators=2, random_state=0).fit(records)
    np.testing.assert_array_equal(pool.signals_, again.signals_)
    assert recall_fit(in_constructor) == RecalledSettings()
    assert recall_fit(make_pipeline("passthrough", model)).fit_params == {
        "catboostclassifier__cat_features": ["town"]
    }


def test_parameters_of_a_user_come_first():
    recalled = recall_fit(make_catboost({"cat_features": ["town"]}))
    assert recalled.join(None) == {"cat_features": ["town"]}
    assert recalled.join({"cat_features": [1]}) == {"cat_features": [1]}
    assert recalled.join(print) is print


def test_categories_that_nobody_named():
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostClassifier(**CATBOOST)
    cure = (
        r"CatBoostClassifier\(cat_features=\['town'\]\).*fit_params=\{'cat_features': \['town'\]\}"
    )
    with pytest.raises(ValueError, match=cure):
        audit(model, Records(TABLE, Y), shadows=4, random_state=0)


def test_rounds_after_which_catboost_stopped():
    valid = (TABLE.sample(frac=1, random_state=0), RNG.permutation(Y))
    given = {"cat_features": ["town"], "eval_set": valid, "early_stopping_rounds": 2}
    model = make_catboost(given)
    n_rounds = model.tree_count_
    assert n_rounds < 40
    pool = ShadowPool(model, n_estimators=2, random_state=0, store="models").fit(Records(TABLE, Y))
    assert {one.tree_count_ for one in pool.estimators_} == {n_rounds}
    assert f"after {n_rounds} of 40 rounds" in " ".join(pool.notes_)


def test_clones_of_a_catboost_that_stopped_do_not_look_for_rows_to_stop_by():
    valid = (TABLE.sample(frac=1, random_state=0), RNG.permutation(Y))
    stops = {"early_stopping_rounds": 2, "use_best_model": True}
    model = make_catboost({"eval_set": valid}, cat_features=["town"], **stops)
    pool = ShadowPool(model, n_estimators=2, random_state=0, store="models").fit(Records(TABLE, Y))
    for one in pool.estimators_:
        assert one.tree_count_ == model.tree_count_
        assert not {*stops} & {name for name, value in one.get_params().items() if value}


def test_rows_that_catboost_splits_off_itself():
    model = make_catboost({}, cat_features=["town"], eval_fraction=0.2, early_stopping_rounds=2)
    assert recall_fit(model) == RecalledSettings()
    assert "(eval_fraction)" in describe_held_back(model)[0]


def test_categories_and_rounds_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    codes = TABLE.assign(town=TABLE["town"].map("abcd".index))
    settings = {"n_estimators": 30, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
    model = lightgbm.LGBMClassifier(**settings).fit(codes, Y, categorical_feature=["town"])
    pools = [
        ShadowPool(lightgbm.LGBMClassifier(**settings), n_estimators=2, random_state=0, **given)
        for given in ({"fit_params": {"categorical_feature": [1]}}, {})
    ]
    named, forgotten = (pool.fit(Records(codes, Y)).signals_ for pool in pools)
    pool = ShadowPool(model, n_estimators=2, random_state=0).fit(Records(codes, Y))
    np.testing.assert_array_equal(pool.signals_, named)
    assert not np.array_equal(pool.signals_, forgotten)
    assert "'town'" in pool.notes_[0]
    as_category = codes.astype({"town": "category"})
    assert recall_fit(lightgbm.LGBMClassifier(**settings).fit(as_category, Y)) == RecalledSettings()
