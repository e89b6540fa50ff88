"""In-context models keep their training rows: it is said first, found, and forbids the file."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import KNeighborsClassifier

from skmia import Records, audit
from skmia.disclosure import structural_checks
from skmia.inspection import inspect_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] > 0).astype(int)
MEMBER = np.arange(200) < 100


class _Rows(BaseEstimator):
    """Part that holds the rows, as the generator of an ensemble does."""

    def fit(self, X, y):
        self.X_, self.y_ = X.copy(), y.copy()
        return self


class TabICLClassifier(ClassifierMixin, BaseEstimator):
    """Stand-in of the name of an in-context model: it answers by the rows that a part keeps."""

    def fit(self, X, y):
        self.rows_ = _Rows().fit(X, y)
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        near = KNeighborsClassifier(25, weights="distance")
        return near.fit(self.rows_.X_, self.rows_.y_).predict_proba(X)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def make_with_random_weights(folder):
    """Return a real one, with weights that were drawn."""
    torch = pytest.importorskip("torch")
    tabicl = pytest.importorskip("tabicl", reason="tabicl is not installed")
    net = pytest.importorskip("tabicl._model.tabicl").TabICL
    sizes = {"embed_dim": 16, "col_num_inds": 8, "row_num_cls": 2}
    for part in ("col", "row", "icl"):
        sizes |= {f"{part}_num_blocks": 1, f"{part}_nhead": 2}
    torch.manual_seed(0)
    state = {"config": sizes, "state_dict": net(**sizes).state_dict()}
    torch.save(state, folder / "weights.ckpt")
    return tabicl.TabICLClassifier(
        model_path=str(folder / "weights.ckpt"), n_estimators=2, device="cpu", random_state=0
    )


@pytest.fixture(params=["stand-in", "tabicl"])
def model(request, tmp_path):
    made = TabICLClassifier()
    if request.param == "tabicl":
        made = make_with_random_weights(tmp_path)
    return made.fit(X[MEMBER], Y[MEMBER])


def test_the_first_lines_say_that_it_keeps_its_rows(model):
    text = str(inspect_model(model))
    assert "The file holds training rows." in text.splitlines()[2]
    words = " ".join(text.split())
    assert "An in-context model reads its training rows again for each answer" in words
    assert "release a model of another kind instead" in words


def test_its_rows_are_found_and_its_file_is_blocked(model):
    records = Records(X, Y)
    checks = structural_checks(model, records, MEMBER).checks
    keeps = next(check for check in checks if check.name == "keeps_rows")
    assert keeps.status == "flagged"
    report = audit(model, records, MEMBER, shadows=4, random_state=0)
    assert report.file.evidence == "leak"
    assert report.file.level == "severe"
    hits = [one["hits"] for one in report.file.facts["sources"] if one["hits"] is not None]
    assert hits == [{"members": 1.0, "nonmembers": 0.0}]
