"""What fit of a fitted booster was given is given to its clones."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from skmia import Records, ShadowPool, audit
from skmia._training.frozen import make_recipe
from skmia._training.recalled import RecalledSettings, recall_fit
from skmia.attacks import ThresholdAttack
from skmia.epsilon import OneRunAudit
from skmia.games import membership_game, unlearning_game
from skmia.report._case import describe_held_back

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"age": RNG.normal(size=160), "town": RNG.choice(list("abcd"), 160)})
Y = (TABLE["age"] + (TABLE["town"] == "a") + RNG.normal(size=160) > 0).astype(int).to_numpy().copy()
CATBOOST = {"iterations": 40, "verbose": 0, "thread_count": 1, "allow_writing_files": False}


def test_other_models_recall_nothing():
    assert recall_fit(LogisticRegression()) == RecalledSettings()
    assert recall_fit(make_pipeline(LogisticRegression())).fit_params is None
    # Of one iteration, but not by partial_fit.
    net = MLPClassifier((5,), solver="lbfgs", tol=0.1, random_state=0).fit(TABLE[["age"]], Y)
    assert net.n_iter_ == 1 and recall_fit(net, 80) == RecalledSettings()


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


def test_clones_of_a_catboost_that_stopped_learn_at_its_rate():
    # It would choose a rate by the number of rounds, of which the clones have fewer.
    given = {"eval_set": (TABLE[:80], Y[80:])}
    model = make_catboost(given, cat_features=["town"], od_wait=2)
    assert model.tree_count_ < 40
    clone = make_recipe(model, True).estimator.fit(TABLE, Y)
    assert clone.get_all_params()["learning_rate"] == model.get_all_params()["learning_rate"]
    of_user = recall_fit(make_catboost(given, cat_features=["town"], od_wait=2, eta=0.5))
    assert "iterations" in dict(of_user.settings)
    assert "learning_rate" not in dict(of_user.settings)


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


CODES = np.array(TABLE.assign(town=TABLE["town"].map("abcd".index)), dtype=np.float32)
VALID = CODES[::-1], RNG.permutation(Y)


def make_lightgbm(**settings):
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(min_child_samples=5, verbose=-1, n_jobs=1, **settings)


def make_xgboost(**settings):
    return pytest.importorskip("xgboost").XGBClassifier(n_jobs=1, **settings)


@pytest.mark.parametrize("rounds", ["n_estimators", "num_iterations", "num_boost_round"])
@pytest.mark.parametrize("stopping", ["early_stopping_rounds", "n_iter_no_change"])
@pytest.mark.filterwarnings("ignore")  # of LightGBM, on names and on eval_set
def test_rounds_after_which_lightgbm_stopped_whatever_their_name(rounds, stopping):
    model = make_lightgbm(**{rounds: 40, stopping: 2}).fit(CODES, Y, eval_set=[VALID])
    n_rounds = model.best_iteration_
    assert 0 < n_rounds < 40
    recipe = make_recipe(model, True)
    assert f"after {n_rounds} of 40 rounds" in recipe.notes[0]
    assert recipe.estimator.fit(CODES, Y).booster_.current_iteration() == n_rounds


@pytest.mark.filterwarnings("ignore")  # of LightGBM, on eval_set
def test_validation_rows_without_what_stops_by_them_do_not_decide_the_rounds_of_lightgbm():
    lightgbm = pytest.importorskip("lightgbm")
    stops = [lightgbm.early_stopping(2, verbose=False)]
    model = make_lightgbm(n_estimators=40).fit(CODES, Y, eval_set=[VALID], callbacks=stops)
    recipe = make_recipe(model, True, {"eval_set": [VALID]})  # as --validation gives them
    clone = recipe.estimator.fit(CODES, Y, **recipe.fit_params)
    assert clone.booster_.current_iteration() == model.best_iteration_ < 40
    assert "stopped early" in recipe.notes[0]
    recipe = make_recipe(model, True, {"eval_set": [VALID], "callbacks": stops})
    assert recipe.notes == [] and recipe.estimator.n_estimators == 40


@pytest.mark.parametrize("way", ["parameter", "callback", "pipeline", "search"])
def test_rounds_after_which_xgboost_stopped(way):
    stopping, model = {"early_stopping_rounds": 2}, None
    if way == "callback":
        xgboost = pytest.importorskip("xgboost")
        stopping = {"callbacks": [xgboost.callback.EarlyStopping(rounds=2)]}
    given = {"eval_set": [VALID], "verbose": False}
    model = booster = make_xgboost(n_estimators=40, **stopping)
    if way == "pipeline":
        model = make_pipeline("passthrough", booster)
        given = {f"xgbclassifier__{name}": value for name, value in given.items()}
    if way == "search":
        model = GridSearchCV(booster, {"max_depth": [2]}, cv=2)
    model.fit(CODES, Y, **given)
    booster = model.best_estimator_ if way == "search" else booster
    recipe = make_recipe(
        model, True, {"xgbclassifier__verbose": False} if way == "pipeline" else None
    )
    n_rounds = booster.best_iteration + 1
    assert f"after {n_rounds} of 40 rounds" in recipe.notes[0]
    clone = recipe.estimator.fit(CODES, Y)
    clone = {"pipeline": lambda: clone[-1], "search": lambda: clone.best_estimator_}.get(
        way, lambda: clone
    )()
    assert clone.get_booster().num_boosted_rounds() == n_rounds


def test_a_model_that_could_have_stopped_and_did_not_is_said_to_have_all_rounds():
    model = make_xgboost(n_estimators=3, early_stopping_rounds=9)
    recipe = make_recipe(model.fit(CODES, Y, eval_set=[(CODES, Y)], verbose=False), True)
    assert "did not stop before its last round, 3, by rows" in recipe.notes[0]
    assert recipe.estimator.fit(CODES, Y).get_booster().num_boosted_rounds() == 3


def wrap_calibrated(model):
    return CalibratedClassifierCV(FrozenEstimator(model))


def wrap_stacked(model):
    final = LogisticRegression()
    return StackingClassifier([("part", model)], cv="prefit", final_estimator=final)


def wrap_voting(model):
    return VotingClassifier([("part", FrozenEstimator(model))], voting="soft")


def wrap_pipeline(model):
    return make_pipeline("passthrough", FrozenEstimator(model))


@pytest.mark.parametrize("wrap", [wrap_calibrated, wrap_stacked, wrap_voting, wrap_pipeline])
@pytest.mark.filterwarnings("ignore")  # of LightGBM, on names and on eval_set
def test_frozen_parts_that_stopped_early_have_their_rounds_in_clones(wrap):
    lightgbm = pytest.importorskip("lightgbm")
    stops = [lightgbm.early_stopping(2, verbose=False)]
    parts = [
        make_xgboost(n_estimators=40, early_stopping_rounds=2).fit(
            CODES, Y, eval_set=[VALID], verbose=False
        ),
        make_lightgbm(n_estimators=40).fit(CODES, Y, eval_set=[VALID], callbacks=stops),
        make_catboost({"eval_set": (TABLE[:80], Y[80:])}, cat_features=["town"], od_wait=2),
    ]
    for part in parts:
        n_rounds = part.best_iteration + 1 if hasattr(part, "get_booster") else count_best(part)
        assert n_rounds < 40
        recipe = make_recipe(wrap(part), True)
        told = [note for note in recipe.notes if "stopped early" in note]
        assert len(told) == 1 and f"after {n_rounds} of 40 rounds" in told[0]
        assert "fit_params" not in told[0]  # which reach no part
        seen = [
            value
            for name, value in recipe.estimator.get_params(deep=True).items()
            if name.endswith(("__n_estimators", "__iterations"))
        ]
        assert seen == [n_rounds]


def count_best(model):
    return model.best_iteration_ if hasattr(model, "booster_") else model.tree_count_


def test_validation_rows_of_a_user_decide_when_clones_of_xgboost_stop():
    model = make_xgboost(n_estimators=40, early_stopping_rounds=2)
    model.fit(CODES, Y, eval_set=[VALID], verbose=False)
    for given in ({"eval_set": [VALID]}, lambda X, y: {"eval_set": [(X, y)]}):
        recipe = make_recipe(model, True, given)
        assert recipe.notes == []
        assert recipe.estimator.get_params()["early_stopping_rounds"] == 2


def go_on_xgboost():
    first = make_xgboost(n_estimators=6).fit(CODES, Y)
    return make_xgboost(n_estimators=4).fit(CODES, Y, xgb_model=first.get_booster())


def go_on_lightgbm():
    first = make_lightgbm(n_estimators=6).fit(CODES, Y)
    return make_lightgbm(n_estimators=4).fit(CODES, Y, init_model=first)


def go_on_catboost():
    settings = CATBOOST | {"iterations": 5}
    catboost = pytest.importorskip("catboost")
    first = catboost.CatBoostClassifier(**settings).fit(CODES, Y)
    return catboost.CatBoostClassifier(**settings).fit(CODES, Y, init_model=first)


def load_xgboost(tmp_path):
    make_xgboost(n_estimators=10).fit(CODES, Y).save_model(tmp_path / "model.json")
    model = make_xgboost()
    model.load_model(tmp_path / "model.json")
    return model


def count_rounds(model):
    if hasattr(model, "get_booster"):
        return model.get_booster().num_boosted_rounds()
    return model.booster_.current_iteration() if hasattr(model, "booster_") else model.tree_count_


@pytest.mark.parametrize("go_on", [go_on_xgboost, go_on_lightgbm, go_on_catboost])
def test_clones_of_a_booster_that_was_trained_further_have_as_many_rounds(go_on):
    recipe = make_recipe(go_on(), True)
    assert "trained for 10 rounds, more than the" in recipe.notes[0]
    assert count_rounds(recipe.estimator.fit(CODES, Y)) == 10


def test_clones_of_a_loaded_xgboost_have_its_rounds_and_what_its_file_lacks_is_said(tmp_path):
    recipe = make_recipe(load_xgboost(tmp_path), True)
    assert "10 rounds, and its n_estimators is 100" in recipe.notes[0]
    assert "does not hold parameters such as max_depth" in recipe.notes[0]
    assert count_rounds(recipe.estimator.fit(CODES, Y)) == 10


def test_rounds_of_a_forest_of_xgboost_are_not_its_trees():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBRFClassifier(n_estimators=3, n_jobs=1).fit(CODES, Y)
    assert recall_fit(model) == RecalledSettings()


@pytest.fixture(scope="module")
def make_net():
    skorch, torch = pytest.importorskip("skorch"), pytest.importorskip("torch")

    def make(**settings):
        settings = {"max_epochs": 2, "train_split": None, "verbose": 0} | settings
        return skorch.NeuralNetClassifier(
            torch.nn.Linear,
            module__in_features=2,
            module__out_features=2,
            criterion=torch.nn.CrossEntropyLoss,
            **settings,
        )

    return make


def test_clones_of_a_net_are_trained_for_all_epochs_of_partial_fit(make_net):
    X, y = CODES.copy(), Y.copy()  # CatBoost makes arrays read-only, of which torch warns
    net = make_net().fit(X, y)
    assert recall_fit(net) == RecalledSettings()
    for _ in range(3):
        net.partial_fit(X, y)
    recipe = make_recipe(make_pipeline("passthrough", net), True)
    assert "trained for 8 epochs, more than the 2 of one fit" in recipe.notes[0]
    assert len(recipe.estimator.fit(X, y)[-1].history) == 8


def test_it_is_said_that_clones_of_a_net_of_warm_starts_begin_with_new_weights(make_net):
    net = make_net(warm_start=True).initialize()
    assert recall_fit(net) == RecalledSettings()
    recalled = recall_fit(net.fit(CODES.copy(), Y.copy()))
    assert recalled.settings == () and "begin with new weights" in recalled.notes[0]


def test_clones_of_a_net_that_was_interrupted_stop_where_it_did(make_net):
    X, y = CODES.copy(), Y.copy()
    net = make_net(max_epochs=9).initialize()
    net.fit_loop(X, y, epochs=3)
    assert recall_fit(net).settings == [("max_epochs", 3)]
    stops = pytest.importorskip("skorch").callbacks.EarlyStopping
    net = make_net(max_epochs=9, callbacks=[stops(monitor="train_loss", patience=1, threshold=9)])
    assert 1 < len(net.fit(X, y).history) < 9
    assert recall_fit(net) == RecalledSettings()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", [SGDClassifier, MLPClassifier])
@pytest.mark.parametrize("n_parts", [1, 4])
def test_clones_of_a_model_of_partial_fit_pass_over_their_rows_as_often(kind, n_parts):
    model = kind(random_state=0)
    for _ in range(12):
        for part in range(n_parts):
            rows = slice(part, None, n_parts)
            model.partial_fit(CODES[rows], Y[rows], classes=[0, 1])
    recipe = make_recipe(model, True, n_rows=len(Y) // 2)
    assert "on 1,920 rows in all calls together" in recipe.notes[0]
    assert "24 passes over their 80 rows" in recipe.notes[0]
    assert recipe.estimator.fit(CODES, Y).n_iter_ == 24
    assert recall_fit(kind(max_iter=3).fit(CODES, Y), 80) == RecalledSettings()


@pytest.mark.parametrize(("n_fitted", "n_rows"), [(10_001, 10_000), (60, 10_001)])
def test_clones_of_histogram_boosting_stop_early_where_the_model_does(n_fitted, n_rows):
    X = np.arange(float(n_fitted))[:, None]
    model = HistGradientBoostingClassifier(max_iter=1).fit(X, X[:, 0] > 9)
    stops = n_fitted > 10_000
    recipe = make_recipe(model, True, n_rows=n_rows)
    assert recipe.estimator.early_stopping is stops is model.do_early_stopping_
    assert f"(early_stopping={stops})" in recipe.notes[0]
    assert make_recipe(model, True, n_rows=n_fitted).notes == []
    model.set_params(early_stopping=stops)
    assert make_recipe(model, True, n_rows=n_rows).notes == []


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_clones_of_a_perceptron_of_warm_starts_pass_over_their_rows_as_often():
    model = MLPClassifier((2,), warm_start=True, max_iter=1, random_state=0)
    for _ in range(30):
        model.fit(CODES, Y)
    recipe = make_recipe(model, True, n_rows=len(Y))
    assert "in 30 passes over their 160 rows" in recipe.notes[0]
    assert recipe.estimator.fit(CODES, Y).n_iter_ == 30
    assert make_recipe(model.set_params(warm_start=False).fit(CODES, Y), True, n_rows=9).notes == []


def test_it_is_said_where_the_calls_of_fit_of_a_linear_model_are_not_counted():
    model = SGDClassifier(warm_start=True, max_iter=7, tol=None).fit(CODES, Y).fit(CODES, Y)
    recipe = make_recipe(model, True, n_rows=len(Y))
    assert "not known how often its fit was called" in recipe.notes[0]
    assert recipe.estimator.max_iter == 7


BOTH = Records(CODES, Y)
PLAYS = {
    "membership": lambda model: membership_game(model, ThresholdAttack(), BOTH, n_rounds=2),
    "unlearning": lambda model: unlearning_game(model, "noop", BOTH, n_estimators=4, n_targets=2),
    "epsilon": lambda model: OneRunAudit(model, n_canaries=20).fit(CODES, Y),
}


@pytest.mark.parametrize("play", PLAYS)
def test_games_and_audits_of_epsilon_train_a_fitted_booster_as_long(play):
    model = make_xgboost(n_estimators=40, early_stopping_rounds=2)
    model.fit(CODES, Y, eval_set=[VALID], verbose=False)
    n_rounds = model.best_iteration + 1
    told = f"after {n_rounds} of 40 rounds.*the models that are trained here have {n_rounds}"
    with pytest.warns(UserWarning, match=told) as caught:
        PLAYS[play](model)
    assert caught[0].filename == __file__


def test_notes_on_columns_that_a_user_names_otherwise_are_left_out():
    recalled = RecalledSettings({"cat_features": [1]}, [("iterations", 3)], ("columns", "rounds"))
    assert recalled.tell(None) == recalled.tell({"verbose": 0}) == ["columns", "rounds"]
    assert recalled.tell({"cat_features": [0]}) == ["rounds"]
    assert recalled.tell(print) == recalled.tell({"eval_set": []}) == []
