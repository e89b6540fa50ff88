"""Two audits are compared by what both measured, and the first line says what became of it."""

import copy
import json
import re

import numpy as np
import pytest
from draws import few_and_many
from sklearn.ensemble import RandomForestClassifier

from skmia import Records, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.report import as_audit_document, compare_audits, format_comparison, render_comparison

pytestmark = pytest.mark.usefixtures("attacks_alone")

N = 300
LOSS = {"threshold (loss)": ThresholdAttack(signal="loss")}


def draw_problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5))
    y = (X[:, 0] + rng.normal(size=N) > 0).astype(int)
    sex = np.where(rng.random(N) < 0.4, "F", "M")
    return Records(X, y, sex=sex), rng.permutation(N) % 2


def make_report(leaf=1, seed=0, **settings):
    records, membership = draw_problem()
    inside = membership == 1
    model = RandomForestClassifier(3, min_samples_leaf=leaf, random_state=0)
    model.fit(records.X[inside], records.y[inside])
    given = {"attacks": LOSS | {"LiRA": LiRA()}, "shadows": 4, "group": "sex", "fprs": [0.1]}
    return audit(model, records, membership, random_state=seed, **(given | settings))


def make_document(*args, **settings):
    return json.loads(json.dumps(as_audit_document(make_report(*args, **settings))))


@pytest.fixture(scope="module")
def kept():
    return make_document(file=True)


@pytest.fixture
def document(kept):
    return copy.deepcopy(kept)


def set_number(part, value, metric="auc", half=0.02, group=None, attack=None):
    """Set a number of all attacks, in all parts of the records or in one."""
    for row in part["results"]:
        wanted = row["metric"] == metric and row["status"] == "ok"
        wanted &= group is None or row["group"] == group
        if wanted and attack in (None, row["attack"]):
            low, high = max(value - half, 0.0), min(value + half, 1.0)
            row |= {"estimate": value, "low": low, "high": high}


def tell(first, second):
    return format_comparison(compare_audits(first, second), (first, second), ("a", "b"))


def test_a_model_is_not_better_because_fewer_attacks_were_run_on_it(document):
    other = make_document(seed=1, attacks=LOSS, file=True)
    found = compare_audits(document, other)
    assert found.outcome == "same" and {route.outcome for route in found.routes} == {"same"}
    text = tell(document, other)
    assert "NO CHANGE SHOWN" in text.splitlines()[0] and "LiRA (A alone)" in text
    assert {one.attack for one in found.numbers} == {"threshold (loss)", "ReleasedModelAttack"}
    # The levels are those of the attacks that are compared, which are equal.
    for route in found.routes:
        assert route.levels[0].word == route.levels[1].word


def test_the_level_of_an_audit_leaves_out_what_the_other_one_did_not_run(document):
    set_number(document, 0.99, attack="LiRA", half=0.005)
    set_number(document, 0.55, attack="threshold (loss)", half=0.04)
    document["level"]["name"] = "severe"
    other = copy.deepcopy(document)
    other["results"] = [row for row in other["results"] if row["attack"] != "LiRA"]
    other["level"]["name"] = "slight"
    service = next(one for one in compare_audits(document, other).routes if one.way == "service")
    assert service.levels[0].name in ("none", "slight") and service.outcome == "same"


def test_attacks_with_other_numbers_of_shadow_models_are_not_compared(document):
    other = make_document(shadows=6, file=False)
    found = compare_audits(document, other)
    assert ("LiRA", "numbers of shadow models: 4 in A, 6 in B") in found.left_out
    assert "LiRA" not in {one.attack for one in found.numbers}
    assert "Audit both with one number of shadow models. --shadows, for LiRA." in tell(
        document, other
    ).replace("\n" + " " * 15, " ")


def test_attacks_of_one_name_with_other_parameters_are_not_compared(document):
    other = copy.deepcopy(document)
    other["settings"]["attacks"]["LiRA"] = "LiRA(variance='pooled')"
    assert compare_audits(document, other).left_out == (("LiRA", "other parameters"),)
    other = copy.deepcopy(document)
    other["reference"]["recipe"] = "given"
    left_out = compare_audits(document, other).left_out
    assert left_out == (("LiRA", "shadow models of another recipe"),)


@pytest.mark.parametrize("way", [pytest.param("service", marks=pytest.mark.slow), "file"])
def test_a_group_that_became_worse_is_named(document, way):
    other = copy.deepcopy(document)
    for one, auc in ((document, 0.51), (other, 0.999)):
        part = one if way == "service" else one["file"]
        set_number(part, auc, group="F", half=0.0009)
    found = compare_audits(document, other)
    assert found.outcome == "more"
    assert found.routes[0].way == way
    head, *_ = text = tell(document, other).splitlines()
    assert "MORE LEAKAGE" in head and "sex: F" in head
    assert any(line.lstrip().startswith("sex: F (AUC)") for line in text)
    sentence = " ".join(" ".join(text[2:8]).split()).lower()
    assert "in sex: f, a random member ranks above a random non-member more than 99" in sentence
    pytest.importorskip("jinja2")
    assert "sex: F</b>" in re.sub("</?bdi>", "", render_comparison(document, other, "ab"))


def test_groups_are_corrected_for_their_number(document):
    """A difference that would stand alone does not among a hundred groups."""

    def spread(base, auc, n_groups):
        rows = [row for row in base["results"] if row["group"] != "F"]
        own = next(row for row in base["results"] if row["group"] == "F" and row["metric"] == "auc")
        for place in range(n_groups):
            value = auc if place == 0 else 0.5
            new = {"group": f"g{place}", "estimate": value, "low": value - 0.05}
            rows.append(own | new | {"high": value + 0.05})
        return base | {"results": rows}

    for n_groups, outcome in ((1, "more"), (100, "same")):
        first, second = (spread(document, auc, n_groups) for auc in (0.5, 0.63))
        service = next(one for one in compare_audits(first, second).routes if one.way == "service")
        assert service.outcome == outcome


def test_the_sentence_is_about_the_number_that_decides(document):
    other, document["file"] = copy.deepcopy(document), None
    other["file"] = None
    set_number(document, 0.68)
    set_number(other, 0.55)
    head, _, *text = tell(document, other).splitlines()
    assert "LESS LEAKAGE" in head and "as a service" in head
    assert text[0].startswith("  As a service, a random member ranks above a random non-member 55")
    assert "it was 68" in " ".join(text[:3])
    row = next(line for line in text if line.startswith("  recognized of 100"))
    assert row.endswith("not shown to change")


def test_the_text_is_short_and_without_the_paragraphs_of_the_verdicts(document):
    text = tell(document, document)
    assert max(map(len, text.splitlines())) <= 80
    assert document["verdict"] not in text and document["file"]["verdict"] not in text
    assert all(len(" ".join(part.split())) < 400 for part in re.split("\n\n|\n  [ABN]", text))


def test_a_route_that_one_audit_left_out_has_no_verdict_and_a_next_step(document):
    other = document | {"file": None}
    text = tell(document, other)
    assert "with the file: not attacked in B" in text
    assert "Audit B again. Its file was not attacked (leave out --quick)." in text


@few_and_many(30)
def test_words_and_numbers_agree_in_random_documents(document, n_draws):
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(n_draws):
        pair = [copy.deepcopy(document) for _ in "ab"]
        for one in pair:
            for part in (one, one["file"]):
                for row in part["results"]:
                    if row["status"] == "ok" and rng.random() < 0.7:
                        value, half = rng.uniform(0, 1), rng.choice([0.01, 0.3])
                        low, high = max(value - half, 0.0), min(value + half, 1.0)
                        row |= {"estimate": value, "low": low, "high": high}
        found = compare_audits(*pair)
        seen.add(found.outcome)
        for route in found.routes:
            signs = {one.sign for one in route.changes} - {0}
            assert (route.outcome == "same") == (not signs)
            assert (route.outcome == "mixed") == (len(signs) == 2)
            for one in route.changes:
                gap, low, high = one.difference
                assert low <= gap <= high and one.sign == int(low > 0) - int(high < 0)
                assert gap == pytest.approx(one.second[0] - one.first[0])
        lines = tell(*pair).splitlines()
        assert max(map(len, lines)) <= 80, max(lines, key=len)
        heading = {"less": "LESS", "more": "MORE", "mixed": "BETTER AND WORSE", "same": "NO CHANGE"}
        assert heading[found.routes[0].outcome] in lines[0]
        for line in lines:
            a, b, *change = (
                [
                    [*map(float, re.findall(r"-?\d*\.\d+", cell))]
                    for cell in re.split(r"\]\s*", line)[:-1]
                ]
                if line.count("[") == 3
                else (0, 0)
            )
            if change and len(change[0]) == 3:
                assert change[0][0] == pytest.approx(b[0] - a[0], abs=0.002)
    assert seen >= {"mixed"}


def test_the_same_audit_twice_and_turned_round(document):
    other = make_document(leaf=20, file=True)
    assert compare_audits(document, document).outcome == "same"
    there, back = compare_audits(document, other), compare_audits(other, document)
    assert (there.outcome, back.outcome) == ("less", "more")


def test_reports_are_compared_as_their_documents_are(document):
    report = make_report(file=False, attacks=LOSS)
    found = compare_audits(report, report)
    assert found == compare_audits(*[json.loads(report.to_json())] * 2)
    assert found.outcome == "same"
