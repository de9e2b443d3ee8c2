# One EC2 machine that judges itself: runs claimcheck, uploads the results to a bucket of its own and is terminated.
terraform {
  required_version = ">= 1.3"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.0"
    }
    external = {
      source  = "hashicorp/external"
      version = ">= 2.3"
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
  description = "What is to be judged, such as p5.48xlarge"
}

variable "region" {
  type    = string
  default = "us-east-1"
}

variable "availability_zone" {
  type        = string
  default     = null
  description = "Where there is capacity; any when null"
}

variable "image_parameter" {
  type        = string
  default     = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
  description = "SSM parameter of an image with an NVIDIA driver"
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

provider "aws" {
  region = var.region
  default_tags {
    tags = { Name = "claimcheck" }
  }
}

data "aws_ssm_parameter" "image" {
  name = var.image_parameter
}

data "external" "user_data" {
  program = concat(
    ["${path.module}/../user_data.py", "--package-url", var.package_url, "--sha256", var.package_sha256,
    "--ttl", tostring(var.ttl_minutes), "--results", "s3://${aws_s3_bucket.results.bucket}/results.tar.gz", "--"],
    var.arguments,
  )
}

resource "aws_s3_bucket" "results" {
  bucket_prefix = "claimcheck-"
  force_destroy = true
}

resource "aws_iam_role" "machine" {
  name_prefix = "claimcheck-"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }]
  })
}

resource "aws_iam_role_policy" "upload" {
  role = aws_iam_role.machine.id
  policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "s3:PutObject", Resource = "${aws_s3_bucket.results.arn}/results.tar.gz" }]
  })
}

resource "aws_iam_instance_profile" "machine" {
  name_prefix = "claimcheck-"
  role        = aws_iam_role.machine.name
}

resource "aws_instance" "machine" {
  ami                                  = data.aws_ssm_parameter.image.value
  instance_type                        = var.instance_type
  availability_zone                    = var.availability_zone
  iam_instance_profile                 = aws_iam_instance_profile.machine.name
  user_data                            = data.external.user_data.result.user_data
  instance_initiated_shutdown_behavior = "terminate"

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 2
  }

  root_block_device {
    volume_size           = 100
    delete_on_termination = true
  }
}

output "results" {
  value       = "s3://${aws_s3_bucket.results.bucket}/results.tar.gz"
  description = "There when the machine is gone"
}
