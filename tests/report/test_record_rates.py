"""How often single records are mistaken for members."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from draws import few_and_many, most_by_chance
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import RMIA, LiRA
from skmia.report.checks import _record_rates
from skmia.report.checks._record_rates import (
    RecordRates,
    RecordRatesCheck,
    _count_repeated,
    flag_by_model,
    measure_repeated_alarms,
)

pytestmark = pytest.mark.usefixtures("attacks_alone")


def draw_sides(rng, n_models, n):
    """Non-members of each model, those of a pair being the others."""
    half = rng.random((n_models // 2, n)) < 0.5
    return np.stack([half, ~half], axis=1).reshape(n_models, n)


def test_a_threshold_flags_the_share_of_the_non_members_of_each_model():
    rng = np.random.default_rng(0)
    is_out = draw_sides(rng, 4, 100)
    flagged = flag_by_model(rng.normal(size=is_out.shape), is_out, 0.1)
    n_out = is_out.sum(axis=1)
    np.testing.assert_array_equal((flagged & is_out).sum(axis=1), (0.1 * n_out).astype(int))
    assert not flag_by_model(np.zeros((4, 100)), is_out, 0.1).any()


@pytest.fixture(autouse=True, scope="module")
def all_draws(quick_audits):
    """As many as in audits of users."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skmia.report.checks._record_rates._N_DRAWS", 199)
        yield


def weigh(rates):
    return (rates**2).sum() / rates.sum()


def test_what_is_measured_is_the_mean_rate_weighted_by_itself():
    alarms, is_out = np.array([[1, 0, 0], [1, 0, 1], [0, 0, 0]], bool), np.ones((3, 3), bool)
    # Three pairs of models for each of three records, of which one is mistaken by both.
    assert _count_repeated(alarms.sum(axis=0), is_out.sum(axis=0)) == (1 / 9) / (3 / 9)


@pytest.mark.parametrize("n_models", [8, pytest.param(32, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.beta(0.5, 9.5, n),
        lambda rng, n: np.where(rng.random(n) < 0.05, 0.5, 0.02),
        lambda rng, n: np.minimum(np.exp(rng.normal(-5, 2, n)), 1),
    ],
    ids=["beta", "two rates", "a long tail"],
)
def test_the_rate_of_records_that_are_mistaken_again_is_found_for_any_law(draw, n_models):
    rng = np.random.default_rng(1)
    is_out, rates = draw_sides(rng, n_models, 4000), draw(rng, 4000)
    alarms = rng.random(is_out.shape) < rates
    found = measure_repeated_alarms(alarms, is_out, 0.95, rng)
    assert found.low < weigh(rates) < found.high and found.high - found.low < 0.15


@few_and_many(200)
def test_nothing_is_said_of_equal_rates(n_draws):
    rng = np.random.default_rng(2)
    found = []
    for _ in range(n_draws):
        is_out = draw_sides(rng, 8, 300)
        alarms = flag_by_model(rng.normal(size=is_out.shape), is_out, 0.1)
        found.append(measure_repeated_alarms(alarms, is_out, 0.95, rng) is not None)
    assert sum(found) <= most_by_chance(n_draws, 0.025)


@pytest.mark.parametrize(("n_draws", "is_told"), [(38, False), (39, True)])
def test_rates_that_differ_are_told_of_from_a_one_sided_pvalue_of_half_the_rest(
    n_draws, is_told, monkeypatch
):
    # Higher than by all draws: the p-values are 1/39 and 1/40.
    monkeypatch.setattr(_record_rates, "_N_DRAWS", n_draws)
    alarms = np.tile(np.arange(50) < 5, (4, 1))
    rng, is_out = np.random.default_rng(0), np.ones((4, 50), bool)
    assert (measure_repeated_alarms(alarms, is_out, 0.95, rng) is not None) == is_told


class GivenRows:
    """Draws as it does, and whose k-th sample of the records holds the k-th record alone."""

    choice = staticmethod(np.random.default_rng(0).choice)

    def integers(self, high, size):
        return np.tile(np.arange(size[0])[:, None] % high, size[1])


def test_the_limits_are_quantiles_of_samples_of_the_records(monkeypatch):
    monkeypatch.setattr("skmia.report.checks._record_rates._N_DRAWS", 99)
    # Of the k-th record of 99, k of 100 models are mistaken: a sample has (k - 1) / 99.
    alarms = np.arange(100)[:, None] < np.arange(1, 100)
    found = measure_repeated_alarms(alarms, np.ones((100, 99), bool), 0.9, GivenRows())
    assert (found.low, found.high) == pytest.approx((0.05 * 98 / 99, 0.95 * 98 / 99))


@pytest.mark.parametrize(("low", "is_told"), [(0.149, False), (0.151, True)])
def test_a_line_takes_a_lower_limit_of_half_as_many_again(low, is_told, monkeypatch):
    monkeypatch.setattr(_record_rates, "_choose_rate", lambda numbers: 0.1)
    monkeypatch.setattr(_record_rates, "_measure_rates", lambda *given: RecordRates(0.4, low, 0.5))
    run = SimpleNamespace(orders={("tpr", 0.1): ["LiRA"]}, fitted={"LiRA": LiRA()})
    answer = RecordRatesCheck().ask(None, run, SimpleNamespace(numbers=None))
    assert (answer is not None) == is_told


def test_a_record_that_a_model_cannot_judge_is_no_non_member_of_it(monkeypatch):
    inside, judged = np.array([[True, False, False]]), np.array([[True, False, True]])
    scored = np.zeros((1, 3)), inside, judged
    monkeypatch.setattr(_record_rates, "score_pseudo_victims", lambda *given: scored)
    told = lambda alarms, is_out, *given: is_out.tolist()  # noqa: E731
    monkeypatch.setattr(_record_rates, "measure_repeated_alarms", told)
    case = SimpleNamespace(seeds={"checks": 0}, subsets=[], level=0.95)
    case.records, run = Records(np.zeros((3, 1))), SimpleNamespace()
    run.pool = SimpleNamespace(membership_=inside)
    assert _record_rates._measure_rates(case, run, None, 0.1) == [[False, False, True]]


def make_audit(model):
    X, y = make_classification(400, 20, n_informative=6, n_redundant=0, flip_y=0.15, random_state=0)
    attacks = {"LiRA": LiRA(), "RMIA": RMIA()}
    settings = {"attacks": attacks, "shadows": 16, "fprs": (0.1,), "file": False}
    model, membership = model.fit(X[:200], y[:200]), np.arange(400) < 200
    return audit(model, Records(X, y), membership, random_state=0, **settings)


def test_the_audit_tells_the_rate_and_the_document_has_it():
    report = make_audit(DecisionTreeClassifier(min_samples_leaf=5, random_state=0))
    check = report.checks["rates of single records"]
    assert check.status == "stated"
    again, low, high = check.finding
    assert 0.15 <= low < again < high < 1  # all together: 0.1
    told = re.search(r"in ([\d.]+)% of the cases \[([\d.]+)%, ([\d.]+)%\]", check.text)
    assert [float(one) for one in told.groups()] == pytest.approx(
        [float(f"{100 * one:.2g}") for one in (again, low, high)]
    )
    (row,) = (one for one in json.loads(report.to_json())["checks"] if one["name"] == check.name)
    assert row["finding"] == pytest.approx([again, low, high])
    assert "on average" in report.to_html()


def test_no_line_where_the_records_are_alike():
    forest = RandomForestClassifier(5, min_samples_leaf=2, random_state=0)
    assert "rates of single records" not in make_audit(forest).checks
