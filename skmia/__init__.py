"""Membership-inference attacks as scikit-learn estimators."""

from importlib import import_module
from typing import TYPE_CHECKING

from ._core import __version__
from ._core.guesses import make_refusal

if TYPE_CHECKING:
    from ._core.outputs import Outputs
    from ._core.records import Records
    from .report._audit import audit
    from .shadow import ShadowPool

__all__ = ["Outputs", "Records", "ShadowPool", "__version__", "audit"]


# Each is loaded when it is asked for: the command line answers --help without scikit-learn, and few
# programs audit.
_PLACES = {
    "Outputs": "._core.outputs",
    "Records": "._core.records",
    "ShadowPool": ".shadow",
    "audit": ".report._audit",
}
_ROOMS = (
    "attacks",
    "base",
    "datasets",
    "defenses",
    "disclosure",
    "disparity",
    "epsilon",
    "exceptions",
    "games",
    "inspection",
    "leakage",
    "memorization",
    "metrics",
    "model_selection",
    "report",
    "shadow",
    "signals",
    "synthetic",
    "testing",
    "victims",
)


_refuse = make_refusal(__name__, [*__all__, *_ROOMS])


def __getattr__(name):
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name not in _PLACES:
        raise _refuse(name)
    globals()[name] = found = getattr(import_module(_PLACES[name], __name__), name)
    return found


def __dir__():
    return sorted({*__all__, *_ROOMS})
