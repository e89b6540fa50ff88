"""What is recalled of fitted models of each kind, with answers by hand."""

from types import SimpleNamespace as NS

from by_hand import expect_answers
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia._training import recalled


def recalled_of(**fields):
    return recalled.RecalledSettings(**fields)


def suits(given, stopper=None):
    return recalled_of(stopper=stopper).suits(given)


def passes(n_rows=100, n_iter_=1, max_iter=1000, t_=301.0, warm_start=False, **fields):
    model = NS(n_iter_=n_iter_, max_iter=max_iter, t_=t_, warm_start=warm_start, **fields)
    found = recalled._recall_passes(model, n_rows)
    return found.settings, [note[:60] for note in found.notes]


def stopping(stops, n_rows, early_stopping="auto"):
    model = NS(do_early_stopping_=stops, early_stopping=early_stopping)
    found = recalled._recall_stopping(model, n_rows)
    return found.settings, [note[-29:] for note in found.notes]


def epochs(n_epochs, max_epochs=5, callbacks=None, warm_start=False):
    net = NS(
        history=[{}] * n_epochs, max_epochs=max_epochs, callbacks=callbacks, warm_start=warm_start
    )
    found = recalled._recall_skorch(net)
    return found.settings, [note[:42] for note in found.notes]


def xgboost_rounds(n_trained, callbacks=None, stops=None, best=None, n_estimators=10, name="XGB"):
    kind = type(name, (), {})
    model = kind()
    vars(model).update(
        get_num_boosting_rounds=lambda: 10,
        get_booster=lambda: NS(num_boosted_rounds=lambda: n_trained),
        callbacks=callbacks,
        early_stopping_rounds=stops,
        best_iteration=best,
        n_estimators=n_estimators,
    )
    found = recalled._recall_xgboost(model)
    return found.settings, [note[:46] for note in found.notes]


def lightgbm_rounds(best=0, n_trained=10, columns=None, by_pandas=None, **known):
    booster = NS(params={}, pandas_categorical=by_pandas, current_iteration=lambda: n_trained)
    if columns is not None:
        booster.params["categorical_column"] = columns
    model = NS(
        booster_=booster,
        feature_name_=["a", "b", "c"],
        best_iteration_=best,
        get_params=lambda: {"n_estimators": 10} | known,
    )
    found = recalled._recall_lightgbm(model)
    return found.fit_params, found.settings, found.stopper, len(found.notes)


EarlyStopping = type("EarlyStopping", (), {})
STOPPER, OTHER = EarlyStopping(), object()
NOTES = ("columns", "length" + recalled._INSTEAD)
ROWS = [
    # Parameters of fit that leave the length of training open.
    (lambda: [suits(one) for one in (None, {}, {"sample_weight": 1})], [True] * 3),
    (
        lambda: [suits(one) for one in (len, [("a", 1)], {"epochs": 1}, {"net__epochs": 1})],
        [False] * 4,
    ),
    (lambda: [suits({name: 1}) for name in ("X_val", "eval_X", "eval_set")], [False] * 3),
    (
        lambda: [suits({name: 1}, "callbacks") for name in ("X_val", "eval_X", "eval_set")],
        [True] * 3,
    ),
    (lambda: suits({"eval_set": 1, "callbacks": 1}, "callbacks"), False),
    (lambda: suits({"a__eval_set": 1, "a__callbacks": 1}, "callbacks"), False),
    (lambda: suits({"init_model": 1}, "callbacks"), False),
    (lambda: recalled_of(fit_params={"cat": 1}, notes=NOTES).tell({"cat": 2}), [NOTES[1]]),
    (lambda: recalled_of(fit_params={"cat": 1}, notes=NOTES).tell({"other": 2}), [*NOTES]),
    (lambda: recalled_of(fit_params={"cat": 1}, notes=NOTES).tell(None), [*NOTES]),
    (lambda: recalled_of(fit_params={"cat": 1}, notes=NOTES).tell({"epochs": 2}), []),
    (lambda: recalled_of(notes=NOTES[1:]).tell({"cat": 2}), [NOTES[1]]),
    (lambda: recalled_of(fit_params={"cat": 1}, notes=NOTES).tell_of_part(), ["length"]),
    (lambda: recalled_of(notes=NOTES[1:]).tell_of_part(), ["length"]),
    (lambda: recalled_of().join({"a": 1}), {"a": 1}),
    (lambda: recalled_of(fit_params={"a": 1, "b": 2}).join({"a": 3}), {"a": 3, "b": 2}),
    (lambda: recalled_of(fit_params={"a": 1}).join(None), {"a": 1}),
    (lambda: recalled_of(fit_params={"a": 1}).join(len) is len, True),
    (
        lambda: recalled_of(fit_params={"a": 1}, settings=[("b", 2)]).at_step("last")[:2],
        ({"last__a": 1}, [("last__b", 2)]),
    ),
    (lambda: recalled_of(settings=[("b", 2)]).at_step("last")[:2], (None, [("last__b", 2)])),
    (lambda: recalled_of(settings=[("b", 2)]).inside("part").settings, [("part__b", 2)]),
    (
        lambda: recalled_of(
            fit_params={"cat_features": [0], "eval_set": 1}, settings=[("b", 2)]
        ).in_constructor(),
        [("b", 2), ("cat_features", [0])],
    ),
    # Three passes over 100 rows in several calls.
    (
        lambda: passes(),
        (
            [("max_iter", 3), ("tol", None)],
            ["The model was trained by partial_fit or warm_start, on 300 r"],
        ),
    ),
    (lambda: passes(n_rows=900)[0], [("max_iter", 1), ("tol", None)]),
    (lambda: passes(t_=350.0)[0], [("max_iter", 3), ("tol", None)]),
    (lambda: passes(t_=352.0)[0], [("max_iter", 4), ("tol", None)]),
    (lambda: passes(n_iter_=5), ((), [])),
    (lambda: passes(max_iter=1), ((), [])),
    (lambda: passes(t_=0.0), ((), [])),
    (lambda: passes(n_iter_=5, warm_start=True), ((), [recalled._MAY_GO_ON[:60]])),
    (
        lambda: passes(n_iter_=2, t_=700, loss_curve_=[1.0] * 7)[0],
        [("max_iter", 7), ("n_iter_no_change", 7)],
    ),
    (lambda: passes(n_iter_=2, t_=200, loss_curve_=[1.0] * 2, warm_start=True), ((), [])),
    (
        lambda: (
            recalled._recall_passes(NS(n_iter_=1, max_iter=9, t_=101.0, warm_start=False), 100)
            .notes[0]
            .endswith("in 1 pass over their 100 rows.")
        ),
        True,
    ),
    (
        lambda: stopping(True, 10_000),
        ([("early_stopping", True)], ["ws each (early_stopping=True)."[-29:]]),
    ),
    (lambda: stopping(True, 10_001), ((), [])),
    (lambda: stopping(False, 10_000), ((), [])),
    (lambda: stopping(False, 10_001)[0], [("early_stopping", False)]),
    (lambda: stopping(True, 10, early_stopping=True), ((), [])),
    (lambda: epochs(7), ([("max_epochs", 7)], ["The model was trained for 7 epochs, more t"])),
    (lambda: epochs(3), ([("max_epochs", 3)], ["The model was trained for 3 epochs, and it"])),
    (lambda: epochs(3, callbacks=[1]), ((), [])),
    (lambda: [epochs(5), epochs(0), epochs(0, warm_start=True)], [((), [])] * 3),
    (lambda: epochs(5, warm_start=True), ((), [recalled._NEW_WEIGHTS[:42]])),
    (lambda: xgboost_rounds(10), ((), [])),
    (
        lambda: xgboost_rounds(12),
        ([("n_estimators", 12)], ["The model was trained for 12 rounds, more than"]),
    ),
    (
        lambda: xgboost_rounds(7),
        ([("n_estimators", 7)], ["The model was trained for 7 rounds, and its n_"]),
    ),
    (lambda: xgboost_rounds(7, callbacks=[OTHER]), ((), [])),
    (lambda: xgboost_rounds(12, name="XGBRFClassifier"), ((), [])),
    (
        lambda: xgboost_rounds(9, stops=2, best=6)[0],
        [("n_estimators", 7), ("early_stopping_rounds", None)],
    ),
    (
        lambda: xgboost_rounds(9, callbacks=[STOPPER], best=6)[0],
        [("n_estimators", 7), ("early_stopping_rounds", None), ("callbacks", None)],
    ),
    (
        lambda: xgboost_rounds(9, callbacks=[OTHER, STOPPER], best=6)[0],
        [("n_estimators", 7), ("early_stopping_rounds", None), ("callbacks", [OTHER])],
    ),
    (lambda: lightgbm_rounds(), (None, (), None, 0)),
    (lambda: lightgbm_rounds(n_trained=12), (None, [("n_estimators", 12)], None, 1)),
    (lambda: lightgbm_rounds(best=6, n_trained=8), (None, [("n_estimators", 6)], "callbacks", 1)),
    (lambda: lightgbm_rounds(best=10), (None, (), None, 0)),
    (
        lambda: lightgbm_rounds(best=6, early_stopping_round=3, n_iter_no_change=None),
        (None, [("n_estimators", 6), ("early_stopping_round", None)], None, 1),
    ),
    (
        lambda: lightgbm_rounds(best=6, num_trees=8),
        (None, [("num_trees", 6)], "callbacks", 1),
    ),
    (lambda: lightgbm_rounds(best=9, num_trees=8, n_trained=8), (None, (), None, 0)),
    (
        lambda: lightgbm_rounds(columns=["0", "2"]),
        ({"categorical_feature": [0, 2]}, (), None, 1),
    ),
    (lambda: lightgbm_rounds(columns=["0"], by_pandas=[["x"]]), (None, (), None, 0)),
    (
        lambda: lightgbm_rounds(best=6, columns=["1"]),
        ({"categorical_feature": [1]}, [("n_estimators", 6)], "callbacks", 2),
    ),
    (
        lambda: [recalled._describe_rounds(*one)[:64] for one in ((5, 10), (10, 10))],
        [
            "The model stopped early, after 5 of 10 rounds, by rows that its ",
            "The model did not stop before its last round, 10, by rows that i",
        ],
    ),
    (
        lambda: recalled.recall_fit(make_pipeline(StandardScaler(), "passthrough"), 9)[:3],
        (None, (), ()),
    ),
]


def test_answers_by_hand():
    expect_answers(ROWS)
