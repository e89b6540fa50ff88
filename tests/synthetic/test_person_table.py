"""Tables of persons and of what belongs to them are compared by person."""

import re

import numpy as np
import pandas as pd
import pytest

from skmia.cli import main
from skmia.synthetic import audit_table
from skmia.synthetic._table._person_table import join_tables_of_persons

pytestmark = pytest.mark.usefixtures("quick_tables")

PATIENTS = pd.DataFrame({"id": [7, 3, 9], "age": [30, 40, 50]})
VISITS = pd.DataFrame(
    {
        "pid": [3.0, 7.0, 3.0, 7.0, 7.0],
        "cost": [10.0, 1.0, 30.0, 2.0, 6.0],
        "unit": ["er", "gp", "lab", "gp", "er"],
        "day": pd.to_datetime(
            ["2026-01-05", "2026-01-02", "2026-01-01", "2026-02-01", "2026-01-03"]
        ),
    }
)
KEYS = {"patients": "id", "visits": "pid"}


def join(patients=PATIENTS, visits=VISITS, keys=KEYS):
    return join_tables_of_persons({"real": {"patients": patients, "visits": visits}}, keys)


def test_a_row_is_a_person_with_a_summary_of_the_rows_of_others():
    found = join().tables["real"]
    expected = pd.DataFrame(
        {
            "age": [30, 40, 50],
            "visits: rows": [3, 2, 0],
            "visits: cost, mean": [3.0, 20.0, np.nan],
            "visits: cost, smallest": [1.0, 10.0, np.nan],
            "visits: cost, largest": [6.0, 30.0, np.nan],
            "visits: unit, most frequent": ["gp", "er", None],
            "visits: unit, different": [2.0, 2.0, np.nan],
            "visits: day, first": pd.to_datetime(["2026-01-02", "2026-01-01", None]),
            "visits: day, last": pd.to_datetime(["2026-02-01", "2026-01-05", None]),
        }
    )
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_a_column_that_the_synthetic_tables_lack_is_left_to_the_comparison():
    made = {"patients": PATIENTS, "visits": VISITS.drop(columns="cost")}
    data = {"real": {"patients": PATIENTS, "visits": VISITS}, "synthetic": made}
    found = join_tables_of_persons(data, KEYS).tables
    lacking = [name for name in found["real"] if name not in found["synthetic"]]
    assert lacking == [f"visits: cost, {word}" for word in ("mean", "smallest", "largest")]
    assert found["synthetic"].equals(found["real"].drop(columns=lacking))


def test_the_order_of_rows_changes_nothing():
    order = [4, 2, 0, 3, 1]
    found = join(visits=VISITS.iloc[order]).tables["real"]
    pd.testing.assert_frame_equal(found, join().tables["real"], check_exact=True)


def test_means_of_rows_in_another_order_are_the_same_numbers():
    rng = np.random.default_rng(0)
    visits = pd.DataFrame(
        {"pid": np.repeat([7, 3, 9], 30), "cost": rng.normal(50, 20, 90).round(2)}
    )
    found = [
        join(visits=visits.iloc[order]).tables["real"]
        for order in (np.arange(90), *(rng.permutation(90) for _ in range(4)))
    ]
    assert found[0]["visits: cost, mean"].tolist() == pytest.approx(
        [visits["cost"][visits["pid"] == person].mean() for person in (7, 3, 9)]
    )
    for other in found[1:]:
        pd.testing.assert_frame_equal(other, found[0], check_exact=True)


def test_notes_say_what_became_of_the_tables():
    note = join().notes[0]
    assert "patients by id (one row per person, 3 rows in the training data)" in note
    assert "visits by pid (several rows per person, 5 rows in the training data)" in note
    assert len(join().notes) == 1


def test_a_person_is_one_row_however_each_table_writes_the_key():
    visits = VISITS.assign(pid=VISITS["pid"].map("{:03.0f}".format))
    pd.testing.assert_frame_equal(
        join(visits=visits).tables["real"], join().tables["real"], check_exact=True
    )


def test_a_person_without_a_row_in_the_first_table_is_kept():
    found = join(patients=PATIENTS[:2].replace({"id": {3: 4}})).tables["real"]
    assert len(found) == 3
    assert found["age"].isna().sum() == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"keys": "id"}, r"keys: 'id' is not a column of 'visits' of real"),
        ({"keys": {"patients": "id"}}, "keys lack the column of persons in 'visits'"),
        ({"keys": KEYS | {"labs": "pid"}}, "keys name no table 'labs'"),
        ({"keys": 3}, "keys must be the column"),
        ({"visits": VISITS.assign(pid=[3, None, 3, 7, 7])}, "1 rows have no person"),
        ({"visits": "text"}, "visits"),
    ],
)
def test_keys_that_do_not_fit_are_refused(given, words):
    with pytest.raises((ValueError, TypeError), match=words):
        join(**given)


def test_a_column_of_two_tables_of_persons_is_refused():
    data = {"real": {"a": PATIENTS, "b": PATIENTS}}
    with pytest.raises(ValueError, match="the column 'age'; rename one"):
        join_tables_of_persons(data, "id")


def test_data_sets_have_the_same_tables():
    data = {"real": {"a": PATIENTS, "b": VISITS}, "synthetic": {"a": PATIENTS, "c": VISITS}}
    with pytest.raises(
        ValueError, match="^synthetic has the tables 'a', 'c', and .* have 'a', 'b';"
    ):
        join_tables_of_persons(data, KEYS)


def draw_people(rng, n, n_visits, start):
    patients = pd.DataFrame(
        {"id": np.arange(n) + start, "age": rng.integers(18, 90, n), "sex": rng.choice([*"mf"], n)}
    )
    base = rng.gamma(2, 50, n)
    who = np.repeat(np.arange(n), n_visits)
    visits = pd.DataFrame(
        {
            "id": who + start,
            "visit": np.arange(len(who)),
            "cost": (base[who] * rng.lognormal(0, 0.3, len(who))).round(1),
            "unit": rng.choice(["er", "gp", "lab"], len(who)),
        }
    )
    return {"patients": patients, "visits": visits}


def add_copies(synthetic, real, persons, rng):
    """Add copies of persons under other names, with costs that differ by 2%."""
    names = dict(zip(persons, np.arange(len(persons)) + 90_000))
    added = {}
    for name, table in real.items():
        copied = table[table["id"].isin(persons)].assign(id=lambda rows: rows["id"].map(names))
        if "cost" in copied:
            copied["cost"] = (copied["cost"] * rng.normal(1, 0.02, len(copied))).round(1)
        added[name] = pd.concat([synthetic[name], copied], ignore_index=True)
    return added


# Five rows of a person, and slowly twenty: an audit of more rows takes the same steps.
@pytest.fixture(scope="module", params=[5, pytest.param(20, marks=pytest.mark.slow)])
def world(request):
    rng = np.random.default_rng(request.param)
    real, held_out, fresh = (draw_people(rng, 100, request.param, k * 1000) for k in range(3))
    leaky = add_copies(fresh, real, rng.choice(100, 25, replace=False), rng)
    return {"real": real, "held_out": held_out, "fresh": fresh, "leaky": leaky}


# The test of folders finds the copied persons too.
@pytest.mark.parametrize(
    "name, evidence", [("fresh", "none"), pytest.param("leaky", "leak", marks=pytest.mark.slow)]
)
def test_copied_persons_are_found_and_new_ones_are_not(world, name, evidence):
    found = audit_table(world["real"], world[name], world["held_out"], keys="id", random_state=0)
    assert found.evidence == evidence
    assert found.data["n_real"] == 100
    assert any("'visit'" in note for note in found.notes)
    # Each compared row is a person, and is called so.
    text = " ".join(f"{found.summary(verbose=True)} {found.verdict}".split())
    assert "100 synthetic persons" in text.replace(f"{found.data['n_synthetic']}", "100")
    assert "training persons" in text and "persons never seen" in text
    assert not re.search("training rows|rows never seen|held-out rows|synthetic row ", text)


@pytest.mark.parametrize("names", [[3, 11, 12], ["03", "11", "12"]], ids=["numbers", "text"])
def test_persons_of_both_sides_are_left_out_of_both(names):
    more = pd.DataFrame({"id": names, "age": [40, 60, 70]})
    data = {
        "real": {"patients": PATIENTS, "visits": VISITS},
        "synthetic": {"patients": PATIENTS, "visits": VISITS},
        "held_out": {"patients": more, "visits": VISITS[VISITS["pid"] == 3]},
    }
    found = join_tables_of_persons(data, KEYS)
    assert found.tables["real"]["age"].tolist() == [30, 50]
    assert found.tables["synthetic"]["age"].tolist() == [30, 40, 50]
    assert found.tables["held_out"]["age"].tolist() == [60, 70]
    assert any("are left out of both: 1." in note for note in found.notes)
    data["held_out"] = data["real"]
    with pytest.raises(ValueError, match="3 of 3 held-out persons are training persons"):
        join_tables_of_persons(data, KEYS)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "name the column of persons by keys"),
        ({"keys": "id", "group_by": "id"}, "group_by is not taken with keys"),
    ],
)
def test_several_tables_need_keys_alone(world, settings, words):
    with pytest.raises(ValueError, match=words):
        audit_table(world["real"], world["fresh"], world["held_out"], **settings)


def test_one_table_with_keys_is_refused():
    with pytest.raises(ValueError, match="must be a dict of tables by name"):
        audit_table(PATIENTS, PATIENTS, PATIENTS, keys="id")


def test_folders_of_tables_are_read(world, tmp_path, capsys):
    for name in ("real", "held_out", "leaky"):
        (tmp_path / name).mkdir()
        for table, rows in world[name].items():
            rows.to_csv(tmp_path / name / f"{table}.csv", index=False)
    places = [str(tmp_path / name) for name in ("leaky", "real", "held_out")]
    out = tmp_path / "out"
    words = ["table", *places, "--keys", "id", "--policy", "research", "--out", str(out)]
    assert main(words) == 1
    text = (out / "table.json").read_text()
    assert "sha256 of leaky/visits.csv" in text
    told = capsys.readouterr().out
    assert "leak" in told.lower() and "100 training persons" in told
    page = (out / "report.html").read_text()
    assert "persons never seen" in page and "rows never seen" not in page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--keys", "id", "--person", "id"], "--person goes without --keys"),
        (["--keys", "patients=id"], "--keys: keys lack the column of persons in 'visits'"),
        (["--keys", "=id"], "must be a column or TABLE=COLUMN"),
        ([], "is a folder of tables: name the column of persons in each by --keys"),
    ],
)
def test_words_that_do_not_fit_are_refused(words, message, tmp_path, capsys):
    folders = [tmp_path / name for name in ("synthetic", "train", "held_out")]
    for folder in folders:
        folder.mkdir()
        PATIENTS.to_csv(folder / "patients.csv", index=False)
        VISITS.to_csv(folder / "visits.csv", index=False)
    assert main(["table", *map(str, folders), *words]) == 2
    assert message in capsys.readouterr().err


def test_other_tables_in_one_folder_are_refused(tmp_path, capsys):
    for name, table in (("synthetic", "patients"), ("train", "people")):
        (tmp_path / name).mkdir()
        PATIENTS.to_csv(tmp_path / name / f"{table}.csv", index=False)
    words = ["table", str(tmp_path / "synthetic"), str(tmp_path / "train"), "--keys", "id"]
    assert main(words) == 2
    assert "SYNTHETIC: the folder has the tables patients" in capsys.readouterr().err
