"""What holds at the optimum that a model was trained to, as equations in membership."""

from .machines import decide_by_margins as decide_by_margins
from .machines import is_machine as is_machine
from .read import has_stationarity as has_stationarity
from .read import read_further_gradients as read_further_gradients
from .read import read_gradients as read_gradients
