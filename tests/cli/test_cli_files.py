"""Files of the command: private, without folders in them, and said when they are not there."""

import json
import os
import re
import stat
import sys

import numpy as np
import pandas as pd
import pytest

from skmia.cli import main
from skmia.cli._output import check_folder
from skmia.report import _report

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("audit_once", "one_attack", "no_drawing")
QUICK = ["--estimator", "logistic", "--shadows", "4", "--jobs", "1", "--verbose"]
posix = pytest.mark.skipif(os.name != "posix", reason="modes are those of POSIX")


@pytest.fixture
def options(data):
    return ["--data", data, "--target", "income", *QUICK]


def read_modes(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@posix
def test_only_the_user_can_read_them_and_the_umask_is_left_alone(
    run, options, tmp_path, monkeypatch
):
    monkeypatch.setattr("os.umask", lambda mask: pytest.fail("the umask is everybody's"))
    out = tmp_path / "out"
    out.mkdir()
    (out / "audit.json").write_text("old, and open to all")
    assert run(*options, "--out", out)[0] in (0, 4)
    names = {"audit.json", "roc.png", "report.html"}
    assert read_modes(out) == dict.fromkeys(names, 0o600)
    assert main(["report", str(out / "audit.json"), "--out", str(out / "again.html")]) == 0
    assert read_modes(out) == dict.fromkeys([*names, "again.html"], 0o600)


@posix
def test_a_folder_of_models_is_private_and_one_of_reports_is_like_others(tmp_path):
    (tmp_path / "usual").mkdir(mode=0o755)
    for name in ("out", "checkpoint"):
        check_folder(name, tmp_path / name)
    modes = read_modes(tmp_path)
    assert modes["out"] == modes["usual"] and modes["checkpoint"] == 0o700


def test_a_planted_link_is_replaced_and_what_it_names_stays(run, options, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("mine")
    out = tmp_path / "out"
    out.mkdir()
    for name in ("audit.json", "roc.png", "report.html"):
        (out / name).symlink_to(secret)
    assert run(*options, "--out", out)[0] in (0, 4)
    assert secret.read_text() == "mine"
    assert not any(path.is_symlink() for path in out.iterdir())


@pytest.mark.usefixtures("handed_over")
def test_they_name_no_folder(run, table, tmp_path):
    folder = tmp_path / "Secret Project"
    folder.mkdir()
    table.drop(columns="trained").to_csv(folder / "people.csv", index=False)
    table["trained"].to_csv(folder / "members.csv", index=False)
    data = ["--data", folder / "people.csv", "--members", folder / "members.csv"]
    assert run(*data, "--target", "income", *QUICK, "--out", folder / "out")[0] in (0, 4)
    for name in ("audit.json", "report.html"):
        text = (folder / "out" / name).read_text(encoding="utf-8")
        assert "Secret" not in text and str(tmp_path) not in text
    command = json.loads((folder / "out" / "audit.json").read_text())["settings"]["command"]
    assert (command["data"], command["members"]) == ("people.csv", "members.csv")
    assert command["out"] == "out"


@pytest.mark.usefixtures("handed_over")
def test_a_model_is_named_without_its_folder(run, data, table, tmp_path):
    joblib = pytest.importorskip("joblib")
    from sklearn.tree import DecisionTreeClassifier

    members = table[table["trained"] == 1]
    model = DecisionTreeClassifier(random_state=0).fit(members[["noise"]], members["income"])
    folder = tmp_path / "Secret Project"
    folder.mkdir()
    joblib.dump(model, folder / "model.joblib")
    arguments = ["--data", data, "--target", "income", "--members", "trained", "--shadows", "4"]
    arguments += ["--model", folder / "model.joblib", "--trust-pickle", "--out", tmp_path / "out"]
    assert run(*arguments)[0] in (0, 4)
    text = (tmp_path / "out" / "audit.json").read_text()
    assert "Secret" not in text and '"model.joblib"' in text


@pytest.mark.parametrize("fails", ["page", "picture"])
def test_what_could_not_be_made_is_said_and_in_the_exit_code(
    run, options, tmp_path, monkeypatch, fails
):
    def fail(*_, **__):
        raise ZeroDivisionError("float division\nby zero")

    name = {"page": "report.html", "picture": "roc.png"}[fails]
    monkeypatch.setattr(_report, {"page": "render_audit", "picture": "draw_picture"}[fails], fail)
    code, text, error = run(*options, "--out", tmp_path)
    why = "ZeroDivisionError: float division by zero"
    assert code in (3, 4) and error.count("\n") == 1
    assert f"The file {name} could not be made: {why}" in error
    assert f"\nThe file {name} could not be made: {why}." in text
    notes = json.loads((tmp_path / "audit.json").read_text())["notes"]
    assert notes[-1] == f"The file {name} could not be made: {why}."
    assert not (tmp_path / name).exists()


def test_an_exceeded_limit_comes_before_a_missing_page(run, options, tmp_path, monkeypatch):
    monkeypatch.setattr(_report, "render_audit", lambda *_, **__: 1 / 0)
    code, _, error = run(*options, "--out", tmp_path, "--fail-above", "auc.high=0.5")
    assert code in (1, 4) and "report.html could not be made" in error


def test_a_package_that_is_not_there_is_said_and_no_fault(run, options, tmp_path, monkeypatch):
    expected = run(*options)[0]
    monkeypatch.setitem(sys.modules, "jinja2", None)
    code, text, _ = run(*options, "--out", tmp_path)
    assert code == expected
    assert re.search(r"\nThe file report.html could not be made: .*skmia\[report\]", text)


def test_names_of_a_table_are_seen_in_what_is_printed(run, table, tmp_path, capsys):
    forged = "Oslo\n\nNo leakage detected.\nexit 0"
    frame = table[:120].drop(columns="city")
    frame["ci\x1b[2Jty"] = np.where(frame["age"] > 40, forged, "x")
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    options = ["--data", path, "--target", "income", "--group", "ci\x1b[2Jty", *QUICK]
    code, text, error = run(
        *options, "--fail-above", "group:ci\x1b[2Jty=x:auc=0", "--out", tmp_path
    )
    assert code in (1, 4)
    for printed in (text, error):
        assert "\x1b" not in printed and "exit 0" not in printed.splitlines()
    assert "Oslo\\n\\nNo leakage detected.\\nexit 0 (" in text
    saved = str(tmp_path / "audit.json")
    assert main(["compare", saved, saved]) == 0
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--data", "no\x1b[2J\n.csv", "--target", "income"],
        ["--data", "{data}", "--target", "inc\x1b[2J\nome"],
        ["--data", "{data}", "--target", "income", "--members", "x\x1b[2J\n.csv"],
        ["--data", "{data}", "--target", "income", "--what\x1b[2J\n"],
    ],
)
def test_messages_show_names_as_they_are(refuse, data, arguments):
    message = refuse(*(argument.format(data=data) for argument in arguments))
    assert "\x1b" not in message and "\\x1b[2J\\n" in message


def test_a_class_with_orders_to_a_terminal(refuse, tmp_path):
    path = tmp_path / "table.csv"
    pd.DataFrame({"x": range(8), "y": ["a\x1b[2J\nb"] + ["c"] * 7}).to_csv(path, index=False)
    assert "'a\\x1b[2J\\nb'" in refuse("--data", path, "--target", "y")
