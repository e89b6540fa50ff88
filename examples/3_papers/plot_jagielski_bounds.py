"""
Lower bounds of epsilon for private gradient descent (Jagielski et al. 2020)
============================================================================

Private gradient descent has a proven upper bound of epsilon. An attack gives a lower bound, and the
truth lies in between. Jagielski, Ullman and Oprea (2020) train thousands of models with a poisoned
record and without it, and measure how far the two bounds are apart. This example does so for a
logistic regression and a net with one hidden layer, with three kinds of records. It then gives the
auditor access to every training step, which brings the bounds much closer together.

The images are downloaded on first use. The full version takes about eight minutes on one core.
"""

# sphinx_gallery_thumbnail_path = "_static/examples/plot_jagielski_bounds.png"

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit, gammaln, logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin

from skmia import Records
from skmia.datasets import fetch_fashion_mnist
from skmia.epsilon import EpsilonAudit, one_run_epsilon_lower_bound
from skmia.epsilon.bounds import epsilon_lower_bound, gaussian_epsilon
from skmia.epsilon.canaries import make_gradient_canaries, trace_scores

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer budgets, trainings and steps
BUDGETS = (4.0,) if FAST else (1.0, 4.0, 10.0)
N_TRIALS, N_STEPS, N_ROWS = (8, 10, 200) if FAST else (500, 32, 1000)
DELTA, SAMPLE_RATE = 1e-5, 0.25
BATCH_SIZE = int(SAMPLE_RATE * N_ROWS)

# %%
# The images
# ----------
# The images are shirts and trousers of Fashion-MNIST, as 14 x 14 pixels.


def load_images():
    folder = os.environ.get("SKMIA_EXAMPLE_DATA")
    if folder:
        stored = np.load(Path(folder) / "fashion_mnist.npz")
        images = Records(stored["x_train"], stored["y_train"])
    else:
        images = fetch_fashion_mnist()
        images = images[images["split"] == "train"]
    images = images[np.flatnonzero(images.y < 2)]
    images = images[np.random.default_rng(0).permutation(len(images))]
    pixels = (
        np.float32(images.X).reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)) / 255
    )
    return pixels.reshape(len(images), -1), images.y


X, y = load_images()
X_test, y_test = X[N_ROWS : 3 * N_ROWS], y[N_ROWS : 3 * N_ROWS]
X, y = X[:N_ROWS], y[:N_ROWS]

# %%
# The training and its upper bound
# --------------------------------
# In each step every row is selected by a coin flip, its gradient is clipped to norm 1, and Gaussian
# noise is added to the sum. Only sums of clipped gradients are needed, and they can be computed
# without the gradient of a single row: its norm is the norm of the row times the norm of the error
# that reaches it. An auditor may add gradients of canaries and may read the noisy sums.


def clipped_sums(weights, x, sign):
    """Sums of the gradients of the logistic loss, each clipped to norm 1, by
    layer."""
    if len(weights) == 1:
        error = -sign * expit(-sign * (x @ weights[0]))
        norm = np.abs(error) * np.linalg.norm(x, axis=1)
        return [(error / np.maximum(1, norm)) @ x]
    first, last = weights
    before = x @ first
    hidden = np.hstack(
        [np.maximum(before, 0), np.ones((len(x), 1), dtype=x.dtype)]
    )
    error = -sign * expit(-sign * (hidden @ last))
    back = error[:, None] * last[:-1] * (before > 0)
    squares = (back**2).sum(axis=1) * (x**2).sum(axis=1)
    squares += error**2 * (hidden**2).sum(axis=1)
    scale = 1 / np.maximum(1, np.sqrt(squares))
    return [x.T @ (back * scale[:, None]), (error * scale) @ hidden]


class PrivateNet(ClassifierMixin, BaseEstimator):
    def __init__(
        self,
        n_hidden=0,
        noise=1.0,
        n_steps=N_STEPS,
        canaries=None,
        random_state=None,
        sample_rate=SAMPLE_RATE,
    ):
        self.n_hidden = n_hidden
        self.noise = noise
        self.n_steps = n_steps
        self.canaries = canaries  # gradients that take part in the training
        self.random_state = random_state
        self.sample_rate = sample_rate

    def _start(self, n_features):
        """Weights to start from, the same in each training: they are
        public."""
        if not self.n_hidden:
            return [np.zeros(n_features, dtype=np.float32)]
        rng = np.random.default_rng(0)
        first = rng.normal(
            0, np.sqrt(2 / n_features), (n_features, self.n_hidden)
        )
        last = np.append(
            rng.normal(0, np.sqrt(1 / self.n_hidden), self.n_hidden), 0
        )
        return [first.astype(np.float32), last.astype(np.float32)]

    def fit(self, X, y):
        rng = np.random.default_rng(self.random_state)
        self.classes_ = np.unique(y)
        sign = np.where(y == self.classes_[1], 1, -1).astype(np.float32)
        X = np.hstack([X, np.ones((len(X), 1))]).astype(np.float32)
        self.weights_, self.trace_ = self._start(X.shape[1]), []
        for _ in range(self.n_steps):
            expected = 0.0
            if self.canaries is not None and self.n_hidden:
                expected = (
                    self.sample_rate
                    * clipped_sums(self.weights_, X, sign)[0].ravel()
                )
            rows = np.flatnonzero(rng.random(len(X)) < self.sample_rate)
            sums = clipped_sums(self.weights_, X[rows], sign[rows])
            if self.canaries is not None:
                coins = rng.random(len(self.canaries)) < self.sample_rate
                drawn = self.canaries[coins].sum(axis=0)
                sums[0] = sums[0] + drawn.reshape(sums[0].shape)
            for layer, total in zip(self.weights_, sums, strict=True):
                total += self.noise * rng.standard_normal(
                    total.shape, dtype=np.float32
                )
                layer -= 0.15 / BATCH_SIZE * total
            if self.canaries is not None:
                self.trace_.append(sums[0].ravel() - expected)
        return self

    def predict_proba(self, X):
        values = np.hstack([X, np.ones((len(X), 1))]) @ self.weights_[0]
        if self.n_hidden:
            values = (
                np.maximum(values, 0) @ self.weights_[1][:-1]
                + self.weights_[1][-1]
            )
        return np.stack([expit(-values), expit(values)], axis=1)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def upper_bound(noise, n_steps=N_STEPS, sample_rate=SAMPLE_RATE):
    """Epsilon by Rényi differential privacy, at the best of the orders 2 to
    255; or exactly."""
    if sample_rate == 1:
        return gaussian_epsilon(np.sqrt(n_steps) / noise, DELTA)
    bounds = []
    for a in range(2, 256):
        k = np.arange(a + 1)
        terms = (
            gammaln(a + 1)
            - gammaln(k + 1)
            - gammaln(a - k + 1)
            + k * np.log(sample_rate)
        )
        terms += (a - k) * np.log1p(-sample_rate) + k * (k - 1) / (
            2 * noise**2
        )
        spent = n_steps * logsumexp(terms) / (a - 1)
        bounds.append(spent + np.log1p(-1 / a) - np.log(DELTA * a) / (a - 1))
    return min(bounds)


def find_noise(epsilon, *plan):
    return brentq(lambda noise: upper_bound(noise, *plan) - epsilon, 0.2, 200)


# %%
# Lower bounds from finished models
# ---------------------------------
# The auditor sees the loss of the poisoned record. ClipBKD is a record in a direction in which the
# images do not vary; the other records are an image of the data (membership inference) and an image
# with the wrong label. Several copies are easier to detect, and their bound is divided by their
# number.

MODELS = {"logistic regression": 0, "two layers": 16}
CANARIES = {
    "ClipBKD": ("clip_bkd", 1),
    "2 x ClipBKD": ("clip_bkd", 2),
    "2 x wrong label": ("random_label", 2),
    "2 x membership": ("natural", 2),
}

rows = []
for model, n_hidden in MODELS.items():
    for budget in BUDGETS:
        net = PrivateNet(n_hidden, find_noise(budget))
        accuracy = (
            PrivateNet(n_hidden, net.noise, random_state=0)
            .fit(X, y)
            .score(X_test, y_test)
        )
        for name, (canary, n_copies) in CANARIES.items():
            audit = EpsilonAudit(
                net,
                canary,
                n_trials=N_TRIALS,
                n_copies=n_copies,
                delta=DELTA,
                random_state=0,
            ).fit(X, y)
            rows.append(
                (model, budget, net.noise, accuracy, name, audit.epsilon_)
            )
columns = [
    "model",
    "upper_bound",
    "noise",
    "test_accuracy",
    "canary",
    "lower_bound",
]
table = pd.DataFrame(rows, columns=columns)
shown = table.pivot_table(
    "lower_bound", ["model", "upper_bound"], "canary", sort=False
)
print(shown.round(3).to_string(), "\n")

# %%
# Lower bounds from the steps
# ---------------------------
# An auditor with more access inserts a gradient of a single entry instead of a record, where other
# records have none (a pixel that is black in all images), and looks for it in the noisy sums of all
# steps. A Gaussian trade-off converts two error rates into epsilon at any delta; without that
# assumption two thousand training runs show less. If every row takes part in every step, the
# trade-off is exactly Gaussian and the upper bound is the truth. If rows are drawn at random, many
# steps come close to it, and the upper bound is not the best possible.
#
# A hidden layer has enough weights for many canaries in one training run. The auditor knows the
# records, and subtracts their expected contribution.

N_WHITE_STEPS, N_WHITE, N_REPEATS = (10, 20, 1) if FAST else (32, 1000, 5)
WHITE_BUDGETS = (4.0,) if FAST else (4.0, 10.0)
N_CANARIES = 100 if FAST else 1000
ROWS = {SAMPLE_RATE: slice(None), 1.0: slice(BATCH_SIZE)}  # as many in a step


def log_ratios(trace, canaries, noise, sample_rate):
    """Scores of canaries that take part in a step with the probability of any
    row."""
    settings = {
        "batch_size": 1,
        "noise_multiplier": noise,
        "sample_rate": sample_rate,
    }
    return trace_scores(np.array(trace), canaries, **settings)


def audit_steps(noise, sample_rate, seed):
    """Scores of one canary in many trainings of a logistic regression."""
    data = X[ROWS[sample_rate]], y[ROWS[sample_rate]]
    canary = np.zeros((1, X.shape[1] + 1), dtype=np.float32)
    canary[0, X.std(axis=0).argmin()] = 1
    with_canary = np.tile([True, False], N_WHITE)
    scores = []
    for k, inside in enumerate(with_canary):
        given = canary if inside else canary[:0]
        net = PrivateNet(
            0, noise, N_WHITE_STEPS, given, (seed, k), sample_rate
        ).fit(*data)
        scores.append(log_ratios(net.trace_, canary, noise, sample_rate)[0])
    return with_canary, np.array(scores)


def audit_one_run(noise, sample_rate, seed):
    """Scores of many canaries in one training of the net."""
    data, n_hidden = (
        (X[ROWS[sample_rate]], y[ROWS[sample_rate]]),
        MODELS["two layers"],
    )
    n_weights = (X.shape[1] + 1) * n_hidden
    made = make_gradient_canaries(
        N_CANARIES, n_parameters=n_weights, random_state=seed
    )
    canaries = np.float32(made.gradients)
    coins = (
        np.random.default_rng(seed).integers(2, size=N_CANARIES).astype(bool)
    )
    net = PrivateNet(
        n_hidden, noise, N_WHITE_STEPS, canaries[coins], seed, sample_rate
    )
    return coins, log_ratios(
        net.fit(*data).trace_, canaries, noise, sample_rate
    )


rows = []
for sample_rate in ROWS:
    for budget in WHITE_BUDGETS:
        noise = find_noise(budget, N_WHITE_STEPS, sample_rate)
        for seed in range(N_REPEATS):
            bits, scores = audit_steps(noise, sample_rate, seed)
            coins, one_run = audit_one_run(noise, sample_rate, seed)
            fixed = {
                "delta": DELTA,
                "n_guesses": N_CANARIES // 5,
            }  # chosen beforehand
            bounds = {
                "many runs, Gaussian": epsilon_lower_bound(
                    bits, scores, method="gaussian", delta=DELTA
                ),
                "many runs, any": epsilon_lower_bound(
                    bits, scores, delta=DELTA
                ),
                "one run, Gaussian": one_run_epsilon_lower_bound(
                    coins, one_run, bound="gdp", **fixed
                ),
                "one run, any": one_run_epsilon_lower_bound(
                    coins, one_run, **fixed
                ),
            }
            given = (sample_rate, budget, noise, seed)
            rows += [
                (*given, name, one.epsilon) for name, one in bounds.items()
            ]
columns = [
    "sample_rate",
    "upper_bound",
    "noise",
    "repeat",
    "audit",
    "lower_bound",
]
white = pd.DataFrame(rows, columns=columns)
shares = white.assign(share=white["lower_bound"] / white["upper_bound"])
groups = shares.groupby(["sample_rate", "upper_bound", "audit"], sort=False)
print(
    groups[["lower_bound", "share"]]
    .agg(["min", "mean", "max"])
    .round(3)
    .to_string()
)

# %%
# The figure
# ----------

figure, axes = plt.subplots(
    1, 4, figsize=(14, 4), layout="constrained", sharey=True
)
for ax, (model, part) in zip(
    axes, table.groupby("model", sort=False), strict=False
):
    for name, line in part.groupby("canary", sort=False):
        ax.plot(
            line["upper_bound"], line["lower_bound"], "o-", ms=4, label=name
        )
    ax.set_title(f"Finished models: {model}")
for ax, (sample_rate, part) in zip(
    axes[2:], white.groupby("sample_rate"), strict=True
):
    for name, line in part.groupby("audit", sort=False):
        ax.plot(
            line["upper_bound"], line["lower_bound"], "o", ms=4, label=name
        )
    ax.set_title(f"Every step, {sample_rate:.0%} of the rows in each")
for ax in axes:
    ax.axline((0, 0), slope=1, color="black", linewidth=1)
    ax.set(xlabel="Upper bound of epsilon", xlim=(0, 11), ylim=(-0.2, 11))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small")
axes[0].set_ylabel("Lower bound, 95%")
plt.show()

# %%
# The black line is the proven bound, and no lower bound exceeds it. Finished models stay far below:
# the auditor sees one number per model, and with 250 training runs on either side no bound can
# exceed 4.2. ClipBKD is detected, and an image of the data is not. An auditor who sees the steps
# finds half of the proven epsilon or more, if a Gaussian trade-off is assumed and all rows take
# part in each step. One training run with many canaries then shows about three quarters as much,
# for a thousandth of the work.
