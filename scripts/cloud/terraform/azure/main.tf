# One Azure machine that judges itself: runs claimcheck, uploads the results to a container of its own and deallocates
# itself; a daily schedule does so as well. A machine that is only shut down would still be paid for.
terraform {
  required_version = ">= 1.3"
  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = ">= 4.9"
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
  description = "What is to be judged, such as Standard_ND96isr_H100_v5"
}

variable "subscription" {
  type = string
}

variable "region" {
  type    = string
  default = "eastus"
}

variable "public_key" {
  type        = string
  description = "SSH public key; Azure wants one, and nothing listens to the outside"
}

variable "ttl_minutes" {
  type        = number
  default     = 30
  description = "The machine is deallocated by then at the latest"
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

provider "azurerm" {
  subscription_id = var.subscription
  features {}
}

locals {
  # Not the container's id, which is no URL since its account is named by id.
  results = "${azurerm_storage_account.results.primary_blob_endpoint}${azurerm_storage_container.results.name}/results.tar.gz"
}

data "external" "user_data" {
  program = concat(
    ["${path.module}/../user_data.py", "--package-url", var.package_url, "--sha256", var.package_sha256,
      "--ttl", tostring(var.ttl_minutes), "--stop", "azure", "--results",
      "${local.results}${data.azurerm_storage_account_sas.upload.sas}",
    "--"],
    var.arguments,
  )
}

resource "random_id" "name" {
  byte_length = 4
}

resource "azurerm_resource_group" "claimcheck" {
  name     = "claimcheck-${random_id.name.hex}"
  location = var.region
}

resource "azurerm_storage_account" "results" {
  name                     = "claimcheck${random_id.name.hex}"
  resource_group_name      = azurerm_resource_group.claimcheck.name
  location                 = var.region
  account_tier             = "Standard"
  account_replication_type = "LRS"
}

resource "azurerm_storage_container" "results" {
  name               = "results"
  storage_account_id = azurerm_storage_account.results.id
}

data "azurerm_storage_account_sas" "upload" {
  connection_string = azurerm_storage_account.results.primary_connection_string
  start             = timestamp()
  expiry            = timeadd(timestamp(), "${var.ttl_minutes + 60}m")
  resource_types {
    service   = false
    container = false
    object    = true
  }
  services {
    blob  = true
    queue = false
    table = false
    file  = false
  }
  permissions {
    read    = false
    write   = true
    delete  = false
    list    = false
    add     = false
    create  = true
    update  = false
    process = false
    tag     = false
    filter  = false
  }
}

resource "azurerm_virtual_network" "claimcheck" {
  name                = "claimcheck"
  resource_group_name = azurerm_resource_group.claimcheck.name
  location            = var.region
  address_space       = ["10.0.0.0/24"]
}

resource "azurerm_subnet" "claimcheck" {
  name                 = "claimcheck"
  resource_group_name  = azurerm_resource_group.claimcheck.name
  virtual_network_name = azurerm_virtual_network.claimcheck.name
  address_prefixes     = ["10.0.0.0/24"]
}

resource "azurerm_network_interface" "machine" {
  name                = "claimcheck"
  resource_group_name = azurerm_resource_group.claimcheck.name
  location            = var.region
  ip_configuration {
    name                          = "internal"
    subnet_id                     = azurerm_subnet.claimcheck.id
    private_ip_address_allocation = "Dynamic"
  }
}

resource "azurerm_linux_virtual_machine" "machine" {
  name                  = "claimcheck"
  resource_group_name   = azurerm_resource_group.claimcheck.name
  location              = var.region
  size                  = var.instance_type
  admin_username        = "claimcheck"
  network_interface_ids = [azurerm_network_interface.machine.id]
  custom_data           = base64encode(data.external.user_data.result.user_data)

  admin_ssh_key {
    username   = "claimcheck"
    public_key = var.public_key
  }

  identity {
    type = "SystemAssigned"
  }

  os_disk {
    caching              = "ReadWrite"
    storage_account_type = "StandardSSD_LRS"
    disk_size_gb         = 100
  }

  source_image_reference {
    publisher = "microsoft-dsvm"
    offer     = "ubuntu-hpc"
    sku       = "2204"
    version   = "latest"
  }
}

resource "azurerm_role_definition" "deallocate" {
  name  = "claimcheck-${random_id.name.hex}"
  scope = azurerm_resource_group.claimcheck.id
  permissions {
    actions = ["Microsoft.Compute/virtualMachines/deallocate/action"]
  }
}

resource "azurerm_role_assignment" "deallocate" {
  scope              = azurerm_linux_virtual_machine.machine.id
  role_definition_id = azurerm_role_definition.deallocate.role_definition_resource_id
  principal_id       = azurerm_linux_virtual_machine.machine.identity[0].principal_id
}

resource "azurerm_dev_test_global_vm_shutdown_schedule" "machine" {
  virtual_machine_id    = azurerm_linux_virtual_machine.machine.id
  location              = var.region
  enabled               = true
  daily_recurrence_time = formatdate("hhmm", timeadd(timestamp(), "${var.ttl_minutes + 10}m"))
  timezone              = "UTC"
  notification_settings {
    enabled = false
  }
}

output "results" {
  value       = local.results
  description = "There when the machine is deallocated"
}
