"""Small functions of games at the limits of their branches, with answers by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pandas as pd
import pytest
from by_hand import expect_answers, tell_refusal
from defaults import compare_defaults_of
from numpy import array
from scipy import stats
from sklearn.base import BaseEstimator, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from skmia._core.moments import Moments
from skmia.games import (
    _density_attack,
    _leave_two_unlabeled,
    _mechanism,
    _membership,
    _unlearning_game,
    _unlearning_result,
    unlearning,
)
from skmia.leakage import MeanScalarProductAttack
from skmia.metrics import advantage_interval, auc_interval, operating_point

table = array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [1.0, 4.0]])


class FixedAttack(BaseEstimator):
    def __init__(self, target=None, n_samples=None):
        self.target, self.n_samples = target, n_samples

    def fit(self, X):
        self.rows_ = X
        return self


def make_rows():
    return _mechanism.FromRows(table)


def split_rows(n_reference):
    """Return how many rows are set aside, how many stay, and all of them."""
    population = make_rows()
    aside = population.split(n_reference, np.random.default_rng(0))
    both = [*aside.tolist(), *population.X[population._rows].tolist()]
    return len(aside), population.count(), sorted(both)


def draw_rows(population, n_reference, n_samples):
    drawn = population.draw(n_reference, n_samples, np.random.default_rng(0))
    return [None if part is None else len(part) for part in drawn]


def sample(rows):
    return _mechanism.FromSampler(lambda n, rng: rows)


def refuse_size(n_reference, n_samples):
    return tell_refusal(lambda: _mechanism.check_enough(make_rows(), n_reference, n_samples))


def assemble(scores, guesses):
    """Assemble two rounds, each without and with the target, at the level 0.9."""
    found = _mechanism.assemble(array(scores), array(guesses), 0.9)
    power = found["power"][["fpr", "tpr", "tpr_high"]].to_dict("list")
    of_auc = auc_interval([0, 0, 1, 1], [0.0, 1.0, 2.0, 1.0], confidence_level=0.9)
    of_guesses = advantage_interval([0, 0, 1, 1], [False, True, True, True], confidence_level=0.9)
    assert (found["auc"], found["advantage"]) == (of_auc, of_guesses)
    estimates = {name: found[name].estimate for name in ("advantage", "auc")}
    return {name: found[name] for name in ("scores_in", "scores_out")} | power | estimates


def aim(**settings):
    attack = _mechanism.aim(FixedAttack(**settings), 7, 5)
    return attack.target, attack.n_samples


def compare_seeds():
    """Return whether an attack is fitted with new seeds, each time with the same ones."""
    attack, rows = MeanScalarProductAttack(random_state=5), np.arange(20.0).reshape(10, 2) % 7
    first, again, other = (
        _mechanism.fit_attack(clone(attack), rows, np.random.SeedSequence(seed)).random_state
        for seed in (0, 0, 1)
    )
    return len({5, first, other}) == 3, first == again, first == other


separation = NS(
    inside=array([1, 0, 1, 0, 1, 0]) > 0,
    scores=array([3.0, 2.0, 1.0, 2.5, 2.0, 0.0]),
    targets=array([0, 0, 1, 1, 2, 2]),
)


def describe_ends(aucs):
    """Return the mean AUC and its limits, which are no further out than 0 and 1."""
    given = NS(**separation.__dict__, aucs=array(aucs))
    described = _unlearning_result.describe_separation(given, 0.95, 0.5)
    return tuple(described[name] for name in ("auc", "auc_low", "auc_high"))


TOO_FEW = (
    "The shadow models are too few to judge records of each target model; increase n_estimators "
    "or forget."
)


def separate(side, judged):
    """Separate the records that one target forgot from those that it has never seen."""
    given = array([[3.0, 1.0, 2.0, 0.0]]), array([side]), _unlearning_result.FORGOTTEN
    try:
        found = _unlearning_result.AttackSeparation(*given, array(judged) > 0)
    except ValueError as error:
        return str(error)
    return found.inside.tolist(), found.scores.tolist()


def compare_retained():
    """Return means of retained records with intervals and tests of scipy."""
    columns = {"auc": [], "low": [], "high": [], "pvalue": []}
    aucs = array([0.625, 0.875, 1.0]), array([0.5, 0.625, 0.75])
    for values, chance in ((aucs[0], 0.5), (aucs[1], 0.5), (aucs[1] - aucs[0], 0.0)):
        told = stats.ttest_1samp(values, chance)
        interval = told.confidence_interval(0.95)
        row = values.mean(), interval.low, interval.high, told.pvalue
        for column, one in zip(columns.values(), row, strict=True):
            column.append(float(one))
    return columns


def estimate_tpr(max_fpr, level):
    """Return the estimate, and the limits of the jackknife by hand and those of independence."""
    rates = _unlearning_result._leave_targets_out(*separation.__dict__.values(), max_fpr)
    n = len(rates)
    error = np.sqrt((n - 1) / n * ((rates - rates.mean()) ** 2).sum())
    reach = stats.t(n - 1).ppf((1 + level) / 2) * error
    point = operating_point(
        separation.inside,
        separation.scores,
        max_fpr,
        confidence_level=level,
        on_unresolvable="ignore",
    )
    low, high = max(point.tpr - reach, 0.0), min(point.tpr + reach, 1.0)
    found = _unlearning_result.estimate_tpr(separation, level, max_fpr)
    return found - array([point.tpr, min(low, point.tpr_low), max(high, point.tpr_high)])


def compare_densities(answers):
    """Compare the laws of two IN and of two OUT models at the answers to some queries."""
    models = array([1.5, 2.5, 0.5, 1.5])  # of means 2 and 1, and the variance 1/2
    inside = array([[True], [True], [False], [False]])
    shadows = np.tile(models[None, :, None], (len(answers), 1, 1))
    ratio = _density_attack.ModelDensityRatio(None, _density_attack._log_normal)
    return ratio.score(array(answers)[:, None], shadows, inside, ~inside)


def measure_noise(weights):
    """Return the noise on weights over draws of a standard normal law."""
    weights = array(weights)
    noisy = unlearning.WeightNoise(0.5)._shake(weights, np.random.default_rng(0))
    return (noisy - weights) / np.random.default_rng(0).normal(size=weights.shape)


def shake_list():
    weights = [array([1.0, 3.0]), array([[2.0]])]
    return unlearning.WeightNoise(0)._shake(weights, np.random.default_rng(0))


def refuse_noise(estimator):
    return unlearning.WeightNoise().why_not(estimator)


def list_states(way):
    return [(name, repr(each)) for name, each in _unlearning_game.list_states(way).items()]


def complete(**states):
    return _unlearning_game.complete(states)


def describe_play():
    """Describe a shadow model and two targets."""
    scores = array([0.0, 0.5, 1.0]), array([0.0, 0.25, 0.5])
    states = {name: NS(scores=each) for name, each in zip(("before", "after"), scores, strict=True)}
    seconds = [{"train": 1.0, "after": 4.0}, {"train": 2.0, "after": 4.0}, {"train": 6.0}]
    played = [NS(facts={"seconds": each | {"retrained": 8.0}}) for each in seconds]
    sides = array([[0, 0, 0, 0, 0, 0], [1, 1, 1, 2, 2, 0], [1, 2, 2, 0, 0, 0]])
    described = _unlearning_game._describe_play(states, played, sides, 1)
    return {
        name: dict(each) if isinstance(each, pd.Series) else each
        for name, each in described.items()
    }


DESCRIBED = {
    "scores": {"before": 0.75, "after": 0.375},
    "seconds": {"train": 3.0, "unlearn": 4.0, "retrain": 8.0},
    "n_targets": 2,
    "n_forgotten": 2,
    "n_members": 4,
}


moments = Moments(array([3, 2]), array([1.0, 2.0]), array([8.0, 4.0]))

# Of each module: calls and answers. Whatever may be equal differs, and each branch decides once.
ANSWERS = {
    _mechanism: [
        (lambda: make_rows().without(array([1.0, 2.0]))._rows, [1, 3]),
        (lambda: make_rows().without(array([1.0, 2.0])).without(table[1]).count(), 1),
        (lambda: split_rows(1), (1, 3, sorted(table.tolist()))),
        (lambda: split_rows(3), (3, 1, sorted(table.tolist()))),
        (lambda: draw_rows(make_rows(), 1, 3), [1, 3]),
        (lambda: draw_rows(make_rows(), 0, 2), [0, 2]),
        (lambda: draw_rows(sample(table), 4, 4), [4, 4]),
        (lambda: draw_rows(sample(table), 0, 4), [None, 4]),
        (lambda: sample(table[1:2]).draw_target(None), [3.0, 4.0]),
        (lambda: sample(table).count(), np.inf),
        (
            lambda: tell_refusal(lambda: draw_rows(sample(table), 0, 3)),
            "X was asked for 3 rows and must return an array of shape (3, n_features); got shape "
            "(4, 2).",
        ),
        (
            lambda: tell_refusal(lambda: draw_rows(sample([1, 2, 3]), 0, 3))[-15:],
            "got shape (3,).",
        ),
        (lambda: refuse_size(1, 3), None),
        (
            lambda: refuse_size(2, 3),
            "reference_size and n_samples ask for 2 + 3 rows; 4 can be drawn from X.",
        ),
        (lambda: type(_mechanism.read_population(len)).__name__, "FromSampler"),
        (lambda: type(_mechanism.read_population(table)).__name__, "FromRows"),
        (lambda: aim(), (7, 5)),
        (lambda: aim(target=3, n_samples=4), (7, 4)),
        (lambda: _mechanism.aim(LogisticRegression(C=3), 7, 5).C, 3),
        (
            lambda: assemble([[0.0, 2.0], [1.0, 1.0]], [[0, 1], [1, 1]]),
            {
                "scores_in": [2.0, 1.0],
                "scores_out": [0.0, 1.0],
                "fpr": [0.0, 0.0, 0.5, 1.0],
                "tpr": [0.0, 0.5, 1.0, 1.0],
                "tpr_high": [1 - 0.05**0.5, 0.95**0.5, 1.0, 1.0],
                "advantage": 0.5,
                "auc": 0.875,
            },
        ),
        (compare_seeds, (True, True, False)),
        (
            lambda: _mechanism.fit_attack(FixedAttack(), table, np.random.SeedSequence(0)).rows_,
            table,
        ),
    ],
    unlearning: [
        (
            lambda kind=kind, setting=setting: (
                tell_refusal(lambda: kind(**setting)(None, None, None, None, None)) or ""
            ).startswith(f"The '{next(iter(setting))}' parameter of {kind.__name__} must be"),
            True,
        )
        for kind, setting in [
            (unlearning.FineTuning, {"n_epochs": 0}),
            (unlearning.NegativeWeights, {"n_epochs": -1}),
            (unlearning.Relabeling, {"n_wrong": 0}),
            (unlearning.Relabeling, {"n_epochs": -1}),
            (unlearning.SISA, {"n_shards": 0}),
            (unlearning.WeightNoise, {"scale": -0.5}),
        ]
    ]
    + [
        # Standard deviations of the noise: of the weights, and of a single one its size.
        (lambda: measure_noise([100.0, 102.0]), [0.5, 0.5]),
        (lambda: measure_noise([-3.0]), [1.5]),
        (lambda: measure_noise([0.25]), [0.125]),
        (lambda: measure_noise([]), []),
        (lambda: shake_list(), [[1.0, 3.0], [[2.0]]]),
        (lambda: refuse_noise(LogisticRegression()), None),
        (lambda: refuse_noise(make_pipeline(GaussianNB(), LogisticRegression())), None),
        (lambda: refuse_noise(MLPClassifier()), None),
        (lambda: refuse_noise(LinearDiscriminantAnalysis()), None),
        (lambda: refuse_noise(FixedAttack()), None),
        (
            lambda: refuse_noise(GaussianNB()),
            "it needs a model with weights (coef_, coefs_) or a net of skorch; got GaussianNB. "
            "Pass a function unlearn(model, records, keep, forget, rng) instead.",
        ),
    ],
    _unlearning_game: [
        (lambda: list_states(unlearning.NoUnlearning()), [("retrained", "Retraining()")]),
        (lambda: list_states(unlearning.Retraining()), [("after", "Retraining()")]),
        (
            lambda: list_states(unlearning.FineTuning(3)),
            [("after", "FineTuning(n_epochs=3)"), ("retrained", "Retraining()")],
        ),
        (lambda: complete(before=1), {"before": 1, "after": 1, "retrained": 1}),
        (lambda: complete(before=1, after=2), {"before": 1, "after": 2, "retrained": 2}),
        (lambda: complete(before=1, retrained=3), {"before": 1, "after": 1, "retrained": 3}),
        (
            lambda: complete(before=1, after=2, retrained=3),
            {"before": 1, "after": 2, "retrained": 3},
        ),
        (lambda: _unlearning_game.name(unlearning.SISA(3)), "SISA(n_shards=3)"),
        (lambda: _unlearning_game.name(make_rows), "make_rows"),
        (lambda: _unlearning_game.name(FrozenEstimator(GaussianNB())), "GaussianNB"),
        (describe_play, DESCRIBED),
    ],
    _density_attack: [
        # Two queries of one record, the second of which says nothing.
        (lambda: compare_densities([3.0]), [3.0]),
        (lambda: compare_densities([3.0, 1.5]), [3.0]),
        (lambda: compare_densities([3.0, 3.0]), [6.0]),
        (lambda: _density_attack._sample_spread(moments), [2.0, 2.0]),
        (
            lambda: _density_attack._log_normal(array([1.0, 4.0]), None, None, moments),
            [-1.61208571, -2.11208571],
        ),
        (
            lambda: _density_attack._log_kernel(
                array([1.0]),
                array([[1.0, 2.0, 9.0]]),
                array([[True, True, False]]),
                Moments(array([2]), array([1.5]), array([0.5])),
            ),
            [-0.890020241],
        ),
    ],
    _leave_two_unlabeled: [
        (lambda: _leave_two_unlabeled.compute_pair_privacy(0.75, 12), (0.75, 0.125, 0.5, 0.25, 12)),
        (lambda: _leave_two_unlabeled.compute_pair_privacy(0.25, 12), (0.25, 0.125, 1.0, 0.25, 12)),
        (lambda: _leave_two_unlabeled._compare_pair(array([1.0, 2.0, 3.0]), 2.0), [0.0, 0.5, 1.0]),
        (
            lambda: _leave_two_unlabeled._of_all_pairs(
                [1, 1, 0, 0, 0], [3.0, 1.0, 2.0, 0.0, 1.0], None
            ),
            (0.75, 0.288675135, 0.5, 0.577350269, 6),
        ),
    ],
    _membership: [
        (
            lambda: _membership._rates(
                NS(n_groups=2),
                array([0, 0, 1, 1, 1]),
                array([True, False, True, True, False]),
                array([1, 0, 0, 1, 1]),
            ),
            {"tpr": 0.666666667, "fpr": 0.5, "group_tpr": [1.0, 0.5], "group_fpr": [0.0, 1.0]},
        ),
    ],
    _unlearning_result: [
        # Without target 0, the non-members have 2.5 and 0, the members 1 and 2.
        (
            lambda: _unlearning_result._leave_targets_out(*separation.__dict__.values(), 0.0),
            [0.0, 0.5, 0.5],
        ),
        (
            lambda: _unlearning_result._leave_targets_out(*separation.__dict__.values(), 0.5),
            [1.0, 1.0, 0.5],
        ),
        *(
            (lambda at=at: np.abs(estimate_tpr(*at)).max() < 1e-12, True)
            for at in [(0.0, 0.05), (0.0, 0.5), (0.0, 0.95), (0.5, 0.05), (0.4, 0.3)]
        ),
        (
            lambda: _unlearning_result.compare_retained(
                {
                    "before": NS(aucs=array([0.625, 0.875, 1.0])),
                    "after": NS(aucs=array([0.5, 0.625, 0.75])),
                },
                0.95,
            ),
            compare_retained(),
        ),
        (lambda: _unlearning_result._weigh(array([True, False]), None), [1.0, 1.0]),
        (
            lambda: _unlearning_result._weigh(
                array([True, True, True, False, False]), array([0, 0, 2, 3, 0])
            ),
            [0.5, 0.5, 1.0, 1.0, 0.5],
        ),
        (
            lambda: _unlearning_result.estimate_mean(array([0.5, 0.75, 1.0]), 0.95, 0.5),
            ((0.75, 0.128965571, 1.37103443), 0.225403331),
        ),
        (
            lambda: _unlearning_result.estimate_mean(array([0.7, 0.7, 0.7]), 0.95, 0.5),
            ((0.7, 0.7, 0.7), 0.25),
        ),
        (
            lambda: _unlearning_result.estimate_mean(array([0.5, 0.5]), 0.95, 0.5),
            ((0.5, 0.5, 0.5), 1.0),
        ),
        (lambda: describe_ends([0.25, 1.0]), (0.625, 0.0, 1.0)),
        (lambda: describe_ends([0.5, 0.5]), (0.5, 0.5, 0.5)),
        (lambda: separate([2, 0, 1, 0], [1, 1, 1, 1]), ([True, False, False], [3.0, 1.0, 0.0])),
        (lambda: separate([2, 0, 1, 2], [1, 1, 1, 0]), ([True, False], [3.0, 1.0])),
        (lambda: separate([2, 1, 1, 2], [1, 1, 1, 1]), TOO_FEW),
        (lambda: separate([1, 0, 1, 0], [1, 1, 1, 1]), TOO_FEW),
        (
            lambda: _unlearning_result._compute_auc(
                array([True, False, False]), array([2.0, 1.0, 3.0]), array([1.0, 1.0, 1.0])
            ),
            0.5,
        ),
        (
            lambda: _unlearning_result._compute_auc(
                array([True, False, False]), array([2.0, 1.0, 3.0]), array([1.0, 3.0, 1.0])
            ),
            0.75,
        ),
    ],
}


def test_a_step_back_is_one_of_a_training():
    torch = pytest.importorskip("torch")
    pytest.importorskip("skorch")
    module = torch.nn.Linear(1, 1, bias=False)
    module.weight.data.fill_(2.0)
    module.eval()
    modes = []

    def infer(rows):
        modes.append(module.training)
        return module(rows)

    net = NS(
        module_=module,
        optimizer_=torch.optim.SGD(module.parameters(), lr=0.5),
        infer=infer,
        get_dataset=lambda X, y: (X, y),
        get_iterator=lambda pair, training: [pair, pair],
        get_loss=lambda outputs, y, X, training: (outputs - y).sum(),
    )
    unlearning._climb(net, torch.tensor([[1.0], [3.0]]), torch.zeros(2, 1))
    # The gradient of the loss is 4; each of two steps adds half of it.
    assert module.weight.item() == 2.0 + 2 * 0.5 * 4
    assert modes == [True, True]


@pytest.mark.parametrize("module", ANSWERS, ids=lambda module: module.__name__)
def test_answers_by_hand(module):
    expect_answers(ANSWERS[module])


def test_defaults_are_those_of_the_docstrings():
    from skmia import games
    from skmia.games import unlearning

    found, n_compared = compare_defaults_of(games, unlearning)
    assert not found
    assert n_compared >= 60
