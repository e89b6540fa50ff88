"""Linear equations that a file of trees states about the membership of its training rows."""

from .equations import Equations as Equations
from .read import has_node_equations as has_node_equations
from .read import read_further_columns as read_further_columns
from .read import read_node_equations as read_node_equations
