"""What a policy says of a synthetic table."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from quick_audits import shrink_models_of_tables

from skmia.disclosure import load_policy
from skmia.report import list_measurements, recommend_release
from skmia.report._document import check_table_document
from skmia.synthetic import audit_table, excess_risk


@pytest.fixture(autouse=True, scope="module")
def small_models():
    with pytest.MonkeyPatch.context() as patch:
        shrink_models_of_tables(patch)
        yield


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    return [pd.DataFrame(rng.normal(size=(100, 3)), columns=list("abc")) for _ in range(3)]


@pytest.fixture(scope="module")
def leaky(tables):
    real, made, holdout = tables
    return audit_table(real, pd.concat([real[:40], made[40:]]), holdout, random_state=0)


@pytest.fixture(scope="module")
def safe(tables):
    real, made, holdout = tables
    return audit_table(real, made, holdout, random_state=0)


def test_numbers_have_intervals_of_any_level(leaky):
    found = {number.name: number for number in list_measurements(leaky)}
    assert list(found) == [
        "singling_out",
        "linkability",
        "inference",
        "privacy_loss",
        "exact_rare_copies",
        "copies_but_one_cell",
    ]
    row = leaky.results.loc["linkability"]
    counts = row["attack"] * row["n_attacks"], 100, row["control"] * row["n_controls"], 100
    for level in (0.9, 0.99):
        expected = excess_risk(*counts, confidence_level=level)
        assert found["linkability"].at(level, level) == pytest.approx(tuple(expected))
    inferred = leaky.results[leaky.results.index.str.startswith("inference")]
    widest = found["inference"].at(0.95, 0.95)
    assert widest.estimate == inferred["estimate"].max()
    assert widest.high == pytest.approx(inferred["high"].max())
    assert widest.low < inferred["low"].max()  # corrected for the three columns
    loss = found["privacy_loss"].at(0.95, 0.95)
    assert loss.low == pytest.approx(leaky.results.loc["privacy loss", "low"])


def test_a_table_that_leaks_is_not_released(leaky):
    found = recommend_release(leaky, policy="research")
    assert (found.result, found.release) == ("do not release", "table")
    assert any(reason.startswith("exact_rare_copies (all): ") for reason in found.reasons)
    text = replace(leaky, recommendation=found).to_markdown()
    assert "| linkability | all | 0.2 | 0.4 \\[0.306, 0.498\\] | fail |\n" in text
    assert f"SHA-256 `{found.policy.sha256}`" in text
    document = json.loads(replace(leaky, recommendation=found).to_json())
    check_table_document(document)
    document["recommendation"].update(result="release")
    with pytest.raises(ValueError, match="not all limits and checks pass"):
        check_table_document(document)


def test_a_safe_table_passes_wide_limits(safe):
    policy = load_policy("research")
    wide = replace(policy, limits={"table": dict.fromkeys(policy.limits["table"], 0.9)})
    found = recommend_release(safe, policy=wide)
    assert found.result == "release"
    document = json.loads(replace(safe, recommendation=found).to_json())
    assert check_table_document(document)["recommendation"]["result"] == "release"
    pytest.importorskip("jinja2")
    assert "Nothing is said of a release as" not in safe.to_html()
    assert "As a table" in replace(safe, recommendation=found).summary()


def test_without_a_holdout_nothing_is_recommended(tables):
    found = recommend_release(audit_table(*tables[:2], random_state=0))
    assert found.result == "cannot be said" and "no holdout" in found.reasons[0]


def test_bad_input(safe):
    with pytest.raises(ValueError, match="release must be one of 'table'; got 'file'"):
        recommend_release(safe, release="file")
