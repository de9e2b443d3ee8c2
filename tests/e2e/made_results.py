"""Result documents made by hand, for tests of judging and reports. The numbers are invented."""
from support import EXAMPLES, load

EXAMPLE = EXAMPLES / "result-host.json"


def without_claims():
    """The example as a run without claims, complete and free of accidents, leaves it."""
    document = load(EXAMPLE)
    document["verdicts"] = []
    document["run"]["status"] = "complete"
    document["measurements"] = [m for m in document["measurements"] if m["status"] in ("ok", "unsupported")]
    return document


def measurement(name, metric, unit, value, devices=(), **more):
    """Usable, six equal samples; `devices` are their values."""
    return {"id": name, "metric": metric, "unit": unit, "value": value, "status": "ok", "reason": "",
            "statistics": {"median": value, "min": value, "max": value, "cv": 0, "ci95": [value, value],
                           "samples": [value] * 6},
            "conditions": {"data_pattern": "normal"}, "evidence": {},
            "devices": [{"index": i, "name": H100, "value": v} for i, v in enumerate(devices)]} | more


H100 = "NVIDIA H100 80GB HBM3"


def p5(measurements, gpus=8, nodes=1):
    """A result of p5.48xlarge machines, one process a node."""
    document = without_claims()
    document["run"]["worker"] = {"kind": "cuda", "why": ""}
    document["platform"] |= {"catalog_id": "aws:p5.48xlarge", "provider": "aws", "instance": "p5.48xlarge"}
    document["system"]["devices"] = [
        {"index": i, "name": H100, "facts": {"node": i // gpus, "process": i // gpus} if nodes > 1 else {}}
        for i in range(gpus * nodes)]
    document["measurements"] = measurements
    return document
