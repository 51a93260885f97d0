"""The files that a task's programs may use: directories, links, races, what is no file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tensorfleet.checkpoint import merge
from tensorfleet.checkpoint.bundle_reader import BundleReader
from tensorfleet.checkpoint.bundle_writer import BundleWriter
from tensorfleet.core import errors
from tensorfleet.core.files import LOCAL, Files
from tensorfleet_service.kernels.registry import is_lasting
from tensorfleet_service.records.files import ProgramFiles
from tensorfleet_service.state.files import ConfinedFiles, PathsError, from_environment
from tensorfleet_service.threads.running import RUNNING


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    found = {name: tmp_path / name for name in ("read", "write", "other")}
    for name, path in found.items():
        path.mkdir()
        (path / "file").write_text(name)
    return found


@pytest.fixture
def confined(places: dict[str, Path]) -> ConfinedFiles:
    return ConfinedFiles([str(places["read"])], [str(places["write"])])


def read(files: Files, path: object) -> bytes:
    with files.open_for_read(str(path)) as file:
        return file.read()


def refused(call: object, setting: str, path: object) -> None:
    assert callable(call)
    with pytest.raises(errors.PermissionDeniedError) as caught:
        call()
    assert setting in caught.value.message
    assert str(path) in caught.value.message


def test_reads_and_writes_where_it_may(confined: ConfinedFiles, places: dict[str, Path]) -> None:
    assert read(confined, places["read"] / "file") == b"read"
    assert read(confined, places["write"] / "file") == b"write"
    assert read(confined, f"file://{places['read'] / 'file'}") == b"read"
    for mode, after in (("wb", b"new"), ("ab", b"newnew")):
        with confined.open_for_write(str(places["write"] / "file"), mode) as file:  # type: ignore[arg-type]
            file.write(b"new")
        assert (places["write"] / "file").read_bytes() == after
    with pytest.raises(FileExistsError):
        confined.open_for_write(str(places["write"] / "file"), "xb")
    assert sorted(confined.names_in(str(places["read"]))) == ["file"]
    assert confined.match(str(places["read"] / "f*")) == [str(places["read"] / "file")]
    confined.make_directories(str(places["write"] / "a" / "b"))
    assert confined.is_directory(str(places["write"] / "a" / "b"))
    assert not confined.exists(str(places["read"] / "none" / "file"))


def test_refuses_what_is_elsewhere(confined: ConfinedFiles, places: dict[str, Path]) -> None:
    other = places["other"] / "file"
    for path in (other, places["read"] / ".." / "other" / "file", places["other"] / "none", "/etc/passwd"):
        refused(lambda path=path: confined.open_for_read(str(path)), "READ_PATHS", path)
        refused(lambda path=path: confined.exists(str(path)), "READ_PATHS", path)
    for path in (other, places["read"] / "file", places["write"] / ".." / "read" / "file"):
        refused(lambda path=path: confined.open_for_write(str(path)), "WRITE_PATHS", path)
        refused(lambda path=path: confined.remove(str(path)), "WRITE_PATHS", path)
        refused(lambda path=path: confined.make_directory(str(path)), "WRITE_PATHS", path)
        refused(
            lambda path=path: confined.replace(str(places["write"] / "file"), str(path)), "WRITE_PATHS", path
        )
    refused(lambda: confined.names_in(str(places["other"])), "READ_PATHS", places["other"])
    refused(lambda: confined.match(str(places["other"] / "*")), "READ_PATHS", places["other"])
    # A directory whose name begins as that of one that is allowed.
    (beside := Path(f"{places['read']}-2")).mkdir()
    refused(lambda: confined.open_for_read(str(beside / "x")), "READ_PATHS", beside)
    assert other.read_text() == "other"


def test_links_count_for_what_they_lead_to(confined: ConfinedFiles, places: dict[str, Path]) -> None:
    out, within = places["write"] / "out", places["write"] / "in"
    out.symlink_to(places["other"] / "file")
    within.symlink_to(places["write"] / "file")
    (places["write"] / "directory").symlink_to(places["other"])
    (places["other"] / "back").symlink_to(places["write"])
    assert read(confined, within) == b"write"
    assert read(confined, places["other"] / "back" / "file") == b"write"
    refused(lambda: confined.open_for_read(str(out)), "READ_PATHS", out)
    for path in (out, places["write"] / "directory" / "file", places["write"] / "directory" / "new"):
        refused(lambda path=path: confined.open_for_write(str(path)), "WRITE_PATHS", path)
    confined.remove(str(out))  # the link, not what it leads to
    assert not out.is_symlink()
    assert (places["other"] / "file").read_text() == "other"


def test_a_directory_that_becomes_a_link_leads_nowhere(
    confined: ConfinedFiles, places: dict[str, Path]
) -> None:
    """Somebody swaps a directory and a link to another one, as fast as can be, while files are written."""
    here, aside, link = (places["write"] / name for name in ("here", "aside", "link"))
    here.mkdir()
    link.symlink_to(places["other"])
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            os.rename(here, aside)
            os.rename(link, here)
            os.rename(here, link)
            os.rename(aside, here)

    thread = threading.Thread(target=swap)
    thread.start()
    written = 0
    try:
        for i in range(3000):
            try:
                with confined.open_for_write(str(here / f"new{i}")) as file:
                    file.write(b"x")
                written += 1
            except (OSError, errors.PermissionDeniedError):
                continue
    finally:
        over.set()
        thread.join()
    assert written
    assert sorted(os.listdir(places["other"])) == ["file"]


def test_pipes_and_devices_are_no_files(confined: ConfinedFiles, places: dict[str, Path]) -> None:
    os.mkfifo(places["write"] / "pipe")
    with pytest.raises(errors.PermissionDeniedError, match="is a pipe"):
        confined.open_for_read(str(places["write"] / "pipe"))
    with pytest.raises(OSError, match="No such device"):  # nobody reads it
        confined.open_for_write(str(places["write"] / "pipe"))
    with pytest.raises(errors.PermissionDeniedError, match="regular files only"):
        ConfinedFiles(["/dev"], ["/dev"]).open_for_read("/dev/zero")


def test_checkpoints_go_the_same_way(confined: ConfinedFiles, places: dict[str, Path]) -> None:
    prefix = str(places["write"] / "new" / "model")
    with BundleWriter(prefix, confined) as writer:
        writer.add("x", [1.0])
    merged = str(places["write"] / "merged")
    merge.merge([prefix], merged, way=confined)
    with BundleReader(merged, confined) as reader:
        assert reader.read("x") == [1.0]
    outside = str(places["other"] / "model")
    refused(lambda: BundleWriter(outside, confined), "WRITE_PATHS", places["other"])
    refused(lambda: BundleReader(outside, confined), "READ_PATHS", outside)
    refused(lambda: merge.merge([merged], outside, way=confined), "WRITE_PATHS", outside)
    assert sorted(os.listdir(places["other"])) == ["file"]


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000, "", "gs://bucket/file"])
def test_impossible_paths(confined: ConfinedFiles, path: str) -> None:
    for files in (confined, LOCAL):
        with pytest.raises((errors.OpError, OSError)):
            files.open_for_read(path)


def test_the_settings(tmp_path: Path) -> None:
    at = str(tmp_path)
    state = tmp_path / "home" / "state"
    assert from_environment({}, local=True) is LOCAL
    assert from_environment({"TENSORFLEET_WRITE_PATHS": "any"}, local=False) is LOCAL
    default = from_environment({"TENSORFLEET_STATE_DIR": str(state)}, local=False)
    default.prepare()
    with default.open_for_write(str(state / "x")) as file:
        file.write(b"x")
    refused(lambda: default.open_for_read("/etc/passwd"), "READ_PATHS", "/etc/passwd")
    nothing = from_environment({"TENSORFLEET_WRITE_PATHS": "none"}, local=False)
    refused(lambda: nothing.open_for_write(f"{at}/x"), "WRITE_PATHS", at)
    apart = from_environment(
        {"TENSORFLEET_WRITE_PATHS": f"{at}:{state}", "TENSORFLEET_READ_PATHS": "any"}, local=False
    )
    assert read(apart, "/etc/passwd")
    refused(lambda: apart.open_for_write("/etc/new"), "WRITE_PATHS", "/etc/new")
    for wrong in (f"{at}/none", "relative", f"{at}:also"):
        with pytest.raises(PathsError, match="TENSORFLEET_READ_PATHS has"):
            from_environment({"TENSORFLEET_READ_PATHS": wrong}, local=False)


@pytest.mark.parametrize("local", [True, False])
def test_what_may_be_read_is_never_widened_by_what_may_be_written(tmp_path: Path, local: bool) -> None:
    state = tmp_path / "state"
    (tmp_path / "secret").write_bytes(b"x")
    for paths in ("none", str(state)):
        state.mkdir(exist_ok=True)
        environ = {"TENSORFLEET_READ_PATHS": paths, "TENSORFLEET_STATE_DIR": str(state)}
        files = from_environment(environ, local)
        refused(lambda files=files: files.open_for_read("/etc/passwd"), "READ_PATHS", "/etc/passwd")
        refused(lambda files=files: files.open_for_write("/etc/new"), "WRITE_PATHS", "/etc/new")
        with pytest.raises(PathsError, match=r"WRITE_PATHS is any, .* unset TENSORFLEET_READ_PATHS"):
            from_environment(environ | {"TENSORFLEET_WRITE_PATHS": "any"}, local)
    assert from_environment({"TENSORFLEET_READ_PATHS": "any"}, local=True) is LOCAL


def test_credentials_are_kept_from_ops_in_their_own_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that the settings name, and those of the user's own clusters."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    state = tmp_path / "tensorfleet"
    pki = state / "pki"
    clusters = state / "clusters"
    for directory in (pki, clusters):
        directory.mkdir(parents=True)
    (clusters / "7.json").write_text("secret")
    for name in ("tokens.json", "new"):
        (pki / name).write_text("{}")
    (state / "link").symlink_to(pki)
    files = from_environment(
        {"XDG_STATE_HOME": str(tmp_path), "TENSORFLEET_TOKENS": str(state / "link" / "tokens.json")},
        local=False,
    )
    for path in (clusters / "7.json", pki / "tokens.json", state / "link" / "tokens.json"):
        with pytest.raises(errors.PermissionDeniedError, match="credentials"):
            files.open_for_read(str(path))
        with pytest.raises(errors.PermissionDeniedError, match="credentials"):
            files.open_for_write(str(path))
        with pytest.raises(errors.PermissionDeniedError, match="credentials"):
            files.remove(str(path))
    with pytest.raises(errors.PermissionDeniedError, match="credentials"):
        files.open_for_write(str(clusters / "8.json"))
    with pytest.raises(errors.PermissionDeniedError, match="credentials"):
        files.names_in(str(clusters))
    for source, target in (
        (pki, state / "x"),
        (state / "link", state / "x"),
        (pki / "new", pki / "tokens.json"),
    ):
        with pytest.raises(errors.PermissionDeniedError, match="credentials"):
            files.replace(str(source), str(target))
    with files.open_for_write(str(pki / "else")) as file:
        file.write(b"1")
    assert sorted(files.names_in(str(pki))) == ["else", "new", "tokens.json"]


def test_other_names_of_a_file_lead_nowhere(places: dict[str, Path]) -> None:
    """Another user of the machine may be able to make one, in a directory of all."""
    key, folder, outside = places["other"] / "key", places["other"] / "clusters", places["other"] / "file"
    key.write_text("secret")
    folder.mkdir()
    (folder / "token").write_text("token")
    files = ConfinedFiles([], [str(places["write"])], kept=[str(key), str(folder)])
    link = places["write"] / "link"
    for kept in (key, folder / "token"):
        os.link(kept, link)
        for mode in ("wb", "ab"):
            with pytest.raises(errors.PermissionDeniedError, match="credentials"):
                files.open_for_write(str(link), mode)  # type: ignore[arg-type]
        with pytest.raises(errors.PermissionDeniedError, match="credentials"):
            files.open_for_read(str(link))
        link.unlink()
    assert (key.read_text(), (folder / "token").read_text()) == ("secret", "token")
    os.link(outside, link)
    assert read(files, link) == b"other"
    with pytest.raises(errors.PermissionDeniedError, match="another name"):
        files.open_for_write(str(link), "ab")
    with files.open_for_write(str(link)) as file:
        file.write(b"new")
    assert (link.read_text(), outside.read_text()) == ("new", "other")
    with files.open_for_write(str(link), "ab") as file:
        file.write(b"er")
    assert link.read_text() == "newer"


def test_many_patterns_end_with_their_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended:
        error = errors.CancelledError(None, None, "it has ended")

    files = ProgramFiles(LOCAL)
    assert files.match(os.fsencode(tmp_path)) == [os.fsencode(tmp_path)]
    monkeypatch.setattr(RUNNING, "step", Ended())
    with pytest.raises(errors.CancelledError, match="it has ended"):
        files.match(os.fsencode(tmp_path))
    assert is_lasting("MatchingFiles")
