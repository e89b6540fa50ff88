"""Data sets of the literature on membership attacks that are asked for rarely.

They are read in ``_tables.py`` and ``_images.py``, and downloaded by ``_fetch.py``.
"""

from .._core import name_by_room
from ._images import fetch_cifar100
from ._tables import fetch_diabetes130, fetch_purchase100, fetch_texas100

__all__ = ["fetch_cifar100", "fetch_diabetes130", "fetch_purchase100", "fetch_texas100"]

name_by_room(__name__)
