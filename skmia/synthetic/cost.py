"""What an audit of a synthetic table will cost, told before it is begun."""

from .._core import name_by_room
from ._table._cost import TableCost as TableCost
from ._table._cost import estimate_table_cost

__all__ = ["estimate_table_cost"]

name_by_room(__name__)
