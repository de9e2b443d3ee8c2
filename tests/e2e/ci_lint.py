"""Looks over GitHub workflows and composite actions, in the manner of actionlint, for what goes wrong with self-hosted
runners: unknown keys, actions that are not pinned, values of a stranger that become shell, triggers by strangers."""
import re
import shutil
import subprocess

WORKFLOW = {"name", "run-name", "on", "permissions", "env", "defaults", "concurrency", "jobs"}
JOB = {"name", "permissions", "needs", "if", "runs-on", "environment", "concurrency", "outputs", "env", "defaults",
       "steps", "timeout-minutes", "strategy", "continue-on-error", "container", "services", "uses", "with", "secrets"}
STEP = {"id", "if", "name", "uses", "run", "working-directory", "shell", "with", "env", "continue-on-error",
        "timeout-minutes"}
ACTION = {"name", "author", "description", "inputs", "outputs", "runs", "branding"}
ACTION_STEP = STEP - {"timeout-minutes"}
INPUT = {"description", "required", "default", "deprecationMessage", "type", "options"}
TRIGGERS = {"schedule", "workflow_dispatch", "push", "workflow_call"}  # by people who may push; on self-hosted runners
CONTEXTS = {"github", "env", "vars", "job", "steps", "runner", "secrets", "strategy", "matrix", "needs", "inputs"}
PINNED = re.compile(r"[\w.-]+/[\w.-]+(/[\w./-]+)?@[0-9a-f]{40}")
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.S)


def strings(node, place=""):
    """Every text in it, with its place."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from strings(value, f"{place}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from strings(value, f"{place}/{index}")
    elif isinstance(node, str):
        yield place, node


def unknown(node, known, place):
    return [f"{place}: unknown key '{key}'" for key in node if key not in known]


def shellcheck(script):
    """What it says of a piece of bash; GitHub runs `shell: bash` as `bash -eo pipefail`."""
    done = subprocess.run([shutil.which("shellcheck") or "shellcheck", "-s", "bash", "-f", "gcc", "-"], input="set -eo pipefail\n" + script,
                          capture_output=True, text=True, check=False, timeout=60)
    return [line for line in done.stdout.splitlines() if line]


def lint_step(step, place, known):
    found = unknown(step, known, place)
    if ("run" in step) == ("uses" in step):
        found.append(f"{place}: expected either run or uses")
    uses = step.get("uses", "./")
    if not uses.startswith("./") and not PINNED.fullmatch(uses):
        found.append(f"{place}/uses: '{uses}' is not pinned to a full commit")
    if uses.startswith("actions/checkout@") and step.get("with", {}).get("persist-credentials") is not False:
        found.append(f"{place}: checkout leaves its token behind; persist-credentials: false")
    if "run" in step:
        if step.get("shell") != "bash":
            found.append(f"{place}: no shell: bash, so without pipefail")
        if EXPRESSION.search(step["run"]):
            found.append(f"{place}/run: an expression becomes shell text; pass it by env")
        found += [f"{place}/run: {line}" for line in shellcheck(step["run"])]
    return found


def lint_expressions(document, inputs, steps):
    found = []
    bare = [(place, text) for place, text in strings(document) if place.endswith("/if")]
    for place, text in strings(document):
        if text.count("${{") != text.count("}}"):
            found.append(f"{place}: an expression is not closed")
        bare += [(place, expression) for expression in EXPRESSION.findall(text)]
    for place, expression in bare:
        expression = re.sub(r"'[^']*'", "", expression)
        for context, name, rest in re.findall(r"\b([a-z]+)\.([\w-]+)((?:\.[\w-]+)*)", expression):
            if context not in CONTEXTS:
                found.append(f"{place}: unknown context '{context}'")
            if context == "inputs" and name not in inputs:
                found.append(f"{place}: unknown input '{name}'")
            if context == "steps" and name not in steps:
                found.append(f"{place}: unknown step '{name}'")
            if context == "steps" and rest.split(".")[1:2] not in (["outputs"], ["outcome"], ["conclusion"]):
                found.append(f"{place}: steps have outputs, outcome and conclusion")
    return found


def lint_action(document):
    found = unknown(document, ACTION, "") + [f"/{key}: missing" for key in ("name", "description", "runs") if key not in document]
    for name, one in document.get("inputs", {}).items():
        found += unknown(one, INPUT - {"type", "options"}, f"/inputs/{name}")
        if not isinstance(one.get("default", ""), str):
            found.append(f"/inputs/{name}/default: {one['default']!r} is no text; quote it")
    if document["runs"].get("using") != "composite":
        found.append("/runs/using: expected composite")
    for index, step in enumerate(document["runs"]["steps"]):
        found += lint_step(step, f"/runs/steps/{index}", ACTION_STEP)
    steps = {step.get("id") for step in document["runs"]["steps"]}
    return found + lint_expressions(document, set(document.get("inputs", {})), steps)


def lint_job(job, place):
    found = unknown(job, JOB, place)
    if "timeout-minutes" not in job:
        found.append(f"{place}: no timeout-minutes; GitHub's own is six hours")
    for index, step in enumerate(job["steps"]):
        found += lint_step(step, f"{place}/steps/{index}", STEP)
    return found


def lint_workflow(document):
    document = {("on" if key is True else key): value for key, value in document.items()}  # YAML 1.1 reads on as true
    found = unknown(document, WORKFLOW, "")
    triggers = document["on"] if isinstance(document["on"], dict) else dict.fromkeys(
        [document["on"]] if isinstance(document["on"], str) else document["on"])
    found += [f"/on: '{name}' lets strangers start it on this machine" for name in triggers if name not in TRIGGERS]
    for one in triggers.get("schedule") or []:
        if not re.fullmatch(r"(\S+ ){4}\S+", one.get("cron", "")):
            found.append(f"/on/schedule: '{one.get('cron')}' is no cron line")
    if document.get("permissions") in (None, "write-all"):
        found.append("/permissions: not restricted")
    inputs = (triggers.get("workflow_dispatch") or {}).get("inputs", {})
    for name, one in inputs.items():
        found += unknown(one, INPUT, f"/on/workflow_dispatch/inputs/{name}")
    steps = set()
    for name, job in document["jobs"].items():
        found += lint_job(job, f"/jobs/{name}")
        steps |= {step.get("id") for step in job["steps"]}
    return found + lint_expressions(document, set(inputs), steps)
