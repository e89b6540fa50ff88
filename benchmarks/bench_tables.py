"""Time and memory of one audit of a large synthetic table, and how many copies are found.

    python benchmarks/bench_tables.py [--rows 50000] [--columns 20]
    python benchmarks/bench_tables.py --adult adult.csv.gz [--draws 40]

The large tables have as many numbers as categories, and 1% of the training rows are copied. With
--adult, 1,500 rows of Adult without the weights are training rows, others are the holdout, and
copies of training rows are hidden among 1,500 others; benchmarks/results/table_copies.csv has the
matches, and how often each test finds copies at the level of 5%.
"""

import argparse
import resource
import time
from pathlib import Path

import numpy as np
import pandas as pd

from skmia.synthetic import CopyTest, audit_table

RESULTS = Path(__file__).parent / "results"


def draw(rng, n_rows, n_columns):
    base = rng.normal(size=(n_rows, 1))
    numbers = (base + rng.normal(size=(n_rows, n_columns // 2))).round(2)
    words = rng.integers(8, size=(n_rows, n_columns - n_columns // 2)) + (base > 0)
    table = pd.DataFrame(numbers).add_prefix("number ")
    return table.join(pd.DataFrame(words.astype(str)).add_prefix("word "))


def count_found(path, n_draws, n_rows=1500):
    """Matches in tables with copies of Adult, and the share of the tables in which they are found.

    Parameters
    ----------
    path : Path
    n_draws : int
    n_rows : int, default=1500

    Returns
    -------
    table : DataFrame
    """
    people = pd.read_csv(path).drop(columns=["fnlwgt", "split"])
    found = []
    for seed in range(n_draws):
        rows = np.random.default_rng(seed).permutation(len(people))[: 3 * n_rows]
        real, holdout, made = (people.iloc[part] for part in np.split(rows, 3))
        for share in (0.01, 0.04):
            k = round(share * n_rows)
            copied = pd.concat([real[:k], made[k:]])
            result = CopyTest(random_state=0).fit(real, holdout, copied).result_
            found.append(result.reset_index(names="matches").assign(share_copied=share))
    found = pd.concat(found).assign(found=lambda frame: frame["pvalue"] <= 0.05)
    names = ["train", "test", "smallest_share", "found"]
    return found.groupby(["share_copied", "matches"])[names].mean().round(4).assign(draws=n_draws)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--draws", type=int, default=40)
    options = parser.parse_args()
    if options.adult is not None:
        table = count_found(options.adult, options.draws)
        table.to_csv(RESULTS / "table_copies.csv")
        print(table.to_string())
        return
    rng = np.random.default_rng(0)
    real, holdout, made = (draw(rng, options.rows, options.columns) for _ in range(3))
    made = pd.concat([real[: options.rows // 100], made[options.rows // 100 :]])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.perf_counter()
    report = audit_table(real, made, holdout, random_state=0)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{options.rows:,} rows x {options.columns} columns: {report.evidence}, {seconds:.0f} s")
    print(f"memory: {peak:.0f} MB at most, {before:.0f} MB with the tables alone")
    print({part: round(value, 1) for part, value in report.seconds.items()})


if __name__ == "__main__":
    main()
