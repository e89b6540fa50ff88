"""Time to score records from stored signals, against the loops that one would write by hand.

Prints medians of wall-clock and of processor time and their ratios in one run; asserts nothing. On
a busy machine the processor time is the one to read.

    python benchmarks/bench_scoring.py [--models 256] [--records 50000]
"""

import argparse
import copy
from time import perf_counter, process_time
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import RMIA, CalibratedAttack, LiRA
from skmia.model_selection import leave_one_model_out

LOOP_RECORDS = 1000
N_POPULATION = 2500


class Time(NamedTuple):
    wall: float
    processor: float


def median_time(function, repeats=9):
    times = []
    for _ in range(repeats):
        start = perf_counter(), process_time()
        function()
        times.append((perf_counter() - start[0], process_time() - start[1]))
    return Time(*np.median(times, axis=0))


def make_world(n_models, n_records, rng, paired=True):
    """Evidence of shadow models that is 1.5 higher where a record was trained on."""
    inside = rng.random((n_models, n_records)) < 0.5
    if paired:
        inside[1::2] = ~inside[::2]
    scores = rng.normal(size=(n_models, n_records)).astype(np.float32) + np.float32(1.5) * inside
    victim = rng.normal(size=n_records)
    logits = np.column_stack([np.zeros(n_records), victim])
    records = Records(rng.normal(size=(n_records, 10)), np.ones(n_records, dtype=int))
    records = records.with_fields(outputs=Outputs(logits, [0, 1], "logits"))
    return records, scores, inside, victim


def make_pool(n_models, n_records, rng, paired=True):
    records, scores, inside, _ = make_world(n_models, n_records, rng, paired)
    return records, ShadowPool.from_scores(scores, inside, records)


def loop_lira(scores, inside, victim):
    for i in range(LOOP_RECORDS):
        x, m = scores[:, i], inside[:, i]
        log_in = norm.logpdf(victim[i], x[m].mean(), x[m].std())
        log_in - norm.logpdf(victim[i], x[~m].mean(), x[~m].std())


def loop_offline(scores, inside, victim):
    for i in range(LOOP_RECORDS):
        out = scores[~inside[:, i], i]
        norm.logcdf(victim[i], out.mean(), out.std())


def loop_calibrated(scores, inside, victim):
    for i in range(LOOP_RECORDS):
        victim[i] - scores[~inside[:, i], i].mean()


def loop_rmia(scores, inside, victim):
    p, shadow = 1 / (1 + np.exp(-victim)), 1 / (1 + np.exp(-scores))
    reference = p[:N_POPULATION] / shadow[:, :N_POPULATION].mean(axis=0)
    for i in range(LOOP_RECORDS):
        np.mean(p[i] / shadow[:, i].mean() / reference >= 1)


def time_attacks(n_models, n_records, rng):
    records, scores, inside, victim = make_world(n_models, n_records, rng)
    pool = ShadowPool.from_scores(scores, inside, records)
    scale = n_records / LOOP_RECORDS
    loops = {}
    for loop in (loop_lira, loop_offline, loop_rmia, loop_calibrated):
        time = median_time(lambda loop=loop: loop(scores, inside, victim), 3)
        loops[loop] = Time(scale * time.wall, scale * time.processor)
    read = median_time(scores.sum)
    print(
        f"{n_models} models x {n_records} records; one read of the array "
        f"{1e3 * read.processor:.1f} ms, {scores.nbytes / read.processor / 1e9:.0f} GB/s"
    )
    print(f"{'':36s}{'ms':>6s}{'cpu':>6s}{'loop / ours':>13s}{'cpu':>6s}{'ours / read':>13s}")
    online, offline = LiRA(None, pool), LiRA(None, pool, online=False)
    rows = [("LiRA().fit", online, records, loop_lira)]
    for variance in ("shrunk", "example", "pooled"):
        for attack, loop in ((online, loop_lira), (offline, loop_offline)):
            attack = LiRA(None, pool, online=attack.online, variance=variance)
            name = f"LiRA {variance}" + (", offline" if loop is loop_offline else "")
            rows.append((name, attack, records, loop))
    shuffled = records[rng.permutation(n_records)]
    population = records[:N_POPULATION]
    rows += [
        ("LiRA, records in another order", online, shuffled, loop_lira),
        ("RMIA", RMIA(None, pool, temperature=1.0), records, loop_rmia),
        (
            f"RMIA, population {N_POPULATION}",
            RMIA(None, pool, temperature=1.0, population=population),
            records,
            loop_rmia,
        ),
        ("CalibratedAttack", CalibratedAttack(None, pool), records, loop_calibrated),
    ]
    for name, attack, some, loop in rows:
        attack.fit(some)
        run = attack.fit if name.endswith("fit") else attack.score_samples
        print_row(name, median_time(lambda run=run, some=some: run(some)), loops[loop], read)
    records, pool = make_pool(n_models, n_records, rng, paired=False)
    attack = LiRA(None, pool).fit(records)
    time = median_time(lambda: attack.score_samples(records))
    print_row("LiRA, models not in pairs", time, loops[loop_lira], read)


def time_targets(n_models, n_records, rng):
    """Compare with one read of the signals, by the shortest of many processor times."""
    paired, free = (make_pool(n_models, n_records, rng, design) for design in (True, False))
    read = paired[1].signals_
    works = {"read": read.sum}
    for design, (records, pool) in (("paired", paired), ("free", free)):
        rmia = RMIA(None, pool, temperature=1.0).fit(records)
        works["RMIA", design] = lambda rmia=rmia, records=records: rmia.score_samples(records)
        works["LiRA", design] = lambda pool=pool, records=records: fit_and_score(pool, records)
        lira = LiRA(None, pool).fit(records)
        works["LiRA again", design] = lambda lira=lira, records=records: lira.score_samples(records)
    times = shortest_times(works)
    print("\nprocessor time, with targets")
    for name, what, target in (
        ("LiRA", "LiRA(): fit and scores of a pool that nobody has read", 6),
        ("LiRA again", "LiRA(): scores of another victim", 6),
        ("RMIA", "RMIA(): scores", 5),
    ):
        ratio, apart = times[name, "paired"] / times["read"], times[name, "free"]
        print(f"{what:56s}{ratio:6.1f} reads (target: {target})")
        print(
            f"{'  models not in pairs, beside pairs':56s}{apart / times[name, 'paired']:6.2f} (1.2)"
        )


def fit_and_score(pool, records):
    unread = copy.copy(pool)  # without the moments that the pool keeps
    LiRA(None, unread).fit(records).score_samples(records)


def shortest_times(works, repeats=15):
    times = dict.fromkeys(works, np.inf)
    for _ in range(repeats):
        for name, work in works.items():
            start = process_time()
            work()
            times[name] = min(times[name], process_time() - start)
    return times


def print_row(name, time, loop, read):
    print(
        f"{name:36s}{1e3 * time.wall:6.0f}{1e3 * time.processor:6.0f}"
        f"{loop.wall / time.wall:13.0f}{loop.processor / time.processor:6.0f}"
        f"{time.processor / read.processor:13.1f}"
    )


def time_leave_one_out(n_models, n_records, rng):
    records, pool = make_pool(n_models, n_records, rng)
    models = np.arange(n_models)
    print(f"each of {n_models} models in the victim's place, s (cpu): scores; with AUC and TPR")
    for name, attack in {
        "LiRA shrunk": LiRA(None, pool),
        "LiRA example": LiRA(None, pool, variance="example"),
        "LiRA pooled": LiRA(None, pool, variance="pooled"),
        "LiRA offline": LiRA(None, pool, online=False),
        "RMIA": RMIA(None, pool, temperature=1.0),
    }.items():
        attack.fit(records)

        def score(attack=attack):
            for _ in attack.score_left_out(records, models):
                pass

        scores = median_time(score, 3)
        whole = median_time(lambda attack=attack: leave_one_model_out(attack, records), 1)
        print(
            f"{name:36s}{scores.wall:6.2f} ({scores.processor:.2f})"
            f"{whole.wall:9.2f} ({whole.processor:.2f})"
        )


def time_growth(n_models, n_records, rng):
    sizes = {
        "records": [(n_models, n_records // part) for part in (8, 4, 2, 1)],
        "models": [(n_models // part, n_records) for part in (8, 4, 2, 1)],
    }
    for what, worlds in sizes.items():
        times = []
        for size in worlds:
            records, pool = make_pool(*size, rng)
            attack = LiRA(None, pool).fit(records)
            times.append(median_time(lambda a=attack, r=records: a.score_samples(r)).processor)
        numbers = [max(size) if what == "records" else min(size) for size in worlds]
        slope = np.polyfit(np.log(numbers), np.log(times), 1)[0]
        shown = ", ".join(f"{1e3 * time:.1f}" for time in times)
        print(f"time of LiRA grows with the {slope:.2f}th power of the {what}: {shown} ms (cpu)")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=256)
    parser.add_argument("--records", type=int, default=50_000)
    options = parser.parse_args()
    for part in (time_attacks, time_targets, time_leave_one_out, time_growth):
        part(options.models, options.records, np.random.default_rng(0))


if __name__ == "__main__":
    main()
