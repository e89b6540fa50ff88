"""A decision that a second person repeats, bit by bit, from what its document says."""

import html
import json
import shlex
import shutil
from hashlib import sha256

import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skmia.attacks import LiRA
from skmia.cli import main
from skmia.cli._options import place_files
from skmia.cli._parser import as_settings, make_parser

# What differs between two runs of the same command: when it was run, and for how long.
TIMES = "created", "seconds", "seconds_per_model"


def without_times(value):
    if isinstance(value, dict):
        return {name: without_times(part) for name, part in value.items() if name not in TIMES}
    if isinstance(value, list):
        return [without_times(part) for part in value]
    return value


def write_case(folder, table):
    """A pipeline over mixed columns in a .skops file, and the table with its members."""
    skops = pytest.importorskip("skops.io")
    features = ["age", "city", "noise"]
    table = table.assign(city=table["city"].fillna("?"))
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["city"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "noise"]),
    )
    members = table[table["trained"] == 1]
    model = make_pipeline(columns, LogisticRegression()).fit(members[features], members["income"])
    skops.dump(model, folder / "model.skops")
    table.to_csv(folder / "people.csv", index=False)


@pytest.mark.usefixtures("no_drawing", "no_process")
def test_two_people_get_the_same_numbers(table, tmp_path, monkeypatch, capsys, one_attack):
    one_attack["attacks"] = {"LiRA": LiRA()}
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    write_case(first, table[:120])
    command = [
        *("audit", first / "model.skops", first / "people.csv", "--target", "income"),
        *("--members", "trained", "--group-by", "person"),
        *("--policy", "cautious", "--shadows", "4", "--jobs", "1"),
        *("--out", first / "audit"),
    ]
    monkeypatch.setattr("sys.argv", ["skmia", *map(str, command)])
    code = main()
    document = json.loads((first / "audit" / "audit.json").read_text())
    found = document["recommendation"]
    # The second person has the files of these hashes, and the command.
    origin = found["provenance"]
    page = (first / "audit" / "report.html").read_text()
    assert f"<pre><bdi>{html.escape(origin['command'])}</bdi></pre>" in page
    assert page.count("--group-by") == 1 and "<dt><bdi>command</bdi>" not in page
    second.mkdir()
    for name in ("people.csv", "model.skops"):
        shutil.copy(first / name, second / name)
        digest = sha256((second / name).read_bytes()).hexdigest()
        assert origin[f"sha256 of {name}"] == digest
    assert str(tmp_path) not in origin["command"]  # folders are private
    monkeypatch.chdir(second)
    monkeypatch.setattr("sys.argv", shlex.split(origin["command"]))
    assert main() == code
    again = json.loads((second / "audit" / "audit.json").read_text())
    assert without_times(again) == without_times(document)
    capsys.readouterr()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("audit", "audit"),
        ("audit --data a/t.csv --seed 0 --jobs 1", "audit --data t.csv --jobs 1"),
        ("audit x/m.skops y/t.csv --members z", "audit --data t.csv --members z --model m.skops"),
        ("audit --train=/a/b.csv --held-out=c.csv", "audit --train b.csv --held-out c.csv"),
        ("audit --drop=-a --drop b c", "audit --drop=-a --drop=b --drop=c"),
        ("audit --label-map '<=50K=a b' 1=True", None),
        ("audit --fpr 0.1 1e-05 --member-value=-1 --quick --target None", None),
        ("audit --fail-above auc=0.5 group:a=b:auc.low=1 --decimals 1", None),
        ("audit --provenance 'purpose=a b' --recipe '\"x\" $y' --time-limit 90.0", None),
        ("table ./-a.csv b.csv --drop c 'd e' --secrets f", None),
    ],
)
def test_a_command_is_repeated_as_it_stands(words, told):
    given = make_parser().parse_args(shlex.split(words))
    if given.command == "audit":
        place_files(given)
    settings = as_settings(given)
    command = shlex.split(settings["repeat"])
    again = make_parser().parse_args(command[1:])
    assert as_settings(again) == settings and command[0] == "skmia"
    assert told is None or settings["repeat"] == f"skmia {told}"
