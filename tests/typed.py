"""What checks types at run time in the tests: beartype, to which an int is a float, as to mypy."""

from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True))
