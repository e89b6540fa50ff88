"""Privacy of synthetic data.

Bounds of a critic's gradients are in :mod:`skmia.synthetic.critic_bounds`.
"""

from .._core import name_by_room
from . import critic_bounds
from ._adversarial_accuracy import AdversarialAccuracy as AdversarialAccuracy
from ._adversarial_accuracy import NearestNeighborAdversarialAccuracy, PrivacyLoss
from ._collapse import RareClassRate as RareClassRate
from ._collapse import rare_class_rate
from ._copy_test import CopyTest
from ._dp_wgan import DPWassersteinGAN
from ._generator_attack import GeneratorAttack
from ._generators import BootstrapGenerator, SDVGenerator, SmoteGenerator, SyntheticDistance
from ._neighbors import GowerEncoder as GowerEncoder
from ._risks import ExcessRisk as ExcessRisk
from ._risks import InferenceRisk, LinkabilityRisk, excess_risk
from ._singling_out import SinglingOutRisk
from ._table import TableReport as TableReport
from ._table import audit_table, save_table
from ._table._audit import audit_units_of_table
from ._table._columns import find_identifiers
from ._table._evidence import (
    FIRST,
    PERSONS,
    ROWS,
    TableGrounds,
    choose_table_evidence,
    correct,
    count_units,
    has_numbers,
    list_table_reversals,
    measure_table_level,
    read_units,
    write_table_verdict,
)
from ._table._person_table import join_tables_of_persons
from ._table._report import SCHEMA, SCHEMA_VERSION, as_table_document, render_table, show_table

__all__ = [
    "BootstrapGenerator",
    "CopyTest",
    "DPWassersteinGAN",
    "GeneratorAttack",
    "InferenceRisk",
    "LinkabilityRisk",
    "NearestNeighborAdversarialAccuracy",
    "PrivacyLoss",
    "SDVGenerator",
    "SinglingOutRisk",
    "SmoteGenerator",
    "SyntheticDistance",
    "audit_table",
    "rare_class_rate",
]

name_by_room(__name__)
