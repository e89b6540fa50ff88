"""A table, and the command line run in this process."""

import copy
from importlib.util import find_spec
from typing import NamedTuple

import joblib
import numpy as np
import pandas as pd
import pytest
from quick_audits import permute_less, shrink_models
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia import audit as make_audit
from skmia._core import progress
from skmia.attacks import ThresholdAttack
from skmia.cli import _audit, _inspect, _model, main

N = 240


@pytest.fixture(autouse=True, scope="module")
def quick_audits():
    """Small models, also in the audits that tests of a module share."""
    with pytest.MonkeyPatch.context() as patch:
        shrink_models(patch)
        permute_less(patch)
        patch.setitem(_model._SETTINGS, "random-forest", {"n_estimators": 5})
        # However busy the machine is, an audit is one of those that take too short for lines.
        patch.setattr(progress, "BETWEEN_STATES", 1e9)
        yield


@pytest.fixture(scope="session")
def table():
    """Two rows for each of 120 people."""
    rng = np.random.default_rng(0)
    age = rng.normal(40, 10, N).round(1)
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(N) < 0.1, np.nan, age),
            "city": rng.choice(["Rome", "Oslo", "?"], N),
            "works": rng.random(N) < 0.5,
            "person": np.repeat(np.arange(N // 2), 2),
            "noise": rng.normal(size=N),
            "trained": rng.permutation(N) % 2,
            "income": np.where(age + rng.normal(0, 8, N) > 40, ">50K", "<=50K"),
        }
    )
    frame.loc[0, "city"] = None
    return frame


@pytest.fixture
def data(table, tmp_path):
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def reports():
    """Reports of the audits that were made, by a hash of all that was given."""
    return {}


@pytest.fixture
def audit_once(reports, monkeypatch):
    """Make no audit twice: what is tested is what the command makes of a report."""
    make = _audit.audit

    def audit(victim, records, membership, **settings):
        given = victim, records.X, records.y, dict(records.fields), membership, settings
        key = joblib.hash(given)
        if key not in reports:
            reports[key] = make(victim, records, membership, **settings)
        return copy.deepcopy(reports[key])  # the command adds notes and settings

    monkeypatch.setattr(_audit, "audit", audit)


def attack_alone(monkeypatch, with_clones=False):
    monkeypatch.setattr(_audit, "_find_pace", lambda problem: None)  # fits the model twice
    if not with_clones:
        monkeypatch.setattr("skmia.report.agreement._ask.list_recipes", lambda case: [])
    settings = {"attacks": {"threshold (loss)": ThresholdAttack()}, "file": False}
    make = _audit.audit
    monkeypatch.setattr(_audit, "audit", lambda *given, **others: make(*given, **others | settings))
    return settings


@pytest.fixture
def one_attack(monkeypatch):
    """Attack by the loss, and the service alone, for tests of what the command does with a report.

    The model is not compared with clones of it, and how long the audit takes is not told before.

    It is what a test may change: the settings that are put in place of those of the command.
    """
    return attack_alone(monkeypatch)


@pytest.fixture
def one_attack_and_clones(monkeypatch):
    """Attack so, and compare the model with clones of it, by which wrong tables are found."""
    return attack_alone(monkeypatch, with_clones=True)


@pytest.fixture(scope="module")
def one_attack_in_module():
    """Attack so in the audits that tests of a module share, and draw no picture of them."""
    with pytest.MonkeyPatch.context() as patch:
        draw_nothing(patch)
        yield attack_alone(patch)


class GivenAudit(NamedTuple):
    """What the command handed to an audit."""

    victim: object
    records: Records
    membership: np.ndarray
    settings: dict


@pytest.fixture(scope="session")
def small_report():
    """A report of few records, of which no shadow model was trained."""
    rng = np.random.default_rng(0)
    records = Records(rng.normal(size=(60, 2)), np.arange(60) % 2, kind=np.repeat(["a", "b"], 30))
    membership = np.arange(60) // 2 % 2
    members = records[membership == 1]
    victim = DecisionTreeClassifier(random_state=0).fit(members.X, members.y)
    attacks = {"threshold (loss)": ThresholdAttack()}
    return make_audit(
        victim, records, membership, attacks=attacks, file=False, fprs=(0.1,), random_state=0
    )


@pytest.fixture
def handed_over(small_report, monkeypatch):
    """What the command handed to each audit; the report that comes back is one of other records.

    For tests of what the command reads and hands over, and of what it adds to a report.
    """
    found = []

    def audit(victim, records, membership, **settings):
        found.append(GivenAudit(victim, records, membership, settings))
        return copy.deepcopy(small_report)

    monkeypatch.setattr(_audit, "audit", audit)
    monkeypatch.setattr(_audit, "_find_pace", lambda problem: None)  # fits the model twice
    return found


@pytest.fixture
def no_process(monkeypatch):
    """Open models of strangers in this process, as test_cli_model.py says of an audit apart.

    To copy a process that has imported all this takes longer than a small audit.
    """
    for module in (_audit, _inspect):
        monkeypatch.setattr(module, "is_of_strangers", lambda path: False)


def draw_nothing(monkeypatch):
    """Write pictures without drawing them, which takes as long as a small audit."""
    if find_spec("matplotlib") is not None:
        from matplotlib.figure import Figure

        monkeypatch.setattr(Figure, "subplots", lambda self, *sizes: None)
        monkeypatch.setattr("skmia.report._report.draw_picture", lambda document, axes: None)
        monkeypatch.setattr(Figure, "savefig", lambda self, file, **_: file.write(b"picture"))


@pytest.fixture
def no_drawing(monkeypatch):
    draw_nothing(monkeypatch)


@pytest.fixture
def run(capsys):
    """Run ``skmia audit`` and return the exit code and what it printed."""

    def run(*arguments):
        code = main(["audit", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def refuse(run):
    """Run ``skmia audit`` on bad input and return the one line on the standard error."""

    def refuse(*arguments):
        code, out, err = run(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("skmia audit: ")
        return err.removeprefix("skmia audit: ").rstrip()

    return refuse
