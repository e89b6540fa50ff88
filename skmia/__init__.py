"""Membership-inference attacks as scikit-learn estimators."""

from typing import TYPE_CHECKING

from ._core import __version__
from ._core.outputs import Outputs
from ._core.records import Records
from .shadow import ShadowPool

if TYPE_CHECKING:
    from .report._audit import audit

__all__ = ["Outputs", "Records", "ShadowPool", "__version__", "audit"]


def __getattr__(name):
    # Loaded late: the audit's package imports nearly every other one, and few programs audit.
    if name == "audit":
        from .report._audit import audit

        return audit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
