"""No planted pair of neighbors is told apart better than the claimed epsilon allows.

Each test releases a table and its neighbor many times, counts events that were fixed before or
chosen on the other half of the releases, and bounds epsilon from below by Clopper and Pearson at
95%, which all events of a pair share. The neighbor has another row, or one in its place that
contributes nothing.
"""

import functools
import itertools

import numpy as np
import pytest
from cells import slow_but
from scipy.stats import beta
from sklearn.base import clone

from skmia.defenses import DPSGDClassifier
from skmia.defenses.mechanisms import (
    GaussianMechanism,
    LaplaceMechanism,
    NonSphericalGaussianMechanism,
)
from skmia.synthetic import DPWassersteinGAN

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")
pytest.importorskip("opacus")

EXTREME = [1e39, -1e39, 3e38, 0.0, 1e-42]
NOISE, EPSILON, DELTA = 8.4, 0.4531, 1e-5  # one step on all rows


def proven_epsilon(first, second, n, delta, n_events=1):
    """What two counts of an event in n releases prove, in either direction."""
    tail = 0.05 / (4 * n_events)

    def one_sided(more, less):
        low = beta.ppf(tail, more, n - more + 1) if more else 0.0
        high = beta.ppf(1 - tail, less + 1, n - less) if less < n else 1.0
        return np.log(max(low - delta, 1e-300) / high)

    return max(one_sided(first, second), one_sided(second, first))


def events_of(runs):
    """Counts of events on either side, each with the number of releases that it was sought in."""
    n = len(runs[0])
    yield [int((~np.isfinite(run)).any(axis=1).sum()) for run in runs], n
    # The direction is chosen on one half of the releases, and the event counted on the other.
    runs = [np.nan_to_num(run, posinf=0, neginf=0) for run in runs]
    scale = max(np.abs(run).max() for run in runs) or 1.0
    means = [(run[::2] / scale).mean(axis=0) for run in runs]
    direction = means[1] - means[0]
    middle = (means[0] + means[1]) @ direction / 2
    yield [int((run[1::2] / scale @ direction > middle).sum()) for run in runs], n // 2


def check_pair(release, tables, epsilon, delta, n_releases):
    runs = [np.array([release(t) for _ in range(n_releases)], dtype=float) for t in tables]
    for counts, n in events_of(runs):
        assert proven_epsilon(*counts, n, delta, n_events=2) <= epsilon


# Mechanisms

# Values, their neighbors, and the most that they differ by.
VALUES = {
    "0 and 1": (0.0, 1.0),
    "0 and a subnormal": (0.0, 5e-324),
    "1e39 and the next number": (1e39, np.nextafter(1e39, np.inf)),
    "3e38 in single precision": (3e38, float(np.nextafter(np.float32(3e38), np.float32(0)))),
    "from end to end": (-1e39, 1e39),
}
MECHANISMS = {
    "laplace": lambda width, d: LaplaceMechanism(0.1, d * width),
    "gaussian": lambda width, d: GaussianMechanism(0.1, sensitivity=np.sqrt(d) * width),
    "proportional": lambda width, d: NonSphericalGaussianMechanism(0.1, widths=width),
    "minimum trace": lambda width, d: NonSphericalGaussianMechanism(
        0.1, widths=width, allocation="minimum_trace"
    ),
}


def count_low_bits(values, exponent):
    """How many values are not multiples of 2 ** exponent."""
    scaled = np.ldexp(values, -exponent)
    return int((scaled != np.rint(scaled)).sum())


# Laplace noise has all values. Normal noise has those that differ most, shared among its laws.
QUICK = [("laplace", values) for values in VALUES]
QUICK += [("gaussian", "1e39 and the next number"), ("gaussian", "0 and a subnormal")]
QUICK += [("minimum trace", "3e38 in single precision"), ("minimum trace", "0 and 1")]


@pytest.mark.parametrize("n_columns", [pytest.param(1, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize("name, values", slow_but(itertools.product(MECHANISMS, VALUES), *QUICK))
def test_mechanisms(name, values, n_columns):
    first, second = VALUES[values]
    # The noise of a subnormal width has no grid; a wider claim holds as well.
    width = max(abs(second - first), 1e-290)
    mechanism = MECHANISMS[name](width, n_columns)
    tables = [np.full((2000, n_columns), value) for value in (first, second)]
    mechanism.fit(tables[0])
    runs = [mechanism.transform(table) for table in tables]
    delta = getattr(mechanism, "delta", 0.0)
    scale = getattr(mechanism, "scale_", None) or np.max(mechanism.sigma_)
    exponents = range(*(np.frexp(scale)[1] + np.array([-60, -30])))
    low_bits = [([count_low_bits(run[:, 0], k) for run in runs], 2000) for k in exponents]
    events = [*events_of(runs), *low_bits]
    for counts, n in events:
        assert proven_epsilon(*counts, n, delta, len(events)) <= mechanism.epsilon


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_a_mechanism_moves_extreme_rows_into_its_ranges(n_rows):
    mechanism = NonSphericalGaussianMechanism(0.5, lower=[0, 0], upper=[1, 1e-3]).fit([[0, 0]])
    tables = [np.vstack([np.full((n_rows - 1, 2), 0.5), [[v, v]]]) for v in (1e39, -1e39)]
    # Each row is a release; the last one differs.
    runs = [
        mechanism.transform(np.tile(table, (1000, 1)))[n_rows - 1 :: n_rows] for table in tables
    ]
    for counts, n in events_of(runs):
        assert proven_epsilon(*counts, n, mechanism.delta, n_events=2) <= mechanism.epsilon


# Private training


def linear(n_features, n_classes, **settings):
    return skorch.NeuralNetClassifier(
        lambda: torch.nn.Linear(n_features, n_classes),
        **{
            "criterion": torch.nn.CrossEntropyLoss,
            "train_split": None,
            "verbose": 0,
            "batch_size": -1,
            "max_epochs": 1,
            "lr": 1.0,
            **settings,
        },
    )


PRIVATE = DPSGDClassifier(
    linear, noise_multiplier=NOISE, target_delta=DELTA, classes=["no", "rare", "yes"]
)
X = np.random.default_rng(0).normal(size=(30, 4))
NAMES = np.array(["no", "yes"])[np.arange(30) % 2]


def neighbors(row, label="yes", X=X, y=NAMES):
    """A table whose last row is planted, and the same with an unknown label, which is no row."""
    table = np.vstack([X, np.broadcast_to(row, (1, 4))])
    return (table, np.append(y, "?")), (table, np.append(y, label))


PAIRS = {
    **{f"a row of {value:g}": neighbors(value) for value in EXTREME},
    "a rare label": neighbors(X[0], "rare"),
    "duplicates": neighbors(1e6, "no", np.repeat(X[:1], 20, axis=0), np.repeat(["no", "yes"], 10)),
    "another duplicate": neighbors(X[0], "no", np.repeat(X[:1], 20, axis=0), np.repeat("no", 20)),
    "zeros and 1e39": neighbors(1e39, "no", np.zeros((5, 4)), NAMES[:5]),
    **{
        f"{n + 1} rows, {value:g}": neighbors(value, "no", X[:n], NAMES[:n])
        for n in range(3)
        for value in (1e39, 1e6)
    },
}


def weights_of(module):
    return torch.cat([p.detach().ravel() for p in module.parameters()]).numpy()


def train(private, table):
    return weights_of(private.fit(*table).estimator_.module_)


# Of the small tables, one of each number of rows.
SMALL = ("1 rows, 1e+06", "2 rows, 1e+39", "2 rows, 1e+06", "3 rows, 1e+39")


@pytest.mark.parametrize("pair", slow_but(PAIRS, *(pair for pair in PAIRS if pair not in SMALL)))
def test_no_row_moves_the_sum_of_a_step_by_more_than_its_limit(pair):
    seen = []
    private = clone(PRIVATE).set_params(noise_multiplier=0, random_state=0)
    private.set_params(estimator=functools.partial(linear, criterion__reduction="sum"))
    private.set_params(on_step=lambda step, gradient, parameters: seen.append(gradient))
    for table in PAIRS[pair]:
        private.fit(*table)
    assert np.linalg.norm(seen[1] - seen[0]) <= 1 + 1e-6
    if "39" not in pair and "38" not in pair:  # where a gradient can be infinite, there is none
        assert (seen[1] != seen[0]).any()


def test_private_training():
    check_pair(functools.partial(train, PRIVATE), PAIRS["a row of 1e+39"], EPSILON, DELTA, 24)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
def test_private_training_often(pair):
    check_pair(functools.partial(train, PRIVATE), PAIRS[pair], EPSILON, DELTA, 300)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS)
def test_private_training_on_lots(pair):
    tables = PAIRS[pair]
    lot = max(1, len(tables[0][0]) // 2)
    net = functools.partial(linear, batch_size=lot, max_epochs=2)
    private = clone(PRIVATE).set_params(estimator=net, noise_multiplier=2.0)
    private.fit(*tables[1])
    check_pair(functools.partial(train, private), tables, private.epsilon_, DELTA, 150)


# The generator

GENERATOR = DPWassersteinGAN(
    noise_multiplier=NOISE,
    target_delta=DELTA,
    batch_size=100,
    max_iter=1,
    n_critic=1,
    critic_layers=(3,),
    generator_layers=(3,),
)
ROWS = np.random.default_rng(0).random((10, 2))


def planted(row, rows):
    return np.vstack([rows, np.full((1, 2), row)])


# Each pair with the end of its ranges, which start at minus that; the last row is replaced.
REPLACED = {
    "0 by 1": (1.0, planted(0.0, ROWS), planted(1.0, ROWS)),
    "a subnormal by 1": (1.0, planted(1e-320, ROWS), planted(1.0, ROWS)),
    "1e39 by -1e39": (1e39, planted(1e39, ROWS), planted(-1e39, ROWS)),
    "0 by 3e38 among zeros": (3e38, planted(0.0, 0 * ROWS), planted(3e38, 0 * ROWS)),
    "duplicates": (1.0, planted(0.5, 0 * ROWS + 0.5), planted(-1.0, 0 * ROWS + 0.5)),
    "a rare value": (1.0, planted(0.0, 0 * ROWS), planted([0.0, 1.0], 0 * ROWS)),
    "another value of a block": (2.0, *(planted(end, 0 * ROWS).astype(int) for end in (-2, 2))),
    **{
        f"{n + 1} rows": (1e39, planted(-1e39, ROWS[:n]), planted(1e39, ROWS[:n])) for n in range(3)
    },
}


def generate(gan, table):
    gan.fit(table)
    return np.r_[weights_of(gan.critic_), weights_of(gan.generator_)]


def check_generator(pair, privacy, n_releases):
    end, *tables = REPLACED[pair]
    gan = clone(GENERATOR).set_params(lower=-end, upper=end, privacy=privacy)
    # To replace a row is to leave one out and to put another one in.
    budget = 2 * EPSILON, DELTA * (1 + np.exp(EPSILON))
    check_pair(functools.partial(generate, gan), tables, *budget, n_releases)


@pytest.mark.parametrize(
    "pair, privacy",
    [
        ("1e39 by -1e39", "bounds"),
        pytest.param("another value of a block", "clipping", marks=pytest.mark.slow),
    ],
)
def test_private_generator(pair, privacy):
    check_generator(pair, privacy, 30)


@pytest.mark.slow
@pytest.mark.parametrize("privacy", ["bounds", "clipping"])
@pytest.mark.parametrize("pair", REPLACED)
def test_private_generator_often(pair, privacy):
    check_generator(pair, privacy, 300)


# The test itself


@pytest.mark.parametrize("n_releases", [24, 300])
def test_the_test_finds_what_is_not_private(n_releases):
    def too_little_noise(table):
        return np.clip(table[0], -5, 5).sum(axis=0) + np.random.default_rng().normal(size=4)

    tables = [(np.vstack([X, np.full((1, 4), value)]), NAMES) for value in (0.0, 1e39)]
    with pytest.raises(AssertionError):
        check_pair(too_little_noise, tables, EPSILON, DELTA, n_releases)

    def without_care(table):
        return np.float32(table[0]).sum(axis=0)

    with np.errstate(over="ignore"), pytest.raises(AssertionError):
        check_pair(without_care, tables, EPSILON, DELTA, n_releases)


def test_the_test_finds_floating_point_noise():
    rng = np.random.default_rng(0)
    runs = [value + rng.laplace(scale=10, size=2000) for value in (0.0, 1.0)]
    exponents = range(-57, -43)
    proven = [
        proven_epsilon(*(count_low_bits(run, k) for run in runs), 2000, 0.0, len(exponents))
        for k in exponents
    ]
    assert max(proven) > 0.1
