"""Clock of a small audit on a busy machine, with default threads and with one thread of OpenMP.

Two processes keep the processors busy. An audit of 400 records runs beside them, in a process of
its own each time: with the threads that the libraries choose, and with OMP_NUM_THREADS=1, in turn.
Prints the median seconds of the clock and their ratio for each kind of model. The goal is 1.5.

    python benchmarks/bench_threads.py [--records 400] [--repeat 5] [--busy 2]
"""

import argparse
import os
import subprocess
import sys
import time

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

MODELS = {
    "forest": RandomForestClassifier(50, random_state=0),
    "boosting": HistGradientBoostingClassifier(random_state=0),
    "logistic": LogisticRegression(),
}
BUSY = "while True: sum(range(100_000))"


def run_audit(kind, n_records):
    """Print the seconds of the clock of one audit, after all is imported."""
    from skmia import audit

    X, y = make_classification(n_records, 20, n_informative=8, flip_y=0.1, random_state=0)
    inside = np.arange(n_records) % 2 == 1
    model = MODELS[kind].fit(X[inside], y[inside])
    start = time.perf_counter()
    audit(
        model,
        train=(X[inside], y[inside]),
        held_out=(X[~inside], y[~inside]),
        shadows=8,
        random_state=0,
    )
    print(time.perf_counter() - start)


def time_audit(kind, n_records, one_thread):
    environment = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    environment |= {"OMP_NUM_THREADS": "1"} if one_thread else {}
    command = [sys.executable, __file__, "--run", kind, "--records", str(n_records)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--records", type=int, default=400)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--busy", type=int, default=2, help="processes that keep processors busy")
    parser.add_argument("--kinds", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run_audit(options.run, options.records)
        return
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(options.busy)]
    try:
        print("| model | default threads | one thread | ratio |\n|---|---|---|---|")
        for kind in options.kinds:
            seconds = {False: [], True: []}
            for _ in range(options.repeat):
                for one_thread, found in seconds.items():
                    found.append(time_audit(kind, options.records, one_thread))
            many, one = (float(np.median(found)) for found in seconds.values())
            print(f"| {kind} | {many:.2f} s | {one:.2f} s | {many / one:.2f} |", flush=True)
    finally:
        for process in busy:
            process.kill()


if __name__ == "__main__":
    main()
