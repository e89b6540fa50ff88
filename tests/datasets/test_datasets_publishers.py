"""Each fetch function on files in the format of its publisher."""

import dataclasses
import gzip
import hashlib
import io
import pickle
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from skmia import datasets
from skmia.datasets import _images, _tables

IDX_MEMBERS = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")


def write_tgz(path, members):
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def write_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def as_lines(table, quote=""):
    sep = f"{quote},{quote}"
    return "".join(f"{quote}{sep.join(map(str, row))}{quote}\n" for row in table).encode()


@pytest.mark.parametrize("quote", ["", pytest.param('"', marks=pytest.mark.slow)])
def test_location30_is_read_back_equal(quote, shared_data, tmp_path, cache):
    stored = np.load(shared_data / "location30.npz")
    X = np.unpackbits(stored["x_bits"], axis=1, count=446)
    sep, digits = f"{quote},{quote}", (X + ord("0")).tobytes().decode()
    rows = [(y + 1, sep.join(digits[446 * k : 446 * (k + 1)])) for k, y in enumerate(stored["y"])]
    write_tgz(cache / "dataset_location.tgz", {"bangkok": as_lines(rows, quote)})
    records = datasets.fetch_location30(data_home=tmp_path)
    assert records.X.shape == (5010, 446) and records.X.dtype == np.uint8
    assert_array_equal(records.X, X)
    assert_array_equal(records.y, stored["y"])
    counts = np.bincount(records.y)
    assert (len(counts), counts.min(), counts.max()) == (30, 97, 308)


def test_purchase100_is_label_then_items(publisher, monkeypatch, tmp_path, cache):
    rng = np.random.default_rng(0)
    X, y = rng.integers(2, size=(300, 600)), rng.integers(1, 101, size=300)
    write_tgz(
        cache / "made.tgz", {"dataset_purchase": as_lines(np.column_stack([y, X]).tolist(), '"')}
    )
    publisher.files["/p.tgz"] = (cache / "made.tgz").read_bytes()
    remote = dataclasses.replace(_tables._PURCHASE, url=publisher.base + "/p.tgz")
    monkeypatch.setattr(_tables, "_PURCHASE", remote)
    for _ in range(2):
        records = datasets.fetch_purchase100(data_home=tmp_path)
        assert_array_equal(records.X, X)
        assert_array_equal(records.y, y - 1)
    assert publisher.requests == ["/p.tgz"]


def test_texas100_is_two_files_in_a_folder(tmp_path, cache):
    rng = np.random.default_rng(0)
    X, y = rng.integers(2, size=(50, 6169)), rng.integers(1, 101, size=(50, 1))
    members = {
        "texas/50/feats": b"0\n",
        "texas/100/feats": as_lines(X),
        "texas/100/labels": as_lines(y),
    }
    write_tgz(cache / "dataset_texas.tgz", members)
    records = datasets.fetch_texas100(data_home=tmp_path)
    assert_array_equal(records.X, X)
    assert_array_equal(records.y, y.ravel() - 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1,0,2\n", "features must be 0 or 1; got 2"),
        (b"0,0,1\n", "labels must be 1 to 30; got 0 to 0"),
        (b"31,0,1\n", "labels must be 1 to 30; got 31 to 31"),
        (b"1,0,a\n", "cannot be read"),
        (b"1,0,1\n1,0,1,1\n", "cannot be read"),
        (b"1,0,1\n1,0\n", "cannot be read"),
        (b"", "cannot be read"),
    ],
)
def test_another_table_is_refused(content, message, tmp_path, cache):
    write_tgz(cache / "dataset_location.tgz", {"bangkok": content})
    with pytest.raises(OSError, match=message):
        datasets.fetch_location30(data_home=tmp_path)
    assert not (cache / "dataset_location.tgz.sha256").exists()


def adult_members(folder):
    """The two published files, byte for byte."""
    rows = pd.read_csv(folder / "adult.csv.gz", dtype=object, keep_default_na=False)
    lines = [", ".join(row) for row in rows.drop(columns="split").itertuples(index=False)]
    n_train = int((rows["split"] == "train").sum())
    train = "\n".join(lines[:n_train]) + "\n\n"
    test = ".\n".join(lines[n_train:]) + ".\n\n"
    return {"adult.data": train, "adult.test": "|1x3 Cross validator\n" + test}, rows


def test_adult_is_the_published_one(shared_data, tmp_path, cache):
    members, rows = adult_members(shared_data)
    write_zip(cache / "adult.zip", {"Index": "", "old.adult.names": "", **members})
    records = datasets.fetch_adult(data_home=tmp_path)
    assert dict(zip(*np.unique(records.y, return_counts=True))) == {"<=50K": 37155, ">50K": 11687}
    for field in ("race", "sex", "split"):
        assert_array_equal(records[field], rows[field].to_numpy(dtype=str))
    features = rows.drop(columns=["income", "split"])
    assert records.X.columns.tolist() == features.columns.tolist()
    assert int(records.X.isna().any(axis=1).sum()) == 3620
    some = records.X[::20]
    text = some.astype(object).where(some.notna(), "?").astype(str)
    assert (text == features[::20]).all(axis=None)
    assert records.X["race"].dtype == "category" and records.X["age"].dtype == np.int64


def test_diabetes130_keeps_the_stays_of_a_person_together(shared_data, tmp_path, cache):
    content = gzip.decompress((shared_data / "diabetes130.csv.gz").read_bytes())
    write_zip(cache / "diabetes130.zip", {"IDS_mapping.csv": "", "diabetic_data.csv": content})
    records = datasets.fetch_diabetes130(data_home=tmp_path)
    assert records.X.shape == (101766, 47)
    assert not {"encounter_id", "patient_nbr", "readmitted"} & set(records.X.columns)
    assert len(np.unique(records["group_by"])) == 71518
    counts = dict(zip(*np.unique(records.y, return_counts=True)))
    assert counts == {"NO": 54864, ">30": 35545, "<30": 11357}
    assert (records["race"] == "?").sum() == 2273
    # The test was not made: a value, not an unknown one.
    assert (records.X["A1Cresult"] == "None").any() and records.X["A1Cresult"].notna().all()


def test_law_school_has_its_groups(tmp_path, cache):
    head = "decile1b,ugpa,race,male,pass_bar\n"
    (cache / "law_school_clean.csv").write_text(
        head + "10.0,3.5,White,0.0,1.0\n5.0,2.9,Non-White,1.0,0.0\n4.0, 3.1,?,1.0,0.0\n"
    )
    records = datasets.fetch_law_school(data_home=tmp_path)
    assert records.X.columns.tolist() == ["decile1b", "ugpa", "race", "male"]
    assert_array_equal(records.y, [1, 0, 0])
    assert_array_equal(records["race"], ["White", "Non-White", "?"])
    assert records.X["race"].isna().tolist() == [False, False, True]
    assert records.X["race"].dtype == "category" and records.X["ugpa"].dtype == np.float64
    assert_array_equal(records["male"], [0, 1, 1])


def test_another_law_school_is_refused(tmp_path, cache):
    (cache / "law_school_clean.csv").write_text("<html>\n")
    with pytest.raises(OSError, match="Unknown column 'pass_bar'"):
        datasets.fetch_law_school(data_home=tmp_path)


def idx_bytes(values):
    head = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, ">i4").tobytes()
    return head + values.tobytes()


def write_idx(folder, name, parts):
    for member, values in zip(IDX_MEMBERS, parts, strict=True):
        path = folder / f"{name.replace('_', '-')}-{member}-ubyte.gz"
        path.write_bytes(gzip.compress(idx_bytes(values), compresslevel=0))


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_images_are_those_of_the_four_files(name, tmp_path, cache, monkeypatch):
    rng = np.random.default_rng(0)
    parts = [rng.integers(256, size=(n, 28, 28), dtype=np.uint8) for n in (3, 2)]
    parts = [parts[0], np.array([7, 0, 9], np.uint8), parts[1], np.array([2, 7], np.uint8)]
    sums = [hashlib.sha256(idx_bytes(values)).hexdigest() for values in parts]
    published = getattr(_images, f"_{name.upper()}")
    made = [
        dataclasses.replace(remote, members={"*": digest})
        for remote, digest in zip(published, sums, strict=True)
    ]
    monkeypatch.setattr(_images, f"_{name.upper()}", tuple(made))
    write_idx(cache, name, parts)
    records = getattr(datasets, f"fetch_{name}")(data_home=tmp_path)
    assert_array_equal(records.X, np.concatenate(parts[::2]))
    assert records.X.dtype == np.uint8
    assert records.y.tolist() == [7, 0, 9, 2, 7]
    assert records["split"].tolist() == ["train"] * 3 + ["test"] * 2


# Sums of 55 MB take a second; which names are read into what is shown above.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_images_are_the_published_ones(name, shared_data, tmp_path, cache):
    stored = np.load(shared_data / f"{name}.npz")
    parts = [stored[key] for key in ("x_train", "y_train", "x_test", "y_test")]
    write_idx(cache, name, parts)
    records = getattr(datasets, f"fetch_{name}")(data_home=tmp_path)
    assert records.X.shape == (70000, 28, 28) and records.X.dtype == np.uint8
    assert_array_equal(records.X[60000:], parts[2])
    assert_array_equal(records.y[:60000], parts[1])
    assert (records["split"] == "train").sum() == 60000 and records["split"][-1] == "test"


def test_a_changed_image_is_refused(tmp_path, cache):
    path = cache / "mnist-train-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(idx_bytes(np.zeros((60, 28, 28), np.uint8))))
    with pytest.raises(OSError, match="is corrupted or was changed"):
        datasets.fetch_mnist(data_home=tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"\0\0\x08", b"\0\0\x09\1\0\0\0\1\0", b"\0\0\x08\1\0\0\0\2\0"]
)
def test_a_malformed_idx_file_is_refused(content):
    with pytest.raises(ValueError):
        _images._read_idx(io.BytesIO(content))


@pytest.fixture
def unpinned(monkeypatch):
    for name in ("_CIFAR10", "_CIFAR100"):
        remote = dataclasses.replace(getattr(_images, name), sha256=None)
        monkeypatch.setattr(_images, name, remote)


def test_cifar10_has_a_label_then_the_three_channels(unpinned, tmp_path, cache):
    rng = np.random.default_rng(0)
    images, y = rng.integers(256, size=(12, 3, 32, 32), dtype=np.uint8), np.arange(12) % 10
    rows = np.column_stack([y.astype(np.uint8), images.reshape(12, -1)])
    names = [f"cifar-10-batches-bin/data_batch_{i}.bin" for i in range(1, 6)]
    names.append("cifar-10-batches-bin/test_batch.bin")
    members = {name: rows[2 * i : 2 * i + 2].tobytes() for i, name in enumerate(names)}
    # The order inside the archive is the publisher's business.
    write_tgz(cache / "cifar-10-binary.tar.gz", dict(reversed(members.items())))
    records = datasets.fetch_cifar10(data_home=tmp_path)
    assert_array_equal(records.X, images)
    assert_array_equal(records.y, y)
    assert records["split"].tolist() == ["train"] * 10 + ["test"] * 2


def test_cifar100_has_a_superclass_before_the_label(unpinned, tmp_path, cache):
    rng = np.random.default_rng(0)
    images = rng.integers(256, size=(5, 3, 32, 32), dtype=np.uint8)
    labels = np.array([[11, 19], [0, 1], [3, 99], [4, 5], [6, 7]], np.uint8)
    rows = np.column_stack([labels, images.reshape(5, -1)])
    members = {
        "cifar-100-binary/train.bin": rows[:3].tobytes(),
        "cifar-100-binary/test.bin": rows[3:].tobytes(),
    }
    write_tgz(cache / "cifar-100-binary.tar.gz", members)
    records = datasets.fetch_cifar100(data_home=tmp_path)
    assert_array_equal(records.X, images)
    assert_array_equal(records.y, [19, 1, 99, 5, 7])
    assert_array_equal(records["superclass"], [11, 0, 3, 4, 6])
    assert records["split"].tolist() == ["train"] * 3 + ["test"] * 2


def test_the_pickled_cifar_is_refused_before_it_is_opened(tmp_path, cache):
    members = {"cifar-10-batches-py/data_batch_1": pickle.dumps({"data": 0})}
    write_tgz(cache / "cifar-10-binary.tar.gz", members)
    with pytest.raises(OSError, match="corrupted or was changed"):
        datasets.fetch_cifar10(data_home=tmp_path)


def all_remotes():
    modules = (_images, _tables)
    values = [value for module in modules for value in vars(module).values()]
    flat = [item for value in values for item in (value if isinstance(value, tuple) else (value,))]
    return [item for item in flat if type(item).__name__ == "RemoteFile"]


def test_every_file_comes_over_https_and_has_a_name_of_its_own():
    remotes = all_remotes()
    assert len(remotes) == 16
    assert len({remote.name for remote in remotes}) == len(remotes)
    assert all(remote.url.startswith("https://") for remote in remotes)


FETCHERS = [
    name for name in datasets.__all__ + datasets.literature.__all__ if name.startswith("fetch_")
]


@pytest.mark.parametrize("name", FETCHERS)
def test_a_missing_data_set_is_not_downloaded_against_the_wish(name, tmp_path):
    with pytest.raises(OSError, match=r"is not in .*skmia and download_if_missing=False"):
        getattr(datasets, name)(data_home=tmp_path, download_if_missing=False)
