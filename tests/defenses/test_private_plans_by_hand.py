"""Plans, lots and accounts of private training of nets, each decision with an answer by hand."""

from types import SimpleNamespace as NS

import numpy as np
import pytest
from by_hand import expect_answers, tell_refusal
from numpy import array, inf

from skmia.defenses import DPSGDClassifier

torch = pytest.importorskip("torch")
pytest.importorskip("skorch")
pytest.importorskip("opacus")

from skmia.defenses import _private_training  # noqa: E402


def plan_of(net_batch, n_rows, noise=2.0, loader=None):
    given = {} if loader is None else {"batch_size": loader}
    net = NS(get_params_for=lambda name: given, batch_size=net_batch, max_epochs=3)
    found = _private_training.plan(net, n_rows, noise, 4.0, "poisson")
    assert (found.max_grad_norm, found.n_epochs, found.poisson) == (4.0, 3, "poisson")
    return (
        found.noise_multiplier, found.sample_rate, found.expected_batch_size, found.n_steps
    )  # fmt: skip


def list_wrong(settings, poisson=True, iterator=None):
    iterator = torch.utils.data.DataLoader if iterator is None else iterator
    net = NS(get_params_for=lambda name: settings, iterator_train=iterator)
    return [one[:40] for one in _private_training._list_wrong_loaders(net, poisson)]


def list_wrong_losses(**given):
    kind = getattr(torch.nn, given.pop("kind", "CrossEntropyLoss"))
    return [one[:45] for one in _private_training._list_wrong_losses(kind(**given))]


def are_equal(first, second):
    return _private_training._are_equal_gradients(array(first), array(second))


def choose_grid(noise, norm_=1.0, n_rows=10):
    privacy = NS(noise_multiplier=noise, max_grad_norm=norm_)
    return _private_training._choose_grid(privacy, n_rows)


def draw_lots(poisson, n_epochs=2, n_steps=2):
    """Return the lots of an epoch after another, and when the schedules go on."""
    told = []
    coins = iter(array([[1, 1, 0], [0, 1, 1], [0, 0, 1], [1, 1, 1]], dtype=bool))
    training = NS(
        privacy=NS(poisson=poisson, n_epochs=n_epochs, n_steps=n_steps, sample_rate=0.5),
        contributes=array([True, True, False]),
        randomness=NS(coins=lambda n, rate: next(coins)),
        _make_loader=lambda: [[0, 1], [2]],
        _schedule=told.append,
    )
    lots = [one.tolist() for one in _private_training._PrivateTraining.lots(training)]
    return lots, told


def train_private(
    poisson=True, noise_seed=None, has_ledger=False, noise=2.0, weights=None, y=(0, -1, 1)
):
    """Return what a private training plans, writes into its ledger and trains on."""
    told, trained = [], []
    privacy = NS(noise_multiplier=noise, sample_rate=0.5, n_steps=2, n_epochs=3)
    defense = NS(
        estimator_=NS(verbose=0),
        delta_=0.1,
        accountant="rdp",
        ledger=NS(record=lambda **given: told.append(given)) if has_ledger else None,
        public_weights=weights,
        poisson_sampling=poisson,
        noise_seed=noise_seed,
        on_step=None,
        extra_gradients=None,
        _is_covered=poisson and noise_seed is None,
        _plan=lambda *given: privacy,
        _count_fit=lambda *given: told.append(given) or (1, 2.0),
    )
    training = NS(
        AuditorExtras=lambda *given: given,
        train_privately=lambda net, X, codes, *rest: (
            trained.append((X.tolist(), codes.tolist())) or 6
        ),
    )
    DPSGDClassifier._train(defense, training, array([5, 6, 7]), array(y), None)
    return np.isfinite(defense.epsilon_), told, trained[0], defense.n_steps_, defense.sample_rate_


def test_plans_of_private_training_by_hand():
    expect_answers(
        [
            (lambda: plan_of(4, 10), (2.0, 0.4, 4, 3)),
            (lambda: plan_of(4, 8), (2.0, 0.5, 4, 2)),
            (lambda: plan_of(-1, 10), (2.0, 1.0, 10, 1)),
            (lambda: plan_of(99, 10), (2.0, 1.0, 10, 1)),
            (lambda: plan_of(4, 10, loader=5), (2.0, 0.5, 5, 2)),
            (lambda: plan_of(4, 10, lambda rate, n: 100 * n + rate)[0], 900.4),
            (lambda: list_wrong({"batch_size": 3, "shuffle": None}), []),
            (lambda: list_wrong({"sampler": 3})[0][:36], "The net has iterator_train__sampler,"),
            (
                lambda: list_wrong({"drop_last": True})[0][:38],
                "The net has iterator_train__drop_last,",
            ),
            (lambda: list_wrong({"drop_last": False}), []),
            (lambda: list_wrong({"drop_last": True}, poisson=False), []),
            (lambda: list_wrong({}, iterator=list), ["iterator_train of the net must be torch'"]),
            (lambda: list_wrong_losses(), []),
            (lambda: list_wrong_losses(kind="NLLLoss", reduction="sum"), []),
            (
                lambda: list_wrong_losses(kind="MSELoss", reduction="none")[:1],
                ["The loss of a batch must be the mean or the s"],
            ),
            (
                lambda: list_wrong_losses(reduction="none"),
                ["criterion__reduction must be 'mean' or 'sum';"],
            ),
            (
                lambda: list_wrong_losses(ignore_index=0),
                ["The mean of a criterion with ignore_index=0 i"],
            ),
            (lambda: list_wrong_losses(ignore_index=0, reduction="sum"), []),
            (lambda: list_wrong_losses(ignore_index=-1), []),
            (lambda: are_equal([1.0, 2.0], [1.0, 2.0]), True),
            (lambda: are_equal([1.0, 2.0], [1.0, 2.5]), False),
            (lambda: are_equal([1e-30, 2.0], [0.0, 2.0]), True),
            (lambda: are_equal([inf, 2.0], [3.0, 2.0]), True),
            (lambda: choose_grid(0.0), None),
            (lambda: choose_grid(2.0, 4.0), 2.0**-26),
            (lambda: choose_grid(1.0, n_rows=2**24 - 1), 2.0**-29),
            (
                lambda: tell_refusal(lambda: choose_grid(1.0, n_rows=2**24)),
                "noise_multiplier=1 is too small for exact sums of 16777216 rows; use 0, or at "
                "least 4.",
            ),
            (lambda: draw_lots(True), ([[0, 1], [1], [], [0, 1]], ["epoch", "epoch"])),
            (lambda: draw_lots(False), ([[0, 1], [2], [0, 1], [2]], ["epoch", "epoch"])),
            (
                train_private,
                (
                    True,
                    [((2.0, 0.5, 6), 0.1, "rdp")],
                    ([5, 6, 7], [0, -1, 1]),
                    6,
                    0.5,
                ),
            ),
            (lambda: train_private(False)[:3], (False, [], ([5, 7], [0, 1]))),
            (lambda: train_private(noise_seed=0)[:2], (False, [])),
            (lambda: train_private(noise=0.0)[:2], (False, [])),
            (
                lambda: train_private(has_ledger=True)[1],
                [dict(noise_multiplier=2.0, sample_rate=0.5, n_steps=6, n_rows=3, kind="fit")],
            ),
            (
                lambda: train_private(has_ledger=True, noise_seed=0, weights=1)[1],
                [
                    dict(
                        noise_multiplier=0.0,
                        sample_rate=0.5,
                        n_steps=6,
                        n_rows=3,
                        kind="fit from public weights",
                    )
                ],
            ),
            (
                lambda: tell_refusal(lambda: train_private(False, y=(-1, -1, -1))),
                "No row has a label of classes, and poisson_sampling=False.",
            ),
        ]
    )
