import pytest

from attncost.report.calculator.exported import exported
from attncost.report.calculator.render import page


@pytest.fixture(scope="session")
def calculator(tmp_path_factory):
    """Return the file of the page as the command writes it."""
    file = tmp_path_factory.mktemp("calculator") / "calculator.html"
    file.write_text(page(exported()), encoding="utf-8")
    return file
