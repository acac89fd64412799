"""Ways to put texts into batches, one a file; the name of the file is the name of the way.

To add one, add one file with one final `Batching`. Nothing else lists it: `choose_batching`, the
command, the page and the contract tests find it here.
"""

from attncost.batches.interface import Batching
from attncost.core.discovery import Catalogue

_CATALOGUE = Catalogue("way to batch", __name__, Batching)
names, load, way = _CATALOGUE.names, _CATALOGUE.load, _CATALOGUE.make
