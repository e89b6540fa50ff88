"""The single checks of :func:`skmia.testing.check_attack`."""

from . import _contract, _declared, _input, _predictions, _tools
from ._helpers import SharedFits

ATTACK_CHECKS = tuple(
    function
    for module in (_contract, _declared, _predictions, _input, _tools)
    for name, function in vars(module).items()
    if name.startswith("check_attack_")
)

__all__ = ["ATTACK_CHECKS", "SharedFits"]
