"""Audits of a few records: each has its page, its picture and a document that can be read again."""

import json

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Records, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.report._document import check_document
from skmia.report._page import render_audit

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

CASES = {
    "an infinite statistic": (HistGradientBoostingClassifier(max_iter=3), 60, 30, 4),
    "one member of a regression": (DecisionTreeRegressor(random_state=0), 10, 1, 4),
    "one non-member": (DecisionTreeClassifier(random_state=0), 10, 9, 8),
    "one member": (KNeighborsClassifier(1), 12, 1, 8),
    "equal points": (DecisionTreeClassifier(max_depth=1, random_state=0), 20, 10, 4),
}


# Each run has an audit of a side of one record and one of numbers that are not finite.
SLOW = ("one member of a regression", "one non-member", "equal points")


@pytest.mark.parametrize(
    "case",
    [pytest.param(one, marks=[pytest.mark.slow] * (one in SLOW)) for one in CASES],
)
def test_every_audit_has_its_files(case, tmp_path):
    victim, n_records, n_members, n_shadows = CASES[case]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_records, 2)).round(1)
    y = X[:, 0] if "Regressor" in type(victim).__name__ else np.arange(n_records) % 2
    records = Records(X, y, kind=np.arange(n_records) % 3)
    membership = np.arange(n_records) < n_members
    victim = victim.fit(X[membership], y[membership])
    if hasattr(victim, "classes_") and len(victim.classes_) < 2:
        records = Records(X, np.zeros(n_records, dtype=int), kind=np.arange(n_records) % 3)
    attacks = {"threshold": ThresholdAttack(), "LiRA": LiRA()}
    settings = {"attacks": attacks, "shadows": n_shadows, "group": "kind", "fprs": (0.2,)}
    settings["random_state"] = 0
    result = audit(victim, records, membership, **settings)
    names = [path.name for path in result.save(tmp_path)]
    assert names == ["audit.json", "roc.png", "report.html"]
    document = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert render_audit(check_document(document)) == (tmp_path / "report.html").read_text("utf-8")
    assert "nan" not in result.checks["shadow models"].text


def test_a_file_that_could_not_be_made_is_a_warning(result, tmp_path, monkeypatch):
    monkeypatch.setattr("skmia.report._report.render_audit", lambda *_, **__: 1 / 0)
    monkeypatch.setattr("skmia.report._report._draw_report", lambda _, path: path.touch())
    notes = list(result.notes)
    with pytest.warns(RuntimeWarning, match="report.html could not be made: ZeroDivisionError"):
        paths = result.save(tmp_path)
    assert [path.name for path in paths] == ["audit.json", "roc.png"]
    result.notes[:] = notes  # which other tests share
