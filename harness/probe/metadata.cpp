#include "harness/probe/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "harness/probe/tree.h"

namespace claimcheck::probe {
namespace {

using nlohmann::json;
using Headers = std::vector<std::string>;

enum class Absent { is_an_error, is_an_answer };

// The strings kept are words: an answer of anything else (a login page, say) is no answer.
std::optional<std::string> word(std::string_view text) {
  text = trimmed(text);
  const bool fine = !text.empty() && text.size() <= 160 && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == ':' || c == '/' || c == '+';
  });
  return fine ? std::optional(std::string(text)) : std::nullopt;
}

// "projects/123/machineTypes/a3-highgpu-8g" (GCP) -> "a3-highgpu-8g"
std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Asks one service; after the first failure that is none of the vendor's ordinary answers, nothing more. Failures after
// identified() leave what is known and only end the asking.
class Asker {
 public:
  Asker(std::string base, const Fetch& fetch, MetadataAnswer& answer)
      : base_(std::move(base)), fetch_(fetch), answer_(answer) {}

  std::optional<std::string> ask(const std::string& method, const std::string& path, const Headers& headers,
                                 Absent absent = Absent::is_an_error) {
    if (stopped_) return std::nullopt;
    const HttpAnswer got = fetch_({method, base_ + path, headers});
    using Kind = HttpAnswer::Kind;
    const std::string what = method + " " + path.substr(0, path.find('?'));
    if (got.kind == Kind::timed_out) return fail("no_answer", what + " had no answer in time");
    if (got.kind == Kind::unreachable)
      return fail("no_answer", what + " had no answer: nothing is to be reached there");
    if (got.kind == Kind::too_large) return fail("nonsense", what + " answered with more than 64 KiB");
    if (got.code == 200) {
      flavor_ = got.headers.count("metadata-flavor") != 0 ? got.headers.at("metadata-flavor") : "";
      return got.body;
    }
    if (got.code == 404 && absent == Absent::is_an_answer) return std::nullopt;
    const bool off = got.code == 403 || got.code == 404 || got.code == 405;
    return fail(got.code == 401 ? "refused"
                : off           ? "disabled"
                                : "failed",
                fmt::format("{} answered HTTP {}", what, got.code));
  }

  std::optional<std::string> get(const std::string& path, const Headers& headers, Absent absent = Absent::is_an_error) {
    return ask("GET", path, headers, absent);
  }

  // The token as a header `name`; unset when there is none.
  std::optional<std::string> token(const std::string& name) {
    const auto body = ask("PUT", "/latest/api/token", {name + "-ttl-seconds: 60"});  // a run asks once
    if (!body) return std::nullopt;
    const std::string text(trimmed(*body));
    if (text.empty() || text.size() > 512 || text.find_first_of("\r\n \t<>") != std::string::npos)
      return fail("nonsense", "PUT /latest/api/token answered with something that is no token");
    return name + ": " + text;
  }

  // A JSON object, empty after a failure.
  json object(const std::string& path, const Headers& headers) {
    const auto body = get(path, headers);
    if (!body) return json::object();
    json value = json::parse(*body, nullptr, false);
    if (value.is_object()) return value;
    fail("nonsense", "GET " + path.substr(0, path.find('?')) + " answered with something that is no JSON object");
    return json::object();
  }

  // A word at `path`, kept as the fact `key`.
  void take(const char* key, const std::string& path, const Headers& headers) {
    if (const auto body = get(path, headers)) keep(key, word(*body), path);
  }

  // A word in an object, kept as the fact `key`; absent is unknown.
  void take_from(const json& object, const char* member, const char* key) {
    const auto found = object.find(member);
    if (found != object.end() && found->is_string() && !found->get_ref<const std::string&>().empty())
      keep(key, word(found->get<std::string>()), member);
  }

  void keep(const char* key, const std::optional<std::string>& value, const std::string& where) {
    if (value)
      answer_.facts[key] = last_part(*value);
    else
      fail("nonsense", where + " answered with something that is no name");
  }

  // The answers that say which machine it is are in; without an instance type they were none.
  void identified() {
    if (!stopped_ && !answer_.facts.contains("instance")) fail("nonsense", "the answer names no instance type");
    identified_ = !stopped_;
  }

  std::nullopt_t fail(const std::string& status, const std::string& reason) {
    if (!stopped_) answer_.reason = reason;
    if (!stopped_ && !identified_) answer_.status = status;
    stopped_ = true;
    return std::nullopt;
  }

  // Goes on after a refusal that is an ordinary answer.
  void forgive() {
    if (answer_.status == "no_answer" || answer_.status == "nonsense") return;
    answer_.status = "answered";
    answer_.reason.clear();
    stopped_ = false;
  }

  const std::string& flavor() const { return flavor_; }
  json& facts() { return answer_.facts; }
  bool going_on() const { return !stopped_; }

 private:
  std::string base_;
  const Fetch& fetch_;
  MetadataAnswer& answer_;
  std::string flavor_;  // header Metadata-Flavor of the last answer
  bool stopped_ = false;
  bool identified_ = false;
};

json interruption(const std::string& action, const std::string& at) {
  const auto when = word(at);
  return {{"action", action}, {"at", when ? json(*when) : json(nullptr)}};
}

// https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-metadata-v2-how-it-works.html. Never without a token:
// such requests (IMDSv1) are what accounts forbid and watch for.
void ask_aws(Asker& asker) {
  const auto token = asker.token("X-aws-ec2-metadata-token");
  if (!token) return;
  const Headers headers = {*token};
  const json document = asker.object("/latest/dynamic/instance-identity/document", headers);
  asker.take_from(document, "instanceType", "instance");
  asker.take_from(document, "region", "region");
  asker.take_from(document, "availabilityZone", "zone");
  asker.take_from(document, "instanceId", "instance_id");
  asker.identified();
  const auto life = asker.get("/latest/meta-data/instance-life-cycle", headers, Absent::is_an_answer);
  if (!life) return;
  asker.facts()["spot"] = trimmed(*life) == "spot";
  if (trimmed(*life) != "spot") return;
  const auto notice = asker.get("/latest/meta-data/spot/instance-action", headers, Absent::is_an_answer);
  if (!notice) return;  // 404: none
  const json told = json::parse(*notice, nullptr, false);
  if (!told.is_object()) return;
  const auto text_of = [&](const char* key) {
    return told.contains(key) && told.at(key).is_string() ? told.at(key).get<std::string>() : std::string();
  };
  asker.facts()["interruption"] = interruption(word(text_of("action")).value_or("terminate"), text_of("time"));
}

// https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service and .../linux/scheduled-events. Asking
// for scheduled events switches them on for the machine, so only spot machines are asked for them.
void ask_azure(Asker& asker) {
  const Headers headers = {"Metadata: true"};
  const json document = asker.object("/metadata/instance?api-version=2021-02-01", headers);
  const json compute = document.value("compute", json::object());
  asker.take_from(compute, "vmSize", "instance");
  asker.take_from(compute, "location", "region");
  asker.take_from(compute, "zone", "zone");
  asker.take_from(compute, "vmId", "instance_id");
  asker.identified();
  if (!asker.going_on() || !compute.contains("priority") || !compute.at("priority").is_string()) return;
  const std::string priority = compute.at("priority").get<std::string>();
  if (!priority.empty()) asker.facts()["spot"] = priority == "Spot" || priority == "Low";
  if (asker.facts().value("spot", json()) != true) return;
  const json events = asker.object("/metadata/scheduledevents?api-version=2020-07-01", headers);
  for (const json& event : events.value("Events", json::array())) {
    if (!event.is_object() || event.value("EventType", json()) != "Preempt") continue;
    std::string at = event.contains("NotBefore") && event["NotBefore"].is_string() ? event["NotBefore"] : json("");
    std::replace(at.begin(), at.end(), ' ', '_');  // "Tue, 09 Aug 2022 17:07:32 GMT"
    at.erase(std::remove(at.begin(), at.end(), ','), at.end());
    asker.facts()["interruption"] = interruption("preempt", at);
  }
}

// https://cloud.google.com/compute/docs/metadata/overview: the header in both directions. Single values, because the
// whole tree holds the user's scripts and keys.
void ask_gcp(Asker& asker) {
  const Headers headers = {"Metadata-Flavor: Google"};
  const std::string at = "/computeMetadata/v1/instance/";
  asker.take("instance", at + "machine-type", headers);
  if (asker.going_on() && asker.flavor() != "Google") {
    asker.facts().clear();
    asker.fail("nonsense", "the answer has no header Metadata-Flavor: Google, so it is not Google's");
  }
  asker.take("zone", at + "zone", headers);
  if (asker.going_on()) {
    const std::string zone = asker.facts()["zone"];
    asker.facts()["region"] = zone.substr(0, zone.rfind('-'));  // "us-central1-a"
  }
  asker.take("instance_id", at + "id", headers);
  asker.identified();
  const auto preemptible = asker.get(at + "scheduling/preemptible", headers, Absent::is_an_answer);
  if (!preemptible) return;
  asker.facts()["spot"] = trimmed(*preemptible) == "TRUE";
  const auto preempted = asker.get(at + "preempted", headers, Absent::is_an_answer);
  if (preempted && trimmed(*preempted) == "TRUE") asker.facts()["interruption"] = interruption("preempt", "");
}

// https://www.alibabacloud.com/help/en/ecs/user-guide/view-instance-metadata: with a token (hardened mode); where no
// token is given, the ordinary mode is asked.
void ask_alibaba(Asker& asker) {
  Headers headers;
  if (const auto token = asker.token("X-aliyun-ecs-metadata-token"))
    headers = {*token};
  else
    asker.forgive();
  const json document = asker.object("/latest/dynamic/instance-identity/document", headers);
  asker.take_from(document, "instance-type", "instance");
  asker.take_from(document, "region-id", "region");
  asker.take_from(document, "zone-id", "zone");
  asker.take_from(document, "instance-id", "instance_id");
  asker.identified();
  const auto end = asker.get("/latest/meta-data/instance/spot/termination-time", headers, Absent::is_an_answer);
  if (!end || trimmed(*end).empty()) return;  // 404: not announced; it does not say whether the machine is spot
  asker.facts()["spot"] = true;
  asker.facts()["interruption"] = interruption("release", *end);
}

// https://www.tencentcloud.com/document/product/213/4934
void ask_tencent(Asker& asker) {
  const Headers headers = {"Host: metadata.tencentyun.com"};
  const std::string at = "/latest/meta-data/";
  asker.take("instance", at + "instance/instance-type", headers);
  asker.take("region", at + "placement/region", headers);
  asker.take("zone", at + "placement/zone", headers);
  asker.take("instance_id", at + "instance-id", headers);
  asker.identified();
  const auto charge = asker.get(at + "payment/charge-type", headers, Absent::is_an_answer);
  if (charge && word(*charge)) asker.facts()["spot"] = charge->find("SPOT") != std::string::npos;
  const auto end = asker.get(at + "spot/termination-time", headers, Absent::is_an_answer);
  if (!end || trimmed(*end).empty()) return;  // 404: not announced
  std::string when(trimmed(*end));            // "2018-08-18 12:05:33", in UTC+8
  std::replace(when.begin(), when.end(), ' ', 'T');
  asker.facts()["spot"] = true;
  asker.facts()["interruption"] = interruption("release", when + "+08:00");
}

// https://support.huaweicloud.com/intl/en-us/usermanual-ecs/ecs_03_0166.html; Open Telekom Cloud is the same.
void ask_huawei(Asker& asker) {
  const json document = asker.object("/openstack/latest/meta_data.json", {});
  asker.take_from(document, "instance_type", "instance");
  const json meta = document.value("meta", json::object());
  if (!asker.facts().contains("instance") && meta.is_object()) {
    asker.take_from(meta, "metering.resourcespeccode", "instance");  // "p2v.16xlarge.8.linux"
    std::string flavor = asker.facts().value("instance", "");
    for (const std::string_view system : {".linux", ".windows", ".win"})
      if (flavor.size() > system.size() && flavor.ends_with(system)) flavor.resize(flavor.size() - system.size());
    if (!flavor.empty()) asker.facts()["instance"] = flavor;
  }
  asker.take_from(document, "region_id", "region");
  asker.take_from(document, "availability_zone", "zone");
  asker.take_from(document, "uuid", "instance_id");
  asker.identified();
}

// https://docs.oracle.com/en-us/iaas/Content/Compute/Tasks/gettingmetadata.htm, version 2. It does not say whether the
// machine is preemptible.
void ask_oci(Asker& asker) {
  const json document = asker.object("/opc/v2/instance/", {"Authorization: Bearer Oracle"});
  asker.take_from(document, "shape", "instance");
  asker.take_from(document, document.contains("canonicalRegionName") ? "canonicalRegionName" : "region", "region");
  asker.take_from(document, "availabilityDomain", "zone");
  asker.take_from(document, "id", "instance_id");
  asker.identified();
}

struct Service {
  std::string_view provider;
  const char* name;
  const char* base;
  void (*ask)(Asker&);
};

constexpr Service services[] = {
    {"aws", "AWS IMDSv2", "http://169.254.169.254", ask_aws},
    {"azure", "Azure IMDS", "http://169.254.169.254", ask_azure},
    {"gcp", "GCP's metadata server", "http://169.254.169.254", ask_gcp},
    {"alibaba", "Alibaba's metadata service", "http://100.100.100.200", ask_alibaba},
    {"tencent", "Tencent's metadata service", "http://169.254.0.23", ask_tencent},
    {"huawei", "Huawei's metadata service", "http://169.254.169.254", ask_huawei},
    {"huawei-otc", "Open Telekom Cloud's metadata service", "http://169.254.169.254", ask_huawei},
    {"oci", "OCI IMDS v2", "http://169.254.169.254", ask_oci},
};

const Service* service_of(const std::string& provider) {
  const auto found = std::find_if(std::begin(services), std::end(services),
                                  [&](const Service& one) { return one.provider == provider; });
  return found == std::end(services) ? nullptr : found;
}

}  // namespace

std::string metadata_base(const std::string& provider) {
  const Service* service = service_of(provider);
  return service == nullptr ? "" : service->base;
}

MetadataAnswer ask_metadata(const std::string& provider, const std::string& base, const Fetch& fetch) {
  MetadataAnswer answer;
  const Service* service = service_of(provider);
  if (service == nullptr) return answer;
  answer.service = service->name;
  answer.facts["interruption"] = nullptr;
  Asker asker(base, fetch, answer);
  service->ask(asker);
  return answer;
}

}  // namespace claimcheck::probe
