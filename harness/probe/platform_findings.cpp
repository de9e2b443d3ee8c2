// What a cloud did not tell, or announces, judged from the platform's facts alone (pure).
#include <fmt/format.h>

#include "harness/probe/probe.h"

namespace claimcheck {
namespace {

using nlohmann::json;

std::string text_in(const json& object, const char* key) {
  return object.contains(key) && object.at(key).is_string() ? object.at(key).get<std::string>() : std::string();
}

struct Case {
  const char* id;
  std::string why;
  std::string remedy;
};

// AWS drops the answer to the PUT when it would go further than the machine itself (hop limit 1), which is what a
// container's network is; the GET of version 1 would come through, so nothing but the PUT is late.
Case case_of(const std::string& service, const std::string& status, bool in_container) {
  if (status == "no_answer" && service.rfind("AWS", 0) == 0 && in_container)
    return {"metadata.hop_limit", "in a container the usual reason is a hop limit of 1, which drops the token's answer",
            "Allow one hop more (`aws ec2 modify-instance-metadata-options --http-put-response-hop-limit 2 "
            "--instance-id ID`), start the container with --network=host, or give --instance."};
  if (status == "no_answer")
    return {"metadata.no_answer", "a firewall, a network policy or a container's network stands between",
            "Nothing is needed when the rest of the platform is known; otherwise give --instance."};
  if (status == "refused") return {"metadata.refused", "the token was not accepted", "Give --instance."};
  if (status == "disabled")
    return {"metadata.disabled", "the service is switched off for this machine, or forbidden to this process",
            "Give --instance; AWS: `aws ec2 modify-instance-metadata-options --http-endpoint enabled` switches it on."};
  return {"metadata.odd", "something else may answer at this address", "Give --instance."};
}

void look_at_answer(const json& platform, const json& system, std::vector<Finding>& findings) {
  const json metadata = platform.value("metadata", json());
  if (!metadata.is_object() || text_in(metadata, "status") == "answered") return;
  const std::string container = text_in(system, "container");
  const Case found =
      case_of(text_in(metadata, "service"), text_in(metadata, "status"), !container.empty() && container != "none");
  const bool known = !text_in(platform, "instance").empty();
  const std::string left = known ? "" : "; the instance type is not known";
  findings.push_back({found.id, known ? "info" : "warning",
                      fmt::format("{} did not tell of this machine ({}): {}{}.", text_in(metadata, "service"),
                                  text_in(metadata, "reason"), found.why, left),
                      found.remedy, metadata});
}

}  // namespace

std::vector<Finding> platform_findings(const json& platform, const json& system) {
  std::vector<Finding> findings;
  if (!platform.is_object() || !system.is_object()) return findings;
  look_at_answer(platform, system, findings);
  const json metadata = platform.value("metadata", json());
  if (const std::string before = metadata.is_object() ? text_in(metadata, "instance_on_disk") : ""; !before.empty())
    findings.push_back({"platform.changed",
                        "info",
                        fmt::format("cloud-init's data say {}, the metadata service says {}: the machine was changed "
                                    "after its first boot.",
                                    before, text_in(platform, "instance")),
                        "Nothing; what the service says counts.",
                        {{"instance_on_disk", before}}});
  const json interruption = platform.value("interruption", json());
  if (interruption.is_object()) {
    const std::string at = text_in(interruption, "at");
    findings.push_back({"platform.interruption", "error",
                        fmt::format("The cloud takes this spot machine back{} ({}).", at.empty() ? " now" : " at " + at,
                                    text_in(interruption, "action")),
                        "Save what you need; measure on another machine.", interruption});
  }
  if (platform.value("certain", json()) == false && !text_in(platform, "provider").empty())
    findings.push_back({"platform.guess",
                        "info",
                        fmt::format("This looks like a machine of {}, from a mark that it does not document.",
                                    text_in(platform, "provider")),
                        "Give --instance when it is not, and to have its claims judged.",
                        {{"provider", text_in(platform, "provider")}}});
  return findings;
}

}  // namespace claimcheck
