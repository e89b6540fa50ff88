"""Memory, time and bytes on disk of a pool in files, by the number of records.

Records are two memory-mapped files, a table of five columns in single precision and labels of a
byte; they are written block by block. 64 naive Bayes models are trained, LiRA and RMIA are scored,
and intervals and a whole audit are computed, each size in a new process. Memory is what the process
takes beyond its libraries at its largest: *anonymous* is what it allocated, and *resident* includes
pages of files that the system may drop at any time. Files are removed at the end. Prints and
asserts nothing.

    python benchmarks/bench_large.py [--records 100000 1000000] [--models 64] [--folder /tmp]
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

from skmia import Records, ShadowPool, audit
from skmia.attacks import RMIA, LiRA
from skmia.metrics import auc_interval, operating_point

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


def measure(n, n_models, folder):
    """Print the costs of each stage as lines of JSON."""
    write_table(folder, n)
    arrays = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in "Xy")
    stages = Stages()
    with stages("hashes of records"):
        records = Records(*arrays)
        digests = records.digests
    with stages("victim"):
        membership = digests[1] % 2 == 1
        members = np.flatnonzero(membership)
        victim = FrozenEstimator(GaussianNB().fit(records.X[members], records.y[members]))
        queried = records.with_outputs(victim)
    settings = {"temperatures": (1.0,), "checkpoint": folder / "pool", "on_disk": True}
    pool = ShadowPool(GaussianNB(), n_models, random_state=0, **settings)
    with stages("pool"):
        pool.fit(records)
    shadows = FrozenEstimator(pool)
    for name, attack in {"LiRA": LiRA(), "RMIA": RMIA(temperature=1.0)}.items():
        with stages(f"{name}, fit"):
            attack.set_params(shadows=shadows).fit(queried)
        with stages(f"{name}, scores"):
            scores = attack.score_samples(queried)
    with stages("AUC with interval"):
        print(json.dumps({"AUC": [float(value) for value in auc_interval(membership, scores)]}))
    with stages("TPR at 0.1% FPR"):
        operating_point(membership, scores, 0.001)
    with stages("audit with LiRA and RMIA"):
        attacks = {"LiRA": LiRA(), "RMIA": RMIA(temperature=1.0)}
        report = audit(victim, records, membership, attacks=attacks, shadows=shadows, file=False)
    print(json.dumps({"verdict": report.evidence, **report.seconds}))
    files = sum(path.stat().st_size for path in (folder / "pool").iterdir())
    print(json.dumps({"files": files}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--folder", default=None, help="where the files go, for a while")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for n in args.records:
        folder = Path(tempfile.mkdtemp(prefix="bench_large-", dir=args.folder))
        try:
            if args.one:
                measure(n, args.models, folder)
                continue
            print(f"{n:,} records x {args.models} models", flush=True)
            command = [sys.executable, __file__, "--one", "--records", str(n)]
            command += ["--models", str(args.models), "--folder", str(folder)]
            lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            show(n, [json.loads(line) for line in lines.splitlines()])
        finally:
            shutil.rmtree(folder)


def show(n, lines):
    """Print the table of one size."""
    print("| stage | s | processor, s | anonymous, MB | bytes a record | resident, MB |")
    print("|---|---|---|---|---|---|")
    for line in lines:
        if "stage" in line:
            anonymous, resident = line["RssAnon"], line["VmRSS"]
            print(
                f"| {line['stage']} | {line['seconds']:.1f} | {line['busy']:.1f} "
                f"| {anonymous / 1e6:.0f} | {anonymous / n:.0f} | {resident / 1e6:.0f} |"
            )
        else:
            print(line)


if __name__ == "__main__":
    main()
