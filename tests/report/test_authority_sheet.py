"""A sheet for an authority has a line for each attack that it asks about, and none is empty."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from quick_audits import shrink_models_of_tables
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import audit
from skmia.attacks import LiRA
from skmia.cli import main
from skmia.datasets import make_membership_problem
from skmia.disclosure import Measurement, load_policy, recommend
from skmia.metrics import Interval
from skmia.report import write_authority_sheet
from skmia.report._authority_sheet import describe_authority_sheet, list_evidence
from skmia.report._document import as_audit_document
from skmia.synthetic import audit_table

pytestmark = pytest.mark.usefixtures("attacks_alone")

ATTACKS = {
    "Membership inference": "55 (i)",
    "Attribute inference": "55 (i)",
    "Exfiltration": "55 (ii)",
    "Regurgitation": "55 (iii)",
    "Model inversion": "55 (iv)",
    "Reconstruction": "55 (v)",
}


def run_audit(model, shadows=8, **settings):
    records, membership = make_membership_problem(n_samples=400, random_state=0)
    members = records[membership == 1]
    model.fit(members.X, members.y)
    attacks = {"LiRA": LiRA()}
    settings |= {"attacks": attacks, "shadows": shadows, "fprs": [0.1], "random_state": 0}
    return audit(model, records, membership, **settings)


@pytest.fixture(scope="module")
def leaky():
    return run_audit(DecisionTreeClassifier(random_state=0))


@pytest.fixture(scope="module")
def safe():
    return run_audit(DecisionTreeClassifier(min_samples_leaf=80, random_state=0))


@pytest.fixture(scope="module")
def table():
    with pytest.MonkeyPatch.context() as patch:
        shrink_models_of_tables(patch)
        return audit_of_a_table()


def audit_of_a_table():
    rng = np.random.default_rng(0)

    def draw(n):
        numbers = rng.integers(0, 10_000, size=(n, 3))
        return pd.DataFrame(numbers, columns=["income", "visit", "dose"])

    train, held_out = draw(200), draw(200)
    synthetic = pd.concat([train[:40], draw(160)])
    return audit_table(synthetic, train, held_out, random_state=0)


def find_lines(result, attack, way):
    lines = describe_authority_sheet([result])["lines"]
    return next(line for line in lines if line.attack.startswith(attack) and way in line.way)


@pytest.mark.parametrize("name", ["leaky", "safe", "table"])
def test_each_attack_has_a_line_with_a_status_and_a_reason(name, request):
    lines = describe_authority_sheet([request.getfixturevalue(name)])["lines"]
    for attack, reference in ATTACKS.items():
        found = [line for line in lines if attack.lower() in line.attack.lower()]
        assert found, attack
        assert all(reference.split()[1] in line.reference for line in found)
    for line in lines:
        assert line.ran
        assert line.told
        if line.status == "measured":
            assert line.spoke.startswith("yes")
            assert line.overall


def test_the_numbers_are_the_upper_ends_of_the_audit(leaky):
    document = as_audit_document(leaky)
    for way, rows in (("service", document["results"]), ("file", document["file"]["results"])):
        line = find_lines(leaky, "Membership", way)
        areas = [row for row in rows if row["metric"] == "auc" and row["high"] is not None]
        overall = max(row["high"] for row in areas if row["group"] == "all")
        worst = max(row["high"] for row in areas if row["scope"] != "overall")
        assert f"AUC at most {overall:.3f}" in line.overall
        assert f"AUC at most {worst:.3f}" in line.exposed
        rates = [row for row in rows if row["metric"] == "tpr" and row["group"] == "all"]
        rates = [row for row in rates if row["high"] is not None]
        least = min(row["max_fpr"] for row in rates)
        high = max(row["high"] for row in rates if row["max_fpr"] == least)
        assert f"at most {100 * high:.3g}% recognized if at most {100 * least:g}%" in line.overall


def test_what_was_found_is_told(leaky, safe):
    assert find_lines(leaky, "Membership", "service").told == "Leakage found"
    assert find_lines(safe, "Membership", "service").told == "No leakage found"
    counts = describe_authority_sheet([leaky])["counts"]
    lines = describe_authority_sheet([leaky])["lines"]
    n_leaks = sum(line.told == "Leakage found" for line in lines)
    assert n_leaks >= 2
    assert counts[0] == f"3 measured, of which {n_leaks} found leakage"


def test_few_reference_models_leave_a_line_open():
    pruned = DecisionTreeClassifier(min_samples_leaf=80, random_state=0)
    line = find_lines(run_audit(pruned, shadows=4, file=False), "Membership", "service")
    assert line.told == "Cannot be said"
    assert line.spoke.startswith("no: fewer than 8 models")


def test_a_model_without_a_file_says_so(leaky):
    found = replace(leaky, file=None)
    assert find_lines(found, "Membership", "file").told == "Not tested"
    assert find_lines(found, "Reconstruction", "file").told == "Not tested"


def test_a_regression_answers_with_numbers():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.normal(size=300)
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X[:150], y[:150])
    rows = {"train": (X[:150], y[:150]), "held_out": (X[150:], y[150:])}
    settings = {"attacks": {"LiRA": LiRA()}, "shadows": 4, "file": False, "random_state": 0}
    found = audit(model, **rows, **settings)
    assert "answers with numbers" in find_lines(found, "Regurgitation", "service").ran


def test_a_measured_gain_of_attributes_is_told(leaky):
    gain = Measurement("attribute_gain", lambda level: Interval(0.02, 0.01, 0.04), n_records=400)
    found = recommend(load_policy("research"), "service", [gain]).to_dict()
    document = as_audit_document(leaky) | {"recommendation": found}
    line = list_evidence(document)[2]
    assert line.status == "measured"
    assert line.overall == "at most 4% more than by guessing"


def test_a_table_is_asked_by_both_opinions(table):
    lines = describe_authority_sheet([table])["lines"]
    assert {"Singling out", "Linkability"} <= {line.attack for line in lines}
    copies = find_lines(table, "Regurgitation", "table")
    assert copies.told == "Leakage found"
    rows = table.results
    highs = [rows.loc[name, "high"] for name in rows.index if "copies" in name]
    assert copies.overall == (
        f"at most {100 * max(highs):.3g}% more than for rows never seen; 40 of 200 training rows "
        "unchanged; of rows never seen, 0"
    )


def test_a_table_without_a_holdout_has_a_sheet_without_numbers():
    rows = np.random.default_rng(0).normal(size=(50, 2))
    sheet = describe_authority_sheet([audit_table(rows, rows, random_state=0)])
    statuses = {line.status for line in sheet["lines"]}
    assert statuses == {"cannot be said", "not tested", "does not apply"}
    assert "50 training rows and 0 rows never seen" in str(sheet)


def test_no_sentence_claims_more_than_evidence(leaky, table, tmp_path):
    path = tmp_path / "evidence.html"
    given = {"purpose": "triage <b>", "sha256 of the model": "abc"}
    write_authority_sheet([leaky, table], path, provenance=given)
    page = path.read_text(encoding="utf-8")
    assert "triage &lt;b&gt;" in page
    assert "sha256 of the model: abc" in re.sub("<[^>]*>", "", page)
    text = re.sub("<style>.*?</style>|<[^>]*>", " ", page, flags=re.S).lower()
    for word in ("complian", "complies", "model is anonymous", "guarantee"):
        assert word not in text
    assert "is their decision" in text


@pytest.mark.parametrize(
    ("results", "error", "words"),
    [
        ([], ValueError, "got none"),
        ([3], TypeError, "got 3"),
        ([{"schema": "other"}], ValueError, "the schema 'other'"),
        (
            [{"schema": "skmia.audit", "schema_version": 1}],
            ValueError,
            "the document lacks created",
        ),
        ([{"schema": "skmia.audit"}], ValueError, "has version None of the schema"),
        ([{"schema": "skmia.audit", "schema_version": True}], ValueError, "has version True of"),
        (
            [{"schema": "skmia.table", "schema_version": 2}],
            ValueError,
            "it has version 2 of the schema, and this skmia reads version 1",
        ),
    ],
)
def test_other_results_are_refused(results, error, words, tmp_path):
    with pytest.raises(error, match=words):
        write_authority_sheet(results, tmp_path / "evidence.html")
    assert not list(tmp_path.iterdir())


def test_an_audit_that_is_given_twice_is_refused(safe, leaky, table):
    for audits in ([leaky, safe, leaky], [leaky, table, as_audit_document(leaky)]):
        with pytest.raises(ValueError, match="audits; number 3 is the same as number 1"):
            describe_authority_sheet(audits)


def test_two_audits_of_one_kind_are_told_apart(safe, leaky, table):
    alone = describe_authority_sheet([leaky, table])
    assert {line.way for line in alone["lines"]} == {
        *("service", "file", "service, file", "synthetic table"),
    }
    both = describe_authority_sheet([safe, table, leaky])
    # Both models have one name here, so they are told apart by their places.
    ways = [line.way for line in both["lines"] if line.attack == "Membership inference"]
    assert ways == [
        *("service (audit 1)", "file (audit 1)", "synthetic table"),
        *("service (audit 3)", "file (audit 3)"),
    ]
    assert [text.partition(": ")[0] for text in both["samples"]][::2] == ["audit 1", "audit 3"]
    # The attacker is the same one in both, and is told once.
    assert [way for way, _ in both["attackers"]] == ["service", "file", "synthetic table"]
    other = run_audit(DecisionTreeRegressor(min_samples_leaf=80, random_state=0), shadows=4)
    sheet = describe_authority_sheet([safe, other])
    assert [way for way, _ in sheet["attackers"]] == [
        "service (DecisionTreeClassifier)",
        "file",
        "service (DecisionTreeRegressor)",
    ]


def test_the_command_reads_folders_of_audits(leaky, table, tmp_path, capsys):
    for name, found in (("model", leaky), ("table", table)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "audit.json").write_text(found.to_json(), encoding="utf-8")
    out = tmp_path / "evidence.html"
    words = ["evidence", str(tmp_path / "model"), str(tmp_path / "table"), "--out", str(out)]
    assert main([*words, "--provenance", "purpose=triage"]) == 0
    assert "triage" in out.read_text(encoding="utf-8")
    assert str(out) in capsys.readouterr().out
    source = tmp_path / "model" / "audit.json"
    assert main(["evidence", str(tmp_path / "model"), "--out", str(source)]) == 2
    assert json.loads(source.read_text())["schema"] == "skmia.audit"
