"""Which rented machine this is: cloud-init's data on disk, DMI strings, and a metadata service on the loopback device."""
import http.server
import json
import threading
import time
import unittest

from support import CommandTest, claimcheck, parse

# Each cloud: what its files say, what its metadata service answers, and what comes of it. Written after the vendors'
# documentation; the files name the cloud and not the instance type, so that the service has something to add.
GOOGLE = {"Metadata-Flavor": "Google"}
GCP = "/computeMetadata/v1/instance/"
TENCENT = "/latest/meta-data/"
CLOUDS = {
    "aws": {
        "cloud_name": "aws", "dmi": {"sys_vendor": "Amazon EC2", "product_name": "HVM domU"},
        "on_disk": {"ds": {"meta_data": {"instance-type": "p4d.24xlarge"}}},
        "answers": {"PUT /latest/api/token": "TOKEN==",
                    "GET /latest/dynamic/instance-identity/document": json.dumps(
                        {"instanceType": "p4d.24xlarge", "region": "us-east-2", "availabilityZone": "us-east-2b",
                         "instanceId": "i-0abc"}),
                    "GET /latest/meta-data/instance-life-cycle": "on-demand"},
        "headers": {"GET": {"X-aws-ec2-metadata-token": "TOKEN=="}, "PUT": {"X-aws-ec2-metadata-token-ttl-seconds": "60"}},
        "found": ("p4d.24xlarge", "us-east-2", False)},
    "azure": {
        "cloud_name": "azure", "dmi": {"chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77"},
        "on_disk": {"ds": {"meta_data": {"imds": {"compute": {"vmSize": "Standard_ND96isr_H100_v5"}}}}},
        "answers": {"GET /metadata/instance?api-version=2021-02-01": json.dumps(
            {"compute": {"vmSize": "Standard_ND96isr_H100_v5", "location": "eastus", "priority": "Spot"}}),
            "GET /metadata/scheduledevents?api-version=2020-07-01": json.dumps({"Events": []})},
        "headers": {"GET": {"Metadata": "true"}},
        "found": ("Standard_ND96isr_H100_v5", "eastus", True)},
    "gcp": {
        "cloud_name": "gce", "dmi": {"product_name": "Google Compute Engine"},
        "on_disk": {"ds": {"meta_data": {"machine-type": "projects/1/machineTypes/a3-highgpu-8g"}}},
        "answers": {f"GET {GCP}machine-type": "projects/1/machineTypes/a3-highgpu-8g",
                    f"GET {GCP}zone": "projects/1/zones/us-central1-a", f"GET {GCP}id": "4242",
                    f"GET {GCP}scheduling/preemptible": "FALSE", f"GET {GCP}preempted": "FALSE"},
        "headers": {"GET": GOOGLE}, "answer_headers": GOOGLE,
        "found": ("a3-highgpu-8g", "us-central1", False)},
    "alibaba": {
        "cloud_name": "aliyun", "dmi": {"product_name": "Alibaba Cloud ECS"},
        "on_disk": {"ds": {"meta_data": {"instance": {"instance-type": "ecs.gn7e-c16g1.4xlarge"}}}},
        "answers": {"PUT /latest/api/token": "TOKEN",
                    "GET /latest/dynamic/instance-identity/document": json.dumps(
                        {"instance-type": "ecs.gn7e-c16g1.4xlarge", "region-id": "cn-hangzhou"})},
        "headers": {"GET": {"X-aliyun-ecs-metadata-token": "TOKEN"}},
        "found": ("ecs.gn7e-c16g1.4xlarge", "cn-hangzhou", None)},
    "tencent": {
        "cloud_name": "tencent", "dmi": {"sys_vendor": "Tencent Cloud"},
        "on_disk": {"ds": {"meta_data": {"instance-type": "GN10Xp.20XLARGE320"}}},
        "answers": {f"GET {TENCENT}instance/instance-type": "GN10Xp.20XLARGE320",
                    f"GET {TENCENT}placement/region": "ap-shanghai", f"GET {TENCENT}placement/zone": "ap-shanghai-2",
                    f"GET {TENCENT}instance-id": "ins-1", f"GET {TENCENT}payment/charge-type": "POSTPAID_BY_HOUR"},
        "headers": {"GET": {"Host": "metadata.tencentyun.com"}},
        "found": ("GN10Xp.20XLARGE320", "ap-shanghai", False)},
    "huawei": {
        "cloud_name": "openstack", "dmi": {"chassis_asset_tag": "HUAWEICLOUD"},
        "on_disk": {"ds": {"meta_data": {"instance_type": "p2v.16xlarge.8", "region_id": "cn-north-4"}}},
        "answers": {"GET /openstack/latest/meta_data.json": json.dumps(
            {"instance_type": "p2v.16xlarge.8", "region_id": "cn-north-4", "availability_zone": "cn-north-4a"})},
        "headers": {"GET": {}},
        "found": ("p2v.16xlarge.8", "cn-north-4", None)},
    "oci": {
        "cloud_name": "oracle", "dmi": {"chassis_asset_tag": "OracleCloud.com"},
        "on_disk": {"ds": {"meta_data": {"shape": "BM.GPU.H100.8"}}},
        "answers": {"GET /opc/v2/instance/": json.dumps(
            {"shape": "BM.GPU.H100.8", "canonicalRegionName": "us-ashburn-1", "region": "iad"})},
        "headers": {"GET": {"Authorization": "Bearer Oracle"}},
        "found": ("BM.GPU.H100.8", "us-ashburn-1", None)},
}


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as one cloud does, or as a broken one: `mode` of the server."""

    def answer(self):
        server = self.server
        what = f"{self.command} {self.path}"
        server.asked.append(what)
        if server.mode == "slow":
            server.closing.wait(30)  # until the test is over; the client has long gone
            return
        code, body = 200, server.cloud["answers"].get(what)
        if isinstance(server.mode, int):
            code, body = server.mode, "no"
        elif server.mode == "garbage":
            body = "<html><body>Please log in</body></html>"
        elif server.mode == "huge":
            body = "x" * (1 << 20)
        elif server.mode == "redirect":
            code, body = 302, ""
        elif body is None:
            code, body = 404, "not found"
        for name, value in server.cloud["headers"].get(self.command, {}).items():
            if self.headers.get(name) != value:
                server.wrong.append(f"{what}: {name} is {self.headers.get(name)!r}")
        try:
            self.send_response(code)
            for name, value in server.cloud.get("answer_headers", {}).items():
                self.send_header(name, value)
            if code == 302:
                self.send_header("Location", f"http://127.0.0.1:{server.server_port}/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())
        except (BrokenPipeError, ConnectionResetError):
            pass  # a client that had enough

    do_GET = do_PUT = answer

    def log_message(self, *_):
        pass


class Cloud(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, cloud, mode):
        super().__init__(("127.0.0.1", 0), Handler)
        self.cloud, self.mode, self.asked, self.wrong = cloud, mode, [], []
        self.closing = threading.Event()

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.shutdown()
        self.server_close()


class Platform(CommandTest):
    def machine(self, name, cloud, cloud_init=None):
        root = self.folder / name
        for key, text in cloud["dmi"].items():
            path = root / "sys/class/dmi/id" / key
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        if cloud_init is not None:
            path = root / "run/cloud-init/instance-data.json"
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps({"v1": {"cloud_name": cloud["cloud_name"]}, **cloud_init}))
        return root

    def probe(self, root, metadata, **environment):
        begin = time.monotonic()
        done = claimcheck("probe", "--json", "--system-root", root,
                          environment={"CLAIMCHECK_METADATA": metadata, **environment}, timeout=60)
        self.seconds = time.monotonic() - begin
        answer = parse(self.assert_exit(done, 0).stdout)
        return answer["platform"], {one["id"]: one for one in answer["findings"]}

    def ask(self, root, cloud, mode, **environment):
        # The product's own limit only where it is what is tested: a machine at work may be slower than a cloud.
        if mode != "slow":
            environment["CLAIMCHECK_METADATA_SECONDS"] = "30"
        with Cloud(cloud, mode) as server:
            found = self.probe(root, f"http://127.0.0.1:{server.server_port}", **environment)
            self.asked, self.wrong = list(server.asked), list(server.wrong)
        return found

    def test_from_the_disk_alone(self):
        for name, cloud in CLOUDS.items():
            with self.subTest(cloud=name):
                platform, _ = self.probe(self.machine(name, cloud, cloud["on_disk"]), "off")
                self.assertEqual((platform["provider"], platform["instance"]), (name, cloud["found"][0]))
                self.assertEqual((platform["how"], platform["metadata"]), ("cloud-init", None))
                platform, _ = self.probe(self.machine(name + "-dmi", cloud), None)
                self.assertEqual((platform["provider"], platform["instance"]), (name, None))
                self.assertEqual((platform["how"], platform["certain"]), ("dmi", True))
                self.assertIsNone(platform["metadata"], "a fabricated machine must not make anybody ask a cloud")

    def test_a_service_that_answers(self):
        for name, cloud in CLOUDS.items():
            for disk, on_disk in (("dmi", None), ("cloud-init", {})):
                with self.subTest(cloud=name, disk=disk):
                    root = self.machine(f"{name}-{disk}", cloud, on_disk)
                    platform, findings = self.ask(root, cloud, "good")
                    found = (platform["instance"], platform["region"], platform["spot"])
                    self.assertEqual(found, cloud["found"], platform["metadata"])
                    self.assertEqual((platform["provider"], platform["how"]), (name, "metadata"))
                    self.assertEqual(platform["metadata"]["status"], "answered")
                    self.assertEqual(self.wrong, [])
                    self.assertFalse([one for one in findings if one.startswith(("metadata", "platform"))])

    def test_services_that_do_not(self):
        rows = (("slow", "no_answer"), (401, "refused"), (403, "disabled"), (500, "failed"), ("garbage", "nonsense"),
                ("huge", "nonsense"), ("redirect", "failed"))
        for name, cloud in CLOUDS.items():
            dmi = self.machine(f"{name}-bare", cloud)
            disk = self.machine(f"{name}-disk", cloud, cloud["on_disk"])
            for mode, status in rows:
                with self.subTest(cloud=name, mode=mode):
                    platform, findings = self.ask(dmi, cloud, mode)
                    self.assertEqual((platform["provider"], platform["instance"]), (name, None))
                    self.assertEqual(platform["metadata"]["status"], status, platform["metadata"])
                    self.assertTrue(any(one["severity"] == "warning" and "the instance type is not known" in one["text"]
                                        for one in findings.values()), findings)
                    self.assertNotIn("GET /elsewhere", self.asked)
                    self.assertLess(self.seconds, 10)
                    platform, _ = self.ask(disk, cloud, mode)
                    self.assertEqual((platform["instance"], platform["how"]), (cloud["found"][0], "cloud-init"))

    def test_the_limit_is_for_all_questions_together(self):
        with Cloud(CLOUDS["tencent"], "slow") as server:
            platform, _ = self.probe(self.machine("t", CLOUDS["tencent"]), f"http://127.0.0.1:{server.server_port}")
            self.assertLessEqual(len(server.asked), 1, "after one silence nothing more is asked")
        self.assertEqual(platform["metadata"]["status"], "no_answer")

    def test_aws_in_a_container(self):
        aws = CLOUDS["aws"]
        root = self.machine("container", aws)
        (root / ".dockerenv").touch()
        _, findings = self.ask(root, aws, "slow")
        self.assertIn("http-put-response-hop-limit 2", findings["metadata.hop_limit"]["next_step"])
        self.assertLessEqual(set(self.asked), {"PUT /latest/api/token"}, "never version 1")

    def test_nothing_listens(self):
        with Cloud(CLOUDS["aws"], "good") as server:
            port = server.server_port
        platform, findings = self.probe(self.machine("shut", CLOUDS["aws"]), f"http://127.0.0.1:{port}")
        self.assertEqual(platform["metadata"]["status"], "no_answer")
        self.assertIn("metadata.no_answer", findings)

    def test_a_proxy_is_not_asked(self):
        aws = CLOUDS["aws"]
        with Cloud(aws, 500) as proxy:
            proxies = {name: f"http://127.0.0.1:{proxy.server_port}" for name in ("http_proxy", "ALL_PROXY")}
            platform, _ = self.ask(self.machine("proxied", aws), aws, "good", no_proxy=None, NO_PROXY=None, **proxies)
            self.assertEqual(proxy.asked, [])
        self.assertEqual(platform["metadata"]["status"], "answered")

    def test_a_machine_that_was_changed(self):
        aws = CLOUDS["aws"]
        root = self.machine("changed", aws, {"ds": {"meta_data": {"instance-type": "g4dn.xlarge"}}})
        platform, findings = self.ask(root, aws, "good")
        self.assertEqual((platform["instance"], platform["how"]), ("p4d.24xlarge", "metadata"))
        self.assertIn("g4dn.xlarge", findings["platform.changed"]["text"])

    def test_an_interruption(self):
        aws = dict(CLOUDS["aws"])
        aws["answers"] = {**aws["answers"], "GET /latest/meta-data/instance-life-cycle": "spot",
                          "GET /latest/meta-data/spot/instance-action":
                              json.dumps({"action": "terminate", "time": "2026-11-30T08:22:00Z"})}
        platform, findings = self.ask(self.machine("spot", aws), aws, "good")
        self.assertEqual((platform["spot"], platform["interruption"]["action"]), (True, "terminate"))
        self.assertEqual(findings["platform.interruption"]["severity"], "error")

    def test_preflight_says_so_too(self):
        aws = dict(CLOUDS["aws"])
        aws["answers"] = {**aws["answers"], "GET /latest/meta-data/instance-life-cycle": "spot",
                          "GET /latest/meta-data/spot/instance-action":
                          json.dumps({"action": "terminate", "time": "2026-11-30T08:22:00Z"})}
        arguments = ["preflight", "--device", "host", "--json", "--max-bytes", "1MiB", "--max-gemm", "64", "--min-time", "0.001"]
        for mode, kind, severity in (("good", "platform.interruption", "error"), (401, "metadata.refused", "warning")):
            with self.subTest(mode), Cloud(aws, mode) as server:
                root = self.machine(f"preflight-{mode}", aws, {})
                done = claimcheck(*arguments, "--system-root", root, environment={
                    "CLAIMCHECK_METADATA": f"http://127.0.0.1:{server.server_port}", "CLAIMCHECK_METADATA_SECONDS": "30"})
                found = {one["id"]: one for one in parse(done.stdout)["findings"]}
                self.assertEqual(found[kind]["severity"], severity)
                self.assertTrue(found[kind]["cause"] and found[kind]["next_step"])
                if severity == "error":
                    self.assert_exit(done, 4)

    def test_only_a_named_cloud_is_asked(self):
        home = {"cloud_name": "nocloud", "dmi": {"sys_vendor": "Gigabyte"}, "answers": {}, "headers": {}}
        platform, _ = self.ask(self.machine("home", home, {}), home, "good")
        self.assertEqual((self.asked, platform["provider"], platform["metadata"]), ([], None, None))

    def test_gpu_clouds(self):
        root = self.folder / "pod"
        root.mkdir()
        for variables, provider, region in (({"RUNPOD_POD_ID": "x", "RUNPOD_DC_ID": "EU-RO-1"}, "runpod", "EU-RO-1"),
                                            ({"VAST_CONTAINERLABEL": "C.1"}, "vast", None)):
            platform, _ = self.probe(root, None, **variables)
            self.assertEqual((platform["provider"], platform["region"]), (provider, region))
            self.assertEqual((platform["how"], platform["instance"]), ("environment", None))
        (root / "proc/1").mkdir(parents=True)  # a session over SSH does not inherit the variables
        (root / "proc/1/environ").write_bytes(b"A=1\0RUNPOD_POD_ID=x\0RUNPOD_DC_ID=US-KS-2\0B=2\0")
        platform, _ = self.probe(root, None)
        self.assertEqual((platform["provider"], platform["region"]), ("runpod", "US-KS-2"))
        crusoe = self.folder / "crusoe"
        (crusoe / "usr/local/bin/crusoe").mkdir(parents=True)
        platform, findings = self.probe(crusoe, None)
        self.assertEqual((platform["provider"], platform["certain"]), ("crusoe", False))
        self.assertIn("platform.guess", findings)

    def test_what_the_variable_takes(self):
        root = self.machine("odd", CLOUDS["aws"])
        for value in ("on", "http://169.254.169.254", "http://127.0.0.1:80/x", "http://127.0.0.1:1@example.invalid"):
            done = claimcheck("probe", "--system-root", root, environment={"CLAIMCHECK_METADATA": value})
            self.assert_refused(done, f"CLAIMCHECK_METADATA={value}", "http://127.0.0.1:PORT")


if __name__ == "__main__":
    unittest.main()
