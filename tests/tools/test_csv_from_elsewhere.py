"""CSV of other programs: delimiters, types, encodings, and standard input and output."""

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from moving_data import Item, Run, content, fault, fill, folder, run

from hashrange.formats.csv_columns import Hints
from hashrange.formats.files import Input
from hashrange.formats.formats import FORMATS
from hashrange.formats.items import DataError, decode

__all__ = ["folder", "run"]  # fixtures


def read(text: str | bytes, path: Path, **types: str) -> list[Item]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with Input(path) as source:
        return [decode(record.item) for record in FORMATS["csv"].read(source, Hints(types))]


# ---- types ----


def test_a_column_has_one_type(tmp_path: Path) -> None:
    rows = "\n".join(f"p{number},{number / 2:.1f},x" for number in range(300))
    items = read(f"pk,score,v\n{rows}\n", tmp_path / "a.csv")
    assert {next(iter(item["score"])) for item in items} == {"N"}
    assert items[188]["score"] == {"N": "94.0"}


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["94.0", "12.5", "-0.50", "0", "-0", "1" * 38, "1" + "0" * 41], "N"),
        (["007", "0012"], "S"),
        (["1e5", "2e5"], "S"),
        (["1" * 39, "2" * 40], "S"),
        (["true", "false"], "BOOL"),
        (["True"], "S"),
        (["a", "", "b"], "S"),
        (["٣"], "S"),
        ([""], "S"),
    ],
)
def test_the_type_of_a_column(cells: list[str], kind: str, tmp_path: Path) -> None:
    items = read("pk,v\n" + "".join(f"p,{cell}\n" for cell in cells), tmp_path / "a.csv")
    assert {next(iter(item["v"])) for item in items if "v" in item} <= {kind}
    assert sum("v" in item for item in items) == sum(map(bool, cells))


def test_cells_of_several_types_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with pytest.raises(DataError) as raised:
        read("pk,zip,ok\n" + "a,10001,true\n" * 9 + "b,00501,no\n", path, pk="S")
    assert str(raised.value) == (
        f"{path}: columns have cells of different types: "
        "zip: 9 numbers, 1 text (line 11: '00501'); "
        "ok: 9 booleans, 1 text (line 11: 'no'); give the types, for example --types zip:S,ok:S"
    )
    assert read(path.read_bytes(), path, zip="S", ok="S")[0]["zip"] == {"S": "10001"}


def test_a_message_names_a_few_of_many_columns(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(100)]
    rows = [",".join(names), ",".join("1" for _ in names), ",".join("x" for _ in names)]
    with pytest.raises(DataError) as raised:
        read("\n".join(rows), tmp_path / "a.csv")
    assert "; 95 more; give the types" in str(raised.value)
    assert len(str(raised.value)) < 600


# ---- delimiters and headers ----


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(delimiter: str, tmp_path: Path) -> None:
    rows = [["pk", "note", "n"], ["a", "x, y; z | w", "1"], ["b", 'say "q"', "2"]]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows(rows)
    said: list[str] = []
    path = tmp_path / "a.csv"
    path.write_text(text.getvalue())
    with Input(path) as source:
        items = [decode(r.item) for r in FORMATS["csv"].read(source, Hints(say=said.append))]
    assert items == [
        {"pk": {"S": "a"}, "note": {"S": "x, y; z | w"}, "n": {"N": "1"}},
        {"pk": {"S": "b"}, "note": {"S": 'say "q"'}, "n": {"N": "2"}},
    ]
    names = {",": [], ";": ["a semicolon"], "\t": ["a tab"], "|": ["a |"]}[delimiter]
    assert said == [f"{path}: the columns are separated by {name}" for name in names]


def test_a_comma_in_decimals_is_no_delimiter(tmp_path: Path) -> None:
    items = read('pk;a,b\n"x";"1,5"\ny;2,5\n', tmp_path / "a.csv")
    assert items[1] == {"pk": {"S": "y"}, "a,b": {"S": "2,5"}}


def test_what_the_table_is_keyed_by_decides(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("pk;a,sk;b,c\n1;2,3;4,5\n")
    with Input(path) as source:
        [record] = FORMATS["csv"].read(source, Hints({"pk": "S"}, ("pk",)))
    assert decode(record.item) == {"pk": {"S": "1"}, "a,sk": {"S": "2,3"}, "b,c": {"S": "4,5"}}


def test_a_header_without_the_key_is_explained(folder: Path, run: Run) -> None:
    fill("a.db", [])
    Path("a.csv").write_text("pk^sk^v\na^1^2\n")
    assert fault(run("import", "a.db", "table", "a.csv")) == (
        "a.csv:1: no column for the key attribute pk: the header has one column, 'pk^sk^v'; "
        "columns are separated by commas, semicolons, tabs or |"
    )
    Path("a.csv").write_text("pk,v\na,1\n")
    assert fault(run("import", "a.db", "table", "a.csv")) == (
        "a.csv:1: no column for the key attribute sk: the header has the columns 'pk', 'v'"
    )


def test_a_semicolon_is_told_on_stderr(folder: Path, run: Run) -> None:
    fill("a.db", [])
    Path("a.csv").write_text("pk;sk;v\na;1;2\n")
    ended = run("import", "a.db", "table", "a.csv")
    assert ended.error == "hashrange: a.csv: the columns are separated by a semicolon\n"
    assert content("a.db") == [{"pk": {"S": "a"}, "sk": {"N": "1"}, "v": {"N": "2"}}]


# ---- encodings ----


@pytest.mark.parametrize("format", ["csv", "json", "json-lines"])
@pytest.mark.parametrize("row", [7, 70_000])
def test_latin_1_is_told_with_its_line(format: str, row: int, tmp_path: Path) -> None:
    lines = {
        "csv": ["pk:S,v:S", *(f"p{number},x" for number in range(2, row)), "p,caf\xe9", "q,x"],
        "json-lines": [*(f'{{"pk":"{n}"}}' for n in range(1, row)), '{"pk":"caf\xe9"}', "{}"],
        "json": ["[", *(f'{{"pk":"{n}"}},' for n in range(2, row)), '{"pk":"caf\xe9"}', "]"],
    }[format]
    path = tmp_path / "a"
    path.write_bytes("\n".join(lines).encode("latin-1"))
    with Input(path) as source, pytest.raises(DataError) as raised:
        for _ in FORMATS[format].read(source, Hints()):
            pass
    assert str(raised.value) == (
        f"{path}:{row}: not UTF-8 (byte 0xE9); if the file is Latin-1, convert it with "
        "iconv -f LATIN1 -t UTF-8"
    )


# ---- standard input and output ----


TABLE_ITEMS = [{"pk": {"S": "a"}, "sk": {"N": str(number)}, "v": {"S": "x"}} for number in range(9)]


@pytest.mark.parametrize("format", FORMATS)
def test_a_table_goes_through_a_pipe(format: str, folder: Path, run: Run) -> None:
    fill("a.db", TABLE_ITEMS)
    ended = run("export", "a.db", "table", "-o", "-", "--format", format)
    assert ended.status == 0, ended.error
    fill("b.db", [])
    data = ended.out.encode("utf-8", "surrogateescape")
    packed = gzip.compress(data) if format in ("csv", "json") else data
    ended = run("import", "b.db", "table", "-", "--format", format, given=packed)
    assert (ended.status, ended.error) == (0, "")
    assert content("b.db") == TABLE_ITEMS
    assert sorted(path.name for path in Path().iterdir()) == ["a.db", "b.db"]


def test_the_kind_of_json_is_found_on_standard_input(folder: Path, run: Run) -> None:
    fill("b.db", [])
    done = run("import", "b.db", "table", "-", given=json.dumps([{"pk": "a", "sk": 1}]))
    assert done.out.startswith("table: 1 item of standard input in")
    line = fault(run("import", "b.db", "table", "-", given="pk,sk\n"))
    assert line == "standard input: the format is not known; set it with --format"
    line = fault(run("import", "b.db", "table", "-", "--format", "csv", given="pk,sk\na,b,c\n"))
    assert line == "standard input:2: the row has 3 cells, but the header has 2"


def test_a_folder_does_not_fit_into_a_pipe(folder: Path, run: Run) -> None:
    fill("a.db", TABLE_ITEMS)
    line = fault(run("export", "a.db", "table", "-o", "-", "--format", "s3-export"))
    assert line == "a folder cannot be written to standard output; name a folder"


# ---- progress ----


def test_progress_is_told_from_the_first_second(folder: Path, run: Run) -> None:
    fill("a.db", [])
    rows = "".join(f"p{number % 50},{number},{number}\n" for number in range(20_000))
    Path("a.csv").write_text("pk,sk,v\n" + rows)
    ended = run("import", "a.db", "table", "a.csv", terminal=True)
    told = [line.removesuffix("\x1b[K") for line in ended.error.split("\r")]
    assert told[1].startswith("0 items, 0/s, ")
    looking = "looking at the types of all cells, "
    shares = [int(line.removeprefix(looking)[:-1]) for line in told if line.startswith(looking)]
    assert shares == sorted(shares)
