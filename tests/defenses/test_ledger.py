"""What private fits cost together, wherever they are made."""

import os
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from small_net import make_small_net

from skmia.defenses import DPSGDClassifier, PrivacyLedger
from skmia.defenses.mechanisms import (
    GaussianMechanism,
    LaplaceMechanism,
    NonSphericalGaussianMechanism,
)
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
    from skmia.attacks import LiRA

    membership = np.arange(40) % 2
    victim = make_private(ledger).set_params(public_weights=True)
    victim.fit(X[membership == 1], Y[membership == 1])
    spent = ledger.epsilon(victim.delta_)
    settings = {"attacks": {"LiRA": LiRA()}, "fprs": [0.2], "file": False, "random_state": 0}
    report = audit(victim, Records(X, Y), membership, shadows=4, **settings)
    assert [note for note in report.notes if "(public_weights=True); its epsilon relies" in note]
    assert set(ledger.read()["kind"]) == {"fit from public weights"}
    (note,) = [note for note in report.notes if "ledger" in note]
    assert note.startswith("The ledger holds 5 private fits, those of shadow models included.")
    assert f"epsilon {ledger.epsilon(victim.delta_):.3g} at" in note
    assert ledger.epsilon(victim.delta_) > spent


# The ledger as a budget


def watch_fit(private):
    """Fit, and count the steps that were made."""
    steps = []
    with pytest.raises((ValueError, OSError)) as caught:
        private.set_params(on_step=lambda step, *released: steps.append(step)).fit(X, Y)
    assert not steps
    return str(caught.value)


def test_a_fit_after_the_working_directory_has_changed(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    private = make_private(PrivacyLedger("fits.jsonl"))
    spent = private.fit(X, Y).epsilon_
    monkeypatch.chdir("other")
    clone(private).fit(X, Y)
    assert len(private.ledger.read()) == 2 and private.ledger.epsilon(1e-3) > spent


@pytest.mark.parametrize("loss", [Path.unlink, lambda path: path.rename(path.with_name("moved"))])
def test_no_step_is_made_without_the_ledger_that_was_there(ledger, loss):
    private = make_private(ledger).fit(X, Y)
    loss(ledger.path)
    for made in (clone(private), private, make_private(PrivacyLedger(ledger.path))):
        assert "had 1 fit, is not there any more" in watch_fit(made)
    with pytest.raises(FileNotFoundError):
        ledger.epsilon(1e-3)


def test_no_step_is_made_on_a_full_disk(ledger, monkeypatch):
    private, real = make_private(ledger).fit(X, Y), os.write
    spent = ledger.epsilon(1e-3)
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:20]) * 0)
    assert "cannot be written, so that no step was made: No space left" in watch_fit(clone(private))
    monkeypatch.undo()
    assert ledger.epsilon(1e-3) == spent


def test_a_limit_refuses_the_fit_that_would_exceed_it(tmp_path):
    spent = make_private(PrivacyLedger(tmp_path / "one")).fit(X, Y).epsilon_
    ledger = PrivacyLedger(tmp_path / "fits", max_epsilon=1.5 * spent, delta=1e-3)
    for _ in range(2):
        make_private(ledger).fit(X, Y)
    assert spent < ledger.epsilon(1e-3) <= 1.5 * spent
    with pytest.raises(ValueError, match="max_epsilon=.*is spent, and it would be .*more noise or"):
        for _ in range(10):
            make_private(ledger).fit(X, Y)
    n_fits = len(ledger.read())
    assert "max_epsilon" in watch_fit(make_private(ledger))
    assert "it would be inf" in watch_fit(make_private(ledger, noise_seed=0))
    assert len(ledger.read()) == n_fits and ledger.epsilon(1e-3) <= 1.5 * spent
    rows = np.random.default_rng(0).random((30, 2))
    with pytest.raises(ValueError, match="max_epsilon"):
        DPWassersteinGAN(noise_multiplier=0.5, max_iter=2, ledger=ledger).fit(rows)
    with pytest.raises(ValueError, match="max_epsilon"):
        GaussianMechanism(4.0, 1e-3, ledger=ledger).fit_transform([[0.0]])


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"max_epsilon": 1.0}, "together"),
        ({"delta": 1e-5}, "together"),
        ({"max_epsilon": np.nan, "delta": 1e-5}, "max_epsilon must be finite and above 0; got nan"),
        ({"max_epsilon": 0, "delta": 1e-5}, "max_epsilon must be finite and above 0; got 0"),
        ({"max_epsilon": np.inf, "delta": 1e-5}, "max_epsilon must be finite and above 0"),
        ({"max_epsilon": 1.0, "delta": 1.0}, "delta must be a number in"),
    ],
)
def test_limits_that_cannot_be(settings, message):
    with pytest.raises(ValueError, match=message):
        PrivacyLedger("fits", **settings)


@pytest.mark.parametrize("path", [3, b"fits", "", "fi\0ts"])
def test_a_path_names_a_file(path):
    with pytest.raises(ValueError, match=re.escape(f"path must name a file; got {path!r}.")):
        PrivacyLedger(path)


# Mechanisms


def test_mechanisms_nets_and_generators_have_one_sum(ledger):
    spent = []
    for write in (
        lambda: GaussianMechanism(0.5, 1e-3, ledger=ledger).fit_transform([[0.0, 1.0]]),
        lambda: LaplaceMechanism(0.3, ledger=ledger).fit_transform([[0.0]]),
        lambda: NonSphericalGaussianMechanism(
            0.5, 1e-3, lower=0, upper=[1, 9], ledger=ledger
        ).fit_transform([[0.0, 1.0]]),
        lambda: make_private(ledger).fit(X, Y),
        lambda: DPWassersteinGAN(
            noise_multiplier=2.0, max_iter=1, n_critic=2, target_delta=1e-3, ledger=ledger
        ).fit(np.random.default_rng(0).random((30, 2))),
    ):
        write()
        spent.append(ledger.epsilon(1e-3))
    assert spent == sorted(set(spent))
    assert spent[0] == pytest.approx(0.5, rel=1e-9)
    assert spent[1] == pytest.approx(0.8, rel=1e-9)
    assert ledger.read()["kind"].tolist() == ["normal", "laplace", "normal", "fit", "fit"]
    assert ledger.epsilon(1e-3, accountant="prv") <= spent[-1]


@pytest.mark.parametrize("allocation", ["proportional", "minimum_trace"])
def test_columns_of_other_ranges_cost_what_was_asked_for(ledger, allocation):
    widths = [0.2, 1.0, 5.0, 0.0]
    mechanism = NonSphericalGaussianMechanism(
        0.5, 1e-5, widths=widths, allocation=allocation, ledger=ledger
    ).fit([[0.0] * 4])
    assert not ledger.path.exists()  # fit releases nothing
    mechanism.transform([[0.0] * 4])
    # Of equal widths the condition is attained; where one column gets none, there is some to spare.
    assert 0.3 < ledger.epsilon(1e-5) <= 0.5


def test_each_row_and_each_call_is_a_release(ledger):
    mechanism = LaplaceMechanism(0.25, ledger=ledger).fit([[0.0]])
    clone(mechanism).fit_transform([[0.0], [1.0]])
    mechanism.transform([[0.0]])
    assert ledger.read()["n_steps"].tolist() == [2, 1]
    assert ledger.epsilon(1e-9) == pytest.approx(0.75, rel=1e-9)
    make_pipeline(mechanism).transform([[0.0]])
    assert ledger.epsilon(1e-9) == pytest.approx(1.0, rel=1e-9)


def test_seeded_noise_hides_nothing(ledger):
    LaplaceMechanism(0.25, ledger=ledger, random_state=0).fit_transform([[0.0]])
    assert ledger.epsilon(1e-3) == np.inf


def test_values_that_nobody_changes_cost_nothing(ledger):
    NonSphericalGaussianMechanism(widths=0, ledger=ledger).fit_transform([[1.0]])
    assert ledger.epsilon(1e-3) == 0


def test_a_release_that_cannot_be_written_down_is_none(ledger):
    mechanism = GaussianMechanism(0.5, ledger=ledger).fit([[0.0]])
    mechanism.transform([[0.0]])
    ledger.path.unlink()
    with pytest.raises(FileNotFoundError):
        mechanism.transform([[0.0]])


def test_a_ledger_that_is_gone_does_not_cost_the_audit(ledger):
    from skmia.report._audit import _add_up_private_fits

    model = make_private(ledger).fit(X, Y)
    ledger.path.unlink()
    case = SimpleNamespace(request=SimpleNamespace(estimator=model), victim=model, membership=Y)
    (note,) = _add_up_private_fits(case)
    assert note.startswith("What all private fits cost together is not known. The ledger ")


@pytest.mark.parametrize(("given", "delta"), [(None, 0.1 / 3), (0.01, 0.01)])
def test_private_fits_are_added_up_at_the_delta_of_the_model_or_by_its_members(
    ledger, given, delta
):
    from skmia.report._audit import _add_up_private_fits

    class Model(BaseEstimator):
        def __init__(self, ledger=None):
            self.ledger = ledger

    LaplaceMechanism(0.25, ledger=ledger).fit_transform([[0.0]])
    GaussianMechanism(2.0, ledger=ledger).fit([[0.0]]).transform([[0.0]])
    model = Model(ledger)
    if given is not None:
        model.delta_ = given
    request = SimpleNamespace(estimator=None)
    case = SimpleNamespace(request=request, victim=model, membership=np.array([1, 1, 1, 0]))
    (note,) = _add_up_private_fits(case)
    assert note.startswith("The ledger holds 2 private fits")
    assert f"epsilon {ledger.epsilon(delta):.3g} at delta {delta:.3g}" in note
