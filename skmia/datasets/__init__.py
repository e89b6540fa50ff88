"""Data sets as records: synthetic, shipped with scikit-learn, or downloaded.

Those that are asked for rarely are in :mod:`skmia.datasets.literature`.
"""

from .._core import name_by_room
from ._images import fetch_cifar10, fetch_fashion_mnist, fetch_mnist
from ._tables import fetch_adult, fetch_law_school, fetch_location30
from ._toy import load_sklearn, make_membership_problem
from .literature import (
    fetch_cifar100,
    fetch_diabetes130,
    fetch_purchase100,
    fetch_texas100,
)

__all__ = [
    "fetch_adult",
    "fetch_cifar10",
    "fetch_fashion_mnist",
    "fetch_law_school",
    "fetch_location30",
    "fetch_mnist",
    "load_sklearn",
    "make_membership_problem",
]

name_by_room(__name__)
