"""Synthesizers of the Synthetic Data Vault."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd

from ..._core.optional import import_optional
from ..._core.randomness import check_random_state
from ..._core.sdv_parts import seed_synthesizer
from ..._core.seeding import isolated_randomness
from ..._core.sklearn import StrOptions
from ..._core.types import Seed
from ._base import BaseGenerator

_NAMES = {
    "gaussian_copula": "GaussianCopulaSynthesizer",
    "ctgan": "CTGANSynthesizer",
    "tvae": "TVAESynthesizer",
}


class SDVGenerator(BaseGenerator):
    """Generator that trains a synthesizer of SDV, the Synthetic Data Vault.

    Parameters
    ----------
    synthesizer : {"gaussian_copula", "ctgan", "tvae"}, default="gaussian_copula"
        The synthesizer.
    settings : dict, default=None
        Other arguments of the synthesizer, for instance ``{"epochs": 100}``.
    random_state : int, RandomState instance or None, default=None
        Controls training, as far as it follows the generators of numpy and torch.

    Attributes
    ----------
    synthesizer_ : object of SDV
        The trained synthesizer.
    n_rows_ : int
        Number of training rows.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X has names that are strings.

    Raises
    ------
    ImportError
        If SDV is not installed.

    See Also
    --------
    GeneratorAttack : Membership attack on generators.
    DPWassersteinGAN : Generator with differential privacy.

    Notes
    -----
    Versions 1 and 2 of SDV are supported, whose interfaces differ. Numeric columns are
    ``numerical`` in SDV's words, columns of truth values ``boolean``, all others ``categorical``;
    nothing is guessed from values.

    SDV is not among the extras of ``skmia[all]``, because it holds pandas at an older version.

    References
    ----------
    Patki, N., Wedge, R. and Veeramachaneni, K. (2016). The synthetic data vault. DSAA.

    Xu, L., Skoularidou, M., Cuesta-Infante, A. and Veeramachaneni, K. (2019). Modeling tabular data
    using conditional GAN. NeurIPS.

    Examples
    --------
    >>> from skmia.synthetic import SDVGenerator
    >>> generator = SDVGenerator("ctgan", settings={"epochs": 25}, random_state=0)
    >>> generator.fit(table).sample(100)  # doctest: +SKIP
    """

    _parameter_constraints = {
        "synthesizer": [StrOptions(set(_NAMES))],
        "settings": [Mapping, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        synthesizer: Literal["gaussian_copula", "ctgan", "tvae"] = "gaussian_copula",
        *,
        settings: Mapping[str, Any] | None = None,
        random_state: Seed = None,
    ) -> None:
        self.synthesizer = synthesizer
        self.settings = settings
        self.random_state = random_state

    def _fit(self, table):
        single_table = import_optional("sdv.single_table", "sdv")
        self._names = table.columns
        table = _prepare(table)
        make = getattr(single_table, _NAMES[self.synthesizer])
        metadata, is_named = _describe(table)
        self.synthesizer_ = make(metadata, **(self.settings or {}))
        with _seeded(self.random_state):
            self.synthesizer_.fit({"table": table} if is_named else table)

    def _draw(self, n_samples, random_state):
        seed = int(random_state.randint(np.iinfo(np.int32).max))
        seed_synthesizer(self.synthesizer_, seed)
        with _seeded(seed):
            made = self.synthesizer_.sample(num_rows=n_samples)
        made = made["table"] if isinstance(made, dict) else made
        return made.set_axis(self._names, axis=1)


def _prepare(table):
    """Columns with names that are strings, and types that all versions of SDV read alike."""
    table = table.set_axis([str(name) for name in table.columns], axis=1)
    for name, dtype in table.dtypes.items():
        if _kind(dtype) == "categorical":
            table[name] = table[name].astype(object)
    return table


def _kind(dtype):
    if pd.api.types.is_bool_dtype(dtype) and not isinstance(dtype, pd.CategoricalDtype):
        return "boolean"
    return "numerical" if pd.api.types.is_numeric_dtype(dtype) else "categorical"


def _describe(table):
    """Metadata of a table, and whether tables have to be given by name."""
    module = import_optional("sdv.metadata", "sdv")
    columns = {name: {"sdtype": _kind(dtype)} for name, dtype in table.dtypes.items()}
    is_first = hasattr(module, "SingleTableMetadata")  # version 1
    if not hasattr(module, "Metadata"):  # before 1.17
        return module.SingleTableMetadata.load_from_dict({"columns": columns}), False
    tables = {"tables": {"table": {"columns": columns}}, "relationships": []}
    return module.Metadata.load_from_dict(tables), not is_first


def _seeded(random_state):
    """Global generators seeded for a while; fresh ones if random_state is None."""
    seed = None
    if random_state is not None:
        seed = int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    return isolated_randomness(np.random.SeedSequence(seed))
