"""Files of a checkpoint: private, tied to each other, and never lost or run by mistake."""

import errno
import io
import json
import os
import stat
import warnings
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import ShadowPool
from skmia._training import checkpoint, checkpoint_arrays
from skmia._training import groups as _states
from skmia._training.job import KeptResults
from skmia.datasets import make_membership_problem
from skmia.exceptions import CheckpointError
from skmia.shadow._job import PoolKeeper

TREE = DecisionTreeClassifier(max_depth=3)


@pytest.fixture
def records():
    return make_membership_problem(80, random_state=0)[0]


def make_pool(folder, n_estimators=4, estimator=TREE, **settings):
    return ShadowPool(estimator, n_estimators, checkpoint=folder, random_state=0, **settings)


def assert_same(one, other):
    np.testing.assert_array_equal(one.membership_, other.membership_)
    np.testing.assert_array_equal(one.signals_, other.signals_)


class Bomb:
    """What runs code when it is unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (self.mark,)


def plant(folder, mark):
    for path in sorted(folder.glob("shadow-*.npz")):
        joblib.dump(Bomb(mark), path.with_suffix(".joblib"))


@pytest.mark.parametrize("store", ["signals", "outputs"])
def test_no_pickle_is_read_unless_models_are_stored(records, tmp_path, store):
    first = make_pool(tmp_path / "pool", store=store).fit(records)
    plant(tmp_path / "pool", tmp_path / "mark")
    assert_same(make_pool(tmp_path / "pool", store=store).fit(records), first)
    assert not (tmp_path / "mark").exists()


def test_a_model_that_was_exchanged_is_not_run(records, tmp_path):
    first = make_pool(tmp_path / "pool", store="models").fit(records)
    plant(tmp_path / "pool", tmp_path / "mark")
    with warnings.catch_warnings(record=True, action="always") as caught:
        again = make_pool(tmp_path / "pool", store="models").fit(records)
    assert "shadow-00000.joblib is not the model it goes with" in str(caught[0].message)
    assert len(caught) == 4
    assert not (tmp_path / "mark").exists()
    assert_same(again, first)
    assert len(list((tmp_path / "pool").glob("*.joblib.damaged"))) == 4


def damage_model(folder, how):
    one, other = (folder / f"shadow-0000{k}.joblib" for k in (1, 2))
    if how == "swapped":
        content = one.read_bytes()
        one.write_bytes(other.read_bytes())
        other.write_bytes(content)
    elif how == "deleted":
        one.unlink()
    elif how == "truncated":
        one.write_bytes(one.read_bytes()[:-7])
    else:
        content = bytearray(one.read_bytes())
        content[len(content) // 3] ^= 4
        one.write_bytes(content)


@pytest.mark.parametrize("how", ["swapped", "deleted", "truncated", "a single bit"])
def test_a_model_that_does_not_belong_to_its_signals_is_trained_again(records, tmp_path, how):
    first = make_pool(tmp_path, store="models").fit(records)
    damage_model(tmp_path, how)
    with warnings.catch_warnings(record=True, action="always") as caught:
        again = make_pool(tmp_path, store="models").fit(records)
    assert "shadow-00001.npz is damaged" in str(caught[0].message)
    assert len(caught) == 1 + (how == "swapped")
    for one, other in zip(again.estimators_, first.estimators_, strict=True):
        np.testing.assert_array_equal(one.predict_proba(records.X), other.predict_proba(records.X))
    with warnings.catch_warnings(action="error"):
        make_pool(tmp_path, store="models").fit(records)


def edit(path, change, compression=zipfile.ZIP_STORED):
    """Write the arrays of a file again, as another tool would."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    change(arrays)
    content = io.BytesIO()
    (np.savez if compression == zipfile.ZIP_STORED else np.savez_compressed)(content, **arrays)
    path.write_bytes(content.getvalue())


def shift_signals(arrays):
    arrays["raw"] = arrays["raw"] + np.float32(1)


def drop_rows(arrays):
    arrays["raw"] = arrays["raw"][:, :, :1]


@pytest.mark.parametrize(
    ("change", "compression"),
    [
        (shift_signals, zipfile.ZIP_STORED),
        (drop_rows, zipfile.ZIP_STORED),
        (lambda arrays: arrays.pop("outputs"), zipfile.ZIP_STORED),
        (lambda arrays: None, zipfile.ZIP_DEFLATED),
    ],
    ids=["other numbers", "another shape", "a missing part", "compressed"],
)
def test_an_edited_file_is_set_aside(records, tmp_path, change, compression):
    first = make_pool(tmp_path, store="outputs").fit(records)
    edit(tmp_path / "shadow-00002.npz", change, compression)
    edited = (tmp_path / "shadow-00002.npz").read_bytes()
    with pytest.warns(
        UserWarning, match=r"shadow-00002.npz is damaged .*kept as shadow-00002.npz.d"
    ):
        again = make_pool(tmp_path, store="outputs").fit(records)
    assert_same(again, first)
    np.testing.assert_array_equal(again.outputs_, first.outputs_)
    assert (tmp_path / "shadow-00002.npz.damaged").read_bytes() == edited


def fail_to_read(monkeypatch, error):
    def read_bytes(path):
        if path.suffix == ".npz":
            raise error
        return original(path)

    original = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", read_bytes)


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE, errno.EACCES])
def test_a_moment_in_which_files_cannot_be_read_costs_no_model(
    records, tmp_path, monkeypatch, number
):
    first = make_pool(tmp_path).fit(records)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with monkeypatch.context() as patch:
        fail_to_read(patch, OSError(number, os.strerror(number)))
        with pytest.raises(CheckpointError, match=f"shadow-00000.npz .*: {os.strerror(number)}"):
            make_pool(tmp_path).fit(records)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert_same(make_pool(tmp_path).fit(records), first)


def test_want_of_memory_is_no_damage(records, tmp_path, monkeypatch):
    make_pool(tmp_path).fit(records)

    def load(*arguments, **settings):
        raise MemoryError

    monkeypatch.setattr(np, "load", load)
    with pytest.raises(MemoryError, match=r"shadow-00000.npz needs more memory"):
        make_pool(tmp_path).fit(records)
    assert (tmp_path / "shadow-00000.npz").exists()


def test_a_full_disk_is_told_with_the_folder(records, tmp_path, monkeypatch):
    def savez(*arguments, **settings):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", savez)
        with pytest.raises(CheckpointError, match=f"{tmp_path} cannot be written: No space left"):
            make_pool(tmp_path).fit(records)
    assert not list(tmp_path.glob("*.tmp"))
    assert_same(make_pool(tmp_path).fit(records), make_pool(None).fit(records))


@pytest.mark.parametrize("random_state", [0, None])
def test_a_file_in_the_place_of_the_folder_is_named(records, tmp_path, random_state):
    (tmp_path / "pool").write_text("")
    pool = make_pool(tmp_path / "pool").set_params(random_state=random_state)
    with pytest.raises(
        CheckpointError, match=r"pool.* cannot be (used: File exists|read: Not a d)"
    ):
        pool.fit(records)


def test_a_folder_in_the_place_of_a_file_is_named(records, tmp_path):
    make_pool(tmp_path).fit(records)
    (tmp_path / "shadow-00001.npz").unlink()
    (tmp_path / "shadow-00001.npz").mkdir()
    with pytest.raises(CheckpointError, match=r"shadow-00001.npz cannot be read: Is a directory"):
        make_pool(tmp_path).fit(records)


@pytest.mark.parametrize(
    "name", ["shadow-00001.begun", "shadow-00001.npz.x.tmp", "training-00000.npz"]
)
def test_folders_with_names_of_passing_files_do_no_harm(records, tmp_path, name):
    expected = make_pool(None).fit(records)
    (tmp_path / name).mkdir()
    assert_same(make_pool(tmp_path).fit(records), expected)


def other_meta(**changes):
    def change(arrays):
        meta = json.loads(str(arrays["meta"])) | changes
        arrays["meta"] = np.array(json.dumps(meta))

    return change


@pytest.mark.parametrize(
    "changes",
    [
        {"warnings": 3},
        {"warnings": [3]},
        {"warnings": [["UserWarning", 3]]},
        {"facts": [1]},
        {"facts": None},
        {"model": 7},
        {"arrays": 7},
        {"digest": None},
    ],
    ids=str,
)
def test_facts_of_another_type_are_set_aside(records, tmp_path, changes):
    expected = make_pool(tmp_path).fit(records)
    edit(tmp_path / "shadow-00002.npz", other_meta(**changes))
    with pytest.warns(UserWarning, match=r"shadow-00002.npz is damaged"):
        assert_same(make_pool(tmp_path).fit(records), expected)


@pytest.mark.parametrize("entropy", [3, ["a"], [-1], [True], {"a": 1}], ids=str)
def test_a_manifest_with_other_entropy_is_refused(records, tmp_path, entropy):
    make_pool(tmp_path).fit(records)
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"entropy": entropy}))
    with pytest.raises(CheckpointError, match="has no numbers as its entropy"):
        ShadowPool(TREE, 4, checkpoint=tmp_path).fit(records)


def test_a_model_whose_class_is_gone_stays(records, tmp_path, monkeypatch):
    make_pool(tmp_path, store="models").fit(records)

    def load(file):
        raise ModuleNotFoundError("No module named 'mine'")

    monkeypatch.setattr(joblib, "load", load)
    with pytest.raises(CheckpointError, match=r"joblib cannot be loaded .*'mine'.* left as it is"):
        make_pool(tmp_path, store="models").fit(records)
    assert len(list(tmp_path.glob("*.joblib"))) == 4


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_folder_and_files_are_the_users_own(records, tmp_path, monkeypatch):
    monkeypatch.setattr(_states, "SECONDS_BETWEEN_STATES", 0.0)
    seen = {}
    keep = _states.TrainingStates.save

    def save(self, group, arrays):
        keep(self, group, arrays)
        seen.update({path: path.stat().st_mode for path in self.folder.iterdir()})

    monkeypatch.setattr(_states.TrainingStates, "save", save)
    mask = os.umask(0o000)
    try:
        net = MLPClassifier(3, max_iter=2)
        with warnings.catch_warnings(action="ignore"):
            make_pool(tmp_path / "deep" / "pool", estimator=net, store="models").fit(records)
    finally:
        os.umask(mask)
    folder = tmp_path / "deep" / "pool"
    seen.update({path: path.stat().st_mode for path in folder.iterdir()})
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.suffix for path in seen} >= {".json", ".npz", ".joblib"}
    assert any(path.name.startswith("training-") for path in seen)
    assert {stat.S_IMODE(mode) for mode in seen.values()} == {0o600}


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_links_will_do(records, tmp_path, monkeypatch, number):
    def link(*arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", link)
    first = make_pool(tmp_path).fit(records)
    assert_same(make_pool(tmp_path).fit(records), first)
    with pytest.raises(CheckpointError, match="differs in"):
        make_pool(tmp_path, max_samples=0.25).fit(records)
    assert not list(tmp_path.glob("*.tmp"))


def test_nothing_is_left_beside_finished_models(records, tmp_path):
    make_pool(tmp_path, 2).fit(records)
    left = [
        "shadow-00001.npz.elsewhere-17-abc.tmp",
        "shadow-00003.npz.elsewhere-17-abc.tmp",
        "training-00000.npz.elsewhere-17-abc.tmp",
    ]
    for name in left:
        (tmp_path / name).write_bytes(b"half")
    os.utime(tmp_path / left[0], (2e9, 2e9))  # by a clock that is years ahead
    (tmp_path / "notes.tmp").write_text("mine")
    (tmp_path / "shadow-00000.begun").touch()  # killed right after the model was written
    make_pool(tmp_path, 4).fit(records)
    assert not list(tmp_path.glob("*.begun"))
    assert sorted(path.name for path in tmp_path.glob("*.tmp")) == ["notes.tmp"]


class Killed(BaseException):
    """What nothing catches."""


@pytest.mark.parametrize("error", [KeyboardInterrupt, Killed, RuntimeError])
def test_a_refit_that_is_interrupted_leaves_the_fit_before(records, monkeypatch, error):
    pool = make_pool(None, batched=False).fit(records)
    original, calls = DecisionTreeClassifier.fit, []

    def fit(self, X, y):
        calls.append(1)
        if len(calls) == 3:
            raise error("stop")
        return original(self, X, y)

    with monkeypatch.context() as patch:
        patch.setattr(DecisionTreeClassifier, "fit", fit)
        with pytest.raises(error):
            pool.set_params(random_state=1).fit(records)
    assert_same(pool, make_pool(None, batched=False).fit(records))
    assert_same(pool.fit(records), make_pool(None).set_params(random_state=1).fit(records))


def test_a_refit_that_is_refused_leaves_the_fit_before(records, tmp_path):
    pool = make_pool(None).fit(records)
    before = pool.transform(records)
    make_pool(tmp_path, 2).fit(records)
    for settings in ({"checkpoint": tmp_path, "max_samples": 0.25}, {"n_estimators": 3}):
        with pytest.raises(ValueError):
            pool.set_params(**settings).fit(records)
        np.testing.assert_array_equal(pool.transform(records), before)
    answers = make_pool(None, resolution=0.1).fit(records)
    assert answers.set_params(n_estimators=4).fit(records).n_records_ == 80


def test_signals_that_cannot_be_used_leave_the_fit_before(records):
    tree = DecisionTreeClassifier()  # grown to the end, it answers 0 and 1
    pool = make_pool(None, estimator=tree).fit(records)
    before = pool.transform(records)
    with pytest.raises(ValueError, match="resolution=0"):
        pool.set_params(resolution=0).fit(records)
    np.testing.assert_array_equal(pool.transform(records), before)


def test_the_manifest_names_parts_that_people_know(records, tmp_path):
    make_pool(tmp_path, 2).fit(records)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["parts"]["the parameter max_depth"] == "3"
    assert manifest["records"]["types"] == "float32 x 20, labels int64"


def test_a_damaged_manifest_is_told_in_a_line_of_bounded_length(records, tmp_path):
    make_pool(tmp_path, estimator=RandomForestClassifier(2)).fit(records)
    path = tmp_path / "manifest.json"
    damaged = {**json.loads(path.read_text()), "parts": None}
    path.write_text(json.dumps(damaged))
    with pytest.raises(CheckpointError, match="differs in parts") as caught:
        make_pool(tmp_path, estimator=RandomForestClassifier(2)).fit(records)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


def write_parts(path, parts, compression=zipfile.ZIP_STORED):
    """Write a file of arrays by functions that write each of them."""
    with zipfile.ZipFile(path, "w", compression) as stored:
        for name, write in parts.items():
            content = io.BytesIO()
            write(content)
            stored.writestr(f"{name}.npy", content.getvalue())
    return path


def write_header(values, fortran_order, more=b""):
    header = {"descr": values.dtype.str, "fortran_order": fortran_order, "shape": values.shape}

    def write(file):
        np.lib.format.write_array_header_1_0(file, header)
        file.write(values.tobytes() + more)

    return write


def test_arrays_are_read_where_they_lie_in_a_file(tmp_path):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.float32(2), "none": np.zeros((0, 3), int)}
    np.savez(tmp_path / "a.npz", **arrays)
    found = checkpoint_arrays.map_parts(tmp_path / "a.npz")
    assert found.keys() == arrays.keys()
    for name, values in arrays.items():
        np.testing.assert_array_equal(found[name], values, strict=True)
    assert isinstance(found["a"], np.memmap)
    # A column is in both orders, and the header may be of the second version.
    column = np.arange(5)
    path = write_parts(
        tmp_path / "b.npz",
        {
            "one": lambda file: np.lib.format.write_array(file, column, (2, 0)),
            "two": write_header(column[1:], True),
        },
    )
    found = checkpoint_arrays.map_parts(path)
    np.testing.assert_array_equal(found["one"], column)
    np.testing.assert_array_equal(found["two"], column[1:])


TABLE = np.arange(6).reshape(2, 3)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({}, "it holds no arrays"),
        ({"a": write_header(TABLE, True)}, r"its array a.npy is not stored as numbers in C order"),
        (
            {"b": lambda file: np.save(file, np.array([None]), allow_pickle=True)},
            r"its array b.npy is not stored as numbers",
        ),
        ({"c": write_header(TABLE, False, b"x")}, r"its array c.npy has another size than it says"),
    ],
    ids=["nothing", "columns", "objects", "longer"],
)
def test_a_file_whose_arrays_cannot_be_mapped_is_refused(tmp_path, parts, reason):
    path = write_parts(tmp_path / "a.npz", parts)
    with pytest.raises(ValueError, match=reason):
        checkpoint_arrays.list_file_arrays(path)


def test_a_file_with_objects_is_not_unpickled():
    content = io.BytesIO()
    np.savez(content, meta=np.array("{}"), raw=np.array([print], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        checkpoint.parse(content.getvalue())


def test_a_compressed_file_is_not_mapped(tmp_path):
    write = {"a": lambda file: np.save(file, TABLE)}
    path = write_parts(tmp_path / "a.npz", write, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match="it is compressed"):
        checkpoint_arrays.list_file_arrays(path)


def test_rows_of_several_files_are_numbered_one_after_the_other(tmp_path):
    raw = np.arange(2 * 3 * 5 * 2).reshape(2, 3, 5, 2)  # models, rows, records, targets
    bits = np.arange(2 * 19).reshape(2, 19) % 3 == 0
    paths = [tmp_path / f"{k}.npz" for k in range(2)]
    for k, path in enumerate(paths):
        np.savez(path, meta=np.array("{}"), raw=raw[k], bits=np.packbits(bits[k]))
    rows = checkpoint_arrays.StoredRows(paths, "raw", n_tail=1)
    assert (rows.rows_per_model, rows.n_columns, rows.tail) == (3, 5, (2,))
    np.testing.assert_array_equal(rows.read(4, 1, 4), raw[1, 1, 1:4])
    np.testing.assert_array_equal(rows.read(2, 0, 5), raw[0, 2])
    for axis in (0, 1):
        found = checkpoint_arrays.read_stored(paths, "raw", axis=axis, n_tail=1)
        np.testing.assert_array_equal(np.asarray(found), np.moveaxis(raw, 0, axis))
    packed = checkpoint_arrays.StoredBits(paths, "bits", 19)
    for start, stop in ((0, 19), (3, 8), (8, 9), (9, 17), (16, 16)):
        np.testing.assert_array_equal(packed.read(1, start, stop), bits[1, start:stop], strict=True)
    found = checkpoint_arrays.read_stored_bits(paths, "bits", 19)
    np.testing.assert_array_equal(np.asarray(found), bits)


@pytest.fixture
def opened(tmp_path):
    """A folder of a pool of which no model is finished."""
    folder = checkpoint.FolderCheckpoint(tmp_path / "pool")
    keeper = PoolKeeper(("auto",), (1.0,), "auto", "signals")
    folder.open({"pool": "one", "entropy": [7], "way": "alone"}, keeper)
    return folder


def test_what_a_worker_wrote_has_to_be_there_and_intact(opened):
    with pytest.raises(CheckpointError, match="shadow-00001.npz, which does not exist here; with"):
        opened.load_written(1)
    (opened.folder / "shadow-00001.npz").write_bytes(b"half")
    with (
        pytest.warns(UserWarning, match="shadow-00001.npz is damaged"),
        pytest.raises(CheckpointError, match="shadow-00001.npz was damaged right after it was wr"),
    ):
        opened.load_written(1)


def test_a_folder_keeps_what_is_not_finished_when_it_is_closed(opened):
    states, folder = opened.states(), opened.folder
    for group in ([0, 1], [2, 3]):
        states.save(group, {"weights": np.ones(2)})
    for name in ("00000.npz", "00001.npz", "00002.npz", "00000.begun", "00003.begun"):
        (folder / f"shadow-{name}").touch()
    assert opened.count_kept(4) == 3
    assert opened.describe_kept(2).startswith("2 of 2 shadow models are kept in")
    assert opened.paths(2) == [folder / "shadow-00000.npz", folder / "shadow-00001.npz"]
    assert list(opened.unfinished([0, 3, 4])) == [4, 3]  # what another process has begun comes last
    (folder / "shadow-00004.begun").unlink()
    opened.close()
    assert states.groups() == [[2, 3]]
    assert sorted(path.name for path in folder.glob("*.begun")) == ["shadow-00003.begun"]


def test_the_numbers_of_a_pool_are_known_from_its_first_fit(opened, tmp_path):
    kept = checkpoint.MemoryCheckpoint()
    new = checkpoint.FolderCheckpoint(tmp_path / "new")
    for one in (kept, new):
        assert (one.read_entropy(), one.read_numbers()) == (None, None)
    kept.open({"entropy": [7], "way": "alone"}, None)
    for one in (kept, kept.copy(), opened):
        assert (one.read_entropy(), one.read_numbers()) == ([7], "alone")


def test_a_manifest_that_is_not_a_mapping_is_refused(opened, monkeypatch):
    monkeypatch.setattr(checkpoint, "_SECONDS_OF_WRITING", 0.0)
    (opened.folder / "manifest.json").write_text("[1]")
    with pytest.raises(CheckpointError, match=r"cannot be read \(it is not a mapping\), so"):
        opened.read_entropy()


def test_a_model_of_other_records_is_trained_again(opened):
    inside = np.array([True, False, True, False])
    arrays = {"raw": np.zeros((1, 1, 4), np.float32)}
    opened.save(0, KeptResults({}, arrays, None, ()), inside)
    assert opened.load(0, inside) is not None
    with pytest.warns(UserWarning, match="the model was trained on other records"):
        assert opened.load(0, ~inside) is None
