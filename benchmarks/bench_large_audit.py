"""Seconds and memory of a whole audit, by the number of records.

The records are those of ``bench_large.py``: memory-mapped files, and 16 naive Bayes models whose
signals are on disk. LiRA and RMIA attack a model that was trained on half of the records, with all
checks, and the report is written with its page and figure. Each size runs in a new process. Memory
is what the process allocated at its largest, beyond its libraries. Files are removed at the end.

    python benchmarks/bench_large_audit.py [--records 100000 1000000] [--models 16] [--save]

``--save`` puts the rows into ``results/large_audits.csv``; the table in ``results/large_audits.md``
is written from it. Asserts nothing.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from bench_large import Stages, keep, read, write_table
from sklearn.naive_bayes import GaussianNB

from skmia import Records, ShadowPool, audit
from skmia.attacks import RMIA, LiRA

RESULTS = Path(__file__).parent / "results" / "large_audits.csv"
COLUMNS = ("records", "models", "stage", "seconds", "processor_seconds", "megabytes")


def measure(n, n_models, folder):
    """Print the costs of the pool, the audit and the report as lines of JSON."""
    write_table(folder, n)
    stages = Stages()
    records = Records(*(np.load(folder / f"{name}.npy", mmap_mode="r") for name in "Xy"))
    settings = {"temperatures": (1.0,), "checkpoint": folder / "pool", "on_disk": True}
    with stages("pool"):
        pool = ShadowPool(GaussianNB(), n_models, random_state=0, **settings).fit(records)
    membership = np.random.default_rng(1).random(n) < 0.5
    victim = GaussianNB().fit(records.X[membership], records.y[membership])
    attacks = {"LiRA": LiRA(), "RMIA": RMIA(temperature=1.0)}
    settings = {"shadows": pool, "file": False, "random_state": 0}
    with stages("audit"):
        report = audit(victim, records, membership, attacks=attacks, **settings)
    print(json.dumps({"evidence": report.evidence, "notes": report.notes, **report.seconds}))
    with stages("report"):
        report.save(folder / "report")


def run(n, n_models, folder):
    """Rows of one size, measured in a new process."""
    command = [sys.executable, __file__, "--one", "--records", str(n), "--models", str(n_models)]
    output = subprocess.run(
        [*command, "--folder", str(folder)], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    rows = []
    for line in map(json.loads, output.splitlines()):
        if "stage" not in line:
            print(line, flush=True)
            continue
        seconds = round(line["seconds"], 1), round(line["busy"], 1)
        row = n, n_models, line["stage"], *seconds, round(line["RssAnon"] / 1e6)
        rows.append(dict(zip(COLUMNS, row)))
    return rows


def save(rows):
    """Replace the rows of these sizes, and write the table."""
    sizes = {(row["records"], row["models"]) for row in rows}
    rows = [row for row in read(RESULTS) if (row["records"], row["models"]) not in sizes] + rows
    keep(rows, RESULTS)
    RESULTS.with_suffix(".md").write_text(
        "# Audits of large tables\n\n"
        "Written by `bench_large_audit.py --save`: naive Bayes on five columns, signals of the "
        "shadow models on\ndisk, attacked by LiRA and RMIA. Memory is the largest that the stage "
        "had allocated, beyond the libraries.\n\n" + tabulate(rows) + "\n"
    )


def tabulate(rows):
    """The rows as a table."""
    lines = [
        "| records | models | stage | s | processor, s | MB | bytes a record |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        per_record = 1e6 * row["megabytes"] / row["records"]
        lines.append(
            f"| {row['records']:,} | {row['models']} | {row['stage']} | {row['seconds']:.1f} "
            f"| {row['processor_seconds']:.1f} | {row['megabytes']:,} | {per_record:.0f} |"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--models", type=int, default=16)
    parser.add_argument("--folder", default=None, help="where the files go, for a while")
    parser.add_argument("--save", action="store_true", help=f"update {RESULTS.name}")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for n in args.records:
        folder = Path(tempfile.mkdtemp(prefix="bench_large-", dir=args.folder))
        try:
            if args.one:
                measure(n, args.models, folder)
                continue
            rows = run(n, args.models, folder)
            print(tabulate(rows), flush=True)
            if args.save:
                save(rows)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
