"""No planted pair of neighbors is told apart better than the claimed epsilon allows.

Each test trains on a table and on its neighbor many times, counts an event that was fixed before,
and bounds epsilon from below by Clopper and Pearson at 95%.
"""

import numpy as np
import pytest
from scipy.stats import beta

from skmia.defenses import DPSGDClassifier
from skmia.synthetic import DPWassersteinGAN

torch = pytest.importorskip("torch")
skorch = pytest.importorskip("skorch")
pytest.importorskip("opacus")

N_FITS = 40
X, Y = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30) % 2
EXTREME = [1e39, 3e38, 0.0, 1e-42]


def proven_epsilon(first, second, n, delta):
    """What two counts of an event in n runs prove, in either direction."""

    def one_sided(more, less):
        low = beta.ppf(0.0125, more, n - more + 1) if more else 0.0
        high = beta.ppf(0.9875, less + 1, n - less) if less < n else 1.0
        return np.log(max(low - delta, 1e-300) / high)

    return max(one_sided(first, second), one_sided(second, first))


def check_pair(release, tables, epsilon, delta):
    """Two events: a number that is not finite, and a projection beyond the middle."""
    runs = [np.array([release(table) for _ in range(N_FITS)], dtype=float) for table in tables]
    broken = [int((~np.isfinite(run)).any(axis=1).sum()) for run in runs]
    assert proven_epsilon(*broken, N_FITS, delta) <= epsilon
    # The direction is chosen on one half of the runs, and the event counted on the other.
    means = [run[::2].mean(axis=0) for run in runs]
    direction = means[1] - means[0]
    middle = (means[0] + means[1]) @ direction / 2
    counts = [int((run[1::2] @ direction > middle).sum()) for run in runs]
    assert proven_epsilon(*counts, N_FITS // 2, delta) <= epsilon


def linear(n_features, n_classes):
    return skorch.NeuralNetClassifier(
        lambda: torch.nn.Linear(n_features, n_classes),
        criterion=torch.nn.CrossEntropyLoss,
        train_split=None,
        verbose=0,
        batch_size=-1,
        max_epochs=1,
        lr=1.0,
    )


PRIVATE = DPSGDClassifier(
    linear, noise_multiplier=8.4, target_delta=1e-5, classes=["no", "rare", "yes"]
)
NAMES = np.array(["no", "yes"])[Y]


def trained_weights(table):
    model = PRIVATE.fit(*table).estimator_
    return torch.cat([p.detach().ravel() for p in model.module_.parameters()]).numpy()


def with_row(row, label="yes", X=X, y=NAMES):
    return np.vstack([X, np.broadcast_to(row, (1, X.shape[1]))]), np.append(y, label)


PAIRS = {
    **{f"a row of {value:g}": ((X, NAMES), with_row(value)) for value in EXTREME},
    "a rare label": ((X, NAMES), with_row(X[0], "rare")),
    "an unknown label": ((X, NAMES), with_row(X[0], "secret")),
    "duplicates": (
        (np.repeat(X[:1], 20, axis=0), np.array(["no", "yes"] * 10)),
        with_row(1e6, "no", np.repeat(X[:1], 20, axis=0), np.array(["no", "yes"] * 10)),
    ),
    "two rows and three": ((X[:2], NAMES[:2]), with_row(1e6, "no", X[:2], NAMES[:2])),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_private_training(pair):
    check_pair(trained_weights, PAIRS[pair], 0.4531, 1e-5)


@pytest.mark.parametrize("privacy", ["bounds", "clipping"])
@pytest.mark.parametrize("row", [0.0, 1.0, 1e-320])
def test_private_generator(privacy, row):
    rows = np.random.default_rng(0).random((10, 2))
    gan = DPWassersteinGAN(
        noise_multiplier=8.4,
        target_delta=1e-5,
        privacy=privacy,
        batch_size=11,
        max_iter=1,
        n_critic=1,
        critic_layers=(3,),
        generator_layers=(3,),
    )

    def release(table):
        critic = gan.fit(table).critic_
        return torch.cat([p.detach().ravel() for p in critic.parameters()]).numpy()

    tables = rows, np.vstack([rows, np.full((1, 2), row)])
    check_pair(release, tables, 0.4531, 1e-5)


def test_the_test_finds_what_is_not_private():
    def release(table):
        return table[0].mean(axis=0) + 0.1 * np.random.default_rng().normal(size=4)

    with pytest.raises(AssertionError):
        check_pair(release, ((X, NAMES), with_row(1e2)), 0.4531, 1e-5)
