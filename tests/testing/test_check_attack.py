"""The public functions: what an author of an attack calls."""

import re

import numpy as np
import pandas as pd
import pytest
from attack_checks import find_checks
from cells import slow_but
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.attacks import LiRA, QueriedThresholdAttack, ThresholdAttack
from skmia.testing import check_attack, make_attack_problem, parametrize_with_attack_checks
from skmia.victims import CallableVictim

pytestmark = pytest.mark.contract

NAMES = list(find_checks())
PROBLEM = make_attack_problem()


def test_a_sound_attack_passes():
    check_attack(ThresholdAttack(PROBLEM.victim), PROBLEM.records, PROBLEM.membership)


def test_membership_may_be_a_list_of_bools():
    bits = (PROBLEM.membership == 1).tolist()
    check_attack(ThresholdAttack(PROBLEM.victim), PROBLEM.records, bits)


def test_what_no_attack_is_fitted_on_is_not_the_fault_of_the_attack():
    victim, _, records, membership = make_attack_problem()
    for wrong in (0.5 * membership, membership[:5], np.ones(60)):
        with pytest.raises(ValueError, match="^membership "):
            check_attack(ThresholdAttack(victim), records, wrong)
    with pytest.raises(TypeError, match=r"^Expected skmia\.Records"):
        check_attack(ThresholdAttack(victim), records.X, membership)


def test_a_victim_behind_a_function_passes():
    victim = CallableVictim(PROBLEM.victim.predict_proba, PROBLEM.victim.classes_)
    check_attack(ThresholdAttack(victim), PROBLEM.records, PROBLEM.membership)


def test_a_pool_that_keeps_no_models_suffices():
    victim, shadows, records, membership = make_attack_problem(
        n_records=40, n_estimators=4, store="signals", random_state=1
    )
    check_attack(LiRA(victim, shadows), records, membership)


def read_numbers(frame):
    return frame[list("abcde")].to_numpy()


@pytest.mark.parametrize("kind", slow_but(["frame", "sparse", "tensor"], "frame"))
def test_records_in_other_containers_pass(kind):
    make = {
        "frame": lambda X: pd.DataFrame(X, columns=list("abcde")).assign(name="same"),
        "sparse": sparse.csr_matrix,
        "tensor": lambda X: pytest.importorskip("torch").tensor(X),
    }[kind]
    model = DecisionTreeClassifier(max_depth=4, random_state=0)
    if kind == "frame":
        model = make_pipeline(FunctionTransformer(read_numbers), model)
    records = Records(make(PROBLEM.records.X), PROBLEM.records.y)
    members = records[PROBLEM.membership == 1]
    victim = FrozenEstimator(clone(model).fit(members.X, members.y))
    pool = FrozenEstimator(ShadowPool(model, 4, random_state=0).fit(records))
    check_attack(LiRA(victim, pool), records, PROBLEM.membership)


def test_checks_do_not_change_the_attack():
    attack = ThresholdAttack(PROBLEM.victim)
    before = dict(vars(attack))
    check_attack(attack, PROBLEM.records, PROBLEM.membership)
    assert vars(attack) == before


def test_an_unknown_check_is_refused():
    with pytest.raises(ValueError, match="Unknown check 'check_nothing'; the checks are check"):
        check_attack(
            ThresholdAttack(PROBLEM.victim),
            PROBLEM.records,
            PROBLEM.membership,
            expected_failed_checks={"check_nothing": "a slip"},
        )


def parametrize(attacks, expected_failed_checks=None):
    mark = parametrize_with_attack_checks(
        attacks,
        PROBLEM.records,
        PROBLEM.membership,
        expected_failed_checks=expected_failed_checks,
    ).mark
    return {case.id: case for case in mark.args[1]}


def test_there_is_one_test_of_each_attack_and_check():
    attacks = [ThresholdAttack(PROBLEM.victim), LiRA(PROBLEM.victim, PROBLEM.shadows, online=False)]
    cases = parametrize(attacks)
    assert len(cases) == 2 * len(NAMES)
    assert "ThresholdAttack()-check_attack_pickles" in cases
    assert "LiRA(online=False)-check_attack_one_record" in cases
    attack, check = cases["ThresholdAttack()-check_attack_predict"].values
    assert attack is attacks[0]
    check(attack)


def test_parameters_that_are_arrays_have_a_name():
    columns = np.array([0, 1])
    for given in (columns, pd.Series(columns)):
        attack = QueriedThresholdAttack(PROBLEM.victim, columns=given)
        name = f"QueriedThresholdAttack(columns={type(given).__name__})-check_attack_predict"
        assert name in parametrize([attack])


def test_the_docstring_names_each_check_in_order():
    listed = check_attack.__doc__.partition("each name begins")[2].partition("Whether a high")[0]
    found = re.findall(r"``(\w+)``", listed)
    assert [f"check_attack_{one}" for one in found[1:]] == NAMES


def test_expected_failures_are_marked_with_the_reason():
    name = "check_attack_in_stacking"
    cases = parametrize(
        [ThresholdAttack(PROBLEM.victim)], lambda attack: {name: type(attack).__name__}
    )
    (mark,) = cases[f"ThresholdAttack()-{name}"].marks
    assert mark.name == "xfail"
    assert mark.kwargs["reason"] == "ThresholdAttack"
    assert sum(bool(case.marks) for case in cases.values()) == 1


def test_a_problem_is_the_same_for_one_random_state():
    first, second = make_attack_problem(random_state=3), make_attack_problem(random_state=3)
    np.testing.assert_array_equal(first.records.fingerprint, second.records.fingerprint)
    np.testing.assert_array_equal(first.membership, second.membership)
    signals = (one.shadows.estimator.signals_ for one in (first, second))
    np.testing.assert_array_equal(*signals)
    other = make_attack_problem(random_state=4)
    assert not np.isin(other.records.fingerprint, first.records.fingerprint).any()


def test_problems_of_other_models():
    assert make_attack_problem(Ridge()).records.y.dtype.kind == "f"
    assert make_attack_problem(Ridge()).shadows.estimator.signal_ == "log_residual"
    model = LogisticRegression()
    victim, shadows, records, membership = make_attack_problem(
        model, n_records=30, n_estimators=4, store="outputs"
    )
    assert len(records) == len(membership) == 30
    assert membership.sum() == 15
    assert shadows.estimator.outputs_.shape == (4, 30, 3)
    np.testing.assert_array_equal(victim.classes_, ["ham", "spam", "unsure"])
    assert not hasattr(model, "classes_")
