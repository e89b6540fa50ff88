"""What private fits cost together, wherever they are made."""

from functools import partial

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.model_selection import GridSearchCV
from small_net import make_small_net

from skmia.defenses import DPSGDClassifier, PrivacyLedger
from skmia.synthetic import DPWassersteinGAN

pytest.importorskip("opacus")

X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
Y = np.arange(40) % 2
NET = partial(make_small_net, batch_size=10, max_epochs=1)


def make_private(ledger, **settings):
    settings = {"noise_multiplier": 1.0, "target_delta": 1e-3, "classes": [0, 1], **settings}
    return DPSGDClassifier(NET, ledger=ledger, **settings)


@pytest.fixture
def ledger(tmp_path):
    return PrivacyLedger(tmp_path / "fits.jsonl")


def test_a_search_is_written_down_in_all_processes(ledger):
    search = GridSearchCV(make_private(ledger), {"max_grad_norm": [0.5, 1.0]}, cv=2)
    with parallel_config("multiprocessing", n_jobs=2):  # copies of this one, which import nothing
        search.fit(X, Y)
    fits = ledger.read()
    assert sorted(fits["n_rows"]) == [20, 20, 20, 20, 40]
    assert set(fits["sample_rate"]) == {0.5, 0.25}
    assert ledger.epsilon(1e-3) > 1.5 * search.best_estimator_.epsilon_


def test_all_fits_cost_more_than_one_and_less_than_their_sum(ledger):
    assert ledger.epsilon(1e-3) == 0 and ledger.read().empty
    spent = [make_private(ledger).fit(X, Y).epsilon_ for _ in range(3)]
    assert max(spent) < ledger.epsilon(1e-3) < sum(spent)
    assert ledger.epsilon(1e-3, accountant="prv") <= ledger.epsilon(1e-3)


def test_a_fit_that_fails_counts(ledger):
    def fail(step, gradient, parameters):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_private(ledger, on_step=fail).fit(X, Y)
    assert len(ledger.read()) == 1 and ledger.epsilon(1e-3) > 0


@pytest.mark.parametrize(
    "settings", [{"noise_seed": 0}, {"noise_multiplier": 0.0}, {"poisson_sampling": False}]
)
def test_what_no_accountant_covers_has_no_finite_cost(ledger, settings):
    make_private(ledger, **settings).fit(X, Y)
    assert ledger.epsilon(1e-3) == np.inf


def test_generators_write_into_it(ledger):
    rows = np.random.default_rng(0).random((30, 2))
    gan = DPWassersteinGAN(noise_multiplier=2.0, max_iter=2, target_delta=1e-3, ledger=ledger)
    spent = gan.fit(rows).epsilon_
    assert ledger.epsilon(1e-3) == pytest.approx(spent)
    make_private(ledger).fit(X, Y)
    assert ledger.epsilon(1e-3) > spent


def test_a_file_of_something_else_is_refused(ledger):
    ledger.path.write_text("name,age\n")
    with pytest.raises(ValueError, match="is not a ledger of private fits: 'name,age'"):
        ledger.epsilon(1e-3)
    with pytest.raises(ValueError, match="delta must be a number in"):
        ledger.epsilon(0.0)


def test_an_audit_says_what_its_shadow_models_cost(ledger):
    from skmia import Records, audit

    membership = np.arange(40) % 2
    victim = make_private(ledger).fit(X[membership == 1], Y[membership == 1])
    spent = ledger.epsilon(victim.delta_)
    report = audit(victim, Records(X, Y), membership, shadows=4, fprs=[0.2], random_state=0)
    (note,) = [note for note in report.notes if "ledger" in note]
    assert note.startswith("The ledger holds 5 private fits, those of shadow models included.")
    assert f"epsilon {ledger.epsilon(victim.delta_):.3g} at" in note
    assert ledger.epsilon(victim.delta_) > spent
