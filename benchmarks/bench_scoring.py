"""Time to score records from stored evidence, against the loops that one would write by hand.

Prints ratios measured in one run; asserts nothing.

    python benchmarks/bench_scoring.py [--models 256] [--records 50000]
"""

import argparse
from time import perf_counter

import numpy as np
from scipy.stats import norm
from sklearn.frozen import FrozenEstimator

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import RMIA, CalibratedAttack, LiRA

LOOP_RECORDS = 1000


def make_world(n_models, n_records, rng):
    """Evidence of shadow models that is 1.5 higher where a record was trained on."""
    inside = np.zeros((n_models, n_records), dtype=bool)
    inside[::2] = rng.random((n_models // 2, n_records)) < 0.5
    inside[1::2] = ~inside[::2]
    scores = rng.normal(size=(n_models, n_records)).astype(np.float32) + np.float32(1.5) * inside
    victim = rng.normal(size=n_records)
    logits = np.column_stack([np.zeros(n_records), victim])
    records = Records(rng.normal(size=(n_records, 10)), np.ones(n_records, dtype=int))
    records = records.with_fields(outputs=Outputs(logits, [0, 1], "logits"))
    return records, scores, inside, victim


def median_time(function, repeats=5):
    times = []
    for _ in range(repeats):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return np.median(times)


def loop_lira(scores, inside, victim):
    for i in range(LOOP_RECORDS):
        x, m = scores[:, i], inside[:, i]
        log_in = norm.logpdf(victim[i], x[m].mean(), x[m].std())
        log_in - norm.logpdf(victim[i], x[~m].mean(), x[~m].std())


def loop_rmia(scores, victim, n_population=2500):
    p, shadow = 1 / (1 + np.exp(-victim)), 1 / (1 + np.exp(-scores))
    reference = p[:n_population] / shadow[:, :n_population].mean(axis=0)
    for i in range(LOOP_RECORDS):
        np.mean(p[i] / shadow[:, i].mean() / reference >= 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=256)
    parser.add_argument("--records", type=int, default=50_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    records, scores, inside, victim = make_world(options.models, options.records, rng)
    pool = FrozenEstimator(ShadowPool.from_scores(scores, inside, records))
    scale = options.records / LOOP_RECORDS
    loops = {
        "LiRA": scale * median_time(lambda: loop_lira(scores, inside, victim), 1),
        "RMIA": scale * median_time(lambda: loop_rmia(scores, victim), 1),
    }
    read = median_time(lambda: scores.sum())
    print(
        f"{options.models} models x {options.records} records; one read of the array {read:.3f} s"
    )
    print(f"{'attack':38s}{'seconds':>9s}{'loop / ours':>13s}{'ours / read':>13s}")
    attacks = {
        "LiRA shrunk": LiRA(None, pool),
        "LiRA example": LiRA(None, pool, variance="example"),
        "LiRA offline": LiRA(None, pool, online=False),
        "RMIA": RMIA(None, pool, temperature=1.0),
        "RMIA, population 2500": RMIA(None, pool, temperature=1.0, population=records[:2500]),
        "CalibratedAttack": CalibratedAttack(None, pool),
    }
    for name, attack in attacks.items():
        attack.fit(records)
        seconds = median_time(lambda attack=attack: attack.score_samples(records))
        loop = loops["RMIA" if "RMIA" in name else "LiRA"]
        print(f"{name:38s}{seconds:9.3f}{loop / seconds:13.0f}{seconds / read:13.1f}")


if __name__ == "__main__":
    main()
