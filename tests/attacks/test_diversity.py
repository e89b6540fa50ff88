"""The coefficient in closed form and by training."""

import warnings

import numpy as np
import pytest
from refusals import check_refusal, parametrize_refusals
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from skmia import Outputs, Records
from skmia._core.sklearn import start_adam
from skmia.attacks import DiversityAttack
from skmia.attacks.diversity import (
    _step_adam,
    _train_matrix,
    diversity_coefficient,
    diversity_matrix,
)

RNG = np.random.default_rng(0)


def make_answers(n=600, n_classes=3, sharper=3.0):
    """Answers that are sharper for members."""
    y, membership = RNG.integers(n_classes, size=n), np.arange(n) % 2
    logits = RNG.normal(size=(n, n_classes))
    logits[np.arange(n), y] += 1 + sharper * membership
    outputs = Outputs(logits, classes=np.arange(n_classes), kind="logits")
    return Records(np.arange(n), y, outputs=outputs), membership


def test_the_matrix_of_a_hand_example():
    member, nonmember = [[1.0, 0.0]], [[0.5, 0.5]]
    # p p' is [[1, 0], [0, 0]] and [[.25, .25], [.25, .25]]: only the first entry is larger.
    np.testing.assert_array_equal(diversity_matrix(member, nonmember), [[1, 0], [0, 0]])
    np.testing.assert_array_equal(diversity_matrix(nonmember, nonmember), np.zeros((2, 2)))


@parametrize_refusals(
    (lambda: diversity_matrix([0.5, 0.5], [[0.5, 0.5]]), "members must be a matrix"),
    (lambda: diversity_matrix([[0.5, 0.5]], [[1.0]]), "the same classes; got 2 and 1"),
    (lambda: diversity_matrix([[2.0]], [[1.0]]), "members must be probabilities"),
    (lambda: diversity_coefficient([0.5, 0.5], [[1.0]]), r"matrix must be of shape \(2, 2\)"),
    (lambda: diversity_coefficient(0.5, 1.0), "matrix must be of shape"),
)
def test_wrong_shapes_get_a_sentence(call, words, error):
    check_refusal(call, words, error)


def test_no_other_matrix_sets_the_means_farther_apart():
    records, membership = make_answers()
    proba = np.exp(records["outputs"].log_proba())
    member = membership == 1
    best = diversity_matrix(proba[member], proba[~member])

    def gap(matrix):
        value = np.einsum("ni,ij,nj->n", proba, matrix, proba)
        return value[member].mean() - value[~member].mean()

    assert np.linalg.norm(best) == pytest.approx(1) and (best >= 0).all()
    for _ in range(200):
        other = np.abs(RNG.normal(size=best.shape))
        assert gap(other / np.linalg.norm(other)) <= gap(best)
        near = np.maximum(best + 1e-3 * RNG.normal(size=best.shape), 0)
        assert gap(near / np.linalg.norm(near)) <= gap(best)


def test_scores_are_the_quadratic_form_of_the_own_label():
    records, membership = make_answers()
    attack = DiversityAttack(random_state=0).fit(records[:400], membership[:400])
    rest = records[400:]
    proba = np.exp(rest["outputs"].log_proba())
    expected = [p @ attack.coefficients_[label] @ p for p, label in zip(proba, rest.y, strict=True)]
    np.testing.assert_allclose(attack.score_samples(rest), expected, rtol=1e-12)
    first = attack.coefficients_[0]
    np.testing.assert_allclose(
        diversity_coefficient(proba, first), [p @ first @ p for p in proba], rtol=1e-12
    )


def test_a_label_without_known_members_reads_its_own_probability():
    records, membership = make_answers()
    known = (records.y != 2) | (membership == 0)
    attack = DiversityAttack(random_state=0).fit(records[known], membership[known])
    expected = np.zeros((3, 3))
    expected[2, 2] = 1
    np.testing.assert_array_equal(attack.coefficients_[2], expected)


def hinge(matrix, proba, membership):
    value = np.einsum("ni,ij,nj->n", proba, matrix / np.linalg.norm(matrix), proba)
    return np.maximum(np.where(membership, -value, value), 0).mean()


def test_a_step_follows_the_gradient_of_the_hinge():
    records, membership = make_answers(64)
    proba, member = np.exp(records["outputs"].log_proba()), membership == 1
    matrix = RNG.normal(size=(3, 3))
    matrix /= np.linalg.norm(matrix)
    slope = np.zeros((3, 3))
    for place in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[place] = 1e-6
        sides = hinge(matrix + step, proba, member), hinge(matrix - step, proba, member)
        slope[place] = (sides[0] - sides[1]) / 2e-6
    adam = start_adam([matrix], 1e-3)
    _step_adam(matrix, proba, np.where(member, 1.0, -1.0), adam)
    np.testing.assert_allclose(adam.ms[0] / 0.1, slope, atol=1e-6)


def test_training_lowers_the_hinge_and_keeps_the_norm():
    records, membership = make_answers()
    proba, member = np.exp(records["outputs"].log_proba()), membership == 1
    short, long = (
        _train_matrix(proba, member, 0.01, 128, epochs, np.random.RandomState(0))
        for epochs in (1, 100)
    )
    assert np.linalg.norm(long) == pytest.approx(1)
    assert hinge(long, proba, member) < hinge(short, proba, member)


@pytest.mark.parametrize("method", ["closed_form", "learned"])
def test_it_finds_members_whose_answers_are_sharper(method):
    records, membership = make_answers()
    attack = DiversityAttack(method=method, cross_fit=False, random_state=0)
    attack.fit(records[:400], membership[:400])
    assert attack.score(records[400:], membership[400:]) > 0.3


def test_training_comes_near_the_closed_form_with_few_records():
    records, membership = make_answers(1000)
    known, rest = slice(0, 600), slice(600, None)
    auc = {}
    for method in ("closed_form", "learned"):
        attack = DiversityAttack(method=method, cross_fit=False, random_state=0)
        scores = attack.fit(records[known], membership[known]).score_samples(records[rest])
        auc[method] = roc_auc_score(membership[rest], scores)
    assert auc["learned"] > auc["closed_form"] - 0.1 > 0.6


def test_too_few_steps_are_not_kept_quiet():
    records, membership = make_answers(300)
    few = DiversityAttack(method="learned", max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 leaves the matrices of 3 of 3 labels"):
        few.fit(records, membership)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        few.set_params(max_iter=None).fit(records, membership)
        few.set_params(max_iter=1, learning_rate=1.0).fit(records, membership)
