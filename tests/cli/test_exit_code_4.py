"""Each exit code 4 comes with a step that ends it."""

import numpy as np
import pandas as pd
import pytest

from skmia.cli import main


def draw_table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(6)
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    return pd.DataFrame(X, columns=list("abcd")).assign(y=y, member=rng.permutation(n) % 2)


def run(frame, folder, capsys, *options):
    """The exit code, and all that was printed."""
    path = folder / "table.csv"
    frame.to_csv(path, index=False)
    data = ["--data", str(path), "--target", "y", "--members", "member"]
    given = [
        *data,
        *([] if "--estimator" in options else ["--estimator", "random-forest"]),
        *options,
    ]
    given += [] if "--quick" in options or "--shadows" in options else ["--shadows", "4"]
    code = main(["audit", *given, "--jobs", "1", "--seed", "0"])
    told = capsys.readouterr()
    return code, " ".join((told.out + told.err).split())


def test_a_number_that_so_few_records_do_not_resolve(tmp_path, capsys):
    limit = "--quick", "--fpr", "0.02", "--fail-above", "tpr@0.02=0.999"
    code, told = run(draw_table(400), tmp_path, capsys, *limit)
    assert code == 4
    assert "it takes 500 non-members or more, and 0.02 among the rates (--fpr)" in told
    code, told = run(draw_table(1000), tmp_path, capsys, *limit)
    assert code != 4, told


def test_a_policy_whose_number_was_not_measured(tmp_path, capsys):
    frame = draw_table(300)
    code, told = run(frame, tmp_path, capsys, "--quick", "--policy", "research")
    # A forest is above its limit, whatever is missing.
    assert code == 1
    assert ("do not release" in told and "were not measured" in told) or "was not measured" in told
    assert "Audit with 1,000 non-members or more, and with 0.01 among the rates (--fpr)" in told


@pytest.mark.parametrize("n_columns", [5])
def test_a_route_without_a_verdict_has_a_step_beside_one_that_leaks(tmp_path, capsys, n_columns):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(400, n_columns))
    frame = pd.DataFrame(X, columns=list("abcde")[:n_columns])
    frame = frame.assign(y=(X[:, 0] + rng.integers(0, 2, 400) > 1).astype(int))
    frame = frame.assign(member=rng.permutation(400) % 2)
    code, told = run(frame, tmp_path, capsys, "--estimator", "logistic", "--shadows", "8")
    if code == 4:
        steps = told.partition("Next")[2]
        assert "copies" in steps or "Use more records" in steps or "population" in steps, steps
