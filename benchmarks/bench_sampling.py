"""Fixed batches that are accounted for as Poisson samples, found by an audit.

    python benchmarks/bench_sampling.py [--n-runs 800] [--save]

All rows but one have the same clipped gradient, and the last one has the opposite or, without the
canary, none. The net is trained for one epoch of batches of one row, on Poisson samples and on
shuffled batches of a fixed size, many times with the canary and many times without it. An audit
that sees all noisy gradients bounds epsilon from below; the claim is that of the accountant, which
holds for Poisson samples. With fixed batches each row takes part once and no row joins another one,
so that the step of the canary stands out even when it contributes nothing.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import logsumexp
from skorch import NeuralNetClassifier
from torch import nn

from skmia.defenses import DPSGDClassifier
from skmia.epsilon.bounds import epsilon_lower_bound

RESULT = Path(__file__).parent / "results" / "sampling.md"
SETTINGS = [(30, 0.7, 0.01), (30, 0.5, 0.01)]  # rows, noise, delta
CLIP = 0.1
# The gradient of a row of the class 0: one weight falls as the other one rises.
DIRECTION = np.array([-1.0, 1.0]) / np.sqrt(2)
INTRODUCTION = """# Fixed batches and Poisson samples

Lower bounds of epsilon at 95% by `python benchmarks/bench_sampling.py --save`, beside the epsilon
that the accountant claims at this delta for Poisson samples. Batches of one row, one epoch; runs
half with the canary and half without. The audit of fixed batches refutes the claim if its bound is
above it; that of Poisson samples must not. The threshold was chosen on simulated laws, before
the runs. "Expected" is the epsilon of fixed batches with these rows, by the same simulation.

"""


def make_net(n_features, n_classes):
    def zero():
        layer = nn.Linear(n_features, n_classes, bias=False)
        nn.init.zeros_(layer.weight)
        return layer

    return NeuralNetClassifier(
        zero,
        criterion=nn.CrossEntropyLoss,
        batch_size=1,
        max_epochs=1,
        lr=1e-4,
        iterator_train__shuffle=True,
        train_split=None,
        verbose=0,
    )


def make_private(noise, delta, poisson, seen):
    return DPSGDClassifier(
        make_net,
        noise_multiplier=noise,
        max_grad_norm=CLIP,
        target_delta=delta,
        classes=[0, 1],
        poisson_sampling=poisson,
        accountant="prv",
        on_step=seen,
    )


def log_ratio(steps, noise):
    """Log-likelihood ratio of fixed batches: a step with the canary, or with no other row."""
    shown = 1 - steps  # a step of another row is at 0, the canary at 2, its absence at 1
    with_canary = logsumexp((2 * shown - 2) / noise**2, axis=-1)
    return with_canary - logsumexp((shown - 0.5) / noise**2, axis=-1)


def score_run(n_rows, noise, delta, poisson, with_canary):
    """Train once and score the canary; also the epsilon that is claimed."""
    trace = []
    X, y = np.ones((n_rows, 1)), np.zeros(n_rows, dtype=int)
    X[-1], y[-1] = float(with_canary), 1
    private = make_private(noise, delta, poisson, lambda step, noisy, weights: trace.append(noisy))
    private.fit(X, y)
    steps = np.array(trace) @ DIRECTION / CLIP
    return log_ratio(steps, noise), private.epsilon_


def draw_scores(n_rows, noise, n_draws=200_000):
    """Scores with and without the canary under the laws of fixed batches, without a training."""
    rng = np.random.default_rng(0)
    scores = []
    for level in (2, 1):
        shown = noise * rng.normal(size=(n_draws, n_rows))
        shown[:, 0] += level
        scores.append(log_ratio(1 - shown, noise))
    return scores


def expected_epsilon(included, absent, delta):
    """Epsilon at delta of the two laws of a log-likelihood ratio, in the worse direction."""
    found = []
    for loss in (included, -absent):
        low, high = 0.0, 60.0
        for _ in range(40):
            middle = (low + high) / 2
            spent = np.clip(-np.expm1(np.minimum(middle - loss, 0)), 0, None).mean()
            low, high = (middle, high) if spent > delta else (low, middle)
        found.append(low)
    return max(found)


def choose_threshold(included, absent, delta, n_runs):
    """The threshold whose bound is the highest where the counts are the expected ones."""
    n = n_runs // 2
    tried = np.quantile(np.concatenate([included, absent]), np.linspace(0.01, 0.99, 99))
    hits = [round(n * (included >= t).mean()) for t in tried]
    false = [round(n * (absent >= t).mean()) for t in tried]
    bits = np.repeat([1, 0], n)
    values = []
    for tp, fp in zip(hits, false, strict=True):
        guesses = np.concatenate([np.arange(n) < tp, np.arange(n) < fp]).astype(float)
        values.append(epsilon_lower_bound(bits, guesses, threshold=0.5, delta=delta).epsilon)
    return tried[int(np.argmax(values))]


def run_setting(n_rows, noise, delta, n_runs):
    bits = np.repeat([1, 0], n_runs // 2)
    laws = draw_scores(n_rows, noise)
    threshold = choose_threshold(*laws, delta, n_runs)
    row = {"rows": n_rows, "noise": noise, "delta": delta}
    for title, poisson in (("Poisson samples", True), ("fixed batches", False)):
        runs = [score_run(n_rows, noise, delta, poisson, bool(bit)) for bit in bits]
        if poisson:
            row["claimed"] = runs[0][1]
        scores = [score for score, _ in runs]
        found = epsilon_lower_bound(bits, scores, threshold=threshold, delta=delta)
        row[f"bound, {title}"] = found.epsilon
    return row | {"expected": expected_epsilon(*laws, delta)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-runs", type=int, default=800)
    parser.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    rows = []
    for setting in SETTINGS:
        rows.append(run_setting(*setting, arguments.n_runs))
        print(rows[-1], flush=True)
    table = pd.DataFrame(rows).round(2).to_markdown(index=False)
    text = f"{INTRODUCTION}{table}\n\n{arguments.n_runs} runs of each.\n"
    print(text)
    if arguments.save:
        RESULT.write_text(text)


if __name__ == "__main__":
    main()
