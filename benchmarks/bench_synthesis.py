"""What asking the victim about many searches at once saves a ModelBasedSynthesizer.

The same records are made with one search after another, which asks about one record at a time, and
with up to 1,000 side by side. Prints seconds, queries and the ratio.

    python benchmarks/bench_synthesis.py [--records 300]
"""

import argparse
from time import perf_counter

from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from skmia.datasets import make_membership_problem
from skmia.shadow import ModelBasedSynthesizer


def run(victim, records, n_records, batch_size):
    synthesizer = ModelBasedSynthesizer(
        victim, max_iter=200, batch_size=batch_size, random_state=0
    ).fit(records)
    start = perf_counter()
    made = synthesizer.sample(n_records)
    return perf_counter() - start, synthesizer.n_queries_, len(made)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=300)
    n_records = parser.parse_args().records
    records, membership = make_membership_problem(
        3_000, n_features=446, n_classes=30, kind="baskets", random_state=0
    )
    members = records[membership == 1]
    net = MLPClassifier((128,), max_iter=30, tol=0, n_iter_no_change=30, random_state=0)
    victims = {"linear model": LogisticRegression(max_iter=200), "net": net}
    for name, model in victims.items():
        victim = model.fit(members.X, members.y)
        seconds = {}
        for batch_size in (1, 1000):
            seconds[batch_size], queries, made = run(victim, members, n_records, batch_size)
            print(
                f"{name}, {batch_size} at once: {seconds[batch_size]:.2f} s, {made} records, "
                f"{queries} queries, {seconds[batch_size] / queries * 1e6:.0f} us each",
                flush=True,
            )
        print(f"{name}: {seconds[1] / seconds[1000]:.0f} times as fast\n", flush=True)


if __name__ == "__main__":
    main()
