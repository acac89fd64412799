"""Mechanisms that are priced and cannot be run here, one a file, so that `derive` compares them.

To add one, add one file with one final `Priced`, named as in its paper.
"""

from typing import Any

from attncost.core.discovery import Catalogue
from attncost.mechanisms.interface import Priced

_CATALOGUE = Catalogue("formula", __name__, Priced)
names, load = _CATALOGUE.names, _CATALOGUE.load


def formula(name: str, **parameters: Any) -> Priced:  # noqa: ANN401 -- the class checks them
    """Return the formula of this name, such as `formula("nystrom", landmarks=64)`.

    Raises:
        UnknownName: If there is no such formula, or it has no such parameter.
    """
    return _CATALOGUE.make(name, **parameters)
