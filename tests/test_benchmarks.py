"""Scripts of benchmarks/ run to their end at toy size; what they print is not judged."""

import os
import subprocess
import sys
from pathlib import Path

import first_minutes
import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]

# The arguments of each script: TABLE is a small table, FOLDER an empty folder.
TOYS = [
    "bench_gradients.py --images 20 --slow 2 --rounds 1 --threads 1",
    "bench_large.py --records 1000 --models 4 --workers 2 --folder FOLDER",
    "bench_large_audit.py --records 1000 --models 4 --folder FOLDER",
    "bench_linear.py --models 2 --alone 2 --only cancer",
    "bench_moments.py --tables 1",
    "bench_one_fit.py attack --victims 1",
    "bench_perceptrons.py --table TABLE --target label --models 2 --epochs 3",
    "bench_round_thresholds.py --halves 1",
    "bench_search.py --records 200 --models 2 --jobs 1",
    "bench_served_model.py --names normal --halves 1 --candidates 20 --queries 50",
    "bench_tables.py --rows 200 --columns 4",
    "bench_workers.py --workers 1 --models 4 --ways n_jobs",
    "every_audit_ends.py --quick --without-file --only bayes",
    "first_minutes.py --here",
    # The others are imported and say what they take.
    *(f"{path.name} --help" for path in sorted((ROOT / "benchmarks").glob("[a-z]*.py"))),
]


@pytest.mark.slow
@pytest.mark.parametrize("toy", TOYS)
def test_a_script_runs_to_its_end(toy, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    table.assign(label=rng.integers(0, 2, 200)).to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "folder").mkdir()
    places = {"TABLE": str(tmp_path / "table.csv"), "FOLDER": str(tmp_path / "folder")}
    script, *arguments = [places.get(word, word) for word in toy.split()]
    ended = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout


def test_a_newcomer_needs_no_more_commands_and_lines_than_promised():
    doors, installation = first_minutes.read_doors()
    counted = {door.name: door.count() for door in doors}
    assert counted.keys() == first_minutes.TARGETS.keys()
    assert {name: n for name, n in counted.items() if n > first_minutes.TARGETS[name]} == {}
    assert installation.startswith("pip install")
