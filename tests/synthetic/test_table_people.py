"""Rows of one person: exchanged together, found where nobody names them, and in both tables."""

import json

import numpy as np
import pandas as pd
import pytest
from draws import few_and_many
from quick_audits import permute_no_table
from refusals import check_refusal, parametrize_refusals

from skmia.report._document import check_table_document
from skmia.synthetic import (
    BootstrapGenerator,
    InferenceRisk,
    LinkabilityRisk,
    SinglingOutRisk,
    audit_table,
)
from skmia.synthetic._risks import average_by_person
from skmia.synthetic._table import _audit
from skmia.synthetic._table._people import find_repeated_persons, read_people
from skmia.synthetic._table._report import _ASSIGN, advise_on_table

pytestmark = pytest.mark.usefixtures("quick_tables")


@pytest.fixture
def no_permutations(monkeypatch):
    permute_no_table(monkeypatch)


def draw_visits(rng, n_people, n_rows=5):
    """Visits of people, with columns that each of them has."""
    counts = np.full(n_people, n_rows) if n_rows else rng.integers(1, 9, n_people)
    who = np.repeat(np.arange(n_people), counts)
    level = rng.normal(size=n_people)
    return (
        pd.DataFrame(
            {
                "who": [f"{rng.integers(10**6)}-{k}" for k in range(n_people)],
                "born": rng.integers(1940, 2005, n_people),
                "zip": rng.integers(100, 400, n_people),
                "sex": rng.choice(["f", "m"], n_people),
            }
        )
        .iloc[who]
        .reset_index(drop=True)
        .assign(
            amount=np.exp(3 + level[who] + rng.normal(0, 0.5, len(who))).round(2),
            kind=rng.choice(["food", "fuel", "rent"], len(who)),
        )
    )


@pytest.fixture(scope="module")
def visits():
    rng = np.random.default_rng(0)
    return [draw_visits(rng, 40, None) for _ in range(3)]


def test_new_persons_are_neither_shift_nor_leak(visits):
    real, made, held = visits
    report = audit_table(real, made, held, group_by="who", random_state=0)
    assert report.evidence == "none"
    data = report.data
    assert (data["n_persons_real"], data["n_persons_holdout"]) == (40, 40)
    assert "who" not in report.columns.index
    row = report.results.loc["rare copies"]
    assert (row["n_attacks"], row["n_controls"]) == (40, 40)
    assert "training rows of 40 persons" in report.summary()
    document = check_table_document(json.loads(report.to_json()))
    assert document["evidence"] == "none"
    shared = document | {"data": document["data"] | {"n_persons_shared": 3}}
    told = [advise_on_table(one)[0].imperative for one in (document, shared)]
    assert told == ["State with the table what was tested.", _ASSIGN.imperative]
    # The same by arrays, in place of the column; the synthetic table needs none.
    names = ("real", "synthetic", "holdout")
    arrays = [table["who"].to_numpy() for table in (real, held)]
    rest = dict(zip(names, (table.drop(columns="who") for table in visits), strict=True))
    named, people = read_people(dict(zip(names, visits, strict=True)), "who")
    _, others = read_people(rest, arrays)
    for name in names:
        pd.testing.assert_frame_equal(named[name], rest[name], check_exact=True)
    for name in ("real", "holdout"):
        np.testing.assert_array_equal(people.groups[name], others.groups[name])


def test_persons_are_found_by_what_they_have_in_one_table_alone(visits):
    rest = [table.drop(columns="who") for table in visits]
    people = find_repeated_persons({"real": rest[0], "holdout": rest[2]}, 0)
    assert set(people.columns) >= {"born", "zip"} and not {"amount", "kind"} & {*people.columns}
    report = audit_table(*rest, random_state=0)
    check = report.checks["rows of one person"]
    assert report.evidence == "none" and check["status"] == "warning"
    assert "'born', 'zip'" in check["text"] and "group_by" in check["text"]
    assert report.data["n_persons_real"] == 40


def draw_earners(rng, n_people, n_rows):
    """Rows of people whose income, which hardly anybody shares, says who they are."""
    who = np.repeat(np.arange(n_people), n_rows)
    own = {
        "born": rng.integers(1940, 2005, n_people),
        "state": rng.choice(list("abc"), n_people),
        "income": np.exp(10 + rng.normal(size=n_people) / 2).round(),
    }
    amount = np.exp(3 + rng.normal(size=len(who))).round(2)
    table = pd.DataFrame({name: values[who] for name, values in own.items()})
    return table.assign(amount=amount, kind=rng.choice(list("wxyz"), len(who)))


@few_and_many(30)
@pytest.mark.parametrize(("n_people", "n_rows"), [(60, 2), (60, 6), (40, 20), (30, 6)])
def test_persons_are_found_where_two_have_equal_values(n_people, n_rows, n_draws):
    # Two persons of one income and state, or a year of birth that no other table has by chance,
    # must not hide what the persons are.
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        real, holdout = (draw_earners(rng, n_people, n_rows) for _ in range(2))
        people = find_repeated_persons({"real": real, "holdout": holdout}, seed)
        assert people.groups is not None, seed
        assert "income" in people.columns and not {"amount", "kind"} & {*people.columns}, seed
        found = [len(np.unique(people.groups[name])) for name in ("real", "holdout")]
        assert min(found) >= n_people - 1 and max(found) <= n_people, seed


def test_a_table_of_one_region_is_not_taken_for_persons():
    # Of each zip code there are rows in one table alone, and a city follows from it.
    rng = np.random.default_rng(0)
    for n in (300, 1000):
        zips = rng.integers(0, 60, 2 * n)
        table = pd.DataFrame({"zip": zips, "city": zips // 3, "region": zips // 15})
        table = table.assign(age=rng.integers(18, 90, 2 * n)).sort_values("zip", kind="stable")
        parts = {"real": table[:n], "holdout": table[n:]}
        parts = {name: part.reset_index(drop=True) for name, part in parts.items()}
        assert find_repeated_persons(parts, 0).groups is None


def test_rows_of_many_persons_are_not_taken_for_one_persons():
    rng = np.random.default_rng(2)

    def draw(n):
        zips = rng.integers(0, 30, n)
        return pd.DataFrame(
            {
                "zip": zips,
                "city": zips // 3,
                "age": rng.integers(18, 90, n),
                "x": rng.normal(size=n),
            }
        )

    for shift in (0, 200):  # a holdout of other years of birth is a shift
        people = find_repeated_persons({"real": draw(400), "holdout": draw(400) + shift}, 0)
        assert people.groups is None and people.repeated == ()


@pytest.mark.usefixtures("no_permutations")
def test_persons_who_are_copied_are_a_leak_and_those_in_both_tables_are_left_out():
    rng = np.random.default_rng(3)
    real, held = draw_visits(rng, 40), draw_visits(rng, 40)
    for table in (real, held):
        table["town"] = np.where(np.arange(200) % 10 < 5, "large", "of " + table["who"])
    made = real.assign(amount=rng.permutation(real["amount"]), kind=rng.permutation(real["kind"]))
    held.loc[:9, "who"] = real["who"][:10].to_numpy()  # two persons
    made.loc[:4] = held.loc[:4]  # rows of a person who is no one never seen
    report = audit_table(real, made, held, group_by="who", random_state=0)
    check = report.checks["rows of one person"]
    assert check["status"] == "warning" and check["text"].startswith("2 persons have rows in both")
    assert (
        "their 10 and 10 rows" in check["text"] and "Assign all rows of a person" in check["text"]
    )
    assert report.data["n_persons_shared"] == 2 and report.data["n_persons_real"] == 38
    assert report.unchanged["n_train"] == 200 and report.evidence == "leak"
    assert (report.unchanged["test"], report.unchanged["n_test"]) == (0, 190)
    # All rows of every second person have a town that no other person has.
    assert report.results.loc["singling out, rare texts", "attack"] == 0.5
    rows = "200 training rows of 40 persons, 200 held-out rows of 40 persons"
    assert rows in report.summary(verbose=True)


@pytest.mark.parametrize("n_left", [0, 19])
def test_without_enough_persons_of_one_table_nothing_is_compared_with_the_holdout(
    visits, n_left, monkeypatch
):
    monkeypatch.setattr(_audit, "MOST_COMPARED", 100)
    real, made, held = visits
    names = dict(zip(held["who"].unique()[n_left:], real["who"].unique()))
    held = held.assign(who=held["who"].replace(names))
    report = audit_table(real, made, held, group_by="who", random_state=0)
    assert report.evidence == "unknown"
    told = f"{40 - n_left} persons have rows in both real tables. Without them, a table has"
    assert f"{told} {n_left} persons, and at least 20 are needed" in report.verdict
    assert report.results.empty and report.copies is None
    assert report.notes[0].startswith("Similarity is of at most")
    assert report.data["n_persons_real"] == report.data["n_persons_holdout"] == n_left
    check = report.checks["rows of one person"]
    assert check["status"] == "warning" and f"{40 - n_left} persons" in check["text"]
    assert report.checks["one population"]["text"] == "Too few persons are in one table only."
    # The similarity is to all training rows.
    alone = audit_table(real, made, group_by="who", random_state=0)
    pd.testing.assert_frame_equal(report.utility, alone.utility, check_exact=True)
    assert check_table_document(json.loads(report.to_json())) is not None
    assert "Assign all rows of a person to one table" in report.summary(verbose=True)
    assert "NO VERDICT" in report.to_html().upper()


@pytest.mark.usefixtures("no_permutations")
def test_without_enough_persons_of_one_table_no_model_and_no_further_table_is_compared(visits):
    real, made, _ = visits
    generator = BootstrapGenerator().fit(real.drop(columns="who"))
    report = audit_table(
        real, made, real, group_by="who", generator=generator, target="kind", random_state=0
    )
    assert report.trained is None and [*report.spread.index] == ["quality"]
    assert "because too few held-out persons are new to measure it on" in report.notes[-1]


@pytest.mark.parametrize("held", [["007", "12"], [7.0, 12.5], ["ab-1", "x"]], ids=str)
def test_persons_are_the_same_however_their_names_are_written(held):
    real = ["AB-1", "AB-2"] if "x" in held else [7, 8]
    tables = {"real": pd.DataFrame({"who": real, "a": 0}), "holdout": pd.DataFrame({"who": held})}
    _, people = read_people(tables, "who")
    assert [codes.tolist() for codes in people.groups.values()] == [[0, 1], [0, 2]]


def test_persons_split_by_rows_are_warned_of():
    rng = np.random.default_rng(4)
    visits = draw_visits(rng, 200).drop(columns="who")
    rows = rng.permutation(len(visits))
    people = find_repeated_persons(
        {"real": visits.iloc[rows[:500]], "holdout": visits.iloc[rows[500:]]}, 0
    )
    assert people.groups is None and {"born", "zip"} <= {*people.repeated}
    assert people.share_repeated > 0.9


def test_success_of_persons_by_hand():
    assert average_by_person(np.array([1.0, 0, 1, 1]), np.array([5, 5, 7, 9])).tolist() == [
        0.5,
        1,
        1,
    ]


@pytest.mark.parametrize("risk", [SinglingOutRisk(), LinkabilityRisk(), InferenceRisk(secrets=0)])
def test_persons_of_one_row_are_rows(risk):
    rng = np.random.default_rng(5)
    train, test, made = rng.normal(size=(3, 50, 3)).round(1)
    risk.set_params(random_state=0, n_permutations=99, n_attacks=100)
    plain = risk.fit(train, test, made).result_
    names = np.arange(100)
    pd.testing.assert_frame_equal(
        plain,
        risk.fit(train, test, made, groups=(names[:50], names[50:])).result_,
        check_exact=True,
    )
    together = risk.fit(train, test, made, groups=(np.arange(50) // 5, 50 + np.arange(50) // 5))
    counts = together.result_[["n_attacks", "n_controls"]].iloc[0]
    if not isinstance(risk, SinglingOutRisk):  # whose attacks are predicates
        assert counts.tolist() == [10, 10]


@parametrize_refusals(
    (
        lambda real, made, held: audit_table(real, made, held, group_by="x"),
        "group_by='x' is not a column of real; available",
    ),
    (
        lambda real, made, held: audit_table(real, made, held, group_by=[real["who"]]),
        "or one array of persons for each of real and holdout",
    ),
    (
        lambda real, made, held: audit_table(
            real, made, held.assign(who=[None, *held["who"][1:]]), group_by="who"
        ),
        "group_by of holdout has no value for 1 of",
    ),
)
def test_bad_persons(call, words, error, visits):
    check_refusal(call, words, error, *visits)
