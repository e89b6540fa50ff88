"""Largest memory of records that are read from files, and of a pool of two on them.

A table of single precision is written as a folder of parquet, ten files, as one Arrow file and as
one array. Each form of it is measured in a fresh process, after the imports: the memory that the
process allocates beyond what it has (anonymous memory, not pages of files) at its largest, with
`Records`, with their hashes and with a pool of two naive Bayes models, one after the other. The
last column is a hash of the pool's signals. Prints and asserts nothing.

    python benchmarks/bench_lazy_rows.py [--records 1000000] [--columns 20]
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import dask.dataframe
import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
from bench_large import Stages
from sklearn.naive_bayes import GaussianNB

from skmia import Records, ShadowPool

FILES = 10
FORMS = {
    "array, mapped": lambda folder: np.load(folder / "table.npy", mmap_mode="r"),
    "pandas, read_parquet": lambda folder: pd.read_parquet(folder / "parquet"),
    "Arrow table, read_table": lambda folder: pa.parquet.read_table(folder / "parquet"),
    "Arrow table, mapped": lambda folder: pa.ipc.open_file(
        pa.memory_map(str(folder / "table.arrow"))
    ).read_all(),
    "folder of parquet": lambda folder: folder / "parquet",
    "pyarrow.dataset": lambda folder: pyarrow.dataset.dataset(folder / "parquet"),
    "polars, scan_parquet": lambda folder: polars.scan_parquet(folder / "parquet"),
    "dask, read_parquet": lambda folder: dask.dataframe.read_parquet(folder / "parquet"),
}


def write(folder, n, n_columns):
    """Write the same table in each form, one file at a time."""
    rng = np.random.default_rng(0)
    (folder / "parquet").mkdir()
    array = np.lib.format.open_memmap(folder / "table.npy", "w+", np.float32, (n, n_columns))
    schema = pa.schema([(f"x{j}", pa.float32()) for j in range(n_columns)])
    with pa.ipc.new_file(str(folder / "table.arrow"), schema) as whole:
        for k in range(FILES):
            X = rng.normal(size=(n // FILES, n_columns)).astype(np.float32)
            array[k * len(X) : (k + 1) * len(X)] = X
            part = pa.Table.from_arrays([pa.array(x) for x in X.T], schema=schema)
            pa.parquet.write_table(part, folder / "parquet" / f"part-{k}.parquet")
            whole.write_table(part)


def fit_pool(records):
    return ShadowPool(GaussianNB(), 2, temperatures=(1.0,), random_state=0).fit(records)


def measure(folder, name, n):
    """Print the memory of each stage with one form, in this process."""
    y = np.random.default_rng(1).integers(2, size=n, dtype=np.int8)
    fit_pool(Records(pa.table({"x": np.arange(200.0)}), y[:200]))  # imports all there is
    stages = Stages()
    with stages("records"):
        records = Records(FORMS[name](folder), y)
    with stages("hashes"):
        records.digests  # noqa: B018
    with stages("pool"):
        pool = fit_pool(records)
    print(hashlib.sha256(pool.signals_.tobytes()).hexdigest()[:8])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        measure(Path(args.one[0]), args.one[1], args.records)
        return
    print("| X | at `Records`, MB | hashes, MB | pool, MB | signals |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), args.records, args.columns)
        for name in FORMS:
            command = [sys.executable, __file__, "--records", str(args.records), "--one", folder]
            done = subprocess.run([*command, name], stdout=subprocess.PIPE, text=True, check=True)
            *stages, digest = done.stdout.splitlines()
            sizes = [f"{json.loads(stage)['RssAnon'] / 1e6:.0f}" for stage in stages]
            print(f"| {name} | {' | '.join(sizes)} | `{digest}` |", flush=True)


if __name__ == "__main__":
    main()
