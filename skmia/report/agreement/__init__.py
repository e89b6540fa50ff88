"""Whether a model and a table belong together, which is asked before any shadow model."""

from dataclasses import replace

from ..._core import name_by_room
from ._ask import meet
from ._check import check_agreement
from ._result import Agreement as Agreement

__all__ = ["check_agreement"]


def with_agreement(case, clock):
    """Give a case the answer whether its model knows its table."""
    with clock("model and table"):
        return replace(case, agreement=meet(case))


name_by_room(__name__)
