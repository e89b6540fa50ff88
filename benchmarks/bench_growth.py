"""How time and memory of a pool and of its attacks grow with records, models and features.

Each size is doubled while the others stay as they are, in a fresh process; printed are the slopes
of logarithms, 1 where the cost doubles with the size. Times are those of the processor, memory is
the most that numpy and Python took in addition to the records and, for attacks, to the pool. The
model is naive Bayes, whose own time grows as the records times the features. Asserts nothing.

    python benchmarks/bench_growth.py [--repeats 3] [--doublings 3]
"""

import argparse
import json
import os
import subprocess
import sys
import tracemalloc
from time import process_time

import numpy as np
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from skmia import Records, ShadowPool
from skmia.attacks import RMIA, CalibratedAttack, LiRA

# What each size is while another one grows, and the smallest of those that it grows from.
SIZES = {"records": (40_000, 20_000), "models": (64, 32), "features": (20, 20)}
WORKS = ("pool", "LiRA", "RMIA", "CalibratedAttack")


def make_records(n, n_features, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    return Records(X, (X[:, 0] + rng.normal(size=n) > 0).astype(int))


def measure(function):
    """Seconds of the processor, and the most memory that was added, each in a run of its own."""
    start = process_time()
    function()
    seconds = process_time() - start
    tracemalloc.start()
    result = function()
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return result, (seconds, memory)


def measure_all(n_records, n_models, n_features):
    """Time and memory of each work, the records being known before."""
    small = make_records(1000, n_features, seed=1)
    for records in (small, make_records(n_records, n_features)):
        records.fingerprint  # noqa: B018 (is computed once, and not by the pool alone)
        victim = GaussianNB().fit(records.X[::2], records.y[::2])
        pool = ShadowPool(GaussianNB(), n_models, random_state=0)
        pool, cost = measure(lambda pool=pool, records=records: clone(pool).fit(records))
        costs, shadows = {"pool": cost}, pool
        records = records.with_outputs(victim)
        for kind in (LiRA, RMIA, CalibratedAttack):
            attack = kind(None, shadows).fit(records)
            work = lambda attack=attack, records=records: attack.score_samples(records)  # noqa: E731
            costs[kind.__name__] = measure(work)[1]
    return costs


def measure_apart(sizes):
    command = [sys.executable, __file__, "--sizes", json.dumps(sizes)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def find_slopes(name, n_doublings, repeats):
    """Slopes of time and memory of each work in one of the sizes; time and memory at the end."""
    values = SIZES[name][1] * 2 ** np.arange(n_doublings + 1)
    costs = []
    for value in values.tolist():
        sizes = {one: value if one == name else usual for one, (usual, _) in SIZES.items()}
        rounds = [measure_apart(list(sizes.values())) for _ in range(repeats)]
        costs.append(np.min([[one[work] for work in WORKS] for one in rounds], axis=0))
    costs = np.array(costs)  # (sizes, works, time and memory)
    flat = np.log(costs.reshape(len(values), -1))
    slopes = np.polyfit(np.log(values), flat, 1)[0].reshape(costs.shape[1:])
    return values, slopes, costs[-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--doublings", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3, help="of which the smallest counts")
    parser.add_argument("--sizes", help="records, models and features, measured in this process")
    options = parser.parse_args()
    if options.sizes:
        print(json.dumps(measure_all(*json.loads(options.sizes))))
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    titles = ("time ~", "memory ~", "seconds", "MB")
    print(f"{'':30s}{'work':18s}" + "".join(f"{title:>10s}" for title in titles))
    for name in SIZES:
        values, slopes, last = find_slopes(name, options.doublings, options.repeats)
        span = f"{name} {values[0]} to {values[-1]}"
        for work, (time, memory), (seconds, size) in zip(WORKS, slopes, last, strict=True):
            print(
                f"{span:30s}{work:18s}{time:10.2f}{memory:10.2f}{seconds:10.3f}{1e-6 * size:10.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
