"""Arrays that are mapped from files travel as places in them."""

import numpy as np
import pytest

from skmia import Records
from skmia._core.containers import get_place
from skmia._training.job import JobData


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "X.npy", np.arange(60.0).reshape(20, 3))
    return tmp_path / "X.npy"


@pytest.mark.parametrize("rows", [slice(None), slice(5, 9), slice(7, 8)])
def test_a_place_gives_the_same_array(path, rows):
    array = Records(np.load(path, mmap_mode="r"))[rows].X
    place = get_place(array)
    np.testing.assert_array_equal(place.open(), array)
    assert not place.open().flags.writeable


@pytest.mark.parametrize(
    "change",
    [
        lambda X: np.array(X),
        lambda X: X[::2],
        lambda X: X[:, 1],
        lambda X: X[[0, 1]],
        lambda X: X + 1,
        lambda X: X.tolist(),
    ],
    ids=["copied", "every second row", "a column", "chosen rows", "computed", "list"],
)
def test_others_have_no_place(path, change):
    assert get_place(change(np.load(path, mmap_mode="r"))) is None


def test_what_was_changed_in_memory_alone_has_no_place(path):
    assert get_place(np.load(path, mmap_mode="c")) is None


def test_what_was_written_is_found_in_the_file(path):
    array = np.load(path, mmap_mode="r+")
    array[3] = -1
    np.testing.assert_array_equal(get_place(array).open(), array)


def test_data_go_and_come_back(path):
    data = JobData([np.load(path, mmap_mode="r"), np.eye(20)], np.arange(20))
    packed = data.by_place()
    assert packed.tables[1] is data.tables[1]
    for one, other in zip(packed.unpacked().tables, data.tables, strict=True):
        np.testing.assert_array_equal(one, other)
    path.unlink()
    with pytest.raises(FileNotFoundError, match="workers must share its file system"):
        packed.unpacked()
