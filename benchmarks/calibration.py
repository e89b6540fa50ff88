"""One table: the rates that the package promises and the rates that simulations measure.

    python benchmarks/calibration.py [--quick] [--only NAME ...] [--jobs 2] [--save]
    python benchmarks/calibration.py --table

Every interval, p-value, threshold and bound is a promise of a rate: of coverage, of false alarms,
of false positives. Each promise is a function in a file of benchmarks/calibrations; this script
runs them and prints a Markdown table with the measured rates. A row fails if the interval of the
measured rate excludes the promised rate on the wrong side.

--only takes names of promises or of rooms (files of the folder). --quick runs a tenth of the
trials. --save keeps the rows in benchmarks/results/calibration, one file per room. --table prints
all kept rows and writes them to benchmarks/results/calibration.md; it simulates nothing.
"""

import argparse
from pathlib import Path

import pandas as pd
from calibrations._registry import CONFIDENCE_LEVEL, SIDES, load_promises, measure
from joblib import Parallel, delayed

RESULTS = Path(__file__).parent / "results"
KEYS = ["name", "design"]
HEADER = f"""# Calibration

The rates that the package promises (coverage of intervals, levels of tests, false positive rates)
beside the rates that simulations measure, with exact {CONFIDENCE_LEVEL:.0%} intervals. A row fails
if its interval excludes the promised rate on the wrong side. The rows come from
`python benchmarks/calibration.py --save`, the table from `--table`.

"""


def run_row(name, design, n_trials=None):
    """Simulate one row; by name, so that another process finds the promise as well."""
    promised = load_promises()[name]
    measured = measure(promised, design, n_trials)
    return {
        "room": promised.room,
        "name": name,
        "promise": promised.text,
        "design": design,
        "promised": f"{SIDES[promised.side]} {promised.nominal:g}",
        "rate": round(measured.rate, 5),
        "low": round(measured.low, 5),
        "high": round(measured.high, 5),
        "trials": measured.n_trials,
        "verdict": measured.verdict(promised.nominal, promised.side),
    }


def choose(promises, only):
    """The promises that are named, by themselves or by their room."""
    unknown = set(only) - set(promises) - {promised.room for promised in promises.values()}
    if unknown:
        raise SystemExit(
            f"No promise or room is called {', '.join(sorted(unknown))}; promises are "
            f"{', '.join(promises)}."
        )
    return [p for p in promises.values() if not only or {p.name, p.room} & set(only)]


def n_quick(promised):
    return max(20, promised.n_trials // 10)


def to_markdown(rows):
    """One table of all rows, in the order of rooms, promises and designs."""
    lines = [
        "| promise | design | promised | measured | trials | verdict |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.promise} | {row.design} | {row.promised} | "
        f"{row.rate:.4f} [{row.low:.4f}, {row.high:.4f}] | {row.trials} | {row.verdict} |"
        for row in rows.itertuples()
    ]
    return "\n".join(lines)


def read_kept():
    """All rows that were kept, of every room."""
    kept = sorted((RESULTS / "calibration").glob("*.csv"))
    return pd.concat([pd.read_csv(path, keep_default_na=False) for path in kept])


def save(rows):
    """Put the rows in the files of their rooms, in place of older ones."""
    promises = load_promises()
    order = {(p.name, design): i for i, p in enumerate(promises.values()) for design in p.designs}
    for room, new in rows.groupby("room", sort=False):
        path = RESULTS / "calibration" / f"{room}.csv"
        path.parent.mkdir(exist_ok=True)
        if path.exists():
            old = pd.read_csv(path, keep_default_na=False)
            new = pd.concat([old, new]).drop_duplicates(KEYS, keep="last")
        places = pd.Series([order.get(key, -1) for key in zip(new["name"], new["design"])])
        new = new.set_index(places.to_numpy()).sort_index(kind="stable")
        new[new.index >= 0].to_csv(path, index=False)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="run a tenth of the trials")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the rows")
    parser.add_argument("--table", action="store_true", help="write the table of the kept rows")
    options = parser.parse_args(argv)
    if options.table:
        table = to_markdown(read_kept())
        (RESULTS / "calibration.md").write_text(f"{HEADER}{table}\n", "utf-8")
        print(table)
        return
    tasks = [
        delayed(run_row)(promised.name, design, n_quick(promised) if options.quick else None)
        for promised in choose(load_promises(), options.only)
        for design in promised.designs
    ]
    rows = pd.DataFrame(Parallel(n_jobs=options.jobs)(tasks))
    print(to_markdown(rows))
    if options.save:
        save(rows)


if __name__ == "__main__":
    main()
