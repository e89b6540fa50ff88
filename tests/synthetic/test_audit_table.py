"""The audit of a synthetic table: copies, fresh rows, a mirror, and what cannot be said."""

import re

import numpy as np
import pandas as pd
import pytest
from quick_audits import permute_no_table

from skmia.synthetic import SinglingOutRisk, audit_table
from skmia.synthetic._table._audit import _check_duplicates
from skmia.synthetic._table._evidence import (
    ROWS,
    TableGrounds,
    choose_table_evidence,
    correct,
    write_table_verdict,
)

pytestmark = pytest.mark.usefixtures("quick_tables")


@pytest.fixture
def no_permutations(monkeypatch):
    permute_no_table(monkeypatch)


def draw(rng, n):
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    table["c"] = np.where(rng.random(n) < 0.1, np.nan, table["c"])
    return table.assign(work=rng.choice(["x", "y", None], n))


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    return [draw(rng, 120) for _ in range(3)]


def test_a_table_with_copies_leaks_and_fresh_ones_do_not(tables):
    real, holdout, made = tables
    copied = pd.concat([real[:30], made[30:]])
    report = audit_table(real, copied, holdout, random_state=0)
    assert report.evidence == "leak" and report.verdict.startswith("Leakage found. ")
    assert "rare copies, " in report.verdict and "rare copies" in report.summary(verbose=True)
    assert report.results.loc["rare copies", "pvalue_holm"] < 0.05
    # Each column is inferred; of singling out by one column, all predicates count together.
    assert [*report.results.index[-4:]] == [f"inference of {name}" for name in real]
    risk = SinglingOutRisk("univariate", n_permutations=0, n_attacks=120, random_state=0)
    alone = risk.fit(real, holdout, copied).result_.iloc[0]
    row = report.results.loc["singling out, one column"]
    assert (row["n_attacks"], row["attack"]) == (alone["n_attacks"], alone["attack"])
    turned = made[made.columns[::-1]]  # columns in another order
    safe = audit_table(real, turned, holdout, random_state=0)
    assert safe.evidence == "none"
    assert "Exact copies of" in safe.verdict and "such as a mirrored one" in safe.verdict


@pytest.mark.usefixtures("no_permutations")
def test_rows_that_are_changed_a_little_are_found():
    rng = np.random.default_rng(3)
    real, holdout, made = rng.normal(size=(3, 120, 4))
    made[:24] = real[:24] + 1e-4
    report = audit_table(real, made, holdout, random_state=0)
    assert report.copies.loc["all copies", "train"] == 0
    assert report.evidence == "leak" and "near copies" in report.verdict


def test_a_generator_that_overfits_is_found_by_membership():
    rng = np.random.default_rng(4)
    real, holdout, noise = rng.normal(size=(3, 200, 4))
    report = audit_table(real, real + 0.5 * noise, holdout, random_state=0)
    assert report.evidence == "leak"
    found = report.results[report.results.index.str.startswith("membership by ")]
    assert len(found) == 4 and found["pvalue_holm"].min() < 0.05
    assert (found["low"] <= found["estimate"]).all() and found["estimate"].max() < 1


@pytest.mark.slow  # the first test reads the sentence that names it
def test_a_mirror_is_named_as_what_is_not_seen():
    real, holdout = np.random.default_rng(1).normal(size=(2, 100, 4))
    report = audit_table(real, -real, holdout, random_state=0)
    assert report.evidence == "none" and "mirrored" in report.summary()


def test_without_a_holdout_nothing_can_be_said(tables):
    real = tables[0]
    report = audit_table(real, real, target="work", random_state=0)
    assert report.evidence == "unknown" and "no holdout" in report.verdict
    assert report.to_frame().empty and report.copies is None
    assert report.utility.loc["columns", "estimate"] == 1
    assert report.notes == ["No model was trained, because there is no holdout to measure it on."]
    assert f"Note: {report.notes[0]}" in report.summary(verbose=True).splitlines()
    assert len(report.summary()) < len(report.summary(verbose=True))
    few = TableGrounds(
        report.results, {"real": 19, "synthetic": 50, "holdout": 50}, 0.95, 0.1, None
    )
    assert choose_table_evidence(few) == "unknown" and "has 19 rows" in write_table_verdict(
        few, "unknown"
    )


@pytest.mark.usefixtures("no_permutations")
def test_tables_in_which_copies_could_not_be_found():
    real, holdout, made = np.random.default_rng(2).integers(2, size=(3, 100, 2))
    report = audit_table(real, made, holdout, random_state=0)
    assert report.evidence == "unknown" and "copies of all training rows" in report.verdict
    assert report.checks["duplicates"]["status"] == "warning"
    # Of two columns no row is rare without one: what nothing can find is no number to correct for.
    assert report.copies.loc["copies but one cell", "share_counted"] == 0
    assert [*report.results.index[:3]] == ["rare copies", "near copies", "privacy loss"]


def read_strip(report):
    """What the picture of a page without a verdict says, the first of it in bold."""
    pytest.importorskip("jinja2")
    page = report.to_html()
    assert page.count('class="srow main"') == 1 and "<figure" not in page
    return re.findall(r'srow(?: main)?"><span>(.*?)</span>.*?<b>(.*?)</b>', page)


def test_without_a_holdout_the_picture_says_that_it_could_be_anything(tables):
    real, _, made = tables
    report = audit_table(real, made, random_state=0)
    assert read_strip(report) == [("nothing was measured", "unknown")]
    assert "M10.0 10H370.0" in report.to_html() and 'class="pt"' not in report.to_html()


@pytest.mark.usefixtures("no_permutations")
def test_tables_of_two_populations(tables):
    real, holdout, made = tables
    report = audit_table(real, made, holdout.assign(a=holdout["a"] + 3), random_state=0)
    shift = report.checks["one population"]
    assert report.evidence == "shift" and shift["status"] == "warning"
    rows = read_strip(report)
    assert rows[0] == ("without the table", f"{100 * shift['interval'][0]:.0f} of 100")
    assert rows[1][0] == "best attack on the table" and shift["interval"][1] > 0.5


@pytest.mark.parametrize(("n_equal", "status"), [(1, "passed"), (2, "warning")])
def test_more_than_a_tenth_of_rows_in_both_real_tables_is_a_warning(n_equal, status):
    rows = pd.DataFrame({"a": np.arange(20.0)})
    real, holdout = rows[:10], rows[10 - n_equal : 20 - n_equal]
    assert _check_duplicates(real, holdout, ROWS)["status"] == status


def test_swapped_tables(tables):
    real, holdout, made = tables
    report = audit_table(holdout, pd.concat([real[:60], made[60:]]), real, random_state=0)
    assert report.evidence == "reversed" and "swapped" in report.verdict
    words, number = read_strip(report)[0]
    assert words == "worst attack on the table" and int(number.split()[0]) < 50


def test_weighted_holm_by_hand():
    names = ["rare copies", "a", "b"]
    # 0.63 and 0.185 and 0.185 of the level: 0.005 / 0.185, then 0.02 / 0.63 * 0.815, which is less.
    by_hand = [0.02 / 0.63 * 0.815, 0.005 / 0.185, 0.3]
    assert correct(names, [0.02, 0.005, 0.3]).tolist() == pytest.approx(
        [0.005 / 0.185, *by_hand[1:]]
    )
    one = ["rare copies", "copies but one cell", "a"]
    # Of all p-values the first is 5 copies of none of as many rows, and the second 7.
    assert (correct(one, [2**-5, 2**-7, 1]) <= 0.05).tolist() == [True, True, False]
    assert correct(["a", "b"], [0.01, np.nan]).tolist() == pytest.approx([0.02, 1])


def test_a_verdict_needs_what_it_says():
    results = pd.DataFrame({"leak": [False], "pvalue_below": [0.5], "pvalue_holm": [1.0]}, ["x"])
    rows = dict.fromkeys(("real", "synthetic", "holdout"), 50)
    grounds = TableGrounds(results, rows, 0.95, 0.02, None)
    assert choose_table_evidence(grounds) == "none" and "2%" in write_table_verdict(grounds, "none")
    apart = write_table_verdict(grounds._replace(n_rows=rows | {"shared": 3}), "none")
    assert apart.endswith(" 3 persons have rows in both real tables and were not compared.")
    assert choose_table_evidence(grounds._replace(smallest_share=np.inf)) == "unknown"
    assert choose_table_evidence(grounds._replace(n_rows=rows | {"real": 19})) == "unknown"
    shared = grounds._replace(n_rows=rows | {"real": 19, "shared": 3})
    assert choose_table_evidence(shared) == "unknown"
    told = write_table_verdict(shared, "unknown")
    assert "3 persons have rows in both real tables" in told
    assert choose_table_evidence(grounds._replace(results=results.assign(leak=True))) == "leak"
    shifted = grounds._replace(results=results.assign(leak=True), shift="They do.")
    assert choose_table_evidence(shifted) == "shift"


@pytest.mark.slow  # tables of few columns above are not seen through either
def test_training_rows_as_holdout_are_named_as_a_cause(tables):
    real, _, made = tables
    report = audit_table(real, made, real, random_state=0)
    assert report.evidence == "unknown"
    assert report.verdict.endswith("or with training rows in the holdout.")


def test_bad_input(tables):
    real, holdout, made = tables
    for level in (0, 0.9991, 1, 2):
        with pytest.raises(ValueError, match=r"confidence_level must be a number in \(0, 0.999\]"):
            audit_table(real, made, holdout, confidence_level=level)
    with pytest.raises(ValueError, match="synthetic lacks the column 'a' of real"):
        audit_table(real, made.drop(columns="a"), holdout)
    with pytest.raises(ValueError, match="holdout lacks the column 'a' of real"):
        audit_table(real, made, holdout.rename(columns={"a": "A"}))
    with pytest.raises(ValueError, match="synthetic has the column 'z', which real lacks"):
        audit_table(real, made.assign(z=1), holdout)
    with pytest.raises(ValueError, match="column 'a' must hold values of one kind in all tables"):
        audit_table(real, made.assign(a="x"), holdout)
    with pytest.raises(ValueError, match="target: 'x' is not a column of the tables"):
        audit_table(real, made, holdout, target="x")
    with pytest.raises(ValueError, match="secrets must be a sequence of columns; got 'work'"):
        audit_table(real, made, holdout, secrets="work")
