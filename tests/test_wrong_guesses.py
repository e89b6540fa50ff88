"""What newcomers try first: each guess gives a result, or one sentence that names the cure."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, train_test_split
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, ShadowPool, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.base import BaseAttack, Needs
from skmia.defenses import DPSGDClassifier
from skmia.games import membership_game
from skmia.metrics import membership_advantage_scorer, tpr_at_fpr_scorer
from skmia.testing import check_attack

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(120, 3)), columns=["age", "wage", "height"])
Y = pd.Series(np.where(X["age"] + RNG.normal(size=120) > 0, 1, 0), name="income")
X_TRAIN, X_TEST, Y_TRAIN, Y_TEST = train_test_split(X, Y, test_size=0.5, random_state=0)
TRAIN, HELD_OUT = (X_TRAIN, Y_TRAIN), (X_TEST, Y_TEST)
TREE = DecisionTreeClassifier(min_samples_leaf=2, random_state=0)
MODEL = clone(TREE).fit(*TRAIN)
RECORDS, MEMBERSHIP = Records.from_sides(TRAIN, HELD_OUT)
HALVES = np.array(["a\ud800", "b"] * 30, dtype=object)
TEXT = Y_TRAIN.map({0: "no", 1: "yes"}), Y_TEST.map({0: "no", 1: "yes"})


def run(model=MODEL, *data, **settings):
    quick = {"attacks": {"threshold": ThresholdAttack()}, "shadows": 2, "file": False}
    return audit(model, *data, **quick | settings)


def sides(train=TRAIN, held_out=HELD_OUT, **settings):
    return run(MODEL, train=train, held_out=held_out, **settings)


def rename(table):
    return table.rename(columns={"age": "years"})


def as_polars(table):
    return pytest.importorskip("polars").DataFrame(table.to_dict("list"))


def search(scoring):
    attack = ThresholdAttack(FrozenEstimator(MODEL))
    grid = GridSearchCV(attack, {}, scoring=scoring, error_score="raise", cv=2)
    return grid.fit(RECORDS, MEMBERSHIP)


class Undeclared(BaseAttack):
    """Calls the victim, and declares nothing."""

    def __init__(self, victim=None):
        self.victim = victim

    def _fit(self, records, membership):
        pass

    def _score_samples(self, records):
        return self.victim.predict_proba(records.X).max(axis=1)

    def _natural_offset(self, records):
        return 0.5


class Declared(Undeclared):
    def _needs(self):
        return Needs(reads=frozenset({"proba"}), access=frozenset({"queries"}))


class Unfinished(BaseAttack):
    def __init__(self, victim=None):
        self.victim = victim

    def _fit(self, records, membership):
        pass


WRITE = r"[Ww]rite audit\(model, train=\(X_train, y_train\), held_out=\(X_test, y_test\)\)"
FINE = None

# What is tried, how, and what comes of it: a result, or a sentence.
GUESSES = [
    # The data
    ("two tables", lambda: sides(), FINE),
    ("lists for pairs", lambda: sides([X_TRAIN, Y_TRAIN], [X_TEST, Y_TEST]), FINE),
    ("records for sides", lambda: sides(Records(*TRAIN), Records(*HELD_OUT)), FINE),
    ("columns in another order", lambda: sides(held_out=(X_TEST[X.columns[::-1]], Y_TEST)), FINE),
    ("labels in a table", lambda: sides((X_TRAIN, Y_TRAIN.to_frame())), FINE),
    ("sides by position", lambda: run(MODEL, TRAIN, HELD_OUT), f"got tuple. {WRITE}"),
    ("features and labels", lambda: run(MODEL, X_TRAIN, Y_TRAIN), f"got DataFrame. {WRITE}"),
    (
        "four tables by position",
        lambda: audit(MODEL, X_TRAIN, Y_TRAIN, X_TEST, Y_TEST),
        f"5 arguments by position. {WRITE}",
    ),
    ("a model alone", lambda: run(MODEL), f"needs the data that is audited: {WRITE}"),
    ("the training set alone", lambda: run(MODEL, train=TRAIN), f"held_out is missing.*{WRITE}"),
    ("held-out data alone", lambda: run(MODEL, held_out=HELD_OUT), f"train is missing.*{WRITE}"),
    ("both forms", lambda: run(MODEL, RECORDS, train=TRAIN), f"given twice.*{WRITE}"),
    (
        "sides with a membership",
        lambda: run(MODEL, train=TRAIN, held_out=HELD_OUT, membership=MEMBERSHIP),
        "given twice",
    ),
    ("features without labels", lambda: sides(X_TRAIN, X_TEST), r"Write train=\(X, y\)"),
    ("the labels first", lambda: sides((Y_TRAIN, X_TRAIN)), r"labels first. Write train=\(X, y\)"),
    (
        "the order of train_test_split",
        lambda: sides((X_TRAIN, X_TEST), (Y_TRAIN, Y_TEST)),
        r"write train=\(X_train, y_train\), held_out=\(X_test, y_test\)",
    ),
    (
        "weights as a third part",
        lambda: sides((X_TRAIN, Y_TRAIN, np.ones(60))),
        r"are fields of train=Records\(X, y, sample_weight=...\)",
    ),
    ("an empty side", lambda: sides(held_out=(X_TEST[:0], Y_TEST[:0])), "held_out has no records"),
    ("other columns", lambda: sides((rename(X_TRAIN), Y_TRAIN)), "only one has years, age"),
    ("a table and an array", lambda: sides((X_TRAIN.to_numpy(), Y_TRAIN)), "Convert one of them"),
    ("pandas and polars", lambda: sides((as_polars(X_TRAIN), Y_TRAIN)), "Convert one of them"),
    ("one side in text", lambda: sides(held_out=(X_TEST, TEXT[1])), "labels of one type.*astype"),
    ("labels of one side", lambda: sides(held_out=(X_TEST, None)), "all have labels or none has"),
    ("labels that are too few", lambda: sides((X_TRAIN, Y_TRAIN[1:])), "train: X has 60 records"),
    ("a lazy table", lambda: Records(as_polars(X_TRAIN).lazy(), Y_TRAIN), FINE),
    ("a dict of columns", lambda: Records(X.to_dict("list"), Y), "X must be an array, a DataFrame"),
    ("a path", lambda: Records("train.csv"), "X must be an array, a DataFrame"),
    ("an unknown column", lambda: Records.from_frame(X, "income"), "columns are age, wage, height"),
    ("a table of polars", lambda: Records.from_frame(as_polars(X), target="age"), FINE),
    # The labels and the membership
    (
        "labels in text for a model of numbers",
        lambda: sides((X_TRAIN, TEXT[0]), (X_TEST, TEXT[1])),
        r"'no' is none of \[0, 1\]. Pass the labels .* \{'no': 0, 'yes': 1\}, with which",
    ),
    ("one-hot labels", lambda: sides((X_TRAIN, pd.get_dummies(Y_TRAIN))), "2-dimensional labels"),
    ("no membership", lambda: run(MODEL, RECORDS), "membership is required if the victim is fit"),
    ("places of the members", lambda: run(MODEL, RECORDS, np.arange(60)), "one value for each of"),
    ("words", lambda: run(MODEL, RECORDS, ["in"] * 60 + ["out"] * 60), "must be 1 for members and"),
    ("members alone", lambda: run(MODEL, RECORDS[:60], MEMBERSHIP[:60]), "contain no non-members"),
    ("truth values", lambda: run(MODEL, RECORDS, MEMBERSHIP == 1), FINE),
    ("half a character", lambda: sides((X_TRAIN, HALVES), (X_TEST, HALVES)), "'a.ud800' is none"),
    # The model and the settings
    ("an unfitted model", lambda: run(TREE, train=TRAIN, held_out=HELD_OUT), FINE),
    ("a class", lambda: run(DecisionTreeClassifier, RECORDS, MEMBERSHIP), "not an instance"),
    ("a file name", lambda: run("model.pkl", RECORDS, MEMBERSHIP), "must be a fitted classifier"),
    ("the data first", lambda: audit(X_TRAIN, Y_TRAIN, MODEL), "must be skmia.Records"),
    ("the name of an attack", lambda: sides(attacks="LiRA"), "attacks must be"),
    ("a list of attacks", lambda: sides(attacks=[LiRA()]), "attacks must be"),
    ("one attack", lambda: sides(attacks=LiRA()), "attacks must be"),
    ("an attack's class", lambda: sides(attacks={"LiRA": LiRA}), r"LiRA is a class.*write LiRA\("),
    ("a class alone", lambda: sides(attacks=LiRA), "LiRA is a class, not an instance"),
    ("a class in a game", lambda: membership_game(TREE, LiRA, RECORDS, n_rounds=2), "not an inst"),
    ("the class of the pool", lambda: LiRA(MODEL, shadows=ShadowPool).fit(RECORDS), "not an inst"),
    ("the class of the model", lambda: LiRA(type(TREE), shadows=2).fit(RECORDS), "victim Decision"),
    ("a class to check", lambda: check_attack(LiRA, RECORDS, MEMBERSHIP), "LiRA is a class"),
    ("an odd number of models", lambda: sides(attacks={"LiRA": LiRA()}, shadows=3), "even"),
    ("one rate", lambda: sides(fprs=0.1), FINE),
    ("a rate in percent", lambda: sides(fprs=[5]), "fraction"),
    ("an unknown group", lambda: sides(group="race"), "race"),
    # Attacks and scorers
    ("an attack on a matrix", lambda: LiRA(MODEL, shadows=2).fit(X, Y), r"as Records\(X, y\)"),
    ("records as a matrix", lambda: clone(TREE).fit(RECORDS, Y), "takes records.X"),
    (
        "an unfinished attack",
        Unfinished,
        'not define _natural_offset, _score.*"An attack of your own"',
    ),
    (
        "an attack that calls the victim",
        lambda: sides(attacks={"mine": Undeclared()}),
        r"left out: it calls victim.predict_proba without .*base.query\(self.victim, records\), or",
    ),
    ("an attack that says so", lambda: sides(attacks={"mine": Declared()}), FINE),
    ("an unknown field", lambda: RECORDS["race"], "no field 'race'; their fields: none"),
    ("bare answers", lambda: Records(X, Y, outputs=MODEL.predict_proba(X)), FINE),
    ("answers without classes", lambda: Outputs(MODEL.predict_proba(X)), "classes"),
    ("a scorer", lambda: search(membership_advantage_scorer()), FINE),
    ("a scorer of low rates", lambda: search(tpr_at_fpr_scorer(0.5)), FINE),
    (
        "an attack that is cloned with its model",
        lambda: cross_val_predict(ThresholdAttack(MODEL), RECORDS, MEMBERSHIP),
        FINE,
    ),
    ("a scorer that was not made", lambda: search(membership_advantage_scorer), r"scorer\(\)"),
    ("a rate that was not given", lambda: search(tpr_at_fpr_scorer), r"tpr_at_fpr_scorer\(0\.01\)"),
    (
        "a defense of no net",
        lambda: DPSGDClassifier(LogisticRegression()).fit(X, Y),
        "implementing 'init",
    ),
]


@pytest.mark.parametrize("guess", GUESSES, ids=[name for name, _, _ in GUESSES])
@pytest.mark.usefixtures("quick_audits")
def test_a_guess_ends_in_a_result_or_in_a_sentence(guess):
    _, call, sentence = guess
    if sentence is FINE:
        assert call() is not None
        return
    with pytest.raises((TypeError, ValueError, KeyError)) as caught:
        call()
    said = str(caught.value)
    assert re.search(sentence, said), said
    assert len(said) < 400
    assert "\n" not in said


def test_there_are_thirty_of_them():
    assert len(GUESSES) >= 30
    assert len({name for name, _, _ in GUESSES}) == len(GUESSES)
