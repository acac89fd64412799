"""Functions that compute attention, one a file.

To count another one, add a file with one final `AttentionApi`; nothing else lists it.
"""

from attncost.core.discovery import Catalogue
from attncost.cost.counting.apis.interface import AttentionApi

_CATALOGUE = Catalogue("attention function", __name__, AttentionApi)
names, load = _CATALOGUE.names, _CATALOGUE.load
