"""Families of models: one file each, which reads the `config.json` of its kinds."""

from attncost.core.discovery import Catalogue
from attncost.cost.families.interface import Family

_CATALOGUE = Catalogue("family of models", __name__, Family)

names = _CATALOGUE.names
load = _CATALOGUE.load
