"""Tables are read as they are, and one line is said about whatever cannot be worked with."""

import sys

import numpy as np
import pandas as pd
import pytest

import skmia
from skmia.cli import _inputs, main
from skmia.cli._features_and_target import as_features, infer_task
from skmia.cli._model import make_estimator
from skmia.cli._reading import read_table

N = 240
QUICK = ["--estimator", "logistic", "--shadows", "4", "--jobs", "1"]


@pytest.mark.parametrize(
    "options, message",
    [
        (["--data", "nowhere.csv", "--target", "income"], "file not found: nowhere.csv"),
        (["--target", "incme"], "column 'incme' not found; did you mean 'income'"),
        (["--target", "zzz"], "column 'zzz' not found; the columns are 'age', 'city'"),
        (["--target", "age"], "no value in"),
        (["--group", "ctiy"], "--group: column 'ctiy' not found; did you mean 'city'?"),
        (["--group", ""], "--group: column '' not found"),
        (["--group", "noise"], "240 values; at most 100 groups"),
        (["--group-by", "who"], "--group-by: column 'who' not found"),
        (["--drop", "nope"], "--drop: column 'nope' not found"),
        (["--drop", "income"], "--drop: column 'income' is the target"),
        (["--members", "traind"], "did you mean 'trained'? (nor is there a file of that name)"),
        (["--members", "city"], "must hold 0/1 or true/false; got"),
        (["--shadows", "-2"], "--shadows: must be even and at least 4; got -2"),
        (["--shadows", "5"], "--shadows: must be even and at least 4; got 5"),
        (["--shadows", "many"], "--shadows: must be auto or a whole number; got 'many'"),
        (["--time-limit", "0"], "--time-limit: must be a positive number of seconds; got '0'"),
        (["--time-limit", "soon"], "--time-limit: must be a positive number of seconds; got"),
        (["--memory-limit", "lots"], "--memory-limit: must be auto or a size such as 500MB or 2GB"),
        (["--memory-limit", "0GB"], "--memory-limit: must be auto or a size such as 500MB or 2GB"),
        (["--time-limit", "60"], "--time-limit limits the shadow models of --shadows auto"),
        (["--quick"], "--quick goes without --shadows"),
        (["--shadows", "auto", "--quick", "--time-limit", "9"], "--quick goes without --time-"),
        (["--shadows", "auto", "--quick", "--controls"], "--quick goes without --controls"),
        (["--shadows", "auto", "--quick", "--release", "file"], "without --release file"),
        (["--jobs", "0"], "--jobs: must be at least 1"),
        (["--seed", "-1"], "--seed: must lie between 0"),
        (["--fpr", "5"], "--fpr: must be a fraction"),
        (["--estimator", "svm"], "--estimator: invalid choice: 'svm'"),
        (["--task", "regression"], "'income' holds text, but"),
        (["--target", "noise", "--task", "classification"], "'noise' holds fractions"),
        (["--target", "noise"], "logistic is a classifier"),
        (["--model", "m.skops"], "--estimator goes with a model that is trained here"),
        (["--frobnicate"], "unrecognized arguments: --frobnicate"),
    ],
)
def test_bad_option_is_refused_with_one_line(refuse, data, options, message):
    base = ["--data", data, "--target", "income", *QUICK]
    assert message in refuse(*base, *options)


@pytest.mark.parametrize(
    "options, message",
    [
        (["--target", "income"], "--target goes with --data"),
        (["--group-by", "person"], "--group-by goes with --data"),
        (["--data", "t.csv"], "a table needs --target"),
        (["--data", "t.csv", "--target", "y", "--model", "m.skops"], "--model needs --members"),
        (
            ["--data", "t.csv", "--target", "y", "--model", "m.skops", "--task", "regression"],
            "--task goes with",
        ),
    ],
)
def test_options_that_do_not_go_together(refuse, options, message):
    assert message in refuse(*options)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"income": "same"}, "holds one value only, 'same'"),
        ({"trained": 0}, "names no member"),
        ({"trained": 1}, "names no non-member"),
        ({"city": np.nan}, "--group: column 'city' has no value in any row"),
        ({"noise": np.inf}, "'noise' holds infinite numbers"),
        ({"income": ["rare"] + ["x", "y"] * (N // 2 - 1) + ["x"]}, "one row of the class 'rare'"),
    ],
)
def test_table_that_cannot_be_used(refuse, table, tmp_path, change, message):
    table.assign(**change).to_csv(tmp_path / "t.csv", index=False)
    members = ["--members", "trained"] if "trained" in change else []
    options = ["--data", tmp_path / "t.csv", "--target", "income", "--group", "city", *members]
    assert message in refuse(*options, *QUICK)


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("t.csv", b"", "cannot be read"),
        ("t.csv", b"a,b\n", "has no rows"),
        ("t.csv", b'a,b\n"1,2\n', "cannot be read"),
        ("t.csv", b"\xff\xfe\x00", "cannot be read"),
        ("t.csv", b"a,\x00\n1,2\n", "a column whose name ends in a null character"),
        ("t.csv.gz", b"a,b\n1,2\n", "cannot be read"),
        ("t.xlsx", b"a,b\n1,2\n", "t.xlsx is an Excel table; save it as .csv or .parquet"),
        ("t.dat", b"a,b\n1,2\n", ".tsv, .tsv.gz, .parquet, .arrow, .feather nor a folder"),
        ("t.csv", b"income\na\nb\na\nb\n", "no features left"),
    ],
)
def test_file_that_is_no_table(refuse, tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    line = refuse("--data", tmp_path / name, "--target", "income", *QUICK)
    assert message in line


def test_parquet(run, refuse, table, tmp_path, handed_over):
    path = tmp_path / "t.parquet"
    try:
        table.to_parquet(path)
    except ImportError:
        path.write_bytes(b"PAR1")
        line = refuse("--data", path, "--target", "income", *QUICK)
        assert "pip install pyarrow" in line
    else:
        assert run("--data", path, "--target", "income", *QUICK)[0] == 0
        np.testing.assert_array_equal(handed_over[0].records.y, table["income"])
        np.testing.assert_array_equal(handed_over[0].records.X["age"], table["age"])


def test_folders_of_parquet_and_arrow_files(run, table, tmp_path, handed_over):
    pytest.importorskip("pyarrow")
    paths = [tmp_path / name for name in ("t.parquet", "folder", "t.arrow", "t.feather")]
    table.to_parquet(paths[0])
    paths[1].mkdir()
    half = len(table) // 2
    table[:half].to_parquet(paths[1] / "0.parquet")
    table[half:].to_parquet(paths[1] / "1.parquet")
    for path in paths[2:]:
        table.to_feather(path)
    for path in paths:
        pd.testing.assert_frame_equal(read_table(paths[0]).frame, read_table(path).frame)
    for path in paths[1:3]:
        assert run("--data", path, "--target", "income", *QUICK)[0] == 0
        np.testing.assert_array_equal(handed_over[-1].records.y, table["income"])
        np.testing.assert_array_equal(handed_over[-1].records.X["age"], table["age"])


def test_parquet_without_a_reader(refuse, tmp_path, monkeypatch):
    def missing(path):
        raise ImportError("Unable to find a usable engine;\n tried using: 'pyarrow'")

    monkeypatch.setattr(pd, "read_parquet", missing)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    line = refuse("--data", tmp_path / "t.parquet", "--target", "y")
    assert "pip install pyarrow" in line


@pytest.mark.parametrize(
    "content, message",
    [
        ("0\n1\n", "has 2 values and the table 240 rows"),
        ("0,1\n" * N, "has 2 columns"),
        ("0\n1\n" * (N // 2 - 1) + "0\nmaybe\n", "got 'maybe' in row 240"),
        ("", "cannot be read"),
    ],
)
def test_members_file_that_cannot_be_used(refuse, data, tmp_path, content, message):
    path = tmp_path / "members.txt"
    path.write_text(content)
    line = refuse("--data", data, "--target", "income", "--members", path, *QUICK)
    assert message in line


def test_output_that_cannot_be_written_is_known_before_the_work(refuse, tmp_path, monkeypatch):
    monkeypatch.setattr(_inputs, "load_sklearn", lambda _: pytest.fail("worked for nothing"))
    (tmp_path / "file").write_text("")
    assert "--out: cannot write into" in refuse("--out", tmp_path / "file")


@pytest.mark.usefixtures("handed_over")
def test_figure_that_fails_loses_no_numbers(run, data, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, text, _ = run("--data", data, "--target", "income", *QUICK, "--out", tmp_path)
    assert code == 0
    assert 'pip install "skmia[plot]"' in text
    assert (tmp_path / "audit.json").exists()
    assert not (tmp_path / "roc.png").exists()


def test_fault_of_the_program_is_told_from_bad_input(run, monkeypatch):
    def fail(_):
        raise KeyError("lost")

    monkeypatch.setattr(_inputs, "load_sklearn", fail)
    code, _, err = run()
    assert (code, err.count("\n")) == (3, 1)
    assert "unexpected KeyError" in err
    with pytest.raises(KeyError):
        main(["audit", "--debug"])
    monkeypatch.setenv("SKMIA_DEBUG", "1")
    with pytest.raises(KeyError):
        main(["audit"])


def test_interrupt(run, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_inputs, "load_sklearn", interrupt)
    code, out, err = run()
    assert (code, out) == (130, "")
    assert err.startswith("skmia audit: interrupted; no shadow model was kept")


def test_command_is_needed(capsys):
    assert main(["--debugging"]) == 2
    assert capsys.readouterr().err.startswith("skmia: the following arguments are required")


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help(capsys, option):
    with pytest.raises(SystemExit) as stop:
        main([option])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert (text == f"skmia {skmia.__version__}\n") if option == "--version" else "audit" in text


@pytest.mark.parametrize(
    "values, task",
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1], "classification"),
        (range(20), "classification"),
        (range(21), "regression"),
        ([0.0, 1.0], "regression"),
        (pd.Categorical([1.5, 2.5]), "classification"),
    ],
)
def test_task_follows_from_the_target(values, task):
    assert infer_task(pd.Series(values)) == task


@pytest.mark.contract
def test_features_are_numbers_and_categories_whatever_the_types_in_the_file():
    frame = pd.DataFrame(
        {
            "number": pd.array([1, None, 3], dtype="Int64"),
            "bit": pd.array([True, None, False], dtype="boolean"),
            "text": pd.array(["a", None, "b"], dtype="string"),
            "object": ["a", np.nan, 1],
            "category": pd.Categorical(["a", None, "b"]),
        }
    )
    features = as_features(frame)
    assert [dtype.kind for dtype in features.dtypes] == ["f", "f", "O", "O", "O"]
    assert np.isnan(features.loc[1, ["number", "bit"]].astype(float)).all()
    assert (features.loc[1, ["text", "object", "category"]] == "(missing)").all()
    estimator = make_estimator("logistic", features, "classification", 0)
    assert estimator.fit(features, ["x", "y", "x"]).predict(features).shape == (3,)


def test_dates_are_refused():
    frame = pd.DataFrame({"born": pd.to_datetime(["2000-01-01", "2001-01-01"])})
    with pytest.raises(Exception, match="'born' holds dates or times"):
        as_features(frame)


@pytest.mark.parametrize("name", ["--target", "--group", "--group-by"])
def test_columns_of_dictionaries_are_named(refuse, table, tmp_path, monkeypatch, name):
    frame = table.drop(columns=["city"]).assign(odd=[{"a": 1}] * len(table))
    monkeypatch.setattr(pd, "read_parquet", lambda path: frame)
    (tmp_path / "table.parquet").touch()
    options = {"--data": tmp_path / "table.parquet", "--target": "income", name: "odd"}
    message = refuse(*(word for pair in options.items() for word in pair))
    assert message == f"{name}: column 'odd' holds values of type dict"


@pytest.mark.parametrize("option", ["--out", "--checkpoint"])
@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_name_is_no_folder(refuse, data, option, text):
    message = refuse("--data", data, "--target", "income", option, text)
    assert message == f"argument {option}: must be a path; got {text!r}"


def test_null_characters_in_names(refuse, data):
    message = refuse("--data", data, "--target", "income", "--out", "a\0b")
    assert message == r"an argument holds a null character: 'a\x00b'"
