"""What the end-to-end tests share: running the built programs, and checking documents against the schemas.

CTest sets CLAIMCHECK_BIN (the folder of the programs) and CLAIMCHECK_SOURCE (the repository). Nothing here reaches
outside this machine.
"""
import functools
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import jsonschema

SOURCE = pathlib.Path(os.environ.get("CLAIMCHECK_SOURCE", pathlib.Path(__file__).parents[2]))
BIN = pathlib.Path(os.environ.get("CLAIMCHECK_BIN", SOURCE / "build" / "dev" / "bin"))
SCHEMAS = SOURCE / "results-schema" / "schemas"
EXAMPLES = SOURCE / "results-schema" / "examples"
EVENT_MARK = "@claimcheck "
os.environ.setdefault("CLAIMCHECK_METADATA", "off")  # no test asks a cloud, wherever it runs

# Ubuntu 22.04 ships jsonschema 3.2, whose newest draft is 7; what the schemas use means the same in both.
Validator = getattr(jsonschema, "Draft202012Validator", jsonschema.Draft7Validator)


def program(name):
    return str(BIN / name)


def claimcheck(*arguments, environment=None, timeout=120, **options):
    """Runs `claimcheck ARGUMENTS` without a terminal; gives its CompletedProcess with text output.

    `environment` adds to this process's variables; None as a value removes one. `options` go to subprocess.run().
    """
    variables = dict(os.environ)
    for key, value in (environment or {}).items():
        variables.pop(key, None)
        if value is not None:
            variables[key] = value
    defaults = {"env": variables, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                "encoding": "utf-8", "check": False}
    return subprocess.run([program("claimcheck"), *map(str, arguments)], timeout=timeout, **{**defaults, **options})


def refuse_constant(word):
    raise ValueError(f"{word} is not JSON")


def parse(text):
    """Strict JSON: one document, no NaN or infinity."""
    return json.loads(text, parse_constant=refuse_constant)


def load(path):
    return parse(pathlib.Path(path).read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=None)
def validator(schema_name):
    """Of "result", "event", "journal", "metrics" or another schemas/NAME.schema.json, formats checked."""
    schema = load(SCHEMAS / f"{schema_name}.schema.json")
    store = {document["$id"]: document for document in map(load, SCHEMAS.glob("*.schema.json")) if "$id" in document}
    return Validator(schema, resolver=jsonschema.RefResolver.from_schema(schema, store=store),
                     format_checker=jsonschema.FormatChecker())


def schema_errors(document, schema_name):
    """Sentences "PLACE: MESSAGE"; none when the document is valid."""
    return ["/" + "/".join(map(str, error.absolute_path)) + ": " + error.message[:300]
            for error in validator(schema_name).iter_errors(document)]


def validate(document, schema_name):
    """AssertionError with every place where the document breaks its schema."""
    errors = schema_errors(document, schema_name)
    assert not errors, "\n".join(errors)


def events_of(text):
    """The events in a worker's output, foreign text left out."""
    lines = (line.partition(EVENT_MARK)[2] for line in text.splitlines() if EVENT_MARK in line)
    return [parse(line) for line in lines]


class CommandTest(unittest.TestCase):
    """A test case with a folder of its own, and assertions on commands."""

    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="claimcheck-e2e-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    def assert_valid(self, document, schema_name):
        self.assertEqual(schema_errors(document, schema_name), [])

    def assert_exit(self, done, code):
        self.assertEqual(done.returncode, code, f"{done.args}\nstdout:\n{done.stdout}\nstderr:\n{done.stderr}")
        return done

    def assert_refused(self, done, *parts, code=2):
        """Exit code, nothing on stdout, exactly one line on stderr that holds all `parts`."""
        self.assert_exit(done, code)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("claimcheck: "), done.stderr)
        for part in parts:
            self.assertIn(str(part), done.stderr)
        return done
