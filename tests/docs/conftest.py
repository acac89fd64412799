import pytest
from tests.docs.articles import PAGE
from tests.docs.pages import defined_in


@pytest.fixture
def repaired():
    """Return what the code blocks of the page define: a repair is never copied into a test."""
    return defined_in(PAGE)
