"""Pools of forests and boosted trees against the loop that one would write with joblib.

The same models on the same halves, once by a ShadowPool and once by hand. Prints, for both, the
seconds, the processors that were busy (processor time by seconds) and the threads that ran or
waited for a processor: more of them than processors means that they stood in each other's way.
Asserts nothing.

    python benchmarks/bench_forests.py [--models 64] [--n-jobs 2 1 0] [--repeats 3] [--busy 0]

0 jobs stand for n_jobs=None; ``--busy 1`` keeps that many processors busy with something else.
"""

import argparse
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
from _processes import Watch
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedShuffleSplit

from skmia import ShadowPool
from skmia.datasets import make_membership_problem

MODELS = {
    "RandomForest(100)": (RandomForestClassifier(100), 2000),
    "RandomForest(100, n_jobs=2)": (RandomForestClassifier(100, n_jobs=2), 2000),
    "HistGradientBoosting(50)": (HistGradientBoostingClassifier(max_iter=50), 2000),
    "HistGradientBoosting(50), large": (HistGradientBoostingClassifier(max_iter=50), 40_000),
}


def fit_one_by_hand(estimator, X, y, inside, seed):
    model = clone(estimator).set_params(random_state=seed).fit(X[inside], y[inside])
    p = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return np.log(p / (1 - p))


def fit_by_hand(estimator, records, n_models, n_jobs):
    """Scaled logits and memberships of shadow models, as a user would compute them."""
    X, y = records.X, records.y
    halves = StratifiedShuffleSplit(n_models // 2, train_size=0.5, random_state=0)
    inside = np.zeros((n_models, len(y)), dtype=bool)
    for k, (first, second) in enumerate(halves.split(X, y)):
        inside[2 * k, first] = True
        inside[2 * k + 1, second] = True
    tasks = (delayed(fit_one_by_hand)(estimator, X, y, row, k) for k, row in enumerate(inside))
    return np.array(Parallel(n_jobs=n_jobs)(tasks), dtype=np.float32), inside


def fit_pool(estimator, records, n_models, n_jobs):
    return ShadowPool(estimator, n_models, n_jobs=n_jobs, random_state=0).fit(records)


@contextmanager
def kept_busy(n_processors):
    others = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_processors)
    ]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def measure(function, *arguments):
    with Watch() as watch:
        function(*arguments)
    return watch.seconds, watch.busy, watch.busy / watch.seconds, watch.threads


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--n-jobs", type=int, nargs="+", default=[2, 1, 0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--only", default="", help="part of the name of a model")
    options = parser.parse_args()
    titles = ("by hand s", "busy", "threads", "pool s", "busy", "threads", "ratio", "cpu ratio")
    print(f"{options.models} models; medians of {options.repeats}")
    print(f"{'model':34s}{'n_jobs':>6s}" + "".join(f"{title:>10s}" for title in titles))
    for name, (estimator, n) in MODELS.items():
        if options.only not in name:
            continue
        records, _ = make_membership_problem(n, random_state=0)
        for n_jobs in options.n_jobs:
            arguments = estimator, records, options.models, n_jobs or None
            fit_pool(estimator, records, 2, n_jobs or None)  # starts the workers
            with kept_busy(options.busy):
                rounds = [
                    measure(fit_by_hand, *arguments) + measure(fit_pool, *arguments)
                    for _ in range(options.repeats)
                ]
            hand, hand_cpu, hand_busy, hand_threads, *pool = np.median(rounds, axis=0)
            seconds, cpu, busy, threads = pool
            print(
                f"{name:34s}{n_jobs or 'None':>6}{hand:10.2f}{hand_busy:10.2f}{hand_threads:10.1f}"
                f"{seconds:10.2f}{busy:10.2f}{threads:10.1f}{hand / seconds:10.2f}"
                f"{hand_cpu / cpu:10.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
