import pytest
from tests.view.maps.page.engine_map import shows


@pytest.fixture(scope="session")
def mapped(browser, tmp_path_factory):
    """Return what is seen of the engine's map; `shown` shows one of its heads."""
    with shows(browser, tmp_path_factory.mktemp("engine")) as seen:
        yield seen
