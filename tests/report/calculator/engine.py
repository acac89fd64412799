"""The evaluator of the calculator's page in headless Chromium, without the page around it."""

import json
from contextlib import contextmanager
from importlib.resources import files

from tests.browser import opened

from attncost.report.calculator.render import deflated

_NAMES = (
    "header resolved opened exact approximate flops core bytes memory seconds parameters parts "
    "quantities rates problems longest largestBatch crossover takesOver readConfig commands"
)
_FRAME = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<script type="text/plain" id="attncost-calculator">{header}</script>
<script type="module">{script}
globalThis.engine = {{ {names} }}</script>"""


@contextmanager
def engine(browser, header, folder):
    """Yield a function that evaluates JavaScript with `engine` and one argument, `given`."""
    file = folder / "engine.html"
    file.write_text(framed(header), encoding="utf-8")
    with opened(browser, file) as seen:
        seen.page.wait_for_function("globalThis.engine")
        yield lambda script, given=None: _asked(seen, script, given)


def framed(header):
    """Return a page that holds the evaluator alone."""
    page = files("attncost.report.calculator").joinpath("page")
    parts = sorted(one.name for one in page.iterdir() if one.name[0] == "1" and ".js" in one.name)
    script = "\n".join(page.joinpath(part).read_text(encoding="utf-8") for part in parts)
    names = ", ".join(_NAMES.split())
    return _FRAME.format(header=deflated(header), script=script, names=names)


def _asked(seen, script, given):
    assert seen.errors == []
    assert seen.requests == []
    return seen.page.evaluate(f"(given) => {{ {script} }}", json.loads(json.dumps(given)))
