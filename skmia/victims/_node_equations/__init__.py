"""Linear equations that a file of trees states about the membership of its training rows."""

from .equations import Equations
from .read import has_node_equations, read_further_columns, read_node_equations
