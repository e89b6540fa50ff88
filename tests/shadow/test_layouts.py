"""Shadow models in the files of other programs."""

import os
import pickle
import re

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from skmia import Records, ShadowPool
from skmia.shadow import load_shadows, save_shadows

RNG = np.random.default_rng(0)
K, N, Q, C = 4, 60, 2, 3
Y = RNG.integers(C, size=N)
INSIDE = RNG.random((K, N)) < 0.5
LOGITS = RNG.normal(size=(K, Q, N, C))
RECORDS = Records.from_ids(np.arange(N), Y)
LOG_P = np.take_along_axis(log_softmax(LOGITS, axis=-1), Y[None, None, :, None], axis=-1)[..., 0]
LOG_ODDS = LOG_P - np.log1p(-np.exp(LOG_P))


def write_carlini(folder, epochs=(10, 11)):
    np.save(folder / "y_train.npy", np.append(Y, [0, 0]))  # the models were asked for fewer
    for k in range(K):
        model = folder / f"experiment-{k}_{K}"
        for part in ("logits", "scores"):
            (model / part).mkdir(parents=True)
        np.save(model / "keep.npy", np.append(INSIDE[k], [True, False]))
        for epoch in epochs:
            last = epoch == epochs[-1]
            logits = LOGITS[k].transpose(1, 0, 2)[:, None] * last
            np.save(model / "logits" / f"{epoch:010d}.npy", logits)
            np.save(model / "scores" / f"{epoch:010d}.npy", LOG_ODDS[k].T * last)
    return folder


def write_privacy_meter(folder):
    for part in ("signals", "models"):
        (folder / part).mkdir()
    np.save(folder / "signals" / "rmia_signals.npy", np.exp(LOG_P[:, 0]).T)
    np.save(folder / "signals" / "rmia_signals_pop.npy", np.ones((3, K)))
    np.save(folder / "models" / "memberships.npy", INSIDE)
    return folder


def write_leakpro(folder):
    for k in range(K):
        np.save(folder / f"sm_{k + 8}_logits.npy", LOGITS[k, 0])  # 8, 9, 10, 11
    np.save(folder / "target_logits.npy", LOGITS[0, 0])
    return folder


def make_pool(found, **settings):
    return ShadowPool.from_outputs(
        found.outputs, found.membership, RECORDS, kind=found.kind, **settings
    )


@pytest.mark.parametrize("n_queries, kind", [(2, "auto"), (2, "log_odds")])
def test_carlini(tmp_path, n_queries, kind):
    found = load_shadows(write_carlini(tmp_path), "carlini2022", kind=kind)
    pool = make_pool(found)
    assert found.names == [f"experiment-{k}_{K}" for k in range(K)]
    np.testing.assert_array_equal(found.y, Y)
    np.testing.assert_array_equal(pool.membership(RECORDS).T, INSIDE)
    np.testing.assert_allclose(pool.values(RECORDS), LOG_ODDS.swapaxes(0, 1), rtol=1e-5)
    assert (found.kind == "logits") == (pool.temperatures_ == (1.0, 2.0)) == (kind == "auto")


def test_privacy_meter(tmp_path):
    found = load_shadows(write_privacy_meter(tmp_path), "privacy_meter")
    pool = make_pool(found)
    np.testing.assert_array_equal(pool.membership_, INSIDE)
    np.testing.assert_allclose(pool.transform(RECORDS), LOG_ODDS[:, 0].T, rtol=1e-5, atol=1e-6)


def test_losses_are_not_read_as_probabilities(tmp_path):
    folder = write_privacy_meter(tmp_path)
    path = folder / "signals" / "rmia_signals.npy"
    path.rename(folder / "signals" / "loss_signals.npy")
    np.save(folder / "signals" / "loss_signals.npy", np.full((N, K), 1.5))
    with pytest.raises(ValueError, match="loss_signals.npy' holds .* no probabilities of"):
        load_shadows(folder, "privacy_meter")
    np.save(folder / "signals" / "loss_signals.npy", np.full((N, K), 1 + 1e-7))  # is 1 but rounded
    assert np.isposinf(load_shadows(folder, "privacy_meter").outputs).all()


def test_other_files_among_those_of_models_are_not_read(tmp_path):
    folder = write_leakpro(tmp_path)
    np.save(folder / "sm_best_logits.npy", np.zeros(3))
    assert load_shadows(folder, "leakpro", membership=INSIDE).outputs.shape[0] == K


@pytest.mark.parametrize("content", [b"", b"other", b"PK\x03\x04"], ids=["no", "text", "torn"])
def test_a_damaged_archive_is_refused_in_one_sentence(tmp_path, content):
    (tmp_path / "shadows.npz").write_bytes(content)
    with pytest.raises(ValueError, match="does not hold the arrays of numbers 'outputs' and 'mem"):
        load_shadows(tmp_path, "npz")
    np.savez(tmp_path / "shadows.npz", outputs=np.zeros((2, 1, 3)))
    with pytest.raises(ValueError, match="does not hold the arrays of numbers 'outputs' and 'mem"):
        load_shadows(tmp_path, "npz")


def test_several_files_of_signals_are_refused(tmp_path):
    folder = write_privacy_meter(tmp_path)
    np.save(folder / "signals" / "other_signals.npy", np.ones((N, K)))
    with pytest.raises(ValueError, match="several .* [(]other_signals.npy, rmia_signals.npy[)]"):
        load_shadows(folder, "privacy_meter")


def test_leakpro(tmp_path):
    folder = write_leakpro(tmp_path)
    with pytest.raises(ValueError, match="pickles.*pass membership=.*sm_8_logits.npy, sm_9"):
        load_shadows(folder, "leakpro")
    found = load_shadows(folder, "leakpro", membership=INSIDE)
    assert found.names[-1] == "sm_11_logits.npy"  # by number, not by name
    np.testing.assert_allclose(make_pool(found).transform(RECORDS), LOG_ODDS[:, 0].T, rtol=1e-5)


@pytest.fixture(scope="module")
def trained():
    X = RNG.normal(size=(N, 2))
    records = Records(X, Y)
    pool = ShadowPool(LogisticRegression(), K, store="outputs", random_state=0).fit(records)
    return pool, records


@pytest.mark.parametrize("layout", ["carlini2022", "privacy_meter", "leakpro", "npz"])
def test_what_is_saved_is_loaded(layout, trained, tmp_path):
    pool, records = trained
    save_shadows(pool, tmp_path / "new", layout, records.y)
    found = load_shadows(tmp_path / "new", layout)
    again = ShadowPool.from_outputs(found.outputs, found.membership, records, kind=found.kind)
    np.testing.assert_array_equal(again.membership_, pool.membership_)
    np.testing.assert_allclose(again.signals_[0], pool.signals_[0], rtol=1e-5, atol=1e-5)
    if layout == "leakpro":
        np.testing.assert_allclose(softmax(found.outputs, axis=-1), pool.outputs_, atol=1e-6)
    with pytest.raises(FileExistsError, match="is not an empty folder"):
        save_shadows(pool, tmp_path / "new", layout)


@pytest.mark.parametrize(
    "model, kind", [(LinearSVC(), "decision"), (LinearRegression(), "value")], ids=str
)
def test_logits_of_models_that_have_none_are_not_saved(model, kind, tmp_path):
    records = Records(RNG.normal(size=(20, 2)), np.arange(20) % 2)
    pool = ShadowPool(model, 2, store="outputs", random_state=0).fit(records)
    with pytest.raises(ValueError, match=f"layout holds logits, and the models .* return '{kind}'"):
        save_shadows(pool, tmp_path / "new", "leakpro")


def test_files_that_are_missing_or_disagree(tmp_path, trained):
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        load_shadows(tmp_path / "none", "npz")
    for layout, missing in (
        ("carlini2022", r"no experiment\*"),
        ("privacy_meter", r"no \*_signals.npy"),
        ("leakpro", r"no sm_\*_logits.npy"),
        ("npz", "needs the file"),
    ):
        with pytest.raises(FileNotFoundError, match=missing):
            load_shadows(tmp_path, layout)
    for name, wrong in (
        ("layout", {"layout": "art"}),
        ("kind", {"layout": "npz", "kind": "proba"}),
    ):
        with pytest.raises(ValueError, match=f"{name} must be one of"):
            load_shadows(tmp_path, **wrong)
    folder = write_carlini(tmp_path)
    np.save(folder / f"experiment-0_{K}" / "keep.npy", INSIDE[0][:5])
    with pytest.raises(ValueError, match="Files of the models differ in shape"):
        load_shadows(folder, "carlini2022")
    np.save(folder / f"experiment-0_{K}" / "keep.npy", np.append(INSIDE[0], [True, False]))
    with pytest.raises(ValueError, match=r"membership needs the shape \(4, 60\); got \(3, 60\)"):
        load_shadows(folder, "carlini2022", membership=INSIDE[:3])
    for flat, shape in ((INSIDE[0], r"\(60,\)"), (1, r"\(\)")):
        with pytest.raises(ValueError, match=rf"needs the shape \(4, 60\); got {shape}"):
            load_shadows(folder, "carlini2022", membership=flat)
    small = trained[0].first(2)
    small = small.with_answers(small.to_answers().without("outputs", None))
    with pytest.raises(ValueError, match='fit the pool with store="outputs"'):
        save_shadows(small, tmp_path / "other", "leakpro")


@pytest.mark.parametrize("layout", ["carlini2022", "privacy_meter", "leakpro", "npz"])
def test_decision_values_are_not_saved_as_logits(tmp_path, layout):
    records = Records(RNG.normal(size=(N, 3)), np.arange(N) % 2)
    pool = ShadowPool(LinearSVC(), 2, store="outputs", random_state=0).fit(records)
    with pytest.raises(ValueError, match="The layout holds"):
        save_shadows(pool, tmp_path / "new", layout, records.y)


class Trap:
    """Makes a folder when it is read from a pickle."""

    def __init__(self, folder):
        self.folder = folder

    def __reduce__(self):
        return os.mkdir, (str(self.folder),)


def test_pickles_are_not_read(tmp_path):
    folder, sprung = write_leakpro(tmp_path), tmp_path / "sprung"
    trap = np.array([Trap(sprung)], dtype=object)
    np.save(folder / "sm_8_logits.npy", trap, allow_pickle=True)
    with pytest.raises(ValueError, match="does not hold an array of numbers"):
        load_shadows(folder, "leakpro", membership=INSIDE)
    (folder / "sm_8_logits.npy").write_bytes(pickle.dumps(trap[0]))  # no array at all
    with pytest.raises(ValueError, match="does not hold an array of numbers"):
        load_shadows(folder, "leakpro", membership=INSIDE)
    np.savez(folder / "shadows.npz", outputs=trap, membership=INSIDE)
    with pytest.raises(ValueError, match="does not hold the arrays of numbers"):
        load_shadows(folder, "npz")
    assert not sprung.exists()


@pytest.mark.parametrize("layout", ["carlini2022", "privacy_meter"])
def test_labels_are_written_for_each_record(layout, trained, tmp_path):
    pool, records = trained
    with pytest.raises(ValueError, match=f"label for each of {len(records)} records.*got 3"):
        save_shadows(pool, tmp_path / "new", layout, records.y[:3])
    assert not (tmp_path / "new").exists()


def test_outputs_of_another_shape_than_the_layout_has_are_refused(tmp_path):
    np.save(write_privacy_meter(tmp_path) / "signals" / "rmia_signals.npy", np.ones(5))
    with pytest.raises(ValueError, match=r"shape \(5,\), not \(n, n_estimators\)"):
        load_shadows(tmp_path, "privacy_meter")
    write_carlini(tmp_path)
    for kind, part, shape in (("logits", "logits", (N, Q, C)), ("log_odds", "scores", (N, 1, Q))):
        for k in range(K):
            np.save(tmp_path / f"experiment-{k}_{K}" / part / "0000000012.npy", np.ones(shape))
        with pytest.raises(ValueError, match=re.escape(f"The {part} have the shape {shape} for")):
            load_shadows(tmp_path, "carlini2022", kind=kind)


def test_files_are_in_the_order_of_their_numbers(tmp_path):
    """Not of their names as texts, in which 10 comes before 9."""
    inside = np.arange(12)[:, None] == np.arange(12)
    for k in range(12):
        model = tmp_path / f"experiment-{k}_12"
        (model / "scores").mkdir(parents=True)
        np.save(model / "keep.npy", inside[k])
        for epoch in (9, 10, 100):
            np.save(model / "scores" / f"{epoch}.npy", np.full((12, 1), 1000.0 * k + epoch))
    found = load_shadows(tmp_path, "carlini2022")
    assert found.names == [f"experiment-{k}_12" for k in range(12)]
    np.testing.assert_array_equal(found.membership, inside)
    np.testing.assert_array_equal(found.outputs[:, 0, 0], 1000.0 * np.arange(12) + 100)


def test_labels_are_in_the_files_if_they_are_given(tmp_path, trained):
    for k, y in enumerate((None, trained[1].y)):
        save_shadows(trained[0], tmp_path / str(k), "carlini2022", y)
    assert load_shadows(tmp_path / "0", "carlini2022").y is None
    np.testing.assert_array_equal(load_shadows(tmp_path / "1", "carlini2022").y, trained[1].y)
