"""The process of models of strangers: what is said where the system closes too little to it."""

import json
import sys

import joblib
import pytest
from sklearn.linear_model import LogisticRegression

from skmia._core import walls
from skmia.cli import main

skops = pytest.importorskip("skops.io")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is closed is of Linux")


@pytest.fixture
def model(table, tmp_path):
    rows = table.dropna()
    fitted = LogisticRegression().fit(rows[["age", "noise"]], rows["income"])
    path = tmp_path / "model.skops"
    skops.dump(fitted, path)
    return path


@pytest.fixture
def arguments(table, tmp_path, model):
    path = tmp_path / "rows.csv"
    table.dropna()[["age", "noise", "trained", "income"]].to_csv(path, index=False)
    given = ["--data", path, "--target", "income", "--members", "trained", "--model", model]
    return ["audit", *map(str, given), "--quick", "--seed", "0", "--jobs", "1"]


@pytest.fixture
def open_files(monkeypatch):
    """As on a kernel without Landlock."""
    monkeypatch.setattr(walls, "_restrict_files", lambda places: 0)


@pytest.mark.usefixtures("handed_over")
@pytest.mark.parametrize("command", ["audit", "inspect"])
def test_each_command_says_what_is_open(command, arguments, model, open_files, capsys):
    assert main(arguments if command == "audit" else ["inspect", str(model)]) in (0, 1, 4)
    said = capsys.readouterr().err
    assert f"skmia {command}: This system does not keep" in said
    assert walls.FILES in said


def test_nothing_is_said_where_all_is_closed(model, monkeypatch, capsys):
    monkeypatch.setattr(walls, "build_walls", lambda places: [])
    monkeypatch.setattr("skmia._core.sandbox.build_walls", lambda places: [])
    assert main(["inspect", str(model), "--require-sandbox"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("one_attack", "no_drawing")
def test_the_document_and_the_sheet_say_it(arguments, open_files, tmp_path):
    folder = tmp_path / "out"
    main([*arguments, "--policy", "research", "--out", str(folder)])
    document = json.loads((folder / "audit.json").read_text())
    assert any(walls.FILES in note for note in document["notes"])
    assert walls.FILES in document["recommendation"]["provenance"]["process of the model"]
    assert "process of the model" in (folder / "decision.html").read_text()


@pytest.mark.parametrize("command", ["audit", "inspect"])
def test_a_sandbox_can_be_required(command, arguments, model, open_files, capsys, monkeypatch):
    given = arguments if command == "audit" else ["inspect", str(model)]
    assert main([*given, "--require-sandbox"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"skmia {command}: --require-sandbox: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("command", ["audit", "inspect"])
def test_a_pickle_is_in_no_sandbox(command, arguments, model, capsys):
    path = model.with_suffix(".joblib")
    joblib.dump(skops.load(model), path)
    given = [*arguments, "--model", str(path)] if command == "audit" else ["inspect", str(path)]
    assert main([*given, "--trust-pickle", "--require-sandbox"]) == 2
    assert "is a pickle" in capsys.readouterr().err
