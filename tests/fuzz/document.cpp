// JSON documents of other tools, given to every format that reads any.
#include <cstdint>
#include <string_view>

#include "harness/error.h"
#include "harness/import/format.h"
#include "harness/result/json_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace claimcheck;
  nlohmann::json value;
  try {
    value = parse_json(std::string_view(reinterpret_cast<const char*>(data), size), "input");
  } catch (const UserError&) {  // no JSON
    return 0;
  }
  for (const importing::Format& format : importing::formats()) {
    if (format.document == nullptr) continue;
    importing::Collected collected;
    collected.begin_file("input");
    try {
      format.document(collected, value);
    } catch (const nlohmann::json::exception&) {  // import.cpp says that the shape is wrong, and keeps what came before
    }
    Document document;
    collected.into(document);
    document_from(parse_json(dump_json(to_json(document)), "read"));
  }
  return 0;
}
