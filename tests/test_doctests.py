"""Every example in a docstring is run."""

import doctest
from importlib import import_module
from pkgutil import walk_packages

import pytest

import attncost

MODULES = [module.name for module in walk_packages(attncost.__path__, "attncost.")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_right(name):
    failed, _ = doctest.testmod(import_module(name))
    assert failed == 0


def test_there_are_examples():
    found = [doctest.DocTestFinder().find(import_module(name)) for name in MODULES]
    assert sum(len(one.examples) for module in found for one in module) > 20
