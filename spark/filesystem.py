"""Files where Spark has them: a local disk, HDFS or an object store, through Hadoop's own classes.

Nothing here runs on executors. Errors are Py4JJavaError, with Hadoop's exception in them.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from py4j.protocol import Py4JJavaError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WILDCARD: Final = re.compile(r"([\\*?{}\[\]])")

# The classes of the errors that Hadoop's codec, and its checksums on a local disk, raise if a
# file's content is damaged. Errors of a network or of permissions have other classes.
_DAMAGED: Final = ("IOException", "EOFException", "ZipException", "ChecksumException")


class Entry(NamedTuple):
    """A file or directory: its path with scheme, its size in bytes, when it was last written."""

    path: str
    size: int
    modified_ms: int

    @property
    def name(self) -> str:
        """The path's last part."""
        return self.path.rpartition("/")[2]


class FileSystem:
    """Paths of any scheme that Hadoop knows; a path without a scheme is of the default file
    system."""

    def __init__(self, spark: SparkSession) -> None:
        context: Any = spark.sparkContext
        self._jvm: Any = context._jvm
        self._conf: Any = context._jsc.hadoopConfiguration()

    def qualified(self, path: str) -> str:
        """The whole path, with scheme; a relative path starts at the working directory."""
        made = self._path(path)
        return str(made.getFileSystem(self._conf).makeQualified(made).toString())

    def matches(self, pattern: str) -> list[str]:
        """The paths that match a path, which may have wildcards, in order."""
        made = self._path(pattern)
        found = made.getFileSystem(self._conf).globStatus(made)
        return sorted(str(status.getPath().toString()) for status in found or [])

    def of_uri(self, uri: str) -> str:
        """The path that a URI stands for, spelled as everywhere here."""
        return str(self._jvm.org.apache.hadoop.fs.Path(self._jvm.java.net.URI(uri)).toString())

    def files(self, path: str, *, recursive: bool = False) -> list[Entry]:
        """The files in a directory, or the file itself, in order; empty if the path does not
        exist."""
        system, made = self._system(path)
        return sorted(self._list(system, made, recursive))

    def _list(self, system: Any, directory: Any, recursive: bool) -> Iterator[Entry]:
        # Not listFiles: on a local disk that runs a program for each file, to read its permissions,
        # and fails if the file was removed by then.
        try:
            found = system.listStatus(directory)
        except Py4JJavaError as error:
            if is_a(error, "FileNotFoundException"):
                return
            raise
        for status in found:
            if status.isFile():
                yield _entry(status)
            elif recursive:
                yield from self._list(system, status.getPath(), recursive)

    def directories(self, path: str) -> list[Entry]:
        """The directories in a directory, in order; empty if it does not exist."""
        system, made = self._system(path)
        try:
            found = system.listStatus(made)
        except Py4JJavaError as error:
            if is_a(error, "FileNotFoundException"):
                return []
            raise
        return sorted(_entry(status) for status in found if status.isDirectory())

    def size(self, path: str) -> int | None:
        """A file's size in bytes, or None if it does not exist."""
        system, made = self._system(path)
        try:
            return int(system.getFileStatus(made).getLen())
        except Py4JJavaError as error:
            if is_a(error, "FileNotFoundException"):
                return None
            raise

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists at the path."""
        system, made = self._system(path)
        return bool(system.exists(made))

    def read_text(self, path: str) -> str:
        """A small file's content."""
        system, made = self._system(path)
        stream = system.open(made)
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def create(self, path: str, text: str) -> bool:
        """Create a file that no reader sees before it is complete; False if it exists already.

        If two processes try, only the first succeeds, because a hard link (on a local disk) and a
        rename on HDFS do not replace a file. A plain object store promises less; see docs/spark.md.
        """
        system, target = self._system(path)
        if system.exists(target):
            return False
        unfinished = self._path(f"{path.rpartition('/')[0]}/.{uuid.uuid4().hex}.tmp")
        stream = system.create(unfinished, True)
        stream.write(bytearray(text.encode()))
        stream.close()
        try:
            if system.getScheme() == "file":
                return self._link(unfinished, target)
            return bool(system.rename(unfinished, target))
        finally:
            system.delete(unfinished, False)

    def _link(self, source: Any, target: Any) -> bool:
        def local(path: Any) -> Any:
            return self._jvm.java.io.File(path.toUri().getPath()).toPath()

        try:
            self._jvm.java.nio.file.Files.createLink(local(target), local(source))
        except Py4JJavaError as error:
            if is_a(error, "FileAlreadyExistsException"):
                return False
            raise
        return True

    def delete(self, path: str) -> None:
        """Remove a file, or a directory and its content; a missing path is no error."""
        system, made = self._system(path)
        system.delete(made, True)

    def rename(self, source: str, target: str) -> bool:
        """Move a file or directory to ``target`` if nothing exists there; False if it was not
        moved."""
        system, made = self._system(source)
        # HDFS would move a directory into an existing directory.
        if system.exists(self._path(target)):
            return False
        return bool(system.rename(made, self._path(target)))

    def gzip_error(self, path: str) -> str | None:
        """The error with which reading a gzip file ends; None if all of it can be read, or it was
        removed.

        Reads the file as Spark does, because Java's own classes accept files that Hadoop's codec
        rejects, such as files with padding at the end. Raises errors that do not concern the file's
        content.
        """
        system, made = self._system(path)
        nothing = self._jvm.java.io.OutputStream.nullOutputStream()
        stream = None
        try:
            stream = system.open(made)
            self._codec(made).createInputStream(stream).transferTo(nothing)
        except Py4JJavaError as error:
            if is_a(error, "FileNotFoundException"):
                return None
            if not is_a(error, *_DAMAGED):
                raise
            return str(error.java_exception.toString())
        finally:
            if stream is not None:
                stream.close()
        return None

    def _codec(self, path: Any) -> Any:
        """Hadoop's codec for a name that ends in ``.gz``."""
        factory = self._jvm.org.apache.hadoop.io.compress.CompressionCodecFactory(self._conf)
        return factory.getCodec(path)

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def _system(self, path: str) -> tuple[Any, Any]:
        made = self._path(path)
        return made.getFileSystem(self._conf), made


def literal(path: str) -> str:
    """A path for a parameter that takes a pattern, with its wildcards escaped."""
    return _WILDCARD.sub(r"\\\1", path)


def _entry(status: Any) -> Entry:
    path = str(status.getPath().toString())
    return Entry(path, int(status.getLen()), int(status.getModificationTime()))


def is_a(error: Py4JJavaError, *names: str) -> bool:
    """Whether an error of the JVM is of a class with one of these names, without its package."""
    return str(error.java_exception.getClass().getSimpleName()) in names
