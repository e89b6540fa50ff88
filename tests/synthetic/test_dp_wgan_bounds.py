"""Bounds of a critic's gradients: no row goes beyond them, and with one hidden layer some reach."""

import itertools

import numpy as np
import pytest
from cells import slow_but
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

from skmia.synthetic._gan_training import flat_gradient, list_critic_layers, make_critic, penalize  # noqa: E402
from skmia.synthetic.critic_bounds import critic_gradient_bounds, gradient_penalty_bounds  # noqa: E402

N_FEATURES = 4
WIDTHS = {1: (6,), 2: (6, 5), 3: (6, 5, 4)}


def critic_of(depth, slope, seed=0):
    torch.manual_seed(seed)
    critic = make_critic(N_FEATURES, WIDTHS[depth], slope)
    with torch.no_grad():  # larger weights and biases, so that units switch within the cube
        for parameter in critic.parameters():
            parameter.mul_(3)
    return critic


def bounds_of(critic, slope):
    """Lower and upper ends as two vectors."""
    ends = zip(
        *critic_gradient_bounds(*list_critic_layers(critic), negative_slope=slope), strict=True
    )
    return [np.concatenate([one.ravel() for one in end]) for end in ends]


def gradients(critic, rows, penalty=False):
    """Gradients of the rows one by one, of shape (n_rows, n_parameters)."""

    def answer(weights, row):
        return torch.func.functional_call(critic, weights, (row[None],)).sum()

    def penalize_one(weights, row):
        slope = torch.func.grad(answer, argnums=1)(weights, row)
        return (torch.linalg.vector_norm(slope) - 1) ** 2

    function = torch.func.grad(penalize_one if penalty else answer)
    found = torch.func.vmap(function, (None, 0))(dict(critic.named_parameters()), rows)
    return torch.cat([one.flatten(start_dim=1) for one in found.values()], dim=1).detach().numpy()


def draw_rows(n, seed):
    """Rows from the inside, from the faces and from the corners of the cube."""
    rng = np.random.default_rng(seed)
    rows = rng.random((n, N_FEATURES))
    on_faces = rng.random(rows.shape) < rng.random((n, 1))
    return torch.tensor(np.where(on_faces, rows.round(), rows))


@pytest.mark.parametrize(
    "depth, slope",
    slow_but(itertools.product([1, 2, 3], [0.0, 0.2, 1.0]), (1, 0.2), (2, 0.0), (3, 0.2)),
)
def test_gradients_of_10000_random_batches_lie_within_the_bounds(depth, slope):
    n_batches, per_critic, size = 10_000, 1_000, 8
    for seed in range(n_batches // per_critic):
        critic = critic_of(depth, slope, seed)
        low, high = bounds_of(critic, slope)
        rows = draw_rows(per_critic * size, seed)
        alone = gradients(critic, rows)
        batches = alone.reshape(per_critic, size, -1).sum(axis=1)
        for found, n in ((alone, 1), (batches, size)):
            assert (n * low <= found).all()
            assert (found <= n * high).all()


def attained(critic, low, high):
    """How much of the largest of each component some row attains, as a share of its bound."""
    # Rows that climb towards each end: the corner at which each hidden unit is largest or smallest,
    # with each value in turn set to the ends or just inside of where the unit switches.
    (first, *_), (bias, *_) = list_critic_layers(critic)
    corners = np.concatenate([first > 0, first <= 0]).astype(float)
    rows = [corners]
    for column in range(N_FEATURES):
        for value in (0.0, 1.0):
            rows.append(corners.copy())
            rows[-1][:, column] = value
        others = np.where(first > 0, 1.0, 0.0)
        others[:, column] = 0
        with np.errstate(divide="ignore"):
            switch = (np.sum(first * others, axis=1) + bias) / -first[:, column]
        others[:, column] = np.clip(switch * (1 - 1e-6), 0, 1)
        rows.append(others)
    found = gradients(critic, torch.tensor(np.concatenate(rows)))
    return found.min(axis=0), found.max(axis=0)


@pytest.mark.parametrize("slope", [0.0, 0.2])
def test_bounds_of_one_hidden_layer_are_attained(slope):
    for seed in range(20):
        critic = critic_of(1, slope, seed)
        low, high = bounds_of(critic, slope)
        lowest, highest = attained(critic, low, high)
        assert_allclose(lowest, low, rtol=0.01, atol=1e-7)
        assert_allclose(highest, high, rtol=0.01, atol=1e-7)


def test_bounds_of_two_hidden_layers_are_wider_than_what_is_attained():
    critic = critic_of(2, 0.2)
    low, high = bounds_of(critic, 0.2)
    found = gradients(critic, draw_rows(50_000, 0))
    share = np.median((found.max(axis=0) - found.min(axis=0)) / (high - low))
    assert 0.2 < share < 0.95


def test_bounds_by_hand():
    # s = 2 x1 - x2 + 0.5 is in [-0.5, 2.5], so that the slope is 0.1 or 1 and the answer in
    # [-0.05, 2.5]. The weight of x2 is at most 3: at x1 = 1 the sum is above 0 for all x2. That of
    # x1 gets 0 from x1 = 0.
    ends = critic_gradient_bounds([[[2.0, -1.0]], [[3.0]]], [[0.5]], negative_slope=0.1)
    expected = [([[0, 0]], [[3, 3]]), ([0.3], [3]), ([[-0.05]], [[2.5]])]
    for (low, high), (expected_low, expected_high) in zip(ends, expected, strict=True):
        assert_allclose(low, expected_low, atol=1e-7)
        assert_allclose(high, expected_high, atol=1e-7)


def test_a_value_and_the_slope_behind_it_depend_on_each_other():
    # s = 0.5 - x is above 0 only for x < 0.5, so that x times the slope comes to 0.5, not to 1.
    ends = critic_gradient_bounds([[[-1.0]], [[1.0]]], [[0.5]], negative_slope=0.0)
    assert_allclose(ends[0][1], [[0.5]], rtol=1e-6)


def test_a_unit_that_no_row_switches_on_has_no_gradient():
    ends = critic_gradient_bounds([-np.ones((1, 3)), np.ones((1, 1))], [[-0.1]], negative_slope=0)
    assert all(not end.any() for pair in ends for end in pair)


@pytest.mark.parametrize("norm", ["spectral", "frobenius"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_no_gradient_of_the_penalty_is_longer_than_its_bound(depth, norm):
    for seed in range(5):
        critic = critic_of(depth, 0.2, seed)
        weights, _ = list_critic_layers(critic)
        found = gradients(critic, draw_rows(2_000, seed), penalty=True)
        start, bounds = 0, gradient_penalty_bounds(weights, norm=norm)
        for layer, parameter in enumerate(critic.parameters()):
            part = found[:, start : start + parameter.numel()]
            start += parameter.numel()
            if layer % 2:
                assert not part.any()  # a bias
            else:
                assert (np.linalg.norm(part, axis=1) <= bounds[layer // 2]).all()


def test_the_spectral_bound_is_attained_where_layers_are_aligned():
    # One unit in each layer: J = 2 * 3, and the gradient of the first weight is 2 * (6 - 1) * 3.
    critic = make_critic(1, (1,), 0.2)
    with torch.no_grad():
        critic[0].weight[:], critic[0].bias[:], critic[2].weight[:] = 2.0, 0.0, 3.0
    loss = penalize(critic, torch.ones((1, 1), dtype=torch.float64))
    assert_allclose(flat_gradient(loss, critic).numpy(), [30, 0, 20])
    assert_allclose(gradient_penalty_bounds([[[2.0]], [[3.0]]]), [30, 20])


def test_the_spectral_bound_is_several_times_smaller():
    for depth in WIDTHS:
        weights, _ = list_critic_layers(critic_of(depth, 0.2))
        printed = gradient_penalty_bounds(weights, norm="frobenius")
        assert (printed > 2 * gradient_penalty_bounds(weights)).all()


WEIGHTS, BIASES = [np.ones((3, 2)), np.ones((1, 3))], [np.zeros(3)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weights": []}, r"weights must be matrices .* got shapes \[\]"),
        ({"weights": [np.ones((3, 2)), np.ones((1, 4))]}, "as many columns as the one before"),
        ({"weights": [np.ones((3, 2))]}, "the last with one row"),
        ({"weights": [np.full((1, 2), np.nan)], "biases": []}, "weights must be finite numbers"),
        ({"biases": []}, r"biases must have the shapes \[\(3,\)\]"),
        ({"negative_slope": 2}, "negative_slope must be a number in"),
        ({"sizes": [1]}, "with the sum 2, the number of inputs"),
        ({"sizes": [0, 2]}, "sizes must be integers of at least 1"),
    ],
)
def test_wrong_weights_get_a_sentence(change, words):
    settings = {"weights": WEIGHTS, "biases": BIASES, **change}
    with pytest.raises(ValueError, match=words):
        critic_gradient_bounds(settings.pop("weights"), settings.pop("biases"), **settings)


def test_another_norm_is_refused():
    with pytest.raises(ValueError, match="norm must be one of"):
        gradient_penalty_bounds(WEIGHTS, norm="nuclear")


def test_the_gradient_of_the_penalty_is_the_closed_form():
    # 2 (norm(J) - 1) A' u B' for J = W1' F W2', u = J / norm(J).
    critic = critic_of(1, 0.2)
    row = draw_rows(1, 0)
    (first, last), (bias,) = list_critic_layers(critic)
    slopes = np.where(first @ row[0].numpy() + bias > 0, 1, 0.2)
    J = first.T @ (slopes * last[0])
    unit, factor = J / np.linalg.norm(J), 2 * (np.linalg.norm(J) - 1)
    expected = [
        factor * np.outer(slopes * last[0], unit),
        np.zeros(len(bias)),
        factor * slopes * (first @ unit),
    ]
    found = flat_gradient(penalize(critic, row), critic).numpy()
    assert_allclose(found, np.concatenate([one.ravel() for one in expected]), atol=1e-12)
