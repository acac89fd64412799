from pathlib import Path

import pytest
from tests.measure.laws.laws import ARTICLE

from attncost import Full, ShapeError, StorageError, layer_cost
from attncost.measure.laws.published import layer, read_table

EXAMPLE = Path(__file__).parents[3] / "examples" / "data" / "article_timings.csv"


def test_the_example_is_the_table_of_the_article():
    table = read_table(EXAMPLE)
    assert list(table.seconds) == ARTICLE["length"]
    assert [1000 * s for (s,) in table.seconds.values()] == pytest.approx(ARTICLE["milliseconds"])
    assert table.rounding == pytest.approx(0.05e-3)


@pytest.mark.parametrize("length", [64, 1024])
def test_the_formula_is_that_of_the_derivation(length):
    cost = layer_cost(Full(), d_model=512, heads=8, length=length)
    predicted = layer(512)(length)
    assert predicted.linear + predicted.core == cost.useful
    assert predicted.core == 2 * 2 * length**2 * 512


def test_the_formula_needs_features():
    with pytest.raises(ShapeError, match="d_model must be at least 1, got 0"):
        layer(0)


@pytest.mark.parametrize(
    ("rows", "half"),
    [("64,1\n128,2", 0.5e-3), ("64,1\n128,2.25", 0.005e-3), ("64,1.50\n128,2", 0.005e-3)],
)
def test_rounding_is_half_of_the_last_digit_printed(rows, half, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"length,milliseconds\n{rows}\n")
    assert read_table(path).rounding == pytest.approx(half)


def test_comments_blank_lines_spaces_and_a_byte_order_mark_are_passed_over(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\ufeff# a source\n\nlength, milliseconds\n64, 1.5\n\n128,2.5\n", "utf-8")
    assert dict(read_table(path).seconds) == {64: (0.0015,), 128: (0.0025,)}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1: must be the header length,milliseconds, got none"),
        ("n,ms\n64,1\n128,2", "line 1: must be the header length,milliseconds, got n,ms"),
        ("64,1\n128,2", "line 1: must be the header length,milliseconds, got 64,1"),
        ("length,milliseconds\n", "2 rows or more under the header, got 0"),
        ("length,milliseconds\n64,1", "2 rows or more under the header, got 1"),
        (
            "length,milliseconds\n64,1\n128,fast",
            r"line 3: must be .* such as 128,1.2, got 128,fast",
        ),
        ("length,milliseconds\n64,1\nlong,2", "line 3: .* got long,2"),
        ("length,milliseconds\n64,1\n128", "line 3: .* got 128"),
        ("length,milliseconds\n6_4,1\n128,2", "line 2: .* got 6_4,1"),
        ("length,milliseconds\n64,1\n128,1_0", "line 3: .* got 128,1_0"),
        ("length,milliseconds\n64,1\n１２８,2", "line 3: .* got １２８,2"),  # noqa: RUF001
        ("length,milliseconds\n64,1\n128,２", "line 3: .* got 128,２"),  # noqa: RUF001
        ("length,milliseconds\n64,1\n128,2,3", "line 3: .* got 128,2,3"),
        ("length,milliseconds\n64,1\n128,-2", "line 3: .* got 128,-2"),
        ("length,milliseconds\n64,1\n128,nan", "line 3: .* got 128,nan"),
        ("length,milliseconds\n0,1\n128,2", "line 2: .* got 0,1"),
        ("length,milliseconds\n64,1\n128,1e400", "line 3: .* up to 1,000,.* got 128,1e400"),
        ("length,milliseconds\n64,1\n128,1e-400", "line 3: .* got 128,1e-400"),
        ("length,milliseconds\n64,1\n128,1e9999999999999999999", "line 3: .* got 128,1e9999"),
        (f"length,milliseconds\n64,1\n{10**400},2", "line 3: .* got 10{59}…[.]$"),
        (f"length,milliseconds\n64,1\n{'9' * 5000},2", "line 3: .* got 9{60}…[.]$"),
        (f"length,milliseconds\n{'9' * 200_000},2", "line 2: .* one with a field larger than"),
        ("length,milliseconds\n64,1\n64,2", "line 3: must be a length greater than 64, got 64,2"),
    ],
)
def test_a_table_that_is_none_is_refused_with_file_and_line(text, reason, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(ShapeError, match=reason) as error:
        read_table(path)
    assert str(path) in str(error.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(StorageError, match="No such file"):
        read_table(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(StorageError, match="cannot be read as UTF-8 text"):
        read_table(tmp_path / "t.csv")
