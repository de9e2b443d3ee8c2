"""Quality of the CUDA kernels without a GPU: what the compiler made of them, as PTX, as ptxas reports it, and as machine
code where NVIDIA's disassembler is installed (PyPI: nvidia-cuda-nvdisasm). Takes half a minute."""

import concurrent.futures
import functools
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get('CLAIMCHECK_SOURCE', pathlib.Path(__file__).parents[2]))
ARCHITECTURES = (70, 75, 80, 90, 120)  # those the toolkit knows
# Whose figures would be wrong if these were slow; others do what a user's program does.
HOT = ('fill', 'memory', 'copy', 'chase', 'empty', 'vector', 'tensor')
SKIPPED = 77  # ctest's SKIP_RETURN_CODE

# Order of the enumerations in kernels/device.h and kernels/cuda/matrix_instructions.h, which name the kernels.
MEMORY = ['read', 'write', 'copy', 'scale', 'add', 'triad']
# Name, instruction in PTX, in machine code, first architecture.
VECTOR = [
    ('fp64', 'fma.rn.f64', r'DFMA', 70),
    ('fp32', 'fma.rn.f32', r'FFMA', 70),
    ('fp16', 'fma.rn.f16x2', r'HFMA2', 70),
    ('bf16', 'fma.rn.bf16x2', r'HFMA2\S*\.BF16', 80),
    ('int32', 'mad.lo.u32', r'IMAD', 70),
    ('dp4a', 'dp4a.s32.s32', r'IDP\.4A', 70),
]
# Name, instruction in PTX, first architecture, products of a warp, what it is in machine code by architecture.
TENSOR = [
    ('fp16 small', 'm16n8k8.row.col.f32.f16.f16.f32', 75, 8, {75: 'HMMA.1688.F32', 80: 'HMMA.1688.F32'}),
    ('fp16', 'm16n8k16.row.col.f32.f16.f16.f32', 80, 8, {80: 'HMMA.16816.F32', 90: 'HMMA.16816.F32',
                                                         120: 'HMMA.16816.F32'}),
    ('bf16', 'm16n8k16.row.col.f32.bf16.bf16.f32', 80, 8, {80: 'HMMA.16816.F32.BF16', 90: 'HMMA.16816.F32.BF16',
                                                           120: 'HMMA.16816.F32.BF16'}),
    ('tf32', 'm16n8k8.row.col.f32.tf32.tf32.f32', 80, 8, {80: 'HMMA.1688.F32.TF32', 90: 'HMMA.1688.F32.TF32',
                                                          120: 'HMMA.1688.F32.TF32'}),
    ('int8 small', 'm8n8k16.row.col.s32.s8.s8.s32', 75, 8, {75: 'IMMA.8816.S8.S8'}),
    ('int8', 'm16n8k32.row.col.s32.s8.s8.s32', 80, 8, {80: 'IMMA.16832.S8.S8', 90: 'IMMA.16832.S8.S8',
                                                       120: 'IMMA.16832.S8.S8'}),
    # Hopper has no machine code of mma.sync for fp8; has_fp8_units() keeps it from being measured there.
    ('e4m3', 'm16n8k32.row.col.f32.e4m3.e4m3.f32', 89, 8, {90: 'F2FP.F16.E4M3', 120: 'QMMA.16832.F32.E4M3.E4M3'}),
    ('e5m2', 'm16n8k32.row.col.f32.e5m2.e5m2.f32', 89, 8, {90: 'F2FP.F16.E5M2', 120: 'QMMA.16832.F32.E5M2.E5M2'}),
    ('fp64', 'm8n8k4.row.col.f64.f64.f64.f64', 80, 8, {80: 'DMMA.884'}),
    ('fp64 large', 'm16n8k16.row.col.f64.f64.f64.f64', 90, 4, {90: 'DMMA.16'}),
]
VECTOR_LOAD = re.compile(r'ld\.global(\.\w+)*\.(v2\.[a-z]64|v4\.[a-z]32)\b')
VECTOR_STORE = re.compile(r'st\.global(\.\w+)*\.(v2\.[a-z]64|v4\.[a-z]32)\b')
ANY_LOAD = re.compile(r'\bld\.(global|local|volatile)\b')
ANY_STORE = re.compile(r'\bst\.(global|local)\b')


def find_nvcc():
    homes = [os.environ.get(name, '') for name in ('CUDA_HOME', 'CUDA_PATH')] + [str(SOURCE / '.cuda'), '/usr/local/cuda']
    candidates = [os.environ.get('CLAIMCHECK_NVCC', '')] + [f'{home}/bin/nvcc' for home in homes if home]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    return shutil.which('nvcc')


def find_disassembler(nvcc):
    beside = str(pathlib.Path(nvcc).with_name('nvdisasm'))
    packaged = [path for folder in sys.path for path in glob.glob(f'{folder}/nvidia/*/bin/nvdisasm')]
    for candidate in [os.environ.get('CLAIMCHECK_NVDISASM', ''), beside] + packaged:
        if candidate and os.access(candidate, os.X_OK):
            return candidate
    return shutil.which('nvdisasm')


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise RuntimeError(f'{" ".join(map(str, command))}\n{done.stdout}{done.stderr}')
    return done.stdout + done.stderr


class Code:
    """What one architecture got: PTX, machine code (None without a disassembler) and resources of every kernel."""

    def __init__(self, nvcc, disassembler, architecture, folder):
        everything = pathlib.Path(folder) / 'kernels.cu'
        ptx = pathlib.Path(folder) / f'{architecture}.ptx'
        cubin = pathlib.Path(folder) / f'{architecture}.cubin'
        run(nvcc, '-std=c++20', f'-arch=compute_{architecture}', '--fmad=false', '--expt-relaxed-constexpr', '-w',
            f'-I{SOURCE}', '-ptx', everything, '-o', ptx)
        # The kernels are compiled as the build does it: the same options, real code from the same PTX.
        report = run(nvcc, f'-arch=sm_{architecture}', '-Xptxas', '-v', '-cubin', ptx, '-o', cubin)
        self.ptx = self.split(ptx.read_text(), r'\.entry\s+(\w+)')
        self.sass = None
        if disassembler:
            self.sass = self.split(run(disassembler, '-c', cubin), r'\n\.text\.(\w+):')
        self.resources = {}
        for name, stack, stores, loads, registers in re.findall(
                r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
                r'(\d+) bytes spill loads.*?Used (\d+) registers', report, re.DOTALL):
            self.resources[name] = {'stack': int(stack), 'spills': int(stores) + int(loads),
                                    'registers': int(registers)}

    @staticmethod
    def split(text, start):
        places = list(re.finditer(start, text))
        ends = [place.start() for place in places[1:]] + [len(text)]
        return {place[1]: text[place.end():end] for place, end in zip(places, ends)}

    def name_of(self, kernel, number=None):
        pattern = re.compile(rf'\d{kernel}' + ('E' if number is None else rf'I\w*?E{number}E'))
        names = [name for name in self.ptx if pattern.search(name)]
        assert len(names) == 1, f'{kernel} {number}: {names} of {list(self.ptx)}'
        return names[0]

    def statements(self, name):
        return [line.strip() for line in self.ptx[name].splitlines() if line.strip().endswith(';')]

    def instructions(self, name):
        return re.findall(r'/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z][\w.]*)', self.sass[name])

    def loop(self, name, pattern):
        """The instructions of the loop with most that match: from a label to the last jump back to it."""
        best = []
        text = self.sass[name]
        for label in re.finditer(r'\n(\.L_x_\d+):', text):
            jumps = [jump.end() for jump in re.finditer(rf'BRA[\w.]* .*{re.escape(label[1])}\b', text)
                     if jump.start() > label.end()]
            if not jumps or re.search(r'\n\.L_x_\d+:', text[label.end():jumps[-1]]):
                continue
            body = re.findall(r'/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+ )?([A-Z][\w.]*)', text[label.end():jumps[-1]])
            if sum(bool(re.match(pattern, i)) for i in body) > sum(bool(re.match(pattern, i)) for i in best):
                best = body
        return best


def longest_run(lines, wanted, ends):
    """Most lines that match `wanted` before one that matches `ends`."""
    most = current = 0
    for line in lines:
        if re.search(wanted, line):
            current += 1
            most = max(most, current)
        elif re.search(ends, line):
            current = 0
    return most


def for_each_architecture(test):
    @functools.wraps(test)
    def wrapped(self):
        self.assertGreaterEqual(len(self.codes), 4)
        for architecture, code in self.codes.items():
            with self.subTest(architecture=architecture):
                test(self, architecture, code)
    return wrapped


class Sass(unittest.TestCase):
    codes = {}

    @for_each_architecture
    def test_no_kernel_uses_local_memory(self, _, code):
        # fill, memory, sum, differences, copy, chase, empty, vector, tensor
        self.assertEqual(len(code.resources), 10 + 5 + 1 + 1 + 1 + 1 + 1 + 6 + 10)
        self.assertEqual(set(code.resources), set(code.ptx))
        for name, used in code.resources.items():
            self.assertEqual((used['stack'], used['spills']), (0, 0), name)

    @for_each_architecture
    def test_registers_leave_room_for_the_intended_blocks(self, _, code):
        for name, used in code.resources.items():
            streaming = re.search('memory_pass|memory_sum|count_differences|copy_words', name)
            # 65536 registers: four blocks of 256 threads; one block of 512, or two of 256.
            self.assertLessEqual(used['registers'], 64 if streaming else 128, name)

    @for_each_architecture
    def test_memory_kernels_load_and_store_16_bytes_with_several_loads_in_flight(self, _, code):
        for number, kernel in enumerate(MEMORY):
            if kernel == 'read':
                continue
            name = code.name_of('memory_pass', number)
            arrays = {'write': 0, 'add': 2, 'triad': 2}.get(kernel, 1)
            lines = code.statements(name)
            loads = [line for line in lines if ANY_LOAD.search(line)]
            stores = [line for line in lines if ANY_STORE.search(line)]
            self.assertTrue(all(VECTOR_LOAD.search(line) for line in loads), (kernel, loads))
            self.assertTrue(all(VECTOR_STORE.search(line) for line in stores), (kernel, stores))
            self.assertGreaterEqual(len(stores), 4, kernel)
            self.assertGreaterEqual(len(loads), 4 * arrays, kernel)
            if code.sass:
                machine = code.instructions(name)
                self.assertGreaterEqual(longest_run(machine, r'^LDG\.E\.128', r'^(STG|DADD|DMUL)'), 4 * arrays,
                                        kernel)
                self.assertEqual({i for i in machine if re.match('LDG|STG', i) and '.128' not in i}, set(), kernel)

    @for_each_architecture
    def test_sum_has_eight_loads_in_flight(self, _, code):
        name = code.name_of('memory_sum')
        self.assertGreaterEqual(longest_run(code.statements(name), VECTOR_LOAD, r'add.*f64'), 8)
        if code.sass:
            self.assertGreaterEqual(longest_run(code.instructions(name), r'^LDG\.E\.128', r'^DADD'), 8)

    @for_each_architecture
    def test_copy_has_eight_loads_of_16_bytes_in_flight(self, _, code):
        name = code.name_of('copy_words')
        lines = code.statements(name)
        self.assertGreaterEqual(longest_run(lines, VECTOR_LOAD, r'st\.global'), 8)
        self.assertGreaterEqual(len([line for line in lines if VECTOR_STORE.search(line)]), 8)
        if code.sass:
            self.assertGreaterEqual(longest_run(code.instructions(name), r'^LDG\.E\.128', r'^STG'), 8)

    @for_each_architecture
    def test_chase_goes_past_the_first_level_cache(self, _, code):
        lines = code.statements(code.name_of('chase_list'))
        loads = [line for line in lines if ANY_LOAD.search(line)]
        self.assertTrue(loads)
        self.assertTrue(all('ld.global.cg.u64' in line for line in loads), loads)

    @for_each_architecture
    def test_vector_chains_are_one_instruction_a_step(self, architecture, code):
        for number, (op, ptx, machine, first) in enumerate(VECTOR):
            name = code.name_of('run_chains', number)
            count = sum(line.startswith(ptx + ' ') for line in code.statements(name))
            if architecture < first:
                self.assertEqual(count, 0, op)
                continue
            self.assertGreaterEqual(count, 8 * 16 + 8, op)  # chains, steps without a jump, and the rest's loop
            if code.sass:
                body = [i for i in code.loop(name, machine) if i != 'NOP' or op != 'fp64']
                steps = sum(bool(re.match(machine, i)) for i in body)
                self.assertGreaterEqual(steps, 8 * 16, (op, body))
                self.assertGreaterEqual(steps / len(body), 0.94, (op, body))

    @for_each_architecture
    def test_tensor_tiles_use_the_matrix_units(self, architecture, code):
        for number, (kind, ptx, first, products, machine) in enumerate(TENSOR):
            name = code.name_of('multiply_tiles', number)
            count = sum(line.startswith(f'mma.sync.aligned.{ptx} ') for line in code.statements(name))
            if architecture < first:
                self.assertEqual(len([i for i in code.statements(name) if 'mma' in i]), 0, kind)
                continue
            self.assertGreaterEqual(count, 4 * products, kind)
            if code.sass and architecture in machine:
                found = code.instructions(name)
                self.assertGreaterEqual(found.count(machine[architecture]) or
                                        sum(i.startswith(machine[architecture]) for i in found), 4 * products,
                                        (kind, sorted(set(found))))

    @for_each_architecture
    def test_tensor_loops_hold_little_else(self, architecture, code):
        if not code.sass:
            return
        for number, (kind, _, first, products, machine) in enumerate(TENSOR):
            unit = machine.get(architecture, 'F2FP')
            if architecture < first or unit.startswith('F2FP'):
                continue
            body = code.loop(code.name_of('multiply_tiles', number), re.escape(unit))
            body = [i for i in body if i != 'NOP']  # NOPs pace the units
            steps = sum(i.startswith(unit) for i in body)
            self.assertGreaterEqual(steps, 4 * products, (kind, body))
            self.assertGreaterEqual(steps / len(body), 0.75, (kind, body))

    @for_each_architecture
    def test_random_numbers_have_the_bits_of_the_host(self, _, code):
        for number in range(10):
            lines = code.statements(code.name_of('fill_normal', number))
            self.assertEqual([line for line in lines if line.startswith(('fma.', 'mad.rn'))], [], number)
            self.assertTrue(any(line.startswith('sqrt.rn.f64 ') for line in lines), number)
            self.assertTrue(any(line.startswith('div.rn.f64 ') for line in lines), number)


def main():
    nvcc = find_nvcc()
    if not nvcc:
        print('skipped: no nvcc was found (CUDA_HOME, .cuda in the project, /usr/local/cuda, PATH)')
        return SKIPPED
    disassembler = find_disassembler(nvcc)
    print(f'nvcc: {nvcc}\nnvdisasm: {disassembler or "none: machine code is not looked at"}')
    known = {int(number) for number in re.findall(r'compute_(\d+)', run(nvcc, '--list-gpu-arch'))}
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, 'kernels.cu').write_text(''.join(f'#include "kernels/cuda/{name}.cu"\n' for name in HOT))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            chosen = [architecture for architecture in ARCHITECTURES if architecture in known]
            made = pool.map(lambda architecture: Code(nvcc, disassembler, architecture, folder), chosen)
            Sass.codes = dict(zip(chosen, made))
    return 0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1


if __name__ == '__main__':
    sys.exit(main())
