#include "harness/judge/offer.h"

#include <fmt/format.h>

#include "harness/catalog/record.h"
#include "harness/error.h"
#include "harness/judge/claim.h"
#include "harness/judge/machine.h"
#include "harness/judge/number.h"
#include "harness/result/json_text.h"

namespace claimcheck {
namespace {

using nlohmann::json;

const Words fields = {"schema_version",
                      "seller",
                      "date",
                      "source",
                      "instance",
                      "price",
                      "currency",
                      "term",
                      "accelerator",
                      "accelerators",
                      "accelerator_memory_gb",
                      "vcpus",
                      "ram_gib",
                      "local_nvme_gb",
                      "tflops",
                      "sparse",
                      "memory_bandwidth_gbps",
                      "network_gbit_s",
                      "network_adapters",
                      "fabric",
                      "claims"};

class Reader {
 public:
  Reader(const json& value, const std::string& file) : value_(value), record_(value, file, "/", fields) {}

  Offer read() {
    offer_.instance = record_.optional_text("instance");
    offer_.price = price();
    offer_.currency = record_.optional_text("currency");
    offer_.term = record_.optional_text("term");
    machine();
    peaks();
    network();
    for (const std::string& claim : record_.list("claims")) add(claim, "claims");
    return std::move(offer_);
  }

 private:
  // A claim that cannot be read is the file's fault.
  void add(const std::string& claim, const char* field) {
    try {
      parse_claim(claim);
    } catch (const UserError& error) {
      record_.fail(field, error.what());
    }
    offer_.claims.push_back(claim);
  }

  // "2.49/gpu-hour", or a number: of the machine.
  std::string price() const {
    const auto found = value_.find("price");
    if (found == value_.end() || found->is_null()) return {};
    return found->is_number() ? exact_text(found->get<double>()) : record_.text("price");
  }

  void machine() {
    if (const std::string name = record_.optional_text("accelerator"); !name.empty())
      add("identity.accelerator==" + name, "accelerator");
    if (const auto count = record_.count("accelerators"))
      add(fmt::format("identity.accelerator_count=={}", *count), "accelerators");
    if (const auto count = record_.count("vcpus")) add(fmt::format("identity.vcpus=={}", *count), "vcpus");
    for (const char* field : {"accelerator_memory_gb", "ram_gib", "local_nvme_gb"}) {
      if (const auto size = record_.number(field)) add(fmt::format("identity.{}>={}", field, exact_text(*size)), field);
    }
  }

  void peaks() {
    const auto sparse = value_.find("sparse");
    if (sparse != value_.end() && !sparse->is_boolean()) record_.fail("sparse", "expected true or false");
    const bool counts_sparse = sparse != value_.end() && sparse->get<bool>();
    const json peaks = record_.object("tflops");
    for (const auto& [type, figure] : peaks.items()) {
      const std::string metric = gemm_metric(type);
      if (metric.empty())
        record_.fail(
            "tflops",
            fmt::format("'{}' is no data type; expected fp64, fp32, tf32, fp16, bf16, fp8, int8 or fp4", type));
      if (!figure.is_number() || !(figure.get<double>() > 0))
        record_.fail("tflops", fmt::format("expected a number above 0 for {}", type));
      add(fmt::format("{}[peak=yes{}]>={} {}", metric, counts_sparse ? ",sparse=yes" : "",
                      exact_text(figure.get<double>()), metric.ends_with(".tops") ? "TOPS" : "TFLOPS"),
          "tflops");
    }
    if (const auto rate = record_.number("memory_bandwidth_gbps"))
      add(fmt::format("memory.read.gbps[peak=yes]>={} GB/s", exact_text(*rate)), "memory_bandwidth_gbps");
  }

  void network() {
    const auto named = value_.find("fabric");
    const bool known = named != value_.end() && !named->is_null();
    const std::string fabric = known ? record_.word("fabric", {"EFA", "InfiniBand", "RoCE"}) : "";
    if (known) add("transport.network==" + fabric, "fabric");
    const auto total = record_.number("network_gbit_s");
    const auto adapters = record_.count("network_adapters");
    if (adapters && *adapters < 1) record_.fail("network_adapters", "expected at least 1");
    if (adapters && !total)
      record_.fail("network_adapters", "says nothing without network_gbit_s, what all of them carry");
    if (!total) return;
    add(fmt::format("network.{}.gbps>={} Gb/s", fabric == "EFA" ? "efa" : "ib",
                    exact_text(*total / adapters.value_or(1))),
        "network_gbit_s");
  }

  const json& value_;
  Record record_;
  Offer offer_;
};

}  // namespace

Offer read_offer(const std::filesystem::path& file) {
  const std::string name = file.string();
  const json value = parse_json(read_text(file), name);
  try {
    return Reader(value, name).read();
  } catch (const CatalogError& error) {
    throw UserError(fmt::format("{} {}: {}", error.file(), error.place(), error.what()));
  }
}

}  // namespace claimcheck
