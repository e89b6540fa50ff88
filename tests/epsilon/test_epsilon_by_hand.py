"""Small functions of epsilon audits at the limits of their branches, with answers by hand."""

import math
import re
from types import SimpleNamespace as NS
from unittest.mock import patch

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from defaults import compare_defaults_of
from numpy import array, inf
from scipy import stats
from scipy.special import ndtr

from skmia.epsilon import (
    EpsilonAudit,
    _base,
    _epsilon_audit,
    _one_run,
    _one_run_audit,
    _result,
    bounds,
    canaries,
)


def bound_pvalue(epsilon, n_correct, n_guesses, n_canaries, delta):
    """Return the p-value of correct guesses from the probabilities of single numbers."""
    rate = np.exp(epsilon) / (1 + np.exp(epsilon))
    at_least = [stats.binom.sf(j - 1, n_guesses, rate) for j in range(n_correct + 1)]
    pure = at_least[n_correct]
    worst = max((at_least[n_correct - i] - pure) / i for i in range(1, n_correct + 1))
    return min(1.0, pure + 2 * n_canaries * delta * worst)


def bet(epsilon, guesses):
    """Return the logarithm of the mean wealth after each guess."""
    wealth, found, q = np.ones(32), [], 1 / (1 + np.exp(-epsilon))
    p = 1 / (1 + np.exp(-epsilon - 0.05 * 160 ** (np.arange(32) / 31)))
    for is_right in guesses:
        wealth = wealth * (p / q if is_right else (1 - p) / (1 - q))
        found.append(np.log(wealth.mean()))
    return found


def make_guesses(in_order, out_order):
    """Return guesses of either side, the surest first, right or wrong."""
    inside, outside = (np.append(0, np.cumsum(one)) for one in (in_order, out_order))
    return NS(
        coins=np.zeros(len(in_order) + len(out_order)),
        count_correct=lambda n_in, n_out: inside[n_in] + outside[n_out],
        frame=lambda n_in, n_out: (n_in, n_out),
    )


right, wrong = make_guesses([1] * 10, [1] * 9 + [0]), make_guesses([0] * 5, [1] * 5)


def bet_on(guesses, delta):
    """Return whether the wealth at the bound is what rejects it, and the number of guesses."""
    n, alpha = len(guesses.coins), 0.05
    epsilon, n_guesses = _one_run.bet_on_canaries(guesses, delta, alpha)
    made = np.arange(1, n + 1)
    in_turns = np.diff(guesses.count_correct((made + 1) // 2, made // 2), prepend=0)
    wealth = bet(epsilon, in_turns)
    return (
        np.isclose(max(wealth), -np.log(alpha - n * delta)),
        n_guesses,
        int(np.argmax(wealth)) + 1,
    )


FEE, LOST = 0.01 / math.e, 1 / (1 + math.e**2)
all_right, counted = (10, 10, 20, 0.001), array([1, 1, 2, 3])
no_score = "it does not hold one score of a canary"


def refuse_arrays(**arrays):
    return tell_refusal(lambda: _epsilon_audit.CanaryKeeper(None, None).check(arrays, 3))


SIDES = bounds.CanarySides.of(
    array([True, False, True, False, False]), array([3.0, 1.0, 2.0, 2.0, 5.0])
)


def halve(n_members, n_others):
    """Return the sizes of two halves, and both sides put together again."""
    sides = bounds.CanarySides(np.arange(n_members), np.arange(n_others))
    halves = sides.halve(np.random.RandomState(0))
    assert all((np.diff(side) > 0).all() for half in halves for side in half)
    sizes = [[len(side) for side in half] for half in halves]
    return sizes, [sorted(np.concatenate(both).tolist()) for both in zip(*halves, strict=True)]


def reverse(n_pairs, own=1.0, other=2.0, **settings):
    """Say that scores are the wrong way round, of 6 runs with the canary that outrank n_pairs."""
    asked = []

    def bound(y_true, y_score, **settings):
        asked.extend([y_score.tolist()[0], settings])
        if other is None:
            raise ValueError("too small")
        return NS(epsilon=other)

    coins, scores = np.repeat([1, 0], [6, 20]), np.append(np.zeros(6), np.arange(1, 21))
    scores[0] = n_pairs + 0.5
    found = NS(confidence_level=0.9, epsilon=own)
    said = bounds.describe_reversal(bound, found, coins, scores, settings)
    return asked if said is None else [*asked, re.findall(r"\d(?:[\d.]*\d)?", said)]


def follow_wealth(epsilon, delta, coins, log_odds):
    """Return the factors by which the wealth grows in each training."""
    coins = array(coins, dtype=bool)
    logs = _epsilon_audit.log_wealth_of_trainings(epsilon, delta, coins, array(log_odds))
    return np.exp(np.diff(logs, prepend=0))


def bound_by_sure_bets(n, alpha):
    """Return the bound after each of n bets that are surely right."""
    coins = np.ones(n, dtype=bool)
    return _epsilon_audit.bound_path(coins, np.full(n, 50.0), 0.0, alpha)


def train_in_parts(claims, step):
    """Return how many trainings each part ends with, and where it begins."""
    trainings = NS(run=lambda models: (array(models) * 1.0, [claims[k] for k in models]))
    parts = list(_epsilon_audit._train_in_parts(trainings, len(claims), step))
    assert all(scores.tolist() == [*range(len(told))] for scores, told, _ in parts)
    assert all(told == claims[: len(told)] for _, told, _ in parts)
    return [(len(told), start) for _, told, start in parts]


def start(kept, random_state=None):
    """Return the seed that a folder keeps, and the first number that is drawn."""
    folder = NS(read_entropy=lambda: kept)
    with patch.object(_epsilon_audit, "FolderCheckpoint", lambda path, owner: folder):
        checkpoint, rng, entropy = _epsilon_audit.start("path", random_state)
    return checkpoint is folder, entropy, rng.randint(2**31)


def draw_first(seed):
    return np.random.RandomState(seed).randint(2**31)


def guess_best(family, parameter):
    """Return the error of the best guess about a coin, and the mass of the surest answers."""
    error, mass = family.law(parameter)
    return float(error @ mass / mass.sum()), float(mass[-1] / mass.sum())


def tell_bounds(*is_found, **settings):
    bound = _result.EpsilonBound(1.23456, 0.95, 1e-5, "", "", {"n_correct": 7, "n_guesses": 9})
    found = [bound if one else None for one in is_found]
    return _one_run_audit.OneRunBounds(*found, **settings).summary().splitlines()


def summarize(**settings):
    bound = _result.EpsilonBound(1.23456, 0.95, 1e-5, "by hand", "none", {"n_runs": 3}, **settings)
    return bound.summary().splitlines()


# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _epsilon_audit: [
        (lambda: refuse_arrays(score=array([0.5])), None),
        *(
            (
                lambda arrays=arrays: refuse_arrays(**arrays),
                "it does not hold one score of a canary",
            )
            for arrays in (
                {},
                {"other": array([0.5])},
                {"score": array([0.5]), "other": array([0.5])},
                {"score": array([0.5, 1.0])},
                {"score": array(0.5)},
                {"score": array([1])},
            )
        ),
        (
            lambda: EpsilonAudit(None, n_trials=7, n_copies=3)._describe_design(),
            {"sequential": False, "neighbors": "add", "n_copies": 3, "n_trials": 7},
        ),
        (
            lambda: EpsilonAudit(None, n_trials=7, sequential=True)._describe_design(),
            {"sequential": True, "neighbors": "add", "n_copies": 1},
        ),
        (lambda: start([7, 1]), (True, [7], draw_first(7))),
        (lambda: start([0]), (True, [0], draw_first(0))),
        (lambda: start([2**31 - 2]), (True, [2**31 - 2], draw_first(2**31 - 2))),
        (lambda: start([7, 1], 3), (True, [], draw_first(3))),
        *(
            (
                lambda kept=kept: [
                    0 <= seed < 2**31 - 1 and (seed, first) != (7, draw_first(7))
                    for _, (seed,), first in [start(kept)]
                ],
                [True],
            )
            for kept in (None, [], ["7"], [-1], [2**31 - 1], 7)
        ),
        (lambda: _epsilon_audit.start(None, 3)[::2], (None, [])),
        (lambda: _epsilon_audit.start(None, 3)[1].randint(2**31), draw_first(3)),
        # The fee is 0.01 / e; a bet that is lost leaves at least twice this share.
        (
            lambda: follow_wealth(1.0, 0.01, [1, 1, 1, 0, 0, 1], [0.0, 2.0, -2.0, 0.5, 1.0, 50.0]),
            [
                1.0,
                (1 - LOST) * (1 + FEE * 100) - FEE,
                LOST * (1 + math.e) - FEE,
                1 - FEE,
                1 - FEE,
                (1 - 2 * FEE / (1 + math.e)) * (1 + FEE * 100) - FEE,
            ],
        ),
        (
            lambda: follow_wealth(1.0, 0.0, [1, 0], [50.0, 50.0]),
            [(1 - 1e-3 / (1 + math.e)) * (1 + FEE * 100), 1e-3],
        ),
        (lambda: follow_wealth(0.0, 0.9, [1, 0], [50.0, 50.0]), [0.1, 0.1]),
        (lambda: bound_by_sure_bets(1, 0.05), [0.0]),
        (lambda: bound_by_sure_bets(2, 1 - 1e-9), [12.0, 12.0]),
        # Bets at epsilon multiply the wealth by nearly 1 + exp(-epsilon): the fifth makes 20.
        (lambda: bound_by_sure_bets(10, 0.05)[:5] > 0, [False] * 4 + [True]),
        (
            lambda: (
                0.97 * -math.log(20**0.1 - 1)
                < bound_by_sure_bets(10, 0.05)[-1]
                < -math.log(20**0.1 - 1)
            ),
            True,
        ),
        (lambda: train_in_parts([None] * 5, 2), [(2, 0), (4, 2), (5, 4)]),
        (
            lambda: train_in_parts(["a", "b", "a", "c", "c"], 3),
            [(1, 0), (3, 1), (5, 3)],
        ),
        (
            lambda: _epsilon_audit.SidesOfCoins(array([[1, 2], [3, 4]]), array([1, 0, 1]))[:2],
            [[3, 4], [1, 2]],
        ),
    ],
    _base: [
        (lambda: _base.read_claim(NS(epsilon_=3.0, delta_=0.1)), (3.0, 0.1)),
        (lambda: _base.read_claim(NS(epsilon_=3.0)), None),
        (lambda: _base.read_claim(NS(delta_=0.1)), None),
        (lambda: _base.read_claim(NS(epsilon_=1.0, delta_=0.0), replaces=True), (2.0, 0.0)),
        (lambda: _base.read_claim(NS(epsilon_=1e3, delta_=0.1), replaces=True), (2e3, 1.0)),
        (lambda: _base.PrivacyClaim(math.log(3), 0.1).twice(), (2 * math.log(3), 0.4)),
        (lambda: _base.PrivacyClaim(3.0, 0.1).at(0.2), 3.0),
        (lambda: _base.PrivacyClaim(3.0, 0.1).at(0.1), 3.0),
        (lambda: _base.PrivacyClaim(3.0, 0.1).at(0.09), inf),
        (lambda: _base.as_number(3, 10), 3),
        (lambda: _base.as_number(0.25, 10), 2),
        (lambda: [_base.as_number(k / 100, 100) for k in (29, 57, 58)], [29, 57, 58]),
        (lambda: _base.as_number(0.01, 10), 1),
    ],
    _one_run: [
        *(
            (lambda at=at: _one_run.one_run_pvalue(*at), bound_pvalue(*at))
            for at in [
                (0.5, 7, 10, 20, 0.0),
                (1.5, 7, 10, 20, 0.0),
                (0.5, 7, 10, 20, 0.001),
                (0.5, 10, 10, 30, 0.002),
                (0.0, 1, 10, 20, 0.001),
                (0.25, 9, 12, 20, 0.5),
            ]
        ),
        (lambda: _one_run.one_run_pvalue(0.5, 0, 10, 20, 0.1), 1.0),
        (
            lambda: bound_pvalue(
                _one_run.one_run_epsilon(10, 10, 20, 0.001, 0.05), 10, 10, 20, 0.001
            ),
            0.05,
        ),
        (lambda: _one_run.one_run_epsilon(5, 10, 20, 0.0, 0.05), 0.0),
        *(
            (
                lambda epsilon=epsilon: _one_run.log_wealth_of_guesses(
                    epsilon, array([1, 1, 2, 3])
                ),
                bet(epsilon, [1, 0, 1, 1]),
            )
            for epsilon in (0.0, 0.75, 3.0)
        ),
        (lambda: bet_on(right, 0.0), (True, 19, 19)),
        (lambda: bet_on(right, 0.001), (True, 19, 19)),
        (lambda: _one_run.bet_on_canaries(wrong, 0.0, 0.05), (0.0, 10)),
        (
            lambda: tell_refusal(lambda: _one_run.bet_on_canaries(right, 0.0025, 0.05))[:45],
            "n_guesses='any' needs a delta below 0.0025, (",
        ),
        (
            lambda: _one_run.best_over_guesses(
                right, [4, 20], None, 0.05, lambda v, r, alpha: v / r + alpha
            ),
            (
                1.025,
                {
                    "n_canaries": 20,
                    "n_guesses": 4,
                    "n_correct": 4,
                    "numbers_of_guesses_tried": 2,
                },
                (2, 2),
            ),
        ),
        (
            lambda: _one_run.best_over_guesses(right, [4, 20], None, 0.05, lambda v, r, alpha: v)[
                1:
            ],
            (
                {
                    "n_canaries": 20,
                    "n_guesses": 20,
                    "n_correct": 19,
                    "numbers_of_guesses_tried": 2,
                },
                (10, 10),
            ),
        ),
        (lambda: _one_run.split_guesses(None, [4, 5]), [2, 3]),
        (lambda: _one_run.split_guesses(2, [4, 5]), [2, 2]),
        (lambda: _one_run.split_guesses(4, [4, 5]), [4, 4]),
        (lambda: _one_run.split_guesses(0, [4, 5]), [0, 0]),
        # The error is one half of what the total variation leaves.
        (lambda: guess_best(_one_run.GaussianNoiseLaw(), 2.0), (ndtr(-1), 0.0)),
        (lambda: guess_best(_one_run.GaussianNoiseLaw(0.5), 2.0), (0.25 + ndtr(-1) / 2, 0.0)),
        (
            lambda: guess_best(_one_run.LaplaceNoiseLaw(), 2.0),
            (math.exp(-1) / 2, (1 + math.exp(-2)) / 2),
        ),
        (lambda: guess_best(_one_run.EpsilonDelta(0.1), 1.0), (0.9 / (1 + math.e), 0.1)),
        (lambda: _one_run.LaplaceNoiseLaw().epsilon(1.0, 0.0), 1.0),
        (lambda: _one_run.LaplaceNoiseLaw().epsilon(1.0, 0.1), 1 + 2 * math.log(0.9)),
        (lambda: _one_run.LaplaceNoiseLaw().epsilon(1.0, 0.5), 0.0),
        (lambda: _one_run.EpsilonDelta(0.1).epsilon(2, 0.5), 2.0),
        (
            lambda: [_one_run.GaussianNoiseLaw(rate).name for rate in (1.0, 0.99)],
            ["a Gaussian mechanism", "a sub-sampled Gaussian mechanism"],
        ),
        # Of masses of a quarter, a quarter and a half the errors are 0.5, 0.3 and 0.1.
        (
            lambda: _one_run._GuessErrors(
                array([0.1, 0.5, 0.3]), array([2.0, 1.0, 1.0])
            ).mean_above(array([0.0, 0.25, 0.375, 0.5, 0.75])),
            [0.25, 0.125 / 0.75, 0.0875 / 0.625, 0.1, 0.1],
        ),
        (lambda: _one_run._surest_tenth(30), 30),
        (lambda: _one_run._surest_tenth(50), 50),
        (lambda: _one_run._surest_tenth(499), 50),
        (lambda: _one_run._surest_tenth(510), 51),
        (lambda: _one_run.needs_delta("gdp", "laplace"), True),
        (lambda: _one_run.needs_delta("order_statistics", "gaussian"), True),
        (lambda: _one_run.needs_delta("order_statistics", "laplace"), False),
        (lambda: _one_run.needs_delta("any", "gaussian"), False),
        (
            lambda: [_one_run.rejects_mu(mu, 19, 20, 20, 0.05) for mu in (0.1, 1.0, 2.0, 3.0, 4.0)],
            [True, False, False, False, False],
        ),
        (
            lambda: [_one_run.rejects_mu(mu, 15, 20, 30, 0.05) for mu in (0.1, 0.3, 0.5, 1.0)],
            [False, False, False, False],
        ),
        (lambda: _one_run.one_run_mu(19, 20, 20, 0.05), 0.775899231),
        (lambda: _one_run.one_run_mu(15, 20, 30, 0.05), 0.0956498981),
    ],
    _one_run_audit: [
        (
            lambda: tell_bounds(True, True, True),
            [
                "epsilon >= 1.235 if canaries are answered independently by a Gaussian mechanism "
                "(7 of 9 guesses right)",
                "epsilon >= 1.235 if the trade-off curve is one of Gaussian differential privacy "
                "(7 of 9 guesses right)",
                "epsilon >= 1.235 for any mechanism (7 of 9 guesses right)",
                "Each at confidence 0.95, delta = 1e-05.",
            ],
        ),
        (lambda: len(tell_bounds(False, True, False)), 2),
        (
            lambda: tell_bounds(False, False, True, family="laplace")[0].partition(" by ")[2][:19],
            "a Laplace mechanism",
        ),
        (
            lambda: tell_bounds(False, False, True, family="epsilon_delta")[0].partition(" by ")[2][
                :19
            ],
            "randomized response",
        ),
    ],
    _result: [
        (lambda: _result.choose_audited_delta(None, True), 1e-05),
        (lambda: _result.choose_audited_delta(None, False), 0.0),
        (lambda: _result.choose_audited_delta(0.0, False), 0.0),
        (lambda: _result.choose_audited_delta(0.25, True), 0.25),
        (lambda: _result.noise_of_means(2.0, 3.0, 4), 3.0),
        # Each of the three at its own limit.
        *(
            (
                lambda given=given: tell_refusal(lambda: _result.noise_of_means(*given)),
                message,
            )
            for given, message in (
                ((0.0, 3.0, 4), None),
                ((-0.1, 3.0, 4), "noise_multiplier must be finite and 0 or more; got -0.1."),
                ((2.0, 0.0, 4), "max_grad_norm must be finite and above 0; got 0.0."),
                ((2.0, 3.0, 0), "batch_size must be an integer of 1 or more; got 0."),
            )
        ),
        (
            lambda: summarize(),
            [
                "epsilon >= 1.235 at confidence 0.95, delta = 1e-05",
                "Method: by hand.",
                "Assumption: none",
                "Counts: n runs 3.",
            ],
        ),
        (
            lambda: summarize(mu=0.5)[0],
            "epsilon >= 1.235 at confidence 0.95 (mu >= 0.5), delta = 1e-05",
        ),
        (
            lambda: summarize(epsilon_high=2.5)[0],
            "epsilon above 1.235 with posterior probability 0.95, and below 2.5 with the same, "
            "delta = 1e-05",
        ),
        (
            lambda: [summarize(largest=largest)[4:] for largest in (0.0, 1.23456, 1.3)],
            [
                ["Nothing could have been found with so few of them."],
                ["At most 1.23 could have been found with these counts; it was."],
                ["At most 1.3 could have been found with these counts."],
            ],
        ),
    ],
    bounds: [
        (lambda: bounds.gaussian_epsilon(0, 0), 0.0),
        (lambda: bounds.gaussian_epsilon(0, 0.1), 0.0),
        (lambda: bounds.gaussian_epsilon(2.0, 0), inf),
        # Where delta is the total variation, 2 Phi(mu / 2) - 1, epsilon is 0.
        (lambda: bounds.gaussian_epsilon(2.0, 2 * ndtr(1.0) - 1), 0.0),
        (
            lambda: tell_refusal(lambda: bounds.gaussian_epsilon(-0.5, 0.1)),
            "mu must be finite and 0 or more; got -0.5.",
        ),
        *(
            (
                lambda delta=delta: tell_refusal(lambda: bounds.gaussian_epsilon(0.5, delta)),
                f"delta must be 0 or more and below 1; got {delta}.",
            )
            for delta in (-0.1, 1.0)
        ),
        (lambda: bounds.upper_limits(3, 0.025), [0.707598226, 0.905700676, 0.991596241, 1.0]),
        (lambda: bounds.upper_limits(3, 0.025).flags.writeable, False),  # as it is kept
        (lambda: bounds.describe_threshold("split"), "chosen on half of the runs"),
        (lambda: bounds.describe_threshold(0.5), "given in advance"),
        (lambda: bounds.mu_of_rates(0.1, 0.3), 1.80595208),
        (lambda: bounds.group_delta(array([0.0, 1.0]), 0.25, 3), [0.75, 2.77683448]),
        (lambda: bounds.group_delta(array([0.0, 1.0]), 0, 3), [0.0, 0.0]),
        (lambda: bounds.epsilon_of_rates(array([0.1]), array([0.3])), [1.94591015]),
        (lambda: bounds.epsilon_of_rates(array([0.3]), array([0.1]), 0.05), [1.87180218]),
        (lambda: bounds.epsilon_of_rates(array([0.1]), array([0.3]), 0.05, 2), [0.837999489]),
        (
            lambda: bounds._posterior_parameters(
                dict(n_members=5, true_positives=3, n_nonmembers=7, false_positives=1)
            ),
            ((2.5, 3.5), (1.5, 6.5)),
        ),
        (lambda: bounds.find_root(lambda x: x), 0.0),
        (lambda: bounds.find_root(lambda x: x - 5), 5.0),
        (lambda: bounds.find_root(lambda x: x - 100, farthest=64.0), 100.0),
        (lambda: bounds.find_root(lambda x: x - 200, farthest=64.0), inf),
        (lambda: SIDES, ([2.0, 3.0], [1.0, 2.0, 5.0])),
        (lambda: SIDES.errors(array([2.5, 2.0, inf])), ([1, 2, 0], [1, 0, 2])),
        (lambda: SIDES.candidates(), [1.0, 1.5, 2.5, 4.0, inf]),
        (
            lambda: SIDES.count(2.5),
            {"true_positives": 1, "false_positives": 1, "n_members": 2, "n_nonmembers": 3},
        ),
        (lambda: halve(5, 4), ([[3, 2], [2, 2]], [[0, 1, 2, 3, 4], [0, 1, 2, 3]])),
        # By chance 9 of 120 pairs are 3.10 standard errors below the mean, and 10 are 3.04.
        (lambda: reverse(10), []),
        (
            lambda: reverse(9),
            [
                -9.5,
                {"confidence_level": 0.95},
                ["1", "2", "0.95"],
            ],
        ),
        (
            lambda: reverse(9, other=1.0, threshold=[1.0, 2.0], random_state=7, delta=0.1),
            [
                -9.5,
                {
                    "confidence_level": 0.95,
                    "threshold": [-1.0, -2.0],
                    "random_state": 0,
                    "delta": 0.1,
                },
            ],
        ),
        (
            lambda: reverse(9, other=None, threshold="split", random_state=None),
            [-9.5, {"confidence_level": 0.95, "threshold": "split", "random_state": None}],
        ),
        (lambda: bounds._tell_apart([1, 0], None), [1.0, 0.0]),
        (lambda: bounds._tell_apart([1, 0], [2.0, 5.0]) > array([5.0, 2.0]), [True, False]),
        (lambda: bounds._compute_nodes(2), ([0.211324865, 0.788675135], [0.5, 0.5])),
    ],
    canaries: [
        (lambda: canaries._make_dirac(2, 3, np.random.default_rng(0)).sum(axis=1), [1.0, 1.0]),
    ],
}


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_defaults_are_those_of_the_docstrings():
    from skmia import epsilon
    from skmia.epsilon import bounds, canaries

    found, n_compared = compare_defaults_of(epsilon, bounds, canaries)
    assert not found
    assert n_compared >= 80
