"""Odd values at the doors of the disparity test and of the games."""

import functools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from skmia import ShadowPool, games, model_selection
from skmia.attacks import LiRA, ThresholdAttack
from skmia.disparity import DisparityTest, GroupGuesses
from skmia.leakage.bounds import bounded_loss_accuracy

from .budget import calls
from .oracle import finite, knock
from .strategies import (
    is_integer,
    odd_settings,
    ordinary_records,
    parameters,
    records,
    tables,
    vectors,
)


def bit_tables():
    """Four rounds of a game, mostly of zeros and ones."""
    return tables(4, 24).map(lambda rows: rows % 2 if is_integer(rows) else rows)


TREE = DecisionTreeClassifier(max_depth=2, random_state=0)
ORDINARY = {
    "estimator": (TREE, LogisticRegression()),
    "attack": (ThresholdAttack(), None),
    "group": ("group",),
    "n_rounds": (2, 3),
    "train_size": (0.4,),
    "test_size": (0.4,),
    "reference_size": (0.2,),
    "n_permutations": (9,),
    "correction": ("holm",),
    "confidence_level": (0.95,),
    "n_jobs": (None,),
    "random_state": (0,),
}


@calls(0.03)
@given(records(), odd_settings(ORDINARY, most=1))
def test_disparity(rows, settings):
    def fit(rows, **settings):
        return DisparityTest(**settings).fit(rows).pvalue_

    knock("DisparityTest", fit, rows, **settings, allowed=(RuntimeError,))


@calls(0.02)
@given(bit_tables(), bit_tables(), vectors("text"))
def test_guesses_of_a_game(guesses, membership, groups):
    def fit(guesses, membership, groups):
        return DisparityTest(n_permutations=9, random_state=0).fit(
            GroupGuesses(guesses, membership, groups)
        )

    knock("GroupGuesses", fit, guesses, membership, groups)


@calls(0.02)
@given(bit_tables())
def test_a_table_of_vulnerabilities(table):
    knock("from_table", lambda table: DisparityTest.from_table(table).anova_pvalue_, table)


GAME = {name: ORDINARY[name] for name in ("n_rounds", "train_size", "test_size", "random_state")}


@calls(0.03)
@given(st.one_of(records(), tables()), vectors("classes"), odd_settings(GAME, most=1))
def test_membership_game(X, y, settings):
    play = games.membership_game
    knock(
        "membership_game", play, TREE, ThresholdAttack(), X, y, **settings, allowed=(RuntimeError,)
    )


@functools.cache
def pool():
    rows = ordinary_records(np.random.default_rng(0))
    return LiRA(shadows=ShadowPool(TREE, 4, random_state=0).fit(rows)), rows


@calls(0.03)
@given(odd_settings({"max_fprs": ((0.1,),), "group": (None, "group")}), records())
def test_leaving_one_model_out(settings, rows):
    attack, known = pool()
    leave_out = model_selection.leave_one_model_out
    knock("leave_one_model_out", leave_out, attack, known, **settings)
    knock("leave_one_model_out", leave_out, attack, rows)


@calls(0.02)
@given(vectors("bits"), vectors("bits"), parameters("bound", None, 5.0))
def test_bounded_loss_accuracy(membership, losses, bound):
    knock("bounded_loss_accuracy", bounded_loss_accuracy, membership, losses, bound=bound)


@calls(0.01)
@given(records(), vectors("bits"), odd_settings({"n_rounds": (2,), "random_state": (0,)}, most=1))
def test_retraining_oracle(rows, membership, settings):
    ask = games.retraining_oracle
    fitted = clone(TREE).fit(ordinary_records(np.random.default_rng(0)).X, np.arange(24) % 2)
    knock("retraining_oracle", ask, fitted, rows, membership, **settings, allowed=(RuntimeError,))


@calls(0.01)
@given(records(), odd_settings({"metric": ("advantage", "roc_auc")}))
def test_leakage_scorer(rows, settings):
    def score(rows, **settings):
        model = model_selection.RememberTraining(TREE).fit(rows.X[1:], rows.y[1:])
        scorer = model_selection.make_leakage_scorer(rows, **settings)
        return float(scorer(model, rows.X, rows.y))

    known = ordinary_records(np.random.default_rng(0))
    knock("make_leakage_scorer", score, known, **settings, check=finite)
    knock("make_leakage_scorer", model_selection.make_leakage_scorer, rows)
