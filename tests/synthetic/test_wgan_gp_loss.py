"""The loss of the critic, (2.10) of Pedersen (2022), against its formula without torch.

It is E[D(made up)] - E[D(real)] + penalty E[(|gradient of D at points between| - 1)^2].
"""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from skmia.defenses._exact_noise import PrivateRandomness

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

from skmia.synthetic._gan_training import GanTraining, clipped_gradient, penalize  # noqa: E402

SLOPE, PENALTY = 0.2, 3.0
X = np.random.default_rng(0).beta(2, 5, size=(12, 3))


def make_training(penalty=PENALTY, **settings):
    plan = {
        "critic_layers": (5, 4),
        "generator_layers": (6,),
        "negative_slope": SLOPE,
        "n_latent": 2,
        "batch_size": len(X),
        "n_critic": 1,
        "max_iter": 1,
        "learning_rate": 1e-3,
        "penalty": penalty,
        "max_weight": None,
        "privacy": None,
        "noise": "spherical",
        "penalty_bound": "spectral",
        "noise_multiplier": 0.0,
        "max_grad_norm": 1.0,
        "max_spectral_norm": None,
    }
    torch.manual_seed(0)
    return GanTraining(X, SimpleNamespace(**plan | settings), PrivateRandomness(0))


def split(vector, shapes):
    ends = np.cumsum([np.prod(shape) for shape in shapes])
    parts = np.split(vector, ends[:-1])
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def answer(parts, rows):
    """Answers of a critic with leaky units, and their slopes by the chain rule."""
    (first, bias_1, second, bias_2, last) = parts
    hidden_1 = rows @ first.T + bias_1
    hidden_2 = np.where(hidden_1 > 0, hidden_1, SLOPE * hidden_1) @ second.T + bias_2
    answers = np.where(hidden_2 > 0, hidden_2, SLOPE * hidden_2) @ last[0]
    back = np.where(hidden_2 > 0, 1, SLOPE) * last[0]
    back = np.where(hidden_1 > 0, 1, SLOPE) * (back @ second)
    return answers, back @ first


def loss(parts, real, made, mixed, penalty=PENALTY):
    slopes = answer(parts, mixed)[1]
    excess = (np.linalg.norm(slopes, axis=1) - 1) ** 2
    return answer(parts, made)[0].mean() - answer(parts, real)[0].mean() + penalty * excess.mean()


def numerical_gradient(critic, *rows):
    shapes = [tuple(parameter.shape) for parameter in critic.parameters()]
    vector = np.concatenate([one.detach().numpy().ravel() for one in critic.parameters()])
    gradient = np.empty_like(vector)
    for place in range(len(vector)):
        moved = [vector.copy(), vector.copy()]
        moved[0][place] += 1e-6
        moved[1][place] -= 1e-6
        up, down = (loss(split(one, shapes), *rows) for one in moved)
        gradient[place] = (up - down) / 2e-6
    return gradient


def test_a_step_of_the_critic_descends_the_printed_loss():
    training = make_training()
    # The draws of the step, in their order: made-up rows and places between, then made-up rows.
    torch.manual_seed(1)
    real = training.rows
    beside = training._draw(len(real))
    mixed = torch.lerp(beside, real, torch.rand(len(real), 1).double())
    made = training._draw(len(real))
    rows = [one.numpy() for one in (real, made, mixed)]
    expected = numerical_gradient(training.critic, *rows)
    torch.manual_seed(1)
    training.step_critic()
    found = np.concatenate([one.grad.numpy().ravel() for one in training.critic.parameters()])
    assert_allclose(found, expected, atol=1e-7)
    assert np.linalg.norm(expected) > 0.1


def test_points_between_lie_on_the_way_from_a_made_up_row_to_a_real_one():
    made, real = torch.zeros(500, 2).double(), torch.ones(500, 2).double()
    share = torch.rand(500, 1).double()
    mixed = torch.lerp(made, real, share)
    assert_allclose(mixed.numpy(), np.repeat(share.numpy(), 2, axis=1))


def test_the_penalty_is_the_squared_distance_of_the_slope_from_one():
    training = make_training()
    shapes = [tuple(one.shape) for one in training.critic.parameters()]
    vector = np.concatenate([one.detach().numpy().ravel() for one in training.critic.parameters()])
    slopes = answer(split(vector, shapes), X)[1]
    expected = ((np.linalg.norm(slopes, axis=1) - 1) ** 2).sum()
    assert_allclose(penalize(training.critic, training.rows).item(), expected)


def test_clipped_to_no_norm_it_is_the_same_loss():
    training = make_training()
    rng = np.random.default_rng(2)
    made, mixed = (torch.tensor(rng.random(X.shape)) for _ in range(2))
    total = clipped_gradient(training.critic, training.rows, made, mixed, PENALTY, 1e9)
    expected = numerical_gradient(training.critic, X, made.numpy(), mixed.numpy())
    assert_allclose(total.numpy() / len(X), expected, atol=1e-7)
