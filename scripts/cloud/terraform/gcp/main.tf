# One Compute Engine machine that judges itself: runs claimcheck, uploads the results to a bucket of its own and is
# deleted by max_run_duration at the latest.
terraform {
  required_version = ">= 1.3"
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 6.0" # max_run_duration
    }
    external = {
      source  = "hashicorp/external"
      version = ">= 2.3"
    }
    random = {
      source  = "hashicorp/random"
      version = ">= 3.0"
    }
  }
}

variable "package_url" {
  type        = string
  description = "Where the machine fetches the .deb or tarball of scripts/package.sh: https"
}

variable "package_sha256" {
  type        = string
  description = "Its SHA-256"
}

variable "instance_type" {
  type        = string
  description = "What is to be judged, such as a3-highgpu-8g"
}

variable "project" {
  type = string
}

variable "zone" {
  type    = string
  default = "us-central1-a"
}

variable "image" {
  type        = string
  default     = "projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accelerator-2204-amd64-with-nvidia-580"
  description = "An image with an NVIDIA driver and cloud-init"
}

variable "ttl_minutes" {
  type        = number
  default     = 30
  description = "The machine is gone by then at the latest"
  validation {
    condition     = var.ttl_minutes >= 5 && var.ttl_minutes <= 1440
    error_message = "Expected 5 to 1440 minutes."
  }
}

variable "arguments" {
  type        = list(string)
  default     = ["--budget", "5m"]
  description = "Of claimcheck run"
}

provider "google" {
  project = var.project
  zone    = var.zone
}

data "external" "user_data" {
  program = concat(
    ["${path.module}/../user_data.py", "--package-url", var.package_url, "--sha256", var.package_sha256,
    "--ttl", tostring(var.ttl_minutes), "--results", "gs://${google_storage_bucket.results.name}/results.tar.gz", "--"],
    var.arguments,
  )
}

resource "random_id" "name" {
  byte_length = 4
}

resource "google_storage_bucket" "results" {
  name                        = "claimcheck-${random_id.name.hex}"
  location                    = "US"
  force_destroy               = true
  uniform_bucket_level_access = true
}

resource "google_service_account" "machine" {
  account_id = "claimcheck-${random_id.name.hex}"
}

resource "google_storage_bucket_iam_member" "upload" {
  bucket = google_storage_bucket.results.name
  role   = "roles/storage.objectCreator"
  member = "serviceAccount:${google_service_account.machine.email}"
}

resource "google_compute_instance" "machine" {
  name         = "claimcheck-${random_id.name.hex}"
  machine_type = var.instance_type

  boot_disk {
    auto_delete = true
    initialize_params {
      image = var.image
      size  = 100
    }
  }

  network_interface {
    network = "default"
    access_config {}
  }

  scheduling {
    on_host_maintenance         = "TERMINATE"
    automatic_restart           = false
    instance_termination_action = "DELETE"
    max_run_duration {
      seconds = var.ttl_minutes * 60
    }
  }

  service_account {
    email  = google_service_account.machine.email
    scopes = ["cloud-platform"]
  }

  metadata = {
    user-data = data.external.user_data.result.user_data
  }
}

output "results" {
  value       = "gs://${google_storage_bucket.results.name}/results.tar.gz"
  description = "There when the machine is gone"
}
