from pathlib import Path

from attncost.core.example import example_text

NOVEL = Path(__file__).parents[2] / "examples" / "data" / "pride_and_prejudice.txt"


def test_the_text_of_the_examples_is_the_one_in_the_repository():
    assert example_text().read_bytes() == NOVEL.read_bytes()
