"""What an audit will cost, told before it is begun."""

from .._core import name_by_room
from ._cost import AuditCost as AuditCost
from ._cost import estimate_cost

__all__ = ["estimate_cost"]

name_by_room(__name__)
