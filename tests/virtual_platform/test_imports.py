"""The stand-ins have every function the worker asks its libraries for, and no other."""
import re
import subprocess
import unittest

import support

LIBRARIES = {  # file name in lib/ -> beginning of its functions' names
    "libcudart.so": ("cuda", "__cuda"),
    "libcublasLt.so": ("cublasLt",),
    "libnccl.so": ("nccl",),
}


def symbols(file, kind):
    """Names in the dynamic symbol table, without versions; `kind` is nm's --defined-only or --undefined-only."""
    lines = subprocess.run(["nm", "-D", kind, str(file)], check=True, stdout=subprocess.PIPE,
                           encoding="utf-8").stdout.splitlines()
    # Absolute symbols (A) are version nodes; inline functions of C++'s library are nobody's interface.
    names = {line.split()[-1].partition("@")[0] for line in lines if line.split()[-2] != "A"}
    return {name for name in names if not name.startswith("_Z")}


def library(folder, name):
    return next(support.VIRTUAL.joinpath(folder).glob(f"{name}.*"))


class Imports(unittest.TestCase):
    def test_each_library_has_what_the_worker_imports_and_no_more(self):
        imports = symbols(support.WORKER, "--undefined-only")
        for name, beginnings in LIBRARIES.items():
            with self.subTest(library=name):
                wanted = {symbol for symbol in imports if symbol.startswith(beginnings)}
                self.assertTrue(wanted)
                self.assertEqual(wanted ^ symbols(library("lib", name), "--defined-only"), set())

    def test_nvml_has_what_the_worker_looks_up(self):
        text = (support.SOURCE / "kernels" / "cuda" / "nvml_library.cpp").read_text(encoding="utf-8")
        wanted = set(re.findall(r'"(nvml[A-Z]\w+)"', text))
        self.assertGreater(len(wanted), 20)
        self.assertEqual(wanted ^ symbols(library("lib", "libnvidia-ml.so"), "--defined-only"), set())

    def test_nvml_of_an_older_driver_lacks_what_came_later(self):
        whole = symbols(library("lib", "libnvidia-ml.so"), "--defined-only")
        old = symbols(library("nvml_old", "libnvidia-ml.so"), "--defined-only")
        self.assertEqual(whole - old, {
            "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetRemappedRows",
            "nvmlDeviceGetGpuMaxPcieLinkGeneration", "nvmlDeviceGetNvLinkRemoteDeviceType",
            "nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetComputeRunningProcesses_v3"})
        self.assertEqual(old - whole, set())

    def test_all_of_them_resolve_at_the_start(self):
        with support.Machine("t4") as machine:
            run = machine.command("--describe", environment={"LD_BIND_NOW": "1"})
            self.assertEqual(run.code, 0, run)
            self.assertNotIn("undefined symbol", run.err)


if __name__ == "__main__":
    unittest.main()
