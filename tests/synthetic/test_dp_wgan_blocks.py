"""Blocks of values: bounds of the critic's gradients hold, are attained, and need no more noise."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from cells import slow_but
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")

from skmia.defenses._exact_noise import PrivateRandomness  # noqa: E402
from skmia.synthetic._gan_training import (  # noqa: E402  # noqa: E402  # noqa: E402
    ColumnLayout,
    ExclusiveComponents,
    GanTraining,
    flat_gradient,
    list_critic_layers,
    make_critic,
    penalize,
    unit_scales,
)
from skmia.synthetic.critic_bounds import gradient_bounds  # noqa: E402

SIZES = (3, 1, 4, 2, 1)
LAYOUT = ColumnLayout(SIZES)
SHAPES = ["spherical", "proportional", "minimum_trace"]


def draw_rows(n, seed):
    """Rows with any values, and numbers from the inside and from the ends."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(size, size=n) if size > 1 else rng.random(n) for size in SIZES]
    rows = np.stack(columns, axis=1).astype(float)
    ends = (rng.random(rows.shape) < 0.5) & (np.array(SIZES) == 1)
    return torch.tensor(np.where(ends, rows.round(), rows))


def critic_of(depth, slope, seed):
    torch.manual_seed(seed)
    critic = make_critic(LAYOUT.n_places, (6, 5, 4)[:depth], slope)
    with torch.no_grad():  # larger weights and biases, so that units switch
        for parameter in critic.parameters():
            parameter.mul_(3)
    return critic


def bounds_of(critic, slope, sizes=SIZES):
    ends = zip(*gradient_bounds(*list_critic_layers(critic), slope, sizes), strict=True)
    return [np.concatenate([part.ravel() for part in end]) for end in ends]


def gradients(critic, rows):
    """Gradients of the answers to rows one by one, of shape (n_rows, n_parameters)."""

    def answer(weights, row):
        return torch.func.functional_call(critic, weights, (row[None],)).sum()

    function = torch.func.vmap(torch.func.grad(answer), (None, 0))
    parts = function(dict(critic.named_parameters()), LAYOUT.expand(rows))
    return torch.cat([part.flatten(start_dim=1) for part in parts.values()], 1).detach().numpy()


def test_rows_expand_to_blocks_with_one_1():
    rows = torch.tensor([[2.0, 0.25, 0.0, 1.0, 0.75]])
    expected = [0, 0, 1, 0.25, 1, 0, 0, 0, 0, 1, 0.75]
    assert LAYOUT.expand(rows).tolist() == [expected]


@pytest.mark.parametrize("slope", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_gradients_lie_within_the_bounds(depth, slope):
    for seed in range(3):
        critic = critic_of(depth, slope, seed)
        low, high = bounds_of(critic, slope)
        found = gradients(critic, draw_rows(2_000, seed))
        assert (low <= found).all() and (found <= high).all()


@pytest.mark.parametrize("slope", [0.0, 0.2])
def test_bounds_of_one_hidden_layer_are_attained(slope):
    # Without numbers there are few rows, and all of them can be tried.
    sizes = (3, 4, 2)
    codes = np.stack(np.meshgrid(*map(np.arange, sizes)), axis=-1).reshape(-1, 3).astype(float)
    rows = ColumnLayout(sizes).expand(torch.tensor(codes))
    for seed in range(10):
        torch.manual_seed(seed)
        critic = make_critic(9, (6,), slope)
        low, high = bounds_of(critic, slope, sizes)
        found = np.array([flat_gradient(critic(row[None]).sum(), critic).numpy() for row in rows])
        # The bounds of a weight have 0 in them, the gradient for all rows with another value.
        assert_allclose(found.min(axis=0), low, rtol=1e-6, atol=1e-7)
        assert_allclose(found.max(axis=0), high, rtol=1e-6, atol=1e-7)


def test_bounds_by_hand():
    # One block of two with the weights 2 and -1, s is 2.5 or -0.5: the slope is 1 where the first
    # value is there and 0.1 where the second is, so that their weights get 3 and 0.3.
    ends = gradient_bounds(
        [np.array([[2.0, -1.0]]), np.array([[3.0]])], [np.array([0.5])], 0.1, [2]
    )
    expected = [([[0, 0]], [[3, 0.3]]), ([0.3], [3]), ([[-0.05]], [[2.5]])]
    for (low, high), (expected_low, expected_high) in zip(ends, expected, strict=True):
        assert_allclose(low, expected_low, atol=1e-7)
        assert_allclose(high, expected_high, atol=1e-7)


def test_bounds_do_not_grow_with_the_number_of_values():
    weights = [np.ones((1, 500)), np.ones((1, 1))]
    (_, high), *_, (low_answer, high_answer) = gradient_bounds(weights, [np.zeros(1)], 0.2, [500])
    assert_allclose(high, 1)
    assert_allclose([low_answer, high_answer], 1, rtol=1e-6)


def row_changes(widths, alternatives, rng):
    """The longest vectors that a row can move: one member of each group, each at its bounds."""
    for _ in range(100):
        groups = range(alternatives.group.max() + 1)
        chosen = [rng.choice(np.flatnonzero(alternatives.group == group)) for group in groups]
        yield np.where(np.isin(alternatives.member, chosen), widths, 0)


@pytest.mark.parametrize("shape", SHAPES)
def test_scales_have_the_noise_multiplier_one(shape):
    rng = np.random.default_rng(0)
    alternatives = ExclusiveComponents.of_first_layer(SIZES, 5, 5 * LAYOUT.n_places + 20)
    widths = rng.gamma(0.5, size=len(alternatives.member))
    widths[::7] = 0
    scales = unit_scales(widths, shape, alternatives)
    assert ((scales == 0) == (widths == 0)).all()
    shares = np.divide(widths, scales, out=np.zeros_like(widths), where=widths > 0) ** 2
    assert_allclose(alternatives.largest_sum(shares), 1)
    for change in row_changes(widths, alternatives, rng):
        assert np.sum((change[widths > 0] / scales[widths > 0]) ** 2) <= 1 + 1e-12


def test_minimum_trace_is_the_least_and_less_than_without_blocks():
    rng = np.random.default_rng(0)
    alternatives = ExclusiveComponents.of_first_layer((2, 3, 1), 2, 15)
    widths = rng.gamma(1, size=15)
    least = np.sum(unit_scales(widths, "minimum_trace", alternatives) ** 2)
    for _ in range(2000):
        scales = unit_scales(widths, "minimum_trace", alternatives) * rng.lognormal(0, 0.3, 15)
        scales *= np.sqrt(alternatives.largest_sum((widths / scales) ** 2))
        assert np.sum(scales**2) >= least * (1 - 1e-12)
    assert least < 0.9 * np.sum(unit_scales(widths, "minimum_trace") ** 2)


def test_noise_of_a_block_by_hand():
    # Two values with one weight each, which a row moves by at most 3 or 4: 5 in all for the block
    # beside 5 for the bias, so that each gets half of the squared norm.
    alternatives = ExclusiveComponents.of_first_layer((2,), 1, 3)
    scales = unit_scales(np.array([3.0, 4.0, 5.0]), "minimum_trace", alternatives)
    assert_allclose(scales, np.sqrt(2) * np.array([3, 4, 5]))
    assert_allclose(unit_scales(np.array([3.0, 4.0, 5.0]), "spherical", alternatives), np.sqrt(41))
    proportional = unit_scales(np.array([3.0, 4.0, 5.0]), "proportional", alternatives)
    assert_allclose(proportional, np.sqrt(2) * np.array([3, 4, 5]))


QUICK = [("spherical", 1.0), ("proportional", None), ("minimum_trace", None)]


@pytest.mark.parametrize(
    "shape, spectral", slow_but(itertools.product(SHAPES, [None, 1.0]), *QUICK)
)
def test_no_row_moves_a_step_by_more_than_its_noise_allows(shape, spectral):
    plan = SimpleNamespace(
        critic_layers=(6, 5),
        generator_layers=(8,),
        negative_slope=0.2,
        n_latent=4,
        batch_size=20,
        n_critic=2,
        max_iter=3,
        learning_rate=0.05,
        penalty=0.0 if spectral else 2.0,
        max_weight=None,
        privacy="bounds",
        noise=shape,
        penalty_bound="spectral",
        noise_multiplier=1.0,
        max_grad_norm=0.7,
        max_spectral_norm=spectral,
    )
    torch.manual_seed(0)
    training = GanTraining(draw_rows(60, 0).numpy(), plan, PrivateRandomness(0), LAYOUT)
    rng = np.random.default_rng(1)
    for _ in range(5):
        training.step_critic()
        training.step_generator()
        if spectral:
            norms = [np.linalg.norm(weight, 2) for weight in list_critic_layers(training.critic)[0]]
            assert max(norms) <= 1 + 1e-12
        scales = training._plan_noise()
        rows, made = draw_rows(30, rng.integers(1000)), draw_rows(30, rng.integers(1000))
        for real, other in zip(LAYOUT.expand(rows), LAYOUT.expand(made), strict=True):
            mixed = torch.lerp(other, real, rng.random())[None]
            loss = plan.penalty * penalize(training.critic, mixed)
            loss = loss - training.critic(real[None]).sum()
            change = flat_gradient(loss, training.critic).numpy()
            assert (change[scales == 0] == 0).all()
            assert np.linalg.norm(change[scales > 0] / scales[scales > 0]) <= 1


def test_drawn_blocks_are_hard_and_have_slopes():
    torch.manual_seed(0)
    outputs = torch.randn((200, LAYOUT.n_places), dtype=torch.float64, requires_grad=True)
    drawn = LAYOUT.draw(outputs)
    for size, block in zip(SIZES, drawn.split(SIZES, dim=1), strict=True):
        if size > 1:
            assert ((block == 0) | (block == 1)).all() and (block.sum(dim=1) == 1).all()
    (slopes,) = torch.autograd.grad((drawn**2).sum(), outputs)
    assert (slopes != 0).any(dim=0).all()


def test_values_are_drawn_in_proportion_to_their_odds():
    odds = np.log([[0.5, 0.3, 0.2]])
    n = 20_000
    codes = ColumnLayout([3]).draw_rows(np.repeat(odds, n, axis=0), np.random.default_rng(0))[:, 0]
    shares = np.bincount(codes.astype(int)) / n
    assert_allclose(shares, [0.5, 0.3, 0.2], atol=4.5 * np.sqrt(0.25 / n))
    torch.manual_seed(0)
    drawn = ColumnLayout([3]).draw(torch.tensor(np.repeat(odds, n, axis=0))).mean(dim=0).numpy()
    assert_allclose(drawn, [0.5, 0.3, 0.2], atol=4.5 * np.sqrt(0.25 / n))
