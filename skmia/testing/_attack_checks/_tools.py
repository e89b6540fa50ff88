"""The attack as a part of scikit-learn's tools."""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from ._helpers import asks_fitted, expect, expect_close, fitted, fresh


@asks_fitted
def check_attack_in_pipeline(attack, records, membership):
    """As the last step of a Pipeline it scores as it does alone."""
    steps = [("records", "passthrough"), ("attack", fresh(attack))]
    pipeline = Pipeline(steps).fit(records, membership)
    claim = "In a Pipeline the attack must give the same {} as alone"
    for name in ("score_samples", "decision_function", "predict"):
        values = getattr(pipeline, name)(records), getattr(attack, name)(records)
        expect_close(*values, claim.format(name))
    score = pipeline.score(records, membership), attack.score(records, membership)
    expect_close(*score, claim.format("score"))


@asks_fitted
def check_attack_in_grid_search(attack, records, membership):
    """A search over folds of the records fits, scores and refits it."""
    search = GridSearchCV(fresh(attack), {}, cv=2, scoring="roc_auc", error_score="raise")
    search.fit(records, membership)
    expect(0 <= search.best_score_ <= 1, f"The AUC of a search is {search.best_score_}.")
    values = search.decision_function(records), attack.decision_function(records)
    expect_close(*values, "The refitted attack of a search must decide as it does alone")


def check_attack_in_cross_val_predict(attack, records, membership):
    """Predictions over folds agree with attacks fitted on the other folds directly."""
    folds, settings = StratifiedKFold(2), {"method": "decision_function"}
    decision = cross_val_predict(fresh(attack), records, membership, cv=folds, **settings)
    expected = np.empty(len(records))
    for train, test in folds.split(np.zeros(len(records)), membership):
        own = fitted(attack, records[train], membership[train])
        expected[test] = own.decision_function(records[test])
    expect_close(decision, expected, "cross_val_predict must agree with fits on the folds by hand")


def check_attack_in_stacking(attack, records, membership):
    """It can be stacked below another classifier.

    A tree takes scores of any size.
    """
    final = DecisionTreeClassifier(max_depth=1)
    stack = StackingClassifier([("attack", fresh(attack))], final, cv=2)
    guesses = stack.fit(records, membership).predict(records)
    holds = guesses.shape == (len(records),) and np.isin(guesses, [0, 1]).all()
    expect(holds, f"A stack over the attack must predict 0 or 1 per record; got {guesses}.")
    expect(stack.transform(records).shape[1] == 1, "A stack must see one column per attack.")


def check_attack_in_calibration(attack, records, membership):
    """Its scores can be calibrated to probabilities of membership."""
    calibrated = CalibratedClassifierCV(fresh(attack), cv=2).fit(records, membership)
    proba = calibrated.predict_proba(records)
    expect_close(proba.shape, (len(records), 2), "Calibration must give two columns")
    expect_close(proba.sum(axis=1), np.ones(len(records)), "Calibration must give probabilities")
