"""Tables: definitions kept, first rows shown."""


def test_the_first_rows_of_delimited_files(slipway):
    (slipway.folder / "iris.csv").write_text(
        'species,length,note\nsetosa,5.1,"a, b"\nvirginica,6.3,"say ""x"""\nsetosa,4.9,\n'
    )
    slipway.cli(
        *("data", "create", "iris", "./iris.csv", "--table", "delimited", "--type", "length=float"),
        *("--drop", "note"),
        cwd=slipway.folder,
    )
    preview = slipway.cli_json("data", "preview", "iris", "--rows", "2")
    assert preview["columns"] == ["species", "length"]
    assert preview["rows"] == [["setosa", "5.1"], ["virginica", "6.3"]] and preview["more"]
    text = slipway.cli("data", "preview", "iris").stdout
    assert "virginica" in text and "note" not in text
    table = slipway.cli_json("data", "show", "iris")["definition"]["table"]
    assert table["types"] == {"length": "float"} and table["drop"] == ["note"]


def test_json_lines_and_parquet(slipway):
    (slipway.folder / "rows.jsonl").write_text('{"a": 1, "b": "x"}\n\n{"a": 2, "c": [1, 2]}\n')
    slipway.cli("data", "create", "rows", "./rows.jsonl", "--table", "json_lines", cwd=slipway.folder)
    preview = slipway.cli_json("data", "preview", "rows")
    assert preview["columns"] == ["a", "b", "c"]
    assert preview["rows"] == [[1, "x", None], [2, None, "[1,2]"]]
    (slipway.folder / "t.parquet").write_bytes(b"PAR1")
    slipway.cli("data", "create", "t", "./t.parquet", "--table", "parquet", cwd=slipway.folder)
    assert "Python" in slipway.cli("data", "preview", "t").stdout


def test_a_summary_of_files_by_type_and_size(slipway):
    folder = slipway.folder / "pictures"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.JPG").write_bytes(b"x" * (number + 1))
    (folder / "README").write_text("read me")
    slipway.cli("data", "create", "pictures", "./pictures", cwd=slipway.folder)
    types = {t["type"]: t for t in slipway.cli_json("data", "preview", "pictures")["types"]}
    assert (types[".jpg"]["files"], types[".jpg"]["smallest"], types[".jpg"]["largest"]) == (3, 1, 3)
    assert types[""]["files"] == 1


def test_bad_tables_are_refused(slipway):
    (slipway.folder / "a.csv").write_text("a\n1\n")
    for arguments, words in [
        (["--keep", "a"], "a table's"),
        (["--table", "delimited", "--keep", "a", "--drop", "b"], "not both"),
        (["--table", "delimited", "--type", "a=number"], "unknown type"),
        (["--table", "delimited", "--separator", "ab"], "one character"),
    ]:
        answer = slipway.cli("data", "create", "bad", "./a.csv", *arguments, cwd=slipway.folder, check=False)
        assert answer.returncode == 2 and words in answer.stderr, answer.stderr
