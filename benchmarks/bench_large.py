"""Memory, time and bytes on disk of a pool in files, by the number of records.

Records are two memory-mapped files, a table of five columns in single precision and labels of a
byte; they are written block by block. Naive Bayes models are trained, LiRA and RMIA are scored, and
intervals and a whole audit are computed, each size in a new process. With ``--workers``, LiRA is
scored again by a dask cluster on this machine, of which one worker is killed on the way, and the
scores are compared bit by bit. With ``--models 0``, scores are drawn, and only rates are computed.
Memory is what the process takes beyond its libraries at its largest: *anonymous* is what it
allocated, and *resident* includes pages of files that the system may drop at any time. Files are
removed at the end.

    python benchmarks/bench_large.py [--records 100000 1000000] [--models 64] [--folder /tmp]
        [--workers 2] [--stages permutations audit] [--save]

``--save`` puts the rows into ``results/large_tables.csv`` and the table, with the slope of the
memory between sizes, into ``results/large_tables.md``.
"""

import argparse
import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import joblib
import numpy as np
from distributed import Client, LocalCluster
from sklearn.naive_bayes import GaussianNB

from skmia import Records, ShadowPool, audit
from skmia.attacks import RMIA, LiRA
from skmia.metrics import auc_interval, operating_point
from skmia.report import permutation_test

RESULTS = Path(__file__).parent / "results" / "large_tables.csv"
COLUMNS = ("records", "models", "stage", "seconds", "processor_seconds", "megabytes")
COLUMNS += ("resident_megabytes",)
STAGES = ["permutations", "audit"]  # that can be left out
N_FEATURES = 5
BLOCK = 1 << 20


def write_table(folder, n):
    """Write features, labels and membership, block by block."""
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (n, N_FEATURES))
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", np.int8, (n,))
    rng = np.random.default_rng(0)
    for start in range(0, n, BLOCK):
        rows = slice(start, min(n, start + BLOCK))
        y[rows] = rng.integers(2, size=rows.stop - start)
        X[rows] = rng.normal(size=(rows.stop - start, N_FEATURES)) + 0.5 * y[rows, None]


def read_status(name):
    text = Path("/proc/self/status").read_text()
    return 1024 * int(text.split(f"{name}:")[1].split()[0])


class Stages:
    """Seconds and largest memory of each stage, beyond what there is at the beginning."""

    def __init__(self):
        self.rows, self._base = [], {name: read_status(name) for name in ("RssAnon", "VmRSS")}

    @contextmanager
    def __call__(self, name):
        done, peaks = threading.Event(), dict(self._base)

        def look():
            while not done.wait(0.01):
                for kind in peaks:
                    peaks[kind] = max(peaks[kind], read_status(kind))

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        start, busy = time.perf_counter(), time.process_time()
        yield
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
        done.set()
        watcher.join()
        more = {kind: peaks[kind] - self._base[kind] for kind in peaks}
        self.rows.append({"stage": name, "seconds": seconds, "busy": busy, **more})
        print(json.dumps(self.rows[-1]), flush=True)


def measure(n, n_models, folder, wanted, n_workers):
    """Print the costs of each stage as lines of JSON."""
    write_table(folder, n)
    arrays = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in "Xy")
    stages = Stages()
    with stages("hashes of records"):
        records = Records(*arrays)
        membership = np.empty(n, dtype=bool)
        for start in range(0, n, BLOCK):
            rows = slice(start, start + BLOCK)
            membership[rows] = records.digests[1, rows] % 2 == 1
    with stages("victim"):
        victim = GaussianNB().fit(records.X[membership], records.y[membership])
    settings = {"temperatures": (1.0,), "checkpoint": folder / "pool", "on_disk": True}
    pool = ShadowPool(GaussianNB(), n_models, random_state=0, **settings)
    with stages("pool"):
        pool.fit(records)
    attacks = {"RMIA": RMIA(victim, temperature=1.0), "LiRA": LiRA(victim)}
    for name, attack in attacks.items():
        with stages(f"{name}, fit"):
            attack.set_params(shadows=pool).fit(records)
        with stages(f"{name}, scores"):
            scores = attack.score_samples(records)
    alone = stages.rows[-1]["seconds"]
    measure_rates(stages, membership, scores, wanted)
    if n_workers:
        with stages(f"LiRA, scores by {n_workers} workers, one killed"):
            spread = score_on_cluster(attacks["LiRA"], records, n_workers, alone / 4)
        print(json.dumps({"bitwise the same": bool(np.array_equal(spread, scores))}))
    if "audit" in wanted:
        with stages("audit with LiRA and RMIA"):
            attacks = {"LiRA": LiRA(), "RMIA": RMIA(temperature=1.0)}
            report = audit(victim, records, membership, attacks=attacks, shadows=pool, file=False)
        print(json.dumps({"verdict": report.evidence, **report.seconds}))
    files = sum(path.stat().st_size for path in (folder / "pool").iterdir())
    print(json.dumps({"files": files}), flush=True)


def measure_rates(stages, membership, scores, wanted):
    with stages("AUC with interval"):
        print(json.dumps({"AUC": [float(value) for value in auc_interval(membership, scores)]}))
    with stages("TPR at 0.1% FPR"):
        operating_point(membership, scores, 0.001)
    if "permutations" in wanted:
        with stages("199 permutations"):
            permutation_test(membership, scores, max_fprs=[0.001], n_permutations=199)


def measure_drawn(n, folder, wanted):
    """Print the costs of the metrics of scores that are drawn, as lines of JSON."""
    rng, stages = np.random.default_rng(0), Stages()
    scores = np.lib.format.open_memmap(folder / "scores.npy", "w+", np.float64, (n,))
    membership = np.lib.format.open_memmap(folder / "membership.npy", "w+", np.bool_, (n,))
    for start in range(0, n, BLOCK):
        rows = slice(start, min(n, start + BLOCK))
        membership[rows] = rng.random(rows.stop - start, dtype=np.float32) < 0.5
        scores[rows] = rng.normal(size=rows.stop - start) + 0.1 * membership[rows]
    measure_rates(stages, membership, scores, wanted)


def score_on_cluster(attack, records, n_workers, seconds):
    """Score by dask; one worker is killed after some seconds."""
    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
        joblib.parallel_config("dask"),
    ):
        first = next(iter(client.run(os.getpid).values()))
        killing = threading.Timer(seconds, os.kill, (first, signal.SIGKILL))
        killing.start()
        scores = attack.score_samples(records)
        killing.join()
        kept = client.run(read_status, "RssAnon", on_error="ignore")
        print(json.dumps({"memory of workers": list(kept.values()), "killed": first}))
        return scores


def run(n, args, folder):
    """Rows of one size, measured in a new process."""
    command = [sys.executable, __file__, "--one", "--records", str(n), "--folder", str(folder)]
    command += ["--models", str(args.models), "--workers", str(args.workers)]
    lines = subprocess.run(
        [*command, "--stages", *args.stages], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    rows = []
    for line in map(json.loads, lines.splitlines()):
        if "stage" not in line:
            print(line, flush=True)
            continue
        seconds = round(line["seconds"], 1), round(line["busy"], 1)
        memory = round(line["RssAnon"] / 1e6), round(line["VmRSS"] / 1e6)
        rows.append(dict(zip(COLUMNS, (n, args.models, line["stage"], *seconds, *memory))))
    return rows


def read(path=RESULTS):
    """Rows that were measured before: all numbers but the name of the stage."""
    if not path.exists():
        return []
    kinds = {"stage": str, "seconds": float, "processor_seconds": float}
    with open(path, newline="") as file:
        rows = csv.DictReader(file)
        return [{name: kinds.get(name, int)(row[name]) for name in row} for row in rows]


def keep(rows, path=RESULTS):
    """Write rows in the order of their sizes."""
    rows.sort(key=lambda row: (row["records"], row["models"]))
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def save(rows):
    """Replace the rows of these stages and sizes, and write the table."""
    keys = {(row["records"], row["models"], row["stage"]) for row in rows}
    kept = [row for row in read() if (row["records"], row["models"], row["stage"]) not in keys]
    rows = kept + rows
    keep(rows)
    page = RESULTS.with_suffix(".md")
    _, heading, held = (page.read_text() if page.exists() else "").partition(
        "\n## Memory that stays"
    )
    page.write_text(
        "# Stages of an attack on large tables\n\n"
        "Written by `bench_large.py --save`: naive Bayes on five columns, signals of the shadow "
        "models in files.\nAnonymous memory is the largest that the stage had allocated, beyond "
        "the libraries; resident memory includes\npages of files, which the system may drop.\n\n"
        + tabulate(rows)
        + "\n\n## Slopes\n\nOf the logarithm of anonymous memory and of processor time over the "
        "logarithm of the number of records.\n\n" + list_slopes(rows) + "\n" + heading + held
    )


def tabulate(rows):
    """The rows as a table."""
    lines = [
        "| records | models | stage | s | processor, s | anonymous, MB | bytes a record "
        "| resident, MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        per_record = 1e6 * row["megabytes"] / row["records"]
        lines.append(
            f"| {row['records']:,} | {row['models']} | {row['stage']} | {row['seconds']:.1f} "
            f"| {row['processor_seconds']:.1f} | {row['megabytes']:,} | {per_record:.0f} "
            f"| {row['resident_megabytes']:,} |"
        )
    return "\n".join(lines)


def list_slopes(rows):
    """A table of slopes between neighboring sizes."""
    lines = ["| from | to | stage | memory | time |", "|---|---|---|---|---|"]
    for row in rows:
        kind = [one for one in rows if one["stage"] == row["stage"]]
        kind = [one for one in kind if one["models"] == row["models"]]
        before = [one for one in kind if one["records"] < row["records"]]
        if before and before[-1]["megabytes"] and row["megabytes"]:
            size = np.log(row["records"] / before[-1]["records"])
            slopes = (
                np.log(max(row[name], 0.1) / max(before[-1][name], 0.1)) / size
                for name in ("megabytes", "processor_seconds")
            )
            cells = " | ".join(f"{slope:.2f}" for slope in slopes)
            lines.append(
                f"| {before[-1]['records']:,} | {row['records']:,} | {row['stage']} | {cells} |"
            )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--models", type=int, default=64, help="0 for drawn scores, rates alone")
    parser.add_argument("--folder", default=None, help="where the files go, for a while")
    parser.add_argument("--workers", type=int, default=0, help="of a dask cluster")
    parser.add_argument("--stages", nargs="*", default=STAGES, choices=STAGES)
    parser.add_argument("--save", action="store_true", help=f"update {RESULTS.name}")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for n in args.records:
        folder = Path(tempfile.mkdtemp(prefix="bench_large-", dir=args.folder))
        try:
            if args.one:
                if args.models:
                    measure(n, args.models, folder, args.stages, args.workers)
                else:
                    measure_drawn(n, folder, args.stages)
                continue
            rows = run(n, args, folder)
            print(tabulate(rows), flush=True)
            if args.save:
                save(rows)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
