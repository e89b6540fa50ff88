"""What files of boosted trees of other packages store; none of the packages is imported."""

from .catboost_models import OBLIVIOUS as OBLIVIOUS
from .catboost_models import CatBoostTree as CatBoostTree
from .catboost_models import is_catboost as is_catboost
from .catboost_models import list_arrays_of_catboost as list_arrays_of_catboost
from .catboost_models import load_catboost as load_catboost
from .files import is_xgboost as is_xgboost
from .files import read_booster_file as read_booster_file
from .lightgbm_text import ZERO as ZERO
from .lightgbm_text import LightGBMTree as LightGBMTree
from .lightgbm_text import is_lightgbm as is_lightgbm
from .lightgbm_text import load_lightgbm as load_lightgbm
from .lightgbm_text import parse_lightgbm as parse_lightgbm
