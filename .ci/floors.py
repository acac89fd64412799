"""Print the lowest versions that pyproject.toml promises to work with, as requirements of pip.

Of the dependencies and of the extras that people install; not of what only the tests need.
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
extras = project["optional-dependencies"]
promised = [*project["dependencies"], *extras["hf"], *extras["parquet"], *extras["train"]]
sys.stdout.writelines(line.replace(">=", "==") + "\n" for line in promised)
