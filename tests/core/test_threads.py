"""Models that the package trains for itself use one thread of OpenMP."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_info, threadpool_limits

from skmia import Records, audit
from skmia._core import threads
from skmia._core.threads import all_on_one_thread, on_one_thread
from skmia.attacks import (
    LiRA,
    QuantileAttack,
    ShadowAttack,
    StackedAttack,
    _quantile,
    _shadow,
    _stack_models,
)
from skmia.datasets import _toy, make_membership_problem
from skmia.leakage import WorstCaseVulnerability, _witness
from skmia.report import _case
from skmia.report.agreement import _row_question
from skmia.testing import make_attack_problem
from tests.helpers.threads import count_openmp_threads as count_threads
from tests.helpers.threads import spy_on


@pytest.fixture(autouse=True)
def two_threads():
    """Two threads, whatever the machine and its environment say."""
    with threadpool_limits(2, user_api="openmp"):
        yield


def test_one_thread_within_and_two_outside():
    with on_one_thread():
        assert count_threads() == 1
    assert count_threads() == 2


def test_models_of_users_keep_their_threads():
    with on_one_thread(is_own=False):
        assert count_threads() == 2


def test_error_restores_the_threads():
    with pytest.raises(ZeroDivisionError), on_one_thread():
        raise ZeroDivisionError
    assert count_threads() == 2


def test_limits_of_several_python_threads_do_not_meet():
    def enter(k):
        with threadpool_limits(2, user_api="openmp"):
            with on_one_thread():
                inside = count_threads()
            return inside, count_threads()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(enter, range(8))) == [(1, 2)] * 8


def test_libraries_are_searched_once(monkeypatch):
    found = []
    monkeypatch.setattr(threads, "ThreadpoolController", lambda: found.append(1) or _Nothing())
    threads._find_libraries.cache_clear()
    for _ in range(20):
        with on_one_thread():
            pass
    threads._find_libraries.cache_clear()
    assert len(found) == 1


class _Nothing:
    def limit(self, **settings):
        return self

    select = limit

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass


def count_blas():
    return max(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")


def test_threads_of_blas_come_back_when_two_audits_overlap():
    begun, may_end, before = Event(), Event(), count_blas()

    def wait():
        with threadpool_limits(2, user_api="blas"):
            with all_on_one_thread(True):
                begun.set()
                may_end.wait(60)
            return count_blas()

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(wait)
        begun.wait(60)
        assert count_blas() == 1
        with all_on_one_thread(True):  # begins later, and ends later
            may_end.set()
            assert first.result() == 2
    assert count_blas() == before
    with threadpool_limits(2, user_api="blas"), all_on_one_thread(True):
        assert count_blas() == 1  # and the next one is limited again


@pytest.mark.parametrize("n_columns, expected", [(4, {1}), (1 << 10, {2})])
@pytest.mark.usefixtures("quick_audits")
def test_audits_of_small_tables_use_one_thread(monkeypatch, n_columns, expected):
    counts = []

    class Counted(GaussianNB):
        def fit(self, X, y):
            counts.append(count_blas())
            return super().fit(X, y)

    monkeypatch.setattr(_case, "_LIGHT", {Counted.__module__.partition(".")[0]})
    rng = np.random.default_rng(0)
    X, inside = rng.normal(size=(300, n_columns)), np.arange(300) % 2 == 1
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    victim = Counted().fit(X[inside], y[inside])
    del counts[:]
    with threadpool_limits(2, user_api="blas"):
        attacks = {"LiRA": LiRA()}
        audit(victim, Records(X, y), inside, attacks=attacks, shadows=4, file=False, random_state=0)
        assert count_blas() == 2
    assert set(counts) == expected


def fit_shadow_attack():
    victim, shadows, records, _ = make_attack_problem()
    ShadowAttack(victim, shadows, random_state=0).fit(records).score_samples(records)


def fit_stacked_attack():
    victim, shadows, records, _ = make_attack_problem()
    StackedAttack(victim, shadows, random_state=0).fit(records).score_samples(records)


def fit_quantile_attack():
    X = np.random.default_rng(0).normal(size=(60, 2))
    records = Records(X, (X[:, 0] > 0).astype(int))
    victim = LogisticRegression().fit(X, records.y)
    QuantileAttack(victim, population=records, cv=3, random_state=0).fit(records)


def measure_vulnerability():
    X = np.random.default_rng(0).normal(size=(40, 2))
    WorstCaseVulnerability(method="classifier", n_permutations=1, random_state=0).fit(
        X, np.arange(40) % 2
    )


def make_baskets():
    make_membership_problem(200, n_features=20, n_classes=5, kind="baskets", random_state=0)


BOOSTED = "HistGradientBoostingClassifier"


@pytest.mark.parametrize(
    "module, name, methods, call",
    [
        (_shadow, BOOSTED, ("fit", "predict_proba"), fit_shadow_attack),
        (_stack_models, BOOSTED, ("fit", "decision_function"), fit_stacked_attack),
        (_quantile, "HistGradientBoostingRegressor", ("fit", "predict"), fit_quantile_attack),
        (_witness, BOOSTED, ("fit", "predict_proba"), measure_vulnerability),
        (_toy, "KMeans", ("fit",), make_baskets),
    ],
)
def test_models_of_the_package_use_one_thread(monkeypatch, module, name, methods, call):
    counts = spy_on(monkeypatch, module, name, methods)
    call()
    assert counts
    assert set(counts) == {1}


@pytest.mark.slow  # the same models are watched in an attack above
def test_models_of_the_package_use_one_thread_in_an_audit(monkeypatch):
    rng = np.random.default_rng(0)
    X, inside = rng.normal(size=(160, 4)), np.arange(160) % 2
    y = (X[:, 0] + rng.normal(size=160) > 0).astype(int)
    victim = RandomForestClassifier(10, random_state=0).fit(X[inside == 1], y[inside == 1])
    counts = spy_on(monkeypatch, _stack_models, BOOSTED, ("fit", "decision_function"))
    attacks = {"stack": StackedAttack()}
    audit(victim, Records(X, y), inside, attacks=attacks, shadows=8, file=False, random_state=0)
    assert counts
    assert set(counts) == {1}


def test_search_for_similar_rows_uses_one_thread(monkeypatch):
    counts = spy_on(monkeypatch, _row_question, "NearestNeighbors", ("kneighbors",))
    X = np.random.default_rng(0).normal(size=(60, 2))
    _row_question._make_set(SimpleNamespace(features=X, units=np.arange(60)), np.arange(60))
    assert counts == [1]
