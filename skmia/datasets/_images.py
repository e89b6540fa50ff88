"""Image sets: MNIST and Fashion-MNIST (idx files), CIFAR-10 and CIFAR-100 (binary archives)."""

import numpy as np

from .._core.records import Records
from .._core.types import PathLike
from ._fetch import RemoteFile, read_remote

_IDX_NAMES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def _idx_files(prefix, base, checksums):
    return tuple(
        RemoteFile(f"{prefix}{name}.gz", f"{base}{name}.gz", members={"*": checksum})
        for name, checksum in zip(_IDX_NAMES, checksums, strict=True)
    )


# The publisher's own server refuses downloads; this is the copy that torchvision uses.
_MNIST = _idx_files(
    "mnist-",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    (
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
)
_FASHION_MNIST = _idx_files(
    "fashion-mnist-",
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    (
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
)
_CIFAR10 = RemoteFile(
    "cifar-10-binary.tar.gz",
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
_CIFAR100 = RemoteFile(
    "cifar-100-binary.tar.gz",
    "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
    sha256="58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
)
_CIFAR10_MEMBERS = (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")
_CIFAR100_MEMBERS = ("train.bin", "test.bin")


def _split_field(n_train, n_test):
    return np.repeat(["train", "test"], [n_train, n_test])


def _read_idx(stream):
    content = stream.read()
    if content[:3] != b"\0\0\x08" or len(content) < 4:
        raise ValueError("an idx file of bytes begins with 0 0 8")
    n_dimensions = content[3]
    shape = np.frombuffer(content, ">i4", n_dimensions, 4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * n_dimensions).reshape(shape)


def _fetch_idx(remotes, *cache):
    arrays = []
    for remote in remotes:
        arrays.extend(read_remote(remote, {"*": _read_idx}, *cache).values())
    X_train, y_train, X_test, y_test = arrays
    X, y = np.concatenate([X_train, X_test]), np.concatenate([y_train, y_test])
    return Records(X, y.astype(np.intp), split=_split_field(len(y_train), len(y_test)))


def _fetch_cifar(remote, members, n_labels, *cache):
    """Return labels (n, n_labels), images (n, 3, 32, 32) and split of the binary version."""

    def parse(stream):
        return np.frombuffer(stream.read(), np.uint8).reshape(-1, n_labels + 3072)

    parsed = read_remote(remote, dict.fromkeys(members, parse), *cache)
    n_test = len(parsed[members[-1]])
    rows = np.concatenate([parsed[name] for name in members])
    images = np.ascontiguousarray(rows[:, n_labels:]).reshape(-1, 3, 32, 32)
    return rows[:, :n_labels].astype(np.intp), images, _split_field(len(rows) - n_test, n_test)


def fetch_mnist(*, data_home: PathLike | None = None, download_if_missing: bool = True) -> Records:
    """Fetch MNIST: 70,000 handwritten digits.

    The four published files [1]_, from the copy that torchvision uses; the sha256 of their content
    is known and verified at every use. Commonly given as CC BY-SA 3.0.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the cache, by default scikit-learn's
        (:func:`sklearn.datasets.get_data_home`); the files are in its folder ``skmia``.
    download_if_missing : bool, default=True
        If False, raise an OSError when a file is not in the cache.

    Returns
    -------
    records : Records
        X of shape (70000, 28, 28), dtype uint8, 0 to 255; y 0 to 9; the field ``split`` is
        "train" for the first 60,000 and "test" for the others.

    Raises
    ------
    OSError
        If a file is neither in the cache nor available, or is not the published one.

    References
    ----------
    .. [1] Y. LeCun, C. Cortes and C. J. C. Burges. The MNIST database of handwritten digits.
       http://yann.lecun.com/exdb/mnist

    Examples
    --------
    >>> from skmia.datasets import fetch_mnist
    >>> fetch_mnist()  # doctest: +SKIP
    Records(70000 records, X=ndarray(70000, 28, 28), uint8, y=int64, fields=split)
    """
    return _fetch_idx(_MNIST, data_home, download_if_missing)


def fetch_fashion_mnist(
    *, data_home: PathLike | None = None, download_if_missing: bool = True
) -> Records:
    """Fetch Fashion-MNIST: 70,000 photographs of clothes in 10 classes.

    The four published files [1]_; the sha256 of their content is known and verified at every use.
    MIT license, copyright Zalando SE.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the cache, by default scikit-learn's
        (:func:`sklearn.datasets.get_data_home`); the files are in its folder ``skmia``.
    download_if_missing : bool, default=True
        If False, raise an OSError when a file is not in the cache.

    Returns
    -------
    records : Records
        X of shape (70000, 28, 28), dtype uint8, 0 to 255; y 0 to 9; the field ``split`` is
        "train" for the first 60,000 and "test" for the others.

    Raises
    ------
    OSError
        If a file is neither in the cache nor available, or is not the published one.

    References
    ----------
    .. [1] H. Xiao, K. Rasul and R. Vollgraf (2017). Fashion-MNIST: a novel image dataset for
       benchmarking machine learning algorithms. arXiv:1708.07747.
       https://github.com/zalandoresearch/fashion-mnist

    Examples
    --------
    >>> from skmia.datasets import fetch_fashion_mnist
    >>> fetch_fashion_mnist()  # doctest: +SKIP
    Records(70000 records, X=ndarray(70000, 28, 28), uint8, y=int64, fields=split)
    """
    return _fetch_idx(_FASHION_MNIST, data_home, download_if_missing)


def fetch_cifar10(
    *, data_home: PathLike | None = None, download_if_missing: bool = True
) -> Records:
    """Fetch CIFAR-10: 60,000 small color photographs in 10 classes.

    The binary version of the publisher [1]_, because the Python version is a pickle, which can run
    code when it is loaded. Its sha256 is known and verified at every use. No license is stated; the
    authors ask for the citation.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the cache, by default scikit-learn's
        (:func:`sklearn.datasets.get_data_home`); the file is in its folder ``skmia``.
    download_if_missing : bool, default=True
        If False, raise an OSError when the file is not in the cache.

    Returns
    -------
    records : Records
        X of shape (60000, 3, 32, 32), channels first as torch takes them, dtype uint8, 0 to 255;
        y 0 to 9 (airplane, automobile, bird, cat, deer, dog, frog, horse, ship, truck); the field
        ``split`` is "train" for the first 50,000 and "test" for the others.

    Raises
    ------
    OSError
        If the file is neither in the cache nor available, or is not the published one.

    References
    ----------
    .. [1] A. Krizhevsky (2009). Learning multiple layers of features from tiny images. University
       of Toronto. https://www.cs.toronto.edu/~kriz/cifar.html

    Examples
    --------
    >>> from skmia.datasets import fetch_cifar10
    >>> fetch_cifar10()  # doctest: +SKIP
    Records(60000 records, X=ndarray(60000, 3, 32, 32), uint8, y=int64, fields=split)
    """
    labels, images, split = _fetch_cifar(
        _CIFAR10, _CIFAR10_MEMBERS, 1, data_home, download_if_missing
    )
    return Records(images, labels[:, 0], split=split)


def fetch_cifar100(
    *, data_home: PathLike | None = None, download_if_missing: bool = True
) -> Records:
    """Fetch CIFAR-100: 60,000 small color photographs in 100 classes.

    The binary version of the publisher [1]_, because the Python version is a pickle, which can run
    code when it is loaded. Its sha256 is known and verified at every use. No license is stated; the
    authors ask for the citation. 26 pairs of images are identical, 10 of them across train and
    test.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the cache, by default scikit-learn's
        (:func:`sklearn.datasets.get_data_home`); the file is in its folder ``skmia``.
    download_if_missing : bool, default=True
        If False, raise an OSError when the file is not in the cache.

    Returns
    -------
    records : Records
        X of shape (60000, 3, 32, 32), channels first as torch takes them, dtype uint8, 0 to 255;
        y 0 to 99; the field ``split`` is "train" for the first 50,000 and "test" for the others,
        the field ``superclass`` 0 to 19.

    Raises
    ------
    OSError
        If the file is neither in the cache nor available, or is not the published one.

    References
    ----------
    .. [1] A. Krizhevsky (2009). Learning multiple layers of features from tiny images. University
       of Toronto. https://www.cs.toronto.edu/~kriz/cifar.html

    Examples
    --------
    >>> from skmia.datasets.literature import fetch_cifar100
    >>> fetch_cifar100()  # doctest: +SKIP
    Records(60000 records, X=ndarray(60000, 3, 32, 32), uint8, y=int64, fields=split,superclass)
    """
    labels, images, split = _fetch_cifar(
        _CIFAR100, _CIFAR100_MEMBERS, 2, data_home, download_if_missing
    )
    return Records(images, labels[:, 1], split=split, superclass=labels[:, 0])
