"""``skmia audit --dry-run``: what an audit costs, and nothing else."""

import joblib
import pytest
from sklearn.tree import DecisionTreeClassifier

from skmia.cli import _audit

PHASES = "model as a file: file", "shadow models", "checks: drift", "attacks: LiRA"


@pytest.fixture
def model(table, tmp_path):
    rows = table.dropna().query("trained == 1")
    path = tmp_path / "model.joblib"
    joblib.dump(DecisionTreeClassifier().fit(rows[["age", "noise"]], rows["income"]), path)
    return path


@pytest.fixture
def given(table, tmp_path, model):
    path = tmp_path / "rows.csv"
    table.dropna()[["age", "noise", "trained", "income"]].to_csv(path, index=False)
    named = "--data", path, "--target", "income", "--members", "trained", "--model", model
    return [*named, "--trust-pickle", "--jobs", "1", "--seed", "0", "--dry-run"]


def test_the_phases_are_printed_and_nothing_is_attacked_or_written(
    run, given, tmp_path, monkeypatch
):
    monkeypatch.setattr(_audit, "audit", None)
    before = sorted(tmp_path.iterdir())
    limits = "--fail-above", "auc=0.5", "--policy", "cautious"
    folders = "--out", tmp_path / "out", "--checkpoint", tmp_path / "models"
    code, text, err = run(*given, *limits, *folders)
    assert (code, err) == (0, "")
    assert all(any(line.startswith(name) for line in text.splitlines()) for name in PHASES)
    assert "In all at least" in text and "8 shadow models" in text
    assert sorted(tmp_path.iterdir()) == before


def test_it_is_that_of_the_options(run, given):
    code, text, _ = run(*given, "--shadows", "12")
    assert code == 0 and "12 shadow models" in text and "Up to 64" not in text
    code, text, _ = run(*given, "--quick")
    assert code == 0 and "as a file" not in text


def test_the_memory_limit_is_handed_on(run, given, monkeypatch):
    asked = []
    estimate = _audit.estimate_cost

    def watch(*data, **settings):
        asked.append(settings["max_bytes"])
        return estimate(*data, **settings)

    monkeypatch.setattr(_audit, "estimate_cost", watch)
    for more in ((), ("--memory-limit", "2GB"), ("--memory-limit", "1.5 kb")):
        assert run(*given, *more)[0] == 0
    assert asked == ["auto", 2e9, 1500.0]


def test_a_mistake_is_one_line(run, given, tmp_path):
    code, _, err = run(*given, "--target", "gone")
    assert code == 2 and err.count("\n") == 1 and "gone" in err


def test_a_model_of_strangers_is_asked_in_its_own_process(run, given, table, model):
    skops = pytest.importorskip("skops.io")
    path = model.with_suffix(".skops")
    skops.dump(joblib.load(model), path)
    options = [path if one == model else one for one in given if one != "--trust-pickle"]
    code, text, _ = run(*options)
    assert code == 0 and "In all at least" in text


def test_memory_that_does_not_suffice_at_all_is_one_line(run, given, monkeypatch):
    def fail(*arguments, **settings):
        raise MemoryError("Unable to allocate 8.0 GiB for an array")

    monkeypatch.setattr(_audit, "make_problem", fail)
    code, _, err = run(*given)
    assert code == 2 and err.count("\n") == 1
    assert "8.6 GB could not be had at once; give a random sample of the rows" in err


@pytest.mark.usefixtures("handed_over")
def test_a_real_audit_does_not_know_the_option(run, given):
    code, text, _ = run(
        *[one for one in given if one != "--dry-run"], "--quick", "--format", "json"
    )
    assert code in (0, 4) and "dry" not in text


def test_a_policy_that_is_not_there_is_refused_as_by_the_audit(run, given):
    code, _, err = run(*given, "--policy", "nope")
    assert code == 2 and "there is no file 'nope'" in err
