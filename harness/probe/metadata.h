// What a cloud's metadata service says of the machine. Each is asked as its vendor documents it: AWS by IMDSv2 only,
// Alibaba with a token where it gives one, Azure and GCP with their header, OCI by version 2. Pure but for `fetch`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "harness/probe/http.h"

namespace claimcheck::probe {

struct MetadataAnswer {
  std::string service;  // "AWS IMDSv2"
  // "answered"; "no_answer": none in time; "refused": 401; "disabled": 403, 404 or 405 for what every machine has;
  // "failed": any other code; "nonsense": too large, or not what the vendor documents.
  std::string status = "answered";
  std::string reason;  // a sentence, unless all was answered
  // What it told of: instance, region, zone, instance_id (in clear), spot (bool),
  // interruption {action, at}, null when none is announced.
  nlohmann::json facts = nlohmann::json::object();
};

// Of a provider that has one (harness/probe/providers.h). An address, so that no name is looked up.
std::string metadata_base(const std::string& provider);

MetadataAnswer ask_metadata(const std::string& provider, const std::string& base, const Fetch& fetch);

}  // namespace claimcheck::probe
