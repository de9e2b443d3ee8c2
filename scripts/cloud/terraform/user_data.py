#!/usr/bin/env python3
"""What user-data.sh writes, as the JSON object that Terraform's data source "external" reads."""
import json
import pathlib
import subprocess
import sys

script = pathlib.Path(__file__).resolve().parents[1] / "user-data.sh"
done = subprocess.run([script, *sys.argv[1:]], stdout=subprocess.PIPE, encoding="utf-8", check=False)
if done.returncode == 0:
    print(json.dumps({"user_data": done.stdout}))
sys.exit(done.returncode)
