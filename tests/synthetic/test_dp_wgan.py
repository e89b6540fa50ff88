"""The private generator: what it releases, what that is said to cost, and what it learns."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from cells import slow_but
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.frozen import FrozenEstimator
from sklearn.utils.estimator_checks import check_estimator

from skmia import Records
from skmia.defenses import _repeated_fits
from skmia.defenses._exact_noise import PrivateRandomness
from skmia.exceptions import PrivacyWarning
from skmia.synthetic import GeneratorAttack, _dp_wgan
from skmia.synthetic._collapse import rare_class_rate
from skmia.synthetic._dp_wgan import DPWassersteinGAN
from skmia.synthetic.critic_bounds import critic_gradient_bounds, gradient_penalty_bounds

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

from skmia.synthetic._gan_training import (  # noqa: E402
    GanTraining,
    clipped_gradient,
    flat_gradient,
    penalize,
    share_noise,
    unit_scales,
)

X = np.random.default_rng(0).beta(2, 5, size=(60, 3))
QUICK = {"max_iter": 2, "n_critic": 2, "batch_size": 20, "critic_layers": (5,), "random_state": 0}
SHAPES = ["spherical", "proportional", "minimum_trace"]


def make_plan(**settings):
    defaults = {
        "critic_layers": (6, 5),
        "generator_layers": (8,),
        "negative_slope": 0.2,
        "n_latent": 4,
        "batch_size": 20,
        "n_critic": 2,
        "max_iter": 3,
        "learning_rate": 0.05,
        "penalty": 2.0,
        "max_weight": None,
        "privacy": "bounds",
        "noise": "minimum_trace",
        "penalty_bound": "spectral",
        "noise_multiplier": 1.5,
        "max_grad_norm": 0.7,
        "max_spectral_norm": None,
    }
    return SimpleNamespace(**{**defaults, **settings})


QUICKEST = QUICK | {"max_iter": 1, "n_critic": 1}
CHECKED = [
    DPWassersteinGAN(-1e3, 1e3, noise_multiplier=1.0, **QUICKEST),
    DPWassersteinGAN(-1e3, 1e3, noise_multiplier=1.0, privacy="clipping", **QUICKEST),
    DPWassersteinGAN(-1e3, 1e3, privacy=None, **QUICKEST),
]


def set_price(monkeypatch, price):
    """Let a function say what one fit costs, and all fits together."""
    for module in (_dp_wgan, _repeated_fits):
        monkeypatch.setattr(module, "spent_epsilon", price)


@pytest.mark.parametrize(
    "estimator", slow_but(CHECKED, CHECKED[0]), ids=["bounds", "clipping", "not private"]
)
def test_it_is_an_ordinary_estimator(estimator, monkeypatch):
    # What a training costs takes longer than the training, and is asserted below.
    set_price(monkeypatch, lambda steps, delta, name: 1.0)
    check_estimator(estimator, on_skip=None)


# The noise


@pytest.mark.parametrize("shape", SHAPES)
def test_scales_have_the_noise_multiplier_one(shape):
    widths = np.random.default_rng(0).gamma(0.5, size=40)
    widths[::7] = 0
    scales = unit_scales(widths, shape)
    assert_array_equal(scales == 0, widths == 0)
    used = widths > 0
    assert_allclose(np.sum((widths[used] / scales[used]) ** 2), 1)


def test_sums_of_variances():
    widths = np.array([0.1, 1.0, 5.0])
    spherical, proportional, least = (np.sum(unit_scales(widths, one) ** 2) for one in SHAPES)
    assert_allclose(spherical, 3 * np.sum(widths**2))
    assert_allclose(proportional, spherical)
    assert_allclose(least, 6.1**2)
    rng = np.random.default_rng(0)
    for _ in range(1000):
        scales = rng.gamma(1, size=3)
        scales *= np.linalg.norm(widths / scales)  # now of the noise multiplier 1
        assert np.sum(scales**2) >= least - 1e-9


def test_two_releases_share_the_noise_in_the_best_way():
    first, second = np.array([1.0, 2.0]), np.array([4.0, 0.0])
    found = np.sum(share_noise(first, second) ** 2)
    shares = np.linspace(0.001, 0.999, 2001)  # of 1 / z**2 that the first release takes
    traces = np.sum(first**2) / shares + np.sum(second**2) / (1 - shares)
    assert_allclose(found, traces.min(), rtol=1e-5)
    assert_allclose(found, (np.sqrt(5) + 4) ** 2)
    assert_array_equal(share_noise(first, np.zeros(2)), first)
    assert_array_equal(share_noise(np.zeros(2), first), first)


EACH_TIME = [(SHAPES[0], "frobenius"), (SHAPES[2], "spectral")]


@pytest.mark.parametrize(
    "shape, penalty_bound",
    slow_but(itertools.product(SHAPES, ["spectral", "frobenius"]), *EACH_TIME),
)
def test_no_row_moves_a_step_by_more_than_its_noise_allows(shape, penalty_bound):
    plan = make_plan(noise=shape, penalty_bound=penalty_bound, noise_multiplier=1.0)
    torch.manual_seed(0)
    training = GanTraining(X, plan, PrivateRandomness(0))
    rng = np.random.default_rng(1)
    for _ in range(5):
        training.step_critic()
        scales = training._plan_noise()
        for row, made in zip(*rng.random((2, 30, 1, 3)).round(1), strict=True):
            share = rng.random()
            mixed = torch.tensor(share * row + (1 - share) * made)
            loss = plan.penalty * penalize(training.critic, mixed)
            loss = loss - training.critic(torch.tensor(row)).sum()
            change = flat_gradient(loss, training.critic).numpy()
            assert (change[scales == 0] == 0).all()
            assert np.linalg.norm(change[scales > 0] / scales[scales > 0]) <= 1


@pytest.mark.parametrize("privacy", ["bounds", "clipping"])
def test_a_step_on_no_row_releases_noise_of_the_planned_size(privacy):
    torch.manual_seed(0)
    training = GanTraining(X, make_plan(privacy=privacy, critic_layers=(3,)), PrivateRandomness(0))
    nobody = training.rows[:0]
    n = 100
    released = np.array([training._release(nobody).numpy() for _ in range(n)])
    scales = training._plan_noise()
    if privacy == "clipping":
        assert_allclose(scales, 1.5 * 0.7, rtol=1e-4)  # a little more, for rounding to a grid
    # The standard error of a standard deviation is a share (2 n)**-0.5 of it.
    assert_allclose(released.std(axis=0), scales, rtol=4.5 / np.sqrt(2 * n), atol=1e-12)
    assert (abs(released.mean(axis=0)) <= 4.5 * scales / np.sqrt(n)).all()


def test_clipping_is_row_by_row():
    torch.manual_seed(0)
    critic = GanTraining(X, make_plan(), PrivateRandomness(0)).critic
    real, made, mixed = torch.tensor(X.reshape(3, 20, 3))
    alone = []
    for row in range(20):
        loss = (critic(made[[row]]) - critic(real[[row]])).sum() + 2 * penalize(
            critic, mixed[[row]]
        )
        alone.append(flat_gradient(loss, critic).numpy())
    middle = np.median([np.linalg.norm(one) for one in alone])  # some are clipped and some not
    expected = sum(one * min(1, middle / np.linalg.norm(one)) for one in alone)
    found = clipped_gradient(critic, real, made, mixed, 2, float(middle))
    assert_allclose(found.numpy(), expected, atol=1e-12)


def test_a_row_with_a_gradient_that_is_not_finite_contributes_nothing():
    training = GanTraining(X, make_plan(), PrivateRandomness(0))
    rows = training.rows[:4].clone()
    parts = training.critic, rows, rows.flip(1), rows / 2, 2.0, 0.7
    expected = clipped_gradient(parts[0], *(part[:3] for part in parts[1:4]), *parts[4:])
    for value in (np.nan, np.inf, 1e308):
        rows[3] = value
        total = clipped_gradient(parts[0], rows, *parts[2:])
        # Sums of three rows, and of four with one of zeros, are rounded differently.
        assert torch.linalg.vector_norm(total - expected) <= 0.7 * (value == 1e308) + 1e-12


def test_a_critic_without_slope_has_finite_gradients():
    training = GanTraining(X, make_plan(penalty=1.0), PrivateRandomness(0))
    with torch.no_grad():
        for parameter in training.critic.parameters():
            parameter.zero_()
    rows = training.rows[:5]
    clipped = clipped_gradient(training.critic, rows, rows, rows, 1.0, 0.5)
    plain = flat_gradient(penalize(training.critic, rows), training.critic)
    assert not clipped.any() and not plain.any()


def test_the_first_bounds_are_the_same_for_any_rows():
    gan = DPWassersteinGAN(noise_multiplier=1.0, **QUICK).set_params(max_iter=1, n_critic=1)
    first, second = (gan.fit(rows).history_ for rows in (X, np.ones_like(X)))
    assert_array_equal(first, second)
    assert len(first) == 1 and (first.to_numpy() > 0).all()


def test_bounds_of_a_step_are_those_of_the_weights():
    settings = QUICK | {"max_iter": 1, "n_critic": 1, "learning_rate": 1e-300}  # weights stay
    gan = DPWassersteinGAN(noise_multiplier=1.5, penalty=3.0, **settings).fit(X)
    layers = [layer for layer in gan.critic_ if isinstance(layer, torch.nn.Linear)]
    weights = [layer.weight.detach().numpy() for layer in layers]
    biases = [layer.bias.detach().numpy() for layer in layers[:-1]]
    answer = [
        np.maximum(abs(low), abs(high)).ravel()
        for low, high in critic_gradient_bounds(weights, biases, negative_slope=0.2)
    ]
    penalty = 3 * gradient_penalty_bounds(weights)
    found = gan.history_.iloc[0]
    assert_allclose(found["gradient_bound"], np.linalg.norm(np.concatenate(answer)))
    assert_allclose(found["penalty_bound"], np.linalg.norm(penalty))


# The account


@pytest.mark.parametrize("privacy", ["bounds", "clipping"])
def test_epsilon_of_steps_that_see_all_rows(privacy):
    gan = DPWassersteinGAN(noise_multiplier=3.0, privacy=privacy, **QUICK)
    gan.set_params(batch_size=1000, target_delta=1e-4).fit(X)
    orders = np.arange(1.01, 200, 0.01)
    spent = gan.n_steps_ * orders / (2 * 3.0**2)
    spent += np.log1p(-1 / orders) - np.log(1e-4 * orders) / (orders - 1)
    assert gan.sample_rate_ == 1 and gan.n_steps_ == 4
    assert_allclose(gan.epsilon_, spent.min(), rtol=1e-3)


def test_a_target_is_reached_and_not_exceeded():
    settings = {**QUICK, "batch_size": 6, "accountant": "rdp"}
    gan = DPWassersteinGAN(target_epsilon=2.0, **settings).fit(X)
    assert 1.9 < gan.epsilon_ <= 2
    assert gan.delta_ == 0.1 / 60


def test_a_delta_that_promises_nothing_is_warned_of():
    gan = DPWassersteinGAN(noise_multiplier=3.0, **QUICK).set_params(target_delta=0.3)
    with pytest.warns(PrivacyWarning, match="releasing a row at random would satisfy it"):
        gan.fit(X)


@pytest.mark.parametrize("name", [pytest.param("rdp", marks=pytest.mark.slow), "prv"])
def test_the_accountant_that_is_named_is_asked(name, monkeypatch):
    epsilons = {"rdp": 3.0, "prv": 2.0}
    set_price(monkeypatch, lambda steps, delta, name: epsilons[name])
    gan = DPWassersteinGAN(noise_multiplier=2.0, accountant=name, **QUICK)
    assert gan.fit(X).epsilon_ == epsilons[name]


@pytest.mark.parametrize("settings", [{"privacy": None}, {"noise_multiplier": 0}])
def test_without_noise_there_is_no_promise(settings):
    assert DPWassersteinGAN(**settings, **QUICK).fit(X).epsilon_ == np.inf


# What it learns


@pytest.mark.slow  # a table of values and what depends on them is learned in each run
def test_without_noise_it_learns_where_rows_lie():
    rng = np.random.default_rng(0)
    center = np.where(rng.random((1000, 1)) < 0.3, 0.2, 0.8)
    rows = np.clip(center + 0.05 * rng.normal(size=(1000, 2)), 0, 1)
    gan = DPWassersteinGAN(
        privacy=None,
        critic_layers=(16,),
        learning_rate=5e-3,
        max_iter=400,
        penalty=0.3,
        random_state=0,
    )
    made = gan.fit(rows).sample(2000, random_state=0)
    # Without training all rows lie about (0.5, 0.5).
    assert np.corrcoef(made.T)[0, 1] > 0.8
    assert 0.15 < np.mean(made[:, 0] < 0.35) < 0.45
    assert 0.5 < np.mean(made[:, 0] > 0.65) < 0.8


def test_rows_come_in_the_ranges_given():
    lower, upper = [0, -5, 7], [1, 5, 7]
    rows = lower + X * np.subtract(upper, lower)
    gan = DPWassersteinGAN(lower, upper, noise_multiplier=1.0, noise_seed=0, **QUICK).fit(rows)
    made = gan.sample(50, random_state=3)
    assert ((lower <= made) & (made <= upper)).all()
    assert (made[:, 2] == 7).all()
    assert_array_equal(made, gan.sample(50, random_state=3))
    assert not np.array_equal(gan.sample(50), gan.sample(50))
    gan.set_params(n_latent=3)  # of the next fit
    assert_array_equal(made, gan.sample(50, random_state=3))
    unit = DPWassersteinGAN(noise_multiplier=1.0, noise_seed=0, **QUICK).fit(X * [1, 1, 0])
    assert_allclose(made, lower + unit.sample(50, random_state=3) * np.subtract(upper, lower))


def test_weights_stay_within_their_limit():
    gan = DPWassersteinGAN(noise_multiplier=1.0, max_weight=0.05, **QUICK).fit(X)
    assert max(abs(one).max().item() for one in gan.critic_.parameters()) == 0.05


def test_it_can_be_attacked():
    gan = DPWassersteinGAN(noise_multiplier=1.0, **QUICK).fit(X[:30])
    records = Records(X, np.zeros(60))
    attack = GeneratorAttack(FrozenEstimator(gan), random_state=0).fit(records)
    assert np.isfinite(attack.score_samples(records)).all()


@pytest.mark.parametrize(
    "settings, message",
    [
        ({}, "Give one of target_epsilon and noise_multiplier; got neither"),
        ({"noise_multiplier": 1, "target_epsilon": 1}, "got both"),
        ({"privacy": None, "noise_multiplier": 1}, "privacy=None takes neither"),
        ({"upper": 0.1, "privacy": None}, "Column 0 has values outside its range"),
        ({"lower": -1e308, "upper": 1e308, "privacy": None}, "upper - lower must be finite"),
        ({"upper": [1, -1, 1], "privacy": None}, "got 0.0 and -1.0 in column 1"),
        ({"critic_layers": (), "privacy": None}, r"critic_layers must be widths .* got \(\)"),
        ({"generator_layers": (3.5,), "privacy": None}, "must be an integer from 1"),
        ({"noise_multiplier": 1e-300}, "deviation of the noise must be"),
        ({"noise_multiplier": 1e160}, "deviation of the noise must be"),
        ({"noise_multiplier": 1, "max_weight": 1e-170}, "deviation of the noise must be"),
        (
            {"noise_multiplier": 0.1, "privacy": "clipping", "max_grad_norm": 5e-324},
            "deviation of the noise must be",
        ),
    ],
)
def test_what_cannot_be_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        DPWassersteinGAN(**{**QUICK, **settings}).fit(X)


@pytest.mark.parametrize("n_samples", [0, -1, 2.5])
def test_numbers_of_samples_are_checked(n_samples):
    with pytest.raises(ValueError, match="n_samples must be an integer from 1"):
        DPWassersteinGAN(privacy=None, **QUICK).fit(X).sample(n_samples)


# Rare classes


def test_rate_of_a_rare_class():
    rate = rare_class_rate(["a"] * 9 + ["b"], ["a"] * 100)
    assert rate[:3] == ("b", 0.1, 0.0)
    assert_allclose(rate[3:], (0, 1 - 0.025**0.01))
    assert rare_class_rate([0, 1, 1], [0, 0, 1], label=1)[1:3] == (2 / 3, 1 / 3)


@pytest.mark.parametrize(
    ("real", "made"),
    [
        ([0, 1], ["0", "1"]),
        (["0", "1"], [0.0, 1.0]),
        ([0.0, 1.0], ["0", "1.00 "]),
        ([False, True], ["FALSE", "true"]),
        (["No", "Yes"], ["no", "yes"]),
        ([0, 1], [False, True]),
    ],
)
def test_labels_of_another_type_are_the_classes_with_their_values(real, made):
    y, y_synthetic = np.repeat(real, [9, 1]), np.repeat(made, [16, 4])
    assert rare_class_rate(y, y_synthetic)[1:3] == (0.1, 0.2)
    assert rare_class_rate(y, y_synthetic, label=real[0])[1:3] == (0.9, 0.8)


def test_rates_of_nothing_are_refused():
    with pytest.raises(ValueError, match="y_synthetic must hold at least 1 row"):
        rare_class_rate([0, 1], [])
    with pytest.raises(ValueError, match="label must be a class of y; got 2"):
        rare_class_rate([0, 1], [0], label=2)
    with pytest.raises(ValueError, match="hold classes of y, such as 0; got 2"):
        rare_class_rate([0, 1], [2, 3])
    with pytest.raises(ValueError, match="position 1. Fill in the values, with one class for all"):
        rare_class_rate([0, np.nan, 1], [0])
    # Of two classes of one value neither is meant.
    with pytest.raises(ValueError, match="hold classes of y, such as '1'; got 1"):
        rare_class_rate(["1", "1.0"], [1, 1])
    # A label that no class has is one more label.
    assert rare_class_rate([0, 0, 1], [0, 1, 2, 2])[2] == 0.25


def test_torch_s_seed_does_not_make_the_noise(monkeypatch):
    real = torch.manual_seed
    monkeypatch.setattr(torch, "manual_seed", lambda seed: real(12345))
    gans = [DPWassersteinGAN(noise_multiplier=1.0, **QUICK).fit(X) for _ in range(2)]
    first, second = (gan.critic_[0].weight for gan in gans)
    assert not torch.equal(first, second)


@pytest.mark.parametrize("privacy", ["bounds", "clipping"])
def test_the_number_of_real_rows_does_not_show_in_a_stream_that_can_be_known(privacy):
    states, sums = [], []
    for n_rows in (7, 6, 7):
        torch.manual_seed(0)
        training = GanTraining(
            X, make_plan(privacy=privacy, noise_multiplier=1e-9), PrivateRandomness()
        )
        sums.append(training._release(training.rows[:n_rows]).numpy())
        states.append(torch.random.get_rng_state())
    assert all(torch.equal(state, states[0]) for state in states)
    if privacy == "clipping":  # the weights are the same, and the made-up rows are not
        scale = np.linalg.norm(training._plan_noise())
        assert np.linalg.norm(sums[0] - sums[2]) > 10 * scale


def test_seeded_noise_is_no_privacy():
    gan = DPWassersteinGAN(noise_multiplier=1.0, noise_seed=0, **QUICK).fit(X)
    again = DPWassersteinGAN(noise_multiplier=1.0, noise_seed=0, **QUICK).fit(X)
    assert torch.equal(gan.critic_[0].weight, again.critic_[0].weight)
    assert gan.epsilon_ == np.inf


@pytest.mark.parametrize("privacy", ["bounds", "clipping"])
@pytest.mark.parametrize("noise", [1.5, 300.0, 1e6])
def test_a_step_shows_whole_steps_of_a_grid_that_its_noise_covers(privacy, noise):
    plan = make_plan(privacy=privacy, noise_multiplier=noise)
    training = GanTraining(X, plan, PrivateRandomness(0))
    scales = training._plan_noise()
    moves = scales > 0
    released = training._release(training.rows[:7]).numpy()[moves]
    # What a row moves, with a step of the grid more in each component, is a multiplier's share.
    bare = GanTraining(X, make_plan(privacy=privacy, noise_multiplier=1e-9), PrivateRandomness(0))
    bare.critic = training.critic
    widths = 1e9 * bare._plan_noise()[moves]  # the noise of the multiplier 1
    grids = np.exp2(np.floor(np.log2(noise * widths)) - 29)
    assert_array_equal(released / grids, np.rint(released / grids))
    share = np.linalg.norm(np.full(moves.sum(), 1 / np.sqrt(moves.sum())) * widths / scales[moves])
    assert share + np.linalg.norm(grids / scales[moves]) <= (1 + 1e-6) / noise


def test_a_step_draws_those_rows_alone_that_contribute():
    asked, released = [], []

    def toss(n_rows, rate):
        asked.append((n_rows, rate))
        return np.array([True, True, False, False])

    def release(real):
        released.append(real.ravel().tolist())
        return torch.zeros(1, dtype=torch.float64)

    training = SimpleNamespace(
        plan=SimpleNamespace(batch_size=2, privacy="clipping"),
        rows=torch.arange(4.0)[:, None],
        randomness=SimpleNamespace(coins=toss),
        _contributes=np.array([True, False, True, False]),
        layout=SimpleNamespace(expand=lambda rows: rows),
        critic=torch.nn.Linear(1, 1, bias=False).double(),
        _optimizers=[SimpleNamespace(step=lambda: None)],
        _release=release,
        _limit_weights=lambda: None,
    )
    GanTraining.step_critic(training)
    assert asked == [(4, 0.5)] and released == [[0.0]]
