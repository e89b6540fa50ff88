"""Lower bounds of epsilon for the settings of Jagielski et al. (2020) on Fashion-MNIST.

    python benchmarks/bench_jagielski.py --data FOLDER [--trials 500]

The slides print 24 epochs, a learning rate of .15, batches of 250 and no penalty. Here a private
logistic regression is trained so on the 12,000 shirts and trousers (as 14 x 14 pixels), 1,152
steps, with and without the canary, and the auditor sees the canary's loss. Rows are drawn for each
step by coin flips of their own in each training, as the upper bound assumes. Many models take
their steps side by side. Writes jagielski_24_epochs.csv, a row for each budget and canary; rows
that are there are not made again. FOLDER holds fashion_mnist.npz.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

from skmia._core.accountant import choose_noise_multiplier
from skmia.epsilon.bounds import epsilon_lower_bound
from skmia.epsilon.canaries import make_canaries

EPOCHS, RATE, BATCH, CLIP, DELTA = 24, 0.15, 250, 1.0, 1e-5
BUDGETS, COPIES = (10.0, 4.0, 1.0), (2, 1)
SIDE_BY_SIDE = 25  # their rows fit into the cache


def read_images(folder):
    stored = np.load(folder / "fashion_mnist.npz")

    def prepare(part):
        keep = stored[f"y_{part}"] < 2
        pixels = np.float32(stored[f"x_{part}"][keep]).reshape(-1, 14, 2, 14, 2)
        X = pixels.mean(axis=(2, 4)).reshape(keep.sum(), -1) / 255
        return np.hstack([X, np.ones((len(X), 1), np.float32)]), stored[f"y_{part}"][keep]

    return *prepare("train"), *prepare("test")


def draw_rows(n_models, n_rows, rate, rng):
    """Rows of a step by a coin flip each: the gaps between heads are geometric."""
    most = int(n_rows * rate + 8 * (n_rows * rate) ** 0.5)
    rows = rng.geometric(rate, (n_models, most)).cumsum(axis=1) - 1
    taken = rows < n_rows
    return np.where(taken, rows, 0), taken


def train(X, sign, n_models, noise, rng):
    """Weights of private logistic regressions, of shape (models, features)."""
    weights = np.zeros((n_models, X.shape[1]), np.float32)
    norms, rate = np.linalg.norm(X, axis=1), BATCH / len(X)
    for _ in range(EPOCHS * len(X) // BATCH):
        rows, taken = draw_rows(n_models, len(X), rate, rng)
        x, side = X[rows], sign[rows]
        error = -side * expit(-side * (x @ weights[:, :, None])[:, :, 0])
        error *= taken / np.maximum(1, np.abs(error) * norms[rows] / CLIP)
        total = (error[:, None].astype(np.float32) @ x)[:, 0]
        total += noise * CLIP * rng.standard_normal(total.shape, dtype=np.float32)
        weights -= RATE / BATCH * total
    return weights


def train_all(X, sign, n_models, noise, seed):
    parts = []
    for first in range(0, n_models, SIDE_BY_SIDE):
        rng = np.random.default_rng([*seed, first])
        parts.append(train(X, sign, min(SIDE_BY_SIDE, n_models - first), noise, rng))
    return np.concatenate(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--trials", type=int, default=500, help="with the canary, and without")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    X, y, X_test, y_test = read_images(options.data)
    sign = np.where(y == 1, 1, -1).astype(np.float32)
    canary = make_canaries(X[:, :-1], y, kind="clip_bkd")
    poison = np.append(canary.X[0], 1).astype(np.float32)
    side = np.float32(1 if canary.y[0] == 1 else -1)
    path, n_steps = options.out / "jagielski_24_epochs.csv", EPOCHS * len(X) // BATCH
    for budget in BUDGETS:
        noise = choose_noise_multiplier(budget, DELTA, BATCH / len(X), n_steps, "prv")
        without = None
        for n_copies in COPIES:
            kept = pd.read_csv(path) if path.exists() else pd.DataFrame([], columns=["proven"])
            if ((kept["proven"] == budget) & (kept.get("copies") == n_copies)).any():
                continue
            start = time.process_time()
            if without is None:
                without = train_all(X, sign, options.trials, noise, [int(budget), 0])
            poisoned = np.vstack([X, *[poison] * n_copies]), np.append(sign, [side] * n_copies)
            weights = train_all(*poisoned, options.trials, noise, [int(budget), n_copies])
            scores = side * np.concatenate([without, weights]) @ poison  # minus the loss, reordered
            bits = np.repeat([0, 1], options.trials)
            found = epsilon_lower_bound(bits, scores, delta=DELTA, n_copies=n_copies)
            right = (X_test @ without.T > 0) == (y_test == 1)[:, None]
            row = {"proven": budget, "copies": n_copies, "noise": round(noise, 4)}
            row |= {"trials": options.trials, "test_accuracy": round(right.mean(), 4)}
            row |= {"lower_bound": round(found.epsilon, 4)}
            row |= {"seconds": round(time.process_time() - start)}
            pd.DataFrame([row]).to_csv(path, mode="a", header=not path.exists(), index=False)
            print(row, flush=True)


if __name__ == "__main__":
    main()
