"""Starting where GPUs cannot be used, or only some: exit code 3 with a sentence, or the right devices."""
import json
import unittest

import support

TWO = support.first(2)

# changes of p5's two GPUs, environment, words in the sentence
REFUSALS = {
    "no driver": ({"faults": {"start_up": "no_driver"}}, {}, ["cudaErrorInsufficientDriver"]),
    "no device": ({"faults": {"start_up": "no_device"}}, {}, ["cudaErrorNoDevice"]),
    "802": ({"faults": {"start_up": "802"}}, {}, ["fabric manager", "nvidia-fabricmanager"]),
    "803": ({"faults": {"start_up": "803"}}, {}, ["of another version than the loaded kernel driver", "reboot"]),
    "804": ({"faults": {"start_up": "804"}}, {}, ["forward compatibility", "compat"]),
    "index": ({}, {"CUDA_VISIBLE_DEVICES": "9"},
              ['CUDA_VISIBLE_DEVICES is "9", which names no GPU', "2 GPUs", "index from 0 to 1"]),
    "nothing": ({}, {"CUDA_VISIBLE_DEVICES": ""}, ['CUDA_VISIBLE_DEVICES is ""']),
    "prefix of both": ({}, {"CUDA_VISIBLE_DEVICES": "GPU-"}, ['CUDA_VISIBLE_DEVICES is "GPU-"']),
    "no code": ({"gpu": {"compute_capability": 61}}, {}, ["has no code for", "compute capability 6.1"]),
}

UUIDS = ["GPU-c1a10000-0000-4000-8000-000000000000", "GPU-c1a10101-0000-4000-8000-000000000001"]

# CUDA_VISIBLE_DEVICES -> UUIDs of the devices, in order
CHOICES = {
    None: UUIDS,
    "1": UUIDS[1:],
    "1,0": UUIDS[::-1],
    "0,9,1": UUIDS[:1],
    "GPU-c1a101": UUIDS[1:],
    UUIDS[1] + "," + UUIDS[0]: UUIDS[::-1],
}


def devices(run):
    return json.loads(run.out)["devices"]


class Refused(unittest.TestCase):
    def test_exit_code_3_and_a_sentence(self):
        for name, (changes, environment, words) in REFUSALS.items():
            with self.subTest(name), support.Machine("p5", support.merged(TWO, changes)) as machine:
                run = machine.command("--describe", environment=environment, timeout=20)
                self.assertEqual(run.code, 3, run)
                self.assertEqual(run.out, "")
                for word in words:
                    self.assertIn(word, run.err)


class Chosen(unittest.TestCase):
    def test_visible_devices(self):
        with support.Machine("p5", TWO) as machine:
            for choice, uuids in CHOICES.items():
                with self.subTest(choice):
                    run = machine.command("--describe", environment={"CUDA_VISIBLE_DEVICES": choice})
                    self.assertEqual(run.code, 0, run)
                    self.assertEqual([device["uuid"] for device in devices(run)], uuids)

    def test_a_mig_instance_by_its_uuid(self):
        with support.Machine("mig") as machine:
            uuid = machine.gpu["uuid"]
            run = machine.command("--describe", environment={"CUDA_VISIBLE_DEVICES": uuid})
            self.assertEqual(run.code, 0, run)
            device, = devices(run)
            self.assertEqual(device["uuid"], uuid)
            self.assertEqual(device["compute_units"], 16)

    def test_everything_says_that_it_is_virtual(self):
        with support.Machine("t4") as machine:
            run = machine.command("--describe")
            self.assertTrue(all(device["virtual"] for device in devices(run)), run)
            self.assertTrue(all(device["name"].endswith("(virtual)") for device in devices(run)))
            self.assertEqual(json.loads(run.out)["platform"]["driver_version"], "virtual-580.95.05")
            measured = machine.measure(["memory.copy"], "--max-bytes=1000000")
            self.assertTrue(measured.events[0]["virtual"])
            self.assertTrue(all(one["virtual"] for one in measured.measurements))


class Specs(unittest.TestCase):
    def test_a_mistake_in_a_spec_names_the_place_and_the_nearest_key(self):
        rows = {
            "/gpu/memory_gbs: unknown key; did you mean memory_gbps?": {"gpu": {"memory_gbs": 3}},
            "/gpu/sms: a value of another type": {"gpu": {"sms": "many"}},
            "must end in \" (virtual)\"": {"gpu": {"name": "NVIDIA H100 80GB HBM3"}},
            "/driver_version: \"580.1\" must start with \"virtual-\"": {"driver_version": "580.1"},
            "/faults/operations/0/kind: \"flip\" is none of": {
                "faults": {"operations": [{"kind": "flip", "operation": "copy"}]}},
            "/gpus/9: expected the index of a GPU, 0 to 0": {"gpus": {"9": {}}},
        }
        for words, changes in rows.items():
            with self.subTest(words), support.Machine("t4", changes) as machine:
                run = machine.command("--describe")
                self.assertEqual(run.code, 2, run)
                self.assertIn(words, run.err)


if __name__ == "__main__":
    unittest.main()
