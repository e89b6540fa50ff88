"""Time, memory and findings of audits of large synthetic tables, beside other packages.

    python benchmarks/bench_table_sizes.py adult.csv.gz --rows 100000 --columns 15 [--copied 0.1]
        [--tool skmia|anonymeter|sdmetrics] [--attacks 2000]
        [--limit 600] [--save]

Training rows, holdout and synthetic table are draws of one population: a row of Adult in which each
cell is, with a probability of 1/4, that of another row, and the weights are blurred by a tenth.
``--copied`` is the share of the synthetic rows that are training rows. Anonymeter makes
``--attacks`` of each kind, unless given as many as skmia, and infers each column; of SDMetrics, the
new rows and the two distances to the closest record are computed. Run it with a Python that has the
package; a run that takes longer than ``--limit`` processor seconds is ended. Seconds are of the
processor, so set OMP_NUM_THREADS=1; megabytes are what is allocated at most beyond the tables
(Linux). ``--save``
adds a line to results/table_sizes.csv.
"""

import argparse
import csv
import resource
import signal
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results" / "table_sizes.csv"


def draw_rows(rng, people, n_rows):
    """Rows of a population around the given people.

    Parameters
    ----------
    rng : Generator
    people : DataFrame
    n_rows : int

    Returns
    -------
    table : DataFrame of n_rows rows
    """
    rows, columns = rng.integers(len(people), size=n_rows), {}
    for column in people:
        others = rng.integers(len(people), size=n_rows)
        values = people[column].to_numpy()[np.where(rng.random(n_rows) < 0.25, others, rows)]
        if column == "fnlwgt":
            values = (values * np.exp(rng.normal(0, 0.1, n_rows))).round().astype(int)
        columns[column] = values
    return pd.DataFrame(columns)


def audit_with_skmia(real, made, holdout, n_attacks):
    from skmia.synthetic import audit_table

    report = audit_table(real, made, holdout, random_state=0)
    found = int((report.results["pvalue_holm"] <= 0.05).sum())
    numbers = f"{found} of {len(report.results)} numbers"
    print({part: round(seconds, 1) for part, seconds in report.seconds.items()})
    print(report.unchanged)
    return f"{report.evidence}; {report.level.name}; {numbers}"


def audit_with_anonymeter(real, made, holdout, n_attacks):
    from anonymeter.evaluators import (
        InferenceEvaluator,
        LinkabilityEvaluator,
        SinglingOutEvaluator,
    )

    columns = list(real.columns)
    settings = {"ori": real, "syn": made, "control": holdout, "n_attacks": n_attacks}
    half = len(columns) // 2
    parts = columns[:half], columns[half:]
    made_of = {
        "singling out": (SinglingOutEvaluator(**settings, n_cols=3), "multivariate"),
        "singling out, one column": (SinglingOutEvaluator(**settings), "univariate"),
        "linkability": (LinkabilityEvaluator(**settings, aux_cols=parts, n_neighbors=1), None),
    }
    for secret in columns:
        known = [column for column in columns if column != secret]
        inference = InferenceEvaluator(**settings, aux_cols=known, secret=secret)
        made_of[f"inference of {secret}"] = inference, None
    found = 0
    for name, (evaluator, mode) in made_of.items():
        start = time.process_time()
        evaluator.evaluate(**({"mode": mode} if mode else {"n_jobs": 1}))
        low, high = evaluator.risk(confidence_level=0.95).ci
        found += low > 0
        print(f"{name}: [{low:.3f}, {high:.3f}], {time.process_time() - start:.1f} s", flush=True)
    return f"{found} of {len(made_of)} risks above 0"


def audit_with_sdmetrics(real, made, holdout, n_attacks):
    from sdmetrics.single_table import (
        DCRBaselineProtection,
        DCROverfittingProtection,
        NewRowSynthesis,
    )

    numbers, kinds = list(real.select_dtypes("number")), ("categorical", "numerical")
    metadata = {"columns": {name: {"sdtype": kinds[name in numbers]} for name in real}}
    told = []
    measures = {
        "new rows": lambda: NewRowSynthesis.compute(real, made, metadata),
        "baseline": lambda: DCRBaselineProtection.compute(real, made, metadata),
        "overfitting": lambda: DCROverfittingProtection.compute(real, made, holdout, metadata),
    }
    for name, measure in measures.items():
        start = time.process_time()
        told.append(f"{name} {measure():.3f}")
        print(f"{told[-1]}, {time.process_time() - start:.1f} s", flush=True)
    return "; ".join(told)


TOOLS = {
    "skmia": audit_with_skmia,
    "anonymeter": audit_with_anonymeter,
    "sdmetrics": audit_with_sdmetrics,
}


def _read_memory():
    """Megabytes that this process has allocated."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1024


class _Memory(threading.Thread):
    """The largest memory, read every 20 ms."""

    def __init__(self):
        super().__init__(daemon=True)
        self.before = self.largest = _read_memory()

    def run(self):
        while True:
            self.largest = max(self.largest, _read_memory())
            time.sleep(0.02)


def _end(*_):
    raise TimeoutError


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("adult", type=Path)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--columns", type=int, default=15)
    parser.add_argument("--copied", type=float, default=0.0)
    parser.add_argument("--tool", choices=list(TOOLS), default="skmia")
    parser.add_argument("--attacks", type=int, default=2000)
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    people = pd.read_csv(options.adult, na_values="?").iloc[:, : options.columns]
    rng, n = np.random.default_rng(0), options.rows
    real, holdout, made = (draw_rows(rng, people, n) for _ in range(3))
    copied = real.sample(round(options.copied * n), random_state=0)
    made = pd.concat([copied, made[len(copied) :]], ignore_index=True)
    megabytes = real.memory_usage(index=False).sum() / 1024**2
    memory = _Memory()
    memory.start()
    signal.signal(signal.SIGXCPU, _end)
    start = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(start) + options.limit, resource.RLIM_INFINITY))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = TOOLS[options.tool](real, made, holdout, options.attacks)
        except TimeoutError:
            found = f"not finished in {options.limit} s"
    row = {"tool": options.tool, "rows": n, "columns": options.columns, "copied": options.copied}
    row |= {"processor_seconds": round(time.process_time() - start, 1)}
    row |= {"table_megabytes": round(megabytes), "megabytes": round(memory.largest - memory.before)}
    row |= {"found": found}
    print(row)
    if options.save:
        is_new = not RESULTS.exists()
        with RESULTS.open("a", newline="") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerow(row)


if __name__ == "__main__":
    main()
