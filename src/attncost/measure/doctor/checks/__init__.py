"""Questions to a machine, one a file; the name of the file is the name of the check.

To add one, add one file with one final `Check`. Nothing else lists it: the command, its help, the
page and the contract tests find it here.
"""

from attncost.core.discovery import Catalogue
from attncost.measure.doctor.interface import Check

_CATALOGUE = Catalogue("check", __name__, Check)
names, load, check = _CATALOGUE.names, _CATALOGUE.load, _CATALOGUE.make
